package anthropic

import (
	"bytes"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/wire/internal/media"
)

// Whole reads an element as Decode does, and with it what Decode leaves out: the
// content of reasoning, of media, and of results, which have Parts and no Text.
//
// Opaque of reasoning is the thinking or redacted_thinking block byte for byte:
// https://platform.claude.com/docs/en/build-with-claude/extended-thinking. What
// is known of a block in a result by its type only is a text, its JSON. A file of
// the provider's has its id as URI.
func (Codec) Whole(element []byte) ([]holdfast.Event, error) {
	return decode(element, reading{whole: true})
}

// ReadWhole reads an answer as ReadBody does, with its reasoning.
func (Codec) ReadWhole(body []byte) (holdfast.Answer, error) { return readBody(body, true) }

func (b *block) reasoning() holdfast.Reasoning {
	var f [1]holdfast.Span
	// blockAt went through this block, so it is well-formed.
	_, _ = jsonscan.Fields(b.in, b.span.Start, f[:], "thinking")
	return holdfast.Reasoning{Text: jsonscan.Text(f[0].Of(b.in)), Opaque: bytes.Clone(b.span.Of(b.in))}
}

// media reads an image or a document:
// https://platform.claude.com/docs/en/build-with-claude/vision and
// https://platform.claude.com/docs/en/build-with-claude/pdf-support.
func (b *block) media() holdfast.Media {
	m := holdfast.Media{Type: media.File}
	if b.kind == "image" {
		m.Type = media.Image
	}
	var f [2]holdfast.Span
	_, _ = jsonscan.Fields(b.in, b.span.Start, f[:], "source", "title")
	m.Name = jsonscan.Text(f[1].Of(b.in))
	var s [6]holdfast.Span
	if f[0].Present() {
		// What is no object leaves the spans absent.
		_, _ = jsonscan.Fields(b.in, f[0].Start, s[:], "type", "media_type", "data", "url", "file_id", "content")
	}
	text := func(i int) string { return jsonscan.Text(s[i].Of(b.in)) }
	m.MIME = text(1)
	switch kind := text(0); kind {
	case "base64":
		m.Data = text(2)
	case "text":
		m = media.Text(m, text(2))
	case "content":
		m = media.Text(m, joined(s[5].Of(b.in)))
	case "url":
		m = media.At(m, text(3))
	case "file":
		m.URI = text(4)
	}
	return m
}

// joined is the text of a content value, whole.
func joined(content []byte) string {
	var text []byte
	for _, b := range blocks(content) {
		if b.kind == "text" {
			if len(text) > 0 {
				text = append(text, '\n')
			}
			text = append(text, jsonscan.Text(b.of(fieldText))...)
		}
	}
	return string(text)
}

func resultParts(content []byte) []holdfast.Part {
	parts := []holdfast.Part{}
	for _, b := range blocks(content) {
		switch b.kind {
		case "text":
			parts = append(parts, holdfast.Text(jsonscan.Text(b.of(fieldText))))
		case "image", "document":
			parts = append(parts, b.media())
		default:
			if b.span.Present() {
				parts = append(parts, holdfast.Text(b.span.Of(b.in)))
			}
		}
	}
	return parts
}
