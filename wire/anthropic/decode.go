package anthropic

import (
	"bytes"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// The members of a content block that are read.
const (
	fieldType = iota
	fieldText
	fieldID
	fieldName
	fieldInput
	fieldUse
	fieldContent
	fieldError
	fieldCount
)

// block is one content block. Its spans index in.
type block struct {
	in     []byte
	kind   string // "" for an element that is not an object
	fields [fieldCount]holdfast.Span
	span   holdfast.Span // of a block that is an object
}

func (b *block) of(field int) []byte { return b.fields[field].Of(b.in) }

// blocks reads a content value: a list of blocks, or a string, which stands for
// one text block.
func blocks(content []byte) []block {
	at := jsonscan.Space(content, 0)
	if at < len(content) && content[at] == '"' {
		end, err := jsonscan.Skip(content, at)
		if err != nil {
			return nil
		}
		b := block{in: content, kind: "text"}
		b.fields[fieldText] = holdfast.Span{Start: at, End: end}
		return []block{b}
	}
	spans := jsonscan.Elements(content, at)
	list := make([]block, 0, len(spans))
	for _, s := range spans {
		list = append(list, blockAt(content, s.Start))
	}
	return list
}

func blockAt(in []byte, at int) block {
	b := block{in: in}
	if end, err := jsonscan.Fields(in, at, b.fields[:], "type", "text", "id", "name", "input", "tool_use_id", "content", "is_error"); err == nil {
		b.kind, b.span = jsonscan.Text(b.of(fieldType)), holdfast.Span{Start: at, End: end}
	}
	return b
}

// Decode reads one element of messages into events, in order. They hold no
// reference to element.
//
// Text and media blocks of a user message that stand together are one
// UserMessage; a tool result or an unknown block between them splits it. Each
// text block of an assistant message is an AssistantMessage of its own. An
// element without content gives no events.
//
// wanted tells of which calls the text of the result is read, by the call's id
// as it stands in the result; nil reads all. The others have none.
func (Codec) Decode(element []byte, wanted func(callID string) bool) ([]holdfast.Event, error) {
	return decode(element, reading{wanted: wanted})
}

// reading says how much of an element is read.
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
	var f [2]holdfast.Span
	if _, err := jsonscan.Fields(element, at, f[:], "role", "content"); err != nil {
		return nil, unreadable("message", err)
	}
	switch role := jsonscan.Text(f[0].Of(element)); role {
	case "user":
		return userEvents(f[1].Of(element), how), nil
	case "assistant":
		return assistantEvents(f[1].Of(element), how.whole), nil
	case "system":
		return []holdfast.Event{holdfast.SystemMessage{}}, nil
	default:
		return []holdfast.Event{holdfast.Unknown{Type: role}}, nil
	}
}

func userEvents(content []byte, how reading) (events []holdfast.Event) {
	var parts []holdfast.Part
	flush := func() {
		if len(parts) > 0 {
			events = append(events, holdfast.UserMessage{Parts: parts})
			parts = nil
		}
	}
	for _, b := range blocks(content) {
		switch b.kind {
		case "text":
			parts = append(parts, holdfast.Text(jsonscan.Text(b.of(fieldText))))
		case "image", "document":
			m := holdfast.Media{Type: b.kind}
			if how.whole {
				m = b.media()
			}
			parts = append(parts, m)
		case "tool_result":
			flush()
			r := holdfast.ToolResult{CallID: jsonscan.Text(b.of(fieldUse)), IsError: string(b.of(fieldError)) == "true"}
			switch {
			case how.whole:
				r.Parts = resultParts(b.of(fieldContent))
			case how.wanted == nil || how.wanted(r.CallID):
				r.Text = resultText(b.of(fieldContent))
			}
			events = append(events, r)
		default:
			flush()
			events = append(events, holdfast.Unknown{Type: b.kind})
		}
	}
	flush()
	return events
}

func assistantEvents(content []byte, whole bool) (events []holdfast.Event) {
	for _, b := range blocks(content) {
		switch b.kind {
		case "text":
			text := jsonscan.Text(b.of(fieldText))
			if digest := holdfast.TextDigest(text); digest != holdfast.TextDigest("") {
				events = append(events, holdfast.AssistantMessage{Text: text, Digest: digest, Len: len(text)})
			}
		case "thinking", "redacted_thinking":
			var r holdfast.Reasoning
			if whole {
				r = b.reasoning()
			}
			events = append(events, r)
		case "tool_use":
			events = append(events, holdfast.ToolCall{
				ID:        jsonscan.Text(b.of(fieldID)),
				Name:      jsonscan.Text(b.of(fieldName)),
				Arguments: bytes.Clone(b.of(fieldInput)),
			})
		case "compaction":
			events = append(events, compactionItem(holdfast.TextDigest(jsonscan.Text(b.of(fieldContent)))))
		default:
			events = append(events, holdfast.Unknown{Type: b.kind})
		}
	}
	return events
}

// compactionItem is the event of a compaction block by the digest of its content. That
// of a compaction that failed is null: the block is no summary.
func compactionItem(content holdfast.Digest) holdfast.Event {
	if content == holdfast.TextDigest("") {
		return holdfast.Unknown{Type: "compaction"}
	}
	return holdfast.CompactionItem{Digest: content}
}

// resultText joins the texts of a tool result, cut to MaxResultText.
func resultText(content []byte) string {
	var text []byte
	first := true
	for _, b := range blocks(content) {
		if b.kind != "text" {
			continue
		}
		if !first {
			text = append(text, '\n')
		}
		first = false
		if len(text) >= holdfast.MaxResultText {
			break
		}
		text = jsonscan.AppendText(text, b.of(fieldText), holdfast.MaxResultText-len(text))
	}
	return string(text[:min(len(text), holdfast.MaxResultText)])
}

// ReadBody reads an answer that was not streamed. It is Complete when it is a
// message with a stop reason other than "refusal"; an error object is read as
// an incomplete answer. It fails on malformed JSON only.
func (Codec) ReadBody(body []byte) (holdfast.Answer, error) { return readBody(body, false) }

func readBody(body []byte, whole bool) (holdfast.Answer, error) {
	var f [4]holdfast.Span
	end, err := jsonscan.Fields(body, jsonscan.Space(body, 0), f[:], "type", "id", "content", "stop_reason")
	if err == nil && jsonscan.Space(body, end) < len(body) {
		err = &jsonscan.SyntaxError{At: end, Want: "nothing behind the object"}
	}
	if err != nil {
		return holdfast.Answer{}, unreadable("answer", err)
	}
	stop := jsonscan.Text(f[3].Of(body))
	return holdfast.Answer{
		ID:       jsonscan.Text(f[1].Of(body)),
		Events:   assistantEvents(f[2].Of(body), whole),
		Complete: jsonscan.Text(f[0].Of(body)) == "message" && succeeded(stop),
		Stop:     stop,
	}, nil
}

func succeeded(stop string) bool { return stop != "" && stop != "refusal" }
