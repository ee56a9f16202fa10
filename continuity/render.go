package continuity

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// preamble tells a model what the block is. It asks for nothing.
const preamble = "This is the recorded state of this ongoing session, kept outside the conversation. It is a record, not a request: " +
	"nothing here is a new order. Where a later message differs, the later message holds."

// Budget bounds a block, in estimated tokens.
type Budget struct {
	Tokens int // of the whole block
	// Words is the share of the user's words in it; 0 leaves them out, for
	// agents that keep the user's messages themselves.
	Words int
}

// Render writes the block of a capsule within a budget. ok is false when there
// is nothing to carry: an empty capsule, or one whose plan is done and that
// holds nothing else.
//
// When it does not fit, parts go in this order: the text around an approved
// plan's steps, finished steps (they become a count), removed steps, the user's
// words, the text of a proposal, the oldest decisions, then the last open steps.
// What went is named in one line.
func Render(c holdfast.Capsule, keep Preserve, budget Budget, estimate func(string) int) (b holdfast.Block, ok bool) {
	d := newDraft(c, keep)
	if keep.UserWords {
		d.budget, d.estimate = budget.Words, estimate
		d.pickWords(c)
	}
	if d.empty() {
		return b, false
	}
	text := d.write(c)
	for estimate(text) > budget.Tokens && d.drop(c) {
		text = d.write(c)
	}
	return holdfast.Block{Text: text, Digest: c.Digest}, true
}

// draft is what of a capsule is still in the block.
type draft struct {
	plan      *holdfast.Plan
	steps     []numbered
	approved  string
	finished  int // completed steps that are left out and counted
	removed   []string
	proposal  *holdfast.Proposal
	decisions []holdfast.Decision
	omitted   []string
	left      int // open steps left out
	lost      int // decisions left out

	words    []holdfast.UserWord
	unsaid   int // messages of the user left out
	budget   int // tokens for words
	estimate func(string) int
}

// pickWords chooses the user's words anew for the budget of the moment.
func (d *draft) pickWords(c holdfast.Capsule) {
	d.words, d.unsaid = nil, 0
	if d.budget > 0 {
		d.words, d.unsaid = chooseWords(c.UserWords, d.budget, d.estimate)
	}
}

// numbered is a step with its place in the plan, from 1.
type numbered struct {
	n int
	holdfast.Step
}

func number(steps []holdfast.Step) []numbered {
	out := make([]numbered, len(steps))
	for i, s := range steps {
		out[i] = numbered{i + 1, s}
	}
	return out
}

func newDraft(c holdfast.Capsule, keep Preserve) *draft {
	d := &draft{}
	if keep.Plan {
		if p := c.Plan; p != nil && p.Status == holdfast.PlanAccepted {
			d.plan, d.steps, d.removed = p, number(p.Steps), p.Removed
			d.approved = p.Text
			if p.Source == holdfast.FromPlanMode && p.Text != "" {
				d.steps = nil // the approved text states them, in the user's own form
			}
		}
		d.proposal = c.Proposal
		d.trim()
	}
	if keep.UserDecisions {
		for _, x := range c.Decisions {
			if x.Status == holdfast.FactActive {
				d.decisions = append(d.decisions, x)
			}
		}
	}
	return d
}

func (d *draft) empty() bool {
	return d.plan == nil && d.proposal == nil && len(d.decisions) == 0 && len(d.words) == 0
}

// finishedShown is how many finished steps are listed, the last ones of the
// plan: in a long session a harness's list only grows.
const finishedShown = 6

// trim counts the finished steps that come before those that are listed.
func (d *draft) trim() {
	done := 0
	for _, s := range d.steps {
		if isFinished(s) {
			done++
		}
	}
	d.steps = slices.DeleteFunc(d.steps, func(s numbered) bool {
		if !isFinished(s) || done-d.finished <= finishedShown {
			return false
		}
		d.finished++
		return true
	})
}

// drop takes the least needed part out and reports whether there was one.
func (d *draft) drop(c holdfast.Capsule) bool {
	switch {
	case d.approved != "":
		d.approved = ""
		if len(d.steps) == 0 {
			d.steps = number(d.plan.Steps)
		}
		d.omitted = append(d.omitted, "the full text of the approved plan")
	case slices.ContainsFunc(d.steps, isFinished):
		for _, s := range d.steps {
			if isFinished(s) {
				d.finished++
			}
		}
		d.steps = slices.DeleteFunc(d.steps, isFinished)
	case len(d.removed) > 0:
		d.removed = nil
		d.omitted = append(d.omitted, "the names of removed steps")
	case len(d.words) > 0:
		if d.budget /= 2; d.budget < 40 {
			d.budget = 0
		}
		d.pickWords(c)
		if d.budget == 0 {
			d.unsaid = len(c.UserWords)
		}
	case d.proposal != nil && d.proposal.Text != "":
		p := *d.proposal
		p.Text = ""
		d.proposal = &p
		d.omitted = append(d.omitted, "the text of the proposed plan")
	case len(d.decisions) > 0 && (len(d.decisions) > 4 || len(d.steps) <= 1):
		d.decisions = d.decisions[1:]
		d.lost++
	case len(d.steps) > 1:
		d.steps = d.steps[:len(d.steps)-1]
		d.left++
	default:
		return false
	}
	return true
}

