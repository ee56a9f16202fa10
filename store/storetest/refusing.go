package storetest

import (
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// refused applies batches of which the first prepares and is accepted, the
// second is refused with want, and the third is written all the same.
func refused(t *testing.T, s Store, prepare, refuse store.Batch, want holdfast.Code) {
	t.Helper()
	apply(t, s, prepare)
	before := snapshot(t, s, holdfast.Local)
	beforeStranger := snapshot(t, s, stranger)

	errs := s.Apply(t.Context(), []store.Batch{refuse})
	expect(t, codes(errs), []holdfast.Code{want})
	expect(t, snapshot(t, s, holdfast.Local), before)
	expect(t, snapshot(t, s, stranger), beforeStranger)

	other, last := session("other"), session("last")
	errs = s.Apply(t.Context(), []store.Batch{{Session: other}, refuse, {Session: last}})
	expect(t, codes(errs), []holdfast.Code{"", want, ""})
	expectState(t, s, store.SessionState{Session: other})
	expectState(t, s, store.SessionState{Session: last})
	after := slices.DeleteFunc(snapshot(t, s, holdfast.Local), func(state store.SessionState) bool {
		return state.ID == other.ID || state.ID == last.ID
	})
	expect(t, after, before)
	expect(t, snapshot(t, s, stranger), beforeStranger)
}

// spoilt is a batch of a session with good rows of every kind, each of them
// new, to be spoilt by the caller.
func spoilt(s store.Session) store.Batch {
	s.UsedAt = at(40)
	return store.Batch{
		Session:    s,
		Branches:   []store.Branch{branch(s, "new", 40)},
		Epochs:     []store.Epoch{{Branch: "new", OpenedAt: at(40)}},
		Anchors:    anchors("new", 0, 0, "new"),
		Revisions:  []store.Revision{revision("new", 1, "new")},
		Boundaries: []store.Boundary{{ID: "new", Branch: "new", Status: store.BoundaryStarted, At: at(40)}},
	}
}

// theirs is a session of the second principal with a row of every kind.
func theirs() store.Batch {
	s := session("theirs")
	s.Principal = stranger
	b := spoilt(s)
	b.Branches[0].ID, b.Epochs[0].Branch, b.Anchors[0].Branch = "their branch", "their branch", "their branch"
	b.Revisions = []store.Revision{revision("their branch", 1, "their plan")}
	b.Boundaries[0].ID, b.Boundaries[0].Branch = "their boundary", "their branch"
	return b
}

var refusing = map[string]func(*testing.T, Store){
	"another content under a revision number is a conflict and nothing of its batch is written": func(t *testing.T, s Store) {
		b, _ := full()
		bad := spoilt(b.Session)
		bad.Revisions = append(bad.Revisions, revision("b1", 2, "another"))
		refused(t, s, b, bad, holdfast.ErrConflict)
	},

	"a revision that differs in its digest, epoch, position or capsule alone is another content": func(t *testing.T, s Store) {
		b, want := full()
		apply(t, s, b)
		changes := []func(*store.Revision){
			func(r *store.Revision) { r.Digest += "!" },
			func(r *store.Revision) { r.Epoch++ },
			func(r *store.Revision) { r.Seq++ },
			func(r *store.Revision) { r.Capsule = append(r.Capsule, ' ') },
		}
		var batches []store.Batch
		var conflicts []holdfast.Code
		for _, change := range changes {
			r := want.Branches[0].Revisions[0]
			change(&r)
			batches = append(batches, store.Batch{Session: known(b.Session, at(1)), Revisions: []store.Revision{r}})
			conflicts = append(conflicts, holdfast.ErrConflict)
		}
		expect(t, codes(s.Apply(t.Context(), batches)), conflicts)
		_, want = full()
		expectState(t, s, want)
	},

	"a branch in an epoch that it has left is a conflict": func(t *testing.T, s Store) {
		b, _ := full()
		left := b.Branches[0]
		b.Branches[0].Epoch++
		bad := spoilt(b.Session)
		bad.Branches = append(bad.Branches, left)
		refused(t, s, b, bad, holdfast.ErrConflict)
	},

	"two contents under one revision number in one batch are a conflict": func(t *testing.T, s Store) {
		b, _ := full()
		bad := spoilt(b.Session)
		bad.Revisions = append(bad.Revisions, revision("new", 1, "another"))
		refused(t, s, b, bad, holdfast.ErrConflict)
	},

	"a refused batch does not create its session": func(t *testing.T, s Store) {
		b, _ := full()
		bad := spoilt(session("s2"))
		bad.Revisions = append(bad.Revisions, revision("new", 1, "another"))
		refused(t, s, b, bad, holdfast.ErrConflict)
	},

	"a batch for a session that was never written is not found": func(t *testing.T, s Store) {
		b, _ := full()
		bad := spoilt(session("s2"))
		bad.Session = known(bad.Session, at(1))
		refused(t, s, b, bad, holdfast.ErrNotFound)
	},

	"a batch for a session that was removed is not found, also when it would create it": func(t *testing.T, s Store) {
		gone := session("gone")
		apply(t, s, store.Batch{Session: gone})
		if err := s.Remove(t.Context(), holdfast.Local, "gone"); err != nil {
			t.Fatal(err)
		}
		b, _ := full()
		refused(t, s, b, spoilt(gone), holdfast.ErrNotFound)
		bad := spoilt(gone)
		bad.Session = known(gone, at(1))
		expect(t, codes(s.Apply(t.Context(), []store.Batch{bad})), []holdfast.Code{holdfast.ErrNotFound})
	},

	"a batch for a session that has expired is not found": func(t *testing.T, s Store) {
		old := session("old")
		apply(t, s, store.Batch{Session: old})
		if _, err := s.Expire(t.Context(), at(1)); err != nil {
			t.Fatal(err)
		}
		b, _ := full()
		refused(t, s, b, spoilt(old), holdfast.ErrNotFound)
	},

	"a batch for a session of another principal is not found": func(t *testing.T, s Store) {
		b := theirs()
		bad := spoilt(b.Session)
		bad.Session.Principal = holdfast.Local
		refused(t, s, b, bad, holdfast.ErrNotFound)
	},

	"a new session under a key that is taken is a conflict": func(t *testing.T, s Store) {
		b, _ := full()
		bad := spoilt(session("s2"))
		bad.Session.Key = b.Session.Key
		refused(t, s, b, bad, holdfast.ErrConflict)
	},

	"one key is free for another agent, another principal, and after a removal": func(t *testing.T, s Store) {
		first, agent, principal, again := session("s1"), session("s2"), session("s3"), session("s4")
		agent.Key, principal.Key, again.Key = first.Key, first.Key, first.Key
		agent.Agent, principal.Principal = "", stranger
		apply(t, s, store.Batch{Session: first}, store.Batch{Session: agent}, store.Batch{Session: principal})
		if err := s.Remove(t.Context(), holdfast.Local, first.ID); err != nil {
			t.Fatal(err)
		}
		apply(t, s, store.Batch{Session: again})
		for _, want := range []store.Session{agent, principal, again} {
			expectState(t, s, store.SessionState{Session: want})
		}
	},

	"a branch that names another session is a conflict": func(t *testing.T, s Store) {
		b, _ := full()
		bad := spoilt(b.Session)
		bad.Branches[0].Session = "s2"
		refused(t, s, b, bad, holdfast.ErrConflict)
	},

	"a branch of another session cannot be taken": func(t *testing.T, s Store) {
		bad := spoilt(session("s2"))
		bad.Branches = append(bad.Branches, branch(bad.Session, "their branch", 40))
		refused(t, s, theirs(), bad, holdfast.ErrConflict)
	},

	"an epoch of a branch of another session is a conflict": func(t *testing.T, s Store) {
		bad := spoilt(session("s2"))
		bad.Epochs = append(bad.Epochs, store.Epoch{Branch: "their branch"})
		refused(t, s, theirs(), bad, holdfast.ErrConflict)
	},

	"an anchor of a branch of another session is a conflict": func(t *testing.T, s Store) {
		bad := spoilt(session("s2"))
		bad.Anchors = append(bad.Anchors, anchors("their branch", 0, 0, "mine")...)
		refused(t, s, theirs(), bad, holdfast.ErrConflict)
	},

	"a revision of a branch of another session is a conflict, also with the same content": func(t *testing.T, s Store) {
		bad := spoilt(session("s2"))
		bad.Revisions = append(bad.Revisions, revision("their branch", 1, "their plan"))
		refused(t, s, theirs(), bad, holdfast.ErrConflict)
	},

	"a boundary of a branch of another session is a conflict": func(t *testing.T, s Store) {
		bad := spoilt(session("s2"))
		bad.Boundaries = append(bad.Boundaries, store.Boundary{ID: "mine", Branch: "their branch"})
		refused(t, s, theirs(), bad, holdfast.ErrConflict)
	},

	"a boundary of another session cannot be taken": func(t *testing.T, s Store) {
		bad := spoilt(session("s2"))
		bad.Boundaries = append(bad.Boundaries, store.Boundary{ID: "their boundary", Branch: "new"})
		refused(t, s, theirs(), bad, holdfast.ErrConflict)
	},

	"a boundary stays with its branch, also inside one batch": func(t *testing.T, s Store) {
		b, _ := full() // boundary y is one of b1
		bad := spoilt(b.Session)
		bad.Boundaries = append(bad.Boundaries, store.Boundary{ID: "y", Branch: "new"})
		refused(t, s, b, bad, holdfast.ErrConflict)

		bad = spoilt(b.Session)
		bad.Boundaries = append(bad.Boundaries, store.Boundary{ID: "new", Branch: "b1"})
		expect(t, codes(s.Apply(t.Context(), []store.Batch{bad})), []holdfast.Code{holdfast.ErrConflict})
	},

	"a row of a branch that was never written is a conflict": func(t *testing.T, s Store) {
		b, _ := full()
		bad := spoilt(b.Session)
		bad.Anchors = append(bad.Anchors, anchors("nowhere", 0, 0, "x")...)
		refused(t, s, b, bad, holdfast.ErrConflict)
	},
}
