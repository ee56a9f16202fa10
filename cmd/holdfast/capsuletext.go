package main

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/store"
)

// fact is a decision, a constraint, a rejected alternative, an open question or a
// Fact, for showing it.
type fact struct {
	kind      string // of factKinds
	id        string
	label     string // what stands before the statement; "" for none
	statement string
	reason    string
	status    holdfast.FactStatus
	evidence  holdfast.Evidence
}

// factKinds are the kinds of facts, in the order in which they are shown.
var factKinds = []struct{ name, title, one, many string }{
	{"decision", "Decisions:", "decision", "decisions"},
	{"constraint", "Constraints:", "constraint", "constraints"},
	{"rejected_alternative", "Rejected alternatives:", "rejected alternative", "rejected alternatives"},
	{"open_question", "Open questions:", "open question", "open questions"},
	{"fact", "Facts:", "fact", "facts"},
}

// facts lists the facts of a capsule, those of one kind together.
func facts(c *holdfast.Capsule) (list []fact) {
	for _, x := range c.Decisions {
		list = append(list, fact{"decision", x.ID, x.Subject, x.Statement, x.Rationale, x.Status, x.Evidence})
	}
	for _, x := range c.Constraints {
		list = append(list, fact{"constraint", x.ID, "", x.Statement, "", x.Status, x.Evidence})
	}
	for _, x := range c.RejectedAlternatives {
		list = append(list, fact{"rejected_alternative", x.ID, "", x.Statement, x.Reason, x.Status, x.Evidence})
	}
	for _, x := range c.OpenQuestions {
		label := ""
		if x.Kind == holdfast.Blocker {
			label = "blocker"
		}
		list = append(list, fact{"open_question", x.ID, label, x.Statement, "", x.Status, x.Evidence})
	}
	for _, x := range c.Facts {
		list = append(list, fact{"fact", x.ID, strings.ReplaceAll(string(x.Kind), "_", " "), x.Statement, "", x.Status, x.Evidence})
	}
	return list
}

// inForce reports whether what a fact states holds.
func (f fact) inForce() bool {
	return f.status == holdfast.FactActive || f.kind == "rejected_alternative" && f.status == holdfast.FactRejected || f.status == holdfast.FactOpen
}

// content is what a fact states, with its label.
func (f fact) content() string {
	if f.label == "" {
		return f.statement
	}
	return f.label + ": " + f.statement
}

// text is a fact in one harmless line, with its state where it is not in force.
func (f fact) text() string {
	text := line(f.content())
	if !f.inForce() && f.status != holdfast.FactProvisional {
		text += " (" + line(string(f.status)) + ")"
	}
	return text
}

// named is text behind the name of its kind.
func (f fact) named() string { return strings.ReplaceAll(f.kind, "_", " ") + " " + f.text() }

// putFacts writes those of a list that are shown here under a title, each with its
// id, its reason and what it rests on.
func (a *app) putFacts(out *strings.Builder, title string, list []fact, shown func(fact) bool, text func(fact) string) {
	for _, f := range list {
		if !shown(f) {
			continue
		}
		if title != "" {
			out.WriteString("\n" + wrap("", "  ", title, a.width))
			title = ""
		}
		id := "  " + line(f.id) + "  "
		margin := strings.Repeat(" ", ansi.StringWidth(id))
		out.WriteString(wrap(id, margin, text(f), a.width))
		if f.reason != "" {
			out.WriteString(wrap(margin, margin+"  ", "why: "+line(f.reason), a.width))
		}
		if rests := evidenceText(f.evidence); rests != "" {
			out.WriteString(wrap(margin, margin+"  ", rests, a.width))
		}
	}
}

// authorities tell a person on whose word a fact stands.
var authorities = map[holdfast.Authority]string{
	holdfast.ByUser:       "said by the user",
	holdfast.ByAcceptance: "accepted by the user",
	holdfast.ByEdit:       "by an edit",
	holdfast.ByStructured: "answered by the user",
	holdfast.ByAgent:      "recorded by the agent",
	holdfast.ByInferred:   "read between the lines",
}

// evidenceText is what a fact rests on, in one harmless line; "" for nothing.
func evidenceText(e holdfast.Evidence) string {
	text, ok := authorities[e.By]
	if !ok {
		text = line(string(e.By))
	}
	if e.Turn > 0 {
		text += fmt.Sprintf(", turn %d", e.Turn)
	}
	if e.Quote != "" {
		text += ": \"" + line(e.Quote) + "\""
	}
	if e.Proposal != "" {
		text += ", to: \"" + line(e.Proposal) + "\""
	}
	return text
}

