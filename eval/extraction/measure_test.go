package extraction_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
	"github.com/holdfast-dev/holdfast/engine/query"
	"github.com/holdfast-dev/holdfast/eval"
	"github.com/holdfast-dev/holdfast/eval/extraction"
)

// scripted is a product with these turns, which costs a token a byte and keeps nothing.
func scripted(turns ...extraction.Turn) extraction.Product {
	return extraction.Product{
		Turns:   func([]holdfast.Entry, int, func(int) []extraction.Span) []extraction.Turn { return turns },
		Harvest: func([]holdfast.Entry) holdfast.Capsule { return holdfast.Capsule{} },
		Tokens:  func([]holdfast.Entry) int { return 1000 },
		Count:   func(text string) int { return len(text) },
	}
}

// session has a turn for each kind. All are of one part of the labels.
func session(kinds ...extraction.Kind) (s extraction.Session, turns []extraction.Turn) {
	s = extraction.Session{Source: strings.Repeat("ab", 32), Agent: "codex", Streams: [][]holdfast.Entry{nil}}
	n := 0
	for _, k := range kinds {
		for n++; extraction.SplitOf(s.Source, n) != extraction.Held; n++ {
		}
		s.Labels = append(s.Labels, extraction.Label{Source: s.Source, Turn: n, Kind: k, Span: extraction.Span{2, 9}})
		turns = append(turns, extraction.Turn{Number: n, Text: "We use SQLite here."})
	}
	return s, turns
}

func row(t *testing.T, r extraction.Report, of string) extraction.Gate {
	t.Helper()
	i := slices.IndexFunc(r.Gate, func(g extraction.Gate) bool { return g.Of == of })
	if i < 0 {
		t.Fatalf("there is no row of %s in %+v", of, r.Gate)
	}
	return r.Gate[i]
}

func TestTheGateIsHeldAgainstLabels(t *testing.T) {
	s, turns := session(extraction.Decision, extraction.Value, extraction.None, extraction.None, extraction.None)
	turns[0].Sent, turns[0].Words = true, true
	turns[1].Sent = true
	r := extraction.Measure(scripted(turns...), []extraction.Session{s})
	if g := row(t, r, extraction.All); !g.Passed || g.Recall.Share != 1 || g.Sent.Hits != 2 || g.Sent.Of != 5 || g.Holding.Share != 0.4 || g.WordsRecall.Share != 0.5 || g.Split != extraction.Held {
		t.Errorf("got %+v", g)
	}
	if !r.Passed || len(r.Missed) != 0 || r.Files != 1 {
		t.Errorf("got %+v", r)
	}

	turns[1].Sent = false
	r = extraction.Measure(scripted(turns...), []extraction.Session{s})
	want := []extraction.Missed{{Source: "abababababab", Turn: turns[1].Number, Kind: extraction.Value, Split: extraction.Held}}
	if r.Passed || row(t, r, "codex").Recall.Share != 0.5 || !slices.Equal(r.Missed, want) {
		t.Errorf("got %+v", r)
	}

	turns[1].Sent, turns[2].Sent = true, true // three of five are more than 45 %
	if r = extraction.Measure(scripted(turns...), []extraction.Session{s}); r.Passed {
		t.Errorf("got %+v", r)
	}
}

func TestLabelsThatFitNoTurnAreCounted(t *testing.T) {
	s, turns := session(extraction.Decision, extraction.None, extraction.None)
	turns[0].Sent = true
	turns[0].Text = "We use" // the label ends behind it
	if r := extraction.Measure(scripted(turns[:2]...), []extraction.Session{s}); r.Misplaced != 2 || r.Passed {
		t.Errorf("got %d misplaced, passed %v", r.Misplaced, r.Passed)
	}
}

func TestIntervalsAreThoseOfWilson(t *testing.T) {
	s, turns := session(slices.Repeat([]extraction.Kind{extraction.Decision}, 10)...)
	for i := range 5 {
		turns[i].Sent = true
	}
	got := row(t, extraction.Measure(scripted(turns...), []extraction.Session{s}), extraction.All)
	if r := got.Recall; math.Abs(r.Low-0.2366) > 1e-4 || math.Abs(r.High-0.7634) > 1e-4 {
		t.Errorf("5 of 10 is %.4f to %.4f", r.Low, r.High)
	}
	if r := got.WordsRecall; r.Low != 0 || math.Abs(r.High-0.2775) > 1e-4 {
		t.Errorf("0 of 10 is %.4f to %.4f", r.Low, r.High)
	}
}

