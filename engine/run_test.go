package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

func TestASecondConversationOfARunGetsNothingOfTheFirst(t *testing.T) {
	run := request{bare: true, run: "task", protocol: holdfast.Chat}
	for name, second := range map[string][]entry{
		"a conversation that was compacted before":  {user(piBack + "B's own summary\n</summary>"), user("go on with B")},
		"a conversation that is compacted at once":  {user("build B"), long("B it is"), user("and more B"), long("more"), user(qwenPrompt)},
		"one in words that is compacted at once":    {user(quoted([]entry{user("build B"), long("B it is")}))},
		"one that begins":                           {user("build B")},
		"one that goes on without being known here": {user("build B"), long("B it is"), user("and more B")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			h := w.turn(run, []entry{user("build A for team Heron")}, call("c1", "update_plan", steps("in_progress:a")))
			w.turn(run, join(h, result("c1", ok)), long("working on A"))
			b := w.begin(run, second...)
			if b.Insert != nil || strings.Contains(b.Block, "Heron") {
				t.Errorf("it gets the first one's: %+v %s\n%s", b.Insert, b.Block, w.log)
			}
			done(b, long("yes"))
		})
	}
}

func TestAConversationOfARunIsCompactedWithItsOwn(t *testing.T) {
	run := request{bare: true, run: "task", protocol: holdfast.Chat}
	for _, restarted := range []bool{false, true} {
		w := newWorld(t)
		h := w.turn(run, []entry{user("build A for team Heron")}, call("c1", "update_plan", steps("in_progress:a")))
		h = w.turn(run, join(h, result("c1", ok)), answer("Yes."))
		if restarted {
			w.restart()
		}
		a := w.begin(run, user(quoted(h)))
		if !strings.Contains(a.Block, "Heron") || planIn(a.Block) != "in_progress:a" {
			t.Fatalf("restarted %v: it carries %q\n%s", restarted, a.Block, w.log)
		}
		text := "forgot\n\n" + a.Block
		a.Commit(context.Background(), holdfast.TextDigest(text), true)
		done(a, answer(text))
		b := w.begin(run, user(piBack+text+"\n</summary>"), user("go on"))
		_, from, _ := a.Place()
		if _, to, _ := b.Place(); from != to {
			t.Errorf("restarted %v: the next epoch is of another branch\n%s", restarted, w.log)
		}
		done(b, answer("Yes."))
	}
}

// TestAnEmptyHistoryInWordsIsThatOfTheBranchUsedLast: pi asks so where a session is too
// short to be summed up.
func TestAnEmptyHistoryInWordsIsThatOfTheBranchUsedLast(t *testing.T) {
	run := request{bare: true, run: "task", protocol: holdfast.Chat}
	for _, restarted := range []bool{false, true} {
		w := newWorld(t)
		w.planOnly()
		w.planned(run)
		if restarted {
			w.restart()
		}
		if got := planIn(w.boundary(run, user(quoted(nil)))); got != "in_progress:a pending:b" {
			t.Errorf("restarted %v: it carries %q\n%s", restarted, got, w.log)
		}
	}
}
