package query

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/engine/recording"
)

// Route is where calls for a model go.
type Route struct {
	Model Model
	Name  string // as calls name it
	// Window and MaxOutput are in tokens; 0: not known.
	Window, MaxOutput int64
	// Other tells that its provider is not that of the conversation: what goes there
	// is redacted.
	Other bool
}

// Summarizer has a model write summaries. It implements compaction.Summarizer.
//
// What it is sent are the raw events of the range after repair, as real messages,
// without reasoning, which only its own model can take back; long tool results
// keep their head and tail. No tools are offered. What does not fit the window is
// summarized in pieces, and the pieces in one more call; nothing is left out.
type Summarizer struct {
	// Route finds the way to a model by its name; "" is that of the conversation.
	Route func(model string) (Route, error)
	// MaxResult bounds a tool result in bytes.
	MaxResult int
	Redact    func(string) (clean string, secrets int)
	Estimator compaction.Estimator
	// Progress is told before each call which one it is, and of how many; nil:
	// nobody is.
	Progress func(call, of int)
}

// instructions are what a summarizer is told where the rule says nothing else.
const instructions = "You summarize a part of a conversation between a user and an assistant, so that the assistant can go on without it. " +
	"Keep what later work rests on: what the user asked for and chose, constraints and their reasons, what was rejected and why, the plan with the state of each step, " +
	"what was done and found, names, paths, commands and values word for word, errors and how they were solved, and what is open. " +
	"Leave out what was only tried on the way. Write plainly, in the language of the conversation. Answer with the summary alone."

// request is the last message of a call for a summary.
const request = "Write the summary of the conversation up to here now."

// share of the window is what the input of one call may take: estimates are not
// exact, and the answer needs room too.
const share = 0.6

// Summarize implements compaction.Summarizer.
func (s *Summarizer) Summarize(ctx context.Context, in compaction.SummaryInput) (compaction.Draft, error) {
	route, err := s.Route(in.Request.Model)
	if err != nil {
		return compaction.Draft{}, err
	}
	system := instructions
	if in.Request.Instructions != "" {
		system = in.Request.Instructions
	}
	ask := request
	if in.Request.Context != "" {
		ask += "\n\nBeside the conversation, this is known:\n" + in.Request.Context
	}
	room := 0
	if route.Window > 0 {
		room = int(float64(route.Window-route.MaxOutput)*share) - s.Estimator.Text(system+ask)
		if room <= 0 {
			return compaction.Draft{}, holdfast.Errorf(holdfast.ErrTooLarge,
				"the window of %s has %d tokens, too few for the instructions of a summary. Shorten them, or give a summary model with a larger window", route.Name, route.Window)
		}
	}
	w := writing{s: s, route: route, system: system, ask: ask}
	pieces := s.pieces(s.input(in.Entries, route.Other), room)
	return w.all(ctx, pieces, room)
}

// input is what a summarizer reads of raw events.
func (s *Summarizer) input(entries []holdfast.Entry, redacted bool) []holdfast.Event {
	raw := make([]holdfast.Entry, 0, len(entries))
	for _, e := range entries {
		if _, overlay := e.Event.(holdfast.Overlay); !overlay {
			raw = append(raw, e)
		}
	}
	var list []holdfast.Event
	for _, t := range conversation.Project(raw, nil).Turns {
		for _, e := range t.Entries {
			event := e.Event
			if _, reasoning := event.(holdfast.Reasoning); reasoning {
				continue
			}
			if r, ok := event.(holdfast.ToolResult); ok {
				event = shortened(r, s.MaxResult)
			}
			if redacted {
				event = recording.Redacted(event, s.Redact)
			}
			list = append(list, event)
		}
	}
	return list
}

// shortened is a result of which each text keeps its head and tail.
func shortened(r holdfast.ToolResult, most int) holdfast.ToolResult {
	parts := make([]holdfast.Part, len(r.Parts))
	for i, p := range r.Parts {
		if t, ok := p.(holdfast.Text); ok && len(t) > most {
			head := strings.ToValidUTF8(string(t[:most/2]), "")
			tail := strings.ToValidUTF8(string(t[len(t)-most/2:]), "")
			p = holdfast.Text(fmt.Sprintf("%s\n[%d bytes left out here]\n%s", head, len(t)-len(head)-len(tail), tail))
		}
		parts[i] = p
	}
	r.Parts = parts
	return r
}

// pieces cuts events into pieces of at most room tokens (0: no bound), between
// events where no call waits for its result. What is larger by itself is cut into
// texts.
func (s *Summarizer) pieces(events []holdfast.Event, room int) [][]holdfast.Event {
	if room == 0 {
		return [][]holdfast.Event{events}
	}
	var pieces [][]holdfast.Event
	var piece []holdfast.Event
	size := 0
	flush := func() {
		if len(piece) > 0 {
			pieces = append(pieces, piece)
			piece, size = nil, 0
		}
	}
	for _, unit := range units(events) {
		n := s.size(unit)
		if n > room {
			flush()
			for _, text := range s.texts(unit, room) {
				pieces = append(pieces, []holdfast.Event{holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text(text)}, Synthetic: true}})
			}
			continue
		}
		if size+n > room {
			flush()
		}
		piece, size = append(piece, unit...), size+n
	}
	flush()
	return pieces
}

