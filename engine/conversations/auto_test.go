package conversations_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/engine/conversations"
	"github.com/holdfast-dev/holdfast/store"
)

// turns are lines of turns with a tool result of 4,000 characters each, so that
// each takes some 1,000 tokens raw, and next to none without its tool content.
func turns(from, n int) string {
	var b strings.Builder
	for i := from; i < from+n; i++ {
		fmt.Fprintf(&b, `{"kind":"turn"}
{"kind":"user","content":[{"type":"text","text":"question %[1]d"}]}
{"kind":"tool_call","call_id":"%[1]d","name":"read","arguments":{}}
{"kind":"tool_result","call_id":"%[1]d","content":[{"type":"text","text":"%[2]s"}]}
{"kind":"usage","model":"m","output_tokens":0}
`, i, strings.Repeat("word ", 800))
	}
	return b.String()
}

// trigger fires above 7,500 tokens.
func trigger(rule compaction.Rule, writer compaction.Summarizer) *conversations.Trigger {
	config := compaction.DefaultAuto()
	config.Enabled, config.Rule = true, rule
	return &conversations.Trigger{
		Config:    config,
		Window:    func(string) int64 { return 10_000 },
		Estimator: func([]holdfast.Entry) compaction.Estimator { return compaction.Estimator{} },
		Writer:    writer,
	}
}

func summarising() compaction.Rule {
	return compaction.Rule{KeepFirst: compaction.Count(1), KeepLast: compaction.Count(3), Summary: &compaction.SummaryRequest{}}
}

// writer answers with a draft or an error.
type writer struct {
	draft compaction.Draft
	err   error
	asked int
}

func (w *writer) Summarize(context.Context, compaction.SummaryInput) (compaction.Draft, error) {
	w.asked++
	return w.draft, w.err
}

func load(t *testing.T, s *conversations.Service, id holdfast.ConversationID) *conversations.Loaded {
	t.Helper()
	l, err := s.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return &l
}

