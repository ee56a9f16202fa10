package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/store"
)

// nextBoundary is the boundary of a compaction that begins now: the one that waits for
// its summary, where it is that compaction again.
func (b *branch) nextBoundary() holdfast.BoundaryID {
	if b.pending != nil && b.pending.row.Epoch == b.current().row.N {
		return b.pending.row.ID
	}
	return holdfast.BoundaryID(newID())
}

// committed reports whether a boundary waits for its summary to come back.
func (b *branch) committed(id holdfast.BoundaryID) bool {
	return b.pending != nil && b.pending.row.ID == id && b.pending.row.Status == store.BoundaryCommitted
}

// discarded ends the boundary whose summary an agent was given, when the agent goes on
// where it asked for that; nil when there is none.
func (l linked) discarded(h *history) []store.Boundary {
	p := l.b.pending
	if p == nil || p.row.Status != store.BoundaryCommitted || l.how != "turn" || l.next == len(h.anchors) {
		return nil
	}
	l.b.pending, l.b.passedOver = nil, p.row.At
	p.row.Status = store.BoundaryDiscarded
	return []store.Boundary{p.row}
}

// beginBoundary prepares what a compaction carries.
func (e *Engine) beginBoundary(a *Attempt) {
	a.Boundary = true
	b := a.b
	row := store.Boundary{ID: a.bound.ID, Branch: b.row.ID, Epoch: b.current().row.N}
	if b.pending != nil && b.pending.row.Epoch == row.Epoch {
		row.ID = b.pending.row.ID // this compaction again, which may have begun meanwhile
	}
	row.Row, row.Status, row.At = a.Verdict.Row, store.BoundaryStarted, e.now()
	a.bound = row
	state := b.effective
	b.summed = &state
	a.compose()
	a.MayCarry = a.Verdict.Summary == holdfast.PlainSummary && (a.Block != "" || b.reading != nil)
	row = a.bound
	if b.committed(row.ID) {
		e.record(a.s, b, false) // its summary may be in use
	} else {
		b.pending = &boundary{row: row}
		e.record(a.s, b, false, row)
	}
	e.event(a, "started")
}

// compose writes the block of a compaction. s.mu is held.
func (a *Attempt) compose() {
	c := *a.b.summed
	a.Block, a.bound.Block, a.bound.Revision = "", "", 0
	if !continuity.Empty(c) {
		a.bound.Revision = c.Revision
	}
	if a.Verdict.Summary != holdfast.PlainSummary {
		return
	}
	if block, ok := a.e.render(a.set, c, a.bound.Row, a.size); ok {
		a.Block, a.bound.Block = block.Text, block.Digest
	}
}

// Final is what goes into the summary of a compaction, asked for when the rest of its
// answer is there: what was still to be read is read beside that answer, and Final
// waits for it, at most Extractor.Barrier and until ctx ends. Where another process has
// carried the session further meanwhile, what that did is in it, too. It is "" where
// the session was erased meanwhile.
func (a *Attempt) Final(ctx context.Context) string {
	if !a.MayCarry || a.settled {
		return a.Block
	}
	a.s.mu.Lock()
	defer func() { a.s.mu.Unlock() }()
	for range maxBegins {
		alive := a.e.barrier(ctx, a)
		switch {
		case a.s.erased:
			a.Block = ""
			return ""
		case alive:
			if a.b.current().row.N == a.bound.Epoch && a.b.summed.Digest != a.bound.Block {
				a.compose()
			}
			return a.Block
		case !a.relink(ctx):
			return a.Block
		}
	}
	return a.Block
}

