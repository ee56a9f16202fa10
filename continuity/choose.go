package continuity

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast"
)

// rank says how much a later turn may need a sentence of the user; the lowest
// is needed most.
type rank int

const (
	firm  rank = iota // an exact value, or a choice
	named             // a file or a name
	asked             // asked, or quoted: no word on how it shall be
	loose             // nothing that could be told apart
	ranks
)

// valueIn finds what has to be kept to the letter: numbers, code, quoted names,
// options, constants.
var valueIn = regexp.MustCompile("[0-9]|`[^`]+`|\"[^\"]+\"|\\b[A-Z]{2,}[A-Z_]*\\b|(?:^|\\s)--?[a-z]")

// pathIn finds files and directories, whose digits are no value of their own.
var pathIn = regexp.MustCompile(`\S*\w[/\\]\w\S*\.\w+|\S*\w[/\\]\w+[/\\]\S*`)

// nameIn finds identifiers and file names.
var nameIn = regexp.MustCompile(`[/\\~][\w.-]+|\b\w+[._]\w+\b|\b[a-z]+[A-Z]\w*\b`)

// choosing are words by which people choose, forbid and prefer.
var choosing = lookup("use not no don't doesn't never always must mustn't instead prefer rather only without keep avoid decide decided choose because should forget take " +
	"nicht kein keine keinen statt stattdessen immer nie nur lieber behalte bitte nimm nehmen vergiss darf dürfen muss müssen weil mag")

// chooses reports whether a sentence has one of them.
func chooses(sentence string) bool {
	for word := range strings.FieldsFuncSeq(straight(sentence), func(r rune) bool { return !isWord(r) && r != '_' && r != '\'' }) {
		if choosing[strings.ToLower(strings.Trim(word, "'"))] {
			return true
		}
	}
	return false
}

// straight is a text with straight apostrophes: many keyboards set others.
func straight(text string) string { return strings.ReplaceAll(text, "’", "'") }

// opposing finds words by which people turn from what was chosen.
var opposing = regexp.MustCompile(`(?i)\b(not|no|don't|doesn't|never|instead|rather|without|forget|changed|anymore|longer|drop|scrap|revert|back|` +
	`nicht|kein|keine|keinen|statt|stattdessen|nie|lieber|vergiss|anders|doch|zurück|mehr)\b`)

// pastedBytes is the length from which a line is pasted where it does not read like a
// sentence, whatever values it holds: a record of a log, a row of a table.
const pastedBytes = 200

// rankOf ranks one sentence.
func rankOf(sentence string, quoted bool) rank {
	switch {
	case len(sentence) > pastedBytes && !spoken(strings.TrimSpace(sentence)):
		return loose
	case quoted || strings.HasSuffix(strings.TrimSpace(sentence), "?"):
		return asked
	case valueIn.MatchString(withoutPaths(sentence)) || chooses(sentence):
		return firm
	case withoutPaths(sentence) != sentence || nameIn.MatchString(sentence):
		return named
	}
	return loose
}

