package gemini

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

func data(json string) string { return "data: " + json + "\r\n\r\n" }

// chunkOf takes the parts as they stand in JSON.
func chunkOf(parts string) string {
	return data(fmt.Sprintf(`{"candidates": [{"content": {"parts": [%s],"role": "model"},"index": 0}],"usageMetadata": {"totalTokenCount": 3},"modelVersion": "m","responseId": "r1"}`, parts))
}

// delta takes the text as it stands in JSON.
func delta(text string) string { return chunkOf(`{"text": "` + text + `"}`) }

// end is the chunk with the finish reason.
func end(parts, reason string) string { return data(answer(parts, reason)) }

const (
	bare  = `data: {"candidates": [{"finishReason": "STOP","index": 0}],"usageMetadata": {"totalTokenCount": 9},"modelVersion": "m","responseId": "r1"}` + "\r\n\r\n"
	usage = `data: {"usageMetadata": {"totalTokenCount": 9}}` + "\r\n\r\n"
	block = `data: {"promptFeedback": {"blockReason": "SAFETY"},"responseId": "r1"}` + "\r\n\r\n"
	fail  = `data: {"error": {"code": 503,"status": "UNAVAILABLE"}}` + "\r\n\r\n"
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
	thought := `{"text": "hm","thought": true}`
	call := func(tool, args string) string {
		return `{"functionCall": {"id": "9","name": "` + tool + `","args": ` + args + `},"thoughtSignature": "s"}`
	}
	long := `{"x":"` + strings.Repeat("x", maxArguments) + `"}`
	cases := []struct {
		name, in string
		keep     func(string) bool
		want     holdfast.Answer
		terminal bool
	}{
		{
			"a text in chunks, the last one with the finish reason", delta(`gr\u00fc`) + delta("n 🧭") + end(`{"text": "\n"}`, "STOP"), nil,
			holdfast.Answer{ID: "r1", Stop: "STOP", Complete: true, Events: []holdfast.Event{heard("grün 🧭\n")}},
			true,
		},
		{"a finish reason without content", delta("a") + bare, nil, holdfast.Answer{ID: "r1", Stop: "STOP", Complete: true, Events: []holdfast.Event{heard("a")}}, true},
		{
			"a character cut between its surrogate halves", delta(`a\ud83e`) + end(`{"text": "\udded"}`, "STOP"), nil,
			holdfast.Answer{ID: "r1", Stop: "STOP", Complete: true, Events: []holdfast.Event{heard("a🧭")}},
			true,
		},
		{"half a character at the end", end(`{"text": "a\ud83e"}`, "STOP"), nil, holdfast.Answer{ID: "r1", Stop: "STOP", Complete: true, Events: []holdfast.Event{heard("a\ufffd")}}, true},
		{
			"thoughts, texts and calls in order", chunkOf(thought) + chunkOf(thought) + delta("a") + chunkOf(thought) + delta("b") + chunkOf(call("plan", `{"a": "\u003c"}`)+","+call("read", `{}`)) + end(`{"text": "c"}`, "STOP"),
			func(tool string) bool { return tool == "plan" },
			holdfast.Answer{ID: "r1", Stop: "STOP", Complete: true, Events: []holdfast.Event{
				holdfast.Reasoning{},
				heard("ab"),
				holdfast.ToolCall{ID: callid.Of("plan", []byte(`{"a":"<"}`)), Name: "plan", Arguments: []byte(`{"a": "\u003c"}`)},
				holdfast.ToolCall{ID: callid.Of("read", nil), Name: "read"},
				heard("c"),
			}},
			true,
		},
		{
			"arguments above the bound are dropped as a whole", end(call("plan", long), "STOP"), all,
			holdfast.Answer{ID: "r1", Stop: "STOP", Complete: true, Events: []holdfast.Event{holdfast.ToolCall{ID: callid.Of("plan", []byte(long)), Name: "plan"}}},
			true,
		},
		{
			"a STOP before any part is not the end", end("", "STOP") + bare + delta("a") + end("", "STOP") + end("", "STOP"), nil,
			holdfast.Answer{ID: "r1", Stop: "STOP", Complete: true, Events: []holdfast.Event{heard("a")}},
			true,
		},
		{"nothing but a STOP", end("", "STOP"), nil, holdfast.Answer{ID: "r1"}, false},
		{"another reason without a part is the end", end("", "SAFETY"), nil, holdfast.Answer{ID: "r1", Stop: "SAFETY"}, true},
		{"cut off at the limit", delta("a") + end("", "MAX_TOKENS") + usage, nil, holdfast.Answer{ID: "r1", Stop: "MAX_TOKENS", Complete: true, Events: []holdfast.Event{heard("a")}}, true},
		{"a reason that is none", end(`{"text": "a"}`, "FINISH_REASON_UNSPECIFIED"), nil, holdfast.Answer{ID: "r1", Events: []holdfast.Event{heard("a")}}, false},
		{"a stream that breaks in a text", delta("ab"), nil, holdfast.Answer{ID: "r1", Events: []holdfast.Event{heard("ab")}}, false},
		{"a prompt that was blocked", block, nil, holdfast.Answer{ID: "r1", Stop: "SAFETY"}, true},
		{"an error", delta("a") + fail, nil, holdfast.Answer{ID: "r1", Events: []holdfast.Event{heard("a")}}, false},
		{"an error behind the finish reason", delta("a") + bare + fail, nil, holdfast.Answer{ID: "r1", Stop: "STOP", Events: []holdfast.Event{heard("a")}}, true},
		{
			"of several candidates the first counts", delta("a") + data(`{"candidates":[{"index":1,"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]}`) + bare, nil,
			holdfast.Answer{ID: "r1", Stop: "STOP", Complete: true, Events: []holdfast.Event{heard("a")}},
			true,
		},
		{"frames that are no JSON or say nothing", ": hi\n\ndata: {\n\ndata: 7\n\ndata: [DONE]\n\n" + usage + data(`{"candidates":null}`) + data(`{"candidates":[{"content":{"parts":7}}]}`), nil, holdfast.Answer{}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := listen(c.in, c.keep)
			if got := s.Answer(); !reflect.DeepEqual(got, c.want) || s.Terminal() != c.terminal {
				t.Errorf("got %+v, terminal %v; want %+v, %v", got, s.Terminal(), c.want, c.terminal)
			}
			if again := s.Answer(); !reflect.DeepEqual(again, c.want) {
				t.Errorf("asked again: %+v", again)
			}
		})
	}
}

