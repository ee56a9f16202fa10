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

// AddAttempts implements Attempts.
func (m *Memory) AddAttempts(ctx context.Context, attempts []holdfast.Attempt) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := gaveUp(ctx); err != nil {
		return err
	}
	for _, a := range attempts {
		if _, known := m.attempts[a.ID]; !known {
			a.Began, a.Ended = stored(a.Began), stored(a.Ended)
			m.attempts[a.ID] = a
		}
	}
	return nil
}

// Attempts implements Attempts.
func (m *Memory) Attempts(_ context.Context, p holdfast.Principal, limit int) ([]holdfast.Attempt, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := slices.Collect(maps.Values(m.attempts))
	list = slices.DeleteFunc(list, func(a holdfast.Attempt) bool { return p != "" && a.Principal != p })
	slices.SortFunc(list, func(a, b holdfast.Attempt) int {
		return cmp.Or(b.Began.Compare(a.Began), cmp.Compare(b.ID, a.ID))
	})
	return list[:min(len(list), max(limit, 0))], nil
}

// SumAttempts implements Attempts.
func (m *Memory) SumAttempts(_ context.Context, q UsageQuery) ([]UsageSum, error) {
	key, known := attemptKeys[q.By]
	if !known {
		return nil, refuse.NoUsageGroup(string(q.By))
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	type place struct {
		key       string
		auxiliary bool
	}
	sums := map[place]*UsageSum{}
	for _, a := range m.attempts {
		if q.Principal != "" && a.Principal != q.Principal || a.Began.Before(stored(q.Since)) {
			continue
		}
		at := place{key(a), a.Role != holdfast.PrimaryRole}
		if sums[at] == nil {
			sums[at] = &UsageSum{Key: at.key, Auxiliary: at.auxiliary}
		}
		sums[at].add(a)
	}
	list := make([]UsageSum, 0, len(sums))
	for _, s := range sums {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b UsageSum) int {
		if c := cmp.Compare(a.Key, b.Key); c != 0 || a.Auxiliary == b.Auxiliary {
			return c
		}
		if b.Auxiliary {
			return -1
		}
		return 1
	})
	return list, nil
}

var attemptKeys = map[UsageGroup]func(holdfast.Attempt) string{
	"":          func(holdfast.Attempt) string { return "" },
	ByPrincipal: func(a holdfast.Attempt) string { return string(a.Principal) },
	ByModel:     func(a holdfast.Attempt) string { return a.Model },
	ByRole:      func(a holdfast.Attempt) string { return string(a.Role) },
	BySession:   func(a holdfast.Attempt) string { return string(a.Session) },
	ByDay:       func(a holdfast.Attempt) string { return a.Began.Format(time.DateOnly) },
	ByAgent:     func(a holdfast.Attempt) string { return a.Agent },
}

func (s *UsageSum) add(a holdfast.Attempt) {
	s.Attempts++
	t := a.Tokens
	switch {
	case t.Input == nil || t.Output == nil:
		s.Unknown++
	case a.Cost == nil:
		s.Unpriced++
	}
	for _, sum := range []struct {
		to **int64
		n  *int64
	}{
		{&s.Tokens.Input, t.Input},
		{&s.Tokens.CacheRead, t.CacheRead},
		{&s.Tokens.CacheWrite, t.CacheWrite},
		{&s.Tokens.Output, t.Output},
		{&s.Tokens.Reasoning, t.Reasoning},
		{&s.Cost, a.Cost},
	} {
		switch {
		case sum.n == nil:
		case *sum.to == nil:
			*sum.to = new(*sum.n)
		default:
			**sum.to += *sum.n
		}
	}
}

// Spent implements Attempts.
func (m *Memory) Spent(_ context.Context, since time.Time) ([]Spending, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	costs := map[holdfast.Caller]int64{}
	for _, a := range m.attempts {
		if a.Began.Before(stored(since)) {
			continue
		}
		for _, part := range []*int64{a.Cost, a.Estimate} {
			if part != nil {
				costs[holdfast.Caller{Principal: a.Principal, Label: a.Label}] += *part
			}
		}
	}
	var list []Spending
	for caller, cost := range costs {
		list = append(list, Spending{caller, cost})
	}
	slices.SortFunc(list, func(a, b Spending) int {
		return cmp.Or(cmp.Compare(a.Principal, b.Principal), cmp.Compare(a.Label, b.Label))
	})
	return list, nil
}

// ExpireAttempts implements Attempts.
func (m *Memory) ExpireAttempts(ctx context.Context, t time.Time) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := gaveUp(ctx); err != nil {
		return 0, err
	}
	before := len(m.attempts)
	maps.DeleteFunc(m.attempts, func(_ holdfast.AttemptID, a holdfast.Attempt) bool { return a.Began.Before(stored(t)) })
	return before - len(m.attempts), nil
}
