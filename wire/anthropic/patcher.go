package anthropic

import (
	"bytes"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
	"github.com/holdfast-dev/holdfast/wire/internal/hold"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

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
	block func() string
	queue *hold.Queue
	stop  string
	open  bool   // a text block is open
	index string // its index, as sent
	last  string // the index of the text behind which the queue waits
	span  [1]holdfast.Span

	terminal []byte
	patched  bool
	summary  holdfast.Digest
}

// NewPatcher returns a Patcher for one answer. block is called at most once, at the
// terminal event of an answer that may get it; what it returns is valid UTF-8, and ""
// for none. Where block is nil nothing is changed, and only the terminal event is held
// back.
func NewPatcher(block func() string) *Patcher {
	p := &Patcher{block: block, queue: hold.New()}
	if block == nil {
		p.queue.GiveUp(nil) // it holds nothing yet
	}
	return p
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
	if p.queue.Off() {
		emit(e.Raw)
		return false
	}
	f, text := hold.Frame{Raw: e.Raw, Data: e.Data}, &p.span[0]
	*text = holdfast.Span{}
	switch ev.kind {
	case "content_block_start":
		p.endText(emit)
		var s [2]holdfast.Span
		ev.fields(ev.content, s[:], "type", "text")
		switch jsonscan.Text(s[0].Of(ev.data)) {
		case "text":
			p.open, p.index = true, string(ev.index.Of(ev.data))
			f.Begins, *text = true, s[1]
		case "tool_use":
			p.queue.GiveUp(emit)
		}
	case "content_block_delta":
		var s [2]holdfast.Span
		ev.fields(ev.delta, s[:], "type", "text")
		if string(s[0].Of(ev.data)) != `"text_delta"` {
			break
		}
		if p.open && p.index == string(ev.index.Of(ev.data)) {
			*text = s[1]
		} else {
			// Texts that run into one another have no end to put a block at.
			p.queue.GiveUp(emit)
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
		p.queue.GiveUp(emit)
	}
	f.Texts = p.span[:]
	p.queue.Read(&f)
	if p.queue.Waiting() && p.queue.Visible() {
		// Another text follows: the one that ended was not the last.
		p.queue.Go(emit)
	}
	p.queue.Pass(f, emit)
	return false
}

// endText closes the text block that is open. From here on what follows it is
// held, if it can be the last text.
func (p *Patcher) endText(emit func([]byte)) {
	if !p.open {
		return
	}
	p.open = false
	if p.queue.End() {
		p.queue.Go(emit)
		p.queue.Wait()
		p.last = p.index
	}
}

// finish decides at the terminal event.
func (p *Patcher) finish(emit func([]byte)) {
	p.endText(emit)
	if p.queue.Waiting() && succeeded(p.stop) {
		if block := p.block(); block != "" {
			data := append([]byte(`{"type":"content_block_delta","index":`), p.last...)
			data = append(data, `,"delta":{"type":"text_delta","text":`...)
			data = append(jsonscan.AppendQuote(data, separator+block), `}}`...)
			emit(sse.Append(nil, "content_block_delta", data))
			p.patched, p.summary = true, p.queue.Sum(separator+block)
		}
	}
	p.queue.Go(emit)
}

// Terminal is the terminal event's frame; nil before it was read.
func (p *Patcher) Terminal() []byte { return p.terminal }

// Flush emits what is held when the upstream ends without a terminal event:
// the client must see the break, so nothing is added.
func (p *Patcher) Flush(emit func(raw []byte)) {
	if p.terminal == nil {
		p.queue.GiveUp(emit)
	}
}

// Patched reports whether the answer got the block; final at the terminal event.
func (p *Patcher) Patched() bool { return p.patched }

// Summary is the digest of the text that got the block, as the client receives
// it; zero when none did.
func (p *Patcher) Summary() holdfast.Digest { return p.summary }
