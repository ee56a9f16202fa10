package store

import (
	"bytes"
	"context"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store/internal/refuse"
)

// named is the session with an agent's own id. m.mu is held.
func (m *Memory) named(p holdfast.Principal, agent, key string) (*memorySession, error) {
	id, known := m.keys[sessionKey{p, agent, key}]
	if !known {
		return nil, refuse.NoSession(agent, key)
	}
	return m.sessions[id], nil
}

// Session implements Reader.
func (m *Memory) Session(ctx context.Context, p holdfast.Principal, agent, key string) (SessionState, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s, err := m.named(p, agent, key)
	if err != nil {
		return SessionState{}, err
	}
	return s.state(false), nil
}

// Outline implements Reader.
func (m *Memory) Outline(ctx context.Context, p holdfast.Principal, id holdfast.SessionID) (SessionState, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.sessions[id]
	if s == nil || s.Principal != p {
		return SessionState{}, refuse.Gone(id)
	}
	return s.state(false), nil
}

// Heads implements Reader.
func (m *Memory) Heads(ctx context.Context, p holdfast.Principal, agent, key string) ([]Head, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s, err := m.named(p, agent, key)
	if err != nil {
		return nil, err
	}
	var list []Head
	for _, b := range s.ordered() {
		h := Head{Branch: b.ID, Epoch: b.Epoch}
		for n := range b.revisions {
			h.Revision = max(h.Revision, n)
		}
		for _, r := range b.boundaries {
			if r.Epoch == b.Epoch && r.Status == BoundaryCommitted {
				h.Committed = later(h.Committed, r.At)
			}
		}
		list = append(list, h)
	}
	return list, nil
}

// Revision implements Reader.
func (m *Memory) Revision(ctx context.Context, p holdfast.Principal, branch holdfast.BranchID, n int) (Revision, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.sessions[m.branches[branch]]
	if s == nil || s.Principal != p {
		return Revision{}, refuse.NoRevision(branch, n)
	}
	r, known := s.branches[branch].revisions[n]
	if !known {
		return Revision{}, refuse.NoRevision(branch, n)
	}
	r.Capsule = bytes.Clone(r.Capsule)
	return r, nil
}
