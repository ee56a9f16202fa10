package responses

import (
	"regexp"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonwrite"
	"github.com/holdfast-dev/holdfast/wire/internal/outgoing"
)

// WriteCall writes a call as a request that asks for a stream and is not stored
// by the provider. Equal calls give equal bytes; the items of reasoning go in byte
// for byte.
//
// Only reasoning that came over this protocol with its own content goes back: an
// item without any is an id that the provider did not keep
// (https://platform.openai.com/docs/guides/reasoning). Models that do not reason get none
// and are asked for none. Arguments that are no JSON
// object, as an answer has that was cut, become one, since some servers refuse others
// (https://github.com/vllm-project/vllm/pull/48922). Results carry no error
// flag on this wire. Media that the API does not take is told in words. The cache
// key goes in as prompt_cache_key. It fails with the code usage when a schema is
// no JSON object, and with the code internal when the events are no view.
func (Codec) WriteCall(call holdfast.Call) ([]byte, error) {
	if err := outgoing.CheckSchemas(call); err != nil {
		return nil, err
	}
	reasoning := reasons(call.Model)
	messages, err := outgoing.Messages(call.Events, func(r holdfast.Reasoning) bool { return reasoning && carries(r) }, false)
	if err != nil {
		return nil, err
	}
	var w writer
	w.Open('{')
	w.Strings("model", call.Model)
	w.Flag("stream", true)
	w.Flag("store", false)
	if reasoning {
		w.Key("include")
		w.Raw([]byte(`["reasoning.encrypted_content"]`))
	}
	if call.System != "" {
		w.Strings("instructions", call.System)
	}
	if call.CacheKey != "" {
		w.Strings("prompt_cache_key", call.CacheKey)
	}
	if call.MaxOutput > 0 {
		w.Number("max_output_tokens", call.MaxOutput)
	}
	w.tools(call.Tools)
	w.Key("input")
	w.Open('[')
	for _, m := range messages {
		w.message(m)
	}
	w.Close(']')
	if call.Schema != nil {
		w.Key("text")
		w.Open('{')
		w.Key("format")
		w.Open('{')
		w.Strings("type", "json_schema", "name", "answer")
		w.Key("schema")
		w.Raw(call.Schema)
		w.Flag("strict", false)
		w.Close('}')
		w.Close('}')
	}
	w.Close('}')
	return w.Bytes(), nil
}

// silent are OpenAI's models that do not reason, by name. They refuse a call that speaks
// of encrypted reasoning (https://github.com/pydantic/pydantic-ai/issues/2865). All newer
// ones do reason.
var silent = regexp.MustCompile(`^(ft:|.*/)?((chat)?gpt-(4|4o|4\.\d|3\.5)(-|:|$)|gpt-5-chat)`)

func reasons(model string) bool { return !silent.MatchString(model) }

// carries reports whether reasoning is an item of this protocol that holds more
// than its id.
func carries(r holdfast.Reasoning) bool {
	if !outgoing.IsObject(r.Opaque) {
		return false
	}
	var f [3]holdfast.Span
	// It is a JSON object, so Fields takes it.
	_, _ = jsonscan.Fields(r.Opaque, jsonscan.Space(r.Opaque, 0), f[:], "type", "encrypted_content", "content")
	return jsonscan.Text(f[0].Of(r.Opaque)) == "reasoning" &&
		(jsonscan.Text(f[1].Of(r.Opaque)) != "" || len(parts(r.Opaque, f[2])) > 0)
}

// writer writes one request.
type writer struct{ jsonwrite.Writer }

// tools writes the tools with their schemas as they are: what is not told to be
// lax is made strict, and refused where that cannot be.
// https://platform.openai.com/docs/guides/function-calling
func (w *writer) tools(tools []holdfast.ToolDefinition) {
	if len(tools) == 0 {
		return
	}
	w.Key("tools")
	w.Open('[')
	for _, t := range tools {
		w.Open('{')
		w.Strings("type", "function", "name", t.Name, "description", t.Description)
		w.Flag("strict", false)
		w.Key("parameters")
		w.Raw(outgoing.Parameters(t))
		w.Close('}')
	}
	w.Close(']')
}

func (w *writer) message(m outgoing.Message) {
	for _, e := range m.Events {
		switch e := e.(type) {
		case holdfast.Reasoning:
			w.Raw(e.Opaque)
		case holdfast.AssistantMessage:
			// A list of output texts would need an id, which only the provider makes.
			w.Open('{')
			w.Strings("type", "message", "role", "assistant", "content", outgoing.TextOf(e))
			w.Close('}')
		case holdfast.ToolCall:
			w.call(e)
		}
	}
	for _, r := range m.Results {
		w.Open('{')
		w.Strings("type", "function_call_output", "call_id", r.CallID)
		w.Key("output")
		if t, ok := only(r.Parts); ok {
			w.Text(t)
		} else {
			w.content(r.Parts)
		}
		w.Close('}')
	}
	if len(m.Parts) > 0 {
		w.Open('{')
		w.Strings("type", "message", "role", "user")
		w.Key("content")
		w.content(m.Parts)
		w.Close('}')
	}
}

func (w *writer) call(c holdfast.ToolCall) {
	w.Open('{')
	w.Strings("type", "function_call", "call_id", c.ID, "name", c.Name)
	if c.Namespace != "" {
		w.Strings("namespace", c.Namespace)
	}
	w.Strings("arguments", string(outgoing.Object(c.Arguments)))
	w.Close('}')
}

// only is the text of a result that is one text, or none at all.
func only(parts []holdfast.Part) (string, bool) {
	if len(parts) == 0 {
		return "", true
	}
	t, ok := parts[0].(holdfast.Text)
	return string(t), ok && len(parts) == 1
}

// content writes the parts of a message of the user or of a result:
// https://platform.openai.com/docs/api-reference/responses/create.
func (w *writer) content(parts []holdfast.Part) {
	w.Open('[')
	for _, p := range parts {
		w.Open('{')
		switch p := p.(type) {
		case holdfast.Text:
			w.Strings("type", "input_text", "text", string(p))
		case holdfast.Media:
			w.media(p)
		}
		w.Close('}')
	}
	w.Close(']')
}

func (w *writer) media(m holdfast.Media) {
	own := strings.HasPrefix(m.URI, "file-") // the id of a file at the provider
	switch image := m.Type == "image"; {
	case image && m.Data != "":
		w.Strings("type", "input_image", "image_url", outgoing.DataURL(m))
	case image && outgoing.Web(m.URI):
		w.Strings("type", "input_image", "image_url", m.URI)
	case image && own:
		w.Strings("type", "input_image", "file_id", m.URI)
	case strings.HasPrefix(m.MIME, "audio/"):
		w.Strings("type", "input_text", "text", outgoing.LeftOut(m))
	case m.Data != "":
		name := m.Name
		if name == "" {
			name = "file"
		}
		w.Strings("type", "input_file", "filename", name, "file_data", outgoing.DataURL(m))
	case outgoing.Web(m.URI):
		w.Strings("type", "input_file", "file_url", m.URI)
	case own:
		w.Strings("type", "input_file", "file_id", m.URI)
	default:
		w.Strings("type", "input_text", "text", outgoing.LeftOut(m))
	}
}
