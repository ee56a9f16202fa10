package upstream

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
)

func parse(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestPathsAreJoinedToTheBase(t *testing.T) {
	const host = "https://h.example"
	for _, c := range []struct {
		name           string
		protocol       holdfast.Protocol
		base, in, want string
	}{
		{"responses with the version", holdfast.Responses, host + "/v1", "/v1/responses", host + "/v1/responses"},
		{"responses without the version", holdfast.Responses, host + "/v1", "/responses", host + "/v1/responses"},
		{"responses behind a longer base", holdfast.Responses, host + "/api/v1", "/v1/responses/compact", host + "/api/v1/responses/compact"},
		{"responses behind a base without a version", holdfast.Responses, host, "/v1/responses", host + "/responses"},
		{"a chat call", holdfast.Chat, host + "/v1", "/v1/chat/completions", host + "/v1/chat/completions"},
		{"a chat call to a base of another version", holdfast.Chat, host + "/v1beta/openai", "/v1/chat/completions", host + "/v1beta/openai/chat/completions"},
		{"a slash at the end of the base", holdfast.Chat, host + "/v1/", "/v1/models", host + "/v1/models"},
		{"a segment that only begins like the version", holdfast.Chat, host + "/v1", "/v1x/models", host + "/v1/v1x/models"},
		{"the version alone", holdfast.Chat, host + "/v1", "/v1", host + "/v1"},
		{"anthropic keeps the whole path", holdfast.Anthropic, host, "/v1/messages?beta=true", host + "/v1/messages?beta=true"},
		{"anthropic behind a path", holdfast.Anthropic, host + "/anthropic", "/v1/messages/count_tokens", host + "/anthropic/v1/messages/count_tokens"},
		{
			"gemini keeps the whole path and a colon in it", holdfast.Gemini, host, "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse&key=a%2Bb",
			host + "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse&key=a%2Bb",
		},
		{"escapes stay as they are", holdfast.Anthropic, host + "/a%2Fb", "/v1/files/x%2Fy%20z", host + "/a%2Fb/v1/files/x%2Fy%20z"},
		{"a query stays as it is", holdfast.Chat, host + "/v1", "/v1/models?b=2&a=1&&c=%7e+;", host + "/v1/models?b=2&a=1&&c=%7e+;"},
		{"an empty query stays", holdfast.Chat, host + "/v1", "/v1/models?", host + "/v1/models?"},
		{"a double slash stays", holdfast.Anthropic, host, "/v1//messages", host + "/v1//messages"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := Upstream{Protocol: c.protocol, Base: parse(t, c.base)}
			in, err := url.ParseRequestURI(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := u.URL(in).String(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if got := u.Base.String(); got != c.base {
				t.Errorf("the base became %s", got)
			}
		})
	}
}

func TestThePathOfAClientCannotChangeTheHost(t *testing.T) {
	u := Upstream{Protocol: holdfast.Chat, Base: parse(t, "https://h.example")}
	for _, in := range []string{"/v1@evil.example/x", "/v1//evil.example/x", "//evil.example/x", "/v1/..//evil.example"} {
		out := u.URL(&url.URL{Path: in})
		again := parse(t, out.String())
		if out.Host != "h.example" || again.Host != "h.example" || again.User != nil {
			t.Errorf("%s: %s", in, out)
		}
	}
}

func TestCredentials(t *testing.T) {
	client := http.Header{
		"Authorization":  {"Bearer client", "Bearer second"},
		"X-Api-Key":      {"client"},
		"X-Goog-Api-Key": {"client"},
		"Api-Key":        {"client"},
		"X-Other":        {"kept"},
	}
	const query = "alt=sse&key=client&%6Bey=client&KEY=kept&keys=kept&b=%7e"
	for _, c := range []struct {
		name     string
		protocol holdfast.Protocol
		key      string
		header   http.Header
		query    string
	}{
		{"without a key all of the client's is forwarded", holdfast.Gemini, "", client, query},
		{"anthropic", holdfast.Anthropic, "K", http.Header{"X-Api-Key": {"K"}, "X-Other": {"kept"}}, query},
		{"chat", holdfast.Chat, "K", http.Header{"Authorization": {"Bearer K"}, "X-Other": {"kept"}}, query},
		{"responses", holdfast.Responses, "K", http.Header{"Authorization": {"Bearer K"}, "X-Other": {"kept"}}, query},
		{"gemini", holdfast.Gemini, "K", http.Header{"X-Goog-Api-Key": {"K"}, "X-Other": {"kept"}}, "alt=sse&KEY=kept&keys=kept&b=%7e"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := Upstream{Protocol: c.protocol, Key: c.key}
			req := httptest.NewRequest("POST", "/x?"+query, nil)
			req.Header = client.Clone()
			u.Authorize(req)
			if diff := cmp.Diff(c.header, req.Header); diff != "" {
				t.Error(diff)
			}
			if req.URL.RawQuery != c.query {
				t.Errorf("query %s, want %s", req.URL.RawQuery, c.query)
			}
		})
	}
}

func TestAKeyOfHoldfastIsNeverSent(t *testing.T) {
	const key = "hf_abcdefgh_secret"
	for _, c := range []struct {
		name          string
		header        http.Header
		query         string
		forwarded     http.Header
		forwardedText string
	}{
		{
			"in any header that may hold a credential",
			http.Header{"Authorization": {"Bearer " + key}, "X-Api-Key": {key}, "X-Goog-Api-Key": {key}, "Api-Key": {key}, "X-Other": {"kept"}},
			"",
			http.Header{"X-Other": {"kept"}},
			"",
		},
		{"with something around it", http.Header{"Authorization": {"Token '" + key + "'"}}, "", http.Header{}, ""},
		{"in one of two lines", http.Header{"Authorization": {"Bearer client", "Bearer " + key}, "X-Api-Key": {"client"}}, "", http.Header{"X-Api-Key": {"client"}}, ""},
		{"in the query", http.Header{}, "a=%7e&key=" + key + "&key=client&b", http.Header{}, "a=%7e&key=client&b"},
		{"escaped in the query", http.Header{}, "%6bey=%68f%5Fabcdefgh_secret", http.Header{}, ""},
		{
			"but a token of Hugging Face is",
			http.Header{"Authorization": {"Bearer hf_" + strings.Repeat("a", 34)}},
			"key=hf_" + strings.Repeat("b", 34),
			http.Header{"Authorization": {"Bearer hf_" + strings.Repeat("a", 34)}},
			"key=hf_" + strings.Repeat("b", 34),
		},
		{"and a query without a key stays", http.Header{}, "b=2&a=1&&c=%7e+;", http.Header{}, "b=2&a=1&&c=%7e+;"},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := Upstream{Protocol: holdfast.Gemini}
			req := httptest.NewRequest("POST", "/x?"+c.query, nil)
			req.Header = c.header
			u.Authorize(req)
			if diff := cmp.Diff(c.forwarded, req.Header); diff != "" {
				t.Error(diff)
			}
			if req.URL.RawQuery != c.forwardedText {
				t.Errorf("query %s, want %s", req.URL.RawQuery, c.forwardedText)
			}
		})
	}
}

