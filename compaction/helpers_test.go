package compaction_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
)

// start is when every stream here begins; its turns are an hour apart.
var start = time.Date(2025, 3, 1, 8, 0, 0, 0, time.UTC)

// stream is a conversation that is being built.
type stream []holdfast.Entry

func (s *stream) add(at time.Time, events ...holdfast.Event) {
	for _, e := range events {
		n := len(*s) + 1
		*s = append(*s, holdfast.Entry{Seq: int64(n), ID: holdfast.EventID(fmt.Sprint("e", n)), At: at, Event: e})
	}
}

func text(s string) []holdfast.Part { return []holdfast.Part{holdfast.Text(s)} }

// turn adds a turn of one hour: a question at its start, thoughts, a call with
// its result, and an answer half an hour later.
func (s *stream) turn(hour, size int) {
	at := start.Add(time.Duration(hour) * time.Hour)
	s.add(at, holdfast.TurnStart{}, holdfast.UserMessage{Parts: text("go")})
	s.add(at.Add(30*time.Minute),
		holdfast.Reasoning{Text: strings.Repeat("t", size)},
		holdfast.ToolCall{ID: "c", Name: "grep", Arguments: []byte(`{"a":"` + strings.Repeat("x", size) + `"}`)},
		holdfast.ToolResult{CallID: "c", Parts: text(strings.Repeat("r", size))},
		holdfast.AssistantMessage{Text: "done"})
}

// conversation is n turns, of which each has size characters of reasoning, of
// arguments and of a result.
func conversation(n, size int) stream {
	var s stream
	for i := range n {
		s.turn(i, size)
	}
	return s
}

// after is the time when n turns are over and the next one has not begun.
func after(n int) time.Time { return start.Add(time.Duration(n)*time.Hour - 15*time.Minute) }

func (s stream) with(overlays ...holdfast.Overlay) stream {
	for _, o := range overlays {
		s.add(start, o)
	}
	return s
}

var both = &holdfast.ToolPolicy{Request: true, Response: true}

func mechanical(from, to int) holdfast.Overlay {
	return holdfast.Overlay{FromTurn: from, ToTurn: to, Source: holdfast.ManualOverlay, StripReasoning: true, Tools: both}
}

func generated(from, to int) holdfast.Overlay {
	return holdfast.Overlay{FromTurn: from, ToTurn: to, Source: holdfast.ManualOverlay, Summary: &holdfast.Summary{Text: "S", Origin: holdfast.GeneratedSummary}}
}

func authored(from, to int) holdfast.Overlay {
	o := generated(from, to)
	o.Summary.Origin = holdfast.AuthoredSummary
	return o
}

// inline is a rule of the inline form, with the built-in keep values.
func inline(t testing.TB, spec string) compaction.Rule {
	t.Helper()
	r, err := compaction.ParseInline(spec, compaction.Count(1), compaction.Count(3))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// outcome is a range or an error as text.
func outcome(r compaction.Range, err error) string {
	switch {
	case err != nil:
		return string(holdfast.CodeOf(err)) + ": " + err.Error()
	case r.Len() == 0:
		return "empty"
	}
	return fmt.Sprintf("%d-%d", r.From, r.To)
}
