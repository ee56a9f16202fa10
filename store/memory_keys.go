package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store/internal/refuse"
)

// Keys implements Keys.
func (m *Memory) Keys(ctx context.Context) ([]Key, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.SortedFunc(maps.Values(m.credentials), func(a, b Key) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	}), nil
}

// AddKey implements Keys.
func (m *Memory) AddKey(ctx context.Context, k Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := gaveUp(ctx); err != nil {
		return err
	}
	return m.addKey(k)
}

func (m *Memory) addKey(k Key) error {
	if _, taken := m.credentials[k.ID]; taken {
		return refuse.TakenKeyID(k.ID)
	}
	k.CreatedAt = stored(k.CreatedAt)
	if !k.RevokedAt.IsZero() {
		k.RevokedAt = stored(k.RevokedAt)
	}
	m.credentials[k.ID] = k
	return nil
}

// RevokeKey implements Keys.
func (m *Memory) RevokeKey(ctx context.Context, id holdfast.KeyID, at time.Time) (Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := gaveUp(ctx); err != nil {
		return Key{}, err
	}
	k, known := m.credentials[id]
	if !known {
		return Key{}, refuse.NoKey(id)
	}
	m.credentials[id] = k.ending(at)
	return m.credentials[id], nil
}

// ending is k with an end at a time, or before where it has one.
func (k Key) ending(at time.Time) Key {
	if at = stored(at); k.RevokedAt.IsZero() || at.Before(k.RevokedAt) {
		k.RevokedAt = at
	}
	return k
}

// ReplaceKey implements Keys.
func (m *Memory) ReplaceKey(ctx context.Context, id holdfast.KeyID, next Key, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := gaveUp(ctx); err != nil {
		return err
	}
	k, known := m.credentials[id]
	switch {
	case !known:
		return refuse.NoKey(id)
	case k.ReplacedBy != "":
		return refuse.Replaced(id, k.ReplacedBy)
	}
	if err := m.addKey(next); err != nil {
		return err
	}
	k.ReplacedBy = next.ID
	m.credentials[id] = k.ending(at)
	return nil
}

// DeleteKey implements Keys.
func (m *Memory) DeleteKey(ctx context.Context, id holdfast.KeyID, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := gaveUp(ctx); err != nil {
		return err
	}
	k, known := m.credentials[id]
	switch {
	case !known:
		return refuse.NoKey(id)
	case !k.Revoked(stored(now)):
		return refuse.KeyInForce(id)
	}
	delete(m.credentials, id)
	return nil
}
