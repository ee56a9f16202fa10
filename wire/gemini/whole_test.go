package gemini

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
)

func signed(text, signature string) holdfast.Reasoning {
	return holdfast.Reasoning{Text: text, Opaque: []byte(`{"thoughtSignature":` + signature + `}`)}
}

const run = `{"functionCall":{"name":"sh","args":{"x": 1}},"thoughtSignature":"c\/w"}`

func TestWhole(t *testing.T) {
	for _, tt := range []struct {
		name, element string
		want          []holdfast.Event
	}{
		{
			"thoughts in a row are one", `{"role":"model","parts":[{"thought":true,"text":"gr\u00fc"},{"text":"n","thought":true,"thoughtSignature":"c1"},{"text":"so"}]}`,
			[]holdfast.Event{signed("grün", `"c1"`), said("so")},
		},
		{
			"a signature of a call stands before the call and behind the text", `{"role":"model","parts":[{"text":"so"},` + run + `,{"functionCall":{"name":"sh","args":{"x":2}}}]}`,
			[]holdfast.Event{said("so"), signed("", `"c\/w"`), called("sh", `{"x": 1}`), called("sh", `{"x":2}`)},
		},
		{
			"a signature of a text stands before all of it", `{"role":"model","parts":[{"text":"s"},{"text":"o","thought_signature":"c1"}]}`,
			[]holdfast.Event{signed("", `"c1"`), said("so")},
		},
		{
			"a thought without a signature takes that of the call behind it", `{"role":"model","parts":[{"text":"hm","thought":true},` + run + `]}`,
			[]holdfast.Event{signed("hm", `"c\/w"`), called("sh", `{"x": 1}`)},
		},
		{
			"two signatures in a row", `{"role":"model","parts":[{"text":"a","thought":true,"thoughtSignature":"c1"},{"text":"b","thought":true,"thoughtSignature":"c2"}]}`,
			[]holdfast.Event{signed("a", `"c1"`), signed("b", `"c2"`)},
		},
		{
			"media", `{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"AA=="}},{"inline_data":{"mime_type":"audio/wav","data":"UklG"}},` +
				`{"fileData":{"mimeType":"application/pdf","fileUri":"https://a.example/files/1","displayName":"a.pdf"}}]}`,
			[]holdfast.Event{holdfast.UserMessage{Parts: []holdfast.Part{
				holdfast.Media{Type: "image", MIME: "image/png", Data: "AA=="},
				holdfast.Media{Type: "file", MIME: "audio/wav", Data: "UklG"},
				holdfast.Media{Type: "file", MIME: "application/pdf", Name: "a.pdf", URI: "https://a.example/files/1"},
			}}},
		},
		{
			"results: an output, an error, another form, media beside it",
			`{"role":"user","parts":[{"functionResponse":{"name":"sh","response":{"output":"` + strings.Repeat("x", holdfast.MaxResultText+1) + `"}}},` +
				`{"functionResponse":{"name":"sh","response":{"error":"no"}}},{"functionResponse":{"name":"sh","response":{"n": 1}}},` +
				`{"functionResponse":{"name":"see","response":{"output":"seen"},"parts":[{"inlineData":{"mimeType":"image/png","data":"AA=="}}]}},{"functionResponse":{"name":"sh"}}]}`,
			[]holdfast.Event{
				holdfast.ToolResult{CallID: "sh#", Parts: []holdfast.Part{holdfast.Text(strings.Repeat("x", holdfast.MaxResultText+1))}},
				holdfast.ToolResult{CallID: "sh#", IsError: true, Parts: []holdfast.Part{holdfast.Text("no")}},
				holdfast.ToolResult{CallID: "sh#", Parts: []holdfast.Part{holdfast.Text(`{"n": 1}`)}},
				holdfast.ToolResult{CallID: "see#", Parts: []holdfast.Part{holdfast.Text("seen"), holdfast.Media{Type: "image", MIME: "image/png", Data: "AA=="}}},
				holdfast.ToolResult{CallID: "sh#", Parts: []holdfast.Part{}},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Codec{}.Whole([]byte(tt.element))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadWhole(t *testing.T) {
	got, err := Codec{}.ReadWhole([]byte(answer(`{"text":"hm","thought":true,"thoughtSignature":"c1"},{"text":"so"}`, "STOP")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]holdfast.Event{signed("hm", `"c1"`), said("so")}, got.Events); diff != "" {
		t.Error(diff)
	}
}

func TestAWholeStream(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, tt := range []struct {
		name, in string
		want     []holdfast.Event
	}{
		{
			"thoughts, text and a call in chunks",
			chunkOf(`{"text":"gr\u00fc","thought":true}`) + chunkOf(`{"text":"n","thought":true}`) + delta("s") + delta("o") + end(run, "STOP"),
			[]holdfast.Event{holdfast.Reasoning{Text: "grün"}, said("so"), signed("", `"c\/w"`), called("sh", `{"x": 1}`)},
		},
		{
			"a signature in the last chunk of a text", delta("s") + end(`{"text":"o","thoughtSignature":"c1"}`, "STOP"),
			[]holdfast.Event{signed("", `"c1"`), said("so")},
		},
		{"of an answer that is too long no text is kept", strings.Repeat(delta(long), 9) + end("", "STOP"), []holdfast.Event{heard(strings.Repeat(long, 9))}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := NewWhole()
			var r sse.Reader
			r.Feed([]byte(tt.in), s.Event)
			got := s.Answer()
			if diff := cmp.Diff(tt.want, got.Events); diff != "" || !got.Complete {
				t.Errorf("complete %v\n%s", got.Complete, diff)
			}
		})
	}
}
