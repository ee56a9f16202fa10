package engine

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/store"
)

// EditStore is what Edit needs of a store.
type EditStore interface {
	store.Writer
	Outline(ctx context.Context, p holdfast.Principal, id holdfast.SessionID) (store.SessionState, error)
	Revision(ctx context.Context, p holdfast.Principal, branch holdfast.BranchID, n int) (store.Revision, error)
}

// Edited is what an edit did.
type Edited struct {
	// Before and After have the same revision when nothing changed.
	Before, After holdfast.Capsule
	// Sticky tells when it is in effect: with the next request of the branch, where
	// each carries the block; else from the next compaction on.
	Sticky bool
	// Bound tells that it is in effect from the next compaction on all the same, where
	// the model has thought behind the block (see binds).
	Bound bool
}

// maxEditTries bounds how often an edit begins again because the capsule changed
// meanwhile.
const maxEditTries = 20

// Edit changes the newest capsule of a branch as the person says, in the store; a
// server that runs over the same store takes it up. The edit is made with the turn
// of the newest words that the capsule has. With dry set nothing is written. The
// texts must be without secrets already. Errors: those of continuity.Apply,
// not_found for a branch that the principal has not in that session, newer_schema,
// unavailable, and conflict when the capsule changed each time that it was tried.
func Edit(ctx context.Context, st EditStore, p holdfast.Principal, s holdfast.SessionID, b holdfast.BranchID, e continuity.Edit, at time.Time, dry bool) (Edited, error) {
	var err error
	for range maxEditTries {
		var done Edited
		var row *store.Revision
		if done, row, err = makeEdit(ctx, st, p, s, b, e); err != nil || row == nil || dry {
			return done, err
		}
		row.At = at
		// The branch's own row stays the server's.
		batch := store.Batch{Session: store.Session{ID: s, Principal: p}, Revisions: []store.Revision{*row}}
		if err = st.Apply(ctx, []store.Batch{batch})[0]; holdfast.CodeOf(err) != holdfast.ErrConflict {
			return done, err
		}
	}
	return Edited{}, err
}

// makeEdit makes an edit of what is stored now, and the revision that it would be;
// nil when nothing changes.
func makeEdit(ctx context.Context, st EditStore, p holdfast.Principal, s holdfast.SessionID, b holdfast.BranchID, e continuity.Edit) (Edited, *store.Revision, error) {
	state, err := st.Outline(ctx, p, s)
	if err != nil {
		return Edited{}, nil, err
	}
	i := slices.IndexFunc(state.Branches, func(x store.BranchState) bool { return x.ID == b })
	if i < 0 {
		return Edited{}, nil, holdfast.Errorf(holdfast.ErrNotFound, "session %s has no branch %s: see holdfast session show", s, b)
	}
	branch := state.Branches[i]
	done := Edited{Before: holdfast.Capsule{Branch: b}}
	if n := len(branch.Revisions); n > 0 {
		row, err := st.Revision(ctx, p, b, branch.Revisions[n-1].N)
		if err != nil {
			return Edited{}, nil, err
		}
		newest, err := readRevision(row)
		if err != nil {
			return Edited{}, nil, err
		}
		done.Before = newest.capsule
	}
	if n := len(branch.Epochs); n > 0 {
		ep := branch.Epochs[n-1]
		done.Sticky = ep.Block != ""
		done.Bound = done.Sticky && agents.SpeaksMessages(state.Agent)
	}
	for _, w := range done.Before.UserWords {
		e.Turn = max(e.Turn, w.Turn)
	}
	done.After, err = continuity.Apply(done.Before, e)
	if err != nil || done.After.Revision == done.Before.Revision {
		return done, nil, err
	}
	raw, err := json.Marshal(done.After)
	if err != nil {
		panic(err) // plain strings and slices always marshal
	}
	r := &store.Revision{
		Branch: b, N: done.After.Revision, Epoch: branch.Epoch, Digest: done.After.Digest, After: done.Before.Digest, Edit: true, Capsule: raw,
	}
	for _, a := range branch.Anchors {
		if a.Epoch == branch.Epoch {
			r.Seq++
		}
	}
	return done, r, nil
}

// followEdits takes up what a person changed in capsules of sessions in memory
// since the edit with the number after, and returns the number of the last one.
// What the store refuses now is tried again with the next call.
func (e *Engine) followEdits(ctx context.Context, after int64) int64 {
	list, err := e.store.Edits(ctx, after)
	if err != nil {
		return after
	}
	for _, edit := range list {
		if err := e.adopt(ctx, edit.Session); err != nil {
			e.log.Warn("an edit was not read", "code", holdfast.CodeOf(err), "session", edit.Session)
			return after
		}
		after = edit.Seq
	}
	return after
}

