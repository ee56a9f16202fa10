package conversation

import (
	"math"
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// View is what a model is sent of a conversation.
type View struct {
	Turns []ViewTurn
	// Settings are the stream's settings in order.
	Settings []holdfast.Entry
	// Orphans are results without a call: they are left out.
	Orphans []holdfast.Entry
	// Unanswered are calls that got a result saying that there was none.
	Unanswered []holdfast.Entry
	// InForce counts the overlays that show anywhere in the view.
	InForce int
}

// ViewTurn is one turn of a view. Entries that are in no stream have no
// sequence number and no id. Their backing array may be that of the stream:
// they are not to be changed.
type ViewTurn struct {
	Origin  Origin
	Entries []holdfast.Entry
}

// Origin tells which turns of the stream a turn of a view stands for.
type Origin struct {
	// From and To are equal for a turn that was kept.
	From, To int
	// Summary tells that a summary stands for them, with the number of its
	// overlay among Overlays, from 0.
	Summary bool
	Overlay int
}

// SummaryRequest is what stands in the user's role before a summary.
const SummaryRequest = "[Summary of previous conversation]"

// NoResult is the content of the result that a call gets in a view when the
// stream has none.
const NoResult = "[no result: the call was interrupted]"

// Project makes the view of a stream. render turns the newest capsule into text,
// "" for nothing to tell; nil leaves capsules out.
//
// Of the overlays that are not revoked, the last one in the stream that covers a
// turn and has a policy of a kind decides it, for reasoning, tools and summary
// apart; a summary beats the others. An overlay with event numbers acts on those
// events, and a result goes with its call; of a call that it keeps it has no say.
// It takes time linear in the stream.
func Project(entries []holdfast.Entry, render func(holdfast.Capsule) string) View {
	p := projection{entries: entries, turns: Turns(entries)}
	p.decide()
	var view View
	for i := 0; i < len(p.turns); i++ {
		if n := p.summaryOf(i); n >= 0 {
			from := i
			for i+1 < len(p.turns) && p.summaryOf(i+1) == n {
				i++
			}
			p.used[n] = true
			view.Turns = append(view.Turns, ViewTurn{
				Origin:  Origin{From: from, To: i, Summary: true, Overlay: n},
				Entries: told(p.overlays[n].Summary.Text),
			})
			p.last = place{turn: i, seq: wholeTurn}
			continue
		}
		view.Turns = append(view.Turns, ViewTurn{Origin: Origin{From: i, To: i}, Entries: p.kept(i, &view)})
	}
	for n := len(view.Turns); n > 0 && len(view.Turns[n-1].Entries) == 0; n-- {
		view.Turns = view.Turns[:n-1]
	}
	for _, e := range entries {
		if _, ok := e.Event.(holdfast.Settings); ok {
			view.Settings = append(view.Settings, e)
		}
	}
	for _, used := range p.used {
		if used {
			view.InForce++
		}
	}
	if view.InForce > 0 && render != nil {
		if c := newestCapsule(entries, p.overlays); c != nil {
			if text := render(*c); text != "" {
				view.deliver(text, p.last)
			}
		}
	}
	return view
}

func told(summary string) []holdfast.Entry {
	return []holdfast.Entry{
		{Event: holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text(SummaryRequest)}, Synthetic: true}},
		{Event: holdfast.AssistantMessage{Text: summary}},
	}
}

// place is a place in the stream: behind the event seq of a turn.
type place struct {
	turn int
	seq  int64
}

// wholeTurn as a place in a turn is behind all of it.
const wholeTurn = math.MaxInt64

// projection is the work on one stream.
type projection struct {
	entries  []holdfast.Entry
	turns    []Turn
	overlays []PlacedOverlay
	used     []bool // by overlay: it shows in the view
	last     place  // the last one that an overlay shows in
	// What decides at each entry: an index of overlays, or -1. nil where no
	// overlay has such a policy.
	reasoning, tools, summary []int
	pairs                     partners
}

