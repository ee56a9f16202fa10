package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/proxy"
	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/upstream"
)

const inFlight = "holdfast_ingest_bytes_in_flight"

var small = proxy.Config{MaxBody: 1000, MaxInFlight: 1500}

func TestABodyAboveTheLimitIsRefused(t *testing.T) {
	const refusal = `{"error":{"message":"holdfast: the request body is larger than 1000 bytes; raise limits.body in the configuration","type":"request_too_large"},"type":"error"}` + "\n"
	tests := []struct {
		name, request string
		status        int
		calls         int
	}{
		{"a known length at the limit", fmt.Sprintf("Content-Length: 1000\n\n%s", strings.Repeat("a", 1000)), 200, 1},
		{"a known length just above it", fmt.Sprintf("Content-Length: 1001\n\n%s", strings.Repeat("a", 1001)), 413, 0},
		{"a known length far above it, before any byte is sent", "Content-Length: 300000\n\n", 413, 0},
		{"a known length above it, with a client that waits for leave", "Expect: 100-continue\nContent-Length: 1001\n\n", 413, 0},
		{"a known length of more than memory", "Content-Length: 9223372036854775807\n\n", 413, 0},
		{"an unknown length at the limit", "Transfer-Encoding: chunked\n\n" + chunked("", strings.Repeat("a", 600), strings.Repeat("b", 400)), 200, 1},
		{"an unknown length above it", "Transfer-Encoding: chunked\n\n" + chunked("", strings.Repeat("a", 600), strings.Repeat("b", 401)), 413, 0},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, setting{limits: small}, respondWith("data: {}\n\n"))
			got := s.raw("POST /v1/messages HTTP/1.1\nHost: HOST\n" + c.request)
			if got.status != c.status || len(s.seen()) != c.calls {
				t.Fatalf("status %d and %d calls, want %d and %d", got.status, len(s.seen()), c.status, c.calls)
			}
			if c.status == 413 && got.body != refusal {
				t.Errorf("got %s\nwant %s", got.body, refusal)
			}
		})
	}
}

func TestManyPrefixesOfAPathCostNoMoreThanTheyAreLong(t *testing.T) {
	s := newStage(t, setting{}, func(http.ResponseWriter, *http.Request) {})
	const path = 200 << 10
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+strings.Repeat("/r/a/u/b", path/8), nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s.handler.ServeHTTP(httptest.NewRecorder(), r)
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 20*path {
		t.Errorf("a path of %d bytes took %d", path, taken)
	}
}

func TestBytesInFlightAreBounded(t *testing.T) {
	for _, c := range []struct{ name, head string }{
		{"with a known length", "Content-Length: 800\n\n" + strings.Repeat("b", 800)},
		{"with an unknown length", "Transfer-Encoding: chunked\n\n" + chunked("", strings.Repeat("b", 800))},
	} {
		t.Run(c.name, func(t *testing.T) {
			goOn := make(chan struct{})
			s := newStage(t, setting{limits: small}, func(w http.ResponseWriter, _ *http.Request) {
				<-goOn
				sendStream(w, "data: {}\n\n")
			})
			first := make(chan answer)
			go func() { first <- s.post("/v1/messages", nil, strings.Repeat("a", 800)) }()
			s.eventually("the first call", func() bool { return len(s.seen()) == 1 })
			if got := s.metric(inFlight); got != 800 {
				t.Errorf("%v bytes in flight, want 800", got)
			}
			got := s.raw("POST /v1/messages HTTP/1.1\nHost: HOST\n" + c.head)
			want := `{"error":{"message":"holdfast: too many bytes of requests are in flight; try again in a second, or raise limits.in_flight","type":"rate_limit_error"},"type":"error"}` + "\n"
			if got.status != 429 || got.header.Get("Retry-After") != "1" || got.body != want {
				t.Errorf("got %d, Retry-After %q, %s", got.status, got.header.Get("Retry-After"), got.body)
			}
			if got := s.metric(inFlight); got != 800 {
				t.Errorf("%v bytes in flight after a refusal, want 800", got)
			}
			close(goOn)
			if got := <-first; got.status != 200 {
				t.Errorf("the first got %d", got.status)
			}
			if got := s.raw("POST /v1/messages HTTP/1.1\nHost: HOST\n" + c.head); got.status != 200 {
				t.Errorf("once there is room the status is %d, want 200", got.status)
			}
		})
	}
}

