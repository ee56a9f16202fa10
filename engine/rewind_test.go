package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/engine"
)

// rounds adds a round for each of the names, whose plan has that step under way.
func (w *world) rounds(r request, h []entry, names ...string) []entry {
	w.t.Helper()
	for _, n := range names {
		h = w.turn(r, join(h, user("do "+n)), call("c"+n, "update_plan", steps("completed:a", "completed:b", "in_progress:"+n)))
		h = w.turn(r, join(h, result("c"+n, ok)), long("did "+n))
	}
	return h
}

func TestACompactionOfARewoundHistoryCarriesNothingOfWhatWasTakenBack(t *testing.T) {
	const planned = "in_progress:a pending:b"
	for _, tt := range []struct {
		name string
		r    request
		asks entry
		more []entry // behind the place that the person went back to
		last int     // rounds that are taken back
		want string
	}{
		{"at once", claude, user(claudeMarker), nil, 3, planned},
		{"at once, in codex", s1, user(codexMarker), nil, 3, planned},
		{"with a new prompt", claude, user(claudeMarker), []entry{user("another way")}, 3, planned},
		{"with a new prompt in the place of the newest one", claude, user(claudeMarker), []entry{user("another way")}, 1, planned},
		{"an agent that keeps its newest rounds verbatim goes on", bare, user(qwenPrompt), nil, 3, "completed:a completed:b in_progress:z"},
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, by another process %v", tt.name, restarted), func(t *testing.T) {
				w := newWorld(t)
				early := w.planned(tt.r)
				names := []string{"x", "y", "z"}
				w.rounds(tt.r, early, names[3-tt.last:]...)
				if restarted {
					w.restart()
				}
				block := w.boundary(tt.r, join(join(early, tt.more...), tt.asks)...)
				if got := planIn(block); got != tt.want || strings.Contains(block, "do z") != (tt.want != planned) {
					t.Errorf("it carries %q\n%s\n%s", got, block, w.log)
				}
			})
		}
	}
}

func TestARoundThatWasBrokenOffIsNoWayBack(t *testing.T) {
	w := newWorld(t)
	h := w.rounds(claude, w.planned(claude), "x")
	w.begin(claude, join(h, user("broken off"))...).Done(holdfast.Answer{})
	w.boundary(claude, join(h, user(claudeMarker))...)
	w.restart()
	w.boundary(claude, join(h, user(claudeMarker))...)
	w.expect(claude, "completed:a completed:b in_progress:x")
}

func TestACompactionOfAHistoryFromBeforeACompactionCarriesNothingOfWhatCameBehind(t *testing.T) {
	w := newWorld(t)
	w.planOnly()
	old := w.planned(claude)
	h := w.rounds(claude, old, "x")
	a := w.begin(claude, join(h, user(claudeMarker))...)
	text := "sum\n\n" + a.Block
	a.Commit(context.Background(), holdfast.TextDigest(text), true)
	done(a, answer(text))
	w.rounds(claude, []entry{user(claudeBack + text)}, "y")
	a = w.begin(claude, join(old, user(claudeMarker))...)
	if got := planIn(a.Block); got != "in_progress:a pending:b" {
		t.Errorf("it carries %q\n%s", got, w.log)
	}
	text = "sum of another way\n\n" + a.Block
	a.Commit(context.Background(), holdfast.TextDigest(text), true)
	done(a, answer(text))
	w.turn(claude, []entry{user(claudeBack + text), user("another way")}, call("c9", "update_plan", steps("completed:a", "in_progress:b")))
	w.expect(claude, "completed:a completed:b in_progress:y", "completed:a in_progress:b")
}

func TestACompactionThatTheAgentDiscardsOpensNoEpochBehindARewind(t *testing.T) {
	for _, goesOn := range []bool{false, true} {
		w := newWorld(t)
		w.planOnly()
		compact := func(h []entry, text string) string {
			a := w.begin(claude, join(h, user(claudeMarker))...)
			text += "\n\n" + a.Block
			a.Commit(context.Background(), holdfast.TextDigest(text), true)
			done(a, answer(text))
			return text
		}
		text := compact(w.planned(claude), "sum")
		early := w.turn(claude, []entry{user(claudeBack + text), user("next")}, long("first"))
		h := w.rounds(claude, early, "x")
		compact(h, "discarded")
		if goesOn {
			w.turn(claude, join(h, user("and more")), long("more"))
			w.restart() // what another process finds
		}
		r := w.turn(claude, join(early, user("another way")), long("another"))
		if got := planIn(w.boundary(claude, join(r, user(claudeMarker))...)); got != "in_progress:a pending:b" {
			t.Errorf("goes on %v: it carries %q\n%s", goesOn, got, w.log)
		}
	}
}

