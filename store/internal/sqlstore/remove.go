package sqlstore

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/store/internal/refuse"
)

// keptRemovals is how long a removal is remembered at least.
const keptRemovals = 30 * 24 * time.Hour

const (
	removeNamed = `INSERT INTO removals (session_id, removed_at) SELECT id, ? FROM sessions WHERE id = ? AND principal = ?`
	deleteNamed = `DELETE FROM sessions WHERE id = ?`
	// A branch's id is unique among all sessions, and its recording belongs to the
	// session's principal.
	eraseNamed = `DELETE FROM conversations WHERE principal = ? AND branch IN (SELECT id FROM branches WHERE session_id = ?)`
	eraseOld   = `DELETE FROM conversations WHERE (principal, branch) IN
		(SELECT s.principal, b.id FROM sessions s JOIN branches b ON b.session_id = s.id WHERE s.used_at < ?)`
	removeOld     = `INSERT INTO removals (session_id, removed_at) SELECT id, ? FROM sessions WHERE used_at < ? ORDER BY used_at, id`
	deleteOld     = `DELETE FROM sessions WHERE used_at < ?`
	eraseUnused   = `DELETE FROM conversations WHERE origin = ? AND used_at < ?`
	forgetRemoved = `DELETE FROM removals WHERE removed_at < ?`
)

// Remove implements store.Keeper. What the deletion leaves in the files of the
// database is wiped before it returns; where another process reads at that
// moment, at the latest when the last one closes the database.
func (s *Store) Remove(ctx context.Context, p holdfast.Principal, id holdfast.SessionID) error {
	err := s.write(ctx, func(t tx) error {
		n, err := t.exec(removeNamed, time.Now().UnixMicro(), id, p)
		if err != nil {
			return err
		}
		if n == 0 {
			return refuse.Gone(id)
		}
		if _, err = t.exec(eraseNamed, p, id); err == nil {
			_, err = t.exec(deleteNamed, id)
		}
		return err
	})
	if err != nil {
		return s.explain("remove session "+string(id), err)
	}
	return s.wipe(ctx)
}

// Expire implements store.Sweeper. It forgets removals older than 30 days.
func (s *Store) Expire(ctx context.Context, before time.Time) (int, error) {
	now, removed := time.Now(), int64(0)
	err := s.write(ctx, func(t tx) error {
		if _, err := t.exec(forgetRemoved, now.Add(-keptRemovals).UnixMicro()); err != nil {
			return err
		}
		if _, err := t.exec(removeOld, now.UnixMicro(), before.UnixMicro()); err != nil {
			return err
		}
		if _, err := t.exec(eraseOld, before.UnixMicro()); err != nil {
			return err
		}
		var err error
		removed, err = t.exec(deleteOld, before.UnixMicro())
		return err
	})
	if err != nil {
		return 0, s.explain("remove expired sessions", err)
	}
	if removed > 0 {
		err = s.wipe(ctx)
	}
	return int(removed), err
}

// ExpireRecordings implements store.Sweeper. What it leaves in the files of the
// database is wiped as by Remove.
func (s *Store) ExpireRecordings(ctx context.Context, before time.Time) (int, error) {
	var erased int64
	err := s.write(ctx, func(t tx) (err error) {
		erased, err = t.exec(eraseUnused, store.RecordedConversation, before.UnixMicro())
		return err
	})
	if err != nil {
		return 0, s.explain("remove expired recordings", err)
	}
	if erased > 0 {
		err = s.wipe(ctx)
	}
	return int(erased), err
}

// wipe follows a removal that is already committed, whatever became of its
// context.
func (s *Store) wipe(ctx context.Context) error {
	return s.explain("wipe what a removal left in the files", s.dialect.Erased(context.WithoutCancel(ctx), s.writer))
}
