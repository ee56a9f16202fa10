package continuity

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast"
)

// section is a list of facts in the block, in the order in which they stand.
type section int

const (
	decisions section = iota
	constraints
	alternatives
	questions
	facts
	sections
)

// headings stand over the sections, and names tell what of one was left out.
var (
	headings = [sections]string{
		"## Decisions of the user", "## Constraints", "## Alternatives that the user rejected", "## Open questions", "## Facts",
	}
	names = [sections]string{"older decisions", "constraints", "rejected alternatives", "open questions", "facts"}
)

// item is a fact in the block: one line.
type item struct {
	section section
	text    string
	reason  string // "" for none, or when reasons were left out
	later   string // what the user said since that may put it out of force
	weight  int    // of the authority that it stands on
	age     int    // the turn that said it; what is of unknown age counts as new
}

func (i item) line() string {
	line := "- " + inline(i.text)
	if i.reason != "" {
		line += " (reason: " + inline(i.reason) + ")"
	}
	if i.later != "" {
		line += " (said later: " + inline(i.later) + ")"
	}
	return line + "\n"
}

// weight tells authorities apart when something has to go: what is not the
// user's own word goes first.
func weight(by holdfast.Authority) int {
	switch by {
	case holdfast.ByInferred:
		return 0
	case holdfast.ByAgent:
		return 1
	}
	return ownWord
}

// ownWord is the weight of the user's own word.
const ownWord = 2

// itemsOf lists the facts in force that are preserved. Provisional ones are
// never among them: in a block they would read as settled.
func itemsOf(c holdfast.Capsule, keep Preserve) (all []item) {
	add := func(s section, text, reason string, e holdfast.Evidence) {
		age := e.Turn
		if age == 0 {
			age = math.MaxInt
		}
		if !keep.Rationale {
			reason = ""
		}
		all = append(all, item{section: s, text: text, reason: reason, weight: weight(e.By), age: age})
	}
	for _, x := range c.Decisions {
		if keep.UserDecisions && x.Status == holdfast.FactActive {
			add(decisions, x.Subject+" -> "+x.Statement, x.Rationale, x.Evidence)
		}
	}
	for _, x := range c.Constraints {
		if keep.Constraints && x.Status == holdfast.FactActive {
			add(constraints, x.Statement, "", x.Evidence)
		}
	}
	for _, x := range c.RejectedAlternatives {
		if keep.RejectedAlternatives && x.Status == holdfast.FactRejected {
			add(alternatives, x.Statement, x.Reason, x.Evidence)
		}
	}
	for _, x := range c.OpenQuestions {
		if keep.OpenQuestions && x.Status == holdfast.FactOpen {
			text := x.Statement
			if x.Kind == holdfast.Blocker {
				text = "blocker: " + text
			}
			add(questions, text, "", x.Evidence)
		}
	}
	for _, x := range c.Facts {
		if keep.Facts && x.Status == holdfast.FactActive {
			add(facts, strings.ReplaceAll(string(x.Kind), "_", " ")+": "+x.Statement, "", x.Evidence)
		}
	}
	return all
}

// weakest is the item that goes first among those that may: the oldest of the
// lowest authority, of two as old the one in the later section.
func weakest(items []item, may func(item) bool) int {
	worst := -1
	for i, x := range items {
		if !may(x) {
			continue
		}
		if worst < 0 || cmp.Or(x.weight-items[worst].weight, cmp.Compare(x.age, items[worst].age), int(items[worst].section-x.section)) < 0 {
			worst = i
		}
	}
	return worst
}

// dropItem takes out the weakest item of those that may go, and counts it.
func (d *draft) dropItem(may func(item) bool) {
	i := weakest(d.items, may)
	d.lost[d.items[i].section]++
	d.items = slices.Delete(d.items, i, i+1)
}

// boundFacts keeps the section of facts within a share of the block: they are
// no general memory.
func (d *draft) boundFacts(share int, estimate func(string) int) {
	size := 0
	for _, x := range d.items {
		if x.section == facts {
			size += estimate(x.line())
		}
	}
	for size > share {
		size -= estimate(d.items[weakest(d.items, isFact)].line())
		d.dropItem(isFact)
	}
}

func isFact(x item) bool { return x.section == facts }

// writeItems writes the sections that hold something.
func (d *draft) writeItems(b *strings.Builder) {
	at := sections
	for _, x := range d.items {
		if x.section != at {
			at = x.section
			fmt.Fprintf(b, "\n%s\n", headings[at])
		}
		b.WriteString(x.line())
	}
}

