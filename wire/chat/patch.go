package chat

import (
	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/hold"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// separator stands between a text and the block behind it.
const separator = "\n\n"

// InsertBlock returns a copy of body with text at the end of the user message
// req.Messages[at]; req must come from Scan of this body. A list of parts gets
// one more. Content that is a string stays one, since some servers take nothing
// else: text goes to its end, two line breaks between. Where the message has an older
// block, text takes its place instead. All bytes before the insertion stay equal.
func (Codec) InsertBlock(body []byte, req holdfast.Request, at int, text string) ([]byte, error) {
	if at < 0 || at >= len(req.Messages) || req.Messages[at].End > len(body) {
		return nil, holdfast.Errorf(holdfast.ErrInternal, "The request has %d messages, none with the index %d. Pass the body that was scanned.", len(req.Messages), at)
	}
	if out, ok := hold.Replace(body, req.Messages[at], text); ok {
		return out, nil
	}
	m, err := messageAt(body, req.Messages[at].Start)
	if err != nil {
		return nil, unreadable("message", err)
	}
	content := m.of(fieldContent)
	if m.text(fieldRole) != "user" || len(content) == 0 || content[0] != '"' && content[0] != '[' {
		return nil, holdfast.Errorf(holdfast.ErrUsage, "Message %d is not a user message with content, so no text can be added to it. Choose another one.", at)
	}
	cut := m.fields[fieldContent].End - 1
	var before, after string
	switch {
	case content[0] == '[':
		before, after = `{"type":"text","text":"`, `"}`
		if jsonscan.Space(content, 1) < len(content)-1 {
			before = `,` + before
		}
	case len(content) > len(`""`):
		text = separator + text
	}
	out := make([]byte, 0, len(body)+len(before)+len(after)+jsonscan.EscapedRoom(text))
	out = append(append(out, body[:cut]...), before...)
	out = append(jsonscan.AppendEscaped(out, text), after...)
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
// no such text, has more than one choice, calls a tool or refuses, or when block
// is empty. block is valid UTF-8.
func (c Codec) PatchBody(body []byte, block string) (patched []byte, summary holdfast.Digest, ok bool) {
	answer, err := c.ReadBody(body)
	if err != nil || !answer.Complete || callsTool(answer.Stop) || block == "" {
		return body, summary, false
	}
	// ReadBody took the body, so chunkAt takes it too.
	whole, _, _ := chunkAt(body, jsonscan.Space(body, 0), "message")
	if whole.others || whole.message.callsTool() || whole.message.says(fieldRefusal) {
		return body, summary, false
	}
	var lits []holdfast.Span
	for _, p := range parts(body, whole.message.fields[fieldContent]) {
		switch {
		case p.kind == "refusal":
			return body, summary, false
		case p.kind == "text" && p.text.Present() && body[p.text.Start] == '"':
			lits = append(lits, p.text)
		}
	}
	cutter := jsonscan.NewCutter(holdfast.BlockBegins, holdfast.BlockClose)
	edits, last, lit := cutter.Amend(body, lits, separator+block)
	if last < 0 {
		return body, summary, false
	}
	patched = jsonscan.Splice(make([]byte, 0, jsonscan.SizeOf(len(body), edits)), body, edits...)
	return patched, holdfast.TextDigest(jsonscan.Text(lit)), true
}

// callsTool reports whether a finish reason tells of a call.
func callsTool(finish string) bool { return finish == "tool_calls" || finish == "function_call" }
