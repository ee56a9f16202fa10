package proxy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

var (
	errTooLong = errors.New("decoded body is too long")
	errNoRoom  = errors.New("too many bytes in flight to decode")
)

// coding is one content coding: how to read it and how to write it.
type coding struct {
	reader func(io.Reader) (io.ReadCloser, error)
	writer func(io.Writer) (io.WriteCloser, error)
}

var codings = map[string]coding{
	"gzip": {
		func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) },
		func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
	},
	"zstd": {
		func(r io.Reader) (io.ReadCloser, error) {
			d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(32<<20))
			if err != nil {
				return nil, err
			}
			return d.IOReadCloser(), nil
		},
		func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) },
	},
	"br": {
		func(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(brotli.NewReader(r)), nil },
		func(w io.Writer) (io.WriteCloser, error) { return brotli.NewWriterLevel(w, 4), nil },
	},
}

// codingOf finds the coding that Content-Encoding names. plain is true for
// none; ok is false for codings that cannot be read, and for more than one.
func codingOf(h http.Header) (c coding, plain, ok bool) {
	name := strings.ToLower(strings.TrimSpace(strings.Join(h.Values("Content-Encoding"), ",")))
	if name == "" || name == "identity" {
		return c, true, true
	}
	c, ok = codings[name]
	return c, false, ok
}

// decode reads a coded body, at most limit bytes long. Each piece is admitted
// before it is kept; what was admitted stays so when decoding fails.
func (c coding) decode(raw []byte, limit int64, admit func(n int64) bool) ([]byte, error) {
	r, err := c.reader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // reading is over
	var out []byte
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		switch {
		case int64(len(out)+n) > limit:
			return nil, errTooLong
		case n > 0 && !admit(int64(n)):
			return nil, errNoRoom
		}
		out = append(out, buf[:n]...)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// encode writes a body in the coding.
func (c coding) encode(raw []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := c.writer(&out)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(raw); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// pour decodes a coded stream that is written to it piece by piece, on a
// goroutine of its own, and hands the plain pieces to sink. A stream that does
// not decode, or that grows to more than limit bytes, is drained unread. Write
// and Close are for one goroutine.
type pour struct {
	in   chan []byte
	more chan struct{} // the decoder has used up what it was given
	done chan struct{}

	// The decoder's side:
	piece []byte
	ended bool
}

// newPour begins a stream. guard runs the decoder and catches its panics; failed
// is called, on the decoder's goroutine, when the stream cannot be read.
func newPour(c coding, limit int64, sink func([]byte), guard func(func()) bool, failed func()) *pour {
	p := &pour{in: make(chan []byte), more: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		var err error
		if !guard(func() { err = p.decode(c, limit, sink) }) || err != nil {
			failed()
		}
		io.Copy(io.Discard, p) //nolint:errcheck // reading p fails at its end only
	}()
	<-p.more
	return p
}

func (p *pour) decode(c coding, limit int64, sink func([]byte)) error {
	r, err := c.reader(p)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // reading is over
	buf := make([]byte, 16<<10)
	for total := int64(0); ; {
		n, err := r.Read(buf)
		if total += int64(n); total > limit {
			return errTooLong
		}
		if n > 0 {
			sink(buf[:n])
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Read is what the decoder reads from.
func (p *pour) Read(b []byte) (int, error) {
	if len(p.piece) == 0 && !p.ended {
		p.more <- struct{}{}
		piece, ok := <-p.in
		p.piece, p.ended = piece, !ok
	}
	if p.ended {
		return 0, io.EOF
	}
	n := copy(b, p.piece)
	p.piece = p.piece[n:]
	return n, nil
}

// Write returns when sink has got all that b completes, so that nobody can act
// on a piece before it was read. b is not kept.
func (p *pour) Write(b []byte) {
	if len(b) > 0 {
		p.in <- b
		<-p.more
	}
}

// Close ends the stream and waits until all of it was handed on.
func (p *pour) Close() {
	close(p.in)
	<-p.done
}
