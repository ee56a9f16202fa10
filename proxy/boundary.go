package proxy

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
)

// boundary relays the streaming answer to a compaction request with the block
// in its summary.
type boundary struct {
	x        *exchange
	reader   stream
	patcher  patcher
	verbatim bool // after a defect, what comes is passed as it is
	// unsent are the frames that the patcher holds, as they came. It emits one
	// frame for each that it took, in their order, and at the terminal event the
	// block besides.
	unsent [][]byte
}

// patchStream relays the streaming answer to a compaction request, and holds
// the terminal event until the boundary is durable.
func (x *exchange) patchStream(resp *http.Response) {
	a := x.attempt
	var block func() string
	if a.MayCarry {
		resp.Header.Del("Content-Length")
		block = x.block
	}
	b := &boundary{x: x, reader: x.form.newStream(a.Keep), patcher: x.form.newPatcher(block)}
	var frames sse.Reader
	x.writeHeader(resp, -1)
	x.flush()
	err := pieces(resp.Body, func(piece []byte) {
		if frames.Overflowed() {
			x.write(piece)
		} else if frames.Feed(piece, b.event); frames.Overflowed() {
			b.flush()
			x.write(frames.Rest())
		}
		x.flush()
	})
	if !frames.Overflowed() {
		if err == nil && len(frames.Rest()) == 0 {
			b.end()
		}
		b.flush()
		x.write(frames.Rest())
	}
	if err != nil {
		x.cut()
	}
}

// event takes the next frame of the upstream.
func (b *boundary) event(e sse.Event) {
	b.x.meter.event(e)
	if b.verbatim {
		b.x.write(e.Raw)
		return
	}
	terminal := false
	var ans holdfast.Answer
	out, n, ok := b.emitted(func(emit func([]byte)) {
		b.reader.Event(e)
		if terminal = b.patcher.Event(e, emit); terminal {
			ans = b.reader.Answer()
		}
	})
	if !ok {
		b.restore()
		b.x.write(e.Raw)
		return
	}
	b.x.write(out)
	switch {
	case terminal:
		b.finish(ans)
	case n <= len(b.unsent):
		b.unsent = append(b.unsent[n:], bytes.Clone(e.Raw))
	default:
		b.unsent = nil
	}
}

// finish commits the boundary and lets the terminal event go.
func (b *boundary) finish(ans holdfast.Answer) {
	b.unsent = nil
	if ans.Complete && summarised(ans, b.x.attempt.Verdict.Summary) {
		summary := b.patcher.Summary()
		if !b.patcher.Patched() {
			summary = summaryOf(ans)
		}
		b.x.commit(summary, b.patcher.Patched())
	}
	b.x.write(b.patcher.Terminal())
}

// end is the clean end of a stream, which in some formats needs no terminal
// event.
func (b *boundary) end() {
	e, ok := b.patcher.(ender)
	if b.verbatim || !ok {
		return
	}
	var ans holdfast.Answer
	terminal := false
	out, _, ok := b.emitted(func(emit func([]byte)) {
		if terminal = e.End(emit); terminal {
			ans = b.reader.Answer()
		}
	})
	if !ok {
		b.restore()
		return
	}
	b.x.write(out)
	if terminal {
		b.finish(ans)
	}
}

// flush lets go of what is held and ends the patching.
func (b *boundary) flush() {
	if b.verbatim {
		return
	}
	out, _, ok := b.emitted(b.patcher.Flush)
	if !ok {
		b.restore()
		return
	}
	b.verbatim, b.unsent = true, nil
	b.x.write(out)
}

// restore goes back to the bytes of the upstream.
func (b *boundary) restore() {
	for _, raw := range b.unsent {
		b.x.write(raw)
	}
	b.verbatim, b.unsent = true, nil
}

// emitted runs f and collects the frames that it emits: of a step that fails
// none goes to the client.
func (b *boundary) emitted(f func(emit func([]byte))) (out []byte, n int, ok bool) {
	ok = b.x.p.guarded("patch", func() {
		f(func(raw []byte) {
			out = append(out, raw...)
			n++
		})
	})
	return out, n, ok
}

// patchWhole relays the answer to a compaction request that comes in one piece.
func (x *exchange) patchWhole(resp *http.Response) {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxRead+1))
	x.meter.piece(raw)
	length := -1
	if err == nil && len(raw) <= maxRead {
		raw = x.patched(raw)
		if resp.ContentLength >= 0 {
			length = len(raw)
		}
	}
	x.writeHeader(resp, length)
	x.write(raw)
	if err == nil {
		err = pieces(resp.Body, x.write) // what is too long to be read
	}
	if err != nil {
		x.cut()
	}
}

// patched puts the block into a whole answer that holds a summary, and makes
// the boundary durable. Any other answer stays as it is.
func (x *exchange) patched(raw []byte) []byte {
	a, out := x.attempt, raw
	x.p.guarded("patch", func() {
		ans, err := x.form.writer.ReadBody(raw)
		if err != nil || !ans.Complete || !summarised(ans, a.Verdict.Summary) {
			return
		}
		summary, delivered := summaryOf(ans), false
		if block := x.block(); block != "" {
			if patched, digest, ok := x.form.writer.PatchBody(raw, block); ok {
				out, summary, delivered = patched, digest, true
			}
		}
		x.commit(summary, delivered)
	})
	return out
}

// block is what goes into the summary, once the rest of the answer is there.
func (x *exchange) block() string { return x.attempt.Final(x.r.Context()) }

// commit makes the boundary durable before the client can act on its answer.
func (x *exchange) commit(summary holdfast.Digest, delivered bool) {
	x.p.guarded("commit", func() {
		x.attempt.Commit(context.WithoutCancel(x.r.Context()), summary, delivered)
	})
}

// summarised reports whether a complete answer holds a summary in the form that
// the request asked for: text and no call, or an opaque item.
func summarised(ans holdfast.Answer, form holdfast.SummaryForm) bool {
	text, item, call := false, false, false
	for _, ev := range ans.Events {
		switch ev := ev.(type) {
		case holdfast.AssistantMessage:
			text = text || ev.Len > 0
		case holdfast.CompactionItem:
			item = true
		case holdfast.ToolCall:
			call = true
		}
	}
	if form == holdfast.OpaqueSummary {
		return item
	}
	return text && !call
}

// summaryOf is the digest of an answer's summary: of its last text, or opaque item.
func summaryOf(ans holdfast.Answer) (d holdfast.Digest) {
	for _, ev := range ans.Events {
		switch ev := ev.(type) {
		case holdfast.AssistantMessage:
			if ev.Len > 0 {
				d = ev.Digest
			}
		case holdfast.CompactionItem:
			d = ev.Digest
		}
	}
	return d
}
