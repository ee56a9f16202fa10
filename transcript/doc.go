// Package transcript reads what coding agents leave on disk: one file per format.
// It turns a file into conversations of the vocabulary and stores nothing itself.
//
// Sniff tells which format a file is, Read yields its conversations, Find says
// where each agent keeps its files.
//
// # Laws
//
//   - Ids are made of the agent's session, the agent's own id of the record (of its
//     content where it has none) and of what the event is in it. A file that is
//     read again gives the same ids again; one that grew keeps those that it had.
//   - A prefix of a file of lines gives a prefix of its events.
//   - A record that cannot be read is a Damage that names its line and never
//     repeats it. What follows is read.
//   - Files of lines are read line by line: what is held of those before is a
//     digest each. A format that is one JSON document is held as a whole.
//   - No summary stands for what it does not tell: see below.
//
// # What is read
//
// Messages of the user, the model's texts, reasoning, calls, their results, the
// usage of each call, and the agent's compactions. A message that a person typed
// begins a turn; what a harness put in the user's role is synthetic and begins
// none. In a subagent's conversation the caller stands for the person. Calls that
// carry a plan are calls like any other.
//
// What is not read: system texts, the agents' settings, progress and the state of
// their screens, texts in the assistant's role that no model wrote, questions that
// a tool asked before it acted, and calls that a provider ran by itself.
//
// # Compactions
//
// A compaction becomes an overlay of the source "agent" over the turns that its
// summary tells. What follows in the middle of a turn begins one. A turn of which
// the agent kept a part is not covered. Where no turn is left to cover, the summary
// is a synthetic message of the user, which is how the agent showed it.
//
// # Opaque state
//
// It has the form that the wire of its provider has, so that it can go back: a
// block (Anthropic), an item (Responses), an object with thoughtSignature (Gemini).
//
// # Where the facts come from
//
// The forms were read off files that the agents wrote: claude-code 2.1.5 to 2.1.332,
// codex 0.34.0 to 0.171.0, opencode 1.18.33, pi in the first version of its form and
// 0.74.2, gemini-cli 0.61.0 and its older document, qwen-code 0.15.10, cline 3.0.65,
// jp. The agents' sources are where these follow: codex before 0.32, opencode's files
// before 1.2, the extension of cline, jp's compactions.
//
// # Where the design was open
//
//   - A file that holds a tree of records, since the person went back and went on
//     in another way, is read in the order in which it was written.
//   - Claude Code repeats the usage of an answer in each of its records, the last
//     one with the final count: it is read when another record follows.
//   - A record of a compaction without a summary is left out.
//   - Gemini CLI writes a message again when its calls have ended. What is new in it
//     stands where it was written; what changed in it is left as it was. Its
//     compactions are lists of messages that begin with a new one.
package transcript
