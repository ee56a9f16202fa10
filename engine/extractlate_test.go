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
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/engine/extraction"
)

// What is not read when an epoch ends is read in the next one, and what is said there
// comes behind it.
func TestWhatCouldNotBeReadBeforeACompactionIsReadBehindIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := newReader(t)
		o.set(func(context.Context) error { return holdfast.Errorf(holdfast.ErrBusy, "no") })
		h := w.turn(s1, []entry{user("Use rule 1."), long("So"), user(said)}, long("Done"))
		time.Sleep(time.Second)
		a := w.begin(s1, append(h, entry{Trigger: true})...)
		a.Commit(context.Background(), holdfast.Digest{}, false)
		done(a, entry{Item: "blob"})
		h = []entry{user(said), {Item: "blob"}, user("Use rule 3.")}
		for n := range 3 {
			h = append(w.turn(s1, h, long(fmt.Sprint("Going ", n))), user("go on"))
			time.Sleep(time.Second)
			o.set(nil)
		}
		time.Sleep(time.Second)
		sent := o.sent()
		if last := sent[len(sent)-1]; !strings.Contains(last, "user, turn 3\nUse rule 3.") {
			t.Errorf("sent\n%s", last)
		}
		if got := constraints(w.newest(s1)); !slices.Equal(got, []string{"Use rule 1.", said, "Use rule 3."}) {
			t.Errorf("it has %q\n%s", got, w.log)
		}
	})
}

// All that a request went on without is late, not only the batch under way then.
func TestWhatFollowsALateBatchIsInTheBlockOfTheEpochToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := newReader(t)
		w.turn(s1, []entry{user("go on")}, long("So"))
		time.Sleep(time.Second)
		o.set(func(context.Context) error { time.Sleep(4500 * time.Millisecond); return nil })
		h := w.turn(s1, []entry{user("go on"), long("So"), user("Use rule 1.")}, long("Done"))
		h = w.turn(s1, append(h, user("Use rule 2.")), long("Done"))
		a := w.begin(s1, append(h, entry{Trigger: true})...)
		a.Commit(context.Background(), holdfast.Digest{}, false)
		done(a, entry{Item: "blob"})
		h = []entry{user("go on"), {Item: "blob"}, user("next")}
		h = append(w.turn(s1, h, long("Going")), user("and on"))
		time.Sleep(10 * time.Second)
		if block := w.block(h, long("Yes")); !strings.Contains(block, "Use rule 1.") || !strings.Contains(block, "Use rule 2.") {
			t.Errorf("the block\n%s", block)
		}
	})
}

func TestACallThatACompactionWaitsForNamesItsBoundary(t *testing.T) {
	w, o := newReader(t)
	a := w.begin(s1, user(said), long("Done"), user(codexMarker))
	_, _, boundary := a.Place()
	a.Final(context.Background())
	if got := o.calls[0].For.Boundary; got != boundary || boundary == "" {
		t.Errorf("the call is for %q, the boundary is %q", got, boundary)
	}
	done(a)
}

// A result that comes between an answer and its history rests on that answer no more
// than what was there before: another process withdraws it too.
func TestAResultBehindAnAnswerDoesNotConfirmIt(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprintf("another process goes on: %v", restarted), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, o := newReader(t)
				o.set(func(context.Context) error { time.Sleep(time.Second); return nil })
				h := []entry{user(said)}
				w.turn(s1, h, call("c1", "update_plan", steps("pending:a")))
				time.Sleep(2 * time.Second)
				if c := w.stored(s1); brief(c) != "pending:a" || !slices.Equal(constraints(c), []string{said}) {
					t.Errorf("first %s, %q", brief(c), constraints(c))
				}
				if restarted {
					w.restart()
				}
				w.turn(s1, append(h, long("another answer"), user("go on")), long("Going"))
				if c := w.newest(s1); brief(c) != "none" || !slices.Equal(constraints(c), []string{said}) {
					t.Errorf("then %s, %q", brief(c), constraints(c))
				}
			})
		})
	}
}

