package sqlstore

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/store/internal/refuse"
)

// Rows of the same key replace older ones. A row that belongs to another
// session or branch stays as it is, which shows in the number of rows changed.
const (
	savepoint  = `SAVEPOINT batch`
	undoBatch  = `ROLLBACK TO batch`
	closeBatch = `RELEASE batch`

	// An id that is another principal's, or was removed.
	getGone       = `SELECT 1 FROM sessions WHERE id = ? UNION ALL SELECT 1 FROM removals WHERE session_id = ?`
	insertSession = `INSERT INTO sessions (id, principal, agent, agent_key, created_at, used_at)
		VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (principal, agent, agent_key) DO NOTHING`
	touchSession = `UPDATE sessions SET used_at = CASE WHEN used_at < ? THEN ? ELSE used_at END WHERE id = ? AND principal = ?`

	getBranch = `SELECT 1 FROM branches WHERE id = ? AND session_id = ?`
	putBranch = `INSERT INTO branches (id, session_id, thread, parent, parent_revision, epoch, watermark, round, created_at, used_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET thread = excluded.thread, parent = excluded.parent,
			parent_revision = excluded.parent_revision, epoch = excluded.epoch,
			watermark = excluded.watermark, round = excluded.round, created_at = excluded.created_at, used_at = excluded.used_at
		WHERE branches.session_id = excluded.session_id AND branches.epoch <= excluded.epoch`
	putEpoch = `INSERT INTO epochs (branch_id, n, evidence, revision, block, place, opened_at)
		VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (branch_id, n) DO UPDATE SET evidence = excluded.evidence,
			revision = excluded.revision, block = excluded.block, place = excluded.place, opened_at = excluded.opened_at`
	// How far an epoch goes, for most batches go on from there.
	lastAnchor    = `SELECT COALESCE(MAX(seq), -1) FROM anchors WHERE branch_id = ? AND epoch = ?`
	anchorsAmong  = `SELECT seq, digest FROM anchors WHERE branch_id = ? AND epoch = ? AND seq BETWEEN ? AND ?`
	cutAnchors    = `DELETE FROM anchors WHERE branch_id = ? AND epoch = ? AND seq >= ?`
	insertAnchors = `INSERT INTO anchors (branch_id, epoch, seq, digest, strong, revision) VALUES `
	anchorRow     = `(?, ?, ?, ?, ?, ?)`
	overAnchors   = ` ON CONFLICT (branch_id, epoch, seq) DO UPDATE SET digest = excluded.digest,
			strong = excluded.strong, revision = excluded.revision`
	insertRevision = `INSERT INTO revisions (branch_id, n, epoch, seq, digest, capsule, written_at)
		VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (branch_id, n) DO NOTHING`
	insertEdit  = `INSERT INTO edits (branch_id, revision) VALUES (?, ?)`
	getRevision = `SELECT epoch, seq, digest, capsule FROM revisions WHERE branch_id = ? AND n = ?`
	getDigest   = `SELECT digest FROM revisions WHERE branch_id = ? AND n = ?`
	putBoundary = `INSERT INTO boundaries (id, branch_id, epoch, agents_row, status, revision, summary, block, happened_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, agents_row = excluded.agents_row,
			status = excluded.status, revision = excluded.revision, summary = excluded.summary,
			block = excluded.block, happened_at = excluded.happened_at
		WHERE boundaries.branch_id = excluded.branch_id`
)

// anchorsAtOnce are written by one statement, which costs less than one for each. A turn
// brings two or three, the beginning of a session some hundred.
const anchorsAtOnce = 8

// putAnchors are the statements for so many of them; there is none for 0.
var putAnchors = func() (list [anchorsAtOnce + 1]string) {
	for n := range anchorsAtOnce {
		list[n+1] = insertAnchors + strings.Repeat(anchorRow+`, `, n) + anchorRow + overAnchors
	}
	return list
}()

// applyQueries lists what is prepared when a store opens.
func applyQueries() []string {
	return append([]string{
		savepoint, undoBatch, closeBatch, getGone, insertSession, touchSession, getBranch, putBranch,
		putEpoch, lastAnchor, anchorsAmong, cutAnchors, insertRevision, insertEdit, getRevision, getDigest, putBoundary,
	}, putAnchors[1:]...)
}

