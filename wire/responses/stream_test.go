package responses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
)

// The frames of a stream, as the API writes them, without sequence numbers.

func frameOf(kind, rest string) string {
	return fmt.Sprintf("event: response.%s\ndata: {\"type\":\"response.%s\"%s}\n\n", kind, kind, rest)
}

func created() string {
	return frameOf("created", `,"response":{"id":"resp_1","object":"response","status":"in_progress","output":[]}`)
}

func added(index int, it string) string {
	return frameOf("output_item.added", fmt.Sprintf(`,"output_index":%d,"item":%s`, index, it))
}

func done(index int, it string) string {
	return frameOf("output_item.done", fmt.Sprintf(`,"output_index":%d,"item":%s`, index, it))
}

// Texts stand in the frames as they do in JSON.

func delta(index, part int, text string) string {
	return frameOf("output_text.delta", fmt.Sprintf(`,"item_id":"msg_1","output_index":%d,"content_index":%d,"delta":"%s","logprobs":[]`, index, part, text))
}

func textDone(index, part int, text string) string {
	return frameOf("output_text.done", fmt.Sprintf(`,"item_id":"msg_1","output_index":%d,"content_index":%d,"text":"%s","logprobs":[]`, index, part, text))
}

func partDone(index, part int, text string) string {
	return frameOf("content_part.done", fmt.Sprintf(`,"item_id":"msg_1","output_index":%d,"content_index":%d,"part":{"type":"output_text","text":"%s","annotations":[]}`, index, part, text))
}

func ends(index int, text string) string {
	return textDone(index, 0, text) + partDone(index, 0, text) + done(index, message(text))
}

func completed(output string) string { return frameOf("completed", `,"response":`+response(output)) }

var kindIn = regexp.MustCompile(`(?m)^data: \{"type":"[^"]*"`)

// numbered gives every frame that says its kind its sequence number.
func numbered(stream string) string {
	n := -1
	return kindIn.ReplaceAllStringFunc(stream, func(head string) string {
		n++
		return head + `,"sequence_number":` + strconv.Itoa(n)
	})
}

