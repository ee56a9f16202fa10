// Package sse frames server-sent events: it cuts a byte stream into frames and
// reads their fields in place, so that a proxy can look at what it forwards.
//
// Laws:
//   - Every byte fed comes back: the Raw bytes of all events, in order, and
//     then Rest, are the input.
//   - How the input is cut into pieces makes no difference to the events.
//   - Nothing is interpreted: no retry times, no last event id, no JSON.
//
// A Reader stores the unfinished frame and nothing else. The format is
// https://html.spec.whatwg.org/multipage/server-sent-events.html.
package sse

import "bytes"

// MaxFrame is the largest frame that a Reader parses, in bytes.
const MaxFrame = 16 << 20

// keep is how much buffer a Reader holds on to between two frames, in bytes.
const keep = 64 << 10

// Event is one frame. Its slices alias memory of the Reader or of the piece
// that was fed: they are valid until the next Feed and must not be changed.
type Event struct {
	// Raw is the frame's exact bytes, with the blank line that ends it. When a
	// stream ends lines by CR alone and one LF strays in behind a frame, that
	// LF leads the next frame.
	Raw []byte
	// Name is the value of the last event field; nil when there is none.
	Name []byte
	// Data holds the values of the data fields joined by LF; nil when there is
	// none (a comment, a stray blank line), empty when they are empty.
	Data []byte
}

// Reader cuts a stream into frames. The zero value is ready. It is not for
// concurrent use.
type Reader struct {
	buf  []byte
	off  int  // the unfinished frame is buf[off:]
	over bool // a frame above MaxFrame was met

	begun   bool // the first bytes were looked at for a byte order mark
	afterCR bool // the last frame ended with a CR alone: an LF here is its other half

	// Of the unfinished frame, as offsets into it.
	line  int  // where its current line starts
	seen  int  // up to where no line end is
	ended byte // how its previous line ended: CR alone, LF (or CRLF), 0 for none
}

// Feed takes the next piece of the stream and calls emit for each frame that
// it completes. The piece is not kept.
//
// When a frame grows above MaxFrame, Feed stops for good: Overflowed is true,
// and Rest holds every byte that was fed and not emitted. To forward such a
// stream verbatim, write Rest once, then every later piece as it comes,
// instead of feeding it: later Feeds neither keep nor emit anything.
func (r *Reader) Feed(p []byte, emit func(Event)) {
	if r.over {
		return
	}
	switch {
	case r.off == len(r.buf) && cap(r.buf) > keep:
		r.buf = nil
	case r.off > 0:
		r.buf = r.buf[:copy(r.buf, r.buf[r.off:])]
	}
	r.off = 0
	if len(r.buf) > 0 {
		var ended bool
		if p, ended = r.finish(p, emit); !ended {
			return
		}
	}
	for {
		first := !r.begun
		end := r.frameEnd(p)
		if end < 0 || end > MaxFrame {
			r.over = end > MaxFrame || len(p) > MaxFrame
			break
		}
		name, data := parse(p[:end], first)
		r.line, r.seen, r.ended = 0, 0, 0
		emit(Event{Raw: p[:end:end], Name: name, Data: data})
		p = p[end:]
	}
	// Behind the frame that was finished, whose event is still valid.
	r.off = len(r.buf)
	r.buf = append(r.buf, p...)
}

// finish adds what p has of the frame that was begun, line by line, so that no more
// than a frame is copied, and returns what stands behind it. ended is false when p ends
// before the frame does.
func (r *Reader) finish(p []byte, emit func(Event)) (rest []byte, ended bool) {
	for rest = p; len(rest) > 0; {
		first := !r.begun
		n := bytes.IndexByte(rest, '\n') + 1
		if n == 0 {
			n = len(rest)
		}
		r.buf, rest = append(r.buf, rest[:n]...), rest[n:]
		end := r.frameEnd(r.buf)
		switch {
		case end > MaxFrame, end < 0 && len(r.buf) > MaxFrame:
			r.over = true
			r.buf = append(r.buf, rest...)
			return nil, false
		case end < 0:
			continue
		}
		name, data := parse(r.buf[:end], first)
		r.line, r.seen, r.ended = 0, 0, 0
		emit(Event{Raw: r.buf[:end:end], Name: name, Data: data})
		// A line that ends by CR alone may end it before.
		rest = p[len(p)-len(rest)-(len(r.buf)-end):]
		r.buf = r.buf[:end]
		return rest, true
	}
	return nil, false
}

// Rest returns the bytes of the unfinished frame, or, once Overflowed, all
// that was not emitted. It is valid until the next Feed.
func (r *Reader) Rest() []byte { return r.buf[r.off:] }

// Overflowed reports that a frame was larger than MaxFrame; see Feed.
func (r *Reader) Overflowed() bool { return r.over }

