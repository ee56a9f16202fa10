package chat

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
	for _, tt := range []struct {
		name   string
		frames []string
		want   heardLive
	}{
		{
			"text and reasoning as they come, and usage in which the cached part stands apart",
			[]string{
				`{"choices":[{"delta":{"role":"assistant","content":"","reasoning_content":"hm"}}]}`, `{"choices":[{"delta":{"reasoning":"\ud83e"}}]}`, `{"choices":[{"delta":{"reasoning_content":"\udded"}}]}`,
				`{"choices":[{"delta":{"content":"a "}}]}`, `{"choices":[{"delta":{"content":[{"type":"text","text":"b"}]}}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`,
				`{"choices":[],"usage":{"prompt_tokens":184704,"completion_tokens":49,"total_tokens":184753,"prompt_tokens_details":{"cached_tokens":183936}}}`, `[DONE]`,
			},
			heardLive{Text: "a b", Reasoning: "hm🧭", Finish: holdfast.FinishStop, Usage: &holdfast.Usage{Input: 768, CacheRead: 183_936, Output: 49}},
		},
		{
			"what went into the cache stands apart too",
			[]string{`{"choices":[{"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}}`},
			heardLive{Finish: holdfast.FinishStop, Usage: &holdfast.Usage{Input: 10, CacheRead: 60, CacheWrite: 30, Output: 5}},
		},
		{
			"DeepSeek's name for the cached part, and more of it than there is",
			[]string{`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_cache_hit_tokens":101}}`},
			heardLive{Usage: &holdfast.Usage{CacheRead: 100, Output: 5}},
		},
		{
			"reasoning that is only in the total counts as output",
			[]string{`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":5,"total_tokens":135}}`},
			heardLive{Usage: &holdfast.Usage{Input: 100, Output: 35}},
		},
		{"usage that is null", []string{`{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":null}`}, heardLive{Finish: holdfast.FinishStop}},
		{"an answer that the bound on tokens cut", []string{`{"choices":[{"delta":{"content":"a"},"finish_reason":"length"}]}`}, heardLive{Text: "a", Finish: holdfast.FinishLength}},
		{
			"a refusal in words",
			[]string{`{"choices":[{"delta":{"refusal":"I can"}}]}`, `{"choices":[{"delta":{"refusal":"not."}}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`},
			heardLive{Text: "I cannot.", Finish: holdfast.FinishRefusal},
		},
		{"a filter", []string{`{"choices":[{"delta":{},"finish_reason":"content_filter"}]}`}, heardLive{Finish: holdfast.FinishRefusal}},
		{
			"an error in the stream",
			[]string{`{"choices":[{"delta":{"content":"a"}}]}`, `{"error":{"code":502,"message":"Provider disconnected"}}`},
			heardLive{Text: "a", Kind: "502", Message: "Provider disconnected"},
		},
		{"an error that is a text", []string{`{"error":"no memory"}`}, heardLive{Message: "no memory"}},
		{"a stream that broke off", []string{`{"choices":[{"delta":{"content":"a"}}]}`}, heardLive{Text: "a"}},
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
			"a message", `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`,
			heardLive{Finish: holdfast.FinishStop, Usage: &holdfast.Usage{Input: 3, Output: 4}},
		},
		{"a refusal", `{"choices":[{"message":{"content":null,"refusal":"no"},"finish_reason":"stop"}]}`, heardLive{Finish: holdfast.FinishRefusal}},
		{"an error", `{"error":{"type":"server_error","message":"no"}}`, heardLive{Kind: "server_error", Message: "no"}},
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
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"write","arguments":` + strconv.Quote(long) + `}}]}}]}`, `{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`,
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
		name, frame, want string
	}{
		{"nothing was told", `{"choices":[]}`, "- - - - -"},
		{"the cached part stands apart, reasoning is part of the output", `{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"prompt_tokens_details":{"cached_tokens":60},"completion_tokens_details":{"reasoning_tokens":30}}}`, "40 60 - 50 30"},
		{"Kimi's place of the cached part", `{"choices":[{"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":19,"completion_tokens":21,"total_tokens":40,"cached_tokens":10}}]}`, "9 10 - 21 -"},
		{"the cached part in several places counts once", `{"usage":{"prompt_tokens":1336,"completion_tokens":31,"total_tokens":1367,"cached_tokens":1280,"prompt_tokens_details":{"cached_tokens":1280}}}`, "56 1280 - 31 -"},
		{"details that do not tell of the cache", `{"usage":{"prompt_tokens":19,"completion_tokens":2,"cached_tokens":10,"prompt_tokens_details":{"cached_tokens":null}}}`, "9 10 - 2 -"},
		{"a cache that gave nothing was told", `{"usage":{"prompt_tokens":9,"completion_tokens":0,"prompt_tokens_details":{"cached_tokens":0}}}`, "9 0 - 0 -"},
		{"a server that knows no cache", `{"usage":{"prompt_tokens":9,"completion_tokens":3}}`, "9 - - 3 -"},
		{"a server that counts the input alone", `{"usage":{"prompt_tokens":9,"total_tokens":9}}`, "9 - - - -"},
		{"reasoning that is not in the output", `{"usage":{"prompt_tokens":100,"completion_tokens":5,"total_tokens":135,"completion_tokens_details":{"reasoning_tokens":30}}}`, "100 - - 35 30"},
		{"inside a choice", `{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":9,"completion_tokens":3}}],"usage":null}`, "9 - - 3 -"},
		{"in a member of the server's own", `{"choices":[{"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"r","usage":{"prompt_tokens":9,"completion_tokens":3}}}`, "9 - - 3 -"},
		{"what is no number was not told", `{"usage":{"prompt_tokens":"9","completion_tokens":null}}`, "- - - - -"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var l Live
			l.Event(sse.Event{Data: []byte(tt.frame)}, func(holdfast.Delta) {})
			if got := tokens(l.Tokens()); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
