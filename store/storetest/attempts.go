package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// attempt is a primary call of Local that began n seconds into the test's time,
// and of which nothing was told.
func attempt(id string, n int) holdfast.Attempt {
	return holdfast.Attempt{
		ID: holdfast.AttemptID(id), Began: at(n), Ended: at(n + 1), Principal: holdfast.Local, Role: holdfast.PrimaryRole,
		Upstream: "u", Model: "m", Protocol: holdfast.Anthropic, Status: 200, Outcome: holdfast.OutcomeOK,
	}
}

// told is the attempt with its tokens, and what they cost.
func told(a holdfast.Attempt, input, output, cost int64) holdfast.Attempt {
	a.Tokens.Input, a.Tokens.Output, a.Cost = &input, &output, &cost
	return a
}

// fullAttempt has a value in every field.
func fullAttempt(id string) holdfast.Attempt {
	return holdfast.Attempt{
		ID: holdfast.AttemptID(id), Began: at(0).Add(123456 * time.Microsecond), Ended: at(9), Principal: holdfast.Local, Label: "l",
		Session: "s", Branch: "b", Boundary: "c", Conversation: "v", Job: "j", Parent: "a0", Trace: "t", Agent: "codex",
		Role: holdfast.SummaryRole, Upstream: "u", Model: "m", Protocol: holdfast.Chat,
		Tokens: holdfast.Tokens{Input: new(int64(1)), CacheRead: new(int64(0)), CacheWrite: new(int64(3)), Output: new(int64(4)), Reasoning: new(int64(5))},
		Price:  &holdfast.Price{Input: 10, CacheRead: 11, CacheWrite: 12, Output: 13}, Cost: new(int64(6)), Sent: 14, Received: 15, Estimate: new(int64(16)), Status: 529,
		Outcome: holdfast.OutcomeBroken,
	}
}

func add(t *testing.T, s store.Attempts, attempts ...holdfast.Attempt) {
	t.Helper()
	if err := s.AddAttempts(t.Context(), attempts); err != nil {
		t.Fatal(err)
	}
}

// expectAttempts compares the ids of a principal's records.
func expectAttempts(t *testing.T, s store.Attempts, p holdfast.Principal, want ...holdfast.AttemptID) {
	t.Helper()
	list, err := s.Attempts(t.Context(), p, 100)
	expectCode(t, err, "")
	var ids []holdfast.AttemptID
	for _, a := range list {
		ids = append(ids, a.ID)
	}
	expect(t, ids, want)
}

func expectSums(t *testing.T, s store.Attempts, q store.UsageQuery, want ...store.UsageSum) {
	t.Helper()
	got, err := s.SumAttempts(t.Context(), q)
	expectCode(t, err, "")
	expect(t, got, want)
}

// sum is the sum of n attempts with a cost.
func sum(key string, n, input, output, cost int64) store.UsageSum {
	return store.UsageSum{Key: key, Attempts: n, Tokens: holdfast.Tokens{Input: &input, Output: &output}, Cost: &cost}
}

func auxiliary(u store.UsageSum) store.UsageSum {
	u.Auxiliary = true
	return u
}

