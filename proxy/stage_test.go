package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/proxy"
	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/upstream"
)

// patience is how long a test waits for what must happen.
const patience = 5 * time.Second

// stage is a proxy between a test and an upstream, over connections on
// loopback. It checks at its end that no byte is in flight and that no
// goroutine is left.
type stage struct {
	t        *testing.T
	upstream *httptest.Server
	proxy    *httptest.Server
	handler  *proxy.Proxy
	store    *store.Memory
	client   *http.Client
	reg      *prometheus.Registry
	log      *syncBuffer
	ledger   journal

	mu    sync.Mutex
	calls []call
}

// call is a request as the upstream got it.
type call struct {
	method, uri, host string
	header            http.Header
	length            int64
	body              []byte
	conn              string // the client's end of its connection
}

// setting is what a stage varies.
type setting struct {
	off        bool // continuity
	eager      bool // the upstream answers without reading the body
	limits     proxy.Config
	upstreams  func(base *url.URL) []upstream.Upstream
	wrap       func(proxy.Coordinator) proxy.Coordinator
	auth       proxy.Authenticator // nil: no keys
	extraction func(string) bool
	admission  proxy.Admission     // nil: no budgets
	preserve   continuity.Preserve // none: all
	transport  http.RoundTripper
}

// everyProtocol is one upstream for each protocol, named by it, at one server.
func everyProtocol(base *url.URL) []upstream.Upstream {
	return []upstream.Upstream{
		{Name: "anthropic", Protocol: holdfast.Anthropic, Base: base},
		{Name: "responses", Protocol: holdfast.Responses, Base: versioned(base)},
		{Name: "chat", Protocol: holdfast.Chat, Base: versioned(base)},
		{Name: "gemini", Protocol: holdfast.Gemini, Base: base},
	}
}

// versioned is the base of the protocols that have the version in it.
func versioned(base *url.URL) *url.URL {
	out := *base
	out.Path = "/v1"
	return &out
}

// newStage starts a stage whose upstream answers with answer. The body of a
// request was read when it runs, and is there to read again.
func newStage(t *testing.T, set setting, answer http.HandlerFunc) *stage {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	s := &stage{t: t, store: store.NewMemory(), reg: prometheus.NewRegistry(), log: &syncBuffer{}}

	s.upstream = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body []byte
		if !set.eager {
			var err error
			if body, err = io.ReadAll(r.Body); err != nil {
				panic(http.ErrAbortHandler)
			}
		}
		s.mu.Lock()
		s.calls = append(s.calls, call{r.Method, r.RequestURI, r.Host, r.Header.Clone(), r.ContentLength, body, r.RemoteAddr})
		s.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer(w, r)
	}))
	t.Cleanup(s.upstream.Close)

	base, err := url.Parse(s.upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	if set.upstreams == nil {
		set.upstreams = everyProtocol
	}
	if set.limits == (proxy.Config{}) {
		set.limits = proxy.Config{MaxBody: 8 << 20, MaxInFlight: 64 << 20}
	}
	log := slog.New(slog.NewTextHandler(s.log, nil))
	transport := upstream.NewTransport()
	transport.Proxy = nil
	t.Cleanup(transport.CloseIdleConnections)
	if set.preserve == (continuity.Preserve{}) {
		set.preserve = continuity.All
	}
	var coordinator proxy.Coordinator
	if !set.off {
		eng := engine.New(s.store, engine.Config{
			Preserve: set.preserve, MaxCapsuleTokens: 2500, UserWordsTokens: 1000, CopyOnFork: true,
			Redact: func(text string) (string, int) { return text, 0 },
		}, log, engine.NewMetrics(s.reg), time.Now)
		t.Cleanup(func() {
			if err := eng.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		coordinator = eng
		if set.wrap != nil {
			coordinator = set.wrap(eng)
		}
	}
	if set.transport == nil {
		set.transport = transport
	}
	s.handler = proxy.New(set.limits, proxy.Parts{
		Upstreams: upstream.New(set.upstreams(base)), Transport: set.transport, Authenticator: set.auth, Admission: set.admission, Extraction: set.extraction,
		Engine: coordinator, Ledger: &s.ledger,
	}, log, s.reg)
	s.proxy = httptest.NewServer(s.handler)
	t.Cleanup(func() {
		s.eventually("no byte in flight and no open stream", func() bool {
			return s.metric("holdfast_ingest_bytes_in_flight") == 0 && s.metric("holdfast_streams_open") == 0
		})
	})
	t.Cleanup(s.proxy.Close)
	own := &http.Transport{DisableCompression: true}
	t.Cleanup(own.CloseIdleConnections)
	s.client = &http.Client{Transport: own, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return s
}

// syncBuffer is a log that is read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// seen are the requests that the upstream got so far.
func (s *stage) seen() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]call(nil), s.calls...)
}

