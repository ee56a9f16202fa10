package extraction_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
	"github.com/holdfast-dev/holdfast/engine/extraction"
	"github.com/holdfast-dev/holdfast/store"
)

// said is the message of the person in every batch here, found what a good answer
// makes of it.
const (
	said  = "Use port 5433 for the replica."
	found = `{"schema_version":1,"base_revision":7,"facts":[{"kind":"value","statement":"Use port 5433 for the replica.","quote":"Use port 5433 for the replica."}]}`
)

// model answers as it is told, and keeps the calls.
type model struct {
	mu     sync.Mutex
	answer func(context.Context, extraction.Call) (extract.Answer, error)
	calls  []extraction.Call
}

func (m *model) Extract(ctx context.Context, c extraction.Call) (extract.Answer, holdfast.Tokens, error) {
	m.mu.Lock()
	m.calls = append(m.calls, c)
	m.mu.Unlock()
	a, err := m.answer(ctx, c)
	return a, holdfast.Tokens{}, err
}

func says(text string) func(context.Context, extraction.Call) (extract.Answer, error) {
	return func(context.Context, extraction.Call) (extract.Answer, error) { return extract.Answer{Text: text}, nil }
}

// hall is a pool over a scripted model.
type hall struct {
	*extraction.Pool
	t     *testing.T
	model *model
	st    *store.Memory
	log   bytes.Buffer

	mu       sync.Mutex
	outcomes map[extraction.Outcome]int
	reasons  map[extract.Reason]int
}

func newHall(t *testing.T, cfg extraction.Config, answer func(context.Context, extraction.Call) (extract.Answer, error)) *hall {
	return newHallOn(t, store.NewMemory(), cfg, answer)
}

func newHallOn(t *testing.T, st *store.Memory, cfg extraction.Config, answer func(context.Context, extraction.Call) (extract.Answer, error)) *hall {
	h := &hall{t: t, model: &model{answer: answer}, st: st, outcomes: map[extraction.Outcome]int{}, reasons: map[extract.Reason]int{}}
	h.Pool = extraction.New(h.model, st, cfg, extraction.Metrics{
		Job: func(o extraction.Outcome) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.outcomes[o]++
		},
		Depth: func(int) {}, Seconds: func(float64) {}, Tokens: func(holdfast.Tokens) {},
		Dropped: func(r extract.Reason, n int) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.reasons[r] += n
		},
	}, slog.New(slog.NewTextHandler(&h.log, nil)), time.Now)
	return h
}

// job is one whose result is kept in the returned list.
func (h *hall) job(mark string) (extraction.Job, *[]continuity.Delta, chan extraction.Outcome) {
	var merged []continuity.Delta
	ended := make(chan extraction.Outcome, 1)
	return extraction.Job{
		For: holdfast.Attempt{Session: "s", Branch: "b", Job: "j"},
		Batch: extract.Batch{
			Base: holdfast.Capsule{Revision: 7}, Record: "{}", Watermark: mark, Eligible: true,
			Messages: []extract.Message{{ID: mark, Turn: 1, Role: extract.User, Text: said}},
		},
		Keep:   continuity.All,
		Wanted: func() bool { return true },
		Merge: func(d continuity.Delta) continuity.Outcome {
			merged = append(merged, d)
			return continuity.Merged
		},
		Ended: func(o extraction.Outcome) { ended <- o },
	}, &merged, ended
}

func (h *hall) stopped() {
	h.t.Helper()
	if err := h.Stop(h.t.Context()); err != nil {
		h.t.Error(err)
	}
}

var small = extraction.Config{Workers: 2, Pending: 4, Timeout: 8 * time.Second}

func TestAJobMergesWhatWasSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, small, says(found))
		defer h.stopped()
		j, merged, ended := h.job("m1")
		if got := h.Put(j); got != extraction.Queued {
			t.Fatalf("put: %s", got)
		}
		if got := <-ended; got != extraction.OK || len(*merged) != 1 {
			t.Fatalf("ended %s, merged %v", got, *merged)
		}
		d := (*merged)[0]
		if d.Watermark != "m1" || len(d.Facts) != 1 || d.Facts[0].Statement != said || d.Facts[0].Status != holdfast.FactActive {
			t.Errorf("got %+v", d)
		}
		c := h.model.calls[0]
		if !strings.Contains(c.Prompt.Data, said) || !strings.Contains(c.Prompt.System, "base_revision is 7") || len(c.Schema) == 0 || c.For.Job != "j" {
			t.Errorf("the call: %+v", c)
		}
	})
}

