package responses

import (
	"bytes"
	"strconv"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// maxArguments bounds what is kept of the arguments of one call, in bytes.
const maxArguments = 256 << 10

// The members of an event that are read.
const (
	eventType = iota
	eventResponse
	eventItem
	eventOutput // output_index
	eventPart   // content_index
	eventItemID
	eventDelta
	eventText
	eventPartValue
	eventSequence
	eventLogprobs
	eventCount
)

// event is one frame of a stream as far as it is read. Its spans index data.
type event struct {
	data   []byte
	kind   string
	fields [eventCount]holdfast.Span
}

func (ev *event) of(field int) []byte { return ev.fields[field].Of(ev.data) }

func (ev *event) text(field int) string { return jsonscan.Text(ev.of(field)) }

// parse reads a frame. One that is not a JSON object has no kind.
func parse(e sse.Event) event {
	ev := event{data: e.Data}
	if _, err := jsonscan.Fields(e.Data, jsonscan.Space(e.Data, 0), ev.fields[:], "type", "response", "item", "output_index", "content_index", "item_id", "delta", "text", "part", "sequence_number", "logprobs"); err != nil {
		return ev
	}
	if ev.kind = ev.text(eventType); ev.kind == "" {
		ev.kind = string(e.Name)
	}
	return ev
}

// item reads the item that the event carries.
func (ev *event) item() item {
	span := ev.fields[eventItem]
	if !span.Present() {
		return item{in: ev.data}
	}
	// What is no object is an item without a type.
	it, _ := itemAt(ev.data, span.Start)
	return it
}

// response reads the response that the event carries.
func (ev *event) response(whole bool) (answer holdfast.Answer) {
	if span := ev.fields[eventResponse]; span.Present() {
		// What is no object is an empty answer.
		answer, _, _ = responseAt(ev.data, span.Start, whole)
	}
	return answer
}

// key is the place of a text in the answer.
type key struct{ item, part int }

func (k key) after(other key) bool {
	return k.item > other.item || k.item == other.item && k.part > other.part
}

// part is the place of the text in its item, which is the first where the event tells
// none; ok is false when what it tells is none.
func (ev *event) part() (n int, ok bool) {
	if !ev.fields[eventPart].Present() {
		return 0, true
	}
	n, err := strconv.Atoi(string(ev.of(eventPart)))
	return n, err == nil
}

// Stream reads a streamed answer, frame by frame. The items that the upstream
// reports as done are what counts; deltas fill in for one that never was, and
// the final response for a stream without items. What it keeps does not grow
// with the text, unless it is whole. It is not for concurrent use.
type Stream struct {
	keep     func(tool string) bool
	most     int // bytes of the arguments of one call that are kept
	whole    bool
	room     int // what is left of maxWhole
	id, stop string
	places   places
	entries  []*entry
	failed   bool
	ok       bool // response.completed was read
	terminal bool
	buf      []byte
}

// entry is one item of the answer.
type entry struct {
	place int
	done  bool
	// events are final once done; before, they are what the item began as.
	events []holdfast.Event
	kind   string
	texts  []*text // of a message
	// Of a call:
	call holdfast.ToolCall
	kept bool // arguments are wanted, and not too long so far
	args []byte
	join jsonscan.Joiner
}

// text is one text of a message that is not done.
type text struct {
	part  string // content_index as sent
	hash  holdfast.TextHasher
	join  jsonscan.Joiner
	words []byte // of a whole answer
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
	case "response.created":
		s.id = ev.response(false).ID
	case "response.output_item.added":
		s.added(&ev)
	case "response.output_item.done":
		it := ev.item()
		entry := s.entry(&ev)
		for _, t := range entry.texts {
			s.room += len(t.words)
		}
		*entry = s.done(it.events(reading{whole: s.whole}), entry.place)
	case "response.output_text.delta", "response.refusal.delta":
		s.text(&ev, ev.of(eventDelta))
	case "response.output_text.done":
		if t := s.textOf(&ev); t.hash.Len() == 0 {
			s.text(&ev, ev.of(eventText))
		}
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		s.arguments(s.entry(&ev), ev.of(eventDelta))
	case "response.completed", "response.failed", "response.incomplete":
		s.finish(&ev)
	case "error":
		s.failed, s.terminal = true, true
	}
}

