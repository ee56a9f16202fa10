package anthropic

import (
	"encoding/base64"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonwrite"
	"github.com/holdfast-dev/holdfast/wire/internal/outgoing"
)

// defaultMaxOutput stands for the bound that a call does not have: the API asks
// for one. Every model that is still served takes it.
const defaultMaxOutput = 8192

// mark is what ends a part of the prompt that the provider's cache keeps:
// https://platform.claude.com/docs/en/build-with-claude/prompt-caching.
var mark = []byte(`{"type":"ephemeral"}`)

// WriteCall writes a call as a request that asks for a stream. Equal calls give
// equal bytes; arguments and the opaque state of reasoning go in byte for byte.
//
// Only reasoning that came over this protocol, with its signature, goes back: the
// API refuses any other. With a cache key, the end of the tools, of the system
// text and of the last message are marked for the cache. Media that the API does
// not take is told in words. It fails with the code usage when a schema is no
// JSON object, and with the code internal when the events are no view.
func (Codec) WriteCall(call holdfast.Call) ([]byte, error) {
	if err := outgoing.CheckSchemas(call); err != nil {
		return nil, err
	}
	messages, err := outgoing.Messages(call.Events, signed, false)
	if err != nil {
		return nil, err
	}
	w := writer{caches: call.CacheKey != ""}
	w.Open('{')
	w.Strings("model", call.Model)
	most := call.MaxOutput
	if most == 0 {
		most = defaultMaxOutput
	}
	w.Number("max_tokens", most)
	w.Flag("stream", true)
	if call.System != "" {
		w.Key("system")
		w.Open('[')
		w.Open('{')
		w.Strings("type", "text", "text", call.System)
		w.mark(true)
		w.Close('}')
		w.Close(']')
	}
	w.tools(call.Tools)
	w.Key("messages")
	w.Open('[')
	for i, m := range messages {
		w.message(m, i == len(messages)-1)
	}
	w.Close(']')
	if call.Schema != nil {
		// https://platform.claude.com/docs/en/build-with-claude/structured-outputs
		w.Key("output_config")
		w.Open('{')
		w.Key("format")
		w.Open('{')
		w.Strings("type", "json_schema")
		w.Key("schema")
		w.Raw(call.Schema)
		w.Close('}')
		w.Close('}')
	}
	w.Close('}')
	return w.Bytes(), nil
}

// signed reports whether reasoning is a block of this protocol that the provider
// can check. A block that was broken off has no signature.
func signed(r holdfast.Reasoning) bool {
	if !outgoing.IsObject(r.Opaque) {
		return false
	}
	var f [3]holdfast.Span
	// It is a JSON object, so Fields takes it.
	_, _ = jsonscan.Fields(r.Opaque, jsonscan.Space(r.Opaque, 0), f[:], "type", "signature", "data")
	text := func(i int) string { return jsonscan.Text(f[i].Of(r.Opaque)) }
	return text(0) == "thinking" && text(1) != "" || text(0) == "redacted_thinking" && text(2) != ""
}

// writer writes one request.
type writer struct {
	jsonwrite.Writer
	caches bool
}

// mark ends a part of the prompt that is cached, when it is the last of its kind.
func (w *writer) mark(last bool) {
	if w.caches && last {
		w.Key("cache_control")
		w.Raw(mark)
	}
}

func (w *writer) tools(tools []holdfast.ToolDefinition) {
	if len(tools) == 0 {
		return
	}
	w.Key("tools")
	w.Open('[')
	for i, t := range tools {
		w.Open('{')
		w.Strings("name", t.Name, "description", t.Description)
		w.Key("input_schema")
		w.Raw(outgoing.Parameters(t))
		w.mark(i == len(tools)-1)
		w.Close('}')
	}
	w.Close(']')
}

// message writes one message. The mark of the last one stands in its last block,
// which a thinking block cannot be.
func (w *writer) message(m outgoing.Message, last bool) {
	w.Open('{')
	if m.Model {
		w.Strings("role", "assistant")
	} else {
		w.Strings("role", "user")
	}
	w.Key("content")
	w.Open('[')
	for i, e := range m.Events {
		w.event(e, last && i == len(m.Events)-1)
	}
	for i, r := range m.Results {
		w.result(r, last && i == len(m.Results)-1 && len(m.Parts) == 0)
	}
	for i, p := range m.Parts {
		w.part(p, last && i == len(m.Parts)-1)
	}
	w.Close(']')
	w.Close('}')
}

func (w *writer) event(e holdfast.Event, last bool) {
	switch e := e.(type) {
	case holdfast.Reasoning:
		w.Raw(e.Opaque)
	case holdfast.AssistantMessage:
		w.Open('{')
		w.Strings("type", "text", "text", outgoing.TextOf(e))
		w.mark(last)
		w.Close('}')
	case holdfast.ToolCall:
		w.Open('{')
		w.Strings("type", "tool_use", "id", e.ID, "name", e.Name)
		w.Key("input")
		w.Raw(outgoing.Object(e.Arguments))
		w.mark(last)
		w.Close('}')
	}
}

func (w *writer) result(r outgoing.Result, last bool) {
	w.Open('{')
	w.Strings("type", "tool_result", "tool_use_id", r.CallID)
	w.Key("content")
	w.Open('[')
	for _, p := range r.Parts {
		if t, ok := p.(holdfast.Text); ok && strings.TrimSpace(string(t)) == "" {
			continue // the API refuses texts that say nothing
		}
		w.part(p, false)
	}
	w.Close(']')
	if r.IsError {
		w.Flag("is_error", true)
	}
	w.mark(last)
	w.Close('}')
}

// part writes a text, an image or a document:
// https://platform.claude.com/docs/en/build-with-claude/vision and
// https://platform.claude.com/docs/en/build-with-claude/pdf-support.
func (w *writer) part(p holdfast.Part, last bool) {
	w.Open('{')
	switch p := p.(type) {
	case holdfast.Text:
		w.Strings("type", "text", "text", string(p))
	case holdfast.Media:
		if kind, source := sourceOf(p); kind != "" {
			w.Strings("type", kind)
			w.Key("source")
			w.Open('{')
			w.Strings(source...)
			w.Close('}')
			if kind == "document" && p.Name != "" {
				w.Strings("title", p.Name)
			}
		} else {
			w.Strings("type", "text", "text", outgoing.LeftOut(p))
		}
	}
	w.mark(last)
	w.Close('}')
}

// sourceOf is the block that media is sent as and the members of its source; ""
// for what the API does not take.
func sourceOf(m holdfast.Media) (kind string, source []string) {
	pdf, image := m.MIME == "application/pdf", m.Type == "image"
	switch {
	case m.Data == "" && outgoing.Web(m.URI):
		if kind = "document"; image {
			kind = "image"
		}
		return kind, []string{"type", "url", "url", m.URI}
	case m.Data == "":
		return "", nil
	case image && (m.MIME == "image/jpeg" || m.MIME == "image/png" || m.MIME == "image/gif" || m.MIME == "image/webp"):
		return "image", []string{"type", "base64", "media_type", m.MIME, "data", m.Data}
	case pdf:
		return "document", []string{"type", "base64", "media_type", m.MIME, "data", m.Data}
	case strings.HasPrefix(m.MIME, "text/"):
		if text, err := base64.StdEncoding.DecodeString(m.Data); err == nil {
			return "document", []string{"type", "text", "media_type", "text/plain", "data", string(text)}
		}
	}
	return "", nil
}
