package chat

import (
	"bytes"
	"fmt"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
	"github.com/holdfast-dev/holdfast/wire/internal/callid"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// maxArguments bounds what is kept of the arguments of one call, in bytes.
const maxArguments = 256 << 10

// chunk is one frame of a stream, or a whole answer, as far as it is read.
type chunk struct {
	id      holdfast.Span
	done    bool // it is [DONE]
	failed  bool // it tells of an error
	others  bool // it holds choices beside the first
	message message
	finish  string
}

// parse reads a frame. One that is not a JSON object says nothing.
func parse(e sse.Event) chunk {
	if string(bytes.TrimSpace(e.Data)) == "[DONE]" {
		return chunk{done: true}
	}
	c, _, err := chunkAt(e.Data, jsonscan.Space(e.Data, 0), "delta")
	if err != nil {
		return chunk{}
	}
	return c
}

// chunkAt reads the object at in[at]. kind names the member of a choice that
// holds its message.
func chunkAt(in []byte, at int, kind string) (c chunk, end int, err error) {
	var f [3]holdfast.Span
	if end, err = jsonscan.Fields(in, at, f[:], "id", "choices", "error"); err != nil {
		return c, 0, err
	}
	c.id = f[0]
	c.failed = f[2].Present() && !isNull(f[2].Of(in))
	if !f[1].Present() || in[f[1].Start] != '[' {
		return c, end, nil
	}
	first := true
	_, err = jsonscan.Array(in, f[1].Start, func(at int) (int, error) {
		var s [3]holdfast.Span
		// What is no object leaves the spans absent.
		_, _ = jsonscan.Fields(in, at, s[:], "index", kind, "finish_reason")
		if index := string(s[0].Of(in)); first && (index == "" || index == "0") {
			if s[1].Present() {
				c.message, _ = messageAt(in, s[1].Start)
			}
			c.finish = jsonscan.Text(s[2].Of(in))
		} else {
			c.others = true
		}
		first = false
		return jsonscan.Skip(in, at)
	})
	return c, end, err
}

// Stream reads a streamed answer, frame by frame. What it keeps does not grow
// with the text, unless it is whole. It is not for concurrent use.
type Stream struct {
	keep             func(tool string) bool
	most             int // bytes of the arguments of one call that are kept
	whole            bool
	room             int // what is left of maxWhole
	thought          text
	details          []byte // elements of reasoning_details, with a comma before each
	id, stop         string
	reasoned         bool
	text, refusal    text
	calls            []*call
	failed, terminal bool
	buf              []byte
}

// text is a text that arrives in pieces.
type text struct {
	hash  holdfast.TextHasher
	join  jsonscan.Joiner
	words []byte // of a whole answer
}

// call is one call of the answer.
type call struct {
	index, id, name string
	custom, legacy  bool
	kept            bool // arguments are wanted, and not too long so far
	args            []byte
	join            jsonscan.Joiner
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

// think keeps the reasoning of a delta. Of reasoning_details each delta has a list,
// and all elements are kept as they came.
func (s *Stream) think(m *message) {
	s.write(&s.thought, m.thought())
	details := m.details()
	for _, span := range jsonscan.Elements(details, 0) {
		if raw := span.Of(details); s.holds(len(raw) + 1) {
			s.details = append(append(s.details, ','), raw...)
		}
	}
}

// reasoning is what was thought; ok is false when nothing was.
func (s *Stream) reasoning() (r holdfast.Reasoning, ok bool) {
	if !s.whole {
		return r, s.reasoned
	}
	r.Text = string(s.thought.words)
	if len(s.details) > 0 {
		r.Opaque = fmt.Appendf(nil, "[%s]", s.details[1:])
	}
	return r, r.Text != "" || r.Opaque != nil
}

// Event takes the next frame.
func (s *Stream) Event(e sse.Event) {
	c := parse(e)
	s.terminal = s.terminal || c.done
	s.failed = s.failed || c.failed
	if s.id == "" {
		s.id = jsonscan.Text(c.id.Of(e.Data))
	}
	m := &c.message
	if c.finish != "" || m.says(fieldContent) {
		// Text behind a finish reason shows that it was not the last.
		s.stop = c.finish
	}
	s.reasoned = s.reasoned || m.reasoned()
	if s.whole {
		s.think(m)
	}
	if m.says(fieldContent) {
		s.write(&s.text, m.of(fieldContent))
	} else {
		for _, p := range parts(m.in, m.fields[fieldContent]) {
			s.write(&s.text, p.text.Of(m.in))
		}
	}
	s.write(&s.refusal, m.of(fieldRefusal))
	for _, c := range m.calls() {
		s.piece(s.call(m, c), m, c)
	}
	if c, ok := m.legacy(); ok {
		s.piece(s.legacy(), m, c)
	}
}

func (s *Stream) write(t *text, lit []byte) {
	s.buf = t.join.Append(s.buf[:0], lit)
	t.hash.Write(string(s.buf))
	if s.whole && s.holds(len(s.buf)) {
		t.words = append(t.words, s.buf...)
	}
}

// call is the call that a piece belongs to; it begins one that is new. Servers
// differ in how they tell two calls apart: some send no index, some the same one
// for all. Another id is always another call.
func (s *Stream) call(m *message, c toolCall) *call {
	index, id := string(c.index.Of(m.in)), jsonscan.Text(c.id.Of(m.in))
	for i := len(s.calls) - 1; i >= 0; i-- {
		known := s.calls[i]
		if known.legacy || index != "" && index != known.index {
			continue
		}
		if id == "" || known.id == "" || id == known.id {
			return known
		}
		if index == "" {
			break
		}
	}
	begun := &call{index: index, custom: c.custom}
	s.calls = append(s.calls, begun)
	return begun
}

// legacy is the one function_call of the answer.
func (s *Stream) legacy() *call {
	for _, known := range s.calls {
		if known.legacy {
			return known
		}
	}
	begun := &call{legacy: true}
	s.calls = append(s.calls, begun)
	return begun
}

// piece adds what a delta says of a call. Arguments are kept when somebody asks
// for them, or when the call's id must be made of them.
func (s *Stream) piece(to *call, m *message, c toolCall) {
	if to.id == "" {
		to.id = jsonscan.Text(c.id.Of(m.in))
	}
	if to.name == "" {
		if to.name = jsonscan.Text(c.name.Of(m.in)); to.name != "" {
			to.kept = s.keep != nil && s.keep(to.name) || to.id == ""
		}
	}
	if !to.kept {
		return
	}
	switch lit := c.arguments.Of(m.in); {
	case len(lit) > 0 && lit[0] == '"':
		to.args = to.join.Append(to.args, lit)
	case !isNull(lit):
		to.args = append(to.args, lit...)
	}
	if len(to.args) > s.most {
		to.kept, to.args = false, nil
	}
}

// event is the call as far as it was read. whole tells that the answer came to
// its end: before, the arguments may be broken off.
func (s *Stream) event(c *call, whole bool) holdfast.ToolCall {
	ev := holdfast.ToolCall{ID: c.id, Name: c.name}
	args := bytes.Clone(c.args)
	if c.custom && c.kept {
		args = jsonscan.AppendQuote(nil, string(c.args))
	}
	if ev.ID == "" {
		ev.ID = callid.Of(c.name, args)
	}
	if whole && c.kept && s.keep != nil && s.keep(c.name) {
		ev.Arguments = args
	}
	return ev
}

// Answer is what was read so far; it may be asked for at any time. Texts are
// empty unless the reader is whole, their digests are set. It is Complete once a
// finish reason was read that tells of success, unless an error came: a stream
// that ends behind it without [DONE] is whole. Calls have arguments from the finish reason on.
func (s *Stream) Answer() holdfast.Answer {
	a := holdfast.Answer{ID: s.id, Stop: s.stop, Complete: !s.failed && succeeded(s.stop)}
	if r, ok := s.reasoning(); ok {
		a.Events = append(a.Events, r)
	}
	for _, t := range []*text{&s.text, &s.refusal} {
		if d := t.hash.Sum(); d != holdfast.TextDigest("") {
			m := holdfast.AssistantMessage{Digest: d, Len: t.hash.Len()}
			if s.whole {
				m.Text = string(t.words)
			}
			a.Events = append(a.Events, m)
		}
	}
	for _, c := range s.calls {
		a.Events = append(a.Events, s.event(c, s.stop != ""))
	}
	return a
}

// Terminal reports whether [DONE] was read.
func (s *Stream) Terminal() bool { return s.terminal }
