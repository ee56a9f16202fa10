package gemini

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
			"text and thoughts as they come, and usage in which the cached part stands apart",
			[]string{
				`{"candidates":[{"content":{"parts":[{"text":"hm","thought":true}]}}],"usageMetadata":{"promptTokenCount":1}}`, `{"candidates":[{"content":{"parts":[{"text":"\ud83e","thought":true}]}}]}`,
				`{"candidates":[{"content":{"parts":[{"text":"\udded","thought":true},{"text":"a "}]}}]}`,
				`{"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1000,"cachedContentTokenCount":900,"toolUsePromptTokenCount":7,"candidatesTokenCount":20,"thoughtsTokenCount":30}}`,
			},
			heardLive{Text: "a b", Reasoning: "hm🧭", Finish: holdfast.FinishStop, Usage: &holdfast.Usage{Input: 107, CacheRead: 900, Output: 50}},
		},
		{"an answer that the bound on tokens cut", []string{`{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"MAX_TOKENS"}]}`}, heardLive{Text: "a", Finish: holdfast.FinishLength}},
		{"a filter on the answer", []string{`{"candidates":[{"finishReason":"SAFETY"}]}`}, heardLive{Finish: holdfast.FinishRefusal}},
		{"a prompt that is blocked", []string{`{"promptFeedback":{"blockReason":"OTHER"},"usageMetadata":{"promptTokenCount":4}}`}, heardLive{Finish: holdfast.FinishRefusal, Usage: &holdfast.Usage{Input: 4}}},
		{"a call that the model wrote wrongly", []string{`{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"MALFORMED_FUNCTION_CALL"}]}`}, heardLive{Text: "a"}},
		{"an error in the stream", []string{`{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}`}, heardLive{Kind: "UNAVAILABLE", Message: "overloaded"}},
		{"a stream that broke off", []string{`{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`}, heardLive{Text: "a"}},
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
			"a stream in its list form", `[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},{"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4}}]`,
			heardLive{Finish: holdfast.FinishStop, Usage: &holdfast.Usage{Input: 3, Output: 4}},
		},
		{"a prompt that is blocked", `{"promptFeedback":{"blockReason":"OTHER"}}`, heardLive{Finish: holdfast.FinishRefusal}},
		{"an error", `{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}`, heardLive{Kind: "INVALID_ARGUMENT", Message: "no"}},
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
		`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"write","args":` + long + `}}]},"finishReason":"STOP"}]}`,
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
		{"the cached part stands apart, thoughts are part of the output", `{"promptTokenCount":1000,"cachedContentTokenCount":900,"toolUsePromptTokenCount":7,"candidatesTokenCount":20,"thoughtsTokenCount":30}`, "107 900 - 50 30"},
		{"without a cache and thoughts nothing is told of them", `{"promptTokenCount":9,"candidatesTokenCount":3}`, "9 - - 3 -"},
		{"thoughts alone are output", `{"promptTokenCount":9,"thoughtsTokenCount":3}`, "9 - - 3 3"},
		{"as a stream begins", `{"promptTokenCount":9}`, "9 - - - -"},
		{"nothing was told", `{}`, "- - - - -"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var streamed, whole Live
			streamed.Event(sse.Event{Data: []byte(`{"candidates":[],"usageMetadata":` + tt.usage + `}`)}, func(holdfast.Delta) {})
			whole.Body([]byte(`[{"candidates":[]},{"usageMetadata":` + tt.usage + `}]`))
			for _, l := range []*Live{&streamed, &whole} {
				if got := tokens(l.Tokens()); got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
			}
		})
	}
}
