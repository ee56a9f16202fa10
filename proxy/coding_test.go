package proxy_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/proxy"
	"github.com/holdfast-dev/holdfast/store"
)

// coders are the codings that are read; the level of zstd is 3.
var coders = map[string]func(io.Writer) io.WriteCloser{
	"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	"zstd": func(w io.Writer) io.WriteCloser {
		e, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(3)), zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err)
		}
		return e
	},
	"br": func(w io.Writer) io.WriteCloser { return brotli.NewWriterLevel(w, 1) },
}

// encode writes pieces in a coding, flushed one by one; plain for "".
func encode(coding string, pieces ...string) string {
	if coding == "" {
		return strings.Join(pieces, "")
	}
	var out bytes.Buffer
	w := coders[coding](&out)
	for _, p := range pieces {
		if _, err := io.WriteString(w, p); err != nil {
			panic(err)
		}
		if f, ok := w.(interface{ Flush() error }); ok && len(pieces) > 1 {
			if err := f.Flush(); err != nil {
				panic(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.String()
}

func decode(t *testing.T, coding string, raw []byte) string {
	t.Helper()
	var r io.Reader = bytes.NewReader(raw)
	var err error
	switch coding {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "zstd":
		var d *zstd.Decoder
		if d, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1)); err == nil {
			defer d.Close()
		}
		r = d
	case "br":
		r = brotli.NewReader(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("a body in %q does not decode: %v", coding, err)
	}
	return string(plain)
}

func with(h http.Header, name string, values ...string) http.Header {
	if len(values) > 0 && values[0] != "" {
		h[name] = values
	}
	return h
}

func TestACompactionIsRecognisedInEveryCoding(t *testing.T) {
	says := claudeSays("They worked on", " the importer.")
	for _, c := range []struct{ name, header, coding string }{
		{"plain", "", ""},
		{"identity", "identity", ""},
		{"gzip", "gzip", "gzip"},
		{"upper case and space", " GZip ", "gzip"},
		{"zstd", "zstd", "zstd"},
		{"br", "br", "br"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, setting{}, respondWith(says))
			sent := encode(c.coding, claudeCompact())
			header := with(claudeHeader("s"), "Content-Encoding", c.header)
			header.Set("Accept-Encoding", "gzip, br")
			got := s.post("/v1/messages", header, sent)
			call := s.seen()[0]
			if string(call.body) != sent || call.length != int64(len(sent)) {
				t.Errorf("the upstream got %d bytes of length %d, want the client's %d", len(call.body), call.length, len(sent))
			}
			if got, want := call.header.Get("Content-Encoding"), strings.TrimSpace(c.header); got != want {
				t.Errorf("the upstream got the coding %q, want %q", got, want)
			}
			if got := call.header.Values("Accept-Encoding"); len(got) != 1 || got[0] != "identity" {
				t.Errorf("a summary was asked for in the codings %q", got)
			}
			checkPatched(t, got.body, says)
			if s.boundary("s") != store.BoundaryCommitted {
				t.Error("no boundary was committed")
			}
			if n := s.sum("holdfast_unread_total"); n != 0 {
				t.Errorf("%v bodies passed unread", n)
			}
		})
	}
}

// bomb is 200 MB of spaces in 200 kB or less: one frame that is repeated. br has
// no frames, and 32 MB are four times the limit, too.
func bomb(coding string) string {
	mega := strings.Repeat(" ", 1<<20)
	if coding == "br" {
		return encode(coding, strings.Repeat(mega, 32))
	}
	return strings.Repeat(encode(coding, mega), 200)
}

func TestABodyThatCannotBeReadPassesUnread(t *testing.T) {
	body := claudeCompact()
	cut := func(coding string) string { raw := encode(coding, body); return raw[:len(raw)*2/3] }
	tests := []struct {
		name   string
		coding []string
		body   string
		reason string
	}{
		{"two codings", []string{"gzip, zstd"}, encode("zstd", encode("gzip", body)), "coding"},
		{"two codings in two headers", []string{"gzip", "zstd"}, encode("zstd", encode("gzip", body)), "coding"},
		{"a coding that nobody knows", []string{"deflate"}, body, "coding"},
		{"plain text under a wrong header", []string{"gzip"}, body, "broken_coding"},
		{"gzip that says zstd", []string{"zstd"}, encode("gzip", body), "broken_coding"},
		{"zstd that says br", []string{"br"}, encode("zstd", body), "broken_coding"},
		{"gzip that says nothing", nil, encode("gzip", body), "malformed"},
		{"a cut frame of gzip", []string{"gzip"}, cut("gzip"), "broken_coding"},
		{"a cut frame of zstd", []string{"zstd"}, cut("zstd"), "broken_coding"},
		{"a cut frame of br", []string{"br"}, cut("br"), "broken_coding"},
		{"what stands behind a frame of gzip", []string{"gzip"}, encode("gzip", body) + "tail", "broken_coding"},
		{"a bomb of gzip", []string{"gzip"}, bomb("gzip"), "decoded_too_large"},
		{"a bomb of zstd", []string{"zstd"}, bomb("zstd"), "decoded_too_large"},
		{"a bomb of br", []string{"br"}, bomb("br"), "decoded_too_large"},
		{"JSON that breaks off", nil, body[:len(body)-9], "malformed"},
	}
	says := claudeSays("They worked.")
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			held := make(chan float64, 1)
			var s *stage
			s = newStage(t, setting{}, func(w http.ResponseWriter, _ *http.Request) {
				held <- s.metric(inFlight)
				sendStream(w, says)
			})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := s.post("/v1/messages", with(claudeHeader("s"), "Content-Encoding", c.coding...), c.body)
			runtime.ReadMemStats(&after)
			if got.status != 200 || got.body != says {
				t.Errorf("the client got %d %s", got.status, got.body)
			}
			calls := s.seen()
			if len(calls) != 1 || string(calls[0].body) != c.body {
				t.Errorf("the upstream got %d calls, the first with %d bytes; want one with %d", len(calls), len(calls[0].body), len(c.body))
			}
			if n := s.metric("holdfast_unread_total", c.reason); n != 1 || s.sum("holdfast_unread_total") != 1 {
				t.Errorf("unread for %q: %v, of %v in all; want 1 of 1", c.reason, n, s.sum("holdfast_unread_total"))
			}
			if h := <-held; h != float64(len(c.body)) {
				t.Errorf("%v bytes were in flight during the call, want %d", h, len(c.body))
			}
			// The limit of a body is 8 MB; growing to it costs a few times that.
			if d := after.TotalAlloc - before.TotalAlloc; d > 80<<20 {
				t.Errorf("%d MB were allocated", d>>20)
			}
			if list, err := s.store.Sessions(t.Context(), holdfast.Local); err != nil || len(list) != 0 {
				t.Errorf("sessions %v, %v", list, err)
			}
		})
	}
}

