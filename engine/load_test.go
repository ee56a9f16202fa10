package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/store"
)

// lasting is a store whose sessions take long to be read, unless the caller ends it.
type lasting struct {
	*store.Memory
	takes time.Duration
	reads atomic.Int64
	fails func() error // nil: reads succeed
}

func (l *lasting) Session(ctx context.Context, p holdfast.Principal, agent, key string) (store.SessionState, error) {
	l.reads.Add(1)
	st, err := l.Memory.Session(ctx, p, agent, key)
	select {
	case <-time.After(l.takes):
	case <-ctx.Done():
		err = holdfast.Errorf(holdfast.ErrUnavailable, "the caller gave up: %w", ctx.Err())
	}
	if l.fails != nil {
		err = l.fails()
	}
	return st, err
}

func TestASessionThatTakesLongToReadIsThereForALaterRequest(t *testing.T) {
	const plan = "pending:step-10"
	for _, c := range []struct {
		name      string
		takes     time.Duration
		fails     func() error
		meanwhile func(w *world)
		first     bool // whether the request is linked that has it read
		later     string
		reads     int64
	}{
		{name: "in time", takes: engine.LoadTimeout / 2, first: true, later: plan, reads: 1},
		{name: "too late for the first request, and read once", takes: 2 * time.Second, later: plan, reads: 1},
		{
			// What was read counts no more, and what is read next takes as long.
			name: "erased while it was read", takes: 2 * time.Second, later: "unlinked", reads: 2,
			meanwhile: func(w *world) {
				list, err := w.st.Sessions(context.Background(), holdfast.Local)
				if err == nil {
					err = w.st.Remove(context.Background(), holdfast.Local, list[0].ID)
				}
				if err != nil {
					w.t.Error(err)
				}
			},
		},
		{name: "never: a read ends", takes: time.Hour, later: "unlinked", reads: 2},
		{name: "a store that panics", fails: func() error { panic("a defect") }, later: "unlinked", reads: 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.planOnly()
				h := w.replanned(s1)
				w.stop()
				st := &lasting{Memory: w.st, takes: c.takes, fails: c.fails}
				w.e = engine.New(st, w.cfg, newTestLog(w.log), engine.NewMetrics(prometheus.NewRegistry()), time.Now)
				a := w.begin(s1, append(h, user("go on"))...)
				done(a)
				if a.Linked() != c.first {
					t.Errorf("the first request is linked: %v", a.Linked())
				}
				if c.meanwhile != nil {
					c.meanwhile(w)
				}
				for range 2 {
					done(w.begin(s1, append(h, user("go on"))...))
				}
				time.Sleep(6 * time.Second)
				a = w.begin(s1, append(h, user(codexMarker))...)
				defer done(a)
				later := "unlinked"
				if a.Linked() {
					later = planIn(a.Block)
				}
				if later != c.later {
					t.Errorf("later %q is carried, want %q", later, c.later)
				}
				if n := st.reads.Load(); n != c.reads {
					t.Errorf("it was read %d times, want %d", n, c.reads)
				}
			})
		})
	}
}

func TestOfTooManySessionsThoseThatAreUsedStayInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.planOnly()
		h := w.replanned(s1)
		w.stop()
		st := &lasting{Memory: w.st}
		w.e = engine.New(st, w.cfg, newTestLog(w.log), engine.NewMetrics(prometheus.NewRegistry()), time.Now)
		read := func(r request, h []entry) (carried string, reads int64) {
			before := st.reads.Load()
			a := w.begin(r, h...)
			defer done(a)
			time.Sleep(time.Millisecond)
			return planIn(a.Block), st.reads.Load() - before
		}
		others := func(from, to int) {
			for i := range to - from {
				read(request{session: fmt.Sprint("other ", from+i)}, []entry{user("go on")})
			}
		}
		others(0, 900)
		if _, n := read(s1, append(h, user("go on"))); n != 1 {
			t.Fatalf("the session was read %d times, want once", n)
		}
		others(900, 1800)
		if _, n := read(s1, append(h, user("go on"))); n != 0 {
			t.Errorf("the session was read %d times again, with less than 1,000 others behind it", n)
		}
		others(1800, 3600)
		if plan, n := read(s1, append(h, user(codexMarker))); n != 1 || plan != "pending:step-10" {
			t.Errorf("behind 1,800 others it was read %d times and carries %q", n, plan)
		}
	})
}
