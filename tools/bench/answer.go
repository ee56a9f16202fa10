package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// numberMark stands for the answer's number, which has as many digits.
const numberMark = "#answernumb#"

// answer is an answer of the mock upstream. Load and upstream make it from the
// same few values, so that the load knows every byte of what was sent.
type answer struct {
	text  []byte // with numberMark in it
	marks []int  // where
	ends  []int  // of the frames of a stream
}

// newAnswer makes the answer with so many text deltas; none makes it a JSON
// document in one piece.
func newAnswer(p holdfast.Protocol, deltas int) *answer {
	a := &answer{}
	frames := jsonAnswer(p)
	if deltas > 0 {
		frames = streamAnswer(p, deltas)
	}
	for _, f := range frames {
		a.text = append(a.text, f...)
		a.ends = append(a.ends, len(a.text))
	}
	for at := 0; ; {
		i := bytes.Index(a.text[at:], []byte(numberMark))
		if i < 0 {
			return a
		}
		a.marks = append(a.marks, at+i)
		at += i + len(numberMark)
	}
}

// numbered appends the answer with its number to buf.
func (a *answer) numbered(buf []byte, n int) []byte {
	buf = append(buf, a.text...)
	digits := fmt.Sprintf("%0*d", len(numberMark), n)
	for _, at := range a.marks {
		copy(buf[len(buf)-len(a.text)+at:], digits)
	}
	return buf
}

func jsonAnswer(p holdfast.Protocol) []string {
	if p == holdfast.Responses {
		return []string{`{"id":"resp_` + numberMark + `","object":"response","status":"completed","model":"gpt-5","output":[` +
			`{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"The change is in place.","annotations":[]}]}],` +
			`"usage":{"input_tokens":900,"output_tokens":7,"total_tokens":907}}`}
	}
	return []string{`{"id":"msg_` + numberMark + `","type":"message","role":"assistant","model":"claude-sonnet-4-5",` +
		`"content":[{"type":"text","text":"The change is in place."}],"stop_reason":"end_turn","stop_sequence":null,` +
		`"usage":{"input_tokens":900,"output_tokens":7}}`}
}

func streamAnswer(p holdfast.Protocol, deltas int) []string {
	if p == holdfast.Responses {
		return responsesStream(deltas)
	}
	event := func(kind, rest string) string {
		return "event: " + kind + "\ndata: {\"type\":\"" + kind + "\"" + rest + "}\n\n"
	}
	frames := []string{
		event("message_start", `,"message":{"id":"msg_`+numberMark+`","type":"message","role":"assistant","model":"claude-sonnet-4-5",`+
			`"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":900,"output_tokens":1}}`),
		event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`),
	}
	for i := range deltas {
		frames = append(frames, event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"`+delta(i)+`"}`))
	}
	return append(frames,
		event("content_block_stop", `,"index":0`),
		event("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":%d}`, deltas)),
		event("message_stop", ""))
}

func responsesStream(deltas int) []string {
	n := -1
	event := func(kind, rest string) string {
		n++
		return fmt.Sprintf("event: %s\ndata: {\"type\":%q,\"sequence_number\":%d%s}\n\n", kind, kind, n, rest)
	}
	var text strings.Builder
	for i := range deltas {
		text.WriteString(delta(i))
	}
	const at = `,"item_id":"msg_1","output_index":0,"content_index":0`
	response := func(status, output string) string {
		return `,"response":{"id":"resp_` + numberMark + `","object":"response","status":"` + status + `","model":"gpt-5","output":[` + output + `]}`
	}
	part := `{"type":"output_text","text":"` + text.String() + `","annotations":[]}`
	item := `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[` + part + `]}`
	frames := []string{
		event("response.created", response("in_progress", "")),
		event("response.output_item.added", `,"output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","status":"in_progress","content":[]}`),
		event("response.content_part.added", at+`,"part":{"type":"output_text","text":"","annotations":[]}`),
	}
	for i := range deltas {
		frames = append(frames, event("response.output_text.delta", at+`,"delta":"`+delta(i)+`"`))
	}
	return append(frames,
		event("response.output_text.done", at+`,"text":"`+text.String()+`"`),
		event("response.content_part.done", at+`,"part":`+part),
		event("response.output_item.done", `,"output_index":0,"item":`+item),
		event("response.completed", response("completed", item)))
}

// delta is the text of delta i, about a token long.
func delta(i int) string { return fmt.Sprintf(" word%d", i%977) }
