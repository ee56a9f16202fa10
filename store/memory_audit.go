package store

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Note implements Audit.
func (m *Memory) Note(ctx context.Context, entries []AuditEntry) ([]AuditEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := gaveUp(ctx); err != nil {
		return nil, err
	}
	var written []AuditEntry
	for _, e := range entries {
		e.At = stored(e.At)
		if e, ok := e.Follows(m.newestNoted(e)); ok {
			m.audit = append(m.audit, e)
			written = append(written, e)
		}
	}
	return written, nil
}

// newestNoted is the newest entry of the same session, label and key; nil: none.
func (m *Memory) newestNoted(of AuditEntry) *AuditEntry {
	for i := len(m.audit) - 1; i >= 0; i-- {
		e := &m.audit[i]
		if e.Principal == of.Principal && e.Session == of.Session && e.Label == of.Label && e.Key == of.Key {
			return e
		}
	}
	return nil
}

// Noted implements Audit.
func (m *Memory) Noted(ctx context.Context, p holdfast.Principal) ([]AuditEntry, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var list []AuditEntry
	for _, e := range m.audit {
		if p == "" || e.Principal == p {
			list = append(list, e)
		}
	}
	return list, nil
}

// ExpireNoted implements Audit.
func (m *Memory) ExpireNoted(ctx context.Context, before time.Time) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := gaveUp(ctx); err != nil {
		return 0, err
	}
	n := len(m.audit)
	m.audit = slices.DeleteFunc(m.audit, func(e AuditEntry) bool { return e.At.Before(stored(before)) })
	return n - len(m.audit), nil
}
