package extract

import (
	"slices"
	"strings"
	"unicode"
)

// told leaves of sentences what is said and not asked, each in a line of its own; ""
// when they do nothing but ask.
func told(sentences []string) string {
	return strings.Join(slices.DeleteFunc(sentences, inquires), "\n")
}

// inquires reports whether a sentence is a question, with a mark or without: by the
// order of its words, the word that it begins with, or its last syllables. It takes
// what may be a question for one, since what is only asked is decided by nobody.
func inquires(sentence string) bool {
	if marked(sentence) {
		return true
	}
	tokens := tokensOf(sentence)
	words := slices.DeleteFunc(slices.Clone(tokens), func(t string) bool { return !hasWord(t) })
	for len(words) > 1 && openers[words[0]] {
		words = words[1:]
	}
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	at := func(i int) string { return words[min(i, len(words)-1)] }
	switch {
	case words[0] == "comment" && determiners[at(1)], strings.HasPrefix(words[0], "quel") && at(1) == "que":
		return false // an order in English, and whatever it may be in French
	case inquiring[words[0]], inquiring[words[0]+" "+at(1)], inverted(words[0], at(1)), interrogatives[words[0]] && verbs[at(1)]:
		return true
	case which[words[0]] && !subjects[at(1)] && (wishes[at(2)] || at(2) == "do"), askingLast[last] && !beforeMe[words[max(0, len(words)-2)]], slices.Contains(words, "ли"), slices.ContainsFunc(words[:min(3, len(words))], inversion):
		return true
	}
	after := follows[words[0]] || conditions[words[0]] && strings.HasSuffix(sentence, ".")
	for i := 1; i < len(tokens); i++ {
		next := tokens[min(i+1, len(tokens)-1)]
		if after && tokens[i-1] == "," && second[tokens[i]] {
			continue
		}
		if isMark(tokens[i-1]) && wishes[tokens[i]] && persons[next] || tokens[i-1] == "," && tags[tokens[i]] && tokens[i] == last && !hasWord(strings.Join(tokens[i+1:], "")) {
			return true
		}
	}
	for i, w := range words {
		if unspaced(w) && inquiresUnspaced(w, i == len(words)-1) {
			return true
		}
	}
	return false
}

// marked reports whether a question mark ends a sentence, be it before other marks. One
// in parentheses belongs to an aside.
func marked(sentence string) bool {
	marks := sentence[len(strings.TrimRightFunc(sentence, func(r rune) bool { return !isWordRune(r) })):]
	greek := strings.ContainsFunc(sentence, func(r rune) bool { return unicode.Is(unicode.Greek, r) })
	return strings.ContainsAny(marks, "?？؟⸮") && !strings.Contains(marks, "?)") || strings.HasPrefix(sentence, "¿") || greek && strings.ContainsAny(marks, ";\u037e")
}

// inverted reports whether two words are a verb and its subject, in the order of a
// question. What may as well be an order, such as "do it", is none.
func inverted(verb, subject string) bool {
	return wishes[verb] && subjects[subject] || verbs[verb] && (persons[subject] || subjects[subject] && !orderly[verb])
}

// inversion reports whether a French word is a verb with its subject behind it.
func inversion(word string) bool {
	verb, subject, ok := strings.Cut(word, "-")
	return ok && (inverting[subject] || subject == "nous" && strings.HasSuffix(verb, "ons"))
}

// inquiresUnspaced reports whether a run of a script without spaces asks: by a verb
// said with its contrary, or a particle at the end.
func inquiresUnspaced(run string, last bool) bool {
	rs := []rune(run)
	whether := slices.ContainsFunc(whetherUnspaced, func(s string) bool { return strings.Contains(run, s) })
	for i := 2; i < len(rs) && !whether; i++ {
		if rs[i] == rs[i-2] && strings.ContainsRune("不没沒", rs[i-1]) && rs[i] != rs[i-1] {
			return true
		}
	}
	if slices.ContainsFunc(askingUnspaced, func(s string) bool { return strings.Contains(run, s) }) {
		return true
	}
	if !last || !unspaced(run) {
		return false
	}
	for _, because := range []string{"니까", "니까요"} {
		if before, ok := strings.CutSuffix(run, because); ok {
			return slices.ContainsFunc([]string{"습", "입", "합", "됩", "십"}, func(s string) bool { return strings.HasSuffix(before, s) })
		}
	}
	return slices.ContainsFunc(askingEnds, func(s string) bool { return strings.HasSuffix(run, s) })
}
