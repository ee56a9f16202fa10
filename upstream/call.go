package upstream

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// URL is where a call with the path and query of in goes. Chat and Responses
// clients may send the version or leave it out, since a base URL holds it:
// /v1/responses and /responses both become Base + /responses. For Anthropic
// and Gemini the whole path stands behind Base.
func (u *Upstream) URL(in *url.URL) *url.URL {
	path := in.EscapedPath()
	if u.Protocol == holdfast.Chat || u.Protocol == holdfast.Responses {
		if rest, ok := strings.CutPrefix(path, "/v1"); ok && (rest == "" || rest[0] == '/') {
			path = rest
		}
	}
	if path != "" && path[0] != '/' {
		path = "/" + path
	}
	out := *u.Base
	out.RawPath = strings.TrimRight(u.Base.EscapedPath(), "/") + path
	// Both halves are valid escapes, so that the whole is one.
	out.Path, _ = url.PathUnescape(out.RawPath)
	out.RawQuery, out.ForceQuery = in.RawQuery, in.ForceQuery
	return &out
}

// credentials are the headers in which a client may send one.
var credentials = [...]string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key"}

// Authorize puts the configured credential into a request that is about to be
// sent, in place of all that the client sent. Without one it takes out only what
// carries a key of Holdfast, which no provider must see.
func (u *Upstream) Authorize(req *http.Request) {
	for _, name := range credentials {
		if slices.ContainsFunc(req.Header[name], carriesKey) {
			req.Header.Del(name)
		}
	}
	if req.URL.RawQuery != "" {
		req.URL.RawQuery = without(req.URL.RawQuery, "key", carriesKey)
	}
	if u.Key == "" {
		return
	}
	for _, name := range credentials {
		req.Header.Del(name)
	}
	switch u.Protocol {
	case holdfast.Anthropic:
		req.Header.Set("X-Api-Key", u.Key)
	case holdfast.Gemini:
		req.Header.Set("X-Goog-Api-Key", u.Key)
		req.URL.RawQuery = without(req.URL.RawQuery, "key", func(string) bool { return true })
	default:
		req.Header.Set("Authorization", "Bearer "+u.Key)
	}
}

// carriesKey reports whether a credential holds a key of Holdfast, whatever
// stands around it.
func carriesKey(credential string) bool {
	for i := range len(credential) {
		if _, ok := holdfast.KeyIDOf(credential[i:]); ok {
			return true
		}
	}
	return false
}

// without leaves a parameter out of a query where its value is one of those, and
// all others as they are.
func without(query, name string, those func(value string) bool) string {
	kept := make([]string, 0, 4)
	for pair := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(key); err == nil && plain == name && those(unescaped(value)) {
			continue
		}
		kept = append(kept, pair)
	}
	return strings.Join(kept, "&")
}

// unescaped is a value of a query, or what is written where that is no escape.
func unescaped(value string) string {
	if plain, err := url.QueryUnescape(value); err == nil {
		return plain
	}
	return value
}
