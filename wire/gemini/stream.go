package gemini

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// maxArguments bounds what is kept of the arguments of one call, in bytes.
const maxArguments = 256 << 10

// chunk is one chunk of an answer, or a whole answer, as far as it is read. Its
// spans index in.
type chunk struct {
	in        []byte
	id        holdfast.Span
	candidate holdfast.Span
	content   holdfast.Span // of the candidate
	list      holdfast.Span // the parts of the content, as a value
	parts     []part
	finish    string
	blocked   string // why the prompt was
	failed    bool   // it tells of an error
	others    bool   // it holds candidates beside the first
}

// parse reads a frame. One that is not a JSON object says nothing.
func parse(e sse.Event) chunk {
	span := whole(e.Data)
	if !span.Present() {
		return chunk{in: e.Data}
	}
	return chunkAt(e.Data, span)
}

// chunkAt reads the chunk at span, which is of a well-formed value.
func chunkAt(in []byte, span holdfast.Span) chunk {
	c := chunk{in: in}
	var f [4]holdfast.Span
	fields(in, span, f[:], "responseId", "candidates", "promptFeedback", "error")
	c.id, c.failed = f[0], f[3].Present()
	var s [1]holdfast.Span
	fields(in, f[2], s[:], "blockReason")
	c.blocked = jsonscan.Text(s[0].Of(in))
	for i, at := range elements(in, f[1]) {
		var s [3]holdfast.Span
		fields(in, at, s[:], "index", "content", "finishReason")
		if index := string(s[0].Of(in)); i > 0 || index != "" && index != "0" {
			c.others = true
			continue
		}
		c.candidate, c.content = at, s[1]
		if c.finish = jsonscan.Text(s[2].Of(in)); c.finish == "FINISH_REASON_UNSPECIFIED" {
			c.finish = ""
		}
		var l [1]holdfast.Span
		fields(in, c.content, l[:], "parts")
		c.list = l[0]
		c.parts = parts(in, c.list)
	}
	return c
}

// ends reports whether the chunk is the last one. begun tells that a part was
// read before it.
func (c *chunk) ends(begun bool) bool {
	return c.blocked != "" || c.finish != "" && (c.finish != "STOP" || begun || slices.ContainsFunc(c.parts, part.counts))
}

// plain reports whether the chunk holds nothing but text and thoughts of the
// first candidate.
func (c *chunk) plain() bool {
	other := func(p part) bool { return p.counts() && p.kind != "text" && p.kind != "thought" }
	return !c.failed && !c.others && c.blocked == "" && !slices.ContainsFunc(c.parts, other)
}

// appendTexts appends the literals of the chunk's text.
func (c *chunk) appendTexts(texts []holdfast.Span) []holdfast.Span {
	for _, p := range c.parts {
		if p.kind == "text" && c.in[p.value.Start] == '"' {
			texts = append(texts, p.value)
		}
	}
	return texts
}

func succeeded(finish string) bool { return finish == "STOP" || finish == "MAX_TOKENS" }

// Stream reads a streamed answer, frame by frame. What it keeps does not grow
// with the text, unless it is whole. It is not for concurrent use.
type Stream struct {
	log              log
	id, stop         string
	blocked          bool
	failed, terminal bool
}

// NewStream returns a reader of one answer. keep tells of which tools the
// arguments are kept, up to 256 KiB each; nil keeps none. Longer arguments are
// dropped as a whole.
func NewStream(keep func(tool string) bool) *Stream {
	return &Stream{log: log{keep: keep, most: maxArguments}}
}

// maxWhole bounds what is kept of one answer's texts and reasoning, in bytes.
const maxWhole = 8 << 20

// NewWhole returns a reader that also keeps texts and reasoning, up to 8 MiB
// together, and the arguments of all calls, up to 8 MiB each. Of a longer answer it
// keeps what NewStream keeps.
func NewWhole() *Stream {
	room := maxWhole
	return &Stream{log: log{keep: func(string) bool { return true }, most: maxWhole, texts: true, thoughts: true, room: &room}}
}

// Event takes the next frame.
func (s *Stream) Event(e sse.Event) {
	c := parse(e)
	s.take(&c)
}

func (s *Stream) take(c *chunk) {
	if s.id == "" {
		s.id = jsonscan.Text(c.id.Of(c.in))
	}
	s.failed = s.failed || c.failed
	ends := c.ends(s.log.begun)
	for _, p := range c.parts {
		s.log.take(c.in, p)
	}
	if ends {
		s.terminal = true
		s.log.read()
		if s.stop = c.finish; c.blocked != "" {
			s.blocked, s.stop = true, c.blocked
		}
	}
}

// Answer is what was read so far; it may be asked for at any time. Texts are
// empty unless the reader is whole, their digests are set. It is Complete once the chunk with the finish
// reason was read, when that is STOP or MAX_TOKENS, and neither an error nor a
// blocked prompt was told of. Stop is the finish reason, or the reason why the
// prompt was blocked.
func (s *Stream) Answer() holdfast.Answer {
	return holdfast.Answer{
		ID:       s.id,
		Events:   s.log.sofar(slices.Clone(s.log.events)),
		Complete: s.terminal && !s.failed && !s.blocked && succeeded(s.stop),
		Stop:     s.stop,
	}
}

// Terminal reports whether the chunk with the finish reason was read.
func (s *Stream) Terminal() bool { return s.terminal }
