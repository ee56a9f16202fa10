package compaction_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
	conv "github.com/holdfast-dev/holdfast/conversation"
)

// byEvent is the trigger with ranges of events, that keeps tokens at the end.
func byEvent(tokens int) compaction.AutoConfig {
	c := enabled()
	c.Granularity, c.MinTurns, c.MinGain = compaction.ByEvent, 0, 0
	c.Rule.KeepLastTokens = tokens
	return c
}

func states(call holdfast.ToolCall) bool { return call.Name == "plan" }

// band is the range of a decision as text, with the calls that it keeps.
func band(d compaction.Decision) string {
	if d.Fire == nil {
		return string(d.Reason)
	}
	o := d.Fire.Overlay
	if !o.ByEvents() {
		return fmt.Sprintf("turns %d-%d", o.FromTurn, o.ToTurn)
	}
	return strings.TrimSuffix(fmt.Sprintf("%d-%d keeps %v", o.FromEvent, o.ToEvent, o.KeptCalls), " keeps []")
}

// round adds what a model answers, as so many calls, and their results. Each
// thought, call and result has size characters.
func (s *stream) round(calls, size int) {
	s.add(start, holdfast.Reasoning{Text: strings.Repeat("t", size)})
	for i := range calls {
		s.add(start, holdfast.ToolCall{ID: fmt.Sprint("c", i), Name: "grep", Arguments: []byte(strings.Repeat("x", size))})
	}
	for i := range calls {
		s.add(start, holdfast.ToolResult{CallID: fmt.Sprint("c", i), Parts: text(strings.Repeat("r", size))})
	}
}

func (s *stream) ask() { s.add(start, holdfast.TurnStart{}, holdfast.UserMessage{Parts: text("go")}) }

func built(build func(*stream)) stream {
	var s stream
	build(&s)
	return s
}

