// Package gemini speaks generateContent and streamGenerateContent of the Gemini
// API: it reads requests, answers and streams into the vocabulary, writes calls, and patches
// their bytes in place.
//
// Laws:
//   - Reading never fails on what this version does not know: such an entry is
//     holdfast.Unknown. Only malformed JSON is an error.
//   - Patching changes the bytes it is asked to change and no others.
//   - An answer is patched as a whole or not at all, with one exception that a
//     stream forces: an older block is cut while it passes, before anybody can
//     know whether the answer will succeed.
//   - Text parts of the model that follow one another are one text, thoughts
//     between them left out: a stream cuts a text into parts anywhere, and agents
//     join them. Thoughts in a row are one holdfast.Reasoning, before that text.
//   - Equal calls are written as equal bytes, and what a call holds of JSON (arguments,
//     schemas, the opaque state of reasoning) goes in byte for byte.
//   - A text of the model that is empty or only white space is no event: agents
//     drop it from the history, so it identifies nothing.
//   - Only the first candidate is read. An answer with more is not patched.
//   - A stream has no terminal event: the chunk with the finish reason is the
//     last, and may hold text and usage too. A STOP before any part of the answer
//     is not the end, since servers that translate send it with empty chunks.
//     usageMetadata stays as it came.
//
// Calls: an id on this wire is optional, and agents make new ones when they
// resume, so none is read. The id of a call is the tool's name, "#" and a digest
// of its arguments, in which white space and the escapes of strings make no
// difference. The call id of a result is the tool's name and "#": it answers the
// earliest call before it that has no result yet and whose id begins with that.
// A result that finds none is a repeat (agents send some when they resume). Two
// equal calls have equal ids: an id does not tell one place in a history from
// another, nor one history from another.
//
// Model and stream stand in the path of a request, not in its body, so Scan
// leaves them empty. A stream is read and patched in its event form (alt=sse).
// Without that it is one JSON list of chunks, which is read and patched when all
// of it is there, as a body. Bodies that are wrapped (as agents do with a Google
// login) are not read. Members are read in both spellings that the API takes,
// functionCall and function_call.
//
// Codec is stateless; a Stream, a Live and a Patcher hold the state of one answer. No
// text of a stream is kept, it is hashed as it passes, unless NewWhole made the
// reader. The wire format is
// https://ai.google.dev/api/generate-content and, for parts,
// https://ai.google.dev/api/caching#Content.
package gemini

