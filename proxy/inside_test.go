package proxy

import (
	"bytes"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/sse"
)

// newExchange is an exchange that answers into the recorder.
func newExchange() (*exchange, *httptest.ResponseRecorder) {
	w := httptest.NewRecorder()
	p := New(Config{}, Parts{}, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	return &exchange{p: p, w: w, attempt: &engine.Attempt{}}, w
}

// lateStream and latePatcher hold frames back, and fail when told to.
type lateStream struct{ failAt string }

func (s lateStream) Event(e sse.Event) {
	if string(e.Data) == s.failAt {
		panic("stream")
	}
}
func (lateStream) Terminal() bool          { return false }
func (lateStream) Answer() holdfast.Answer { return holdfast.Answer{} }

type latePatcher struct {
	failAt, failAfter string // the data of the frame; after: once it emitted
	failFlush         bool
	held              [][]byte
	terminal          []byte
}

func (p *latePatcher) Event(e sse.Event, emit func([]byte)) bool {
	switch string(e.Data) {
	case p.failAt:
		panic("patcher")
	case "hold":
		p.held = append(p.held, bytes.Clone(e.Raw))
		return false
	case "end":
		p.terminal = bytes.Clone(e.Raw)
	}
	for len(p.held) > 0 {
		emit(p.held[0])
		p.held = p.held[1:]
		if string(e.Data) == p.failAfter {
			panic("patcher, when a part was emitted")
		}
	}
	if p.terminal != nil {
		emit([]byte("data: block\n\n"))
		return true
	}
	emit(e.Raw)
	return false
}

func (p *latePatcher) Terminal() []byte { return p.terminal }
func (p *latePatcher) Flush(emit func([]byte)) {
	if p.failFlush {
		emit([]byte("half"))
		panic("flush")
	}
	for _, raw := range p.held {
		emit(raw)
	}
}
func (*latePatcher) Patched() bool            { return false }
func (*latePatcher) Summary() holdfast.Digest { return holdfast.Digest{} }

func TestADefectAtABoundaryRestoresTheUpstreamsBytes(t *testing.T) {
	tests := []struct {
		name    string
		stream  lateStream
		patcher latePatcher
		frames  string
		want    string // "" for what came
	}{
		{"none, and the block is in", lateStream{}, latePatcher{}, "a hold hold b end", "a hold hold b block end"},
		{"none, and the upstream broke off", lateStream{}, latePatcher{}, "a hold hold", ""},
		{"in the reader", lateStream{failAt: "b"}, latePatcher{}, "a hold hold b c end", ""},
		{"in the patcher", lateStream{}, latePatcher{failAt: "b"}, "a hold hold b c end", ""},
		{"in the patcher, when it emitted a part", lateStream{}, latePatcher{failAfter: "b"}, "a hold hold b c end", ""},
		{"at the end", lateStream{}, latePatcher{failAfter: "end"}, "a hold b hold end", ""},
		{"when the rest is flushed", lateStream{}, latePatcher{failFlush: true}, "a hold b hold hold", ""},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			raw := func(list string) string {
				var b strings.Builder
				for data := range strings.FieldsSeq(list) {
					b.WriteString("data: " + data + "\n\n")
				}
				return b.String()
			}
			x, w := newExchange()
			b := &boundary{x: x, reader: c.stream, patcher: &c.patcher}
			var frames sse.Reader
			frames.Feed([]byte(raw(c.frames)), b.event)
			b.flush()
			if c.want == "" {
				c.want = c.frames
			}
			if got := w.Body.String(); got != raw(c.want) {
				t.Errorf("the client got\n%s\nwant\n%s", got, raw(c.want))
			}
		})
	}
}

// The client may act on the last event as soon as it has it.
func TestAPieceIsReadBeforeItIsPassedOn(t *testing.T) {
	pieces := []string{"data: one\n\n", "data: " + strings.Repeat("two ", 9000) + "\n\n", "data: three\n\n"}
	for name, c := range codings {
		t.Run(name, func(t *testing.T) {
			var coded bytes.Buffer
			w, err := c.writer(&coded)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			guard := func(f func()) bool { f(); return true }
			p := newPour(c, 1<<20, func(b []byte) { got.Write(b) }, guard, func() { t.Error("the stream did not decode") })
			want := ""
			for _, piece := range pieces {
				want += piece
				if _, err := io.WriteString(w, piece); err != nil {
					t.Fatal(err)
				}
				if err := w.(interface{ Flush() error }).Flush(); err != nil {
					t.Fatal(err)
				}
				p.Write(coded.Bytes())
				coded.Reset()
				if got.String() != want {
					t.Errorf("%d bytes were read when the piece was passed on, want %d", got.Len(), len(want))
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			p.Write(coded.Bytes())
			p.Close()
			if got.String() != want {
				t.Errorf("%d bytes were read at the end, want %d", got.Len(), len(want))
			}
		})
	}
}

func TestADefectOfADecoderIsCaught(t *testing.T) {
	x, _ := newExchange()
	failing := coding{reader: func(r io.Reader) (io.ReadCloser, error) {
		return io.NopCloser(readerFunc(func(b []byte) (int, error) {
			if _, err := r.Read(b); err != nil {
				return 0, err
			}
			panic("decoder")
		})), nil
	}}
	failed := 0
	p := newPour(failing, 1<<20, func([]byte) { t.Error("read") }, func(f func()) bool { return x.p.guarded("tee", f) }, func() { failed++ })
	p.Write([]byte("one"))
	p.Write([]byte("two")) // the client's bytes go on
	p.Close()
	if failed != 1 {
		t.Errorf("failed %d times, want once", failed)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }
