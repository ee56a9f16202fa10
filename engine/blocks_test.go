package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/engine"
)

// summed is how a history begins that the provider summed up.
var (
	summed  = entry{Item: "they ported it"}
	thought = entry{Thought: true}
)

// placed is where a turn carries which block.
func (w *world) placed(h ...entry) engine.Insertion {
	w.t.Helper()
	a := w.begin(claude, h...)
	defer done(a, thought, long("so"))
	if a.Insert == nil {
		w.t.Fatalf("no block\n%s", w.log)
	}
	return *a.Insert
}

// The last message of the user in the first request behind the summary holds the block,
// for all of the epoch and for each process: the thinking that stands before it was made
// without it, that behind it with it.
func TestTheBlockStaysInTheMessageThatItWasFirstIn(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprintf("another process goes on: %v", restarted), func(t *testing.T) {
			w := newWorld(t)
			w.planned(claude)
			h := []entry{summed, user("look"), thought, long("looking"), user("next")}
			first := w.placed(h...)
			if first.At != 4 || planIn(first.Text) != "in_progress:a pending:b" {
				t.Fatalf("it stands in %d:\n%s", first.At, first.Text)
			}
			for range 2 {
				if restarted {
					w.restart()
				}
				h = append(h, thought, long("so"), user("more"))
				if again := w.placed(h...); again != first {
					t.Errorf("it became %+v\n%s", again, w.log)
				}
			}
			// Who goes back to before that message, has it in another one from then on.
			back := []entry{summed, user("look"), thought, long("looking another way"), user("what else")}
			for i := range 2 {
				if again := w.placed(back...); again.At != 4 {
					t.Errorf("turn %d of the fork: it stands in %d", i, again.At)
				}
				back = append(back, thought, long("so"), user("more"))
			}
			short := []entry{summed, user("another question")}
			for i := range 2 {
				if again := w.placed(short...); again.At != 1 {
					t.Errorf("turn %d of the early fork: it stands in %d", i, again.At)
				}
				short = append(short, thought, long("so"), user("more"))
			}
		})
	}
}

func TestAnEditWaitsWhereThinkingStandsBehindTheBlock(t *testing.T) {
	for _, thinks := range []bool{false, true} {
		t.Run(fmt.Sprint(thinks), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.planned(claude)
				h := []entry{summed, user("next")}
				first := w.placed(h...)
				time.Sleep(time.Second) // what is queued is written
				st, err := w.st.Session(t.Context(), holdfast.Local, "claude-code", claude.session)
				if err != nil {
					t.Fatal(err)
				}
				edit := continuity.Edit{Op: continuity.EditAdd, List: continuity.ListConstraints, Statement: "no cgo"}
				got, err := engine.Edit(t.Context(), w.st, holdfast.Local, st.ID, st.Branches[0].ID, edit, time.Now(), false)
				if err != nil || !got.Bound {
					t.Fatalf("%+v, %v", got, err)
				}
				time.Sleep(time.Second)
				if thinks {
					h = append(h, thought)
				}
				h = append(h, long("so"), user("more"))
				if again := w.placed(h...); strings.Contains(again.Text, "- no cgo\n") == thinks || thinks && again != first {
					t.Errorf("it became %+v", again)
				}
				next := w.placed(entry{Item: "they went on"}, user("and now"))
				if !strings.Contains(next.Text, "- no cgo\n") || planIn(next.Text) != "in_progress:a pending:b" {
					t.Errorf("behind the next summary it is\n%s", next.Text)
				}
			})
		})
	}
}

// Who has an earlier message answered again leaves the branch with the request that
// follows. The answer was thought behind the block, in the message where it stood then.
func TestTheBlockStaysWhereAnEarlierMessageWasAnsweredAgain(t *testing.T) {
	w := newWorld(t)
	w.planned(claude)
	h := []entry{summed, user("look"), thought, long("looking"), user("next")}
	w.placed(append(h, thought, long("so"), user("more"))...)
	again := h[:2:2]
	for i := range 3 {
		if got := w.placed(again...); got.At != 1 {
			t.Errorf("turn %d: it stands in %d\n%s", i, got.At, w.log)
		}
		again = append(again, thought, long("so, another way"), user("and more"))
	}
}

// What the extractor finds too late for an epoch waits, too: the model may have thought
// behind the block that the epoch began with.
func TestALateResultWaitsWhereThinkingMayStandBehindTheBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := newReader(t)
		h := w.planned(claude)
		time.Sleep(time.Second)
		o.set(func(context.Context) error { time.Sleep(4500 * time.Millisecond); return nil })
		w.turn(claude, append(h, user("Use rule 1.")), long("Done"))
		h = []entry{summed, user("next")}
		first := w.placed(h...)
		time.Sleep(10 * time.Second)
		if got := constraints(w.stored(claude)); !slices.Equal(got, []string{"Use rule 1."}) {
			t.Fatalf("it has %q\n%s", got, w.log)
		}
		h = append(h, thought, long("so"), user("more"))
		if again := w.placed(h...); again != first {
			t.Errorf("it became %+v", again)
		}
		if next := w.placed(entry{Item: "they went on"}, user("and now")); !strings.Contains(next.Text, "- Use rule 1.\n") {
			t.Errorf("behind the next summary it is\n%s", next.Text)
		}
	})
}
