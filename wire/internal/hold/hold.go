// Package hold keeps the frames of a streamed answer back for as long as it is
// open what the client may get of them, and no longer.
//
// A Queue reads the text that passes through it. It holds a frame whose text
// may be the start of an older block, with the white space before that, and
// all frames from where its owner says that they must wait. What it knows to
// belong to an older block it cuts; all else leaves it as it came.
//
// Laws:
//   - Frames leave in the order in which they came, one for one.
//   - A frame without a cut leaves byte for byte.
//   - No more than Max bytes are held: beyond, all goes as it is.
//
// It stores the frames that it holds, and of the text a digest.
package hold

import (
	"bytes"
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// Max bounds what a Queue holds back, in bytes. Beyond, it gives up.
const Max = 4 << 20

// Frame is one frame of a stream, with what is known of the text in it. Its
// slices may alias memory that changes later: a Queue copies what it holds.
type Frame struct {
	Raw, Data []byte
	// Texts are the literals of Data that carry the text on, in rising order.
	// What is no string literal is left out by Read.
	Texts []holdfast.Span
	// Begins tells that a new text begins with this frame.
	Begins bool

	base  int  // where Texts stand in the cutter's count
	waits bool // it may not leave before Go
}

// size is the number of bytes between the quotes of the texts.
func (f *Frame) size() (n int) {
	for _, t := range f.Texts {
		n += t.End - t.Start - len(`""`)
	}
	return n
}

// Queue is the frames of one answer on their way to the client. It is not for
// concurrent use.
type Queue struct {
	cutter  *jsonscan.Cutter
	waiting bool // what comes now may not leave before Go
	off     bool // all passes as it is
	held    []Frame
	size    int // bytes in held

	// hash is over the newest text of which the start was emitted, as emitted.
	hash holdfast.TextHasher
	join jsonscan.Joiner
	buf  []byte
}

// New returns an empty Queue that cuts blocks.
func New() *Queue {
	return &Queue{cutter: jsonscan.NewCutter(holdfast.BlockBegins, holdfast.BlockClose)}
}

// Push is Read and Pass in one.
func (q *Queue) Push(f Frame, emit func(raw []byte)) {
	q.Read(&f)
	q.Pass(f, emit)
}

// Read takes in the text of the next frame. Pass must follow.
func (q *Queue) Read(f *Frame) {
	if q.off {
		return
	}
	n := 0
	for _, t := range f.Texts {
		if t.Present() && f.Data[t.Start] == '"' {
			f.Texts[n] = t
			n++
		}
	}
	f.Texts = f.Texts[:n]
	f.base = q.cutter.Pos()
	for _, t := range f.Texts {
		q.cutter.Feed(t.Of(f.Data))
	}
}

// Pass puts a frame that was read behind all that is held, and emits what may
// leave. Emitted bytes are valid during the call of emit only.
func (q *Queue) Pass(f Frame, emit func(raw []byte)) {
	if q.off {
		emit(f.Raw)
		return
	}
	f.waits = q.waiting
	q.release("", emit)
	if len(q.held) == 0 && q.settled(&f) {
		q.write(&f, "", emit)
		return
	}
	f.Raw, f.Data, f.Texts = bytes.Clone(f.Raw), bytes.Clone(f.Data), slices.Clone(f.Texts)
	q.held = append(q.held, f)
	q.size += len(f.Raw) + len(f.Data)
	if q.size > Max {
		q.GiveUp(emit)
	}
}

// End ends the text: what comes next belongs to another one. It reports whether
// the text that ended was more than white space, as it came.
func (q *Queue) End() (visible bool) { return q.cutter.End() }

// Visible reports whether the text that was begun is more than white space, as
// it came.
func (q *Queue) Visible() bool { return q.cutter.Visible() }

// Wait makes the frames that come from now on wait for Go.
func (q *Queue) Wait() { q.waiting = true }

// Waiting reports whether frames that come now wait for Go.
func (q *Queue) Waiting() bool { return q.waiting }

// Go lets frames leave that wait.
func (q *Queue) Go(emit func(raw []byte)) { q.goWith("", emit) }

func (q *Queue) goWith(tail string, emit func(raw []byte)) {
	q.waiting = false
	for i := range q.held {
		q.held[i].waits = false
	}
	q.release(tail, emit)
}

// Finish ends an answer that is one text, and puts tail at its end, unless tail
// is empty, the text is no more than white space as it came, or no frame waits. It
// emits what stands before the frames that wait; those it returns, with tail in
// the text of the first one if that has some. If not, it emits extra before
// them: a frame with tail alone, made like the data of the first one. sum is the
// digest of the text with tail.
func (q *Queue) Finish(tail string, extra func(like []byte) []byte, emit func(raw []byte)) (rest []byte, sum holdfast.Digest, patched bool) {
	visible := q.End()
	q.release("", emit)
	patched = tail != "" && visible && len(q.held) > 0
	at := ""
	if patched && q.held[0].size() > 0 {
		at = tail
	} else if patched {
		emit(extra(q.held[0].Data))
	}
	q.goWith(at, func(raw []byte) { rest = append(rest, raw...) })
	if patched {
		sum = q.Sum(tail)
	}
	return rest, sum, patched
}

// GiveUp lets everything go, from now on as it is. What was cut stays cut.
func (q *Queue) GiveUp(emit func(raw []byte)) {
	q.cutter.End()
	q.Go(emit)
	q.off = true
}

// Off reports whether the Queue gave up.
func (q *Queue) Off() bool { return q.off }

// Sum is the digest of the newest text as it was emitted, with tail behind it.
func (q *Queue) Sum(tail string) holdfast.Digest {
	q.hash.Write(string(q.join.Flush(nil)))
	q.hash.Write(tail)
	return q.hash.Sum()
}

// settled reports whether f can be emitted once nothing is held before it.
func (q *Queue) settled(f *Frame) bool {
	return !f.waits && f.base+f.size() <= q.cutter.Settled()
}

// release emits the frames that nothing keeps any more, the first with tail.
func (q *Queue) release(tail string, emit func(raw []byte)) {
	n := 0
	for n < len(q.held) && q.settled(&q.held[n]) {
		f := &q.held[n]
		q.write(f, tail, emit)
		tail = ""
		q.size -= len(f.Raw) + len(f.Data)
		n++
	}
	if n > 0 {
		q.held = q.held[:copy(q.held, q.held[n:])]
		clear(q.held[len(q.held):cap(q.held)])
	}
}

// write emits a frame without what is cut of its text.
func (q *Queue) write(f *Frame, tail string, emit func(raw []byte)) {
	if f.Begins {
		q.hash, q.join = holdfast.TextHasher{}, jsonscan.Joiner{}
	}
	edits := q.edits(f, tail)
	if len(edits) == 0 {
		emit(f.Raw)
		return
	}
	emit(sse.Rewrite(nil, f.Raw, jsonscan.Splice(nil, f.Data, edits...)))
}

// edits returns what changes in the data of a frame, and takes its text into
// the hash.
func (q *Queue) edits(f *Frame, tail string) (edits []jsonscan.Edit) {
	last := -1
	if tail != "" {
		for i, t := range f.Texts {
			if t.End-t.Start > len(`""`) {
				last = i
			}
		}
	}
	base := f.base
	for i, t := range f.Texts {
		lit := t.Of(f.Data)
		if cuts := q.cutter.Cuts(t, base); len(cuts) > 0 {
			edits = append(edits, cuts...)
			lit = jsonscan.Splice(nil, lit, q.cutter.Cuts(holdfast.Span{End: len(lit)}, base)...)
		}
		if i == last {
			end := holdfast.Span{Start: t.End - 1, End: t.End - 1}
			edits = append(edits, jsonscan.Edit{Span: end, New: jsonscan.AppendEscaped(nil, tail)})
		}
		q.buf = q.join.Append(q.buf[:0], lit)
		q.hash.Write(string(q.buf))
		base += t.End - t.Start - len(`""`)
	}
	q.cutter.Forget(f.base)
	return edits
}

// Envelope appends the named members of the object data to dst, each with a
// comma behind it.
func Envelope(dst, data []byte, names ...string) []byte {
	// What is no object has no members.
	_, _ = jsonscan.Object(data, jsonscan.Space(data, 0), func(key []byte, at int) (int, error) {
		end, err := jsonscan.Skip(data, at)
		if err == nil && slices.Contains(names, string(key)) {
			dst = append(jsonscan.AppendQuote(dst, string(key)), ':')
			dst = append(append(dst, data[at:end]...), ',')
		}
		return end, err
	})
	return dst
}

// Patch returns a copy of data without older blocks in the text that the
// literals at texts make up together, and with tail at its end. sum is the
// digest of that text. ok is false when it is no more than white
// space as it came.
func Patch(data []byte, texts []holdfast.Span, tail string) (patched []byte, sum holdfast.Digest, ok bool) {
	q, f := New(), Frame{Data: data, Texts: texts}
	q.Read(&f)
	if !q.End() {
		return nil, sum, false
	}
	edits := q.edits(&f, tail)
	patched = jsonscan.Splice(make([]byte, 0, jsonscan.SizeOf(len(data), edits)), data, edits...)
	return patched, q.Sum(tail), true
}
