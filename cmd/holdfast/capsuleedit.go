package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/redact"
)

// maxTypedBytes bounds a text that is read from standard input. What is longer than
// a capsule takes is refused there.
const maxTypedBytes = 1 << 20

// capsuleEdits are the commands by which a person changes a capsule.
func (a *app) capsuleEdits() []*cobra.Command {
	const ids = "ID is one of capsule show, such as d3, c1, r2, q1 or f4"
	const steps = ids + "; s2 is the second\nstep of the plan"
	return []*cobra.Command{
		a.capsuleAdd(),
		a.editCommand(&cobra.Command{
			Use:   "supersede SESSION ID TEXT",
			Short: "Put another statement in the place of one",
			Long:  "States TEXT in the place of what ID says, which stays as superseded. TEXT may be -, for\nstandard input.\n" + ids + ".",
			Example: "  holdfast capsule supersede last d3 'Use PostgreSQL' --why 'two writers'\n" +
				"  holdfast capsule supersede last f1 'port 5433'",
		}, continuity.EditSupersede, 3, 3, "subject", "why", "kind"),
		a.editCommand(&cobra.Command{
			Use:   "reject SESSION ID",
			Short: "Take a decision, a constraint, a fact, a step or the proposal out of force",
			Long: "Takes out of force what ID names, so that it does not come back. --why is kept of a decision and\n" +
				"of the proposal.\n" + steps + ", plan the one in force, proposal the newest one that nobody accepted.",
			Example: "  holdfast capsule reject last d3\n  holdfast capsule reject last proposal --why 'too large'",
		}, continuity.EditReject, 2, 2, "why"),
		a.editCommand(&cobra.Command{
			Use:   "resolve SESSION ID",
			Short: "Settle what is open: answer a question, end a step, accept the proposal",
			Long: "Answers a question, lifts a constraint, allows a rejected alternative again, ends a step or the\n" +
				"plan, accepts the proposal, and confirms what is not settled.\n" + steps + ".",
			Example: "  holdfast capsule resolve last q1\n  holdfast capsule resolve last proposal",
		}, continuity.EditResolve, 2, 2),
		a.editCommand(&cobra.Command{
			Use:   "edit SESSION ID [TEXT]",
			Short: "Word a fact or a step of the plan in another way",
			Long:  "Puts TEXT in the place of the words of ID. TEXT may be -, for standard input.\n" + steps + ".",
			Example: "  holdfast capsule edit last d3 'Use SQLite in WAL mode'\n" +
				"  holdfast capsule edit last d3 --why 'one file to back up'\n  holdfast capsule edit last s2 'Write the migration and its test'",
		}, continuity.EditChange, 2, 3, "subject", "why"),
		a.editCommand(&cobra.Command{
			Use:     "rm SESSION ID",
			Short:   "Erase an entry from the newest revision",
			Long:    "Erases what ID names with its words; earlier revisions still have it, until the session is\nerased. What is read again later may come back: reject it where it must not.\n" + steps + "; plan and proposal name these.",
			Example: "  holdfast capsule rm last d3",
		}, continuity.EditRemove, 2, 2),
	}
}

// added are the flags of capsule add: what each adds to, of which kind, and which
// other flags it takes.
var added = []struct {
	flag  string
	list  continuity.EditList
	kind  holdfast.QuestionKind
	takes []string
	about string
}{
	{"decision", continuity.ListDecisions, "", []string{"subject", "why"}, "what was decided; needs --subject"},
	{"constraint", continuity.ListConstraints, "", nil, "what the work must keep to"},
	{"rejected", continuity.ListAlternatives, "", []string{"why"}, "what must not be proposed again"},
	{"question", continuity.ListQuestions, holdfast.OpenQuestion, nil, "what waits for an answer"},
	{"blocker", continuity.ListQuestions, holdfast.Blocker, nil, "what the work cannot go on before"},
	{"fact", continuity.ListFacts, "", []string{"kind"}, "what the work needs to know; --kind says what it is"},
	{"plan", continuity.ListPlan, "", nil, "a plan in force, with a list item for each step; it takes the place of the one before"},
}

