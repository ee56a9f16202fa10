package storetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// noted is an entry n seconds into the test's time: a policy sets a key of
// session s1 to a value.
func noted(n int, key, policy, from, to string) store.AuditEntry {
	return store.AuditEntry{
		At: at(n), Principal: holdfast.Local, Session: "s1", Label: "nightly", Policy: policy, Key: key, From: from, To: to,
	}
}

// note gives entries to a store, which must write exactly some of them.
func note(t *testing.T, s Store, given []store.AuditEntry, want ...store.AuditEntry) {
	t.Helper()
	written, err := s.Note(t.Context(), given)
	if err != nil {
		t.Fatalf("Note: %v", err)
	}
	expect(t, written, want)
}

func expectNoted(t *testing.T, s Store, p holdfast.Principal, want ...store.AuditEntry) {
	t.Helper()
	got, err := s.Noted(t.Context(), p)
	if err != nil {
		t.Errorf("Noted: %v", err)
	}
	expect(t, got, want)
}

var auditing = map[string]func(*testing.T, Store){
	"a new store has no audit": func(t *testing.T, s Store) {
		note(t, s, nil)
		expectNoted(t, s, "")
	},

	"what a policy sets is written once, with the value of all sessions before it": func(t *testing.T, s Store) {
		first := noted(1, "fork", "a", "copy", "empty")
		note(t, s, []store.AuditEntry{first}, first)
		note(t, s, []store.AuditEntry{noted(2, "fork", "a", "copy", "empty")})
		// Another name of the policy and another global value are no change of what is in force.
		note(t, s, []store.AuditEntry{noted(3, "fork", "b", "none", "empty")})
		expectNoted(t, s, "", first)
	},

	"what no policy has set is not written until one does": func(t *testing.T, s Store) {
		note(t, s, []store.AuditEntry{noted(1, "fork", "", "copy", "copy"), noted(2, "fork", "", "empty", "empty")})
		expectNoted(t, s, "")
	},

	"a value that a policy sets to what it was is an entry": func(t *testing.T, s Store) {
		same := noted(1, "fork", "a", "copy", "copy")
		note(t, s, []store.AuditEntry{same}, same)
		expectNoted(t, s, "", same)
	},

	"an entry begins with the value of the one before it": func(t *testing.T, s Store) {
		note(t, s, []store.AuditEntry{noted(1, "max", "a", "2500", "1200")}, noted(1, "max", "a", "2500", "1200"))
		note(t, s, []store.AuditEntry{noted(2, "max", "a", "3000", "900")}, noted(2, "max", "a", "1200", "900"))
		// The policy is gone: first the value is the same, then it moves.
		note(t, s, []store.AuditEntry{noted(3, "max", "", "900", "900")}, noted(3, "max", "", "900", "900"))
		note(t, s, []store.AuditEntry{noted(4, "max", "", "2500", "2500")}, noted(4, "max", "", "900", "2500"))
		note(t, s, []store.AuditEntry{noted(5, "max", "", "2500", "2500")})
		expectNoted(
			t, s, "", noted(1, "max", "a", "2500", "1200"), noted(2, "max", "a", "1200", "900"),
			noted(3, "max", "", "900", "900"), noted(4, "max", "", "900", "2500"),
		)
	},

	"entries of one call follow each other": func(t *testing.T, s Store) {
		one, two := noted(1, "max", "a", "2500", "1200"), noted(1, "max", "b", "1200", "900")
		note(t, s, []store.AuditEntry{one, noted(1, "max", "a", "x", "1200"), noted(1, "max", "b", "x", "900")}, one, two)
		expectNoted(t, s, "", one, two)
	},

	"principals, sessions, labels and keys are apart": func(t *testing.T, s Store) {
		var all []store.AuditEntry
		for i, change := range []func(*store.AuditEntry){
			func(*store.AuditEntry) {},
			func(e *store.AuditEntry) { e.Principal = stranger },
			func(e *store.AuditEntry) { e.Session = "s2" },
			func(e *store.AuditEntry) { e.Label = "" },
			func(e *store.AuditEntry) { e.Key = "fork" },
		} {
			e := noted(i, "max", "a", "2500", "1200")
			change(&e)
			all = append(all, e)
		}
		note(t, s, all, all...)
		note(t, s, all)
		expectNoted(t, s, "", all...)
		expectNoted(t, s, stranger, all[1])
		expectNoted(t, s, holdfast.Local, all[0], all[2], all[3], all[4])
		expectNoted(t, s, "nobody")
	},

	"times of the audit come back in UTC and to the microsecond": func(t *testing.T, s Store) {
		given := noted(0, "max", "a", "2500", "1200")
		given.At = at(0).Add(1999).In(time.FixedZone("east", 3600))
		want := noted(0, "max", "a", "2500", "1200")
		want.At = at(0).Add(time.Microsecond)
		note(t, s, []store.AuditEntry{given}, want)
		expectNoted(t, s, "", want)
	},

	"the audit outlives its session and goes by its age": func(t *testing.T, s Store) {
		a := session("s1")
		apply(t, s, store.Batch{Session: a})
		old, young := noted(1, "max", "a", "2500", "1200"), noted(2, "fork", "a", "copy", "empty")
		note(t, s, []store.AuditEntry{old, young}, old, young)
		if err := s.Remove(t.Context(), holdfast.Local, a.ID); err != nil {
			t.Fatal(err)
		}
		expectNoted(t, s, "", old, young)
		n, err := s.ExpireNoted(t.Context(), at(2))
		expectCode(t, err, "")
		expect(t, n, 1)
		expectNoted(t, s, "", young)
	},

	"of many that note one change at once, one does": func(t *testing.T, s Store) {
		counts := make([]int, 4)
		var all sync.WaitGroup
		for i := range counts {
			all.Go(func() {
				written, err := s.Note(t.Context(), []store.AuditEntry{noted(1, "max", "a", "2500", "1200")})
				expectCode(t, err, "")
				counts[i] = len(written)
			})
		}
		all.Wait()
		expect(t, counts[0]+counts[1]+counts[2]+counts[3], 1)
		expectNoted(t, s, "", noted(1, "max", "a", "2500", "1200"))
	},

	"a caller that gave up notes nothing": func(t *testing.T, s Store) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Note(ctx, []store.AuditEntry{noted(1, "max", "a", "2500", "1200")})
		expectCode(t, err, holdfast.ErrUnavailable)
		_, err = s.ExpireNoted(ctx, at(9))
		expectCode(t, err, holdfast.ErrUnavailable)
		expectNoted(t, s, "")
	},
}
