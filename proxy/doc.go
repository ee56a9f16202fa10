// Package proxy is HTTP in, HTTP out: it routes, reads, forwards and tees, and
// patches bytes in the two places where continuity needs it. Handlers stay
// thin: what a request means is the engine's business, what bytes mean is the
// wire packages'.
//
// # Laws
//
//   - What is not changed passes unchanged: body bytes, unknown fields, header
//     values and their order within a name, status, the answer's trailers.
//     Hop-by-hop headers (RFC 9110, 7.6.1) are removed. net/http decides on the
//     case of header names, the reason phrase and the framing of a body, and
//     dates an answer that has no date; none of them carries meaning.
//   - A body is read whole before the call, held once, and released at the first
//     byte of the answer. Bodies are admitted by bytes: 413 above MaxBody, 429
//     with Retry-After above MaxInFlight. Who sends nothing of a body for a minute
//     is cut off. What a coded body decodes to counts as
//     well; where that is too much, it passes unread.
//   - Of a history that goes on, what stands in its place with the bytes of before
//     is not scanned again. It is known by a hash that nobody outside can choose
//     bytes for, within a principal; lengths and hashes are all that is kept of it.
//   - An answer is flushed as it comes. A break of the upstream is a break for
//     the client, never a made-up end. A client that leaves cancels the call.
//   - No call is repeated, save one: a request that Holdfast itself altered and
//     that the upstream refused with 400 or 413 before the first byte is sent once
//     more as the client wrote it. (What was not written yet is no call, and a
//     GET or HEAD without a body may find its connection closed: the transport
//     then takes another connection.)
//   - Whatever fails inside (an unreadable body, a panic) leaves the traffic as
//     it was; it is counted and logged without content.
//   - Each call of a model that was sent is recorded in the ledger, however it
//     ended. What it took is read from the copy of the answer, and of an answer in
//     one piece no more is held for it than the members that tell it; what cannot
//     be read is unknown.
//   - What a path stands for is known by the path without escapes, not by how it is
//     written. One with ".." is refused: it could leave the base URL that the
//     upstream's credential is meant for.
//   - Only loopback, unless Config.Remote: a request whose Host names another
//     machine is refused, so that no web page reaches the proxy under a name of its
//     own.
//   - Who asks is known before anything else of a request is looked at. Its keys
//     are taken from Authorization (Bearer), X-Api-Key, X-Goog-Api-Key and the
//     parameter key of the query. No key of Holdfast goes upstream, and no session
//     is found by another principal than its own.
//
// # Paths
//
// /u/NAME/... chooses an upstream by name, /r/RUN/... names a session; both
// combine in any order. /healthz and /metrics are the proxy's own; only /healthz
// asks for no key. Every other path goes to the upstream of its protocol.
//
// A WebSocket upgrade is answered with 426; clients then go on over POST.
//
// # HTTP status of the proxy's own answers
//
// 400 a path that is badly escaped or climbs, 401 no key or a bad one, 403 forbidden Host or Origin, 404 no such upstream or
// no protocol for the path, 413 body too large, 426 WebSocket, 429 too many bytes
// in flight, 502 upstream unreachable (with its name). Each has a JSON body in the form of the protocol.
package proxy