func (a *app) capsuleAdd() *cobra.Command {
	c := a.editCommand(&cobra.Command{
		Use:   "add SESSION --decision TEXT",
		Short: "State a decision, constraint, rejected alternative, question, blocker, fact or plan",
		Long:  "Adds one entry on your own authority. TEXT may be -, for standard input.",
		Example: "  holdfast capsule add last --decision 'Use SQLite' --subject storage --why 'one file'\n" +
			"  holdfast capsule add last --constraint 'No cgo'\n" +
			"  holdfast capsule add last --rejected 'a rewrite' --why 'no time'\n" +
			"  holdfast capsule add last --blocker 'No access to the CI'\n" +
			"  holdfast capsule add last --fact 'port 5433' --kind value\n" +
			"  holdfast capsule add last --plan - < plan.md",
	}, continuity.EditAdd, 1, 1, "subject", "why", "kind")
	names := make([]string, len(added))
	for i, x := range added {
		names[i] = x.flag
		c.Flags().Var(&onceFlag{name: x.flag}, x.flag, x.about)
	}
	c.MarkFlagsOneRequired(names...)
	c.MarkFlagsMutuallyExclusive(names...)
	return c
}

// editFlags are the flags that only some edits take.
var editFlags = map[string]string{
	"subject": "what a decision is about, such as storage.engine",
	"why":     "the reason",
	"kind":    "of a fact: value, location, dead_end or preference",
}

// onceFlag is a text that is given once: one edit has one of each, and the first of
// two would be lost.
type onceFlag struct {
	name, text string
	given      bool
}

func (f *onceFlag) String() string { return f.text }
func (f *onceFlag) Type() string   { return "string" }
func (f *onceFlag) Set(text string) error {
	if f.given {
		return holdfast.Errorf(holdfast.ErrUsage, "--%s is given twice, and an edit has one: make an edit for each", f.name)
	}
	f.text, f.given = text, true
	return nil
}

// editCommand completes a command that makes one edit. Its arguments are a session,
// the id of what is changed, and a new text, as far as it takes them.
func (a *app) editCommand(c *cobra.Command, op continuity.EditOp, least, most int, flags ...string) *cobra.Command {
	var branch string
	var dry bool
	_, form, _ := strings.Cut(c.Use, " ")
	c.Args = arguments(least, most, form)
	c.ValidArgsFunction = a.completeSession
	for _, name := range flags {
		c.Flags().Var(&onceFlag{name: name}, name, editFlags[name])
	}
	c.Flags().StringVar(&branch, "branch", "", "id of a branch or a beginning of it (default: the main one used last)")
	c.Flags().BoolVar(&dry, "dry-run", false, "show what would change, and change nothing")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		e, secrets, err := a.readEdit(cmd, op, args)
		if err != nil {
			return err
		}
		return a.withDatabase(false, func(d database) error {
			s, err := a.findSession(cmd.Context(), d, args[0])
			if err != nil {
				return err
			}
			b, err := findBranch(s, branch)
			if err != nil {
				return err
			}
			done, err := engine.Edit(cmd.Context(), d, a.principal, s.ID, b.ID, e, a.now(), dry)
			if err != nil {
				return err
			}
			return a.printEdit(editJSON{
				Session: s.ID, Branch: b.ID, From: done.Before.Revision, To: done.After.Revision, Changes: compare(&done.Before, &done.After),
				Effective: effective(done), Redacted: secrets, DryRun: dry,
			}, branchShortener(s)(b.ID))
		})
	}
	return c
}

