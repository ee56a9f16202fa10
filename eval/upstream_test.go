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
	codexTurn  = `{"model":"m","stream":true,"tools":[{"name":"sh"}],"prompt_cache_key":"k","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}`
)

func TestARequestIsTakenForWhatItIs(t *testing.T) {
	const ask = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."
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
	for _, prefix := range []string{"resp_", "msg_", "fc_", "cmp_", "b3BhcXVl"} {
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
