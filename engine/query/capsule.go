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
	c := Capsule(l.Entries, holdfast.BranchID(l.ID), q.cfg.Redact)
	newest := newestCapsule(l.Entries)
	if continuity.Empty(c) || newest != nil && newest.Digest == c.Digest {
		return nil
	}
	c.Revision = 1
	if newest != nil {
		c.Revision = newest.Revision + 1
	}
	return q.service.Append(ctx, l, holdfast.Continuity{Capsule: c})
}

func newestCapsule(entries []holdfast.Entry) *holdfast.Capsule {
	for i := len(entries) - 1; i >= 0; i-- {
		if c, ok := entries[i].Event.(holdfast.Continuity); ok {
			return &c.Capsule
		}
	}
	return nil
}

// Capsule folds a stream: its plan calls with their results, and what the user
// typed. branch names the lineage in the digest.
func Capsule(entries []holdfast.Entry, branch holdfast.BranchID, redact func(string) string) holdfast.Capsule {
	var calls []continuity.Call
	open := map[string][]int{}
	for _, e := range entries {
		switch event := e.Event.(type) {
		case holdfast.TurnStart:
			clear(open)
		case holdfast.UserMessage:
			if words := continuity.Words(typed(event)); words != "" && !event.Synthetic {
				id := "event " + strconv.FormatInt(e.Seq, 10)
				calls = append(calls, continuity.Call{ID: id, Tool: agents.UserSaid, Arguments: []byte(redact(words)), Result: &holdfast.ToolResult{CallID: id}})
			}
		case holdfast.ToolCall:
			if _, carries := agents.CarrierOf(event.Name); carries {
				open[event.ID] = append(open[event.ID], len(calls))
				calls = append(calls, continuity.Call{ID: event.ID, Tool: event.Name, Arguments: event.Arguments})
			}
		case holdfast.ToolResult:
			if waiting := open[event.CallID]; len(waiting) > 0 {
				calls[waiting[0]].Result = &holdfast.ToolResult{CallID: event.CallID, IsError: event.IsError, Text: text(event.Parts)}
				open[event.CallID] = waiting[1:]
			}
		}
	}
	return continuity.Fold(holdfast.Capsule{Branch: branch}, calls, continuity.All)
}

// typed is what a person typed: the text of a message.
func typed(m holdfast.UserMessage) string { return text(m.Parts) }

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
