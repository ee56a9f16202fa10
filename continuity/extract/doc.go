// Package extract is the contract of semantic extraction: which turns are worth a
// call of a model, what that call is sent, what its answer may look like, and how
// much of the answer is believed. It is pure: no clock, no I/O, no randomness; the
// call itself, the redaction and the delimiter are passed in.
//
// Nothing is stored, and neither input nor answer may be: they are text of a
// session. What is counted are reasons.
//
// # The way of a delta
//
//	Messages   what of a history may be read: texts of the person and of the model
//	Source     the next batch behind the watermark, within a budget
//	Eligible   whether a batch may hold anything; if not, only the watermark moves
//	Prompt     the system text and the data section; Schema for the answer
//	Parse      the answer into items, or a reason for discarding it
//	Ground     items into a continuity.Delta, each held against the words it cites
//	Read       the last three around the call, which both faces make by it
//
// # Laws
//
//   - No tool output, reasoning, media, harness text, summary or record of ours is
//     ever sent.
//   - The watermark moves only over text that is in the batch, or that cannot be.
//   - A broken whole is discarded, a broken item is dropped; both are counted by
//     reason and never repaired by guessing.
//   - What is in force rests on words that stand in a message of the person, as
//     typed, and not in a fence or behind a quotation mark. White space is compared in
//     the normal form of continuity.Normal; nothing else is folded.
//   - A statement that says more than its words, less of a condition, or anything in
//     another polarity, number, name or order is replaced by the words themselves.
//     The rule needs to know the language; where it does not, the words are the
//     statement.
//   - The words are whole sentences: a quote that was cut out of a sentence is widened
//     to it, so that no negation is lost at its edge.
//   - What cites no such words is provisional, and so is what rests on a question, with
//     a question mark or without.
//   - A fact is taken back by words that dismiss it or say the contrary, and are more
//     about it than about anything else; to mention it is not enough. A choice of
//     something else needs less: a sign of change, or most of the fact's own words.
//   - An acceptance counts for the proposal before it, with no other one between. It is
//     a yes that nothing beside it doubts, puts off, asks or wants otherwise; what is not
//     clearly one leaves a proposal.
package extract
