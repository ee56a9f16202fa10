package recording

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// Bounds of what waits to be written, of all branches together: a history that
// was decoded, and answers of up to some megabytes, many at once.
const (
	maxQueued      = 1024
	maxQueuedBytes = 64 << 20
)

// The outcomes that Config.Count is told of.
const (
	Written = "written"
	Dropped = "dropped" // the queue was full
	Failed  = "failed"  // the store refused it, or it could not be read
	Gap     = "gap"     // it was written behind a gap
)

// Config is what recording needs beside the store.
type Config struct {
	// Redact takes secrets out of a text and counts them.
	Redact func(text string) (clean string, secrets int)
	// Synthetic tells of each part of a message in the user's role whether it is a
	// text that no person typed.
	Synthetic func(parts []holdfast.Part) []bool
	// Exists reports whether a session is still kept. It is asked before its
	// branch's conversation is begun.
	Exists func(ctx context.Context, p holdfast.Principal, id holdfast.SessionID) (bool, error)
	// TTL is how long a conversation is kept after its last use; 0: as long as its
	// session. One that is gone by then is begun anew.
	TTL time.Duration
	// Count is told what became of each passage.
	Count func(outcome string)
}

// Recorder writes passages, in the order in which they were put. One goroutine
// owns the writing; Put never blocks. Safe for concurrent use.
type Recorder struct {
	st    store.Conversations
	cfg   Config
	log   *slog.Logger
	queue chan job

	mu      sync.Mutex
	queued  int // bytes
	closed  bool
	full    bool // it was said
	failing bool

	finished chan struct{}
}

// job is a passage of a branch; without one, the branch is to be erased.
type job struct {
	branch  *Branch
	passage *Passage
	size    int
}

// New starts a recorder. Close must be called to stop it.
func New(st store.Conversations, cfg Config, log *slog.Logger) *Recorder {
	r := &Recorder{st: st, cfg: cfg, log: log, queue: make(chan job, maxQueued), finished: make(chan struct{})}
	go r.run()
	return r
}

// Put queues a passage. One that finds the queue full is left out, and the
// branch is behind from then on. Passages of one branch are put one at a time.
func (r *Recorder) Put(b *Branch, p *Passage) {
	if p.Whole {
		p.missed, b.dropped = b.dropped, false
		b.behind.Store(false)
	}
	if !r.put(job{b, p, p.size()}) {
		b.dropped = true
		b.behind.Store(true)
		r.cfg.Count(Dropped)
	}
}

// Erase erases the conversation of a branch whose session was removed, in case
// that it was begun meanwhile. Nothing of the branch is recorded any more.
func (r *Recorder) Erase(b *Branch) { r.put(job{branch: b, size: 1}) }

func (r *Recorder) put(j job) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed && r.queued+j.size <= maxQueuedBytes {
		select {
		case r.queue <- j:
			r.queued += j.size
			r.full = false
			return true
		default:
		}
	}
	if !r.full && !r.closed {
		r.full = true
		r.log.Warn("transcripts do not keep up, some of what passes is not recorded at once; what a later request still holds is")
	}
	return false
}

func (r *Recorder) run() {
	defer close(r.finished)
	for j := range r.queue {
		switch err := r.guarded(j); {
		case err == nil:
			r.note(nil)
		case holdfast.CodeOf(err) == holdfast.ErrNotFound:
			j.branch.erased(j.passage, r.cfg.TTL)
		default:
			j.branch.failed(err)
			r.cfg.Count(Failed)
			r.note(err)
		}
		r.mu.Lock()
		r.queued -= j.size
		r.mu.Unlock()
	}
}

// guarded does a job. A defect ends the recording of its branch and nothing
// else; what it panics with may hold text of a session.
func (r *Recorder) guarded(j job) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = holdfast.Errorf(holdfast.ErrInternal, "a defect in recording (%T); its branch is not recorded any more", v)
		}
	}()
	ctx := context.Background()
	if j.passage == nil {
		return r.erase(ctx, j.branch)
	}
	return r.record(ctx, j.branch, j.passage)
}

// note says once that recording stopped, and once that it goes on.
func (r *Recorder) note(err error) {
	switch {
	case err != nil && !r.failing:
		r.failing = true
		r.log.Error("transcripts are not recorded, traffic goes on", "code", holdfast.CodeOf(err), "error", err.Error())
	case err == nil && r.failing:
		r.failing = false
		r.log.Info("transcripts are recorded again")
	}
}

// Close writes what is queued. It is idempotent and waits at most until ctx
// ends.
func (r *Recorder) Close(ctx context.Context) error {
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
		return holdfast.Errorf(holdfast.ErrUnavailable, "the last transcripts were not written in time: %w", ctx.Err())
	}
}
