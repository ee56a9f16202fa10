package gemini

import (
	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/hold"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// separator stands between a text and the block behind it.
const separator = "\n\n"

// InsertBlock returns a copy of body with text as the last part of the user
// content req.Messages[at]; req must come from Scan of this body. Parts that are
// one object become a list that holds it, byte for byte. Where the content has an older
// block, text takes its place instead. All bytes before the insertion stay equal.
func (Codec) InsertBlock(body []byte, req holdfast.Request, at int, text string) ([]byte, error) {
	if at < 0 || at >= len(req.Messages) || req.Messages[at].End > len(body) {
		return nil, holdfast.Errorf(holdfast.ErrInternal, "The request has %d contents, none with the index %d. Pass the body that was scanned.", len(req.Messages), at)
	}
	if out, ok := hold.Replace(body, req.Messages[at], text); ok {
		return out, nil
	}
	var f [2]holdfast.Span
	fields(body, req.Messages[at], f[:], "role", "parts")
	role, list := jsonscan.Text(f[0].Of(body)), f[1].Of(body)
	if role != "user" && role != "" || len(list) == 0 || list[0] != '[' && list[0] != '{' {
		return nil, holdfast.Errorf(holdfast.ErrUsage, "Content %d is not a user content with parts, so no text can be added to it. Choose another one.", at)
	}
	before, between, behind, cut := `[`, `,{"text":`, `}]`, f[1].End
	if list[0] == '[' {
		before, behind, cut = ``, `}`, f[1].End-1
		if jsonscan.Space(list, 1) == len(list)-1 {
			between = between[1:]
		}
	}
	out := make([]byte, 0, len(body)+len(before)+len(between)+len(behind)+len(`""`)+jsonscan.EscapedRoom(text))
	out = append(append(out, body[:f[1].Start]...), before...)
	out = append(append(out, body[f[1].Start:cut]...), between...)
	out = append(jsonscan.AppendQuote(out, text), behind...)
	return append(out, body[cut:]...), nil
}

// PatchBody puts block at the end of an answer that was not streamed, or of a
// stream in its list form: behind the last character of its text, two line
// breaks between. An older block in the text is cut first, be it all of it,
// with the white space before it, up to its end or, when it has none, to the
// end of the text. summary is the digest of the patched text as the client
// receives it, joined from its parts without the thoughts.
//
// ok is false, and patched is body itself, when the answer is not Complete, has
// no more text than white space, holds anything but text and thoughts (a call),
// has more than one candidate, or when block is empty. block is valid UTF-8.
func (c Codec) PatchBody(body []byte, block string) (patched []byte, summary holdfast.Digest, ok bool) {
	answer, err := c.ReadBody(body)
	if err != nil || !answer.Complete || block == "" {
		return body, summary, false
	}
	var texts []holdfast.Span
	for _, at := range elements(body, whole(body)) {
		c := chunkAt(body, at)
		if !c.plain() {
			return body, summary, false
		}
		texts = c.appendTexts(texts)
	}
	patched, summary, ok = hold.Patch(body, texts, separator+block)
	if !ok {
		return body, summary, false
	}
	return patched, summary, true
}
