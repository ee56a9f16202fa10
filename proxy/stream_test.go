package proxy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

func TestAnAnswerIsPassedOnAsItComes(t *testing.T) {
	pieces := []string{claudeBegin("\n"), claudeDelta("\n", "One"), claudeDelta("\n", " two"), claudeDelta("\n", " three")}
	for _, c := range []struct {
		name, body string
		set        setting
	}{
		{"continuity off", claudeTurn(), setting{off: true}},
		{"an ordinary turn", claudeTurn(), setting{}},
		{"a compaction", claudeCompact(), setting{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			step := make(chan struct{})
			s := newStage(t, c.set, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for _, p := range pieces {
					http.NewResponseController(w).Flush()
					<-step
					io.WriteString(w, p)
				}
			})
			resp := s.open(context.Background(), "/v1/messages", claudeHeader("s"), c.body) // the head is here
			defer resp.Body.Close()
			for _, p := range pieces {
				step <- struct{}{}
				got := make([]byte, len(p))
				if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != p {
					t.Fatalf("got %q, %v; want %q", got, err, p)
				}
			}
		})
	}
}

// cutAt are the ends of all events of a stream, and one place within each.
func cutAt(stream string) (at []int) {
	pos := 0
	for f := range strings.SplitAfterSeq(stream, "\n\n") {
		if f != "" {
			at = append(at, pos, pos+len(f)/2)
			pos += len(f)
		}
	}
	return append(at, pos)
}

func TestABreakOfTheUpstreamIsABreakForTheClient(t *testing.T) {
	says := claudeSays("They worked", " on the importer.")
	for _, c := range []struct {
		name, body string
		set        setting
	}{
		{"continuity off", claudeTurn(), setting{off: true}},
		{"an ordinary turn", claudeTurn(), setting{}},
		{"a compaction", claudeCompact(), setting{}},
	} {
		for _, clean := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, clean end %v", c.name, clean), func(t *testing.T) {
				cut := 0
				s := newStage(t, c.set, func(w http.ResponseWriter, _ *http.Request) {
					sendStream(w, says[:cut])
					http.NewResponseController(w).Flush()
					if !clean {
						panic(http.ErrAbortHandler)
					}
				})
				boundary := strings.HasPrefix(c.name, "a compaction")
				for i, at := range cutAt(says) {
					cut = at
					got := s.post("/v1/messages", claudeHeader(fmt.Sprint("s", i)), c.body)
					if clean && got.err != nil || !clean && !errors.Is(got.err, io.ErrUnexpectedEOF) {
						t.Errorf("cut at %d, the client's error is %v", at, got.err)
					}
					whole := at == len(says)
					body := got.body
					if boundary && whole {
						rest, _, _, n := withoutBlock(body)
						if body = rest; n != 1 {
							t.Errorf("%d blocks in the whole answer", n)
						}
					}
					if body != says[:at] {
						t.Errorf("cut at %d, the client got\n%s\nwant\n%s", at, body, says[:at])
					}
					if boundary {
						want := store.BoundaryFailed
						if whole {
							want = store.BoundaryCommitted
						}
						s.eventually("the boundary as "+string(want), func() bool { return s.boundary(fmt.Sprint("s", i)) == want })
					}
				}
			})
		}
	}
}

// boundary is the status of the newest boundary of a session; "" when it has
// none yet.
func (s *stage) boundary(session string) (status store.BoundaryStatus) {
	s.t.Helper()
	for _, agent := range []string{"claude-code", "codex"} {
		st, err := s.store.Session(s.t.Context(), holdfast.Local, agent, session)
		if err != nil {
			continue
		}
		for _, b := range st.Branches {
			for _, bd := range b.Boundaries {
				status = bd.Status
			}
		}
	}
	return status
}

