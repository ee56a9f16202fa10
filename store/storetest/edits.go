package storetest

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// edits reads edits behind a sequence number, without these, and checks that they
// grow.
func edits(t *testing.T, s Store, after int64) (list []store.Edit, last int64) {
	t.Helper()
	list, err := s.Edits(t.Context(), after)
	if err != nil {
		t.Fatalf("Edits: %v", err)
	}
	last = after
	for i := range list {
		if list[i].Seq <= last {
			t.Errorf("edit %d comes behind %d", list[i].Seq, last)
		}
		last, list[i].Seq = list[i].Seq, 0
	}
	return list, last
}

// made is a revision that was made on the one before it.
func made(b string, n int, capsule, before string) store.Revision {
	r := revision(b, n, capsule)
	r.After = "sha256:" + before
	return r
}

var editing = map[string]func(*testing.T, Store){
	"edits are listed once, in their order, and marked among the revisions": func(t *testing.T, s Store) {
		a, b := session("a"), session("b")
		apply(t, s,
			store.Batch{Session: a, Branches: []store.Branch{branch(a, "a1", 1)}, Revisions: []store.Revision{revision("a1", 1, "x")}},
			store.Batch{Session: b, Branches: []store.Branch{branch(b, "b1", 1)}},
		)
		list, last := edits(t, s, 0)
		expect(t, list, nil)
		second, first := made("a1", 2, "y", "x"), revision("b1", 1, "z")
		second.Edit, first.Edit = true, true
		apply(t, s, store.Batch{Session: known(b, at(2)), Revisions: []store.Revision{first}})
		apply(t, s, store.Batch{Session: known(a, at(2)), Revisions: []store.Revision{second}})
		list, next := edits(t, s, last)
		expect(t, list, []store.Edit{{Session: "b", Branch: "b1", Revision: 1}, {Session: "a", Branch: "a1", Revision: 2}})

		second.Edit = false // a server that read it writes it again
		apply(t, s, store.Batch{Session: known(a, at(3)), Revisions: []store.Revision{second}})
		list, _ = edits(t, s, next)
		expect(t, list, nil)
		state, err := s.Load(t.Context(), holdfast.Local, "a")
		if err != nil {
			t.Fatal(err)
		}
		want := revision("a1", 2, "y")
		want.Edit = true
		expect(t, state.Branches[0].Revisions, []store.Revision{revision("a1", 1, "x"), want})
	},

	"edits go with their session, and their numbers are not used again": func(t *testing.T, s Store) {
		a, b := session("a"), session("b")
		one, two := revision("a1", 1, "x"), revision("b1", 1, "x")
		one.Edit, two.Edit = true, true
		apply(t, s, store.Batch{Session: a, Branches: []store.Branch{branch(a, "a1", 1)}, Revisions: []store.Revision{one}})
		_, last := edits(t, s, 0)
		if err := s.Remove(t.Context(), holdfast.Local, "a"); err != nil {
			t.Fatal(err)
		}
		list, _ := edits(t, s, 0)
		expect(t, list, nil)
		apply(t, s, store.Batch{Session: b, Branches: []store.Branch{branch(b, "b1", 1)}, Revisions: []store.Revision{two}})
		list, _ = edits(t, s, last)
		expect(t, list, []store.Edit{{Session: "b", Branch: "b1", Revision: 1}})
	},

	"a refused edit is none": func(t *testing.T, s Store) {
		a := session("a")
		apply(t, s, store.Batch{Session: a, Branches: []store.Branch{branch(a, "a1", 1)}, Revisions: []store.Revision{revision("a1", 1, "x")}})
		taken := revision("a1", 1, "other")
		taken.Edit = true
		errs := s.Apply(t.Context(), []store.Batch{{Session: known(a, at(2)), Revisions: []store.Revision{taken}}})
		expect(t, codes(errs), []holdfast.Code{holdfast.ErrConflict})
		list, _ := edits(t, s, 0)
		expect(t, list, nil)
	},

	"a revision that was made on another one than the stored is refused": func(t *testing.T, s Store) {
		a := session("a")
		apply(t, s, store.Batch{Session: a, Branches: []store.Branch{branch(a, "a1", 1)}, Revisions: []store.Revision{revision("a1", 1, "x")}})
		var errs []error
		for _, b := range []store.Batch{
			{Session: known(a, at(2)), Revisions: []store.Revision{made("a1", 2, "y", "mine")}},
			{Session: known(a, at(2)), Revisions: []store.Revision{made("a1", 3, "z", "y"), made("a1", 2, "y", "mine")}},
			{Session: known(a, at(2)), Revisions: []store.Revision{made("a1", 3, "z", "y"), made("a1", 2, "y", "x")}},
			{Session: known(a, at(2)), Revisions: []store.Revision{made("a1", 4, "v", "y")}},
			// What is there already, and what stands behind a gap, is not checked.
			{Session: known(a, at(2)), Revisions: []store.Revision{made("a1", 3, "z", "elsewhere"), made("a1", 7, "v", "elsewhere")}},
		} {
			errs = append(errs, s.Apply(t.Context(), []store.Batch{b})...)
		}
		expect(t, codes(errs), []holdfast.Code{holdfast.ErrConflict, holdfast.ErrConflict, "", holdfast.ErrConflict, ""})
		state, err := s.Load(t.Context(), holdfast.Local, "a")
		if err != nil {
			t.Fatal(err)
		}
		expect(t, state.Branches[0].Revisions, []store.Revision{
			revision("a1", 1, "x"), revision("a1", 2, "y"), revision("a1", 3, "z"), revision("a1", 7, "v"),
		})
	},

	"behind a batch that is refused those of its session are refused too": func(t *testing.T, s Store) {
		a, b := session("a"), session("b")
		apply(t, s, store.Batch{Session: a, Branches: []store.Branch{branch(a, "a1", 1)}, Revisions: []store.Revision{revision("a1", 1, "x")}})
		again := store.Batch{Session: known(a, at(3)), Anchors: anchors("a1", 0, 0, "y")}
		errs := s.Apply(t.Context(), []store.Batch{
			{Session: known(a, at(2)), Revisions: []store.Revision{revision("a1", 1, "other")}},
			{Session: b},
			again,
		})
		expect(t, codes(errs), []holdfast.Code{holdfast.ErrConflict, "", holdfast.ErrConflict})
		apply(t, s, again)
	},
}
