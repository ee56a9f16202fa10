package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// findAtOnce bounds the parameters of one query.
const findAtOnce = 500

// Find implements store.Reader.
func (s *Store) Find(ctx context.Context, p holdfast.Principal, digests []holdfast.Digest) ([]store.Hit, error) {
	newest := map[holdfast.Digest]candidate{}
	err := s.read(ctx, func(t tx) error {
		var known []store.Anchor
		for chunk := range slices.Chunk(digests, findAtOnce) {
			list, err := t.strong(chunk)
			if err != nil {
				return err
			}
			known = append(known, list...)
		}
		lineages, err := t.lineages(p, known)
		if err != nil {
			return err
		}
		for _, a := range known {
			c := candidate{a, lineages[a.Branch]}
			old, rival := newest[a.Digest]
			if c.lineage != nil && (!rival || c.newer(old)) {
				newest[a.Digest] = c
			}
		}
		return nil
	})
	if err != nil {
		return nil, s.explain("look up anchors", err)
	}
	var hits []store.Hit
	for _, d := range digests {
		if c, found := newest[d]; found {
			hits = append(hits, store.Hit{Session: c.session, Anchor: c.anchor})
			delete(newest, d)
		}
	}
	return hits, nil
}

// strong reads the strong anchors with one of the digests, whoever owns them:
// most histories have few branches, so their owners are looked up apart.
func (t tx) strong(digests []holdfast.Digest) ([]store.Anchor, error) {
	var args []any
	for _, d := range digests {
		args = append(args, d[:])
	}
	var list []store.Anchor
	query := findAnchors + strings.Repeat("?,", len(args)-1) + "?)"
	err := t.each(query, args, func(rows *sql.Rows) error {
		a := store.Anchor{Strong: true}
		err := rows.Scan(&a.Branch, &a.Epoch, &a.Seq, digest{&a.Digest}, &a.Revision)
		list = append(list, a)
		return err
	})
	return list, err
}

// lineage is what ranks a branch among others.
type lineage struct {
	session       holdfast.SessionID
	created, used int64
}

// lineages reads the branches of anchors; those of other principals are nil.
func (t tx) lineages(p holdfast.Principal, anchors []store.Anchor) (map[holdfast.BranchID]*lineage, error) {
	all := map[holdfast.BranchID]*lineage{}
	for _, a := range anchors {
		if _, known := all[a.Branch]; known {
			continue
		}
		var l lineage
		found, err := t.get(getLineage, []any{a.Branch, p}, &l.session, &l.created, &l.used)
		if err != nil {
			return nil, err
		}
		all[a.Branch] = nil
		if found {
			all[a.Branch] = &l
		}
	}
	return all, nil
}

type candidate struct {
	anchor store.Anchor
	*lineage
}

func (c candidate) newer(old candidate) bool {
	return cmp.Or(
		cmp.Compare(c.used, old.used),
		cmp.Compare(c.created, old.created),
		cmp.Compare(c.anchor.Branch, old.anchor.Branch),
		cmp.Compare(c.anchor.Epoch, old.anchor.Epoch),
		cmp.Compare(c.anchor.Seq, old.anchor.Seq),
	) > 0
}
