package anthropic

import (
	"bytes"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// maxHeld bounds what a Patcher holds back, in bytes. Beyond, it gives up.
const maxHeld = 4 << 20

// Patcher patches a streamed answer as Codec.PatchBody patches one that was not
// streamed: the block arrives in a delta of its own before the end of the last
// text. It holds back no more than it must: the start of what may be an older
// block, with the white space before it; the end of a text, until the next
// event that tells whether another text follows; and the terminal event, until
// the caller is ready. All that it does not change it emits as it came.
//
// A failed answer, one that calls a tool and one without text get no block; nor
// does one where more than 4 MiB would be held back. What was cut of an older
// block by then stays cut. It is not for concurrent use.
type Patcher struct {
	block string
	off   bool // nothing is looked at any more but the terminal event
	stop  string

	cutter *jsonscan.Cutter
	open   bool   // a text block is open
	index  string // its index, as sent
	last   string // the index of the text that ending is about
	// hash is over the last text of which the start was emitted, as emitted.
	hash holdfast.TextHasher
	join jsonscan.Joiner
	buf  []byte

	held []frame
	size int // bytes in held
	// ending is set while held starts with what comes behind a whole text
	// that may be the last one.
	ending bool

	terminal []byte
	patched  bool
	summary  holdfast.Digest
}

// frame is one frame of the stream, with what is known of the text in it.
type frame struct {
	raw, data []byte
	text      holdfast.Span // the string literal in data; absent when it has none
	base      int           // where that stands in the cutter's count
	begins    bool          // it begins a text block
}

// NewPatcher returns a Patcher for one answer. block is valid UTF-8; when it is
// empty nothing is changed, and only the terminal event is held back.
func NewPatcher(block string) *Patcher {
	return &Patcher{block: block, off: block == "", cutter: newCutter()}
}

// Event takes the next frame of the upstream and emits what can go to the
// client, in order. Emitted bytes are valid during the call of emit only. At
// the terminal event (message_stop) it returns true and does not emit that
// event: the caller emits Terminal when it has committed what the client will
// rely on, before it passes on any further event.
func (p *Patcher) Event(e sse.Event, emit func(raw []byte)) (terminal bool) {
	if p.terminal != nil {
		emit(e.Raw)
		return false
	}
	ev := parse(e)
	if ev.kind == "message_stop" {
		p.finish(emit)
		p.terminal = bytes.Clone(e.Raw)
		return true
	}
	if p.off {
		emit(e.Raw)
		return false
	}
	f := frame{raw: e.Raw, data: e.Data}
	switch ev.kind {
	case "content_block_start":
		p.endText(emit)
		var s [2]holdfast.Span
		ev.fields(ev.content, s[:], "type", "text")
		switch jsonscan.Text(s[0].Of(ev.data)) {
		case "text":
			p.open, p.index = true, string(ev.index.Of(ev.data))
			f.begins, f.text = true, s[1]
		case "tool_use":
			p.giveUp(emit)
		}
	case "content_block_delta":
		var s [2]holdfast.Span
		ev.fields(ev.delta, s[:], "type", "text")
		if string(s[0].Of(ev.data)) != `"text_delta"` {
			break
		}
		if p.open && p.index == string(ev.index.Of(ev.data)) {
			f.text = s[1]
		} else {
			// Texts that run into one another have no end to put a block at.
			p.giveUp(emit)
		}
	case "content_block_stop":
		if p.open && p.index == string(ev.index.Of(ev.data)) {
			p.endText(emit)
		}
	case "message_delta":
		p.endText(emit)
		if stop := ev.stop(); stop != "" {
			p.stop = stop
		}
	case "error":
		p.giveUp(emit)
	}
	p.push(f, emit)
	return false
}

// push takes a frame behind all that is held.
func (p *Patcher) push(f frame, emit func([]byte)) {
	if p.off {
		emit(f.raw)
		return
	}
	if f.text.Present() && f.data[f.text.Start] != '"' {
		f.text = holdfast.Span{}
	}
	f.base = p.cutter.Pos()
	p.cutter.Feed(f.text.Of(f.data))
	if p.ending && p.cutter.Visible() {
		// Another text follows: the one that ended was not the last.
		p.ending = false
	}
	p.release(emit)
	if len(p.held) == 0 && p.settled(&f) {
		p.write(&f, emit)
		return
	}
	f.raw, f.data = bytes.Clone(f.raw), bytes.Clone(f.data)
	p.held = append(p.held, f)
	p.size += len(f.raw) + len(f.data)
	if p.size > maxHeld {
		p.giveUp(emit)
	}
}

// settled reports whether f can be emitted once nothing is held before it.
func (p *Patcher) settled(f *frame) bool {
	return !p.ending && f.base+max(f.text.End-f.text.Start-2, 0) <= p.cutter.Settled()
}

// release emits the frames that are settled.
func (p *Patcher) release(emit func([]byte)) {
	n := 0
	for n < len(p.held) && p.settled(&p.held[n]) {
		p.write(&p.held[n], emit)
		p.size -= len(p.held[n].raw) + len(p.held[n].data)
		n++
	}
	if n > 0 {
		p.held = p.held[:copy(p.held, p.held[n:])]
		clear(p.held[len(p.held):cap(p.held)])
	}
}

// write emits a frame without what is cut of its text.
func (p *Patcher) write(f *frame, emit func([]byte)) {
	if f.begins {
		p.hash, p.join = holdfast.TextHasher{}, jsonscan.Joiner{}
	}
	if !f.text.Present() {
		emit(f.raw)
		return
	}
	edits := p.cutter.Cuts(f.text, f.base)
	p.cutter.Forget(f.base)
	data, lit := f.data, f.text
	if len(edits) > 0 {
		data = jsonscan.Splice(nil, f.data, edits...)
		lit.End += len(data) - len(f.data)
		emit(sse.Rewrite(nil, f.raw, data))
	} else {
		emit(f.raw)
	}
	p.buf = p.join.Append(p.buf[:0], lit.Of(data))
	p.hash.Write(string(p.buf))
}

// endText closes the text block that is open. From here on what follows it is
// held, if it can be the last text.
func (p *Patcher) endText(emit func([]byte)) {
	if !p.open {
		return
	}
	p.open = false
	if p.cutter.End() {
		p.ending = false
		p.release(emit)
		p.ending, p.last = true, p.index
	}
}

// giveUp lets everything go as it is.
func (p *Patcher) giveUp(emit func([]byte)) {
	p.cutter.End()
	p.ending, p.off = false, true
	p.release(emit)
}

// finish decides at the terminal event.
func (p *Patcher) finish(emit func([]byte)) {
	p.endText(emit)
	if p.ending && succeeded(p.stop) {
		data := append([]byte(`{"type":"content_block_delta","index":`), p.last...)
		data = append(data, `,"delta":{"type":"text_delta","text":`...)
		data = append(jsonscan.AppendQuote(data, separator+p.block), `}}`...)
		emit(sse.Append(nil, "content_block_delta", data))
		p.hash.Write(string(p.join.Flush(nil)))
		p.hash.Write(separator + p.block)
		p.patched, p.summary = true, p.hash.Sum()
	}
	p.ending = false
	p.release(emit)
}

// Terminal is the terminal event's frame; nil before it was read.
func (p *Patcher) Terminal() []byte { return p.terminal }

// Flush emits what is held when the upstream ends without a terminal event:
// the client must see the break, so nothing is added.
func (p *Patcher) Flush(emit func(raw []byte)) {
	if p.terminal == nil {
		p.giveUp(emit)
	}
}

// Patched reports whether the answer got the block; final at the terminal event.
func (p *Patcher) Patched() bool { return p.patched }

// Summary is the digest of the text that got the block, as the client receives
// it; zero when none did.
func (p *Patcher) Summary() holdfast.Digest { return p.summary }
