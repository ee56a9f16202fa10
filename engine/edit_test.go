package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/store"
)

// edit changes the first branch of a session as a process beside the engine does.
func (w *world) edit(r request, e continuity.Edit) engine.Edited {
	w.t.Helper()
	st, err := w.st.Session(context.Background(), holdfast.Local, "codex", r.session)
	if err != nil {
		w.t.Fatal(err)
	}
	done, err := engine.Edit(context.Background(), w.st, holdfast.Local, st.ID, st.Branches[0].ID, e, time.Now(), false)
	if err != nil {
		w.t.Fatal(err)
	}
	return done
}

func keepTo(text string) continuity.Edit {
	return continuity.Edit{Op: continuity.EditAdd, List: continuity.ListConstraints, Statement: text}
}

// newest reads the newest capsule of the first branch of a session, once all is
// written.
func (w *world) newest(r request) holdfast.Capsule {
	w.t.Helper()
	w.restart()
	return w.stored(r)
}

// stored is newest, of what is written by now.
func (w *world) stored(r request) holdfast.Capsule {
	w.t.Helper()
	agent := "codex"
	if r.protocol == holdfast.Anthropic {
		agent = agents.ClaudeCode
	}
	st, err := w.st.Session(context.Background(), holdfast.Local, agent, r.session)
	if err != nil {
		w.t.Fatal(err)
	}
	revs := st.Branches[0].Revisions
	newest := revs[len(revs)-1]
	if newest, err = w.st.Revision(context.Background(), holdfast.Local, newest.Branch, newest.N); err != nil {
		w.t.Fatal(err)
	}
	var c holdfast.Capsule
	if err := json.Unmarshal(newest.Capsule, &c); err != nil {
		w.t.Fatal(err)
	}
	return c
}

func constraints(c holdfast.Capsule) (list []string) {
	for _, x := range c.Constraints {
		list = append(list, x.Statement)
	}
	return list
}

// opaque carries a session with a plan through a compaction that nothing can be
// put into, and returns the history behind it.
func (w *world) opaque() []entry {
	w.t.Helper()
	h := w.planned(s1)
	a := w.begin(s1, append(h, entry{Trigger: true})...)
	a.Commit(context.Background(), holdfast.Digest{}, false)
	done(a, entry{Item: "blob1"})
	return []entry{user("build it"), {Item: "blob1"}, user("next")}
}

// block is what a turn carries.
func (w *world) block(h []entry, events ...entry) string {
	w.t.Helper()
	a := w.begin(s1, h...)
	defer done(a, events...)
	if a.Insert == nil {
		w.t.Fatalf("no block\n%s", w.log)
	}
	return a.Insert.Text
}

func TestAnEditIsInTheBlockOfAStickyEpochFromTheNextRequestOn(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprintf("another process goes on: %v", restarted), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				h := w.opaque()
				before := w.block(h, long("go"))
				h = append(h, long("go"), user("more"))
				time.Sleep(time.Second) // what is queued is written
				if got := w.edit(s1, keepTo("no cgo")); !got.Sticky {
					t.Error("the edit does not say that the next request carries it")
				}
				if restarted {
					w.restart()
				}
				time.Sleep(time.Second)
				after := w.block(h, call("c5", "update_plan", steps("completed:a", "in_progress:b")))
				if strings.Contains(before, "no cgo") || !strings.Contains(after, "- no cgo\n") || !strings.Contains(after, "1. [in_progress] a\n2. [pending] b\n") {
					t.Fatalf("before\n%s\nafter\n%s", before, after)
				}
				h = append(h, call("c5", "update_plan", steps("completed:a", "in_progress:b")), result("c5", ok))
				for range 2 {
					time.Sleep(time.Second)
					if got := w.block(h, long("so")); got != after {
						t.Fatalf("later in the epoch\n%s", got)
					}
					h = append(h, long("so"), user("more"))
					w.restart()
				}
				// The last request had what the answer to it has not: both stay.
				if c := w.newest(s1); brief(c) != "completed:a in_progress:b" || !slices.Equal(constraints(c), []string{"no cgo"}) {
					t.Errorf("%s, %q", brief(c), constraints(c))
				}
			})
		})
	}
}

