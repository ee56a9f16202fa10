package continuity

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// covers reports whether texts hold all that a sentence says: each of its words that
// has a meaning of its own, and as many words that say no.
func covers(texts, sentence string) bool {
	held, no := termsOf(texts), 0
	for _, t := range held {
		if denies(t) {
			no++
		}
		held = append(held, strings.FieldsFunc(t, func(r rune) bool { return !isWord(r) })...) // of storage.engine
	}
	for _, t := range termsOf(sentence) {
		switch {
		case denies(t):
			if no--; no < 0 {
				return false
			}
		case !idle[t] && !slices.ContainsFunc(held, func(h string) bool { return inflects(h, t) }):
			return false
		}
	}
	return true
}

// exceeds reports whether a sentence says no more often than texts, or has a number that
// they do not have.
func exceeds(texts, sentence string) bool {
	held, no := termsOf(texts), 0
	for _, t := range termsOf(sentence) {
		switch {
		case denies(t):
			no++
		case strings.ContainsFunc(t, unicode.IsDigit) && !slices.Contains(held, t):
			return true
		}
	}
	for _, t := range held {
		if denies(t) {
			no--
		}
	}
	return no > 0
}

// termsOf cuts a text into words in lower case; names, paths, versions and numbers stay
// whole.
func termsOf(text string) (terms []string) {
	text = strings.ToLower(straight(text))
	for _, t := range strings.FieldsFunc(text, func(r rune) bool {
		return !isWord(r) && !unicode.IsMark(r) && !strings.ContainsRune("_./:@-+='%~\\", r)
	}) {
		if t = strings.Trim(t, "./:-='"); t != "" {
			terms = append(terms, t)
		}
	}
	return terms
}

// inflects reports whether two words are one, but for an ending of up to two letters.
func inflects(a, b string) bool {
	if a == b {
		return true
	}
	short, long := a, b
	if len(short) > len(long) {
		short, long = long, short
	}
	return utf8.RuneCountInString(short) >= 4 && len(long)-len(short) <= 2 && strings.HasPrefix(long, short) &&
		!strings.ContainsFunc(long, func(r rune) bool { return !unicode.IsLetter(r) })
}

// denies reports whether a word says no.
func denies(term string) bool { return denying[term] || strings.HasSuffix(term, "n't") }

func lookup(words string) map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(words) {
		all[w] = true
	}
	return all
}

// denying are words that say no. idle are those that a fact leaves out and nothing is
// lost: articles, pronouns, forms of to be, what says yes, politeness, and verbs of
// choice, which a decision is one of. In other languages than English and German every
// word counts, so that their sentences stay.
var (
	denying = lookup("not no never none neither nor without nicht kein keine keinen keinem keiner keines nie niemals ohne weder")
	idle    = lookup("a an the this that these those it its is are be was i i'd i'll we we'll you our my your us me there here of in on for with to at by as and so then just let let's please thanks thank will would shall should " +
		"yes yep yeah ok okay sure good great fine perfect go ahead do because since use uses using take want choose decide decided prefer pick " +
		"der die das den dem des ein eine einen einem einer es ist sind wird ich wir du uns mir unser unsere und im am zu zur zum von auf für mit als also dann bitte danke " +
		"ja gut prima genau passt weil nimm nehmen nutze nutzen verwende verwenden soll sollen will wollen")
)
