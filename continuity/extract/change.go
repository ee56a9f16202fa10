package extract

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast"
)

// entry is a fact of a capsule, as words may speak of it.
type entry struct {
	statement, subject string
	rejected           bool // it is what the person does not want
	question           bool
}

// entryOf finds a fact by its id.
func entryOf(c holdfast.Capsule, id string) (entry, bool) {
	for _, x := range c.Decisions {
		if x.ID == id {
			return entry{statement: x.Statement, subject: x.Subject}, true
		}
	}
	for _, x := range c.Constraints {
		if x.ID == id {
			return entry{statement: x.Statement}, true
		}
	}
	for _, x := range c.RejectedAlternatives {
		if x.ID == id {
			return entry{statement: x.Statement, rejected: true}, true
		}
	}
	for _, x := range c.OpenQuestions {
		if x.ID == id {
			return entry{statement: x.Statement, question: true}, true
		}
	}
	for _, x := range c.Facts {
		if x.ID == id {
			return entry{statement: x.Statement}, true
		}
	}
	return entry{}, false
}

// withdrawnBy reports whether words take a fact back: they dismiss it or say the contrary,
// and are more about it than about anything else. Words that only mention it, or say it
// again, do not.
func (e entry) withdrawnBy(words string) bool {
	if e.dismissedBy(words) {
		return true
	}
	repeats := supported
	if e.rejected {
		repeats = func(statement, words string, _ bool) bool { return rejects(statement, words) }
	}
	return !repeats(e.statement, words, false) && e.reversedBy(words)
}

// supersededBy reports whether words that choose something choose it in the place of a
// fact. They do when they take it back, when they speak of it with a sign of change, and
// when they have most of its words or its whole subject, and more than a single word.
func (e entry) supersededBy(words string) bool {
	if e.dismissedBy(words) || e.reversedBy(words) {
		return true
	}
	for _, s := range speak(words).sentencesText() {
		if signals(s, changing, changingUnspaced) && e.fills(wordsOf(s), 0) {
			return true
		}
	}
	said, statement, subject := terms(wordsOf(words)), terms(wordsOf(e.statement)), e.ofSubject()
	n, m := shared(statement, said), shared(subject, said)
	return n > 1 && 2*n > len(statement) || m > 1 && m == len(subject)
}

// dismissedBy reports whether a clause gives a fact up by a word for that. A fact that
// says no is given up as a rule: to forget cgo is not to forget the rule about it.
func (e entry) dismissedBy(words string) bool {
	return slices.ContainsFunc(clausesOf(words), func(clause []word) bool {
		if !slices.ContainsFunc(clause, func(w word) bool { return dismissing[w.text] }) || clause[0].not > 0 {
			return false
		}
		if e.saysNo() && !slices.ContainsFunc(clause, func(w word) bool { return rules[w.text] }) {
			return false
		}
		return e.fills(clause, 1)
	})
}

// reversedBy reports whether a sentence is about a fact and ends it or says the contrary.
// A fact that says no is ended as a rule: not to push any more is no end of the rule
// against it.
func (e entry) reversedBy(words string) bool {
	for _, s := range speak(words).sentencesText() {
		all := wordsOf(s)
		if e.limitedBy(all) {
			continue
		}
		whole := e.fills(all, 1)
		if whole && signals(s, ending, endingUnspaced) && (!e.saysNo() || ofRules(all)) {
			return true
		}
		moves := signals(s, changing, changingUnspaced)
		for _, clause := range clausesOf(s) {
			if e.contrary(clause, moves) && (whole || e.fills(clause, 1)) {
				return true
			}
		}
	}
	return false
}

// limitedBy reports whether words say no to more, or to less, than a number of the fact:
// that says it again.
func (e entry) limitedBy(words []word) bool {
	if !slices.ContainsFunc(words, func(w word) bool { return w.not > 0 }) {
		return false
	}
	for i, w := range words {
		if numbered(w) && shared([]string{w.text}, e.terms()) > 0 && slices.ContainsFunc(words[max(0, i-2):i], func(x word) bool { return comparing[x.text] }) {
			return true
		}
	}
	return false
}