// decide finds what decides at each entry.
func (p *projection) decide() {
	p.overlays, p.last = Overlays(p.entries), place{turn: -1}
	p.used = make([]bool, len(p.overlays))
	reasoning, tools, summary := p.painter(), p.painter(), p.painter()
	for n := len(p.overlays) - 1; n >= 0; n-- {
		o := p.overlays[n]
		from, to := p.covers(o)
		if o.Revoked || from >= to {
			continue
		}
		if o.StripReasoning {
			reasoning.paint(from, to, n)
		}
		if o.Tools != nil {
			start := from
			for _, seq := range o.KeptCalls {
				if i := p.behind(seq - 1); i >= start && i < to && p.entries[i].Seq == seq {
					tools.paint(start, i, n)
					start = i + 1
				}
			}
			tools.paint(start, to, n)
		}
		if o.Summary != nil && !o.ByEvents() {
			summary.paint(from, to, n)
		}
	}
	p.reasoning, p.tools, p.summary = reasoning.by, tools.by, summary.by
}

// covers is the range of entries that an overlay covers, half open.
func (p *projection) covers(o PlacedOverlay) (from, to int) {
	if o.ByEvents() {
		return p.behind(o.FromEvent - 1), p.behind(o.ToEvent)
	}
	if o.FromTurn < 0 || o.FromTurn >= len(p.turns) || o.ToTurn < o.FromTurn {
		return 0, 0
	}
	return p.turns[o.FromTurn].Start, p.turns[min(o.ToTurn, len(p.turns)-1)].End
}

