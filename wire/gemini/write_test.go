package gemini

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/callid"
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
	small := calltest.Small(holdfast.Reasoning{Text: "grün", Opaque: []byte(`{"thoughtSignature":"s\/1"}`)})
	body := func(result string) string {
		return `{"systemInstruction":{"parts":[{"text":"Be brief."}]},` +
			`"tools":[{"functionDeclarations":[{"name":"bash","description":"Runs a \"command\".","parametersJsonSchema":{"type":"object", "properties":{"command":{"type":"string"}}}},` +
			`{"name":"now","description":"Tells the time."}]}],` +
			`"contents":[` +
			`{"role":"user","parts":[{"text":"look"},{"inlineData":{"mimeType":"image/png","data":"cG5n"}}]},` +
			`{"role":"model","parts":[{"text":"I look.","thoughtSignature":"s\/1"},{"functionCall":{"name":"bash","args":{"command": "ls",  "n":1.0}}}]},` +
			`{"role":"user","parts":[{"functionResponse":{"name":"bash","response":` + result + `}}]},` +
			`{"role":"model","parts":[{"text":"Nothing there."}]},` +
			`{"role":"user","parts":[{"text":"go on"}]}` +
			`],"generationConfig":{"maxOutputTokens":100,"responseMimeType":"application/json","responseJsonSchema":{"type":"object","properties":{"answer":{"type":"number"}}}}}`
	}
	for _, tt := range []struct{ name, model, result string }{
		{"a model that takes images in results", "gemini-3-pro", `{"error":"none"},"parts":[{"inlineData":{"mimeType":"image/png","data":"c2hvdA=="}}]`},
		{"a model that does not", "gemini-2.5-pro", `{"error":"none\n[image (image/png) left out: it cannot be sent here]"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			call := calltest.Whole(small)
			call.Model = tt.model
			if diff := cmp.Diff(body(tt.result), string(written(t, call))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheHistoryOfACall(t *testing.T) {
	const skip = `"thoughtSignature":"skip_thought_signature_validator"`
	signature := func(s string) holdfast.Reasoning {
		return holdfast.Reasoning{Opaque: []byte(`{"thoughtSignature":"` + s + `"}`)}
	}
	user := func(parts ...holdfast.Part) holdfast.Event { return holdfast.UserMessage{Parts: parts} }
	calls := func(ids ...string) (events []holdfast.Event) {
		for _, id := range ids {
			events = append(events, holdfast.ToolCall{ID: id, Name: id})
		}
		return events
	}
	results := func(ids ...string) (events []holdfast.Event) {
		for _, id := range ids {
			events = append(events, holdfast.ToolResult{CallID: id})
		}
		return events
	}
	part := func(id, more string) string { return `{"functionCall":{"name":"` + id + `","args":{}}` + more + `}` }
	said := func(ids ...string) string {
		var list []string
		for _, id := range ids {
			list = append(list, `{"functionResponse":{"name":"`+id+`","response":{"output":""}}}`)
		}
		return `{"role":"user","parts":[` + strings.Join(list, ",") + `]}`
	}
	for _, tt := range []struct {
		name, model string
		in          []holdfast.Event
		want        string
	}{
		{
			"signatures go back to the parts that they came with", "gemini-3-pro",
			slices.Concat(
				[]holdfast.Event{user(holdfast.Text("a")), signature("1"), signature("2"), holdfast.AssistantMessage{Text: "b"}, signature("3")}, calls("x", "y"), results("x", "y"),
				[]holdfast.Event{holdfast.AssistantMessage{Data: []byte(`{"c": 1}`)}, signature("4")},
			),
			`[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"","thoughtSignature":"1"},{"text":"b","thoughtSignature":"2"},` + part("x", `,"thoughtSignature":"3"`) + `,` + part("y", "") + `]},` +
				said("x", "y") + `,{"role":"model","parts":[{"text":"{\"c\": 1}"},{"text":"","thoughtSignature":"4"}]}]`,
		},
		{
			"reasoning of another protocol stays out", "gemini-3-pro",
			[]holdfast.Event{holdfast.Reasoning{Text: "a"}, holdfast.Reasoning{Opaque: []byte(`{"type":"thinking","signature":"s"}`)}, holdfast.AssistantMessage{Text: "b"}},
			`[{"role":"model","parts":[{"text":"b"}]}]`,
		},
		{
			"in the turn that goes on the first call of each step has a signature, of a call from elsewhere one that says so", "gemini-3-pro",
			slices.Concat(
				[]holdfast.Event{user(holdfast.Text("a"))}, calls("old"), results("old"), []holdfast.Event{user(holdfast.Text("b"))},
				calls("x", "y"), results("x", "y"), calls("z"), results("z"),
			),
			`[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[` + part("old", "") + `]},` + strings.TrimSuffix(said("old"), "]}") + `,{"text":"b"}]},` +
				`{"role":"model","parts":[` + part("x", ","+skip) + `,` + part("y", "") + `]},` + said("x", "y") + `,{"role":"model","parts":[` + part("z", ","+skip) + `]},` + said("z") + `]`,
		},
		{
			"older models check none", "models/gemini-2.5-flash", slices.Concat([]holdfast.Event{user(holdfast.Text("a"))}, calls("x"), results("x")),
			`[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[` + part("x", "") + `]},` + said("x") + `]`,
		},
		{
			"media by address, and without a type", "gemini-3-pro",
			[]holdfast.Event{user(holdfast.Media{Type: "file", MIME: "application/pdf", URI: "gs://b/f"}, holdfast.Media{Type: "image", URI: "https://h.example/i"})},
			`[{"role":"user","parts":[{"fileData":{"mimeType":"application/pdf","fileUri":"gs://b/f"}},{"text":"[image left out: it cannot be sent here]"}]}]`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := written(t, holdfast.Call{Model: tt.model, Events: tt.in})
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

// What this wire does not carry is the ids of calls: the reader makes its own.
func TestWhatIsWrittenReadsBack(t *testing.T) {
	form := calltest.Form{OneText: true, Flag: true, Reasoning: func(n int, _ string) holdfast.Reasoning {
		return holdfast.Reasoning{Opaque: []byte(`{"thoughtSignature":"s` + strconv.Itoa(n) + `\/"}`)}
	}}
	rapid.Check(t, func(t *rapid.T) {
		form := form
		form.ImagesInResults = rapid.Bool().Draw(t, "newer")
		events := calltest.Calls(t, form)
		call := calltest.Whole(events)
		call.Model = "gemini-2.5-pro"
		if form.ImagesInResults {
			call.Model = "gemini-3-pro"
			// Behind the user's last words no call is without a signature.
			call.Events = append(call.Events, holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text("end")}})
		}
		want := slices.Clone(call.Events)
		names := map[string]string{}
		for i, e := range want {
			switch e := e.(type) {
			case holdfast.ToolCall:
				names[e.ID] = e.Name
				e.ID = callid.Of(e.Name, e.Arguments)
				want[i] = e
			case holdfast.ToolResult:
				e.CallID = callid.Result(names[e.CallID])
				want[i] = e
			}
		}
		if diff := cmp.Diff(want, readBack(t, written(t, call)), digests); diff != "" {
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
