package transcript

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-dev/holdfast"
)

type jpEvent struct {
	Timestamp string                     `json:"timestamp"`
	Type      string                     `json:"type"`
	ID        string                     `json:"id"`
	Content   json.RawMessage            `json:"content"`
	Schema    json.RawMessage            `json:"schema"`
	Message   string                     `json:"message"`
	Reasoning json.RawMessage            `json:"reasoning"` // a text, or a policy
	Data      json.RawMessage            `json:"data"`
	Metadata  map[string]json.RawMessage `json:"metadata"`
	Name      string                     `json:"name"`
	Arguments json.RawMessage            `json:"arguments"`
	IsError   bool                       `json:"is_error"`

	FromTurn  int        `json:"from_turn"`
	ToTurn    int        `json:"to_turn"`
	Summary   *jpSummary `json:"summary"`
	ToolCalls *struct {
		Policy   string          `json:"policy"`
		Request  bool            `json:"request"`
		Response bool            `json:"response"`
		Over     json.RawMessage `json:"over"`
	} `json:"tool_calls"`
}

type jpSummary struct {
	Text   string                 `json:"summary"`
	Source holdfast.SummaryOrigin `json:"source"`
}

// readJP reads the document of a conversation, events.json in a folder of its own.
func readJP(s *stream, r io.Reader) error {
	var list []json.RawMessage
	if err := document(r, &list); err != nil {
		return err
	}
	id, title := jpID(s.name, list)
	s.session(Session{ID: id, Title: title})
	for _, raw := range list {
		// Older versions had no marks of turns.
		var e struct {
			Type string `json:"type"`
		}
		s.marked = s.marked || json.Unmarshal(raw, &e) == nil && e.Type == "turn_start"
	}
	for i, raw := range list {
		s.line = i + 1
		s.record(raw, jpRecord)
	}
	return nil
}

// jpID is the id in the name of the folder, ID-TITLE, and the title; elsewhere the
// id is made of the first event.
func jpID(name string, list []json.RawMessage) (id, title string) {
	dir, file := path.Split(strings.ReplaceAll(name, `\`, "/"))
	if id, title, _ := strings.Cut(path.Base(dir), "-"); file == "events.json" && id != "" && id != "." {
		return id, strings.ReplaceAll(title, "-", " ")
	}
	if len(list) == 0 {
		return baseID(name), ""
	}
	return holdfast.DigestOf("jp", string(compact(list[0]))).String(), ""
}

func jpRecord(s *stream, raw []byte) error {
	var e jpEvent
	if err := json.Unmarshal(raw, &e); err != nil {
		return err
	}
	at, _ := time.Parse("2006-01-02 15:04:05.999999999", e.Timestamp)
	if at.IsZero() {
		at = when(e.Timestamp)
	}
	s.from(at.UTC().Truncate(time.Microsecond), e.Timestamp, e.Type, e.ID)
	switch e.Type {
	case "turn_start":
		s.turn()
	case "chat_request":
		contents, err := contentsOf(e.Content)
		if err != nil {
			return err
		}
		s.schema = compact(e.Schema)
		s.user(contents.parts(), false)
		s.schema = nil
	case "chat_response":
		thought, _ := text(e.Reasoning)
		s.reasoning(thought, e.opaque(thought))
		s.assistant(e.Message)
		if data := compact(e.Data); data != nil {
			s.model("assistant", holdfast.AssistantMessage{Data: data})
		}
	case "tool_call_request":
		s.call(holdfast.ToolCall{ID: e.ID, Name: e.Name, Arguments: plainJSON(e.Arguments)})
	case "tool_call_response":
		t, _ := text(e.Content)
		s.result(holdfast.ToolResult{CallID: e.ID, IsError: e.IsError, Parts: []holdfast.Part{holdfast.Text(plain(t))}})
	case "compaction":
		s.jpOverlay(e)
	}
	return nil
}

// plain is a text that was stored in base64. Older versions stored it as it is.
func plain(stored string) string {
	decoded, err := base64.StdEncoding.Strict().DecodeString(stored)
	if err != nil || !utf8.Valid(decoded) {
		return stored
	}
	return string(decoded)
}

// plainJSON is a value of which all texts but the names were stored in base64.
func plainJSON(raw json.RawMessage) []byte {
	if isNull(raw) {
		return nil
	}
	var b bytes.Buffer
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	enc := jsontext.NewEncoder(&b, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		kind, n := dec.StackIndex(dec.StackDepth())
		token, err := dec.ReadToken()
		if err != nil {
			return bytes.TrimSpace(b.Bytes())
		}
		if name := kind == '{' && n%2 == 0; token.Kind() == '"' && !name {
			token = jsontext.String(plain(token.String()))
		}
		if enc.WriteToken(token) != nil {
			return compact(raw)
		}
	}
}

// opaque is the state of reasoning in the form of the wire that it came from. Of
// other wires it is not read.
func (e jpEvent) opaque(thought string) []byte {
	value := func(name string) string {
		t, _ := text(e.Metadata[name])
		return plain(t)
	}
	if opaque := thinking(thought, value("anthropic_thinking_signature")); opaque != nil {
		return opaque
	}
	return signed(value("google_thought_signature"))
}

// jpOverlay yields a compaction. jp counts turns as the vocabulary does. A policy
// that is only for what is large has no form here and is left out.
func (s *stream) jpOverlay(e jpEvent) {
	o := holdfast.Overlay{FromTurn: e.FromTurn, ToTurn: min(e.ToTurn, s.now.turns-1), Source: holdfast.AgentOverlay, StripReasoning: string(e.Reasoning) == `"strip"`}
	if t := e.ToolCalls; t != nil && isNull(t.Over) {
		switch {
		case t.Policy == "omit":
			o.Tools = &holdfast.ToolPolicy{Omit: true}
		case t.Policy == "strip" && (t.Request || t.Response):
			o.Tools = &holdfast.ToolPolicy{Request: t.Request, Response: t.Response}
		}
	}
	if e.Summary != nil {
		o.Summary = &holdfast.Summary{Text: e.Summary.Text, Origin: holdfast.GeneratedSummary}
		if e.Summary.Source == holdfast.AuthoredSummary {
			o.Summary.Origin = holdfast.AuthoredSummary
		}
	}
	if o.FromTurn < 0 || o.FromTurn > o.ToTurn || !o.StripReasoning && o.Tools == nil && o.Summary == nil {
		return
	}
	s.emit("compaction", o)
}