// withoutPaths is a sentence without its paths. Most have none, and looking closely is
// dear.
func withoutPaths(sentence string) string {
	if !strings.ContainsAny(sentence, `/\`) {
		return sentence
	}
	return pathIn.ReplaceAllString(sentence, " ")
}

// sentence is a piece of a message: pieces in a row are the message.
type sentence struct {
	text   string // with the white space that follows
	rank   rank
	quoted bool // in a fence, or behind a quotation mark of mails
}

// sentencesOf are the sentences of a message, with their ranks.
func sentencesOf(message string) (all []sentence) {
	for _, s := range Sentences(message) {
		all = append(all, sentence{s.Text, rankOf(s.Text, s.Quoted), s.Quoted})
	}
	return all
}

// Sentence is a piece of a message. The pieces of a message in a row are the
// message.
type Sentence struct {
	Text string // with the white space that follows
	// Quoted tells that it stands in a fence or behind a quotation mark of mails:
	// somebody else's words, or code.
	Quoted bool
}

// Sentences cuts a message behind each end of a sentence and of a line, unless the line
// goes on in the next one.
func Sentences(message string) (all []Sentence) {
	var fence Fence
	width := wrapOf(message)
	from, to := 0, 0 // lines that go on
	flush := func() {
		for from < to {
			n := endOfSentence(message[from:to])
			all = append(all, Sentence{message[from : from+n], false})
			from += n
		}
	}
	last := ""
	for line := range strings.Lines(message) {
		mark := fence.Line(line)
		quoted := mark || fence.In() || strings.HasPrefix(strings.TrimSpace(line), ">")
		if quoted || from < to && !goesOn(last, line, width) {
			flush()
		}
		last, to = line, to+len(line)
		if quoted {
			all = append(all, Sentence{line, true})
			from = to
		}
	}
	flush()
	return all
}

// The columns between which editors wrap lines.
const (
	minWrap = 60
	maxWrap = 120
)

// wrapOf is the column at which the lines of a message are wrapped by hand or by an
// editor, in characters; 0 where none is that long, or all that are stand alone.
func wrapOf(message string) (width int) {
	for line := range strings.Lines(message) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, " \t\r\n")); n >= minWrap && n <= maxWrap {
			width = max(width, n)
		}
	}
	return width
}

// goesOn reports whether a sentence of a wrapped line goes on in the next one: it has no
// end, the next word had no room in it, and nothing shows that this one begins anew.
func goesOn(line, next string, width int) bool {
	line, rest := strings.TrimRight(line, " \t\r\n"), strings.TrimLeft(next, " \t")
	if width == 0 || line == "" || len(next)-len(rest) >= 4 || strings.HasPrefix(next, "\t") {
		return false
	}
	if end, _ := utf8.DecodeLastRuneInString(strings.TrimRight(line, `)"'”’*_`)); strings.ContainsRune(".!?:;。！？：；…|", end) {
		return false
	}
	first, _ := utf8.DecodeRuneInString(rest)
	if !unicode.IsLower(first) && !unicode.IsDigit(first) && first != '`' || listItem.MatchString(strings.TrimSpace(rest)) {
		return false
	}
	word, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	return utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width
}

// endOfSentence is where the next sentence begins: behind a full stop, question
// or exclamation mark, white space, and before anything but a small letter.
func endOfSentence(line string) int {
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		i += size
		switch r {
		case '。', '！', '？':
			return i
		case '.', '!', '?':
			rest := strings.TrimLeft(line[i:], " \t")
			next, _ := utf8.DecodeRuneInString(rest)
			if len(rest) < len(line)-i && rest != "" && !unicode.IsLower(next) {
				return len(line) - len(rest)
			}
		}
	}
	return len(line)
}

// rankOfMessage is that of its most needed sentence.
func rankOfMessage(text string) rank {
	best := ranks
	for _, s := range Sentences(text) {
		if best = min(best, rankOf(s.Text, s.Quoted)); best == firm {
			break
		}
	}
	return best
}

// ranked are the ranks of messages that were looked at, by their text.
type ranked map[string]rank

// of is the rank of a message.
func (known ranked) of(text string) rank {
	r, ok := known[text]
	if !ok {
		r = rankOfMessage(text)
		known[text] = r
	}
	return r
}

// leastNeeded is the message that goes first: the oldest of the highest rank,
// never the first message and never the newest.
func leastNeeded(ws []holdfast.UserWord, known ranked) int {
	worst, at := rank(-1), min(1, len(ws)-1)
	for i := 1; i < len(ws)-1; i++ {
		if r := known.of(ws[i].Text); r > worst {
			worst, at = r, i
		}
		if worst == ranks-1 {
			break
		}
	}
	return at
}

// cutMark stands where a part of a message was left out.
const cutMark = "[…]"

// chooser fills a budget with sentences.
type chooser struct {
	messages [][]sentence
	taken    [][]bool
	estimate func(string) int
	left     int // tokens
}

// chooseWords picks what fits into max tokens. When all does not fit, messages
// are cut to the sentences that are needed most: the first message and the
// newest get up to a quarter each, then the sentences of each rank go in, newest
// first. No choice is kept without the later words that turn from it, as far as the
// words that both share tell, in English and German (see withdraw).
// The order of the result is that of the session; left is the number of messages
// of which nothing is shown.
func chooseWords(ws []holdfast.UserWord, max int, estimate func(string) int) (kept []holdfast.UserWord, left int) {
	c := chooser{estimate: estimate, left: max}
	total := 0
	for _, w := range ws {
		total += estimate(w.Text) + itemTokens
		s := sentencesOf(w.Text)
		c.messages, c.taken = append(c.messages, s), append(c.taken, make([]bool, len(s)))
	}
	if total <= max {
		return ws, 0
	}
	last := len(ws) - 1
	c.fill(last, max/4)
	if last > 0 {
		c.fill(0, max/4)
	}
	for r := range ranks {
		if !c.rank(r, max/4) {
			break
		}
	}
	c.withdraw()
	for i, w := range ws {
		if text := c.text(i); text != "" {
			w.Text = text
			kept = append(kept, w)
		}
	}
	return kept, len(ws) - len(kept)
}

