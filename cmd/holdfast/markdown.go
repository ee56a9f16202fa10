package main

import (
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// markdown shows Markdown on a terminal line by line as it comes: headings and
// strong words stand out, code has a colour, long lines are wrapped. It is not
// laid out: what a renderer would need (its lexers, above all) costs every
// command more time at its start than this is worth.
type markdown struct {
	width int    // columns; 0: no limit
	fence string // the mark that ends the code that is open; "" outside of code
}

var (
	strongWords = regexp.MustCompile(`\*\*([^*\s](?:[^*]*[^*\s])?)\*\*`)
	inlineCode  = regexp.MustCompile("`([^`]+)`")
	listItem    = regexp.MustCompile(`^(\s*)([-*+]|\d+[.)]) +`)
)

const (
	boldOn, boldOff = "\x1b[1m", "\x1b[22m"
	codeOn, codeOff = "\x1b[36m", "\x1b[39m"
	faintOn         = "\x1b[2m"
	faintOff        = "\x1b[22m"
)

// line is one line, without its line break, as it is shown.
func (m *markdown) line(text string) string {
	trimmed := strings.TrimSpace(text)
	switch {
	case m.fence != "":
		if strings.HasPrefix(trimmed, m.fence) && strings.Trim(trimmed, m.fence[:1]) == "" {
			m.fence = ""
			return faintOn + text + faintOff
		}
		return codeOn + text + codeOff
	case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
		mark := trimmed[:1]
		m.fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, mark))]
		return faintOn + text + faintOff
	case strings.HasPrefix(text, "#"):
		return boldOn + m.wrap(text, "") + boldOff
	case strings.HasPrefix(text, "|"):
		return text // a table keeps its columns
	}
	margin := ""
	if at := listItem.FindStringSubmatchIndex(text); at != nil {
		margin = strings.Repeat(" ", at[1])
		if mark := text[at[4]:at[5]]; len(mark) == 1 {
			text = text[:at[4]] + "•" + text[at[5]:]
		}
	}
	var b strings.Builder
	rest := text
	for _, at := range inlineCode.FindAllStringSubmatchIndex(text, -1) {
		before := text[len(text)-len(rest) : at[0]]
		b.WriteString(strongWords.ReplaceAllString(before, boldOn+"$1"+boldOff))
		b.WriteString(codeOn + text[at[2]:at[3]] + codeOff)
		rest = text[at[1]:]
	}
	b.WriteString(strongWords.ReplaceAllString(rest, boldOn+"$1"+boldOff))
	return m.wrap(b.String(), margin)
}

// wrap breaks a line at the width, each further one behind a margin.
func (m *markdown) wrap(text, margin string) string {
	room := m.width - len(margin)
	if m.width <= 0 || room < m.width/2 {
		return text
	}
	return strings.ReplaceAll(ansi.Wrap(text, room, ""), "\n", "\n"+margin)
}
