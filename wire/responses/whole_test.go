package responses

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
)

const thinking = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"gr\u00fcn"},{"type":"summary_text","text":"so"}],"encrypted_content":"gAAA\/A=="}`

var thought = holdfast.Reasoning{Text: "grün\n\nso", Opaque: []byte(thinking)}

func TestWhole(t *testing.T) {
	const (
		open    = `{"type":"reasoning","id":"rs_2","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}`
		unknown = `{"type":"computer_screenshot","image_url":"x"}`
	)
	for _, tt := range []struct {
		name, element string
		want          []holdfast.Event
	}{
		{"reasoning, its item byte for byte", " " + thinking, []holdfast.Event{thought}},
		{"reasoning in the clear", open, []holdfast.Event{holdfast.Reasoning{Text: "hm", Opaque: []byte(open)}}},
		{
			"images, by content, by address and by id",
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"data:image/png;base64,AA==","detail":"auto"},` +
				`{"type":"input_image","image_url":"https://a.example/b.png"},{"type":"input_image","file_id":"file-1"}]}`,
			[]holdfast.Event{asked(
				holdfast.Text("see"), holdfast.Media{Type: "image", MIME: "image/png", Data: "AA=="},
				holdfast.Media{Type: "image", URI: "https://a.example/b.png"}, holdfast.Media{Type: "image", URI: "file-1"},
			)},
		},
		{
			"files and audio",
			`{"role":"user","content":[{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,JVBE"},{"type":"input_file","file_data":"JVBE"},` +
				`{"type":"input_file","file_url":"https://a.example/b.pdf"},{"type":"input_file","file_id":"file-2"},{"type":"input_audio","input_audio":{"data":"UklG","format":"wav"}}]}`,
			[]holdfast.Event{asked(
				holdfast.Media{Type: "file", MIME: "application/pdf", Name: "a.pdf", Data: "JVBE"}, holdfast.Media{Type: "file", Data: "JVBE"},
				holdfast.Media{Type: "file", URI: "https://a.example/b.pdf"}, holdfast.Media{Type: "file", URI: "file-2"},
				holdfast.Media{Type: "file", MIME: "audio/wav", Data: "UklG"},
			)},
		},
		{
			"a result that is a string", `{"type":"function_call_output","call_id":"c1","output":"` + strings.Repeat("x", holdfast.MaxResultText+1) + `"}`,
			[]holdfast.Event{holdfast.ToolResult{CallID: "c1", Parts: []holdfast.Part{holdfast.Text(strings.Repeat("x", holdfast.MaxResultText+1))}}},
		},
		{
			"a result in parts", `{"type":"custom_tool_call_output","call_id":"c1","output":[{"type":"input_text","text":"A"},{"type":"input_image","image_url":"data:image/png;base64,AA=="},` + unknown + `]}`,
			[]holdfast.Event{holdfast.ToolResult{CallID: "c1", Parts: []holdfast.Part{
				holdfast.Text("A"), holdfast.Media{Type: "image", MIME: "image/png", Data: "AA=="}, holdfast.Text(unknown),
			}}},
		},
		{"a result without output", `{"type":"function_call_output","call_id":"c1"}`, []holdfast.Event{holdfast.ToolResult{CallID: "c1", Parts: []holdfast.Part{}}}},
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
	got, err := Codec{}.ReadWhole([]byte(response(thinking + "," + message("so"))))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]holdfast.Event{thought, said("so")}, got.Events); diff != "" {
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
			"items as they are done", added(0, `{"id":"rs_1","type":"reasoning","summary":[]}`) + done(0, thinking) +
				added(1, begun) + delta(1, 0, "s") + delta(1, 0, "o") + ends(1, "so") + done(2, call) + completed(thinking+","+message("so")+","+call),
			[]holdfast.Event{thought, said("so"), holdfast.ToolCall{ID: "c1", Name: "plan", Arguments: []byte(`{"a": 1}`)}},
		},
		{"a text that was never done", added(0, begun) + delta(0, 0, `gr\u00fc`) + delta(0, 0, "n") + completed(message("grün")), []holdfast.Event{said("grün")}},
		{"no items before the end", completed(thinking + "," + message("so")), []holdfast.Event{thought, said("so")}},
		{
			"of an answer that is too long no text is kept", added(0, begun) + strings.Repeat(delta(0, 0, long), 9) + completed(""),
			[]holdfast.Event{heard(strings.Repeat(long, 9))},
		},
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
