package anthropic

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
)

// The frames of a stream, as the API writes them.

func frameOf(kind, rest string) string {
	return fmt.Sprintf("event: %s\ndata: {\"type\":\"%s\"%s}\n\n", kind, kind, rest)
}

func begin() string {
	return frameOf("message_start", `,"message":{"id":"msg_1","type":"message","role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":3}}`)
}

func start(index int, content string) string {
	return frameOf("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":{%s}`, index, content))
}

func startText(index int) string { return start(index, `"type":"text","text":""`) }

// delta takes the text as it stands in JSON.
func delta(index int, text string) string {
	return frameOf("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":{"type":"text_delta","text":"%s"}`, index, text))
}

func stop(index int) string { return frameOf("content_block_stop", fmt.Sprintf(`,"index":%d`, index)) }

func end(reason string) string {
	return frameOf("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":"%s","stop_sequence":null},"usage":{"output_tokens":9}`, reason))
}

const (
	ping = "event: ping\ndata: {\"type\": \"ping\"}\n\n"
	over = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	fail = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n"
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
	json := func(index int, part string) string {
		return frameOf("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":{"type":"input_json_delta","partial_json":"%s"}`, index, part))
	}
	cases := []struct {
		name, in string
		keep     func(string) bool
		want     holdfast.Answer
		terminal bool
	}{
		{
			"a text in deltas", begin() + ping + startText(0) + delta(0, `gr\u00fc`) + delta(0, "n 🧭\\n") + stop(0) + end("end_turn") + over, nil,
			holdfast.Answer{ID: "msg_1", Stop: "end_turn", Complete: true, Events: []holdfast.Event{heard("grün 🧭\n")}},
			true,
		},
		{
			"a character cut between its surrogate halves", begin() + startText(0) + delta(0, `a\ud83e`) + delta(0, `\udded`) + stop(0) + end("end_turn") + over, nil,
			holdfast.Answer{ID: "msg_1", Stop: "end_turn", Complete: true, Events: []holdfast.Event{heard("a🧭")}},
			true,
		},
		{
			"a text that begins in its first frame", startText(0) + stop(0) + start(1, `"type":"text","text":"a"`) + delta(1, "b") + stop(1) + end("end_turn") + over, nil,
			holdfast.Answer{Stop: "end_turn", Complete: true, Events: []holdfast.Event{heard("ab")}},
			true,
		},
		{
			"all kinds of blocks, in order", start(0, `"type":"thinking","thinking":""`) + frameOf("content_block_delta", `,"index":0,"delta":{"type":"thinking_delta","thinking":"t"}`) + stop(0) +
				startText(1) + delta(1, "a") + stop(1) +
				start(2, `"type":"server_tool_use","id":"s1","name":"web_search","input":{}`) + json(2, `{}`) + stop(2) +
				start(3, `"type":"tool_use","id":"t1","name":"Plan","input":{}`) + json(3, ``) + json(3, `{\"a\":`) + json(3, ` \"ü\\n\"}`) + stop(3) +
				start(4, `"type":"tool_use","id":"t2","name":"Read","input":{}`) + json(4, `{\"p\":1}`) + stop(4) + end("tool_use") + over,
			func(tool string) bool { return tool == "Plan" },
			holdfast.Answer{Stop: "tool_use", Complete: true, Events: []holdfast.Event{
				holdfast.Reasoning{},
				heard("a"),
				holdfast.Unknown{Type: "server_tool_use"},
				holdfast.ToolCall{ID: "t1", Name: "Plan", Arguments: []byte(`{"a": "ü\n"}`)},
				holdfast.ToolCall{ID: "t2", Name: "Read"},
			}},
			true,
		},
		{
			"a summary of the provider's in deltas, before a text", start(0, `"type":"compaction","content":null`) +
				frameOf("content_block_delta", `,"index":0,"delta":{"type":"compaction_delta","content":"They moved "}`) +
				frameOf("content_block_delta", `,"index":0,"delta":{"type":"compaction_delta","content":"it."}`) + stop(0) +
				startText(1) + delta(1, "a") + stop(1) + end("end_turn") + over, nil,
			holdfast.Answer{Stop: "end_turn", Complete: true, Events: []holdfast.Event{holdfast.CompactionItem{Digest: holdfast.TextDigest("They moved it.")}, heard("a")}},
			true,
		},
		{
			"a summary that stands in its first frame", start(0, `"type":"compaction","content":"They moved it.","signature":"s"`) + stop(0) + end("compaction") + over, nil,
			holdfast.Answer{Stop: "compaction", Complete: true, Events: []holdfast.Event{holdfast.CompactionItem{Digest: holdfast.TextDigest("They moved it.")}}},
			true,
		},
		{
			"a compaction that failed", start(0, `"type":"compaction","content":null`) + stop(0) + end("end_turn") + over, nil,
			holdfast.Answer{Stop: "end_turn", Complete: true, Events: []holdfast.Event{holdfast.Unknown{Type: "compaction"}}},
			true,
		},
		{
			"arguments that stand in the first frame", start(0, `"type":"tool_use","id":"t1","name":"Plan","input":{"a":1}`) + stop(0) + end("tool_use") + over, all,
			holdfast.Answer{Stop: "tool_use", Complete: true, Events: []holdfast.Event{holdfast.ToolCall{ID: "t1", Name: "Plan", Arguments: []byte(`{"a":1}`)}}},
			true,
		},
		{
			"arguments above the bound are dropped as a whole", start(0, `"type":"tool_use","id":"t1","name":"Plan","input":{}`) + json(0, strings.Repeat("x", maxArguments)) + json(0, "x") + json(0, "x") + stop(0) + end("tool_use") + over, all,
			holdfast.Answer{Stop: "tool_use", Complete: true, Events: []holdfast.Event{holdfast.ToolCall{ID: "t1", Name: "Plan"}}},
			true,
		},
		{
			"a stream that breaks in a text", begin() + startText(0) + delta(0, "ab"), nil,
			holdfast.Answer{ID: "msg_1", Events: []holdfast.Event{heard("ab")}},
			false,
		},
		{
			"a stream that breaks in a call", start(0, `"type":"tool_use","id":"t1","name":"Plan","input":{}`) + json(0, `{`), all,
			holdfast.Answer{Events: []holdfast.Event{holdfast.ToolCall{ID: "t1", Name: "Plan"}}},
			false,
		},
		{"an error", begin() + startText(0) + delta(0, "a") + fail, nil, holdfast.Answer{ID: "msg_1", Events: []holdfast.Event{heard("a")}}, false},
		{
			"an error before a made-up end", startText(0) + delta(0, "a") + stop(0) + end("end_turn") + fail + over, nil,
			holdfast.Answer{Stop: "end_turn", Events: []holdfast.Event{heard("a")}},
			true,
		},
		{"a refusal", startText(0) + delta(0, "a") + stop(0) + end("refusal") + over, nil, holdfast.Answer{Stop: "refusal", Events: []holdfast.Event{heard("a")}}, true},
		{"an end without a stop reason", begin() + over, nil, holdfast.Answer{ID: "msg_1"}, true},
		{"frames that are no JSON or of no known kind", ": hi\n\ndata: [DONE]\n\ndata: {\n\n" + frameOf("hologram", "") + delta(7, "x") + stop(7) + over, nil, holdfast.Answer{}, true},
		{"a kind that stands in the event field only", "event: message_stop\ndata: {}\n\n", nil, holdfast.Answer{}, true},
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
	r.Feed([]byte(begin()+startText(0)), s.Event)
	piece := []byte(delta(0, strings.Repeat("some words ", 90)))
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

// patch sends the pieces through a Patcher as the proxy does.
func patch(text string, pieces ...string) (out string, p *Patcher) {
	return patchWith(always(text), pieces...)
}

// always is a block that is known from the start; nil for "".
func always(block string) func() string {
	if block == "" {
		return nil
	}
	return func() string { return block }
}

func patchWith(block func() string, pieces ...string) (out string, p *Patcher) {
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
	p.Flush(emit)
	b.Write(r.Rest())
	return b.String(), p
}

func added(index int) string {
	return fmt.Sprintf("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"text_delta\",\"text\":\"\\n\\n%s\"}}\n\n", index, recordIn)
}

func TestPatcher(t *testing.T) {
	tail := end("end_turn") + over
	thinking := start(1, `"type":"thinking","thinking":""`) + stop(1)
	tool := start(1, `"type":"tool_use","id":"t","name":"n","input":{}`) + stop(1)
	cases := []struct{ name, in, want, text string }{ // text: of the patched block; "" means not patched
		{
			"the block comes before the end of the text",
			begin() + startText(0) + delta(0, "a") + ping + delta(0, "b") + stop(0) + tail,
			begin() + startText(0) + delta(0, "a") + ping + delta(0, "b") + added(0) + stop(0) + tail, "ab",
		},
		{
			"of several texts the last one gets it",
			startText(0) + delta(0, "a") + stop(0) + thinking + startText(2) + delta(2, "b") + stop(2) + tail,
			startText(0) + delta(0, "a") + stop(0) + thinking + startText(2) + delta(2, "b") + added(2) + stop(2) + tail, "b",
		},
		{
			"an empty text and white space are not the last one",
			startText(0) + delta(0, "a") + stop(0) + ping + startText(1) + delta(1, ` \n`) + stop(1) + startText(2) + stop(2) + tail,
			startText(0) + delta(0, "a") + added(0) + stop(0) + ping + startText(1) + delta(1, ` \n`) + stop(1) + startText(2) + stop(2) + tail, "a",
		},
		{
			"a text that stands in its first frame",
			start(0, `"type":"text","text":"a"`) + stop(0) + tail,
			start(0, `"type":"text","text":"a"`) + added(0) + stop(0) + tail, "a",
		},
		{
			"an older block goes, with the white space before it",
			startText(0) + delta(0, `a\n`+older+` b`) + stop(0) + tail,
			startText(0) + delta(0, `a b`) + added(0) + stop(0) + tail, "a b",
		},
		{
			"an older block over many frames, the delimiters in pieces and in escapes",
			startText(0) + delta(0, `a \n`) + ping + delta(0, `\n`) + delta(0, `\u003chold`) + delta(0, `fast-`) + delta(0, `record revision=v>`) + delta(0, `old`) + ping + delta(0, `</holdfast`) + delta(0, `-record`) + delta(0, `>b`) + stop(0) + tail,
			startText(0) + delta(0, `a`) + ping + delta(0, ``) + delta(0, ``) + delta(0, ``) + delta(0, ``) + delta(0, ``) + ping + delta(0, ``) + delta(0, ``) + delta(0, `b`) + added(0) + stop(0) + tail, "ab",
		},
		{
			"an older block that never closes ends with its text",
			startText(0) + delta(0, `a <holdfast-record revision`) + delta(0, `=v`) + stop(0) + startText(1) + delta(1, "b") + stop(1) + tail,
			startText(0) + delta(0, `a`) + delta(0, ``) + stop(0) + startText(1) + delta(1, "b") + added(1) + stop(1) + tail, "b",
		},
		{
			"a text that is nothing but an older block is a text",
			startText(0) + delta(0, "a") + stop(0) + startText(1) + delta(1, older) + stop(1) + tail,
			startText(0) + delta(0, "a") + stop(0) + startText(1) + delta(1, "") + added(1) + stop(1) + tail, "",
		},
		{
			"what only looks like the start of a block passes verbatim",
			startText(0) + delta(0, `a `) + delta(0, `\u003choldfast`) + delta(0, `-rec <hold`) + stop(0) + tail,
			startText(0) + delta(0, `a `) + delta(0, `\u003choldfast`) + delta(0, `-rec <hold`) + added(0) + stop(0) + tail, "a <holdfast-rec <hold",
		},
		{
			"frames with CRLF, comments and data in lines stay as they are, but for the text",
			": c\r\n\r\n" + startText(0) + "id: 5\r\ndata: {\"type\":\"content_block_delta\",\"index\":0,\r\ndata:  \"delta\":{\"type\":\"text_delta\",\"text\":\"a " + older + "\"}}\r\n\r\n" + stop(0) + tail,
			": c\r\n\r\n" + startText(0) + "id: 5\r\ndata: {\"type\":\"content_block_delta\",\"index\":0,\r\ndata:  \"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\r\n\r\n" + added(0) + stop(0) + tail, "a",
		},
		{
			"citations and unknown frames pass in order",
			startText(0) + delta(0, "a") + frameOf("content_block_delta", `,"index":0,"delta":{"type":"citations_delta","citation":{}}`) + stop(0) + frameOf("hologram", "") + tail,
			startText(0) + delta(0, "a") + frameOf("content_block_delta", `,"index":0,"delta":{"type":"citations_delta","citation":{}}`) + added(0) + stop(0) + frameOf("hologram", "") + tail, "a",
		},
		{
			"a text whose end the upstream left out",
			startText(0) + delta(0, "a") + tail,
			startText(0) + delta(0, "a") + added(0) + tail, "a",
		},
		{
			"a text that ends in half a character", startText(0) + delta(0, `a\ud83e`) + stop(0) + tail,
			startText(0) + delta(0, `a\ud83e`) + added(0) + stop(0) + tail, "a\ufffd",
		},
		{
			"a text cut off at the limit is still a text", startText(0) + delta(0, "a") + stop(0) + end("max_tokens") + over,
			startText(0) + delta(0, "a") + added(0) + stop(0) + end("max_tokens") + over, "a",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, p := patch(record, c.in)
			want := holdfast.TextDigest(c.text + separator + record)
			if got != c.want || !p.Patched() || p.Summary() != want {
				t.Errorf("patched %v, summary %v, want %v; got\n%s\nwant\n%s", p.Patched(), p.Summary(), want, got, c.want)
			}
		})
	}
	unpatched := []struct{ name, in string }{
		{"no text", begin() + start(0, `"type":"thinking","thinking":""`) + stop(0) + tail},
		{"white space", startText(0) + delta(0, ` \n`) + stop(0) + tail},
		{"a tool call behind the text", startText(0) + delta(0, "a ") + stop(0) + tool + end("tool_use") + over},
		{"a refusal", startText(0) + delta(0, "a") + stop(0) + end("refusal") + over},
		{"an error behind the text", startText(0) + delta(0, "a") + stop(0) + ping + fail},
		{"an error behind the stop reason", startText(0) + delta(0, "a") + stop(0) + end("end_turn") + fail + over},
		{"no stop reason", startText(0) + delta(0, "a") + stop(0) + over},
		{"a stream that breaks behind a text", begin() + startText(0) + delta(0, "a") + stop(0)},
		{"a stream that breaks in the start of an older block", begin() + startText(0) + delta(0, "a ") + delta(0, "<holdfast-rec")},
		{"a stream that breaks in a frame", begin() + startText(0) + delta(0, "a") + stop(0) + "event: messa"},
		{"deltas of two texts in turn", startText(0) + delta(0, "a") + startText(1) + delta(0, "b") + delta(1, "c") + stop(0) + stop(1) + tail},
		{"text that is no string", startText(0) + frameOf("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":null}`) + stop(0) + tail},
	}
	for _, c := range unpatched {
		t.Run("not patched: "+c.name, func(t *testing.T) {
			got, p := patch(record, c.in)
			if got != c.in || p.Patched() || !p.Summary().IsZero() {
				t.Errorf("patched %v, summary %v; got\n%s\nwant\n%s", p.Patched(), p.Summary(), got, c.in)
			}
		})
	}
	t.Run("without a block nothing is changed", func(t *testing.T) {
		in := startText(0) + delta(0, "a "+older) + stop(0) + tail + ping
		if got, p := patch("", in); got != in || p.Patched() {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a block that is none in the end changes nothing", func(t *testing.T) {
		in, asked := begin()+startText(0)+delta(0, "a ")+stop(0)+tail+ping, 0
		none := func() string { asked++; return "" }
		if got, p := patchWith(none, in); got != in || p.Patched() || asked != 1 {
			t.Errorf("asked %d times, got %s", asked, got)
		}
	})
}

func TestPatcherHoldsBackOnlyWhatItMust(t *testing.T) {
	steps := []struct{ frame, emitted string }{
		{begin(), begin()},
		{startText(0), startText(0)},
		{delta(0, "a"), delta(0, "a")},
		{delta(0, `b\n`), ""},
		{ping, ""},
		{delta(0, `<`), ""},
		{delta(0, `b>`), delta(0, `b\n`) + ping + delta(0, `<`) + delta(0, `b>`)},
		{stop(0), ""},
		{startText(1), ""},
		{delta(1, " "), ""},
		{delta(1, "c"), stop(0) + startText(1) + delta(1, " ") + delta(1, "c")},
		{stop(1), ""},
		{end("end_turn"), ""},
		{over, added(1) + stop(1) + end("end_turn")},
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
	if string(p.Terminal()) != over {
		t.Errorf("terminal event %q", p.Terminal())
	}
}

func TestPatcherGivesUpWhenTooMuchWouldBeHeld(t *testing.T) {
	in := startText(0) + delta(0, "a") + stop(0)
	big := start(1, `"type":"thinking","thinking":"`+strings.Repeat("t", 1<<20)+`"`) + stop(1)
	in += strings.Repeat(big, 5) + end("end_turn") + over
	if got, p := patch(record, in); got != in || p.Patched() {
		t.Errorf("patched %v, %d bytes of %d", p.Patched(), len(got), len(in))
	}
}

// sample holds what is hard about a stream, and an older block.
func sample() string {
	return begin() + ping + startText(0) + delta(0, `gr\u00fcn \ud83e`) + delta(0, `\udded x `) + delta(0, "<hold") + delta(0, `fast-record a>\n\n</holdfast-`) + delta(0, "record> <b") + stop(0) +
		": c\r\n\r\n" + start(1, `"type":"thinking","thinking":""`) + stop(1) + startText(2) + delta(2, "the end 🧭 ") + stop(2) + strings.ReplaceAll(end("end_turn"), "\n", "\r\n") + over
}

func TestAnyChunkingGivesTheSameBytes(t *testing.T) {
	in := sample()
	want, _ := patch(record, in)
	if !strings.Contains(want, added(2)) {
		t.Fatalf("not patched: %s", want)
	}
	for i := 0; i < len(in); i += 7 {
		if got, _ := patch(record, in[:i], in[i:]); got != want {
			t.Fatalf("cut at byte %d: got\n%s\nwant\n%s", i, got, want)
		}
	}
	var single []string
	for i := range len(in) {
		single = append(single, in[i:i+1])
	}
	if got, _ := patch(record, single...); got != want {
		t.Fatalf("byte by byte: got\n%s\nwant\n%s", got, want)
	}
}

func TestBrokenAtEveryEventTheClientSeesTheBreak(t *testing.T) {
	frames := strings.SplitAfter(sample(), "\n\n")
	for i := range frames {
		in := strings.Join(frames[:i], "")
		if strings.Contains(in, "message_stop") {
			continue
		}
		got, p := patch(record, in)
		if p.Patched() || p.Terminal() != nil || strings.Contains(got, "revision=\\\"2") || listen(got, nil).Terminal() {
			t.Errorf("broken behind %d frames: patched %v, got\n%s", i, p.Patched(), got)
		}
	}
}

// whole builds the body and the stream of one answer with the given texts.
func whole(texts []string, cut int) (body, stream string) {
	var blocks []map[string]string
	stream = begin()
	for i, text := range texts {
		blocks = append(blocks, map[string]string{"type": "text", "text": text})
		stream += startText(i)
		for piece := range slices.Chunk([]rune(text), cut) {
			quoted, _ := json.Marshal(string(piece))
			stream += delta(i, string(quoted[1:len(quoted)-1]))
		}
		stream += stop(i)
	}
	b, _ := json.Marshal(map[string]any{"id": "msg_1", "type": "message", "content": blocks, "stop_reason": "end_turn"})
	return string(b), stream + end("end_turn") + over
}

// checkSame holds the streamed form of an answer against the other one.
func checkSame(t *testing.T, texts []string, cut int) {
	t.Helper()
	body, stream := whole(texts, cut)
	patched, summary, ok := Codec{}.PatchBody([]byte(body), record)
	out, p := patch(record, stream)
	if ok != p.Patched() || summary != p.Summary() {
		t.Fatalf("%q: body patched %v with %v, stream %v with %v", texts, ok, summary, p.Patched(), p.Summary())
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
		t.Fatalf("%q: the stream reads as %+v, the body as %+v", texts, got, want)
	}
}

func TestStreamAndBodyArePatchedAlike(t *testing.T) {
	for _, texts := range [][]string{
		{"a"},
		{"a", "b"},
		{"a", " "},
		{"", "a", ""},
		{" "},
		{"a\n\n" + record},
		{"a " + record + " b", record},
		{"<holdfast-record", "x"},
		{"grün 🧭 <holdfast-rec", "<<holdfast-record>"},
	} {
		for cut := 1; cut < 9; cut++ {
			checkSame(t, texts, cut)
		}
	}
}

func TestPatchedStreamReadsAsTheTextsAndTheBlock(t *testing.T) {
	_, in := whole([]string{"first", "second 🧭 "}, 3)
	out, _ := patch(record, in)
	want := listen(in, nil).Answer()
	want.Events[1] = heard("second 🧭 " + separator + record)
	if got := listen(out, nil).Answer(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func FuzzPatcher(f *testing.F) {
	f.Add("a\n<holdfast-record revision=1>", " x</holdfast-record>b", 3)
	f.Add(" ", "<holdfast-recor", 1)
	f.Fuzz(func(t *testing.T, a, b string, cut int) {
		checkSame(t, []string{strings.ToValidUTF8(a, "?"), strings.ToValidUTF8(b, "?")}, 1+(cut&0xff)%17)
	})
}

func FuzzStream(f *testing.F) {
	f.Add([]byte(sample()), 5)
	f.Add([]byte(begin()+fail), 1)
	f.Fuzz(func(t *testing.T, in []byte, step int) {
		listen(string(in), func(string) bool { return true }).Answer()
		if got, _ := patch("", string(in)); got != string(in) {
			t.Fatalf("without a block %q became %q", in, got)
		}
		want, p := patch(record, string(in))
		var pieces []string
		for c := range slices.Chunk(in, 1+(step&0xffff)%50) {
			pieces = append(pieces, string(c))
		}
		if got, _ := patch(record, pieces...); got != want {
			t.Fatalf("in pieces %q, at once %q", got, want)
		}
		if !p.Patched() && !bytes.ContainsAny(in, "<\\") && want != string(in) {
			t.Fatalf("not patched, and changed: %q became %q", in, want)
		}
	})
}

func conversation(size int) []byte {
	prose := strings.Repeat(`The reader stops at the first blank line.\nA field named \"data\" may repeat, `, 25)
	source := strings.Repeat(`\tfor at < len(b) {\n\t\tat = step(b, at)\n\t}\n`, 100)
	var b bytes.Buffer
	b.WriteString(`{"model":"m","stream":true,"metadata":{"user_id":"u"},"system":[{"type":"text","text":"` + prose + `"}],"tools":[],"messages":[`)
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%06d","content":"%s"},{"type":"text","text":"%s"}]},`, i, source, prose)
		fmt.Fprintf(&b, `{"role":"assistant","content":[{"type":"text","text":"%s"},{"type":"tool_use","id":"toolu_%06d","name":"Read","input":{"path":"a/b.go","limit":200}}]},`, prose[:300], i)
	}
	b.WriteString(`{"role":"user","content":"go on"}]}`)
	return b.Bytes()
}

func BenchmarkScan2MB(b *testing.B) {
	body := conversation(2 << 20)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Codec{}).Scan(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInsert2MB(b *testing.B) {
	body := conversation(2 << 20)
	req, err := Codec{}.Scan(body)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Codec{}).InsertBlock(body, req, 0, record); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStreamDelta(b *testing.B) {
	in := []byte(delta(0, " a few words"))
	b.Run("read", func(b *testing.B) {
		var r sse.Reader
		s := NewStream(nil)
		r.Feed([]byte(begin()+startText(0)), s.Event)
		b.ReportAllocs()
		for b.Loop() {
			r.Feed(in, s.Event)
		}
	})
	b.Run("read and patched", func(b *testing.B) {
		var r sse.Reader
		s, p := NewStream(nil), NewPatcher(always(record))
		none := func([]byte) {}
		take := func(e sse.Event) {
			s.Event(e)
			p.Event(e, none)
		}
		r.Feed([]byte(begin()+startText(0)), take)
		b.ReportAllocs()
		for b.Loop() {
			r.Feed(in, take)
		}
	})
}
