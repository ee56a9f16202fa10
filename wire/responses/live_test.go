package responses

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
		item = `{"type":"response.output_item.done","output_index":0,"item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a b"}]}}`
	)
	for _, tt := range []struct {
		name   string
		frames []string
		want   heardLive
	}{
		{
			"text and reasoning as they come, and usage in which the cached part stands apart",
			[]string{
				`{"type":"response.created","response":{"id":"r"}}`, `{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"hm\ud83e"}`, `{"type":"response.reasoning_text.delta","output_index":0,"delta":"\udded"}`,
				`{"type":"response.output_text.delta","output_index":1,"delta":"a "}`, `{"type":"response.output_text.delta","output_index":1,"delta":"b"}`, item,
				`{"type":"response.completed","response":{"status":"completed","output":[],"error":null,"incomplete_details":null,"usage":{"input_tokens":184704,"input_tokens_details":{"cached_tokens":183936},"output_tokens":49}}}`,
			},
			heardLive{Text: "a b", Reasoning: "hm🧭", Finish: holdfast.FinishStop, Usage: &holdfast.Usage{Input: 768, CacheRead: 183_936, Output: 49}},
		},
		{
			"an answer that the bound on tokens cut",
			[]string{`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":3,"output_tokens":4}}}`},
			heardLive{Finish: holdfast.FinishLength, Usage: &holdfast.Usage{Input: 3, Output: 4}},
		},
		{
			"a filter",
			[]string{`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}}`},
			heardLive{Finish: holdfast.FinishRefusal},
		},
		{
			"a refusal in words",
			[]string{`{"type":"response.refusal.delta","output_index":0,"delta":"no"}`, `{"type":"response.completed","response":{"status":"completed"}}`},
			heardLive{Text: "no", Finish: holdfast.FinishRefusal},
		},
		{
			"an answer that failed",
			[]string{`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"no"}}}`},
			heardLive{Kind: "server_error", Message: "no"},
		},
		{"an error in the stream", []string{`{"type":"error","code":"rate_limit_exceeded","message":"slow down"}`}, heardLive{Kind: "rate_limit_exceeded", Message: "slow down"}},
		{"an error as a member", []string{`{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`}, heardLive{Kind: "invalid_request_error", Message: "no"}},
		{"a stream that broke off", []string{`{"type":"response.output_text.delta","output_index":1,"delta":"a"}`}, heardLive{Text: "a"}},
		{"what is no JSON says nothing", []string{`{`, `[]`, ``, `{"type":"response.completed"}`}, heardLive{Finish: holdfast.FinishStop}},
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
			"a response", `{"status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}],"usage":{"input_tokens":3,"output_tokens":4}}`,
			heardLive{Finish: holdfast.FinishStop, Usage: &holdfast.Usage{Input: 3, Output: 4}},
		},
		{"a refusal", `{"status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}]}`, heardLive{Finish: holdfast.FinishRefusal}},
		{"an error", `{"error":{"type":"server_error","code":null,"message":"no"}}`, heardLive{Kind: "server_error", Message: "no"}},
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
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"a","name":"write","arguments":` + strconv.Quote(long) + `}}`,
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
	for _, tt := range []struct {
		name, usage, want string
	}{
		{"the cached part stands apart, reasoning is part of the output", `{"input_tokens":100,"input_tokens_details":{"cached_tokens":60},"output_tokens":50,"output_tokens_details":{"reasoning_tokens":30},"total_tokens":150}`, "40 60 - 50 30"},
		{"what nothing was of was told", `{"input_tokens":9,"input_tokens_details":{"cached_tokens":0},"output_tokens":0,"output_tokens_details":{"reasoning_tokens":0}}`, "9 0 - 0 0"},
		{"what went into the cache stands apart too", `{"input_tokens":18014,"input_tokens_details":{"cache_write_tokens":18000,"cached_tokens":11},"output_tokens":5}`, "3 11 18000 5 -"},
		{"more of the cache than there is", `{"input_tokens":10,"input_tokens_details":{"cache_write_tokens":8,"cached_tokens":6},"output_tokens":5}`, "0 6 4 5 -"},
		{"a server that tells no details", `{"input_tokens":9,"output_tokens":3}`, "9 - - 3 -"},
		{"nothing was told", `null`, "- - - - -"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var streamed, whole Live
			streamed.Event(sse.Event{Data: []byte(`{"type":"response.completed","response":{"status":"completed","usage":` + tt.usage + `}}`)}, func(holdfast.Delta) {})
			whole.Body([]byte(`{"status":"completed","usage":` + tt.usage + `}`))
			for _, l := range []*Live{&streamed, &whole} {
				if got := tokens(l.Tokens()); got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
			}
		})
	}
}
