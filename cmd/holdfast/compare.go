package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// entry is one line of a capsule, for comparing two.
type entry struct {
	// Kind is plan, plan_text, step, removed, proposal, proposal_text,
	// proposal_step, user_words, or that of a fact.
	Kind string `json:"kind"`
	// Ref tells the same thing in two revisions; "" for lines of text.
	Ref    string `json:"ref,omitempty"`
	Text   string `json:"text,omitempty"`
	Status string `json:"status,omitempty"`
	// Reason and Evidence are those of a fact. How often it was said has no part in
	// it.
	Reason   string            `json:"reason,omitempty"`
	Evidence holdfast.Evidence `json:"evidence,omitzero"`
}

// change is one difference: an entry that came, went, or became another.
type change struct {
	Before *entry `json:"before,omitempty"`
	After  *entry `json:"after,omitempty"`
}

// entries lists a capsule line by line.
func entries(c *holdfast.Capsule) (list []entry) {
	lines := func(kind, text string) {
		for row := range strings.Lines(text) {
			list = append(list, entry{Kind: kind, Text: strings.TrimRight(row, "\n")})
		}
	}
	if p := c.Plan; p != nil {
		list = append(list, entry{Kind: "plan", Ref: "plan", Status: string(p.Status)})
		for _, s := range p.Steps {
			list = append(list, entry{Kind: "step", Ref: cmp.Or(s.Ref, s.Text), Text: s.Text, Status: string(s.Status)})
		}
		for _, name := range p.Removed {
			list = append(list, entry{Kind: "removed", Text: name})
		}
		lines("plan_text", p.Text)
	}
	if p := c.Proposal; p != nil {
		list = append(list, entry{Kind: "proposal", Ref: "proposal", Status: string(p.Status), Text: p.Reason})
		lines("proposal_text", p.Text)
		for _, s := range p.Steps {
			list = append(list, entry{Kind: "proposal_step", Text: s.Text, Status: string(s.Status)})
		}
	}
	for _, f := range facts(c) {
		f.evidence.Last = 0
		list = append(list, entry{Kind: f.kind, Ref: f.id, Text: f.content(), Status: string(f.status), Reason: f.reason, Evidence: f.evidence})
	}
	for _, w := range c.UserWords {
		list = append(list, entry{Kind: "user_words", Ref: strconv.Itoa(w.Turn), Text: w.Text})
	}
	return list
}

// text is an entry in one harmless line.
func (e entry) text() string {
	text := line(e.Text)
	switch e.Kind {
	case "plan":
		return "plan " + line(e.Status)
	case "step", "proposal_step":
		return box(holdfast.StepStatus(e.Status)) + text
	case "removed":
		return "removed step: " + text
	case "proposal":
		if text != "" {
			return "proposal " + line(e.Status) + ": " + text
		}
		return "proposal " + line(e.Status)
	case "user_words":
		return "the user: " + text
	}
	if f, ok := e.fact(); ok {
		text = f.named()
		if f.status == holdfast.FactProvisional {
			text += " (provisional)"
		}
		return text
	}
	return "| " + text
}

// full is text with the id, the reason and what it rests on.
func (e entry) full() string {
	text := e.text()
	if _, ok := e.fact(); !ok {
		return text
	}
	text = line(e.Ref) + " " + text
	if e.Reason != "" {
		text += "; why: " + line(e.Reason)
	}
	if rests := evidenceText(e.Evidence); rests != "" {
		text += "; " + rests
	}
	return text
}

// fact is the fact of an entry, if it is of one.
func (e entry) fact() (f fact, ok bool) {
	for _, kind := range factKinds {
		if kind.name == e.Kind {
			return fact{kind: e.Kind, statement: e.Text, status: holdfast.FactStatus(e.Status)}, true
		}
	}
	return fact{}, false
}

// key is what an entry keeps while it changes.
func (e entry) key() string { return e.Kind + "\x00" + cmp.Or(e.Ref, e.Text) }

// compare lists what changed from one capsule to another, in the order in which
// it stands there. An entry that moved is paired with itself, where it was.
func compare(from, to *holdfast.Capsule) []change {
	list := []change{}
	gone := map[string][]int{} // where in list an entry of a key was removed
	for _, c := range align(entries(from), entries(to)) {
		switch {
		case c.Before == nil || c.After == nil:
			if c.After == nil {
				gone[c.Before.key()] = append(gone[c.Before.key()], len(list))
			}
			list = append(list, c)
		case *c.Before != *c.After:
			list = append(list, c)
		}
	}
	for i, c := range list {
		if c.Before != nil {
			continue
		}
		if at := gone[c.After.key()]; len(at) > 0 {
			list[at[0]].After, list[i].After = c.After, nil
			gone[c.After.key()] = at[1:]
		}
	}
	return slices.DeleteFunc(list, func(c change) bool { return c == change{} })
}

// align pairs the entries of a and b by the longest common subsequence of their
// keys; what has no partner stands alone. Capsules are bounded, and so is the
// table.
func align(a, b []entry) (pairs []change) {
	longest := make([][]int, len(a)+1)
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	keysOfA, keysOfB := keysOf(a), keysOf(b)
	same := func(i, j int) bool { return keysOfA[i] == keysOfB[j] }
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if same(i, j) {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && same(i, j):
			pairs = append(pairs, change{&a[i], &b[j]})
			i++
			j++
		case j == len(b) || i < len(a) && longest[i+1][j] >= longest[i][j+1]:
			pairs = append(pairs, change{Before: &a[i]})
			i++
		default:
			pairs = append(pairs, change{After: &b[j]})
			j++
		}
	}
	return pairs
}

func keysOf(list []entry) []string {
	keys := make([]string, len(list))
	for i, e := range list {
		keys[i] = e.key()
	}
	return keys
}

// summarise tells changes in one line.
func summarise(changes []change) string {
	var parts []string
	added, dropped, moved, rewritten := 0, 0, 0, false
	for _, c := range changes {
		e := c.After
		if e == nil {
			e = c.Before
		}
		text := line(e.Text)
		_, isFact := e.fact()
		switch {
		case c.Before != nil && c.After != nil && *c.Before == *c.After:
			if e.Kind == "step" {
				moved++
			}
		case e.Kind == "plan" && c.After == nil:
			parts = append(parts, "plan dropped")
		case e.Kind == "plan":
			parts = append(parts, "plan "+line(e.Status))
		case e.Kind == "step" && c.Before == nil:
			added++
		case e.Kind == "step" && c.After == nil:
			dropped++
		case e.Kind == "step" && c.Before.Status == c.After.Status:
			parts = append(parts, "step reworded: "+text)
		case e.Kind == "step":
			parts = append(parts, strings.ReplaceAll(line(e.Status), "_", " ")+": "+text)
		case e.Kind == "proposal" && c.After == nil:
			parts = append(parts, "proposal dropped")
		case e.Kind == "proposal":
			parts = append(parts, e.text())
		case isFact && c.After == nil:
			parts = append(parts, strings.ReplaceAll(e.Kind, "_", " ")+" dropped: "+text)
		case isFact:
			parts = append(parts, e.text())
		default:
			rewritten = true
		}
	}
	for _, n := range []struct {
		count int
		what  string
	}{{added, "added"}, {dropped, "removed"}, {moved, "moved"}} {
		if n.count > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", count(n.count, "step", "steps"), n.what))
		}
	}
	if len(parts) == 0 && rewritten {
		parts = append(parts, "text changed")
	}
	if len(parts) == 0 {
		return "order changed"
	}
	return strings.Join(parts, "; ")
}