func TestAForkBehindAnEditCarriesItAndOneBeforeItDoesNot(t *testing.T) {
	for _, behind := range []bool{false, true} {
		t.Run(fmt.Sprintf("it goes on from the newest state: %v", behind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				h := w.opaque()
				before := w.block(h, long("go"))
				h = append(h, long("go"), user("more"))
				if got := w.block(h, long("so")); got != before {
					t.Fatalf("later in the epoch\n%s", got)
				}
				time.Sleep(time.Second)
				w.edit(s1, keepTo("no cgo"))
				if !behind {
					h = h[:len(h)-1]
				}
				h = append(h, user("in another session"))
				r := request{session: "s2", fork: "s1"}
				var got []string
				for range 2 {
					a := w.begin(r, h...)
					if a.Insert == nil {
						t.Fatalf("no block\n%s", w.log)
					}
					got = append(got, a.Insert.Text)
					done(a, long("yes"))
					h = append(h, long("yes"), user("and"))
				}
				if strings.Contains(got[0], "- no cgo\n") != behind || got[1] != got[0] || !behind && got[0] != before {
					t.Errorf("the fork carries\n%s\nand then\n%s", got[0], got[1])
				}
			})
		})
	}
}

func TestABlockThatAnEditLeavesNothingOfEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.cfg.Preserve.UserWords = false
		w.restart()
		h := w.opaque()
		w.block(h, long("go"))
		time.Sleep(time.Second)
		w.edit(s1, continuity.Edit{Op: continuity.EditRemove, ID: continuity.PlanID})
		time.Sleep(time.Second)
		a := w.begin(s1, append(h, long("go"), user("more"))...)
		if a.Insert != nil {
			t.Errorf("the block is still\n%s", a.Insert.Text)
		}
		done(a)
	})
}

func TestAnEditIsInTheNextBoundaryAndNoSoonerWhereTheSummaryCarriesTheBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.planned(s1)
		a := w.begin(s1, append(h, user(codexMarker))...)
		a.Commit(context.Background(), holdfast.TextDigest("s"), true)
		done(a, answer("s"))
		h = []entry{user("build it"), user(codexSummary + "s\n\n" + a.Block), user("next")}
		done(w.begin(s1, h...), long("go"))
		time.Sleep(time.Second)
		if got := w.edit(s1, keepTo("no cgo")); got.Sticky {
			t.Error("the edit says that the next request carries it")
		}
		time.Sleep(time.Second)
		h = append(h, long("go"), user("more"))
		b := w.begin(s1, h...)
		if b.Insert != nil {
			t.Errorf("a second block beside the summary's:\n%s", b.Insert.Text)
		}
		done(b, long("so"))
		// A compaction right behind an edit has it, also before the engine looked.
		time.Sleep(time.Second)
		w.edit(s1, keepTo("no network"))
		a = w.begin(s1, append(h, long("so"), user(codexMarker))...)
		if !strings.Contains(a.Block, "- no cgo\n- no network\n") {
			t.Errorf("the boundary carries\n%s", a.Block)
		}
		done(a)
	})
}

func TestAnEditDuringAnAnswerAndTheAnswerBothStay(t *testing.T) {
	for _, seen := range []bool{false, true} {
		t.Run(fmt.Sprintf("the engine knows of it before the answer ends: %v", seen), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				h := w.planned(s1)
				h = append(h, user("more"))
				a := w.begin(s1, h...)
				time.Sleep(time.Second)
				w.edit(s1, keepTo("no cgo"))
				if seen {
					time.Sleep(time.Second)
				}
				news := call("c9", "update_plan", steps("completed:a", "completed:b", "pending:c"))
				done(a, news)
				time.Sleep(time.Second)
				w.turn(s1, append(h, news, result("c9", ok)), long("so"))
				if c := w.newest(s1); brief(c) != "completed:a completed:b pending:c" || !slices.Equal(constraints(c), []string{"no cgo"}) {
					t.Errorf("%s, %q\n%s", brief(c), constraints(c), w.log)
				}
			})
		})
	}
}

