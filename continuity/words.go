package continuity

import (
	"fmt"
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
func Words(text string) string { return Shorten(text, maxWordBytes) }

// Shorten cuts pasted bulk out of a long text and, when more than max bytes are
// left, its middle, at white space. The sentences around what was cut stay.
func Shorten(text string, max int) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > 600 {
		text = cutBulk(text)
	}
	if len(text) > max {
		head, tail := bounded(text, max*2/3), text[len(text)-max/4:]
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
	repeats := shapes(text)
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
		case prose(line) && repeats[shape(line)] < repeated:
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

// repeated is how often lines of one shape stand in what is pasted: a log, a
// table, a listing. Nobody types the same sentence so often in one message.
const repeated = 6

// shapes counts the lines of a text by their shape.
func shapes(text string) map[string]int {
	count := map[string]int{}
	for line := range strings.SplitSeq(text, "\n") {
		if s := shape(line); s != "" {
			count[s]++
		}
	}
	return count
}

// shape is a line without what changes from row to row: its numbers.
func shape(line string) string {
	var b strings.Builder
	digits := false
	for _, r := range strings.TrimSpace(line) {
		if digit := unicode.IsDigit(r); !digit || !digits {
			if digits = digit; digit {
				r = '0'
			}
			b.WriteRune(r)
		}
	}
	return b.String()
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
