package compaction_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
)

// only is a conversation of one turn with these events.
func only(events ...holdfast.Event) stream {
	var s stream
	s.add(start, holdfast.TurnStart{})
	s.add(start, events...)
	return s
}

func TestARequestIsEstimatedByItsCharacters(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	image := holdfast.Media{Type: "image", MIME: "image/png", Data: x(4 << 20)}
	file := holdfast.Media{Type: "file", MIME: "text/plain; charset=utf-8", Data: base64.StdEncoding.EncodeToString([]byte(x(400)))}
	call := holdfast.ToolCall{ID: x(4), Name: x(8), Arguments: []byte(x(12))}
	for _, tt := range []struct {
		name   string
		est    compaction.Estimator
		stream stream
		want   int
	}{
		{"nothing", compaction.Estimator{}, nil, 0},
		{"a text", compaction.Estimator{}, only(holdfast.UserMessage{Parts: text(x(400))}), 100},
		{"a begun token counts", compaction.Estimator{}, only(holdfast.UserMessage{Parts: text(x(401))}), 101},
		{"characters, not bytes", compaction.Estimator{}, only(holdfast.UserMessage{Parts: text(strings.Repeat("日", 400))}), 100},
		{"an emoji is a character", compaction.Estimator{}, only(holdfast.UserMessage{Parts: text(strings.Repeat("🙂", 400))}), 100},
		{"a schema", compaction.Estimator{}, only(holdfast.UserMessage{Schema: []byte(x(40))}), 10},
		{"structured output", compaction.Estimator{}, only(holdfast.AssistantMessage{Data: []byte(x(40))}), 10},
		{"reasoning with its opaque state", compaction.Estimator{}, only(holdfast.Reasoning{Text: x(40), Opaque: []byte(x(80))}), 30},
		{"a call and its result", compaction.Estimator{}, only(call, holdfast.ToolResult{CallID: x(4), Parts: text(x(12))}), 10},
		{"an image is never its bytes", compaction.Estimator{}, only(holdfast.UserMessage{Parts: []holdfast.Part{image}}), 1600},
		{"an image in a result", compaction.Estimator{}, only(call, holdfast.ToolResult{CallID: x(4), Parts: []holdfast.Part{image, holdfast.Text(x(12))}}), 1610},
		{"a document", compaction.Estimator{}, only(holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Media{Type: "file", Name: x(8), MIME: "application/pdf", Data: x(4000)}}}), 1602},
		{"a text file is its text", compaction.Estimator{}, only(holdfast.UserMessage{Parts: []holdfast.Part{file}}), 100},
		{"a text file that stands elsewhere", compaction.Estimator{}, only(holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Media{Type: "file", MIME: "text/plain", URI: x(40)}}}), 1600},
		{"what goes to no model", compaction.Estimator{}, only(holdfast.UserMessage{Parts: text(x(4))}, holdfast.Settings{JSON: []byte(x(400))}, holdfast.Usage{Input: 900}, holdfast.Unknown{Raw: []byte(x(400))}), 1},
		{"system text and 40 tools", compaction.Estimator{Overhead: append([]string{x(4000)}, strings.SplitAfter(strings.Repeat(x(399)+"}", 40), "}")...)}, only(holdfast.UserMessage{Parts: text(x(4))}), 1000 + 40*100 + 1},
		{"a tokenizer", compaction.Estimator{Count: func(s string) int { return len(strings.Fields(s)) }}, only(holdfast.UserMessage{Parts: text("a b c d")}), 4},
		{"a capsule where an overlay is in force", compaction.Estimator{Render: func(holdfast.Capsule) string { return x(40) }}, func() stream {
			s := conversation(2, 10)
			s.add(start, holdfast.Continuity{}, holdfast.Overlay{FromTurn: 0, ToTurn: 0, StripReasoning: true})
			return s
		}(), (2*50 - 10 + 40 + 3) / 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.est.Tokens(tt.stream); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// called is a conversation of 4000 characters with what a provider reported for
// the call.
func called(u holdfast.Usage) stream {
	s := only(holdfast.UserMessage{Parts: text(strings.Repeat("x", 3600))}, holdfast.AssistantMessage{Text: strings.Repeat("y", 400)})
	s.add(start, u)
	return s
}

func TestUsageCalibratesTheEstimate(t *testing.T) {
	turn := func(input, output int64) holdfast.Usage {
		return holdfast.Usage{Purpose: holdfast.ForTurn, Model: "m", Input: input, Output: output}
	}
	after := func(s stream, events ...holdfast.Event) stream {
		s = slices.Clip(s)
		s.add(start, events...)
		return s
	}
	// What is sent grows by what all turns but the last lost their reasoning of.
	one := after(conversation(1, 1000), turn(1000, 0))
	for i := range 3 {
		if i == 2 {
			one = one.with(holdfast.Overlay{FromTurn: 0, ToTurn: 2, StripReasoning: true})
		}
		one.turn(1+i, 1000)
	}
	stripped := after(one, turn(4000, 0))
	// grown is called with 6,000 characters more to what is sent, and an answer of 400.
	grown := func(first, second int64) stream {
		return after(called(turn(first, 0)), holdfast.UserMessage{Parts: text(strings.Repeat("z", 5600))}, holdfast.AssistantMessage{Text: strings.Repeat("y", 400)}, turn(second, 0))
	}
	unnamed := func(input int64) holdfast.Usage { return holdfast.Usage{Purpose: holdfast.ForTurn, Input: input} }
	more := func(characters int, second int64) stream {
		return after(called(unnamed(1000)), holdfast.UserMessage{Parts: text(strings.Repeat("z", characters))}, holdfast.AssistantMessage{Text: strings.Repeat("y", 400)}, unnamed(second))
	}
	for _, tt := range []struct {
		name   string
		stream stream
		want   int
	}{
		{"without a report it is four", called(holdfast.Usage{Purpose: holdfast.ForTitle, Input: 2000}), 1000},
		// What an agent says has three characters to a token, until there is more.
		{"what was sent is known, the answer of 400 characters is estimated", called(turn(1900, 100)), 1900 + 134},
		{"what the cache held counts", called(holdfast.Usage{Purpose: holdfast.ForTurn, Model: "m", Input: 99, CacheRead: 1500, CacheWrite: 301, Output: 100}), 1900 + 134},
		{"what came since is estimated in the same way", after(called(turn(1900, 100)), holdfast.UserMessage{Parts: text(strings.Repeat("z", 200))}), 1900 + 200},
		{"a call for something else is passed over", after(called(turn(1900, 100)), holdfast.Usage{Purpose: holdfast.ForSummary, Input: 9}), 1900 + 134},
		{"what the stream does not hold is in the figure", called(turn(9000, 0)), 9000 + 134},
		// From 3,600 to 9,600 characters, with 6,000 more at three to a token.
		{"two calls tell how it grows: 6,000 characters were 4,000 tokens", grown(1000, 5000), 5000 + 200},
		{"in whatever one call carries beside it", grown(3000, 7000), 7000 + 200},
		{"at least one character to a token", more(5600, 21000), 21000 + 400},
		{"at most eight characters to a token", more(15600, 1000), 1000 + 50},
		{"an older call that took more was another view", grown(3000, 1000), 1000 + 134},
		{"a figure as large as the window is trusted", called(turn(10000, 0)), 10000 + 134},
		{"a figure above the window is not", called(turn(10000, 1)), 1000},
		{"a figure of nothing is not", called(turn(0, 0)), 1000},
		{"the calls of another model tell nothing of how it grows", after(more(5600, 5000), turn(5000, 0)), 5000},
		{
			"an agent that writes results before the report", after(only(holdfast.UserMessage{Parts: text(strings.Repeat("x", 3600))}),
				holdfast.ToolCall{ID: "c", Name: "cat", Arguments: []byte("{}")}, holdfast.ToolResult{CallID: "c", Parts: text(strings.Repeat("r", 2993))}, turn(1900, 0)),
			1900 + 1000,
		},
		// 3,016 and 3 * 2,020 + 3,016 characters: (6060 + 6000) / (3000 + 2000) to a
		// token, and four characters of the answer.
		{"the characters are those of the view of then", after(stripped, holdfast.UserMessage{Parts: text(strings.Repeat("z", 2408))}), 4000 + 1000},
		{"and the estimate is that of the view of now", after(stripped, holdfast.Overlay{FromTurn: 0, ToTurn: 3, Tools: &holdfast.ToolPolicy{Omit: true}}), 4000 - 3338},
	} {
		t.Run(tt.name, func(t *testing.T) {
			est := compaction.Estimator{}.Calibrated(tt.stream, func(model string) int64 { return map[string]int64{"m": 10000}[model] })
			if got := est.Tokens(tt.stream); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestWhereAllThatIsSentIsKnownOneReportTellsHowItGrows(t *testing.T) {
	// 4,000 characters took 2,000 tokens.
	s := called(holdfast.Usage{Purpose: holdfast.ForTurn, Input: 2900, Output: 100})
	overhead := []string{strings.Repeat("o", 2000)}
	est := compaction.Estimator{Overhead: overhead}.Calibrated(s, func(string) int64 { return 0 })
	if got, want := est.Tokens(s), 2900+200; got != want {
		t.Errorf("got %d, want %d: 6,000 characters in 3,000 tokens are two to a token", got, want)
	}
	if got := est.Text(strings.Repeat("x", 100)); got != 50 {
		t.Errorf("got %d for a text, want 50", got)
	}
}

func TestWhatIsLeftIsAtLeastAnEighthOfItsCharacters(t *testing.T) {
	// 12,000 characters of 12,100 go, and were said to be all there was.
	s := only(holdfast.UserMessage{Parts: text(strings.Repeat("x", 100))}, holdfast.Reasoning{Text: strings.Repeat("t", 12000)}, holdfast.UserMessage{Parts: text("go")},
		holdfast.Usage{Purpose: holdfast.ForTurn, Input: 1000})
	s = s.with(holdfast.Overlay{FromTurn: 0, ToTurn: 0, StripReasoning: true})
	est := compaction.Estimator{}.Calibrated(s, func(string) int64 { return 0 })
	if got := est.Tokens(s); got != 12 {
		t.Errorf("got %d, want 12: 102 characters", got)
	}
}

func TestAFigureIsHeldAgainstTheWindowOfItsOwnModel(t *testing.T) {
	s := called(holdfast.Usage{Purpose: holdfast.ForTurn, Model: "wide", Input: 3000})
	s.add(start, holdfast.Settings{JSON: []byte(`{"model":"narrow"}`)})
	windows := map[string]int64{"wide": 4000, "narrow": 2000}
	est := compaction.Estimator{}.Calibrated(s, func(model string) int64 { return windows[model] })
	if got := est.Tokens(s); got != 3000+134 {
		t.Errorf("got %d, want the 3000 that the wider model reported, and the answer", got)
	}
}

func TestImagesDoNotBlurTheCalibration(t *testing.T) {
	image := holdfast.Media{Type: "image", MIME: "image/png", Data: "AAAA"}
	s := only(holdfast.UserMessage{Parts: text(strings.Repeat("x", 4000))}, holdfast.Usage{Purpose: holdfast.ForTurn, Input: 2000})
	s.add(start, holdfast.UserMessage{Parts: []holdfast.Part{image, holdfast.Text(strings.Repeat("x", 4000))}}, holdfast.Usage{Purpose: holdfast.ForTurn, Input: 1600 + 2000 + 4000})
	s.add(start, holdfast.UserMessage{Parts: text(strings.Repeat("x", 400))})
	est := compaction.Estimator{}.Calibrated(s, func(string) int64 { return 0 })
	// (4000 + 6000) / (4000 + 2000)
	if got := est.Tokens(s); got != 7600+240 {
		t.Errorf("got %d, want 7840", got)
	}
}

func TestATokenizerIsNotCalibrated(t *testing.T) {
	s := called(holdfast.Usage{Purpose: holdfast.ForTurn, Input: 2000})
	est := compaction.Estimator{Count: func(s string) int { return len(s) }}.Calibrated(s, func(string) int64 { return 0 })
	if got := est.Tokens(s); got != 4000 {
		t.Errorf("got %d, want 4000", got)
	}
}

func TestTheLowerBoundIsCautious(t *testing.T) {
	usage := holdfast.Usage{Purpose: holdfast.ForTurn, Input: 1900, Output: 100}
	more := func(s stream, events ...holdfast.Event) stream {
		s.add(start, events...)
		return s
	}
	new600 := holdfast.UserMessage{Parts: text(strings.Repeat("z", 600))}
	image := holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Media{Type: "image"}}}
	for _, tt := range []struct {
		name   string
		stream stream
		want   int
	}{
		{"without a report a token is eight characters", called(holdfast.Usage{}), 500},
		{"without a report an image may be small", more(called(holdfast.Usage{}), image), 500},
		{"what the last call was sent is sure, not what it wrote", called(usage), 1900},
		// Two characters were a token; six of what is new may be, as in English.
		{"what came since may be of another kind", more(called(usage), new600), 1900 + 100},
		{"an image that came since may be small", more(called(usage), image), 1900},
		{"behind a compaction nothing is sure", more(called(usage), mechanical(0, 0)), 4000 / 6},
		{"with other settings nothing is sure", more(called(usage), holdfast.Settings{}), 4000 / 6},
		{"what took few tokens may go on so", more(called(holdfast.Usage{Purpose: holdfast.ForTurn, Input: 800}), new600), 800 + 80},
		{"no more than eight characters are a token", more(called(holdfast.Usage{Purpose: holdfast.ForTurn, Input: 640}), mechanical(0, 0)), 500},
	} {
		t.Run(tt.name, func(t *testing.T) {
			est := compaction.Estimator{}.Calibrated(tt.stream, func(string) int64 { return 0 })
			if got := est.AtLeast(tt.stream); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
	shorter := called(usage)
	if got := (compaction.Estimator{}).Calibrated(shorter, func(string) int64 { return 0 }).AtLeast(shorter[:2]); got != 600 {
		t.Errorf("for less than what was sent: got %d, want 600", got)
	}
	est := compaction.Estimator{Count: func(s string) int { return len(s) / 2 }}
	if got := est.AtLeast(more(called(holdfast.Usage{}), image)); got != 1333 {
		t.Errorf("with a tokenizer: got %d, want 1333: two thirds of 2000", got)
	}
}

func TestARunawayToolLoopIsStopped(t *testing.T) {
	// Each result is 2,500 tokens of four characters, as this provider counts. Of
	// what a call added a third is in doubt, less than the room for an answer.
	const window, answer, result = 32000, 1000, 2500
	s := only(holdfast.UserMessage{Parts: text("go")})
	for sent := 0; ; sent++ {
		est := compaction.Estimator{}.Calibrated(s, func(string) int64 { return window })
		takes := compaction.Estimator{}.Tokens(s)
		if est.AtLeast(s)+answer > window {
			if takes+answer <= window {
				t.Fatalf("call %d was stopped at %d tokens, which fit", sent+1, takes)
			}
			return
		}
		if takes > window {
			t.Fatalf("call %d left with %d tokens", sent+1, takes)
		}
		s.add(start, holdfast.ToolCall{ID: "c", Name: "cat", Arguments: []byte("{}")})
		s.add(start, holdfast.Usage{Purpose: holdfast.ForTurn, Input: int64(takes), Output: 2})
		s.add(start, holdfast.ToolResult{CallID: "c", Parts: text(strings.Repeat("x", 4*result))})
	}
}

func BenchmarkEstimate(b *testing.B) {
	s := conversation(100_000/6, 200)
	s.add(start, holdfast.Usage{Purpose: holdfast.ForTurn, Input: 4_000_000})
	for b.Loop() {
		compaction.Estimator{}.Calibrated(s, func(string) int64 { return 0 }).Tokens(s)
	}
}