func TestARangeOfEventsIsDecided(t *testing.T) {
	// A turn of conversation has six events: marker, question, thought, call,
	// result, answer. With 400 characters a thought takes 100 tokens, a call 103
	// with id and arguments, a result 101.
	open := func(rounds, calls int) stream {
		return built(func(s *stream) {
			*s = conversation(1, 400)
			s.ask()
			for range rounds {
				s.round(calls, 400)
			}
		})
	}
	for _, tt := range []struct {
		name   string
		stream stream
		tokens int
		inside bool
		want   string
	}{
		{"from the first turn that is not kept to the newest events", conversation(4, 400), 250, false, "7-20"},
		// The newest answer takes one token; result and call are one pair.
		{"a pair is on one side", conversation(4, 400), 2, false, "7-21"},
		{"what is newest stays, whatever is asked for", conversation(4, 400), 0, false, "7-23"},
		// A whole turn is 305 tokens, then come an answer and the result at 17, whose
		// call is 16.
		{"the tail reaches into an earlier turn", conversation(4, 400), 330, false, "7-15"},
		{"a tail as large as everything leaves nothing", conversation(4, 400), 100_000, false, "empty_range"},
		{"only the first turn, which is kept", conversation(1, 4000), 0, false, "empty_range"},
		// Turn 2 begins at 7; its rounds are 9-11, 12-14 and 15-17.
		{"inside a turn: the newest round stays", open(3, 1), 0, true, "7-14"},
		{"inside a turn: a round that the model has not answered stays whole", open(3, 4), 0, true, "7-26"},
		{"inside a turn: nothing but the newest round", open(1, 1), 0, true, "empty_range"},
		// The newest round takes 302 tokens, the result before it 101.
		{"inside a turn: the tail takes more than a round", open(3, 1), 400, true, "7-12"},
		{"behind the events that are compacted already", open(3, 1).with(holdfast.Overlay{FromEvent: 7, ToEvent: 11, StripReasoning: true, Tools: both, Source: holdfast.AutoOverlay}), 0, true, "12-14"},
		{"weaker compactions do not count", open(3, 1).with(holdfast.Overlay{FromEvent: 7, ToEvent: 11, StripReasoning: true}), 0, true, "7-14"},
		{"a compaction of turns counts", conversation(6, 400).with(mechanical(1, 2)), 0, false, "19-35"},
		{"calls that state a plan stay", built(func(s *stream) {
			*s = conversation(2, 400)
			s.add(start, holdfast.TurnStart{}, holdfast.ToolCall{ID: "p", Name: "plan", Arguments: []byte(`{}`)}, holdfast.ToolResult{CallID: "p"})
			s.turn(3, 400)
		}), 0, false, "7-20 keeps [14]"},
		{"nothing but calls that state a plan", built(func(s *stream) {
			s.turn(0, 4000)
			s.add(start, holdfast.TurnStart{}, holdfast.ToolCall{ID: "p", Name: "plan", Arguments: []byte(`{}`)}, holdfast.ToolResult{CallID: "p"})
			s.add(start, holdfast.TurnStart{}, holdfast.AssistantMessage{Text: "done"})
		}), 0, false, "empty_range"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := byEvent(tt.tokens)
			c.Rule.KeepLast = compaction.Count(99) // has no say here
			d := compaction.Decide(tt.stream, c, compaction.Boundary{Window: 10, Now: start, Inside: tt.inside, Stays: states}, compaction.Estimator{})
			if got := band(d); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestInsideATurnOnlyRangesOfEventsFire(t *testing.T) {
	s := conversation(6, 400)
	s.ask()
	s.round(1, 400)
	s.round(1, 400)
	turns := enabled()
	summary := byEvent(0)
	summary.Rule.Summary = &compaction.SummaryRequest{}
	off := byEvent(0)
	off.Enabled = false
	for _, tt := range []struct {
		name   string
		config compaction.AutoConfig
		want   string
	}{
		{"by turn", turns, "inside_turn"},
		{"a summary stays on turn boundaries", summary, "inside_turn"},
		{"switched off", off, "disabled"},
		{"by event", byEvent(0), "7-41"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := compaction.Decide(s, tt.config, compaction.Boundary{Window: 10, Now: start, Inside: true}, compaction.Estimator{})
			if got := band(d); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestASummaryByEventsCoversTheTurnsBeforeTheTail(t *testing.T) {
	c := byEvent(330)
	c.Rule.Summary = &compaction.SummaryRequest{}
	// A turn takes some 306 tokens, so the tail begins in the last turn but one.
	d := compaction.Decide(conversation(8, 400), c, compaction.Boundary{Window: 10, Now: start}, compaction.Estimator{})
	if got := band(d); got != "turns 1-5" {
		t.Errorf("got %s", got)
	}
}

func TestARangeOfEventsIsTold(t *testing.T) {
	d := compaction.Decide(conversation(4, 400), byEvent(0), compaction.Boundary{Window: 10, Now: start}, compaction.Estimator{})
	if got, want := d.Fire.Covers(), "events 7..23 in turns 2..4"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestARuleOverPartsOfTurnsIsNoRepetition(t *testing.T) {
	s := conversation(5, 400).with(mechanical(1, 1), holdfast.Overlay{FromEvent: 8, ToEvent: 12, StripReasoning: true, KeptCalls: []int64{10}, Tools: both})
	steps, err := compaction.Plan(s, []compaction.Rule{compaction.Default()}, start, compaction.Estimator{})
	if err != nil || len(steps) != 1 || steps[0].Skipped != "" {
		t.Errorf("got %+v, %v", steps, err)
	}
}

// TestRangesOfEventsTogether plays tool loops, looks at the trigger in every gap
// and behind every turn, and holds the ranges against their laws.
func TestRangesOfEventsTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := byEvent(rapid.IntRange(0, 300).Draw(t, "keep last tokens"))
		first := rapid.IntRange(0, 2).Draw(t, "keep first")
		c.Rule.KeepFirst = compaction.Count(first)
		c.MinGain = rapid.SampledFrom([]float64{0, 0.05}).Draw(t, "min gain")
		if rapid.Bool().Draw(t, "omit") {
			c.Rule.Tools = &holdfast.ToolPolicy{Omit: true}
		}
		window := rapid.Int64Range(50, 2000).Draw(t, "window")
		var s stream
		next := int64(0) // the first event that no range has taken yet; 0: none fired
		look := func(inside bool) {
			before := len(s)
			d := compaction.Decide(s, c, compaction.Boundary{Window: window, Now: start, Inside: inside, Stays: states}, compaction.Estimator{})
			if d.Fire == nil {
				return
			}
			o := d.Fire.Overlay
			if turns := conv.Turns(s); next == 0 {
				next = s[turns[first].Start].Seq
			}
			if o.FromEvent != next || o.ToEvent < o.FromEvent {
				t.Fatalf("the range is %d..%d and has to begin with %d", o.FromEvent, o.ToEvent, next)
			}
			next = o.ToEvent + 1
			tail := 0
			for _, e := range s {
				if e.Seq > o.ToEvent {
					tail += characters(e.Event)
				}
			}
			if (tail+3)/4 < c.Rule.KeepLastTokens {
				t.Fatalf("%d characters stay", tail)
			}
			s.add(start, o)
			if again := compaction.Decide(s, c, compaction.Boundary{Window: window, Now: start, Inside: inside, Stays: states}, compaction.Estimator{}); again.Fire != nil {
				t.Fatal("it fires twice in one gap")
			}
			check(t, s[:before], s)
		}
		for range rapid.IntRange(1, 8).Draw(t, "turns") {
			s.ask()
			for range rapid.IntRange(0, 5).Draw(t, "rounds") {
				size := rapid.IntRange(0, 600).Draw(t, "size")
				if rapid.IntRange(0, 3).Draw(t, "plan") == 0 {
					s.add(start, holdfast.AssistantMessage{Text: "planning"}, holdfast.ToolCall{ID: "c0", Name: "plan", Arguments: []byte(`{"n": 1}`)}, holdfast.ToolResult{CallID: "c0", Parts: text("noted")})
				} else {
					s.round(rapid.IntRange(1, 4).Draw(t, "calls"), size)
				}
				s.add(start, holdfast.Usage{Purpose: holdfast.ForTurn})
				if rapid.IntRange(0, 5).Draw(t, "interrupted") == 0 {
					s.add(start, holdfast.UserMessage{Parts: text("wait")})
				}
				look(true)
			}
			s.add(start, holdfast.AssistantMessage{Text: "done"})
			look(false)
		}
	})
}

func characters(e holdfast.Event) int {
	switch e := e.(type) {
	case holdfast.UserMessage:
		return len(e.Parts[0].(holdfast.Text))
	case holdfast.AssistantMessage:
		return len(e.Text)
	case holdfast.Reasoning:
		return len(e.Text)
	case holdfast.ToolCall:
		return len(e.ID) + len(e.Name) + len(e.Arguments)
	case holdfast.ToolResult:
		return len(e.CallID) + len(e.Parts[0].(holdfast.Text))
	}
	return 0
}

// check compares the view with what was said: messages and plan calls are as they
// were, no pair is split, and what the newest answer called for is untouched.
func check(t *rapid.T, before, after stream) {
	raw := map[int64]holdfast.Event{}
	newest := int64(0) // the last event that the model was sent for its newest answer
	answered := false
	for _, e := range slices.Backward(before) {
		raw[e.Seq] = e.Event
		switch e.Event.(type) {
		case holdfast.AssistantMessage, holdfast.Reasoning, holdfast.ToolCall:
			answered = true
		case holdfast.UserMessage, holdfast.ToolResult:
			if answered && newest == 0 {
				newest = e.Seq
			}
		}
	}
	shown := map[int64]holdfast.Event{}
	for _, turn := range conv.Project(after, nil).Turns {
		pairs := conv.Pairs(turn.Entries)
		for i, e := range turn.Entries {
			shown[e.Seq] = e.Event
			call, ok := e.Event.(holdfast.ToolCall)
			if !ok {
				continue
			}
			if e.Seq == 0 || pairs[i] < 0 {
				t.Fatalf("call %d has no result", e.Seq)
			}
			result := turn.Entries[pairs[i]]
			if (string(call.Arguments) == "{}") != (fmt.Sprint(result.Event.(holdfast.ToolResult).Parts) == "[[compacted] grep: success]") {
				t.Fatalf("call %d and its result %d are on two sides", e.Seq, result.Seq)
			}
		}
	}
	for seq, event := range raw {
		touchable := false
		switch event := event.(type) {
		case holdfast.UserMessage, holdfast.AssistantMessage:
		case holdfast.ToolCall:
			touchable = event.Name != "plan" && seq <= newest
		case holdfast.Reasoning, holdfast.ToolResult:
			touchable = seq <= newest
		default:
			continue
		}
		if result, ok := event.(holdfast.ToolResult); ok && fmt.Sprint(result.Parts) == "[noted]" {
			touchable = false
		}
		if diff := cmp.Diff(event, shown[seq], cmpopts.EquateEmpty()); !touchable && diff != "" {
			t.Fatalf("event %d (newest input %d):\n%s", seq, newest, diff)
		}
	}
}
