// Package eval stands in for the world around Holdfast: a scripted upstream,
// scripted coding agents, and a judge of the bytes that reached the upstream.
//
//   - [Upstream] speaks the four protocols as the providers do, keeps every
//     request, and answers from a [Script].
//   - [ClaudeCode], [Codex], [OpenCode], [QwenCode], [GeminiCLI], [Pi] and [Cline]
//     keep a history and send it in the wire form that was captured from the real
//     agents, compaction and what follows included. They fork, start subagents,
//     and meet a [World]: the person who is asked, and the tools.
//   - [Manner] is what sets one agent apart: how it states a plan, asks, and shows
//     a plan to the user. [Manners] lists all captured forms.
//   - [Judge] says of one request whether a plan is there: every open step, in
//     order, with its status, in one copy. [JudgeEpochs] does so for a session.
//   - [Scenario] ties the three together: a session of several compactions. It
//     judges the words of the user too, where the agent does not keep them.
//
// Laws:
//
//   - It shares no code with what it judges: requests are recognised and read
//     here a second time, by the literals that the agents were captured with.
//   - What is judged is bytes at the upstream, never a state inside the product.
//   - The scripted summarizer forgets everything: whatever a model still knows
//     after a compaction came through the product.
//   - Nothing is random: identifiers come from a seed, times are fixed.
//
// It stores nothing; recorded requests live as long as their Upstream. It is
// larger than other rooms, since every protocol and every agent is written out.
package eval
