package continuity

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
// left, its middle, between words. The sentences around what was cut stay.
func Shorten(text string, max int) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > 600 {
		text = cutBulk(text)
	}
	if len(text) > max {
		tail := strings.ToValidUTF8(text[len(text)-max/4:], "")
		text = bounded(text, max*2/3) + " " + strings.TrimSpace(tail[endOfTorn(tail):])
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
	var fence Fence
	var fenced []string
	for line := range strings.SplitSeq(text, "\n") {
		mark := fence.mark
		if fence.Line(line) {
			switch {
			case fence.In():
				flush(false)
			case len(fenced) > 3:
				out = append(out, fmt.Sprintf("[%d pasted lines left out]", len(fenced)))
			default:
				out = append(append(append(out, mark), fenced...), mark)
			}
			fenced = nil
			continue
		}
		switch {
		case fence.In():
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

// longLine keeps a long line when it reads like prose; a blob becomes a stub.
func longLine(line string) string {
	if spoken(line) {
		return line
	}
	return fmt.Sprintf("[a pasted line of %d characters left out]", len(line))
}

// spoken reports whether a long line is prose and has as many words as that has. Where
// no spaces stand between words each rune counts as one.
func spoken(line string) bool {
	words := len(strings.Fields(line))
	for _, r := range line {
		if unspaced(r) {
			words++
		}
	}
	return words > utf8.RuneCountInString(line)/14 && prose(line)
}

// prose reports whether a line reads like a sentence of a person: at least half
// letters and spaces, and hardly a mark that code is made of.
func prose(line string) bool {
	letters, marks, total := 0, 0, 0
	for _, r := range line {
		total++
		switch {
		case unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsSpace(r):
			letters++
		case strings.ContainsRune(`{}[]()=*+/\<>;_|&%$#@^~`, r):
			marks++
		}
	}
	indented := strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
	return total == 0 || !indented && letters*2 >= total && marks*12 <= total
}

// unspaced reports whether a rune is of a script that sets few spaces or none between
// words.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// stops end a clause in those scripts.
const stops = "。！？，、；："

// lastWord is where the last whole word of a text ends that is cut behind it: at white
// space or, where the text has none in its second half, behind a mark or any rune of a
// script without spaces; 0 where nothing tells.
func lastWord(text string) int {
	half := len(text) / 2
	space := strings.LastIndexAny(text, " \t\n")
	if space >= half {
		return space
	}
	for _, ends := range []func(rune) bool{isStop, unspaced} {
		if i := strings.LastIndexFunc(text, ends); i >= half {
			_, size := utf8.DecodeRuneInString(text[i:])
			return i + size
		}
	}
	return max(space, 0)
}

// endOfTorn is where the first whole word of a text begins that is cut before it, by
// the same marks in its first half.
func endOfTorn(text string) int {
	half := len(text) / 2
	space := strings.IndexAny(text, " \t\n")
	if space >= 0 && space <= half {
		return space
	}
	if i := strings.IndexFunc(text, isStop); i >= 0 && i <= half {
		_, size := utf8.DecodeRuneInString(text[i:])
		return i + size
	}
	if i := strings.IndexFunc(text, unspaced); i >= 0 && i <= half {
		return i
	}
	return max(space, 0)
}

func isStop(r rune) bool { return strings.ContainsRune(stops, r) }

// addWords appends a message of the user. The same words again change nothing. known
// is kept from call to call: looking at all that is there for each message is dear.
func addWords(c *holdfast.Capsule, text string, known ranked) {
	if text == "" || slices.ContainsFunc(c.UserWords, func(w holdfast.UserWord) bool { return w.Text == text }) {
		return
	}
	turn := 1
	if n := len(c.UserWords); n > 0 {
		turn = c.UserWords[n-1].Turn + 1
	}
	c.UserWords = append(c.UserWords, holdfast.UserWord{Turn: turn, Text: text})
	for size(c.UserWords) > maxWordsBytes {
		i := leastNeeded(c.UserWords, known)
		c.UserWords = slices.Delete(c.UserWords, i, i+1)
	}
}

func size(ws []holdfast.UserWord) (n int) {
	for _, w := range ws {
		n += len(w.Text)
	}
	return n
}
