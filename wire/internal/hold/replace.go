package hold

import (
	"bytes"
	"regexp"

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
		c := jsonscan.NewCutter(holdfast.BlockBegins, holdfast.BlockClose)
		c.Feed(lit.Of(b))
		c.End()
		for _, cut := range c.Cuts(lit, 0) {
			if sealed.Match(cut.Span.Of(b)) {
				edits = append(edits, cut)
			}
		}
	}
	if len(edits) == 0 {
		return nil, false
	}
	edits[0].New = jsonscan.AppendEscaped(nil, "\n\n"+block)
	return jsonscan.Splice(make([]byte, 0, len(b)+len(edits[0].New)), b, edits...), true
}

// sealed is the end of a block, as any encoder writes it: a text that speaks of the
// delimiters has none.
var sealed = regexp.MustCompile(`digest sha256:[0-9a-f]{32}(\s|\\[nrt])*(<|\\u003[cC])(/|\\/)holdfast-record(>|\\u003[eE])$`)

// mark is what of the opening delimiter no encoder escapes.
const mark = "holdfast-record"