// relink takes an attempt whose session was overtaken to what the store has of it now,
// and brings what its history tells. s.mu of its session is held before and after.
func (a *Attempt) relink(ctx context.Context) (ok bool) {
	e, old, was := a.e, a.s, a.b.unstored()
	old.mu.Unlock()
	var s *session
	// A panic is a defect of ours: then the block is what was known before.
	defer func() {
		if x := recover(); x != nil {
			e.log.Error("a session was not read again by a defect", "session", a.session, "panic", fmt.Sprintf("%T", x))
			ok = false
		}
		if ok {
			return
		}
		if s != nil {
			s.mu.Unlock()
		}
		old.mu.Lock()
	}()
	var err error
	if s, err = e.enter(ctx, old.key); err != nil {
		return false
	}
	l, err := e.link(ctx, s, a.set, a.Verdict, a.history, true)
	if err != nil || l.b.row.ID != a.branch || e.complete(ctx, s.key.principal, l.b, l.ep) != nil {
		return false
	}
	l.b.recall(was)
	if !l.replay {
		e.harvest(l, a.set, a.history, true)
	}
	if heard := l.b.hear(l.ep, a.history); len(heard) > len(l.b.heard) {
		l.b.heard = heard
	}
	state := l.b.effective
	l.b.summed = &state
	e.record(s, l.b, false, a.bound)
	s.attempts++
	a.s, a.b, a.ep, a.replay = s, l.b, l.ep, l.replay
	return true
}

// render writes the block for the agent of a row of the table. Where the agent
// weighs the summary against a history of size bytes, the block is at most a
// quarter of that; one that does not fit is left to the sticky delivery.
func (e *Engine) render(set *Settings, c holdfast.Capsule, row string, size int) (holdfast.Block, bool) {
	budget := continuity.Budget{Tokens: set.MaxCapsuleTokens, Words: set.UserWordsTokens}
	if agents.KeepsUserMessages(row) {
		budget.Words = 0
	}
	weighed := size > 0 && agents.Weighed(row)
	if weighed {
		budget.Tokens = min(budget.Tokens, size/16)
	}
	block, ok := continuity.Render(c, set.Preserve, budget, continuity.EstimateTokens)
	if weighed && continuity.EstimateTokens(block.Text) > budget.Tokens {
		return holdfast.Block{}, false
	}
	return block, ok
}

// event logs a compaction's phase, without any text of the conversation.
func (e *Engine) event(a *Attempt, phase string) {
	e.log.Info("compaction", "phase", phase, "row", a.Verdict.Row, "agent", a.Verdict.Agent, "boundary", a.bound.ID,
		"session", a.s.row.ID, "branch", a.b.row.ID, "epoch", a.bound.Epoch, "revision", a.bound.Revision)
}

// Commit makes a boundary durable, at most CommitTimeout long; the caller holds
// the terminal event until it returns. summary is the digest of the text that
// the client gets, delivered whether the block is in it.
func (a *Attempt) Commit(ctx context.Context, summary holdfast.Digest, delivered bool) {
	e, start := a.e, time.Now()
	a.s.mu.Lock()
	if a.settled {
		a.s.mu.Unlock()
		return
	}
	a.settled = true
	again := a.b.committed(a.bound.ID)
	a.bound.Status, a.bound.Summary, a.bound.At = store.BoundaryCommitted, summary, e.now()
	if !delivered {
		a.bound.Block = ""
	}
	if a.b.current().row.N == a.bound.Epoch {
		a.b.pending = &boundary{row: a.bound, model: a.model}
	}
	if a.bound.Revision == a.b.effective.Revision {
		a.b.owed = 0
	}
	e.content.summarised(a.s, summary, a.bound.Block)
	wait := e.record(a.s, a.b, true, a.bound)
	a.s.mu.Unlock()
	if !e.cfg.Without.Barrier {
		e.await(ctx, wait)
	}
	e.metrics.commitHold.Observe(time.Since(start).Seconds())
	if !again {
		e.metrics.compactions.WithLabelValues(a.Verdict.Agent, string(a.protocol), "committed").Inc()
	}
	switch {
	case delivered:
		e.metrics.tokens.Observe(float64(continuity.EstimateTokens(a.Block)))
		e.metrics.delivery.WithLabelValues("summary").Inc()
	case a.bound.Revision == 0:
		e.metrics.delivery.WithLabelValues("skipped").Inc()
	}
	e.event(a, "committed")
}
