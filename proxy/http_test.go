package proxy_test

import (
	"bufio"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/upstream"
)

// passing are requests and answers as bytes on the wire; a head has LF where
// the wire has CRLF, and EXTRA is where a mode puts its session header.
var passing = []struct{ name, request, reply string }{
	{
		"an answer of Messages in one piece",
		"POST /v1/messages?beta=true HTTP/1.1\nHost: HOST\nAnthropic-Version: 2023-06-01\nContent-Length: 108\nEXTRA\n\n" +
			`{ "model":"m","max_tokens":1e1,"x":[1.50,"\u00e4ä"],"messages":[ {"role":"user","content":"hi"} ],"y":{ }}` + "\n",
		"HTTP/1.1 200 OK\nContent-Type: application/json\nRequest-Id: req_1\nDate: Mon, 05 Jan 2026 10:00:00 GMT\nContent-Length: 20\n\n" +
			`{"type": "message"}` + "\n",
	},
	{
		"a stream of Messages",
		"POST /v1/messages HTTP/1.1\nHost: HOST\nContent-Length: 59\nEXTRA\n\n" +
			`{"model":"m","messages":[{"role":"user","content":"hi"}] }` + "\n",
		"HTTP/1.1 200 OK\nContent-Type: text/event-stream; charset=utf-8\nDate: Mon, 05 Jan 2026 10:00:00 GMT\nTransfer-Encoding: chunked\n\n" +
			chunked("", claudeBegin("\n")[:70], claudeBegin("\n")[70:]+claudeDelta("\r\n", "ü"), ": comment\n\n", claudeEnd("\n")),
	},
	{
		"a token count of Messages",
		"POST /v1/messages/count_tokens?beta=true HTTP/1.1\nHost: HOST\nContent-Length: 28\nEXTRA\n\n" + `{"model":"m","messages":[ ]}`,
		"HTTP/1.1 200 OK\nContent-Type: application/json\nDate: x\nContent-Length: 18\n\n" + `{"input_tokens":7}`,
	},
	{
		"a stream of Responses",
		"POST /v1/responses HTTP/1.1\nHost: HOST\nAuthorization: Bearer k\nContent-Length: 27\nEXTRA\n\n" + `{"model":"m","input":"hi" }`,
		"HTTP/1.1 200 OK\nContent-Type: text/event-stream\nDate: x\nTransfer-Encoding: chunked\n\n" + chunked("", codexSays("grüß")),
	},
	{
		"a compaction at the endpoint of Responses",
		"POST /v1/responses/compact HTTP/1.1\nHost: HOST\nContent-Length: 50\nEXTRA\n\n" + `{"model":"m","input":[{"type":"message"}], "a":01}`[:49] + "\n",
		"HTTP/1.1 200 OK\nContent-Type: application/json\nDate: x\nTransfer-Encoding: chunked\n\n" +
			chunked("", `{"output":[{"type":"compaction","id":"c","encrypted_`, `content":"b3Bh"}]}`),
	},
	{
		"an answer of Chat in one piece",
		"POST /v1/chat/completions HTTP/1.1\nHost: HOST\nContent-Length: 28\nEXTRA\n\n" + `{"model":"m","messages":[ ]}`,
		"HTTP/1.1 200 OK\nContent-Type: application/json\nDate: x\nContent-Length: 14\n\n" + `{"choices":[]}`,
	},
	{
		"a stream of Chat",
		"POST /v1/chat/completions HTTP/1.1\nHost: HOST\nContent-Length: 42\nEXTRA\n\n" + `{"model":"m","messages":[ ],"stream":true}`,
		"HTTP/1.1 200 OK\nContent-Type: text/event-stream\nDate: x\nTransfer-Encoding: chunked\n\n" + chunked("", "data: {\"choices\":[]}\n\n", "data: [DONE]\n\n"),
	},
	{
		"an answer of Gemini in one piece",
		"POST /v1beta/models/gemini-x:generateContent?key=k HTTP/1.1\nHost: HOST\nContent-Length: 16\nEXTRA\n\n" + `{"contents":[ ]}`,
		"HTTP/1.1 200 OK\nContent-Type: application/json\nDate: x\nContent-Length: 17\n\n" + `{"candidates":[]}`,
	},
	{
		"a stream of Gemini",
		"POST /v1beta/models/gemini-x:streamGenerateContent?alt=sse HTTP/1.1\nHost: HOST\nX-Goog-Api-Key: k\nContent-Length: 16\nEXTRA\n\n" + `{"contents":[ ]}`,
		"HTTP/1.1 200 OK\nContent-Type: text/event-stream\nDate: x\nTransfer-Encoding: chunked\n\n" + chunked("", "data: {}\r\n\r\n"),
	},
	{
		"a token count of Gemini",
		"POST /v1beta/models/gemini-x:countTokens HTTP/1.1\nHost: HOST\nContent-Length: 16\nEXTRA\n\n" + `{"contents":[ ]}`,
		"HTTP/1.1 200 OK\nContent-Type: application/json\nDate: x\nContent-Length: 17\n\n" + `{"totalTokens":3}`,
	},
	{
		"a list of models, by the version header",
		"GET /v1/models?limit=2 HTTP/1.1\nHost: HOST\nAnthropic-Version: 2023-06-01\nEXTRA\n\n",
		"HTTP/1.1 200 OK\nContent-Type: application/json\nDate: x\nContent-Length: 2\n\n{}",
	},
	{
		"a list of files, by the bearer token",
		"GET /v1/files HTTP/1.1\nHost: HOST\nAuthorization: Bearer k\nEXTRA\n\n",
		"HTTP/1.1 200 OK\nContent-Type: application/json\nDate: x\nContent-Length: 2\n\n{}",
	},
	{
		"a batch of Messages",
		"POST /v1/messages/batches HTTP/1.1\nHost: HOST\nContent-Length: 15\nEXTRA\n\n" + `{"requests":[]}`,
		"HTTP/1.1 200 OK\nContent-Type: application/json\nDate: x\nContent-Length: 2\n\n{}",
	},
	{
		"the items of a response",
		"GET /v1/responses/resp_1/input_items?after=a%20b&limit=5 HTTP/1.1\nHost: HOST\nEXTRA\n\n",
		"HTTP/1.1 200 OK\nContent-Type: application/json\nDate: x\nContent-Length: 2\n\n{}",
	},
	{
		"an escaped path and a query that no parser would write again",
		"GET /v1/files/a%2Fb%20c%2f/content?x=%2F&y=1;2&&z&=&q=a+b HTTP/1.1\nHost: HOST\nAuthorization: Bearer k\nEXTRA\n\n",
		"HTTP/1.1 200 OK\nContent-Type: application/octet-stream\nDate: x\nContent-Length: 3\n\n\x00\xff\n",
	},
	{
		"an empty query",
		"GET /v1/responses/resp_1? HTTP/1.1\nHost: HOST\nEXTRA\n\n",
		"HTTP/1.1 200 OK\nContent-Type: application/json\nDate: x\nContent-Length: 2\n\n{}",
	},
	{
		"repeated and unknown headers, and no User-Agent",
		"POST /v1/messages HTTP/1.1\nHost: HOST\nAnthropic-Beta: b\nX-Weird_Name: ~!\nAnthropic-Beta: a\nCookie: c=1\nAnthropic-Beta: b, c\n" +
			"Accept-Encoding: gzip, br\nContent-Length: 2\nEXTRA\n\n{}",
		"HTTP/1.1 200 OK\nContent-Type: application/json\nSet-Cookie: a=1; Path=/\nX-Weird_Name: 1\nDate: x\nSet-Cookie: b=2\nX-Weird_Name: 0\nContent-Length: 2\n\n{}",
	},
	{
		"a request body of unknown length",
		"POST /v1/messages HTTP/1.1\nHost: HOST\nTransfer-Encoding: chunked\nEXTRA\n\n" + chunked("", `{"model":"m",`, `"messages":[]}`),
		"HTTP/1.1 200 OK\nContent-Type: application/json\nDate: x\nContent-Length: 2\n\n{}",
	},
	{
		"an empty request body",
		"POST /v1/messages HTTP/1.1\nHost: HOST\nContent-Length: 0\nEXTRA\n\n",
		"HTTP/1.1 400 Bad Request\nContent-Type: application/json\nDate: x\nContent-Length: 16\n\n" + `{"type":"error"}`,
	},
	{
		"HEAD with the length of what GET would bring",
		"HEAD /v1/messages/batches HTTP/1.1\nHost: HOST\nEXTRA\n\n",
		"HTTP/1.1 200 OK\nContent-Type: application/json\nDate: x\nContent-Length: 4711\n\n",
	},
	{
		"HEAD of the root, as claude-code probes",
		"HEAD / HTTP/1.1\nHost: HOST\nUser-Agent: Bun/1\nEXTRA\n\n",
		"HTTP/1.1 404 Not Found\nDate: x\nContent-Length: 0\n\n",
	},
	{
		"OPTIONS",
		"OPTIONS /v1/chat/completions HTTP/1.1\nHost: HOST\nOrigin: https://example.com\nAccess-Control-Request-Method: POST\nEXTRA\n\n",
		"HTTP/1.1 204 No Content\nAccess-Control-Allow-Origin: *\nDate: x\n\n",
	},
	{
		"DELETE with a body",
		"DELETE /v1/responses/resp_1 HTTP/1.1\nHost: HOST\nContent-Length: 2\nEXTRA\n\n{}",
		"HTTP/1.1 200 OK\nContent-Type: application/json\nDate: x\nContent-Length: 2\n\n{}",
	},
	{
		"an answer that did not change",
		"GET /v1/responses/resp_1 HTTP/1.1\nHost: HOST\nIf-None-Match: \"e\"\nEXTRA\n\n",
		"HTTP/1.1 304 Not Modified\nEtag: \"e\"\nDate: x\n\n",
	},
	{
		"a redirect, which is the client's to follow",
		"POST /v1/messages HTTP/1.1\nHost: HOST\nContent-Length: 2\nEXTRA\n\n{}",
		"HTTP/1.1 307 Temporary Redirect\nLocation: /v1/elsewhere?a=b\nDate: x\nContent-Length: 0\n\n",
	},
	{
		"a refusal with a body and a time to wait",
		"POST /v1/messages HTTP/1.1\nHost: HOST\nContent-Length: 2\nEXTRA\n\n{}",
		"HTTP/1.1 429 Too Many Requests\nContent-Type: application/json\nRetry-After: 17\nX-Should-Retry: true\nDate: x\nContent-Length: 16\n\n" + `{"type":"error"}`,
	},
	{
		"an overloaded upstream",
		"POST /v1/messages HTTP/1.1\nHost: HOST\nContent-Length: 2\nEXTRA\n\n{}",
		"HTTP/1.1 529 Overloaded\nContent-Type: application/json\nDate: x\nTransfer-Encoding: chunked\n\n" + chunked("", `{"type":`, `"error"}`),
	},
	{
		"an answer without a type, which stays without",
		"GET /v1/responses/resp_1 HTTP/1.1\nHost: HOST\nEXTRA\n\n",
		"HTTP/1.1 200 OK\nDate: x\nContent-Length: 15\n\n<html>no</html>",
	},
	{
		"trailers, announced and not",
		"POST /v1/messages HTTP/1.1\nHost: HOST\nContent-Length: 2\nEXTRA\n\n{}",
		"HTTP/1.1 200 OK\nContent-Type: text/event-stream\nDate: x\nTrailer: X-Sum\nTransfer-Encoding: chunked\n\n" +
			chunked("X-Sum: 1\r\nX-Late: 2\r\nX-Late: 3\r\n", "data: {}\n\n"),
	},
}

