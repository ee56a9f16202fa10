package recording

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/redact"
)

func newRedactor(t interface{ Fatal(...any) }) redactor {
	r, err := redact.New([]redact.Pattern{{Kind: "test", Literal: "hunter2", Regexp: "hunter2"}, {Kind: "number", Literal: "4711", Regexp: "4711"}})
	if err != nil {
		t.Fatal(err)
	}
	return redactor{func(s string) (string, int) {
		clean, found := r.Text(s)
		return clean, len(found)
	}}
}

func TestJSONIsRedactedAndStaysJSON(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"nothing to find: byte for byte", `{"b" : 1e2,"a":"\u0041\/"}`, `{"b" : 1e2,"a":"\u0041\/"}`},
		{"a string, and nothing around it", `{"b": 1e2, "a":["x hunter2 <y>", "\/"]}`, `{"b": 1e2, "a":["x [redacted:test] <y>", "\/"]}`},
		{"behind escapes", `{"a":"h\u0075nter2\n"}`, `{"a":"[redacted:test]\n"}`},
		{"a key", `{"hunter2":1}`, `{"[redacted:test]":1}`},
		{"a value that its name gives away", `{"password": "Xk9#mQ2$vL7pRt"}`, `{"password": "[redacted:password]"}`},
		{"a bare number: the whole is a text then", `{"a":4711}`, `"{\"a\":[redacted:number]}"`},
		{"no JSON", `{"a":"hunter2`, `{"a":"[redacted:test]`},
		{"quotes and backslashes at the end of strings", `["\\","\"","a\\\"hunter2"]`, `["\\","\"","a\\\"[redacted:test]"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(newRedactor(t).json([]byte(tt.in))); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	if got := newRedactor(t).json(nil); got != nil {
		t.Errorf("nothing becomes %q", got)
	}
}

func TestRedactedJSONIsValidAndHoldsNoSecret(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"hunter2", "4711", "\"", "\\", "\n", "ü", "🧭", "{", "a", " "}), 0, 8).Draw(t, "pieces"), "")
	})
	value := rapid.Deferred(func() *rapid.Generator[any] {
		return rapid.OneOf(
			text.AsAny(), rapid.SampledFrom([]any{nil, true, 4711, 1.5}),
			rapid.SliceOfN(text.AsAny(), 0, 3).AsAny(), rapid.MapOfN(text, text.AsAny(), 0, 3).AsAny(),
		)
	})
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(map[string]any{text.Draw(t, "key"): value.Draw(t, "value")})
		if err != nil {
			t.Fatal(err)
		}
		got := newRedactor(t).json(raw)
		if !json.Valid(got) || strings.Contains(string(got), "hunter2") || strings.Contains(string(got), "4711") {
			t.Fatalf("%s becomes %s", raw, got)
		}
	})
}

func TestEventsAreRedacted(t *testing.T) {
	state := []byte(`{"type":"thinking","thinking":"hm","signature":"EqoBCkgIARABGAIiQL2UoU0b1OHYi"}`)
	for _, tt := range []struct {
		name     string
		in, want holdfast.Event
	}{
		{
			"a message, its file's name, address and text",
			holdfast.UserMessage{Parts: []holdfast.Part{
				holdfast.Text("hunter2"),
				holdfast.Media{Type: "file", MIME: "text/plain", Name: "hunter2.txt", Data: "aHVudGVyMg=="},
				holdfast.Media{Type: "image", URI: "https://a.example/?key=hunter2"},
			}},
			holdfast.UserMessage{Parts: []holdfast.Part{
				holdfast.Text("[redacted:test]"),
				holdfast.Media{Type: "file", MIME: "text/plain", Name: "[redacted:test].txt", Data: "W3JlZGFjdGVkOnRlc3Rd"},
				holdfast.Media{Type: "image", URI: "https://a.example/?key=[redacted:test]"},
			}},
		},
		{
			"an image as it is",
			holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Media{Type: "image", MIME: "image/png", Data: "hunter2="}}},
			holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Media{Type: "image", MIME: "image/png", Data: "hunter2="}}},
		},
		{"an answer", holdfast.AssistantMessage{Text: "hunter2"}, holdfast.AssistantMessage{Text: "[redacted:test]"}},
		{"reasoning without a secret keeps its state", holdfast.Reasoning{Text: "hm", Opaque: state}, holdfast.Reasoning{Text: "hm", Opaque: state}},
		{"reasoning with one loses it", holdfast.Reasoning{Text: "hunter2", Opaque: state}, holdfast.Reasoning{Text: "[redacted:test]"}},
		{"and with one in its state", holdfast.Reasoning{Text: "hm", Opaque: []byte(`{"data":"hunter2"}`)}, holdfast.Reasoning{Text: "hm"}},
		{
			"a call",
			holdfast.ToolCall{ID: "c", Name: "n", Arguments: []byte(`{"a":"hunter2"}`)},
			holdfast.ToolCall{ID: "c", Name: "n", Arguments: []byte(`{"a":"[redacted:test]"}`)},
		},
		{
			"a result",
			holdfast.ToolResult{CallID: "c", IsError: true, Parts: []holdfast.Part{holdfast.Text("hunter2")}},
			holdfast.ToolResult{CallID: "c", IsError: true, Parts: []holdfast.Part{holdfast.Text("[redacted:test]")}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, newRedactor(t).event(tt.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestACapsuleIsRedactedUnderItsDigest(t *testing.T) {
	in := holdfast.Capsule{SchemaVersion: 1, Revision: 2, Digest: "sha256:x", Plan: &holdfast.Plan{Steps: []holdfast.Step{{Text: "use hunter2"}}}}
	got := newRedactor(t).capsule(in)
	if got.Digest != "sha256:x" || got.Revision != 2 || got.Plan.Steps[0].Text != "use [redacted:test]" || in.Plan.Steps[0].Text != "use hunter2" {
		t.Errorf("%+v, %+v", got, in)
	}
}
