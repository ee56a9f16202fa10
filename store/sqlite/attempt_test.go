package sqlite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// calls are n attempts, whose ids begin with a prefix.
func calls(prefix string, n int) []holdfast.Attempt {
	list := make([]holdfast.Attempt, n)
	for i := range list {
		list[i] = holdfast.Attempt{
			ID: holdfast.AttemptID(fmt.Sprintf("%s%06d", prefix, i)), Began: at(i), Ended: at(i), Principal: holdfast.Local,
			Role: holdfast.PrimaryRole, Model: strings.Repeat("m", 200), Cost: new(int64(1)),
		}
	}
	return list
}

func TestAFullDiskRefusesUsageRecordsWhole(t *testing.T) {
	path := newPath(t)
	s := openAt(t, path)
	if err := s.AddAttempts(t.Context(), calls("a", 3)); err != nil {
		t.Fatal(err)
	}
	limit := func(pages int) {
		t.Helper()
		var got int
		if err := s.writer.QueryRowContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)).Scan(&got); err != nil {
			t.Fatal(err)
		}
	}
	limit(1) // as many as there are
	more := calls("b", 300)
	expectError(t, s.AddAttempts(t.Context(), more), holdfast.ErrUnavailable,
		"cannot write usage records: no room is left for the database "+path+
			"; free some disk space, nothing needs a restart (database or disk is full (13))")
	sum := func(n int64) store.UsageSum { return store.UsageSum{Attempts: n, Unknown: n, Cost: &n} }
	for _, want := range []int64{3, 303} {
		got, err := s.SumAttempts(t.Context(), store.UsageQuery{})
		if err != nil {
			t.Fatal(err)
		}
		expect(t, got, []store.UsageSum{sum(want)})
		limit(1 << 20)
		if err := s.AddAttempts(t.Context(), more); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTwoProcessesThatRecordUsageLoseNothing(t *testing.T) {
	path := newPath(t)
	one, two := openAt(t, path), openAt(t, path)
	done := make(chan error)
	for prefix, s := range map[string]*Store{"a": one, "b": two} {
		go func() {
			for i, list := 0, calls(prefix, 100); i < len(list); i++ {
				if err := s.AddAttempts(t.Context(), list[i:i+1]); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if spent, err := one.Spent(t.Context(), at(0)); err != nil || len(spent) != 1 || spent[0].Cost != 200 {
		t.Errorf("got %v, %v, want 200", spent, err)
	}
}

// BenchmarkSpent has as many records as a busy user makes in a year; its cost is
// that of the few that the bound leaves.
func BenchmarkSpent(b *testing.B) {
	s := openAt(b, newPath(b))
	const n = 50_000
	for i, list := 0, calls("a", n); i < n; i += 1000 {
		if err := s.AddAttempts(b.Context(), list[i:i+1000]); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if spent, err := s.Spent(b.Context(), at(n-500)); err != nil || spent[0].Cost != 500 {
			b.Fatal(spent, err)
		}
	}
}

// TestVersion4OpensForever reads a database as the fourth schema wrote it. The dump
// is frozen: no later change of the schema may touch it.
func TestVersion4OpensForever(t *testing.T) {
	s := openDump(t, "testdata/schema4.sql")
	began := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC) // 1767323045678901 in the dump
	list, err := s.Attempts(t.Context(), "", 9)
	if err != nil {
		t.Fatal(err)
	}
	n := func(n int64) *int64 { return &n }
	expect(t, list, []holdfast.Attempt{
		{
			ID: "a2", Began: began.Add(time.Second), Ended: began.Add(2 * time.Second), Principal: holdfast.Local,
			Role: holdfast.PrimaryRole, Upstream: "u1", Protocol: holdfast.Anthropic, Outcome: holdfast.OutcomeCancelled,
		},
		{
			ID: "a1", Began: began, Ended: began.Add(time.Second), Principal: "work", Label: "a label", Session: "s1", Branch: "b1", Boundary: "c1",
			Conversation: "v1", Job: "j1", Parent: "a0", Trace: "t1", Agent: "codex", Role: holdfast.SummaryRole, Upstream: "u1", Model: "m1", Protocol: holdfast.Chat,
			Tokens: holdfast.Tokens{Input: n(1), CacheRead: n(0), CacheWrite: n(3), Output: n(4)},
			Price:  &holdfast.Price{Input: 10, CacheRead: 11, CacheWrite: 12, Output: 13}, Cost: n(6), Sent: 14, Received: 15, Estimate: n(16), Status: 529, Outcome: holdfast.OutcomeBroken,
		},
	})
	expect(t, load(t, s, "s1").Agent, "codex")
}
