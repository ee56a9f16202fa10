package eval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/eval"
)

const (
	claudeTurn = `{"model":"m","stream":true,"tools":[{"name":"Bash"}],"messages":[{"role":"user","content":"hi"}]}`
	chatTurn   = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function"}],"messages":[{"role":"user","content":"hi"}]}`
	geminiTurn = `{"contents":[{"parts":[{"text":"hi"}],"role":"user"}],"tools":[{"functionDeclarations":[{"name":"sh"}]}]}`
	codexTurn  = `{"model":"m","stream":true,"tools":[{"name":"sh"}],"prompt_cache_key":"k","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}`
)

func TestARequestIsTakenForWhatItIs(t *testing.T) {
	const ask = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."
	const chat, gemini, stream = "/v1/chat/completions", "/v1beta/models/g-1:generateContent", "/v1beta/models/g-1:streamGenerateContent?alt=sse"
	says := func(text string) string { return `{"messages":[{"role":"user","content":` + quote(text) + `}]}` }
	said := func(text string) string {
		return `{"contents":[{"parts":[{"text":"hi"}],"role":"user"},{"parts":[{"text":` + quote(text) + `}],"role":"user"}]}`
	}
	tests := []struct {
		name, method, path string
		header             map[string]string
		body               string
		want               eval.Kind
	}{
		{"a turn of claude-code", "POST", "/v1/messages?beta=true", nil, claudeTurn, eval.Turn},
		{"a turn of codex", "POST", "/v1/responses", nil, codexTurn, eval.Turn},
		{"no tools is a side call", "POST", "/v1/messages", nil, `{"messages":[{"role":"user","content":"Name this."}]}`, eval.SideCall},
		{
			"claude-code asks for a summary", "POST", "/v1/messages", nil,
			`{"tools":[{}],"messages":[{"role":"user","content":[{"type":"text","text":"new words"},{"type":"text","text":"` + ask + ` More."}]}]}`, eval.PlainCompaction,
		},
		{
			"a text behind the question does not hide it", "POST", "/v1/messages", nil,
			`{"tools":[{}],"messages":[{"role":"user","content":[{"type":"text","text":"` + ask + `"},{"type":"text","text":"A record will follow."}]}]}`, eval.PlainCompaction,
		},
		{
			"the literal inside a question of the user", "POST", "/v1/messages", nil,
			`{"tools":[{}],"messages":[{"role":"user","content":"What does it mean: ` + ask + `"}]}`, eval.Turn,
		},
		{
			"the literal earlier in the history", "POST", "/v1/messages", nil,
			`{"tools":[{}],"messages":[{"role":"user","content":"` + ask + `"},{"role":"assistant","content":"ok"},{"role":"user","content":"go"}]}`, eval.Turn,
		},
		{
			"the literal in the model's own last message", "POST", "/v1/messages", nil,
			`{"tools":[{}],"messages":[{"role":"assistant","content":"` + ask + `"}]}`, eval.Turn,
		},
		{
			"a count of tokens, whatever it holds", "POST", "/v1/messages/count_tokens", nil,
			`{"messages":[{"role":"user","content":"` + ask + `"}]}`, eval.CountTokens,
		},
		{
			"codex asks for a summary by its text", "POST", "/v1/responses", nil,
			`{"tools":[],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"You are performing a CONTEXT CHECKPOINT COMPACTION. Do it."}]}]}`, eval.PlainCompaction,
		},
		{
			"codex asks for a summary by its header", "POST", "/v1/responses",
			map[string]string{"x-codex-turn-metadata": `{"request_kind":"compaction"}`},
			codexTurn, eval.PlainCompaction,
		},
		{
			"the header of a turn", "POST", "/v1/responses",
			map[string]string{"x-codex-turn-metadata": `{"request_kind":"turn"}`},
			codexTurn, eval.Turn,
		},
		{
			"codex asks for an opaque item", "POST", "/v1/responses",
			map[string]string{"x-codex-turn-metadata": `{"request_kind":"compaction"}`},
			`{"tools":[{}],"input":[{"type":"message","role":"user","content":"hi"},{"type":"compaction_trigger"}]}`, eval.OpaqueCompaction,
		},
		{"a turn of Chat Completions", "POST", chat, nil, chatTurn, eval.Turn},
		{"a title in Chat Completions", "POST", chat, nil, says("Name this."), eval.SideCall},
		{"opencode asks for a summary", "POST", chat, nil, says("Here is the conversation so far:\n\n<conversation>\n"), eval.PlainCompaction},
		{"opencode asks for one in Messages", "POST", "/v1/messages", nil, says("Here is the conversation so far:\n\n<conversation>\n"), eval.PlainCompaction},
		{"pi asks for a summary", "POST", chat, nil, says("<conversation>\n[User]: a\n</conversation>\n\nThe messages above are a conversation."), eval.PlainCompaction},
		{
			"pi asks for one in Responses", "POST", "/v1/responses", nil,
			`{"input":[{"role":"user","content":[{"type":"input_text","text":"<conversation>\n</conversation>\n\nThe messages above are NEW."}]}]}`, eval.PlainCompaction,
		},
		{"pi asks for a summary of a part of a turn", "POST", chat, nil, says("<conversation>\n</conversation>\n\nThis is the PREFIX of a turn."), eval.SideCall},
		{"cline asks for a summary", "POST", chat, nil, says("Summarize this session for continuation. Go."), eval.PlainCompaction},
		{"qwen-code asks for a summary", "POST", chat, nil, says("First, reason in your scratchpad. Then."), eval.PlainCompaction},
		{
			"the same words in a turn that offers tools", "POST", chat, nil,
			`{"tools":[{}],"messages":[{"role":"user","content":"Summarize this session for continuation."}]}`, eval.Turn,
		},
		{"words of an agent's that stand inside a text", "POST", chat, nil, says("Who says: First, reason in your scratchpad."), eval.SideCall},
		{"a turn of Gemini", "POST", stream, nil, geminiTurn, eval.Turn},
		{"a call of Gemini without tools", "POST", gemini, nil, said("Name this."), eval.SideCall},
		{"gemini-cli asks for a summary", "POST", gemini, nil, said("Generate a new one.\n\nFirst, reason in your scratchpad. Then."), eval.PlainCompaction},
		{"gemini-cli asks a second time", "POST", gemini, nil, said("Critically evaluate the <state_snapshot> you just generated."), eval.PlainCompaction},
		{"a count of tokens of Gemini", "POST", "/v1beta/models/g-1:countTokens", nil, geminiTurn, eval.CountTokens},
		{"another method of Gemini", "POST", "/v1beta/models/g-1:embedContent", nil, geminiTurn, eval.Probe},
		{"codex asks for a WebSocket", "GET", "/v1/responses", map[string]string{"Connection": "Upgrade", "Upgrade": "websocket"}, "", eval.Upgrade},
		{"a probe", "HEAD", "/api/hello", nil, "", eval.Probe},
		{"a body that is no JSON", "POST", "/v1/messages", nil, "{", eval.Probe},
		{"another path", "POST", "/v1/embeddings", nil, "{}", eval.Probe},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			up := eval.NewUpstream(eval.Config{})
			r := httptest.NewRequest(tt.method, tt.path, strings.NewReader(tt.body))
			for k, v := range tt.header {
				r.Header.Set(k, v)
			}
			up.ServeHTTP(httptest.NewRecorder(), r)
			got := up.Requests()
			if len(got) != 1 {
				t.Fatalf("%d requests were kept, want 1", len(got))
			}
			if k := eval.KindOf(r, []byte(tt.body)); k != tt.want {
				t.Errorf("KindOf says %s, want %s", k, tt.want)
			}
			if g := got[0]; g.Kind != tt.want || g.Method != tt.method || g.URI != tt.path || string(g.Body) != tt.body {
				t.Errorf("got %s %s of kind %s with body %q, want kind %s", g.Method, g.URI, g.Kind, g.Body, tt.want)
			}
		})
	}
}