// A body is free at the first byte of its answer, not at the last.
func TestABodyIsReleasedWhenItsAnswerBegins(t *testing.T) {
	goOn := make(chan struct{})
	s := newStage(t, setting{}, func(w http.ResponseWriter, _ *http.Request) {
		sendStream(w, claudeBegin("\n"))
		http.NewResponseController(w).Flush()
		<-goOn
	})
	resp := s.open(context.Background(), "/v1/messages", claudeHeader("s"), claudeTurn())
	defer resp.Body.Close()
	s.eventually("no byte in flight", func() bool { return s.metric(inFlight) == 0 })
	if got := s.metric("holdfast_streams_open"); got != 1 {
		t.Errorf("%v streams are open, want 1", got)
	}
	close(goOn)
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Error(err)
	}
}

// The transport may still be sending when the answer is there.
func TestAnAnswerThatComesBeforeTheBodyWasSent(t *testing.T) {
	s := newStage(t, setting{eager: true}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		io.WriteString(w, "too large for us")
	})
	body := strings.Replace(claudeTurn(), `"x_unknown"`, `"pad":"`+strings.Repeat(" ", 6<<20)+`","x_unknown"`, 1)
	for range 3 {
		if got := s.post("/v1/messages", claudeHeader("s"), body); got.status != 413 || got.body != "too large for us" {
			t.Errorf("got %d %s", got.status, got.body)
		}
	}
	if n := len(s.seen()); n != 3 {
		t.Errorf("%d calls, want 3", n)
	}
}

func TestAClientThatLeavesWhileItSends(t *testing.T) {
	tests := []struct {
		name, sent string
		held       float64
		leave      func(*net.TCPConn) error
	}{
		{"in a body of known length", "Content-Length: 900\r\n\r\nabc", 900, (*net.TCPConn).Close},
		{"in a body of unknown length", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", 3, (*net.TCPConn).Close},
		{"but still listens", "Content-Length: 900\r\n\r\nabc", 900, (*net.TCPConn).CloseWrite},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, setting{limits: small}, respondWith("data: {}\n\n"))
			conn := s.dial()
			if _, err := io.WriteString(conn, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n"+c.sent); err != nil {
				t.Fatal(err)
			}
			s.eventually("its bytes in flight", func() bool { return s.metric(inFlight) == c.held })
			if err := c.leave(conn); err != nil {
				t.Fatal(err)
			}
			s.eventually("no byte in flight", func() bool { return s.metric(inFlight) == 0 })
			if raw, err := io.ReadAll(conn); err == nil && len(raw) > 0 {
				t.Errorf("half a request was answered with %q", raw)
			}
			s.eventually("the client counted as gone", func() bool {
				return s.metric("holdfast_requests_total", "client_left", "anthropic") == 1
			})
			if n := len(s.seen()); n != 0 {
				t.Errorf("the upstream was called %d times", n)
			}
		})
	}
}

func TestAClientThatWaitsForLeaveToSend(t *testing.T) {
	s := newStage(t, setting{}, respondWith("data: {}\n\n"))
	conn := s.dial()
	if _, err := io.WriteString(conn, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	leave := make([]byte, len("HTTP/1.1 100 Continue\r\n\r\n"))
	if _, err := io.ReadFull(conn, leave); err != nil || string(leave) != "HTTP/1.1 100 Continue\r\n\r\n" {
		t.Fatalf("got %q, %v", leave, err)
	}
	if _, err := io.WriteString(conn, "{}"); err != nil {
		t.Fatal(err)
	}
	if got := readAnswer(t, conn, "POST"); got.status != 200 || got.body != "data: {}\n\n" {
		t.Errorf("got %+v", got)
	}
	if h := s.seen()[0].header; h.Get("Expect") != "" {
		t.Errorf("the upstream got Expect: %s", h.Get("Expect"))
	}
}

// leaves is an upstream that begins an answer or does not, and reports when its
// client has gone.
func leaves(begin string, gone chan<- time.Time) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if begin != "" {
			sendStream(w, begin)
			http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
		gone <- time.Now()
	}
}

