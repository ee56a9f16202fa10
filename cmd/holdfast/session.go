package main

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

func (a *app) sessionCommand() *cobra.Command {
	c := group(&cobra.Command{
		Use:     "session",
		Short:   "List, show and erase the sessions of agents",
		Example: "  holdfast session ls\n  holdfast session show last\n  holdfast session rm 0193c5d2",
	})
	c.AddCommand(a.sessionList(), a.sessionShow(), a.sessionRemove())
	return c
}

func (a *app) sessionList() *cobra.Command {
	return &cobra.Command{
		Use:     "ls",
		Short:   "List sessions, last used first",
		Example: "  holdfast session ls\n  holdfast session ls --json",
		Args:    arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withStore(func(keeper store.Keeper) error {
				list, err := keeper.Sessions(cmd.Context(), a.principal)
				if err != nil {
					return err
				}
				if a.json {
					rows := make([]sessionJSON, len(list))
					for i, s := range list {
						rows[i] = newSessionJSON(s.Session)
						rows[i].Branches, rows[i].Compactions = &s.Branches, &s.Epochs
					}
					return a.printJSON(rows)
				}
				if len(list) == 0 {
					return a.print(a.none("sessions", noSessions) + "\n")
				}
				return a.print(a.sessionTable(list))
			})
		},
	}
}

// sessionJSON is a session in JSON output. The counts stand in a list only.
type sessionJSON struct {
	ID          holdfast.SessionID `json:"id"`
	Agent       string             `json:"agent"`
	Key         string             `json:"key"`
	CreatedAt   time.Time          `json:"created_at"`
	UsedAt      time.Time          `json:"used_at"`
	Branches    *int               `json:"branches,omitempty"`
	Compactions *int               `json:"compactions,omitempty"`
}

func newSessionJSON(s store.Session) sessionJSON {
	return sessionJSON{ID: s.ID, Agent: s.Agent, Key: s.Key, CreatedAt: s.CreatedAt, UsedAt: s.UsedAt}
}

func (a *app) sessionTable(list []store.SessionInfo) string {
	short := shortener(sessionIDs(list))
	rows := make([][]string, len(list))
	for i, s := range list {
		rows[i] = []string{
			short(s.ID), cmp.Or(line(s.Agent), "unknown"), line(s.Key),
			fmt.Sprint(s.Branches), fmt.Sprint(s.Epochs), ago(a.now(), s.UsedAt),
		}
	}
	return table([]column{
		{title: "ID", keep: 6},
		{title: "AGENT", keep: 4},
		{title: "KEY", keep: 2, least: 8},
		{title: "BRANCHES", keep: 1},
		{title: "COMPACTIONS", keep: 3},
		{title: "USED", keep: 5},
	}, rows, a.width)
}

func (a *app) sessionShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a session: branches, compactions, what is kept",
		Long: "Shows a session as a tree of its branches, and what session policies set for it by the\n" +
			"configuration as this command reads it. ID is an id, a beginning of one, the agent's own\n" +
			"session id, the name in /r/NAME/, or last.",
		Example:           "  holdfast session show last\n  holdfast session show 0193c5d2 --json",
		Args:              arguments(1, 1, "ID"),
		ValidArgsFunction: a.completeSession,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDatabase(false, func(d database) error {
				s, err := a.findSession(cmd.Context(), d, args[0])
				if err != nil {
					return err
				}
				merged, err := a.load()
				if err != nil {
					return err
				}
				terms, err := a.sessionTerms(cmd.Context(), d, merged.Config, s.Session)
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(newSessionTree(s, terms))
				}
				return a.print(a.sessionText(s, terms))
			})
		},
	}
}

type sessionTree struct {
	sessionJSON
	InForce  []termsJSON  `json:"in_force"`
	Branches []branchJSON `json:"branches"`
}

