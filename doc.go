// Package holdfast is the vocabulary of the product: the nouns that every other
// package speaks in. It holds values only: no I/O, no clock, no context.
//
// Holdfast carries decision state (the accepted plan and its progress, the
// user's choices) of coding-agent sessions through context compaction.
//
// # The tour, from the bottom up
//
//   - holdfast (here): ids, events, the continuity capsule, verdicts, error codes.
//   - sse: framing of server-sent events; bytes pass verbatim, a copy is parsed.
//   - wire/anthropic, wire/responses, wire/chat, wire/gemini: one protocol each:
//     read a body or a stream into the vocabulary, patch bytes in place.
//   - agents: what is known of each coding agent on the wire, as a table.
//   - transcript: what coding agents leave on disk, read into events.
//   - conversation: a conversation as a stream of events, and the view that a
//     model is sent of it. Pure.
//   - compaction: which turns are compacted, how, and when by itself. Pure.
//   - continuity: the capsule: harvest, merge, edits, bounds, rendering. Pure.
//   - continuity/extract: what a model is asked about a session, and how much of
//     its answer is believed. Pure.
//   - store, store/sqlite: what is durable.
//   - keyring: keys that tell principals apart.
//   - ledger: what calls of models took and cost.
//   - upstream: where calls go, and the one HTTP transport.
//   - provider: our own model calls, what models can do and what they cost.
//   - provider/tokens: a real tokenizer.
//   - toolbox: the tools that a model may call in a query, with MCP servers.
//   - engine: the use cases; it owns the clock, the logger and transactions.
//   - engine/conversations: what is done with stored conversations.
//   - proxy: HTTP in, HTTP out.
//   - eval: scripted agents, upstreams and judges.
//   - cmd/holdfast: one file per command.
//
// # Glossary
//
//   - Principal: who is authenticated, and pays. Without keys there is one, Local.
//   - Session: the agent's own session inside a principal.
//   - Thread: the main conversation of a session, or one of its subagents.
//   - Branch: one lineage of history inside a session.
//   - Attempt: one upstream call. Primary is that of an agent or of a query's turn,
//     auxiliary what Holdfast asks besides.
//   - Boundary: one compaction of one branch.
//   - Epoch: from one boundary to the next.
//   - Anchor: what identifies a piece of history that was relayed: a tool call
//     id, the digest of an assistant text, of a genuine user message, of an
//     opaque compaction item.
//   - Capsule: the continuity state of one branch; its revision only grows.
//   - Conversation: an append-only stream of events: one's own, an imported one,
//     or a recorded branch of a session.
//   - Session policy: what holds for some sessions in place of what holds for all,
//     by principal, label of the key and agent.
//   - Turn: from one turn marker of a stream to the next.
//   - Overlay: one compaction of a conversation: how a range is shown to the
//     model. It takes nothing away and can be revoked.
//   - View: what a model is sent of a conversation: its projection.
//   - Watermark: the newest message of a branch that semantic extraction has read.
//   - Grounded: resting on words that stand in a message of the person; what is not
//     is provisional.
//   - Delta: what one extraction brought, grounded, before it is merged.
//   - Block: the rendered capsule, as it stands in a summary or a request.
//   - Side call: a request that an agent makes beside the conversation.
//   - Carrier: a tool whose calls carry plan state.
package holdfast
