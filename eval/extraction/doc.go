// Package extraction measures what of a session's decisions finds its way into the
// record: the gate before semantic extraction, the sources that need no model, what
// a call is sent, and how good a model is as extractor.
//
//   - [Labels] are turns of real sessions that were read by hand: what each holds, as
//     a digest of the file, the number of the turn and a span in its text. [FirstPass]
//     and [SecondPass] are the two readings that they come from, [Compare] is how far
//     these agree. The sessions themselves are no part of the project.
//   - [Generate] makes sessions whose labels are known by construction.
//   - [Measure] holds a [Product] against sessions with labels, [Score] the facts that
//     a model brought.
//
// Laws:
//
//   - It shares no code with what it judges: plans and answers are read here a second
//     time, and what is measured is passed in as functions.
//   - A report names turns by digest and number, and has no text of a session in it.
//   - [SplitOf] is fixed. Rules may be changed by what the tune part shows, and never by
//     the held part.
//   - A session whose digest is unknown has no labels, and is not measured.
//
// It stores nothing.
package extraction