import (
	"errors"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// Codec reads and patches bodies of the Gemini API. It has no state: the zero
// value is ready and safe for concurrent use.
type Codec struct{}

// Scan finds the parts of a request in one pass, without decoding a content.
// Contents that are one object are a history of one element, as tools that are
// one object are one tool. It fails when the body is malformed JSON or not an
// object, or when contents is of another kind or stands there twice. Of another
// repeated member the last one counts. A member that is null counts as absent.
func (c Codec) Scan(body []byte) (holdfast.Request, error) { return c.Rescan(body, nil) }

// Rescan is Scan of a body of which much may be known: known is asked once for each
// element of the history, in order, where the one ends that begins at a position. It
// returns 0 for what it does not know, and otherwise what a scan would find.
func (Codec) Rescan(body []byte, known func(at int) (end int)) (holdfast.Request, error) {
	req := holdfast.Request{Protocol: holdfast.Gemini}
	twice := false
	end, err := jsonscan.Object(body, jsonscan.Space(body, 0), func(key []byte, at int) (int, error) {
		if string(key) == "contents" && !isNull(body[at:]) {
			twice = twice || req.List.Present()
			req.Messages = nil
			end, err := each(body, at, known, func(s holdfast.Span) { req.Messages = append(req.Messages, s) })
			req.List = holdfast.Span{Start: at, End: end}
			return end, err
		}
		end, err := jsonscan.Skip(body, at)
		if err != nil {
			return 0, err
		}
		value := holdfast.Span{Start: at, End: end}
		if isNull(value.Of(body)) {
			value = holdfast.Span{}
		}
		switch {
		case string(key) == "tools":
			req.Tools, req.ToolCount = value, len(elements(body, value))
		case named(key, "systemInstruction"):
			req.System = value
		}
		return end, nil
	})
	if err == nil && jsonscan.Space(body, end) < len(body) {
		err = &jsonscan.SyntaxError{At: end, Want: "nothing behind the object"}
	}
	if err == nil && twice {
		err = errors.New("contents stands there twice")
	}
	if err != nil {
		return holdfast.Request{}, unreadable("request", err)
	}
	return req, nil
}

// Tools reads the tools value of a request: what functionDeclarations name, and
// each tool that the provider runs by the name of its member (googleSearch).
func (Codec) Tools(raw []byte) (tools []holdfast.Tool) {
	for _, s := range elements(raw, whole(raw)) {
		var own []holdfast.Tool
		_, err := jsonscan.Object(raw, s.Start, func(key []byte, at int) (int, error) {
			end, err := jsonscan.Skip(raw, at)
			switch {
			case err != nil || isNull(raw[at:]):
			case named(key, "functionDeclarations"):
				own = append(own, declared(raw, holdfast.Span{Start: at, End: end})...)
			default:
				own = append(own, holdfast.Tool{Name: string(key), Server: true})
			}
			return end, err
		})
		if err == nil {
			tools = append(tools, own...)
		}
	}
	return tools
}

// declared reads a functionDeclarations value. Entries without a name are left
// out.
func declared(raw []byte, list holdfast.Span) (tools []holdfast.Tool) {
	for _, s := range elements(raw, list) {
		var f [1]holdfast.Span
		fields(raw, s, f[:], "name")
		if name := jsonscan.Text(f[0].Of(raw)); name != "" {
			tools = append(tools, holdfast.Tool{Name: name})
		}
	}
	return tools
}

// SystemTexts reads the text parts of the system value of a request, each cut to
// max bytes between two characters. The value is a content; a bare string or
// part stands for one text.
func (Codec) SystemTexts(raw []byte, max int) (texts []string) {
	value := whole(raw)
	if !value.Present() {
		return nil
	}
	list := []part{{kind: "text", value: value}}
	if raw[value.Start] != '"' {
		var f [1]holdfast.Span
		fields(raw, value, f[:], "parts")
		if list = parts(raw, f[0]); !f[0].Present() {
			list = parts(raw, value)
		}
	}
	for _, p := range list {
		if p.kind == "text" {
			texts = append(texts, string(jsonscan.AppendText(nil, p.value.Of(raw), max)))
		}
	}
	return texts
}

// whole is the span of the value that raw holds; absent when it is malformed.
func whole(raw []byte) holdfast.Span {
	at := jsonscan.Space(raw, 0)
	end, err := jsonscan.Skip(raw, at)
	if err != nil {
		return holdfast.Span{}
	}
	return holdfast.Span{Start: at, End: end}
}

// each visits the elements of the list at in[at], or the one object there, and
// returns where it ends.
func each(in []byte, at int, known func(at int) (end int), visit func(holdfast.Span)) (int, error) {
	element := func(at int) (int, error) {
		end, err := jsonscan.SkipUnless(known, in, at)
		if err == nil {
			visit(holdfast.Span{Start: at, End: end})
		}
		return end, err
	}
	switch {
	case at < len(in) && in[at] == '[':
		return jsonscan.Array(in, at, element)
	case at < len(in) && in[at] == '{':
		return element(at)
	}
	return 0, &jsonscan.SyntaxError{At: at, Want: "a list or an object"}
}

// elements are the elements of a list, or the one object that stands for a list;
// nil for anything else. span is absent, or of a well-formed value.
func elements(in []byte, span holdfast.Span) (list []holdfast.Span) {
	if span.Present() {
		// What is of another kind has none.
		_, _ = each(in, span.Start, nil, func(s holdfast.Span) { list = append(list, s) })
	}
	return list
}

// fields finds named members of the object at span, in both spellings. What is
// no object, or null, leaves the spans absent. span is absent, or of a
// well-formed value.
func fields(in []byte, span holdfast.Span, spans []holdfast.Span, names ...string) {
	if !span.Present() || in[span.Start] != '{' {
		return
	}
	_, _ = jsonscan.Object(in, span.Start, func(key []byte, at int) (int, error) {
		end, err := jsonscan.Skip(in, at)
		for i, name := range names {
			if err == nil && !isNull(in[at:]) && named(key, name) {
				spans[i] = holdfast.Span{Start: at, End: end}
			}
		}
		return end, err
	})
}

// named reports whether key is name, in camel case or with underscores.
func named(key []byte, name string) bool {
	k := 0
	for i := range len(name) {
		c := name[i]
		if k+1 < len(key) && key[k] == '_' && c >= 'A' && c <= 'Z' {
			k, c = k+1, c-'A'+'a'
		}
		if k >= len(key) || key[k] != c {
			return false
		}
		k++
	}
	return k == len(key)
}

func isNull(b []byte) bool { return len(b) >= 4 && string(b[:4]) == "null" }

func unreadable(what string, err error) error {
	return holdfast.Errorf(holdfast.ErrUsage, "The %s is not readable as Gemini API: %w. Check what sent it.", what, err)
}
