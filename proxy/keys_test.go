package proxy_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/keyring"
	"github.com/holdfast-dev/holdfast/proxy"
	"github.com/holdfast-dev/holdfast/store"
)

// keys is a ring with keys of two principals.
type keys struct {
	st         *store.Memory
	ring       *keyring.Ring
	ours       string // a key of "us"
	theirs     string // a key of "them"
	revoked    string // once one of "us"
	unknown    string
	withoutEnd string // ours without its last character
}

func newKeys(t *testing.T) *keys {
	t.Helper()
	k := &keys{st: store.NewMemory()}
	k.ours, k.theirs, k.revoked = k.add(t, "us"), k.add(t, "them"), k.add(t, "us")
	id, _ := holdfast.KeyIDOf(k.revoked)
	if _, err := k.st.RevokeKey(t.Context(), id, time.Now()); err != nil {
		t.Fatal(err)
	}
	secret, _, err := keyring.New(rand.Reader, "us", "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	k.unknown, k.withoutEnd = string(secret), k.ours[:len(k.ours)-1]
	k.ring, err = keyring.NewRing(t.Context(), k.st, keyring.Config{Open: true}, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.ring.Stop)
	return k
}

func (k *keys) add(t *testing.T, p holdfast.Principal) string {
	t.Helper()
	secret, row, err := keyring.New(rand.Reader, p, "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := k.st.AddKey(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	return string(secret)
}

// fill puts keys where their names stand in braces.
func (k *keys) fill(request string) string {
	return strings.NewReplacer("{ours}", k.ours, "{theirs}", k.theirs, "{revoked}", k.revoked, "{unknown}", k.unknown, "{short}", k.withoutEnd).Replace(request)
}

func TestAKeyIsTakenFromEveryPlaceAndGoesNoFurther(t *testing.T) {
	const gemini = "/v1beta/models/g:countTokens"
	tests := []struct {
		name, line, header string
		uri                string // at the upstream
		forwarded          http.Header
	}{
		{
			"a bearer token", "/u/login/v1/messages", "Authorization: Bearer {ours}\n",
			"/v1/messages",
			http.Header{},
		},
		{
			"a scheme in other letters", "/u/login/v1/messages", "Authorization: bearer  {ours}\n",
			"/v1/messages",
			http.Header{},
		},
		{
			"Anthropic's header, beside a credential of the client", "/u/login/v1/messages", "X-Api-Key: {ours}\nAuthorization: Bearer login\n",
			"/v1/messages",
			http.Header{"Authorization": {"Bearer login"}},
		},
		{
			"a bearer token, beside the client's key", "/u/login/v1/messages", "Authorization: Bearer {ours}\nX-Api-Key: client\n",
			"/v1/messages",
			http.Header{"X-Api-Key": {"client"}},
		},
		{
			"one key in two headers", "/u/login/v1/messages", "Authorization: Bearer {ours}\nX-Api-Key: {ours}\n",
			"/v1/messages",
			http.Header{},
		},
		{
			"a configured credential takes the place of both", "/u/keyed/v1/messages", "X-Api-Key: {ours}\nAuthorization: Bearer login\n",
			"/v1/messages",
			http.Header{"X-Api-Key": {"sk-own"}},
		},
		{
			"OpenAI's", "/v1/responses", "Authorization: Bearer {ours}\n",
			"/v1/responses",
			http.Header{"Authorization": {"Bearer sk-open"}},
		},
		{
			"Gemini's header", gemini, "X-Goog-Api-Key: {ours}\n",
			gemini,
			http.Header{"X-Goog-Api-Key": {"goog"}},
		},
		{
			"Gemini's query", gemini + "?alt=sse&key={ours}&x=%7e", "",
			gemini + "?alt=sse&x=%7e",
			http.Header{"X-Goog-Api-Key": {"goog"}},
		},
		{
			"a query whose name and value are escaped", "/u/login/v1/messages?%6Bey=%68{ours}&key=client&beta=true",
			"", "/v1/messages?key=client&beta=true",
			http.Header{},
		},
		{
			"a header of another vendor has no key of ours either", "/u/login/v1/messages", "Authorization: Bearer {ours}\nApi-Key: {ours}\n",
			"/v1/messages",
			http.Header{},
		},
		{
			"nor has another scheme", "/u/login/v1/messages", "X-Api-Key: {ours}\nAuthorization: Token \"{ours}\"\n",
			"/v1/messages",
			http.Header{},
		},
	}
	k := newKeys(t)
	s := newStage(t, setting{upstreams: withKeys, auth: k.ring}, respondWith("data: {}\n\n"))
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			n := len(s.seen())
			line := k.fill(strings.ReplaceAll(c.line, "%68{ours}", "%68"+strings.TrimPrefix(k.ours, "h")))
			got := s.raw("POST " + line + " HTTP/1.1\nHost: HOST\n" + k.fill(c.header) + "Content-Length: 2\n\n{}")
			if got.status != 200 || len(s.seen()) != n+1 {
				t.Fatalf("status %d, %s", got.status, got.body)
			}
			c.forwarded["Content-Length"] = []string{"2"}
			if at := s.seen()[n]; at.uri != c.uri || !reflect.DeepEqual(at.header, c.forwarded) {
				t.Errorf("the upstream got %s %v, want %s %v", at.uri, at.header, c.uri, c.forwarded)
			}
		})
	}
	if log := s.log.String(); strings.Contains(log, "hf_") || strings.Contains(log, "sk-own") {
		t.Errorf("a credential is in the log:\n%s", log)
	}
}

