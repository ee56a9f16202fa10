package store

import (
	"context"
	"slices"
)

// Edits implements Sweeper.
func (m *Memory) Edits(ctx context.Context, after int64) ([]Edit, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var list []Edit
	for _, e := range m.edits {
		if e.Seq > after {
			list = append(list, e)
		}
	}
	return list, nil
}

// edited notes a revision that a person made. m.mu is held.
func (m *Memory) edited(s *memorySession, r Revision) {
	m.lastEdit++
	m.edits = append(m.edits, Edit{Seq: m.lastEdit, Session: s.ID, Branch: r.Branch, Revision: r.N})
}

// forgetEdits goes with its session. m.mu is held.
func (m *Memory) forgetEdits(s *memorySession) {
	m.edits = slices.DeleteFunc(m.edits, func(e Edit) bool { return e.Session == s.ID })
}
