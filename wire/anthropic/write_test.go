package anthropic

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/calltest"
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
	const opaque = `{"signature":"s\/1", "type":"thinking","thinking":"gr\u00fcn"}`
	got := string(written(t, calltest.Whole(calltest.Small(holdfast.Reasoning{Text: "grün", Opaque: []byte(opaque)}))))
	want := `{"model":"model-1","max_tokens":100,"stream":true,` +
		`"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],` +
		`"tools":[{"name":"bash","description":"Runs a \"command\".","input_schema":{"type":"object", "properties":{"command":{"type":"string"}}}},` +
		`{"name":"now","description":"Tells the time.","input_schema":{"type":"object","properties":{}},"cache_control":{"type":"ephemeral"}}],` +
		`"messages":[` +
		`{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}}]},` +
		`{"role":"assistant","content":[` + opaque + `,{"type":"text","text":"I look."},{"type":"tool_use","id":"call_1","name":"bash","input":{"command": "ls",  "n":1.0}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":[{"type":"text","text":"none"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"c2hvdA=="}}],"is_error":true}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"Nothing there."}]},` +
		`{"role":"user","content":[{"type":"text","text":"go on","cache_control":{"type":"ephemeral"}}]}` +
		`],"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{"answer":{"type":"number"}}}}}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheHistoryOfACall(t *testing.T) {
	image := func(mime string) holdfast.Media { return holdfast.Media{Type: "image", MIME: mime, Data: "aQ=="} }
	user := func(parts ...holdfast.Part) []holdfast.Event {
		return []holdfast.Event{holdfast.UserMessage{Parts: parts}}
	}
	for _, tt := range []struct {
		name string
		in   []holdfast.Event
		want string
	}{
		{
			"reasoning of another protocol, without a signature, or none of a provider's stays out",
			[]holdfast.Event{
				holdfast.Reasoning{Text: "a"},
				holdfast.Reasoning{Opaque: []byte(`{"type":"reasoning","encrypted_content":"e"}`)},
				holdfast.Reasoning{Opaque: []byte(`{"type":"thinking","thinking":"a","signature":""}`)},
				holdfast.Reasoning{Opaque: []byte(`{"thoughtSignature":"t"}`)},
				holdfast.AssistantMessage{Text: "b"},
			},
			`[{"role":"assistant","content":[{"type":"text","text":"b"}]}]`,
		},
		{
			"redacted reasoning goes back",
			[]holdfast.Event{holdfast.Reasoning{Opaque: []byte(`{"type":"redacted_thinking","data":"Em"}`)}, holdfast.AssistantMessage{Data: []byte(`{"a": 1}`)}},
			`[{"role":"assistant","content":[{"type":"redacted_thinking","data":"Em"},{"type":"text","text":"{\"a\": 1}"}]}]`,
		},
		{
			"arguments that are no object are put into one, results that say nothing are empty",
			[]holdfast.Event{holdfast.ToolCall{ID: "a", Name: "f", Arguments: []byte(`["x"]`)}, holdfast.ToolResult{CallID: "a", Parts: []holdfast.Part{holdfast.Text("\n")}}},
			`[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"input":["x"]}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[]}]}]`,
		},
		{
			"addresses of images and files", user(holdfast.Media{Type: "image", URI: "https://h.example/i"}, holdfast.Media{Type: "file", Name: "a", URI: "http://h.example/a"}),
			`[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://h.example/i"}},{"type":"document","source":{"type":"url","url":"http://h.example/a"},"title":"a"}]}]`,
		},
		{
			"a document and a plain text", user(holdfast.Media{Type: "file", MIME: "application/pdf", Data: "JQ=="}, holdfast.Media{Type: "file", MIME: "text/markdown", Name: "a.md", Data: "IyBh"}),
			`[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JQ=="}},` +
				`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"# a"},"title":"a.md"}]}]`,
		},
		{
			"what the API does not take is told in words", user(image("image/svg+xml"), holdfast.Media{Type: "file", MIME: "audio/wav", Data: "UklGRg=="}, holdfast.Media{Type: "file", URI: "file-1"}),
			`[{"role":"user","content":[{"type":"text","text":"[image (image/svg+xml) left out: it cannot be sent here]"},` +
				`{"type":"text","text":"[file (audio/wav) left out: it cannot be sent here]"},{"type":"text","text":"[file left out: it cannot be sent here]"}]}]`,
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

func TestACallOfTheLeast(t *testing.T) {
	if got, want := string(written(t, holdfast.Call{Model: "m"})), `{"model":"m","max_tokens":8192,"stream":true,"messages":[]}`; got != want {
		t.Errorf("got %s", got)
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
	form := calltest.Form{ImagesInResults: true, Flag: true, Reasoning: func(n int, text string) holdfast.Reasoning {
		quoted, _ := json.Marshal(text)
		return holdfast.Reasoning{Text: text, Opaque: []byte(`{"type":"thinking", "thinking":` + string(quoted) + `,"signature":"a\/b"}`)}
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
		readBack(t, body)
	})
}
