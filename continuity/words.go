package continuity

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/holdfast-dev/holdfast"
)

// Bounds of the user's words in a capsule, in bytes.
const (
	maxWordBytes  = 2 << 10  // of one message, after bulk was cut
	maxWordsBytes = 16 << 10 // of all
)

// Words makes of a user's message what is kept of it: the message itself, with
// pasted bulk (code, logs, long blobs) cut to a stub that tells its size. ""
// when nothing is left that would be worth keeping.
func Words(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > 600 {
		text = cutBulk(text)
	}
	if len(text) > maxWordBytes {
		head, tail := bounded(text, maxWordBytes*2/3), text[len(text)-maxWordBytes/4:]
		if i := strings.IndexAny(tail, " \n\t"); i >= 0 {
			tail = tail[i:]
		}
		text = head + " " + strings.TrimSpace(strings.ToValidUTF8(tail, ""))
	}
	return text
}

// cutBulk replaces fenced code of more than three lines, lines that no person
// types in one go, and long runs of lines that are not prose.
func cutBulk(text string) string {
	var out []string
	var bulk []string
	flush := func(always bool) {
		if always || len(bulk) > 8 {
			if n := len(bulk); n > 0 {
				out = append(out, fmt.Sprintf("[%d pasted lines left out]", n))
			}
		} else {
			out = append(out, bulk...)
		}
		bulk = nil
	}
	fence, fenced := false, []string{}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			if fence = !fence; !fence {
				if len(fenced) > 3 {
					out = append(out, fmt.Sprintf("[%d pasted lines left out]", len(fenced)))
				} else {
					out = append(append(append(out, "```"), fenced...), "```")
				}
			} else {
				flush(false)
			}
			fenced = nil
			continue
		}
		switch {
		case fence:
			fenced = append(fenced, line)
		case len(line) > 700:
			flush(false)
			out = append(out, longLine(line))
		case prose(line):
			flush(false)
			out = append(out, line)
		default:
			bulk = append(bulk, line)
		}
	}
	if len(fenced) > 0 {
		out = append(out, fmt.Sprintf("[%d pasted lines left out]", len(fenced)))
	}
	flush(false)
	return strings.TrimSpace(strings.Join(out, "\n"))
}

// longLine keeps the sentences of a long line when it is prose; a blob becomes
// a stub.
func longLine(line string) string {
	if words := strings.Fields(line); len(words) > len(line)/14 && prose(line) {
		return line
	}
	return fmt.Sprintf("[a pasted line of %d characters left out]", len(line))
}

// prose reports whether a line reads like a sentence of a person: at least half
// letters and spaces, and hardly a mark that code is made of.
func prose(line string) bool {
	letters, marks, total := 0, 0, 0
	for _, r := range line {
		total++
		switch {
		case unicode.IsLetter(r) || unicode.IsSpace(r):
			letters++
		case strings.ContainsRune(`{}[]()=*+/\<>;_|&%$#@^~`, r):
			marks++
		}
	}
	indented := strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
	return total == 0 || !indented && letters*2 >= total && marks*12 <= total
}

// addWords appends a message of the user. The same words again change nothing.
func addWords(c *holdfast.Capsule, text string) {
	if text == "" || slices.ContainsFunc(c.UserWords, func(w holdfast.UserWord) bool { return w.Text == text }) {
		return
	}
	turn := 1
	if n := len(c.UserWords); n > 0 {
		turn = c.UserWords[n-1].Turn + 1
	}
	c.UserWords = append(c.UserWords, holdfast.UserWord{Turn: turn, Text: text})
	for size(c.UserWords) > maxWordsBytes {
		i := leastNeeded(c.UserWords)
		c.UserWords = slices.Delete(c.UserWords, i, i+1)
	}
}

func size(ws []holdfast.UserWord) (n int) {
	for _, w := range ws {
		n += len(w.Text)
	}
	return n
}

// leastNeeded is the message that goes first: the oldest without anything
// specific, else the oldest, never the first message and never the newest.
func leastNeeded(ws []holdfast.UserWord) int {
	for i := 1; i < len(ws)-1; i++ {
		if !specific(ws[i].Text) {
			return i
		}
	}
	return min(1, len(ws)-1)
}

// exact finds what a later turn may need to the letter: numbers, paths, quoted
// names, identifiers, versions.
var exact = regexp.MustCompile("[0-9]|[/\\\\~][\\w.-]+|`[^`]+`|\"[^\"]+\"|\\b\\w+[._]\\w+\\b|\\b[a-z]+[A-Z]\\w*\\b|\\b[A-Z]{2,}\\b|--?[a-z]")

// choice finds words by which people choose, forbid and prefer.
var choice = regexp.MustCompile(`(?i)\b(use|not|don't|never|always|must|instead|prefer|rather|only|without|keep|avoid|decided?|choose|because|should|nicht|kein|keine|statt|immer|nie|nur|lieber|behalte|bitte)\b`)

// specific reports whether a message holds a name, a number, a path or a choice.
func specific(text string) bool {
	return exact.MatchString(text) || choice.MatchString(text)
}

// chooseWords picks what fits into max tokens: the first message, the newest,
// then those with something specific, newest first, then the others. The order
// of the result is that of the session; left is how many do not fit.
func chooseWords(ws []holdfast.UserWord, max int, estimate func(string) int) (kept []holdfast.UserWord, left int) {
	if len(ws) == 0 {
		return nil, 0
	}
	order := []int{0, len(ws) - 1}
	for _, want := range []bool{true, false} {
		for i := len(ws) - 2; i > 0; i-- {
			if specific(ws[i].Text) == want {
				order = append(order, i)
			}
		}
	}
	take := map[int]bool{}
	used := 0
	for _, i := range order {
		if take[i] {
			continue
		}
		n := estimate(ws[i].Text) + 4
		if used+n <= max {
			take[i] = true
			used += n
		}
	}
	for i, w := range ws {
		if take[i] {
			kept = append(kept, w)
		}
	}
	return kept, len(ws) - len(kept)
}