func TestInputsAreCountedAndSearchedForOutputOfTools(t *testing.T) {
	s, turns := session(extraction.None)
	s.Streams = [][]holdfast.Entry{{{Event: holdfast.ToolResult{Parts: []holdfast.Part{holdfast.Text("ok")}}}}}
	turns[0].Inputs = []string{strings.Repeat("x", 70)}
	r := extraction.Measure(scripted(turns...), []extraction.Session{s})
	if !r.Passed || r.Totals[0].Tokens != 70 || r.Totals[0].Share != 0.07 || r.Totals[0].Planted != 0 || r.Totals[0].Calls != 1 {
		t.Errorf("got %+v", r.Totals)
	}
	turns[0].Inputs[0] += "x"
	if r = extraction.Measure(scripted(turns...), []extraction.Session{s}); r.Passed {
		t.Errorf("more than the goal passes: %+v", r.Totals)
	}
	leaking := scripted()
	leaking.Turns = func(entries []holdfast.Entry, _ int, _ func(int) []extraction.Span) []extraction.Turn {
		turns[0].Inputs = []string{fmt.Sprint(entries[0].Event)}
		return turns
	}
	if r = extraction.Measure(leaking, []extraction.Session{s}); r.Passed || r.Totals[0].Planted != 1 {
		t.Errorf("got %+v", r.Totals)
	}
}

// said are calls with their results.
func said(pairs ...string) (entries []holdfast.Entry) {
	for i := 0; i < len(pairs); i += 3 {
		id := fmt.Sprint(i)
		entries = append(entries,
			holdfast.Entry{Event: holdfast.ToolCall{ID: id, Name: pairs[i], Arguments: []byte(pairs[i+1])}},
			holdfast.Entry{Event: holdfast.ToolResult{CallID: id, IsError: pairs[i+2] == "error", Parts: []holdfast.Part{holdfast.Text(pairs[i+2])}}})
	}
	return entries
}

func TestStructuredSourcesOfRealSessionsAreReadASecondTime(t *testing.T) {
	const list = `{"todos":[{"content":"Write  it","status":"in_progress"},{"content":"Read it","status":"completed"},{"content":"Test it","status":"pending"}]}`
	steps := []holdfast.Step{{Text: "Write it", Status: holdfast.StepInProgress}, {Text: "Test it", Status: holdfast.StepPending}}
	plan := func(steps ...holdfast.Step) holdfast.Capsule {
		return holdfast.Capsule{Plan: &holdfast.Plan{Status: holdfast.PlanAccepted, Source: holdfast.FromStructuredTool, Steps: steps}}
	}
	decided := holdfast.Capsule{Decisions: []holdfast.Decision{{Subject: "Which one?", Statement: "SQLite", Status: holdfast.FactActive, Evidence: holdfast.Evidence{By: holdfast.ByStructured}}}}
	tests := []struct {
		name                 string
		entries              []holdfast.Entry
		has                  holdfast.Capsule
		stated, found, wrong int
	}{
		{"open steps in their order and states", said("TodoWrite", list, "ok"), plan(steps...), 2, 2, 0},
		{"a step that is missing", said("TodoWrite", list, "ok"), plan(steps[0]), 2, 1, 0},
		{"steps in another order", said("TodoWrite", list, "ok"), plan(steps[1], steps[0]), 2, 0, 2},
		{"a step in another state", said("TodoWrite", list, "ok"), plan(holdfast.Step{Text: "Write it", Status: holdfast.StepPending}, steps[1]), 2, 1, 1},
		{"a call that failed states nothing", said("TodoWrite", list, "error"), plan(steps...), 0, 0, 0},
		{"the list of codex", said("update_plan", `{"plan":[{"step":"Write it","status":"in_progress"}]}`, "Plan updated"), plan(steps[0]), 1, 1, 0},
		{"an answer", said("AskUserQuestion", `{"questions":[{"question":"Which one?"}]}`, `User has answered: "Which one?"="SQLite".`), decided, 1, 1, 0},
		{"an answer that is missing", said("AskUserQuestion", `{"questions":[{"question":"Which one?"}]}`, `User has answered: "Which one?"="SQLite".`), holdfast.Capsule{}, 1, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := scripted()
			p.Harvest = func([]holdfast.Entry) holdfast.Capsule { return tt.has }
			r := extraction.Measure(p, []extraction.Session{{Source: strings.Repeat("ab", 32), Streams: [][]holdfast.Entry{tt.entries}}})
			if s := r.Structured[0]; s.Stated != tt.stated || s.Found != tt.found || s.Wrong != tt.wrong || r.Passed != (tt.found == tt.stated && tt.wrong == 0) {
				t.Errorf("got %+v, passed %v", s, r.Passed)
			}
		})
	}
}

