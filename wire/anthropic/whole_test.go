package anthropic

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
)

func TestWhole(t *testing.T) {
	const (
		thinking = `{"type":"thinking",  "thinking":"gr\u00fc\nn","signature":"Eq\/o=="}`
		redacted = `{"type":"redacted_thinking","data":"Emwk"}`
		unknown  = `{"type":"tool_reference","tool_name":"x"}`
	)
	for _, tt := range []struct {
		name, element string
		want          []holdfast.Event
	}{
		{
			"reasoning, its blocks byte for byte", `{"role":"assistant","content":[` + thinking + `,` + redacted + `,{"type":"text","text":"so"}]}`,
			[]holdfast.Event{
				holdfast.Reasoning{Text: "grü\nn", Opaque: []byte(thinking)}, holdfast.Reasoning{Opaque: []byte(redacted)}, said("so"),
			},
		},
		{
			"images, by content, by address and by id",
			`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}},` +
				`{"type":"image","source":{"type":"url","url":"https://a.example/b.png"}},{"type":"image","source":{"type":"file","file_id":"file_1"}}]}`,
			[]holdfast.Event{holdfast.UserMessage{Parts: []holdfast.Part{
				holdfast.Media{Type: "image", MIME: "image/png", Data: "AA=="},
				holdfast.Media{Type: "image", URI: "https://a.example/b.png"},
				holdfast.Media{Type: "image", URI: "file_1"},
			}}},
		},
		{
			"documents, as a PDF, as text and as content",
			`{"role":"user","content":[{"type":"document","title":"a.pdf","source":{"type":"base64","media_type":"application/pdf","data":"JVBE"}},` +
				`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"A"}},` +
				`{"type":"document","source":{"type":"content","content":[{"type":"text","text":"A"},{"type":"text","text":"B"}]}}]}`,
			[]holdfast.Event{holdfast.UserMessage{Parts: []holdfast.Part{
				holdfast.Media{Type: "file", MIME: "application/pdf", Name: "a.pdf", Data: "JVBE"},
				holdfast.Media{Type: "file", MIME: "text/plain", Data: "QQ=="},
				holdfast.Media{Type: "file", MIME: "text/plain", Data: "QQpC"},
			}}},
		},
		{
			"a source of no known kind", `{"role":"user","content":[{"type":"image","source":7},{"type":"image"}]}`,
			[]holdfast.Event{holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Media{Type: "image"}, holdfast.Media{Type: "image"}}}},
		},
		{
			"results with all that is in them",
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"A"},` +
				`{"type":"tool_result","tool_use_id":"b","is_error":true,"content":[{"type":"text","text":"B"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}},` + unknown + `]},` +
				`{"type":"tool_result","tool_use_id":"c"}]}`,
			[]holdfast.Event{
				holdfast.ToolResult{CallID: "a", Parts: []holdfast.Part{holdfast.Text("A")}},
				holdfast.ToolResult{CallID: "b", IsError: true, Parts: []holdfast.Part{
					holdfast.Text("B"), holdfast.Media{Type: "image", MIME: "image/png", Data: "AA=="}, holdfast.Text(unknown),
				}},
				holdfast.ToolResult{CallID: "c", Parts: []holdfast.Part{}},
			},
		},
		{
			"a result longer than what Decode reads",
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"` + strings.Repeat("x", holdfast.MaxResultText+1) + `"}]}`,
			[]holdfast.Event{holdfast.ToolResult{CallID: "a", Parts: []holdfast.Part{holdfast.Text(strings.Repeat("x", holdfast.MaxResultText+1))}}},
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
	const thinking = `{"type":"thinking","thinking":"hm","signature":"Eq=="}`
	got, err := Codec{}.ReadWhole([]byte(`{"id":"msg_1","type":"message","stop_reason":"end_turn","content":[` + thinking + `,{"type":"text","text":"so"}]}`))
	want := holdfast.Answer{ID: "msg_1", Stop: "end_turn", Complete: true, Events: []holdfast.Event{
		holdfast.Reasoning{Text: "hm", Opaque: []byte(thinking)}, said("so"),
	}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestAWholeStream(t *testing.T) {
	piece := func(index int, delta string) string {
		return frameOf("content_block_delta", `,"index":`+string(rune('0'+index))+`,"delta":{`+delta+`}`)
	}
	thinking := start(0, `"type":"thinking","thinking":"","signature":""`) + piece(0, `"type":"thinking_delta","thinking":"gr\u00fc\ud83e"`) +
		piece(0, `"type":"thinking_delta","thinking":"\udded\"n"`) + piece(0, `"type":"signature_delta","signature":"Eq\/o"`) + piece(0, `"type":"signature_delta","signature":"=="`) + stop(0)
	long := strings.Repeat("x", 1<<20)
	for _, tt := range []struct {
		name, in string
		want     []holdfast.Event
	}{
		{
			"reasoning in deltas is the block of a message", thinking + startText(1) + delta(1, `so\n`) + stop(1),
			[]holdfast.Event{
				holdfast.Reasoning{Text: "grü🧭\"n", Opaque: []byte(`{"type":"thinking","thinking":"gr\u00fc\ud83e\udded\"n","signature":"Eq\/o=="}`)}, said("so\n"),
			},
		},
		{
			"redacted reasoning", start(0, `"type":"redacted_thinking","data":"Emwk"`) + stop(0),
			[]holdfast.Event{holdfast.Reasoning{Opaque: []byte(`{"type":"redacted_thinking","data":"Emwk"}`)}},
		},
		{
			"the arguments of any call", start(0, `"type":"tool_use","id":"a","name":"bash","input":{}`) + piece(0, `"type":"input_json_delta","partial_json":"{\"x\": 1}"`) + stop(0),
			[]holdfast.Event{holdfast.ToolCall{ID: "a", Name: "bash", Arguments: []byte(`{"x": 1}`)}},
		},
		{
			"of an answer that is too long no text is kept", startText(0) + delta(0, "so") + stop(0) + startText(1) + strings.Repeat(delta(1, long), 9) + stop(1),
			[]holdfast.Event{heard("so"), heard(strings.Repeat(long, 9))},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := NewWhole()
			var r sse.Reader
			r.Feed([]byte(begin()+tt.in+end("end_turn")+over), s.Event)
			want := holdfast.Answer{ID: "msg_1", Stop: "end_turn", Complete: true, Events: tt.want}
			if diff := cmp.Diff(want, s.Answer()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