// behind is the index of the first entry behind a sequence number.
func (p *projection) behind(seq int64) int {
	low, high := 0, len(p.entries)
	for low < high {
		if mid := (low + high) / 2; p.entries[mid].Seq > seq {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low
}

// painter gives ranges of entries to overlays. What is painted stays: the newest
// overlay paints first.
type painter struct {
	size int
	by   []int
	// next leads from a painted entry towards the first one behind it that is
	// not, so that each is visited once.
	next []int
}

func (p *projection) painter() *painter { return &painter{size: len(p.entries)} }

func (a *painter) paint(from, to, n int) {
	if a.by == nil {
		a.by, a.next = make([]int, a.size), make([]int, a.size+1)
		for i := range a.by {
			a.by[i], a.next[i] = -1, i
		}
		a.next[a.size] = a.size
	}
	for i := a.free(from); i < to; i = a.free(i) {
		a.by[i], a.next[i] = n, i+1
	}
}

// free is the first unpainted entry from i on.
func (a *painter) free(i int) int {
	end := i
	for a.next[end] != end {
		end = a.next[end]
	}
	for i != end {
		i, a.next[i] = a.next[i], end
	}
	return end
}

// summaryOf is the overlay whose summary stands for a turn; -1 for none.
func (p *projection) summaryOf(turn int) int {
	if p.summary == nil {
		return -1
	}
	return p.summary[p.turns[turn].Start]
}

// kept is what is left of a turn that no summary stands for.
func (p *projection) kept(turn int, view *View) []holdfast.Entry {
	from, to := p.turns[turn].Start, p.turns[turn].End
	for from < to && !forModel(p.entries[from].Event) {
		from++
	}
	for from < to && !forModel(p.entries[to-1].Event) {
		to--
	}
	in := p.entries[from:to]
	p.pairs = p.pairs.pair(in)
	var out []holdfast.Entry // nil as long as all is as in the stream
	for i, e := range in {
		events := p.shown(in, i, from+i, turn, view)
		if len(events) == 1 && events[0] == nil {
			if out != nil {
				out = append(out, e)
			}
			continue
		}
		if out == nil {
			out = append(make([]holdfast.Entry, 0, len(in)+1), in[:i]...)
		}
		for k, event := range events {
			switch {
			case k > 0: // in no stream
				out = append(out, holdfast.Entry{Event: event})
			case event == nil:
				out = append(out, e)
			default:
				out = append(out, holdfast.Entry{Seq: e.Seq, ID: e.ID, At: e.At, Event: event})
			}
		}
	}
	if out == nil {
		return in
	}
	return out
}

// unchanged is an event that is shown as it is.
var unchanged = []holdfast.Event{nil}

// shown is what the view has for the event i of a turn, the entry at of the
// stream: nothing, the event (nil: as it is), or the event and one more.
func (p *projection) shown(in []holdfast.Entry, i, at, turn int, view *View) []holdfast.Event {
	reasoning, tools := p.deciding(p.reasoning, at, turn), p.deciding(p.tools, at, turn)
	partner := p.pairs[i]
	switch e := in[i].Event.(type) {
	case holdfast.Reasoning:
		if reasoning >= 0 {
			return nil
		}
		return unchanged
	case holdfast.ToolCall:
		policy := p.policy(tools)
		if partner < 0 {
			if policy.Omit {
				return nil
			}
			view.Unanswered = append(view.Unanswered, in[i])
			missing := holdfast.ToolResult{CallID: e.ID, IsError: true, Parts: []holdfast.Part{holdfast.Text(NoResult)}}
			if policy.Response {
				missing = stripped(missing, e.Name)
			}
			if !policy.Request {
				return []holdfast.Event{nil, missing}
			}
			e.Arguments = []byte("{}")
			return []holdfast.Event{e, missing}
		}
		switch {
		case policy.Omit:
			return nil
		case policy.Request:
			e.Arguments = []byte("{}")
			return []holdfast.Event{e}
		}
		return unchanged
	case holdfast.ToolResult:
		if partner < 0 {
			view.Orphans = append(view.Orphans, in[i])
			return nil
		}
		// A pair is on one side: that of its call.
		policy := p.policy(p.deciding(p.tools, at-i+partner, turn))
		switch {
		case policy.Omit:
			return nil
		case policy.Response:
			return []holdfast.Event{stripped(e, in[partner].Event.(holdfast.ToolCall).Name)}
		}
		return unchanged
	case holdfast.UserMessage, holdfast.AssistantMessage:
		return unchanged
	}
	return nil
}

// deciding is the overlay that decides at an entry, -1 for none. It notes that
// the overlay shows.
func (p *projection) deciding(by []int, at, turn int) int {
	if by == nil || by[at] < 0 {
		return -1
	}
	n := by[at]
	p.used[n] = true
	seq := int64(wholeTurn)
	if p.overlays[n].ByEvents() {
		seq = p.entries[at].Seq
	}
	if turn > p.last.turn || seq > p.last.seq {
		p.last = place{turn, seq}
	}
	return n
}

func (p *projection) policy(overlay int) holdfast.ToolPolicy {
	if overlay < 0 {
		return holdfast.ToolPolicy{}
	}
	return *p.overlays[overlay].Tools
}

// stripped is a result without its content.
func stripped(r holdfast.ToolResult, tool string) holdfast.ToolResult {
	outcome := "success"
	if r.IsError {
		outcome = "error"
	}
	r.Text, r.Parts = "", []holdfast.Part{holdfast.Text("[compacted] " + tool + ": " + outcome)}
	return r
}

// newestCapsule is the last capsule of a stream; nil for none.
func newestCapsule(entries []holdfast.Entry, overlays []PlacedOverlay) *holdfast.Capsule {
	next := len(overlays) - 1
	for i := len(entries) - 1; i >= 0; i-- {
		switch e := entries[i].Event.(type) {
		case holdfast.Continuity:
			return &e.Capsule
		case holdfast.Overlay:
			if o := overlays[next]; !o.Revoked && o.Summary != nil && o.Summary.Capsule != nil {
				return o.Summary.Capsule
			}
			next--
		}
	}
	return nil
}

// deliver puts a rendered capsule into the first user message behind a place in
// the stream, as its first text, or into a message at the end.
func (v *View) deliver(text string, last place) {
	part := holdfast.Text(text)
	for t := range v.Turns {
		turn := &v.Turns[t]
		if turn.Origin.From < last.turn || turn.Origin.Summary {
			continue
		}
		for i, e := range turn.Entries {
			m, ok := e.Event.(holdfast.UserMessage)
			if !ok || turn.Origin.From == last.turn && e.Seq <= last.seq {
				continue
			}
			m.Parts = append([]holdfast.Part{part}, m.Parts...)
			turn.Entries = slices.Clone(turn.Entries)
			turn.Entries[i].Event = m
			return
		}
	}
	if len(v.Turns) == 0 {
		return
	}
	end := &v.Turns[len(v.Turns)-1]
	end.Entries = append(slices.Clip(end.Entries), holdfast.Entry{
		Event: holdfast.UserMessage{Parts: []holdfast.Part{part}, Synthetic: true},
	})
}

// Entries is a view as a stream of its own: its settings, then each turn behind
// a marker.
func (v View) Entries() []holdfast.Entry {
	out := slices.Clone(v.Settings)
	for _, t := range v.Turns {
		out = append(append(out, holdfast.Entry{Event: holdfast.TurnStart{}}), t.Entries...)
	}
	return out
}
