package responses

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

// placeless is a stream as llama.cpp writes it: no event tells the place of what it
// is about, calls have no id beside call_id, and items are done at the end only.
// https://github.com/ggml-org/llama.cpp/issues/20607
const (
	placelessBegins = `data: {"type":"response.created","response":{"id":"resp_1","object":"response","status":"in_progress"}}

data: {"type":"response.output_item.added","item":{"id":"rs_1","summary":[],"type":"reasoning","content":[],"encrypted_content":"","status":"in_progress"}}

data: {"type":"response.reasoning_text.delta","delta":"Hm","item_id":"rs_1"}

data: {"type":"response.output_item.added","item":{"content":[],"id":"msg_1","role":"assistant","status":"in_progress","type":"message"}}

data: {"type":"response.content_part.added","item_id":"msg_1","part":{"type":"output_text","text":""}}

data: {"type":"response.output_text.delta","item_id":"msg_1","delta":"I l"}

data: {"type":"response.output_text.delta","item_id":"msg_1","delta":"ook"}

`
	placelessCalls = `data: {"type":"response.output_item.added","item":{"arguments":"","call_id":"fc_a","name":"plan","type":"function_call","status":"in_progress"}}

data: {"type":"response.function_call_arguments.delta","delta":"{\"a\"","item_id":"fc_a"}

data: {"type":"response.output_item.added","item":{"arguments":"","call_id":"fc_b","name":"plan","type":"function_call","status":"in_progress"}}

data: {"type":"response.function_call_arguments.delta","delta":"{\"b\"","item_id":"fc_b"}

data: {"type":"response.function_call_arguments.delta","delta":":1}","item_id":"fc_a"}

data: {"type":"response.function_call_arguments.delta","delta":":2}","item_id":"fc_b"}

`
	placelessTextDone = `data: {"type":"response.output_item.done","item":{"id":"rs_1","summary":[],"type":"reasoning","content":[{"text":"Hm","type":"reasoning_text"}],"encrypted_content":""}}

data: {"type":"response.output_text.done","item_id":"msg_1","text":"I look"}

data: {"type":"response.content_part.done","item_id":"msg_1","part":{"type":"output_text","annotations":[],"logprobs":[],"text":"I look"}}

data: {"type":"response.output_item.done","item":{"type":"message","status":"completed","id":"msg_1","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"I look"}],"role":"assistant"}}

`
	placelessCallsDone = `data: {"type":"response.output_item.done","item":{"type":"function_call","status":"completed","arguments":"{\"a\":1}","call_id":"fc_a","name":"plan"}}

data: {"type":"response.output_item.done","item":{"type":"function_call","status":"completed","arguments":"{\"b\":2}","call_id":"fc_b","name":"plan"}}

`
	placelessEnds = `data: {"type":"response.completed","response":{"id":"resp_1","object":"response","status":"completed"}}

`
)