func TestAClientThatLeavesEndsTheCall(t *testing.T) {
	for _, c := range []struct {
		name, begin, body string
		set               setting
	}{
		{"before the first byte", "", claudeTurn(), setting{}},
		{"before the first byte, continuity off", "", claudeTurn(), setting{off: true}},
		{"in an ordinary answer", claudeBegin("\n"), claudeTurn(), setting{}},
		{"in an ordinary answer, continuity off", claudeBegin("\n"), claudeTurn(), setting{off: true}},
		{"in a summary", claudeBegin("\n"), claudeCompact(), setting{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			gone := make(chan time.Time, 1)
			s := newStage(t, c.set, leaves(c.begin, gone))
			ctx, leave := context.WithCancel(context.Background())
			defer leave()
			left := make(chan time.Time, 1)
			if c.begin == "" {
				go func() {
					s.eventually("the call", func() bool { return len(s.seen()) == 1 })
					left <- time.Now()
					leave()
				}()
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.proxy.URL+"/v1/messages", strings.NewReader(c.body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header = claudeHeader("s")
				if _, err := s.client.Do(req); !errors.Is(err, context.Canceled) {
					t.Fatalf("err = %v", err)
				}
			} else {
				resp := s.open(ctx, "/v1/messages", claudeHeader("s"), c.body)
				head := make([]byte, len(c.begin))
				if _, err := io.ReadFull(resp.Body, head); err != nil || string(head) != c.begin {
					t.Fatalf("got %q, %v", head, err)
				}
				left <- time.Now()
				leave()
				resp.Body.Close()
			}
			if d := (<-gone).Sub(<-left); d > time.Second {
				t.Errorf("the call ended %s after the client", d)
			}
			s.eventually("the client counted as gone", func() bool {
				return s.metric("holdfast_requests_total", "client_left", "anthropic") == 1
			})
			if got := s.sum("holdfast_requests_total"); got != 1 {
				t.Errorf("the request was counted %v times", got)
			}
		})
	}
}

func TestAnUpstreamThatCannotBeReached(t *testing.T) {
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead.Close() // nobody listens there now
	at := func(base *url.URL) []upstream.Upstream {
		list := everyProtocol(base)
		for i := range list {
			u := *list[i].Base
			u.Host = dead.Addr().String()
			list[i].Base, list[i].Key = &u, "sk-secret"
		}
		return list
	}
	text := func(name string) string {
		return fmt.Sprintf(`holdfast: the upstream \"%s\" at %s did not answer (connection refused); check its base_url and the network`, name, dead.Addr())
	}
	tests := []struct{ name, path, body string }{
		{"Messages", "/v1/messages?key=q-secret", `{"error":{"message":"` + text("anthropic") + `","type":"api_error"},"type":"error"}`},
		{"Responses", "/v1/responses?key=q-secret", `{"error":{"code":"unavailable","message":"` + text("responses") + `","param":null,"type":"server_error"}}`},
		{"Chat", "/v1/chat/completions?key=q-secret", `{"error":{"code":"unavailable","message":"` + text("chat") + `","param":null,"type":"server_error"}}`},
		{"Gemini", "/v1beta/models/g:generateContent?key=q-secret", `{"error":{"code":502,"message":"` + text("gemini") + `","status":"UNAVAILABLE"}}`},
	}
	s := newStage(t, setting{upstreams: at}, nil)
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			got := s.post(c.path, http.Header{"Authorization": {"Bearer h-secret"}}, claudeTurn())
			if got.status != 502 || got.body != c.body+"\n" {
				t.Errorf("got %d %s\nwant 502 %s", got.status, got.body, c.body)
			}
		})
	}
	if strings.Contains(s.log.String(), "secret") {
		t.Errorf("the log holds a credential: %s", s.log)
	}
	if got := s.metric("holdfast_requests_total", "unreachable", "anthropic"); got != 1 {
		t.Errorf("unreachable counted %v times, want 1", got)
	}
}

// sticky is a stage with a session whose next epoch needs the block in each
// request: its summary came back without the proxy having seen the compaction.
func sticky(t *testing.T, answer http.HandlerFunc) *stage {
	t.Helper()
	first := atomic.Bool{}
	s := newStage(t, setting{}, func(w http.ResponseWriter, r *http.Request) {
		if !first.Swap(true) {
			sendStream(w, claudeSays("Done."))
			return
		}
		answer(w, r)
	})
	if got := s.post("/v1/messages", claudeHeader("s"), claudeTurn()); got.status != 200 {
		t.Fatalf("the first turn got %d: %s", got.status, got.body)
	}
	return s
}