// adopt takes up the revisions of a session that another process wrote. Where this
// process made one of the same number, that one is refused by the store: the next
// request reads the session again, and its history brings back what was refused.
func (e *Engine) adopt(ctx context.Context, id holdfast.SessionID) error {
	s := e.inMemory(id)
	if s == nil {
		return nil
	}
	st, err := e.newsOf(ctx, s, id)
	if err != nil || st == nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return nil
	}
	for _, row := range st.Branches {
		i := slices.IndexFunc(s.branches, func(b *branch) bool { return b.row.ID == row.ID })
		if i < 0 {
			continue
		}
		before := s.branches[i].effective.Revision
		if ok, err := s.branches[i].adopt(row); err != nil || !ok {
			s.dead = true
			return nil
		}
		if now := s.branches[i].effective.Revision; now != before {
			e.log.Info("edit taken up", "agent", s.key.agent, "session", id, "branch", row.ID, "revision", now)
		}
	}
	return nil
}

// newsOf reads a session in outline, with those revisions whole that memory has not;
// nil: it is not stored.
func (e *Engine) newsOf(ctx context.Context, s *session, id holdfast.SessionID) (*store.SessionState, error) {
	newest := map[holdfast.BranchID]int{}
	s.mu.Lock()
	for _, b := range s.branches {
		newest[b.row.ID] = b.newest()
	}
	s.mu.Unlock()
	st, err := found(e.store.Outline(ctx, s.key.principal, id))
	if err != nil || st == nil {
		return nil, err
	}
	for _, b := range st.Branches {
		n, known := newest[b.ID]
		for i, r := range slices.Backward(b.Revisions) {
			if !known || r.N <= n {
				break
			}
			if b.Revisions[i], err = e.store.Revision(ctx, s.key.principal, b.ID, r.N); err != nil {
				return nil, err
			}
		}
	}
	return st, nil
}

// inMemory is the session with an id; nil when no request used it lately. It waits for
// those that are being read: what they get may be older than what is asked for.
func (e *Engine) inMemory(id holdfast.SessionID) *session {
	var unread []*session
	e.mu.Lock()
	for _, s := range e.sessions {
		switch name := s.name.Load(); {
		case name == nil:
			unread = append(unread, s)
		case *name == id:
			e.mu.Unlock()
			return s
		}
	}
	e.mu.Unlock()
	if i := slices.IndexFunc(unread, func(s *session) bool { return s.id() == id }); i >= 0 {
		return unread[i]
	}
	return nil
}

// adopt appends the revisions that a branch does not have. ok is false when they
// do not follow on its own.
//
// The person changed what the calls of the newest answer had brought already, so
// these are confirmed with it: folded again, they would undo the edit.
func (b *branch) adopt(st store.BranchState) (ok bool, err error) {
	if st.Epoch > b.row.Epoch {
		return false, nil
	}
	known := len(b.revs)
	for _, row := range st.Revisions {
		if i := b.numbered(row.N); i >= 0 {
			if b.revs[i].capsule.Digest != row.Digest {
				return false, nil
			}
			continue
		}
		r, err := readRevision(row)
		if err != nil {
			return false, err
		}
		b.revs = append(b.revs, r)
		if row.Edit {
			b.edited = row.N
		}
	}
	if len(b.revs) == known {
		return true, nil
	}
	b.effective = b.revs[len(b.revs)-1].capsule
	b.confirmed = b.effective
	if state := b.effective; b.summed != nil {
		b.summed = &state
	}
	for _, call := range b.asked {
		b.done[call.ID] = true
	}
	b.stored.revs = len(b.revs)
	return true, nil
}

// outdated reports whether the block that the epoch repeats was written before
// the person's last edit.
func (b *branch) outdated() bool {
	row := b.current().row
	return row.Block != "" && b.edited > row.Revision
}

// renew writes the block of an epoch anew after an edit, or for what was read too late
// for it, once and whole, and waits for it to be durable: the next process must repeat
// it. Where thinking is bound to the old one, that waits for the next boundary.
func (e *Engine) renew(ctx context.Context, a *Attempt, h *history) {
	if a.ep != a.b.current() || !a.b.outdated() && !a.ep.late || h.summaryAt < 0 || a.binds(h, h.summaryAt+a.ep.row.Place) {
		return
	}
	block, ok := e.render(a.set, a.b.effective, h.row, 0) // "" when nothing is left
	if !ok && h.carried {
		block = continuity.Blank(a.b.effective)
	}
	a.ep.row.Block, a.ep.row.Revision = block.Text, a.b.effective.Revision
	if a.ep.late {
		e.metrics.delivery.WithLabelValues("late").Inc()
	}
	a.ep.rewritten, a.ep.late = true, false
	wait := e.record(a.s, a.b, true)
	a.s.mu.Unlock()
	e.await(ctx, wait)
	a.s.mu.Lock()
}
