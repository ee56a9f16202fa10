package engine

import (
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// coalesced is a batch that leaves in the store what several batches of one session
// leave one after the other, and is refused where one of them would be. It may be
// refused where none of them would.
type coalesced struct {
	store.Batch
	of []int // the batches, by their index
}

// coalesce folds the batches of each session, as far as they can be folded. Those of
// one session keep their order, sessions do not: ids are of one session. The
// batches are not changed.
func coalesce(batches []store.Batch) (list []*coalesced) {
	newest := map[holdfast.SessionID]*coalesced{}
	for i, b := range batches {
		c := newest[b.Session.ID]
		if c == nil || !c.takes(b) {
			c = &coalesced{Batch: b}
			list = append(list, c)
			newest[b.Session.ID] = c
		} else {
			if len(c.of) == 1 {
				c.own()
			}
			c.fold(b)
		}
		c.of = append(c.of, i)
	}
	return list
}

// takes reports whether b can be folded in. It cannot where that would hide what a
// store refuses one of them for: a session of another principal, a row of another
// session, an epoch behind the stored one, rows of a branch that only b brings. Nor can
// it where its anchors begin again.
func (c *coalesced) takes(b store.Batch) bool {
	if c.Session.Principal != b.Session.Principal {
		return false
	}
	for n, r := range b.Branches {
		same := func(o store.Branch) bool { return o.ID == r.ID }
		if r.Session != b.Session.ID || slices.ContainsFunc(b.Branches[:n], same) {
			return false
		}
		switch i := lastIndex(c.Branches, same); {
		case i < 0 && c.touches(r.ID):
			return false
		case i >= 0 && (c.Branches[i].Session != r.Session || c.Branches[i].Epoch != r.Epoch):
			return false
		}
	}
	return c.before(b.Anchors)
}

// before reports whether anchors stand behind those of c in their epochs: what the store
// drops for one that is another than the stored one, it drops for both.
func (c *coalesced) before(anchors []store.Anchor) bool {
	type place struct {
		branch holdfast.BranchID
		epoch  int
	}
	end := map[place]int{}
	for _, a := range c.Anchors {
		p := place{a.Branch, a.Epoch}
		end[p] = max(end[p], a.Seq+1)
	}
	return !slices.ContainsFunc(anchors, func(a store.Anchor) bool { return a.Seq < end[place{a.Branch, a.Epoch}] })
}

// touches reports whether rows other than branches belong to a branch.
func (c *coalesced) touches(id holdfast.BranchID) bool {
	return slices.ContainsFunc(c.Epochs, func(r store.Epoch) bool { return r.Branch == id }) ||
		slices.ContainsFunc(c.Anchors, func(r store.Anchor) bool { return r.Branch == id }) ||
		slices.ContainsFunc(c.Revisions, func(r store.Revision) bool { return r.Branch == id }) ||
		slices.ContainsFunc(c.Boundaries, func(r store.Boundary) bool { return r.Branch == id })
}

// own takes copies of the rows, which are those of the first batch.
func (c *coalesced) own() {
	c.Branches, c.Epochs, c.Anchors = slices.Clone(c.Branches), slices.Clone(c.Epochs), slices.Clone(c.Anchors)
	c.Revisions, c.Boundaries = slices.Clone(c.Revisions), slices.Clone(c.Boundaries)
}

// fold takes b in. A new session begins as the first batch has it.
func (c *coalesced) fold(b store.Batch) {
	for _, t := range []time.Time{b.Session.CreatedAt, b.Session.UsedAt} {
		if t.After(c.Session.UsedAt) {
			c.Session.UsedAt = t
		}
	}
	c.Branches = replace(c.Branches, b.Branches, func(x, y store.Branch) bool { return x.ID == y.ID })
	c.Epochs = replace(c.Epochs, b.Epochs, func(x, y store.Epoch) bool { return x.Branch == y.Branch && x.N == y.N })
	c.Anchors = append(c.Anchors, b.Anchors...)
	c.Revisions = append(c.Revisions, b.Revisions...)
	// A boundary on another branch is for the store to refuse.
	c.Boundaries = replace(c.Boundaries, b.Boundaries, func(x, y store.Boundary) bool { return x.ID == y.ID && x.Branch == y.Branch })
}

// replace puts rows in the place of older ones of the same key, new ones at the end.
func replace[T any](old, rows []T, same func(x, y T) bool) []T {
	for _, r := range rows {
		if i := lastIndex(old, func(o T) bool { return same(o, r) }); i >= 0 {
			old[i] = r
		} else {
			old = append(old, r)
		}
	}
	return old
}

// lastIndex is where the newest of the rows stands that match; -1: none does.
func lastIndex[T any](rows []T, match func(T) bool) int {
	for i, r := range slices.Backward(rows) {
		if match(r) {
			return i
		}
	}
	return -1
}
