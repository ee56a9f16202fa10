package proxy_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// What claude-code and codex send, cut down to what is recognised, and what the
// providers answer.
const (
	claudeMarker = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nWrite an <analysis> block followed by a <summary> block."
	claudeResume = "This session is being continued from a previous conversation that ran out of context. Summary: they worked."
	codexMarker  = "You are performing a CONTEXT CHECKPOINT COMPACTION. Write a handoff summary for another LLM."

	todoArgs = `{"todos":[{"content":"port the reader","status":"completed"},{"content":"port the writer","status":"pending"}]}`
	planArgs = `{"plan":[{"step":"port the reader","status":"completed"},{"step":"port the writer","status":"pending"}]}`
)

func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func claudeHeader(session string) http.Header {
	return http.Header{
		"X-Claude-Code-Session-Id": {session}, "Anthropic-Version": {"2023-06-01"},
		"X-Api-Key": {"sk-ant-client"}, "Content-Type": {"application/json"},
	}
}

// claudeBody is a request with a history. Its spacing and its numbers are such
// that no encoder would write them again.
func claudeBody(messages ...string) string {
	return `{ "model":"claude-x", "max_tokens":1e2,"stream" :true, "x_unknown":[1.50,{"a":null}],` +
		`"tools":[{"name":"TodoWrite","input_schema":{"type":"object"}},{"name":"Bash","input_schema":{"type":"object"}}],` +
		"\n\t\"messages\": [" + strings.Join(messages, " , ") + "]}\n"
}

func claudeText(role, text string) string {
	return fmt.Sprintf(`{"role":%q,"content":[{"type":"text", "text":%s}]}`, role, quote(text))
}

// claudePlanned is a history in which a plan was written down.
func claudePlanned() []string {
	return []string{
		claudeText("user", "Move the importer to Parquet."),
		`{"role":"assistant","content":[{"type":"tool_use","id":"tu_1","name":"TodoWrite","input":` + todoArgs + `}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"tu_1","content":"Todos have been modified"}]}`,
		claudeText("assistant", "The reader is done."),
	}
}

// claudeCompact is the request for a summary of it, claudeNext the first turn
// behind a summary that the proxy did not see.
func claudeCompact() string {
	return claudeBody(append(claudePlanned(), claudeText("user", claudeMarker))...)
}

func claudeTurn() string {
	return claudeBody(append(claudePlanned(), claudeText("user", "Go on."))...)
}

func claudeNext() string {
	return claudeBody(claudeText("user", claudeResume), claudeText("assistant", "I go on."), claudeText("user", "Yes."))
}

func codexHeader(session, kind string) http.Header {
	meta := `{"session_id":"` + session + `","thread_id":"` + session + `","request_kind":"` + kind + `"`
	if kind == "compaction" {
		meta += `,"compaction":{"implementation":"responses"}`
	}
	return http.Header{
		"Session-Id": {session}, "Thread-Id": {session}, "X-Codex-Turn-Metadata": {meta + "}"},
		"Authorization": {"Bearer sk-client"}, "Content-Type": {"application/json"},
	}
}

func codexText(role, text string) string {
	return fmt.Sprintf(`{"type":"message","role":%q,"content":[{"type":"input_text","text":%s}]}`, role, quote(text))
}

func codexBody(input ...string) string {
	return `{"model":"gpt-x", "stream":true,"tools":[{"type":"function","name":"update_plan"}],"input":[` + strings.Join(input, ", ") + `]}`
}

func codexPlanned() []string {
	return []string{
		codexText("user", "Move the importer to Parquet."),
		`{"type":"function_call","call_id":"c1","name":"update_plan","arguments":` + quote(planArgs) + `}`,
		`{"type":"function_call_output","call_id":"c1","output":"Plan updated"}`,
	}
}

func codexCompact() string {
	return codexBody(append(codexPlanned(), codexText("user", codexMarker))...)
}

