package storetest

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// removals reads removals behind a sequence number and checks that it grows.
func removals(t *testing.T, s Store, after int64) (ids []holdfast.SessionID, last int64) {
	t.Helper()
	list, err := s.Removals(t.Context(), after)
	if err != nil {
		t.Fatalf("Removals: %v", err)
	}
	last = after
	for _, r := range list {
		if r.Seq <= last {
			t.Errorf("removal %d comes behind %d", r.Seq, last)
		}
		last = r.Seq
		ids = append(ids, r.Session)
	}
	return ids, last
}

var keeping = map[string]func(*testing.T, Store){
	"sessions are listed last used first, with their counts": func(t *testing.T, s Store) {
		b, _ := full() // used at 9; the newer of two branches has no revision
		early, late := session("early"), session("late")
		late.UsedAt = at(20)
		old, young := branch(late, "old", 1), branch(late, "young", 2)
		old.UsedAt = at(19)
		apply(t, s,
			store.Batch{Session: early},
			b,
			store.Batch{
				Session: late, Branches: []store.Branch{young, old},
				Revisions: []store.Revision{
					revision("old", 7, "x"), revision("young", 9, "x"), revision("young", 10, "x"), revision("young", 2, "x"),
				},
				Boundaries: []store.Boundary{
					{ID: "1", Branch: "old", Status: store.BoundaryCommitted, At: at(1)},
					{ID: "2", Branch: "young", Status: store.BoundaryCommitted, At: at(2)},
					{ID: "3", Branch: "young", Status: store.BoundaryStarted, At: at(3)},
					{ID: "4", Branch: "young", Status: store.BoundaryFailed, At: at(4)},
				},
			},
			theirs(),
		)
		list, err := s.Sessions(t.Context(), holdfast.Local)
		expectCode(t, err, "")
		expect(t, list, []store.SessionInfo{
			{Session: late, Branches: 2, Epochs: 2, Revision: 10},
			{Session: b.Session, Branches: 2, Epochs: 1, Revision: 0},
			{Session: early},
		})
	},

	"sessions used at the same time are listed the greater id first": func(t *testing.T, s Store) {
		a, b := session("a"), session("b")
		apply(t, s, store.Batch{Session: a}, store.Batch{Session: b})
		list, err := s.Sessions(t.Context(), holdfast.Local)
		expectCode(t, err, "")
		expect(t, list, []store.SessionInfo{{Session: b}, {Session: a}})
	},

	"a removed session is gone from every read and leaves its removal, others stay": func(t *testing.T, s Store) {
		b, _ := full()
		other := session("other")
		twin := branch(other, "twin", 0)
		apply(t, s, b, theirs(), store.Batch{Session: other, Branches: []store.Branch{twin}, Anchors: anchors("twin", 0, 0, "call 1")})
		if err := s.Remove(t.Context(), holdfast.Local, "s1"); err != nil {
			t.Fatal(err)
		}
		_, err := s.Load(t.Context(), holdfast.Local, "s1")
		expectCode(t, err, holdfast.ErrNotFound)
		_, err = s.Session(t.Context(), holdfast.Local, b.Session.Agent, b.Session.Key)
		expectCode(t, err, holdfast.ErrNotFound)
		_, err = s.FindBlock(t.Context(), holdfast.Local, "sha256:block")
		expectCode(t, err, holdfast.ErrNotFound)
		expect(t, found(t, s, holdfast.Local, "call 1", "call 3"), []store.Hit{hit("other", "twin", 0, 0, "call 1")})
		expect(t, snapshot(t, s, holdfast.Local), []store.SessionState{
			{Session: other, Branches: []store.BranchState{{Branch: twin, Anchors: anchors("twin", 0, 0, "call 1")}}},
		})
		if len(snapshot(t, s, stranger)) != 1 {
			t.Error("the session of another principal was removed as well")
		}
		expectCode(t, s.Remove(t.Context(), holdfast.Local, "s1"), holdfast.ErrNotFound)
		ids, _ := removals(t, s, 0)
		expect(t, ids, []holdfast.SessionID{"s1"})
	},

	"the ids of a removed session's rows are free again": func(t *testing.T, s Store) {
		b, _ := full()
		apply(t, s, b)
		if err := s.Remove(t.Context(), holdfast.Local, "s1"); err != nil {
			t.Fatal(err)
		}
		second := session("s2")
		one, two := branch(second, "b1", 1), branch(second, "a2", 2)
		fresh := revision("b1", 1, "fresh")
		// Boundary y was one of the other branch.
		y := store.Boundary{ID: "y", Branch: "a2", Status: store.BoundaryStarted, At: at(3)}
		apply(t, s, store.Batch{
			Session: second, Branches: []store.Branch{one, two}, Revisions: []store.Revision{fresh}, Boundaries: []store.Boundary{y},
		})
		expectState(t, s, store.SessionState{Session: second, Branches: []store.BranchState{
			{Branch: one, Revisions: []store.Revision{fresh}}, {Branch: two, Boundaries: []store.Boundary{y}},
		}})
	},

	"removing what never was is not found and leaves no removal": func(t *testing.T, s Store) {
		expectCode(t, s.Remove(t.Context(), holdfast.Local, "s1"), holdfast.ErrNotFound)
		ids, _ := removals(t, s, 0)
		expect(t, ids, nil)
	},

	"removals are read from where the last read ended": func(t *testing.T, s Store) {
		for _, id := range []string{"b", "a", "c"} {
			apply(t, s, store.Batch{Session: session(id)})
		}
		remove := func(id holdfast.SessionID) {
			if err := s.Remove(t.Context(), holdfast.Local, id); err != nil {
				t.Fatal(err)
			}
		}
		remove("b")
		remove("a")
		ids, last := removals(t, s, 0)
		expect(t, ids, []holdfast.SessionID{"b", "a"})
		ids, _ = removals(t, s, last)
		expect(t, ids, nil)
		remove("c")
		ids, _ = removals(t, s, last)
		expect(t, ids, []holdfast.SessionID{"c"})
		ids, _ = removals(t, s, last+100)
		expect(t, ids, nil)
	},

	"sessions last used before a time expire, of all principals, whatever the age of their branches": func(t *testing.T, s Store) {
		at9, _ := full()
		at40 := theirs()
		at0 := session("at0")
		at0.Principal = stranger
		at10 := session("at10")
		at10.UsedAt = at(10)
		recent := branch(at0, "recent", 50)
		apply(t, s, at9, at40, store.Batch{Session: at0, Branches: []store.Branch{recent}}, store.Batch{Session: at10})

		n, err := s.Expire(t.Context(), at(10))
		expectCode(t, err, "")
		expect(t, n, 2)
		ids, last := removals(t, s, 0)
		expect(t, ids, []holdfast.SessionID{"at0", "s1"})
		expect(t, snapshot(t, s, holdfast.Local), []store.SessionState{{Session: at10}})
		if all := snapshot(t, s, stranger); len(all) != 1 || all[0].ID != "theirs" {
			t.Errorf("want the session used at 40 to stay, got %+v", all)
		}
		expect(t, found(t, s, holdfast.Local, "call 1"), nil)

		n, err = s.Expire(t.Context(), at(10))
		expectCode(t, err, "")
		expect(t, n, 0)
		n, err = s.Expire(t.Context(), at(10).Add(time.Microsecond))
		expectCode(t, err, "")
		expect(t, n, 1)
		ids, _ = removals(t, s, last)
		expect(t, ids, []holdfast.SessionID{"at10"})
	},

	"a removed session takes the recordings of its branches with it, no forks and no others": func(t *testing.T, s Store) {
		expectErased(t, s, func() error { return s.Remove(t.Context(), holdfast.Local, "s1") })
	},

	"an expired session takes the recordings of its branches with it, no forks and no others": func(t *testing.T, s Store) {
		expectErased(t, s, func() error {
			_, err := s.Expire(t.Context(), at(5))
			return err
		})
	},

	"recordings last used before a time expire, of all principals, and nothing else": func(t *testing.T, s Store) {
		one := session("s1")
		apply(t, s, store.Batch{Session: one, Branches: []store.Branch{branch(one, "b1", 0), branch(one, "b2", 0)}})
		kept := map[holdfast.ConversationID]bool{}
		for _, c := range []struct {
			id, branch string
			origin     store.ConversationOrigin
			principal  holdfast.Principal
			used       int
			archived   bool
			stays      bool
		}{
			{id: "old", branch: "b1", origin: store.RecordedConversation, used: 4},
			{id: "archived", origin: store.RecordedConversation, used: 4, archived: true},
			{id: "theirs", origin: store.RecordedConversation, principal: stranger, used: 4},
			{id: "in time", branch: "b2", origin: store.RecordedConversation, used: 5, stays: true},
			{id: "own", origin: store.OwnConversation, used: 4, stays: true},
			{id: "imported", origin: store.ImportedConversation, used: 4, stays: true},
		} {
			row := conversation(c.id)
			row.Branch, row.Origin, row.Archived = holdfast.BranchID(c.branch), c.origin, c.archived
			row.CreatedAt, row.UsedAt = at(1), at(1)
			if c.principal != "" {
				row.Principal = c.principal
			}
			create(t, s, row, event(c.used, "turn"))
			kept[row.ID] = c.stays
		}

		n, err := s.ExpireRecordings(t.Context(), at(5))
		expectCode(t, err, "")
		expect(t, n, 3)
		for _, p := range []holdfast.Principal{holdfast.Local, stranger} {
			list, err := s.List(t.Context(), p, true)
			expectCode(t, err, "")
			for _, c := range list {
				if !kept[c.ID] {
					t.Errorf("%s is still there", c.ID)
				}
				delete(kept, c.ID)
			}
		}
		for id, stays := range kept {
			if stays {
				t.Errorf("%s is gone", id)
			}
		}
		if _, err := s.Load(t.Context(), holdfast.Local, "s1"); err != nil {
			t.Errorf("the session of an expired recording: %v", err)
		}
		ids, _ := removals(t, s, 0)
		expect(t, ids, nil)

		// The branch is free for a new recording, which has nothing of the old one.
		again := conversation("again")
		again.Branch, again.Origin = "b1", store.RecordedConversation
		create(t, s, again, event(9, "turn"))
		expect(t, len(events(t, s, "again", store.EventRange{})), 1)

		n, err = s.ExpireRecordings(t.Context(), at(5))
		expectCode(t, err, "")
		expect(t, n, 0)
	},
}

