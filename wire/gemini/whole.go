package gemini

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/wire/internal/media"
)

// Whole reads an element as Decode does, and with it what Decode leaves out: the
// content of reasoning, of media, and of results, which have Parts and no Text.
//
// The text of reasoning is that of the parts that are thoughts. A thoughtSignature
// may stand in a part of any kind: Opaque is an object with that member byte for
// byte, of reasoning that comes before the event of the part, or that is the
// part. Where two stand in one text, each has reasoning of its own:
// https://ai.google.dev/gemini-api/docs/thought-signatures.
func (Codec) Whole(element []byte) ([]holdfast.Event, error) {
	return decode(element, reading{whole: true})
}

// ReadWhole reads an answer as ReadBody does, with its reasoning.
func (Codec) ReadWhole(body []byte) (holdfast.Answer, error) { return readBody(body, true) }

// reason takes what a part says of reasoning.
func (l *log) reason(in []byte, p part) {
	var f [1]holdfast.Span
	fields(in, p.span, f[:], "thoughtSignature")
	signature := f[0].Of(in)
	if p.kind != "thought" && len(signature) == 0 {
		return
	}
	size := len(signature)
	if p.kind == "thought" {
		size += len(p.value.Of(in))
	}
	if !l.holds(size) {
		return
	}
	if p.kind != "thought" && p.kind != "text" && p.counts() {
		l.events = l.read() // the signature is not of the text before
	}
	r, goesOn := l.reasoning()
	if !goesOn || r.Opaque != nil && len(signature) > 0 {
		l.think = jsonscan.Joiner{}
		l.events = append(l.events, holdfast.Reasoning{})
		r = holdfast.Reasoning{}
	}
	if p.kind == "thought" {
		r.Text = string(l.think.Append([]byte(r.Text), p.value.Of(in)))
	}
	if len(signature) > 0 {
		r.Opaque = slices.Concat([]byte(`{"thoughtSignature":`), signature, []byte("}"))
	}
	l.events[len(l.events)-1] = r
}

// mediaOf reads inlineData or fileData: https://ai.google.dev/api/caching#Blob and
// https://ai.google.dev/api/caching#FileData.
func mediaOf(in []byte, p part) holdfast.Media {
	var f [4]holdfast.Span
	fields(in, p.value, f[:], "mimeType", "data", "fileUri", "displayName")
	text := func(i int) string { return jsonscan.Text(f[i].Of(in)) }
	return holdfast.Media{Type: media.TypeOf(text(0)), MIME: text(0), Name: text(3), Data: text(1), URI: text(2)}
}

// resultParts is what a function response says, with the media beside it:
// https://ai.google.dev/api/caching#FunctionResponse.
func resultParts(in []byte, value holdfast.Span, says []byte) []holdfast.Part {
	out := []holdfast.Part{}
	switch {
	case len(says) > 0 && says[0] == '"':
		out = append(out, holdfast.Text(jsonscan.Text(says)))
	case len(says) > 0:
		out = append(out, holdfast.Text(says))
	}
	var f [1]holdfast.Span
	fields(in, value, f[:], "parts")
	for _, p := range parts(in, f[0]) {
		if p.kind == "inlineData" || p.kind == "fileData" {
			out = append(out, mediaOf(in, p))
		}
	}
	return out
}
