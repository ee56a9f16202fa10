package chat

import (
	"bytes"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonwrite"
	"github.com/holdfast-dev/holdfast/wire/internal/outgoing"
)

// WriteCall writes a call as a request that asks for a stream with its usage, in
// the form that servers of many makers take. Equal calls give equal bytes.
//
// Reasoning goes back as it came: the list reasoning_details byte for byte where
// there is one, else its text as reasoning_content, without which DeepSeek
// refuses a history with tool calls
// (https://api-docs.deepseek.com/guides/thinking_mode). Texts of the model come
// before its calls, whatever their order was: a message has one place for each.
// Arguments that are no JSON object, as an answer has that was cut, become one:
// servers read them again with each request and refuse others
// (https://github.com/vllm-project/vllm/issues/47761).
// Results hold texts only, and no error flag; media in them, and media that the
// protocol does not take, is told in words. The cache needs no marks on this
// wire. It fails with the code usage when a schema is no JSON object, and with
// the code internal when the events are no view.
func (Codec) WriteCall(call holdfast.Call) ([]byte, error) {
	return write(call, form{most: "max_tokens", reasoning: true})
}

// WriteOpenAI writes a call as WriteCall does, in the form that OpenAI itself
// takes: it bounds answers by max_completion_tokens, since its reasoning models
// refuse max_tokens, and it has no place for reasoning.
// https://platform.openai.com/docs/api-reference/chat/create
func (Codec) WriteOpenAI(call holdfast.Call) ([]byte, error) {
	return write(call, form{most: "max_completion_tokens"})
}

// WriteStrict writes a call as WriteCall does, in the form of servers that refuse what
// they do not know: without reasoning, which Groq, Cerebras and Mistral have another
// place for, or none, and with ids of nine letters or digits, which Mistral asks for.
// https://github.com/QwenLM/qwen-code/issues/11045,
// https://github.com/tashfeenahmed/freellmapi/issues/1070 and
// https://mistralai.github.io/mistral-common/usage/tools/
func (Codec) WriteStrict(call holdfast.Call) ([]byte, error) {
	return write(call, form{most: "max_tokens", nine: true})
}

// WriteDeepSeek writes a call as WriteCall does, in the form of DeepSeek, which refuses a
// schema and knows JSON alone (https://api-docs.deepseek.com/guides/json_mode): the
// schema stands in the system text, which must speak of JSON.
func (Codec) WriteDeepSeek(call holdfast.Call) ([]byte, error) {
	return write(call, form{most: "max_tokens", reasoning: true, told: true})
}

// form is what servers differ in.
type form struct {
	most      string // the name of the bound
	reasoning bool   // goes back
	nine      bool   // ids have so many characters
	told      bool   // the schema is, in words
}

func write(call holdfast.Call, how form) ([]byte, error) {
	if err := outgoing.CheckSchemas(call); err != nil {
		return nil, err
	}
	messages, err := outgoing.Messages(call.Events, func(r holdfast.Reasoning) bool {
		return how.reasoning && (outgoing.IsList(r.Opaque) || r.Opaque == nil && r.Text != "")
	}, false)
	if err != nil {
		return nil, err
	}
	w := writer{nine: how.nine}
	w.Open('{')
	w.Strings("model", call.Model)
	w.Flag("stream", true)
	w.Key("stream_options")
	w.Raw([]byte(`{"include_usage":true}`))
	if call.MaxOutput > 0 {
		w.Number(how.most, call.MaxOutput)
	}
	w.Key("messages")
	w.Open('[')
	system := call.System
	if how.told && call.Schema != nil {
		if system != "" {
			system += "\n\n"
		}
		system += "Answer with one JSON value, and nothing beside it, that follows this JSON schema:\n" + string(call.Schema)
	}
	if system != "" {
		w.Open('{')
		w.Strings("role", "system", "content", system)
		w.Close('}')
	}
	for _, m := range messages {
		if m.Model {
			w.answer(m.Events)
			continue
		}
		for _, r := range m.Results {
			w.Open('{')
			w.Strings("role", "tool", "tool_call_id", w.id(r.CallID), "content", outgoing.Words(r.Parts))
			w.Close('}')
		}
		w.user(m.Parts)
	}
	w.Close(']')
	w.tools(call.Tools)
	if call.Schema != nil {
		w.format(call.Schema, how.told)
	}
	w.Close('}')
	return w.Bytes(), nil
}

// writer writes one request.
type writer struct {
	jsonwrite.Writer
	nine bool
}

// id is the id of a call as the server takes it.
func (w *writer) id(id string) string {
	other := func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') }
	if !w.nine || len(id) == 9 && strings.IndexFunc(id, other) < 0 {
		return id
	}
	return holdfast.DigestOf(id).String()[:9]
}

// format asks for an answer that is JSON; told says that the schema is elsewhere.
func (w *writer) format(schema []byte, told bool) {
	w.Key("response_format")
	w.Open('{')
	if told {
		w.Strings("type", "json_object")
	} else {
		w.Strings("type", "json_schema")
		w.Key("json_schema")
		w.Open('{')
		w.Strings("name", "answer")
		w.Key("schema")
		w.Raw(schema)
		w.Close('}')
	}
	w.Close('}')
}