// While nothing needs it, what is said gathers until the session has grown by so much
// that a call is a small part of it; a compaction reads what is left.
func TestWhatIsSaidGathersUntilACallIsWorthIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := newReader(t)
		w.cfg.Extractor.Ratio = 0.1
		w.restart()
		h := w.turn(s1, []entry{user("Use rule 1.")}, long("Done"))
		for n := range 4 {
			h = w.turn(s1, append(h, user(fmt.Sprintf("Use rule %d.", n+2))), call(fmt.Sprint("c", n), "Bash", `{}`))
			h = w.turn(s1, append(h, result(fmt.Sprint("c", n), "little")), long("Done"))
			time.Sleep(time.Second)
		}
		if sent := o.sent(); len(sent) != 0 {
			t.Fatalf("%d calls for a session of a few hundred bytes", len(sent))
		}
		// 12,000 tokens of results are worth the thousand of a call.
		h = w.turn(s1, append(h, call("c9", "Bash", `{}`), result("c9", strings.Repeat("much ", 10_000)), user("Use rule 6.")), long("Done"))
		time.Sleep(time.Second)
		sent := o.sent()
		if len(sent) != 1 || !strings.Contains(sent[0], "Use rule 1.") || !strings.Contains(sent[0], "Use rule 6.") {
			t.Fatalf("%d calls: %q", len(sent), sent)
		}
		h = w.turn(s1, append(h, user("Use rule 7.")), long("Done"))
		time.Sleep(time.Second)
		if n := len(o.sent()); n != 1 {
			t.Errorf("%d calls, the last for a few bytes", n)
		}
		a := w.begin(s1, append(h, user(codexMarker))...)
		block := a.Final(context.Background())
		done(a)
		for n := range 7 {
			if want := fmt.Sprintf("Use rule %d.", n+1); !strings.Contains(block, want) {
				t.Errorf("the block misses %q:\n%s", want, block)
			}
		}
		if n := len(o.sent()); n != 2 {
			t.Errorf("%d calls in all", n)
		}
	})
}

// Where a batch holds more than one answer can tell, it is read in halves.
func TestABatchThatIsTooMuchForOneAnswerIsReadInHalves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := newReader(t)
		o.most = 3
		w.cfg.Extractor.Ratio = 0.01
		w.restart()
		var h []entry
		for n := range 10 {
			h = w.turn(s1, append(h, user(fmt.Sprintf("Use rule %d.", n))), long("Done"))
		}
		a := w.begin(s1, append(h, user(codexMarker))...)
		block := a.Final(context.Background())
		done(a)
		for n := range 10 {
			if want := fmt.Sprintf("Use rule %d.", n); !strings.Contains(block, want) {
				t.Errorf("the block misses %q:\n%s\n%s", want, block, w.log)
			}
		}
		if n := len(o.sent()); n > 10 {
			t.Errorf("%d calls", n)
		}
	})
}

// A model says the same again: the words between are not taken for read.
func TestWhatStandsBetweenTwoEqualAnswersIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := newReader(t)
		h := w.turn(s1, []entry{user("Use rule 1.")}, long("Done"), call("c1", "Bash", `{}`))
		time.Sleep(time.Second)
		h = w.turn(s1, append(h, result("c1", "x")), call("c2", "Bash", `{}`)) // what was said last is read up to here
		o.set(func(context.Context) error { return holdfast.Errorf(holdfast.ErrBusy, "no") })
		h = w.turn(s1, append(h, result("c2", "x"), user("Use rule 2.")), long("Done"))
		time.Sleep(time.Second)
		o.set(nil)
		a := w.begin(s1, append(h, user("Use rule 3."), long("Done"), user(codexMarker))...)
		block := a.Final(context.Background())
		done(a)
		for n := range 3 {
			if want := fmt.Sprintf("Use rule %d.", n+1); !strings.Contains(block, want) {
				t.Errorf("the block misses %q:\n%s\n%q", want, block, o.sent())
			}
		}
	})
}

// What is said in a fork is newer than all that was said before it, also where it was
// forked behind a compaction.
func TestTurnsOfAForkGoOn(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprintf("another process goes on: %v", restarted), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _ := newReader(t)
				var h []entry
				for n := range 5 {
					h = w.turn(s1, append(h, user(fmt.Sprintf("Use rule %d.", n))), long(fmt.Sprint("Done ", n)))
				}
				a := w.begin(s1, append(h, entry{Trigger: true})...)
				a.Commit(context.Background(), holdfast.Digest{}, false)
				done(a, entry{Item: "blob"})
				h = w.turn(s1, []entry{user("Use rule 0."), {Item: "blob"}, user("Use rule 5.")}, long("Done 5"))
				time.Sleep(time.Second)
				if restarted {
					w.restart()
				}
				other := request{session: "s2", fork: "s1"}
				h = w.turn(other, append(h, user("Use rule 6.")), long("Done 6"))
				time.Sleep(time.Second)
				if restarted {
					w.restart()
				}
				w.turn(other, append(h, user("Use rule 7.")), long("Done 7"))
				time.Sleep(time.Second)
				before := 0
				for _, c := range w.newest(other).Constraints {
					if c.Evidence.Turn <= before {
						t.Errorf("%q is of turn %d, behind turn %d", c.Statement, c.Evidence.Turn, before)
					}
					before = c.Evidence.Turn
				}
				if got := constraints(w.newest(other)); len(got) != 8 {
					t.Errorf("it has %q\n%s", got, w.log)
				}
			})
		})
	}
}