// What a small body decodes to counts as bytes in flight, or many of them
// together would be a bomb.
func TestDecodedBytesAreBytesInFlight(t *testing.T) {
	padded := strings.Replace(claudeTurn(), `"x_unknown"`, `"pad":"`+strings.Repeat(" ", 500_000)+`","x_unknown"`, 1)
	sent := encode("gzip", padded)
	for _, c := range []struct {
		name           string
		max            int64
		held           float64
		unread, linked int
	}{
		{"within the limit", 1 << 20, float64(len(sent) + len(padded)), 0, 1},
		{"above it", 400_000, float64(len(sent)), 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			held := make(chan float64, 1)
			var s *stage
			s = newStage(t, setting{limits: proxy.Config{MaxBody: 1 << 20, MaxInFlight: c.max}}, func(w http.ResponseWriter, _ *http.Request) {
				held <- s.metric(inFlight)
				sendStream(w, claudeSays("Done."))
			})
			got := s.post("/v1/messages", with(claudeHeader("s"), "Content-Encoding", "gzip"), sent)
			if got.status != 200 || got.body != claudeSays("Done.") || string(s.seen()[0].body) != sent {
				t.Errorf("the client got %d %s", got.status, got.body)
			}
			if h := <-held; h != c.held {
				t.Errorf("%v bytes were in flight during the call, want %v", h, c.held)
			}
			if n := s.metric("holdfast_unread_total", "in_flight"); n != float64(c.unread) {
				t.Errorf("%v unread, want %d", n, c.unread)
			}
		})
	}
}

