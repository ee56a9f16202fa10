// Package provider makes our own model calls, over wire and upstream: one Client
// per upstream, whatever protocol that speaks.
//
// A call is written, sent, and its stream read: pieces go to the caller as they
// come, the answer is events that a conversation can keep. Nothing is stored
// here.
//
// Laws:
//   - A call that failed is sent again only while nothing of an answer has come,
//     a bounded number of times, with growing pauses, and as the server asks. Once
//     a byte of an answer came, it is never sent again.
//   - What came of an answer that broke off is handed out with the error.
//   - An error says what to do next. It holds the provider's own words, cut and
//     without the key, save where the key itself was refused; those words may
//     quote what was sent, so they are for the user's eyes and not for logs.
//   - The opaque state of reasoning and the arguments of calls are byte for byte
//     what the provider sent.
//   - Of what is known of a model, the user's entry counts first, then the
//     embedded catalogue, then what the server tells.
//   - A price that is not known is no price: never zero, never a guess from
//     another provider of open models.
//
// The catalogue is read when it is first asked, not when the process starts.
package provider
