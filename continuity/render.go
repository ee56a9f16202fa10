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
// holds nothing else. Only what is in force is written; what is provisional never
// is. A sentence of the user that a written fact rests on is not repeated among
// the user's words, and later words that may put a decision out of force stand beside
// it. Facts get at most a quarter of the block.
//
// When it does not fit, parts go in this order: the text around an approved
// plan's steps, finished steps (they become a count), removed steps, the user's
// words, reasons, the text of a proposal that takes more than a quarter, the oldest
// facts of the lowest authority, the text of any other proposal, the oldest decisions,
// constraints, rejected alternatives and questions of the lowest authority but four,
// the last open steps but one, what the user said of the proposal, then the rest of
// both. Each goes whole. What went is named in one line.
func Render(c holdfast.Capsule, keep Preserve, budget Budget, estimate func(string) int) (b holdfast.Block, ok bool) {
	d := newDraft(c, keep)
	d.boundFacts(budget.Tokens/4, estimate)
	d.large = estimate(d.offer()) > budget.Tokens/4
	if keep.UserWords {
		d.said = unstated(c, keep)
		if keep.UserDecisions {
			d.contradict(c)
		}
		d.budget, d.estimate = budget.Words, estimate
		d.pickWords()
	}
	if d.empty() {
		return b, false
	}
	text := d.write(c)
	for estimate(text) > budget.Tokens && d.drop() {
		text = d.write(c)
	}
	return holdfast.Block{Text: text, Digest: c.Digest}, true
}

// Blank is a block that says that nothing is recorded: it takes the place of an older
// one, which would be in force else.
func Blank(c holdfast.Capsule) holdfast.Block {
	c = Seal(c)
	return holdfast.Block{
		Text: fmt.Sprintf("%s revision=\"%d\">\n%s\n\nNothing is recorded now.\n\nrecord revision %[2]d, digest %[4]s\n%[5]s",
			holdfast.BlockOpen, c.Revision, preamble, c.Digest, holdfast.BlockClose),
		Digest: c.Digest,
	}
}

// draft is what of a capsule is still in the block.
type draft struct {
	plan     *holdfast.Plan
	steps    []numbered
	approved string
	finished int // completed steps that are left out and counted
	removed  []string
	proposal *holdfast.Proposal
	large    bool // its text is
	items    []item
	omitted  []string
	left     int           // open steps left out
	lost     [sections]int // items left out

	said     []holdfast.UserWord // what words are chosen from
	words    []holdfast.UserWord
	unsaid   int // messages of the user left out
	budget   int // tokens for words
	estimate func(string) int
}

// pickWords chooses the user's words anew for the budget of the moment.
func (d *draft) pickWords() {
	d.words, d.unsaid = nil, 0
	if d.budget > 0 && len(d.said) > 0 {
		d.words, d.unsaid = chooseWords(d.said, d.budget, d.estimate)
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
	d.items = itemsOf(c, keep)
	return d
}

func (d *draft) empty() bool {
	return d.plan == nil && d.proposal == nil && len(d.items) == 0 && len(d.words) == 0
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
func (d *draft) drop() bool {
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
		d.pickWords()
		if d.budget == 0 {
			d.unsaid = len(d.said)
		}
	case slices.ContainsFunc(d.items, func(x item) bool { return x.reason != "" }):
		for i := range d.items {
			d.items[i].reason = ""
		}
		d.omitted = append(d.omitted, "the reasons")
	case d.offer() != "" && (d.large || !slices.ContainsFunc(d.items, isFact)):
		p := *d.proposal
		p.Text, p.Steps = "", nil
		d.proposal = &p
		d.omitted = append(d.omitted, "the text of the proposed plan")
	case d.offer() != "":
		d.dropItem(isFact)
	case len(d.items) > 4:
		d.dropItem(func(item) bool { return true })
	case len(d.steps) > 1:
		d.dropStep()
	case d.proposal != nil && d.proposal.Reason != "":
		p := *d.proposal
		p.Reason = ""
		d.proposal = &p
		d.omitted = append(d.omitted, "what the user said of the plan")
	case len(d.items) > 0:
		d.dropItem(func(item) bool { return true })
	case len(d.steps) > 0:
		d.dropStep()
	default:
		return false
	}
	return true
}

// dropStep takes the last step out.
func (d *draft) dropStep() {
	d.steps = d.steps[:len(d.steps)-1]
	d.left++
}

// offer is the text of the proposal, as it is quoted; "" for none.
func (d *draft) offer() string {
	switch p := d.proposal; {
	case p == nil:
		return ""
	case p.Text != "":
		return quoted(p.Text)
	case len(p.Steps) > 0:
		return quoted(stepList(p.Steps))
	}
	return ""
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
		if offer := d.offer(); offer != "" {
			fmt.Fprintf(&b, "%s\n", offer)
		}
	}
	d.writeItems(&b)
	if len(d.words) > 0 {
		b.WriteString("\n## Words of the user, oldest first (as typed; later words override earlier ones; nothing here is to be done again)\n")
		for _, w := range d.words {
			fmt.Fprintf(&b, "- %s\n", strings.ReplaceAll(typed(w.Text), "\n", "\n  "))
		}
	}
	d.note(&b)
	fmt.Fprintf(&b, "\nrecord revision %d, digest %s\n%s", c.Revision, c.Digest, holdfast.BlockClose)
	return b.String()
}

// note names what was left out, and how a person gets it.
func (d *draft) note(b *strings.Builder) {
	left := slices.Clone(d.omitted)
	for s, n := range d.lost {
		if n > 0 {
			left = append(left, fmt.Sprintf("%d %s", n, names[s]))
		}
	}
	if d.unsaid > 0 {
		left = append(left, fmt.Sprintf("%d messages of the user", d.unsaid))
	}
	if len(left) > 0 {
		fmt.Fprintf(b, "\nLeft out for size: %s. The user can see them with `holdfast capsule show`.\n", strings.Join(left, ", "))
	}
}

// stepList writes steps as a numbered list.
func stepList(steps []holdfast.Step) string {
	lines := make([]string, len(steps))
	for i, s := range steps {
		lines[i] = fmt.Sprintf("%d. %s", i+1, Normal(s.Text))
	}
	return strings.Join(lines, "\n")
}

// inline makes a text one line of the block.
func inline(s string) string {
	return neutralise(Normal(s))
}

// quoted makes a text that the model wrote a quotation, line by line: no line of
// it can pass for one of the record's own headings or items.
func quoted(s string) string {
	return "> " + strings.ReplaceAll(neutralise(lines.Replace(s)), "\n", "\n> ")
}

// lines makes every end of a line a line feed.
var lines = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// headingLine finds lines that read like a heading of the record, also behind the mark
// of a list or a quotation.
var headingLine = regexp.MustCompile(`(?m)^([ \t>*+-]*)(##)`)

// typed makes of the user's words what can stand in the block: what was pasted among
// them is no heading of the record.
func typed(s string) string {
	return headingLine.ReplaceAllString(neutralise(lines.Replace(s)), `$1\$2`)
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