// contradict puts beside each decision the newest words of the user that may put it out
// of force, and takes them out of the others: where what reads prose has missed them, no
// decision stands without them.
func (d *draft) contradict(c holdfast.Capsule) {
	beside := map[string]bool{}
	var inForce []holdfast.Decision // as in d.items, where they come first
	for _, x := range c.Decisions {
		if x.Status == holdfast.FactActive {
			inForce = append(inForce, x)
		}
	}
	if len(inForce) == 0 {
		return
	}
	type turning struct {
		turn int
		text string
	}
	var turns []turning
	for _, w := range d.said {
		for _, s := range sentencesOf(w.Text) {
			if s.rank == firm && opposing.MatchString(straight(s.text)) {
				turns = append(turns, turning{w.Turn, strings.TrimSpace(s.text)})
			}
		}
	}
	for n, x := range inForce {
		if x.Evidence.Turn == 0 || weight(x.Evidence.By) < ownWord {
			continue // nobody knows what is later, or who chose
		}
		since := saidBehind(c.UserWords, x.Evidence)
		for _, s := range turns {
			if s.turn > since && concerns(s.text, x, inForce) {
				d.items[n].later = s.text
			}
		}
		beside[Normal(d.items[n].later)] = true
	}
	d.said = withoutSentences(d.said, beside)
}

// saidBehind is the turn of the words in which something was said. Messages that repeat
// others are not among the words, so that their turns may lag behind those of facts.
func saidBehind(words []holdfast.UserWord, e holdfast.Evidence) int {
	for _, w := range slices.Backward(words) {
		if e.Quote != "" && strings.Contains(Normal(w.Text), Normal(e.Quote)) {
			return w.Turn
		}
	}
	return e.Turn
}

// concerns reports whether a sentence speaks of a decision: of its subject, or of what
// it chose where no other's subject is named.
func concerns(sentence string, x holdfast.Decision, all []holdfast.Decision) bool {
	return mentions(sentence, x.Subject) || mentions(sentence, x.Statement) &&
		!slices.ContainsFunc(all, func(other holdfast.Decision) bool { return mentions(sentence, other.Subject) })
}

// mentions reports whether a text has a phrase of some length as whole words.
func mentions(text, phrase string) bool {
	text, phrase = strings.ToLower(text), strings.ToLower(phrase)
	if utf8.RuneCountInString(phrase) < 4 {
		return false
	}
	for from := 0; ; {
		at := strings.Index(text[from:], phrase)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(phrase):])
		if !isWord(before) && !isWord(after) {
			return true
		}
		from = at + len(phrase)
	}
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// unstated is what is left of the user's words when the sentences are taken out that
// preserved facts hold whole: those facts stand for them. The words of facts that are
// out of force are out of force too, but for a no or a value that none of them holds.
func unstated(c holdfast.Capsule, keep Preserve) []holdfast.UserWord {
	type citing struct {
		texts string // what the facts that rest on a sentence say of it
		holds bool   // one of them is in force
	}
	cited := map[string]citing{}
	add := func(kept, holds bool, status holdfast.FactStatus, e holdfast.Evidence, texts ...string) {
		if !kept || status == holdfast.FactProvisional || weight(e.By) < ownWord {
			return
		}
		for _, s := range sentencesOf(e.Quote) {
			was := cited[Normal(s.text)]
			cited[Normal(s.text)] = citing{was.texts + " " + strings.Join(texts, " "), was.holds || holds}
		}
	}
	reason := func(text string) string {
		if !keep.Rationale {
			return ""
		}
		return text
	}
	for _, x := range c.Decisions {
		add(keep.UserDecisions, x.Status == holdfast.FactActive, x.Status, x.Evidence, x.Subject, x.Statement, reason(x.Rationale))
	}
	for _, x := range c.Constraints {
		add(keep.Constraints, x.Status == holdfast.FactActive, x.Status, x.Evidence, x.Statement)
	}
	for _, x := range c.RejectedAlternatives {
		// Its heading says no.
		add(keep.RejectedAlternatives, x.Status == holdfast.FactRejected, x.Status, x.Evidence, "not", x.Statement, reason(x.Reason))
	}
	for _, x := range c.OpenQuestions {
		add(keep.OpenQuestions, x.Status == holdfast.FactOpen, x.Status, x.Evidence, x.Statement)
	}
	for _, x := range c.Facts {
		add(keep.Facts, x.Status == holdfast.FactActive, x.Status, x.Evidence, x.Statement)
	}
	stated := map[string]bool{}
	for sentence, by := range cited {
		stated[sentence] = covers(by.texts, sentence) || !by.holds && !exceeds(by.texts, sentence)
	}
	return withoutSentences(c.UserWords, stated)
}

// withoutSentences takes sentences out of what the user said, by their normal form.
func withoutSentences(words []holdfast.UserWord, stated map[string]bool) []holdfast.UserWord {
	if len(stated) == 0 {
		return words
	}
	var left []holdfast.UserWord
	for _, w := range words {
		var b strings.Builder
		for _, s := range sentencesOf(w.Text) {
			switch {
			case s.quoted || !stated[Normal(s.text)]:
				b.WriteString(s.text)
			case strings.HasSuffix(s.text, "\n"):
				b.WriteString("\n") // what is quoted begins a line
			}
		}
		if w.Text = strings.TrimSpace(b.String()); w.Text != "" {
			left = append(left, w)
		}
	}
	return left
}

// Normal is the normal form in which texts are compared: every run of white
// space is one space, and none is left at the ends.
func Normal(text string) string { return strings.Join(strings.Fields(text), " ") }