func TestABreakInAnAnswerInOnePiece(t *testing.T) {
	whole := claudeWhole("They worked on the importer.")
	for _, body := range []string{claudeTurn(), claudeCompact()} {
		s := newStage(t, setting{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
			io.WriteString(w, whole[:50])
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
		got := s.post("/v1/messages", claudeHeader("s"), body)
		if got.status != 200 || got.body != whole[:50] || got.length != int64(len(whole)) || !errors.Is(got.err, io.ErrUnexpectedEOF) {
			t.Errorf("got %+v", got)
		}
	}
}

func TestAnErrorInAStreamIsNoSummary(t *testing.T) {
	stream := claudeBegin("\n") + claudeDelta("\n", "They worked") +
		frame("\n", "error", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`) + claudeEnd("\n")
	s := newStage(t, setting{}, respondWith(stream))
	if got := s.post("/v1/messages", claudeHeader("s"), claudeCompact()); got.body != stream || got.err != nil {
		t.Errorf("got %q, %v", got.body, got.err)
	}
	s.eventually("a failed boundary", func() bool { return s.boundary("s") == store.BoundaryFailed })
	if got := s.metric("holdfast_compactions_total", "claude-code", "failed", "anthropic"); got != 1 {
		t.Errorf("%v failed compactions counted, want 1", got)
	}
}

func TestASummaryInOnePieceGetsTheBlock(t *testing.T) {
	const text = "They worked on the importer."
	s := newStage(t, setting{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Kept", "1")
		io.WriteString(w, claudeWhole(text))
	})
	got := s.post("/v1/messages", claudeHeader("s"), claudeCompact())
	before, after, _ := strings.Cut(claudeWhole(text), text)
	rest, ok := strings.CutPrefix(got.body, before+text)
	block, ok2 := strings.CutSuffix(rest, after)
	if !ok || !ok2 || strings.Count(block, "<holdfast-record") != 1 || !strings.Contains(block, "port the writer") {
		t.Errorf("got %s", got.body)
	}
	if got.length != int64(len(got.body)) || got.header.Get("X-Kept") != "1" {
		t.Errorf("length %d of %d bytes, headers %v", got.length, len(got.body), got.header)
	}
	if s.boundary("s") != store.BoundaryCommitted {
		t.Error("the answer was there before the boundary was committed")
	}
}

// inPieces is a transport whose answers come in pieces that nothing joins.
type inPieces struct{ pieces [][]byte }

func (p *inPieces) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	r.Body.Close()
	return &http.Response{
		StatusCode: 200, ContentLength: -1, Request: r, Body: &pieceReader{p.pieces},
		Header: http.Header{"Content-Type": {"text/event-stream"}},
	}, nil
}

type pieceReader struct{ pieces [][]byte }

func (r *pieceReader) Read(b []byte) (int, error) {
	for len(r.pieces) > 0 && len(r.pieces[0]) == 0 {
		r.pieces = r.pieces[1:]
	}
	if len(r.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(b, r.pieces[0])
	r.pieces[0] = r.pieces[0][n:]
	return n, nil
}

func (r *pieceReader) Close() error { return nil }

// recorded is a stream with all that may be cut badly: characters of two and
// four bytes, an escaped pair, both line ends, comments, white space at the end
// of a text, what looks like the beginning of a block.
func recorded(long string) string {
	return claudeBegin("\r\n") + ": a comment, grüß dich\n\n" + claudeDelta("\n", "Grüße \U0001F642 ") +
		"event: ping\r\ndata: {\"type\": \"ping\"}\r\n\r\n" + claudeDelta("\r\n", long) +
		`data:{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ud83d\ude42 <holdfast \n "}}` + "\n\n" +
		":\r\n" + claudeEnd("\n")
}

func TestWhereAStreamIsCutMakesNoDifference(t *testing.T) {
	every := func(step, n int) (at []int) {
		for i := 0; i <= n; i += step {
			at = append(at, i)
		}
		return at
	}
	longLine := recorded(strings.Repeat("ä long line ", 25_000))
	some := []int{1, 300, len(longLine) - 900}
	for i := 0; i < len(longLine); i += 70_001 {
		some = append(some, i, i+1)
	}
	for _, c := range []struct {
		name, path, body string
		header           http.Header
		stream           string
		at               []int
		boundary         bool
	}{
		{"an ordinary turn of Messages", "/v1/messages", claudeTurn(), claudeHeader("s"), recorded("short"), every(1, len(recorded("short"))), false},
		{"a summary of Messages", "/v1/messages", claudeCompact(), claudeHeader("s"), recorded("short"), every(1, len(recorded("short"))), true},
		{"an ordinary turn with a line of 300 kB", "/v1/messages", claudeTurn(), claudeHeader("s"), longLine, some, false},
		{"a summary with a line of 300 kB", "/v1/messages", claudeCompact(), claudeHeader("s"), longLine, some, true},
		{"an ordinary turn of Responses", "/v1/responses", codexBody(codexPlanned()...), codexHeader("s", "turn"), codexSays("grüß \U0001F642"), every(3, len(codexSays("grüß \U0001F642"))), false},
		{"a summary of Responses", "/v1/responses", codexCompact(), codexHeader("s", "compaction"), codexSays("grüß \U0001F642"), every(3, len(codexSays("grüß \U0001F642"))), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			transport := &inPieces{}
			s := newStage(t, setting{transport: transport}, nil)
			send := func(pieces ...string) string {
				transport.pieces = nil
				for _, p := range pieces {
					transport.pieces = append(transport.pieces, []byte(p))
				}
				got := s.post(c.path, c.header, c.body)
				if got.status != 200 || got.err != nil {
					t.Fatalf("status %d, %v", got.status, got.err)
				}
				return got.body
			}
			want := send(c.stream)
			switch {
			case !c.boundary && want != c.stream:
				t.Fatalf("uncut, the client got\n%s\nwant\n%s", want, c.stream)
			case c.boundary && c.path == "/v1/messages":
				checkPatched(t, want, c.stream)
			case c.boundary && strings.Count(want, `\u003c/holdfast-record>`)+strings.Count(want, `</holdfast-record>`) != 4:
				t.Fatalf("the block does not stand in the delta, the text, the item and the response: %s", want)
			}
			for _, at := range c.at {
				if got := send(c.stream[:at], c.stream[at:]); got != want {
					t.Fatalf("cut at %d, the client got\n%s\nwant\n%s", at, got, want)
				}
			}
			single := make([]string, 0, len(c.stream))
			for i := range min(len(c.stream), 3_000) {
				single = append(single, c.stream[i:i+1])
			}
			if got := send(append(single, c.stream[len(single):])...); got != want {
				t.Fatalf("cut at every byte, the client got\n%s\nwant\n%s", got, want)
			}
			if n := s.sum("holdfast_panics_total"); n != 0 {
				t.Errorf("%v defects", n)
			}
		})
	}
}

// checkPatched checks that an answer is the upstream's with one block in a delta
// of its own at the end of the text.
func checkPatched(t *testing.T, got, stream string) {
	t.Helper()
	rest, text, at, n := withoutBlock(got)
	if rest != stream || n != 1 {
		t.Errorf("without its block (%d of them) the client got\n%s\nwant\n%s", n, rest, stream)
	}
	if next, _, _ := strings.Cut(stream[min(at, len(stream)):], "\n\n"); !strings.Contains(next, `"content_block_stop"`) {
		t.Errorf("the block stands before %q", next)
	}
	trimmed := strings.TrimSpace(text)
	if !strings.HasPrefix(trimmed, "<holdfast-record") || !strings.HasSuffix(trimmed, "</holdfast-record>") ||
		!strings.Contains(text, "port the reader") || !strings.Contains(text, "port the writer") {
		t.Errorf("the block is %q", text)
	}
}

// A frame larger than a reader takes passes as it is, unread.
func TestAFrameAboveTheLimitPasses(t *testing.T) {
	stream := claudeBegin("\n") + claudeDelta("\n", "They worked.") + "data: " + strings.Repeat("x", 17<<20) + "\n\n" + claudeEnd("\n")
	for _, body := range []string{claudeTurn(), claudeCompact()} {
		s := newStage(t, setting{}, respondWith(stream))
		if got := s.post("/v1/messages", claudeHeader("s"), body); got.body != stream || got.err != nil {
			t.Errorf("%d bytes came, want %d; %v", len(got.body), len(stream), got.err)
		}
	}
}

// plainWriter is a writer that cannot flush.
type plainWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *plainWriter) Header() http.Header         { return w.header }
func (w *plainWriter) WriteHeader(status int)      { w.status = status }
func (w *plainWriter) Write(b []byte) (int, error) { return w.body.Write(b) }

func TestAWriterThatCannotFlushGetsTheAnswer(t *testing.T) {
	says := claudeSays("They worked.")
	s := newStage(t, setting{}, respondWith(says))
	for _, body := range []string{claudeTurn(), claudeCompact()} {
		r, err := http.NewRequest(http.MethodPost, "http://localhost/v1/messages", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = claudeHeader("s")
		w := &plainWriter{header: http.Header{}}
		s.handler.ServeHTTP(w, r)
		if rest, _, _, _ := withoutBlock(w.body.String()); w.status != 200 || rest != says {
			t.Errorf("got %d %s", w.status, w.body.String())
		}
	}
}