// boxes are the marks of a step's state.
var boxes = map[holdfast.StepStatus]string{
	holdfast.StepCompleted:  "[x] ",
	holdfast.StepInProgress: "[>] ",
	holdfast.StepPending:    "[ ] ",
}

func box(s holdfast.StepStatus) string {
	if mark, ok := boxes[s]; ok {
		return mark
	}
	return "[ ] "
}

func (a *app) capsuleText(s store.SessionState, b store.BranchState, c *holdfast.Capsule) string {
	var out strings.Builder
	put := func(first, rest, text string) {
		if text != "" {
			out.WriteString(wrap(first, rest, text, a.width))
		}
	}
	block := func(title, text string) {
		if text == "" {
			return
		}
		put("", "  ", title)
		for row := range strings.Lines(clean(text)) {
			put("  ", "  ", strings.TrimRight(row, "\n"))
		}
	}
	put("", "  ", fmt.Sprintf("revision %d of branch %s, %s", newest(b).N, branchShortener(s)(b.ID), ago(a.now(), newest(b).At)))
	if c.SchemaVersion > holdfast.SchemaVersion {
		put("", "  ", fmt.Sprintf("A newer version wrote this (schema %d); what this one does not know is left out.", c.SchemaVersion))
	}
	if p := c.Plan; p != nil {
		out.WriteString("\n")
		put("", "  ", "Plan: "+planState(p))
		for _, step := range p.Steps {
			put("  "+box(step.Status), "      ", line(step.Text))
		}
		for _, name := range p.Removed {
			put("  removed: ", "    ", line(name))
		}
		block("As the user approved it:", p.Text)
		put("  ", "    ", evidenceText(p.Evidence))
	}
	if p := c.Proposal; p != nil {
		out.WriteString("\n")
		title := "Proposal: " + line(string(p.Status))
		if p.Reason != "" {
			title += ": " + line(p.Reason)
		}
		put("", "  ", title)
		for row := range strings.Lines(clean(p.Text)) {
			put("  ", "  ", strings.TrimRight(row, "\n"))
		}
		for _, step := range p.Steps {
			put("  "+box(step.Status), "      ", line(step.Text))
		}
		put("  ", "    ", evidenceText(p.Evidence))
	}
	list := facts(c)
	for _, kind := range factKinds {
		a.putFacts(&out, kind.title, list, func(f fact) bool { return f.kind == kind.name && f.status != holdfast.FactProvisional }, fact.text)
	}
	if len(c.UserWords) > 0 {
		out.WriteString("\n")
		put("", "  ", "Words of the user:")
		for _, w := range c.UserWords {
			for i, row := range strings.Split(strings.TrimRight(clean(w.Text), "\n"), "\n") {
				put([]string{"  - ", "    "}[min(i, 1)], "    ", row)
			}
		}
	}
	a.putFacts(&out, "Not settled, and shown to no model:", list, func(f fact) bool { return f.status == holdfast.FactProvisional }, fact.named)
	if continuity.Empty(*c) && len(list) == 0 {
		out.WriteString("\nNo plan and no decision.\n")
	}
	return out.String()
}

func planState(p *holdfast.Plan) string {
	text := line(string(p.Status))
	if len(p.Steps) > 0 {
		text += ", " + progress(p)
	}
	return text
}

func progress(p *holdfast.Plan) string {
	done := 0
	for _, s := range p.Steps {
		if s.Status == holdfast.StepCompleted {
			done++
		}
	}
	return fmt.Sprintf("%d of %s done", done, count(len(p.Steps), "step", "steps"))
}

// capsuleSummary is a capsule in one line.
func capsuleSummary(r store.Revision) string {
	c, err := decode(r)
	if err != nil {
		return "the capsule is damaged"
	}
	var parts []string
	if c.Plan != nil {
		parts = append(parts, "plan "+planState(c.Plan))
	}
	if c.Proposal != nil {
		parts = append(parts, "proposal "+line(string(c.Proposal.Status)))
	}
	list := facts(c)
	for _, kind := range factKinds {
		n := 0
		for _, f := range list {
			if f.kind == kind.name && f.status != holdfast.FactProvisional {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, count(n, kind.one, kind.many))
		}
	}
	if n := len(c.UserWords); n > 0 {
		parts = append(parts, count(n, "message of the user", "messages of the user"))
	}
	if len(parts) == 0 {
		return "no plan and no decision"
	}
	return strings.Join(parts, "; ")
}
