// Package chat speaks Chat Completions: it reads requests, answers and streams
// into the vocabulary, writes calls, and patches their bytes in place. Many servers speak it,
// each a little differently; what is said here of OpenAI holds for all.
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
//   - Only the first choice is read. An answer with more is not patched.
//   - The parts of one message have a fixed order: reasoning, text, refusal,
//     calls. In a stream they may come mixed.
//   - What a stream ends with is the frame [DONE]. Some servers leave it out:
//     their answer is whole once it gave a finish reason. So a client may act on
//     either, and a Patcher holds both.
//   - A call without an id (the older function_call) gets one from its name and
//     arguments, and its result one that names the tool only: the id of the call
//     begins with it. Such an id does not tell one place in a history from
//     another.
//
// Codec is stateless; a Stream, a Live and a Patcher hold the state of one answer. No
// text of a stream is kept, it is hashed as it passes, unless NewWhole made the
// reader. The wire format is
// https://platform.openai.com/docs/api-reference/chat and, for streams,
// https://platform.openai.com/docs/api-reference/chat-streaming; reasoning_content
// is of https://api-docs.deepseek.com/guides/reasoning_model, and comments and
// errors inside a stream of
// https://openrouter.ai/docs/api/reference/streaming.
package chat

import (
	"errors"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// Codec reads and patches bodies of Chat Completions. It has no state: the zero
// value is ready and safe for concurrent use.
type Codec struct{}

// Scan finds the parts of a request in one pass. Of the messages only the first
// is looked into: when its role is system or developer, its content is System.
// Scan fails when the body is malformed JSON or not an object, or when messages
// is not a list or stands there twice. Of another repeated member the last one
// counts. A member that is null counts as absent.
func (c Codec) Scan(body []byte) (holdfast.Request, error) { return c.Rescan(body, nil) }

// Rescan is Scan of a body of which much may be known: known is asked once for each
// element of the history, in order, where the one ends that begins at a position. It
// returns 0 for what it does not know, and otherwise what a scan would find.
func (Codec) Rescan(body []byte, known func(at int) (end int)) (holdfast.Request, error) {
	req := holdfast.Request{Protocol: holdfast.Chat}
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
		case "prompt_cache_key":
			req.CacheKey = jsonscan.Text(value.Of(body))
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
	if len(req.Messages) > 0 {
		req.System = systemOf(body, req.Messages[0].Start)
	}
	return req, nil
}

// systemOf is the content of the message at body[at] when it is the system's.
func systemOf(body []byte, at int) holdfast.Span {
	var f [2]holdfast.Span
	// Scan took this value; what is no object leaves the spans absent.
	_, _ = jsonscan.Fields(body, at, f[:], "role", "content")
	if role := jsonscan.Text(f[0].Of(body)); !isSystem(role) || isNull(f[1].Of(body)) {
		return holdfast.Span{}
	}
	return f[1]
}

func isSystem(role string) bool { return role == "system" || role == "developer" }

// Tools reads the tools value of a request. A tool that is neither function nor
// custom is the provider's, and is named by its type when it has no name. nil
// when raw is not a list.
func (Codec) Tools(raw []byte) (tools []holdfast.Tool) {
	for _, s := range jsonscan.Elements(raw, jsonscan.Space(raw, 0)) {
		var f [4]holdfast.Span
		if _, err := jsonscan.Fields(raw, s.Start, f[:], "type", "function", "custom", "name"); err != nil {
			continue
		}
		kind, own := jsonscan.Text(f[0].Of(raw)), holdfast.Span{}
		switch kind {
		case "function", "":
			own = f[1]
		case "custom":
			own = f[2]
		}
		if own.Present() {
			var n [1]holdfast.Span
			// Elements took this value; what is no object leaves the span absent.
			_, _ = jsonscan.Fields(raw, own.Start, n[:], "name")
			if name := jsonscan.Text(n[0].Of(raw)); name != "" {
				tools = append(tools, holdfast.Tool{Name: name})
			}
			continue
		}
		name := jsonscan.Text(f[3].Of(raw))
		if name == "" {
			name = kind
		}
		if name != "" && kind != "function" && kind != "custom" {
			tools = append(tools, holdfast.Tool{Name: name, Server: true})
		}
	}
	return tools
}

// SystemTexts reads the texts of the system value of a request, each cut to max
// bytes between two characters.
func (Codec) SystemTexts(raw []byte, max int) (texts []string) {
	whole := holdfast.Span{Start: jsonscan.Space(raw, 0), End: len(raw)}
	for _, p := range parts(raw, whole) {
		if p.kind == "text" {
			texts = append(texts, string(jsonscan.AppendText(nil, p.text.Of(raw), max)))
		}
	}
	return texts
}

func isNull(b []byte) bool { return len(b) >= 4 && string(b[:4]) == "null" }

func unreadable(what string, err error) error {
	return holdfast.Errorf(holdfast.ErrUsage, "The %s is not readable as Chat Completions: %w. Check what sent it.", what, err)
}
