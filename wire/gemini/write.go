package gemini

import (
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonwrite"
	"github.com/holdfast-dev/holdfast/wire/internal/outgoing"
)

// foreign stands for the signature of a call that another model made, or that a
// compaction took out: newer models refuse a call of the turn without one.
// https://ai.google.dev/gemini-api/docs/thought-signatures
const foreign = "skip_thought_signature_validator"

// WriteCall writes the body of a call to streamGenerateContent. The model stands
// in the path, so only the form of the body depends on it. Equal calls give equal
// bytes; arguments and signatures go in byte for byte.
//
// A thoughtSignature goes back into the part that it came with: the one behind
// the reasoning that holds it. The text of reasoning stays out, since thoughts are
// a summary for people. Calls have no ids on this wire: a result stands behind its
// call. Images and documents in results go to models that take them; else they,
// and all media without a type, are told in words. Caching needs no marks. It
// fails with the code usage when a schema is no JSON object, and with the code
// internal when the events are no view.
func (Codec) WriteCall(call holdfast.Call) ([]byte, error) {
	if err := outgoing.CheckSchemas(call); err != nil {
		return nil, err
	}
	messages, err := outgoing.Messages(call.Events, func(r holdfast.Reasoning) bool { return signatureOf(r) != nil }, true)
	if err != nil {
		return nil, err
	}
	w := writer{newer: isNewer(call.Model)}
	w.Open('{')
	if call.System != "" {
		w.Key("systemInstruction")
		w.Open('{')
		w.Key("parts")
		w.Open('[')
		w.text(call.System)
		w.Close(']')
		w.Close('}')
	}
	w.tools(call.Tools)
	w.Key("contents")
	w.Open('[')
	turn := turnStart(messages)
	for i, m := range messages {
		w.content(m, i > turn)
	}
	w.Close(']')
	if call.MaxOutput > 0 || call.Schema != nil {
		w.Key("generationConfig")
		w.Open('{')
		if call.MaxOutput > 0 {
			w.Number("maxOutputTokens", call.MaxOutput)
		}
		if call.Schema != nil {
			// https://ai.google.dev/gemini-api/docs/structured-output
			w.Strings("responseMimeType", "application/json")
			w.Key("responseJsonSchema")
			w.Raw(call.Schema)
		}
		w.Close('}')
	}
	w.Close('}')
	return w.Bytes(), nil
}

// isNewer reports whether a model is of Gemini 3 or later, going by its name.
func isNewer(model string) bool {
	_, version, ok := strings.Cut(model, "gemini-")
	return ok && !strings.HasPrefix(version, "1") && !strings.HasPrefix(version, "2")
}

// turnStart is the last message in which the user says something: signatures are
// checked behind it.
func turnStart(messages []outgoing.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if len(messages[i].Parts) > 0 {
			return i
		}
	}
	return -1
}

// signatureOf is the literal of the signature that reasoning holds; nil when it
// did not come over this protocol.
func signatureOf(r holdfast.Reasoning) []byte {
	if !outgoing.IsObject(r.Opaque) {
		return nil
	}
	var f [1]holdfast.Span
	fields(r.Opaque, whole(r.Opaque), f[:], "thoughtSignature")
	if lit := f[0].Of(r.Opaque); jsonscan.Text(lit) != "" {
		return lit
	}
	return nil
}

// writer writes one request.
type writer struct {
	jsonwrite.Writer
	// newer tells of a model that checks signatures and takes media in results.
	newer bool
}

// text writes a part that is a text.
func (w *writer) text(s string) {
	w.Open('{')
	w.Strings("text", s)
	w.Close('}')
}

func (w *writer) tools(tools []holdfast.ToolDefinition) {
	if len(tools) == 0 {
		return
	}
	w.Key("tools")
	w.Open('[')
	w.Open('{')
	w.Key("functionDeclarations")
	w.Open('[')
	for _, t := range tools {
		w.Open('{')
		w.Strings("name", t.Name, "description", t.Description)
		if t.Schema != nil {
			w.Key("parametersJsonSchema")
			w.Raw(t.Schema)
		}
		w.Close('}')
	}
	w.Close(']')
	w.Close('}')
	w.Close(']')
}