func TestItemsWithoutAnOutputIndexAreToldApart(t *testing.T) {
	plan := func(tool string) bool { return tool == "plan" }
	a := holdfast.ToolCall{ID: "fc_a", Name: "plan", Arguments: []byte(`{"a":1}`)}
	b := holdfast.ToolCall{ID: "fc_b", Name: "plan", Arguments: []byte(`{"b":2}`)}
	for _, tt := range []struct {
		name, in string
		want     []holdfast.Event
	}{
		{
			"as llama.cpp writes them", placelessBegins + placelessCalls + placelessTextDone + placelessCallsDone + placelessEnds,
			[]holdfast.Event{holdfast.Reasoning{}, heard("I look"), a, b},
		},
		{
			"none is reported as done", placelessBegins + placelessCalls + placelessEnds,
			[]holdfast.Event{holdfast.Reasoning{}, heard("I look"), a, b},
		},
		{"none is announced", placelessTextDone + placelessCallsDone + placelessEnds, []holdfast.Event{holdfast.Reasoning{}, heard("I look"), a, b}},
		{
			"none has an id",
			`data: {"type":"response.output_text.delta","delta":"I look"}` + "\n\n" +
				strings.NewReplacer(`"call_id":"fc_a",`, "", `"call_id":"fc_b",`, "").Replace(placelessCallsDone) + placelessEnds,
			[]holdfast.Event{heard("I look"), holdfast.ToolCall{Name: "plan", Arguments: a.Arguments}, holdfast.ToolCall{Name: "plan", Arguments: b.Arguments}},
		},
		{
			"none has an id, and all are announced",
			frameOf("output_item.added", `,"item":{"type":"message","role":"assistant","content":[]}`) + frameOf("output_text.delta", `,"delta":"I look"`) + frameOf("output_item.done", `,"item":`+message("I look")) +
				frameOf("output_item.added", `,"item":{"type":"function_call","name":"plan","arguments":""}`) + frameOf("function_call_arguments.delta", `,"delta":"{\"a\":1}"`) + frameOf("output_item.done", `,"item":{"type":"function_call","name":"plan","arguments":"{\"a\":1}"}`) + placelessEnds,
			[]holdfast.Event{heard("I look"), holdfast.ToolCall{Name: "plan", Arguments: a.Arguments}},
		},
		{
			"only deltas leave it out",
			added(0, `{"type":"function_call","call_id":"fc_a","id":"x","name":"plan","arguments":""}`) +
				added(1, `{"type":"function_call","call_id":"fc_b","id":"y","name":"plan","arguments":""}`) +
				frameOf("function_call_arguments.delta", `,"item_id":"x","delta":"{\"a\":1}"`) + frameOf("function_call_arguments.delta", `,"item_id":"y","delta":"{\"b\":2}"`) + placelessEnds,
			[]holdfast.Event{a, b},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := listen(tt.in, plan).Answer(); !reflect.DeepEqual(got.Events, tt.want) || !got.Complete {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestATextWithoutAPlaceGetsTheBlock(t *testing.T) {
	in := placelessBegins + placelessTextDone + placelessEnds
	extra := frameOf("output_text.delta", `,"item_id":"msg_1","delta":"`+plus+`"`)
	want := placelessBegins + strings.Replace(strings.ReplaceAll(placelessTextDone, `I look"`, `I look`+plus+`"`), `data: {"type":"response.output_text.done"`, extra+`data: {"type":"response.output_text.done"`, 1) + placelessEnds
	got, p := patch(record, in)
	if got != want || !p.Patched() || p.Summary() != holdfast.TextDigest("I look"+separator+record) {
		t.Errorf("patched %v; got\n%s\nwant\n%s", p.Patched(), got, want)
	}
	if got, p := patch(record, placelessBegins+placelessCalls+placelessTextDone+placelessCallsDone+placelessEnds); p.Patched() {
		t.Errorf("an answer with calls was patched:\n%s", got)
	}
}

// indexes are what tells the places of a stream where the ids do as well.
var indexes = regexp.MustCompile(`"(output|content)_index":\d+,`)

func TestTheIndexOfAnItemSaysNoMoreThanItsID(t *testing.T) {
	named := func(in, id string) string {
		return strings.NewReplacer(`"msg_1"`, `"`+id+`"`, `"id":"fc"`, `"id":"`+id+`"`).Replace(in)
	}
	in := created() + named(added(0, begun)+delta(0, 0, "a")+ends(0, "a"), "msg_1") +
		named(added(1, call)+done(1, call), "fc_1") + named(added(2, begun)+delta(2, 0, "b "+older)+ends(2, "b "+older), "msg_2") + completed("")
	bare := indexes.ReplaceAllString(in, "")
	plan := func(string) bool { return true }
	if got, want := listen(bare, plan).Answer(), listen(in, plan).Answer(); !reflect.DeepEqual(got, want) || len(got.Events) != 3 {
		t.Errorf("read as %+v, with indexes as %+v", got, want)
	}
	texts := strings.NewReplacer(named(added(1, call)+done(1, call), "fc_1"), "").Replace(in)
	with, p := patch(record, texts)
	without, q := patch(record, indexes.ReplaceAllString(texts, ""))
	if without != indexes.ReplaceAllString(with, "") || !p.Patched() || p.Summary() != q.Summary() {
		t.Errorf("patched as\n%s\nwith indexes as\n%s", without, with)
	}
}
