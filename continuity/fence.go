package continuity

import "strings"

// Fence follows the lines of a text and knows which of them stand in a fence of code.
type Fence struct{ mark string }

// In reports whether the lines that come stand in a fence.
func (f *Fence) In() bool { return f.mark != "" }

// Line takes the next line and reports whether it begins or ends a fence. One that has
// backticks behind its text too is code in a line. A fence ends with at least as many of
// them as it began with; people write on behind them.
func (f *Fence) Line(line string) bool {
	line = strings.TrimSpace(line)
	rest := strings.TrimLeft(line, "`")
	mark := line[:len(line)-len(rest)]
	switch {
	case len(mark) < max(3, len(f.mark)) || strings.Contains(rest, "`"):
		return false
	case f.In():
		f.mark = ""
	default:
		f.mark = mark
	}
	return true
}