func TestAnEditOfWhatTheNewestAnswerSaidIsNotUndoneByItsHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		plan := call("c1", "update_plan", steps("in_progress:a", "pending:b"))
		h := w.turn(s1, []entry{user("build it")}, plan)
		time.Sleep(time.Second)
		w.edit(s1, continuity.Edit{Op: continuity.EditChange, ID: "s2", Statement: "b and its test"})
		time.Sleep(time.Second)
		w.turn(s1, append(h, result("c1", ok)), long("working"))
		if got := brief(w.newest(s1)); got != "in_progress:a pending:b and its test" {
			t.Errorf("the plan is %s", got)
		}
	})
}

func TestEditsAndHarvestsAtTheSameMomentAllStay(t *testing.T) {
	const many = 25
	w := newWorld(t)
	h := w.planned(s1)
	var editing sync.WaitGroup
	var want []string
	for i := range many {
		want = append(want, fmt.Sprint("rule ", i))
	}
	w.newest(s1) // the session is written
	editing.Go(func() {
		for _, text := range want {
			w.edit(s1, keepTo(text))
		}
	})
	last := ""
	for i := range many {
		last = fmt.Sprint("completed:a pending:step ", i)
		news := call(fmt.Sprint("n", i), "update_plan", steps(strings.Split(last, " p")[0], fmt.Sprint("pending:step ", i)))
		h = append(w.turn(s1, append(h, user(fmt.Sprint("more ", i))), news), result(fmt.Sprint("n", i), ok))
	}
	editing.Wait()
	w.turn(s1, h, long("so"))
	w.newest(s1) // whatever was refused comes back with the next request
	w.turn(s1, append(h, long("so"), user("and")), long("yes"))
	c := w.newest(s1)
	if brief(c) != last || !slices.Equal(constraints(c), want) {
		t.Errorf("%s, %q\nwant %s", brief(c), constraints(c), last)
	}
}

func TestNobodyEditsWhatAnotherPrincipalHas(t *testing.T) {
	w := newWorld(t)
	w.planned(s1)
	w.restart()
	st, err := w.st.Session(t.Context(), holdfast.Local, "codex", "s1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = engine.Edit(t.Context(), w.st, "other", st.ID, st.Branches[0].ID, keepTo("mine"), time.Now(), false)
	if holdfast.CodeOf(err) != holdfast.ErrNotFound {
		t.Errorf("got %v", err)
	}
	_, err = engine.Edit(t.Context(), w.st, holdfast.Local, st.ID, "another branch", keepTo("mine"), time.Now(), false)
	if holdfast.CodeOf(err) != holdfast.ErrNotFound {
		t.Errorf("got %v", err)
	}
	if got := constraints(w.newest(s1)); got != nil {
		t.Errorf("it has %q", got)
	}
}

// A fork has the capsule with all that was read, and edited, up to its point: what it
// reads again would cost again, and bring back what the person changed.
func TestAForkDoesNotReadAgainWhatWasEditedSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := newReader(t)
		h := w.turn(s1, []entry{user(said)}, long("Done"))
		h = w.turn(s1, append(h, user("go on")), long("Going"))
		time.Sleep(time.Second)
		w.edit(s1, continuity.Edit{Op: continuity.EditChange, ID: "c1", Statement: "Use port 6000 for the replica."})
		time.Sleep(time.Second)
		h = w.turn(s1, append(h, user("next")), long("Yes"))
		time.Sleep(time.Second)
		if n := len(o.sent()); n != 1 {
			t.Fatalf("%d calls: %q", n, o.sent())
		}
		r := request{session: "s2", fork: "s1"}
		w.turn(r, append(h, user("Use rule 2.")), long("Other"))
		time.Sleep(time.Second)
		for _, text := range o.sent()[1:] {
			if _, data, _ := strings.Cut(text, "\n\n"); strings.Contains(data, said) {
				t.Errorf("it was read again:\n%s", text)
			}
		}
		if got := constraints(w.newest(r)); !slices.Equal(got, []string{"Use port 6000 for the replica.", "Use rule 2."}) {
			t.Errorf("the fork has %q", got)
		}
	})
}