func TestWithoutAGoodKeyNothingIsForwarded(t *testing.T) {
	const (
		none    = "the request has no key of this server. Make one with `holdfast key create` and give it to the agent as its API key"
		unknown = "the request's key is not one of this server. Compare its beginning with `holdfast key ls`, or make one with `holdfast key create`"
		revoked = "the request's key was revoked. Make one with `holdfast key create` and give it to the agent"
		two     = "the request has keys of two principals. Let the agent send only one of them, in one header"
	)
	anthropic := func(text string) string {
		return `{"error":{"message":"holdfast: ` + text + `","type":"authentication_error"},"type":"error"}` + "\n"
	}
	openai := func(text string) string {
		return `{"error":{"code":"unauthorized","message":"holdfast: ` + text + `","param":null,"type":"invalid_request_error"}}` + "\n"
	}
	gemini := func(text string) string {
		return `{"error":{"code":401,"message":"holdfast: ` + text + `","status":"UNAUTHENTICATED"}}` + "\n"
	}
	tests := []struct{ name, line, header, body string }{
		{"no key", "POST /v1/messages", "", anthropic(none)},
		{"the client's own credential", "POST /v1/messages", "X-Api-Key: sk-ant-client\n", anthropic(none)},
		{"a token of Hugging Face", "POST /v1/chat/completions", "Authorization: Bearer hf_" + strings.Repeat("a", 34) + "\n", openai(none)},
		{"a key in a place that is none", "POST /v1/messages", "X-Key: {ours}\n", anthropic(none)},
		{"an unknown one", "POST /v1/responses", "Authorization: Bearer {unknown}\n", openai(unknown)},
		{"a cut one", "POST /v1/responses", "Authorization: Bearer {short}\n", openai(unknown)},
		{"a revoked one", "POST /v1beta/models/g:generateContent?key={revoked}", "", gemini(revoked)},
		{"two of two principals", "POST /v1/messages", "X-Api-Key: {ours}\nAuthorization: Bearer {theirs}\n", anthropic(two)},
		{"a good one and a revoked one", "POST /v1/messages", "X-Api-Key: {ours}\nAuthorization: Bearer {revoked}\n", anthropic(revoked)},
		{"an upstream that does not exist, whose like are not told", "POST /u/other/v1/messages", "", anthropic(none)},
		{"one that exists, answered alike", "POST /u/keyed/v1/messages", "", anthropic(none)},
		{"one of another protocol, answered alike", "POST /u/google/v1/messages", "", anthropic(none)},
		{"a WebSocket", "GET /v1/responses", "Connection: Upgrade\nUpgrade: websocket\n", openai(none)},
		{"metrics", "GET /metrics", "", openai(none)},
	}
	k := newKeys(t)
	s := newStage(t, setting{upstreams: withKeys, auth: k.ring}, respondWith(""))
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			got := s.raw(k.fill(c.line) + " HTTP/1.1\nHost: HOST\n" + k.fill(c.header) + "Content-Length: 0\n\n")
			if got.status != 401 || got.body != c.body {
				t.Errorf("got %d %s\nwant 401 %s", got.status, got.body, c.body)
			}
			if challenge := got.header.Get("WWW-Authenticate"); challenge != `Bearer realm="holdfast"` {
				t.Errorf("WWW-Authenticate is %q", challenge)
			}
		})
	}
	if n := len(s.seen()); n != 0 {
		t.Errorf("the upstream was called %d times", n)
	}
	if n := s.metric("holdfast_refused_total", "unauthorized"); n != float64(len(tests)) {
		t.Errorf("%v refusals are counted, want %d", n, len(tests))
	}
}

