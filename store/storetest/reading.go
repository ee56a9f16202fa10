package storetest

import (
	"fmt"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// hit is the hit for a strong anchor.
func hit(s, b string, epoch, seq int, text string) store.Hit {
	return store.Hit{Session: holdfast.SessionID(s), Anchor: anchors(b, epoch, seq, text)[0]}
}

var reading = map[string]func(*testing.T, Store){
	"an empty store finds nothing": func(t *testing.T, s Store) {
		_, err := s.Session(t.Context(), holdfast.Local, "claude-code", "key")
		expectCode(t, err, holdfast.ErrNotFound)
		_, err = s.Load(t.Context(), holdfast.Local, "s1")
		expectCode(t, err, holdfast.ErrNotFound)
		_, err = s.Outline(t.Context(), holdfast.Local, "s1")
		expectCode(t, err, holdfast.ErrNotFound)
		_, err = s.Heads(t.Context(), holdfast.Local, "claude-code", "key")
		expectCode(t, err, holdfast.ErrNotFound)
		_, err = s.Revision(t.Context(), holdfast.Local, "b1", 1)
		expectCode(t, err, holdfast.ErrNotFound)
		_, err = s.FindBlock(t.Context(), holdfast.Local, "sha256:block")
		expectCode(t, err, holdfast.ErrNotFound)
		expect(t, found(t, s, holdfast.Local, "call 1"), nil)
		expect(t, found(t, s, holdfast.Local), nil)
	},

	"no read crosses principals": func(t *testing.T, s Store) {
		b, want := full()
		apply(t, s, b)
		for _, p := range []holdfast.Principal{stranger, ""} {
			_, err := s.Session(t.Context(), p, b.Session.Agent, b.Session.Key)
			expectCode(t, err, holdfast.ErrNotFound)
			_, err = s.Load(t.Context(), p, b.Session.ID)
			expectCode(t, err, holdfast.ErrNotFound)
			_, err = s.Outline(t.Context(), p, b.Session.ID)
			expectCode(t, err, holdfast.ErrNotFound)
			_, err = s.Heads(t.Context(), p, b.Session.Agent, b.Session.Key)
			expectCode(t, err, holdfast.ErrNotFound)
			_, err = s.Revision(t.Context(), p, "b1", 1)
			expectCode(t, err, holdfast.ErrNotFound)
			expect(t, found(t, s, p, "call 1", "call 3"), nil)
			_, err = s.FindBlock(t.Context(), p, "sha256:block")
			expectCode(t, err, holdfast.ErrNotFound)
			list, err := s.Sessions(t.Context(), p)
			expectCode(t, err, "")
			expect(t, list, nil)
			expectCode(t, s.Remove(t.Context(), p, b.Session.ID), holdfast.ErrNotFound)
		}
		expectState(t, s, want)
	},

	"a session is found by agent and key together": func(t *testing.T, s Store) {
		apply(t, s, store.Batch{Session: session("s1")})
		_, err := s.Session(t.Context(), holdfast.Local, "codex", "key-s1")
		expectCode(t, err, holdfast.ErrNotFound)
		_, err = s.Session(t.Context(), holdfast.Local, "claude-code", "key-s2")
		expectCode(t, err, holdfast.ErrNotFound)
	},

	"only strong anchors are found, in the order asked, once each": func(t *testing.T, s Store) {
		b, _ := full() // "call 2" is weak
		apply(t, s, b)
		expect(t, found(t, s, holdfast.Local, "call 3", "unknown", "call 2", "call 1", "call 3"), []store.Hit{
			hit("s1", "b1", 1, 0, "call 3"), hit("s1", "b1", 0, 0, "call 1"),
		})
	},

	"heads tell the newest epoch and revision, and when the compaction that closes that epoch was committed": func(t *testing.T, s Store) {
		first := session("s1")
		closed, open, failed, empty := branch(first, "a", 1), branch(first, "b", 2), branch(first, "c", 3), branch(first, "d", 4)
		closed.Epoch, open.Epoch, failed.Epoch = 2, 2, 1
		ended := func(id string, b store.Branch, epoch int, status store.BoundaryStatus, n int) store.Boundary {
			return store.Boundary{ID: holdfast.BoundaryID(id), Branch: b.ID, Epoch: epoch, Status: status, At: at(n)}
		}
		apply(t, s, store.Batch{
			Session: first, Branches: []store.Branch{empty, failed, open, closed},
			Revisions: []store.Revision{revision("a", 9, "x"), revision("a", 10, "y"), revision("a", 2, "z"), revision("b", 1, "x")},
			Boundaries: []store.Boundary{
				ended("z", closed, 2, store.BoundaryCommitted, 20),
				ended("y", closed, 2, store.BoundaryCommitted, 21),
				ended("x", closed, 2, store.BoundaryStarted, 22),
				ended("w", closed, 1, store.BoundaryCommitted, 23),
				ended("v", open, 1, store.BoundaryCommitted, 24),
				ended("u", failed, 1, store.BoundaryFailed, 25),
			},
		})
		got, err := s.Heads(t.Context(), holdfast.Local, first.Agent, first.Key)
		expectCode(t, err, "")
		expect(t, got, []store.Head{
			{Branch: "a", Epoch: 2, Revision: 10, Committed: at(21)},
			{Branch: "b", Epoch: 2, Revision: 1},
			{Branch: "c", Epoch: 1},
			{Branch: "d"},
		})
	},

	"of a branch only the revisions that it has are read": func(t *testing.T, s Store) {
		b, _ := full() // b1 has 1 and 2, a2 none
		apply(t, s, b)
		for _, r := range []store.Revision{{Branch: "b1", N: 0}, {Branch: "b1", N: 3}, {Branch: "a2", N: 1}} {
			_, err := s.Revision(t.Context(), holdfast.Local, r.Branch, r.N)
			expectCode(t, err, holdfast.ErrNotFound)
		}
	},

	"a hit carries the revision of its anchor": func(t *testing.T, s Store) {
		first := session("s1")
		a := anchors("b1", 2, 0, "call")
		a[0].Revision = 7
		apply(t, s, store.Batch{Session: first, Branches: []store.Branch{branch(first, "b1", 1)}, Anchors: a})
		expect(t, found(t, s, holdfast.Local, "call"), []store.Hit{{Session: "s1", Anchor: a[0]}})
	},

	"the newest hit is that of the branch used last, whatever was written last": func(t *testing.T, s Store) {
		one, two := session("s1"), session("s2")
		older, newer := branch(one, "z", 1), branch(two, "a", 2)
		apply(t, s,
			store.Batch{Session: two, Branches: []store.Branch{newer}, Anchors: anchors("a", 0, 0, "shared")},
			store.Batch{Session: one, Branches: []store.Branch{older}, Anchors: anchors("z", 5, 0, "x", "shared")},
		)
		expect(t, found(t, s, holdfast.Local, "shared"), []store.Hit{hit("s2", "a", 0, 0, "shared")})

		older.UsedAt = at(3)
		apply(t, s, store.Batch{Session: known(one, at(3)), Branches: []store.Branch{older}})
		expect(t, found(t, s, holdfast.Local, "shared"), []store.Hit{hit("s1", "z", 5, 1, "shared")})
	},

	"of branches used at the same time the one made last has the newest hit, then the one of the greater id": func(t *testing.T, s Store) {
		first := session("s1")
		branches := []store.Branch{branch(first, "a", 3), branch(first, "b", 2), branch(first, "c", 2)}
		for i := range branches {
			branches[i].UsedAt = at(9)
		}
		history := append(anchors("a", 0, 0, "shared"), anchors("b", 0, 0, "shared", "two")...)
		history = append(history, anchors("c", 0, 0, "shared", "two")...)
		apply(t, s, store.Batch{Session: first, Branches: branches, Anchors: history})
		expect(t, found(t, s, holdfast.Local, "shared", "two"), []store.Hit{
			hit("s1", "a", 0, 0, "shared"), hit("s1", "c", 0, 1, "two"),
		})
	},

	"inside a branch the newest hit is the last of the last epoch": func(t *testing.T, s Store) {
		first := session("s1")
		history := append(anchors("b1", 1, 0, "x", "again", "again", "y"), anchors("b1", 0, 0, "a", "b", "c", "d", "again")...)
		apply(t, s, store.Batch{Session: first, Branches: []store.Branch{branch(first, "b1", 1)}, Anchors: history})
		expect(t, found(t, s, holdfast.Local, "again"), []store.Hit{hit("s1", "b1", 1, 2, "again")})
	},

	"a newer hit of another principal hides none": func(t *testing.T, s Store) {
		first := session("s1")
		b := theirs() // has "new", used at 40
		apply(t, s, b, store.Batch{
			Session: first, Branches: []store.Branch{branch(first, "b1", 1)}, Anchors: anchors("b1", 0, 0, "new"),
		})
		expect(t, found(t, s, holdfast.Local, "new"), []store.Hit{hit("s1", "b1", 0, 0, "new")})
		expect(t, found(t, s, stranger, "new"), []store.Hit{hit("theirs", "their branch", 0, 0, "new")})
	},

	"a history of thousands of anchors is looked up in one call": func(t *testing.T, s Store) {
		const n = 2100
		first := session("s1")
		var texts []string
		var want []store.Hit
		for i := range n {
			texts = append(texts, fmt.Sprint("call ", i))
			want = append(want, hit("s1", "b1", 0, i, texts[i]))
		}
		apply(t, s, store.Batch{Session: first, Branches: []store.Branch{branch(first, "b1", 1)}, Anchors: anchors("b1", 0, 0, texts...)})
		expect(t, found(t, s, holdfast.Local, texts...), want)
	},

	"a delivered block is found with its branch, epoch and revision, the newest of several": func(t *testing.T, s Store) {
		one, two := session("s1"), session("s2")
		older := store.Boundary{ID: "z", Branch: "b1", Epoch: 1, Status: store.BoundaryCommitted, Revision: 3, Block: "sha256:k", At: at(1)}
		newer := store.Boundary{ID: "a", Branch: "b2", Epoch: 2, Status: store.BoundaryStarted, Revision: 4, Block: "sha256:k", At: at(2)}
		failed := store.Boundary{ID: "f", Branch: "b1", Epoch: 5, Status: store.BoundaryFailed, Revision: 5, Block: "sha256:k", At: at(3)}
		none := store.Boundary{ID: "n", Branch: "b1", Epoch: 6, Status: store.BoundaryCommitted, At: at(4)}
		apply(t, s,
			store.Batch{Session: two, Branches: []store.Branch{branch(two, "b2", 1)}, Boundaries: []store.Boundary{newer}},
			store.Batch{Session: one, Branches: []store.Branch{branch(one, "b1", 1)}, Boundaries: []store.Boundary{older, failed, none}},
		)
		got, err := s.FindBlock(t.Context(), holdfast.Local, "sha256:k")
		expectCode(t, err, "")
		expect(t, got, store.Hit{Session: "s2", Anchor: store.Anchor{Branch: "b2", Epoch: 2, Revision: 4}})

		_, err = s.FindBlock(t.Context(), holdfast.Local, "")
		expectCode(t, err, holdfast.ErrNotFound)
	},

	"a block that only a failed compaction carried is not found": func(t *testing.T, s Store) {
		first := session("s1")
		apply(t, s, store.Batch{
			Session: first, Branches: []store.Branch{branch(first, "b1", 1)},
			Boundaries: []store.Boundary{{ID: "f", Branch: "b1", Status: store.BoundaryFailed, Block: "sha256:k", At: at(1)}},
		})
		_, err := s.FindBlock(t.Context(), holdfast.Local, "sha256:k")
		expectCode(t, err, holdfast.ErrNotFound)
	},

	"branches made at the same time come in the order of their ids, boundaries likewise": func(t *testing.T, s Store) {
		first := session("s1")
		a, b := branch(first, "a", 1), branch(first, "b", 1)
		x, y := store.Boundary{ID: "x", Branch: "a", At: at(1)}, store.Boundary{ID: "y", Branch: "a", At: at(1)}
		apply(t, s, store.Batch{Session: first, Branches: []store.Branch{b, a}, Boundaries: []store.Boundary{y, x}})
		expectState(t, s, store.SessionState{Session: first, Branches: []store.BranchState{
			{Branch: a, Boundaries: []store.Boundary{x, y}}, {Branch: b},
		}})
	},
}