type branchJSON struct {
	ID             holdfast.BranchID `json:"id"`
	Thread         string            `json:"thread"`
	Parent         holdfast.BranchID `json:"parent,omitempty"`
	ParentRevision int               `json:"parent_revision,omitempty"`
	Epoch          int               `json:"epoch"`
	Revision       int               `json:"revision"`
	CreatedAt      time.Time         `json:"created_at"`
	UsedAt         time.Time         `json:"used_at"`
	Boundaries     []boundaryJSON    `json:"boundaries"`
}

type boundaryJSON struct {
	ID       holdfast.BoundaryID  `json:"id"`
	Epoch    int                  `json:"closes_epoch"`
	Status   store.BoundaryStatus `json:"status"`
	Delivery string               `json:"delivery"`
	Revision int                  `json:"revision"`
	Row      string               `json:"recognised_by"`
	At       time.Time            `json:"at"`
}

func newSessionTree(s store.SessionState, terms []inForce) sessionTree {
	tree := sessionTree{sessionJSON: newSessionJSON(s.Session), InForce: newTermsJSON(terms), Branches: []branchJSON{}}
	for _, b := range s.Branches {
		row := branchJSON{
			ID: b.ID, Thread: b.Thread, Parent: b.Parent, ParentRevision: b.ParentRevision, Epoch: b.Epoch,
			Revision: newest(b).N, CreatedAt: b.CreatedAt, UsedAt: b.UsedAt, Boundaries: []boundaryJSON{},
		}
		for _, x := range b.Boundaries {
			row.Boundaries = append(row.Boundaries, boundaryJSON{
				ID: x.ID, Epoch: x.Epoch, Status: x.Status, Delivery: delivery(b, x), Revision: x.Revision, Row: x.Row, At: x.At,
			})
		}
		tree.Branches = append(tree.Branches, row)
	}
	return tree
}

// newest is the last revision of a branch; the zero value when it has none.
func newest(b store.BranchState) store.Revision {
	if len(b.Revisions) == 0 {
		return store.Revision{}
	}
	return b.Revisions[len(b.Revisions)-1]
}

// delivery tells how the record got through a compaction: in the "summary", as
// a "sticky" block in each request that followed, or not at all, "none".
func delivery(b store.BranchState, x store.Boundary) string {
	opened := slices.IndexFunc(b.Epochs, func(e store.Epoch) bool { return e.N == x.Epoch+1 })
	switch {
	case x.Status != store.BoundaryCommitted:
		return "none"
	case opened >= 0 && b.Epochs[opened].Block != "":
		return "sticky"
	case x.Block != "":
		return "summary"
	}
	return "none"
}

func (a *app) sessionText(s store.SessionState, terms []inForce) string {
	now := a.now()
	var b strings.Builder
	fmt.Fprintf(&b, "session  %s\n", line(string(s.ID)))
	fmt.Fprintf(&b, "agent    %s\n", cmp.Or(line(s.Agent), "unknown"))
	fmt.Fprintf(&b, "key      %s\n", line(s.Key))
	fmt.Fprintf(&b, "created  %s\n", moment(now, s.CreatedAt))
	fmt.Fprintf(&b, "used     %s\n", ago(now, s.UsedAt))
	b.WriteString(termsText(terms))
	known := map[holdfast.BranchID]bool{}
	for _, x := range s.Branches {
		known[x.ID] = true
	}
	t := branchTree{app: a, short: branchShortener(s), of: s.Branches}
	for _, x := range s.Branches {
		// A fork of another session's branch is a root here.
		if !known[x.Parent] {
			b.WriteString("\n")
			t.write(&b, x, 0)
		}
	}
	return b.String()
}

// branchTree writes branches with their forks below them.
type branchTree struct {
	app   *app
	short func(holdfast.BranchID) string
	of    []store.BranchState
}