func TestOnlyHealthNeedsNoKey(t *testing.T) {
	k := newKeys(t)
	s := newStage(t, setting{auth: k.ring}, respondWith(""))
	for line, want := range map[string]int{
		"/healthz HTTP/1.1\nHost: HOST\n\n":                                          200,
		"/healthz HTTP/1.1\nHost: HOST\nAuthorization: Bearer " + k.revoked + "\n\n": 200,
		"/metrics HTTP/1.1\nHost: HOST\n\n":                                          401,
		"/metrics HTTP/1.1\nHost: HOST\nAuthorization: Bearer " + k.ours + "\n\n":    200,
	} {
		if got := s.raw("GET " + line); got.status != want {
			t.Errorf("%q has status %d, want %d", line, got.status, want)
		}
	}
}

func TestAKeyIsNeverForwardedWhileTheServerIsOpen(t *testing.T) {
	k := newKeys(t)
	open, err := keyring.NewRing(t.Context(), store.NewMemory(), keyring.Config{Open: true}, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(open.Stop)
	for name, auth := range map[string]proxy.Authenticator{"no key is stored": open, "keys are off": nil} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, setting{auth: auth}, respondWith("data: {}\n\n"))
			got := s.raw(k.fill("POST /v1/messages?key={unknown} HTTP/1.1\nHost: HOST\nX-Api-Key: {ours}\nAuthorization: Bearer login\nContent-Length: 2\n\n{}"))
			want := http.Header{"Authorization": {"Bearer login"}, "Content-Length": {"2"}}
			if at := s.seen(); got.status != 200 || len(at) != 1 || at[0].uri != "/v1/messages" || !reflect.DeepEqual(at[0].header, want) {
				t.Errorf("status %d, the upstream got %v", got.status, at)
			}
		})
	}
}

func TestARemoteServerAnswersToEveryName(t *testing.T) {
	k := newKeys(t)
	s := newStage(t, setting{auth: k.ring, limits: proxy.Config{MaxBody: 1 << 20, MaxInFlight: 1 << 20, Remote: true}}, respondWith("data: {}\n\n"))
	for header, want := range map[string]int{
		"Host: holdfast.example:4141\nX-Api-Key: " + k.ours + "\n": 200,
		"Host: holdfast.example:4141\n":                            401,
	} {
		if got := s.raw("POST /v1/messages HTTP/1.1\n" + header + "Content-Length: 2\n\n{}"); got.status != want {
			t.Errorf("%q has status %d, want %d", header, got.status, want)
		}
	}
}

// sent is a request of an agent.
type sent struct {
	path   string
	header http.Header
	body   string
}

// as is the header of a request with a key for the server.
func as(key string, header http.Header) http.Header {
	header = header.Clone()
	header.Del("Authorization")
	header.Set("X-Api-Key", key)
	return header
}

// What a history is known by: a text of the model, and the answers to all requests.
const (
	claudeLong = "The reader is ported to Parquet and all of its tests are green; the writer is what is left to do."
	summarised = "They worked on the importer for a while, looked at what others do, and talked about many things."
)

