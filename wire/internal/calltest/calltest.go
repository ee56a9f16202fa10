// Package calltest makes calls for the tests of the writers.
package calltest

import (
	"encoding/base64"
	"fmt"
	"strconv"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
)

// texts are what people, models and tools may write.
var texts = []string{
	"hi", "two\nlines\ttab", `"quoted" \ back`, "grü🧭 \u2028", "</script> & <b>", "\x00\x1f", " spaces ", "日本語", "{\"a\": 1}", "end\r\n",
}

// arguments are what a model may write as an object, in a form that an encoder
// would not keep.
var arguments = []string{
	`{}`, `{"b": 1,  "a":[ ]}`, `{"n":1.50e+3,"n2":12345678901234567890}`, `{"s":"gr\u00fc\/"}`, "{\n \"x\": {\"y\": null}\n}",
}

func text(t *rapid.T) string { return rapid.SampledFrom(texts).Draw(t, "text") }

// Image is an image that every protocol takes from a user.
func Image(content string) holdfast.Media {
	return holdfast.Media{Type: "image", MIME: "image/png", Data: base64.StdEncoding.EncodeToString([]byte(content))}
}

// Form is what the events of a protocol look like.
type Form struct {
	// Reasoning makes the n-th reasoning; nil: none.
	Reasoning func(n int, text string) holdfast.Reasoning
	// ImagesInResults tells that a result can hold an image.
	ImagesInResults bool
	// OneText: a message of the model holds at most one text, before its calls.
	OneText bool
	// Flag: results have an error flag.
	Flag bool
}

// Calls draws a view in the form in which a protocol gives it back: neighbours
// are of different sides, ids are plain and stand for one call each.
func Calls(t *rapid.T, form Form) []holdfast.Event {
	var events []holdfast.Event
	n := 0
	for range rapid.IntRange(1, 4).Draw(t, "turns") {
		parts := []holdfast.Part{holdfast.Text(text(t))}
		if rapid.Bool().Draw(t, "image") {
			parts = append(parts, Image(text(t)), holdfast.Text(text(t)))
		}
		events = append(events, holdfast.UserMessage{Parts: parts})
		for range rapid.IntRange(0, 3).Draw(t, "steps") {
			if form.Reasoning != nil && rapid.Bool().Draw(t, "reasoned") {
				events = append(events, form.Reasoning(n, text(t)))
			}
			if rapid.Bool().Draw(t, "talked") {
				events = append(events, holdfast.AssistantMessage{Text: text(t) + "."})
			}
			var results []holdfast.Event
			for range rapid.IntRange(1, 3).Draw(t, "calls") {
				n++
				id := "call_" + strconv.Itoa(n)
				events = append(events, holdfast.ToolCall{ID: id, Name: fmt.Sprintf("tool%d", n%3), Arguments: []byte(rapid.SampledFrom(arguments).Draw(t, "arguments"))})
				r := holdfast.ToolResult{CallID: id, Parts: []holdfast.Part{holdfast.Text(text(t) + "!")}}
				r.IsError = form.Flag && rapid.Bool().Draw(t, "failed")
				if form.ImagesInResults && rapid.Bool().Draw(t, "shown") {
					r.Parts = append(r.Parts, Image(text(t)))
				}
				results = append(results, r)
			}
			events = append(events, results...)
		}
		events = append(events, holdfast.AssistantMessage{Text: "answer " + text(t) + "."})
		if !form.OneText && rapid.Bool().Draw(t, "more") {
			events = append(events, holdfast.AssistantMessage{Text: "more " + text(t) + "."})
		}
	}
	return events
}