func TestAnAlteredBodyKeepsItsCoding(t *testing.T) {
	for _, coding := range []string{"", "gzip", "zstd", "br"} {
		t.Run("coding "+coding, func(t *testing.T) {
			s := sticky(t, respondWith(claudeSays("Yes.")))
			sent := encode(coding, claudeNext())
			header := with(claudeHeader("s"), "Content-Encoding", coding)
			if got := s.post("/v1/messages", header, sent); got.status != 200 {
				t.Fatalf("status %d", got.status)
			}
			call := s.seen()[1]
			if call.length != int64(len(call.body)) || call.header.Get("Content-Length") != fmt.Sprint(len(call.body)) {
				t.Errorf("the length %d is said to be %d", len(call.body), call.length)
			}
			if got := call.header.Get("Content-Encoding"); got != coding {
				t.Errorf("the coding is %q, want %q", got, coding)
			}
			checkInserted(t, decode(t, coding, call.body), claudeNext())
		})
	}
}

// checkInserted checks that a body is the client's with one block put in, as the
// last part of the first message.
func checkInserted(t *testing.T, got, sent string) {
	t.Helper()
	at := 0
	for at < len(sent) && at < len(got) && got[at] == sent[at] {
		at++
	}
	if len(got) < len(sent) || got[len(got)-(len(sent)-at):] != sent[at:] {
		t.Fatalf("more was changed than one place:\n%s\nwas\n%s", got, sent)
	}
	var body struct {
		Messages []struct {
			Content []struct{ Type, Text string }
		}
	}
	if err := json.Unmarshal([]byte(got), &body); err != nil {
		t.Fatal(err)
	}
	parts := body.Messages[0].Content
	if len(parts) != 2 || parts[1].Type != "text" || !strings.HasPrefix(strings.TrimSpace(parts[1].Text), holdfast.BlockOpen) ||
		!strings.Contains(parts[1].Text, "port the writer") || strings.Count(got, holdfast.BlockClose)+strings.Count(got, `\u003c/holdfast-record`) != 1 {
		t.Errorf("the first message is %+v", body.Messages[0])
	}
}

func TestACompressedAnswerPassesAndIsHarvested(t *testing.T) {
	stream := claudePlans()
	whole := `{"id":"msg_9","type":"message","role":"assistant","content":[{"type":"tool_use","id":"tu_9","name":"TodoWrite","input":` + todoArgs + `}],"stop_reason":"tool_use"}`
	asked := claudeBody(claudeText("user", "Move the importer to Parquet."))
	for _, c := range []struct {
		name, kind string
		pieces     []string
	}{
		{"a stream", "text/event-stream", []string{stream[:100], stream[100:400], stream[400:]}},
		{"a stream of another spelling", "Text/Event-Stream; Charset=UTF-8", []string{stream}},
		{"one piece", "application/json", []string{whole}},
	} {
		for _, coding := range []string{"", "gzip", "zstd", "br"} {
			t.Run(c.name+" "+coding, func(t *testing.T) {
				sent := encode(coding, c.pieces...)
				s := newStage(t, setting{}, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", c.kind)
					with(w.Header(), "Content-Encoding", coding)
					for i := 0; i < len(sent); i += 57 { // many pieces, cut anywhere
						io.WriteString(w, sent[i:min(i+57, len(sent))])
						http.NewResponseController(w).Flush()
					}
				})
				got := s.post("/v1/messages", claudeHeader("s"), asked)
				if got.body != sent || got.header.Get("Content-Encoding") != coding || got.err != nil {
					t.Errorf("%d bytes came in %q, want %d; %v", len(got.body), got.header.Get("Content-Encoding"), len(sent), got.err)
				}
				s.eventually("the plan in the store", func() bool {
					capsule := s.capsule("s")
					return capsule.Plan != nil && len(capsule.Plan.Steps) == 2 && capsule.Plan.Steps[1].Text == "port the writer"
				})
			})
		}
	}
}

