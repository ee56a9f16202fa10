package anthropic

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
)

// heardLive is what a reader of a live answer learns.
type heardLive struct {
	Text, Reasoning string
	Usage           *holdfast.Usage
	Finish          holdfast.FinishReason
	Kind, Message   string
}

func told(l *Live, a holdfast.Answer) (h heardLive) {
	if u, ok := l.Usage(); ok {
		h.Usage = &u
	}
	h.Finish = l.Finish(a)
	h.Kind, h.Message, _ = l.Failure()
	return h
}

// follow reads a stream of frames with this data.
func follow(frames ...string) heardLive {
	var l Live
	s := NewWhole()
	var r sse.Reader
	var text, reasoning strings.Builder
	for _, data := range frames {
		r.Feed([]byte("data: "+data+"\n\n"), func(e sse.Event) {
			s.Event(e)
			l.Event(e, func(d holdfast.Delta) {
				if d.Reasoning {
					reasoning.WriteString(d.Text)
				} else {
					text.WriteString(d.Text)
				}
			})
		})
	}
	h := told(&l, s.Answer())
	h.Text, h.Reasoning = text.String(), reasoning.String()
	return h
}

func TestLive(t *testing.T) {
	const (
		begin = `{"type":"message_start","message":{"id":"m","usage":{"input_tokens":99,"cache_read_input_tokens":170000,"cache_creation_input_tokens":3000,"output_tokens":1}}}`
		over  = `{"type":"message_stop"}`
	)
	for _, tt := range []struct {
		name   string
		frames []string
		want   heardLive
	}{
		{
			"text and thinking as they come, characters cut between frames, and usage whose counts do not overlap",
			[]string{
				begin, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"hm","signature":""}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"\ud83e"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"\udded"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}`, `{"type":"content_block_stop","index":0}`,
				`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a "}}`, `{"type":"ping"}`,
				`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"b"}}`, `{"type":"content_block_stop","index":1}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":900}}`, over,
			},
			heardLive{Text: "a b", Reasoning: "hm🧭", Finish: holdfast.FinishStop, Usage: &holdfast.Usage{Input: 99, CacheRead: 170_000, CacheWrite: 3000, Output: 900}},
		},
		{
			"the last usage counts, where it says anything",
			[]string{begin, `{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"input_tokens":120,"cache_read_input_tokens":null,"output_tokens":5}}`, over},
			heardLive{Finish: holdfast.FinishStop, Usage: &holdfast.Usage{Input: 120, CacheRead: 170_000, CacheWrite: 3000, Output: 5}},
		},
		{
			"an answer that the bound on tokens cut",
			[]string{`{"type":"message_start","message":{}}`, `{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}`, over},
			heardLive{Finish: holdfast.FinishLength},
		},
		{
			"an answer that the window cut",
			[]string{`{"type":"message_delta","delta":{"stop_reason":"model_context_window_exceeded"}}`, over},
			heardLive{Finish: holdfast.FinishLength},
		},
		{
			"a refusal",
			[]string{`{"type":"message_delta","delta":{"stop_reason":"refusal"}}`, over},
			heardLive{Finish: holdfast.FinishRefusal},
		},
		{
			"an error in the stream",
			[]string{`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
			heardLive{Kind: "overloaded_error", Message: "Overloaded"},
		},
		{"a stream that broke off", []string{`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`}, heardLive{}},
		{"what is no JSON says nothing", []string{`{`, `[]`, ``}, heardLive{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, follow(tt.frames...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLiveOfABody(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       heardLive
	}{
		{
			"a message", `{"type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":4}}`,
			heardLive{Finish: holdfast.FinishStop, Usage: &holdfast.Usage{Input: 3, Output: 4}},
		},
		{"an error", `{"type":"error","error":{"type":"api_error","message":"no"}}`, heardLive{Kind: "api_error", Message: "no"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var l Live
			l.Body([]byte(tt.body))
			a, err := Codec{}.ReadWhole([]byte(tt.body))
			if diff := cmp.Diff(tt.want, told(&l, a)); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

// The arguments of a call of our own are needed, whatever their length.
func TestLongArgumentsOfAWholeAnswer(t *testing.T) {
	long := `{"text":"` + strings.Repeat("x", 1<<20) + `"}`
	s := NewWhole()
	var r sse.Reader
	for _, data := range []string{
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"write","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":` + strconv.Quote(long) + `}}`, `{"type":"content_block_stop","index":0}`,
	} {
		r.Feed([]byte("data: "+data+"\n\n"), s.Event)
	}
	for _, e := range s.Answer().Events {
		if call, ok := e.(holdfast.ToolCall); ok && string(call.Arguments) == long {
			return
		}
	}
	t.Error("the arguments were not kept")
}

