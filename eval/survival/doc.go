// Package survival measures what of a session's decisions is left after
// compaction upon compaction, by the bytes that the upstream received.
//
//   - [Generate] makes a [Session] from a seed: what the user types, what the model
//     answers, what tools print, and as [Gold] what is true after every answer.
//   - [Compactors] are summarizers that fail, each in its own way, [Extractors] the
//     models behind an extraction, and the baselines what else one could do.
//   - [Run] plays sessions of every agent through a [Product] over loopback, and
//     others in which processes die, requests are repeated, two processes share a
//     store, and subagents work at once. It reports figures, each with its goal.
//
// Laws:
//
//   - It shares no code with what it judges: blocks are read by what their lines
//     say, bodies as plain JSON.
//   - A request is known again at the upstream by a header of its own, which
//     the product passes as it passes any other.
//   - Gold comes from the generator alone. Behind a compaction in the middle of a
//     turn the newest round counts as it was or as it is: it stands in the request
//     word for word.
//   - A block stays as it is through its epoch. Where an extractor reads, what came too
//     late for it may put a later revision in its place.
//   - What a person or a tool says that is false is planted with a literal that must
//     not become a fact; what is true, with one that must be there.
//   - The same seed makes the same session. What happens at once may differ from
//     run to run; what must be the same, is compared.
//   - An ablation that breaks no figure is reported: that figure is idle.
//
// It stores nothing. A session is held whole while it is judged, some ten
// megabytes with fifty compactions. The room holds a generator in two languages, a
// dozen summarizers and a judge, and is larger than others for that.
package survival