// The block of an epoch may have been written anew since: a fork from before that has
// neither the edit nor what the extractor brought.
func TestAForkFromBeforeABlockWasWrittenAnewDoesNotCarryWhatIsNewInIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.opaque()
		w.block(h, long("go"))
		early := append(slices.Clone(h), long("go"), user("in another session"))
		h = append(h, long("go"), user("more"))
		w.block(h, long("so"))
		time.Sleep(time.Second)
		w.edit(s1, keepTo("no cgo"))
		time.Sleep(time.Second)
		h = append(h, long("so"), user("and"))
		if got := w.block(h, long("yes")); !strings.Contains(got, "- no cgo\n") {
			t.Fatalf("the branch carries\n%s", got)
		}
		r := request{session: "s2", fork: "s1"}
		for range 2 {
			a := w.begin(r, early...)
			if a.Insert == nil || strings.Contains(a.Insert.Text, "no cgo") || !strings.Contains(a.Insert.Text, "1. [in_progress] a\n2. [pending] b\n") {
				t.Errorf("the fork carries %+v", a.Insert)
			}
			done(a, long("there"))
			early = append(early, long("there"), user("on"))
		}
		if got := constraints(w.newest(r)); got != nil {
			t.Errorf("the fork has %q", got)
		}
	})
}

// slowReads is a store whose sessions arrive a while after they were read.
type slowReads struct {
	*store.Memory
	read chan struct{} // gets one when a session was read
	late time.Duration
}

func (s slowReads) Session(ctx context.Context, p holdfast.Principal, agent, key string) (store.SessionState, error) {
	st, err := s.Memory.Session(ctx, p, agent, key)
	select {
	case s.read <- struct{}{}:
	default:
	}
	time.Sleep(s.late)
	return st, err
}

func TestAnEditWhileASessionIsReadIsTakenUp(t *testing.T) {
	w := newWorld(t)
	w.cfg.Preserve.UserWords = false // else the next words make the engine read it again
	w.restart()
	h := w.opaque()
	w.block(h, long("go"))
	w.stop()
	slow := slowReads{w.st, make(chan struct{}, 1), 700 * time.Millisecond} // longer than edits are not looked for
	w.e = engine.New(slow, w.cfg, newTestLog(w.log), engine.NewMetrics(prometheus.NewRegistry()), time.Now)
	h = append(h, long("go"), user("more"))
	go func() {
		<-slow.read
		w.edit(s1, keepTo("no cgo"))
	}()
	done(w.begin(s1, h...), long("so")) // it does not wait so long
	time.Sleep(time.Second)
	if got := w.block(append(h, long("so"), user("and")), long("yes")); !strings.Contains(got, "- no cgo\n") {
		t.Errorf("later it carries\n%s", got)
	}
}

func TestAnEditMayWaitWithAnyAgentThatMayHaveClaudeThink(t *testing.T) {
	for agent, want := range map[string]bool{
		agents.ClaudeCode: true, agents.Pi: true, agents.OpenCode: true, agents.Cline: true, agents.Qwen: true, agents.Crush: true, "": true,
		agents.Codex: false, agents.Gemini: false,
	} {
		st, now := store.NewMemory(), time.Now()
		s := store.Session{ID: "s", Principal: holdfast.Local, Agent: agent, Key: "k", CreatedAt: now, UsedAt: now}
		errs := st.Apply(t.Context(), []store.Batch{{
			Session:  s,
			Branches: []store.Branch{{ID: "b", Session: s.ID, Epoch: 1, CreatedAt: now, UsedAt: now}},
			Epochs:   []store.Epoch{{Branch: "b", N: 1, Evidence: holdfast.DigestOf("a summary"), Block: "a block", OpenedAt: now}},
		}})
		if errs[0] != nil {
			t.Fatal(errs[0])
		}
		edit := continuity.Edit{Op: continuity.EditAdd, List: continuity.ListConstraints, Statement: "no cgo"}
		got, err := engine.Edit(t.Context(), st, holdfast.Local, s.ID, "b", edit, now, true)
		if err != nil || !got.Sticky || got.Bound != want {
			t.Errorf("%q: %+v, %v", agent, got, err)
		}
	}
}
