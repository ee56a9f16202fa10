package engine

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// queueLength bounds the batches that wait, groupSize those of one commit. A
// batch that nobody waits for lingers for others to share its commit, and its rows
// with those of its session: what is lost when the process is killed meanwhile comes
// back with the next request.
const (
	queueLength = 4096
	groupSize   = 256
	linger      = 20 * time.Millisecond
)

// recorder writes batches off the request path, many in one commit. One
// goroutine owns the writing; put never blocks.
type recorder struct {
	w       store.Writer
	log     *slog.Logger
	metrics *Metrics
	queue   chan job

	mu      sync.Mutex
	waiting map[holdfast.SessionID]int
	closed  bool
	failing bool

	finished chan struct{}
}

// job is a batch, or with a nil batch a mark that is reached once all before it
// are written.
type job struct {
	urgent bool // somebody waits
	batch  *store.Batch
	void   *atomic.Bool
	after  func(error)
	done   chan error
}

func newRecorder(w store.Writer, log *slog.Logger, m *Metrics) *recorder {
	r := &recorder{
		w: w, log: log, metrics: m, queue: make(chan job, queueLength),
		waiting: map[holdfast.SessionID]int{}, finished: make(chan struct{}),
	}
	go r.run()
	return r
}

// put queues a batch; an urgent one is written at once. void is that of its maker:
// once the store refused one of its batches for what another process wrote, it is
// set, and those behind are refused, since they were made on what is not stored. after is called once with the outcome, never by the
// caller's goroutine; the channel gets it too.
func (r *recorder) put(b store.Batch, urgent bool, void *atomic.Bool, after func(error)) <-chan error {
	j := job{batch: &b, urgent: urgent, void: void, after: after, done: make(chan error, 1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		select {
		case r.queue <- j:
			r.waiting[b.Session.ID]++
			r.metrics.waiting.Inc()
			return j.done
		default:
		}
	}
	err := holdfast.Errorf(holdfast.ErrUnavailable, "the recorder's queue is full")
	r.metrics.dropped.Inc()
	go after(err)
	j.done <- err
	return j.done
}

// flush waits until all that was put before is written.
func (r *recorder) flush(ctx context.Context) error {
	j := job{urgent: true, done: make(chan error, 1)}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	select {
	case r.queue <- j:
		r.mu.Unlock()
	default:
		r.mu.Unlock()
		return holdfast.Errorf(holdfast.ErrUnavailable, "the recorder's queue is full")
	}
	select {
	case <-j.done:
		return nil
	case <-ctx.Done():
		return holdfast.Errorf(holdfast.ErrUnavailable, "the store did not keep up: %w", ctx.Err())
	}
}

// pending reports whether batches of a session wait to be written.
func (r *recorder) pending(id holdfast.SessionID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiting[id] > 0
}

func (r *recorder) run() {
	defer close(r.finished)
	var waiting []job
	due := time.NewTimer(linger)
	defer due.Stop()
	for {
		select {
		case j, ok := <-r.queue:
			if len(waiting) == 0 {
				due.Reset(linger)
			}
			// With all that has come meanwhile.
			for more := ok; more; {
				if waiting = append(waiting, j); len(waiting) == groupSize {
					break
				}
				select {
				case j, ok = <-r.queue:
					more = ok
				default:
					more = false
				}
			}
			now, later := urgent(waiting)
			if !ok || len(waiting) == groupSize {
				now, later = waiting, nil
			}
			waiting = later
			r.write(now)
			if !ok {
				return
			}
		case <-due.C:
			r.write(waiting)
			waiting = nil
		}
	}
}

// urgent takes the jobs out of those that wait which cannot: those of the sessions
// that have an urgent one, and all that stand before a mark.
func urgent(waiting []job) (now, later []job) {
	marked := 0
	sessions := map[holdfast.SessionID]bool{}
	for i, j := range waiting {
		switch {
		case j.batch == nil:
			marked = i + 1
		case j.urgent:
			sessions[j.batch.Session.ID] = true
		}
	}
	if marked == 0 && len(sessions) == 0 {
		return nil, waiting
	}
	for i, j := range waiting {
		if i < marked || sessions[j.batch.Session.ID] {
			now = append(now, j)
		} else {
			later = append(later, j)
		}
	}
	return now, later
}

func (r *recorder) write(group []job) {
	var batches []store.Batch
	place := make([]int, len(group)) // of each job's batch; -1: it is not tried
	for i, j := range group {
		if place[i] = -1; j.batch != nil && !j.void.Load() {
			place[i] = len(batches)
			batches = append(batches, *j.batch)
		}
	}
	errs := r.apply(batches)
	for i, j := range group {
		if j.batch == nil {
			j.done <- nil
			continue
		}
		var err error = holdfast.Errorf(holdfast.ErrConflict, "what it was made on was refused")
		if place[i] >= 0 {
			err = errs[place[i]]
		}
		r.mu.Lock()
		if r.waiting[j.batch.Session.ID]--; r.waiting[j.batch.Session.ID] <= 0 {
			delete(r.waiting, j.batch.Session.ID)
		}
		r.mu.Unlock()
		r.metrics.waiting.Dec()
		r.note(err)
		if err != nil {
			if overtaken(err) {
				j.void.Store(true)
			}
			// The callback takes the session's lock, which a request may hold
			// while it waits for this goroutine.
			go j.after(err)
		}
		j.done <- err
	}
}

// apply writes batches, those of a session as one, and returns what became of each.
func (r *recorder) apply(batches []store.Batch) []error {
	if len(batches) == 0 {
		return nil
	}
	errs := make([]error, len(batches))
	folded := coalesce(batches)
	together := make([]store.Batch, len(folded))
	for i, c := range folded {
		together[i] = c.Batch
	}
	var refused []int
	apart := false
	for i, err := range r.w.Apply(context.Background(), together) {
		for _, n := range folded[i].of {
			errs[n] = err
		}
		if err != nil && holdfast.CodeOf(err) != holdfast.ErrUnavailable {
			refused = append(refused, folded[i].of...)
			apart = apart || len(folded[i].of) > 1
		}
	}
	if !apart {
		return errs
	}
	// Nothing of these is written: one by one it shows which of them is refused.
	slices.Sort(refused)
	single := make([]store.Batch, len(refused))
	for i, n := range refused {
		single[i] = batches[n]
	}
	for i, err := range r.w.Apply(context.Background(), single) {
		errs[refused[i]] = err
	}
	return errs
}

// overtaken reports whether a batch was refused for what another process wrote, or
// erased.
func overtaken(err error) bool {
	code := holdfast.CodeOf(err)
	return code == holdfast.ErrNotFound || code == holdfast.ErrConflict
}

// note says once that recording stopped, and once that it goes on.
func (r *recorder) note(err error) {
	broken := err != nil && !overtaken(err)
	if err != nil {
		r.metrics.storeErrors.WithLabelValues(string(holdfast.CodeOf(err))).Inc()
	}
	switch {
	case broken && !r.failing:
		r.failing = true
		r.metrics.recording.Set(0)
		r.log.Error("recording stopped, traffic goes on; free disk space or check the data directory", "code", holdfast.CodeOf(err), "error", err.Error())
	case err == nil && r.failing:
		r.failing = false
		r.metrics.recording.Set(1)
		r.log.Info("recording goes on")
	}
}

// close writes what is queued. It is idempotent.
func (r *recorder) close(ctx context.Context) error {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.queue)
	}
	r.mu.Unlock()
	select {
	case <-r.finished:
		return nil
	case <-ctx.Done():
		return holdfast.Errorf(holdfast.ErrUnavailable, "the last records were not written in time: %w", ctx.Err())
	}
}
