package compaction

import (
	"math"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// AutoConfig says when the trigger fires, and what it does.
type AutoConfig struct {
	Enabled bool
	// TriggerRatio is the share of the window above which it fires, above 0 and at
	// most 1.
	TriggerRatio float64
	// MinTurns is the number of turns that a conversation has to be above.
	MinTurns int
	// Granularity is what a range is made of; "" is ByTurn.
	Granularity Granularity
	// MinGain is the share of the window that a band without a summary has to
	// free, from 0 (nothing) to 1.
	MinGain float64
	Rule    Rule
}

// DefaultAuto is what is not configured; it is off.
func DefaultAuto() AutoConfig {
	return AutoConfig{TriggerRatio: 0.75, MinTurns: 5, Granularity: ByTurn, MinGain: 0.02, Rule: Default()}
}

// Check refuses what Decide cannot work with, with the code config.
func (c AutoConfig) Check() error {
	// A comparison with NaN is false, so these are written to hold for what is good.
	switch {
	case !(c.TriggerRatio > 0 && c.TriggerRatio <= 1):
		return holdfast.Errorf(holdfast.ErrConfig, "trigger_ratio = %v is no share of a window. Give a number above 0 and at most 1, such as 0.75", c.TriggerRatio)
	case !(c.MinGain >= 0 && c.MinGain <= 1):
		return holdfast.Errorf(holdfast.ErrConfig, "min_gain = %v is no share of a window. Give a number from 0 to 1, such as 0.02", c.MinGain)
	case c.MinTurns < 0:
		return holdfast.Errorf(holdfast.ErrConfig, "min_turns = %d is no count of turns. Give a number from 0 on", c.MinTurns)
	case c.Granularity != "" && !slices.Contains(Granularities(), c.Granularity):
		return holdfast.Errorf(holdfast.ErrConfig, "granularity = %q is none. Give \"turn\" or \"event\"", c.Granularity)
	case c.Rule.KeepLastTokens < 0:
		return holdfast.Errorf(holdfast.ErrConfig, "keep_last_tokens = %d is no count of tokens. Give a number from 0 on", c.Rule.KeepLastTokens)
	}
	return c.Rule.Check()
}

// Boundary is where a turn has completed and is durable, or the gap between two
// calls of one turn.
type Boundary struct {
	// Inside tells that the turn goes on: every call has its result, and the model
	// is to be called again.
	Inside bool
	// Stays tells the tool calls that a range of events never touches: those that
	// state a plan. nil: there are none.
	Stays func(holdfast.ToolCall) bool
	// Window is the context window of the conversation's model in tokens; 0: not
	// known.
	Window int64
	// Failed is the sequence number that the stream ended with when a summary
	// failed last; 0: none that the caller knows of. A program that starts anew
	// may give 0: a failure that left its usage in the stream is seen there.
	Failed int64
	Now    time.Time
}

// Reason says why the trigger did not fire.
type Reason string

// The reasons, in the order in which they are looked at. Fired is none of them.
const (
	Fired          Reason = ""
	Disabled       Reason = "disabled"
	InsideTurn     Reason = "inside_turn" // the turn goes on, and what is to be done acts on whole turns
	WindowUnknown  Reason = "window_unknown"
	BelowThreshold Reason = "below_threshold"
	TooFewTurns    Reason = "too_few_turns"
	EmptyRange     Reason = "empty_range"
	GrowthWait     Reason = "growth_wait" // a summary failed, and the conversation has not grown enough since
	LittleGain     Reason = "little_gain"
)

// Decision is what the trigger comes to at one boundary.
type Decision struct {
	// Fire is what to do; nil: nothing, for the Reason.
	Fire   *Step
	Reason Reason
	// Estimate is that of the request as it stands, After with what is fired, both
	// in tokens and 0 where it did not come to that. Threshold is what the
	// estimate has to be above.
	Estimate, After int
	Threshold       int64
	// Notice tells that this is the third firing in a row that leaves the request
	// above the threshold: the time to say once what would help.
	Notice bool
}

// retryGrowth is the share of the window that the conversation has to grow by
// before a summary that failed is tried again.
const retryGrowth = 0.05

// Decide says what the trigger does at a boundary. It is to be asked once at each.
//
// The range begins with the first turn that the rule does not keep, or behind the
// furthest turn that is compacted at least as strongly as the rule would, and
// ends before the turns that it keeps last; so with one rule, and nothing by
// hand, no two ranges meet and no turn is left between them. By events the same
// holds for events.
func Decide(entries []holdfast.Entry, c AutoConfig, b Boundary, est Estimator) Decision {
	switch {
	case !c.Enabled:
		return Decision{Reason: Disabled}
	case b.Inside && !c.ActsInsideTurns():
		return Decision{Reason: InsideTurn}
	case b.Window <= 0:
		return Decision{Reason: WindowUnknown}
	}
	// A product such as 0.29 * 100 comes out a little low.
	const rounding = 1e-6
	d := Decision{Estimate: est.Tokens(entries), Threshold: int64(math.Floor(float64(b.Window)*c.TriggerRatio + rounding))}
	if int64(d.Estimate) <= d.Threshold {
		d.Reason = BelowThreshold
		return d
	}
	s := NewSnapshot(entries, b.Now)
	if s.Turns() <= c.MinTurns {
		d.Reason = TooFewTurns
		return d
	}
	step, found := s.automatic(c, b, est)
	if !found {
		d.Reason = EmptyRange
		return d
	}
	if c.Rule.Summary != nil && est.waits(entries, b) {
		d.Reason = GrowthWait
		return d
	}
	after := est.Tokens(with(entries, step.Overlay))
	if step.Request == nil && float64(d.Estimate-after) < c.MinGain*float64(b.Window) {
		d.Reason = LittleGain
		return d
	}
	step.Before, step.After = d.Estimate, after
	d.Fire, d.After = &step, after
	d.Notice = int64(after) > d.Threshold && est.firedAbove(entries, d.Threshold, noticeAfter) == noticeAfter-1
	return d
}

// automatic is what the trigger would do; false where nothing is left to do.
func (s Snapshot) automatic(c AutoConfig, b Boundary, est Estimator) (Step, bool) {
	if c.ActsInsideTurns() {
		return s.band(c.Rule, est, b.Stays)
	}
	turns := Range{max(s.first(c.Rule.KeepFirst), s.furthest(c.Rule.holdsFor)+1), s.last(c.Rule.KeepLast)}
	if c.Granularity == ByEvent {
		turns.To = s.turnsBefore(s.tail(c.Rule.KeepLastTokens, est)) - 1
	}
	if turns.Len() == 0 {
		return Step{}, false
	}
	// Behind all summaries there is none to meet, so a range never grows.
	return c.Rule.over(turns, holdfast.AutoOverlay), true
}

// holdsFor reports whether what an overlay does is at least what the rule would
// do to the same turns.
func (r Rule) holdsFor(o holdfast.Overlay) bool {
	if o.Summary != nil {
		return true
	}
	if r.Summary != nil || r.Reasoning && !o.StripReasoning {
		return false
	}
	return r.Tools == nil || o.Tools != nil && atLeast(*o.Tools, *r.Tools)
}

// atLeast reports whether a tool policy takes away all that another one does.
func atLeast(a, b holdfast.ToolPolicy) bool {
	return a.Omit || !b.Omit && (a.Request || !b.Request) && (a.Response || !b.Response)
}

// waits reports whether a summary failed, and the conversation has not grown
// enough since.
func (e Estimator) waits(entries []holdfast.Entry, b Boundary) bool {
	failed := b.Failed
	// A summary that was paid for and that no overlay came after has failed too.
search:
	for _, entry := range slices.Backward(entries) {
		switch event := entry.Event.(type) {
		case holdfast.Overlay:
			if event.Summary != nil {
				break search
			}
		case holdfast.Usage:
			if event.Purpose == holdfast.ForSummary {
				failed = max(failed, entry.Seq)
				break search
			}
		}
	}
	if failed == 0 {
		return false
	}
	grown := size{count: e.Count}
	for _, entry := range slices.Backward(entries) {
		if entry.Seq <= failed {
			break
		}
		grown.addEvent(entry.Event)
	}
	return float64(e.tokens(grown)) < retryGrowth*float64(b.Window)
}

// noticeAfter is the number of firings in a row that leave the request above the
// threshold before the user is told what would help.
const noticeAfter = 3

// firedAbove counts the firings, back from the end of the stream, that left the
// request above the threshold, up to most. A compaction by hand ends the row.
func (e Estimator) firedAbove(entries []holdfast.Entry, threshold int64, most int) int {
	n := 0
	for i, entry := range slices.Backward(entries) {
		switch event := entry.Event.(type) {
		case holdfast.Revocation:
			return n
		case holdfast.Overlay:
			if event.Source != holdfast.AutoOverlay || int64(e.Tokens(entries[:i+1])) <= threshold {
				return n
			}
			if n++; n == most {
				return n
			}
		}
	}
	return n
}
