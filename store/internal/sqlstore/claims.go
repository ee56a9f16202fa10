package sqlstore

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast"
)

const (
	forgetClaims = `DELETE FROM claims WHERE held_until < ?`
	putClaim     = `INSERT INTO claims (branch_id, mark, holder, held_until) VALUES (?, ?, ?, ?)
		ON CONFLICT (branch_id, mark) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
		WHERE claims.holder = excluded.holder OR claims.held_until <= ?`
	deleteClaim  = `DELETE FROM claims WHERE branch_id = ? AND mark = ? AND holder = ?`
	insertSecret = `INSERT INTO secrets (name, content) VALUES (?, ?) ON CONFLICT DO NOTHING`
	getSecret    = `SELECT content FROM secrets WHERE name = ?`
)

// Claim implements store.Claims.
func (s *Store) Claim(ctx context.Context, branch holdfast.BranchID, mark, holder string, now, until time.Time) (claimed bool, err error) {
	err = s.write(ctx, func(t tx) error {
		if _, err := t.exec(forgetClaims, now.Add(-24*time.Hour).UnixMicro()); err != nil {
			return err
		}
		n, err := t.exec(putClaim, branch, mark, holder, until.UnixMicro(), now.UnixMicro())
		claimed = n > 0
		return err
	})
	if err != nil {
		return false, s.explain("claim an extraction", err)
	}
	return claimed, nil
}

// Unclaim implements store.Claims.
func (s *Store) Unclaim(ctx context.Context, branch holdfast.BranchID, mark, holder string) error {
	return s.explain("release an extraction", s.write(ctx, func(t tx) error {
		_, err := t.exec(deleteClaim, branch, mark, holder)
		return err
	}))
}

// Secret implements store.Secrets.
func (s *Store) Secret(ctx context.Context, name string, fresh []byte) (content []byte, err error) {
	err = s.write(ctx, func(t tx) error {
		if _, err := t.exec(insertSecret, name, fresh); err != nil {
			return err
		}
		_, err := t.get(getSecret, []any{name}, &content)
		return err
	})
	if err != nil {
		return nil, s.explain("read the secret "+name, err)
	}
	return content, nil
}
