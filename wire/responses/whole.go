package responses

import (
	"bytes"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/wire/internal/media"
)

// Whole reads an element as Decode does, and with it what Decode leaves out: the
// content of reasoning, of media, and of results, which have Parts and no Text.
//
// Opaque of reasoning is the reasoning item byte for byte, encrypted_content and
// id with it; its text is the summary and, where a server gives it, the reasoning
// itself: https://platform.openai.com/docs/guides/reasoning. A part of a result
// of which the type is not known is a text, its JSON. A file of the provider's
// has its id as URI.
func (Codec) Whole(element []byte) ([]holdfast.Event, error) {
	return decode(element, reading{whole: true})
}

// ReadWhole reads an answer as ReadBody does, with its reasoning.
func (Codec) ReadWhole(body []byte) (holdfast.Answer, error) { return readBody(body, true) }

func (it *item) reasoning() holdfast.Reasoning {
	var f [2]holdfast.Span
	// itemAt went through this item, so it is well-formed.
	_, _ = jsonscan.Fields(it.in, it.span.Start, f[:], "summary", "content")
	var text []byte
	for _, list := range f {
		for _, p := range parts(it.in, list) {
			if p.kind != "summary_text" && p.kind != "reasoning_text" && p.kind != "text" {
				continue
			}
			if len(text) > 0 {
				text = append(text, "\n\n"...)
			}
			text = append(text, jsonscan.Text(p.text.Of(it.in))...)
		}
	}
	return holdfast.Reasoning{Text: string(text), Opaque: bytes.Clone(it.span.Of(it.in))}
}

// media reads a part that holds an image, a file or audio:
// https://platform.openai.com/docs/guides/images-vision and
// https://platform.openai.com/docs/guides/pdf-files.
func (p part) media(in []byte) holdfast.Media {
	m := holdfast.Media{Type: media.File}
	var f [6]holdfast.Span
	_, _ = jsonscan.Fields(in, p.span.Start, f[:], "image_url", "file_id", "file_data", "file_url", "filename", "input_audio")
	text := func(i int) string { return jsonscan.Text(f[i].Of(in)) }
	if p.kind == "input_image" {
		m.Type = media.Image
	}
	m.Name = text(4)
	var audio [2]holdfast.Span
	if f[5].Present() {
		// What is no object leaves the spans absent.
		_, _ = jsonscan.Fields(in, f[5].Start, audio[:], "data", "format")
	}
	switch {
	case text(0) != "":
		return media.At(m, text(0))
	case text(2) != "":
		if m = media.At(m, text(2)); m.URI != "" { // base64 alone
			m.Data, m.URI = m.URI, ""
		}
	case text(3) != "":
		return media.At(m, text(3))
	case audio[0].Present():
		m.MIME, m.Data = "audio/"+jsonscan.Text(audio[1].Of(in)), jsonscan.Text(audio[0].Of(in))
	default:
		m.URI = text(1)
	}
	return m
}

func (it *item) resultParts() []holdfast.Part {
	out := []holdfast.Part{}
	for _, p := range parts(it.in, it.fields[fieldOutput]) {
		switch {
		case isText(p.kind):
			out = append(out, holdfast.Text(jsonscan.Text(p.text.Of(it.in))))
		case p.kind == "input_image" || p.kind == "input_file" || p.kind == "input_audio":
			out = append(out, p.media(it.in))
		case p.span.Present():
			out = append(out, holdfast.Text(p.span.Of(it.in)))
		}
	}
	return out
}
