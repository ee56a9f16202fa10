package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// full is a batch with a row of every kind, and the state it leaves.
func full() (store.Batch, store.SessionState) {
	s := session("s1")
	s.UsedAt = at(9)
	older := store.Branch{
		ID: "b1", Session: "s1", Thread: "sub-agent", Parent: "elsewhere", ParentRevision: 4, Epoch: 1,
		CreatedAt: at(1), UsedAt: at(8),
	}
	newer := branch(s, "a2", 2)
	epochs := []store.Epoch{
		{Branch: "b1", N: 0, OpenedAt: at(1)},
		{Branch: "b1", N: 1, Evidence: digest("summary"), Revision: 1, Block: "the plan\x00\nwith \"quotes\" é", OpenedAt: at(5)},
	}
	history := append(anchors("b1", 0, 0, "call 1", "call 2"), anchors("b1", 1, 0, "call 3")...)
	history[1].Strong, history[1].Revision = false, 1
	revisions := []store.Revision{
		{Branch: "b1", N: 1, Epoch: 0, Seq: 2, Digest: "sha256:x", Capsule: []byte("{\"a\" : 1.0}\n"), At: at(3)},
		{Branch: "b1", N: 2, Epoch: 1, Seq: 0, Digest: "sha256:y", Capsule: []byte(`{"a":2}`), At: at(6)},
	}
	boundaries := []store.Boundary{
		{ID: "z", Branch: "b1", Epoch: 0, Row: "claude-code/auto", Status: store.BoundaryFailed, At: at(4)},
		{
			ID: "y", Branch: "b1", Epoch: 0, Row: "claude-code/auto", Status: store.BoundaryCommitted, Revision: 1,
			Summary: digest("summary"), Block: "sha256:block", At: at(5),
		},
	}
	b := store.Batch{
		Session: s, Branches: []store.Branch{newer, older}, Epochs: []store.Epoch{epochs[1], epochs[0]}, Anchors: history,
		Revisions: []store.Revision{revisions[1], revisions[0]}, Boundaries: []store.Boundary{boundaries[1], boundaries[0]},
	}
	return b, store.SessionState{Session: s, Branches: []store.BranchState{
		{Branch: older, Epochs: epochs, Anchors: history, Revisions: revisions, Boundaries: boundaries},
		{Branch: newer},
	}}
}

