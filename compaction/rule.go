package compaction

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
)

// Rule says what is done to which turns.
type Rule struct {
	KeepFirst, KeepLast Bound
	// KeepLastTokens is how many tokens of the newest events stay, for the trigger
	// and ranges of events; it takes the place of KeepLast there.
	KeepLastTokens int

	// Reasoning strips the reasoning.
	Reasoning bool
	Tools     *holdfast.ToolPolicy // nil: calls stay as they are
	Summary   *SummaryRequest      // nil: no summary

	// named is how the user named the range; its zero value: a rule did.
	named named
}

// SummaryRequest asks for a summary.
type SummaryRequest struct {
	// Instructions take the place of the built-in ones, Context is told beside
	// them; Model writes it, "" the conversation's. All may be empty.
	Instructions, Context, Model string
	// Text is the summary as the user wrote it; nil: a model writes it.
	Text *string
}

// Default is the rule where none is configured: the first turn and the last
// three stay, reasoning and tool calls of the others are stripped. It is also
// what a part of a rule is completed from.
func Default() Rule {
	return Rule{
		KeepFirst:      Count(1),
		KeepLast:       Count(3),
		KeepLastTokens: 10_000,
		Reasoning:      true,
		Tools:          &holdfast.ToolPolicy{Request: true, Response: true},
	}
}

// Check refuses a rule that has no policy, with the code config.
func (r Rule) Check() error {
	if !r.Reasoning && r.Tools == nil && r.Summary == nil {
		return holdfast.Errorf(holdfast.ErrConfig, "a compaction rule without a policy does nothing. Give it reasoning, tool_calls or summary, or remove it")
	}
	return nil
}

var toolModes = []struct {
	name, short string
	policy      holdfast.ToolPolicy
}{
	{"strip", "s", holdfast.ToolPolicy{Request: true, Response: true}},
	{"strip-requests", "sreq", holdfast.ToolPolicy{Request: true}},
	{"strip-responses", "sres", holdfast.ToolPolicy{Response: true}},
	{"omit", "o", holdfast.ToolPolicy{Omit: true}},
}

// ParseTools reads a value of tool_calls: strip, strip-requests, strip-responses
// or omit, or one of the short forms s, sreq, sres and o. The error has the code
// usage.
func ParseTools(mode string) (holdfast.ToolPolicy, error) {
	names := make([]string, 0, len(toolModes))
	for _, m := range toolModes {
		if mode == m.name || mode == m.short {
			return m.policy, nil
		}
		names = append(names, m.name+" ("+m.short+")")
	}
	return holdfast.ToolPolicy{}, holdfast.Errorf(holdfast.ErrUsage, "%q is nothing that can be done to tool calls. Give one of %s", mode, strings.Join(names, ", "))
}

// Range is a range of turns, from 0 and inclusive. Where From is above To it is
// empty.
type Range struct{ From, To int }

// nothing is the empty range.
var nothing = Range{0, -1}

// Len is the number of turns.
func (r Range) Len() int { return max(0, r.To-r.From+1) }

// String is the range as people read it, counted from 1: "turn 3" or "turns
// 2..10".
func (r Range) String() string {
	switch r.Len() {
	case 0:
		return "no turns"
	case 1:
		return fmt.Sprintf("turn %d", r.From+1)
	}
	return fmt.Sprintf("turns %d..%d", r.From+1, r.To+1)
}

// Snapshot is a stream as it stood at a time: what ranges are resolved against.
type Snapshot struct {
	entries []holdfast.Entry
	turns   []conversation.Turn
	// overlays are those in force, with their number among all and, of turns, with
	// ends that exist.
	overlays []placed
	now      time.Time
}

type placed struct {
	holdfast.Overlay
	number int // as a person counts them
	// met are the turns that it acts on, ended those of which it holds the end:
	// the same for an overlay of turns.
	met, ended Range
}

// NewSnapshot takes a stream as it stands. Durations are counted back from now.
func NewSnapshot(entries []holdfast.Entry, now time.Time) Snapshot {
	s := Snapshot{entries: entries, turns: conversation.Turns(entries), now: now}
	for i, o := range conversation.Overlays(entries) {
		switch {
		case o.Revoked:
		case o.ByEvents():
			met, ended := s.span(o.Overlay)
			s.overlays = append(s.overlays, placed{o.Overlay, i + 1, met, ended})
		case o.FromTurn >= 0 && o.FromTurn < len(s.turns) && o.ToTurn >= o.FromTurn:
			o.ToTurn = min(o.ToTurn, len(s.turns)-1)
			s.overlays = append(s.overlays, placed{o.Overlay, i + 1, rangeOf(o.Overlay), rangeOf(o.Overlay)})
		}
	}
	return s
}

