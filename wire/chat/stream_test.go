package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
	"github.com/holdfast-dev/holdfast/wire/internal/callid"
)

// The frames of a stream, as the API writes them.

const envelope = `"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m","system_fingerprint":null`

func data(json string) string { return "data: " + json + "\n\n" }

// chunkOf takes the delta and the finish reason as they stand in JSON.
func chunkOf(delta, finish string) string {
	return data(fmt.Sprintf(`{%s,"choices":[{"index":0,"delta":{%s},"logprobs":null,"finish_reason":%s}],"usage":null}`, envelope, delta, finish))
}

func begin() string { return chunkOf(`"role":"assistant","content":"","refusal":null`, "null") }

// delta takes the text as it stands in JSON.
func delta(text string) string { return chunkOf(`"content":"`+text+`"`, "null") }

func end(reason string) string { return chunkOf("", `"`+reason+`"`) }

const (
	usage = "data: {" + envelope + `,"choices":[],"usage":{"total_tokens":9}}` + "\n\n"
	over  = "data: [DONE]\n\n"
	wait  = ": OPENROUTER PROCESSING\n\n"
	fail  = `data: {"error":{"code":502,"message":"gone"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}` + "\n\n"
)

// listen reads a stream whole.
func listen(in string, keep func(string) bool) *Stream {
	s := NewStream(keep)
	var r sse.Reader
	r.Feed([]byte(in), s.Event)
	return s
}

func heard(text string) holdfast.AssistantMessage {
	return holdfast.AssistantMessage{Digest: holdfast.TextDigest(text), Len: len(text)}
}

