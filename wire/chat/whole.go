package chat

import (
	"bytes"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/wire/internal/media"
)

// Whole reads an element as Decode does, and with it what Decode leaves out: the
// content of reasoning, of media, and of results, which have Parts and no Text.
//
// The text of reasoning is reasoning_content, else reasoning. Opaque is the list
// reasoning_details byte for byte, which OpenRouter wants back as it was:
// https://openrouter.ai/docs/guides/best-practices/reasoning-tokens. A part of a
// result of which the type is not known is a text, its JSON. A file of the
// provider's has its id as URI.
func (Codec) Whole(element []byte) ([]holdfast.Event, error) {
	return decode(element, reading{whole: true})
}

// ReadWhole reads an answer as ReadBody does, with its reasoning.
func (Codec) ReadWhole(body []byte) (holdfast.Answer, error) { return readBody(body, true) }

// details is the list reasoning_details; nil when there is none or it is empty.
func (m *message) details() []byte {
	if m.in == nil {
		return nil
	}
	var f [1]holdfast.Span
	// messageAt went through this message, so it is well-formed.
	_, _ = jsonscan.Fields(m.in, m.start, f[:], "reasoning_details")
	if lit := f[0].Of(m.in); len(jsonscan.Elements(lit, 0)) > 0 {
		return lit
	}
	return nil
}

// thought is the literal of the reasoning in the clear; nil when there is none.
func (m *message) thought() []byte {
	for _, field := range []int{fieldReasoningContent, fieldReasoning} {
		if m.says(field) {
			return m.of(field)
		}
	}
	return nil
}

func (m *message) reasoning() (r holdfast.Reasoning, ok bool) {
	r = holdfast.Reasoning{Text: jsonscan.Text(m.thought()), Opaque: bytes.Clone(m.details())}
	return r, r.Text != "" || r.Opaque != nil
}

// media reads a part that holds an image, a video, a file or audio:
// https://platform.openai.com/docs/api-reference/chat/create, and for videos
// https://openrouter.ai/docs/guides/overview/multimodal/videos.
func (p part) media(in []byte) holdfast.Media {
	m := holdfast.Media{Type: media.File}
	if p.kind == "image_url" {
		m.Type = media.Image
	}
	var f [1]holdfast.Span
	_, _ = jsonscan.Fields(in, p.span.Start, f[:], p.kind)
	value := f[0]
	if !value.Present() {
		return m
	}
	if in[value.Start] == '"' { // servers take an address alone
		return media.At(m, jsonscan.Text(value.Of(in)))
	}
	var s [6]holdfast.Span
	// What is no object leaves the spans absent.
	_, _ = jsonscan.Fields(in, value.Start, s[:], "url", "data", "format", "file_data", "file_id", "filename")
	text := func(i int) string { return jsonscan.Text(s[i].Of(in)) }
	m.Name = text(5)
	switch {
	case text(0) != "":
		m = media.At(m, text(0))
	case text(1) != "":
		m.MIME, m.Data = "audio/"+text(2), text(1)
	case text(3) != "":
		if m = media.At(m, text(3)); m.URI != "" { // base64 alone
			m.Data, m.URI = m.URI, ""
		}
	default:
		m.URI = text(4)
	}
	return m
}

func (m *message) resultParts() []holdfast.Part {
	out := []holdfast.Part{}
	for _, p := range parts(m.in, m.fields[fieldContent]) {
		switch {
		case p.kind == "text":
			out = append(out, holdfast.Text(jsonscan.Text(p.text.Of(m.in))))
		case p.kind == "image_url" || p.kind == "input_audio" || p.kind == "video_url" || p.kind == "file":
			out = append(out, p.media(m.in))
		case p.span.Present():
			out = append(out, holdfast.Text(p.span.Of(m.in)))
		}
	}
	return out
}