func TestNoSessionIsReachedByAnotherPrincipal(t *testing.T) {
	claude := func(session string, messages ...string) sent {
		return sent{"/v1/messages", claudeHeader(session), claudeBody(messages...)}
	}
	nameless := func(messages ...string) sent { // an agent that sends no id
		r := claude("", messages...)
		r.header.Del("X-Claude-Code-Session-Id")
		return r
	}
	run := func(r sent) sent { r.path = "/r/work" + r.path; return r }
	codex := func(session, kind, more string, input ...string) sent {
		h := codexHeader(session, kind)
		h.Set("X-Codex-Turn-Metadata", strings.TrimSuffix(h.Get("X-Codex-Turn-Metadata"), "}")+more+"}")
		return sent{"/v1/responses", h, codexBody(input...)}
	}
	codexLong := `{"type":"message","role":"assistant","content":[{"type":"output_text","text":` + quote(claudeLong) + `}]}`
	planned := append(claudePlanned(), claudeText("user", "Go on."), claudeText("assistant", claudeLong))
	learned := append(slices.Clone(planned), claudeText("user", "Yes."))
	// Histories without the plan, which then is only in the session.
	opened := []string{claudeText("user", claudeResume), claudeText("assistant", "I go on."), claudeText("user", "Yes.")}
	asked := func(history ...string) []string {
		return append(slices.Clone(history), claudeText("user", claudeMarker))
	}
	known := []string{claudeText("user", "Move the importer to Parquet."), claudeText("assistant", claudeLong)}

	tests := []struct {
		name  string
		learn []sent
		probe func(block string) sent // block is what the last of learn was given
	}{
		{
			"by the agent's session id",
			[]sent{claude("s", learned...)},
			func(string) sent { return claude("s", opened...) },
		},
		{
			"by the agent's session id in a compaction",
			[]sent{claude("s", learned...)},
			func(string) sent { return claude("s", asked(known...)...) },
		},
		{
			"by the name of a run",
			[]sent{run(nameless(learned...))},
			func(string) sent { return run(nameless(opened...)) },
		},
		{
			"by a history in a session of another id",
			[]sent{claude("s", learned...)},
			func(string) sent { return claude("t", asked(known...)...) },
		},
		{
			"by a history without an id",
			[]sent{nameless(learned...)},
			func(string) sent { return nameless(asked(known...)...) },
		},
		{
			"by the block of the other one",
			[]sent{claude("s", learned...), claude("s", asked(planned...)...)},
			func(block string) sent {
				return claude("t", asked(claudeText("user", claudeResume+"\n\n"+block), claudeText("assistant", "I go on."))...)
			},
		},
		{
			"by the block of the other one without an id",
			[]sent{nameless(learned...), nameless(asked(planned...)...)},
			func(block string) sent {
				return nameless(asked(claudeText("user", claudeResume+"\n\n"+block), claudeText("assistant", "I go on."))...)
			},
		},
		{
			"by the thread that it says it was forked from",
			[]sent{codex("s", "turn", "", append(codexPlanned(), codexLong, codexText("user", "Go on."))...)},
			func(string) sent {
				return codex("t", "compaction", `,"forked_from_thread_id":"s"`, codexLong, codexText("user", codexMarker))
			},
		},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			k := newKeys(t)
			replies := map[string]string{"/v1/messages": claudeSays(summarised), "/v1/responses": codexSays(summarised)}
			// The words of the user, which a probe may hold itself, are left out.
			s := newStage(t, setting{auth: k.ring, preserve: continuity.Preserve{Plan: true}}, func(w http.ResponseWriter, r *http.Request) { sendStream(w, replies[r.URL.Path]) })
			var block string
			for _, r := range c.learn {
				_, block, _, _ = withoutBlock(s.post(r.path, as(k.ours, r.header), r.body).body)
			}
			probe := c.probe(strings.TrimSpace(block))
			reply := replies[strings.TrimPrefix(probe.path, "/r/work")]

			got := s.post(probe.path, as(k.theirs, probe.header), probe.body)
			calls := s.seen()
			if at := string(calls[len(calls)-1].body); at != probe.body {
				t.Errorf("the request of the other principal was changed:\n%s\nwant\n%s", at, probe.body)
			}
			if got.body != reply {
				t.Errorf("the answer to the other principal was changed:\n%s\nwant\n%s", got.body, reply)
			}

			// Whose session it is gets the plan by the same request, and is not
			// disturbed by the other one.
			got = s.post(probe.path, as(k.ours, probe.header), probe.body)
			calls = s.seen()
			added := strings.TrimPrefix(got.body, reply) + strings.TrimPrefix(string(calls[len(calls)-1].body), probe.body)
			if strings.Count(added, "<holdfast-record") == 0 || !strings.Contains(added, "port the writer") {
				t.Errorf("the principal's own request carries nothing: the test proves nothing\n%s", added)
			}
			s.apart("us", "them")
		})
	}
}

// apart checks that what is stored of two principals has nothing in common. The
// first of them has a session, and asked last.
func (s *stage) apart(one, other holdfast.Principal) {
	s.t.Helper()
	branches := map[holdfast.Principal]map[holdfast.BranchID]bool{one: {}, other: {}}
	parents := map[holdfast.BranchID]holdfast.Principal{}
	s.eventually("a session of "+string(one), func() bool {
		list, err := s.store.Sessions(context.Background(), one)
		return err == nil && len(list) > 0
	})
	for p, of := range branches {
		list, err := s.store.Sessions(context.Background(), p)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, info := range list {
			state, err := s.store.Load(context.Background(), p, info.ID)
			if err != nil {
				s.t.Fatal(err)
			}
			for _, b := range state.Branches {
				of[b.ID] = true
				if b.Parent != "" {
					parents[b.Parent] = p
				}
			}
		}
	}
	for parent, p := range parents {
		if !branches[p][parent] {
			s.t.Errorf("%s has a fork of a branch %s that is not its own", p, parent)
		}
	}
}
