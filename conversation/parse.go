package conversation

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-dev/holdfast"
)

// lineForm is every member that a line of a known kind can have. Members beside
// these are left alone.
type lineForm struct {
	Kind string           `json:"kind"`
	ID   holdfast.EventID `json:"id"`
	At   time.Time        `json:"at"`

	Content   []partForm     `json:"content"`
	Synthetic bool           `json:"synthetic"`
	Schema    jsontext.Value `json:"schema"`
	Data      jsontext.Value `json:"data"`
	Text      string         `json:"text"`
	Opaque    *string        `json:"opaque"`
	CallID    *string        `json:"call_id"`
	Name      string         `json:"name"`
	Namespace string         `json:"namespace"`
	Arguments jsontext.Value `json:"arguments"`
	IsError   bool           `json:"is_error"`
	Config    jsontext.Value `json:"config"`

	// The same values where they are no JSON in one line.
	SchemaText    *string `json:"schema_text"`
	DataText      *string `json:"data_text"`
	ArgumentsText *string `json:"arguments_text"`
	ConfigText    *string `json:"config_text"`

	FromTurn    *int                   `json:"from_turn"`
	ToTurn      *int                   `json:"to_turn"`
	FromEvent   int64                  `json:"from_event"`
	ToEvent     int64                  `json:"to_event"`
	KeptCalls   []int64                `json:"kept_calls"`
	Source      holdfast.OverlaySource `json:"source"`
	Reasoning   string                 `json:"reasoning"`
	ToolCalls   *toolForm              `json:"tool_calls"`
	Summary     *summaryForm           `json:"summary"`
	Compactions []holdfast.EventID     `json:"compactions"`
	Capsule     *holdfast.Capsule      `json:"capsule"`

	Purpose    holdfast.Purpose `json:"purpose"`
	Model      string           `json:"model"`
	Input      int64            `json:"input_tokens"`
	CacheRead  int64            `json:"cache_read_tokens"`
	CacheWrite int64            `json:"cache_write_tokens"`
	Output     int64            `json:"output_tokens"`
	Cost       *int64           `json:"cost_microusd"`
}

type partForm struct {
	Type string `json:"type"`
	Text string `json:"text"`
	MIME string `json:"mime"`
	Name string `json:"name"`
	Data string `json:"data"`
	URI  string `json:"uri"`
}

type toolForm struct {
	Policy   string `json:"policy"`
	Request  *bool  `json:"request"`
	Response *bool  `json:"response"`
}

type summaryForm struct {
	Text    string                 `json:"text"`
	Origin  holdfast.SummaryOrigin `json:"origin"`
	Model   string                 `json:"model"`
	Capsule *holdfast.Capsule      `json:"capsule"`
}

// ParseLine reads one line. A kind that is not known is an Unknown with a copy of
// the line. The sequence number is left 0, and so are an id and a time that are
// missing; a turn's overlay without a source is manual, a strip without halves
// strips both. The error says what is wrong with the line, without repeating it.
func ParseLine(line []byte) (holdfast.Entry, error) {
	line = bytes.TrimSpace(line)
	var l lineForm
	err := json.Unmarshal(line, &l)
	if err != nil {
		// An unknown kind may use the same names for other things.
		var head struct {
			Kind string           `json:"kind"`
			ID   holdfast.EventID `json:"id"`
			At   time.Time        `json:"at"`
		}
		if json.Unmarshal(line, &head) != nil || head.Kind == "" || Known(head.Kind) {
			return holdfast.Entry{}, unreadable(err)
		}
		l = lineForm{Kind: head.Kind, ID: head.ID, At: head.At}
	}
	if l.Kind == "" {
		return holdfast.Entry{}, errors.New(`there is no "kind"`)
	}
	e := holdfast.Entry{ID: l.ID, At: l.At.UTC().Truncate(time.Microsecond)}
	if !Known(l.Kind) {
		e.Event = holdfast.Unknown{Type: l.Kind, Raw: bytes.Clone(line)}
		return e, nil
	}
	if e.Event, err = l.event(); err != nil {
		return holdfast.Entry{}, fmt.Errorf("%s: %w", l.Kind, err)
	}
	return e, nil
}

// Known reports whether this version knows a kind of event.
func Known(kind string) bool {
	switch kind {
	case KindTurn, KindUser, KindAssistant, KindReasoning, KindToolCall, KindToolResult,
		KindConfig, KindCompaction, KindRevocation, KindContinuity, KindUsage:
		return true
	}
	return false
}

