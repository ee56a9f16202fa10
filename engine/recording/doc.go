// Package recording keeps what passes of a session as conversations: each branch
// is one stream of events in the store, which is listed, printed, searched and
// compacted like any other. It is for looking and measuring, and never alters
// what is forwarded.
//
// What is stored: the messages of the user, the model's texts, reasoning and
// calls, the results of tools, each once and in the order of the history. A
// compaction of the agent is an overlay over the turns that its summary tells. A
// fork is a conversation of its own that begins with a copy.
//
// What is not: system texts, tools, side calls, the requests that ask for a
// summary (but for results of tools that stand nowhere else), answers that broke
// off, texts in the assistant's role that a harness wrote, and items of types
// that this version does not know.
//
// # Laws
//
//   - Nothing here waits on the path of a request: Put queues, one goroutine
//     writes. The queue is bounded in bytes. What finds it full is left out, and
//     the branch's next request brings all that its history still has of it.
//   - An event's id is made of its place in the epoch and of what it is. So what a
//     later request repeats, after a restart too, is known again.
//   - Order is that of the history. What turns out to be missing is never put in
//     later: an event of the kind "gap" says where something may be missing.
//   - A killed process loses what was queued, and gets it back with the branch's
//     next request, unless the agent has compacted meanwhile.
//   - A new message of a person begins a turn. Texts of harnesses are synthetic
//     and begin none. What follows a compaction in the middle of a turn begins one,
//     so that no summary stands for what it does not tell.
//   - Every text, argument, result, name and address is redacted before it is
//     stored. A provider's opaque state of reasoning is encrypted or signed: it is
//     stored as it is, or left out whole where it or the text beside it holds a
//     secret. Media is stored as it is, but for text in it.
//   - A conversation that was erased is not begun again by this process, unless it
//     had come of age (Config.TTL), and none is begun for a session that was.
//
// An answer is recorded when it has ended, before a history confirms it. One that
// the agent then replaces stays in the stream.
package recording
