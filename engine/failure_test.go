package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/store"
)

// faulty is a store that can be broken or slow.
type faulty struct {
	*store.Memory
	full  atomic.Bool
	delay atomic.Int64
}

func (f *faulty) Apply(ctx context.Context, batches []store.Batch) []error {
	time.Sleep(time.Duration(f.delay.Load()))
	if f.full.Load() {
		errs := make([]error, len(batches))
		for i := range errs {
			errs[i] = holdfast.Errorf(holdfast.ErrUnavailable, "disk full")
		}
		return errs
	}
	return f.Memory.Apply(ctx, batches)
}

// broken replaces the world's engine by one over a faulty store.
func (w *world) broken() *faulty {
	w.stop()
	f := &faulty{Memory: w.st}
	w.e = engine.New(f, w.cfg, newTestLog(w.log), engine.NewMetrics(prometheus.NewRegistry()), time.Now)
	return f
}

func TestADiskThatIsFullStopsRecordingNotTrafficAndAllIsWrittenLater(t *testing.T) {
	w := newWorld(t)
	f := w.broken()
	f.full.Store(true)
	h := w.planned(s1)
	for i := range 5 {
		h = w.turn(s1, append(h, user(fmt.Sprint("next ", i))), long(fmt.Sprint("yes ", i)))
	}
	a := w.begin(s1, append(h, user(codexMarker))...)
	if !strings.Contains(a.Block, "1. [in_progress] a\n") {
		t.Errorf("with a full disk the block is\n%s", a.Block)
	}
	start := time.Now()
	a.Commit(context.Background(), holdfast.TextDigest("x"), true)
	if d := time.Since(start); d > 2*engine.CommitTimeout {
		t.Errorf("the commit held the answer for %v", d)
	}
	done(a, answer("x"))
	if n := strings.Count(w.log.String(), "recording stopped"); n != 1 {
		t.Errorf("said %d times that recording stopped:\n%s", n, w.log)
	}
	f.full.Store(false)
	// The next record writes the whole state, also what was lost.
	deadline := time.Now().Add(2 * time.Second)
	for i := 0; ; i++ {
		h = w.turn(s1, append(h, user(fmt.Sprint("later ", i))), long(fmt.Sprint("ok ", i)))
		if strings.Contains(w.log.String(), "recording goes on") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("recording did not go on")
		}
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(20 * time.Millisecond) // the failures before have been told by now
	w.turn(s1, append(h, user("last")), long("done"))
	w.expect(s1, "in_progress:a pending:b")
	st, _ := w.st.Session(context.Background(), holdfast.Local, "codex", "s1")
	if n := len(st.Branches[0].Anchors); n < 12 {
		t.Errorf("%d anchors are stored, the first ones are lost", n)
	}
}

func TestACommitWaitsForTheStoreAndNoLonger(t *testing.T) {
	for _, tt := range []struct {
		name     string
		delay    time.Duration
		min, max time.Duration
		stored   bool
	}{
		{"a store that takes its time is waited for", 60 * time.Millisecond, 50 * time.Millisecond, engine.CommitTimeout, true},
		{"a store that hangs is not", 2 * time.Second, engine.CommitTimeout - 20*time.Millisecond, engine.CommitTimeout + 200*time.Millisecond, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			f := w.broken()
			h := w.planned(s1)
			a := w.begin(s1, append(h, user(codexMarker))...)
			time.Sleep(20 * time.Millisecond) // the records before are written
			f.delay.Store(int64(tt.delay))
			start := time.Now()
			a.Commit(context.Background(), holdfast.TextDigest("x"), true)
			if d := time.Since(start); d < tt.min || d > tt.max {
				t.Errorf("held for %v, want %v to %v", d, tt.min, tt.max)
			}
			if tt.stored {
				st, err := w.st.Session(context.Background(), holdfast.Local, "codex", "s1")
				if err != nil || st.Branches[0].Boundaries[0].Status != store.BoundaryCommitted {
					t.Errorf("not durable when Commit returned: %v", err)
				}
			}
			f.delay.Store(0)
			done(a, answer("x"))
		})
	}
}

func TestACompactionWaitsForTheHarvestOfAnswersThatWereRelayed(t *testing.T) {
	w := newWorld(t)
	h := append(w.planned(s1), user("next"))
	a := w.begin(s1, h...)
	a.Relayed() // the client has the answer, its harvest is still to come
	go func() {
		time.Sleep(30 * time.Millisecond)
		done(a, call("c2", "update_plan", steps("completed:a", "in_progress:b")))
	}()
	c := w.begin(s1, append(h, user(codexMarker))...)
	if !strings.Contains(c.Block, "1. [completed] a\n2. [in_progress] b\n") {
		t.Errorf("the block is from before the last answer:\n%s", c.Block)
	}
	done(c)
}

func TestACompactionDoesNotWaitForAnAnswerThatNeverEnds(t *testing.T) {
	w := newWorld(t)
	h := append(w.planned(s1), user("next"))
	a := w.begin(s1, h...)
	a.Relayed()
	start := time.Now()
	c := w.begin(s1, append(h, user(codexMarker))...)
	if d := time.Since(start); d > engine.DrainTimeout+200*time.Millisecond {
		t.Errorf("waited for %v", d)
	}
	done(c)
	done(a)
}

func TestManySessionsAtOnceStayApart(t *testing.T) {
	w := newWorld(t)
	var wg sync.WaitGroup
	for s := range 8 {
		for sub := range 4 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				r := request{session: fmt.Sprint("m", s)}
				if sub > 0 {
					r.thread = fmt.Sprint("agent", sub)
				}
				name := fmt.Sprintf("%d-%d", s, sub)
				h := []entry{user("go " + name)}
				for i := range 12 {
					id := fmt.Sprintf("%s-%d", name, i)
					c := call(id, "update_plan", steps("in_progress:"+id))
					h = w.turn(r, h, c)
					h = append(h, result(id, ok))
					if i%4 == 3 {
						a := w.begin(r, append(h, user(codexMarker))...)
						if want := "1. [in_progress] " + id + "\n"; !strings.Contains(a.Block, want) {
							t.Errorf("%s: the block misses %q:\n%s", name, want, a.Block)
						}
						a.Commit(context.Background(), holdfast.TextDigest(id), true)
						done(a, answer(id))
						h = []entry{user("go " + name), user(codexSummary + id + a.Block), user("next")}
					}
				}
				w.turn(r, h, long("end"))
			}()
		}
	}
	wg.Wait()
	for s := range 8 {
		got := w.capsules(request{session: fmt.Sprint("m", s)})
		if len(got) != 4 {
			t.Errorf("session %d has %d branches: %q", s, len(got), got)
		}
		seen := map[string]bool{}
		for _, g := range got {
			seen[g] = true
		}
		for sub := range 4 {
			if want := fmt.Sprintf("in_progress:%d-%d-11", s, sub); !seen[want] {
				t.Errorf("session %d: %q is missing in %q", s, want, got)
			}
		}
	}
}