// Apply implements store.Writer.
func (s *Store) Apply(ctx context.Context, batches []store.Batch) []error {
	errs := make([]error, len(batches))
	if len(batches) == 0 {
		return errs
	}
	// Hardly any batch is refused, and savepoints cost about as much as what is
	// written under them.
	err := s.explain("write", s.write(ctx, func(t tx) error {
		for _, b := range batches {
			if err := t.batch(b); err != nil {
				return err
			}
		}
		return nil
	}))
	if err != nil && holdfast.CodeOf(err) != holdfast.ErrUnavailable {
		err = s.explain("write", s.write(ctx, func(t tx) error { return s.applyEach(t, batches, errs) }))
	}
	if err != nil {
		for i := range errs {
			errs[i] = err
		}
	}
	return errs
}

// applyEach writes each batch under a savepoint of its own, and notes in errs what
// is refused.
func (s *Store) applyEach(t tx, batches []store.Batch, errs []error) error {
	refused := map[holdfast.SessionID]error{}
	for i, b := range batches {
		if errs[i] = refused[b.Session.ID]; errs[i] != nil {
			continue
		}
		if _, err := t.exec(savepoint); err != nil {
			return err
		}
		err := t.batch(b)
		if err == nil {
			if _, err := t.exec(closeBatch); err != nil {
				return err
			}
			continue
		}
		errs[i] = s.explain("write", err)
		if holdfast.CodeOf(errs[i]) == holdfast.ErrUnavailable {
			return err
		}
		refused[b.Session.ID] = errs[i]
		for _, query := range []string{undoBatch, closeBatch} {
			if _, err := t.exec(query); err != nil {
				return err
			}
		}
	}
	return nil
}

// batch writes b under the savepoint of its caller.
func (t tx) batch(b store.Batch) error {
	if err := t.session(b.Session); err != nil {
		return err
	}
	owned := ownership{t, b.Session.ID, map[holdfast.BranchID]bool{}}
	for _, r := range b.Branches {
		if err := owned.put(r); err != nil {
			return err
		}
	}
	if err := t.epochs(owned, b.Epochs); err != nil {
		return err
	}
	if err := t.anchors(owned, b.Anchors); err != nil {
		return err
	}
	if err := t.revisions(owned, b.Revisions); err != nil {
		return err
	}
	return t.boundaries(owned, b.Boundaries)
}

func (t tx) session(s store.Session) error {
	used := max(s.CreatedAt.UnixMicro(), s.UsedAt.UnixMicro())
	n, err := t.exec(touchSession, used, used, s.ID, s.Principal)
	if err != nil || n > 0 {
		return err
	}
	var one int
	gone, err := t.get(getGone, []any{s.ID, s.ID}, &one)
	if err != nil {
		return err
	}
	if gone || s.CreatedAt.IsZero() {
		return refuse.Gone(s.ID)
	}
	n, err = t.exec(insertSession, s.ID, s.Principal, s.Agent, s.Key, s.CreatedAt.UnixMicro(), used)
	if err == nil && n == 0 {
		return refuse.TakenKey(s.Agent, s.Key)
	}
	return err
}

// ownership makes sure that rows stay inside the session of their batch, and
// so inside its principal.
type ownership struct {
	tx
	session holdfast.SessionID
	seen    map[holdfast.BranchID]bool
}

func (o ownership) put(r store.Branch) error {
	if r.Session != o.session {
		return refuse.Foreign(r.ID, o.session)
	}
	n, err := o.exec(putBranch, r.ID, r.Session, r.Thread, r.Parent, r.ParentRevision, r.Epoch, r.Watermark, r.Round,
		r.CreatedAt.UnixMicro(), r.UsedAt.UnixMicro())
	if err != nil {
		return err
	}
	if n == 0 {
		if err := o.check(r.ID); err != nil {
			return err
		}
		return refuse.Overtaken(r.ID, r.Epoch)
	}
	o.seen[r.ID] = true
	return nil
}

func (o ownership) check(branch holdfast.BranchID) error {
	if o.seen[branch] {
		return nil
	}
	var one int
	known, err := o.get(getBranch, []any{branch, o.session}, &one)
	if err != nil {
		return err
	}
	if !known {
		return refuse.Foreign(branch, o.session)
	}
	o.seen[branch] = true
	return nil
}

