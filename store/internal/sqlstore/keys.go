package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/store/internal/refuse"
)

const (
	keyColumns = `id, principal, label, digest, created_at, revoked_at, replaced_by`
	listKeys   = `SELECT ` + keyColumns + ` FROM keys ORDER BY created_at, id`
	keyByID    = `SELECT ` + keyColumns + ` FROM keys WHERE id = ?`
	insertKey  = `INSERT INTO keys (` + keyColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	endKey     = `UPDATE keys SET revoked_at = ?, replaced_by = ? WHERE id = ?`
	deleteKey  = `DELETE FROM keys WHERE id = ?`
)

// Keys implements store.Keys.
func (s *Store) Keys(ctx context.Context) ([]store.Key, error) {
	var list []store.Key
	err := s.read(ctx, func(t tx) error {
		return t.each(listKeys, nil, func(rows *sql.Rows) error {
			var k store.Key
			err := rows.Scan(keyInto(&k)...)
			list = append(list, k)
			return err
		})
	})
	if err != nil {
		return nil, s.explain("list keys", err)
	}
	return list, nil
}

// AddKey implements store.Keys.
func (s *Store) AddKey(ctx context.Context, k store.Key) error {
	return s.explain("add key "+string(k.ID), s.write(ctx, func(t tx) error { return t.addKey(k) }))
}

func (t tx) addKey(k store.Key) error {
	n, err := t.exec(insertKey, k.ID, k.Principal, k.Label, k.Digest[:], k.CreatedAt.UnixMicro(), end(k.RevokedAt), k.ReplacedBy)
	if err == nil && n == 0 {
		err = refuse.TakenKeyID(k.ID)
	}
	return err
}

// RevokeKey implements store.Keys.
func (s *Store) RevokeKey(ctx context.Context, id holdfast.KeyID, at time.Time) (k store.Key, err error) {
	err = s.write(ctx, func(t tx) (err error) {
		if k, err = t.key(id); err == nil {
			err = t.endKey(&k, at)
		}
		return err
	})
	if err != nil {
		return store.Key{}, s.explain("revoke key "+string(id), err)
	}
	return k, nil
}

// ReplaceKey implements store.Keys.
func (s *Store) ReplaceKey(ctx context.Context, id holdfast.KeyID, next store.Key, at time.Time) error {
	return s.explain("replace key "+string(id), s.write(ctx, func(t tx) error {
		k, err := t.key(id)
		if err == nil && k.ReplacedBy != "" {
			err = refuse.Replaced(id, k.ReplacedBy)
		}
		if err == nil {
			err = t.addKey(next)
		}
		if err != nil {
			return err
		}
		k.ReplacedBy = next.ID
		return t.endKey(&k, at)
	}))
}

// DeleteKey implements store.Keys.
func (s *Store) DeleteKey(ctx context.Context, id holdfast.KeyID, now time.Time) error {
	return s.explain("delete key "+string(id), s.write(ctx, func(t tx) error {
		k, err := t.key(id)
		if err == nil && !k.Revoked(micro(now)) {
			err = refuse.KeyInForce(id)
		}
		if err == nil {
			_, err = t.exec(deleteKey, id)
		}
		return err
	}))
}

// key reads one key.
func (t tx) key(id holdfast.KeyID) (k store.Key, err error) {
	found, err := t.get(keyByID, []any{id}, keyInto(&k)...)
	if err == nil && !found {
		err = refuse.NoKey(id)
	}
	return k, err
}

// endKey ends a key at a time, or leaves an earlier end, and writes both this and
// what took its place.
func (t tx) endKey(k *store.Key, at time.Time) error {
	if at = micro(at); k.RevokedAt.IsZero() || at.Before(k.RevokedAt) {
		k.RevokedAt = at
	}
	_, err := t.exec(endKey, end(k.RevokedAt), k.ReplacedBy, k.ID)
	return err
}

func keyInto(k *store.Key) []any {
	return []any{
		&k.ID, &k.Principal, &k.Label,
		keyDigest{k},
		instant{&k.CreatedAt},
		ending{&k.RevokedAt},
		&k.ReplacedBy,
	}
}

// micro is t as every store keeps it.
func micro(t time.Time) time.Time { return time.UnixMicro(t.UnixMicro()).UTC() }

// end is an end as the database holds it.
func end(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// ending reads an end of the database into t.
type ending struct{ t *time.Time }

func (e ending) Scan(v any) error {
	if v == nil {
		*e.t = time.Time{}
		return nil
	}
	return instant(e).Scan(v)
}

// keyDigest reads the digest of a key.
type keyDigest struct{ k *store.Key }

func (d keyDigest) Scan(v any) error {
	b, ok := v.([]byte)
	if !ok || len(b) != len(d.k.Digest) {
		return fmt.Errorf("the digest of a key is stored as %T of %d bytes", v, len(b))
	}
	copy(d.k.Digest[:], b)
	return nil
}