func (w *writer) tools(tools []holdfast.ToolDefinition) {
	if len(tools) == 0 {
		return
	}
	w.Key("tools")
	w.Open('[')
	for _, t := range tools {
		w.Open('{')
		w.Strings("type", "function")
		w.Key("function")
		w.Open('{')
		w.Strings("name", t.Name, "description", t.Description)
		w.Key("parameters")
		w.Raw(outgoing.Parameters(t))
		w.Close('}')
		w.Close('}')
	}
	w.Close(']')
}

// answer writes a message of the model. Without a text its content is null, as
// agents send it.
func (w *writer) answer(events []holdfast.Event) {
	var texts []holdfast.Part
	var calls []holdfast.ToolCall
	var thoughts []string
	var details [][]byte
	for _, e := range events {
		switch e := e.(type) {
		case holdfast.Reasoning:
			if e.Opaque != nil {
				details = append(details, e.Opaque)
			} else {
				thoughts = append(thoughts, e.Text)
			}
		case holdfast.AssistantMessage:
			texts = append(texts, holdfast.Text(outgoing.TextOf(e)))
		case holdfast.ToolCall:
			calls = append(calls, e)
		}
	}
	w.Open('{')
	w.Strings("role", "assistant")
	if w.Key("content"); len(texts) == 0 {
		w.Raw([]byte("null"))
	} else {
		w.content(texts)
	}
	if len(details) == 1 {
		w.Key("reasoning_details")
		w.Raw(details[0])
	} else if len(details) > 1 {
		w.Key("reasoning_details")
		w.Open('[')
		for _, list := range details {
			if list = inside(list); len(list) > 0 {
				w.Raw(list)
			}
		}
		w.Close(']')
	}
	if len(thoughts) > 0 {
		w.Strings("reasoning_content", strings.Join(thoughts, "\n\n"))
	}
	if len(calls) > 0 {
		w.Key("tool_calls")
		w.Open('[')
		for _, c := range calls {
			w.Open('{')
			w.Strings("id", w.id(c.ID), "type", "function")
			w.Key("function")
			w.Open('{')
			w.Strings("name", c.Name, "arguments", string(outgoing.Object(c.Arguments)))
			w.Close('}')
			w.Close('}')
		}
		w.Close(']')
	}
	w.Close('}')
}

// inside is what stands between the brackets of a JSON list.
func inside(list []byte) []byte {
	list = bytes.TrimSpace(list)
	return bytes.TrimSpace(list[1 : len(list)-1])
}

func (w *writer) user(parts []holdfast.Part) {
	if len(parts) == 0 {
		return
	}
	w.Open('{')
	w.Strings("role", "user")
	w.Key("content")
	w.content(parts)
	w.Close('}')
}

// content writes parts: one text is a string, which every server takes.
func (w *writer) content(parts []holdfast.Part) {
	if t, ok := parts[0].(holdfast.Text); ok && len(parts) == 1 {
		w.Text(string(t))
		return
	}
	w.Open('[')
	for _, p := range parts {
		w.Open('{')
		switch p := p.(type) {
		case holdfast.Text:
			w.Strings("type", "text", "text", string(p))
		case holdfast.Media:
			w.media(p)
		}
		w.Close('}')
	}
	w.Close(']')
}

// media writes the members of a part that holds an image, audio or a file:
// https://platform.openai.com/docs/api-reference/chat/create.
func (w *writer) media(m holdfast.Media) {
	object := func(kind string, members ...string) {
		w.Strings("type", kind)
		w.Key(kind)
		w.Open('{')
		w.Strings(members...)
		w.Close('}')
	}
	audio, isAudio := strings.CutPrefix(m.MIME, "audio/")
	switch {
	case m.Type == "image" && m.Data != "":
		object("image_url", "url", outgoing.DataURL(m))
	case m.Type == "image" && outgoing.Web(m.URI):
		object("image_url", "url", m.URI)
	case isAudio && m.Data != "":
		object("input_audio", "data", m.Data, "format", formatOf(audio))
	case m.Data != "":
		object("file", "filename", nameOf(m), "file_data", outgoing.DataURL(m))
	case strings.HasPrefix(m.URI, "file-"):
		object("file", "file_id", m.URI)
	default:
		w.Strings("type", "text", "text", outgoing.LeftOut(m))
	}
}

// formatOf is what the API calls a type of audio, of which it knows mp3 and wav; other
// servers take more. The registered types have other names
// (https://www.iana.org/assignments/media-types/media-types.xhtml#audio).
func formatOf(subtype string) string {
	switch subtype = strings.TrimPrefix(subtype, "x-"); subtype {
	case "mpeg":
		return "mp3"
	case "wave", "vnd.wave":
		return "wav"
	}
	return subtype
}

// nameOf is the name of a file, which the API asks for.
func nameOf(m holdfast.Media) string {
	if m.Name == "" {
		return "file"
	}
	return m.Name
}
