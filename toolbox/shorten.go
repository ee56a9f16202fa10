package toolbox

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast"
)

// marker is the room for the lines that tell what was left out.
const marker = 160

// shorten bounds the text of a result: of a longer one, the beginning and the end
// stay, as one text, with a line between that says what is missing. Images stay.
func shorten(r holdfast.ToolResult, most int) (short holdfast.ToolResult, cut bool) {
	var texts []string
	var others []holdfast.Part
	for _, p := range r.Parts {
		if t, ok := p.(holdfast.Text); ok {
			texts = append(texts, string(t))
		} else {
			others = append(others, p)
		}
	}
	text := strings.Join(texts, "\n")
	if len(text) <= most {
		return r, false
	}
	half := max(0, most-marker) / 2
	head, tail := first(text, half), last(text, half)
	// A cut between lines reads better, where one is near.
	if i := strings.LastIndexByte(head, '\n'); i >= half/2 {
		head = head[:i]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < half/2 {
		tail = tail[i+1:]
	}
	missing := text[len(head) : len(text)-len(tail)]
	line := fmt.Sprintf("\n[%d of %d bytes are left out here, %d lines. Ask for less at once to see them.]\n",
		len(missing), len(text), strings.Count(strings.Trim(missing, "\n"), "\n")+1)
	r.Parts = append([]holdfast.Part{holdfast.Text(head + line + tail)}, others...)
	return r, true
}

// first is the beginning of s, at most n bytes, cut between characters.
func first(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// last is the end of s, at most n bytes, cut between characters.
func last(s string, n int) string {
	at := max(0, len(s)-n)
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return s[at:]
}

// oneLine makes foreign text fit for a line that a person reads on a terminal.
func oneLine(s string) string {
	const most = 300
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return ' '
		}
		return r
	}, s)
	return first(strings.Join(strings.Fields(s), " "), most)
}

// size counts the bytes of what a result holds.
func size(parts []holdfast.Part) (n int) {
	for _, p := range parts {
		switch p := p.(type) {
		case holdfast.Text:
			n += len(p)
		case holdfast.Media:
			n += len(p.Data)
		}
	}
	return n
}
