package conversation

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// Turn is where a turn stands: entries[Start:End]. Its marker, if it has one, is
// the first of them, or stands behind settings and the like in turn 0.
type Turn struct{ Start, End int }

// Turns cuts a stream into turns. Together they are all of it; a stream without
// a marker and without anything for a model has none.
func Turns(entries []holdfast.Entry) []Turn {
	var turns []Turn
	start, open := 0, false
	for i, e := range entries {
		if _, marker := e.Event.(holdfast.TurnStart); marker && open {
			turns = append(turns, Turn{start, i})
			start = i
		} else if marker || forModel(e.Event) {
			open = true
		}
	}
	if open {
		turns = append(turns, Turn{start, len(entries)})
	}
	return turns
}

// Counter counts the turns of a stream as it is read.
type Counter struct{ turns int }

// Count takes the next event and returns the turn that it is in, from 0.
func (c *Counter) Count(e holdfast.Event) (turn int) {
	if _, marker := e.(holdfast.TurnStart); marker || c.turns == 0 && forModel(e) {
		c.turns++
	}
	return max(c.turns-1, 0)
}

// Turns is how many turns there are so far.
func (c *Counter) Turns() int { return c.turns }

// forModel reports whether an event is part of what a model is sent.
func forModel(e holdfast.Event) bool {
	switch e.(type) {
	case holdfast.UserMessage, holdfast.AssistantMessage, holdfast.Reasoning, holdfast.ToolCall, holdfast.ToolResult:
		return true
	}
	return false
}

// Pairs pairs the calls and results of one turn: of each call it has the index
// of its result, of each result that of its call, both within the turn, and -1
// for one that is alone. For other events it means nothing.
func Pairs(turn []holdfast.Entry) []int { return partners(nil).pair(turn) }

// partners pairs the calls and results of one turn. Of each call it holds the
// index of its result, of each result that of its call, both within the turn,
// and -1 for one that is alone. Other events have no entry of meaning.
type partners []int

// pair reuses the memory of p.
func (p partners) pair(turn []holdfast.Entry) partners {
	p = p[:0]
	var open map[string][]int // calls without a result, by id
	for i, e := range turn {
		partner := -1
		switch e := e.Event.(type) {
		case holdfast.ToolCall:
			if open == nil {
				open = map[string][]int{}
			}
			open[e.ID] = append(open[e.ID], i)
		case holdfast.ToolResult:
			if calls := open[e.CallID]; len(calls) > 0 {
				partner, open[e.CallID] = calls[0], calls[1:]
				p[partner] = i
			}
		}
		p = append(p, partner)
	}
	return p
}

// PlacedOverlay is an overlay with its place in the stream.
type PlacedOverlay struct {
	holdfast.Overlay
	ID      holdfast.EventID
	Seq     int64
	Revoked bool
}

// Overlays lists the overlays of a stream in its order, revoked ones too: a
// person names them by their number in this list, from 1.
func Overlays(entries []holdfast.Entry) []PlacedOverlay {
	var list []PlacedOverlay
	at := map[holdfast.EventID]int{}
	for _, e := range entries {
		switch event := e.Event.(type) {
		case holdfast.Overlay:
			at[e.ID] = len(list)
			list = append(list, PlacedOverlay{Overlay: event, ID: e.ID, Seq: e.Seq})
		case holdfast.Revocation:
			for _, id := range event.Overlays {
				if i, known := at[id]; known {
					list[i].Revoked = true
				}
			}
		}
	}
	return list
}

// Deciding lists the overlays that decide how a turn is shown, by their index,
// oldest first: those that Project follows there. from and to are the numbers of
// the first and the last event of the turn; every overlay of events that meets
// them is among the list, unless a summary stands for the turn.
func Deciding(overlays []PlacedOverlay, turn int, from, to int64) []int {
	reasoning, tools, summary := -1, -1, -1
	var byEvents []int
	for i, o := range overlays {
		if o.Revoked {
			continue
		}
		if o.ByEvents() {
			if o.FromEvent <= to && o.ToEvent >= from {
				byEvents = append(byEvents, i)
			}
			continue
		}
		if turn < o.FromTurn || turn > o.ToTurn {
			continue
		}
		if o.StripReasoning {
			reasoning = i
		}
		if o.Tools != nil {
			tools = i
		}
		if o.Summary != nil {
			summary = i
		}
	}
	if summary >= 0 {
		return []int{summary}
	}
	list := append(byEvents, reasoning, tools)
	slices.Sort(list)
	list = slices.Compact(list)
	for len(list) > 0 && list[0] < 0 {
		list = list[1:]
	}
	return list
}
