package anthropic

import (
	"bytes"
	"fmt"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// maxArguments bounds what is kept of the arguments of one call, in bytes.
const maxArguments = 256 << 10

// event is one frame of a stream as far as it is read. Its spans index data.
type event struct {
	data                           []byte
	kind                           string
	index, message, content, delta holdfast.Span
}

// parse reads a frame. One that is not a JSON object has no kind.
func parse(e sse.Event) event {
	ev := event{data: e.Data}
	var f [5]holdfast.Span
	if _, err := jsonscan.Fields(e.Data, jsonscan.Space(e.Data, 0), f[:], "type", "index", "message", "content_block", "delta"); err != nil {
		return ev
	}
	if ev.kind = jsonscan.Text(f[0].Of(e.Data)); ev.kind == "" {
		ev.kind = string(e.Name)
	}
	ev.index, ev.message, ev.content, ev.delta = f[1], f[2], f[3], f[4]
	return ev
}

// fields reads members of one of the objects of an event; an absent or broken
// object has none.
func (ev *event) fields(object holdfast.Span, spans []holdfast.Span, names ...string) {
	if object.Present() {
		// parse went through this value, so it is well-formed; what is no
		// object leaves the spans absent.
		_, _ = jsonscan.Fields(ev.data, object.Start, spans, names...)
	}
}

// stop is the stop reason of a message_delta; "" when it has none.
func (ev *event) stop() string {
	var f [1]holdfast.Span
	ev.fields(ev.delta, f[:], "stop_reason")
	return jsonscan.Text(f[0].Of(ev.data))
}

// Stream reads a streamed answer, frame by frame. What it keeps does not grow
// with the text, unless it is whole. It is not for concurrent use.
type Stream struct {
	keep     func(tool string) bool
	most     int // bytes of the arguments of one call that are kept
	whole    bool
	room     int // what is left of maxWhole
	id, stop string
	parts    []*part
	failed   bool
	terminal bool
	buf      []byte
}

// part is one content block of the answer.
type part struct {
	index string // as sent
	kind  string
	call  holdfast.ToolCall
	// While the block is open:
	open bool
	hash holdfast.TextHasher
	join jsonscan.Joiner
	kept bool   // arguments are wanted, and not too long so far
	args []byte // as they arrive
	// Once it is closed:
	message holdfast.AssistantMessage
	// Of a whole answer:
	words     []byte // text or thinking
	thinking  []byte // as it stood in the literals
	signature []byte
	redacted  []byte // the block
}

// NewStream returns a reader of one answer. keep tells of which tools the
// arguments are kept, up to 256 KiB each; nil keeps none. Longer arguments are
// dropped as a whole.
func NewStream(keep func(tool string) bool) *Stream {
	return &Stream{keep: keep, most: maxArguments}
}

// maxWhole bounds what is kept of one answer's texts and reasoning, in bytes.
const maxWhole = 8 << 20

// NewWhole returns a reader that also keeps texts and reasoning, up to 8 MiB
// together, and the arguments of all calls, up to 8 MiB each. Of a longer answer it
// keeps what NewStream keeps.
func NewWhole() *Stream {
	return &Stream{keep: func(string) bool { return true }, most: maxWhole, whole: true, room: maxWhole}
}

// holds reports whether n more bytes of a whole answer are kept.
func (s *Stream) holds(n int) bool {
	if s.room -= n; s.room < 0 {
		s.whole = false
	}
	return s.whole
}

// Event takes the next frame.
func (s *Stream) Event(e sse.Event) {
	ev := parse(e)
	switch ev.kind {
	case "message_start":
		var f [1]holdfast.Span
		ev.fields(ev.message, f[:], "id")
		s.id = jsonscan.Text(f[0].Of(ev.data))
	case "content_block_start":
		s.start(&ev)
	case "content_block_delta":
		if p := s.part(&ev); p != nil {
			s.delta(p, &ev)
		}
	case "content_block_stop":
		if p := s.part(&ev); p != nil {
			p.close()
		}
	case "message_delta":
		if stop := ev.stop(); stop != "" {
			s.stop = stop
		}
	case "message_stop":
		s.terminal = true
	case "error":
		s.failed = true
	}
}

func (s *Stream) start(ev *event) {
	var f [6]holdfast.Span
	ev.fields(ev.content, f[:], "type", "text", "id", "name", "input", "content")
	p := &part{open: true, index: string(ev.index.Of(ev.data)), kind: jsonscan.Text(f[0].Of(ev.data))}
	switch p.kind {
	case "text":
		s.text(p, f[1].Of(ev.data))
	case "tool_use":
		p.call.ID, p.call.Name = jsonscan.Text(f[2].Of(ev.data)), jsonscan.Text(f[3].Of(ev.data))
		p.kept = s.keep != nil && s.keep(p.call.Name)
		if input := f[4].Of(ev.data); p.kept && len(input) <= s.most {
			// What counts unless deltas follow.
			p.call.Arguments = bytes.Clone(input)
		}
	case "compaction":
		s.summary(p, f[5].Of(ev.data))
	case "thinking":
		s.think(p, ev, ev.content)
	case "redacted_thinking":
		if raw := ev.content.Of(ev.data); s.holds(len(raw)) {
			p.redacted = bytes.Clone(raw)
		}
	}
	s.parts = append(s.parts, p)
}

// part is the open block that an event belongs to; nil when there is none.
func (s *Stream) part(ev *event) *part {
	for i := len(s.parts) - 1; i >= 0; i-- {
		if p := s.parts[i]; p.open && p.index == string(ev.index.Of(ev.data)) {
			return p
		}
	}
	return nil
}

func (s *Stream) delta(p *part, ev *event) {
	if p.kind == "thinking" {
		s.think(p, ev, ev.delta)
		return
	}
	var f [3]holdfast.Span
	ev.fields(ev.delta, f[:], "text", "partial_json", "content")
	switch p.kind {
	case "compaction":
		s.summary(p, f[2].Of(ev.data))
	case "text":
		s.text(p, f[0].Of(ev.data))
	case "tool_use":
		if !p.kept {
			return
		}
		p.args = p.join.Append(p.args, f[1].Of(ev.data))
		if len(p.args) > s.most {
			p.kept, p.args, p.call.Arguments = false, nil, nil
		}
	}
}

func (s *Stream) text(p *part, lit []byte) {
	s.buf = p.join.Append(s.buf[:0], lit)
	p.hash.Write(string(s.buf))
	if s.whole && s.holds(len(s.buf)) {
		p.words = append(p.words, s.buf...)
	}
}

// summary takes a piece of what the provider summed up; null is none.
func (s *Stream) summary(p *part, lit []byte) {
	s.buf = p.join.Append(s.buf[:0], lit)
	p.hash.Write(string(s.buf))
}

// think takes a piece of a thinking block out of an object of an event.
func (s *Stream) think(p *part, ev *event, object holdfast.Span) {
	if !s.whole {
		return
	}
	var f [2]holdfast.Span
	ev.fields(object, f[:], "thinking", "signature")
	if lit := f[0].Of(ev.data); len(lit) > 0 && lit[0] == '"' && s.holds(2*len(lit)) {
		p.words = p.join.Append(p.words, lit)
		p.thinking = append(p.thinking, lit[1:len(lit)-1]...)
	}
	if lit := f[1].Of(ev.data); len(lit) > 0 && lit[0] == '"' && s.holds(len(lit)) {
		p.signature = append(p.signature, lit[1:len(lit)-1]...)
	}
}

// reasoning is a thinking block as the message holds it: the deltas of a member
// are pieces of one string.
func (p *part) reasoning() holdfast.Reasoning {
	if p.kind == "redacted_thinking" {
		return holdfast.Reasoning{Opaque: p.redacted}
	}
	return holdfast.Reasoning{
		Text:   string(p.words),
		Opaque: fmt.Appendf(nil, `{"type":"thinking","thinking":"%s","signature":"%s"}`, p.thinking, p.signature),
	}
}

func (p *part) close() {
	last := p.join.Flush(nil)
	p.hash.Write(string(last))
	if len(p.words) > 0 {
		p.words = append(p.words, last...)
	}
	if len(p.args) > 0 {
		p.call.Arguments = p.args
	}
	p.message = p.textSoFar()
	p.open, p.hash, p.args = false, holdfast.TextHasher{}, nil
}

func (p *part) textSoFar() holdfast.AssistantMessage {
	return holdfast.AssistantMessage{Digest: p.hash.Sum(), Len: p.hash.Len()}
}

// Answer is what was read so far; it may be asked for at any time. Texts are
// empty unless the reader is whole, their digests are set. It is Complete once message_stop was read and
// there was a stop reason other than "refusal" and no error. The arguments of a
// call that was broken off are nil.
func (s *Stream) Answer() holdfast.Answer {
	a := holdfast.Answer{ID: s.id, Stop: s.stop, Complete: s.terminal && !s.failed && succeeded(s.stop)}
	for _, p := range s.parts {
		switch p.kind {
		case "text":
			m := p.message
			if p.open {
				m = p.textSoFar()
			}
			if s.whole {
				m.Text = string(p.words)
			}
			if m.Digest != holdfast.TextDigest("") {
				a.Events = append(a.Events, m)
			}
		case "thinking", "redacted_thinking":
			var r holdfast.Reasoning
			if s.whole {
				r = p.reasoning()
			}
			a.Events = append(a.Events, r)
		case "compaction":
			m := p.message
			if p.open {
				m = p.textSoFar()
			}
			a.Events = append(a.Events, compactionItem(m.Digest))
		case "tool_use":
			call := p.call
			if p.open {
				call.Arguments = nil
			}
			a.Events = append(a.Events, call)
		default:
			a.Events = append(a.Events, holdfast.Unknown{Type: p.kind})
		}
	}
	return a
}

// Terminal reports whether message_stop was read.
func (s *Stream) Terminal() bool { return s.terminal }
