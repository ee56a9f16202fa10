package proxy

import (
	"bytes"
	"io"
	"math/bits"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// body is a request body, read whole and held once. It is counted in the
// bytes in flight, and what it was decoded to with it, until the last holder
// has released it.
type body struct {
	p      *Proxy
	bytes  []byte
	size   int64 // admitted
	refs   atomic.Int32
	pooled *[]byte // what bytes is cut from, when it goes back to a pool
}

// bodyPause is how long a client may send nothing of a body that it has announced: what
// it announced counts as in flight, so that a few that say no more would lock out all.
const bodyPause = time.Minute

// steadily reads a body whose client must go on sending.
type steadily struct {
	body  io.Reader
	conn  *http.ResponseController
	pause time.Duration
}

func (s steadily) Read(b []byte) (int, error) {
	// A writer without a connection has no deadlines.
	_ = s.conn.SetReadDeadline(time.Now().Add(s.pause))
	return s.body.Read(b)
}

// over is for the end of a body: an answer has no limit. Behind one that broke off the
// limit stays, since the server reads what may be left of it.
func (s steadily) over() { _ = s.conn.SetReadDeadline(time.Time{}) }

// admit reads a request's body within the limits. A nil body without error
// means that the client left while sending, or sent nothing for too long.
func (p *Proxy) admit(w http.ResponseWriter, r *http.Request) (*body, error) {
	tooLarge := func() error {
		return holdfast.Errorf(holdfast.ErrTooLarge, "the request body is larger than %d bytes; raise limits.body in the configuration", p.cfg.MaxBody)
	}
	b := &body{p: p}
	b.refs.Store(1)
	if r.ContentLength > p.cfg.MaxBody {
		return nil, tooLarge()
	}
	if r.ContentLength == 0 || r.Body == nil {
		return b, nil
	}
	in := steadily{r.Body, http.NewResponseController(w), p.pause}
	if r.ContentLength > 0 {
		if !b.grow(r.ContentLength) {
			return nil, busy()
		}
		b.bytes = b.take(int(r.ContentLength))
		if _, err := io.ReadFull(in, b.bytes); err != nil {
			b.release()
			return nil, nil
		}
		in.over()
		return b, nil
	}
	// Length unknown: read in pieces, each admitted before it is read.
	const piece = 64 << 10
	buf := make([]byte, piece)
	for {
		n, err := in.Read(buf)
		if n > 0 && !b.grow(int64(n)) {
			b.release()
			return nil, busy()
		}
		b.bytes = append(b.bytes, buf[:n]...)
		if int64(len(b.bytes)) > p.cfg.MaxBody {
			b.release()
			return nil, tooLarge()
		}
		switch {
		case err == io.EOF:
			in.over()
			return b, nil
		case err != nil:
			b.release()
			return nil, nil
		}
	}
}

func busy() error {
	return holdfast.Errorf(holdfast.ErrBusy, "too many bytes of requests are in flight; try again in a second, or raise limits.in_flight")
}

// grow admits n more bytes. It is for the goroutine that made b.
func (b *body) grow(n int64) bool {
	if b.p.inFlight.Add(n) > b.p.cfg.MaxInFlight {
		b.p.inFlight.Add(-n)
		return false
	}
	b.size += n
	return true
}

// shrink gives n admitted bytes back.
func (b *body) shrink(n int64) {
	b.p.inFlight.Add(-n)
	b.size -= n
}

// retain adds a holder.
func (b *body) retain() { b.refs.Add(1) }

// release gives one hold up; the last one frees the bytes.
func (b *body) release() {
	if b.refs.Add(-1) == 0 {
		b.p.inFlight.Add(-b.size)
		b.bytes = nil
		if b.pooled != nil {
			class, _ := classOf(cap(*b.pooled))
			pools[class].Put(b.pooled)
			b.pooled = nil
		}
	}
}

// pools hold buffers of bodies by size: agents send bodies of the same size over
// and over; what is not used the collector takes.
var pools [4 * 25]sync.Pool

// smallest and largest are the sizes that are pooled, in bytes.
const smallest, largest = 4 << 10, 16 << 20

// classOf is the pool for n bytes, and the size of its buffers: the next quarter
// step between two powers of two, so that at most a quarter is unused.
func classOf(n int) (class, size int) {
	top := bits.Len(uint(n-1)) - 1 // 1<<top < n <= 1<<(top+1)
	quarter := (n - 1 - 1<<top) >> (top - 2)
	return 4*top + quarter, 1<<top + (quarter+1)<<(top-2)
}

// take returns a buffer of n bytes that goes back when the body is released.
func (b *body) take(n int) []byte {
	if n < smallest || n > largest {
		return make([]byte, n)
	}
	class, size := classOf(n)
	if p, ok := pools[class].Get().(*[]byte); ok {
		b.pooled = p
	} else {
		buf := make([]byte, size)
		b.pooled = &buf
	}
	return (*b.pooled)[:n]
}

// reader makes a body for the transport, which closes it when it has sent it
// or given up. raw is b's own bytes or an altered copy.
func (b *body) reader(raw []byte) io.ReadCloser {
	switch {
	case len(raw) == 0:
		return http.NoBody
	case b.pooled == nil && len(raw) < smallest:
		// Of a reader that it knows, the transport sends a short body in one write with
		// the header. Nobody needs to know when it has: the bytes are used by none after.
		return io.NopCloser(bytes.NewReader(raw))
	}
	b.retain()
	return &bodyReader{Reader: bytes.NewReader(raw), b: b}
}

type bodyReader struct {
	*bytes.Reader
	b      *body
	closed atomic.Bool
}

func (r *bodyReader) Close() error {
	if !r.closed.Swap(true) {
		r.b.release()
	}
	return nil
}