// What comes too late for a summary with a block in it takes the place of that block,
// in the same bytes from then on.
func TestALateResultTakesThePlaceOfTheSummarysBlock(t *testing.T) {
	for _, tt := range []struct {
		name  string
		takes time.Duration
		rests time.Duration // between the summary and the first request behind it
		first bool          // it is in that already
	}{
		{"it comes before the epoch opens", 3 * time.Second, 2 * time.Second, true},
		{"the first request of the epoch waits for it", 3 * time.Second, 0, true},
		{"it comes in the middle of the epoch", 6 * time.Second, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, o := newReader(t)
				h := w.planned(s1)
				time.Sleep(time.Second)
				o.set(func(context.Context) error { time.Sleep(tt.takes); return nil })
				w.cfg.Extractor.Timeout = 10 * time.Second
				w.restart()
				a := w.begin(s1, append(h, user(said), long("so"), user(codexMarker))...)
				block := a.Final(context.Background())
				if strings.Contains(block, said) || !strings.Contains(block, "[in_progress] a\n") {
					t.Fatalf("the summary has\n%s", block)
				}
				a.Commit(context.Background(), holdfast.TextDigest("s"), true)
				done(a, answer("s"))
				time.Sleep(tt.rests)
				h = []entry{user("build it"), user(said), user(codexSummary + "s\n\n" + block), user("next")}
				first := w.begin(s1, h...)
				done(first, long("Going"))
				if (first.Insert != nil) != tt.first {
					t.Errorf("the first request: %+v", first.Insert)
				}
				time.Sleep(5 * time.Second)
				var got []engine.Insertion
				for n := range 3 {
					h = append(h, long(fmt.Sprint("Going ", n)), user("go on"))
					b := w.begin(s1, h...)
					done(b, long("Yes"))
					if b.Insert == nil {
						t.Fatalf("request %d has the old block\n%s", n, w.log)
					}
					got = append(got, *b.Insert)
					if n == 1 {
						w.restart()
					}
				}
				if !strings.Contains(got[0].Text, said) || !strings.Contains(got[0].Text, "[in_progress] a\n") || got[0].At != 2 {
					t.Errorf("inserted %+v", got[0])
				}
				if got[1] != got[0] || got[2] != got[0] || first.Insert != nil && *first.Insert != got[0] {
					t.Errorf("it changed: %+v", got)
				}
			})
		})
	}
}

// What a summary lacks since its reading failed, or had no place in the queue, is late
// too, whenever it is read.
func TestWhatIsReadWithASecondCallIsInTheBlockOfTheEpoch(t *testing.T) {
	for _, tt := range []struct {
		name     string
		failures int // of calls
		full     int // requests, from the compaction on, that find no place in the queue
	}{
		{"the second call is on its way when the summary ends", 1, 0},
		{"the third call is on its way when the epoch opens", 2, 0},
		{"there was no place in the queue", 0, 1},
		{"there was none when the epoch opened either", 0, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, o := newReader(t)
				w.cfg.Extractor.Config = extraction.Config{Workers: 1, Pending: 1, Timeout: 10 * time.Second}
				w.restart()
				h := w.planned(s1)
				time.Sleep(time.Second)
				calls := 0
				o.set(func(context.Context) error {
					time.Sleep(500 * time.Millisecond)
					if calls++; calls <= tt.failures {
						return holdfast.Errorf(holdfast.ErrBusy, "no")
					}
					return nil
				})
				release := make(chan struct{})
				if tt.full > 0 {
					o.set(func(context.Context) error { <-release; return nil })
					for _, other := range []string{"x", "y"} {
						w.turn(request{session: other}, []entry{user("Use " + other + ".")}, long("Done"))
						synctest.Wait()
					}
				}
				a := w.begin(s1, append(h, user(said), long("so"), user(codexMarker))...)
				time.Sleep(time.Second)
				block := a.Final(context.Background())
				if strings.Contains(block, said) || !strings.Contains(block, "[in_progress] a\n") {
					t.Fatalf("the summary has\n%s", block)
				}
				a.Commit(context.Background(), holdfast.TextDigest("s"), true)
				done(a, answer("s"))
				h = []entry{user("build it"), user(said), user(codexSummary + "s\n\n" + block), user("next")}
				for n := range 3 {
					if n+1 == max(tt.full, 1) {
						close(release)
						time.Sleep(time.Second)
					}
					h = append(w.turn(s1, h, long(fmt.Sprint("Going ", n))), user("go on"))
					time.Sleep(2 * time.Second)
				}
				b := w.begin(s1, h...)
				defer done(b)
				if b.Insert == nil || !strings.Contains(b.Insert.Text, said) || !strings.Contains(b.Insert.Text, "[in_progress] a\n") {
					t.Errorf("inserted %+v\n%s", b.Insert, w.log)
				}
			})
		})
	}
}

