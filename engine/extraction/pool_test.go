package extraction_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine/extraction"
	"github.com/holdfast-dev/holdfast/store"
)

// hall is a pool with what it counted and logged.
type hall struct {
	*extraction.Pool
	t     *testing.T
	calls atomic.Int32 // of the work of jobs
	log   bytes.Buffer
}

func newHall(t *testing.T, cfg extraction.Config) *hall { return newHallOn(t, store.NewMemory(), cfg) }

func newHallOn(t *testing.T, st *store.Memory, cfg extraction.Config) *hall {
	h := &hall{t: t}
	h.Pool = extraction.New(st, cfg, extraction.Metrics{Job: func(extraction.Outcome) {}, Depth: func(int) {}}, slog.New(slog.NewTextHandler(&h.log, nil)), time.Now)
	return h
}

// job is one that does a work.
func (h *hall) job(mark string, work func(context.Context) extraction.Outcome) (extraction.Job, chan extraction.Outcome) {
	ended := make(chan extraction.Outcome, 1)
	return extraction.Job{
		For: holdfast.Attempt{Session: "s", Branch: "b", Job: "j"}, Mark: mark,
		Wanted: func() bool { return true },
		Read: func(ctx context.Context) extraction.Outcome {
			h.calls.Add(1)
			return work(ctx)
		},
		Ended: func(o extraction.Outcome) { ended <- o },
	}, ended
}

func ok(context.Context) extraction.Outcome { return extraction.OK }

// until is work that ends with a channel.
func until(hold <-chan struct{}) func(context.Context) extraction.Outcome {
	return func(context.Context) extraction.Outcome { <-hold; return extraction.OK }
}

func (h *hall) stopped() {
	h.t.Helper()
	if err := h.Stop(h.t.Context()); err != nil {
		h.t.Error(err)
	}
}

var small = extraction.Config{Workers: 2, Pending: 4, Timeout: 8 * time.Second}

func TestAJobEndsAsItsWorkDid(t *testing.T) {
	for _, tt := range []struct {
		name string
		work func(context.Context) extraction.Outcome
		want extraction.Outcome
	}{
		{"well", ok, extraction.OK},
		{"stale", func(context.Context) extraction.Outcome { return extraction.Stale }, extraction.Stale},
		{"within its time", func(ctx context.Context) extraction.Outcome { <-ctx.Done(); return extraction.Failed }, extraction.Failed},
		{"by a panic", func(context.Context) extraction.Outcome { panic("secret words") }, extraction.Failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHall(t, small)
				start := time.Now()
				for n, want := range []extraction.Outcome{tt.want, extraction.OK} {
					j, ended := h.job("m1", tt.work)
					if n > 0 { // the next one works, and may read the same
						j, ended = h.job("m1", ok)
					}
					if got := h.Put(j); got != extraction.Queued {
						t.Fatalf("put: %s", got)
					}
					if got := <-ended; got != want {
						t.Errorf("ended %s, want %s", got, want)
					}
				}
				h.stopped()
				if took := time.Since(start); took > small.Timeout || strings.Contains(h.log.String(), "secret") {
					t.Errorf("it took %s and logged %s", took, h.log.String())
				}
			})
		})
	}
}

func TestAFullQueueSkips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		h := newHall(t, extraction.Config{Workers: 1, Pending: 2, Timeout: time.Hour})
		defer h.stopped()
		var got []extraction.Outcome
		for _, mark := range []string{"m1", "m2", "m3", "m4"} {
			j, _ := h.job(mark, until(hold))
			got = append(got, h.Put(j))
			synctest.Wait()
		}
		want := []extraction.Outcome{extraction.Queued, extraction.Queued, extraction.Queued, extraction.Skipped}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		close(hold)
	})
}

func TestTheSameJobIsDoneOnceByTwoProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		hold := make(chan struct{})
		one, two := newHallOn(t, st, small), newHallOn(t, st, small)
		first, firstEnded := one.job("m1", until(hold))
		one.Put(first)
		synctest.Wait()
		second, secondEnded := two.job("m1", ok)
		two.Put(second)
		if got := <-secondEnded; got != extraction.Skipped || two.calls.Load() != 0 {
			t.Errorf("the other process: ended %s with %d calls", got, two.calls.Load())
		}
		close(hold)
		if got := <-firstEnded; got != extraction.OK {
			t.Errorf("the first process: ended %s", got)
		}
		one.stopped()
		two.stopped()
	})
}

func TestAJobThatNobodyWantsDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, small)
		defer h.stopped()
		j, ended := h.job("m1", ok)
		j.Wanted = func() bool { return false }
		h.Put(j)
		if got := <-ended; got != extraction.Dropped || h.calls.Load() != 0 {
			t.Errorf("ended %s with %d calls", got, h.calls.Load())
		}
	})
}

func TestStopEndsCallsAndDropsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, extraction.Config{Workers: 1, Pending: 2, Timeout: time.Hour})
		work := func(ctx context.Context) extraction.Outcome { <-ctx.Done(); return extraction.Failed }
		first, firstEnded := h.job("m1", work)
		second, secondEnded := h.job("m2", work)
		h.Put(first)
		h.Put(second)
		synctest.Wait()
		h.stopped()
		h.stopped()
		if a, b := <-firstEnded, <-secondEnded; a != extraction.Dropped || b != extraction.Dropped {
			t.Errorf("ended %s and %s", a, b)
		}
		third, _ := h.job("m3", work)
		if got := h.Put(third); got != extraction.Dropped {
			t.Errorf("behind the end: %s", got)
		}
	})
}

func TestStopDoesNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		h := newHall(t, small)
		j, _ := h.job("m1", until(hold)) // it heeds nothing
		h.Put(j)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := h.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) || holdfast.CodeOf(err) != holdfast.ErrUnavailable {
			t.Errorf("got %v", err)
		}
		close(hold)
	})
}
