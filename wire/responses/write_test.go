package responses

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/calltest"
	"github.com/holdfast-dev/holdfast/wire/internal/outgoing"
)

func written(t interface{ Fatal(...any) }, call holdfast.Call) []byte {
	body, err := Codec{}.WriteCall(call)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// readBack reads the history of a request that was written.
func readBack(t interface{ Fatal(...any) }, body []byte) (events []holdfast.Event) {
	req, err := Codec{}.Scan(body)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range req.Messages {
		more, err := Codec{}.Whole(s.Of(body))
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, more...)
	}
	return events
}

// digests are the reader's own.
var digests = cmpopts.IgnoreFields(holdfast.AssistantMessage{}, "Digest", "Len")

func TestTheBytesOfACall(t *testing.T) {
	const opaque = `{"id":"rs_1", "type":"reasoning","summary":[{"type":"summary_text","text":"gr\u00fcn"}],"encrypted_content":"e\/1"}`
	got := string(written(t, calltest.Whole(calltest.Small(holdfast.Reasoning{Text: "grün", Opaque: []byte(opaque)}))))
	want := `{"model":"model-1","stream":true,"store":false,"include":["reasoning.encrypted_content"],"instructions":"Be brief.",` +
		`"prompt_cache_key":"conversation-1","max_output_tokens":100,` +
		`"tools":[{"type":"function","name":"bash","description":"Runs a \"command\".","strict":false,"parameters":{"type":"object", "properties":{"command":{"type":"string"}}}},` +
		`{"type":"function","name":"now","description":"Tells the time.","strict":false,"parameters":{"type":"object","properties":{}}}],` +
		`"input":[` +
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"look"},{"type":"input_image","image_url":"data:image/png;base64,cG5n"}]},` +
		opaque + `,` +
		`{"type":"message","role":"assistant","content":"I look."},` +
		`{"type":"function_call","call_id":"call_1","name":"bash","arguments":"{\"command\": \"ls\",  \"n\":1.0}"},` +
		`{"type":"function_call_output","call_id":"call_1","output":[{"type":"input_text","text":"none"},{"type":"input_image","image_url":"data:image/png;base64,c2hvdA=="}]},` +
		`{"type":"message","role":"assistant","content":"Nothing there."},` +
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}` +
		`],"text":{"format":{"type":"json_schema","name":"answer","schema":{"type":"object","properties":{"answer":{"type":"number"}}},"strict":false}}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// OpenAI's models that do not reason refuse to be asked for encrypted reasoning, and to
// get any.
func TestModelsThatDoNotReasonHearNothingOfIt(t *testing.T) {
	events := []holdfast.Event{
		holdfast.Reasoning{Opaque: []byte(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"}`)},
		holdfast.AssistantMessage{Text: "done"},
	}
	for model, reasons := range map[string]bool{
		"gpt-4o": false, "gpt-4o-mini-2024-07-18": false, "gpt-4.1-mini": false, "gpt-4-turbo": false, "gpt-3.5-turbo": false, "chatgpt-4o-latest": false,
		"gpt-5-chat-latest": false, "openai/gpt-4.1": false, "ft:gpt-4.1-mini-2025-04-14:acme::x": false,
		"gpt-5": true, "gpt-5.1-chat-latest": true, "gpt-5.6-luna": true, "o3": true, "o4-mini": true, "gpt-40": true, "openai/gpt-oss-120b": true, "model-1": true,
	} {
		body := string(written(t, holdfast.Call{Model: model, Events: events}))
		if strings.Contains(body, `"include":["reasoning.encrypted_content"]`) != reasons || strings.Contains(body, `"id":"rs_1"`) != reasons {
			t.Errorf("%s: %s", model, body)
		}
	}
}

