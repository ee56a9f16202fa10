package jsonscan

import (
	"slices"
	"unicode"

	"github.com/holdfast-dev/holdfast"
)

// Edit replaces a span of bytes. An empty span inserts, an empty New deletes.
type Edit struct {
	holdfast.Span
	New []byte
}

// Splice appends b with the edits applied to dst. They must be sorted and must
// not overlap. What they do not cover is copied as it is.
func Splice(dst, b []byte, edits ...Edit) []byte {
	at := 0
	for _, e := range edits {
		dst = append(append(dst, b[at:e.Start]...), e.New...)
		at = e.End
	}
	return append(dst, b[at:]...)
}

// Cutter finds the passages of a text that stand between two delimiters, each
// with the white space before it, while the text arrives in string literals cut
// anywhere. It works on decoded characters, so a delimiter is found however it
// is escaped, and answers with positions in the literals, so that they can be
// cut where they stand.
//
// A position counts the bytes between the quotes of all literals fed, one
// behind the other. Both delimiters are ASCII and begin with a character that occurs
// only once in them. It is not for concurrent use.
type Cutter struct {
	open, close string

	pos     int // how many bytes were fed
	space   int // where the white space begins that ends at the present position; -1: none
	mark    int // where the delimiter begins that is being matched
	matched int // how much of it is matched, in bytes
	cutting bool
	cuts    []holdfast.Span
	visible bool
}

// NewCutter returns a Cutter for passages from open up to and including close.
// A passage that never closes reaches to the end of its text.
func NewCutter(open, close string) *Cutter {
	return &Cutter{open: open, close: close, space: -1}
}

// Feed takes the next literal of the text, quotes included. Anything but a
// string counts as an empty one.
func (c *Cutter) Feed(lit []byte) {
	b, _ := inside(lit)
	for len(b) > 0 {
		r, n := char(b)
		if c.cutting {
			c.pos += n
			c.passage(r)
		} else {
			c.text(r, n)
			c.pos += n
		}
		b = b[n:]
	}
	c.grow()
}

// text takes a character outside of passages; c.pos is where it stands.
func (c *Cutter) text(r rune, n int) {
	if c.matched > 0 && r == rune(c.open[c.matched]) {
		if c.matched++; c.matched < len(c.open) {
			return
		}
		from := c.mark
		if c.space >= 0 {
			from = c.space
		}
		c.cuts = append(c.cuts, holdfast.Span{Start: from, End: c.pos + n})
		c.visible, c.cutting, c.matched, c.space = true, true, 0, -1
		return
	}
	if c.matched > 0 {
		c.visible, c.matched, c.space = true, 0, -1
	}
	switch {
	case r == rune(c.open[0]):
		c.mark, c.matched = c.pos, 1
	case unicode.IsSpace(r):
		if c.space < 0 {
			c.space = c.pos
		}
	default:
		c.visible, c.space = true, -1
	}
}

// passage takes a character of a passage; c.pos is where it ends.
func (c *Cutter) passage(r rune) {
	switch {
	case r == rune(c.close[c.matched]):
		c.matched++
	case r == rune(c.close[0]):
		c.matched = 1
	default:
		c.matched = 0
	}
	if c.matched == len(c.close) {
		c.grow()
		c.cutting, c.matched = false, 0
	}
}

// grow lets the passage that is open reach to the present position.
func (c *Cutter) grow() {
	if c.cutting {
		c.cuts[len(c.cuts)-1].End = c.pos
	}
}

// Pos is how many bytes were fed.
func (c *Cutter) Pos() int { return c.pos }

// Settled is the position up to which it is known what is cut.
func (c *Cutter) Settled() int {
	switch {
	case c.cutting || c.matched == 0 && c.space < 0:
		return c.pos
	case c.space >= 0:
		return c.space
	}
	return c.mark
}

// Visible reports whether the text so far is more than white space. A passage
// counts: what was cut was said, though nothing of it is left.
func (c *Cutter) Visible() bool { return c.visible }

// End ends the text: everything is settled, the next literal begins a new text.
// It reports whether the text that ended was more than white space.
func (c *Cutter) End() (visible bool) {
	visible = c.visible || !c.cutting && c.matched > 0
	c.space, c.matched, c.cutting, c.visible = -1, 0, false, false
	return visible
}

// Cuts returns the edits that cut what is known to be cut from the literal at
// the span lit of some JSON; base is the position at which it was fed.
func (c *Cutter) Cuts(lit holdfast.Span, base int) (edits []Edit) {
	from, to := base, base+max(lit.End-lit.Start-2, 0)
	for _, cut := range c.cuts {
		start, end := max(cut.Start, from), min(cut.End, to)
		if start < end {
			shift := lit.Start + 1 - base
			edits = append(edits, Edit{Span: holdfast.Span{Start: start + shift, End: end + shift}})
		}
	}
	return edits
}

// Forget drops all cuts before a position, to bound memory.
func (c *Cutter) Forget(before int) {
	n := 0
	for n < len(c.cuts) && c.cuts[n].End <= before && !(c.cutting && n == len(c.cuts)-1) {
		n++
	}
	c.cuts = c.cuts[:copy(c.cuts, c.cuts[n:])]
}

// Amend returns the edits that cut the passages of c from the texts at lits,
// each a text of its own, and put tail at the end of the last one that is more
// than white space as it came. It also returns which one that is (-1: none) and that
// literal as it will be. lits are string literals of b in rising order; c is
// between two texts.
func (c *Cutter) Amend(b []byte, lits []holdfast.Span, tail string) (edits []Edit, last int, lit []byte) {
	last = -1
	behind, base := 0, 0
	for i, s := range lits {
		from := c.Pos()
		c.Feed(s.Of(b))
		visible := c.End()
		edits = append(edits, c.Cuts(s, from)...)
		if visible {
			last, behind, base = i, len(edits), from
		}
	}
	if last < 0 {
		return edits, -1, nil
	}
	s := lits[last]
	lit = Splice(nil, s.Of(b), c.Cuts(holdfast.Span{End: s.End - s.Start}, base)...)
	if tail != "" {
		escaped := AppendEscaped(nil, tail)
		end := Edit{Span: holdfast.Span{Start: s.End - 1, End: s.End - 1}, New: escaped}
		edits = slices.Insert(edits, behind, end)
		lit = append(append(lit[:len(lit)-1], escaped...), '"')
	}
	return edits, last, lit
}

// SizeOf is the size of what Splice makes of size bytes.
func SizeOf(size int, edits []Edit) int {
	for _, e := range edits {
		size += len(e.New) - (e.End - e.Start)
	}
	return size
}