// readEdit reads an edit from a command line, without the secrets in its texts,
// and counts these.
func (a *app) readEdit(cmd *cobra.Command, op continuity.EditOp, args []string) (e continuity.Edit, found int, err error) {
	flag := func(name string) string {
		f := cmd.Flags().Lookup(name)
		if f == nil {
			return ""
		}
		return f.Value.String()
	}
	e = continuity.Edit{Op: op, Subject: flag("subject"), Reason: flag("why"), Kind: flag("kind")}
	if len(args) > 1 {
		e.ID = args[1]
	}
	if len(args) > 2 {
		e.Statement = args[2]
	}
	for _, x := range added {
		if op != continuity.EditAdd || !cmd.Flags().Changed(x.flag) {
			continue
		}
		e.List, e.Statement = x.list, flag(x.flag)
		for name := range editFlags {
			if flag(name) != "" && !slices.Contains(x.takes, name) {
				return e, 0, holdfast.Errorf(holdfast.ErrUsage, "--%s has no effect beside --%s: leave it out", name, x.flag)
			}
		}
		if x.kind != "" {
			e.Kind = string(x.kind)
		}
	}
	if op == continuity.EditChange && e.Statement+e.Subject+e.Reason == "" {
		return e, 0, holdfast.Errorf(holdfast.ErrUsage, "there is nothing to change: give a text, --subject or --why")
	}
	secrets, err := redact.New(nil)
	if err != nil {
		return e, 0, holdfast.Errorf(holdfast.ErrInternal, "%w", err)
	}
	piped := false
	for _, text := range []*string{&e.Statement, &e.Subject, &e.Reason} {
		if *text == "-" {
			if piped {
				return e, 0, holdfast.Errorf(holdfast.ErrUsage, "standard input can be one text only: write the other one out")
			}
			piped = true
			data, err := io.ReadAll(io.LimitReader(a.in, maxTypedBytes))
			if err != nil {
				return e, 0, holdfast.Errorf(holdfast.ErrUsage, "standard input cannot be read: %w", err)
			}
			*text = strings.TrimSpace(string(data))
		}
		clean, spots := secrets.Text(*text)
		*text, found = clean, found+len(spots)
	}
	return e, found, nil
}

// editJSON is an edit as it is told.
type editJSON struct {
	Session holdfast.SessionID `json:"session"`
	Branch  holdfast.BranchID  `json:"branch"`
	From    int                `json:"from"`
	To      int                `json:"to"` // as From: nothing changed
	Changes []change           `json:"changes"`
	// Effective is next_request, next_compaction, or next_request_or_compaction where it
	// depends on whether Claude has thought behind the record; "" when nothing changed.
	Effective string `json:"effective"`
	Redacted  int    `json:"redacted"` // secrets that were taken out of the texts
	DryRun    bool   `json:"dry_run"`
}

func effective(e engine.Edited) string {
	switch {
	case e.After.Revision == e.Before.Revision:
		return ""
	case e.Bound:
		return "next_request_or_compaction"
	case e.Sticky:
		return "next_request"
	}
	return "next_compaction"
}

func (a *app) printEdit(e editJSON, branch string) error {
	if a.json {
		return a.printJSON(e)
	}
	var out strings.Builder
	if e.Redacted > 0 {
		out.WriteString(wrap("", "  ", count(e.Redacted, "secret was", "secrets were")+" left out of the text.", a.width))
	}
	if e.Effective == "" {
		out.WriteString("Nothing changed: the capsule says so already.\n")
		return a.print(out.String())
	}
	out.WriteString(diffText(e.From, e.To, e.Changes))
	when := map[string]string{
		"next_request":               "with its next request",
		"next_compaction":            "from its next compaction on",
		"next_request_or_compaction": "with its next request, or from its next compaction on where Claude has thought behind the record",
	}[e.Effective]
	text := fmt.Sprintf("In effect on branch %s %s.", branch, when)
	if e.DryRun {
		text = fmt.Sprintf("Nothing was written. It would be in effect on branch %s %s.", branch, when)
	}
	out.WriteString(wrap("", "  ", text, a.width))
	return a.print(out.String())
}

// diffText shows what changed between two revisions.
func diffText(from, to int, changes []change) string {
	var out strings.Builder
	fmt.Fprintf(&out, "--- revision %d\n+++ revision %d\n", from, to)
	for _, c := range changes {
		if c.Before != nil {
			out.WriteString("- " + c.Before.full() + "\n")
		}
		if c.After != nil {
			out.WriteString("+ " + c.After.full() + "\n")
		}
	}
	return out.String()
}
