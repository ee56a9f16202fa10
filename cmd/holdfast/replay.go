package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/engine/conversations"
	"github.com/holdfast-dev/holdfast/engine/query"
	"github.com/holdfast-dev/holdfast/redact"
	"github.com/holdfast-dev/holdfast/store"
)

func (a *app) capsuleReplay() *cobra.Command {
	return &cobra.Command{
		Use:   "replay ID|FILE",
		Short: "Show what the capsule would have kept of a session of an agent",
		Long: "Goes through a conversation, or a file that an agent left, and shows at each compaction what\n" +
			"the capsule would have carried, beside how much of it stands in the agent's own summary.",
		Example:           "  holdfast capsule replay last\n  holdfast capsule replay ~/.claude/projects/-work/0198c0de.jsonl --json",
		Args:              arguments(1, 1, "ID|FILE"),
		ValidArgsFunction: a.completeConversation,
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := a.replayed(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			secrets, err := redact.New(nil)
			if err != nil {
				return holdfast.Errorf(holdfast.ErrInternal, "%w", err)
			}
			clear := func(text string) string {
				out, _ := secrets.Text(text)
				return out
			}
			rows := []replayJSON{}
			for _, l := range list {
				rows = append(rows, replay(l, clear)...)
			}
			if a.json {
				return a.printJSON(rows)
			}
			return a.print(a.replayText(rows))
		},
	}
}

// replayed are the conversations that name stands for: those of a file, which is
// not kept, or one that is stored.
func (a *app) replayed(ctx context.Context, name string) (list []conversations.Loaded, err error) {
	if info, err := os.Stat(name); err == nil && !info.IsDir() {
		s := conversations.New(store.NewMemory(), holdfast.Local, a.now, a.newID)
		done, damage, err := a.importOne(ctx, s, name, "", conversations.ImportOptions{})
		if err != nil {
			return nil, holdfast.Errorf(holdfast.CodeOf(err), "%s: %w", line(name), err)
		}
		if len(done) == 0 {
			why := "the file is empty"
			if len(damage) > 0 {
				why = fmt.Sprintf("line %d: %s", damage[0].Line, damage[0].Reason)
			}
			return nil, holdfast.Errorf(holdfast.ErrFailed,
				"%s: no session is in it (%s). Name a file that an agent left, or one of `holdfast conversation export`", line(name), line(why))
		}
		for _, i := range done {
			l, err := s.Load(ctx, i.ID)
			if err != nil {
				return nil, err
			}
			list = append(list, l)
		}
		return list, nil
	}
	err = a.withConversations(false, func(s *conversations.Service) error {
		c, err := a.findConversation(ctx, s, name)
		if err != nil {
			return err
		}
		l, err := s.Load(ctx, c.ID)
		list = []conversations.Loaded{l}
		return err
	})
	return list, err
}

// replayJSON is one compaction of a session. Turns count from 1.
type replayJSON struct {
	Conversation holdfast.ConversationID `json:"conversation"`
	Compaction   int                     `json:"compaction"` // from 1
	From         int                     `json:"from_turn"`
	To           int                     `json:"to_turn"`
	Steps        []heldJSON              `json:"open_steps"`
	Decisions    []heldJSON              `json:"decisions"`
	Words        []heldJSON              `json:"user_words"`
}

// heldJSON is something that the capsule holds, and whether it stands in the
// summary too, word for word but for case and white space.
type heldJSON struct {
	Text    string `json:"text"`
	Summary bool   `json:"in_summary"`
}

// replay folds a stream up to each of its summaries.
func replay(l conversations.Loaded, clear func(string) string) (rows []replayJSON) {
	for i, e := range l.Entries {
		o, ok := e.Event.(holdfast.Overlay)
		if !ok || o.Summary == nil {
			continue
		}
		c := query.Capsule(l.Entries[:i], holdfast.BranchID(l.ID), clear)
		said := folded(clear(o.Summary.Text))
		hold := func(list []heldJSON, text string) []heldJSON {
			return append(list, heldJSON{text, strings.Contains(said, folded(text))})
		}
		row := replayJSON{
			Conversation: l.ID, Compaction: len(rows) + 1, From: o.FromTurn + 1, To: min(o.ToTurn+1, len(conversation.Turns(l.Entries))),
			Steps: []heldJSON{}, Decisions: []heldJSON{}, Words: []heldJSON{},
		}
		if c.Plan != nil {
			for _, s := range c.Plan.Steps {
				if s.Status != holdfast.StepCompleted {
					row.Steps = hold(row.Steps, s.Text)
				}
			}
		}
		for _, d := range c.Decisions {
			if d.Status == holdfast.FactActive {
				row.Decisions = hold(row.Decisions, d.Statement)
			}
		}
		for _, w := range c.UserWords {
			row.Words = hold(row.Words, w.Text)
		}
		rows = append(rows, row)
	}
	return rows
}

// folded is text in small letters with single spaces.
func folded(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

func (a *app) replayText(rows []replayJSON) string {
	if len(rows) == 0 {
		return "There is no compaction with a summary in it.\n"
	}
	of := func(list []heldJSON) string {
		kept := 0
		for _, h := range list {
			if h.Summary {
				kept++
			}
		}
		return fmt.Sprintf("%d, %d in the summary", len(list), kept)
	}
	cells := make([][]string, len(rows))
	for i, r := range rows {
		cells[i] = []string{fmt.Sprint(r.Compaction), turnsText(r.From-1, r.To-1), of(r.Steps), of(r.Decisions), of(r.Words)}
	}
	var b strings.Builder
	b.WriteString(table([]column{
		{title: "N", keep: 5},
		{title: "TURNS", keep: 4},
		{title: "OPEN STEPS", keep: 3},
		{title: "DECISIONS", keep: 2},
		{title: "MESSAGES OF THE USER", keep: 1},
	}, cells, a.width))
	for _, r := range rows {
		lost := ""
		for _, s := range append(r.Steps, r.Decisions...) {
			if !s.Summary {
				lost += wrap("  ", "  ", line(s.Text), a.width)
			}
		}
		if lost != "" {
			fmt.Fprintf(&b, "\nNot word for word in the summary of compaction %d, and in the capsule:\n%s", r.Compaction, lost)
		}
	}
	return b.String()
}
