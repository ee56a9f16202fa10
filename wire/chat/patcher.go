package chat

import (
	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
	"github.com/holdfast-dev/holdfast/wire/internal/hold"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// Patcher patches a streamed answer as Codec.PatchBody patches one that was not
// streamed: the block arrives in a chunk of its own before the chunk with the
// finish reason, or at the end of the text in that chunk when it has some. It
// holds back no more than it must: the start of what may be an older block, with
// the white space before it; and all from the finish reason on, until the caller
// is ready, or until more text shows that the reason was not the last. All that
// it does not change it emits as it came.
//
// A failed answer, one that calls a tool or refuses, one with more than one
// choice and one without text get no block; nor does one where more than 4 MiB
// would be held back. What was cut of an older block by then stays cut, and the
// finish reason of such an answer does not wait. It is not for concurrent use.
type Patcher struct {
	block    func() string
	queue    *hold.Queue
	stop     string
	span     [1]holdfast.Span
	over     bool // the end was read
	terminal []byte
	patched  bool
	summary  holdfast.Digest
}

// NewPatcher returns a Patcher for one answer. block is called at most once, at the
// end of an answer that may get it; what it returns is valid UTF-8, and "" for none.
// Where block is nil nothing is changed, and what a client may act on is held all the
// same.
func NewPatcher(block func() string) *Patcher {
	return &Patcher{block: block, queue: hold.New()}
}

// Event takes the next frame of the upstream and emits what can go to the
// client, in order. Emitted bytes are valid during the call of emit only. At the
// terminal event ([DONE]) it returns true and emits neither that event nor what
// is held from the finish reason on: the caller emits Terminal when it has
// committed what the client will rely on, before it passes on any further event.
func (p *Patcher) Event(e sse.Event, emit func(raw []byte)) (terminal bool) {
	if p.over {
		emit(e.Raw)
		return false
	}
	c := parse(e)
	if c.done {
		p.finish(emit)
		p.over, p.terminal = true, append(p.terminal, e.Raw...)
		return true
	}
	f := hold.Frame{Raw: e.Raw, Data: e.Data}
	if !p.queue.Off() {
		p.look(&c, &f, emit)
	}
	if c.finish != "" || c.message.says(fieldContent) {
		p.stop = c.finish
	}
	if c.finish != "" {
		p.queue.Wait()
	}
	p.queue.Push(f, emit)
	return false
}

// look finds out what a frame says of the text.
func (p *Patcher) look(c *chunk, f *hold.Frame, emit func([]byte)) {
	m := &c.message
	content := m.of(fieldContent)
	plain := len(content) == 0 || content[0] == '"' || isNull(content)
	if c.failed || c.others || !plain || m.callsTool() || m.says(fieldRefusal) {
		p.queue.GiveUp(emit)
		return
	}
	if !m.says(fieldContent) {
		return
	}
	p.queue.Go(emit)
	if p.block != nil {
		p.span[0] = m.fields[fieldContent]
		f.Texts = p.span[:]
	}
}

// finish decides at the end of the answer.
func (p *Patcher) finish(emit func([]byte)) {
	tail := ""
	if p.block != nil && !p.queue.Off() && succeeded(p.stop) && !callsTool(p.stop) {
		if block := p.block(); block != "" {
			tail = separator + block
		}
	}
	extra := func(like []byte) []byte { return extra(like, tail) }
	p.terminal, p.summary, p.patched = p.queue.Finish(tail, extra, emit)
}

// extra is the chunk that brings the block. What all chunks of an answer have in
// common it takes from another one.
func extra(like []byte, tail string) []byte {
	data := hold.Envelope([]byte(`{`), like, "id", "object", "created", "model", "system_fingerprint", "service_tier", "provider")
	data = append(data, `"choices":[{"index":0,"delta":{"content":`...)
	data = append(jsonscan.AppendQuote(data, tail), `},"finish_reason":null}]}`...)
	return sse.Append(nil, "", data)
}

// End tells that the upstream ended without an error. It returns true when the
// answer gave a finish reason and no [DONE] followed: some servers end so, and
// the answer is whole. Then all is as at the terminal event: Terminal is what is
// held, and may be empty. Otherwise it does nothing, and Flush is due.
func (p *Patcher) End(emit func(raw []byte)) (terminal bool) {
	if p.over || p.stop == "" {
		return false
	}
	p.finish(emit)
	p.over = true
	return true
}

// Terminal is what the client must not get before the caller is ready: the
// frames from the finish reason on, with [DONE]; nil before the end.
func (p *Patcher) Terminal() []byte { return p.terminal }

// Flush emits what is held when the upstream breaks off: the client must see
// the break, so nothing is added.
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
