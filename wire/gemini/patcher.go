package gemini

import (
	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
	"github.com/holdfast-dev/holdfast/wire/internal/hold"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// Patcher patches a streamed answer as Codec.PatchBody patches one that was not
// streamed: the block stands at the end of the text in the chunk with the finish
// reason, or arrives in a chunk of its own before that when it has no text. It
// holds back no more than it must: the start of what may be an older block, with
// the white space before it; and the chunk with the finish reason, until the
// caller is ready. All that it does not change it emits as it came.
//
// A failed answer, one that holds anything but text and thoughts, one with more
// than one candidate and one without text get no block; nor does one where more
// than 4 MiB would be held back. What was cut of an older block by then stays
// cut. It is not for concurrent use.
type Patcher struct {
	block    func() string
	queue    *hold.Queue
	begun    bool // a part was read
	texts    []holdfast.Span
	over     bool // the terminal event was read
	terminal []byte
	patched  bool
	summary  holdfast.Digest
}

// NewPatcher returns a Patcher for one answer. block is called at most once, at the
// terminal event of an answer that may get it; what it returns is valid UTF-8, and ""
// for none. Where block is nil nothing is changed, and only the terminal event is held
// back.
func NewPatcher(block func() string) *Patcher {
	return &Patcher{block: block, queue: hold.New()}
}

// Event takes the next frame of the upstream and emits what can go to the
// client, in order. Emitted bytes are valid during the call of emit only. At
// the terminal event (the chunk with the finish reason, or that tells that the
// prompt was blocked) it returns true and does not emit that event: the caller
// emits Terminal when it has committed what the client will rely on, before it
// passes on any further event.
func (p *Patcher) Event(e sse.Event, emit func(raw []byte)) (terminal bool) {
	if p.over {
		emit(e.Raw)
		return false
	}
	c := parse(e)
	p.over = c.ends(p.begun)
	for _, part := range c.parts {
		p.begun = p.begun || part.counts()
	}
	if !c.plain() {
		p.queue.GiveUp(emit)
	}
	f := hold.Frame{Raw: e.Raw, Data: e.Data}
	if p.block != nil {
		p.texts = c.appendTexts(p.texts[:0])
		f.Texts = p.texts
	}
	if !p.over {
		p.queue.Push(f, emit)
		return false
	}
	p.finish(f, c.finish, emit)
	return true
}

// finish decides at the terminal event.
func (p *Patcher) finish(f hold.Frame, reason string, emit func([]byte)) {
	if p.queue.Off() {
		p.terminal = append(p.terminal, f.Raw...)
		return
	}
	tail := ""
	if p.block != nil && succeeded(reason) {
		if block := p.block(); block != "" {
			tail = separator + block
		}
	}
	p.queue.Wait()
	p.queue.Push(f, emit)
	extra := func(like []byte) []byte { return extra(like, tail) }
	p.terminal, p.summary, p.patched = p.queue.Finish(tail, extra, emit)
}

// extra is the chunk that brings the block. What all chunks of an answer have in
// common it takes from another one.
func extra(like []byte, tail string) []byte {
	data := append([]byte(`{"candidates":[{"content":{"parts":[{"text":`), jsonscan.AppendQuote(nil, tail)...)
	data = hold.Envelope(append(data, `}],"role":"model"},"index":0}],`...), like, "modelVersion", "createTime", "responseId")
	data[len(data)-1] = '}' // in place of the last comma
	return sse.Append(nil, "", data)
}

// Terminal is the terminal event's frame as the client gets it; nil before it
// was read.
func (p *Patcher) Terminal() []byte { return p.terminal }

// Flush emits what is held when the upstream ends without a terminal event:
// the client must see the break, so nothing is added.
func (p *Patcher) Flush(emit func(raw []byte)) {
	if !p.over {
		p.queue.GiveUp(emit)
	}
}

// Patched reports whether the answer got the block; final at the terminal event.
func (p *Patcher) Patched() bool { return p.patched }

// Summary is the digest of the text that got the block, as the client receives
// it; zero when none did.
func (p *Patcher) Summary() holdfast.Digest { return p.summary }