// eventually waits until ok holds.
func (s *stage) eventually(what string, ok func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("after %s there is not: %s", patience, what)
		}
	}
}

// metric is the value of a counter or gauge with the label values given, in the
// order of their names; 0 when it does not exist yet.
func (s *stage) metric(name string, labels ...string) float64 {
	s.t.Helper()
	families, err := s.reg.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			if strings.Join(values, ",") == strings.Join(labels, ",") {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return 0
}

// sum adds a counter up over all its labels.
func (s *stage) sum(name string) (n float64) {
	s.t.Helper()
	families, err := s.reg.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}

// answer is an answer read to its end.
type answer struct {
	status  int
	header  http.Header
	length  int64
	body    string
	trailer http.Header
	err     error // of reading the body
}

// post sends a body and reads the answer.
func (s *stage) post(path string, header http.Header, body string) answer {
	s.t.Helper()
	resp := s.open(context.Background(), path, header, body)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, resp.ContentLength, string(raw), resp.Trailer, err}
}

// open sends a body and returns once the head of the answer is there.
func (s *stage) open(ctx context.Context, path string, header http.Header, body string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.proxy.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// dial opens a bare connection to the proxy, which ends with the test.
func (s *stage) dial() *net.TCPConn {
	s.t.Helper()
	c, err := net.DialTimeout("tcp", s.proxy.Listener.Addr().String(), patience)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(2 * patience)); err != nil {
		s.t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// raw sends the bytes of a request and reads the answer. LF stands for CRLF in
// its head, and HOST for the host's name and port.
func (s *stage) raw(request string) answer {
	s.t.Helper()
	c := s.dial()
	defer c.Close()
	head, body, _ := strings.Cut(request, "\n\n")
	head = strings.ReplaceAll(strings.ReplaceAll(head, "HOST", s.proxy.Listener.Addr().String()), "\n", "\r\n")
	if _, err := io.WriteString(c, head+"\r\n\r\n"+body); err != nil {
		s.t.Fatal(err)
	}
	method, _, _ := strings.Cut(request, " ")
	return readAnswer(s.t, c, method)
}

// readAnswer reads one answer off a connection.
func readAnswer(t *testing.T, r io.Reader, method string) answer {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(r), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("read the head of the answer: %v", err)
	}
	raw, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, resp.ContentLength, string(raw), resp.Trailer, err}
}

// replyRaw answers with bytes as they are and closes the connection, which the
// head says unless it has a Connection field of its own; LF stands for CRLF in it.
func replyRaw(t *testing.T, w http.ResponseWriter, reply string) {
	c, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	head, body, _ := strings.Cut(reply, "\n\n")
	if !strings.Contains(head, "\nConnection:") {
		head += "\nConnection: close"
	}
	if _, err := fmt.Fprintf(buf, "%s\r\n\r\n%s", strings.ReplaceAll(head, "\n", "\r\n"), body); err != nil {
		t.Error(err)
	}
	if err := buf.Flush(); err != nil {
		t.Error(err)
	}
}

// chunked writes pieces as a chunked body with a trailer section.
func chunked(trailer string, pieces ...string) string {
	var b strings.Builder
	for _, p := range pieces {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(p), p)
	}
	return b.String() + "0\r\n" + trailer + "\r\n"
}

// reset breaks the connection of a request without an answer.
func reset(t *testing.T, w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	if err := c.(*net.TCPConn).SetLinger(0); err != nil {
		t.Error(err)
	}
	c.Close()
}
