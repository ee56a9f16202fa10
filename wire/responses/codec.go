// Package responses speaks the Responses API: it reads requests, answers and
// streams into the vocabulary, writes calls, and patches their bytes in place.
//
// Laws:
//   - Reading never fails on what this version does not know: such an entry is
//     holdfast.Unknown. Only malformed JSON is an error.
//   - Patching changes the bytes it is asked to change and no others.
//   - An answer says each text several times (deltas, done events, the item, the
//     final response): a patch says the same in all of them.
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
// https://platform.openai.com/docs/api-reference/responses and, for streams,
// https://platform.openai.com/docs/api-reference/responses-streaming.
package responses

import (
	"errors"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// Codec reads and patches bodies of the Responses API. It has no state: the
// zero value is ready and safe for concurrent use.
type Codec struct{}

// Scan finds the parts of a request in one pass, without decoding an item. An
// input that is one string or one object is a history of one element. It fails
// when the body is malformed JSON or not an object, or when input is of another
// kind or stands there twice. Of another repeated member the last one counts. A
// member that is null counts as absent.
func (c Codec) Scan(body []byte) (holdfast.Request, error) { return c.Rescan(body, nil) }

// Rescan is Scan of a body of which much may be known: known is asked once for each
// element of the history, in order, where the one ends that begins at a position. It
// returns 0 for what it does not know, and otherwise what a scan would find.
func (Codec) Rescan(body []byte, known func(at int) (end int)) (holdfast.Request, error) {
	req := holdfast.Request{Protocol: holdfast.Responses}
	twice := false
	end, err := jsonscan.Object(body, jsonscan.Space(body, 0), func(key []byte, at int) (int, error) {
		switch {
		case string(key) == "input" && !isNull(body[at:]):
			twice = twice || req.List.Present()
			end, err := scanInput(body, at, &req, known)
			req.List = holdfast.Span{Start: at, End: end}
			return end, err
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
		case "previous_response_id":
			req.PreviousResponse = jsonscan.Text(value.Of(body))
		case "prompt_cache_key":
			req.CacheKey = jsonscan.Text(value.Of(body))
		case "instructions":
			req.System = holdfast.Span{}
			if !isNull(body[at:]) {
				req.System = value
			}
		}
		return end, nil
	})
	if err == nil && jsonscan.Space(body, end) < len(body) {
		err = &jsonscan.SyntaxError{At: end, Want: "nothing behind the object"}
	}
	if err == nil && twice {
		err = errors.New("input stands there twice")
	}
	if err != nil {
		return holdfast.Request{}, unreadable("request", err)
	}
	return req, nil
}

// scanInput finds the elements of the input at body[at] and returns its end.
func scanInput(body []byte, at int, req *holdfast.Request, known func(at int) (end int)) (int, error) {
	req.Messages = nil
	element := func(at int) (int, error) {
		end, err := jsonscan.SkipUnless(known, body, at)
		req.Messages = append(req.Messages, holdfast.Span{Start: at, End: end})
		return end, err
	}
	switch {
	case at < len(body) && body[at] == '[':
		return jsonscan.Array(body, at, element)
	case at < len(body) && (body[at] == '"' || body[at] == '{'):
		return element(at)
	}
	return 0, &jsonscan.SyntaxError{At: at, Want: "a list, a string or an object"}
}

// Tools reads the tools value of a request, the tools of namespaces among the
// others. A tool that is neither function nor custom is the provider's; one
// without a name is named by its type. nil when raw is not a list.
func (c Codec) Tools(raw []byte) (tools []holdfast.Tool) {
	for _, s := range jsonscan.Elements(raw, jsonscan.Space(raw, 0)) {
		var f [3]holdfast.Span
		if _, err := jsonscan.Fields(raw, s.Start, f[:], "name", "type", "tools"); err != nil {
			continue
		}
		name, kind := jsonscan.Text(f[0].Of(raw)), jsonscan.Text(f[1].Of(raw))
		switch kind {
		case "namespace":
			tools = append(tools, c.Tools(f[2].Of(raw))...)
		case "function", "custom":
			if name != "" {
				tools = append(tools, holdfast.Tool{Name: name})
			}
		default:
			if name == "" {
				name = kind
			}
			if name != "" {
				tools = append(tools, holdfast.Tool{Name: name, Server: true})
			}
		}
	}
	return tools
}

// SystemTexts reads the instructions of a request, cut to max bytes between two
// characters; nil when they are not a string.
func (Codec) SystemTexts(raw []byte, max int) []string {
	if len(raw) == 0 || raw[0] != '"' {
		return nil
	}
	return []string{string(jsonscan.AppendText(nil, raw, max))}
}

func isNull(b []byte) bool { return len(b) >= 4 && string(b[:4]) == "null" }

func unreadable(what string, err error) error {
	return holdfast.Errorf(holdfast.ErrUsage, "The %s is not readable as Responses API: %w. Check what sent it.", what, err)
}