func TestWhatACallBringsChangesNothing(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answer  func(context.Context, extraction.Call) (extract.Answer, error)
		outcome extraction.Outcome
		reason  extract.Reason
		logged  string
	}{
		{"an error of the provider", func(context.Context, extraction.Call) (extract.Answer, error) {
			return extract.Answer{}, holdfast.Errorf(holdfast.ErrBusy, "secret words")
		}, extraction.Failed, "", "where=call code=busy"},
		{"a budget that is spent", func(context.Context, extraction.Call) (extract.Answer, error) {
			return extract.Answer{}, holdfast.Errorf(holdfast.ErrBudget, "secret words")
		}, extraction.Failed, "", "where=call code=budget"},
		{"nothing until its time is over", func(ctx context.Context, _ extraction.Call) (extract.Answer, error) {
			<-ctx.Done()
			return extract.Answer{}, holdfast.Errorf(holdfast.ErrUnavailable, "given up: %w", ctx.Err())
		}, extraction.Failed, "", "where=call code=timeout"},
		{"prose", says("secret words"), extraction.Failed, extract.Prose, "where=answer code=prose"},
		{"nothing", says(""), extraction.Failed, extract.Empty, "where=answer code=empty"},
		{"two objects", says(found + found), extraction.Failed, extract.TwoObjects, "where=answer code=two_objects"},
		{"an answer to another revision", says(strings.Replace(found, "7", "6", 1)), extraction.Failed, extract.WrongBase, "where=answer code=base_revision"},
		{"200 facts", says(`{"schema_version":1,"base_revision":7,"facts":[` + strings.TrimSuffix(strings.Repeat(`{"kind":"value","statement":"a 1","quote":"a 1"},`, 200), ",") + `]}`), extraction.Failed, extract.TooMany, "where=answer code=too_many"},
		{"tool calls", func(context.Context, extraction.Call) (extract.Answer, error) {
			return extract.Answer{Text: found, Calls: 1}, nil
		}, extraction.Failed, extract.ToolCall, "where=answer code=tool_call"},
		{"a panic", func(context.Context, extraction.Call) (extract.Answer, error) { panic("secret words") }, extraction.Failed, "", "failed by a defect"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHall(t, small, tt.answer)
				j, merged, ended := h.job("m1")
				h.Put(j)
				if got := <-ended; got != tt.outcome || len(*merged) != 0 {
					t.Errorf("ended %s, merged %v", got, *merged)
				}
				if tt.reason != "" && h.reasons[tt.reason] != 1 {
					t.Errorf("reasons %v", h.reasons)
				}
				// The next one works, and may read the same.
				h.model.answer = says(found)
				j, merged, ended = h.job("m1")
				h.Put(j)
				if got := <-ended; got != extraction.OK || len(*merged) != 1 {
					t.Errorf("then ended %s, merged %v", got, *merged)
				}
				h.stopped()
				if !strings.Contains(h.log.String(), tt.logged) || strings.Contains(h.log.String(), "secret") || strings.Contains(h.log.String(), "5433") {
					t.Errorf("logged %s", h.log.String())
				}
			})
		})
	}
}

func TestAFullQueueSkips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		h := newHall(t, extraction.Config{Workers: 1, Pending: 2, Timeout: time.Hour}, func(context.Context, extraction.Call) (extract.Answer, error) {
			<-hold
			return extract.Answer{Text: found}, nil
		})
		defer h.stopped()
		var got []extraction.Outcome
		for _, mark := range []string{"m1", "m2", "m3", "m4"} {
			j, _, _ := h.job(mark)
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
		one := newHallOn(t, st, small, func(context.Context, extraction.Call) (extract.Answer, error) {
			<-hold
			return extract.Answer{Text: found}, nil
		})
		two := newHallOn(t, st, small, says(found))
		first, _, firstEnded := one.job("m1")
		one.Put(first)
		synctest.Wait()
		second, merged, secondEnded := two.job("m1")
		two.Put(second)
		if got := <-secondEnded; got != extraction.Skipped || len(*merged) != 0 || len(two.model.calls) != 0 {
			t.Errorf("the other process: ended %s with %d calls", got, len(two.model.calls))
		}
		close(hold)
		if got := <-firstEnded; got != extraction.OK {
			t.Errorf("the first process: ended %s", got)
		}
		one.stopped()
		two.stopped()
	})
}

func TestAJobDiesWithItsUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wanted := false
		h := newHall(t, small, says(found))
		defer h.stopped()
		j, merged, ended := h.job("m1")
		j.Wanted = func() bool { return wanted }
		h.Put(j)
		if got := <-ended; got != extraction.Dropped || len(h.model.calls) != 0 {
			t.Errorf("before its call: ended %s with %d calls", got, len(h.model.calls))
		}
		wanted = true
		h.model.answer = func(context.Context, extraction.Call) (extract.Answer, error) {
			wanted = false // erased meanwhile
			return extract.Answer{Text: found}, nil
		}
		h.Put(j)
		if got := <-ended; got != extraction.Dropped || len(*merged) != 0 {
			t.Errorf("behind its call: ended %s, merged %v", got, *merged)
		}
	})
}

func TestStopEndsCallsAndDropsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, extraction.Config{Workers: 1, Pending: 2, Timeout: time.Hour}, func(ctx context.Context, _ extraction.Call) (extract.Answer, error) {
			<-ctx.Done()
			return extract.Answer{}, ctx.Err()
		})
		first, _, firstEnded := h.job("m1")
		second, _, secondEnded := h.job("m2")
		h.Put(first)
		h.Put(second)
		synctest.Wait()
		h.stopped()
		h.stopped()
		if a, b := <-firstEnded, <-secondEnded; a != extraction.Dropped || b != extraction.Dropped {
			t.Errorf("ended %s and %s", a, b)
		}
		third, _, _ := h.job("m3")
		if got := h.Put(third); got != extraction.Dropped {
			t.Errorf("behind the end: %s", got)
		}
	})
}

func TestStopDoesNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		h := newHall(t, small, func(context.Context, extraction.Call) (extract.Answer, error) {
			<-hold // heeds nothing
			return extract.Answer{}, nil
		})
		j, _, _ := h.job("m1")
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