const (
	begun = `{"type":"message","id":"msg_1","role":"assistant","status":"in_progress","content":[]}`
	ping  = ": ping\n\n"
	call  = `{"type":"function_call","id":"fc","call_id":"c1","name":"plan","arguments":"{\"a\": 1}","status":"completed"}`
)

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
	plan := func(tool string) bool { return tool == "plan" }
	events := func(list ...holdfast.Event) holdfast.Answer {
		return holdfast.Answer{ID: "resp_1", Complete: true, Stop: "completed", Events: list}
	}
	custom := `{"type":"custom_tool_call","call_id":"c2","name":"plan","input":"a\n"}`
	cases := []struct {
		name, in string
		keep     func(string) bool
		want     holdfast.Answer
		terminal bool
	}{
		{"a text in all its forms counts once", created() + added(0, begun) + delta(0, 0, `gr\u00fc`) + delta(0, 0, "n") + ends(0, "grün") + completed(message("grün")), nil, events(heard("grün")), true},
		{"the done item counts, not the deltas", delta(0, 0, "x") + done(0, message("a", "b")) + completed(""), nil, events(heard("a"), heard("b")), true},
		{"deltas count where no item is done", created() + added(0, begun) + delta(0, 0, `a\ud83e`) + ping + delta(0, 0, `\udded`) + delta(0, 1, "b") + completed(""), nil, events(heard("a🧭"), heard("b")), true},
		{"a done text counts where there are no deltas", added(0, begun) + textDone(0, 0, "a") + completed(""), nil, events(heard("a")), true},
		{
			"the final response counts where there are no items", created() + completed(message("a")+","+call), plan,
			events(heard("a"), holdfast.ToolCall{ID: "c1", Name: "plan", Arguments: []byte(`{"a": 1}`)}), true,
		},
		{
			"items of all kinds, in order", created() + done(0, `{"type":"reasoning","id":"r"}`) + done(1, message("a")) + done(2, call) + done(3, strings.Replace(call, "plan", "read", 1)) + done(4, custom) + done(5, `{"type":"web_search_call"}`) + completed(""), plan,
			events(holdfast.Reasoning{}, heard("a"), holdfast.ToolCall{ID: "c1", Name: "plan", Arguments: []byte(`{"a": 1}`)}, holdfast.ToolCall{ID: "c1", Name: "read"},
				holdfast.ToolCall{ID: "c2", Name: "plan", Arguments: []byte(`"a\n"`)}, holdfast.Unknown{Type: "web_search_call"}), true,
		},
		{
			"an opaque compaction", created() + added(0, `{"type":"compaction","id":"cmp","encrypted_content":"x"}`) + done(0, `{"type":"compaction","id":"cmp","encrypted_content":"x"}`) + completed(""), nil,
			events(holdfast.CompactionItem{ID: "cmp", Digest: holdfast.TextDigest("x")}), true,
		},
		{
			"a call that is never reported as done", created() + added(0, strings.Replace(call, `{\"a\": 1}`, "", 1)) + frameOf("function_call_arguments.delta", `,"output_index":0,"delta":"{\"a\":"`) + frameOf("function_call_arguments.delta", `,"output_index":0,"delta":" 2}"`) + completed(""), plan,
			events(holdfast.ToolCall{ID: "c1", Name: "plan", Arguments: []byte(`{"a": 2}`)}), true,
		},
		{
			"a custom call that is never reported as done", created() + added(0, custom) + frameOf("custom_tool_call_input.delta", `,"output_index":0,"delta":"x\""`) + completed(""), plan,
			events(holdfast.ToolCall{ID: "c2", Name: "plan", Arguments: []byte(`"x\""`)}), true,
		},
		{
			"arguments above the bound are dropped as a whole", created() + done(0, strings.Replace(call, `{\"a\": 1}`, strings.Repeat("x", maxArguments+1), 1)) +
				added(1, call) + frameOf("function_call_arguments.delta", `,"output_index":1,"delta":"`+strings.Repeat("x", maxArguments+1)+`"`) + completed(""), plan,
			events(holdfast.ToolCall{ID: "c1", Name: "plan"}, holdfast.ToolCall{ID: "c1", Name: "plan"}), true,
		},
		{
			"a stream that breaks", created() + added(0, begun) + delta(0, 0, "ab") + added(1, call) + frameOf("function_call_arguments.delta", `,"output_index":1,"delta":"{"`), plan,
			holdfast.Answer{ID: "resp_1", Events: []holdfast.Event{heard("ab"), holdfast.ToolCall{ID: "c1", Name: "plan"}}},
			false,
		},
		{
			"an incomplete response", delta(0, 0, "a") + frameOf("incomplete", `,"response":{"id":"resp_1","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}`), nil,
			holdfast.Answer{ID: "resp_1", Stop: "incomplete", Events: []holdfast.Event{heard("a")}},
			true,
		},
		{"a failed response without a status", frameOf("failed", `,"response":{"id":"resp_1"}`), nil, holdfast.Answer{ID: "resp_1", Stop: "failed"}, true},
		{"an error", created() + "event: error\ndata: {\"type\":\"error\",\"message\":\"no\"}\n\n", nil, holdfast.Answer{ID: "resp_1"}, true},
		{
			"an error before a made-up end", done(0, message("a")) + "data: {\"type\":\"error\"}\n\n" + completed(message("a")), nil,
			holdfast.Answer{ID: "resp_1", Stop: "completed", Events: []holdfast.Event{heard("a")}},
			true,
		},
		{"a completed event with another status", frameOf("completed", `,"response":{"id":"resp_1","status":"cancelled"}`), nil, holdfast.Answer{ID: "resp_1", Stop: "cancelled"}, true},
		{"a refusal is a text", added(0, begun) + frameOf("refusal.delta", `,"output_index":0,"content_index":0,"delta":"no"`) + completed(""), nil, events(heard("no")), true},
		{"frames that are no JSON or of no known kind", "data: [DONE]\n\ndata: {\n\n" + frameOf("hologram", "") + created(), nil, holdfast.Answer{ID: "resp_1"}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, in := range []string{c.in, numbered(c.in)} {
				s := listen(in, c.keep)
				if got := s.Answer(); !reflect.DeepEqual(got, c.want) || s.Terminal() != c.terminal {
					t.Errorf("got %+v, terminal %v; want %+v, %v", got, s.Terminal(), c.want, c.terminal)
				}
			}
		})
	}
}

