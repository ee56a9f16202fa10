package storetest

import (
	"context"
	"crypto/sha256"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// key is a key made n seconds into the test's time.
func key(id string, n int) store.Key {
	return store.Key{
		ID: holdfast.KeyID(id), Principal: holdfast.Local, Label: "label of " + id,
		Digest: sha256.Sum256([]byte(id)), CreatedAt: at(n),
	}
}

// ended is k with an end and what took its place.
func ended(k store.Key, at time.Time, by holdfast.KeyID) store.Key {
	k.RevokedAt, k.ReplacedBy = at, by
	return k
}

func addKeys(t *testing.T, s Store, keys ...store.Key) {
	t.Helper()
	for _, k := range keys {
		if err := s.AddKey(t.Context(), k); err != nil {
			t.Fatalf("AddKey %s: %v", k.ID, err)
		}
	}
}

func expectKeys(t *testing.T, s Store, want ...store.Key) {
	t.Helper()
	got, err := s.Keys(t.Context())
	if err != nil {
		t.Errorf("Keys: %v", err)
	}
	expect(t, got, want)
}

var keying = map[string]func(*testing.T, Store){
	"a new store has no keys": func(t *testing.T, s Store) {
		expectKeys(t, s)
	},

	"keys of all principals are listed, oldest first, then by id": func(t *testing.T, s Store) {
		theirs := key("b", 2)
		theirs.Principal, theirs.Label = stranger, ""
		addKeys(t, s, key("c", 2), theirs, key("a", 2), key("z", 1))
		expectKeys(t, s, key("z", 1), key("a", 2), theirs, key("c", 2))
	},

	"times come back in UTC and to the microsecond": func(t *testing.T, s Store) {
		k := ended(key("a", 0), at(5).Add(1999), "b")
		k.CreatedAt = at(0).Add(1999).In(time.FixedZone("east", 3600))
		addKeys(t, s, k)
		k.CreatedAt, k.RevokedAt = at(0).Add(time.Microsecond), at(5).Add(time.Microsecond)
		expectKeys(t, s, k)
	},

	"an id that is taken is a conflict and changes nothing": func(t *testing.T, s Store) {
		addKeys(t, s, key("a", 0))
		again := key("a", 1)
		again.Principal = stranger
		expectCode(t, s.AddKey(t.Context(), again), holdfast.ErrConflict)
		expectKeys(t, s, key("a", 0))
	},

	"an end is moved to an earlier time and never to a later one": func(t *testing.T, s Store) {
		addKeys(t, s, key("a", 0), key("other", 0))
		for _, step := range []struct {
			given, want int // seconds
		}{{50, 50}, {60, 50}, {50, 50}, {40, 40}, {45, 40}} {
			got, err := s.RevokeKey(t.Context(), "a", at(step.given))
			expectCode(t, err, "")
			expect(t, got, ended(key("a", 0), at(step.want), ""))
			expectKeys(t, s, ended(key("a", 0), at(step.want), ""), key("other", 0))
		}
	},

	"a key is replaced by a new one and ends at the time that was given": func(t *testing.T, s Store) {
		addKeys(t, s, key("a", 0))
		expectCode(t, s.ReplaceKey(t.Context(), "a", key("b", 5), at(9)), "")
		expectKeys(t, s, ended(key("a", 0), at(9), "b"), key("b", 5))
	},

	"replacing a key leaves an earlier end": func(t *testing.T, s Store) {
		addKeys(t, s, ended(key("a", 0), at(3), ""))
		expectCode(t, s.ReplaceKey(t.Context(), "a", key("b", 5), at(9)), "")
		expectKeys(t, s, ended(key("a", 0), at(3), "b"), key("b", 5))
	},

	"a key is replaced once, and by a new id": func(t *testing.T, s Store) {
		addKeys(t, s, key("a", 0), key("b", 1))
		expectCode(t, s.ReplaceKey(t.Context(), "a", key("b", 5), at(9)), holdfast.ErrConflict)
		expectKeys(t, s, key("a", 0), key("b", 1))
		expectCode(t, s.ReplaceKey(t.Context(), "a", key("c", 2), at(9)), "")
		expectCode(t, s.ReplaceKey(t.Context(), "a", key("d", 3), at(8)), holdfast.ErrConflict)
		expectKeys(t, s, ended(key("a", 0), at(9), "c"), key("b", 1), key("c", 2))
	},

	"of many that replace one key at once, one does": func(t *testing.T, s Store) {
		addKeys(t, s, key("a", 0))
		ids := []string{"b", "c", "d", "e"}
		errs := make([]error, len(ids))
		var all sync.WaitGroup
		for i, id := range ids {
			all.Go(func() { errs[i] = s.ReplaceKey(t.Context(), "a", key(id, 1), at(9)) })
		}
		all.Wait()
		var won []string
		for i, err := range errs {
			if err == nil {
				won = append(won, ids[i])
				continue
			}
			expectCode(t, err, holdfast.ErrConflict)
		}
		if len(won) != 1 {
			t.Fatalf("%v replaced it, want one", won)
		}
		expectKeys(t, s, ended(key("a", 0), at(9), holdfast.KeyID(won[0])), key(won[0], 1))
	},

	"only a key that has ended is deleted": func(t *testing.T, s Store) {
		addKeys(t, s, key("a", 0), ended(key("b", 1), at(10), ""))
		expectCode(t, s.DeleteKey(t.Context(), "a", at(20)), holdfast.ErrConflict)
		expectCode(t, s.DeleteKey(t.Context(), "b", at(9)), holdfast.ErrConflict)
		expectKeys(t, s, key("a", 0), ended(key("b", 1), at(10), ""))
		expectCode(t, s.DeleteKey(t.Context(), "b", at(10)), "")
		expectKeys(t, s, key("a", 0))
		addKeys(t, s, key("b", 3)) // its id is free again
		expectKeys(t, s, key("a", 0), key("b", 3))
	},

	"a key that is not there is not found": func(t *testing.T, s Store) {
		addKeys(t, s, key("a", 0))
		_, err := s.RevokeKey(t.Context(), "b", at(1))
		expectCode(t, err, holdfast.ErrNotFound)
		expectCode(t, s.ReplaceKey(t.Context(), "b", key("c", 1), at(1)), holdfast.ErrNotFound)
		expectCode(t, s.DeleteKey(t.Context(), "b", at(1)), holdfast.ErrNotFound)
		expectKeys(t, s, key("a", 0))
	},

	"a caller that gave up writes no key": func(t *testing.T, s Store) {
		addKeys(t, s, ended(key("a", 0), at(9), ""))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.RevokeKey(ctx, "a", at(1))
		expectCode(t, err, holdfast.ErrUnavailable)
		expectCode(t, s.AddKey(ctx, key("b", 0)), holdfast.ErrUnavailable)
		expectCode(t, s.ReplaceKey(ctx, "a", key("b", 0), at(1)), holdfast.ErrUnavailable)
		expectCode(t, s.DeleteKey(ctx, "a", at(10)), holdfast.ErrUnavailable)
		expectKeys(t, s, ended(key("a", 0), at(9), ""))
	},
}