// itemTokens is what a message costs beside its text, cutTokens a mark where
// something was left out.
const (
	itemTokens = 4
	cutTokens  = 4
)

// take takes a sentence if it fits into a room.
func (c *chooser) take(i, k, room int) (cost int, ok bool) {
	if c.taken[i][k] {
		return 0, true
	}
	cost = c.estimate(c.messages[i][k].text)
	if !slices.Contains(c.taken[i], true) {
		cost += itemTokens + cutTokens
	}
	if cost > min(room, c.left) {
		return 0, false
	}
	c.taken[i][k] = true
	c.left -= cost
	return cost, true
}

// fill takes the sentences of one message by their rank, as far as a room goes.
func (c *chooser) fill(i, room int) {
	for r := range ranks {
		for k, s := range c.messages[i] {
			if s.rank == r {
				cost, _ := c.take(i, k, room)
				room -= cost
			}
		}
	}
}

// rank takes the sentences of a rank, newest message first, and reports whether
// all that are not too long by themselves fitted.
func (c *chooser) rank(r rank, most int) bool {
	for i := range slices.Backward(c.messages) {
		for k, s := range c.messages[i] {
			if s.rank != r || c.estimate(s.text) > most {
				continue
			}
			if _, ok := c.take(i, k, c.left); !ok {
				return false
			}
		}
	}
	return true
}

// withdraw gives choices back that words turn from which are later and were not taken:
// where the first message went in ahead of its turn, or later words were too long.
func (c *chooser) withdraw() {
	var turns []map[string]bool // the subjects of those words
	for i := range slices.Backward(c.messages) {
		for k, s := range slices.Backward(c.messages[i]) {
			if c.taken[i][k] && len(turns) > 0 && chooses(s.text) {
				own := subjects(s.text)
				c.taken[i][k] = !slices.ContainsFunc(turns, func(later map[string]bool) bool { return sameSubject(own, later) })
			}
			if !c.taken[i][k] && s.rank != asked && opposing.MatchString(straight(s.text)) {
				turns = append(turns, subjects(s.text))
			}
		}
	}
}

// filler are long words that tell nothing of what a sentence is about.
var filler = lookup("that this these those with from have will would could what which when where while then than they them there their here into over also just some more most very your been were does about after again before other " +
	"dass eine einen einem einer eines wird werden wurde haben hatte sind auch noch oder aber wenn dann denn sich nach beim dort hier unser unsere mein dein diese dieser dieses alle alles habe mehr sehr schon")

// subjects are the words of a sentence that tell what it is about: long ones and
// numbers, but those by which people choose or turn.
func subjects(sentence string) map[string]bool {
	own := map[string]bool{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(straight(sentence)), func(r rune) bool { return !isWord(r) && r != '_' && r != '\'' }) {
		if (utf8.RuneCountInString(word) >= 4 || strings.ContainsFunc(word, unicode.IsDigit)) && !choosing[word] && !filler[word] && !opposing.MatchString(word) {
			own[word] = true
		}
	}
	return own
}

// sameSubject reports whether a choice and later words are about the same: they share
// three subjects, or two that are half of those of the choice, or its only one.
func sameSubject(choice, later map[string]bool) bool {
	shared := 0
	for word := range choice {
		if later[word] {
			shared++
		}
	}
	return shared >= 3 || 2*shared >= len(choice) && (shared == 2 || shared == 1 && len(choice) == 1)
}

// text is what was taken of a message; marks stand for what was not.
func (c *chooser) text(i int) string {
	var b strings.Builder
	gap := false
	for k, s := range c.messages[i] {
		if !c.taken[i][k] {
			gap = gap || strings.TrimSpace(s.text) != ""
			continue
		}
		if gap {
			b.WriteString(cutMark + " ")
			gap = false
		}
		b.WriteString(s.text)
	}
	if b.Len() == 0 {
		return ""
	}
	text := strings.TrimSpace(b.String())
	if gap {
		text += " " + cutMark
	}
	return text
}