func TestStreamKeepsNoText(t *testing.T) {
	s := NewStream(nil)
	var r sse.Reader
	r.Feed([]byte(created()+added(0, begun)), s.Event)
	piece := []byte(delta(0, 0, strings.Repeat("some words ", 90)))
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

// extra is the delta that brings the block; number -1 stands for none.
func extra(index, part, number int) string {
	sequence := ""
	if number >= 0 {
		sequence = `,"sequence_number":` + strconv.Itoa(number)
	}
	return frameOf("output_text.delta", fmt.Sprintf(`,"item_id":"msg_1","output_index":%d,"content_index":%d,"delta":"\n\n%s","logprobs":[]%s`, index, part, recordIn, sequence))
}

const plus = `\n\n` + recordIn // what the patch puts at the end of a text

func TestPatcher(t *testing.T) {
	cases := []struct{ name, in, want, text string }{
		{
			"the block is in all forms of the text",
			created() + added(0, begun) + delta(0, 0, "a") + ping + delta(0, 0, "b") + ends(0, "ab") + completed(message("ab")),
			created() + added(0, begun) + delta(0, 0, "a") + ping + delta(0, 0, "b") + extra(0, 0, -1) + ends(0, "ab"+plus) + completed(message("ab"+plus)), "ab",
		},
		{
			"of several items the last one gets it",
			delta(0, 0, "a") + ends(0, "a") + added(1, `{"type":"reasoning"}`) + done(1, `{"type":"reasoning"}`) + added(2, begun) + delta(2, 0, "b") + ends(2, "b") + completed(message("a")+`,{"type":"reasoning"},`+message("b")),
			delta(0, 0, "a") + ends(0, "a") + added(1, `{"type":"reasoning"}`) + done(1, `{"type":"reasoning"}`) + added(2, begun) + delta(2, 0, "b") + extra(2, 0, -1) + ends(2, "b"+plus) + completed(message("a")+`,{"type":"reasoning"},`+message("b"+plus)), "b",
		},
		{
			"of several parts the last one gets it",
			delta(0, 0, "a") + textDone(0, 0, "a") + partDone(0, 0, "a") + delta(0, 1, "b") + textDone(0, 1, "b") + partDone(0, 1, "b") + done(0, message("a", "b")) + completed(message("a", "b")),
			delta(0, 0, "a") + textDone(0, 0, "a") + partDone(0, 0, "a") + delta(0, 1, "b") + extra(0, 1, -1) + textDone(0, 1, "b"+plus) + partDone(0, 1, "b"+plus) + done(0, message("a", "b"+plus)) + completed(message("a", "b"+plus)), "b",
		},
		{
			"white space is not the last text",
			delta(0, 0, "a") + ends(0, "a") + delta(1, 0, ` \n`) + ends(1, ` \n`) + completed(message("a")+","+message(` \n`)),
			delta(0, 0, "a") + extra(0, 0, -1) + ends(0, "a"+plus) + delta(1, 0, ` \n`) + ends(1, ` \n`) + completed(message("a"+plus)+","+message(` \n`)), "a",
		},
		{
			"a text without deltas gets no delta",
			added(0, begun) + ends(0, "a") + completed(message("a")),
			added(0, begun) + ends(0, "a"+plus) + completed(message("a"+plus)), "a",
		},
		{"a text that only its item says", done(0, message("a", "b")) + completed(""), done(0, message("a", "b"+plus)) + completed(""), "b"},
		{"a text that only the final response says", created() + completed(message("a")), created() + completed(message("a"+plus)), "a"},
		{"deltas and nothing else", created() + delta(0, 0, "a ") + completed(""), created() + delta(0, 0, "a ") + extra(0, 0, -1) + completed(""), "a "},
		{
			"a first text in deltas, a second one in its item only",
			delta(0, 0, "a") + ends(0, "a") + done(1, message("b")) + completed(message("a")+","+message("b")),
			delta(0, 0, "a") + ends(0, "a") + done(1, message("b"+plus)) + completed(message("a")+","+message("b"+plus)), "b",
		},
		{
			"an older block goes from all forms, with the white space before it",
			delta(0, 0, `a \n`) + delta(0, 0, `\u003choldfast-`) + ping + delta(0, 0, `record revision=v>x`) + delta(0, 0, `y</holdfast-record>b`) + ends(0, `a \n`+older+`b`) + completed(message(`a \n`+older+`b`)),
			delta(0, 0, `a`) + delta(0, 0, ``) + ping + delta(0, 0, ``) + delta(0, 0, `b`) + extra(0, 0, -1) + ends(0, `ab`+plus) + completed(message(`ab`+plus)), "ab",
		},
		{
			"an older block in a text that is not the last",
			delta(0, 0, `a `+older) + ends(0, `a `+older) + delta(1, 0, "b") + ends(1, "b") + completed(message(`a `+older)+","+message("b")),
			delta(0, 0, `a`) + ends(0, `a`) + delta(1, 0, "b") + extra(1, 0, -1) + ends(1, "b"+plus) + completed(message(`a`)+","+message("b"+plus)), "b",
		},
		{
			"what only looks like the start of a block passes verbatim",
			delta(0, 0, `a `) + delta(0, 0, `\u003choldfast`) + delta(0, 0, `-rec <hold`) + ends(0, `a <holdfast-rec <hold`) + completed(""),
			delta(0, 0, `a `) + delta(0, 0, `\u003choldfast`) + delta(0, 0, `-rec <hold`) + extra(0, 0, -1) + ends(0, `a <holdfast-rec <hold`+plus) + completed(""), "a <holdfast-rec <hold",
		},
		{
			"deltas that say less than the done events",
			delta(0, 0, " ") + ends(0, "a") + completed(message("a")),
			delta(0, 0, " ") + ends(0, "a"+plus) + completed(message("a"+plus)), "a",
		},
		{
			"a second part that ends with its item",
			delta(0, 0, "a") + delta(0, 1, "b") + done(0, message("a", "b")) + completed(""),
			delta(0, 0, "a") + delta(0, 1, "b") + extra(0, 1, -1) + done(0, message("a", "b"+plus)) + completed(""), "b",
		},
		{"a text that ends in half a character", delta(0, 0, `a\ud83e`) + completed(""), delta(0, 0, `a\ud83e`) + extra(0, 0, -1) + completed(""), "a\ufffd"},
		{
			"annotations and unknown frames pass in order",
			delta(0, 0, "a") + frameOf("output_text.annotation.added", `,"output_index":0`) + textDone(0, 0, "a") + frameOf("hologram", "") + completed(message("a")),
			delta(0, 0, "a") + frameOf("output_text.annotation.added", `,"output_index":0`) + extra(0, 0, -1) + textDone(0, 0, "a"+plus) + frameOf("hologram", "") + completed(message("a"+plus)), "a",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want := holdfast.TextDigest(c.text + separator + record)
			got, p := patch(record, c.in)
			if got != c.want || !p.Patched() || p.Summary() != want {
				t.Errorf("patched %v, summary %v, want %v; got\n%s\nwant\n%s", p.Patched(), p.Summary(), want, got, c.want)
			}
			// With CRLF the frames keep theirs; only the new one has LF.
			got, _ = patch(record, strings.ReplaceAll(c.in, "\n", "\r\n"))
			if strings.ReplaceAll(got, "\r\n", "\n") != c.want {
				t.Errorf("with CRLF got\n%s", got)
			}
		})
	}
	end := completed(message("a"))
	unpatched := []struct{ name, in string }{
		{"no text", created() + done(0, `{"type":"reasoning"}`) + completed(`{"type":"reasoning"}`)},
		{"white space", delta(0, 0, " ") + ends(0, " ") + completed(message(" "))},
		{"a call behind the text", delta(0, 0, "a ") + ends(0, "a ") + added(1, call) + done(1, call) + completed(message("a ")+","+call)},
		{"a call that only the final response says", delta(0, 0, "a") + ends(0, "a") + completed(message("a")+","+call)},
		{"a refusal in deltas", delta(0, 0, "a") + ends(0, "a") + frameOf("refusal.delta", `,"output_index":1,"content_index":0,"delta":"no"`) + end},
		{"a refusal in an item", delta(0, 0, "a") + ends(0, "a") + done(1, `{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}`) + end},
		{"an opaque compaction", created() + done(0, `{"type":"compaction","encrypted_content":"x"}`) + completed(`{"type":"compaction","encrypted_content":"x"}`)},
		{"a failed response", delta(0, 0, "a") + ends(0, "a") + frameOf("failed", `,"response":{"status":"failed"}`)},
		{"an incomplete response", delta(0, 0, "a") + frameOf("incomplete", `,"response":{"status":"incomplete"}`)},
		{"an error", delta(0, 0, "a <hold") + "event: error\ndata: {\"type\":\"error\"}\n\n"},
		{"a completed event with another status", delta(0, 0, "a") + ends(0, "a") + strings.Replace(end, `"object":"response","status":"completed"`, `"object":"response","status":"cancelled"`, 1)},
		{"a stream that breaks behind a text", created() + delta(0, 0, "a") + ends(0, "a")},
		{"a stream that breaks in the start of an older block", created() + delta(0, 0, "a ") + delta(0, 0, "<holdfast-rec")},
		{"a stream that breaks in a frame", delta(0, 0, "a") + ends(0, "a") + "event: respo"},
		{"deltas of two texts in turn", delta(0, 0, "a") + delta(1, 0, "b") + delta(0, 0, "c") + end},
		{"deltas without a place", frameOf("output_text.delta", `,"delta":"a"`) + end},
		{"an end without a place", delta(0, 0, "a") + frameOf("output_text.done", `,"text":"a"`) + end},
	}
	for _, c := range unpatched {
		t.Run("not patched: "+c.name, func(t *testing.T) {
			for _, in := range []string{c.in, numbered(c.in)} {
				got, p := patch(record, in)
				if got != in || p.Patched() || !p.Summary().IsZero() {
					t.Errorf("patched %v, summary %v; got\n%s\nwant\n%s", p.Patched(), p.Summary(), got, in)
				}
			}
		})
	}
	t.Run("without a block nothing is changed", func(t *testing.T) {
		in := numbered(delta(0, 0, "a "+older) + ends(0, "a "+older) + completed(message("a "+older)) + ping)
		if got, p := patch("", in); got != in || p.Patched() {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a block that is none in the end changes nothing", func(t *testing.T) {
		in, asked := numbered(created()+delta(0, 0, "a ")+ends(0, "a ")+completed(message("a "))+ping), 0
		none := func() string { asked++; return "" }
		if got, p := patchWith(none, in); got != in || p.Patched() || asked != 1 {
			t.Errorf("asked %d times, got %s", asked, got)
		}
	})
}

func TestSequenceNumbersStayWithoutAGap(t *testing.T) {
	in := numbered(created() + delta(0, 0, "a") + ping + ends(0, "a") + completed(message("a")) + frameOf("late", ""))
	got, p := patch(record, in)
	if !p.Patched() {
		t.Fatal("not patched")
	}
	var numbers []int
	for _, m := range regexp.MustCompile(`"sequence_number":(\d+)`).FindAllStringSubmatch(got, -1) {
		n, _ := strconv.Atoi(m[1])
		numbers = append(numbers, n)
	}
	if want := []int{0, 1, 2, 3, 4, 5, 6, 7}; !slices.Equal(numbers, want) {
		t.Errorf("got %v, want %v in\n%s", numbers, want, got)
	}
	if !strings.Contains(got, extra(0, 0, 2)) {
		t.Errorf("the new delta has not the number 2:\n%s", got)
	}
}

func TestPatcherHoldsBackOnlyWhatItMust(t *testing.T) {
	last := completed(message("ab\\n<b>") + "," + message("c"))
	steps := []struct{ frame, emitted string }{
		{created(), created()},
		{delta(0, 0, "a"), delta(0, 0, "a")},
		{delta(0, 0, `b\n`), ""},
		{ping, ""},
		{delta(0, 0, `<`), ""},
		{delta(0, 0, `b>`), delta(0, 0, `b\n`) + ping + delta(0, 0, `<`) + delta(0, 0, `b>`)},
		{textDone(0, 0, `ab\n<b>`), ""},
		{done(0, message(`ab\n<b>`)), ""},
		{added(1, begun), ""},
		{delta(1, 0, " "), ""},
		{delta(1, 0, "c"), textDone(0, 0, `ab\n<b>`) + done(0, message(`ab\n<b>`)) + added(1, begun) + delta(1, 0, " ") + delta(1, 0, "c")},
		{textDone(1, 0, " c"), ""},
		{last, extra(1, 0, -1) + textDone(1, 0, " c"+plus)},
	}
	p := NewPatcher(always(record))
	var r sse.Reader
	for _, s := range steps {
		got := ""
		r.Feed([]byte(s.frame), func(e sse.Event) {
			if terminal := p.Event(e, func(raw []byte) { got += string(raw) }); terminal != (s.frame == last) {
				t.Errorf("terminal %v at %s", terminal, s.frame)
			}
		})
		if got != s.emitted {
			t.Errorf("at %s emitted\n%s\nwant\n%s", s.frame, got, s.emitted)
		}
	}
	if want := completed(message("ab\\n<b>") + "," + message("c"+plus)); string(p.Terminal()) != want {
		t.Errorf("terminal event %s, want %s", p.Terminal(), want)
	}
}

func TestPatcherGivesUpWhenTooMuchWouldBeHeld(t *testing.T) {
	in := delta(0, 0, "a") + ends(0, "a")
	for i := range 5 {
		in += done(i+1, `{"type":"reasoning","encrypted_content":"`+strings.Repeat("t", 1<<20)+`"}`)
	}
	in += completed(message("a"))
	if got, p := patch(record, in); got != in || p.Patched() {
		t.Errorf("patched %v, %d bytes of %d", p.Patched(), len(got), len(in))
	}
}

// sample holds what is hard about a stream, and an older block.
func sample() string {
	one, two := `grün 🧭 x <holdfast-record revision=a>\n\n</holdfast-record> <b`, `the end 🧭 `
	return numbered(created() + added(0, begun) + delta(0, 0, `gr\u00fcn \ud83e`) + delta(0, 0, `\udded x `) + delta(0, 0, "<hold") + delta(0, 0, `fast-record a>\n\n</holdfast-`) + delta(0, 0, "record> <b") + ends(0, one) +
		": c\r\n\r\n" + strings.ReplaceAll(done(1, `{"type":"reasoning"}`), "\n", "\r\n") + delta(2, 0, two) + ends(2, two) + completed(message(one)+`,{"type":"reasoning"},`+message(two)))
}

func TestAnyChunkingGivesTheSameBytes(t *testing.T) {
	in := sample()
	want, p := patch(record, in)
	if !p.Patched() {
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
		if strings.Contains(in, "response.completed") {
			continue
		}
		got, p := patch(record, in)
		if p.Patched() || p.Terminal() != nil || strings.Contains(got, "revision=\\\"2") || listen(got, nil).Terminal() {
			t.Errorf("broken behind %d frames: patched %v, got\n%s", i, p.Patched(), got)
		}
	}
}

func quote(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted[1 : len(quoted)-1])
}