// modes are the states of continuity that bytes pass in.
var modes = []struct {
	name   string
	set    setting
	header string
}{
	{"off", setting{off: true}, "X-Session-Id: s-1"},
	{"unlinked", setting{}, "X-Other: 1"},
	{"linked", setting{}, "X-Session-Id: s-1"},
}

func TestEveryByteAndHeaderPassesUnchanged(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			reply := ""
			s := newStage(t, m.set, func(w http.ResponseWriter, _ *http.Request) { replyRaw(t, w, reply) })
			for _, c := range passing {
				t.Run(c.name, func(t *testing.T) {
					reply = c.reply
					request := strings.Replace(c.request, "EXTRA", m.header, 1)
					before := len(s.seen())
					got := s.raw(request)
					calls := s.seen()[before:]
					if len(calls) != 1 {
						t.Fatalf("the upstream was called %d times, want once", len(calls))
					}
					checkRequest(t, calls[0], request)
					method, _, _ := strings.Cut(request, " ")
					head, body, _ := strings.Cut(reply, "\n\n")
					want := readAnswer(t, strings.NewReader(strings.ReplaceAll(head, "\n", "\r\n")+"\r\n\r\n"+body), method)
					if !reflect.DeepEqual(got, want) {
						t.Errorf("the client got\n%+v\nwant\n%+v", got, want)
					}
				})
			}
			if m.name == "unlinked" {
				return
			}
			var list []store.SessionInfo
			for deadline := time.Now().Add(2 * time.Second); len(list) == 0 && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
				var err error
				if list, err = s.store.Sessions(t.Context(), holdfast.Local); err != nil {
					t.Fatal(err)
				}
				if m.name != "linked" {
					break
				}
			}
			if linked := len(list) > 0; linked != (m.name == "linked") {
				t.Errorf("sessions in the store: %d", len(list))
			}
		})
	}
}