// frame is one server-sent event, its lines ended by eol.
func frame(eol, name, data string) string {
	return "event: " + name + eol + "data: " + data + eol + eol
}

func claudeDelta(eol, text string) string {
	return frame(eol, "content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":`+quote(text)+`}}`)
}

// claudeEnd ends a text block and the answer.
func claudeEnd(eol string) string {
	return frame(eol, "content_block_stop", `{"type":"content_block_stop","index":0}`) +
		frame(eol, "message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}`) +
		claudeLast(eol)
}

func claudeLast(eol string) string { return frame(eol, "message_stop", `{"type":"message_stop"}`) }

func claudeBegin(eol string) string {
	return frame(eol, "message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":{"input_tokens":1}}}`) +
		frame(eol, "content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
}

// claudeSays is a streamed answer of texts, one delta each.
func claudeSays(texts ...string) string {
	var b strings.Builder
	b.WriteString(claudeBegin("\n"))
	for _, t := range texts {
		b.WriteString(claudeDelta("\n", t))
	}
	return b.String() + claudeEnd("\n")
}

// claudePlans is a streamed answer that calls the plan tool.
func claudePlans() string {
	return frame("\n", "message_start", `{"type":"message_start","message":{"id":"msg_2","type":"message","role":"assistant","content":[]}}`) +
		frame("\n", "content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"tu_9","name":"TodoWrite","input":{}}}`) +
		frame("\n", "content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":`+quote(todoArgs)+`}}`) +
		frame("\n", "content_block_stop", `{"type":"content_block_stop","index":0}`) +
		frame("\n", "message_delta", `{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`) +
		claudeLast("\n")
}

// claudeWhole is an answer in one piece.
func claudeWhole(text string) string {
	return `{"id":"msg_3","type":"message","role":"assistant", "content":[{"type":"text","text":` + quote(text) + `}],"stop_reason":"end_turn"}`
}

func codexSays(text string) string {
	part := `{"type":"output_text","annotations":[],"text":` + quote(text) + `}`
	item := `{"id":"m1","type":"message","role":"assistant","content":[` + part + `]}`
	return frame("\n", "response.created", `{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","status":"in_progress","output":[]}}`) +
		frame("\n", "response.output_item.added", `{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"m1","type":"message","role":"assistant","content":[]}}`) +
		frame("\n", "response.output_text.delta", `{"type":"response.output_text.delta","sequence_number":2,"item_id":"m1","output_index":0,"content_index":0,"delta":`+quote(text)+`}`) +
		frame("\n", "response.output_text.done", `{"type":"response.output_text.done","sequence_number":3,"item_id":"m1","output_index":0,"content_index":0,"text":`+quote(text)+`}`) +
		frame("\n", "response.output_item.done", `{"type":"response.output_item.done","sequence_number":4,"output_index":0,"item":`+item+`}`) +
		frame("\n", "response.completed", `{"type":"response.completed","sequence_number":5,"response":{"id":"resp_1","status":"completed","output":[`+item+`]}}`)
}

// withoutBlock takes the frame with the block out of a patched answer of
// Messages; n is how many frames held one, at is where it stood.
func withoutBlock(stream string) (rest, text string, at, n int) {
	var b strings.Builder
	for f := range strings.SplitAfterSeq(stream, "\n\n") {
		if !strings.Contains(f, `<holdfast-record`) {
			b.WriteString(f)
			continue
		}
		n, at = n+1, b.Len()
		_, data, _ := strings.Cut(f, "data: ")
		var ev struct{ Delta struct{ Text string } }
		if json.Unmarshal([]byte(data), &ev) == nil {
			text = ev.Delta.Text
		}
	}
	return b.String(), text, at, n
}

// sendStream answers with a stream.
func sendStream(w http.ResponseWriter, stream string) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Write([]byte(stream)) //nolint:errcheck // the proxy may have left
}

func respondWith(stream string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { sendStream(w, stream) }
}
