package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// harmful reports whether a terminal may act on c instead of showing it: a
// control character, or one that turns the direction of what follows.
func harmful(c rune) bool {
	return c < ' ' || c >= 0x7f && c <= 0x9f ||
		c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069 || c == 0x2028 || c == 0x2029
}

// clean makes text from a session harmless on a terminal: harmful characters,
// except newline and tab, are replaced by a visible form.
func clean(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, harmful) {
		return s
	}
	var b strings.Builder
	for _, c := range s { // a byte that is not UTF-8 becomes U+FFFD
		switch {
		case c == '\n' || c == '\t' || !harmful(c):
			b.WriteRune(c)
		case c < ' ':
			b.WriteRune('␀' + c)
		case c == 0x7f:
			b.WriteRune('␡')
		default:
			fmt.Fprintf(&b, "<U+%04X>", c)
		}
	}
	return b.String()
}

// line is clean text in one line.
func line(s string) string { return strings.Join(strings.Fields(clean(s)), " ") }

// escapeJSON writes harmful characters of a JSON document as \u escapes, which
// leaves its value as it is. The encoder itself escapes only those below U+0020.
func escapeJSON(s string) string {
	var b strings.Builder
	for _, c := range s {
		if c >= 0x7f && harmful(c) {
			fmt.Fprintf(&b, `\u%04x`, c)
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

// lineWriter changes what is written line by line. All that is written ends
// with a line break.
type lineWriter struct {
	w      io.Writer
	change func(string) string
	rest   []byte
}

func (l *lineWriter) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	end := bytes.LastIndexByte(l.rest, '\n') + 1
	if _, err := io.WriteString(l.w, l.change(string(l.rest[:end]))); err != nil {
		return 0, err
	}
	l.rest = l.rest[:copy(l.rest, l.rest[end:])]
	return len(p), nil
}

// fit cuts a line to width columns; 0 is no limit.
func fit(s string, width int) string {
	if width <= 0 {
		return s
	}
	return ansi.Truncate(s, width, "…")
}

// ago is how long t is before now, in one unit.
func ago(now, t time.Time) string {
	d := now.Sub(t)
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", d/time.Hour)
	}
	return fmt.Sprintf("%dd ago", d/(24*time.Hour))
}

// moment is t to the minute, in the zone of now.
func moment(now, t time.Time) string { return t.In(now.Location()).Format("2006-01-02 15:04") }

// count writes a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// column is one column of a table.
type column struct {
	title string
	// keep orders what stands on a narrow terminal: columns with the lowest
	// number go first.
	keep int
	// least is the width that a column may shrink to before any is dropped; 0
	// means that it cannot shrink.
	least int
	right bool // its numbers and its title end at the right
}

// table lays rows out in columns, two spaces apart and at most width columns
// wide (0: no limit): first columns shrink, then they are dropped.
func table(columns []column, rows [][]string, width int) string {
	wide := make([]int, len(columns))
	for i, c := range columns {
		wide[i] = ansi.StringWidth(c.title)
		for _, row := range rows {
			wide[i] = max(wide[i], ansi.StringWidth(row[i]))
		}
	}
	shown := shrink(columns, wide, width)
	var b strings.Builder
	write := func(cell func(int) string) {
		var out strings.Builder
		for i := range columns {
			if !shown[i] {
				continue
			}
			text := fit(cell(i), wide[i])
			room := strings.Repeat(" ", wide[i]-ansi.StringWidth(text))
			if columns[i].right {
				text, room = room+text, ""
			}
			out.WriteString(text + room + "  ")
		}
		b.WriteString(strings.TrimRight(out.String(), " ") + "\n")
	}
	write(func(i int) string { return columns[i].title })
	for _, row := range rows {
		write(func(i int) string { return row[i] })
	}
	return b.String()
}

// shrink narrows wide until the table fits, and tells which columns are left.
func shrink(columns []column, wide []int, width int) []bool {
	shown := make([]bool, len(columns))
	total := -2
	for i, w := range wide {
		shown[i] = true
		total += w + 2
	}
	if width <= 0 {
		return shown
	}
	for i, c := range columns {
		if c.least > 0 && total > width {
			narrower := max(min(c.least, wide[i]), wide[i]-(total-width))
			total -= wide[i] - narrower
			wide[i] = narrower
		}
	}
	for total > width {
		drop := -1
		for i, c := range columns {
			if shown[i] && (drop < 0 || c.keep < columns[drop].keep) {
				drop = i
			}
		}
		shown[drop] = false
		total -= wide[drop] + 2
	}
	return shown
}

// wrap breaks text into lines of at most width columns (0: no limit). The first
// line begins with first, each further one with rest.
func wrap(first, rest, text string, width int) string {
	if width <= 0 {
		return first + text + "\n"
	}
	// A margin may take at most half of a line.
	room := max(width-ansi.StringWidth(rest), width/2)
	return first + strings.ReplaceAll(ansi.Wrap(text, room, ""), "\n", "\n"+rest) + "\n"
}

// fold is text whose lines that are wider than width columns (0: no limit) are
// broken.
func fold(text string, width int) string {
	var b strings.Builder
	for text := range strings.Lines(text) {
		text = strings.TrimSuffix(text, "\n")
		if width <= 0 || ansi.StringWidth(text) <= width {
			b.WriteString(text + "\n")
			continue
		}
		b.WriteString(wrap("", "  ", text, width))
	}
	return b.String()
}

// untitled is a title in one line, or a word where there is none.
func untitled(title string) string { return cmp.Or(line(title), "untitled") }

// strong is text that stands out on a terminal.
func (a *app) strong(text string) string {
	if !a.colour {
		return text
	}
	return "\x1b[1m" + text + "\x1b[0m"
}

// faint is text that stands back on a terminal.
func (a *app) faint(text string) string {
	if !a.colour {
		return text
	}
	return "\x1b[2m" + text + "\x1b[0m"
}
