package anthropic

import (
	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/hold"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// separator stands between a text and the block behind it.
const separator = "\n\n"

// InsertBlock returns a copy of body with text as the last content block of
// the user message req.Messages[at]; req must come from Scan of this body.
// Content that is a string becomes a list whose first block holds that string,
// byte for byte. Where the message has an older block, text takes its place instead. All
// bytes before the insertion stay equal.
func (Codec) InsertBlock(body []byte, req holdfast.Request, at int, text string) ([]byte, error) {
	if at < 0 || at >= len(req.Messages) || req.Messages[at].End > len(body) {
		return nil, holdfast.Errorf(holdfast.ErrInternal, "The request has %d messages, none with the index %d. Pass the body that was scanned.", len(req.Messages), at)
	}
	if out, ok := hold.Replace(body, req.Messages[at], text); ok {
		return out, nil
	}
	var f [2]holdfast.Span
	if _, err := jsonscan.Fields(body, req.Messages[at].Start, f[:], "role", "content"); err != nil {
		return nil, unreadable("message", err)
	}
	content := f[1].Of(body)
	if jsonscan.Text(f[0].Of(body)) != "user" || len(content) == 0 || content[0] != '"' && content[0] != '[' {
		return nil, holdfast.Errorf(holdfast.ErrUsage, "Message %d is not a user message with content, so no text can be added to it. Choose another one.", at)
	}

	const open, end = `{"type":"text","text":`, `}`
	before, between, behind, cut := `[`+open, end+`,`+open, end+`]`, f[1].End
	if content[0] == '[' {
		before, between, behind, cut = ``, `,`+open, end, f[1].End-1
		if jsonscan.Space(content, 1) == len(content)-1 {
			between = open
		}
	}
	out := make([]byte, 0, len(body)+len(before)+len(between)+len(behind)+len(`""`)+jsonscan.EscapedRoom(text))
	out = append(append(out, body[:f[1].Start]...), before...)
	out = append(append(out, body[f[1].Start:cut]...), between...)
	out = append(jsonscan.AppendQuote(out, text), behind...)
	return append(out, body[cut:]...), nil
}

// PatchBody puts block at the end of an answer that was not streamed: behind
// its last text that is more than white space, two line breaks between. An
// older block in any of its texts is cut first, be it all that the text holds,
// with the white space before it, up to its end or, when it has none, to the
// end of that text. summary is the digest of the patched text as the client
// receives it.
//
// ok is false, and patched is body itself, when the answer is not Complete, has
// no such text or calls a tool, or when block is empty. block is valid UTF-8.
func (c Codec) PatchBody(body []byte, block string) (patched []byte, summary holdfast.Digest, ok bool) {
	answer, err := c.ReadBody(body)
	if err != nil || !answer.Complete || block == "" {
		return body, summary, false
	}
	var f [1]holdfast.Span
	// ReadBody took the body, so Fields takes it too.
	_, _ = jsonscan.Fields(body, jsonscan.Space(body, 0), f[:], "content")
	var lits []holdfast.Span
	for _, s := range contentSpans(body, f[0]) {
		switch b := blockAt(body, s.Start); b.kind {
		case "tool_use":
			return body, summary, false
		case "text":
			if lit := b.fields[fieldText]; lit.Present() && body[lit.Start] == '"' {
				lits = append(lits, lit)
			}
		}
	}
	edits, last, lit := newCutter().Amend(body, lits, separator+block)
	if last < 0 {
		return body, summary, false
	}
	patched = jsonscan.Splice(make([]byte, 0, jsonscan.SizeOf(len(body), edits)), body, edits...)
	return patched, holdfast.TextDigest(jsonscan.Text(lit)), true
}

func contentSpans(body []byte, content holdfast.Span) []holdfast.Span {
	if !content.Present() {
		return nil
	}
	return jsonscan.Elements(body, content.Start)
}

func newCutter() *jsonscan.Cutter {
	return jsonscan.NewCutter(holdfast.BlockBegins, holdfast.BlockClose)
}