var writing = map[string]func(*testing.T, Store){
	"a batch with rows of every kind comes back whole, each list in its order": func(t *testing.T, s Store) {
		b, want := full()
		apply(t, s, b)
		expectState(t, s, want)
	},

	"a call without batches returns no errors": func(t *testing.T, s Store) {
		expect(t, s.Apply(t.Context(), nil), nil)
	},

	"a batch that is applied again changes nothing": func(t *testing.T, s Store) {
		b, want := full()
		apply(t, s, b)
		apply(t, s, b)
		expectState(t, s, want)
		apply(t, s, b, b)
		expectState(t, s, want)
	},

	"a revision that is written again at another time keeps its first time": func(t *testing.T, s Store) {
		b, want := full()
		apply(t, s, b)
		for i := range b.Revisions {
			b.Revisions[i].At = at(50)
		}
		apply(t, s, b)
		expectState(t, s, want)
	},

	"rows replace older rows of the same key": func(t *testing.T, s Store) {
		b, want := full()
		apply(t, s, b)
		state := &want.Branches[0]
		state.Branch = store.Branch{
			ID: "b1", Session: "s1", Thread: "t2", Parent: "p2", ParentRevision: 5, Epoch: 2, CreatedAt: at(0), UsedAt: at(30),
		}
		state.Epochs[1] = store.Epoch{Branch: "b1", N: 1, Evidence: digest("late"), Revision: 2, Block: "", OpenedAt: at(31)}
		moved := store.Boundary{
			ID: "z", Branch: "b1", Epoch: 1, Row: "r2", Status: store.BoundaryStarted, Revision: 2,
			Summary: digest("late"), Block: "sha256:late", At: at(32),
		}
		state.Boundaries = []store.Boundary{state.Boundaries[1], moved} // its time is the later one now
		apply(t, s, store.Batch{
			Session:    known(b.Session, at(1)),
			Branches:   []store.Branch{state.Branch},
			Epochs:     []store.Epoch{state.Epochs[1]},
			Boundaries: []store.Boundary{moved},
		})
		expectState(t, s, want)
	},

	"of two rows of one key in a batch the later one stays": func(t *testing.T, s Store) {
		first := session("s1")
		early, late := branch(first, "b1", 1), branch(first, "b1", 2)
		two := append(anchors("b1", 0, 0, "early"), anchors("b1", 0, 0, "late")...)
		apply(t, s, store.Batch{Session: first, Branches: []store.Branch{early, late}, Anchors: two})
		expectState(t, s, store.SessionState{Session: first, Branches: []store.BranchState{{Branch: late, Anchors: two[1:]}}})
	},

	"a batch brings many anchors, in any order, and the later one of two in one place stays": func(t *testing.T, s Store) {
		first := session("s1")
		var texts []string
		for i := range 21 {
			texts = append(texts, fmt.Sprint("anchor ", i))
		}
		want := anchors("b1", 0, 0, texts...)
		given := slices.Concat(anchors("b1", 0, 3, "early"), want[10:], want[:10])
		apply(t, s, store.Batch{Session: first, Branches: []store.Branch{branch(first, "b1", 1)}, Anchors: given})
		expectState(t, s, store.SessionState{Session: first, Branches: []store.BranchState{{Branch: branch(first, "b1", 1), Anchors: want}}})
	},

	"anchors that are those of before leave what stands behind, up to one that is another": func(t *testing.T, s Store) {
		first := session("s1")
		branches := []store.Branch{branch(first, "b1", 1)}
		old := anchors("b1", 0, 0, "a", "b", "c", "d", "e")
		apply(t, s, store.Batch{Session: first, Branches: branches, Anchors: old})

		again := anchors("b1", 0, 0, "a", "b")
		again[1].Revision = 7
		apply(t, s, store.Batch{Session: known(first, at(0)), Anchors: again})
		want := append(again[:2:2], old[2:]...)
		expectState(t, s, store.SessionState{Session: first, Branches: []store.BranchState{{Branch: branches[0], Anchors: want}}})

		other := anchors("b1", 0, 1, "b", "C")
		apply(t, s, store.Batch{Session: known(first, at(0)), Anchors: other})
		want = append(again[:1:1], other...)
		expectState(t, s, store.SessionState{Session: first, Branches: []store.BranchState{{Branch: branches[0], Anchors: want}}})
		expect(t, found(t, s, holdfast.Local, "d", "e"), nil)
	},

	"anchors replace those from the first that is another on, in their own epoch and branch": func(t *testing.T, s Store) {
		first := session("s1")
		branches := []store.Branch{branch(first, "b1", 1), branch(first, "b2", 2)}
		old := anchors("b1", 0, 0, "a", "b", "c", "d")
		other := append(anchors("b1", 1, 0, "e", "f", "g"), anchors("b2", 0, 0, "h", "i", "j")...)
		apply(t, s, store.Batch{Session: first, Branches: branches, Anchors: append(other, old...)})

		fresh := anchors("b1", 0, 1, "B", "C")
		apply(t, s, store.Batch{Session: known(first, at(0)), Anchors: []store.Anchor{fresh[1], fresh[0]}})
		expectState(t, s, store.SessionState{Session: first, Branches: []store.BranchState{
			{Branch: branches[0], Anchors: append(append(old[:1:1], fresh...), other[:3]...)},
			{Branch: branches[1], Anchors: other[3:]},
		}})
		expect(t, found(t, s, holdfast.Local, "b", "c", "d"), nil)
	},

	"a batch without anchors leaves all anchors": func(t *testing.T, s Store) {
		b, want := full()
		apply(t, s, b)
		apply(t, s, store.Batch{Session: known(b.Session, at(1)), Branches: []store.Branch{b.Branches[0]}})
		expectState(t, s, want)
	},

	"the use of a session moves forward and never back, and nothing else of it changes": func(t *testing.T, s Store) {
		first := session("s1")
		apply(t, s, store.Batch{Session: first})
		for _, step := range []struct{ given, want time.Time }{{at(20), at(20)}, {at(10), at(20)}, {at(21), at(21)}} {
			later := first
			later.Agent, later.Key, later.CreatedAt, later.UsedAt = "codex", "other", at(5), step.given
			apply(t, s, store.Batch{Session: later})
			want := first
			want.UsedAt = step.want
			expectState(t, s, store.SessionState{Session: want})
		}
	},

	"a session is used no earlier than it is made": func(t *testing.T, s Store) {
		first := session("s1")
		first.CreatedAt, first.UsedAt = at(7), time.Time{}
		apply(t, s, store.Batch{Session: first})
		first.UsedAt = at(7)
		expectState(t, s, store.SessionState{Session: first})
	},

	"times come back in UTC, to the microsecond, and a zero time as zero": func(t *testing.T, s Store) {
		zone := time.FixedZone("east", 3600)
		first := session("s1")
		first.CreatedAt = time.Date(2026, 3, 1, 13, 0, 0, 123456789, zone)
		first.UsedAt = first.CreatedAt
		b := store.Branch{ID: "b1", Session: "s1"}
		apply(t, s, store.Batch{Session: first, Branches: []store.Branch{b}})
		first.CreatedAt = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
		first.UsedAt = first.CreatedAt
		expectState(t, s, store.SessionState{Session: first, Branches: []store.BranchState{{Branch: b}}})
	},

	"batches of one call see each other in order": func(t *testing.T, s Store) {
		first := session("s1")
		b := branch(first, "b1", 1)
		one, two := revision("b1", 1, "one"), revision("b1", 2, "two")
		apply(t, s,
			store.Batch{Session: first},
			store.Batch{Session: known(first, at(2)), Branches: []store.Branch{b}, Revisions: []store.Revision{one}},
			store.Batch{Session: known(first, at(3)), Revisions: []store.Revision{two}},
		)
		first.UsedAt = at(3)
		expectState(t, s, store.SessionState{Session: first, Branches: []store.BranchState{
			{Branch: b, Revisions: []store.Revision{one, two}},
		}})
	},

	"what a caller does with its slices later changes nothing": func(t *testing.T, s Store) {
		b, _ := full()
		apply(t, s, b)
		b.Revisions[0].Capsule[0] = '!'
		loaded, err := s.Load(t.Context(), holdfast.Local, "s1")
		if err != nil {
			t.Fatal(err)
		}
		loaded.Branches[0].Revisions[0].Capsule[0] = '!'
		_, want := full()
		expectState(t, s, want)
	},

	"a call whose context has ended writes nothing and fails for every batch": func(t *testing.T, s Store) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		errs := s.Apply(ctx, []store.Batch{{Session: session("s1")}, {Session: session("s2")}})
		expect(t, codes(errs), []holdfast.Code{holdfast.ErrUnavailable, holdfast.ErrUnavailable})
		expect(t, snapshot(t, s, holdfast.Local), nil)
	},

	"of many writers of one revision number exactly one wins": func(t *testing.T, s Store) {
		first := session("s1")
		apply(t, s, store.Batch{Session: first, Branches: []store.Branch{branch(first, "b1", 1)}})
		const writers = 8
		errs := make([]error, writers)
		var all sync.WaitGroup
		for i := range writers {
			all.Go(func() {
				r := revision("b1", 1, fmt.Sprint("writer ", i))
				errs[i] = s.Apply(t.Context(), []store.Batch{{Session: known(first, at(i)), Revisions: []store.Revision{r}}})[0]
			})
		}
		all.Wait()
		winner, conflicts := -1, 0
		for i, err := range errs {
			switch code(err) {
			case "":
				winner = i
			case holdfast.ErrConflict:
				conflicts++
			}
		}
		if winner < 0 || conflicts != writers-1 {
			t.Fatalf("want one winner and %d conflicts, got %v", writers-1, errs)
		}
		state, err := s.Load(t.Context(), holdfast.Local, "s1")
		if err != nil {
			t.Fatal(err)
		}
		expect(t, state.Branches[0].Revisions, []store.Revision{revision("b1", 1, fmt.Sprint("writer ", winner))})
	},

	"writers of different sessions and readers at the same time lose nothing and see whole batches": func(t *testing.T, s Store) {
		const writers, rounds = 4, 15
		var all sync.WaitGroup
		for i := range writers {
			first := session(fmt.Sprint("s", i))
			name := fmt.Sprint("b", i)
			all.Go(func() {
				for n := 1; n <= rounds; n++ {
					errs := s.Apply(t.Context(), []store.Batch{{
						Session: first, Branches: []store.Branch{branch(first, name, 1)},
						Anchors:   anchors(name, 0, n-1, fmt.Sprint(name, "/", n)),
						Revisions: []store.Revision{revision(name, n, "p")},
					}})
					if errs[0] != nil {
						t.Errorf("round %d of session %s: %v", n, first.ID, errs[0])
					}
				}
			})
			all.Go(func() {
				for range rounds {
					state, err := s.Load(t.Context(), holdfast.Local, first.ID)
					if code(err) == holdfast.ErrNotFound {
						continue
					}
					if err != nil || len(state.Branches) != 1 ||
						len(state.Branches[0].Anchors) != len(state.Branches[0].Revisions) {
						t.Errorf("a reader saw part of a batch: %v, %+v", err, state)
					}
				}
			})
		}
		all.Wait()
		for i := range writers {
			state, err := s.Load(t.Context(), holdfast.Local, holdfast.SessionID(fmt.Sprint("s", i)))
			if err != nil || len(state.Branches[0].Revisions) != rounds || len(state.Branches[0].Anchors) != rounds {
				t.Errorf("session s%d has not %d revisions and anchors: %v, %+v", i, rounds, err, state)
			}
		}
	},
}
