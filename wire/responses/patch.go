package responses

import (
	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/hold"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// separator stands between a text and the block behind it.
const separator = "\n\n"

// InsertBlock returns a copy of body with a user message of its own that holds
// text, right behind the element req.Messages[at], or before the first one when
// at is -1; req must come from Scan of this body. An input that is one string
// or one object becomes a list, in which a string is a user message and an
// object is itself, byte for byte. Where the element has an older block, text takes its
// place instead. All bytes before the insertion stay equal.
func (Codec) InsertBlock(body []byte, req holdfast.Request, at int, text string) ([]byte, error) {
	if at < -1 || at >= len(req.Messages) && at != -1 || req.List.End > len(body) || !req.List.Present() {
		return nil, holdfast.Errorf(holdfast.ErrInternal, "The request has %d input items, none with the index %d. Pass the body that was scanned.", len(req.Messages), at)
	}
	if at >= 0 {
		if out, ok := hold.Replace(body, req.Messages[at], text); ok {
			return out, nil
		}
	}
	const open, end = `{"type":"message","role":"user","content":[{"type":"input_text","text":`, `}]}`
	wrap, unwrap := ``, ``
	if body[req.List.Start] == '"' {
		wrap, unwrap = `{"type":"message","role":"user","content":`, `}`
	}
	// The result is body[:from] a body[from:mid] b TEXT c body[mid:to] d body[to:].
	var a, b, c, d string
	var from, mid, to int
	switch list := body[req.List.Start] == '['; {
	case list && at < 0:
		mid = req.List.Start + 1
		from, to, b, c = mid, mid, open, end
		if len(req.Messages) > 0 {
			c += `,`
		}
	case list:
		mid = req.Messages[at].End
		from, to, b, c = mid, mid, `,`+open, end
	case at < 0:
		from, mid, to = req.List.Start, req.List.Start, req.List.End
		b, c, d = `[`+open, end+`,`+wrap, unwrap+`]`
	default:
		from, mid, to = req.List.Start, req.List.End, req.List.End
		a, b, c = `[`+wrap, unwrap+`,`+open, end+`]`
	}
	out := make([]byte, 0, len(body)+len(a)+len(b)+len(c)+len(d)+len(`""`)+jsonscan.EscapedRoom(text))
	out = append(append(out, body[:from]...), a...)
	out = append(append(out, body[from:mid]...), b...)
	out = append(jsonscan.AppendQuote(out, text), c...)
	out = append(append(out, body[mid:to]...), d...)
	return append(out, body[to:]...), nil
}

// PatchBody puts block at the end of an answer that was not streamed: behind
// the last output_text of an assistant message that is more than white space,
// two line breaks between. An older block in any of its texts is cut first, be
// it all that the text holds, with the white space before it, up to its end or,
// when it has none, to the end of that text. summary is the digest of the
// patched text as the client receives it.
//
// ok is false, and patched is body itself, when the answer is not Complete, has
// no such text, calls a tool or refuses, or when block is empty. block is valid
// UTF-8.
func (c Codec) PatchBody(body []byte, block string) (patched []byte, summary holdfast.Digest, ok bool) {
	answer, err := c.ReadBody(body)
	if err != nil || !answer.Complete || block == "" {
		return body, summary, false
	}
	var f [1]holdfast.Span
	// ReadBody took the body, so Fields takes it too.
	_, _ = jsonscan.Fields(body, jsonscan.Space(body, 0), f[:], "output")
	lits, plain := outputTexts(body, f[0])
	edits, last, lit := newCutter().Amend(body, lits, separator+block)
	if !plain || last < 0 {
		return body, summary, false
	}
	patched = jsonscan.Splice(make([]byte, 0, jsonscan.SizeOf(len(body), edits)), body, edits...)
	return patched, holdfast.TextDigest(jsonscan.Text(lit)), true
}

// outputTexts finds the texts of an output value. plain is false when the
// output calls a tool or refuses.
func outputTexts(in []byte, output holdfast.Span) (lits []holdfast.Span, plain bool) {
	for _, it := range items(in, output) {
		texts, ok := it.outputTexts()
		if !ok {
			return nil, false
		}
		for _, t := range texts {
			lits = append(lits, t.lit)
		}
	}
	return lits, true
}

// outputText is one output_text part of a message: its literal, and its place
// among the parts.
type outputText struct {
	lit  holdfast.Span
	part int
}

// outputTexts finds the texts of one item of an output; see the function.
func (it *item) outputTexts() (texts []outputText, plain bool) {
	if it.callsTool() {
		return nil, false
	}
	if it.kind != "message" || it.text(fieldRole) != "assistant" {
		return nil, true
	}
	for i, p := range parts(it.in, it.fields[fieldContent]) {
		switch {
		case p.kind == "refusal":
			return nil, false
		case p.kind == "output_text" && p.text.Present() && it.in[p.text.Start] == '"':
			texts = append(texts, outputText{p.text, i})
		}
	}
	return texts, true
}

func newCutter() *jsonscan.Cutter {
	return jsonscan.NewCutter(holdfast.BlockBegins, holdfast.BlockClose)
}