func TestTwoOpaqueCompactionsOnTwoWaysAreToldApart(t *testing.T) {
	w := newWorld(t)
	w.planOnly()
	h := w.planned(s1)
	compact := func(h []entry, item string) {
		a := w.begin(s1, join(h, entry{Trigger: true})...)
		a.Commit(context.Background(), holdfast.TextDigest(item), false)
		done(a, entry{Item: item})
	}
	compact(w.turn(s1, join(h, user("one way")), long("one")), "one")
	y := w.turn(s1, join(h, user("another way")), call("c2", "update_plan", steps("completed:a", "in_progress:b")))
	compact(w.turn(s1, join(y, result("c2", ok)), long("another")), "another")
	for item, want := range map[string]string{"another": "completed:a in_progress:b", "one": "in_progress:a pending:b"} {
		b := w.begin(s1, user("build it"), entry{Item: item}, user("go on"))
		if b.Insert == nil || planIn(b.Insert.Text) != want {
			t.Errorf("behind %s stands %+v, want %s\n%s", item, b.Insert, want, w.log)
		}
		done(b, long("yes"))
	}
}

func TestACompactionThatIsAskedForAgainAndBreaksOffLeavesTheFirst(t *testing.T) {
	w := newWorld(t)
	w.planOnly()
	h := w.planned(bare)
	a := w.begin(bare, join(h, user(qwenPrompt))...)
	text := "sum\n\n" + a.Block
	a.Commit(context.Background(), holdfast.TextDigest(text), true)
	done(a, answer(text))
	w.begin(bare, join(h, user(qwenPrompt))...).Done(holdfast.Answer{})
	w.restart()
	b := w.begin(bare, user(text), answer(gotIt), user("go on"))
	from, _, _ := a.Place()
	if to, _, _ := b.Place(); from != to {
		t.Errorf("the next epoch is of another session\n%s", w.log)
	}
	done(b, long("yes"))
}

func TestASummaryUpToAPlaceLeavesWhatCameBehindIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		early := w.planned(claude)
		h := w.rounds(claude, early, "x", "y", "z")
		time.Sleep(time.Second) // it is written
		st, err := w.st.Session(t.Context(), holdfast.Local, "claude-code", claude.session)
		if err != nil {
			t.Fatal(err)
		}
		edit := continuity.Edit{Op: continuity.EditAdd, List: continuity.ListConstraints, Statement: "never touch the billing table"}
		if _, err := engine.Edit(t.Context(), w.st, holdfast.Local, st.ID, st.Branches[0].ID, edit, time.Now(), false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second) // it is taken up
		a := w.begin(claude, join(early, user(claudeMarker))...)
		text := "sum\n\n" + a.Block
		a.Commit(context.Background(), holdfast.TextDigest(text), true)
		done(a, answer(text))
		behind := join([]entry{user(claudeBack + text)}, h[len(early):]...)
		n := w.turn(claude, join(behind, user("go on")), long("yes"))
		block := w.boundary(claude, join(n, user(claudeMarker))...)
		if !strings.Contains(block, "never touch the billing table") || planIn(block) != "completed:a completed:b in_progress:z" {
			t.Errorf("the next compaction carries\n%s\n%s", block, w.log)
		}
	})
}

func TestADiscardedCompactionThatIsNotWrittenYetIsNoOtherProcess(t *testing.T) {
	w := newWorld(t)
	h := w.planned(s1)
	a := w.begin(s1, join(h, user(codexMarker))...)
	a.Commit(context.Background(), holdfast.TextDigest("sum"), false)
	done(a, answer("sum"))
	flying := w.begin(s1, join(h, user("go on without it"))...)
	done(w.begin(request{session: s1.session, thread: "t2"}, user("a subagent's task")), long("found"))
	done(flying, call("c2", "update_plan", steps("completed:a", "in_progress:b")))
	w.expect(s1, "completed:a in_progress:b", "none")
}

func TestACompactionThatBreaksOffBehindItsEpochTakesNothingBack(t *testing.T) {
	w := newWorld(t)
	w.planOnly()
	h := w.planned(bare)
	first, second := w.begin(bare, join(h, user(qwenPrompt))...), w.begin(bare, join(h, user(qwenPrompt))...)
	text := "sum\n\n" + second.Block
	second.Commit(context.Background(), holdfast.TextDigest(text), true)
	done(second, answer(text))
	b := w.begin(bare, user(text), answer(gotIt), user("go on"))
	done(b, answer("yes"))
	first.Done(holdfast.Answer{})
	w.restart()
	c := w.begin(bare, user(text), answer(gotIt), user("go on"), answer("yes"), user("more"))
	from, _, _ := b.Place()
	if to, _, _ := c.Place(); from != to {
		t.Errorf("the next process finds another session\n%s", w.log)
	}
	done(c, answer("yes"))
}
