package chat

import (
	"bytes"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/callid"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// The members of a message, or of a delta of one, that are read.
const (
	fieldRole = iota
	fieldContent
	fieldRefusal
	fieldReasoningContent
	fieldReasoning
	fieldCalls
	fieldCall // function_call
	fieldCallID
	fieldName
	fieldCount
)

// message is one message or delta. Its spans index in.
type message struct {
	in     []byte
	fields [fieldCount]holdfast.Span
	start  int // of the object
}

func (m *message) of(field int) []byte { return m.fields[field].Of(m.in) }

func (m *message) text(field int) string { return jsonscan.Text(m.of(field)) }

// messageAt reads the message at in[at].
func messageAt(in []byte, at int) (message, error) {
	m := message{in: in, start: at}
	_, err := jsonscan.Fields(in, at, m.fields[:], "role", "content", "refusal", "reasoning_content", "reasoning", "tool_calls", "function_call", "tool_call_id", "name")
	return m, err
}

// says reports whether a member is a string that is not empty.
func (m *message) says(field int) bool {
	lit := m.of(field)
	return len(lit) > len(`""`) && lit[0] == '"'
}

// reasoned reports whether the message holds reasoning in the clear.
func (m *message) reasoned() bool { return m.says(fieldReasoningContent) || m.says(fieldReasoning) }

// callsTool reports whether the message calls a tool or goes on with a call.
func (m *message) callsTool() bool {
	if legacy := m.of(fieldCall); len(legacy) > 0 && !isNull(legacy) {
		return true
	}
	return len(m.calls()) > 0
}

// part is one part of a content value. text indexes the same bytes as that.
type part struct {
	kind string // "" for an element that is not an object
	text holdfast.Span
	span holdfast.Span // of a part that is an object
}

// parts reads a content value: a list of parts, or a string, which stands for
// one text.
func parts(in []byte, content holdfast.Span) (list []part) {
	if !content.Present() {
		return nil
	}
	if in[content.Start] == '"' {
		end, err := jsonscan.Skip(in, content.Start)
		if err != nil {
			return nil
		}
		return []part{{kind: "text", text: holdfast.Span{Start: content.Start, End: end}}}
	}
	for _, s := range jsonscan.Elements(in, content.Start) {
		var p part
		var f [3]holdfast.Span
		if _, err := jsonscan.Fields(in, s.Start, f[:], "type", "text", "refusal"); err == nil {
			p.kind, p.text, p.span = jsonscan.Text(f[0].Of(in)), f[1], s
			if p.kind == "refusal" {
				p.text = f[2]
			}
		}
		list = append(list, p)
	}
	return list
}

// toolCall is one entry of tool_calls, or the function_call. Its spans index the
// same bytes as the message's.
type toolCall struct {
	index, id, name, arguments holdfast.Span
	custom                     bool // arguments are free text
}

// calls reads the calls of a message.
func (m *message) calls() (list []toolCall) {
	if span := m.fields[fieldCalls]; span.Present() {
		for _, s := range jsonscan.Elements(m.in, span.Start) {
			var f [4]holdfast.Span
			var c toolCall
			// What is no object is an entry that says nothing.
			_, _ = jsonscan.Fields(m.in, s.Start, f[:], "index", "id", "function", "custom")
			c.index, c.id = f[0], f[1]
			if f[3].Present() && !isNull(f[3].Of(m.in)) {
				c.custom = true
				c.name, c.arguments = m.pair(f[3], "input")
			} else {
				c.name, c.arguments = m.pair(f[2], "arguments")
			}
			list = append(list, c)
		}
	}
	return list
}

// legacy reads the function_call; ok is false when there is none.
func (m *message) legacy() (c toolCall, ok bool) {
	span := m.fields[fieldCall]
	if !span.Present() || m.in[span.Start] != '{' {
		return c, false
	}
	c.name, c.arguments = m.pair(span, "arguments")
	return c, true
}

// pair reads the name and one other member of the object at span.
func (m *message) pair(span holdfast.Span, other string) (name, value holdfast.Span) {
	var f [2]holdfast.Span
	if span.Present() {
		// The message was read, so this is well-formed; what is no object
		// leaves the spans absent.
		_, _ = jsonscan.Fields(m.in, span.Start, f[:], "name", other)
	}
	return f[0], f[1]
}

// call makes the event of a call that is whole.
func (m *message) call(c toolCall) holdfast.ToolCall {
	call := holdfast.ToolCall{ID: jsonscan.Text(c.id.Of(m.in)), Name: jsonscan.Text(c.name.Of(m.in))}
	switch lit := c.arguments.Of(m.in); {
	case len(lit) == 0:
	case lit[0] == '"' && !c.custom:
		call.Arguments = []byte(jsonscan.Text(lit))
	default:
		call.Arguments = bytes.Clone(lit)
	}
	if call.ID == "" {
		call.ID = callid.Of(call.Name, call.Arguments)
	}
	return call
}

// Decode reads one element of messages into events, in order. They hold no
// reference to element.
//
// Text and media parts of a user message that stand together are one
// UserMessage; an unknown part between them splits it. Each text of an assistant
// message, and each refusal, is an AssistantMessage of its own. The arguments of
// a custom tool call are its input as a JSON string. Results carry no error flag
// on this wire.
//
// wanted tells of which calls the text of the result is read, by the call's id
// as it stands in the result; nil reads all. The others have none.
func (Codec) Decode(element []byte, wanted func(callID string) bool) ([]holdfast.Event, error) {
	return decode(element, reading{wanted: wanted})
}

// reading says how much of a message is read.
type reading struct {
	whole  bool
	wanted func(callID string) bool
}

func decode(element []byte, how reading) ([]holdfast.Event, error) {
	at := jsonscan.Space(element, 0)
	if at < len(element) && element[at] != '{' {
		if _, err := jsonscan.Skip(element, at); err != nil {
			return nil, unreadable("message", err)
		}
		return []holdfast.Event{holdfast.Unknown{}}, nil
	}
	m, err := messageAt(element, at)
	if err != nil {
		return nil, unreadable("message", err)
	}
	switch role := m.text(fieldRole); {
	case role == "user":
		return m.userEvents(how.whole), nil
	case role == "assistant":
		return m.assistantEvents(how.whole), nil
	case role == "tool" || role == "function":
		return []holdfast.Event{m.result(how)}, nil
	case isSystem(role):
		return []holdfast.Event{holdfast.SystemMessage{}}, nil
	default:
		return []holdfast.Event{holdfast.Unknown{Type: role}}, nil
	}
}

func (m *message) userEvents(whole bool) (events []holdfast.Event) {
	var message []holdfast.Part
	flush := func() {
		if len(message) > 0 {
			events = append(events, holdfast.UserMessage{Parts: message})
			message = nil
		}
	}
	for _, p := range parts(m.in, m.fields[fieldContent]) {
		switch p.kind {
		case "text":
			message = append(message, holdfast.Text(jsonscan.Text(p.text.Of(m.in))))
		case "image_url", "input_audio", "video_url", "file":
			media := holdfast.Media{Type: p.kind}
			if whole {
				media = p.media(m.in)
			}
			message = append(message, media)
		default:
			flush()
			events = append(events, holdfast.Unknown{Type: p.kind})
		}
	}
	flush()
	return events
}

func (m *message) assistantEvents(whole bool) (events []holdfast.Event) {
	said := func(lit []byte) {
		text := jsonscan.Text(lit)
		if digest := holdfast.TextDigest(text); digest != holdfast.TextDigest("") {
			events = append(events, holdfast.AssistantMessage{Text: text, Digest: digest, Len: len(text)})
		}
	}
	switch {
	case whole:
		if r, ok := m.reasoning(); ok {
			events = append(events, r)
		}
	case m.reasoned():
		events = append(events, holdfast.Reasoning{})
	}
	for _, p := range parts(m.in, m.fields[fieldContent]) {
		switch p.kind {
		case "text", "refusal":
			said(p.text.Of(m.in))
		default:
			events = append(events, holdfast.Unknown{Type: p.kind})
		}
	}
	said(m.of(fieldRefusal))
	for _, c := range m.calls() {
		events = append(events, m.call(c))
	}
	if c, ok := m.legacy(); ok {
		events = append(events, m.call(c))
	}
	return events
}

// result reads the message of a tool.
func (m *message) result(how reading) holdfast.ToolResult {
	r := holdfast.ToolResult{CallID: m.text(fieldCallID)}
	if name := m.text(fieldName); r.CallID == "" && name != "" {
		r.CallID = callid.Result(name)
	}
	if how.whole {
		r.Parts = m.resultParts()
		return r
	}
	if how.wanted != nil && !how.wanted(r.CallID) {
		return r
	}
	var text []byte
	first := true
	for _, p := range parts(m.in, m.fields[fieldContent]) {
		if p.kind != "text" {
			continue
		}
		if !first {
			text = append(text, '\n')
		}
		first = false
		if len(text) >= holdfast.MaxResultText {
			break
		}
		text = jsonscan.AppendText(text, p.text.Of(m.in), holdfast.MaxResultText-len(text))
	}
	r.Text = string(text[:min(len(text), holdfast.MaxResultText)])
	return r
}

// ReadBody reads an answer that was not streamed. It is Complete when it has a
// finish reason that tells of success and no error; an error object is read as
// an incomplete answer. It fails on malformed JSON only.
func (Codec) ReadBody(body []byte) (holdfast.Answer, error) { return readBody(body, false) }

func readBody(body []byte, whole bool) (holdfast.Answer, error) {
	c, end, err := chunkAt(body, jsonscan.Space(body, 0), "message")
	if err == nil && jsonscan.Space(body, end) < len(body) {
		err = &jsonscan.SyntaxError{At: end, Want: "nothing behind the object"}
	}
	if err != nil {
		return holdfast.Answer{}, unreadable("answer", err)
	}
	return holdfast.Answer{
		ID:       jsonscan.Text(c.id.Of(body)),
		Events:   c.message.assistantEvents(whole),
		Complete: !c.failed && succeeded(c.finish),
		Stop:     c.finish,
	}, nil
}

// succeeded reports whether an answer that stopped for this reason is one to
// rely on. Servers name reasons that OpenAI does not have: what is not known to
// be a failure counts.
func succeeded(finish string) bool {
	switch finish {
	case "", "content_filter", "error", "abort", "insufficient_system_resource":
		return false
	}
	return true
}
