package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

const (
	auditColumns = `at, principal, session_id, label, policy, key, old_value, new_value`
	newestNoted  = `SELECT ` + auditColumns + ` FROM audit
WHERE principal = ? AND session_id = ? AND label = ? AND key = ? ORDER BY seq DESC LIMIT 1`
	getNoted    = `SELECT 1 FROM audit WHERE principal = ? AND session_id = ? AND label = ? LIMIT 1`
	insertNoted = `INSERT INTO audit (` + auditColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	listNoted   = `SELECT ` + auditColumns + ` FROM audit WHERE ? IN ('', principal) ORDER BY seq`
	expireNoted = `DELETE FROM audit WHERE at < ?`
)

// Note implements store.Audit. Hardly ever is there anything to write, which a read
// tells without the writer.
func (s *Store) Note(ctx context.Context, entries []store.AuditEntry) ([]store.AuditEntry, error) {
	idle, err := s.nothingToNote(ctx, entries)
	if err != nil {
		return nil, s.explain("read the audit", err)
	}
	if idle {
		return nil, nil
	}
	var written []store.AuditEntry
	err = s.write(ctx, func(t tx) error {
		for _, e := range entries {
			var newest *store.AuditEntry
			var known store.AuditEntry
			found, err := t.get(newestNoted, []any{e.Principal, e.Session, e.Label, e.Key}, noted(&known)...)
			if err != nil {
				return err
			}
			if found {
				newest = &known
			}
			e, ok := e.Follows(newest)
			if !ok {
				continue
			}
			e.At = micro(e.At)
			if _, err := t.exec(insertNoted, e.At.UnixMicro(), e.Principal, e.Session, e.Label, e.Policy, e.Key, e.From, e.To); err != nil {
				return err
			}
			written = append(written, e)
		}
		return nil
	})
	if err != nil {
		return nil, s.explain("write the audit", err)
	}
	return written, nil
}

// nothingToNote holds where no policy sets anything, and nothing was noted before that
// this could be a change of.
func (s *Store) nothingToNote(ctx context.Context, entries []store.AuditEntry) (bool, error) {
	type subject struct {
		principal holdfast.Principal
		session   holdfast.SessionID
		label     string
	}
	subjects := map[subject]bool{}
	for _, e := range entries {
		if e.Policy != "" {
			return false, nil
		}
		subjects[subject{e.Principal, e.Session, e.Label}] = true
	}
	known := false
	err := s.read(ctx, func(t tx) error {
		for of := range subjects {
			var one int
			found, err := t.get(getNoted, []any{of.principal, of.session, of.label}, &one)
			if err != nil {
				return err
			}
			known = known || found
		}
		return nil
	})
	return !known, err
}

// Noted implements store.Audit.
func (s *Store) Noted(ctx context.Context, p holdfast.Principal) ([]store.AuditEntry, error) {
	var list []store.AuditEntry
	err := s.read(ctx, func(t tx) error {
		return t.each(listNoted, []any{p}, func(rows *sql.Rows) error {
			var e store.AuditEntry
			err := rows.Scan(noted(&e)...)
			list = append(list, e)
			return err
		})
	})
	if err != nil {
		return nil, s.explain("list the audit", err)
	}
	return list, nil
}

// ExpireNoted implements store.Audit.
func (s *Store) ExpireNoted(ctx context.Context, before time.Time) (int, error) {
	var n int64
	err := s.write(ctx, func(t tx) (err error) {
		n, err = t.exec(expireNoted, before.UnixMicro())
		return err
	})
	return int(n), s.explain("erase old entries of the audit", err)
}

func noted(e *store.AuditEntry) []any {
	return []any{instant{&e.At}, &e.Principal, &e.Session, &e.Label, &e.Policy, &e.Key, &e.From, &e.To}
}
