package conversation

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-dev/holdfast"
)

// The kinds of lines. KindHead is the line that a file may begin with; it is no
// event.
const (
	KindTurn       = "turn"
	KindUser       = "user"
	KindAssistant  = "assistant"
	KindReasoning  = "reasoning"
	KindToolCall   = "tool_call"
	KindToolResult = "tool_result"
	KindConfig     = "config"
	KindCompaction = "compaction"
	KindRevocation = "revocation"
	KindContinuity = "continuity"
	KindUsage      = "usage"
	KindHead       = "conversation"
)

// KindOf is the kind of an event's line; "" for events that stand in requests
// only.
func KindOf(e holdfast.Event) string {
	switch e := e.(type) {
	case holdfast.TurnStart:
		return KindTurn
	case holdfast.UserMessage:
		return KindUser
	case holdfast.AssistantMessage:
		return KindAssistant
	case holdfast.Reasoning:
		return KindReasoning
	case holdfast.ToolCall:
		return KindToolCall
	case holdfast.ToolResult:
		return KindToolResult
	case holdfast.Settings:
		return KindConfig
	case holdfast.Overlay:
		return KindCompaction
	case holdfast.Revocation:
		return KindRevocation
	case holdfast.Continuity:
		return KindContinuity
	case holdfast.Usage:
		return KindUsage
	case holdfast.Unknown:
		return e.Type
	}
	return ""
}

// AppendLine appends the line form of an entry to dst, without a line break. The
// sequence number is not part of it: the place of the line says it. An unknown
// event is its Raw. Text that is not UTF-8 is made so.
//
// Arguments, settings, schemas and structured answers stand in it byte for byte;
// where such a value is no JSON in one line, as its text under NAME_text.
func AppendLine(dst []byte, e holdfast.Entry) []byte {
	if u, ok := e.Event.(holdfast.Unknown); ok {
		return append(dst, u.Raw...)
	}
	w := writer{append(dst, '{')}
	w.text("kind", KindOf(e.Event))
	if e.ID != "" {
		w.text("id", string(e.ID))
	}
	if !e.At.IsZero() {
		w.text("at", e.At.UTC().Format(time.RFC3339Nano))
	}
	switch e := e.Event.(type) {
	case holdfast.UserMessage:
		w.content(e.Parts)
		w.value("schema", e.Schema)
		w.flag("synthetic", e.Synthetic)
	case holdfast.AssistantMessage:
		if e.Data == nil || e.Text != "" {
			w.content([]holdfast.Part{holdfast.Text(e.Text)})
		}
		w.value("data", e.Data)
	case holdfast.Reasoning:
		w.text("text", e.Text)
		if e.Opaque != nil {
			w.text("opaque", string(e.Opaque))
		}
	case holdfast.ToolCall:
		w.text("call_id", e.ID)
		w.text("name", e.Name)
		if e.Namespace != "" {
			w.text("namespace", e.Namespace)
		}
		w.value("arguments", e.Arguments)
	case holdfast.ToolResult:
		w.text("call_id", e.CallID)
		w.content(e.Parts)
		w.key("is_error")
		w.b = strconv.AppendBool(w.b, e.IsError)
	case holdfast.Settings:
		w.value("config", e.JSON)
	case holdfast.Revocation:
		w.marshal("compactions", e.Overlays)
	case holdfast.Continuity:
		w.marshal("capsule", e.Capsule)
	case holdfast.Usage:
		w.usage(e)
	case holdfast.Overlay:
		w.overlay(e)
	}
	return append(w.b, '}')
}

// writer appends members to an object that was begun.
type writer struct{ b []byte }

func (w *writer) key(name string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(append(append(w.b, '"'), name...), `":`...)
}

func (w *writer) text(name, value string) {
	w.key(name)
	w.quote(value)
}

func (w *writer) quote(value string) {
	// The error is for text that is not UTF-8, which is made so.
	w.b, _ = jsontext.AppendQuote(w.b, value)
}

func (w *writer) number(name string, n int64) {
	w.key(name)
	w.b = strconv.AppendInt(w.b, n, 10)
}

func (w *writer) flag(name string, set bool) {
	if set {
		w.key(name)
		w.b = append(w.b, "true"...)
	}
}

// value writes JSON as it is; nil is left out.
func (w *writer) value(name string, raw []byte) {
	switch {
	case raw == nil:
	case bytes.ContainsAny(raw, "\r\n") || !jsontext.Value(raw).IsValid():
		w.text(name+"_text", string(raw))
	default:
		w.key(name)
		w.b = append(w.b, bytes.TrimSpace(raw)...)
	}
}

// marshal writes a value of the vocabulary that has a JSON form of its own.
func (w *writer) marshal(name string, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// These values hold nothing that has no JSON form.
	_ = enc.Encode(v)
	w.key(name)
	w.b = append(w.b, bytes.TrimSpace(b.Bytes())...)
}

func (w *writer) content(parts []holdfast.Part) {
	w.key("content")
	w.b = append(w.b, '[')
	for i, p := range parts {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = append(w.b, '{')
		switch p := p.(type) {
		case holdfast.Text:
			w.text("type", "text")
			w.text("text", string(p))
		case holdfast.Media:
			w.text("type", p.Type)
			for _, f := range []struct{ name, value string }{{"mime", p.MIME}, {"name", p.Name}, {"data", p.Data}, {"uri", p.URI}} {
				if f.value != "" {
					w.text(f.name, f.value)
				}
			}
		}
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, ']')
}

func (w *writer) overlay(o holdfast.Overlay) {
	if o.ByEvents() {
		w.number("from_event", o.FromEvent)
		w.number("to_event", o.ToEvent)
		if len(o.KeptCalls) > 0 {
			w.marshal("kept_calls", o.KeptCalls)
		}
	} else {
		w.number("from_turn", int64(o.FromTurn))
		w.number("to_turn", int64(o.ToTurn))
	}
	if o.Source != "" {
		w.text("source", string(o.Source))
	}
	if o.StripReasoning {
		w.text("reasoning", "strip")
	}
	if t := o.Tools; t != nil {
		w.key("tool_calls")
		w.b = append(w.b, '{')
		if t.Omit {
			w.text("policy", "omit")
		} else {
			w.text("policy", "strip")
			w.key("request")
			w.b = strconv.AppendBool(w.b, t.Request)
			w.key("response")
			w.b = strconv.AppendBool(w.b, t.Response)
		}
		w.b = append(w.b, '}')
	}
	if s := o.Summary; s != nil {
		w.key("summary")
		w.b = append(w.b, '{')
		w.text("text", s.Text)
		w.text("origin", string(s.Origin))
		if s.Model != "" {
			w.text("model", s.Model)
		}
		if s.Capsule != nil {
			w.marshal("capsule", s.Capsule)
		}
		w.b = append(w.b, '}')
	}
}

func (w *writer) usage(u holdfast.Usage) {
	w.text("purpose", string(u.Purpose))
	if u.Model != "" {
		w.text("model", u.Model)
	}
	w.number("input_tokens", u.Input)
	w.number("cache_read_tokens", u.CacheRead)
	w.number("cache_write_tokens", u.CacheWrite)
	w.number("output_tokens", u.Output)
	if u.Cost != nil {
		w.number("cost_microusd", *u.Cost)
	}
}