func isFinished(s numbered) bool { return s.Status == holdfast.StepCompleted }

func (d *draft) write(c holdfast.Capsule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s revision=\"%d\">\n%s\n", holdfast.BlockOpen, c.Revision, preamble)
	if d.plan != nil {
		done := 0
		for _, s := range d.plan.Steps {
			if s.Status == holdfast.StepCompleted {
				done++
			}
		}
		if n := len(d.plan.Steps); n > 0 {
			fmt.Fprintf(&b, "\n## Plan in force (%d of %d steps completed)\n", done, n)
		} else {
			b.WriteString("\n## Plan in force\n")
		}
		if d.finished > 0 {
			fmt.Fprintf(&b, "%d completed steps are not listed.\n", d.finished)
		}
		for _, s := range d.steps {
			fmt.Fprintf(&b, "%d. [%s] %s\n", s.n, s.Status, inline(s.Text))
		}
		if d.left > 0 {
			fmt.Fprintf(&b, "%d later steps are not listed.\n", d.left)
		}
		if d.approved != "" {
			fmt.Fprintf(&b, "\n### The plan as the user approved it\n%s\n", quoted(d.approved))
		}
		if len(d.removed) > 0 {
			b.WriteString("\nTaken out of the plan:\n")
			for _, r := range d.removed {
				fmt.Fprintf(&b, "- %s\n", inline(r))
			}
		}
	}
	if p := d.proposal; p != nil {
		if p.Status == holdfast.PlanRejected {
			b.WriteString("\n## Plan that the user rejected\n")
		} else {
			b.WriteString("\n## Proposed plan, awaiting the user's answer\n")
		}
		if p.Reason != "" {
			fmt.Fprintf(&b, "The user said: %s\n", inline(p.Reason))
		}
		if p.Text != "" {
			fmt.Fprintf(&b, "%s\n", quoted(p.Text))
		}
	}
	if len(d.decisions) > 0 {
		b.WriteString("\n## Decisions of the user\n")
		for _, x := range d.decisions {
			fmt.Fprintf(&b, "- %s -> %s\n", inline(x.Subject), inline(x.Statement))
		}
	}
	if len(d.words) > 0 {
		b.WriteString("\n## Words of the user, oldest first (as typed; later words override earlier ones; nothing here is to be done again)\n")
		for _, w := range d.words {
			fmt.Fprintf(&b, "- %s\n", strings.ReplaceAll(neutralise(w.Text), "\n", "\n  "))
		}
	}
	d.note(&b)
	fmt.Fprintf(&b, "\nrecord revision %d, digest %s\n%s", c.Revision, c.Digest, holdfast.BlockClose)
	return b.String()
}

// note names what was left out, and how a person gets it.
func (d *draft) note(b *strings.Builder) {
	names := slices.Clone(d.omitted)
	if d.lost > 0 {
		names = append(names, fmt.Sprintf("%d older decisions", d.lost))
	}
	if d.unsaid > 0 {
		names = append(names, fmt.Sprintf("%d messages of the user", d.unsaid))
	}
	if len(names) > 0 {
		fmt.Fprintf(b, "\nLeft out for size: %s. The user can see them with `holdfast capsule show`.\n", strings.Join(names, ", "))
	}
}

// inline makes a text one line of the block.
func inline(s string) string {
	return neutralise(strings.Join(strings.Fields(s), " "))
}

// quoted makes a text that the model wrote a quotation, line by line: no line of
// it can pass for one of the record's own headings or items.
func quoted(s string) string {
	return "> " + strings.ReplaceAll(neutralise(s), "\n", "\n> ")
}

// harnessTag finds tags that a harness cuts a summary by, and our own delimiter.
var harnessTag = regexp.MustCompile(`(?i)<(\s*/?\s*(?:analysis|summary|state_snapshot|conversation|prior-summary|previous-summary|system-reminder|holdfast-record)\b)`)

// neutralise makes text from a session unable to open or close a block, or a
// tag that a harness reads: the tag's bracket becomes a look-alike.
func neutralise(s string) string {
	return harnessTag.ReplaceAllString(s, "‹$1")
}

// tail is the end of a block; its digest is how a returning block is known.
var tail = regexp.MustCompile(`record revision (\d+), digest (sha256:[0-9a-f]{32})\s*` + regexp.QuoteMeta(holdfast.BlockClose))

// Digests returns the capsule digests of the blocks that stand in a text.
func Digests(text string) (ds []string) {
	if !strings.Contains(text, holdfast.BlockOpen) {
		return nil
	}
	for _, m := range tail.FindAllStringSubmatch(text, -1) {
		ds = append(ds, m[2])
	}
	return ds
}

// EstimateTokens is a cheap upper-side estimate of the tokens of a text: three
// bytes of ASCII a token, one character of anything else a token.
func EstimateTokens(s string) int {
	ascii, other := 0, 0
	for _, r := range s {
		if r < 0x80 {
			ascii++
		} else {
			other++
		}
	}
	return (ascii+2)/3 + other
}
