// Package anthropic speaks the Messages API: it reads requests, answers and
// streams into the vocabulary, writes calls, and patches their bytes in place.
//
// Laws:
//   - Reading never fails on what this version does not know: such an entry is
//     holdfast.Unknown. Only malformed JSON is an error.
//   - Patching changes the bytes it is asked to change and no others.
//   - An answer is patched as a whole or not at all, with one exception that a
//     stream forces: an older block is cut while it passes, before anybody can
//     know whether the answer will succeed.
//   - Equal calls are written as equal bytes, and what a call holds of JSON (arguments,
//     schemas, the opaque state of reasoning) goes in byte for byte.
//   - A text of the model that is empty or only white space is no event: agents
//     drop it from the history, so it identifies nothing.
//
// Codec is stateless; a Stream, a Live and a Patcher hold the state of one answer. No
// text of a stream is kept, it is hashed as it passes, unless NewWhole made the
// reader. The wire format is
// https://platform.claude.com/docs/en/api/messages and, for streams,
// https://platform.claude.com/docs/en/build-with-claude/streaming. What the provider
// itself sums up is https://platform.claude.com/docs/en/build-with-claude/compaction.
package anthropic

import (
	"errors"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// Codec reads and patches bodies of the Messages API. It has no state: the
// zero value is ready and safe for concurrent use.
type Codec struct{}

// Scan finds the parts of a request in one pass, without decoding a message.
// It fails when the body is malformed JSON or not an object, or when messages
// is not a list or stands there twice. Of another repeated member the last one
// counts. A member that is null counts as absent.
func (c Codec) Scan(body []byte) (holdfast.Request, error) { return c.Rescan(body, nil) }

// Rescan is Scan of a body of which much may be known: known is asked once for each
// element of the history, in order, where the one ends that begins at a position. It
// returns 0 for what it does not know, and otherwise what a scan would find.
func (Codec) Rescan(body []byte, known func(at int) (end int)) (holdfast.Request, error) {
	req := holdfast.Request{Protocol: holdfast.Anthropic}
	twice := false
	end, err := jsonscan.Object(body, jsonscan.Space(body, 0), func(key []byte, at int) (int, error) {
		switch {
		case string(key) == "messages" && !isNull(body[at:]):
			twice = twice || req.List.Present()
			var err error
			req.List, req.Messages, err = jsonscan.List(body, at, known)
			return req.List.End, err
		case string(key) == "tools" && at < len(body) && body[at] == '[':
			var err error
			req.Tools, req.ToolCount, err = jsonscan.Count(body, at)
			return req.Tools.End, err
		}
		end, err := jsonscan.Skip(body, at)
		if err != nil {
			return 0, err
		}
		value := holdfast.Span{Start: at, End: end}
		switch string(key) {
		case "model":
			req.Model = jsonscan.Text(value.Of(body))
		case "stream":
			req.Stream = string(value.Of(body)) == "true"
		case "system":
			req.System = holdfast.Span{}
			if !isNull(body[at:]) {
				req.System = value
			}
		case "compaction":
			var f [1]holdfast.Span
			if body[at] == '{' {
				_, _ = jsonscan.Fields(body, at, f[:], "type")
			}
			req.Summarize = jsonscan.Text(f[0].Of(body)) == "summarize"
		case "metadata":
			req.UserID = ""
			if body[at] == '{' {
				var f [1]holdfast.Span
				// Skip took this value, so Fields takes it too.
				_, _ = jsonscan.Fields(body, at, f[:], "user_id")
				req.UserID = jsonscan.Text(f[0].Of(body))
			}
		}
		return end, nil
	})
	if err == nil && jsonscan.Space(body, end) < len(body) {
		err = &jsonscan.SyntaxError{At: end, Want: "nothing behind the object"}
	}
	if err == nil && twice {
		err = errors.New("messages stands there twice")
	}
	if err != nil {
		return holdfast.Request{}, unreadable("request", err)
	}
	return req, nil
}

// Tools reads the tools value of a request. Entries without a name are left
// out; nil when raw is not a list.
func (Codec) Tools(raw []byte) (tools []holdfast.Tool) {
	for _, s := range jsonscan.Elements(raw, jsonscan.Space(raw, 0)) {
		var f [3]holdfast.Span
		if _, err := jsonscan.Fields(raw, s.Start, f[:], "name", "type", "input_schema"); err != nil {
			continue
		}
		name, kind := jsonscan.Text(f[0].Of(raw)), jsonscan.Text(f[1].Of(raw))
		if name != "" {
			tools = append(tools, holdfast.Tool{Name: name, Server: !f[2].Present() && kind != "" && kind != "custom"})
		}
	}
	return tools
}

// SystemTexts reads the text blocks of the system value of a request, each cut
// to max bytes between two characters.
func (Codec) SystemTexts(raw []byte, max int) (texts []string) {
	for _, b := range blocks(raw) {
		if b.kind == "text" {
			texts = append(texts, string(jsonscan.AppendText(nil, b.of(fieldText), max)))
		}
	}
	return texts
}

func isNull(b []byte) bool { return len(b) >= 4 && string(b[:4]) == "null" }

func unreadable(what string, err error) error {
	return holdfast.Errorf(holdfast.ErrUsage, "The %s is not readable as Messages API: %w. Check what sent it.", what, err)
}
