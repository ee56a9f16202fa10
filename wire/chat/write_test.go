package chat

import (
	"encoding/json"
	"regexp"
	"slices"
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

// small is the call of the exact bytes, with the members that end it.
const (
	smallHead = `"stream":true,"stream_options":{"include_usage":true},`
	smallTail = `"tools":[{"type":"function","function":{"name":"bash","description":"Runs a \"command\".","parameters":{"type":"object", "properties":{"command":{"type":"string"}}}}},` +
		`{"type":"function","function":{"name":"now","description":"Tells the time.","parameters":{"type":"object","properties":{}}}}],` +
		`"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object","properties":{"answer":{"type":"number"}}}}}}`
)

func smallMessages(reasoning string) string {
	return `"messages":[{"role":"system","content":"Be brief."},` +
		`{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]},` +
		`{"role":"assistant","content":"I look.",` + reasoning + `"tool_calls":[{"id":"call_1","type":"function","function":{"name":"bash","arguments":"{\"command\": \"ls\",  \"n\":1.0}"}}]},` +
		`{"role":"tool","tool_call_id":"call_1","content":"none\n[image (image/png) left out: it cannot be sent here]"},` +
		`{"role":"assistant","content":"Nothing there."},` +
		`{"role":"user","content":"go on"}],`
}

func TestTheBytesOfACall(t *testing.T) {
	const details = `[{"data":"e\/1", "type":"reasoning.encrypted"}]`
	call := calltest.Whole(calltest.Small(holdfast.Reasoning{Text: "grün", Opaque: []byte(details)}))
	want := `{"model":"model-1",` + smallHead + `"max_tokens":100,` + smallMessages(`"reasoning_details":`+details+`,`) + smallTail
	if diff := cmp.Diff(want, string(written(t, call))); diff != "" {
		t.Error(diff)
	}
}

func TestTheBytesOfACallOfOpenAI(t *testing.T) {
	got, err := Codec{}.WriteOpenAI(calltest.Whole(calltest.Small(holdfast.Reasoning{Text: "hm"})))
	want := `{"model":"model-1",` + smallHead + `"max_completion_tokens":100,` + smallMessages("") + smallTail
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// What a strict server knows of an assistant's message and of a result, and how the ids
// of calls look there.
func TestTheHistoryOfAStrictCall(t *testing.T) {
	nine := regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
	own := []holdfast.Event{holdfast.ToolCall{ID: "D681PevKs", Name: "f"}, holdfast.ToolResult{CallID: "D681PevKs"}}
	got, err := Codec{}.WriteStrict(holdfast.Call{Model: "m", Events: own})
	if want := `"tool_calls":[{"id":"D681PevKs",`; err != nil || !strings.Contains(string(got), want) || !strings.Contains(string(got), `"tool_call_id":"D681PevKs"`) {
		t.Errorf("%v: an id that is taken has changed: %s", err, got)
	}
	rapid.Check(t, func(t *rapid.T) {
		body, err := Codec{}.WriteStrict(calltest.Whole(calltest.Views(t)))
		if err != nil {
			t.Fatal(err)
		}
		var request struct {
			Messages []map[string]json.RawMessage
			Bound    int `json:"max_tokens"`
		}
		if err := json.Unmarshal(body, &request); err != nil || request.Bound == 0 {
			t.Fatal(err, request.Bound)
		}
		var open []string // calls without a result
		for _, m := range request.Messages {
			var calls []struct{ ID string }
			var answered string
			for name, value := range m {
				switch name {
				case "role", "content":
				case "tool_calls":
					if err := json.Unmarshal(value, &calls); err != nil {
						t.Fatal(err)
					}
				case "tool_call_id":
					if err := json.Unmarshal(value, &answered); err != nil {
						t.Fatal(err)
					}
				default:
					t.Fatalf("a message has %s", name)
				}
			}
			for _, c := range calls {
				if open = append(open, c.ID); !nine.MatchString(c.ID) {
					t.Fatalf("a call has the id %q", c.ID)
				}
			}
			if answered != "" {
				i := slices.Index(open, answered)
				if i < 0 {
					t.Fatalf("a result is of %q, open are %q", answered, open)
				}
				open = slices.Delete(open, i, i+1)
			}
		}
		if len(open) > 0 {
			t.Fatalf("no results of %q", open)
		}
	})
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
			"reasoning in the clear goes back with the calls behind it",
			[]holdfast.Event{
				holdfast.Reasoning{Text: "a"},
				holdfast.ToolCall{ID: "x", Name: "f"},
				holdfast.ToolResult{CallID: "x"},
				holdfast.Reasoning{Text: "b", Opaque: []byte(`{"type":"thinking","signature":"s"}`)},
				holdfast.AssistantMessage{Data: []byte(`{"a": 1}`)},
			},
			`[{"role":"assistant","content":null,"reasoning_content":"a","tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
				`{"role":"tool","tool_call_id":"x","content":""},{"role":"assistant","content":"{\"a\": 1}"}]`,
		},
		{
			"two messages of the model in a row are one, with the texts before the calls",
			[]holdfast.Event{
				holdfast.AssistantMessage{Text: "a"},
				holdfast.Reasoning{Opaque: []byte(`[{"i":1}]`)},
				holdfast.ToolCall{ID: "x", Name: "f", Arguments: []byte("broken")},
				holdfast.Reasoning{Opaque: []byte(` [ {"i":2} , 3 ]`)},
				holdfast.AssistantMessage{Text: "b"},
				holdfast.ToolResult{CallID: "x"},
			},
			`[{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"reasoning_details":[{"i":1},{"i":2} , 3],` +
				`"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{\"input\":\"broken\"}"}}]},{"role":"tool","tool_call_id":"x","content":""}]`,
		},
		{
			"files, audio and addresses",
			user(
				holdfast.Media{Type: "file", MIME: "application/pdf", Data: "JQ=="}, holdfast.Media{Type: "file", MIME: "text/plain", Name: "a.txt", Data: "YQ=="}, holdfast.Media{Type: "file", URI: "file-1"},
				holdfast.Media{Type: "file", MIME: "audio/wav", Data: "UklGRg=="}, holdfast.Media{Type: "image", URI: "https://h.example/i"},
				holdfast.Media{Type: "file", URI: "https://h.example/f"},
			),
			`[{"role":"user","content":[{"type":"file","file":{"filename":"file","file_data":"data:application/pdf;base64,JQ=="}},{"type":"file","file":{"filename":"a.txt","file_data":"data:text/plain;base64,YQ=="}},{"type":"file","file":{"file_id":"file-1"}},` +
				`{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}},{"type":"image_url","image_url":{"url":"https://h.example/i"}},` +
				`{"type":"text","text":"[file left out: it cannot be sent here]"}]}]`,
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

func TestASchemaWhereNoneIsTaken(t *testing.T) {
	call := holdfast.Call{Model: "m", System: "Be brief.", Schema: []byte(`{"type": "object"}`)}
	for _, system := range []string{"Be brief.", ""} {
		call.System = system
		got, err := Codec{}.WriteDeepSeek(call)
		if system != "" {
			system += `\n\n`
		}
		want := `{"model":"m","stream":true,"stream_options":{"include_usage":true},` +
			`"messages":[{"role":"system","content":"` + system + `Answer with one JSON value, and nothing beside it, that follows this JSON schema:\n{\"type\": \"object\"}"}],"response_format":{"type":"json_object"}}`
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
	call.Schema = nil
	plain, err := Codec{}.WriteDeepSeek(call)
	if diff := cmp.Diff(string(written(t, call)), string(plain)); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// The names of audio that systems and browsers give, and the ones that the API takes.
func TestFormatsOfAudio(t *testing.T) {
	for mime, want := range map[string]string{
		"audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/x-mp3": "mp3",
		"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/vnd.wave": "wav",
		"audio/flac": "flac", "audio/x-flac": "flac", "audio/ogg": "ogg",
	} {
		parts := []holdfast.Part{holdfast.Media{Type: "file", MIME: mime, Data: "UklGRg=="}}
		body := string(written(t, holdfast.Call{Model: "m", Events: []holdfast.Event{holdfast.UserMessage{Parts: parts}}}))
		if !strings.Contains(body, `"input_audio":{"data":"UklGRg==","format":"`+want+`"}`) {
			t.Errorf("%s: %s", mime, body)
		}
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
	opaque := calltest.Form{OneText: true, Reasoning: func(_ int, text string) holdfast.Reasoning {
		quoted, _ := json.Marshal(text)
		return holdfast.Reasoning{Opaque: []byte(`[{"type":"reasoning.text", "text":` + string(quoted) + `}]`)}
	}}
	clear := calltest.Form{OneText: true, Reasoning: func(_ int, text string) holdfast.Reasoning { return holdfast.Reasoning{Text: text} }}
	rapid.Check(t, func(t *rapid.T) {
		events := calltest.Calls(t, rapid.SampledFrom([]calltest.Form{opaque, clear}).Draw(t, "form"))
		body := written(t, calltest.Whole(events))
		want := append([]holdfast.Event{holdfast.SystemMessage{}}, events...)
		if diff := cmp.Diff(want, readBack(t, body), digests); diff != "" {
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
