// Package conversations is what one can do with stored conversations: read,
// import, export, fork, search and compact them. The conversations of query,
// recorded sessions and imported files are the same to it.
//
// It stores nothing beside what store.Conversations keeps. Laws:
//   - Nothing that stands in a stream is changed: whatever is done appends.
//   - Importing a file again adds nothing; importing it grown adds what is new.
//   - What cannot be read is counted and named with its line, and the rest goes
//     on: a torn line costs that line.
//   - A line of a kind, or with a member, that this version does not know comes
//     out of an export as it went in.
//   - A conversation that a later version wrote can be read; all that writes is
//     refused with newer_schema.
//
// Service owns the clock and the making of ids; both are given to it. It is safe
// for concurrent use. That two programs do not work on one conversation at once
// is what Lease is for; what is appended behind another's back is refused
// whether there is a lease or not.
package conversations
