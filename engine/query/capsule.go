package query

import (
	"context"
	"strconv"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/engine/conversations"
)

// PlanTool is the plan tool of own conversations: it carries the plan, by the
// rules of the agents table.
const PlanTool = "update_plan"

// harvest appends a revision of the capsule where the stream gives another one.
func (q *Loop) harvest(ctx context.Context, l *conversations.Loaded) error {
	c := q.capsule(l)
	newest := newestCapsule(l.Entries)
	if continuity.Empty(c) || newest != nil && newest.Digest == c.Digest {
		return nil
	}
	c.Revision++
	return q.service.Append(ctx, l, holdfast.Continuity{Capsule: c})
}

// capsule is that of the stream, with the revision that the stream has and the
// watermark that is reached.
func (q *Loop) capsule(l *conversations.Loaded) holdfast.Capsule {
	c := Capsule(l.Entries, holdfast.BranchID(l.ID), q.cfg.Redact)
	c.Revision = 0
	if newest := newestCapsule(l.Entries); newest != nil {
		c.Revision = newest.Revision
	}
	if q.reader != nil && q.reader.mark != "" {
		c.Watermark = q.reader.mark
	}
	return c
}

func newestCapsule(entries []holdfast.Entry) *holdfast.Capsule {
	for i := len(entries) - 1; i >= 0; i-- {
		if c, ok := entries[i].Event.(holdfast.Continuity); ok {
			return &c.Capsule
		}
	}
	return nil
}

// Capsule is the capsule of a stream: its plan calls with their results, and what
// the user typed, folded over what extraction has read. branch names the lineage in
// the digest.
//
// What extraction found stands in the stream alone, in capsules with a watermark.
// The newest of them is the beginning, and what stands behind it is folded over it;
// without one all of the stream is folded. So a plan call that came later replaces a
// plan that was accepted in words, and the other way round.
//
// A recorded session has capsules that the proxy wrote. One may stand behind calls
// of its turn that are not in it; those are folded again, which changes nothing
// where they are. Their watermark names nothing that stands in the stream.
func Capsule(entries []holdfast.Entry, branch holdfast.BranchID, redact func(string) string) holdfast.Capsule {
	f := folding{open: map[string][]int{}, texts: map[string]bool{}}
	for _, e := range entries {
		switch event := e.Event.(type) {
		case holdfast.TurnStart:
			clear(f.open)
			f.turn = len(f.calls)
		case holdfast.UserMessage:
			f.texts[string(e.ID)] = true
			if words := words(event, redact); words != "" {
				id := "event " + strconv.FormatInt(e.Seq, 10)
				f.calls = append(f.calls, continuity.Call{ID: id, Tool: agents.UserSaid, Arguments: []byte(words), Result: &holdfast.ToolResult{CallID: id}})
			}
		case holdfast.AssistantMessage:
			f.texts[string(e.ID)] = true
		case holdfast.ToolCall:
			meant := agents.Meant(event)
			if _, carries := agents.CarrierOf(meant.Name); carries {
				f.call(continuity.Call{ID: event.ID, Tool: meant.Name, Arguments: meant.Arguments})
			}
		case holdfast.ToolResult:
			if waiting := f.open[event.CallID]; len(waiting) > 0 {
				f.calls[waiting[0]].Result = &holdfast.ToolResult{CallID: event.CallID, IsError: event.IsError, Text: text(event.Parts)}
				f.open[event.CallID] = waiting[1:]
			}
		case holdfast.Continuity:
			f.begin(&event.Capsule)
		case holdfast.Overlay:
			if event.Summary != nil {
				f.begin(event.Summary.Capsule)
			}
		}
	}
	f.base.Branch = branch
	return continuity.Fold(f.base, f.calls, continuity.All)
}

// folding is what is to be folded of a stream so far.
type folding struct {
	base  holdfast.Capsule
	calls []continuity.Call
	turn  int              // the first call of the turn
	open  map[string][]int // calls of the turn that have no result yet, by id
	texts map[string]bool  // ids of the texts of the stream
}

func (f *folding) call(c continuity.Call) {
	if c.Result == nil {
		f.open[c.ID] = append(f.open[c.ID], len(f.calls))
	}
	f.calls = append(f.calls, c)
}

// begin begins anew with a capsule that extraction has read. Calls that wait for
// their result stay, and of a capsule that the proxy wrote all calls of the turn.
func (f *folding) begin(c *holdfast.Capsule) {
	if c == nil || c.Watermark == "" || c.SchemaVersion > holdfast.SchemaVersion {
		return
	}
	stay := f.calls[f.turn:]
	f.base, f.calls, f.turn = *c, nil, 0
	clear(f.open)
	for _, call := range stay {
		if call.Result == nil || !f.texts[c.Watermark] {
			f.call(call)
		}
	}
}

// typed is what a person typed: the text of a message, without attached files.
func typed(m holdfast.UserMessage) string { return text(withoutFiles(m).Parts) }

// words is what is kept of a message that a person typed. Secrets go before anything is cut, since
// they are known by what stands around them; of a very long text the bulk goes first.
func words(m holdfast.UserMessage, redact func(string) string) string {
	const long = 64 << 10
	if m.Synthetic {
		return ""
	}
	text := typed(m)
	if len(text) > long {
		text = continuity.Shorten(text, long)
	}
	return redact(continuity.Words(redact(text)))
}

func text(parts []holdfast.Part) string {
	out := ""
	for _, p := range parts {
		if t, ok := p.(holdfast.Text); ok {
			if out != "" {
				out += "\n"
			}
			out += string(t)
		}
	}
	return out
}
