// Package conversation is what a conversation is: an append-only stream of
// events, and what is read out of it. It is pure: no clock, no I/O, no
// configuration, no randomness.
//
// A stream holds what was said and done, and beside it overlays (compactions)
// that say how a part of it is shown to the model. Nothing in it is changed or
// taken away, so a compaction can be revoked and printed over. Project makes the
// view that the model is sent; requests, prints and estimates all use it.
//
// Turns are places in the stream, from 0: turn 0 begins at its start, each turn
// marker begins another one. A marker that has nothing before it but settings
// and the like opens turn 0 itself; messages before the first marker are a turn
// of their own.
//
// A tool result belongs to the first call of its id in the same turn that has
// none yet. Providers use ids again, so neither the turn nor the order can be
// left out.
//
// Laws of Project, each a property test:
//   - The stream is the same before and after.
//   - No result is without its call, no call without its result.
//   - What no range covers is in the view as it is in the stream.
//   - Projecting a projection changes nothing.
//
// The line form (AppendLine, ParseLine, Header) is how events are kept in a
// store and in files: one JSON object a line. It is frozen: what was written once
// is read forever, fields that are missing have defaults, kinds that are not
// known stay byte for byte. docs/conversation-format.md describes it.
//
// Where the design was open:
//   - Settings stand beside the turns of a view: they go to no model, and a
//     summary takes none away.
//   - What ends at the end of the stream vanishes from a view when it holds
//     nothing for the model; an empty turn between others stays, so that turns
//     keep their places.
//   - The newest capsule is the last one in the stream, be it of a continuity
//     event or of a summary that is not revoked.
package conversation