func TestStreamKeepsNoText(t *testing.T) {
	s := NewStream(nil)
	var r sse.Reader
	r.Feed([]byte(delta("a")), s.Event)
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

func added() string {
	return `data: {"candidates":[{"content":{"parts":[{"text":"\n\n` + recordIn + `"}],"role":"model"},"index":0}],"modelVersion":"m","responseId":"r1"}` + "\n\n"
}

func TestPatcher(t *testing.T) {
	text := func(t string) string { return `{"text": "` + t + `"}` }
	signed := `{"text": "","thoughtSignature": "s"}`
	cases := []struct{ name, in, want, text string }{ // text: of the answer before the block
		{
			"the block goes to the text of the chunk with the finish reason",
			delta("a") + ": c\n\n" + end(text("b"), "STOP"),
			delta("a") + ": c\n\n" + end(text(`b\n\n`+recordIn), "STOP"), "ab",
		},
		{"the block comes before a finish reason without content", delta("a") + bare, delta("a") + added() + bare, "a"},
		{"the block comes before a finish reason with an empty text", delta("a") + end(signed, "STOP") + usage, delta("a") + added() + end(signed, "STOP") + usage, "a"},
		{"an answer of one chunk", end(text("a")+","+text("b")+","+signed, "STOP"), end(text("a")+","+text(`b\n\n`+recordIn)+","+signed, "STOP"), "ab"},
		{"thoughts pass", chunkOf(`{"text": "hm `+older+`","thought": true}`) + delta("a") + bare, chunkOf(`{"text": "hm `+older+`","thought": true}`) + delta("a") + added() + bare, "a"},
		{"a STOP before any part is not the end", end("", "STOP") + delta("a") + end("", "STOP") + end("", "STOP"), end("", "STOP") + delta("a") + added() + end("", "STOP") + end("", "STOP"), "a"},
		{
			"an older block goes, with the white space before it",
			delta(`a\n`+older+` b`) + bare,
			delta(`a b`) + added() + bare, "a b",
		},
		{
			"an older block over many chunks, the delimiters in pieces and in escapes",
			delta(`a \n`) + delta(`\n`) + delta(`\u003chold`) + delta(`fast-`) + chunkOf(text(`record`)+","+text(` revision=v>`)) + delta(`old`) + delta(`</holdfast`) + end(text(`-record>b`), "STOP"),
			delta(`a`) + delta(``) + delta(``) + delta(``) + chunkOf(text(``)+","+text(``)) + delta(``) + delta(``) + end(text(`b\n\n`+recordIn), "STOP"), "ab",
		},
		{
			"an older block that never closes ends with the text",
			delta(`a <holdfast-record revision`) + end(text(`=v`), "STOP"),
			delta(`a`) + end(text(`\n\n`+recordIn), "STOP"), "a",
		},
		{
			"what only looks like the start of a block passes verbatim",
			delta(`a `) + delta(`\u003choldfast`) + delta(`-rec <hold`) + bare,
			delta(`a `) + delta(`\u003choldfast`) + delta(`-rec <hold`) + added() + bare, "a <holdfast-rec <hold",
		},
		{"a text that ends in half a character", end(text(`a\ud83e`), "STOP"), end(text(`a\ud83e\n\n`+recordIn), "STOP"), "a\ufffd"},
		{"a text cut off at the limit is still a text", delta("a") + end("", "MAX_TOKENS"), delta("a") + added() + end("", "MAX_TOKENS"), "a"},
		{"what comes behind the end passes", end(text("a"), "STOP") + delta("b "+older) + bare, end(text(`a\n\n`+recordIn), "STOP") + delta("b "+older) + bare, "a"},
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
	call := chunkOf(`{"functionCall": {"name": "t","args": {}}}`)
	unpatched := []struct{ name, in string }{
		{"no text", chunkOf(`{"text": "hm","thought": true}`) + bare},
		{"white space", delta(` \n`) + bare},
		{"a call behind the text", delta("a ") + call + bare},
		{"a call in the chunk with the finish reason", delta("a ") + end(text("b")+`,{"functionCall": {"name": "t"}}`, "STOP")},
		{"a part of another kind", delta("a ") + chunkOf(`{"executableCode": {}}`) + bare},
		{"an answer that was stopped", delta("a") + end(text("b"), "SAFETY")},
		{"a prompt that was blocked", block},
		{"a second candidate", delta("a ") + data(`{"candidates":[{"index":1,"content":{"parts":[{"text":"x"}]}}]}`) + bare},
		{"an error behind the text", delta("a ") + fail},
		{"text that is no string", end(`{"text": 7}`, "STOP")},
		{"nothing but a STOP", end("", "STOP")},
		{"a stream that breaks behind a text", delta("a ")},
		{"a stream that breaks in the start of an older block", delta("a ") + delta("<holdfast-rec")},
		{"a stream that breaks in a frame", delta("a ") + `data: {"candidates"`},
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
		in := delta("a "+older) + end(text("b "+older), "STOP") + usage
		if got, p := patch("", in); got != in || p.Patched() {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a block that is none in the end changes nothing", func(t *testing.T) {
		in, asked := delta("a ")+end(text("b "), "STOP")+usage, 0
		none := func() string { asked++; return "" }
		if got, p := patchWith(none, in); got != in || p.Patched() || asked != 1 {
			t.Errorf("asked %d times, got %s", asked, got)
		}
	})
}

func TestPatcherHoldsBackOnlyWhatItMust(t *testing.T) {
	steps := []struct{ frame, emitted string }{
		{delta("a"), delta("a")},
		{delta(`b\n`), ""},
		{usage, ""},
		{delta(`<`), ""},
		{delta(`b>`), delta(`b\n`) + usage + delta(`<`) + delta(`b>`)},
		{delta(" "), ""},
		{bare, delta(" ") + added()},
	}
	p := NewPatcher(always(record))
	var r sse.Reader
	for _, s := range steps {
		got := ""
		r.Feed([]byte(s.frame), func(e sse.Event) {
			terminal := p.Event(e, func(raw []byte) { got += string(raw) })
			if terminal != (s.frame == bare) {
				t.Errorf("terminal %v at %s", terminal, s.frame)
			}
		})
		if got != s.emitted {
			t.Errorf("at %s emitted\n%s\nwant\n%s", s.frame, got, s.emitted)
		}
	}
	if string(p.Terminal()) != bare {
		t.Errorf("terminal event %q", p.Terminal())
	}
}

func TestTheTerminalEventIsHeldWhateverTheAnswer(t *testing.T) {
	for _, in := range []string{end(`{"text": "a"}`, "SAFETY"), block, end(`{"functionCall": {"name": "t"}}`, "STOP")} {
		for _, text := range []string{record, ""} {
			p := NewPatcher(always(text))
			var r sse.Reader
			r.Feed([]byte(in), func(e sse.Event) {
				if !p.Event(e, func(raw []byte) { t.Errorf("emitted %s", raw) }) || string(p.Terminal()) != in {
					t.Errorf("held %q, want %q", p.Terminal(), in)
				}
			})
		}
	}
}

func TestPatcherGivesUpWhenTooMuchWouldBeHeld(t *testing.T) {
	in := delta("a ") + strings.Repeat(data(`{"x":"`+strings.Repeat("t", 1<<20)+`"}`), 5) + bare
	if got, p := patch(record, in); got != in || p.Patched() {
		t.Errorf("patched %v, %d bytes of %d", p.Patched(), len(got), len(in))
	}
}

// sample holds what is hard about a stream, and an older block.
func sample() string {
	return delta(`gr\u00fcn \ud83e`) + delta(`\udded x `) + delta("<hold") + chunkOf(`{"text": "fast-record a>\n\n"},{"text": "hm","thought": true},{"text": "</holdfast-"}`) + delta("record> <b") +
		": c\n\n" + strings.ReplaceAll(delta("the end 🧭 "), "\r\n", "\n") + bare + usage
}

func TestAnyChunkingGivesTheSameBytes(t *testing.T) {
	in := sample()
	want, _ := patch(record, in)
	if !strings.Contains(want, added()) {
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
	frames := strings.SplitAfter(strings.ReplaceAll(sample(), "\r\n", "\n"), "\n\n")
	for i := range frames {
		in := strings.Join(frames[:i], "")
		if strings.Contains(in, "finishReason") {
			continue
		}
		got, p := patch(record, in)
		if p.Patched() || p.Terminal() != nil || strings.Contains(got, "revision=\\\"2") || listen(got, nil).Terminal() {
			t.Errorf("broken behind %d frames: patched %v, got\n%s", i, p.Patched(), got)
		}
	}
}

// wholeAndStream builds the body and the stream of one answer with the given text.
func wholeAndStream(text string, cut int, finishAlone bool) (body, stream string) {
	quote := func(s string) string {
		quoted, _ := json.Marshal(s)
		return `{"text": ` + string(quoted) + `}`
	}
	var pieces []string
	for piece := range slices.Chunk([]rune(text), cut) {
		pieces = append(pieces, quote(string(piece)))
	}
	for i, piece := range pieces {
		if i == len(pieces)-1 && !finishAlone {
			stream += end(piece, "STOP")
		} else {
			stream += chunkOf(piece)
		}
	}
	if finishAlone || len(pieces) == 0 {
		stream += bare
	}
	// The body has the text in two parts.
	half := len([]rune(text)) / 2
	body = answer(quote(string([]rune(text)[:half]))+","+quote(string([]rune(text)[half:])), "STOP")
	return body, stream
}

// checkSame holds the streamed form of an answer against the other one.
func checkSame(t *testing.T, text string, cut int, finishAlone bool) {
	t.Helper()
	body, stream := wholeAndStream(text, cut, finishAlone)
	patched, summary, ok := Codec{}.PatchBody([]byte(body), record)
	out, p := patch(record, stream)
	if ok != p.Patched() || summary != p.Summary() {
		t.Fatalf("%q: body patched %v with %v, stream %v with %v", text, ok, summary, p.Patched(), p.Summary())
	}
	want, err := Codec{}.ReadBody(patched)
	if err != nil {
		t.Fatal(err)
	}
	got := listen(out, nil).Answer()
	if !ok {
		// A stream without a text reads as one that broke off, a body does not.
		return
	}
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
		_, in := wholeAndStream("second 🧭 ", 3, finishAlone)
		out, _ := patch(record, in)
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
	f.Add([]byte(delta("a")+fail), 1)
	f.Add([]byte(chunkOf(`{"functionCall": {"name": "t","args": {"a": "b"}}}`)+block), 9)
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
