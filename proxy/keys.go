package proxy

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// Authenticator tells whose a request is.
type Authenticator interface {
	// Authenticate is given all keys of Holdfast that a request carries, good and
	// bad. An error refuses the request, and its text goes to the client. It is on
	// the path of every request.
	Authenticate(ctx context.Context, keys []string) (holdfast.Caller, error)
}

// authenticate tells whose a request is.
func (p *Proxy) authenticate(r *http.Request) (holdfast.Caller, error) {
	if p.auth == nil {
		return holdfast.Caller{Principal: holdfast.Local}, nil
	}
	return p.auth.Authenticate(r.Context(), keysOf(r))
}

// keysOf lists what has the form of a key of Holdfast in the places where the
// protocols carry a credential. Upstream takes the same out of what is forwarded.
func keysOf(r *http.Request) []string {
	var keys []string
	add := func(credential string) {
		credential = strings.TrimSpace(credential)
		if _, ok := holdfast.KeyIDOf(credential); ok {
			keys = append(keys, credential)
		}
	}
	for _, value := range r.Header["Authorization"] {
		if scheme, token, _ := strings.Cut(value, " "); strings.EqualFold(scheme, "Bearer") {
			add(token)
		}
	}
	for _, name := range [...]string{"X-Api-Key", "X-Goog-Api-Key"} {
		for _, value := range r.Header[name] {
			add(value)
		}
	}
	for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name, err := url.QueryUnescape(name); err != nil || name != "key" {
			continue
		}
		if value, err := url.QueryUnescape(value); err == nil {
			add(value)
		}
	}
	return keys
}
