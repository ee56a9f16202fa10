package query_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
)

// TestAFullWindowNamesACompactionThatWorks follows the advice and asks again. A
// call is surely above the window of 1500 tokens from some 12,000 characters on.
func TestAFullWindowNamesACompactionThatWorks(t *testing.T) {
	const prefix = "the conversation takes at least "
	result := strings.Repeat("result ", 3000)
	called := func(w *world) {
		w.append(holdfast.ToolCall{ID: "1", Name: "read", Arguments: []byte(`{}`)}, holdfast.ToolResult{CallID: "1", Parts: []holdfast.Part{holdfast.Text(result)}})
	}
	turn := func(w *world, text string) {
		w.append(holdfast.TurnStart{}, holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text(text)}})
	}
	cases := []struct {
		name        string
		before      func(*world)
		asked       string
		advice      string
		spec        string
		first, last int
	}{
		{"a result in the only turn before", func(w *world) { turn(w, "look"); called(w) }, "and?", "-k r+t --keep-first 0 --keep-last 0", "r+t", 0, 0},
		{"a result in the middle", func(w *world) {
			turn(w, "begin")
			turn(w, "look")
			called(w)
			turn(w, "a")
			turn(w, "b")
		}, "and?", "-k r+t --keep-first 1 --keep-last 3", "r+t", 1, 3},
		{"calls without number", func(w *world) {
			turn(w, "look")
			for range 1000 {
				w.append(holdfast.ToolCall{ID: "1", Name: "read", Arguments: []byte(`{}`)}, holdfast.ToolResult{CallID: "1", Parts: []holdfast.Part{holdfast.Text("a result of some length, as they are")}})
			}
		}, "and?", "-k r+t=omit --keep-first 0 --keep-last 0", "r+t=omit", 0, 0},
		{"much that was said", func(w *world) { turn(w, strings.Repeat("words ", 3000)) }, "and?", "-k s --keep-first 0 --keep-last 1", "s", 0, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, says("done"))
			w.cfg.Window = 1500
			c.before(w)
			_, err := w.ask(t.Context(), c.asked)
			if holdfast.CodeOf(err) != holdfast.ErrTooLarge || len(w.model.calls) != 0 {
				t.Fatalf("%d calls, %v", len(w.model.calls), err)
			}
			if want := ", but the window of m has 1500. Nothing was sent. Compact it: holdfast conversation compact c " + c.advice; !strings.HasPrefix(err.Error(), prefix) || !strings.HasSuffix(err.Error(), want) {
				t.Fatalf("error %q, want its end to be %q", err, want)
			}
			if strings.Contains(err.Error(), "may take") {
				t.Errorf("%q tells of a limit of the answer that is not known", err)
			}
			rule, err := compaction.ParseInline(c.spec, compaction.Count(c.first), compaction.Count(c.last))
			if err != nil {
				t.Fatal(err)
			}
			if rule.Summary != nil {
				text := "They greeted each other."
				rule.Summary.Text = &text
			}
			steps, err := compaction.Plan(w.l.Entries, []compaction.Rule{rule}, noon, compaction.Estimator{})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.s.Compact(t.Context(), &w.l, steps, nil, compaction.Estimator{}); err != nil {
				t.Fatal(err)
			}
			if answer, err := w.ask(t.Context(), "again"); err != nil || answer.Text != "done" {
				t.Errorf("behind the compaction: %+v, %v", answer, err)
			}
		})
	}
}

func TestAQuestionThatIsTooLongIsNotToBeCompacted(t *testing.T) {
	w := newWorld(t, says("done"))
	w.cfg.Window, w.cfg.MaxOutput, w.tools = 1500, 100, nil
	_, err := w.ask(t.Context(), strings.Repeat("words ", 3000))
	// Eight characters of 18,000, and of "be brief", at most make a token.
	want := "the conversation takes at least 2251 tokens and the answer may take 100, but the window of m has 1500. Nothing was sent. " +
		"No compaction makes room enough: use a model with a larger window, or ask for less in a new conversation"
	if err == nil || err.Error() != want || holdfast.CodeOf(err) != holdfast.ErrTooLarge || len(w.model.calls) != 0 {
		t.Errorf("%d calls, %v", len(w.model.calls), err)
	}
}

// append puts events into the stream before a turn.
func (w *world) append(events ...holdfast.Event) {
	w.t.Helper()
	if err := w.s.Append(w.t.Context(), &w.l, events...); err != nil {
		w.t.Fatal(err)
	}
}