func TestTheUpstreamAnswersByKind(t *testing.T) {
	tests := []struct {
		name, method, path, body string
		header                   map[string]string
		status                   int
		want                     string // of the answer's body
	}{
		{"HEAD is fine", "HEAD", "/", "", nil, 200, ``},
		{"an upgrade is refused", "GET", "/v1/responses", "", map[string]string{"Upgrade": "websocket"}, 426, ``},
		{
			"another path is not found", "GET", "/v1/files", "", nil, 404,
			`{"error":{"message":"scripted answer with status 404","type":"invalid_request_error","param":null,"code":null}}`,
		},
		{
			"a broken body is refused", "POST", "/v1/messages", "{", nil, 400,
			`{"type":"error","error":{"type":"invalid_request_error","message":"scripted answer with status 400"}}`,
		},
		{
			"an unknown method of Gemini is not found", "POST", "/v1beta/models/g-1:embedContent", "{}", nil, 404,
			`{"error":{"message":"scripted answer with status 404","type":"invalid_request_error","param":null,"code":null}}`,
		},
		{
			"a broken body of Gemini is refused", "POST", "/v1beta/models/g-1:generateContent", "{", nil, 400,
			`{"error":{"code":400,"message":"scripted answer with status 400","status":"INVALID_ARGUMENT"}}`,
		},
		{"a count of tokens of Gemini is a number", "POST", "/v1beta/models/g-1:countTokens", `{"contents":[ ]}`, nil, 200, `{"totalTokens":4}`},
		{"a count of tokens is a number", "POST", "/v1/messages/count_tokens", `{"messages":[ ]}`, nil, 200, `{"input_tokens":4}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(tt.method, tt.path, strings.NewReader(tt.body))
			for k, v := range tt.header {
				r.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			eval.NewUpstream(eval.Config{}).ServeHTTP(w, r)
			if w.Code != tt.status || w.Body.String() != tt.want {
				t.Errorf("got %d %s, want %d %s", w.Code, w.Body, tt.status, tt.want)
			}
		})
	}
}

// The identifiers are replaced by their prefix: what follows is a hash.
func normalise(s string) string {
	for _, prefix := range []string{"resp_", "msg_", "chatcmpl-", "fc_", "cmp_", "b3BhcXVl"} {
		var b strings.Builder
		for {
			before, after, ok := strings.Cut(s, `"`+prefix)
			b.WriteString(before)
			if !ok {
				break
			}
			b.WriteString(`"` + prefix + `*`)
			_, s, _ = strings.Cut(after, `"`)
			b.WriteString(`"`)
		}
		s = b.String()
	}
	return s
}

