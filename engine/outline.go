package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// ever is behind all anchors of an epoch.
const ever = math.MaxInt

// complete reads the capsules from which a branch goes on in an epoch: the newest and
// what histories confirmed of it, those with which the epoch and the newest one began, and
// that of a fork. Other revisions stay outlined, however many there are. s.mu is held.
func (e *Engine) complete(ctx context.Context, p holdfast.Principal, b *branch, ep *epoch) error {
	if !b.outlined && ep == b.current() {
		return nil
	}
	cur := b.current().row.N
	needed := []int{len(b.revs) - 1, b.numbered(b.confirmed.Revision), b.indexAt(cur-1, ever), b.indexAt(ep.row.N-1, ever)}
	if b.row.Parent != "" && len(b.revs) > 0 {
		needed = append(needed, 0)
	}
	if err := e.fetch(ctx, p, b, needed...); err != nil {
		return err
	}
	if b.outlined {
		if n := len(b.revs); n > 0 {
			b.effective = b.revs[n-1].capsule
		}
		if i := b.numbered(b.confirmed.Revision); i >= 0 {
			b.confirmed = b.revs[i].capsule
		}
		b.outlined = false
	}
	return nil
}

// numbered is the place of a revision; -1 for none.
func (b *branch) numbered(n int) int {
	i, known := slices.BinarySearchFunc(b.revs, n, func(r revision, n int) int { return cmp.Compare(r.capsule.Revision, n) })
	if !known {
		return -1
	}
	return i
}

// fetch reads capsules that are outlined, by their places, at most LoadTimeout long.
func (e *Engine) fetch(ctx context.Context, p holdfast.Principal, b *branch, places ...int) error {
	ctx, cancel := context.WithTimeout(ctx, LoadTimeout)
	defer cancel()
	for _, i := range places {
		if i < 0 || !b.revs[i].outlined {
			continue
		}
		row, err := e.store.Revision(ctx, p, b.row.ID, b.revs[i].capsule.Revision)
		if err != nil {
			return err
		}
		whole, err := readRevision(row)
		if err != nil {
			return err
		}
		b.revs[i] = whole
	}
	return nil
}

// readRevision reads a stored revision, which is whole.
func readRevision(row store.Revision) (revision, error) {
	var c holdfast.Capsule
	if err := json.Unmarshal(row.Capsule, &c); err != nil {
		return revision{}, holdfast.Errorf(holdfast.ErrInternal, "read revision %d of branch %s: %w", row.N, row.Branch, err)
	}
	if c.SchemaVersion > holdfast.SchemaVersion {
		return revision{}, holdfast.Errorf(holdfast.ErrNewer, "revision %d of branch %s was written by a newer version of holdfast", row.N, row.Branch)
	}
	return revision{epoch: row.Epoch, seq: row.Seq, capsule: c, at: row.At}, nil
}
