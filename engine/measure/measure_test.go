package measure_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
	"github.com/holdfast-dev/holdfast/engine/measure"
)

type stream []holdfast.Entry

func (s *stream) add(events ...holdfast.Event) {
	for _, e := range events {
		n := len(*s) + 1
		*s = append(*s, holdfast.Entry{Seq: int64(n), ID: holdfast.EventID(fmt.Sprint("e", n)), Event: e})
	}
}

func text(s string) []holdfast.Part { return []holdfast.Part{holdfast.Text(s)} }

// turn is a question, calls with results of size characters each, and an answer.
func (s *stream) turn(n, calls, size int) {
	s.add(holdfast.TurnStart{}, holdfast.UserMessage{Parts: text(fmt.Sprintf("Question %d", n))})
	for i := range calls {
		id := fmt.Sprint(n, "-", i)
		s.add(holdfast.ToolCall{ID: id, Name: "cat", Arguments: []byte(`{"path":"a.go"}`)}, holdfast.ToolResult{CallID: id, Parts: text(strings.Repeat("r", size))})
	}
	s.add(holdfast.AssistantMessage{Text: fmt.Sprintf("Answer %d", n)})
}

func (s *stream) plan(steps string) {
	s.add(holdfast.TurnStart{}, holdfast.UserMessage{Parts: text("Plan it")},
		holdfast.ToolCall{ID: "p", Name: "update_plan", Arguments: []byte(`{"plan":[` + steps + `]}`)},
		holdfast.ToolResult{CallID: "p", Parts: text("Plan updated")}, holdfast.AssistantMessage{Text: "Planned"})
}

func plain(s string) string { return s }

func saved(r measure.Reduction, policy string) measure.Saved {
	for _, s := range r.Policies {
		if s.Policy == policy {
			return s
		}
	}
	return measure.Saved{}
}

func TestAReductionTellsWhatEachPolicySaves(t *testing.T) {
	var s stream
	s.plan(`{"step":"Read","status":"completed"},{"step":"Write \"it\"","status":"in_progress"}`)
	for n := range 8 {
		s.turn(n, 4, 8000) // some 8,000 tokens
	}
	s.add(holdfast.Overlay{FromTurn: 0, ToTurn: 8, Source: holdfast.AgentOverlay, Summary: &holdfast.Summary{Text: "S"}})
	r := measure.Reduce(s, compaction.Estimator{}, plain)
	if r.Turns != 9 || r.Raw < 8*8000 || r.Raw > 8*8200 || !r.Counts() {
		t.Errorf("got %d turns of %d tokens: what the agent made of them does not count", r.Turns, r.Raw)
	}
	for _, tt := range []struct {
		policy      string
		least, most float64
		plan        measure.PlanState
	}{
		// Of eight turns the last three stay, and the first turn, which is the plan.
		{"turn", 0.58, 0.625, measure.PlanInCalls},
		// Of 64,000 tokens 10,000 stay.
		{"event", 0.80, 0.85, measure.PlanInCalls},
		{"event-first", 0.80, 0.85, measure.PlanInCalls},
	} {
		got := saved(r, tt.policy)
		if got.Share < tt.least || got.Share > tt.most || got.Plan != tt.plan || got.TextsLost != 0 || !got.Restored {
			t.Errorf("%s: got %+v", tt.policy, got)
		}
	}
}

func TestWhereThePlanIsFoundBehindACompaction(t *testing.T) {
	var long []string
	for i := range 300 { // more than the record has room for
		long = append(long, fmt.Sprintf(`{"step":"Step %d of those that fill the record up","status":"pending"}`, i))
	}
	for _, tt := range []struct {
		name, steps string
		turn, event measure.PlanState
	}{
		{"its calls are stripped with their turn", `{"step":"Read","status":"completed"},{"step":"Write \"it\"","status":"in_progress"}`, measure.PlanInRecord, measure.PlanInCalls},
		{"more than the record holds", strings.Join(long, ","), measure.PlanLost, measure.PlanInCalls},
		{"all is done", `{"step":"Read","status":"completed"}`, measure.NoPlan, measure.NoPlan},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s stream
			s.turn(0, 1, 8000)
			s.plan(tt.steps)
			for n := range 8 {
				s.turn(n, 4, 8000)
			}
			r := measure.Reduce(s, compaction.Estimator{}, plain)
			if got := saved(r, "turn").Plan; got != tt.turn {
				t.Errorf("by turns: got %s, want %s", got, tt.turn)
			}
			if got := saved(r, "event").Plan; got != tt.event {
				t.Errorf("by events: got %s, want %s", got, tt.event)
			}
		})
	}
}