// units are the shortest runs of events in which every call has its result.
func units(events []holdfast.Event) (list [][]holdfast.Event) {
	var unit []holdfast.Event
	open := 0
	for _, e := range events {
		unit = append(unit, e)
		switch e.(type) {
		case holdfast.ToolCall:
			open++
		case holdfast.ToolResult:
			open--
		}
		if open <= 0 {
			list, unit, open = append(list, unit), nil, 0
		}
	}
	if len(unit) > 0 {
		list = append(list, unit)
	}
	return list
}

func (s *Summarizer) size(events []holdfast.Event) int {
	entries := make([]holdfast.Entry, len(events))
	for i, e := range events {
		entries[i].Event = e
	}
	return s.Estimator.Tokens(entries)
}

// texts says events in words, cut to texts of some room tokens.
func (s *Summarizer) texts(events []holdfast.Event, room int) (list []string) {
	var b strings.Builder
	for _, e := range events {
		switch e := e.(type) {
		case holdfast.UserMessage:
			b.WriteString("The user wrote:\n" + text(e.Parts) + "\n\n")
		case holdfast.AssistantMessage:
			b.WriteString("The assistant wrote:\n" + e.Text + string(e.Data) + "\n\n")
		case holdfast.ToolCall:
			b.WriteString("The assistant called " + e.Name + ":\n" + string(e.Arguments) + "\n\n")
		case holdfast.ToolResult:
			b.WriteString("The tool answered:\n" + text(e.Parts) + "\n\n")
		}
	}
	whole := []rune(b.String())
	// As many characters as surely fit: the densest texts take a token each.
	for step := max(room/2, 1); len(whole) > 0; {
		n := min(step, len(whole))
		list = append(list, string(whole[:n]))
		whole = whole[n:]
	}
	return list
}

// writing is the making of one summary.
type writing struct {
	s           *Summarizer
	route       Route
	system, ask string
	usage       holdfast.Usage
	calls       int
}

// all summarizes pieces, and what came of them.
func (w *writing) all(ctx context.Context, pieces [][]holdfast.Event, room int) (compaction.Draft, error) {
	if len(pieces) == 1 {
		return w.one(ctx, pieces[0], w.ask, w.calls+1)
	}
	of := w.calls + len(pieces) + 1
	var told []holdfast.Event
	for i, piece := range pieces {
		ask := fmt.Sprintf("%s It is part %d of %d.", w.ask, i+1, len(pieces))
		d, err := w.one(ctx, piece, ask, of)
		if err != nil || !d.Complete || d.Calls > 0 || strings.TrimSpace(d.Text) == "" {
			return d, err
		}
		told = append(told, holdfast.UserMessage{
			Parts: []holdfast.Part{holdfast.Text(fmt.Sprintf("Summary of part %d of %d of the conversation:\n\n%s", i+1, len(pieces), d.Text))}, Synthetic: true,
		})
	}
	next := w.s.pieces(told, room)
	if len(next) >= len(pieces) {
		return compaction.Draft{Usage: w.usage}, holdfast.Errorf(holdfast.ErrTooLarge,
			"the summaries of %d parts do not fit the window of %s together. Compact fewer turns at a time, or give a summary model with a larger window", len(pieces), w.route.Name)
	}
	return w.all(ctx, next, room)
}

// one makes one call.
func (w *writing) one(ctx context.Context, events []holdfast.Event, ask string, of int) (compaction.Draft, error) {
	w.calls++
	if w.s.Progress != nil {
		w.s.Progress(w.calls, of)
	}
	var sent []holdfast.Event
	if len(events) > 0 {
		if _, user := events[0].(holdfast.UserMessage); !user {
			sent = append(sent, holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text("[The conversation goes on here.]")}, Synthetic: true})
		}
	}
	sent = append(append(sent, events...), holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text(ask)}, Synthetic: true})
	reply, err := w.route.Model.Call(ctx, holdfast.Call{Model: w.route.Name, System: w.system, Events: sent, MaxOutput: w.route.MaxOutput}, func(holdfast.Delta) {})
	w.add(reply.Usage)
	d := compaction.Draft{
		Model: w.route.Name, Complete: reply.Finish == holdfast.FinishStop, Stop: string(reply.Finish), Usage: w.usage,
	}
	for _, e := range reply.Events {
		switch e := e.(type) {
		case holdfast.AssistantMessage:
			d.Text += e.Text
		case holdfast.ToolCall:
			d.Calls++
		}
	}
	return d, err
}

// add counts what a call took to the summary's usage.
func (w *writing) add(u holdfast.Usage) {
	w.usage.Purpose, w.usage.Model = holdfast.ForSummary, w.route.Name
	w.usage.Input += u.Input
	w.usage.CacheRead += u.CacheRead
	w.usage.CacheWrite += u.CacheWrite
	w.usage.Output += u.Output
	if u.Cost != nil {
		cost := *u.Cost
		if w.usage.Cost != nil {
			cost += *w.usage.Cost
		}
		w.usage.Cost = &cost
	}
}
