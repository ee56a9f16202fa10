package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine/conversations"
	"github.com/holdfast-dev/holdfast/store"
)

func (a *app) conversationCommand() *cobra.Command {
	c := group(&cobra.Command{
		Use:     "conversation",
		Aliases: []string{"c"},
		Short:   "Look at, compact, import and export conversations",
		Long: "Conversations are append-only streams of events: your own, imported ones, and recorded\n" +
			"sessions of agents. ID is an id, the beginning of one, or last.",
		Example: "  holdfast conversation import session.jsonl\n" +
			"  holdfast c print last --compacted\n" +
			"  holdfast c compact last --dry-run",
	})
	c.AddCommand(
		a.conversationList(), a.conversationShow(), a.conversationPlot(), a.conversationPrint(), a.conversationCompact(), a.conversationFork(),
		a.conversationRemove(), a.conversationArchive(), a.conversationGrep(), a.conversationTitle(),
		a.conversationExport(), a.conversationImport(), a.conversationPath(),
	)
	return c
}

// conversationJSON is what is told of a conversation in JSON output. Turns are a
// number, events their count.
type conversationJSON struct {
	ID          holdfast.ConversationID  `json:"id"`
	Title       string                   `json:"title"`
	Origin      store.ConversationOrigin `json:"origin"`
	Agent       string                   `json:"agent,omitempty"`
	Branch      holdfast.BranchID        `json:"branch,omitempty"`
	Parent      holdfast.ConversationID  `json:"parent,omitempty"`
	ParentEvent int64                    `json:"parent_event,omitempty"`
	Version     int                      `json:"version"`
	Archived    bool                     `json:"archived"`
	CreatedAt   time.Time                `json:"created_at"`
	UsedAt      time.Time                `json:"used_at"`
	Turns       int                      `json:"turns"`
	Events      int64                    `json:"events"`
	Bytes       int64                    `json:"bytes"`
}

func newConversationJSON(c store.Conversation) conversationJSON {
	return conversationJSON{
		ID: c.ID, Title: c.Title, Origin: c.Origin, Agent: c.Agent, Branch: c.Branch, Parent: c.Parent, ParentEvent: c.ParentSeq,
		Version: c.Version, Archived: c.Archived, CreatedAt: c.CreatedAt, UsedAt: c.UsedAt, Turns: c.Turns, Events: c.Head, Bytes: c.Bytes,
	}
}

func (a *app) conversationList() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List conversations, last used first",
		Example: "  holdfast conversation ls\n  holdfast c ls --all --json",
		Args:    arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withConversations(false, func(s *conversations.Service) error {
				every, err := s.List(cmd.Context(), true)
				if err != nil {
					return err
				}
				list := every
				if !all {
					list = slices.DeleteFunc(slices.Clone(every), func(c store.Conversation) bool { return c.Archived })
				}
				if a.json {
					rows := make([]conversationJSON, len(list))
					for i, c := range list {
						rows[i] = newConversationJSON(c)
					}
					return a.printJSON(rows)
				}
				if len(list) == 0 {
					return a.printNone(every)
				}
				return a.print(a.conversationTable(list, shortener(conversationIDs(every))))
			})
		},
	}
	c.Flags().BoolVarP(&all, "all", "a", false, "archived ones too")
	return c
}

// printNone says why the list is empty, where there are these with archived ones.
func (a *app) printNone(every []store.Conversation) error {
	if len(every) > 0 {
		return a.print(allArchived + "\n")
	}
	return a.print(a.none("conversations", noConversations) + "\n")
}

// conversationTable lists conversations. short cuts an id to what names one of all
// conversations, those that are not in the list too.
func (a *app) conversationTable(list []store.Conversation, short func(holdfast.ConversationID) string) string {
	rows := make([][]string, len(list))
	for i, c := range list {
		origin := string(c.Origin)
		if c.Agent != "" {
			origin = c.Agent
		}
		if c.Archived {
			origin += ", archived"
		}
		rows[i] = []string{short(c.ID), cmp.Or(line(c.Title), "untitled"), line(origin), fmt.Sprint(c.Turns), sizeText(c.Bytes), ago(a.now(), c.UsedAt)}
	}
	return table([]column{
		{title: "ID", keep: 6},
		{title: "TITLE", keep: 5, least: 12},
		{title: "ORIGIN", keep: 2},
		{title: "TURNS", keep: 3},
		{title: "SIZE", keep: 1},
		{title: "USED", keep: 4},
	}, rows, a.width)
}

// sizeText is a number of bytes, to three digits.
func sizeText(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.3g kB", float64(n)/1e3)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.3g MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.3g GB", float64(n)/1e9)
}

func (a *app) conversationTitle() *cobra.Command {
	return &cobra.Command{
		Use:               "title ID [TEXT...]",
		Short:             "Show or change the title",
		Example:           "  holdfast conversation title last\n  holdfast c title last Move to PostgreSQL",
		Args:              arguments(1, 1000, "ID [TEXT...]"),
		ValidArgsFunction: a.completeConversation,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withConversations(false, func(s *conversations.Service) error {
				c, err := a.findConversation(cmd.Context(), s, args[0])
				if err != nil {
					return err
				}
				if len(args) > 1 {
					if c.Title = strings.TrimSpace(strings.Join(args[1:], " ")); c.Title == "" {
						return holdfast.Errorf(holdfast.ErrUsage, "the title is blank. Write one")
					}
					if err := s.Retitle(cmd.Context(), c.ID, c.Title); err != nil {
						return err
					}
				}
				if a.json {
					return a.printJSON(map[string]any{"id": c.ID, "title": c.Title})
				}
				return a.print(line(c.Title) + "\n")
			})
		},
	}
}

