package compaction

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Step is what one rule comes to.
type Step struct {
	// Range is what the overlay covers.
	Range Range
	// Overlay is to be appended. Where Request is set, its summary has no text and
	// no model yet: Finish gives it both.
	Overlay holdfast.Overlay
	// Request asks a model for the summary; nil: the overlay is complete.
	Request *SummaryRequest
	// Notes are for the user, a plain sentence each.
	Notes []string
	// Skipped says in one sentence why the rule comes to nothing; then there is no
	// overlay. "" else.
	Skipped string
	// Before and After are estimates, in tokens, of the whole request before this
	// step and after it, where the earlier steps of the run count as done. As long
	// as Request is set, After leaves out what the summary will take.
	Before, After int

	given Range // before a summary made it grow
}

// Covers names what the overlay covers, as people read it: "turns 2..10", or
// "events 31..480 in turns 2..10".
func (s Step) Covers() string {
	if s.Overlay.ByEvents() {
		return fmt.Sprintf("events %d..%d in %s", s.Overlay.FromEvent, s.Overlay.ToEvent, s.Range)
	}
	return s.Range.String()
}

// Plan says what rules come to. All are resolved against the stream as it
// stands; what is to be appended comes in their order, and is to be appended
// together, once every summary is there. Nothing here calls a model, so what
// cannot be done is refused before anything was paid for.
//
// Where two rules of a run make summaries that meet, the later one tells both
// ranges, and the earlier one is not made.
//
// Errors have the code config for a rule without a policy, usage for a range
// that the user named and that holds no turn and for a blank summary, conflict
// for a summary that would replace one of the user.
func Plan(entries []holdfast.Entry, rules []Rule, now time.Time, est Estimator) ([]Step, error) {
	s := NewSnapshot(entries, now)
	var steps []Step
	for _, r := range rules {
		step, err := s.step(r, steps)
		if err != nil {
			return nil, err
		}
		if step.Overlay.Summary != nil {
			steps = supersede(steps, &step)
		}
		steps = append(steps, step)
	}
	Measure(entries, steps, est)
	return steps, nil
}

// step is what one rule comes to, behind earlier ones of the same run.
func (s Snapshot) step(r Rule, earlier []Step) (Step, error) {
	if err := r.Check(); err != nil {
		return Step{}, err
	}
	found, err := r.Range(s)
	if err != nil {
		return Step{}, err
	}
	if found.Len() == 0 {
		why := fmt.Sprintf("Nothing to compact: keep_first = %s and keep_last = %s leave none of %s.", r.KeepFirst, r.KeepLast, countTurns(len(s.turns)))
		if len(s.turns) == 0 {
			why = "Nothing to compact: the conversation has no turns yet."
		}
		return Step{Range: nothing, Skipped: why}, nil
	}
	if r.Summary == nil {
		step := r.over(found, holdfast.ManualOverlay)
		if s.done(step.Overlay) {
			step = Step{Range: nothing, Skipped: fmt.Sprintf("Nothing would change: %s compacted already.", found.are())}
		}
		return step, nil
	}
	if text := r.Summary.Text; text != nil && strings.TrimSpace(*text) == "" {
		return Step{}, holdfast.Errorf(holdfast.ErrUsage, "the summary is blank. Write what stands for %s, or leave the summary to a model", found)
	}
	existing := slices.Clone(s.overlays)
	for _, e := range earlier {
		existing = append(existing, placed{Overlay: e.Overlay, met: e.Range, ended: e.Range})
	}
	grown, err := grow(found, r.Summary.Text != nil, existing)
	if err != nil {
		return Step{}, err
	}
	step := r.over(grown, holdfast.ManualOverlay)
	step.given = found
	if grown != found {
		step.Notes = append(step.Notes, fmt.Sprintf("The summary covers %s instead of %s: it takes in the summaries that it meets.", grown, found))
	}
	return step, nil
}

// are begins a sentence about the turns.
func (r Range) are() string {
	if r.Len() == 1 {
		return r.String() + " is"
	}
	return r.String() + " are"
}

// over is the step that applies the rule to a range that has turns.
func (r Rule) over(in Range, source holdfast.OverlaySource) Step {
	step := Step{Range: in, Overlay: holdfast.Overlay{
		FromTurn: in.From, ToTurn: in.To, Source: source, StripReasoning: r.Reasoning,
	}}
	if r.Tools != nil {
		tools := *r.Tools
		step.Overlay.Tools = &tools
	}
	if r.Summary == nil {
		return step
	}
	if r.Summary.Text != nil {
		step.Overlay.Summary = &holdfast.Summary{Origin: holdfast.AuthoredSummary, Text: strings.TrimSpace(*r.Summary.Text)}
		return step
	}
	request := *r.Summary
	step.Overlay.Summary, step.Request = &holdfast.Summary{Origin: holdfast.GeneratedSummary}, &request
	return step
}

// supersede takes those summaries out of earlier steps that a new one tells too.
func supersede(steps []Step, by *Step) []Step {
	var left []Step
	for _, e := range steps {
		if e.Overlay.Summary == nil || !by.Range.contains(e.Range) {
			left = append(left, e)
			continue
		}
		by.Notes = append(by.Notes, fmt.Sprintf("An earlier rule's summary of %s is not made: this one tells them too.", e.Range))
		e.Range, e.Overlay.FromTurn, e.Overlay.ToTurn = e.given, e.given.From, e.given.To
		e.Overlay.Summary, e.Request, e.Notes = nil, nil, nil
		if e.Overlay.StripReasoning || e.Overlay.Tools != nil {
			left = append(left, e)
		}
	}
	return left
}

// done reports whether an overlay without a summary would change nothing: the
// newest one in force that meets its turns covers them with the same policies, or
// with a summary.
func (s Snapshot) done(o holdfast.Overlay) bool {
	for _, old := range slices.Backward(s.overlays) {
		if !old.met.meets(rangeOf(o)) {
			continue
		}
		if old.ByEvents() {
			return false // it acts on parts of turns, and keeps calls
		}
		same := old.StripReasoning == o.StripReasoning && (old.Tools == nil) == (o.Tools == nil) && (o.Tools == nil || *old.Tools == *o.Tools)
		return (same || old.Summary != nil) && rangeOf(old.Overlay).contains(rangeOf(o))
	}
	return false
}

// Measure sets the estimates of the steps of a run, which were planned for these
// entries.
func Measure(entries []holdfast.Entry, steps []Step, est Estimator) {
	at := est.Tokens(entries)
	for i := range steps {
		steps[i].Before = at
		if steps[i].Skipped == "" {
			entries = with(entries, steps[i].Overlay)
			at = est.Tokens(entries)
		}
		steps[i].After = at
	}
}

// with is a stream with one more overlay.
func with(entries []holdfast.Entry, o holdfast.Overlay) []holdfast.Entry {
	var seq int64
	if n := len(entries); n > 0 {
		seq = entries[n-1].Seq
	}
	return append(slices.Clip(entries), holdfast.Entry{Seq: seq + 1, Event: o})
}
