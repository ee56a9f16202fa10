package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/store"
)

// stuck is a store that does not say how far the session "busy" is before it is
// released.
type stuck struct {
	*store.Memory
	asked, released chan struct{} // each closed once
	rounds          chan struct{} // gets one with each round of the sweep
}

func (s *stuck) Heads(ctx context.Context, p holdfast.Principal, agent, key string) ([]store.Head, error) {
	if key == "busy" {
		close(s.asked)
		<-s.released
	}
	return s.Memory.Heads(ctx, p, agent, key)
}

func (s *stuck) Removals(ctx context.Context, after int64) ([]store.Removal, error) {
	select {
	case s.rounds <- struct{}{}:
	default:
	}
	return s.Memory.Removals(ctx, after)
}

func TestASessionThatWaitsForTheStoreHoldsUpNoOther(t *testing.T) {
	const patience = 10 * time.Second // is only waited where the test fails
	turn := func(w *world, name string) {
		done(w.begin(request{session: name}, user("hi")), long("hello"))
	}
	for _, c := range []struct {
		name      string
		meanwhile func(w *world, s *stuck)
	}{
		{"while idle sessions are dropped", func(w *world, s *stuck) {
			for range 3 { // between two of these all sessions were looked at
				<-s.rounds
			}
			turn(w, "another")
		}},
		{"while one is erased", func(w *world, s *stuck) {
			<-s.rounds // what was erased before the first is no news
			<-s.rounds
			batch := store.Batch{Session: store.Session{ID: "gone", Principal: holdfast.Local, Key: "gone", CreatedAt: time.Now()}}
			if err := w.st.Apply(context.Background(), []store.Batch{batch})[0]; err != nil {
				w.t.Fatal(err)
			}
			if err := w.st.Remove(context.Background(), holdfast.Local, "gone"); err != nil {
				w.t.Fatal(err)
			}
			<-s.rounds
			for range 500 { // one of them comes while it is looked for
				turn(w, "another")
			}
		}},
		{"while more come than are kept in memory", func(w *world, _ *stuck) {
			for i := range 1100 {
				turn(w, fmt.Sprint("another ", i))
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.stop()
			s := &stuck{Memory: w.st, asked: make(chan struct{}), released: make(chan struct{}), rounds: make(chan struct{})}
			w.e = engine.New(s, w.cfg, newTestLog(w.log), engine.NewMetrics(prometheus.NewRegistry()), time.Now)
			turn(w, "busy")
			linked, free := make(chan bool, 1), make(chan struct{})
			go func() {
				a := w.begin(request{session: "busy"}, user("hi"), long("hello"), user(codexMarker))
				linked <- a.Linked()
				done(a)
			}()
			<-s.asked
			go func() {
				defer close(free)
				c.meanwhile(w, s)
			}()
			select {
			case <-free:
			case <-time.After(patience):
				t.Error("another session's request waits for it")
			}
			close(s.released)
			<-free
			if !<-linked {
				t.Error("the session that waited is not linked")
			}
		})
	}
}
