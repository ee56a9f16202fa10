package sqlite

import (
	"fmt"
	"strings"
	"testing"

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
	if spent, err := one.Spent(t.Context(), holdfast.Local, at(0)); spent != 200 || err != nil {
		t.Errorf("got %d, %v, want 200", spent, err)
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
		if spent, err := s.Spent(b.Context(), holdfast.Local, at(n-500)); spent != 500 || err != nil {
			b.Fatal(spent, err)
		}
	}
}
