// Package outgoing prepares the events of a call for the writers of all
// protocols: whose turn each event is in, which result answers which call, and
// what is said in words because a protocol cannot carry it.
//
// Laws:
//   - Results stand directly behind the model's message that holds their calls:
//     every protocol but Responses refuses a history where something comes
//     between.
//   - Neighbours of one side are one message, since servers insist on
//     alternation.
//   - An id goes out as it came where it is one that every provider takes and
//     stands for one call. Otherwise call and result get one made of the old.
package outgoing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonwrite"
)

// Message is what one side says at a time.
type Message struct {
	Model bool
	// Events are the model's: reasoning, texts and calls, in order.
	Events []holdfast.Event
	// Results and Parts are of the other side: results come first.
	Results []Result
	Parts   []holdfast.Part
}

// Result is a tool result with the name of the tool that was called.
type Result struct {
	holdfast.ToolResult
	Name string
}

// Messages cuts the events of a call into messages. own tells of which reasoning
// the protocol can take back, and alone whether it takes reasoning that nothing of
// the model follows, as an answer ends that was broken off; the rest is left out. It
// fails with the code internal where a call has no result or a result no call: what
// it is given must be a view.
func Messages(events []holdfast.Event, own func(holdfast.Reasoning) bool, alone bool) ([]Message, error) {
	results, err := pair(events)
	if err != nil {
		return nil, err
	}
	b := builder{alone: alone}
	for i, e := range events {
		switch e := e.(type) {
		case holdfast.UserMessage:
			if parts := said(e.Parts); len(parts) > 0 {
				m := b.user()
				m.Parts = append(m.Parts, parts...)
			}
		case holdfast.AssistantMessage:
			if strings.TrimSpace(TextOf(e)) != "" {
				b.model(e)
			}
		case holdfast.Reasoning:
			if own(e) {
				b.thoughts = append(b.thoughts, e)
			}
		case holdfast.ToolCall:
			r := results[i]
			e.ID = r.CallID
			b.model(e)
			b.waiting = append(b.waiting, r)
		case holdfast.ToolResult:
			b.answer()
		}
	}
	b.answer()
	return b.messages, nil
}

// builder puts messages together.
type builder struct {
	alone    bool
	messages []Message
	thoughts []holdfast.Event // reasoning that nothing follows yet
	waiting  []Result         // of the calls of the last message
}

// model adds what the model said, and the reasoning before it.
func (b *builder) model(said ...holdfast.Event) {
	if n := len(b.messages); n == 0 || !b.messages[n-1].Model {
		b.messages = append(b.messages, Message{Model: true})
	}
	m := &b.messages[len(b.messages)-1]
	m.Events = append(append(m.Events, b.thoughts...), said...)
	b.thoughts = nil
}

// user is the message of the other side that goes on.
func (b *builder) user() *Message {
	b.answer()
	if n := len(b.messages); n == 0 || b.messages[n-1].Model {
		b.messages = append(b.messages, Message{})
	}
	return &b.messages[len(b.messages)-1]
}

// answer ends what the model says: the results of its calls stand behind them.
func (b *builder) answer() {
	if b.alone && len(b.thoughts) > 0 {
		b.model()
	}
	b.thoughts = nil
	if len(b.waiting) > 0 {
		b.messages = append(b.messages, Message{Results: b.waiting})
		b.waiting = nil
	}
}

// pair finds the result of each call, by the call's index. Both have the id that
// goes out.
func pair(events []holdfast.Event) (map[int]Result, error) {
	results := map[int]Result{}
	open := map[string][]int{} // calls without a result, by id
	used := map[string]int{}   // how often an id was seen
	for i, e := range events {
		switch e := e.(type) {
		case holdfast.ToolCall:
			open[e.ID] = append(open[e.ID], i)
			results[i] = Result{ToolResult: holdfast.ToolResult{CallID: idOf(e.ID, used[e.ID])}, Name: e.Name}
			used[e.ID]++
		case holdfast.ToolResult:
			calls := open[e.CallID]
			if len(calls) == 0 {
				return nil, unrepaired("a tool result without its call")
			}
			r := results[calls[0]]
			r.IsError, r.Parts = e.IsError, e.Parts
			results[calls[0]] = r
			if open[e.CallID] = calls[1:]; len(calls) == 1 {
				delete(open, e.CallID)
			}
		}
	}
	if len(open) > 0 {
		return nil, unrepaired("a tool call without its result")
	}
	return results, nil
}