// Views draws a view of any kind: messages in any order, reasoning of every
// protocol and none, ids that are used again or that not all providers take,
// arguments that are no object, media of all kinds.
func Views(t *rapid.T) []holdfast.Event {
	var events []holdfast.Event
	var open []string
	ids := []string{"", "a", "a", "tool#00ff", "call 1", "x_-1"}
	answer := func() {
		events = append(events, holdfast.ToolResult{CallID: open[0], IsError: rapid.Bool().Draw(t, "failed"), Parts: content(t)})
		open = open[1:]
	}
	for range rapid.IntRange(0, 20).Draw(t, "events") {
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			events = append(events, holdfast.UserMessage{Parts: content(t)})
		case 1:
			events = append(events, holdfast.AssistantMessage{Text: rapid.SampledFrom([]string{"", " \n", "said", "\xff"}).Draw(t, "said")})
		case 2:
			events = append(events, holdfast.AssistantMessage{Data: []byte(`{"answer": 42}`)})
		case 3:
			opaque := rapid.SampledFrom([]string{
				"", "not JSON", `{"type":"thinking","thinking":"a","signature":"s"}`, `{"type":"thinking","thinking":"a"}`, `{"type":"redacted_thinking","data":"d"}`,
				`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"}`, `{"type":"reasoning","id":"rs_1"}`, `{"thoughtSignature":"t"}`, `[{"type":"reasoning.text"}]`, `[ ]`,
			}).Draw(t, "opaque")
			r := holdfast.Reasoning{Text: rapid.SampledFrom([]string{"", "hm"}).Draw(t, "thought")}
			if opaque != "" {
				r.Opaque = []byte(opaque)
			}
			events = append(events, r)
		case 4:
			id := rapid.SampledFrom(ids).Draw(t, "id")
			args := rapid.SampledFrom(append([]string{"", "[1]", `"text"`, "not JSON", "{", "\xff{}"}, arguments...)).Draw(t, "arguments")
			events = append(events, holdfast.ToolCall{ID: id, Name: "tool", Arguments: []byte(args)})
			open = append(open, id)
		case 5:
			if len(open) > 0 {
				answer()
			}
		default:
			events = append(events, holdfast.TurnStart{}, holdfast.Settings{JSON: []byte("{}")}, holdfast.Usage{})
		}
	}
	for len(open) > 0 {
		answer()
	}
	return events
}

func content(t *rapid.T) (parts []holdfast.Part) {
	for range rapid.IntRange(0, 3).Draw(t, "parts") {
		parts = append(parts, rapid.SampledFrom([]holdfast.Part{
			holdfast.Text(""), holdfast.Text(" "), holdfast.Text("text"), Image("i"),
			holdfast.Media{Type: "image", MIME: "image/svg+xml", Data: "PHN2Zz4="},
			holdfast.Media{Type: "image", URI: "https://h.example/i.png"},
			holdfast.Media{Type: "file", MIME: "application/pdf", Name: "a.pdf", Data: "JVBERg=="},
			holdfast.Media{Type: "file", MIME: "text/markdown", Name: "a.md", Data: "IyBh"},
			holdfast.Media{Type: "file", MIME: "audio/wav", Data: "UklGRg=="},
			holdfast.Media{Type: "file", URI: "file-123"},
			holdfast.Media{Type: "file", MIME: "application/zip"},
		}).Draw(t, "part"))
	}
	return parts
}

// Whole makes a call of events, with all that a call can have.
func Whole(events []holdfast.Event) holdfast.Call {
	return holdfast.Call{
		Model: "model-1", System: "Be brief.", Events: events, MaxOutput: 100, CacheKey: "conversation-1",
		Tools: []holdfast.ToolDefinition{
			{Name: "bash", Description: `Runs a "command".`, Schema: []byte(`{"type":"object", "properties":{"command":{"type":"string"}}}`)},
			{Name: "now", Description: "Tells the time."},
		},
		Schema: []byte(`{"type":"object","properties":{"answer":{"type":"number"}}}`),
	}
}

// Small is a conversation of one turn with a call, its result and an answer.
// reasoning stands before the call.
func Small(reasoning holdfast.Reasoning) []holdfast.Event {
	return []holdfast.Event{
		holdfast.TurnStart{},
		holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text("look"), Image("png")}},
		reasoning,
		holdfast.AssistantMessage{Text: "I look."},
		holdfast.ToolCall{ID: "call_1", Name: "bash", Arguments: []byte(`{"command": "ls",  "n":1.0}`)},
		holdfast.ToolResult{CallID: "call_1", IsError: true, Parts: []holdfast.Part{holdfast.Text("none"), Image("shot")}},
		holdfast.AssistantMessage{Text: "Nothing there."},
		holdfast.TurnStart{},
		holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text("go on")}},
	}
}