// checkRequest compares what the upstream got with the bytes that were sent.
func checkRequest(t *testing.T, got call, request string) {
	t.Helper()
	head, body, _ := strings.Cut(request, "\n\n")
	head = strings.ReplaceAll(strings.ReplaceAll(head, "HOST", "localhost"), "\n", "\r\n")
	want, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head + "\r\n\r\n" + body)))
	if err != nil {
		t.Fatal(err)
	}
	wantBody, err := io.ReadAll(want.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got.method != want.Method || got.uri != want.RequestURI {
		t.Errorf("the upstream got %s %s, want %s %s", got.method, got.uri, want.Method, want.RequestURI)
	}
	if string(got.body) != string(wantBody) || got.length != int64(len(wantBody)) {
		t.Errorf("the upstream got %q of length %d, want %q", got.body, got.length, wantBody)
	}
	// The length of a body of unknown length is known once it was read.
	delete(got.header, "Content-Length")
	delete(want.Header, "Content-Length")
	if !reflect.DeepEqual(got.header, want.Header) {
		t.Errorf("the upstream got the headers\n%v\nwant\n%v", got.header, want.Header)
	}
}

func TestHopByHopHeadersEndAtTheProxy(t *testing.T) {
	s := newStage(t, setting{}, func(w http.ResponseWriter, _ *http.Request) {
		replyRaw(t, w, "HTTP/1.1 200 OK\nConnection: keep-alive, X-Mine\nKeep-Alive: timeout=5\nProxy-Authenticate: Basic\nX-Mine: 1\n"+
			"Upgrade: h2c\nX-Kept: 2\nDate: x\nContent-Type: application/json\nContent-Length: 2\n\n{}")
	})
	got := s.raw("POST /v1/messages HTTP/1.1\nHost: HOST\nConnection: keep-alive, X-Private\nConnection: x-more\nX-Private: 1\nX-More: 2\n" +
		"Keep-Alive: 5\nProxy-Connection: keep-alive\nProxy-Authorization: Basic eDp5\nTe: trailers\nTrailer: X-End\nUpgrade: h2c\n" +
		"X-Kept: 3\nContent-Length: 2\n\n{}")
	wantUp := http.Header{"X-Kept": {"3"}, "Content-Length": {"2"}}
	if h := s.seen()[0].header; !reflect.DeepEqual(h, wantUp) {
		t.Errorf("the upstream got %v, want %v", h, wantUp)
	}
	wantDown := http.Header{"X-Kept": {"2"}, "Date": {"x"}, "Content-Type": {"application/json"}, "Content-Length": {"2"}}
	if !reflect.DeepEqual(got.header, wantDown) {
		t.Errorf("the client got %v, want %v", got.header, wantDown)
	}
}