var counting = map[string]func(*testing.T, Store){
	"an attempt comes back as it was given, and what was not told is not zero": func(t *testing.T, s Store) {
		bare := attempt("a2", 20)
		add(t, s, fullAttempt("a1"), bare)
		list, err := s.Attempts(t.Context(), holdfast.Local, 9)
		expectCode(t, err, "")
		expect(t, list, []holdfast.Attempt{bare, fullAttempt("a1")})
	},
	"times of an attempt are kept to the microsecond and come back in UTC": func(t *testing.T, s Store) {
		given := attempt("a1", 0)
		given.Began = at(1).Add(1999 * time.Nanosecond).In(time.FixedZone("east", 3600))
		given.Ended = given.Began.Add(1)
		add(t, s, given)
		list, err := s.Attempts(t.Context(), holdfast.Local, 9)
		expectCode(t, err, "")
		given.Began = at(1).Add(time.Microsecond)
		given.Ended = at(1).Add(2 * time.Microsecond)
		expect(t, list, []holdfast.Attempt{given})
	},
	"attempts are listed newest first, those of one moment by id, and no more than asked": func(t *testing.T, s Store) {
		theirs := attempt("a9", 9)
		theirs.Principal = stranger
		add(t, s, attempt("a1", 5), attempt("a3", 4), attempt("a2", 4), attempt("a4", 3), theirs)
		list, err := s.Attempts(t.Context(), holdfast.Local, 3)
		expectCode(t, err, "")
		expect(t, list, []holdfast.Attempt{attempt("a1", 5), attempt("a3", 4), attempt("a2", 4)})
		list, err = s.Attempts(t.Context(), holdfast.Local, 0)
		expectCode(t, err, "")
		expect(t, list, nil)
		expectAttempts(t, s, stranger, "a9")
		expectAttempts(t, s, "", "a9", "a1", "a3", "a2", "a4")
	},
	"an attempt that is given again changes nothing": func(t *testing.T, s Store) {
		first := told(attempt("a1", 1), 1, 2, 3)
		add(t, s, first)
		add(t, s, told(attempt("a1", 9), 10, 20, 30), attempt("a2", 2))
		add(t, s, attempt("a3", 0), attempt("a3", 5))
		list, err := s.Attempts(t.Context(), holdfast.Local, 9)
		expectCode(t, err, "")
		expect(t, list, []holdfast.Attempt{attempt("a2", 2), first, attempt("a3", 0)})
	},
	"any number of attempts comes back, of two with one id the first": func(t *testing.T, s Store) {
		next := 0
		var all []holdfast.Attempt
		for _, size := range []int{1, 15, 16, 17, 33} {
			var group []holdfast.Attempt
			for range size {
				a := told(attempt(fmt.Sprintf("a%03d", next), next), int64(next), 2, 3)
				if next%3 == 0 {
					a = fullAttempt(string(a.ID))
					a.Began = at(next)
				}
				group = append(group, a)
				next++
			}
			all = append(all, group...)
			add(t, s, append(group, attempt(string(group[0].ID), 1000))...)
		}
		slices.Reverse(all)
		list, err := s.Attempts(t.Context(), holdfast.Local, 1000)
		expectCode(t, err, "")
		expect(t, list, all)
	},
	"nothing is written for a caller that gave up": func(t *testing.T, s Store) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := s.AddAttempts(ctx, []holdfast.Attempt{attempt("a1", 1)})
		expectCode(t, err, holdfast.ErrUnavailable)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v does not wrap the end of its context", err)
		}
		expectAttempts(t, s, holdfast.Local)
	},
	"sums have what is known, and count what is not": func(t *testing.T, s Store) {
		half := attempt("a3", 3) // as of a stream that the client left
		half.Tokens = holdfast.Tokens{Input: new(int64(100)), CacheRead: new(int64(7))}
		half.Cost = new(int64(50))
		unpriced := attempt("a4", 4)
		unpriced.Tokens = holdfast.Tokens{Input: new(int64(1000)), Output: new(int64(0)), CacheWrite: new(int64(8)), Reasoning: new(int64(9))}
		add(t, s, told(attempt("a1", 1), 1, 2, 3), attempt("a2", 2), half, unpriced, told(attempt("a5", 5), 10, 20, 30))
		expectSums(t, s, store.UsageQuery{}, store.UsageSum{
			Attempts: 5, Unknown: 2, Unpriced: 1,
			Tokens: holdfast.Tokens{Input: new(int64(1111)), CacheRead: new(int64(7)), CacheWrite: new(int64(8)), Output: new(int64(22)), Reasoning: new(int64(9))},
			Cost:   new(int64(83)),
		})
	},
	"a sum of what nobody told is not zero": func(t *testing.T, s Store) {
		add(t, s, attempt("a1", 1), attempt("a2", 2))
		expectSums(t, s, store.UsageQuery{}, store.UsageSum{Attempts: 2, Unknown: 2})
	},
	"without attempts there is no sum": func(t *testing.T, s Store) {
		expectSums(t, s, store.UsageQuery{})
		expectSums(t, s, store.UsageQuery{By: store.ByModel})
	},
	"primary and auxiliary attempts are summed apart": func(t *testing.T, s Store) {
		var list []holdfast.Attempt
		for i, role := range []holdfast.Role{holdfast.SummaryRole, holdfast.PrimaryRole, holdfast.TitleRole, holdfast.ExtractorRole, holdfast.PrimaryRole} {
			a := told(attempt(string(rune('a'+i)), i), 1, 10, 100)
			a.Role = role
			list = append(list, a)
		}
		add(t, s, list...)
		expectSums(t, s, store.UsageQuery{}, sum("", 2, 2, 20, 200), auxiliary(sum("", 3, 3, 30, 300)))
		expectSums(t, s, store.UsageQuery{By: store.ByModel}, sum("m", 2, 2, 20, 200), auxiliary(sum("m", 3, 3, 30, 300)))
		expectSums(t, s, store.UsageQuery{By: store.ByRole},
			auxiliary(sum("compaction_continuity_extractor", 1, 1, 10, 100)), sum("primary", 2, 2, 20, 200),
			auxiliary(sum("summary", 1, 1, 10, 100)), auxiliary(sum("title", 1, 1, 10, 100)))
	},
	"sums are grouped by what the attempts have in common": func(t *testing.T, s Store) {
		one, two := told(attempt("a1", 1), 1, 10, 100), told(attempt("a2", 2), 2, 20, 200)
		one.Model, one.Session, one.Agent = "opus", "s2", "codex"
		two.Principal, two.Session = stranger, "s1"
		three := told(attempt("a3", 3), 4, 40, 400)
		add(t, s, one, two, three)
		expectSums(t, s, store.UsageQuery{By: store.ByModel}, sum("m", 2, 6, 60, 600), sum("opus", 1, 1, 10, 100))
		expectSums(t, s, store.UsageQuery{By: store.BySession}, sum("", 1, 4, 40, 400), sum("s1", 1, 2, 20, 200), sum("s2", 1, 1, 10, 100))
		expectSums(t, s, store.UsageQuery{By: store.ByAgent}, sum("", 2, 6, 60, 600), sum("codex", 1, 1, 10, 100))
		expectSums(t, s, store.UsageQuery{By: store.ByPrincipal}, sum("local", 2, 5, 50, 500), sum("stranger", 1, 2, 20, 200))
		expectSums(t, s, store.UsageQuery{By: store.ByRole}, sum("primary", 3, 7, 70, 700))
		expectSums(t, s, store.UsageQuery{By: store.ByModel, Principal: stranger}, sum("m", 1, 2, 20, 200))
		expectSums(t, s, store.UsageQuery{Principal: "nobody"})
	},
	"days are those of UTC, in their order": func(t *testing.T, s Store) {
		midnight := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		for id, began := range map[string]time.Time{
			"a1": midnight.Add(-time.Microsecond), "a2": midnight, "a3": midnight.Add(24*time.Hour - time.Microsecond).In(time.FixedZone("west", -5*3600)),
			"a4": midnight.AddDate(0, 0, 9),
		} {
			a := told(attempt(id, 0), 1, 10, 100)
			a.Began = began
			add(t, s, a)
		}
		expectSums(t, s, store.UsageQuery{By: store.ByDay},
			sum("2026-02-28", 1, 1, 10, 100), sum("2026-03-01", 2, 2, 20, 200), sum("2026-03-10", 1, 1, 10, 100))
	},
	"sums begin with a moment, that one included": func(t *testing.T, s Store) {
		add(t, s, told(attempt("a1", 1), 1, 10, 100), told(attempt("a2", 2), 2, 20, 200), told(attempt("a3", 3), 4, 40, 400))
		expectSums(t, s, store.UsageQuery{Since: at(2)}, sum("", 2, 6, 60, 600))
		expectSums(t, s, store.UsageQuery{Since: at(4)})
	},
	"what nothing is grouped by is refused": func(t *testing.T, s Store) {
		_, err := s.SumAttempts(t.Context(), store.UsageQuery{By: "upstream'"})
		expectCode(t, err, holdfast.ErrUsage)
		for _, by := range store.UsageGroups() {
			_, err := s.SumAttempts(t.Context(), store.UsageQuery{By: by})
			expectCode(t, err, "")
		}
	},
	"what callers spent is told of each, from a moment on": func(t *testing.T, s Store) {
		theirs, labelled := told(attempt("a9", 9), 1, 1, 1000), attempt("a8", 8)
		theirs.Principal, labelled.Label = stranger, "laptop"
		theirs.Estimate, labelled.Estimate = new(int64(7)), new(int64(5)) // a part of it was not told, and nothing was
		add(t, s, told(attempt("a1", 1), 1, 1, 1), told(attempt("a2", 2), 1, 1, 10), attempt("a3", 3), told(attempt("a4", 4), 1, 1, 100), theirs, labelled)
		of := func(p holdfast.Principal, label string, cost int64) store.Spending {
			return store.Spending{Caller: holdfast.Caller{Principal: p, Label: label}, Cost: cost}
		}
		for _, tt := range []struct {
			since time.Time
			want  []store.Spending
		}{
			{time.Time{}, []store.Spending{of("local", "", 111), of("local", "laptop", 5), of(stranger, "", 1007)}},
			{at(2), []store.Spending{of("local", "", 110), of("local", "laptop", 5), of(stranger, "", 1007)}},
			{at(5), []store.Spending{of("local", "laptop", 5), of(stranger, "", 1007)}},
			{at(10), nil},
		} {
			got, err := s.Spent(t.Context(), tt.since)
			expectCode(t, err, "")
			expect(t, got, tt.want)
		}
	},
	"attempts expire by when they began, whoever made them": func(t *testing.T, s Store) {
		theirs := attempt("a3", 1)
		theirs.Principal = stranger
		add(t, s, attempt("a1", 1), attempt("a2", 2), theirs)
		n, err := s.ExpireAttempts(t.Context(), at(2))
		if n != 2 || err != nil {
			t.Errorf("got %d, %v, want 2", n, err)
		}
		expectAttempts(t, s, holdfast.Local, "a2")
		expectAttempts(t, s, stranger)
		if n, err := s.ExpireAttempts(t.Context(), at(2)); n != 0 || err != nil {
			t.Errorf("got %d, %v, want 0", n, err)
		}
	},
	"what a session or a conversation cost outlives it": func(t *testing.T, s Store) {
		apply(t, s, store.Batch{Session: session("s1"), Branches: []store.Branch{branch(session("s1"), "b1", 1)}}, store.Batch{Session: session("s2")})
		c := store.Conversation{ID: "c1", Principal: holdfast.Local, Origin: store.OwnConversation, CreatedAt: at(0)}
		expectCode(t, s.Create(t.Context(), c, nil), "")
		one, two, three := attempt("a1", 1), attempt("a2", 2), attempt("a3", 3)
		one.Session, one.Branch = "s1", "b1"
		two.Session = "s2"
		three.Conversation = "c1"
		add(t, s, one, two, three)
		expectCode(t, s.Remove(t.Context(), holdfast.Local, "s1"), "")
		expectCode(t, s.Delete(t.Context(), holdfast.Local, "c1"), "")
		n, err := s.Expire(t.Context(), at(60))
		if n != 1 || err != nil {
			t.Errorf("got %d, %v, want one expired session", n, err)
		}
		list, err := s.Attempts(t.Context(), holdfast.Local, 9)
		expectCode(t, err, "")
		slices.SortFunc(list, func(a, b holdfast.Attempt) int { return cmp.Compare(a.ID, b.ID) })
		expect(t, list, []holdfast.Attempt{one, two, three})
	},
}
