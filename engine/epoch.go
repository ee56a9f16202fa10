package engine

import (
	"context"

	"github.com/holdfast-dev/holdfast/engine/recording"
)

// open waits for what an epoch's block lacks, while other requests of the epoch wait for
// that. s.mu is held; false: the session is gone, or was overtaken.
func (a *Attempt) open(ctx context.Context) bool {
	opened := make(chan struct{})
	a.ep.opening = opened
	defer func() {
		a.ep.opening = nil
		close(opened)
	}()
	return a.e.barrier(ctx, a)
}

// opened waits until another request has begun the epoch: what stands in it is the
// same for all. s.mu is held; false: the session is gone.
func (a *Attempt) opened(ctx context.Context) bool {
	opening := a.ep.opening
	if opening == nil {
		return true
	}
	a.s.mu.Unlock()
	select {
	case <-opening:
	case <-ctx.Done():
	}
	a.s.mu.Lock()
	return !a.s.dead
}

// beginEpoch writes the block that the epoch repeats, if its summary does not
// carry one, or lacks what came too late for it, and waits for it to be durable: the
// next process must repeat it.
func (e *Engine) beginEpoch(ctx context.Context, a *Attempt, h *history, p *recording.Passage) {
	ep, b := a.ep, a.b
	if !h.carried || b.owed == ep.row.N {
		// What the block says is the state when the epoch opened, with what was read
		// since of the one before.
		c := b.at(ep.row.N-1, ever)
		if ep.state != nil {
			c = *ep.state
		}
		if block, ok := e.render(a.set, c, h.row, 0); ok {
			ep.row.Block, ep.row.Revision, ep.rewritten = block.Text, max(c.Revision, ep.row.Revision), true // others may have recorded the epoch at the barrier
		}
	}
	ep.state = nil
	wait := e.record(a.s, b, ep.row.Block != "")
	e.transcribe(a, p)
	if ep.row.Block != "" {
		a.s.mu.Unlock()
		e.await(ctx, wait)
		a.s.mu.Lock()
	}
}

// stick sets the insertion of an epoch whose summary does not carry the block, or an
// older one than the epoch has.
func (a *Attempt) stick(h *history) {
	if a.ep.row.Block == "" || h.summaryAt < 0 {
		return
	}
	a.Insert = &Insertion{At: h.summaryAt, Text: a.ep.row.Block}
	if h.carried {
		a.Insert.At = h.carriedAt
	}
	a.e.metrics.delivery.WithLabelValues("sticky").Inc()
}
