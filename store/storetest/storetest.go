// Package storetest is the conformance suite of stores: every law of package
// store and every method, on whatever implements them. A new store is done
// when Run passes under the race detector.
package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// Store is all that a store implements.
type Store interface {
	store.Writer
	store.Reader
	store.Keeper
	store.Sweeper
	store.Conversations
	store.Keys
	store.Attempts
	store.Claims
	store.Secrets
	store.Audit
}

// Run checks a store. Open returns a new, empty one for each test and closes
// it at its end.
func Run(t *testing.T, open func(t *testing.T) Store) {
	groups := []map[string]func(*testing.T, Store){writing, refusing, reading, keeping, conversing, streaming, holding, keying, counting, claiming, auditing, editing}
	for _, tests := range groups {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) { test(t, open(t)) })
		}
	}
}

// stranger is a second principal.
const stranger holdfast.Principal = "stranger"

// at is a moment n seconds into the test's time.
func at(n int) time.Time { return time.Date(2026, 3, 1, 12, 0, n, 0, time.UTC) }

// session is a new session with the key of its id.
func session(id string) store.Session {
	return store.Session{
		ID: holdfast.SessionID(id), Principal: holdfast.Local, Agent: "claude-code", Key: "key-" + id,
		CreatedAt: at(0), UsedAt: at(0),
	}
}

// known is the same session as a later batch names it.
func known(s store.Session, used time.Time) store.Session {
	s.CreatedAt, s.UsedAt = time.Time{}, used
	return s
}

// branch is a branch made and used n seconds into the test's time.
func branch(s store.Session, id string, n int) store.Branch {
	return store.Branch{ID: holdfast.BranchID(id), Session: s.ID, CreatedAt: at(n), UsedAt: at(n)}
}

func revision(b string, n int, capsule string) store.Revision {
	return store.Revision{
		Branch: holdfast.BranchID(b), N: n, Digest: "sha256:" + capsule,
		Capsule: fmt.Appendf(nil, `{"revision":%d,"branch":%q,"plan":%q}`, n, b, capsule), At: at(n),
	}
}

// anchors are strong anchors of one epoch, from position seq on.
func anchors(b string, epoch, seq int, texts ...string) []store.Anchor {
	var list []store.Anchor
	for i, text := range texts {
		list = append(list, store.Anchor{
			Branch: holdfast.BranchID(b), Epoch: epoch, Seq: seq + i, Digest: digest(text), Strong: true,
		})
	}
	return list
}

func digest(text string) holdfast.Digest { return holdfast.DigestOf(text) }

// apply writes batches that must all be accepted.
func apply(t *testing.T, s Store, batches ...store.Batch) {
	t.Helper()
	for i, err := range s.Apply(t.Context(), batches) {
		if err != nil {
			t.Fatalf("batch %d was refused: %v", i, err)
		}
	}
}

// codes are the codes of errors, "" for nil.
func codes(errs []error) []holdfast.Code {
	var list []holdfast.Code
	for _, err := range errs {
		list = append(list, code(err))
	}
	return list
}

func code(err error) holdfast.Code {
	if err == nil {
		return ""
	}
	return holdfast.CodeOf(err)
}

// expect compares a result with what the contract says. Nil and empty lists
// are the same; times must be equal and in UTC.
func expect[T any](t *testing.T, got, want T) {
	t.Helper()
	// Long texts are compared at once and not byte by byte.
	texts := cmp.FilterValues(func(a, b []byte) bool { return len(a)+len(b) > 0 }, cmp.Comparer(bytes.Equal))
	utc := cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) && a.Location() == b.Location() })
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), utc, texts); diff != "" {
		t.Errorf("want (-) and got (+) differ:\n%s", diff)
	}
}

// expectCode compares the code of an error.
func expectCode(t *testing.T, err error, want holdfast.Code) {
	t.Helper()
	if code(err) != want {
		t.Errorf("got error %v with code %q, want code %q", err, code(err), want)
	}
}

// expectState compares what is stored of a session, as all ways to read it
// show it.
func expectState(t *testing.T, s Store, want store.SessionState) {
	t.Helper()
	loaded, err := s.Load(t.Context(), want.Principal, want.ID)
	if err != nil {
		t.Errorf("Load: %v", err)
	}
	expect(t, loaded, want)
	byKey, err := s.Session(t.Context(), want.Principal, want.Agent, want.Key)
	if err != nil {
		t.Errorf("Session: %v", err)
	}
	expect(t, byKey, outline(want))
	byID, err := s.Outline(t.Context(), want.Principal, want.ID)
	if err != nil {
		t.Errorf("Outline: %v", err)
	}
	expect(t, byID, outline(want))
	for _, b := range want.Branches {
		for _, r := range b.Revisions {
			got, err := s.Revision(t.Context(), want.Principal, b.ID, r.N)
			if err != nil {
				t.Errorf("Revision %d of %s: %v", r.N, b.ID, err)
			}
			expect(t, got, r)
		}
	}
}

// outline is a state without what only a whole one has.
func outline(state store.SessionState) store.SessionState {
	state.Branches = slices.Clone(state.Branches)
	for i := range state.Branches {
		b := &state.Branches[i]
		b.Revisions = slices.Clone(b.Revisions)
		for j := range b.Revisions {
			b.Revisions[j].Capsule, b.Revisions[j].At = nil, time.Time{}
		}
	}
	return state
}

// found are the hits for texts.
func found(t *testing.T, s store.Reader, p holdfast.Principal, texts ...string) []store.Hit {
	t.Helper()
	var digests []holdfast.Digest
	for _, text := range texts {
		digests = append(digests, digest(text))
	}
	hits, err := s.Find(t.Context(), p, digests)
	if err != nil {
		t.Fatalf("Find: %v", err)
	}
	return hits
}

// snapshot is all that a principal can see.
func snapshot(t *testing.T, s Store, p holdfast.Principal) []store.SessionState {
	t.Helper()
	list, err := s.Sessions(t.Context(), p)
	if err != nil {
		t.Fatalf("Sessions: %v", err)
	}
	var all []store.SessionState
	for _, info := range list {
		state, err := s.Load(t.Context(), p, info.ID)
		if err != nil {
			t.Fatalf("Load %s: %v", info.ID, err)
		}
		all = append(all, state)
	}
	return all
}
