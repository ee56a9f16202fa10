package compaction

import (
	"sort"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
)

// Granularity is what the trigger's ranges are made of.
type Granularity string

// The granularities.
const (
	ByTurn Granularity = "turn"
	// ByEvent lets a range begin and end inside a turn, so that the turn that
	// fills the window is compacted too. KeepLastTokens of the rule takes the
	// place of its KeepLast.
	ByEvent Granularity = "event"
)

// Granularities lists all of them.
func Granularities() []Granularity { return []Granularity{ByTurn, ByEvent} }

// ActsInsideTurns reports whether the trigger may fire between two calls of one
// turn: a summary stays on turn boundaries.
func (c AutoConfig) ActsInsideTurns() bool {
	return c.Enabled && c.Granularity == ByEvent && c.Rule.Summary == nil
}

// tail is the index of the first of the newest entries that stay, of at least so
// many tokens. What the model has not answered yet is among them, and so is the
// answer before it: a provider may ask for its reasoning. No call is on one side
// and its result on the other.
func (s Snapshot) tail(tokens int, est Estimator) int {
	cut := len(s.entries)
	for kept := (size{count: est.Count}); cut > 0 && est.tokens(kept) < tokens; {
		cut--
		kept.addEvent(s.entries[cut].Event)
	}
	cut = min(cut, s.newestRound())
	if cut == len(s.entries) || len(s.turns) == 0 {
		return cut
	}
	turn := s.turns[s.turnOf(cut)]
	partner := conversation.Pairs(s.entries[turn.Start:turn.End])
	for i := cut; i < turn.End; i++ {
		if _, result := s.entries[i].Event.(holdfast.ToolResult); !result {
			continue
		}
		if call := partner[i-turn.Start]; call >= 0 && turn.Start+call < cut {
			cut = turn.Start + call
			i = cut // what has come to this side may have results here too
		}
	}
	return cut
}

// newestRound is the index behind everything that the model was sent for its
// newest answer.
func (s Snapshot) newestRound() int {
	i := len(s.entries)
	for i > 0 && !byModel(s.entries[i-1].Event) {
		i--
	}
	return behindInput(s.entries, i)
}

func byModel(e holdfast.Event) bool {
	switch e.(type) {
	case holdfast.AssistantMessage, holdfast.Reasoning, holdfast.ToolCall:
		return true
	}
	return false
}

// turnOf is the turn that an entry is in; the last one for what is behind all.
func (s Snapshot) turnOf(index int) int {
	return min(s.turnsBefore(index), len(s.turns)-1)
}

// indexOf is the index of the first entry with a sequence number or a later one.
func (s Snapshot) indexOf(seq int64) int {
	return sort.Search(len(s.entries), func(i int) bool { return s.entries[i].Seq >= seq })
}

// turnsBefore is the number of turns that end before an entry.
func (s Snapshot) turnsBefore(index int) int {
	return sort.Search(len(s.turns), func(t int) bool { return s.turns[t].End > index })
}

// span says which turns an overlay of events is about: those that it meets, and
// those of which it holds the end. Both may be empty.
func (s Snapshot) span(o holdfast.Overlay) (met, ended Range) {
	from, to := s.indexOf(o.FromEvent), s.indexOf(o.ToEvent+1)
	if len(s.turns) == 0 || from >= to {
		return nothing, nothing
	}
	met = Range{s.turnOf(from), s.turnOf(to - 1)}
	ended = met
	for i := to; i < s.turns[met.To].End; i++ {
		if said(s.entries[i]) {
			ended.To-- // the turn goes on behind it
			break
		}
	}
	return met, ended
}

// band is what a rule compacts with the granularity of events: from the first
// turn that it does not keep, or from behind the furthest event that is
// compacted at least as strongly, to the newest events that it keeps. stays tells
// the calls that no band touches; nil: there are none. It is false where nothing
// is in there that the rule acts on.
func (s Snapshot) band(r Rule, est Estimator, stays func(holdfast.ToolCall) bool) (Step, bool) {
	first := s.first(r.KeepFirst)
	if first < 0 || first >= len(s.turns) {
		return Step{}, false
	}
	from := s.turns[first].Start
	for _, o := range s.overlays {
		switch {
		case !r.holdsFor(o.Overlay):
		case o.ByEvents():
			from = max(from, s.indexOf(o.ToEvent+1))
		default:
			from = max(from, s.turns[o.ToTurn].End)
		}
	}
	to := s.tail(r.KeepLastTokens, est) - 1
	if from > to {
		return Step{}, false
	}
	acts := false
	var kept []int64
	for _, e := range s.entries[from : to+1] {
		switch event := e.Event.(type) {
		case holdfast.Reasoning:
			acts = acts || r.Reasoning
		case holdfast.ToolCall:
			switch {
			case r.Tools == nil:
			case stays != nil && stays(event):
				kept = append(kept, e.Seq)
			default:
				acts = true
			}
		}
	}
	if !acts {
		return Step{}, false
	}
	step := r.over(Range{s.turnOf(from), s.turnOf(to)}, holdfast.AutoOverlay)
	o := &step.Overlay
	o.FromTurn, o.ToTurn = 0, 0
	o.FromEvent, o.ToEvent, o.KeptCalls = s.entries[from].Seq, s.entries[to].Seq, kept
	return step, true
}