// withKeys are upstreams of which the second has a credential of its own.
func withKeys(base *url.URL) []upstream.Upstream {
	return []upstream.Upstream{
		{Name: "login", Protocol: holdfast.Anthropic, Base: base, Models: []string{"claude-a"}},
		{Name: "keyed", Protocol: holdfast.Anthropic, Base: base, Key: "sk-own"},
		{Name: "openai", Protocol: holdfast.Responses, Base: versioned(base), Key: "sk-open"},
		{Name: "google", Protocol: holdfast.Gemini, Base: base, Key: "goog"},
	}
}

func TestCredentials(t *testing.T) {
	const sent = "Authorization: Bearer client\nX-Api-Key: client\n"
	own := func(name, value string) http.Header { return http.Header{name: {value}, "Content-Length": {"2"}} }
	tests := []struct {
		name, line, uri string
		header          http.Header
	}{
		{
			"the client's own passes where none is configured", "/u/login/v1/messages", "/v1/messages",
			http.Header{"Authorization": {"Bearer client"}, "X-Api-Key": {"client"}, "Content-Length": {"2"}},
		},
		{"a configured one replaces it", "/u/keyed/v1/messages", "/v1/messages", own("X-Api-Key", "sk-own")},
		{"as a bearer token for OpenAI", "/v1/responses", "/v1/responses", own("Authorization", "Bearer sk-open")},
		{"and in the query for Gemini", "/v1beta/models/g:countTokens?a=1&key=client&b=2", "/v1beta/models/g:countTokens?a=1&b=2", own("X-Goog-Api-Key", "goog")},
	}
	s := newStage(t, setting{upstreams: withKeys}, respondWith("data: {}\n\n"))
	for i, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			s.raw("POST " + c.line + " HTTP/1.1\nHost: HOST\n" + sent + "Content-Length: 2\n\n{}")
			got := s.seen()[i]
			if got.uri != c.uri || !reflect.DeepEqual(got.header, c.header) {
				t.Errorf("the upstream got %s %v, want %s %v", got.uri, got.header, c.uri, c.header)
			}
		})
	}
}