func (a *app) conversationArchive() *cobra.Command {
	var undo bool
	c := &cobra.Command{
		Use:               "archive ID",
		Short:             "Take a conversation out of the list, or put it back",
		Long:              "An archived conversation keeps all it has, and is found by its id. With --undo last is the archived\none that was used last.",
		Example:           "  holdfast conversation archive last\n  holdfast c archive 0193c5d2 --undo",
		Args:              arguments(1, 1, "ID"),
		ValidArgsFunction: a.completeConversation,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withConversations(false, func(s *conversations.Service) error {
				find := a.findConversation
				if undo {
					find = a.findArchived
				}
				c, err := find(cmd.Context(), s, args[0])
				if err != nil {
					return err
				}
				if err := s.Archive(cmd.Context(), c.ID, !undo); err != nil {
					return err
				}
				if a.json {
					return a.printJSON(map[string]any{"id": c.ID, "archived": !undo})
				}
				if undo {
					return a.print(fmt.Sprintf("Conversation %s is in the list again.\n", c.ID))
				}
				return a.print(fmt.Sprintf("Archived conversation %s. See holdfast conversation ls --all\n", c.ID))
			})
		},
	}
	c.Flags().BoolVar(&undo, "undo", false, "put it back into the list")
	return c
}

func (a *app) conversationRemove() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:               "rm ID",
		Short:             "Erase a conversation",
		Example:           "  holdfast conversation rm 0193c5d2\n  holdfast c rm last --yes",
		Args:              arguments(1, 1, "ID"),
		ValidArgsFunction: a.completeConversation,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withConversations(false, func(s *conversations.Service) error {
				c, err := a.findConversation(cmd.Context(), s, args[0])
				if err != nil {
					return err
				}
				what := fmt.Sprintf("conversation %s (%s, %s)", c.ID, cmp.Or(line(c.Title), "untitled"), count(c.Turns, "turn", "turns"))
				if !yes {
					ok, err := a.confirm("Erase " + what + "? [y/N] ")
					if err != nil || !ok {
						return err
					}
				}
				release, err := a.lease(cmd, s, c.ID)
				if err != nil {
					return err
				}
				defer release()
				if err := s.Delete(cmd.Context(), c.ID); err != nil {
					return err
				}
				if a.json {
					return a.printJSON(map[string]any{"erased": map[string]any{"id": c.ID, "turns": c.Turns, "events": c.Head}})
				}
				return a.print("Erased " + what + ".\n")
			})
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

func (a *app) conversationPath() *cobra.Command {
	return &cobra.Command{
		Use:     "path",
		Short:   "Show the file that holds all conversations",
		Example: "  holdfast conversation path",
		Args:    arguments(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			path, err := a.dataFile()
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]string{"path": path})
			}
			return a.print(path + "\n")
		},
	}
}

func (a *app) conversationFork() *cobra.Command {
	var turn int
	var event int64
	var inline inlineRules
	c := &cobra.Command{
		Use:   "fork ID",
		Short: "Make a new conversation of the beginning of another",
		Long: "The new conversation has all that stood in the old one up to a turn or an event, and the\n" +
			"compactions that were made before it. The old one stays as it is. -k compacts the new one.",
		Example:           "  holdfast conversation fork last\n  holdfast c fork last --turn 12",
		Args:              arguments(1, 1, "ID"),
		ValidArgsFunction: a.completeConversation,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDatabase(false, func(d database) error {
				s := conversations.New(d, a.principal, a.now, a.newID)
				c, err := a.findConversation(cmd.Context(), s, args[0])
				if err != nil {
					return err
				}
				upTo := event
				switch flags := cmd.Flags(); {
				case flags.Changed("turn"):
					if upTo, err = s.EndOfTurn(cmd.Context(), c.ID, turn-1); err != nil {
						return err
					}
				case flags.Changed("event") && event < 1:
					return holdfast.Errorf(holdfast.ErrUsage, "events are numbered from 1 to %d", c.Head)
				}
				child, err := s.Fork(cmd.Context(), c.ID, upTo, c.Title)
				if err != nil {
					return err
				}
				text := fmt.Sprintf("Conversation %s has the first %s of %s.\n", child.ID, count(child.Turns, "turn", "turns"), c.ID)
				if !inline.given() {
					if a.json {
						return a.printJSON(newConversationJSON(child))
					}
					return a.print(text)
				}
				done, err := a.compactFork(cmd.Context(), d, s, child.ID, inline)
				if err != nil {
					// A fork that is not what was asked for is none.
					return errors.Join(err, s.Delete(context.WithoutCancel(cmd.Context()), child.ID))
				}
				if a.json {
					return a.printJSON(struct {
						conversationJSON
						Compaction compactJSON `json:"compaction"`
					}{newConversationJSON(child), done.json(false)})
				}
				return a.print(text + done.text(false))
			})
		},
	}
	c.Flags().IntVar(&turn, "turn", 0, "the last turn that it has, from 1 (default: all)")
	c.Flags().Int64Var(&event, "event", 0, "the last event that it has, from 1 (default: all)")
	c.MarkFlagsMutuallyExclusive("turn", "event")
	addInlineFlags(c.Flags(), &inline)
	return c
}

// lease takes the right to write to a conversation and tells a person when that
// takes waiting.
func (a *app) lease(cmd *cobra.Command, s *conversations.Service, id holdfast.ConversationID) (release func(), err error) {
	return s.Lease(cmd.Context(), id, a.holder(cmd), conversations.Patience, func(l store.Lease) {
		if !a.json {
			// It is only to pass the time.
			_, _ = fmt.Fprintf(a.err, "waiting for %s, %s at most\n", line(l.Holder), conversations.Patience)
		}
	})
}
