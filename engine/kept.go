package engine

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
	"github.com/holdfast-dev/holdfast/store"
)

// rejoin gives a branch that was forked for its compaction what its parent came to, when
// rounds that were thought taken back stand verbatim behind the summary.
func (e *Engine) rejoin(ctx context.Context, s *session, of []*branch, b *branch, h *history) error {
	if b.row.Parent == "" || len(b.epochs) > 1 || len(b.revs) > 1 {
		return nil
	}
	for _, from := range of {
		ep := from.current()
		if from.row.ID != b.row.Parent || ep.row.N != b.current().row.N {
			continue
		}
		at := len(b.current().anchors)
		if !slices.ContainsFunc(h.anchors, func(a anchor) bool { seq, ok := ep.pos[a.digest]; return ok && a.strong && seq >= at }) {
			return nil
		}
		if err := e.complete(ctx, s.key.principal, from, ep); err != nil {
			return err
		}
		c := from.effective
		c.Branch = b.row.ID
		if b.advance(continuity.Seal(c), at, e.now()) {
			b.owed = b.row.Epoch + 1 // the summary has a block without that
		}
	}
	return nil
}

// goBack is the branch that a summary opens an epoch of: b, or a fork of it where b goes
// on behind the place up to which its history stands verbatim behind the summary. A
// person went back there, and had it compacted before anything else was said. The
// request for the summary, where one was seen, does not tell: the agent leaves out of it
// what it keeps.
func (e *Engine) goBack(ctx context.Context, s *session, set *Settings, b *branch, h *history) (*branch, error) {
	ep, kept := b.current(), h.anchors[h.summaryAnchor:]
	m := ep.match(kept)
	// Behind that stands the new prompt alone: another thing that is not known was said
	// elsewhere. Behind a summary that is the one of before, word for word, it may be what
	// that one had kept.
	if ep.row.Evidence == h.summary || !m.strong || m.next+1 < len(kept) || !ep.goesOn(m.tip) {
		return b, nil
	}
	// A model may say the same again: then it is the newest answer, which no history has.
	// Behind a restart nobody knows that one, and something else must stand with it.
	if slices.Contains(ep.latest, kept[m.next-1].digest) || ep.whole == 0 && m.n == 1 {
		return b, nil
	}
	fork, err := s.fork(ctx, e, set, b, ep, m.tip, b.row.Thread)
	if err != nil {
		return nil, err
	}
	fork.pending, fork.owed = b.pending, b.row.Epoch+1 // the summary has the block of b
	fork.heard = b.heardUpTo(ep, m.tip)
	if p := b.pending; p != nil && p.row.Status == store.BoundaryCommitted {
		// The fork has taken it up: what b had beyond must not wait for the next summary.
		row := p.row
		row.Status = store.BoundaryDiscarded
		b.pending, b.passedOver = nil, row.At
		e.record(s, b, false, row)
	}
	return fork, nil
}

// heardUpTo is what was heard of a branch up to a place in its epoch. s.mu is held.
func (b *branch) heardUpTo(ep *epoch, tip int) []extract.Message {
	ids, seen := map[string]bool{}, map[holdfast.Digest]int{}
	for _, m := range b.left {
		ids[m.ID] = true
	}
	for _, a := range ep.anchors[:tip+1] {
		ids[ep.messageID(a.digest, seen[a.digest])] = true
		seen[a.digest]++
	}
	return slices.DeleteFunc(slices.Clone(b.heard), func(m extract.Message) bool { return !ids[m.ID] })
}