// capsule is the newest one of a session of claude-code.
func (s *stage) capsule(session string) (c holdfast.Capsule) {
	s.t.Helper()
	st, err := s.store.Session(s.t.Context(), holdfast.Local, "claude-code", session)
	if err != nil {
		return c
	}
	if st, err = s.store.Load(s.t.Context(), holdfast.Local, st.ID); err != nil {
		s.t.Fatal(err)
	}
	for _, b := range st.Branches {
		for _, r := range b.Revisions {
			if err := json.Unmarshal(r.Capsule, &c); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	return c
}

func TestAnAnswerThatCannotBeReadPassesUnread(t *testing.T) {
	plans := claudePlans()
	cut := func(coding string) string { raw := encode(coding, plans); return raw[:len(raw)-7] }
	for _, c := range []struct{ name, body, coding, answer, reason string }{
		{"an unknown coding", claudeTurn(), "deflate", "\x78\x9c" + plans, "answer_coding"},
		{"two codings", claudeTurn(), "gzip, br", encode("br", encode("gzip", plans)), "answer_coding"},
		{"a wrong coding", claudeTurn(), "gzip", plans, "answer_broken"},
		{"a cut frame of gzip", claudeTurn(), "gzip", cut("gzip"), "answer_broken"},
		{"a cut frame of zstd", claudeTurn(), "zstd", cut("zstd"), "answer_broken"},
		{"a cut frame of br", claudeTurn(), "br", cut("br"), "answer_broken"},
		{"more than is ever read", claudeTurn(), "gzip", bomb("gzip"), "answer_broken"},
		{"a summary in a coding that was not asked for", claudeCompact(), "gzip", encode("gzip", claudeSays("They worked.")), "answer_coding"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, setting{}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", c.coding)
				sendStream(w, c.answer)
			})
			got := s.post("/v1/messages", claudeHeader("s"), c.body)
			if got.status != 200 || got.body != c.answer || got.header.Get("Content-Encoding") != c.coding || got.err != nil {
				t.Errorf("%d bytes came with status %d, want %d; %v", len(got.body), got.status, len(c.answer), got.err)
			}
			s.eventually("the answer counted as unread", func() bool {
				return s.metric("holdfast_unread_total", c.reason) == 1 && s.sum("holdfast_unread_total") == 1
			})
			if c.body == claudeCompact() {
				s.eventually("a failed boundary", func() bool { return s.boundary("s") == store.BoundaryFailed })
			}
		})
	}
}

func TestTokenCountsPassAndMakeNoSession(t *testing.T) {
	s := newStage(t, setting{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"type":"error","error":{"type":"not_found_error"}}`)
	})
	var wg sync.WaitGroup
	for i := range 50 {
		header := claudeHeader("s")
		if i%2 == 0 {
			header = nil // as some clients do, without any session
		}
		wg.Go(func() {
			got := s.post("/v1/messages/count_tokens?beta=true", header, claudeCompact())
			if got.status != 404 || got.body != `{"type":"error","error":{"type":"not_found_error"}}` {
				t.Errorf("got %d %s", got.status, got.body)
			}
		})
	}
	wg.Wait()
	if n := len(s.seen()); n != 50 {
		t.Errorf("the upstream was called %d times, want 50", n)
	}
	for _, c := range s.seen() {
		if string(c.body) != claudeCompact() || c.uri != "/v1/messages/count_tokens?beta=true" {
			t.Fatalf("the upstream got %s %s", c.uri, c.body)
		}
	}
	if list, err := s.store.Sessions(t.Context(), holdfast.Local); err != nil || len(list) != 0 {
		t.Errorf("sessions %v, %v", list, err)
	}
}
