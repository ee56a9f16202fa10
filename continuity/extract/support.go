package extract

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// word is a word of a clause, in lower case.
type word struct {
	text string
	// not counts the negators of its part of the clause and refused its verbs that
	// say no; reason tells that it stands in a clause that says why.
	not, refused int
	reason       bool
}

// denied reports whether the clause says no.
func (w word) denied() bool { return (w.not > 0) != (w.refused > 0) }

// likewise reports whether the clauses of two words are negated in the same way.
func (w word) likewise(o word) bool { return w.not == o.not && w.refused == o.refused }

// wordsOf reads a text as words that know what their clause makes of them.
func wordsOf(text string) []word {
	var all []word
	for _, clause := range clausesOf(text) {
		all = append(all, clause...)
	}
	return all
}

// clausesOf cuts a text at marks and at words that oppose or explain. Names,
// numbers, paths and versions stay whole.
func clausesOf(text string) (clauses [][]word) {
	var now []word
	reason, against := false, false
	until := map[string]bool(nil)
	end := func() {
		not, refused := 0, 0
		for i := range now {
			n, r := negationOf(now, i)
			not, refused = not+n, refused+r
		}
		if against {
			refused++
		}
		for i := range now {
			now[i].not, now[i].refused, now[i].reason = not, refused, reason
		}
		if len(now) > 0 {
			clauses = append(clauses, now)
		}
		now = nil
	}
	tokens := tokensOf(text)
	for i, t := range tokens {
		if isMark(t) {
			end()
			reason, against, until = false, false, nil
			continue
		}
		pair := t
		if i+1 < len(tokens) {
			pair = t + " " + tokens[i+1]
		}
		switch {
		case reasons[t]:
			end()
			reason, against, until = true, false, nil
		case contrasts[t]:
			end()
			reason, against, until = false, false, nil
		case opposed[pair] != nil:
			end()
			against, until = true, opposed[pair]
		case opposed[t] != nil:
			end()
			against, until = true, opposed[t]
		case until[t]:
			end()
			against, until = false, nil
		}
		now = append(now, word{text: t})
	}
	end()
	return clauses
}

// negationOf counts what the i-th word adds to the negation of its clause.
func negationOf(words []word, i int) (not, refused int) {
	t := words[i].text
	next := ""
	if i+1 < len(words) {
		next = words[i+1].text
	}
	switch {
	case t == "too" && next == "", t == "leave" && next != "out", t == "weg" && next != "":
	case negators[t], t == "zu" && excessive[next]:
		not = 1
	case refusing[t]:
		refused = 1
	case unspaced(t):
		for _, mark := range negatorsUnspaced {
			not += strings.Count(t+" ", mark)
		}
	}
	return not, refused
}

func isMark(token string) bool {
	return strings.ContainsAny(token, ",;:.!?()\n、，。；：！？—–…") && utf8.RuneCountInString(token) == 1
}

// tokensOf cuts a text into words and marks, in lower case. A word is a run of
// letters and digits with what joins them in names, paths, versions and numbers.
func tokensOf(text string) (tokens []string) {
	rs := []rune(strings.ToLower(apostrophes.Replace(text)))
	for i := 0; i < len(rs); {
		r := rs[i]
		switch {
		case isWordRune(r) || isSign(rs, i):
			j := i + 1
			for j < len(rs) && (isWordRune(rs[j]) && unspacedRune(rs[j]) == unspacedRune(rs[j-1]) || joins(rs, j)) {
				j++
			}
			if k := slices.Index(rs[i:j], '\''); k == 1 && k < j-i-1 {
				tokens = append(tokens, string(rs[i:i+2])) // l'idée, n'utilise
				i += 2
			}
			tokens = append(tokens, string(rs[i:j]))
			i = j
			continue
		case unicode.IsSpace(r) && r != '\n':
		case strings.ContainsRune("`\"'*#[]{}«»„“”‚‘", r):
		default:
			tokens = append(tokens, string(r))
		}
		i++
	}
	return tokens
}

// apostrophes are what stands for one in texts that are typed, pasted or corrected.
var apostrophes = strings.NewReplacer("’", "'", "‘", "'", "ʼ", "'", "´", "'", "＇", "'")

func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_'
}

// isSign reports whether a minus or plus at i belongs to the number behind it.
func isSign(rs []rune, i int) bool {
	return (rs[i] == '-' || rs[i] == '+') && i+1 < len(rs) && unicode.IsDigit(rs[i+1]) && (i == 0 || unicode.IsSpace(rs[i-1]))
}

// joins reports whether the mark at j stands inside of a word.
func joins(rs []rune, j int) bool {
	if j+1 >= len(rs) || j == 0 || !isWordRune(rs[j-1]) || !isWordRune(rs[j+1]) || unspacedRune(rs[j-1]) || unspacedRune(rs[j+1]) {
		return false
	}
	if rs[j] == ',' {
		return unicode.IsDigit(rs[j-1]) && unicode.IsDigit(rs[j+1])
	}
	return strings.ContainsRune("./:@-+=_'%~\\", rs[j])
}

// unspacedRune reports whether a script sets no spaces between words.
func unspacedRune(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) || r == 'ー'
}

func unspaced(token string) bool {
	r, _ := utf8.DecodeRuneInString(token)
	return unspacedRune(r)
}

// hasWord reports whether a text has anything to find.
func hasWord(text string) bool { return strings.ContainsFunc(text, isWordRune) }