// Who erases a session while it is compacted does not find it again in the summary.
func TestTheSummaryOfAnErasedSessionGetsNoBlock(t *testing.T) {
	for _, reads := range []bool{false, true} {
		t.Run(fmt.Sprintf("with an extractor: %v", reads), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, o := newReader(t)
				o.set(func(context.Context) error { time.Sleep(3 * time.Second); return nil })
				if !reads {
					w.cfg.Extractor = nil
					w.restart()
				}
				h := w.planned(s1)
				time.Sleep(time.Second)
				st, err := w.st.Session(context.Background(), holdfast.Local, "codex", "s1")
				if err != nil {
					t.Fatal(err)
				}
				a := w.begin(s1, append(h, user(said), long("so"), user(codexMarker))...)
				defer done(a)
				if err := w.st.Remove(context.Background(), holdfast.Local, st.ID); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				if block := a.Final(context.Background()); block != "" {
					t.Errorf("it gets\n%s", block)
				}
			})
		})
	}
}

// While a compaction is under way, a person edits the capsule, and a turn of the agent
// makes what is in memory void: the summary has the edit, and what was left unread of
// the epoch before, which is in no store, is not lost.
func TestACompactionOutlastsThatItsSessionIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := newReader(t)
		h := w.planned(s1)
		o.set(func(context.Context) error { return holdfast.Errorf(holdfast.ErrBusy, "no") })
		a := w.begin(s1, append(h, user("Use rule 1."), long("Done"), entry{Trigger: true})...)
		a.Commit(context.Background(), holdfast.Digest{}, false)
		done(a, entry{Item: "blob"})
		time.Sleep(time.Second)
		o.set(func(context.Context) error { time.Sleep(1500 * time.Millisecond); return nil })
		h = w.turn(s1, []entry{user("build it"), {Item: "blob"}, user("go on")}, long("Going"))
		a = w.begin(s1, append(h, user(codexMarker))...)
		time.Sleep(100 * time.Millisecond)
		w.edit(s1, keepTo("no cgo"))
		w.turn(s1, append(h, call("c2", "update_plan", steps("completed:a", "in_progress:b")), result("c2", ok)), long("Yes"))
		block := a.Final(context.Background())
		a.Commit(context.Background(), holdfast.TextDigest("s"), true)
		done(a, answer("s"))
		if !strings.Contains(block, "- no cgo\n") {
			t.Errorf("the summary has\n%s", block)
		}
		w.turn(s1, []entry{user("build it"), user(codexSummary + "s\n\n" + block), user("next")}, long("Yes"))
		time.Sleep(10 * time.Second)
		had := constraints(w.newest(s1))
		slices.Sort(had)
		if !slices.Equal(had, []string{"Use rule 1.", "no cgo"}) {
			t.Errorf("in the end there is %q\n%s", had, w.log)
		}
	})
}

// A second call for the summary may fail, and the agent go on with the first one.
func TestASummaryIsOwedWhatASecondCallForItDidNotBring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := newReader(t)
		h := w.planned(s1)
		time.Sleep(time.Second)
		o.set(func(context.Context) error { time.Sleep(3 * time.Second); return nil })
		h = append(h, user(said), long("so"), user(codexMarker))
		a := w.begin(s1, h...)
		block := a.Final(context.Background())
		a.Commit(context.Background(), holdfast.TextDigest("s"), true)
		done(a, answer("s"))
		time.Sleep(2 * time.Second)
		again := w.begin(s1, h...)
		if got := again.Final(context.Background()); !strings.Contains(got, said) {
			t.Fatalf("the second call gets\n%s", got)
		}
		again.Done(holdfast.Answer{})
		b := w.begin(s1, user("build it"), user(said), user(codexSummary+"s\n\n"+block), user("next"))
		defer done(b)
		if b.Insert == nil || !strings.Contains(b.Insert.Text, said) {
			t.Errorf("inserted %+v\n%s", b.Insert, w.log)
		}
	})
}
