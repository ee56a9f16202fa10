package hold

import (
	"bytes"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// Replace returns a copy of b in which block stands in the place of the first block in
// the string values of a part of it, with two line breaks before it, and no other block
// stands in that part. ok is false where there is none. b is well-formed JSON, and part
// a value in it.
func Replace(b []byte, part holdfast.Span, block string) (out []byte, ok bool) {
	if !bytes.Contains(part.Of(b), []byte(mark)) {
		return nil, false
	}
	var edits []jsonscan.Edit
	for at := part.Start; at < part.End; {
		if b[at] != '"' {
			at++
			continue
		}
		end, err := jsonscan.Skip(b, at)
		if err != nil {
			return nil, false
		}
		lit := holdfast.Span{Start: at, End: end}
		if at = jsonscan.Space(b, end); at < part.End && b[at] == ':' {
			continue // the name of a member
		}
		c := jsonscan.NewCutter(holdfast.BlockOpen, holdfast.BlockClose)
		c.Feed(lit.Of(b))
		c.End()
		edits = append(edits, c.Cuts(lit, 0)...)
	}
	if len(edits) == 0 {
		return nil, false
	}
	edits[0].New = jsonscan.AppendEscaped(nil, "\n\n"+block)
	return jsonscan.Splice(make([]byte, 0, len(b)+len(edits[0].New)), b, edits...), true
}

// mark is what of the opening delimiter no encoder escapes.
const mark = "holdfast-record"