func TestRouting(t *testing.T) {
	s := New([]Upstream{
		{Name: "opus", Protocol: holdfast.Anthropic, Models: []string{"claude-opus-*"}},
		{Name: "gateway", Protocol: holdfast.Anthropic, Models: []string{"claude-*", "x"}},
		{Name: "rest", Protocol: holdfast.Anthropic},
		{Name: "only-mini", Protocol: holdfast.Chat, Models: []string{"*-mini"}},
		{Name: "late", Protocol: holdfast.Anthropic},
	})
	for _, c := range []struct {
		protocol          holdfast.Protocol
		model, want, fail string
	}{
		{holdfast.Anthropic, "claude-opus-5", "opus", ""},
		{holdfast.Anthropic, "claude-haiku-5", "gateway", ""},
		{holdfast.Anthropic, "x", "gateway", ""},
		{holdfast.Anthropic, "y", "rest", ""},
		{holdfast.Anthropic, "", "opus", ""},
		{holdfast.Chat, "gpt-5-mini", "only-mini", ""},
		{holdfast.Chat, "", "only-mini", ""},
		{holdfast.Chat, "gpt-5", "", `no upstream serves the model "gpt-5" over chat. Add it to the models of an [[upstream]] with protocol = "chat"`},
		{holdfast.Gemini, "gemini-3", "", `no upstream speaks gemini. Add an [[upstream]] with protocol = "gemini" to the configuration`},
	} {
		u, err := s.ForModel(c.protocol, func() string { return c.model })
		check(t, string(c.protocol)+" "+c.model, u, err, c.want, c.fail)
	}
	for _, name := range []string{"opus", "late"} {
		u, err := s.ByName(name)
		check(t, name, u, err, name, "")
	}
	u, err := s.ByName("Opus")
	check(t, "Opus", u, err, "", `no upstream is named "Opus". There are: opus, gateway, rest, only-mini, late. Names come from [[upstream]] in the configuration`)
}

func check(t *testing.T, what string, u *Upstream, err error, want, fail string) {
	t.Helper()
	if fail != "" {
		if err == nil || err.Error() != fail || holdfast.CodeOf(err) != holdfast.ErrNotFound {
			t.Errorf("%s: error %v, want %s", what, err, fail)
		}
		return
	}
	if err != nil || u.Name != want {
		t.Errorf("%s: %+v, %v; want %s", what, u, err, want)
	}
}

func TestTheTransportHandsAnswersThroughAsTheyCame(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Accept-Encoding", strings.Join(r.Header["Accept-Encoding"], "|"))
		w.Header().Set("X-Proto", r.Proto)
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write([]byte("not really gzip"))
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	tr := NewTransport()
	defer tr.CloseIdleConnections()
	tr.TLSClientConfig = srv.Client().Transport.(*http.Transport).TLSClientConfig

	get := func(path string) (*http.Response, string) {
		t.Helper()
		req := httptest.NewRequest("GET", srv.URL+path, nil)
		res, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body := new(strings.Builder)
		if _, err := io.Copy(body, res.Body); err != nil {
			t.Fatal(err)
		}
		return res, body.String()
	}
	res, body := get("/encoded")
	if body != "not really gzip" || res.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("the answer was touched: %q %v", body, res.Header)
	}
	if got := res.Header.Get("X-Accept-Encoding"); got != "" {
		t.Errorf("Accept-Encoding %q was added", got)
	}
	if got := res.Header.Get("X-Proto"); got != "HTTP/2.0" {
		t.Errorf("spoke %s where HTTP/2 was offered", got)
	}
	if res, _ = get("/moved"); res.StatusCode != 307 || res.Header.Get("Location") != "/elsewhere" {
		t.Errorf("a redirect became %d", res.StatusCode)
	}
	if tr.ResponseHeaderTimeout != 0 || tr.MaxIdleConnsPerHost != 512 {
		t.Errorf("limits: %v, %d", tr.ResponseHeaderTimeout, tr.MaxIdleConnsPerHost)
	}
}