var bom = []byte("\xef\xbb\xbf")

// frameEnd returns where the first frame of b ends, or -1. What it learnt of
// an unfinished frame stays in r, so that no byte is searched twice.
func (r *Reader) frameEnd(b []byte) int {
	if len(b) == 0 {
		return -1
	}
	if !r.begun && r.seen == 0 {
		switch {
		case bytes.HasPrefix(b, bom):
			r.line, r.seen = len(bom), len(bom)
		case bytes.HasPrefix(bom, b):
			return -1
		}
	}
	if r.afterCR {
		r.afterCR = false
		if b[0] == '\n' {
			r.line, r.seen = 1, 1
		}
	}
	for {
		eol := lineEnd(b, r.seen)
		if eol < 0 {
			r.seen = len(b)
			return -1
		}
		r.seen = eol
		blank := eol == r.line
		next, ended := eol+1, byte('\n')
		if b[eol] == '\r' {
			// A stream of bare CRs must not wait for a byte that never comes.
			if blank && r.ended == '\r' {
				r.begun, r.afterCR = true, true
				return next
			}
			if next == len(b) {
				return -1
			}
			if b[next] == '\n' {
				next++
			} else {
				ended = '\r'
			}
		}
		if blank {
			r.begun = true
			return next
		}
		r.line, r.seen, r.ended = next, next, ended
	}
}

// lineEnd finds the first CR or LF of b at or after from; -1 when there is
// none. It looks through windows, so that a stream without LF costs no
// search of the whole buffer per line.
func lineEnd(b []byte, from int) int {
	const window = 1 << 10
	for from < len(b) {
		w := b[from:min(from+window, len(b))]
		lf := bytes.IndexByte(w, '\n')
		if lf >= 0 {
			w = w[:lf]
		}
		if cr := bytes.IndexByte(w, '\r'); cr >= 0 {
			return from + cr
		}
		if lf >= 0 {
			return from + lf
		}
		from += len(w)
	}
	return -1
}

// parse reads the fields of one frame. Only the first frame of a stream may
// start with a byte order mark.
func parse(raw []byte, first bool) (name, data []byte) {
	if first {
		raw = bytes.TrimPrefix(raw, bom)
	}
	lines := 0
	for len(raw) > 0 {
		eol := lineEnd(raw, 0)
		field, value := split(raw[:eol])
		raw = raw[eol+1:]
		switch string(field) {
		case "event":
			name = value
		case "data":
			switch lines {
			case 0:
				data = value[:len(value):len(value)]
			default:
				data = append(append(data, '\n'), value...)
			}
			lines++
		}
	}
	return name, data
}

// split cuts a line into its field and its value. A comment has an empty field.
func split(line []byte) (field, value []byte) {
	field, value, _ = bytes.Cut(line, []byte(":"))
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	if value == nil {
		value = line[len(line):]
	}
	return field, value
}

// Append writes one frame to dst and returns it. An empty name writes no event
// field; each line of data becomes a data field. name must hold no line end.
func Append(dst []byte, name string, data []byte) []byte {
	if name != "" {
		dst = append(dst, "event: "...)
		dst = append(dst, name...)
		dst = append(dst, '\n')
	}
	for {
		eol := lineEnd(data, 0)
		line := data
		if eol >= 0 {
			line = data[:eol]
		}
		dst = append(dst, "data: "...)
		dst = append(dst, line...)
		dst = append(dst, '\n')
		if eol < 0 {
			return append(dst, '\n')
		}
		if data[eol] == '\r' && eol+1 < len(data) && data[eol+1] == '\n' {
			eol++
		}
		data = data[eol+1:]
	}
}

// Rewrite writes the frame raw to dst with data in place of its own data and
// returns dst. Everything else stays as it is: other fields, comments, line
// ends, the space behind a colon. data must have as many lines as the data of
// raw.
func Rewrite(dst, raw, data []byte) []byte {
	for len(raw) > 0 {
		eol := lineEnd(raw, 0)
		if eol < 0 {
			eol = len(raw)
		}
		line := raw[:eol]
		head := 0
		if bytes.HasPrefix(line, bom) {
			head = len(bom)
		}
		field, value := split(line[head:])
		if string(field) == "data" {
			var own []byte
			own, data, _ = bytes.Cut(data, []byte("\n"))
			dst = append(dst, line[:len(line)-len(value)]...)
			if head+len(field) == len(line) && len(own) > 0 {
				dst = append(dst, ": "...)
			}
			dst = append(dst, own...)
		} else {
			dst = append(dst, line...)
		}
		dst = append(dst, raw[eol:min(eol+1, len(raw))]...)
		raw = raw[min(eol+1, len(raw)):]
	}
	return dst
}
