package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// screen shows a turn. On a terminal the model's texts come as they are written,
// Markdown line by line; elsewhere only the last one, which is the answer, when the
// model is done. What is beside the answer goes to standard error.
type screen struct {
	app    *app
	show   func(string) // a line of progress; "" clears it
	out    io.Writer    // nil where the answer is not streamed
	styled *markdown    // nil: as it came
	text   string       // of the line that comes, not shown yet
	last   string       // the newest whole answer
	begun  bool         // something of the present answer came
	err    error        // of printing the answer
}

func (a *app) newScreen(raw bool, show func(string)) *screen {
	s := &screen{app: a, show: show}
	if a.json || !a.terminal {
		return s
	}
	s.out = a.out
	if !raw && a.colour {
		s.styled = &markdown{width: a.width}
	}
	return s
}

// Delta implements query.Screen. Reasoning is not shown.
func (s *screen) Delta(d holdfast.Delta) {
	if d.Reasoning || s.out == nil {
		return
	}
	s.begun = true
	if s.styled == nil {
		s.write(clean(d.Text))
		return
	}
	s.text += d.Text
	for {
		line, rest, whole := strings.Cut(s.text, "\n")
		if !whole {
			return
		}
		s.write(s.styled.line(clean(line)) + "\n")
		s.text = rest
	}
}

// write shows text. What cannot be written now shows when the command ends.
func (s *screen) write(text string) { _, _ = io.WriteString(s.out, text) }

// Said implements query.Screen.
func (s *screen) Said(m holdfast.AssistantMessage) {
	s.last = m.Text + string(m.Data)
	s.finish()
}

// finish ends the text that came, if one did.
func (s *screen) finish() {
	if s.out == nil || !s.begun {
		return
	}
	if s.styled != nil {
		s.write(s.styled.line(clean(s.text)))
		s.text, s.styled.fence = "", ""
	}
	s.write("\n")
	s.begun = false
}

// Answered implements query.Screen.
func (s *screen) Answered() {
	s.finish()
	if s.err == nil && s.out == nil && s.last != "" && !s.app.json {
		s.err = s.app.print(strings.TrimRight(s.last, "\n") + "\n")
		s.last = ""
	}
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
		s.show("")
		_, _ = fmt.Fprintln(s.app.err, text)
	}
}

// end shows what is left when the turn is over.
func (s *screen) end() error {
	s.Answered()
	return s.err
}
