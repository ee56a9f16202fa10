package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
)

type claimKey struct {
	branch holdfast.BranchID
	mark   string
}

type claim struct {
	holder string
	until  time.Time
}

// forgetClaims is how long ago a claim ended that is forgotten.
const forgetClaims = 24 * time.Hour

// Claim implements Claims.
func (m *Memory) Claim(ctx context.Context, branch holdfast.BranchID, mark, holder string, now, until time.Time) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := gaveUp(ctx); err != nil {
		return false, err
	}
	maps.DeleteFunc(m.claims, func(_ claimKey, c claim) bool { return c.until.Before(stored(now.Add(-forgetClaims))) })
	key := claimKey{branch, mark}
	if old, held := m.claims[key]; held && old.holder != holder && stored(now).Before(old.until) {
		return false, nil
	}
	m.claims[key] = claim{holder, stored(until)}
	return true, nil
}

// Unclaim implements Claims.
func (m *Memory) Unclaim(ctx context.Context, branch holdfast.BranchID, mark, holder string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := gaveUp(ctx); err != nil {
		return err
	}
	if key := (claimKey{branch, mark}); m.claims[key].holder == holder {
		delete(m.claims, key)
	}
	return nil
}

// Secret implements Secrets.
func (m *Memory) Secret(ctx context.Context, name string, fresh []byte) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := gaveUp(ctx); err != nil {
		return nil, err
	}
	if _, there := m.secrets[name]; !there {
		m.secrets[name] = slices.Clone(fresh)
	}
	return slices.Clone(m.secrets[name]), nil
}