func TestPathsChooseUpstreamAndSession(t *testing.T) {
	tests := []struct{ name, path, body, uri, host, session string }{
		{"the model, to the first upstream that serves it", "/v1/messages", `{"model":"claude-a","messages":[]}`, "/v1/messages", "login", ""},
		{"the model, to the next one", "/v1/messages", `{"model":"claude-b","messages":[]}`, "/v1/messages", "keyed", ""},
		{"a name", "/u/keyed/v1/messages?a=%2F", `{"model":"claude-a","messages":[]}`, "/v1/messages?a=%2F", "keyed", ""},
		{"a name and a path of no known protocol", "/u/keyed/some/thing%2Felse", "x", "/some/thing%2Felse", "keyed", ""},
		{"a session", "/r/my-run/v1/messages", `{"model":"claude-a","messages":[{"role":"user","content":"a"}]}`, "/v1/messages", "login", "run:my-run"},
		{"a name, then a session", "/u/keyed/r/run%202/v1/messages", `{"messages":[{"role":"user","content":"b"}]}`, "/v1/messages", "keyed", "run:run 2"},
		{"a session, then a name", "/r/run-3/u/keyed/v1/messages", `{"messages":[{"role":"user","content":"c"}]}`, "/v1/messages", "keyed", "run:run-3"},
	}
	s := newStage(t, setting{upstreams: withKeys}, respondWith("data: {}\n\n"))
	var want []string
	for i, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			if got := s.post(c.path, nil, c.body); got.status != 200 {
				t.Fatalf("status %d: %s", got.status, got.body)
			}
			host := "login"
			if s.seen()[i].header.Get("X-Api-Key") == "sk-own" {
				host = "keyed"
			}
			if got := s.seen()[i]; got.uri != c.uri || host != c.host || string(got.body) != c.body {
				t.Errorf("%s got %s with %q, want %s at %s", host, got.uri, got.body, c.uri, c.host)
			}
		})
		if c.session != "" {
			want = append(want, c.session)
		}
	}
	s.eventually("all named sessions in the store", func() bool {
		list, err := s.store.Sessions(t.Context(), holdfast.Local)
		if err != nil {
			t.Fatal(err)
		}
		keys := map[string]bool{}
		for _, info := range list {
			keys[info.Key] = true
		}
		wanted := map[string]bool{}
		for _, k := range want {
			wanted[k] = true
		}
		return maps.Equal(keys, wanted)
	})
}

