package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

func (a *app) capsuleCommand() *cobra.Command {
	c := group(&cobra.Command{
		Use:     "capsule",
		Short:   "Show and change what is kept of a session's plan and decisions",
		Example: "  holdfast capsule show last\n  holdfast capsule diff last 3 7\n  holdfast capsule add last --constraint 'No cgo'",
	})
	c.AddCommand(
		a.branchCommand(&cobra.Command{
			Use:     "show SESSION",
			Short:   "Show the plan, the proposal, the decisions and the other facts",
			Long:    "Shows the newest capsule. SESSION is an id, a beginning of one, the agent's own\nsession id, the name in /r/NAME/, or last. [x] is done, [>] in progress, [ ] pending. What nothing that the user said\nsupports is shown apart.",
			Example: "  holdfast capsule show last\n  holdfast capsule show 0193c5d2 --branch 0193c5d4\n  holdfast capsule show last --json",
		}, 1, a.capsuleShow),
		a.branchCommand(&cobra.Command{
			Use:     "log SESSION",
			Short:   "List revisions, newest first, with what changed in each",
			Example: "  holdfast capsule log last\n  holdfast capsule log last --json",
		}, 1, a.capsuleLog),
		a.branchCommand(&cobra.Command{
			Use:     "diff SESSION [FROM [TO]]",
			Short:   "Show what changed between two revisions",
			Long:    "Shows what changed from revision FROM to revision TO. TO is the newest where it is left\nout, FROM the one before TO. Revision 0 is empty.",
			Example: "  holdfast capsule diff last\n  holdfast capsule diff last 3\n  holdfast capsule diff last 3 7",
		}, 3, a.capsuleDiff),
		a.capsuleReplay(),
	)
	c.AddCommand(a.capsuleEdits()...)
	return c
}

// branchCommand completes a command over one branch of the session that its
// first argument names.
func (a *app) branchCommand(c *cobra.Command, most int, run func(store.SessionState, store.BranchState, []string) error) *cobra.Command {
	var branch string
	_, form, _ := strings.Cut(c.Use, " ")
	c.Args = arguments(1, most, form)
	c.ValidArgsFunction = a.completeSession
	c.Flags().StringVar(&branch, "branch", "", "id of a branch or a beginning of it (default: the main one used last)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return a.withStore(func(keeper store.Keeper) error {
			s, err := a.findSession(cmd.Context(), keeper, args[0])
			if err != nil {
				return err
			}
			b, err := findBranch(s, branch)
			if err != nil {
				return err
			}
			if len(b.Revisions) == 0 {
				return holdfast.Errorf(holdfast.ErrNotFound,
					"branch %s has no capsule yet. One begins with the first plan or decision that its agent records, or with holdfast capsule add", branchShortener(s)(b.ID))
			}
			return run(s, b, args[1:])
		})
	}
	return c
}

// decode reads a stored capsule. What a newer version wrote is read as far as
// this one knows it.
func decode(r store.Revision) (*holdfast.Capsule, error) {
	if r.N == 0 {
		return &holdfast.Capsule{}, nil
	}
	var c holdfast.Capsule
	if err := json.Unmarshal(r.Capsule, &c); err != nil {
		return nil, holdfast.Errorf(holdfast.ErrInternal, "revision %d is damaged: %w. Other revisions may be whole: see holdfast capsule log", r.N, err)
	}
	return &c, nil
}

func (a *app) capsuleShow(s store.SessionState, b store.BranchState, _ []string) error {
	r := newest(b)
	c, err := decode(r)
	if err != nil {
		return err
	}
	if a.json {
		var out bytes.Buffer
		if err := json.Indent(&out, r.Capsule, "", "  "); err != nil {
			return holdfast.Errorf(holdfast.ErrInternal, "revision %d is damaged: %w", r.N, err)
		}
		return a.print(escapeJSON(out.String()) + "\n")
	}
	return a.print(a.capsuleText(s, b, c))
}

type revisionJSON struct {
	Revision int       `json:"revision"`
	Epoch    int       `json:"epoch"`
	Digest   string    `json:"digest"`
	At       time.Time `json:"at"`
	Changes  []change  `json:"changes"`
}

func (a *app) capsuleLog(_ store.SessionState, b store.BranchState, _ []string) error {
	list := make([]revisionJSON, len(b.Revisions))
	before := &holdfast.Capsule{}
	for i, r := range b.Revisions {
		c, err := decode(r)
		if err != nil {
			return err
		}
		list[i] = revisionJSON{r.N, r.Epoch, r.Digest, r.At, compare(before, c)}
		before = c
	}
	slices.Reverse(list)
	if a.json {
		return a.printJSON(list)
	}
	rows := make([][]string, len(list))
	for i, r := range list {
		rows[i] = []string{strconv.Itoa(r.Revision), ago(a.now(), r.At), strconv.Itoa(r.Epoch), summarise(r.Changes)}
	}
	return a.print(table([]column{
		{title: "REV", keep: 4},
		{title: "WHEN", keep: 2},
		{title: "EPOCH", keep: 1},
		{title: "CHANGED", keep: 3, least: 16},
	}, rows, a.width))
}

func (a *app) capsuleDiff(_ store.SessionState, b store.BranchState, args []string) error {
	to := newest(b)
	var err error
	if len(args) > 1 {
		if to, err = revision(b, args[1]); err != nil {
			return err
		}
	}
	from := before(b, to)
	if len(args) > 0 {
		if from, err = revision(b, args[0]); err != nil {
			return err
		}
	}
	old, err := decode(from)
	if err != nil {
		return err
	}
	cur, err := decode(to)
	if err != nil {
		return err
	}
	changes := compare(old, cur)
	if a.json {
		return a.printJSON(struct {
			From    int      `json:"from"`
			To      int      `json:"to"`
			Changes []change `json:"changes"`
		}{from.N, to.N, changes})
	}
	return a.print(diffText(from.N, to.N, changes))
}

// before is the revision that r followed; the empty one for the first.
func before(b store.BranchState, r store.Revision) store.Revision {
	var last store.Revision
	for _, x := range b.Revisions {
		if x.N < r.N {
			last = x
		}
	}
	return last
}

// revision finds a revision of a branch by its number; 0 is empty.
func revision(b store.BranchState, number string) (store.Revision, error) {
	n, err := strconv.Atoi(number)
	if err != nil {
		return store.Revision{}, holdfast.Errorf(holdfast.ErrUsage, "%s is no revision: write a number. See holdfast capsule log", line(number))
	}
	if n == 0 {
		return store.Revision{}, nil
	}
	for _, r := range b.Revisions {
		if r.N == n {
			return r, nil
		}
	}
	return store.Revision{}, holdfast.Errorf(holdfast.ErrNotFound,
		"there is no revision %d: they go from %d to %d. See holdfast capsule log", n, b.Revisions[0].N, newest(b).N)
}