// expectErased checks what is left of recordings when the session s1 goes, which
// was last used before second 5.
func expectErased(t *testing.T, s Store, remove func() error) {
	t.Helper()
	one, two := session("s1"), session("s2")
	two.UsedAt = at(9)
	apply(t, s, store.Batch{Session: one, Branches: []store.Branch{branch(one, "b1", 0), branch(one, "b2", 0)}},
		store.Batch{Session: two, Branches: []store.Branch{branch(two, "b3", 0)}})
	recordings := map[string]string{"first": "b1", "second": "b2", "fork": "b3", "own": "", "theirs": "b1"}
	for id, branch := range recordings {
		c := conversation(id)
		c.Branch = holdfast.BranchID(branch)
		switch id {
		case "fork":
			c.Parent, c.ParentSeq = "first", 1
		case "theirs":
			c.Principal = stranger
		}
		create(t, s, c, event(1, "turn"))
	}
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"first", "second"} {
		_, err := s.Get(t.Context(), holdfast.Local, holdfast.ConversationID(gone))
		expectCode(t, err, holdfast.ErrNotFound)
		again := conversation(gone)
		again.Branch = holdfast.BranchID(recordings[gone])
		create(t, s, again)
		if left := events(t, s, gone, store.EventRange{}); len(left) > 0 {
			t.Errorf("%d events of %s are left", len(left), gone)
		}
	}
	for id, p := range map[string]holdfast.Principal{"fork": holdfast.Local, "own": holdfast.Local, "theirs": stranger} {
		_, err := s.Get(t.Context(), p, holdfast.ConversationID(id))
		expectCode(t, err, "")
	}
}