func (t branchTree) write(b *strings.Builder, x store.BranchState, depth int) {
	now := t.app.now()
	margin := strings.Repeat("  ", depth)
	put := func(first, rest, text string) {
		b.WriteString(wrap(margin+first, margin+rest, text, t.app.width))
	}
	title := "branch " + t.short(x.ID)
	if x.Thread != "" {
		title += ", subagent " + line(x.Thread)
	}
	first := ""
	if x.Parent != "" {
		title += fmt.Sprintf(", fork at revision %d", x.ParentRevision)
	}
	if depth > 0 {
		first, margin = "└ ", strings.Repeat("  ", depth-1)
		put(first, "  ", title)
		margin += "  "
	} else {
		put("", "  ", title)
	}
	put("  ", "  ", fmt.Sprintf("epoch %d, revision %d, used %s", x.Epoch, newest(x).N, ago(now, x.UsedAt)))
	put("  ", "  ", capsuleSummary(newest(x)))
	for _, c := range x.Boundaries {
		put("  ", "    ", fmt.Sprintf("compaction %d: %s, %s, %s", c.Epoch+1, line(string(c.Status)), deliveryText(delivery(x, c), c.Revision), moment(now, c.At)))
	}
	for _, child := range t.of {
		if child.Parent == x.ID {
			t.write(b, child, depth+1)
		}
	}
}

func deliveryText(how string, revision int) string {
	switch how {
	case "summary":
		return fmt.Sprintf("revision %d in the summary", revision)
	case "sticky":
		return fmt.Sprintf("revision %d in each request", revision)
	}
	return "nothing delivered"
}

func (a *app) sessionRemove() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "rm ID",
		Short: "Erase a session",
		Long: "Erases all that is kept of a session, what was recorded of it included, and ends what Holdfast adds to its requests.\n" +
			"The agent's own history is not touched.",
		Example:           "  holdfast session rm 0193c5d2\n  holdfast session rm last --yes",
		Args:              arguments(1, 1, "ID"),
		ValidArgsFunction: a.completeSession,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStore(func(keeper store.Keeper) error {
				s, err := a.findSession(cmd.Context(), keeper, args[0])
				if err != nil {
					return err
				}
				if !yes {
					ok, err := a.confirm(fmt.Sprintf("Erase session %s (%s)? [y/N] ", line(string(s.ID)), extent(s)))
					if err != nil || !ok {
						return err
					}
				}
				if err := keeper.Remove(cmd.Context(), a.principal, s.ID); err != nil {
					return err
				}
				if a.json {
					branches, revisions, compactions := size(s)
					return a.printJSON(map[string]any{"erased": map[string]any{
						"id": s.ID, "branches": branches, "revisions": revisions, "compactions": compactions,
					}})
				}
				return a.print(fmt.Sprintf("Erased session %s: %s.\n", line(string(s.ID)), extent(s)))
			})
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

// confirm asks a person before data is erased.
func (a *app) confirm(question string) (bool, error) {
	return a.ask(question, "this erases data", "Nothing was erased.")
}

// ask asks a person; declined is what a no is answered with. Where nobody can be
// asked what this does, --yes must be given.
func (a *app) ask(question, this, declined string) (bool, error) {
	if !a.terminal || a.json {
		return false, holdfast.Errorf(holdfast.ErrUsage, "%s and nobody can be asked. Add --yes", this)
	}
	above := strings.LastIndex(question, "\n") + 1
	if err := a.print(question[:above] + strings.TrimSuffix(flow("", "", question[above:], a.width), "\n") + " "); err != nil {
		return false, err
	}
	// An answer that ends without a newline, or none at all, is read as it is.
	answer, _ := bufio.NewReader(a.in).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	if answer == "y" || answer == "yes" {
		return true, nil
	}
	return false, a.print(declined + "\n")
}

func size(s store.SessionState) (branches, revisions, compactions int) {
	for _, b := range s.Branches {
		revisions += len(b.Revisions)
		compactions += len(b.Boundaries)
	}
	return len(s.Branches), revisions, compactions
}

func extent(s store.SessionState) string {
	branches, revisions, compactions := size(s)
	return count(branches, "branch", "branches") + ", " + count(revisions, "revision", "revisions") + ", " +
		count(compactions, "compaction", "compactions")
}
