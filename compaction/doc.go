// Package compaction plans compactions: which turns, what is done to them, what
// that frees, and when it is done by itself. It is pure: no clock, no I/O, and no
// model; a time is a value, a tokenizer is a function. It stores nothing: what
// comes out is an overlay to append to the stream of a conversation.
//
// A Rule has two bounds and up to three policies. Rules come from a
// configuration, from the inline form (ParseInline), and from flags
// (Selection), which replace the bounds of the others. Positions are counted
// from 1 in all that people write and read, and from 0 in a Range; the bounds
// are where one becomes the other. -N is everywhere the turn with N turns behind
// it.
//
// Laws:
//
//   - The rules of one run are resolved against the stream as it stood before it.
//   - Every turn is told by one summary: the range of a new one grows over the
//     summaries that it meets.
//   - A summary that the user wrote is never widened, and never replaced by one
//     of a model. The user replaces it by one of a range that holds all of it.
//   - What is refused is refused before a model was asked.
//   - With one automatic rule, and nothing by hand, the turns that were kept
//     first, the bands and the turns that are kept last are all turns, and no two
//     bands meet.
//   - By events the same holds of events, in every gap between two calls too: the
//     ranges follow one another without a gap, what the model has not answered yet
//     and the answer before that stay, a call and its result are on one side, and
//     the texts of user and assistant and the calls that state a plan stay as they
//     are.
//   - Each estimate takes time linear in the stream.
//
// Where the design was open:
//
//   - A position in keep_first or keep_last names the first or the last turn of
//     the range itself: keep_first = "@5" begins with turn 5.
//   - keep_first = "5h" keeps the turns that began within five hours of the first
//     event, keep_last = "5h" those in which something happened in the last five
//     hours. --from 5h and --to 5h mean five hours ago. A turn that was running
//     then is on neither side of it.
//   - --to and --first go on to the last turn where they name one behind it, and
//     --from and --last back to the first; --turn is refused there.
//   - A rule that would repeat the newest compaction of its turns is skipped.
//   - Two summaries of one run that meet become one, by the later rule.
//   - A rule with a summary, by events, covers the turns that end before the newest
//     events that stay, and fires behind turns only. The number of turns that a
//     conversation has to be above holds by events too.
//   - A newest event that is larger than what is to stay stays whole.
//   - The trigger reads from the stream how often it fired in vain, and whether a
//     summary failed: one that was paid for is followed by its overlay, so its
//     usage is to be appended before that.
package compaction
