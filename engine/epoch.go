package engine

import (
	"context"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/continuity"
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
		block, ok := e.render(a.set, c, h.row, 0)
		if !ok && h.carried {
			block, ok = continuity.Blank(c), true
		}
		if ok {
			ep.row.Block, ep.row.Revision, ep.rewritten = block.Text, max(c.Revision, ep.row.Revision), true // others may have recorded the epoch at the barrier
		}
	}
	ep.state = nil
	if h.row == agents.CompactionBlock && h.takes() {
		ep.row.Place = h.incoming - h.summaryAt
	}
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
	at := h.summaryAt
	switch {
	case h.row == agents.CompactionBlock:
		if at = a.place(h); at < 0 {
			return
		}
	case h.carried:
		at = h.carriedAt
	}
	a.Insert = &Insertion{At: at, Text: a.ep.row.Block}
	a.e.metrics.delivery.WithLabelValues("sticky").Inc()
}

// place is the element that the block of an epoch stands in where a block of the
// provider's opened it; -1: none can hold it. That one is the model's, so ours goes into
// a message of the user behind it: the last one of the epoch's first request, for
// thinking that stands behind a text of ours must have been made behind it (see
// binds). There it stays. A branch that parts before it has a place of its own. A request
// for the next summary makes none.
func (a *Attempt) place(h *history) int {
	row := &a.ep.row
	switch {
	case row.Place > 0 && h.summaryAt+row.Place <= h.incoming:
		return h.summaryAt + row.Place
	case !h.takes(), a.Verdict.Kind == holdfast.Compaction:
		return -1
	}
	at := h.incoming - h.summaryAt
	if a.replay {
		// Who goes on from here leaves the branch with the next request, and takes it along.
		if a.ep.places == nil {
			a.ep.places = map[int]int{}
		}
		a.ep.places[a.ep.match(h.anchors).tip] = at
		return h.incoming
	}
	row.Place, a.ep.rewritten = at, true
	a.e.record(a.s, a.b, false)
	return h.incoming
}

// takes reports whether a history has a message of the user behind its summary, and no
// thinking behind that: it may take a block which was not there before.
func (h *history) takes() bool { return h.incoming > max(h.summaryAt, h.thought) }

// binds reports whether reasoning behind an element of a history is lost, or the request
// is refused, when that element changes: newer Claude models take thinking back only
// behind what it was made behind
// (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks).
func (a *Attempt) binds(h *history, at int) bool {
	return a.protocol == holdfast.Anthropic && h.thought > at
}