// splitsWord reports whether a cut at byte i goes through a word.
func splitsWord(text string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	after, _ := utf8.DecodeRuneInString(text[i:])
	return i > 0 && i < len(text) && isWordRune(before) && isWordRune(after) && !unspacedRune(before) && !unspacedRune(after)
}

// known reports whether the lists of words cover the language of a text, so that
// its negations can be counted on.
func known(words []word) bool {
	n, of := 0, 0
	for _, w := range words {
		switch {
		case unspaced(w.text):
			return unspacedKnown(words)
		case strings.ContainsFunc(w.text, unicode.IsLetter) && strings.IndexFunc(w.text, unicode.IsDigit) < 0 && !strings.ContainsAny(w.text, "./_:@="):
			of++
			if common[w.text] || negators[w.text] || refusing[w.text] || limits[w.text] || reasons[w.text] {
				n++
			}
		}
	}
	return n > 0 && n*6 >= of
}

// unspacedKnown reports whether such a text is Chinese, Japanese or Korean.
func unspacedKnown(words []word) bool {
	return !slices.ContainsFunc(words, func(w word) bool {
		return strings.ContainsFunc(w.text, func(r rune) bool { return unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) })
	})
}

// alike reports whether a statement's word is a word of the quote, but for its
// inflection. Names with marks or digits are never inflected.
func alike(stated, said string) bool {
	if stated == said {
		return true
	}
	if unspaced(said) && unspaced(stated) {
		return strings.Contains(said, stated)
	}
	if strings.ContainsFunc(stated+said, func(r rune) bool { return !unicode.IsLetter(r) }) {
		return false
	}
	short, long := stated, said
	if len(short) > len(long) {
		short, long = long, short
	}
	rest, ok := strings.CutPrefix(long, short)
	return ok && len(short) >= 3 && inflections[rest]
}

var inflections = set("s es ed d ing n en e er t te")

// supported reports whether a statement says nothing that the quote does not: its
// words stand there in the same order, each in a clause of the same negation, those
// of a choice not in a clause that says why; and no condition or exception of the quote
// is left out. A quote in a language that is not known supports only itself.
func supported(statement, quote string, rationale bool) bool {
	said, stated := wordsOf(quote), wordsOf(statement)
	if len(stated) == 0 {
		return false
	}
	if !known(said) && len(content(stated)) != len(content(said)) {
		return false
	}
	at := 0
	for _, w := range stated {
		found := false
		for k := at; k < len(said) && !found; k++ {
			if alike(w.text, said[k].text) && w.likewise(said[k]) && (rationale || w.reason == said[k].reason) {
				at, found = k+1, true
				if unspaced(said[k].text) && w.text != said[k].text {
					at = k // more of the same run may follow
				}
			}
		}
		if !found && !glue[w.text] && !(rationale && reasons[w.text]) {
			return false
		}
	}
	for _, w := range said {
		if limits[w.text] && !slices.ContainsFunc(stated, func(s word) bool { return s.text == w.text }) {
			return false
		}
	}
	for _, mark := range limitsUnspaced {
		has := func(w word) bool { return unspaced(w.text) && strings.Contains(w.text, mark) }
		if slices.ContainsFunc(said, has) && !slices.ContainsFunc(stated, has) {
			return false
		}
	}
	return !excepts(said[at:]) && (!hasPair(said, excepting) || hasPair(stated, excepting))
}

// excepts reports whether words behind a statement take something out of it: but not,
// not for, or a never alone.
func excepts(rest []word) bool {
	for i, w := range rest {
		last, alone := i+1 == len(rest), i == 0 || rest[i-1].not == 0
		if contrasts[w.text] && w.not > 0 || negators[w.text] && (last && alone || !last && prepositions[rest[i+1].text]) {
			return true
		}
	}
	return false
}

// hasPair reports whether two words in a row are one of some pairs.
func hasPair(words []word, pairs map[string]bool) bool {
	for i := 1; i < len(words); i++ {
		if pairs[words[i-1].text+" "+words[i].text] {
			return true
		}
	}
	return false
}

// rejects reports whether the quote says no to what a statement names: its words
// stand there in the same order, in clauses that say no. A statement that says no
// itself must be supported as it is.
func rejects(statement, quote string) bool {
	if negates(statement) {
		return supported(statement, quote, false)
	}
	said := wordsOf(quote)
	if !known(said) {
		return false
	}
	at := 0
	for _, w := range wordsOf(statement) {
		i := slices.IndexFunc(said[at:], func(s word) bool { return alike(w.text, s.text) && s.denied() })
		switch {
		case i >= 0:
			at += i + 1
		case !glue[w.text]:
			return false
		}
	}
	return at > 0
}

// content are the words that carry the meaning.
func content(words []word) (some []word) {
	for _, w := range words {
		if !glue[w.text] {
			some = append(some, w)
		}
	}
	return some
}

// negates reports whether any clause of a text says no.
func negates(text string) bool {
	return slices.ContainsFunc(wordsOf(text), word.denied)
}

// asks reports whether a text does nothing but ask.
func asks(text string) bool {
	for _, s := range speak(text).sentencesText() {
		if !strings.HasSuffix(s, "?") && !strings.HasSuffix(s, "？") {
			return false
		}
	}
	return true
}

// inLines is the text with each sentence in a line of its own.
func (s spoken) inLines() string { return strings.Join(s.sentencesText(), "\n") }

func (s spoken) sentencesText() []string {
	out := make([]string, len(s.sentences))
	for i, x := range s.sentences {
		out[i] = s.text[x.from:x.to]
	}
	return out
}