func TestStream(t *testing.T) {
	all := func(string) bool { return true }
	call := func(entry string) string { return chunkOf(`"tool_calls":[`+entry+`]`, "null") }
	stop := end("stop") + over
	calls := end("tool_calls") + over
	cases := []struct {
		name, in string
		keep     func(string) bool
		want     holdfast.Answer
		terminal bool
	}{
		{
			"a text in deltas", wait + begin() + delta(`gr\u00fc`) + wait + delta("n 🧭\\n") + end("stop") + usage + over, nil,
			holdfast.Answer{ID: "chatcmpl-1", Stop: "stop", Complete: true, Events: []holdfast.Event{heard("grün 🧭\n")}},
			true,
		},
		{
			"a character cut between its surrogate halves", begin() + delta(`a\ud83e`) + delta(`\udded`) + stop, nil,
			holdfast.Answer{ID: "chatcmpl-1", Stop: "stop", Complete: true, Events: []holdfast.Event{heard("a🧭")}},
			true,
		},
		{
			"a frame that holds text and the finish reason", delta("a") + chunkOf(`"content":"b"`, `"stop"`) + over, nil,
			holdfast.Answer{ID: "chatcmpl-1", Stop: "stop", Complete: true, Events: []holdfast.Event{heard("ab")}},
			true,
		},
		{
			"text in parts", chunkOf(`"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, "null") + stop, nil,
			holdfast.Answer{ID: "chatcmpl-1", Stop: "stop", Complete: true, Events: []holdfast.Event{heard("ab")}},
			true,
		},
		{
			"a stream that ends with its finish reason, without a terminal event", begin() + delta("a") + end("stop") + usage, nil,
			holdfast.Answer{ID: "chatcmpl-1", Stop: "stop", Complete: true, Events: []holdfast.Event{heard("a")}},
			false,
		},
		{
			"reasoning, a refusal and text, mixed", chunkOf(`"reasoning_content":"hm"`, "null") + chunkOf(`"refusal":"no"`, "null") + delta("a") + chunkOf(`"reasoning":"h","content":null`, "null") + stop, nil,
			holdfast.Answer{ID: "chatcmpl-1", Stop: "stop", Complete: true, Events: []holdfast.Event{holdfast.Reasoning{}, heard("a"), heard("no")}},
			true,
		},
		{
			"two calls, told apart by index", begin() +
				call(`{"index":0,"id":"c1","type":"function","function":{"name":"Plan","arguments":""}}`) + call(`{"index":0,"function":{"arguments":"{\"a\":"}}`) +
				call(`{"index":1,"id":"c2","type":"function","function":{"name":"Read","arguments":"{}"}}`) + call(`{"index":0,"function":{"arguments":" \"ü\\n\"}"}}`) + calls,
			func(tool string) bool { return tool == "Plan" },
			holdfast.Answer{ID: "chatcmpl-1", Stop: "tool_calls", Complete: true, Events: []holdfast.Event{
				holdfast.ToolCall{ID: "c1", Name: "Plan", Arguments: []byte(`{"a": "ü\n"}`)}, holdfast.ToolCall{ID: "c2", Name: "Read"},
			}},
			true,
		},
		{
			"two calls in one frame", call(`{"index":0,"id":"c1","function":{"name":"A","arguments":"1"}},{"index":1,"id":"c2","function":{"name":"B","arguments":"2"}}`) + calls, all,
			holdfast.Answer{ID: "chatcmpl-1", Stop: "tool_calls", Complete: true, Events: []holdfast.Event{
				holdfast.ToolCall{ID: "c1", Name: "A", Arguments: []byte(`1`)}, holdfast.ToolCall{ID: "c2", Name: "B", Arguments: []byte(`2`)},
			}},
			true,
		},
		{
			"two calls with one index, told apart by id", call(`{"index":0,"id":"c1","function":{"name":"A","arguments":"{"}}`) + call(`{"index":0,"id":"c1","function":{"arguments":"}"}}`) + call(`{"index":0,"id":"c2","function":{"name":"B","arguments":"["}}`) + call(`{"index":0,"function":{"arguments":"]"}}`) + calls, all,
			holdfast.Answer{ID: "chatcmpl-1", Stop: "tool_calls", Complete: true, Events: []holdfast.Event{
				holdfast.ToolCall{ID: "c1", Name: "A", Arguments: []byte(`{}`)}, holdfast.ToolCall{ID: "c2", Name: "B", Arguments: []byte(`[]`)},
			}},
			true,
		},
		{
			"two calls without an index, told apart by id", call(`{"id":"c1","function":{"name":"A","arguments":"{"}}`) + call(`{"function":{"arguments":"}"}}`) + call(`{"id":"c2","function":{"name":"B","arguments":"[]"}}`) + calls, all,
			holdfast.Answer{ID: "chatcmpl-1", Stop: "tool_calls", Complete: true, Events: []holdfast.Event{
				holdfast.ToolCall{ID: "c1", Name: "A", Arguments: []byte(`{}`)}, holdfast.ToolCall{ID: "c2", Name: "B", Arguments: []byte(`[]`)},
			}},
			true,
		},
		{
			"a custom call", call(`{"index":0,"id":"c1","type":"custom","custom":{"name":"patch","input":"a"}}`) + call(`{"index":0,"custom":{"input":"\nb"}}`) + calls, all,
			holdfast.Answer{ID: "chatcmpl-1", Stop: "tool_calls", Complete: true, Events: []holdfast.Event{holdfast.ToolCall{ID: "c1", Name: "patch", Arguments: []byte(`"a\nb"`)}}},
			true,
		},
		{
			"arguments that are an object already", call(`{"index":0,"id":"c1","function":{"name":"A","arguments":{"p":1}}}`) + calls, all,
			holdfast.Answer{ID: "chatcmpl-1", Stop: "tool_calls", Complete: true, Events: []holdfast.Event{holdfast.ToolCall{ID: "c1", Name: "A", Arguments: []byte(`{"p":1}`)}}},
			true,
		},
		{
			"the older function call gets its id from arguments that nobody wants", chunkOf(`"function_call":{"name":"A","arguments":"{ \"p\""}`, "null") + chunkOf(`"function_call":{"arguments":": 1}"}`, "null") + end("function_call") + over, nil,
			holdfast.Answer{ID: "chatcmpl-1", Stop: "function_call", Complete: true, Events: []holdfast.Event{holdfast.ToolCall{ID: callid.Of("A", []byte(`{"p":1}`)), Name: "A"}}},
			true,
		},
		{
			"arguments above the bound are dropped as a whole", call(`{"index":0,"id":"c1","function":{"name":"A","arguments":"`+strings.Repeat("x", maxArguments)+`"}}`) + call(`{"index":0,"function":{"arguments":"x"}}`) + call(`{"index":0,"function":{"arguments":"x"}}`) + calls, all,
			holdfast.Answer{ID: "chatcmpl-1", Stop: "tool_calls", Complete: true, Events: []holdfast.Event{holdfast.ToolCall{ID: "c1", Name: "A"}}},
			true,
		},
		{"a stream that breaks in a text", begin() + delta("ab"), nil, holdfast.Answer{ID: "chatcmpl-1", Events: []holdfast.Event{heard("ab")}}, false},
		{
			"a stream that breaks in a call", call(`{"index":0,"id":"c1","function":{"name":"A","arguments":"{"}}`), all,
			holdfast.Answer{ID: "chatcmpl-1", Events: []holdfast.Event{holdfast.ToolCall{ID: "c1", Name: "A"}}},
			false,
		},
		{"a finish reason that text follows was not the last", chunkOf(`"content":"a"`, `"stop"`) + delta("b"), nil, holdfast.Answer{ID: "chatcmpl-1", Events: []holdfast.Event{heard("ab")}}, false},
		{"an empty finish reason is none", chunkOf(`"content":"a"`, `""`) + over, nil, holdfast.Answer{ID: "chatcmpl-1", Events: []holdfast.Event{heard("a")}}, true},
		{"an error", begin() + delta("a") + fail, nil, holdfast.Answer{ID: "chatcmpl-1", Stop: "error", Events: []holdfast.Event{heard("a")}}, false},
		{"an error behind the finish reason", delta("a") + end("stop") + data(`{"error":"x"}`) + over, nil, holdfast.Answer{ID: "chatcmpl-1", Stop: "stop", Events: []holdfast.Event{heard("a")}}, true},
		{"an answer that was filtered", delta("a") + end("content_filter") + over, nil, holdfast.Answer{ID: "chatcmpl-1", Stop: "content_filter", Events: []holdfast.Event{heard("a")}}, true},
		{"an end without a finish reason", begin() + over, nil, holdfast.Answer{ID: "chatcmpl-1"}, true},
		{
			"of several choices the first counts", delta("a") + data(`{"choices":[{"index":1,"delta":{"content":"x"},"finish_reason":"length"}]}`) + stop, nil,
			holdfast.Answer{ID: "chatcmpl-1", Stop: "stop", Complete: true, Events: []holdfast.Event{heard("a")}},
			true,
		},
		{"frames that are no JSON or say nothing", "data: {\n\ndata: 7\n\n" + data(`{"choices":null}`) + data(`{"choices":[{"delta":null},7]}`) + "event: x\n\ndata:  [DONE] \n\n", nil, holdfast.Answer{}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := listen(c.in, c.keep)
			if got := s.Answer(); !reflect.DeepEqual(got, c.want) || s.Terminal() != c.terminal {
				t.Errorf("got %+v, terminal %v; want %+v, %v", got, s.Terminal(), c.want, c.terminal)
			}
		})
	}
}

func TestStreamKeepsNoText(t *testing.T) {
	s := NewStream(nil)
	var r sse.Reader
	r.Feed([]byte(begin()), s.Event)
	piece := []byte(delta(strings.Repeat("some words ", 90)))
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for range 5_000 { // 5 MB of text
		r.Feed(piece, s.Event)
	}
	if grown := int64(heap()) - int64(before); grown > 64<<10 {
		t.Errorf("the stream grew by %d bytes", grown)
	}
	runtime.KeepAlive(s)
}

// patch sends the pieces through a Patcher as the proxy does. clean tells that
// the upstream ended without an error.
func patch(text string, clean bool, pieces ...string) (out string, p *Patcher) {
	return patchWith(always(text), clean, pieces...)
}

// always is a block that is known from the start; nil for "".
func always(block string) func() string {
	if block == "" {
		return nil
	}
	return func() string { return block }
}

func patchWith(block func() string, clean bool, pieces ...string) (out string, p *Patcher) {
	p = NewPatcher(block)
	var b strings.Builder
	emit := func(raw []byte) { b.Write(raw) }
	var r sse.Reader
	for _, piece := range pieces {
		in := []byte(piece)
		r.Feed(in, func(e sse.Event) {
			if p.Event(e, emit) {
				b.Write(p.Terminal())
			}
		})
		clear(in)
	}
	if clean && p.End(emit) {
		b.Write(p.Terminal())
	}
	p.Flush(emit)
	b.Write(r.Rest())
	return b.String(), p
}

func added() string {
	return data(`{` + envelope + `,"choices":[{"index":0,"delta":{"content":"\n\n` + recordIn + `"},"finish_reason":null}]}`)
}

func TestPatcher(t *testing.T) {
	tail := end("stop") + usage + over
	last := func(text string) string { return chunkOf(`"content":"`+text+`"`, `"stop"`) }
	cases := []struct{ name, in, want, text string }{ // text: of the answer before the block
		{
			"the block comes before the finish reason",
			begin() + delta("a") + wait + delta("b") + tail,
			begin() + delta("a") + wait + delta("b") + added() + tail, "ab",
		},
		{
			"the block goes to the text of the frame with the finish reason",
			delta("a ") + last("b") + over,
			delta("a ") + last(`b\n\n`+recordIn) + over, "a b",
		},
		{
			"the envelope is of this answer, without its usage",
			data(`{"id":"x","choices":[{"delta":{"content":"a"}}]}`) + data(` {"provider":"p","id":"x","x_groq":{"usage":{}},"usage":{"total_tokens":1},"choices":[{"delta":{},"finish_reason":"stop"}]}`) + over,
			data(`{"id":"x","choices":[{"delta":{"content":"a"}}]}`) + data(`{"provider":"p","id":"x","choices":[{"index":0,"delta":{"content":"\n\n`+recordIn+`"},"finish_reason":null}]}`) + data(` {"provider":"p","id":"x","x_groq":{"usage":{}},"usage":{"total_tokens":1},"choices":[{"delta":{},"finish_reason":"stop"}]}`) + over, "a",
		},
		{"a finish reason that comes twice", delta("a") + end("stop") + end("stop") + over, delta("a") + added() + end("stop") + end("stop") + over, "a"},
		{"a finish reason in every frame", last("a") + last("b") + last("") + over, last("a") + last(`b\n\n`+recordIn) + last("") + over, "ab"},
		{"reasoning passes", chunkOf(`"reasoning_content":"hm `+older+`"`, "null") + delta("a") + tail, chunkOf(`"reasoning_content":"hm `+older+`"`, "null") + delta("a") + added() + tail, "a"},
		{
			"an older block goes, with the white space before it",
			delta(`a\n`+older+` b`) + tail,
			delta(`a b`) + added() + tail, "a b",
		},
		{
			"an older block over many frames, the delimiters in pieces and in escapes",
			delta(`a \n`) + wait + delta(`\n`) + delta(`\u003chold`) + delta(`fast-`) + delta(`record revision=v>`) + delta(`old`) + wait + delta(`</holdfast`) + delta(`-record`) + delta(`>b`) + tail,
			delta(`a`) + wait + delta(``) + delta(``) + delta(``) + delta(``) + delta(``) + wait + delta(``) + delta(``) + delta(`b`) + added() + tail, "ab",
		},
		{
			"an older block that never closes ends with the text",
			delta(`a <holdfast-record revision`) + last(`=v`) + over,
			delta(`a`) + last(`\n\n`+recordIn) + over, "a",
		},
		{
			"what only looks like the start of a block passes verbatim",
			delta(`a `) + delta(`\u003choldfast`) + delta(`-rec <hold`) + tail,
			delta(`a `) + delta(`\u003choldfast`) + delta(`-rec <hold`) + added() + tail, "a <holdfast-rec <hold",
		},
		{
			"frames with CRLF, comments and data in lines stay as they are, but for the text",
			": c\r\n\r\nid: 5\r\ndata: {\"choices\":[{\"index\":0,\r\ndata:  \"delta\":{\"content\":\"a " + older + "\"}}]}\r\n\r\n" + tail,
			": c\r\n\r\nid: 5\r\ndata: {\"choices\":[{\"index\":0,\r\ndata:  \"delta\":{\"content\":\"a\"}}]}\r\n\r\n" + added() + tail, "a",
		},
		{
			"frames without choices and unknown ones pass in order",
			data(`{"choices":[],"prompt_filter_results":[]}`) + delta("a") + "event: x\ndata: 7\n\n" + data(`{"choices":[{"index":0,"content_filter_offsets":{}}]}`) + tail,
			data(`{"choices":[],"prompt_filter_results":[]}`) + delta("a") + "event: x\ndata: 7\n\n" + data(`{"choices":[{"index":0,"content_filter_offsets":{}}]}`) + added() + tail, "a",
		},
		{"a text that ends in half a character", delta(`a\ud83e`) + tail, delta(`a\ud83e`) + added() + tail, "a\ufffd"},
		{"a text cut off at the limit is still a text", delta("a") + end("length") + over, delta("a") + added() + end("length") + over, "a"},
		{"empty calls are none", chunkOf(`"content":"a","tool_calls":[],"function_call":null`, "null") + tail, chunkOf(`"content":"a","tool_calls":[],"function_call":null`, "null") + added() + tail, "a"},
		{"an upstream that ends behind the finish reason", delta("a") + end("stop") + usage, delta("a") + added() + end("stop") + usage, "a"},
		{"an upstream that ends with it, in the frame with text", delta("a") + last("b"), delta("a") + last(`b\n\n`+recordIn), "ab"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, p := patch(record, true, c.in)
			want := holdfast.TextDigest(c.text + separator + record)
			if got != c.want || !p.Patched() || p.Summary() != want {
				t.Errorf("patched %v, summary %v, want %v; got\n%s\nwant\n%s", p.Patched(), p.Summary(), want, got, c.want)
			}
		})
	}
	call := chunkOf(`"tool_calls":[{"index":0,"id":"c1","function":{"name":"n","arguments":""}}]`, "null")
	second := data(`{"choices":[{"index":1,"delta":{"content":"x"},"finish_reason":null}]}`)
	unpatched := []struct {
		name, in string
		clean    bool
	}{
		{"no text", begin() + tail, true},
		{"white space", delta(` \n`) + tail, true},
		{"a tool call behind the text", delta("a ") + call + end("tool_calls") + usage + over, true},
		{"a tool call that the finish reason hides", call + delta("a ") + tail, true},
		{"a finish reason that tells of a call", delta("a") + end("tool_calls") + over, true},
		{"the older function call", delta("a ") + chunkOf(`"function_call":{"name":"n"}`, "null") + tail, true},
		{"a refusal", delta("a ") + chunkOf(`"refusal":"no"`, "null") + tail, true},
		{"an answer that was filtered", delta("a") + end("content_filter") + over, true},
		{"a second choice", delta("a ") + second + tail, true},
		{"two choices in one frame", data(`{"choices":[{"index":0,"delta":{"content":"a "}},{"index":1,"delta":{"content":"b"}}]}`) + tail, true},
		{"text in parts", chunkOf(`"content":[{"type":"text","text":"a"}]`, "null") + tail, true},
		{"an error behind the text", delta("a ") + wait + fail, true},
		{"an error behind the finish reason", delta("a") + end("stop") + data(`{"error":{}}`) + over, true},
		{"no finish reason", delta("a") + over, true},
		{"an upstream that ends without a finish reason", begin() + delta("a "), true},
		{"an upstream that breaks off behind the finish reason", delta("a") + end("stop") + usage, false},
		{"an upstream that breaks off in the start of an older block", begin() + delta("a ") + delta("<holdfast-rec"), false},
		{"an upstream that breaks off in a frame", begin() + delta("a") + end("stop") + "data: [DO", false},
	}
	for _, c := range unpatched {
		t.Run("not patched: "+c.name, func(t *testing.T) {
			got, p := patch(record, c.clean, c.in)
			if got != c.in || p.Patched() || !p.Summary().IsZero() {
				t.Errorf("patched %v, summary %v; got\n%s\nwant\n%s", p.Patched(), p.Summary(), got, c.in)
			}
		})
	}
	t.Run("without a block nothing is changed", func(t *testing.T) {
		in := delta("a "+older) + tail + wait
		if got, p := patch("", true, in); got != in || p.Patched() {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a block that is none in the end changes nothing", func(t *testing.T) {
		in, asked := begin()+delta("a ")+tail, 0
		none := func() string { asked++; return "" }
		if got, p := patchWith(none, true, in); got != in || p.Patched() || asked != 1 {
			t.Errorf("asked %d times, got %s", asked, got)
		}
	})
}

func TestPatcherHoldsBackOnlyWhatItMust(t *testing.T) {
	steps := []struct{ frame, emitted string }{
		{begin(), begin()},
		{delta("a"), delta("a")},
		{delta(`b\n`), ""},
		{wait, ""},
		{delta(`<`), ""},
		{delta(`b>`), delta(`b\n`) + wait + delta(`<`) + delta(`b>`)},
		{end("stop"), ""},
		{delta("c"), end("stop") + delta("c")},
		{end("stop"), ""},
		{usage, ""},
		{over, added()},
	}
	p := NewPatcher(always(record))
	var r sse.Reader
	for _, s := range steps {
		got := ""
		r.Feed([]byte(s.frame), func(e sse.Event) {
			terminal := p.Event(e, func(raw []byte) { got += string(raw) })
			if terminal != (s.frame == over) {
				t.Errorf("terminal %v at %s", terminal, s.frame)
			}
		})
		if got != s.emitted {
			t.Errorf("at %s emitted\n%s\nwant\n%s", s.frame, got, s.emitted)
		}
	}
	if want := end("stop") + usage + over; string(p.Terminal()) != want {
		t.Errorf("held for the caller %q, want %q", p.Terminal(), want)
	}
}

func TestWhatAClientMayActOnWaitsWithoutABlockToo(t *testing.T) {
	in := delta("a") + end("stop") + usage
	for _, last := range []string{over, ""} {
		p := NewPatcher(nil)
		var r sse.Reader
		got, terminal := "", false
		emit := func(raw []byte) { got += string(raw) }
		r.Feed([]byte(in+last), func(e sse.Event) { terminal = p.Event(e, emit) })
		if terminal != (last != "") || p.End(emit) != (last == "") {
			t.Errorf("with the end %q: terminal %v", last, terminal)
		}
		if want := end("stop") + usage + last; got != delta("a") || string(p.Terminal()) != want {
			t.Errorf("emitted %q and held %q, want to hold %q", got, p.Terminal(), want)
		}
	}
}

func TestEndOfAnAnswerThatWasGivenUpHoldsNothing(t *testing.T) {
	in := chunkOf(`"tool_calls":[{"index":0,"id":"c1","function":{"name":"n"}}]`, "null") + end("tool_calls")
	p := NewPatcher(always(record))
	var r sse.Reader
	got := ""
	emit := func(raw []byte) { got += string(raw) }
	r.Feed([]byte(in), func(e sse.Event) { p.Event(e, emit) })
	if !p.End(emit) || got != in || len(p.Terminal()) != 0 || p.End(emit) {
		t.Errorf("emitted %q and held %q", got, p.Terminal())
	}
}

func TestPatcherGivesUpWhenTooMuchWouldBeHeld(t *testing.T) {
	in := delta("a") + end("stop") + strings.Repeat(data(`{"choices":[],"x":"`+strings.Repeat("t", 1<<20)+`"}`), 5) + over
	if got, p := patch(record, true, in); got != in || p.Patched() {
		t.Errorf("patched %v, %d bytes of %d", p.Patched(), len(got), len(in))
	}
}

// sample holds what is hard about a stream, and an older block.
func sample() string {
	return begin() + wait + delta(`gr\u00fcn \ud83e`) + delta(`\udded x `) + delta("<hold") + delta(`fast-record a>\n\n</holdfast-`) + delta("record> <b") +
		": c\r\n\r\n" + chunkOf(`"reasoning":"hm"`, "null") + delta("the end 🧭 ") + strings.ReplaceAll(end("stop"), "\n", "\r\n") + usage + over
}

func TestAnyChunkingGivesTheSameBytes(t *testing.T) {
	in := sample()
	want, _ := patch(record, true, in)
	if !strings.Contains(want, added()) {
		t.Fatalf("not patched: %s", want)
	}
	for i := 0; i < len(in); i += 7 {
		if got, _ := patch(record, true, in[:i], in[i:]); got != want {
			t.Fatalf("cut at byte %d: got\n%s\nwant\n%s", i, got, want)
		}
	}
	var single []string
	for i := range len(in) {
		single = append(single, in[i:i+1])
	}
	if got, _ := patch(record, true, single...); got != want {
		t.Fatalf("byte by byte: got\n%s\nwant\n%s", got, want)
	}
}

func TestBrokenAtEveryEventTheClientSeesTheBreak(t *testing.T) {
	frames := strings.SplitAfter(sample(), "\n\n")
	for i := range frames {
		in := strings.Join(frames[:i], "")
		if strings.Contains(in, "[DONE]") {
			continue
		}
		got, p := patch(record, false, in)
		if p.Patched() || p.Terminal() != nil || strings.Contains(got, "revision=\\\"2") || listen(got, nil).Terminal() {
			t.Errorf("broken behind %d frames: patched %v, got\n%s", i, p.Patched(), got)
		}
	}
}

// whole builds the body and the stream of one answer with the given text.
func whole(text string, cut int, finishAlone bool) (body, stream string) {
	quote := func(s string) string {
		quoted, _ := json.Marshal(s)
		return string(quoted[1 : len(quoted)-1])
	}
	var pieces []string
	for piece := range slices.Chunk([]rune(text), cut) {
		pieces = append(pieces, quote(string(piece)))
	}
	stream = begin()
	for i, piece := range pieces {
		if i == len(pieces)-1 && !finishAlone {
			stream += chunkOf(`"content":"`+piece+`"`, `"stop"`)
		} else {
			stream += delta(piece)
		}
	}
	if finishAlone || len(pieces) == 0 {
		stream += end("stop")
	}
	body = `{"id":"chatcmpl-1","choices":[{"index":0,"message":{"role":"assistant","content":"` + quote(text) + `"},"finish_reason":"stop"}]}`
	return body, stream + usage + over
}

// checkSame holds the streamed form of an answer against the other one.
func checkSame(t *testing.T, text string, cut int, finishAlone bool) {
	t.Helper()
	body, stream := whole(text, cut, finishAlone)
	patched, summary, ok := Codec{}.PatchBody([]byte(body), record)
	out, p := patch(record, true, stream)
	if ok != p.Patched() || summary != p.Summary() {
		t.Fatalf("%q: body patched %v with %v, stream %v with %v", text, ok, summary, p.Patched(), p.Summary())
	}
	want, err := Codec{}.ReadBody(patched)
	if err != nil {
		t.Fatal(err)
	}
	got := listen(out, nil).Answer()
	for i, e := range want.Events {
		m := e.(holdfast.AssistantMessage)
		m.Text = ""
		want.Events[i] = m
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: the stream reads as %+v, the body as %+v", text, got, want)
	}
}

func TestStreamAndBodyArePatchedAlike(t *testing.T) {
	for _, text := range []string{
		"", "a", "ab", "a ", " ", "a\n\n" + record, "a " + record + " b" + record,
		"<holdfast-record", "grün 🧭 <holdfast-rec", "<<holdfast-record>",
	} {
		for cut := 1; cut < 9; cut++ {
			checkSame(t, text, cut, cut%2 == 0)
			checkSame(t, text, cut, cut%2 == 1)
		}
	}
}

func TestPatchedStreamReadsAsTheTextAndTheBlock(t *testing.T) {
	for _, finishAlone := range []bool{true, false} {
		_, in := whole("second 🧭 ", 3, finishAlone)
		out, _ := patch(record, true, in)
		want := listen(in, nil).Answer()
		want.Events[0] = heard("second 🧭 " + separator + record)
		if got := listen(out, nil).Answer(); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func FuzzPatcher(f *testing.F) {
	f.Add("a\n<holdfast-record revision=1> x</holdfast-record>b", 3, true)
	f.Add(" <holdfast-recor", 1, false)
	f.Fuzz(func(t *testing.T, text string, cut int, finishAlone bool) {
		checkSame(t, strings.ToValidUTF8(text, "?"), 1+(cut&0xff)%17, finishAlone)
	})
}

func FuzzStream(f *testing.F) {
	f.Add([]byte(sample()), 5)
	f.Add([]byte(begin()+fail), 1)
	f.Add([]byte(chunkOf(`"tool_calls":[{"index":0,"id":"c1","function":{"name":"n","arguments":"{"}}],"function_call":{}`, `"length"`)), 9)
	f.Fuzz(func(t *testing.T, in []byte, step int) {
		listen(string(in), func(string) bool { return true }).Answer()
		if got, _ := patch("", true, string(in)); got != string(in) {
			t.Fatalf("without a block %q became %q", in, got)
		}
		want, p := patch(record, true, string(in))
		var pieces []string
		for c := range slices.Chunk(in, 1+(step&0xffff)%50) {
			pieces = append(pieces, string(c))
		}
		if got, _ := patch(record, true, pieces...); got != want {
			t.Fatalf("in pieces %q, at once %q", got, want)
		}
		if !p.Patched() && !bytes.ContainsAny(in, "<\\") && want != string(in) {
			t.Fatalf("not patched, and changed: %q became %q", in, want)
		}
	})
}