// typed are the texts of the person.
func typed(entries []holdfast.Entry) (texts []string) {
	for _, m := range extract.Messages(entries, 0) {
		if m.Role == extract.User {
			texts = append(texts, continuity.Normal(m.Text))
		}
	}
	return texts
}

func TestGeneratedSessionsAreLabelledByWhatWasPlanted(t *testing.T) {
	kinds := map[extraction.Kind]int{}
	for _, m := range eval.Manners() {
		s, err := extraction.Generate(context.Background(), 1, m, typed)
		if err != nil {
			t.Fatal(err)
		}
		texts := typed(s.Streams[0])
		for _, l := range s.Labels {
			kinds[l.Kind]++
			text := texts[l.Turn-1]
			if l.Kind != extraction.None && (l.Span[1] > len(text) || l.Span[0] > 0 && text[l.Span[0]-1] != ' ') {
				t.Errorf("%s: the span %v of a text of %d bytes", m.Name, l.Span, len(text))
			}
		}
		if turns := turnsOf(s.Labels); len(turns) != len(texts) {
			t.Errorf("%s: %d turns have labels, of %d", m.Name, len(turns), len(texts))
		}
		p := scripted()
		p.Harvest = func(entries []holdfast.Entry) holdfast.Capsule {
			return query.Capsule(entries, "", func(text string) string { return text })
		}
		r := extraction.Measure(p, []extraction.Session{s})
		if got := r.Structured[0]; got.Precision != 1 || got.Recall != 1 || r.Files != 0 || m.Plan != nil && got.Stated == 0 {
			t.Errorf("%s: structured sources: %+v", m.Name, got)
		}
	}
	for _, k := range append(extraction.Kinds(), extraction.None) {
		// The generator says yes and no only to plans, and corrects by a new decision.
		if kinds[k] == 0 && k != extraction.Correction && k != extraction.Acceptance {
			t.Errorf("no turn is of the kind %s", k)
		}
	}
}

func TestFactsAreScoredByOverlap(t *testing.T) {
	s, turns := session(extraction.Decision, extraction.Value, extraction.None)
	at := func(i int, kind extraction.Kind, from, to int, provisional bool) extraction.Fact {
		return extraction.Fact{Source: s.Source, Turn: turns[i].Number, Kind: kind, Quote: extraction.Span{from, to}, Provisional: provisional}
	}
	var m extraction.Model
	m.Score([]extraction.Session{s}, []extraction.Fact{
		at(0, extraction.Decision, 8, 12, false),              // overlaps by a byte
		at(0, extraction.Constraint, 9, 12, false),            // begins where the label ends
		at(1, extraction.Value, 2, 9, true),                   // nobody believes it
		at(2, extraction.Decision, 2, 9, false),               // the turn holds nothing
		{Source: s.Source, Turn: 999, Kind: extraction.Value}, // it has no labels
	})
	of := map[string]extraction.Scored{}
	for _, k := range m.Kinds {
		of[k.Kind] = k
	}
	if m.Facts != 4 || m.Provisional.Share != 0.25 {
		t.Errorf("%d facts, %v provisional", m.Facts, m.Provisional.Share)
	}
	if d := of["decision"]; d.Precision.Share != 0.5 || d.Recall.Share != 1 {
		t.Errorf("decisions: %+v", d)
	}
	if d := of["constraint"]; d.Precision.Of != 1 || d.Precision.Hits != 0 {
		t.Errorf("constraints: %+v", d)
	}
	if d := of["value"]; d.Precision.Of != 0 || d.Recall.Of != 1 || d.Recall.Hits != 0 {
		t.Errorf("values: %+v", d)
	}
	if d := of[extraction.All]; d.Precision.Hits != 1 || d.Precision.Of != 3 || d.Recall.Hits != 1 || d.Recall.Of != 2 {
		t.Errorf("all: %+v", d)
	}
}
