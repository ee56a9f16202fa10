package sqlstore

import (
	"context"
	"database/sql"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/store/internal/refuse"
)

const (
	sessionByKey = `SELECT id, principal, agent, agent_key, created_at, used_at
		FROM sessions WHERE principal = ? AND agent = ? AND agent_key = ?`
	sessionByID = `SELECT id, principal, agent, agent_key, created_at, used_at
		FROM sessions WHERE principal = ? AND id = ?`

	listBranches = `SELECT id, session_id, thread, parent, parent_revision, epoch, watermark, round, created_at, used_at
		FROM branches WHERE session_id = ? ORDER BY created_at, id`
	listEpochs = `SELECT branch_id, n, evidence, revision, block, place, opened_at
		FROM epochs WHERE branch_id IN (SELECT id FROM branches WHERE session_id = ?) ORDER BY branch_id, n`
	listAnchors = `SELECT branch_id, epoch, seq, digest, strong, revision
		FROM anchors WHERE branch_id IN (SELECT id FROM branches WHERE session_id = ?) ORDER BY branch_id, epoch, seq`
	listRevisions = `SELECT branch_id, n, epoch, seq, digest, capsule, written_at,
		EXISTS (SELECT 1 FROM edits e WHERE e.branch_id = revisions.branch_id AND e.revision = revisions.n)
		FROM revisions WHERE branch_id IN (SELECT id FROM branches WHERE session_id = ?) ORDER BY branch_id, n`
	// What stands behind a capsule in its row is not read either: the way there goes
	// through all its pages.
	outlineRevisions = `SELECT branch_id, n, epoch, seq, digest,
		EXISTS (SELECT 1 FROM edits e WHERE e.branch_id = revisions.branch_id AND e.revision = revisions.n)
		FROM revisions WHERE branch_id IN (SELECT id FROM branches WHERE session_id = ?) ORDER BY branch_id, n`
	wholeRevision = `SELECT r.branch_id, r.n, r.epoch, r.seq, r.digest, r.capsule, r.written_at,
		EXISTS (SELECT 1 FROM edits e WHERE e.branch_id = r.branch_id AND e.revision = r.n)
		FROM revisions r JOIN branches b ON b.id = r.branch_id JOIN sessions s ON s.id = b.session_id
		WHERE r.branch_id = ? AND r.n = ? AND s.principal = ?`
	headsOf = `SELECT b.id, b.epoch,
		COALESCE((SELECT max(v.n) FROM revisions v WHERE v.branch_id = b.id), 0),
		(SELECT max(r.happened_at) FROM boundaries r WHERE r.branch_id = b.id AND r.epoch = b.epoch AND r.status = ?)
		FROM branches b WHERE b.session_id = ? ORDER BY b.created_at, b.id`
	listBoundaries = `SELECT id, branch_id, epoch, agents_row, status, revision, summary, block, happened_at
		FROM boundaries WHERE branch_id IN (SELECT id FROM branches WHERE session_id = ?) ORDER BY happened_at, id`

	findAnchors = `SELECT branch_id, epoch, seq, digest, revision FROM anchors WHERE strong = 1 AND digest IN (`
	getLineage  = `SELECT b.session_id, b.created_at, b.used_at
		FROM branches b JOIN sessions s ON s.id = b.session_id WHERE b.id = ? AND s.principal = ?`
	findBlock = `SELECT b.session_id, b.id, r.epoch, r.revision
		FROM boundaries r JOIN branches b ON b.id = r.branch_id JOIN sessions s ON s.id = b.session_id
		WHERE r.block = ? AND r.block <> '' AND r.status <> ? AND s.principal = ?
		ORDER BY r.happened_at DESC, r.id DESC LIMIT 1`

	listSessions = `SELECT s.id, s.principal, s.agent, s.agent_key, s.created_at, s.used_at,
		(SELECT count(*) FROM branches b WHERE b.session_id = s.id),
		(SELECT count(*) FROM branches b JOIN boundaries r ON r.branch_id = b.id WHERE b.session_id = s.id AND r.status = ?),
		COALESCE((SELECT max(v.n) FROM revisions v WHERE v.branch_id =
			(SELECT b.id FROM branches b WHERE b.session_id = s.id ORDER BY b.created_at DESC, b.id DESC LIMIT 1)), 0)
		FROM sessions s WHERE s.principal = ? ORDER BY s.used_at DESC, s.id DESC`
	listRemovals = `SELECT seq, session_id FROM removals WHERE seq > ? ORDER BY seq`
	listEdits    = `SELECT e.seq, b.session_id, e.branch_id, e.revision
		FROM edits e JOIN branches b ON b.id = e.branch_id WHERE e.seq > ? ORDER BY e.seq`
)