func TestAMessagesStreamHasTheEventsOfTheProvider(t *testing.T) {
	up := eval.NewUpstream(eval.Config{Turn: eval.Queue(eval.Reply{
		Text: "I will look at <this> file now.", InputTokens: 98000,
		Calls: []eval.Call{{ID: "toolu_9", Name: "Bash", Args: json.RawMessage(`{"command":"ls"}`)}},
	})})
	status, header, got := ask(t, t.Context(), serve(t, up)+"/v1/messages", nil, claudeTurn)
	if ct := header.Get("Content-Type"); status != 200 || ct != "text/event-stream; charset=utf-8" {
		t.Fatalf("got status %d, type %q", status, ct)
	}
	const want = `event: message_start
data: {"type":"message_start","message":{"id":"msg_*","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":98000,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1,"service_tier":"standard"}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I will look at <this"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"> file now."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_9","name":"Bash","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"command\":\"ls\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":98000,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":13,"service_tier":"standard"}}

event: message_stop
data: {"type":"message_stop"}

`
	if got = normalise(got); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAMessagesAnswerWithoutAStreamIsOneObject(t *testing.T) {
	up := eval.NewUpstream(eval.Config{})
	const body = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Name this."}]}`
	_, _, got := ask(t, t.Context(), serve(t, up)+"/v1/messages", nil, body)
	want := `{"id":"msg_*","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Working on the code"}],` +
		`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":` + strconv.Itoa(len(body)/4) + `,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":5,"service_tier":"standard"}}`
	if got = normalise(got); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// responseObject is the object that Responses events and answers carry.
func responseObject(status, output, usage string) string {
	return `{"id":"resp_*","object":"response","created_at":1700000000,"status":"` + status + `","background":false,"error":null,"incomplete_details":null,` +
		`"instructions":null,"max_output_tokens":null,"model":"m","output":` + output + `,"parallel_tool_calls":true,"previous_response_id":null,` +
		`"prompt_cache_key":"k","store":false,"tool_choice":"auto","truncation":"disabled","usage":` + usage + `,"metadata":{}}`
}

func TestAResponsesStreamHasTheEventsOfTheProvider(t *testing.T) {
	up := eval.NewUpstream(eval.Config{Turn: eval.Queue(eval.Reply{
		Text: "Grüße.", InputTokens: 400000,
		Calls: []eval.Call{{ID: "call_9", Name: "update_plan", Args: json.RawMessage(`{"plan":[]}`)}},
	})})
	_, _, got := ask(t, t.Context(), serve(t, up)+"/v1/responses", nil, codexTurn)
	const (
		part     = `{"type":"output_text","annotations":[],"logprobs":[],"text":"Grüße."}`
		message  = `{"id":"msg_*","type":"message","status":"completed","content":[` + part + `],"role":"assistant"}`
		call     = `{"id":"fc_*","type":"function_call","status":"completed","arguments":"{\"plan\":[]}","call_id":"call_9","name":"update_plan"}`
		usage    = `{"input_tokens":400000,"input_tokens_details":{"cached_tokens":0},"output_tokens":8,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":400008}`
		ofPart   = `"item_id":"msg_*","output_index":0,"content_index":0`
		ofCall   = `"item_id":"fc_*","output_index":1`
		textName = "response.output_text"
		argsName = "response.function_call_arguments"
	)
	var want strings.Builder
	for i, e := range [][2]string{
		{"response.created", `"response":` + responseObject("in_progress", "[]", "null")},
		{"response.in_progress", `"response":` + responseObject("in_progress", "[]", "null")},
		{"response.output_item.added", `"output_index":0,"item":{"id":"msg_*","type":"message","status":"in_progress","content":[],"role":"assistant"}`},
		{"response.content_part.added", ofPart + `,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}`},
		{textName + ".delta", ofPart + `,"delta":"Grüße.","logprobs":[]`},
		{textName + ".done", ofPart + `,"text":"Grüße.","logprobs":[]`},
		{"response.content_part.done", ofPart + `,"part":` + part},
		{"response.output_item.done", `"output_index":0,"item":` + message},
		{"response.output_item.added", `"output_index":1,"item":{"id":"fc_*","type":"function_call","status":"in_progress","arguments":"","call_id":"call_9","name":"update_plan"}`},
		{argsName + ".delta", ofCall + `,"delta":"{\"plan\":[]}"`},
		{argsName + ".done", ofCall + `,"arguments":"{\"plan\":[]}"`},
		{"response.output_item.done", `"output_index":1,"item":` + call},
		{"response.completed", `"response":` + responseObject("completed", "["+message+","+call+"]", usage)},
	} {
		seq, _ := json.Marshal(i)
		want.WriteString("event: " + e[0] + "\ndata: {\"type\":\"" + e[0] + "\",\"sequence_number\":" + string(seq) + "," + e[1] + "}\n\n")
	}
	if got = normalise(got); got != want.String() {
		t.Errorf("got\n%s\nwant\n%s", got, want.String())
	}
}

func TestAChatStreamHasTheChunksOfTheProvider(t *testing.T) {
	reply := eval.Reply{
		Text: "I will look at this file now.", InputTokens: 98000,
		Calls: []eval.Call{{ID: "7", Name: "bash", Args: json.RawMessage(`{"command":"ls -la /"}`)}, {ID: "8", Name: "read"}},
	}
	up := eval.NewUpstream(eval.Config{Turn: eval.Queue(reply, reply)})
	url := serve(t, up) + "/v1/chat/completions"
	_, header, got := ask(t, t.Context(), url, nil, chatTurn)
	if ct := header.Get("Content-Type"); ct != "text/event-stream; charset=utf-8" {
		t.Errorf("got type %q", ct)
	}
	const usage = `"usage":{"prompt_tokens":98000,"completion_tokens":15,"total_tokens":98015}`
	var want strings.Builder
	chunk := func(rest string) {
		want.WriteString(`data: {"id":"chatcmpl-*","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":` + rest + "}\n\n")
	}
	for _, delta := range []string{
		`{"role":"assistant"}`,
		`{"content":"I will look at this "}`,
		`{"content":"file now."}`,
		`{"tool_calls":[{"index":0,"id":"7","type":"function","function":{"name":"bash","arguments":""}}]}`,
		`{"tool_calls":[{"index":0,"function":{"arguments":"{\"command\":\"ls -la /"}}]}`,
		`{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]}`,
		`{"tool_calls":[{"index":1,"id":"8","type":"function","function":{"name":"read","arguments":""}}]}`,
		`{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}`,
	} {
		chunk(`[{"index":0,"delta":` + delta + `,"finish_reason":null}]`)
	}
	chunk(`[{"index":0,"delta":{},"finish_reason":"tool_calls"}]`)
	chunk(`[],` + usage)
	want.WriteString("data: [DONE]\n\n")
	if got = normalise(got); got != want.String() {
		t.Errorf("got\n%s\nwant\n%s", got, want.String())
	}
	_, _, got = ask(t, t.Context(), url, nil, strings.Replace(chatTurn, `"stream":true,"stream_options":{"include_usage":true},`, "", 1))
	whole := `{"id":"chatcmpl-*","object":"chat.completion","created":1700000000,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"I will look at this file now.",` +
		`"tool_calls":[{"id":"7","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls -la /\"}"}},` +
		`{"id":"8","type":"function","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"tool_calls"}],` + usage + `}`
	if got = normalise(got); got != whole {
		t.Errorf("got\n%s\nwant\n%s", got, whole)
	}
}

func TestAGeminiStreamHasTheChunksOfTheProvider(t *testing.T) {
	reply := eval.Reply{
		Text: "I will look at this file now.", InputTokens: 98000,
		Calls: []eval.Call{{ID: "7", Name: "sh", Args: json.RawMessage(`{"c":"ls"}`)}},
	}
	up := eval.NewUpstream(eval.Config{Turn: eval.Queue(reply, reply, eval.Reply{InputTokens: 5})})
	url := serve(t, up) + "/v1beta/models/g-1:"
	const rest = `"index":0}],"usageMetadata":{"promptTokenCount":98000,"candidatesTokenCount":11,"totalTokenCount":98011},"modelVersion":"g-1","responseId":"resp_*"}`
	parts := []string{`{"text":"I will look at this "}`, `{"text":"file now."}`, `{"functionCall":{"id":"7","name":"sh","args":{"c":"ls"}}}`}
	_, _, got := ask(t, t.Context(), url+"streamGenerateContent?alt=sse", nil, geminiTurn)
	want := `data: {"candidates":[{"content":{"parts":[` + parts[0] + `],"role":"model"},` + rest + "\n\n" +
		`data: {"candidates":[{"content":{"parts":[` + parts[1] + `],"role":"model"},` + rest + "\n\n" +
		`data: {"candidates":[{"content":{"parts":[` + parts[2] + `],"role":"model"},"finishReason":"STOP",` + rest + "\n\n"
	if got = normalise(got); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	_, _, got = ask(t, t.Context(), url+"generateContent", nil, geminiTurn)
	want = `{"candidates":[{"content":{"parts":[{"text":"I will look at this file now."},` + parts[2] + `],"role":"model"},"finishReason":"STOP",` + rest
	if got = normalise(got); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	_, _, got = ask(t, t.Context(), url+"streamGenerateContent?alt=sse", nil, geminiTurn)
	want = `data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],` +
		`"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":1,"totalTokenCount":6},"modelVersion":"g-1","responseId":"resp_*"}` + "\n\n"
	if got = normalise(got); got != want {
		t.Errorf("an answer without text: got\n%s\nwant\n%s", got, want)
	}
}

func TestAnOpaqueCompactionIsAnsweredWithOneItem(t *testing.T) {
	const body = `{"model":"m","prompt_cache_key":"k","tools":[{}],"input":[{"type":"compaction_trigger"}]}`
	_, _, got := ask(t, t.Context(), serve(t, eval.NewUpstream(eval.Config{}))+"/v1/responses", nil, body)
	n := len(body) / 4
	want := responseObject("completed", `[{"id":"cmp_*","type":"compaction","encrypted_content":"b3BhcXVl*"}]`,
		fmt.Sprintf(`{"input_tokens":%d,"input_tokens_details":{"cached_tokens":0},"output_tokens":1,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":%d}`, n, n+1))
	if got = normalise(got); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestScriptsAreFollowedInOrderAndSideCallsTakeNothingFromThem(t *testing.T) {
	up := eval.NewUpstream(eval.Config{
		Turn:    eval.Queue(eval.Reply{Text: "one"}, eval.Reply{Text: "two"}),
		Summary: eval.Queue(eval.Reply{Text: "the summary"}),
	})
	url := serve(t, up) + "/v1/messages"
	const body = `{"model":"m","tools":[{}],"messages":[{"role":"user","content":"TEXT"}]}`
	for _, step := range []struct{ body, want string }{
		{strings.Replace(body, "TEXT", "hi", 1), `"one"`},
		{`{"model":"m","messages":[]}`, `"Working on the code"`},
		{strings.Replace(body, "TEXT", "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.", 1), `"the summary"`},
		{strings.Replace(body, "TEXT", "hi", 1), `"two"`},
		{strings.Replace(body, "TEXT", "hi", 1), `"Nothing more to do."`},
	} {
		if _, _, got := ask(t, t.Context(), url, nil, step.body); !strings.Contains(got, `"text":`+step.want) {
			t.Errorf("request %s: got %s, want the text %s", step.body, got, step.want)
		}
	}
}

func TestACutBreaksTheConnection(t *testing.T) {
	for _, tt := range []struct{ name, body, want, never string }{
		{"after two events of a stream", claudeTurn, "event: content_block_start", "event: ping"},
		{"in the middle of a body", strings.Replace(claudeTurn, `"stream":true,`, "", 1), `"type":"message"`, `"usage"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			up := eval.NewUpstream(eval.Config{Turn: eval.Queue(eval.Reply{Text: "some words", CutAfter: 2})})
			resp, err := http.Post(serve(t, up)+"/v1/messages", "application/json", strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("reading the answer ended with %v, want an unexpected end", err)
			}
			if !strings.Contains(string(got), tt.want) || strings.Contains(string(got), tt.never) {
				t.Errorf("got %q before the cut", got)
			}
		})
	}
}

func TestADelayPassesBeforeTheFirstByteAndEndsWithTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := eval.NewUpstream(eval.Config{Turn: eval.Queue(eval.Reply{Text: "late", Delay: time.Minute}, eval.Reply{Text: "never", Delay: time.Hour})})
		start := time.Now()
		w := httptest.NewRecorder()
		up.ServeHTTP(w, httptest.NewRequest("POST", "/v1/messages", strings.NewReader(claudeTurn)))
		if d := time.Since(start); d != time.Minute || !strings.Contains(w.Body.String(), "late") {
			t.Errorf("answered after %v with %q", d, w.Body)
		}
		r := httptest.NewRequest("POST", "/v1/messages", strings.NewReader(claudeTurn))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w = httptest.NewRecorder()
		up.ServeHTTP(w, r.WithContext(ctx))
		if d := time.Since(start); d != time.Minute+time.Second || w.Body.Len() != 0 {
			t.Errorf("the second ended after %v with %q, want a second later and nothing", d, w.Body)
		}
	})
}

func TestIdentifiersNeverRepeatAndDependOnTheSeed(t *testing.T) {
	ids := map[string]bool{}
	for _, seed := range []string{"a", "b"} {
		url := serve(t, eval.NewUpstream(eval.Config{Seed: seed})) + "/v1/messages"
		for range 3 {
			_, _, got := ask(t, t.Context(), url, nil, strings.Replace(claudeTurn, `"stream":true,`, "", 1))
			var m struct{ ID string }
			if err := json.Unmarshal([]byte(got), &m); err != nil {
				t.Fatal(err)
			}
			ids[m.ID] = true
		}
	}
	if len(ids) != 6 {
		t.Errorf("six answers have %d different ids", len(ids))
	}
}