// entry is the item that an event belongs to; it begins one that is new.
func (s *Stream) entry(ev *event) *entry {
	place, _ := s.places.of(ev)
	for i := len(s.entries) - 1; i >= 0; i-- {
		if s.entries[i].place == place {
			return s.entries[i]
		}
	}
	e := &entry{place: place, kind: "message"}
	s.entries = append(s.entries, e)
	return e
}

func (s *Stream) added(ev *event) {
	it := ev.item()
	e := s.entry(ev)
	e.kind = it.kind
	if it.callsTool() {
		e.call = it.call()
		e.call.Arguments = nil
		e.kept = s.keep != nil && s.keep(e.call.Name)
	} else if it.kind != "message" {
		e.events = it.events(reading{whole: s.whole})
	}
}

// done makes the entry of an item that is done, without what a stream does not
// keep.
func (s *Stream) done(events []holdfast.Event, place int) entry {
	for i, e := range events {
		switch e := e.(type) {
		case holdfast.AssistantMessage:
			if !s.whole || !s.holds(len(e.Text)) {
				e.Text = ""
			}
			events[i] = e
		case holdfast.Reasoning:
			if !s.whole || !s.holds(len(e.Text)+len(e.Opaque)) {
				events[i] = holdfast.Reasoning{}
			}
		case holdfast.ToolCall:
			if s.keep == nil || !s.keep(e.Name) || len(e.Arguments) > s.most {
				e.Arguments = nil
				events[i] = e
			}
		}
	}
	return entry{place: place, done: true, events: events}
}

func (s *Stream) textOf(ev *event) *text {
	e, part := s.entry(ev), ev.of(eventPart)
	for _, t := range e.texts {
		if t.part == string(part) {
			return t
		}
	}
	t := &text{part: string(part)}
	e.texts = append(e.texts, t)
	return t
}

func (s *Stream) text(ev *event, lit []byte) {
	t := s.textOf(ev)
	s.buf = t.join.Append(s.buf[:0], lit)
	t.hash.Write(string(s.buf))
	if s.whole && s.holds(len(s.buf)) {
		t.words = append(t.words, s.buf...)
	}
}

func (s *Stream) arguments(e *entry, lit []byte) {
	if !e.kept {
		return
	}
	e.args = e.join.Append(e.args, lit)
	if len(e.args) > s.most {
		e.kept, e.args = false, nil
	}
}

func (s *Stream) finish(ev *event) {
	s.terminal = true
	answer := ev.response(s.whole)
	if answer.ID != "" {
		s.id = answer.ID
	}
	s.stop = answer.Stop
	if s.stop == "" {
		s.stop = ev.kind[len("response."):]
	}
	s.ok = ev.kind == "response.completed" && s.stop == "completed"
	if len(s.entries) == 0 {
		done := s.done(answer.Events, 0)
		s.entries = append(s.entries, &done)
	}
}

// Answer is what was read so far; it may be asked for at any time. Texts are
// empty unless the reader is whole, their digests are set. It is Complete once response.completed was read
// with no other status than that and no error came. Stop is the status of the
// final response, or what the terminal event's name says. A call that was not
// reported as done has its arguments only when the answer is complete.
func (s *Stream) Answer() holdfast.Answer {
	a := holdfast.Answer{ID: s.id, Stop: s.stop, Complete: s.ok && !s.failed}
	for _, e := range s.entries {
		switch {
		case e.done || len(e.events) > 0:
			a.Events = append(a.Events, e.events...)
		case e.kind == "function_call" || e.kind == "custom_tool_call":
			call := e.call
			if a.Complete && e.kept {
				call.Arguments = bytes.Clone(e.args)
				if e.kind == "custom_tool_call" {
					call.Arguments = jsonscan.AppendQuote(nil, string(e.args))
				}
			}
			a.Events = append(a.Events, call)
		default:
			for _, t := range e.texts {
				if d := t.hash.Sum(); d != holdfast.TextDigest("") {
					m := holdfast.AssistantMessage{Digest: d, Len: t.hash.Len()}
					if s.whole {
						m.Text = string(t.words)
					}
					a.Events = append(a.Events, m)
				}
			}
		}
	}
	return a
}

// Terminal reports whether a terminal event was read: response.completed,
// response.failed, response.incomplete or error.
func (s *Stream) Terminal() bool { return s.terminal }