// Turns is the number of turns.
func (s Snapshot) Turns() int { return len(s.turns) }

// furthest is the last turn that an overlay covers to its end of which counts is
// true; -1 for none.
func (s Snapshot) furthest(counts func(holdfast.Overlay) bool) int {
	last := -1
	for _, o := range s.overlays {
		if counts(o.Overlay) && o.ended.Len() > 0 {
			last = max(last, o.ended.To)
		}
	}
	return last
}

// Range is the range that the rule acts on. It is empty where a rule leaves
// nothing; where the user named the range, that is an error with the code usage.
//
// Of a rule with positions the range begins and ends with them, a duration is
// met by whole turns: a turn that was running at the time stays outside. A range
// that ends behind the last turn ends with it, save that of --turn.
func (r Rule) Range(s Snapshot) (Range, error) {
	for _, b := range []Bound{r.KeepFirst, r.KeepLast} {
		if beyond := b.kind == byPosition && b.n > len(s.turns) || b.kind == byBehind && b.n >= len(s.turns); b.strict && beyond {
			return nothing, r.named.refuse("turn %s is beyond the end: the conversation has %s", strings.TrimPrefix(b.String(), "@"), countTurns(len(s.turns)))
		}
	}
	found := Range{s.first(r.KeepFirst), s.last(r.KeepLast)}
	if found.From <= found.To && found.To >= 0 && found.From < len(s.turns) {
		return found, nil
	}
	if r.named == (named{}) {
		return nothing, nil
	}
	if len(s.turns) > 0 && found.From > found.To && found.From < len(s.turns) && found.To >= 0 {
		return nothing, r.named.refuse("the range ends before it begins: it would be from turn %d to turn %d", found.From+1, found.To+1)
	}
	return nothing, r.named.refuse("no turn is in this range: the conversation has %s", countTurns(len(s.turns)))
}

func countTurns(n int) string {
	switch n {
	case 0:
		return "no turns yet"
	case 1:
		return "1 turn"
	}
	return fmt.Sprintf("%d turns", n)
}

// first is the first turn of a range that begins with b.
func (s Snapshot) first(b Bound) int {
	switch b.kind {
	case bySpan:
		if len(s.turns) == 0 {
			return 0
		}
		start, _ := s.times(0)
		return s.leading(func(began, _ time.Time) bool { return began.Sub(start) <= b.d })
	case byAge:
		since := s.now.Add(-b.d)
		return len(s.turns) - s.trailing(func(began, _ time.Time) bool { return !began.Before(since) })
	case byPosition:
		return b.n - 1
	case byBehind:
		return max(0, len(s.turns)-1-b.n)
	case byCompaction:
		return s.furthest(func(holdfast.Overlay) bool { return true }) + 1
	}
	return b.n
}

// last is the last turn of a range that ends with b; below 0 for none.
func (s Snapshot) last(b Bound) int {
	end := len(s.turns) - 1
	switch b.kind {
	case bySpan, byAge:
		since := s.now.Add(-b.d)
		return end - s.trailing(func(_, ended time.Time) bool { return ended.After(since) })
	case byPosition:
		return min(b.n-1, end)
	}
	return end - b.n
}

// leading counts the turns from the first on of which ok is true.
func (s Snapshot) leading(ok func(began, ended time.Time) bool) int {
	n := 0
	for n < len(s.turns) && ok(s.times(n)) {
		n++
	}
	return n
}

// trailing counts the turns from the last one back of which ok is true.
func (s Snapshot) trailing(ok func(began, ended time.Time) bool) int {
	n := 0
	for n < len(s.turns) && ok(s.times(len(s.turns)-1-n)) {
		n++
	}
	return n
}

// times are those of the first and the last event of a turn. What is written
// about a conversation later, such as a compaction, is not a part of it here.
func (s Snapshot) times(turn int) (began, ended time.Time) {
	in := s.entries[s.turns[turn].Start:s.turns[turn].End]
	// A turn without any such event does not exist.
	first := slices.IndexFunc(in, said)
	last := len(in) - 1
	for !said(in[last]) {
		last--
	}
	return in[first].At, in[last].At
}

// said reports whether an event is one of the conversation itself.
func said(e holdfast.Entry) bool {
	switch e.Event.(type) {
	case holdfast.TurnStart, holdfast.UserMessage, holdfast.AssistantMessage, holdfast.Reasoning, holdfast.ToolCall, holdfast.ToolResult:
		return true
	}
	return false
}