func TestNoPathLeavesTheBaseOfItsUpstream(t *testing.T) {
	s := newStage(t, setting{upstreams: func(base *url.URL) []upstream.Upstream {
		tenant := *base
		tenant.Path = "/tenant/v1"
		return []upstream.Upstream{{Name: "gate", Protocol: holdfast.Chat, Base: &tenant, Key: "sk-own"}}
	}}, respondWith(""))
	for _, path := range []string{
		"/u/gate/../other/models", "/u/gate/v1/../../other/models", "/u/gate/v1/a/../models", "/u/gate/%2e%2E/other", "/u/gate/a%2F..%2F..%2Fother", `/u/gate/..\other`,
		"/u/gate/a%5c..%5Cother", "/u/gate/..", "/r/run/u/gate/v1/..",
	} {
		if got := s.raw("GET " + path + " HTTP/1.1\nHost: HOST\n\n"); got.status != http.StatusBadRequest {
			t.Errorf("%s: got %d %s", path, got.status, got.body)
		}
	}
	if n := len(s.seen()); n != 0 {
		t.Errorf("the upstream was called %d times", n)
	}
	for _, path := range []string{"/u/gate/v1/a..b/...", "/u/gate/v1/models?after=../x", "/u/gate/v1/..hidden"} {
		if got := s.raw("GET " + path + " HTTP/1.1\nHost: HOST\n\n"); got.status != http.StatusOK {
			t.Errorf("%s: got %d %s", path, got.status, got.body)
		}
	}
}

func TestAnswersOfTheProxyItself(t *testing.T) {
	tests := []struct {
		name, request string
		status        int
		body          string
	}{
		{
			"an upstream that does not exist, in the form of Messages", "POST /u/other/v1/messages HTTP/1.1\nHost: HOST\nContent-Length: 0\n\n", 404,
			`{"error":{"message":"holdfast: no upstream is named \"other\". There are: login, keyed, openai, google. Names come from [[upstream]] in the configuration","type":"not_found_error"},"type":"error"}` + "\n",
		},
		{
			"the same in the form of Chat Completions", "POST /u/other/v1/chat/completions HTTP/1.1\nHost: HOST\nContent-Length: 0\n\n", 404,
			`{"error":{"code":"not_found","message":"holdfast: no upstream is named \"other\". There are: login, keyed, openai, google. Names come from [[upstream]] in the configuration","param":null,"type":"invalid_request_error"}}` + "\n",
		},
		{
			"a path of no protocol", "GET /some/path HTTP/1.1\nHost: HOST\n\n", 404,
			`{"error":{"code":"not_found","message":"holdfast: no upstream for GET \"/some/path\": the path belongs to no known protocol. Name the upstream in the path: /u/NAME/some/path","param":null,"type":"invalid_request_error"}}` + "\n",
		},
		{
			"a protocol that no upstream speaks", "POST /v1/chat/completions HTTP/1.1\nHost: HOST\nContent-Length: 0\n\n", 404,
			`{"error":{"code":"not_found","message":"holdfast: no upstream speaks chat. Add an [[upstream]] with protocol = \"chat\" to the configuration","param":null,"type":"invalid_request_error"}}` + "\n",
		},
		{
			"a WebSocket of Responses", "GET /v1/responses HTTP/1.1\nHost: HOST\nConnection: Upgrade\nUpgrade: WebSocket\n\n", 426,
			`{"error":{"code":"websocket","message":"holdfast: this server speaks HTTP: send the request with POST","param":null,"type":"invalid_request_error"}}` + "\n",
		},
		{
			"a foreign page at an upstream with its own credential", "POST /u/keyed/v1/messages HTTP/1.1\nHost: HOST\nOrigin: https://evil.example\nContent-Length: 2\n\n{}", 403,
			`{"error":{"message":"holdfast: a web page of \"https://evil.example\" may not use this server's own credential for \"keyed\"; call it from a program, without an Origin header","type":"permission_error"},"type":"error"}` + "\n",
		},
		{
			"the same in the form of Gemini", "GET /v1beta/models HTTP/1.1\nHost: HOST\nOrigin: null\n\n", 403,
			`{"error":{"code":403,"message":"holdfast: a web page of \"null\" may not use this server's own credential for \"google\"; call it from a program, without an Origin header","status":"PERMISSION_DENIED"}}` + "\n",
		},
		{"health", "GET /healthz HTTP/1.1\nHost: HOST\n\n", 200, `{"status":"ok"}` + "\n"},
	}
	s := newStage(t, setting{upstreams: withKeys}, respondWith(""))
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			got := s.raw(c.request)
			if got.status != c.status || got.body != c.body {
				t.Errorf("got %d %s\nwant %d %s", got.status, got.body, c.status, c.body)
			}
			if ct := got.header.Get("Content-Type"); ct != "application/json" {
				t.Errorf("Content-Type is %q", ct)
			}
		})
	}
	if n := len(s.seen()); n != 0 {
		t.Errorf("the upstream was called %d times", n)
	}
}

