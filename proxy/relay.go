package proxy

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
)

// maxRead bounds what is held of an answer that is not a stream, in bytes.
const maxRead = 16 << 20

const shortLength = 2 << 10

// short and long are what answers are read into. A stream that is open and says nothing holds
// a short one, an answer that fills it a long one.
var (
	short = sync.Pool{New: func() any { b := make([]byte, shortLength); return &b }}
	long  = sync.Pool{New: func() any { b := make([]byte, 16<<10); return &b }}
)

// relay passes the answer on.
func (x *exchange) relay(resp *http.Response) {
	x.p.metrics.streams.Inc()
	defer x.p.metrics.streams.Dec()
	isStream := strings.HasPrefix(strings.ToLower(resp.Header.Get("Content-Type")), "text/event-stream")
	a := x.attempt
	c, plain, known := codingOf(resp.Header)
	read := a != nil && a.Linked() && resp.StatusCode == http.StatusOK
	if read && (!known || a.Boundary && !plain) {
		x.p.metrics.unread.WithLabelValues("answer_coding").Inc()
		read = false
	}
	x.meter = x.newMeter(resp)
	switch {
	case !read && (x.meter == nil || !known):
		x.pass(resp, isStream, nil)
	case !read && plain:
		x.copied(resp, isStream, nil, x.meter.sink(isStream))
	case !read:
		x.copied(resp, isStream, &c, x.meter.sink(isStream))
	case a.Boundary && isStream:
		x.patchStream(resp)
	case a.Boundary:
		x.patchWhole(resp)
	case plain:
		x.tee(resp, isStream, nil)
	default:
		x.tee(resp, isStream, &c)
	}
	x.finish(holdfast.Answer{})
	x.count(statusClass(resp.StatusCode))
	h := x.w.Header()
	for name, values := range resp.Trailer {
		if !slices.Contains(h["Trailer"], name) {
			name = http.TrailerPrefix + name // it came unannounced
		}
		h[name] = values
	}
}

// statusClass is the class of a status: "2xx".
func statusClass(status int) string { return string(rune('0'+status/100)) + "xx" }

// pass relays the answer as it comes. sink sees each piece before the client
// does. It ends the client's connection when the upstream broke.
func (x *exchange) pass(resp *http.Response, isStream bool, sink func([]byte)) {
	flush := isStream || resp.ContentLength < 0
	x.writeHeader(resp, -1)
	if flush {
		x.flush()
	}
	err := pieces(resp.Body, func(b []byte) {
		if sink != nil {
			sink(b)
		}
		x.write(b)
		if flush {
			x.flush()
		}
	})
	if err != nil {
		x.cut()
	}
}

// pieces hands each piece of r to f; the error is r's own, nil at its end.
func pieces(r io.Reader, f func([]byte)) error {
	from, buf := &short, short.Get().(*[]byte)
	defer func() { from.Put(buf) }()
	for {
		n, err := r.Read(*buf)
		if n > 0 {
			f((*buf)[:n])
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		next := from
		switch {
		case n == len(*buf):
			next = &long
		case n <= shortLength:
			next = &short
		}
		if next != from {
			from.Put(buf)
			from, buf = next, next.Get().(*[]byte)
		}
	}
}

// cut ends an exchange whose answer broke off: the client gets what came.
func (x *exchange) cut() {
	if x.r.Context().Err() != nil {
		x.broken("client_left")
	}
	x.flush()
	x.broken("broken")
}

// write sends bytes to the client.
func (x *exchange) write(b []byte) {
	if x.record != nil {
		x.record.Received += int64(len(b))
	}
	if _, err := x.w.Write(b); err != nil {
		x.broken("client_left")
	}
}

// flush sends what was written. A writer that cannot is left to itself.
func (x *exchange) flush() {
	if err := http.NewResponseController(x.w).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		x.broken("client_left")
	}
}

// broken ends the exchange: the client sees a break, the engine a failed answer.
func (x *exchange) broken(outcome string) {
	x.left = holdfast.OutcomeBroken
	if outcome == "client_left" {
		x.left = holdfast.OutcomeCancelled
	}
	x.count(outcome)
	x.finish(holdfast.Answer{})
	panic(http.ErrAbortHandler)
}

// tee relays an ordinary answer and reads a copy of it, decoded when it has a
// coding.
func (x *exchange) tee(resp *http.Response, isStream bool, c *coding) {
	sink, answer := x.readWhole()
	if isStream {
		sink, answer = x.readStream()
	}
	ans := holdfast.Answer{}
	if x.copied(resp, isStream, c, sink) {
		x.p.guarded("tee", func() { ans = answer() })
	}
	x.finish(ans)
}

// copied relays an answer and hands a copy of it to sink, decoded when it has a
// coding. healthy is false when not all of it could be read.
func (x *exchange) copied(resp *http.Response, isStream bool, c *coding, sink func([]byte)) (healthy bool) {
	healthy = true
	guard := func(f func()) bool { return x.p.guarded("tee", f) }
	if c == nil {
		x.pass(resp, isStream, func(b []byte) {
			healthy = healthy && guard(func() { sink(b) })
		})
		return healthy
	}
	var decoded int64 // the decoder's until it was closed
	p := newPour(*c, x.p.cfg.MaxBody, func(b []byte) { decoded += int64(len(b)); sink(b) }, guard, func() {
		healthy = false
		x.p.metrics.unread.WithLabelValues("answer_broken").Inc()
	})
	func() {
		defer func() {
			p.Close()
			if x.record != nil {
				x.record.Received = max(x.record.Received, decoded)
			}
		}()
		x.pass(resp, isStream, p.Write)
	}()
	return healthy
}

// readStream reads a streaming answer piece by piece.
func (x *exchange) readStream() (sink func([]byte), answer func() holdfast.Answer) {
	a := x.attempt
	var st stream
	if a.Whole() {
		st = x.form.newWhole()
	} else {
		st = x.form.newStream(a.Keep)
	}
	var frames sse.Reader
	relayed := false
	return func(b []byte) {
		frames.Feed(b, func(e sse.Event) {
			st.Event(e)
			x.meter.event(e)
		})
		if !relayed && st.Terminal() {
			relayed = true
			a.Relayed()
		}
	}, st.Answer
}

// readWhole reads an answer in one piece once all of it is there. The client may
// act on it as soon as it begins to come.
func (x *exchange) readWhole() (sink func([]byte), answer func() holdfast.Answer) {
	a := x.attempt
	var whole []byte
	return func(b []byte) {
			if len(whole) == 0 {
				a.Relayed()
			}
			x.meter.piece(b)
			if len(whole)+len(b) <= maxRead {
				whole = append(whole, b...)
			}
		}, func() holdfast.Answer {
			read := x.form.writer.ReadBody
			if a.Whole() {
				read = x.form.writer.ReadWhole
			}
			ans, err := read(whole)
			if err != nil {
				return holdfast.Answer{} // too long, or no answer of the protocol
			}
			return ans
		}
}