// content writes one message. checked tells that signatures are looked at in it.
func (w *writer) content(m outgoing.Message, checked bool) {
	w.Open('{')
	role := "user"
	if m.Model {
		role = "model"
	}
	w.Strings("role", role)
	w.Key("parts")
	w.Open('[')
	w.model(m.Events, checked && w.newer)
	for _, r := range m.Results {
		w.result(r)
	}
	for _, p := range m.Parts {
		switch p := p.(type) {
		case holdfast.Text:
			w.text(string(p))
		case holdfast.Media:
			if sendable(p) {
				w.media(p)
			} else {
				w.text(outgoing.LeftOut(p))
			}
		}
	}
	w.Close(']')
	w.Close('}')
}

// model writes the parts of the model. Of parallel calls the first has the
// signature.
func (w *writer) model(events []holdfast.Event, checked bool) {
	var signature []byte // of the part that comes next
	sign := func() {
		if signature != nil {
			w.Key("thoughtSignature")
			w.Raw(signature)
			signature = nil
		}
	}
	alone := func() {
		if signature != nil {
			w.Open('{')
			w.Strings("text", "")
			sign()
			w.Close('}')
		}
	}
	called := false
	for _, e := range events {
		switch e := e.(type) {
		case holdfast.Reasoning:
			alone()
			signature = signatureOf(e)
		case holdfast.AssistantMessage:
			w.Open('{')
			w.Strings("text", outgoing.TextOf(e))
			sign()
			w.Close('}')
		case holdfast.ToolCall:
			if checked && !called && signature == nil {
				signature = jsonscan.AppendQuote(nil, foreign)
			}
			called = true
			w.Open('{')
			w.Key("functionCall")
			w.Open('{')
			w.Strings("name", e.Name)
			w.Key("args")
			w.Raw(outgoing.Object(e.Arguments))
			w.Close('}')
			sign()
			w.Close('}')
		}
	}
	alone()
}

// result writes a function response:
// https://ai.google.dev/gemini-api/docs/function-calling.
func (w *writer) result(r outgoing.Result) {
	var words, media []holdfast.Part
	for _, p := range r.Parts {
		if m, ok := p.(holdfast.Media); ok && w.newer && inResults(m) {
			media = append(media, p)
		} else {
			words = append(words, p)
		}
	}
	says := "output"
	if r.IsError {
		says = "error"
	}
	w.Open('{')
	w.Key("functionResponse")
	w.Open('{')
	w.Strings("name", r.Name)
	w.Key("response")
	w.Open('{')
	w.Strings(says, outgoing.Words(words))
	w.Close('}')
	if len(media) > 0 {
		w.Key("parts")
		w.Open('[')
		for _, p := range media {
			w.media(p.(holdfast.Media))
		}
		w.Close(']')
	}
	w.Close('}')
	w.Close('}')
}

// inResults reports whether a result can hold the media.
func inResults(m holdfast.Media) bool {
	switch m.MIME {
	case "image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain":
		return m.Data != ""
	}
	return false
}

// sendable reports whether the media has what the API asks for.
func sendable(m holdfast.Media) bool { return m.MIME != "" && (m.Data != "" || m.URI != "") }

// media writes a part with content or with an address:
// https://ai.google.dev/api/caching#Blob.
func (w *writer) media(m holdfast.Media) {
	w.Open('{')
	if m.Data != "" {
		w.Key("inlineData")
		w.Open('{')
		w.Strings("mimeType", m.MIME, "data", m.Data)
	} else {
		w.Key("fileData")
		w.Open('{')
		w.Strings("mimeType", m.MIME, "fileUri", m.URI)
	}
	w.Close('}')
	w.Close('}')
}
