// Package measure says what compaction would do to conversations, and how good its
// estimates are: on sessions that people have, not on invented ones. It is pure
// and stores nothing.
//
// Reduce applies policies to a conversation as it is, once and at its end, and
// compares what a model would be sent with what it would be sent without.
// Estimates goes through a conversation call by call and holds each estimate, made
// from what was known before the call, against what the provider then reported.
//
// Both look at raw events: compactions of the agent that a session came from stand
// for what the provider was sent in Estimates, and do not count in Reduce.
//
// Conversations of fewer than LeastTokens are left out where figures are pooled:
// no trigger is near them, and what is kept at the end is half of them.
package measure

// LeastTokens is how large a conversation has to be to count in pooled figures:
// twice the newest events that a range of events leaves.
const LeastTokens = 20_000