func TestOriginsThatMayUseTheOwnCredential(t *testing.T) {
	tests := []struct {
		origin  string
		allowed bool
	}{
		{"", true},
		{"http://localhost:3000", true},
		{"http://127.0.0.1", true},
		{"https://[::1]:8443", true},
		{"vscode-webview://abc", true},
		{"http://evil.example", false},
		{"https://127.0.0.1.evil.example", false},
		{"https://localhost.evil.example:80", false},
		{"null", false},
		{"http://%zz", false},
	}
	s := newStage(t, setting{upstreams: withKeys}, respondWith("data: {}\n\n"))
	for _, c := range tests {
		t.Run(c.origin, func(t *testing.T) {
			header := http.Header{"Origin": {c.origin}}
			if c.origin == "" {
				header = nil
			}
			want := map[bool]int{true: 200, false: 403}[c.allowed]
			if got := s.post("/u/keyed/v1/messages", header, "{}"); got.status != want {
				t.Errorf("with a credential of the server the status is %d, want %d", got.status, want)
			}
			if got := s.post("/u/login/v1/messages", header, "{}"); got.status != 200 {
				t.Errorf("with the client's own it is %d, want 200", got.status)
			}
		})
	}
}

func TestOnlyLoopbackHostsAreAnswered(t *testing.T) {
	tests := []struct {
		host   string
		status int
	}{
		{"localhost", 200},
		{"LocalHost:4141", 200},
		{"localhost.", 200},
		{"localhost.:80", 200},
		{"holdfast.localhost:1", 200},
		{"127.0.0.1", 200},
		{"127.0.0.1:80", 200},
		{"127.9.9.9", 200},
		{"[::1]", 200},
		{"[::1]:4141", 200},
		{"[::ffff:127.0.0.1]:1", 200},
		{"evil.example", 403},
		{"evil.example:4141", 403},
		{"localhost.evil.example", 403},
		{"127.0.0.1.evil.example", 403},
		{"notlocalhost", 403},
		{"0.0.0.0:1", 403},
		{"192.168.1.7", 403},
		{"[fe80::1]", 403},
		{"127.1", 403},
		{"", 403},
	}
	s := newStage(t, setting{}, respondWith("data: {}\n\n"))
	for _, c := range tests {
		t.Run(c.host, func(t *testing.T) {
			for _, path := range []string{"/healthz", "/metrics", "/v1/models?key=k"} {
				if got := s.raw("GET " + path + " HTTP/1.1\nHost: " + c.host + "\n\n"); got.status != c.status {
					t.Errorf("%s under the name %q has status %d, want %d", path, c.host, got.status, c.status)
				}
			}
		})
	}
}

func TestABearerTokenFindsTheOpenAIProtocolThatIsThere(t *testing.T) {
	only := func(base *url.URL) []upstream.Upstream {
		return []upstream.Upstream{{Name: "chat", Protocol: holdfast.Chat, Base: base}}
	}
	s := newStage(t, setting{upstreams: only}, respondWith("data: {}\n\n"))
	got := s.raw("GET /v1/models HTTP/1.1\nHost: HOST\nAuthorization: Bearer k\n\n")
	if got.status != 200 || len(s.seen()) != 1 || s.seen()[0].uri != "/models" {
		t.Errorf("status %d, calls %v", got.status, s.seen())
	}
}
