package query_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity/extract"
	"github.com/holdfast-dev/holdfast/engine/conversations"
	"github.com/holdfast-dev/holdfast/store"
)

func TestAnExtractorThatFailsHarmsNoTurn(t *testing.T) {
	const next = ". The next query goes on there"
	facts := strings.Repeat(`{"kind":"value","statement":"x","quote":"x"},`, 199) + `{"kind":"value","statement":"x","quote":"x"}`
	for _, tt := range []struct {
		name   string
		before func(context.Context) error
		answer extract.Answer
		want   string
	}{
		{"an error", func(context.Context) error { return errors.New("no route to it.") }, extract.Answer{}, "no route to it"},
		{"its time is over", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, extract.Answer{}, "its call took longer than 1s, the timeout"},
		{"a panic", func(context.Context) error { panic("secret words") }, extract.Answer{}, "its call failed by a defect of Holdfast (string)"},
		{"prose", nil, extract.Answer{Text: "You chose tabs."}, "its answer counts for nothing (prose)"},
		{"a tool call", nil, extract.Answer{Calls: 1}, "its answer counts for nothing (tool_call)"},
		{"two objects", nil, extract.Answer{Text: `{"schema_version":1,"base_revision":REVISION} {"schema_version":1,"base_revision":REVISION}`}, "its answer counts for nothing (two_objects)"},
		{"two hundred facts", nil, extract.Answer{Text: `{"schema_version":1,"base_revision":REVISION,"facts":[` + facts + `]}`}, "its answer counts for nothing (too_many)"},
		{"another revision", nil, extract.Answer{Text: `{"schema_version":1,"base_revision":99}`}, "its answer counts for nothing (base_revision)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, wants(read("1")), says("Yes."), says("Yes."))
				o := w.read()
				o.before, o.answer = tt.before, &tt.answer
				w.cfg.Extraction.Timeout = time.Second
				w.asks("Use tabs.")
				if got := w.capsule(); len(got.Constraints)+len(got.Facts) > 0 || got.Watermark != "" || got.Revision != 1 {
					t.Errorf("the capsule is %+v", got)
				}
				if diff := cmp.Diff([]string{"the extractor has not read all that was said: " + tt.want + next}, w.notices()); diff != "" {
					t.Errorf("notices (-want +got):\n%s", diff)
				}
				// The next process reads it.
				o.before, o.answer = nil, nil
				w.asks("Continue")
				w.wantConstraints("Use tabs.")
				if diff := cmp.Diff([]string{"Use tabs.", "Use tabs. | Yes. | Continue"}, o.calls()); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestWhatIsPaidForThreeTimesInVainIsPassedOver: calls that cost nothing do not count.
func TestWhatIsPaidForThreeTimesInVainIsPassedOver(t *testing.T) {
	w := newWorld(t)
	o := w.read()
	o.answer = &extract.Answer{Text: "You chose tabs."}
	for _, text := range []string{"Use tabs.", "Continue", "Go on", "Next"} {
		if text == "Go on" {
			o.before = func(context.Context) error { return errors.New("no route to it") }
		} else {
			o.before = nil
		}
		w.model.replies = append(w.model.replies, says("Yes."))
		w.asks(text)
	}
	said := "the extractor has not read all that was said: "
	if diff := cmp.Diff([]string{
		said + "its answer counts for nothing (prose). The next query goes on there",
		said + "its answer counts for nothing (prose). The next query goes on there",
		said + "no route to it. The next query goes on there",
		said + "its answer counts for nothing (prose). That was the case 3 times, and it is passed over",
	}, w.notices()); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
	o.answer = nil
	w.model.replies = append(w.model.replies, says("Yes."), says("Yes."))
	w.asks("Keep going")
	w.asks("Use LF.")
	if diff := cmp.Diff([]string{"Use tabs.", "Use tabs. | Yes. | Continue", "Use tabs. | Yes. | Continue | Yes. | Go on", "Use tabs. | Yes. | Continue | Yes. | Go on | Yes. | Next", "Yes. | Use LF."}, o.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	w.wantConstraints("Use LF.")
}

// gathers lets n rules gather, and then has three turns in which they are read.
func (w *world) gathers(n int) {
	w.t.Helper()
	for i := range n {
		w.model.replies = []reply{says("Yes.")}
		w.asks(fmt.Sprintf("Use rule %d.", i))
	}
	w.cfg.Extraction.Ratio = 1
	for range 3 {
		w.model.replies = []reply{says("Yes.")}
		w.asks("go on")
	}
}

func TestABatchThatIsTooMuchForOneAnswerIsReadInHalves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		o := w.read()
		o.most, w.cfg.Extraction.Ratio = 3, 0.0001
		w.gathers(8)
		w.wantConstraints("Use rule 0.", "Use rule 1.")
		for _, line := range w.screen.lines {
			if strings.Contains(line, "extractor") {
				t.Errorf("told: %s", line)
			}
		}
	})
}

// The third try is for a quarter, which may be too much as well.
func TestWhatIsTooMuchInEachPartIsPassedOverAndTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		o := w.read()
		o.most, w.cfg.Extraction.Ratio = 1, 0.0001
		w.gathers(8)
		want := []string{"the extractor has not read all that was said: its answer counts for nothing (cut_off). That was the case 3 times, and it is passed over"}
		if diff := cmp.Diff(want, w.notices()); diff != "" {
			t.Errorf("notices (-want +got):\n%s", diff)
		}
	})
}

// refusing takes no capsules that extraction has read.
type refusing struct{ *store.Memory }

func (s refusing) Append(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID, head int64, rows []store.StoredEvent) error {
	for _, row := range rows {
		if row.Kind == "usage" {
			return holdfast.Errorf(holdfast.ErrUnavailable, "the disk is full")
		}
	}
	return s.Memory.Append(ctx, p, id, head, rows)
}

func TestWhatCannotBeWrittenIsReadAgain(t *testing.T) {
	w := newWorld(t, says("Yes."), says("Yes."))
	o := w.read()
	st := refusing{store.NewMemory()}
	c := store.Conversation{ID: "c", Principal: holdfast.Local, Origin: store.OwnConversation, Version: store.StreamVersion, CreatedAt: noon}
	if err := st.Create(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	n := 0
	w.s = conversations.New(st, holdfast.Local, func() time.Time { return noon }, func() string { n++; return fmt.Sprint("e", n) })
	w.asks("Use tabs.")
	want := []string{"the extractor has not read all that was said: what it found cannot be written: the disk is full"}
	if diff := cmp.Diff(want, w.notices()); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
	w.wantStored("turn", "user", "continuity 1", "assistant Yes.")
	w.asks("Use LF.")
	if diff := cmp.Diff([]string{"Use tabs.", "Use tabs. | Yes. | Use LF."}, o.calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