// whole builds the body and the stream of one answer with the given texts. forms
// tells which forms of a text the stream has: 1 deltas, 2 done events, 4 items,
// 8 the final response.
func whole(texts []string, cut, forms int) (body, stream string) {
	var output []string
	stream = created()
	for i, text := range texts {
		it := message(quote(text))
		output = append(output, it)
		stream += added(i, begun)
		if forms&1 != 0 {
			for piece := range slices.Chunk([]rune(text), cut) {
				stream += delta(i, 0, quote(string(piece)))
			}
		}
		if forms&2 != 0 {
			stream += textDone(i, 0, quote(text)) + partDone(i, 0, quote(text))
		}
		if forms&4 != 0 {
			stream += done(i, it)
		}
	}
	all := strings.Join(output, ",")
	if forms&8 != 0 {
		stream += completed(all)
	} else {
		stream += completed("")
	}
	return response(all), numbered(stream)
}

// checkSame holds the streamed form of an answer against the other one, and the
// forms within the stream against each other.
func checkSame(t *testing.T, texts []string, cut, forms int) {
	t.Helper()
	body, stream := whole(texts, cut, forms)
	patched, summary, ok := Codec{}.PatchBody([]byte(body), record)
	out, p := patch(record, stream)
	if ok != p.Patched() || summary != p.Summary() {
		t.Fatalf("%q, forms %b: body patched %v with %v, stream %v with %v", texts, forms, ok, summary, p.Patched(), p.Summary())
	}
	if !ok {
		// The stream may have lost older blocks before it was known that no
		// text is left; the body has not.
		return
	}
	want, err := Codec{}.ReadBody(patched)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range want.Events {
		m := e.(holdfast.AssistantMessage)
		m.Text = ""
		want.Events[i] = m
	}
	drop := func(kinds ...string) string {
		frames := strings.SplitAfter(out, "\n\n")
		return strings.Join(slices.DeleteFunc(frames, func(f string) bool {
			return slices.ContainsFunc(kinds, func(kind string) bool { return strings.HasPrefix(f, "event: response."+kind) })
		}), "")
	}
	views := []string{}
	if forms&4 != 0 {
		views = append(views, out)
	}
	if forms&1 != 0 {
		views = append(views, drop("output_item.done", "output_text.done", "content_part.done"))
	}
	if forms&2 != 0 {
		views = append(views, drop("output_item.done", "output_text.delta"))
	}
	if forms&8 != 0 {
		views = append(views, drop("output_item.", "output_text.", "content_part.done"))
	}
	for _, view := range views {
		if got := listen(view, nil).Answer(); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q, forms %b: the stream reads as %+v, the body as %+v in\n%s", texts, forms, got, want, view)
		}
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
		for forms := 1; forms < 16; forms++ {
			for _, cut := range []int{1, 5} {
				checkSame(t, texts, cut, forms)
			}
		}
	}
}

func FuzzPatcher(f *testing.F) {
	f.Add("a\n<holdfast-record revision=1>", " x</holdfast-record>b", 3, 15)
	f.Add(" ", "<holdfast-recor", 1, 1)
	f.Fuzz(func(t *testing.T, a, b string, cut, forms int) {
		checkSame(t, []string{strings.ToValidUTF8(a, "?"), strings.ToValidUTF8(b, "?")}, 1+(cut&0xff)%17, 1+(forms&0xff)%15)
	})
}

func FuzzStream(f *testing.F) {
	f.Add([]byte(sample()), 5)
	f.Add([]byte(created()+"data: {\"type\":\"error\"}\n\n"), 1)
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
