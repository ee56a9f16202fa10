// Package redact finds secrets in text and puts marks in their place. What
// leaves a session on a path of its own (a capsule, a request of the extractor,
// an export, a log) goes through it; the agent's own traffic never does.
//
// # Laws
//
//   - A secret becomes [redacted:KIND]. What stands around it stays: the name
//     of the variable, the user and host of a URL, the name of a header.
//   - Redacting twice changes nothing: a mark is never part of a secret, and
//     nothing inside of a mark counts. (A pattern of the user's own that says
//     what must stand before it, such as ^ or \b, may find more the second
//     time, when a mark stands there.)
//   - The cost is linear in the text. Text in which no pattern's literal stands
//     costs one pass over its bytes and no memory.
//   - The same text gives the same result, in any goroutine.
//
// # What is no secret
//
// Placeholders (sk-..., <your-key>, xxx, ${VAR}, env:NAME), git hashes, UUIDs,
// signatures and base64 data stay. A hash or UUID that is assigned to
// a name such as api_key or client_secret is one: there the name decides.
//
// A false alarm costs the reader a word, a miss may cost a key. So a value with
// a vendor's prefix is taken as it is, without a measure of randomness; only
// where nothing but a name points at a secret must its value look like one.
//
// Nothing is stored. A Redactor holds its patterns and never the text.
package redact