func unrepaired(what string) error {
	return holdfast.Errorf(holdfast.ErrInternal, "A model call holds %s, so that no provider would take it. This is a defect of Holdfast: please report it.", what)
}

// idOf is the id that goes out for the n-th call of an id.
func idOf(id string, n int) string {
	if n == 0 && plain(id) {
		return id
	}
	return "call_" + holdfast.DigestOf(id, fmt.Sprint(n)).String()[:24]
}

// plain reports whether every provider takes the id: the Messages API allows
// these characters, the Responses API this length.
func plain(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	return strings.IndexFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	}) < 0
}

// said leaves out texts that say nothing, which providers refuse.
func said(parts []holdfast.Part) (list []holdfast.Part) {
	for _, p := range parts {
		if t, ok := p.(holdfast.Text); !ok || strings.TrimSpace(string(t)) != "" {
			list = append(list, p)
		}
	}
	return list
}

// TextOf is what an assistant's message says: its text, or its data as JSON.
func TextOf(m holdfast.AssistantMessage) string {
	if m.Data != nil {
		return string(m.Data)
	}
	return m.Text
}

// Words are the texts of parts joined by line breaks. What is no text is told
// in words.
func Words(parts []holdfast.Part) string {
	var lines []string
	for _, p := range parts {
		switch p := p.(type) {
		case holdfast.Text:
			lines = append(lines, string(p))
		case holdfast.Media:
			lines = append(lines, LeftOut(p))
		}
	}
	return strings.Join(lines, "\n")
}

// LeftOut tells in words of media that the protocol cannot carry.
func LeftOut(m holdfast.Media) string {
	what := "file"
	if m.Type == "image" {
		what = "image"
	}
	if m.Name != "" {
		what += " " + m.Name
	}
	if m.MIME != "" {
		what += " (" + m.MIME + ")"
	}
	return "[" + what + " left out: it cannot be sent here]"
}

// Web reports whether an address is one that a provider can fetch.
func Web(uri string) bool {
	return strings.HasPrefix(uri, "https://") || strings.HasPrefix(uri, "http://")
}

// DataURL is the content of m as a data URL (RFC 2397).
func DataURL(m holdfast.Media) string { return "data:" + m.MIME + ";base64," + m.Data }

// Object is raw byte for byte where it is a JSON object. Protocols that hold
// arguments as a value take nothing else, while a model may write anything: then
// it is the one member of an object.
func Object(raw []byte) []byte {
	switch {
	case len(raw) == 0:
		return []byte("{}")
	case IsObject(raw):
		return raw
	}
	var w jsonwrite.Writer
	w.Open('{')
	w.Key("input")
	if json.Valid(raw) && utf8.Valid(raw) {
		w.Raw(raw)
	} else {
		w.Text(string(raw))
	}
	w.Close('}')
	return w.Bytes()
}

// IsObject reports whether raw is one JSON object and nothing beside it but
// white space.
func IsObject(raw []byte) bool { return first(raw) == '{' && json.Valid(raw) && utf8.Valid(raw) }

// IsList reports the same of a list.
func IsList(raw []byte) bool { return first(raw) == '[' && json.Valid(raw) && utf8.Valid(raw) }

func first(raw []byte) byte {
	if raw = bytes.TrimLeft(raw, " \t\r\n"); len(raw) == 0 {
		return 0
	}
	return raw[0]
}

// CheckSchema fails with the code usage when a schema is no JSON object. what
// names it.
func CheckSchema(what string, schema []byte) error {
	if schema == nil || IsObject(schema) {
		return nil
	}
	return holdfast.Errorf(holdfast.ErrUsage, "The schema of %s is not a JSON object. Correct it and try again.", what)
}

// CheckSchemas checks all schemas of a call.
func CheckSchemas(call holdfast.Call) error {
	if err := CheckSchema("the answer", call.Schema); err != nil {
		return err
	}
	for _, t := range call.Tools {
		if err := CheckSchema("the tool "+t.Name, t.Schema); err != nil {
			return err
		}
	}
	return nil
}

// Parameters is the schema of a tool's arguments, also of a tool without any.
func Parameters(t holdfast.ToolDefinition) []byte {
	if t.Schema == nil {
		return []byte(`{"type":"object","properties":{}}`)
	}
	return t.Schema
}
