package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"charm.land/glamour/v2"
	"charm.land/lipgloss/v2"

	"github.com/holdfast-dev/holdfast"
)

// screen shows a turn. On a terminal the model's texts come as they are written,
// Markdown block by block; elsewhere only the last one, which is the answer, when
// the turn is over. What is beside the answer goes to standard error.
type screen struct {
	app    *app
	out    io.Writer // nil where the answer is not streamed
	render func(string) string
	text   strings.Builder // of the answer that comes, not shown yet
	last   string          // the newest whole answer
	begun  bool            // something of the present answer was shown
}

func (a *app) newScreen(raw bool) *screen {
	s := &screen{app: a}
	if a.json || !isTerminal(a.out) && !a.terminal {
		return s
	}
	s.out = a.out
	if !raw && a.colour {
		s.render = a.markdown()
	}
	return s
}

// markdown renders a block of Markdown; text that cannot be rendered stays as it
// is.
func (a *app) markdown() func(string) string {
	style := "dark"
	if !lipgloss.HasDarkBackground(os.Stdin, os.Stdout) {
		style = "light"
	}
	width := a.width
	if width <= 0 {
		width = 80
	}
	r, err := glamour.NewTermRenderer(glamour.WithStandardStyle(style), glamour.WithWordWrap(width-2))
	if err != nil {
		return nil
	}
	return func(block string) string {
		out, err := r.Render(block)
		if err != nil {
			return block
		}
		return strings.Trim(out, "\n") + "\n\n"
	}
}

// Delta implements query.Screen. Reasoning is not shown.
func (s *screen) Delta(d holdfast.Delta) {
	if d.Reasoning || s.out == nil {
		return
	}
	s.begun = true
	if s.render == nil {
		// What cannot be written now shows when the command ends.
		_, _ = io.WriteString(s.out, clean(d.Text))
		return
	}
	s.text.WriteString(d.Text)
	done, rest := blocks(s.text.String())
	if done != "" {
		_, _ = io.WriteString(s.out, s.render(clean(done)))
		s.text.Reset()
		s.text.WriteString(rest)
	}
}

// blocks cuts Markdown behind its last finished block: an empty line that is in
// no fence.
func blocks(text string) (done, rest string) {
	end, at := 0, 0
	fence := ""
	for line := range strings.Lines(text) {
		at += len(line)
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == "" {
				fence = ""
			}
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			mark := trimmed[:1]
			fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, mark))]
		case trimmed == "" && strings.HasSuffix(line, "\n"):
			end = at
		}
	}
	return text[:end], text[end:]
}

// Said implements query.Screen.
func (s *screen) Said(m holdfast.AssistantMessage) {
	s.last = m.Text + string(m.Data)
	switch {
	case s.out == nil || !s.begun:
		return
	case s.render != nil:
		_, _ = io.WriteString(s.out, s.render(clean(s.text.String())))
		s.text.Reset()
	default:
		_, _ = io.WriteString(s.out, "\n")
	}
	s.begun = false
}

// Calling implements query.Screen.
func (s *screen) Calling(c holdfast.ToolCall) {
	s.note(fit("> "+line(c.Name)+" "+line(string(c.Arguments)), s.app.width))
}

// Called implements query.Screen.
func (s *screen) Called(_ holdfast.ToolCall, r holdfast.ToolResult) {
	what := "ok"
	if r.IsError {
		what = "error: " + line(partsText(r.Parts))
	}
	s.note(fit("  "+what+", "+sizeText(int64(len(partsText(r.Parts)))), s.app.width))
}

// Notice implements query.Screen.
func (s *screen) Notice(text string) { s.note("holdfast: " + clean(text)) }

// note writes a line beside the answer.
func (s *screen) note(text string) {
	if !s.app.json {
		_, _ = fmt.Fprintln(s.app.err, text)
	}
}

// end shows what is left when the turn is over.
func (s *screen) end() error {
	switch {
	case s.app.json:
		return nil
	case s.out == nil && s.last != "":
		return s.app.print(strings.TrimRight(s.last, "\n") + "\n")
	case s.out != nil && s.begun:
		// The answer broke off.
		return s.app.print("\n")
	}
	return nil
}