// unreadable words an error of the decoder without text of the line.
func unreadable(err error) error {
	var semantic *json.SemanticError
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("this is no JSON object: it is wrong or breaks off at byte %d", syntax.ByteOffset)
	case errors.As(err, &semantic) && semantic.JSONPointer != "":
		return fmt.Errorf("%s holds a value of the wrong type", semantic.JSONPointer)
	}
	return errors.New("this is no JSON object")
}

func (l *lineForm) event() (holdfast.Event, error) {
	switch l.Kind {
	case KindTurn:
		return holdfast.TurnStart{}, nil
	case KindUser:
		schema, err := raw("schema", l.Schema, l.SchemaText)
		return holdfast.UserMessage{Parts: parts(l.Content), Schema: schema, Synthetic: l.Synthetic}, err
	case KindAssistant:
		data, err := raw("data", l.Data, l.DataText)
		return holdfast.AssistantMessage{Text: joined(l.Content), Data: data}, err
	case KindReasoning:
		r := holdfast.Reasoning{Text: l.Text}
		if l.Opaque != nil {
			r.Opaque = []byte(*l.Opaque)
		}
		return r, nil
	case KindToolCall:
		if l.CallID == nil || l.Name == "" {
			return nil, errors.New("a call needs call_id and name")
		}
		arguments, err := raw("arguments", l.Arguments, l.ArgumentsText)
		return holdfast.ToolCall{ID: *l.CallID, Name: l.Name, Namespace: l.Namespace, Arguments: arguments}, err
	case KindToolResult:
		if l.CallID == nil {
			return nil, errors.New("a result needs the call_id of its call")
		}
		return holdfast.ToolResult{CallID: *l.CallID, IsError: l.IsError, Parts: parts(l.Content)}, nil
	case KindConfig:
		settings, err := raw("config", l.Config, l.ConfigText)
		if err == nil && (len(settings) == 0 || settings[0] != '{') {
			err = errors.New("config must be an object")
		}
		return holdfast.Settings{JSON: settings}, err
	case KindCompaction:
		return l.overlay()
	case KindRevocation:
		if len(l.Compactions) == 0 {
			return nil, errors.New("a revocation names the ids of compactions in compactions")
		}
		return holdfast.Revocation{Overlays: l.Compactions}, nil
	case KindContinuity:
		if l.Capsule == nil {
			return nil, errors.New("there is no capsule")
		}
		return holdfast.Continuity{Capsule: *l.Capsule}, nil
	}
	return l.usage()
}

// raw is a JSON value byte for byte, or the text that stands for one.
func raw(name string, value jsontext.Value, text *string) ([]byte, error) {
	switch {
	case value != nil && text != nil:
		return nil, fmt.Errorf("%s and %s_text exclude each other", name, name)
	case text != nil:
		return []byte(*text), nil
	case value == nil:
		return nil, nil
	}
	return value, nil
}

// parts keeps a part of an unknown type as media without content.
func parts(list []partForm) []holdfast.Part {
	if list == nil {
		return nil
	}
	out := make([]holdfast.Part, len(list))
	for i, p := range list {
		if p.Type == "text" {
			out[i] = holdfast.Text(p.Text)
		} else {
			out[i] = holdfast.Media{Type: p.Type, MIME: p.MIME, Name: p.Name, Data: p.Data, URI: p.URI}
		}
	}
	return out
}

// joined is the text of a message of the model: the pieces are one text.
func joined(list []partForm) string {
	if len(list) == 1 {
		return list[0].Text
	}
	var b strings.Builder
	for _, p := range list {
		b.WriteString(p.Text)
	}
	return b.String()
}