// outlineQueries lists what is prepared for reading when a store opens: what the first
// request of a session waits for, and one that another process went ahead of.
func outlineQueries() []string {
	return []string{sessionByKey, headsOf, listBranches, listEpochs, listAnchors, outlineRevisions, listBoundaries}
}

// Session implements store.Reader.
func (s *Store) Session(ctx context.Context, p holdfast.Principal, agent, key string) (store.SessionState, error) {
	state, found, err := s.load(ctx, false, sessionByKey, p, agent, key)
	if err == nil && !found {
		err = refuse.NoSession(agent, key)
	}
	return state, err
}

// Outline implements store.Reader.
func (s *Store) Outline(ctx context.Context, p holdfast.Principal, id holdfast.SessionID) (store.SessionState, error) {
	state, found, err := s.load(ctx, false, sessionByID, p, id)
	if err == nil && !found {
		err = refuse.Gone(id)
	}
	return state, err
}

// Load implements store.Keeper.
func (s *Store) Load(ctx context.Context, p holdfast.Principal, id holdfast.SessionID) (store.SessionState, error) {
	state, found, err := s.load(ctx, true, sessionByID, p, id)
	if err == nil && !found {
		err = refuse.Gone(id)
	}
	return state, err
}

// load reads a session, whole or in outline.
func (s *Store) load(ctx context.Context, whole bool, query string, args ...any) (state store.SessionState, found bool, err error) {
	err = s.read(ctx, func(t tx) error {
		var err error
		if found, err = t.get(query, args, sessionColumns(&state.Session)...); err != nil || !found {
			return err
		}
		state.Branches, err = t.loadBranches(state.ID, whole)
		return err
	})
	if err != nil {
		return store.SessionState{}, false, s.explain("read a session", err)
	}
	return state, found, nil
}

func sessionColumns(s *store.Session) []any {
	return []any{&s.ID, &s.Principal, &s.Agent, &s.Key, instant{&s.CreatedAt}, instant{&s.UsedAt}}
}

// loadBranches reads each kind of row of a session with one query, so that the
// number of queries does not grow with the number of branches.
func (t tx) loadBranches(id holdfast.SessionID, whole bool) ([]store.BranchState, error) {
	var list []store.BranchState
	at := map[holdfast.BranchID]int{}
	args := []any{id}
	if err := t.each(listBranches, args, func(rows *sql.Rows) error {
		var b store.BranchState
		err := rows.Scan(&b.ID, &b.Session, &b.Thread, &b.Parent, &b.ParentRevision, &b.Branch.Epoch, &b.Watermark, &b.Round,
			instant{&b.CreatedAt}, instant{&b.UsedAt})
		at[b.ID] = len(list)
		list = append(list, b)
		return err
	}); err != nil {
		return nil, err
	}
	if err := t.each(listEpochs, args, func(rows *sql.Rows) error {
		var r store.Epoch
		err := rows.Scan(&r.Branch, &r.N, digest{&r.Evidence}, &r.Revision, &r.Block, &r.Place, instant{&r.OpenedAt})
		b := &list[at[r.Branch]]
		b.Epochs = append(b.Epochs, r)
		return err
	}); err != nil {
		return nil, err
	}
	if err := t.each(listAnchors, args, func(rows *sql.Rows) error {
		var r store.Anchor
		err := rows.Scan(&r.Branch, &r.Epoch, &r.Seq, digest{&r.Digest}, &r.Strong, &r.Revision)
		b := &list[at[r.Branch]]
		b.Anchors = append(b.Anchors, r)
		return err
	}); err != nil {
		return nil, err
	}
	revisions, columns := outlineRevisions, func(r *store.Revision) []any {
		return []any{&r.Branch, &r.N, &r.Epoch, &r.Seq, &r.Digest, &r.Edit}
	}
	if whole {
		revisions, columns = listRevisions, revisionColumns
	}
	if err := t.each(revisions, args, func(rows *sql.Rows) error {
		var r store.Revision
		err := rows.Scan(columns(&r)...)
		b := &list[at[r.Branch]]
		b.Revisions = append(b.Revisions, r)
		return err
	}); err != nil {
		return nil, err
	}
	return list, t.each(listBoundaries, args, func(rows *sql.Rows) error {
		var r store.Boundary
		err := rows.Scan(&r.ID, &r.Branch, &r.Epoch, &r.Row, &r.Status, &r.Revision, digest{&r.Summary}, &r.Block, instant{&r.At})
		b := &list[at[r.Branch]]
		b.Boundaries = append(b.Boundaries, r)
		return err
	})
}

