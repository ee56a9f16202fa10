package store

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Key is what is kept of a key of Holdfast: enough to know it again, not enough
// to make it.
type Key struct {
	ID        holdfast.KeyID
	Principal holdfast.Principal
	// Label is what its owner calls it; it may be empty.
	Label  string
	Digest [sha256.Size]byte // SHA-256 of the whole key
	// Times are kept to the microsecond and come back in UTC.
	CreatedAt time.Time
	// RevokedAt is when it ends or ended; the zero time: not at all.
	RevokedAt time.Time
	// ReplacedBy is the key that took its place; "": none did. That one may be
	// gone.
	ReplacedBy holdfast.KeyID
}

// Revoked reports whether the key holds no more at a time.
func (k Key) Revoked(now time.Time) bool { return !k.RevokedAt.IsZero() && !now.Before(k.RevokedAt) }

// Keys keeps the keys of all principals. An id that is not there is not_found.
//
// Laws, checked by storetest:
//   - A key's id, principal, label, digest and CreatedAt never change.
//   - An end is never taken back and never moved to a later time.
//   - A key is replaced once: then the new one is written and the old one ended,
//     both or neither.
//   - Only what is revoked can be deleted.
type Keys interface {
	// Keys lists all keys, also those that have ended, oldest first, then by id.
	Keys(ctx context.Context) ([]Key, error)
	// AddKey writes a new key. A conflict says that its id is taken.
	AddKey(ctx context.Context, k Key) error
	// RevokeKey ends a key at a time, unless it ends before that already, and
	// returns it as it then is.
	RevokeKey(ctx context.Context, id holdfast.KeyID, at time.Time) (Key, error)
	// ReplaceKey writes next and ends the key that it replaces at a time, unless
	// that ends before already. A conflict says that next's id is taken or that
	// the key was replaced before.
	ReplaceKey(ctx context.Context, id holdfast.KeyID, next Key, at time.Time) error
	// DeleteKey erases a key that is revoked at the time now; a conflict says that
	// it is not.
	DeleteKey(ctx context.Context, id holdfast.KeyID, now time.Time) error
}