func (t tx) epochs(owned ownership, rows []store.Epoch) error {
	for _, r := range rows {
		if err := owned.check(r.Branch); err != nil {
			return err
		}
		if _, err := t.exec(putEpoch, r.Branch, r.N, r.Evidence[:], r.Revision, r.Block, r.Place, r.OpenedAt.UnixMicro()); err != nil {
			return err
		}
	}
	return nil
}

func (t tx) anchors(owned ownership, rows []store.Anchor) error {
	type place struct {
		branch holdfast.BranchID
		epoch  int
	}
	var places []place
	given := map[place][]store.Anchor{}
	for _, r := range rows {
		if err := owned.check(r.Branch); err != nil {
			return err
		}
		p := place{r.Branch, r.Epoch}
		if given[p] == nil {
			places = append(places, p)
		}
		given[p] = append(given[p], r)
	}
	for _, p := range places {
		if err := t.part(p.branch, p.epoch, given[p]); err != nil {
			return err
		}
	}
	for len(rows) > 0 {
		n := min(len(rows), anchorsAtOnce)
		var args []any
		for i := range n {
			r := &rows[i]
			args = append(args, r.Branch, r.Epoch, r.Seq, r.Digest[:], flag(r.Strong), r.Revision)
		}
		if _, err := t.exec(putAnchors[n], args...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// part drops what an epoch has from the first anchor on that is another than the given one
// of its place.
func (t tx) part(branch holdfast.BranchID, epoch int, given []store.Anchor) error {
	bySeq := func(a, b store.Anchor) int { return a.Seq - b.Seq }
	first, last := slices.MinFunc(given, bySeq).Seq, slices.MaxFunc(given, bySeq).Seq
	var end int
	if _, err := t.get(lastAnchor, []any{branch, epoch}, &end); err != nil || end < first {
		return err
	}
	stored := map[int]holdfast.Digest{}
	err := t.each(anchorsAmong, []any{branch, epoch, first, last}, func(rows *sql.Rows) error {
		var seq int
		var digest []byte
		err := rows.Scan(&seq, &digest)
		stored[seq] = holdfast.Digest(digest)
		return err
	})
	if err != nil {
		return err
	}
	parts := -1
	for _, r := range given {
		if was, known := stored[r.Seq]; known && was != r.Digest && (parts < 0 || r.Seq < parts) {
			parts = r.Seq
		}
	}
	if parts >= 0 {
		_, err = t.exec(cutAnchors, branch, epoch, parts)
	}
	return err
}

// flag is how a truth value is stored.
func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (t tx) revisions(owned ownership, rows []store.Revision) error {
	var made []store.Revision // those that were not there
	for _, r := range rows {
		if err := owned.check(r.Branch); err != nil {
			return err
		}
		n, err := t.exec(insertRevision, r.Branch, r.N, r.Epoch, r.Seq, r.Digest, string(r.Capsule), r.At.UnixMicro())
		if err != nil {
			return err
		}
		if n == 1 {
			if r.Edit {
				if _, err := t.exec(insertEdit, r.Branch, r.N); err != nil {
					return err
				}
			}
			made = append(made, r)
			continue
		}
		var old store.Revision
		if _, err := t.get(getRevision, []any{r.Branch, r.N}, &old.Epoch, &old.Seq, &old.Digest, &old.Capsule); err != nil {
			return err
		}
		// The time may differ: a retry need not carry the same.
		if old.Epoch != r.Epoch || old.Seq != r.Seq || old.Digest != r.Digest || string(old.Capsule) != string(r.Capsule) {
			return refuse.Rewritten(r.Branch, r.N)
		}
	}
	for _, r := range made {
		var before string
		known, err := t.get(getDigest, []any{r.Branch, r.N - 1}, &before)
		if err != nil {
			return err
		}
		if known && r.After != "" && r.After != before {
			return refuse.Missed(r.Branch, r.N)
		}
	}
	return nil
}

func (t tx) boundaries(owned ownership, rows []store.Boundary) error {
	for _, r := range rows {
		if err := owned.check(r.Branch); err != nil {
			return err
		}
		n, err := t.exec(putBoundary, r.ID, r.Branch, r.Epoch, r.Row, r.Status, r.Revision, r.Summary[:], r.Block, r.At.UnixMicro())
		if err != nil {
			return err
		}
		if n == 0 {
			return refuse.Moved(r.ID, r.Branch)
		}
	}
	return nil
}