func revisionColumns(r *store.Revision) []any {
	return []any{&r.Branch, &r.N, &r.Epoch, &r.Seq, &r.Digest, &r.Capsule, instant{&r.At}, &r.Edit}
}

// Heads implements store.Reader.
func (s *Store) Heads(ctx context.Context, p holdfast.Principal, agent, key string) ([]store.Head, error) {
	var list []store.Head
	err := s.read(ctx, func(t tx) error {
		var of store.Session
		found, err := t.get(sessionByKey, []any{p, agent, key}, sessionColumns(&of)...)
		if err == nil && !found {
			err = refuse.NoSession(agent, key)
		}
		if err != nil {
			return err
		}
		return t.each(headsOf, []any{store.BoundaryCommitted, of.ID}, func(rows *sql.Rows) error {
			var h store.Head
			var committed sql.Null[int64]
			err := rows.Scan(&h.Branch, &h.Epoch, &h.Revision, &committed)
			if err == nil && committed.Valid {
				err = instant{&h.Committed}.Scan(committed.V)
			}
			list = append(list, h)
			return err
		})
	})
	return list, s.explain("read how far a session is", err)
}

// Revision implements store.Reader.
func (s *Store) Revision(ctx context.Context, p holdfast.Principal, branch holdfast.BranchID, n int) (store.Revision, error) {
	var r store.Revision
	err := s.read(ctx, func(t tx) error {
		found, err := t.get(wholeRevision, []any{branch, n, p}, revisionColumns(&r)...)
		if err == nil && !found {
			err = refuse.NoRevision(branch, n)
		}
		return err
	})
	return r, s.explain("read a revision", err)
}

// FindBlock implements store.Reader.
func (s *Store) FindBlock(ctx context.Context, p holdfast.Principal, digest string) (store.Hit, error) {
	var h store.Hit
	err := s.read(ctx, func(t tx) error {
		found, err := t.get(findBlock, []any{digest, store.BoundaryFailed, p},
			&h.Session, &h.Anchor.Branch, &h.Anchor.Epoch, &h.Anchor.Revision)
		if err == nil && !found {
			err = refuse.NoBlock(digest)
		}
		return err
	})
	return h, s.explain("look up a block", err)
}

// Sessions implements store.Keeper.
func (s *Store) Sessions(ctx context.Context, p holdfast.Principal) ([]store.SessionInfo, error) {
	var list []store.SessionInfo
	err := s.read(ctx, func(t tx) error {
		return t.each(listSessions, []any{store.BoundaryCommitted, p}, func(rows *sql.Rows) error {
			var i store.SessionInfo
			err := rows.Scan(append(sessionColumns(&i.Session), &i.Branches, &i.Epochs, &i.Revision)...)
			list = append(list, i)
			return err
		})
	})
	return list, s.explain("list sessions", err)
}

// Removals implements store.Sweeper.
func (s *Store) Removals(ctx context.Context, after int64) ([]store.Removal, error) {
	var list []store.Removal
	err := s.read(ctx, func(t tx) error {
		return t.each(listRemovals, []any{after}, func(rows *sql.Rows) error {
			var r store.Removal
			err := rows.Scan(&r.Seq, &r.Session)
			list = append(list, r)
			return err
		})
	})
	return list, s.explain("list removals", err)
}

// Edits implements store.Sweeper.
func (s *Store) Edits(ctx context.Context, after int64) ([]store.Edit, error) {
	var list []store.Edit
	err := s.read(ctx, func(t tx) error {
		return t.each(listEdits, []any{after}, func(rows *sql.Rows) error {
			var e store.Edit
			err := rows.Scan(&e.Seq, &e.Session, &e.Branch, &e.Revision)
			list = append(list, e)
			return err
		})
	})
	return list, s.explain("list edits", err)
}