// tokens lists what is known of input, cache read, cache write, output and
// reasoning; - is what was not told.
func tokens(t holdfast.Tokens) string {
	var list []string
	for _, n := range []*int64{t.Input, t.CacheRead, t.CacheWrite, t.Output, t.Reasoning} {
		if n == nil {
			list = append(list, "-")
		} else {
			list = append(list, strconv.FormatInt(*n, 10))
		}
	}
	return strings.Join(list, " ")
}

func TestTokens(t *testing.T) {
	const begin = `{"type":"message_start","message":{"usage":{"input_tokens":99,"cache_read_input_tokens":170000,"cache_creation_input_tokens":0,"output_tokens":1}}}`
	for _, tt := range []struct {
		name   string
		frames []string
		want   string
	}{
		{"nothing was told", []string{`{"type":"message_start","message":{}}`}, "- - - - -"},
		{"the output that an answer begins with is not what it took", []string{begin}, "99 170000 0 - -"},
		{"the last frame tells the output", []string{begin, `{"type":"message_delta","usage":{"output_tokens":900}}`}, "99 170000 0 900 -"},
		{"an output that is the same at the end was told", []string{begin, `{"type":"message_delta","usage":{"output_tokens":1}}`}, "99 170000 0 1 -"},
		{"a last frame that tells other counts only", []string{begin, `{"type":"message_delta","usage":{"input_tokens":120,"output_tokens":null}}`}, "120 170000 0 - -"},
		{"thinking is part of the output", []string{begin, `{"type":"message_delta","usage":{"output_tokens":900,"output_tokens_details":{"thinking_tokens":79}}}`}, "99 170000 0 900 79"},
		{"details that are no object", []string{begin, `{"type":"message_delta","usage":{"output_tokens":900,"output_tokens_details":7}}`}, "99 170000 0 900 -"},
		{
			"what the provider's own compaction took",
			[]string{begin, `{"type":"message_delta","usage":{"input_tokens":23000,"output_tokens":1000,"iterations":[` +
				`{"type":"compaction","input_tokens":180000,"output_tokens":3500},{"type":"message","input_tokens":23000,"output_tokens":1000},` +
				`{"type":"compaction","input_tokens":1,"cache_read_input_tokens":5,"output_tokens":2}]}}`},
			"203001 170005 0 4502 -",
		},
		{"iterations that are no list", []string{begin, `{"type":"message_delta","usage":{"output_tokens":900,"iterations":{"type":"compaction","input_tokens":1}}}`}, "99 170000 0 900 -"},
		{"a server that knows no cache", []string{`{"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":0}}}`, `{"type":"message_delta","usage":{"output_tokens":6}}`}, "5 - - 6 -"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var l Live
			for _, data := range tt.frames {
				l.Event(sse.Event{Data: []byte(data)}, func(holdfast.Delta) {})
			}
			if got := tokens(l.Tokens()); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	var l Live
	l.Body([]byte(`{"type":"message","usage":{"input_tokens":3,"cache_read_input_tokens":null,"output_tokens":4}}`))
	if got, want := tokens(l.Tokens()), "3 - - 4 -"; got != want {
		t.Errorf("of a body: got %s, want %s", got, want)
	}
}