func TestTheHistoryOfACall(t *testing.T) {
	user := func(parts ...holdfast.Part) []holdfast.Event {
		return []holdfast.Event{holdfast.UserMessage{Parts: parts}}
	}
	for _, tt := range []struct {
		name string
		in   []holdfast.Event
		want string
	}{
		{
			"reasoning of another protocol, or that is an id only, stays out; reasoning in the clear goes back",
			[]holdfast.Event{
				holdfast.Reasoning{Text: "a"},
				holdfast.Reasoning{Opaque: []byte(`{"type":"thinking","signature":"s"}`)},
				holdfast.Reasoning{Opaque: []byte(`{"type":"reasoning","id":"rs_1","summary":[]}`)},
				holdfast.Reasoning{Opaque: []byte(`{"type":"reasoning","content":[{"type":"reasoning_text","text":"c"}]}`)},
				holdfast.AssistantMessage{Data: []byte(`{"a": 1}`)},
			},
			`[{"type":"reasoning","content":[{"type":"reasoning_text","text":"c"}]},{"type":"message","role":"assistant","content":"{\"a\": 1}"}]`,
		},
		{
			"a call in a namespace without arguments, and a result that is one text",
			[]holdfast.Event{holdfast.ToolCall{ID: "x", Name: "f", Namespace: "n"}, holdfast.ToolResult{CallID: "x", Parts: []holdfast.Part{holdfast.Text("")}}},
			`[{"type":"function_call","call_id":"x","name":"f","namespace":"n","arguments":"{}"},{"type":"function_call_output","call_id":"x","output":""}]`,
		},
		{
			"files, addresses and ids",
			user(
				holdfast.Media{Type: "file", MIME: "application/pdf", Data: "JQ=="}, holdfast.Media{Type: "file", MIME: "text/plain", Name: "a.txt", Data: "YQ=="}, holdfast.Media{Type: "file", URI: "https://h.example/f"},
				holdfast.Media{Type: "file", URI: "file-1"}, holdfast.Media{Type: "image", URI: "file-2"}, holdfast.Media{Type: "image", URI: "https://h.example/i"},
				holdfast.Media{Type: "file", MIME: "audio/wav", Data: "UklGRg=="}, holdfast.Media{Type: "file", URI: "gs://b/f"},
			),
			`[{"type":"message","role":"user","content":[{"type":"input_file","filename":"file","file_data":"data:application/pdf;base64,JQ=="},{"type":"input_file","filename":"a.txt","file_data":"data:text/plain;base64,YQ=="},{"type":"input_file","file_url":"https://h.example/f"},` +
				`{"type":"input_file","file_id":"file-1"},{"type":"input_image","file_id":"file-2"},{"type":"input_image","image_url":"https://h.example/i"},` +
				`{"type":"input_text","text":"[file (audio/wav) left out: it cannot be sent here]"},{"type":"input_text","text":"[file left out: it cannot be sent here]"}]}]`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := written(t, holdfast.Call{Model: "m", Events: tt.in})
			req, err := Codec{}.Scan(body)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(req.List.Of(body))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCallsThatCannotBeWritten(t *testing.T) {
	for _, tt := range []struct {
		name string
		call holdfast.Call
		want string
	}{
		{"a schema of the answer that is a list", holdfast.Call{Schema: []byte(`[]`)}, "The schema of the answer is not a JSON object. Correct it and try again."},
		{"a schema of a tool that is broken off", holdfast.Call{Tools: []holdfast.ToolDefinition{{Name: "f", Schema: []byte(`{"a":`)}}}, "The schema of the tool f is not a JSON object. Correct it and try again."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := (Codec{}).WriteCall(tt.call); err == nil || err.Error() != tt.want || holdfast.CodeOf(err) != holdfast.ErrUsage {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestWhatIsWrittenReadsBack(t *testing.T) {
	form := calltest.Form{ImagesInResults: true, Reasoning: func(n int, text string) holdfast.Reasoning {
		quoted, _ := json.Marshal(text)
		return holdfast.Reasoning{Text: text, Opaque: []byte(`{"type":"reasoning", "id":"rs_1","summary":[{"type":"summary_text","text":` + string(quoted) + `}],"encrypted_content":"a\/b"}`)}
	}}
	rapid.Check(t, func(t *rapid.T) {
		events := calltest.Calls(t, form)
		body := written(t, calltest.Whole(events))
		if diff := cmp.Diff(events, readBack(t, body), digests); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestAnyViewIsWrittenAsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		call := calltest.Whole(calltest.Views(t))
		body := written(t, call)
		if !json.Valid(body) {
			t.Fatalf("no JSON: %s", body)
		}
		if string(written(t, call)) != string(body) {
			t.Fatal("the same call gave other bytes")
		}
		for _, e := range readBack(t, body) {
			if c, ok := e.(holdfast.ToolCall); ok && !outgoing.IsObject(c.Arguments) {
				t.Fatalf("arguments that servers refuse: %s", c.Arguments)
			}
		}
	})
}
