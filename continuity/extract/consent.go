package extract

import (
	"slices"
	"strings"
	"unicode"
)

// accepts reports whether words of the person, or the message that they stand in, begin
// with a yes, and nothing in the message asks, doubts, puts off, refuses, or wants
// another thing first. In doubt it says no: then a plan still waits for its answer.
func accepts(words string, message spoken) bool {
	return (assents(words) || assents(message.inLines())) && !refuses(words) && !refuses(message.text) && !withholds(message)
}

// assents reports whether the first clause of a text that is more than chatter is a yes.
func assents(text string) bool {
	for _, clause := range clausesOf(text) {
		if assent(clause) {
			return true
		}
		if slices.ContainsFunc(clause, func(w word) bool { return !chatter[w.text] && !besideYes[w.text] }) {
			return false
		}
	}
	return false
}

// assent reports whether a clause is a yes: it begins with a consent, or it is made of
// approvals and of words that may stand beside them.
func assent(clause []word) bool {
	if consent(clause, 0) > 0 {
		return true
	}
	if clause[0].denied() {
		return false
	}
	yes := wholes[clause[0].text]
	steps := slices.ContainsFunc(clause, func(w word) bool { return stepNouns[w.text] }) && slices.ContainsFunc(clause, numbered)
	for i := 0; i < len(clause); i++ {
		if n := consent(clause, i); n > 0 {
			if yes {
				return true
			}
			i, yes = i+n-1, true
			continue
		}
		approves, beside := fits(clause[i].text)
		if !approves && !beside && !(steps && stepNouns[clause[i].text]) {
			return false
		}
		yes = yes || approves
	}
	return yes || steps
}

// longest is the number of words of the longest phrase.
const longest = 4

// consent counts the words of the consent that a clause has at i; 0 for none.
func consent(clause []word, i int) int {
	for n := min(longest, len(clause)-i); n > 0; n-- {
		if consents[phrase(clause[i:i+n])] {
			return n
		}
	}
	for _, mark := range consentsUnspaced {
		if t := clause[i].text; t == mark || strings.HasPrefix(t, mark) && unicode.Is(unicode.Han, []rune(mark)[0]) {
			return 1
		}
	}
	return 0
}

// fits reports whether a word says yes, or may stand beside one that does.
func fits(t string) (approves, beside bool) {
	if !unspaced(t) {
		return approvals[t], besideYes[t] || !strings.ContainsFunc(t, func(r rune) bool { return !unicode.IsDigit(r) && r != '-' && r != '–' })
	}
	for t != "" {
		n, yes := 0, false
		for _, mark := range slices.Concat(consentsUnspaced, approvalsUnspaced) {
			if strings.HasPrefix(t, mark) && len(mark) > n {
				n, yes = len(mark), true
			}
		}
		for _, mark := range besideUnspaced {
			if strings.HasPrefix(t, mark) && len(mark) > n {
				n, yes = len(mark), false
			}
		}
		if n == 0 {
			return false, false
		}
		t, approves = t[n:], approves || yes
	}
	return approves, true
}

// withholds reports whether anything in a message is against taking it for a yes, also
// when a line is read that may be the next sentence or the rest of one.
func withholds(message spoken) bool {
	if all := wordsOf(message.inLines()); slices.ContainsFunc(all, func(w word) bool { return lone[w.text] }) && slices.ContainsFunc(all, unread) {
		return true
	}
	for _, s := range slices.Concat(message.sentencesText(), message.lines) {
		if inquires(s) {
			return true
		}
		yes := assents(s)
		for _, clause := range clausesOf(s) {
			if yes && slices.ContainsFunc(clause, func(w word) bool { return tentative[w.text] }) {
				return true
			}
			for _, part := range parts(clause) {
				if holds(part) {
					return true
				}
			}
		}
	}
	return false
}

// unread reports whether a word is none of those that say yes or may stand beside one.
func unread(w word) bool {
	approves, beside := fits(w.text)
	return hasWord(w.text) && !approves && !beside && !lone[w.text] && !chatter[w.text] && !consents[w.text] && !stepNouns[w.text]
}

// parts cuts a clause where one order follows another.
func parts(clause []word) (all [][]word) {
	from := 0
	for i, w := range clause {
		if linking[w.text] {
			all = append(all, clause[from:i])
			from = i + 1
		}
	}
	return slices.DeleteFunc(append(all, clause[from:]), func(p []word) bool { return len(p) == 0 })
}

// linking are words between two orders.
var linking = set("and und et y e en и ve then dann")

// holds reports whether a part of a clause is against a yes: it says something of the
// plan itself behind a but, has the work wait, doubts, or says no to the whole.
func holds(part []word) bool {
	switch {
	case consent(part, 0) == len(part):
		return false
	case len(part) > 1 && contrasts[part[0].text] && itself[part[1].text], begins(part), excess(part):
		return true
	case !part[0].denied() && slices.ContainsFunc(part, func(w word) bool { return doubting[w.text] }):
		return true
	}
	plain, no := true, part[0].denied() // it has nothing of its own, and says no
	for _, w := range part {
		approves, beside := fits(w.text)
		if unspaced(w.text) && !approves && slices.ContainsFunc(holdingUnspaced, func(s string) bool { return strings.Contains(w.text, s) }) {
			return true
		}
		small := negators[w.text] || refusing[w.text] || refusals[w.text] || contrasts[w.text] || openers[w.text] || consents[w.text] || passing[w.text] || dismissing[w.text] || wholes[w.text]
		plain, no = plain && !numbered(w) && (approves || beside || small), no || refusals[w.text] || dismissing[w.text] && w.not == 0
	}
	return plain && no
}

// begins reports whether a part of a clause begins with what has the work wait, behind
// words that lead to it or say yes.
func begins(part []word) bool {
	if len(part) == 1 && part[0].text == "over" { // start over
		return true
	}
	for len(part) > 0 && !questioned[part[0].text] {
		if phrase(part[:min(3, len(part))]) == "let me know" {
			return false
		}
		for n := min(longest, len(part)); n > 0; n-- {
			if holding[phrase(part[:n])] {
				return true
			}
		}
		t := part[0].text
		switch n := consent(part, 0); {
		case n > 0:
			part = part[n:]
		case openers[t], contrasts[t], approvals[t], chatter[t], refusals[t]:
			part = part[1:]
		default:
			return false
		}
	}
	return len(part) > 0
}

// excess reports whether a clause complains that something is too much.
func excess(clause []word) bool {
	for i, w := range clause[:len(clause)-1] {
		if w.text == "zu" && excessive[clause[i+1].text] || excesses[w.text] {
			return true
		}
	}
	return false
}

// excesses are words of other languages than German that say so.
var excesses = set("too trop demasiado troppo demais слишком zbyt")

// numbered reports whether a word is a number or a range of them.
func numbered(w word) bool {
	return strings.ContainsFunc(w.text, unicode.IsDigit) && !strings.ContainsFunc(w.text, unicode.IsLetter)
}

func phrase(words []word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
	}
	return strings.Join(texts, " ")
}
