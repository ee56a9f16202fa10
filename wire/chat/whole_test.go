package chat

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
)

func TestWhole(t *testing.T) {
	const (
		details = `[{"type":"reasoning.text","text":"h\u006d","signature":"s"}, {"type":"reasoning.encrypted","data":"Zg=="}]`
		unknown = `{"type":"resource","uri":"x"}`
	)
	for _, tt := range []struct {
		name, element string
		want          []holdfast.Event
	}{
		{"reasoning of DeepSeek", `{"role":"assistant","content":"so","reasoning_content":"gr\u00fcn"}`, []holdfast.Event{holdfast.Reasoning{Text: "grün"}, said("so")}},
		{
			"reasoning of OpenRouter, its details byte for byte", `{"role":"assistant","content":"so","reasoning":"hm","reasoning_details":` + details + `}`,
			[]holdfast.Event{holdfast.Reasoning{Text: "hm", Opaque: []byte(details)}, said("so")},
		},
		{"details alone", `{"role":"assistant","content":"so","reasoning":null,"reasoning_details":` + details + `}`, []holdfast.Event{holdfast.Reasoning{Opaque: []byte(details)}, said("so")}},
		{"no reasoning", `{"role":"assistant","content":"so","reasoning_content":"","reasoning_details":[]}`, []holdfast.Event{said("so")}},
		{
			"images, by content and by address, and a video",
			`{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},` +
				`{"type":"image_url","image_url":"https://a.example/b.png"},{"type":"video_url","video_url":{"url":"https://a.example/b.mp4"}}]}`,
			[]holdfast.Event{holdfast.UserMessage{Parts: []holdfast.Part{
				holdfast.Text("see"),
				holdfast.Media{Type: "image", MIME: "image/png", Data: "AA=="},
				holdfast.Media{Type: "image", URI: "https://a.example/b.png"},
				holdfast.Media{Type: "file", URI: "https://a.example/b.mp4"},
			}}},
		},
		{
			"files and audio",
			`{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBE"}},{"type":"file","file":{"file_data":"JVBE"}},` +
				`{"type":"file","file":{"file_id":"file-1"}},{"type":"input_audio","input_audio":{"data":"UklG","format":"wav"}},{"type":"file"}]}`,
			[]holdfast.Event{holdfast.UserMessage{Parts: []holdfast.Part{
				holdfast.Media{Type: "file", MIME: "application/pdf", Name: "a.pdf", Data: "JVBE"},
				holdfast.Media{Type: "file", Data: "JVBE"},
				holdfast.Media{Type: "file", URI: "file-1"},
				holdfast.Media{Type: "file", MIME: "audio/wav", Data: "UklG"},
				holdfast.Media{Type: "file"},
			}}},
		},
		{
			"a result that is a string", `{"role":"tool","tool_call_id":"c1","content":"` + strings.Repeat("x", holdfast.MaxResultText+1) + `"}`,
			[]holdfast.Event{holdfast.ToolResult{CallID: "c1", Parts: []holdfast.Part{holdfast.Text(strings.Repeat("x", holdfast.MaxResultText+1))}}},
		},
		{
			"a result in parts", `{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"A"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},` + unknown + `]}`,
			[]holdfast.Event{holdfast.ToolResult{CallID: "c1", Parts: []holdfast.Part{
				holdfast.Text("A"), holdfast.Media{Type: "image", MIME: "image/png", Data: "AA=="}, holdfast.Text(unknown),
			}}},
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
	got, err := Codec{}.ReadWhole([]byte(choice(`"content":"so","reasoning_content":"hm"`, "stop")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]holdfast.Event{holdfast.Reasoning{Text: "hm"}, said("so")}, got.Events); diff != "" {
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
			"reasoning and text in deltas",
			chunkOf(`"reasoning_content":"gr\u00fc"`, "null") + chunkOf(`"reasoning_content":"n"`, "null") + delta("s") + delta("o"),
			[]holdfast.Event{holdfast.Reasoning{Text: "grün"}, said("so")},
		},
		{
			"details as they came",
			chunkOf(`"reasoning":"h","reasoning_details":[{"type":"reasoning.text","text":"h"}]`, "null") +
				chunkOf(`"reasoning":"m","reasoning_details":[{"type":"reasoning.text","text":"m"},{"type":"reasoning.encrypted","data":"Z\/=="}]`, "null") + delta("so"),
			[]holdfast.Event{
				holdfast.Reasoning{Text: "hm", Opaque: []byte(`[{"type":"reasoning.text","text":"h"},{"type":"reasoning.text","text":"m"},{"type":"reasoning.encrypted","data":"Z\/=="}]`)},
				said("so"),
			},
		},
		{
			"the arguments of any call", chunkOf(`"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"x\": 1}"}}]`, "null"),
			[]holdfast.Event{holdfast.ToolCall{ID: "c1", Name: "bash", Arguments: []byte(`{"x": 1}`)}},
		},
		{"of an answer that is too long no text is kept", strings.Repeat(delta(long), 9), []holdfast.Event{heard(strings.Repeat(long, 9))}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := NewWhole()
			var r sse.Reader
			r.Feed([]byte(begin()+tt.in+end("stop")+over), s.Event)
			want := holdfast.Answer{ID: "chatcmpl-1", Stop: "stop", Complete: true, Events: tt.want}
			if diff := cmp.Diff(want, s.Answer()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