// ofRules reports whether words speak of a rule.
func ofRules(words []word) bool {
	return slices.ContainsFunc(words, func(w word) bool {
		return rules[w.text] || ruling[w.text] || unspaced(w.text) && slices.ContainsFunc(rulesUnspaced, func(s string) bool { return strings.Contains(w.text, s) })
	})
}

// contrary reports whether a clause speaks of a fact in the other polarity. That something
// is taken from there is no contrary without a sign of change, nor is it that the fact's
// thing has no other, or that nobody may touch what the fact keeps.
func (e entry) contrary(clause []word, moves bool) bool {
	if from := clause[0].text; (from == "from" || from == "von") && !moves {
		return false
	}
	if clause[0].denied() == e.saysNo() || shared(terms(clause), e.terms()) == 0 {
		return false
	}
	if clause[0].not > 0 && keeps(wordsOf(e.statement)) && !keeps(clause) {
		return false
	}
	return clause[0].not != 1 || clause[0].refused > 0 || !e.lacks(clause)
}

// keeps reports whether words have something kept.
func keeps(words []word) bool {
	return slices.ContainsFunc(words, func(w word) bool { return keeping[w.text] })
}

// lacks reports whether a clause says no to a thing that is none of the fact's.
func (e entry) lacks(clause []word) bool {
	i := slices.IndexFunc(clause, func(w word) bool { return lacking[w.text] })
	if i < 0 {
		return false
	}
	next := terms(clause[i+1:])
	return len(next) > 0 && shared(next[:1], e.terms()) == 0
}

// fills reports whether the terms of a fact are half of those of some words, and more
// than that by some.
func (e entry) fills(words []word, more int) bool {
	said := terms(words)
	n := shared(said, e.terms())
	return n > 0 && 2*n >= len(said)+more
}

// saysNo reports whether a fact is a no.
func (e entry) saysNo() bool {
	words := wordsOf(e.statement)
	i := slices.IndexFunc(words, func(w word) bool { return len(terms([]word{w})) > 0 })
	return i >= 0 && words[i].denied() || e.rejected && !negates(e.statement)
}

// terms are those of the statement and of the subject.
func (e entry) terms() []string {
	return append(terms(wordsOf(e.statement)), e.ofSubject()...)
}

// ofSubject are the terms of a subject, which is a name such as queue.engine.
func (e entry) ofSubject() []string {
	return terms(wordsOf(strings.Map(func(r rune) rune {
		if isWordRune(r) && r != '_' {
			return r
		}
		return ' '
	}, e.subject)))
}

// terms are the words that name what words are about.
func terms(words []word) (all []string) {
	for _, w := range words {
		if unspaced(w.text) {
			all = append(all, strings.Fields(lightUnspaced.Replace(w.text))...)
			continue
		}
		small := glue[w.text] || common[w.text] || negators[w.text] || refusing[w.text] || reasons[w.text] || contrasts[w.text] || asideOf[w.text] || rules[w.text] || ruling[w.text] || dismissing[w.text]
		if !small && utf8.RuneCountInString(w.text) > 1 {
			all = append(all, w.text)
		}
	}
	return all
}

// shared counts the terms that are among others.
func shared(some, others []string) (n int) {
	for _, a := range some {
		if slices.ContainsFunc(others, func(b string) bool { return akin(a, b) }) {
			n++
		}
	}
	return n
}

// akin reports whether two terms are one word in some form.
func akin(a, b string) bool {
	short, long := a, b
	if len(short) > len(long) {
		short, long = long, short
	}
	switch {
	case alike(a, b):
		return true
	case unspaced(a) && unspaced(b):
		return strings.Contains(long, short)
	case strings.ContainsFunc(a+b, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' }):
		return false
	}
	return len(short) >= 4 && len(long)-len(short) <= 3 && strings.HasPrefix(long, short)
}

// signals reports whether a sentence has one of some phrases, or a run without spaces
// one of some marks.
func signals(sentence string, phrases map[string]bool, marks []string) bool {
	words := wordsOf(sentence)
	for i, w := range words {
		if unspaced(w.text) && slices.ContainsFunc(marks, func(s string) bool { return strings.Contains(w.text, s) }) {
			return true
		}
		for n := min(longest, len(words)-i); n > 0; n-- {
			if phrases[phrase(words[i:i+n])] {
				return true
			}
		}
	}
	return false
}
