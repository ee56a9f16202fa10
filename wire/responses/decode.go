package responses

import (
	"bytes"
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// The members of an item that are read.
const (
	fieldType = iota
	fieldRole
	fieldContent
	fieldCall
	fieldName
	fieldNamespace
	fieldArguments
	fieldInput
	fieldOutput
	fieldID
	fieldOpaque
	fieldCount
)

// item is one element of input or output. Its spans index in.
type item struct {
	in     []byte
	kind   string // "" for an element that is not an object
	fields [fieldCount]holdfast.Span
	span   holdfast.Span // of an item that is an object
}

func (it *item) of(field int) []byte { return it.fields[field].Of(it.in) }

func (it *item) text(field int) string { return jsonscan.Text(it.of(field)) }

// itemAt reads the item at in[at]. One that has a role and no type is a message.
func itemAt(in []byte, at int) (item, error) {
	it := item{in: in}
	end, err := jsonscan.Fields(in, at, it.fields[:], "type", "role", "content", "call_id", "name", "namespace", "arguments", "input", "output", "id", "encrypted_content")
	if err != nil {
		return it, err
	}
	it.span = holdfast.Span{Start: at, End: end}
	it.kind = it.text(fieldType)
	if it.kind == "" && it.fields[fieldRole].Present() {
		it.kind = "message"
	}
	return it, nil
}

// callsTool reports whether the item is a call that the client must run.
func (it *item) callsTool() bool {
	return it.kind == "function_call" || it.kind == "custom_tool_call"
}

// part is one part of a message or of a result. text indexes the same bytes as
// the item's spans.
type part struct {
	kind string // "" for an element that is not an object
	text holdfast.Span
	span holdfast.Span // of a part that is an object
}

// parts reads the parts of a content or output value; a string is one text.
func parts(in []byte, value holdfast.Span) (list []part) {
	if !value.Present() {
		return nil
	}
	if in[value.Start] == '"' {
		return []part{{kind: "text", text: value}}
	}
	for _, s := range jsonscan.Elements(in, value.Start) {
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

func isText(kind string) bool {
	return kind == "input_text" || kind == "output_text" || kind == "text"
}

// Decode reads one element of input into events, in order. They hold no
// reference to element.
//
// An element that is a string is a user message. Text and media parts of a user
// message that stand together are one UserMessage; an unknown part between them
// splits it. Each text of an assistant message, and each refusal, is an
// AssistantMessage of its own. The arguments of a custom tool call are its
// input as a JSON string. Results carry no error flag on this wire.
//
// wanted tells of which calls the text of the result is read, by the call's id
// as it stands in the result; nil reads all. The others have none.
func (Codec) Decode(element []byte, wanted func(callID string) bool) ([]holdfast.Event, error) {
	return decode(element, reading{wanted: wanted})
}

// reading says how much of an item is read.
type reading struct {
	whole  bool
	wanted func(callID string) bool
}

func decode(element []byte, how reading) ([]holdfast.Event, error) {
	at := jsonscan.Space(element, 0)
	if at < len(element) && element[at] == '{' {
		it, err := itemAt(element, at)
		if err != nil {
			return nil, unreadable("input item", err)
		}
		return it.events(how), nil
	}
	end, err := jsonscan.Skip(element, at)
	if err != nil {
		return nil, unreadable("input item", err)
	}
	if element[at] == '"' {
		return []holdfast.Event{holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text(jsonscan.Text(element[at:end]))}}}, nil
	}
	return []holdfast.Event{holdfast.Unknown{}}, nil
}

func (it *item) events(how reading) []holdfast.Event {
	switch it.kind {
	case "message":
		switch role := it.text(fieldRole); role {
		case "user":
			return it.userEvents(how.whole)
		case "assistant":
			return it.assistantEvents()
		case "developer", "system":
			return []holdfast.Event{holdfast.SystemMessage{}}
		default:
			return []holdfast.Event{holdfast.Unknown{Type: role}}
		}
	case "function_call", "custom_tool_call":
		return []holdfast.Event{it.call()}
	case "function_call_output", "custom_tool_call_output":
		r := holdfast.ToolResult{CallID: it.text(fieldCall)}
		switch {
		case how.whole:
			r.Parts = it.resultParts()
		case how.wanted == nil || how.wanted(r.CallID):
			r.Text = it.result()
		}
		return []holdfast.Event{r}
	case "reasoning":
		if how.whole {
			return []holdfast.Event{it.reasoning()}
		}
		return []holdfast.Event{holdfast.Reasoning{}}
	case "compaction", "compaction_summary", "context_compaction":
		return []holdfast.Event{holdfast.CompactionItem{ID: it.text(fieldID), Digest: holdfast.TextDigest(it.text(fieldOpaque))}}
	case "compaction_trigger":
		return []holdfast.Event{holdfast.CompactionTrigger{}}
	}
	return []holdfast.Event{holdfast.Unknown{Type: it.kind}}
}

func (it *item) call() holdfast.ToolCall {
	call := holdfast.ToolCall{ID: it.text(fieldCall), Name: it.text(fieldName), Namespace: it.text(fieldNamespace)}
	if it.kind == "function_call" {
		call.Arguments = []byte(it.text(fieldArguments))
	} else {
		call.Arguments = bytes.Clone(it.of(fieldInput))
	}
	return call
}

func (it *item) userEvents(whole bool) (events []holdfast.Event) {
	var message []holdfast.Part
	flush := func() {
		if len(message) > 0 {
			events = append(events, holdfast.UserMessage{Parts: message})
			message = nil
		}
	}
	for _, p := range parts(it.in, it.fields[fieldContent]) {
		switch {
		case isText(p.kind) || p.kind == "refusal":
			message = append(message, holdfast.Text(jsonscan.Text(p.text.Of(it.in))))
		case p.kind == "input_image" || p.kind == "input_file" || p.kind == "input_audio":
			m := holdfast.Media{Type: p.kind}
			if whole {
				m = p.media(it.in)
			}
			message = append(message, m)
		default:
			flush()
			events = append(events, holdfast.Unknown{Type: p.kind})
		}
	}
	flush()
	return events
}

func (it *item) assistantEvents() (events []holdfast.Event) {
	for _, p := range parts(it.in, it.fields[fieldContent]) {
		if !isText(p.kind) && p.kind != "refusal" {
			events = append(events, holdfast.Unknown{Type: p.kind})
			continue
		}
		text := jsonscan.Text(p.text.Of(it.in))
		if digest := holdfast.TextDigest(text); digest != holdfast.TextDigest("") {
			events = append(events, holdfast.AssistantMessage{Text: text, Digest: digest, Len: len(text)})
		}
	}
	return events
}

// result joins the texts of a tool's output, cut to MaxResultText.
func (it *item) result() string {
	var text []byte
	first := true
	for _, p := range parts(it.in, it.fields[fieldOutput]) {
		if !isText(p.kind) {
			continue
		}
		if !first {
			text = append(text, '\n')
		}
		first = false
		if len(text) >= holdfast.MaxResultText {
			break
		}
		text = jsonscan.AppendText(text, p.text.Of(it.in), holdfast.MaxResultText-len(text))
	}
	return string(text[:min(len(text), holdfast.MaxResultText)])
}

// ReadBody reads an answer that was not streamed. It is Complete when its
// status is "completed", or when it has no status and is what a compaction
// returns: a response.compaction object, or an output with a compaction item.
// It fails on malformed JSON only.
func (Codec) ReadBody(body []byte) (holdfast.Answer, error) { return readBody(body, false) }

func readBody(body []byte, whole bool) (holdfast.Answer, error) {
	at := jsonscan.Space(body, 0)
	answer, end, err := responseAt(body, at, whole)
	if err == nil && jsonscan.Space(body, end) < len(body) {
		err = &jsonscan.SyntaxError{At: end, Want: "nothing behind the object"}
	}
	if err != nil {
		return holdfast.Answer{}, unreadable("answer", err)
	}
	return answer, nil
}

// responseAt reads the response object at in[at].
func responseAt(in []byte, at int, whole bool) (holdfast.Answer, int, error) {
	var f [4]holdfast.Span
	end, err := jsonscan.Fields(in, at, f[:], "id", "object", "status", "output")
	if err != nil {
		return holdfast.Answer{}, 0, err
	}
	a := holdfast.Answer{ID: jsonscan.Text(f[0].Of(in)), Stop: jsonscan.Text(f[2].Of(in))}
	for _, it := range items(in, f[3]) {
		a.Events = append(a.Events, it.events(reading{whole: whole})...)
	}
	a.Complete = a.Stop == "completed" || a.Stop == "" &&
		(jsonscan.Text(f[1].Of(in)) == "response.compaction" || slices.ContainsFunc(a.Events, isCompaction))
	return a, end, nil
}

func isCompaction(e holdfast.Event) bool {
	_, ok := e.(holdfast.CompactionItem)
	return ok
}

// items reads the items of an output value.
func items(in []byte, output holdfast.Span) (list []item) {
	if !output.Present() {
		return nil
	}
	for _, s := range jsonscan.Elements(in, output.Start) {
		// An element that is no object is an item without a type.
		it, _ := itemAt(in, s.Start)
		list = append(list, it)
	}
	return list
}
