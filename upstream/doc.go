// Package upstream knows where calls go: the providers, how a path is joined to
// a base URL, whose credential is sent, and the one HTTP transport.
//
// Nothing is stored here. Laws:
//   - A call keeps its escaped path and its query as the client sent them; only
//     the base is put before it. The one exception is the credential in Gemini's
//     query, when another one is configured or when it is a key of Holdfast.
//   - A client's credential is forwarded untouched unless the upstream has one
//     configured; then every credential of the client is taken out, so that two
//     never travel together. A key of Holdfast is never sent to anyone.
//   - The first upstream in order that serves a model takes it. Nothing else
//     that a client sends chooses an upstream, except its name in the path.
//   - The transport neither decodes nor follows redirects: what the provider
//     answers is what the client gets. Only connecting has a time limit, since
//     a model may think for as long as its client waits.
package upstream

import (
	"net/url"

	"github.com/holdfast-dev/holdfast"
)

// Upstream is one provider. It is not changed once a Set holds it, and is safe
// for concurrent use.
type Upstream struct {
	Name     string
	Protocol holdfast.Protocol
	// Base is what the provider's own SDK takes as its base URL: for Chat and
	// Responses it holds the version (/v1), for Anthropic and Gemini it does not.
	Base *url.URL
	// Key replaces the client's credential; "" forwards the client's.
	Key string
	// Models are patterns in which * stands for any text; none means all.
	Models []string
}