// grow appends turns as if they had been held.
func grow(t *testing.T, s *conversations.Service, l *conversations.Loaded, from, n int) {
	t.Helper()
	for line := range strings.Lines(turns(from, n)) {
		e, err := conversation.ParseLine([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Append(t.Context(), l, e.Event); err != nil {
			t.Fatal(err)
		}
	}
}

func overlays(t *testing.T, s *conversations.Service, id holdfast.ConversationID) (list []string) {
	t.Helper()
	for _, o := range conversation.Overlays(load(t, s, id).Entries) {
		list = append(list, fmt.Sprintf("%d-%d %s", o.FromTurn, o.ToTurn, o.Source))
	}
	return list
}

func TestTheTriggerFiresAgainBehindWhatItCompacted(t *testing.T) {
	s := newService(t)
	id := one(t, s, turns(0, 13))
	l, trig := load(t, s, id), trigger(compaction.Default(), nil)
	f, err := s.Boundary(t.Context(), l, trig)
	if err != nil || f.Fire == nil || f.Model != "m" || f.Estimate <= 7500 || f.After >= 7500 {
		t.Fatalf("%+v, %v", f, err)
	}
	f, err = s.Boundary(t.Context(), l, trig)
	if err != nil || f.Fire != nil || f.Reason != compaction.BelowThreshold {
		t.Errorf("at the next boundary: %+v, %v", f, err)
	}
	grow(t, s, l, 13, 8)
	if f, err = s.Boundary(t.Context(), l, trig); err != nil || f.Fire == nil {
		t.Fatalf("%+v, %v", f, err)
	}
	if diff := cmp.Diff([]string{"1-9 auto", "10-17 auto"}, overlays(t, s, id)); diff != "" {
		t.Error(diff)
	}
}

func TestWhoIsToldBeforeAnOverlayMayAppend(t *testing.T) {
	s := newService(t)
	id := one(t, s, turns(0, 13))
	l, trig := load(t, s, id), trigger(compaction.Default(), nil)
	told := 0
	trig.Ready = func(ctx context.Context, l *conversations.Loaded) {
		told++
		if err := s.Append(ctx, l, holdfast.Continuity{Capsule: holdfast.Capsule{SchemaVersion: 1, Revision: told}}); err != nil {
			t.Error(err)
		}
	}
	for range 2 { // at the second one nothing fires
		if _, err := s.Boundary(t.Context(), l, trig); err != nil {
			t.Fatal(err)
		}
	}
	var end []string
	for _, e := range load(t, s, id).Entries[13*5:] {
		end = append(end, conversation.KindOf(e.Event))
	}
	if diff := cmp.Diff([]string{"continuity", "compaction"}, end); diff != "" || told != 1 {
		t.Errorf("told %d times; the end of the stream (-want +got):\n%s", told, diff)
	}
	// What it appended may be the reason not to compact: the decision is made anew.
	grow(t, s, l, 13, 8)
	trig.Ready = func(ctx context.Context, l *conversations.Loaded) {
		if err := s.Append(ctx, l, holdfast.Overlay{ToTurn: 19, Tools: &holdfast.ToolPolicy{Omit: true}, StripReasoning: true}); err != nil {
			t.Error(err)
		}
	}
	f, err := s.Boundary(t.Context(), l, trig)
	if err != nil || f.Fire != nil || f.Reason != compaction.BelowThreshold {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestASummaryThatIsNotThereAppendsNothing(t *testing.T) {
	whole := compaction.Draft{Text: "It went well.", Model: "m2", Complete: true}
	cases := []struct {
		name string
		w    writer
	}{
		{"the call failed", writer{err: errors.New("no route")}},
		{"the call was interrupted", writer{err: context.Canceled}},
		{"it is empty", writer{draft: compaction.Draft{Complete: true}}},
		{"it was cut off", writer{draft: compaction.Draft{Text: "It", Stop: "max_tokens"}}},
		{"the model called a tool", writer{draft: compaction.Draft{Text: "It", Complete: true, Calls: 1}}},
		{"it is longer than what it stands for", writer{draft: compaction.Draft{Text: strings.Repeat("long ", 20_000), Complete: true}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newService(t)
			id := one(t, s, turns(0, 13))
			l, trig := load(t, s, id), trigger(summarising(), &c.w)
			before := export(t, s, id)
			f, err := s.Boundary(t.Context(), l, trig)
			if err != nil || f.Failure == nil || f.Fire != nil || c.w.asked != 1 {
				t.Errorf("%+v, %v, asked %d times", f, err, c.w.asked)
			}
			if diff := cmp.Diff(before, export(t, s, id)); diff != "" {
				t.Error(diff)
			}
			// It is not tried again before the conversation has grown.
			if f, err = s.Boundary(t.Context(), l, trig); err != nil || f.Reason != compaction.GrowthWait || c.w.asked != 1 {
				t.Errorf("again: %+v, %v, asked %d times", f, err, c.w.asked)
			}
			grow(t, s, l, 13, 1)
			c.w = writer{draft: whole}
			if f, err = s.Boundary(t.Context(), l, trig); err != nil || f.Fire == nil || f.Failure != nil {
				t.Errorf("after it has grown: %+v, %v", f, err)
			}
			if diff := cmp.Diff([]string{"1-10 auto"}, overlays(t, s, id)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestASummaryThatWasCalledForInVainKeepsTheNextProcessWaiting: what the call took is
// in the stream, known or not, and a program that starts anew sees there that it failed.
func TestASummaryThatWasCalledForInVainKeepsTheNextProcessWaiting(t *testing.T) {
	for name, w := range map[string]*writer{
		"one that was paid for":                 {draft: compaction.Draft{Complete: true, Usage: holdfast.Usage{Model: "m", Input: 9000, Output: 1}}},
		"one of which nobody told what it took": {draft: compaction.Draft{Usage: holdfast.Usage{Model: "m"}}, err: errors.New("the provider is down")},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			id := one(t, s, turns(0, 13))
			l := load(t, s, id)
			if f, err := s.Boundary(t.Context(), l, trigger(summarising(), w)); err != nil || f.Failure == nil {
				t.Fatalf("%+v, %v", f, err)
			}
			entries := load(t, s, id).Entries
			if u, ok := entries[len(entries)-1].Event.(holdfast.Usage); !ok || u.Purpose != holdfast.ForSummary || u.Input != w.draft.Usage.Input {
				t.Errorf("the last event is %+v", entries[len(entries)-1].Event)
			}
			f, err := s.Boundary(t.Context(), load(t, s, id), trigger(summarising(), w))
			if err != nil || f.Reason != compaction.GrowthWait || w.asked != 1 {
				t.Errorf("another process: %+v, %v, asked %d times", f, err, w.asked)
			}
		})
	}
}

// TestAPaidSummaryIsKeptWhereALaterRuleFails: the first summary is there, the
// second fails; what stands between them is not done.
func TestAPaidSummaryIsKeptWhereALaterRuleFails(t *testing.T) {
	s := newService(t)
	id := one(t, s, turns(0, 13))
	l := load(t, s, id)
	rule := func(spec string) compaction.Rule {
		r, err := compaction.ParseInline(spec, compaction.Bound{}, compaction.Bound{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	steps, err := compaction.Plan(l.Entries, []compaction.Rule{rule("s:2..4"), rule("t:5..6"), rule("s:8..9")}, noon, compaction.Estimator{})
	if err != nil {
		t.Fatal(err)
	}
	w := &once{draft: compaction.Draft{Text: "It went well.", Complete: true}}
	if err := s.Compact(t.Context(), l, steps, w, compaction.Estimator{}); err == nil {
		t.Error("no error")
	}
	if diff := cmp.Diff([]string{"1-3 manual"}, overlays(t, s, id)); diff != "" {
		t.Error(diff)
	}
}

// once writes one summary and then fails.
type once struct {
	draft compaction.Draft
	done  bool
}

func (o *once) Summarize(context.Context, compaction.SummaryInput) (compaction.Draft, error) {
	if o.done {
		return compaction.Draft{}, errors.New("no route")
	}
	o.done = true
	return o.draft, nil
}

func TestAFiredSummaryIsInTheStreamWithWhatItTook(t *testing.T) {
	s := newService(t)
	id := one(t, s, turns(0, 13))
	l := load(t, s, id)
	w := &writer{draft: compaction.Draft{Text: "It went well.", Model: "m2", Complete: true, Usage: holdfast.Usage{Model: "m2", Input: 9000, Output: 10}}}
	if _, err := s.Boundary(t.Context(), l, trigger(summarising(), w)); err != nil {
		t.Fatal(err)
	}
	entries := load(t, s, id).Entries
	want := []holdfast.Event{
		holdfast.Usage{Purpose: holdfast.ForSummary, Model: "m2", Input: 9000, Output: 10},
		holdfast.Overlay{FromTurn: 1, ToTurn: 9, Source: holdfast.AutoOverlay, Summary: &holdfast.Summary{Text: "It went well.", Origin: holdfast.GeneratedSummary, Model: "m2"}},
	}
	for i, e := range entries[len(entries)-2:] {
		if diff := cmp.Diff(want[i], e.Event); diff != "" {
			t.Error(diff)
		}
	}
}

func TestThreeFiringsThatDoNotHelpAreToldOnce(t *testing.T) {
	s := newService(t)
	// What the rule leaves alone is above the threshold by itself.
	big := `{"kind":"turn"}
{"kind":"user","content":[{"type":"text","text":"` + strings.Repeat("long ", 8000) + `"}]}
`
	id := one(t, s, big+turns(1, 12))
	l, trig := load(t, s, id), trigger(compaction.Default(), nil)
	var told []int
	for firing := 1; firing <= 5; firing++ {
		f, err := s.Boundary(t.Context(), l, trig)
		if err != nil || f.Fire == nil {
			t.Fatalf("firing %d: %+v, %v", firing, f, err)
		}
		if f.Notice != "" {
			told = append(told, firing)
		}
		grow(t, s, l, 20+firing, 1)
	}
	if diff := cmp.Diff([]int{3}, told); diff != "" {
		t.Error(diff)
	}
}

// TestWhatHappensMeanwhileDoesNotHarmTheTurn: the turn is durable before the
// trigger runs, so neither a second writer nor a store that fails takes it away.
func TestWhatHappensMeanwhileDoesNotHarmTheTurn(t *testing.T) {
	failing := &failingStore{Conversations: store.NewMemory()}
	s, _ := serviceOn(failing)
	id := one(t, s, turns(0, 13))
	l, trig := load(t, s, id), trigger(compaction.Default(), nil)
	before := export(t, s, id)

	failing.err = holdfast.Errorf(holdfast.ErrUnavailable, "the disk is gone")
	if _, err := s.Boundary(t.Context(), l, trig); !errors.Is(err, failing.err) {
		t.Errorf("a store that fails: %v", err)
	}
	failing.err = nil
	if diff := cmp.Diff(before, export(t, s, id)); diff != "" {
		t.Error(diff)
	}

	other := load(t, s, id)
	grow(t, s, other, 13, 1)
	if _, err := s.Boundary(t.Context(), l, trig); holdfast.CodeOf(err) != holdfast.ErrConflict {
		t.Errorf("a second writer: %v", err)
	}
	if got := overlays(t, s, id); len(got) != 0 {
		t.Errorf("overlays %v", got)
	}
	// The next boundary of whoever read the stream does what was not done.
	if f, err := s.Boundary(t.Context(), other, trig); err != nil || f.Fire == nil {
		t.Fatalf("%+v, %v", f, err)
	}
	if diff := cmp.Diff([]string{"1-10 auto"}, overlays(t, s, id)); diff != "" {
		t.Error(diff)
	}
}

type failingStore struct {
	store.Conversations
	err error
}

func (f *failingStore) Append(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID, after int64, events []store.StoredEvent) error {
	if f.err != nil {
		return f.err
	}
	return f.Conversations.Append(ctx, p, id, after, events)
}

func TestCompactAppendsAllOrNothing(t *testing.T) {
	s := newService(t)
	id := one(t, s, turns(0, 13))
	l := load(t, s, id)
	failing := &writer{err: errors.New("no route")}
	rules := []compaction.Rule{compaction.Default(), summarising()}
	steps, err := compaction.Plan(l.Entries, rules, noon, compaction.Estimator{})
	if err != nil {
		t.Fatal(err)
	}
	before := export(t, s, id)
	for name, w := range map[string]compaction.Summarizer{"no writer": nil, "a writer that fails": failing} {
		if err := s.Compact(t.Context(), l, steps, w, compaction.Estimator{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if diff := cmp.Diff(before, export(t, s, id)); diff != "" {
		t.Error(diff)
	}
}

func TestResetFindsWhatIsInForce(t *testing.T) {
	list := []conversation.PlacedOverlay{
		{ID: "a", Overlay: holdfast.Overlay{Source: holdfast.ManualOverlay}},
		{ID: "b", Overlay: holdfast.Overlay{Source: holdfast.AutoOverlay}, Revoked: true},
		{ID: "c", Overlay: holdfast.Overlay{Source: holdfast.AutoOverlay}},
		{ID: "d", Overlay: holdfast.Overlay{Source: holdfast.AgentOverlay}},
	}
	cases := []struct {
		name  string
		reset conversations.Reset
		want  string
		code  holdfast.Code
	}{
		{"all", conversations.Reset{}, "acd", ""},
		{"those of the trigger", conversations.Reset{Source: holdfast.AutoOverlay}, "c", ""},
		{"those of a person", conversations.Reset{Source: holdfast.ManualOverlay}, "a", ""},
		{"one by its number", conversations.Reset{Number: 3}, "c", ""},
		{"one that is revoked", conversations.Reset{Number: 2}, "", holdfast.ErrUsage},
		{"one that is not there", conversations.Reset{Number: 5}, "", holdfast.ErrUsage},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			found, err := c.reset.Find(list)
			got := ""
			for _, o := range found {
				got += string(o.ID)
			}
			if got != c.want || (err != nil) != (c.code != "") || err != nil && holdfast.CodeOf(err) != c.code {
				t.Errorf("found %q, %v", got, err)
			}
		})
	}
}