func TestPoolingLeavesSmallConversationsOut(t *testing.T) {
	of := func(size int) measure.Reduction {
		var s stream
		for n := range 8 {
			s.turn(n, 1, size)
		}
		return measure.Reduce(s, compaction.Estimator{}, plain)
	}
	large := of(16_000)
	for _, p := range measure.Pool([]measure.Reduction{of(100), large, large}) {
		if p.Conversations != 2 || p.Median != saved(large, p.Policy).Share || p.Raw != 2*large.Raw {
			t.Errorf("%s: %d conversations, median %v, %d tokens", p.Policy, p.Conversations, p.Median, p.Raw)
		}
		if want := p.Median >= p.Goal; p.Passed != want {
			t.Errorf("%s: passed is %v at %v of %v", p.Policy, p.Passed, p.Median, p.Goal)
		}
	}
	for _, p := range measure.Pool(nil) {
		if p.Passed {
			t.Errorf("%s passed without a conversation", p.Policy)
		}
	}
}

// TestALossFailsThePolicy: a figure that no loss changes would be idle.
func TestALossFailsThePolicy(t *testing.T) {
	var s stream
	for n := range 8 {
		s.turn(n, 4, 8000)
	}
	good := measure.Reduce(s, compaction.Estimator{}, plain)
	for _, tt := range []struct {
		name string
		harm func(*measure.Saved)
	}{
		{"a text is lost", func(s *measure.Saved) { s.TextsLost = 1 }},
		{"the plan is lost", func(s *measure.Saved) { s.Plan = measure.PlanLost }},
		{"it cannot be taken back", func(s *measure.Saved) { s.Restored = false }},
		{"little is saved", func(s *measure.Saved) { s.Share = 0.1 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := good
			r.Policies = append([]measure.Saved(nil), good.Policies...)
			for i := range r.Policies {
				tt.harm(&r.Policies[i])
			}
			for _, p := range measure.Pool([]measure.Reduction{r}) {
				if p.Goal > 0 && p.Passed {
					t.Errorf("%s passed", p.Policy)
				}
			}
		})
	}
}

// counted is a session of an agent that sends 20,000 tokens beside it, and of which
// a token has so many characters.
func counted(calls int, characters float64) stream {
	var s stream
	s.add(holdfast.TurnStart{}, holdfast.UserMessage{Parts: text("Go on")})
	sent := 5
	for i := range calls {
		id := fmt.Sprint("c", i)
		s.add(holdfast.ToolCall{ID: id, Name: "cat", Arguments: []byte("{}")},
			holdfast.Usage{Purpose: holdfast.ForTurn, Model: "m", CacheRead: 20_000 + int64(float64(sent)/characters), Output: 1},
			holdfast.ToolResult{CallID: id, Parts: text(strings.Repeat("r", 3000))})
		sent += 2*len(id) + len("cat{}") + 3000
	}
	return s
}

func unknown(string) int64 { return 0 }

func TestEstimatesAreHeldAgainstReports(t *testing.T) {
	e := measure.Estimate(counted(40, 3), compaction.Estimator{}, unknown)
	if e.Calls != 40 || e.Checked != 40 {
		t.Errorf("%d of %d calls", e.Checked, e.Calls)
	}
	blind, early, late := measure.Blind(e), measure.Early(e), measure.Late(e)
	if blind.Estimates != 1 || early.Estimates != 4 || late.Estimates != 35 {
		t.Errorf("%d, %d and %d estimates", blind.Estimates, early.Estimates, late.Estimates)
	}
	if blind.Ratio > 0.01 {
		t.Errorf("before any report x%v: 20,000 tokens are not in the file", blind.Ratio)
	}
	// Three characters are a token, so nothing is off but by rounding.
	if !early.Passed || !late.Passed || math.Abs(late.Ratio-1) > 0.001 || late.Error95 > 0.001 {
		t.Errorf("early %+v, late %+v", early, late)
	}
}

func TestEstimatesFollowOtherTexts(t *testing.T) {
	// As in Chinese: three times the tokens. The first estimate that knows of a
	// growth is the third one.
	e := measure.Estimate(counted(40, 1), compaction.Estimator{}, unknown)
	if late := measure.Late(e); !late.Passed {
		t.Errorf("late %+v", late)
	}
}

func TestEstimatesThatAreOffFail(t *testing.T) {
	s := counted(40, 3)
	for i, e := range s {
		if u, ok := e.Event.(holdfast.Usage); ok && i%4 == 0 {
			u.CacheRead *= 3
			s[i].Event = u
		}
	}
	if late := measure.Late(measure.Estimate(s, compaction.Estimator{}, unknown)); late.Passed || late.Within > 0.7 {
		t.Errorf("late %+v", late)
	}
	if late := measure.Late(); late.Passed {
		t.Error("nothing was looked at, and it passed")
	}
}

func TestLongSessionsAreSampled(t *testing.T) {
	e := measure.Estimate(counted(1300, 3), compaction.Estimator{}, unknown)
	if e.Calls != 1300 || e.Checked < 300 || e.Checked > 420 {
		t.Errorf("%d of %d calls", e.Checked, e.Calls)
	}
}