func TestAnAlteredRequestThatIsRefusedIsSentOnceMoreAsItCame(t *testing.T) {
	tests := []struct {
		name   string
		status int // of the altered one
		second int // of the client's own
		calls  int
	}{
		{"refused for its form", 400, 200, 2},
		{"refused for its size", 413, 200, 2},
		{"refused both times", 400, 400, 2},
		{"then refused for its size", 400, 413, 2},
		{"then not served", 413, 529, 2},
		{"taken", 200, 0, 1},
		{"not allowed", 401, 0, 1},
		{"not understood", 422, 0, 1},
		{"too many", 429, 0, 1},
		{"broken", 500, 0, 1},
		{"overloaded", 529, 0, 1},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			s := sticky(t, func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				status := c.second
				if strings.Contains(string(body), holdfast.BlockOpen) {
					status = c.status
				}
				w.Header().Set("X-Status", fmt.Sprint(status))
				w.WriteHeader(status)
				fmt.Fprintf(w, "answer %d", status)
			})
			got := s.post("/v1/messages", claudeHeader("s"), claudeNext())
			calls := s.seen()[1:]
			if len(calls) != c.calls {
				t.Fatalf("%d calls, want %d", len(calls), c.calls)
			}
			if !strings.Contains(string(calls[0].body), "port the writer") {
				t.Errorf("the first call has no block: %s", calls[0].body)
			}
			want := c.status
			if c.calls == 2 {
				want = c.second
				if string(calls[1].body) != claudeNext() {
					t.Errorf("the second call is %s\nwant %s", calls[1].body, claudeNext())
				}
				if calls[1].length != int64(len(claudeNext())) || calls[1].header.Get("X-Api-Key") != "sk-ant-client" {
					t.Errorf("the second call has length %d and headers %v", calls[1].length, calls[1].header)
				}
			}
			if got.status != want || got.body != fmt.Sprintf("answer %d", want) || got.header.Get("X-Status") != fmt.Sprint(want) {
				t.Errorf("the client got %d %q, want %d", got.status, got.body, want)
			}
			if restored := s.metric("holdfast_restored_total"); restored != float64(c.calls-1) {
				t.Errorf("%v restored, want %d", restored, c.calls-1)
			}
			records := s.recorded(1 + c.calls)[1:] // the stage was set by a call
			for i, status := range []int{c.status, c.second}[:c.calls] {
				if records[i].Status != status || records[i].Session == "" || records[i].Session != records[0].Session {
					t.Errorf("record %d: status %d of session %q, want %d of the same one", i, records[i].Status, records[i].Session, status)
				}
			}
			if c.calls == 2 && (records[0].Parent != "" || records[1].Parent != records[0].ID) {
				t.Errorf("the second call's parent is %q, want %q", records[1].Parent, records[0].ID)
			}
		})
	}
}

func TestNoOtherCallIsRepeated(t *testing.T) {
	key := http.Header{"Idempotency-Key": {"k-1"}}
	tests := []struct {
		name   string
		header http.Header
		answer func(t *testing.T, w http.ResponseWriter)
		status int
	}{
		{"400", nil, func(_ *testing.T, w http.ResponseWriter) { w.WriteHeader(400) }, 400},
		{"413", nil, func(_ *testing.T, w http.ResponseWriter) { w.WriteHeader(413) }, 413},
		{"429", nil, func(_ *testing.T, w http.ResponseWriter) { w.WriteHeader(429) }, 429},
		{"500", nil, func(_ *testing.T, w http.ResponseWriter) { w.WriteHeader(500) }, 500},
		{"503", key, func(_ *testing.T, w http.ResponseWriter) { w.WriteHeader(503) }, 503},
		{"529", nil, func(_ *testing.T, w http.ResponseWriter) { w.WriteHeader(529) }, 529},
		{"connection reset", nil, reset, 502},
		{"connection reset, with a key that would allow it", key, reset, 502},
		{"connection closed", key, func(t *testing.T, w http.ResponseWriter) { replyRaw(t, w, "HTTP") }, 502},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			warm := atomic.Bool{}
			s := newStage(t, setting{}, func(w http.ResponseWriter, _ *http.Request) {
				if !warm.Swap(true) {
					sendStream(w, claudeSays("Done."))
					return
				}
				c.answer(t, w)
			})
			// On a connection that was used before, net/http dares to send again.
			s.post("/v1/messages", claudeHeader("s"), claudeTurn())
			header := claudeHeader("s")
			for name, values := range c.header {
				header[name] = values
			}
			got := s.post("/v1/messages", header, claudeCompact())
			calls := s.seen()
			if len(calls) != 2 || got.status != c.status {
				t.Fatalf("%d calls and status %d, want 2 and %d", len(calls), got.status, c.status)
			}
			if calls[0].conn != calls[1].conn {
				t.Error("the calls did not share a connection, so the test shows nothing")
			}
			s.eventually("a failed boundary", func() bool { return s.boundary("s") == store.BoundaryFailed })
			if want := c.header.Get("Idempotency-Key"); calls[1].header.Get("Idempotency-Key") != want {
				t.Errorf("the upstream got the key %q, want %q", calls[1].header.Get("Idempotency-Key"), want)
			}
		})
	}
}