func (l *lineForm) overlay() (holdfast.Event, error) {
	o := holdfast.Overlay{FromEvent: l.FromEvent, ToEvent: l.ToEvent, KeptCalls: l.KeptCalls, Source: cmp.Or(l.Source, holdfast.ManualOverlay)}
	switch o.Source {
	case holdfast.ManualOverlay, holdfast.AutoOverlay, holdfast.AgentOverlay:
	default:
		return nil, errors.New(`source must be "manual", "auto" or "agent"`)
	}
	switch l.Reasoning {
	case "strip":
		o.StripReasoning = true
	case "":
	default:
		return nil, errors.New(`reasoning must be "strip"`)
	}
	if t := l.ToolCalls; t != nil {
		switch t.Policy {
		case "omit":
			o.Tools = &holdfast.ToolPolicy{Omit: true}
		case "strip":
			both := t.Request == nil && t.Response == nil
			o.Tools = &holdfast.ToolPolicy{Request: both || on(t.Request), Response: both || on(t.Response)}
		}
		if o.Tools == nil || *o.Tools == (holdfast.ToolPolicy{}) {
			return nil, errors.New(`tool_calls must have the policy "omit", or "strip" with request or response`)
		}
	}
	if s := l.Summary; s != nil {
		o.Summary = &holdfast.Summary{Text: s.Text, Origin: cmp.Or(s.Origin, holdfast.GeneratedSummary), Model: s.Model, Capsule: s.Capsule}
	}
	if o.ByEvents() {
		if o.ToEvent < o.FromEvent || o.Summary != nil || l.FromTurn != nil || l.ToTurn != nil {
			return nil, errors.New("a range of events ends behind its start, has no turns beside it and no summary")
		}
		if !slices.IsSorted(o.KeptCalls) {
			return nil, errors.New("kept_calls must be in ascending order")
		}
		return o, nil
	}
	if o.KeptCalls != nil {
		return nil, errors.New("kept_calls stands only beside from_event and to_event")
	}
	if l.FromTurn == nil || l.ToTurn == nil || *l.FromTurn < 0 || *l.ToTurn < *l.FromTurn || o.FromEvent < 0 {
		return nil, errors.New("from_turn and to_turn must be a range, from 0 and inclusive")
	}
	o.FromTurn, o.ToTurn = *l.FromTurn, *l.ToTurn
	return o, nil
}

func on(b *bool) bool { return b != nil && *b }

func (l *lineForm) usage() (holdfast.Event, error) {
	u := holdfast.Usage{
		Purpose: cmp.Or(l.Purpose, holdfast.ForTurn), Model: l.Model,
		Input: l.Input, CacheRead: l.CacheRead, CacheWrite: l.CacheWrite, Output: l.Output, Cost: l.Cost,
	}
	if min(u.Input, u.CacheRead, u.CacheWrite, u.Output) < 0 {
		return nil, errors.New("a count of tokens is below 0")
	}
	return u, nil
}

// Stamp is the line of an entry of a known kind with its id, its time, and the
// ids that a revocation, or the watermark of a capsule, names: they are put in where
// the line has none, and replaced where it has others. All else of the line stays as it is, what this
// version does not know included.
func Stamp(line []byte, e holdfast.Entry) []byte {
	var has struct {
		ID          *holdfast.EventID  `json:"id"`
		At          *time.Time         `json:"at"`
		Compactions []holdfast.EventID `json:"compactions"`
		Capsule     jsontext.Value     `json:"capsule"`
	}
	// The line was read before.
	_ = json.Unmarshal(line, &has)
	set := map[string][]byte{}
	put := func(name string, value any) {
		// These values have a JSON form.
		set[name], _ = json.Marshal(value)
	}
	if has.ID == nil || *has.ID != e.ID {
		put("id", e.ID)
	}
	if has.At == nil || !has.At.Equal(e.At) {
		put("at", e.At.UTC())
	}
	switch event := e.Event.(type) {
	case holdfast.Revocation:
		if !slices.Equal(event.Overlays, has.Compactions) {
			put("compactions", event.Overlays)
		}
	case holdfast.Continuity:
		var old struct {
			Watermark string `json:"watermark"`
		}
		_ = json.Unmarshal(has.Capsule, &old)
		if old.Watermark != event.Capsule.Watermark {
			mark, _ := json.Marshal(event.Capsule.Watermark)
			set["capsule"] = replaced(has.Capsule, map[string][]byte{"watermark": mark})
		}
	}
	if len(set) == 0 {
		return line
	}
	return replaced(line, set)
}

// replaced writes the object in line with members set, each in its place, or at
// the end in the order of their names.
func replaced(line []byte, set map[string][]byte) []byte {
	out := make([]byte, 0, len(line)+120)
	add := func(name string, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		// Names were read, so they are valid text.
		out, _ = jsontext.AppendQuote(out, name)
		out = append(append(out, ':'), value...)
	}
	out = append(out, '{')
	dec := jsontext.NewDecoder(bytes.NewReader(line))
	_, _ = dec.ReadToken()
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return line
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return line
		}
		if given, ok := set[key]; ok {
			add(key, given)
			delete(set, key)
		} else {
			add(key, value)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		add(key, set[key])
	}
	return append(out, '}')
}
