package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// conversation is an own one, made and used at the beginning of the test's
// time.
func conversation(id string) store.Conversation {
	return store.Conversation{
		ID: holdfast.ConversationID(id), Principal: holdfast.Local, Origin: store.OwnConversation, Version: store.StreamVersion,
		CreatedAt: at(0), UsedAt: at(0),
	}
}

// event is the event n of a stream, which happened at its second n.
func event(n int, kind string) store.StoredEvent {
	return store.StoredEvent{
		Seq: int64(n), ID: holdfast.EventID(fmt.Sprint("event ", n)), Kind: kind, At: at(n),
		Line: fmt.Appendf(nil, `{"kind":%q,"n":%d}`, kind, n),
	}
}

// stream is events of the given kinds, from the first on.
func stream(kinds ...string) []store.StoredEvent {
	var events []store.StoredEvent
	for i, kind := range kinds {
		events = append(events, event(i+1, kind))
	}
	return events
}

// after is what is told of a new conversation once events were appended.
func after(c store.Conversation, events []store.StoredEvent) store.Conversation {
	for _, e := range events {
		c.Head++
		c.Bytes += int64(len(e.Line))
		if e.Kind == "turn" {
			c.Turns++
		}
		c.UsedAt = e.At
	}
	return c
}

// create writes a conversation that must be accepted.
func create(t *testing.T, s Store, c store.Conversation, events ...store.StoredEvent) {
	t.Helper()
	if err := s.Create(t.Context(), c, events); err != nil {
		t.Fatalf("Create: %v", err)
	}
}

// events reads a range of a stream of the first principal.
func events(t *testing.T, s Store, id string, r store.EventRange) []store.StoredEvent {
	t.Helper()
	var list []store.StoredEvent
	for e, err := range s.Events(t.Context(), holdfast.Local, holdfast.ConversationID(id), r) {
		if err != nil {
			t.Fatalf("Events: %v", err)
		}
		list = append(list, e)
	}
	return list
}

// expectStream compares a conversation with all its events, as every way to
// read it shows it.
func expectStream(t *testing.T, s Store, want store.Conversation, stream []store.StoredEvent) {
	t.Helper()
	got, err := s.Get(t.Context(), want.Principal, want.ID)
	expectCode(t, err, "")
	expect(t, got, want)
	if want.Branch != "" {
		got, err = s.ByBranch(t.Context(), want.Principal, want.Branch)
		expectCode(t, err, "")
		expect(t, got, want)
	}
	expect(t, ids(t, s, want.Principal, true)[want.ID], want)
	if want.Principal == holdfast.Local {
		expect(t, events(t, s, string(want.ID), store.EventRange{}), stream)
	}
}

// ids are the conversations of a list.
func ids(t *testing.T, s Store, p holdfast.Principal, archived bool) map[holdfast.ConversationID]store.Conversation {
	t.Helper()
	all := map[holdfast.ConversationID]store.Conversation{}
	for _, c := range list(t, s, p, archived) {
		all[c.ID] = c
	}
	return all
}

func list(t *testing.T, s Store, p holdfast.Principal, archived bool) []store.Conversation {
	t.Helper()
	list, err := s.List(t.Context(), p, archived)
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	return list
}

// expectNone checks that a conversation is not there for a principal, and that
// no write reaches it.
func expectNone(t *testing.T, s Store, p holdfast.Principal, c store.Conversation) {
	t.Helper()
	_, err := s.Get(t.Context(), p, c.ID)
	expectCode(t, err, holdfast.ErrNotFound)
	_, err = s.ByBranch(t.Context(), p, c.Branch)
	expectCode(t, err, holdfast.ErrNotFound)
	if _, listed := ids(t, s, p, true)[c.ID]; listed {
		t.Errorf("conversation %s is listed for %q", c.ID, p)
	}
	var errs []error
	for e, err := range s.Events(t.Context(), p, c.ID, store.EventRange{}) {
		expect(t, e, store.StoredEvent{})
		errs = append(errs, err)
	}
	expect(t, codes(errs), []holdfast.Code{holdfast.ErrNotFound})

	title := "changed"
	more := event(100, "turn")
	_, held := s.Hold(t.Context(), p, c.ID, store.Lease{Holder: "x", Token: "x", Until: at(50)}, at(0))
	expect(t, codes([]error{
		s.Append(t.Context(), p, c.ID, 0, nil),
		s.Append(t.Context(), p, c.ID, c.Head, []store.StoredEvent{more}),
		s.Change(t.Context(), p, c.ID, store.ConversationChange{Title: &title}),
		s.Delete(t.Context(), p, c.ID),
		held,
		s.Release(t.Context(), p, c.ID, "x"),
	}), []holdfast.Code{
		holdfast.ErrNotFound, holdfast.ErrNotFound, holdfast.ErrNotFound, holdfast.ErrNotFound, holdfast.ErrNotFound, holdfast.ErrNotFound,
	})
}

var conversing = map[string]func(*testing.T, Store){
	"a conversation comes back whole, with what was counted and not what was given": func(t *testing.T, s Store) {
		c := store.Conversation{
			ID: "c1", Principal: holdfast.Local, Title: "A \"title\" é", Origin: store.RecordedConversation, Agent: "codex", Branch: "b1",
			Parent: "gone", ParentSeq: 17, Archived: true, CreatedAt: at(1), UsedAt: at(9), Head: 70, Turns: 71, Bytes: 72,
		}
		all := []store.StoredEvent{
			{Seq: 8, ID: "e1", Kind: "turn", At: at(2), Line: []byte(`{"kind":"turn"}`)},
			{Seq: 8, ID: "e2", Kind: "user", At: at(5), Line: []byte(`{ "kind":"user" }`)},
			{ID: "e3", Kind: "turn", At: at(4), Line: []byte(`{}`)},
		}
		create(t, s, c, all...)
		c.Version, c.Head, c.Turns, c.Bytes = store.StreamVersion, 3, 2, 15+17+2
		for i := range all {
			all[i].Seq = int64(i + 1)
		}
		expectStream(t, s, c, all)
	},

	"a conversation may begin empty, has the version of its writer and is used no earlier than it is made": func(t *testing.T, s Store) {
		c := conversation("c1")
		c.CreatedAt, c.UsedAt, c.Version = at(7), time.Time{}, 0
		create(t, s, c)
		c.UsedAt, c.Version = at(7), store.StreamVersion
		expectStream(t, s, c, nil)
	},

	"an append goes behind the newest event and is counted": func(t *testing.T, s Store) {
		c, all := conversation("c1"), stream("turn", "user", "assistant", "turn", "turn", "user")
		create(t, s, c)
		for _, step := range []struct{ from, to int }{{0, 1}, {1, 4}, {4, 6}} {
			if err := s.Append(t.Context(), holdfast.Local, "c1", int64(step.from), all[step.from:step.to]); err != nil {
				t.Fatal(err)
			}
			expectStream(t, s, after(c, all[:step.to]), all[:step.to])
		}
	},

	"lines come back byte for byte": func(t *testing.T, s Store) {
		lines := []string{
			`{"b":1,"a":1.0,"a":"\u00e9é"}`, " {\t} ", "\r", "\x00", "\xff\xfe", "null", `"` + strings.Repeat("long ", 100_000) + `"`, "\u2028",
		}
		var all []store.StoredEvent
		for i, line := range lines {
			e := event(i+1, "user")
			e.Line = []byte(line)
			all = append(all, e)
		}
		create(t, s, conversation("c1"), all...)
		expect(t, events(t, s, "c1", store.EventRange{}), all)
	},

	"times of a conversation come back in UTC, to the microsecond, and a zero time as zero": func(t *testing.T, s Store) {
		given := time.Date(2026, 3, 1, 13, 0, 0, 123456789, time.FixedZone("east", 3600))
		kept := time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
		c, e := conversation("c1"), event(1, "user")
		c.CreatedAt, c.UsedAt, e.At = given, given, given
		create(t, s, c, e)
		zero := event(2, "user")
		zero.At = time.Time{}
		if err := s.Append(t.Context(), holdfast.Local, "c1", 1, []store.StoredEvent{zero}); err != nil {
			t.Fatal(err)
		}
		want := after(c, []store.StoredEvent{e, zero})
		want.CreatedAt, want.UsedAt, e.At = kept, kept, kept
		expectStream(t, s, want, []store.StoredEvent{e, zero})
	},

	"an append moves the use to the time of its last event, and never back": func(t *testing.T, s Store) {
		c := conversation("c1")
		create(t, s, c, event(1, "user"))
		for i, step := range []struct{ first, last, want int }{{30, 20, 20}, {40, 10, 20}, {0, 21, 21}} {
			one, two := event(2*i+2, "user"), event(2*i+3, "user")
			one.At, two.At = at(step.first), at(step.last)
			if err := s.Append(t.Context(), holdfast.Local, "c1", int64(2*i+1), []store.StoredEvent{one, two}); err != nil {
				t.Fatal(err)
			}
			got, err := s.Get(t.Context(), holdfast.Local, "c1")
			expectCode(t, err, "")
			expect(t, got.UsedAt, at(step.want))
		}
	},

	"an append behind any event but the newest is a conflict and writes nothing": func(t *testing.T, s Store) {
		c, all := conversation("c1"), stream("turn", "user")
		create(t, s, c, all...)
		for _, behind := range []int64{-1, 0, 1, 3} {
			for _, given := range [][]store.StoredEvent{nil, {event(3, "turn")}} {
				expectCode(t, s.Append(t.Context(), holdfast.Local, "c1", behind, given), holdfast.ErrConflict)
			}
		}
		expectStream(t, s, after(c, all), all)
	},

	"an append of nothing changes nothing": func(t *testing.T, s Store) {
		c, all := conversation("c1"), stream("turn", "user")
		create(t, s, c, all...)
		expectCode(t, s.Append(t.Context(), holdfast.Local, "c1", 2, nil), "")
		expectStream(t, s, after(c, all), all)
	},

	"an event id that is taken is a conflict and nothing of its append is written": func(t *testing.T, s Store) {
		c, all := conversation("c1"), stream("turn", "user")
		create(t, s, c, all...)
		again := event(4, "user")
		again.ID = all[0].ID
		expectCode(t, s.Append(t.Context(), holdfast.Local, "c1", 2, []store.StoredEvent{event(3, "turn"), again}), holdfast.ErrConflict)
		expectCode(t, s.Append(t.Context(), holdfast.Local, "c1", 2, []store.StoredEvent{event(3, "turn"), event(3, "user")}), holdfast.ErrConflict)
		expectStream(t, s, after(c, all), all)

		other := conversation("c2")
		expectCode(t, s.Create(t.Context(), other, []store.StoredEvent{event(1, "turn"), event(1, "user")}), holdfast.ErrConflict)
		expectNone(t, s, holdfast.Local, other)
		create(t, s, other, all...) // ids are unique in one conversation only
		expectStream(t, s, after(other, all), all)
	},

	"an event without id, kind or line, or of two lines, is refused and nothing of its append is written": func(t *testing.T, s Store) {
		c, all := conversation("c1"), stream("turn")
		create(t, s, c, all...)
		for _, spoil := range []func(*store.StoredEvent){
			func(e *store.StoredEvent) { e.ID = "" },
			func(e *store.StoredEvent) { e.Kind = "" },
			func(e *store.StoredEvent) { e.Line = nil },
			func(e *store.StoredEvent) { e.Line = []byte{} },
			func(e *store.StoredEvent) { e.Line = []byte("{\n}") },
		} {
			bad := event(3, "user")
			spoil(&bad)
			expectCode(t, s.Append(t.Context(), holdfast.Local, "c1", 1, []store.StoredEvent{event(2, "user"), bad}), holdfast.ErrInternal)
			expectCode(t, s.Create(t.Context(), conversation("c2"), []store.StoredEvent{bad}), holdfast.ErrInternal)
		}
		expectNone(t, s, holdfast.Local, conversation("c2"))
		expectStream(t, s, after(c, all), all)
	},

	"a conversation under an id that is taken is a conflict, whoever has it": func(t *testing.T, s Store) {
		c, all := conversation("c1"), stream("turn")
		create(t, s, c, all...)
		for _, p := range []holdfast.Principal{holdfast.Local, stranger} {
			second := conversation("c1")
			second.Principal, second.Title = p, "second"
			expectCode(t, s.Create(t.Context(), second, stream("user", "user")), holdfast.ErrConflict)
		}
		expectStream(t, s, after(c, all), all)
		expectNone(t, s, stranger, c)
	},

	"a branch is recorded once for each principal, and none is as often as you like": func(t *testing.T, s Store) {
		first, second, theirs := conversation("c1"), conversation("c2"), conversation("c3")
		first.Branch, second.Branch, theirs.Branch = "b1", "b1", "b1"
		theirs.Principal = stranger
		create(t, s, first)
		expectCode(t, s.Create(t.Context(), second, stream("turn")), holdfast.ErrConflict)
		expectNone(t, s, stranger, first)
		create(t, s, theirs)
		create(t, s, conversation("c4"))
		create(t, s, conversation("c5"))
		expectStream(t, s, first, nil)
		expectStream(t, s, theirs, nil)
		_, err := s.ByBranch(t.Context(), holdfast.Local, "")
		expectCode(t, err, holdfast.ErrNotFound)
	},

	"a conversation of a later version is read and managed, and not appended to": func(t *testing.T, s Store) {
		c, all := conversation("c1"), stream("turn", "user")
		c.Version = store.StreamVersion + 1
		create(t, s, c, all...)
		for _, behind := range []int64{0, 2} {
			expectCode(t, s.Append(t.Context(), holdfast.Local, "c1", behind, []store.StoredEvent{event(3, "turn")}), holdfast.ErrNewer)
		}
		expectStream(t, s, after(c, all), all)
		c.Title = "kept"
		expectCode(t, s.Change(t.Context(), holdfast.Local, "c1", store.ConversationChange{Title: &c.Title}), "")
		expectStream(t, s, after(c, all), all)
		expectCode(t, s.Delete(t.Context(), holdfast.Local, "c1"), "")
	},

	"conversations are listed last used first, then the greater id, archived ones where asked": func(t *testing.T, s Store) {
		var want []store.Conversation
		for _, row := range []struct {
			id   string
			used int
		}{{"b", 5}, {"z", 3}, {"a", 3}, {"x", 1}} {
			c := conversation(row.id)
			c.UsedAt, c.Archived = at(row.used), row.id == "z"
			want = append(want, c)
		}
		for _, i := range []int{2, 0, 3, 1} {
			create(t, s, want[i])
		}
		theirs := conversation("theirs")
		theirs.Principal = stranger
		create(t, s, theirs)
		expect(t, list(t, s, holdfast.Local, true), want)
		expect(t, list(t, s, holdfast.Local, false), []store.Conversation{want[0], want[2], want[3]})
		expect(t, list(t, s, stranger, false), []store.Conversation{theirs})
		expect(t, list(t, s, "", true), nil)
	},

	"a change leaves what it does not name": func(t *testing.T, s Store) {
		c, all := conversation("c1"), stream("turn")
		c.Title = "first"
		create(t, s, c, all...)
		create(t, s, conversation("other"))
		title, none, yes, no := "second", "", true, false
		for _, step := range []struct {
			change   store.ConversationChange
			title    string
			archived bool
		}{
			{store.ConversationChange{}, "first", false},
			{store.ConversationChange{Archived: &yes}, "first", true},
			{store.ConversationChange{Title: &title}, "second", true},
			{store.ConversationChange{Title: &none, Archived: &no}, "", false},
		} {
			expectCode(t, s.Change(t.Context(), holdfast.Local, "c1", step.change), "")
			c.Title, c.Archived = step.title, step.archived
			expectStream(t, s, after(c, all), all)
		}
		expectStream(t, s, conversation("other"), nil)
	},

	"a deleted conversation is gone with its events, and its id and branch are free": func(t *testing.T, s Store) {
		c, all := conversation("c1"), stream("turn", "user", "turn")
		c.Branch = "b1"
		other := conversation("c2")
		create(t, s, c, all...)
		create(t, s, other, all...)
		hold(t, s, "c1", store.Lease{Holder: "one", Token: "1", Until: at(50)}, at(0))
		expectCode(t, s.Delete(t.Context(), holdfast.Local, "c1"), "")
		expectNone(t, s, holdfast.Local, c)
		expectStream(t, s, after(other, all), all)

		again := conversation("c1")
		again.Branch = "b1"
		create(t, s, again)
		expectStream(t, s, again, nil)
		hold(t, s, "c1", store.Lease{Holder: "two", Token: "2", Until: at(50)}, at(0))
		expectCode(t, s.Append(t.Context(), holdfast.Local, "c1", 0, all[:1]), "")
		expectStream(t, s, after(again, all[:1]), all[:1])
	},

	"a conversation of another principal does not exist": func(t *testing.T, s Store) {
		c, all := conversation("c1"), stream("turn", "user")
		c.Branch = "b1"
		create(t, s, c, all...)
		lease := store.Lease{Holder: "one", Token: "x", Until: at(50)}
		hold(t, s, "c1", lease, at(0))
		expectNone(t, s, stranger, after(c, all))
		expectNone(t, s, "", after(c, all))
		expectStream(t, s, after(c, all), all)
		refusedHold(t, s, "c1", store.Lease{Holder: "two", Token: "y", Until: at(60)}, at(1), lease) // not released
	},

	"a conversation that never was does not exist": func(t *testing.T, s Store) {
		expectNone(t, s, holdfast.Local, conversation("c1"))
	},

	"sessions and conversations leave each other alone": func(t *testing.T, s Store) {
		b, want := full()
		apply(t, s, b)
		c, all := conversation("s1"), stream("turn") // it records no branch of the session
		create(t, s, c, all...)
		expectState(t, s, want)
		if _, err := s.Expire(t.Context(), at(50)); err != nil {
			t.Fatal(err)
		}
		expectStream(t, s, after(c, all), all)
	},

	"what a caller does with the lines of a conversation later changes nothing": func(t *testing.T, s Store) {
		c, given := conversation("c1"), stream("turn", "user")
		create(t, s, c, given...)
		given[0].Line[0] = '!'
		events(t, s, "c1", store.EventRange{})[1].Line[0] = '!'
		all := stream("turn", "user")
		expectStream(t, s, after(c, all), all)
	},

	"a write to a conversation whose context has ended does nothing": func(t *testing.T, s Store) {
		c, all := conversation("c1"), stream("turn")
		create(t, s, c, all...)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		title := "changed"
		_, held := s.Hold(ctx, holdfast.Local, "c1", store.Lease{Holder: "x", Token: "x", Until: at(50)}, at(0))
		for _, err := range []error{
			s.Create(ctx, conversation("c2"), nil),
			s.Append(ctx, holdfast.Local, "c1", 1, []store.StoredEvent{event(2, "user")}),
			s.Change(ctx, holdfast.Local, "c1", store.ConversationChange{Title: &title}),
			s.Delete(ctx, holdfast.Local, "c1"),
			held,
		} {
			expectCode(t, err, holdfast.ErrUnavailable)
		}
		expectStream(t, s, after(c, all), all)
		expectNone(t, s, holdfast.Local, conversation("c2"))
		hold(t, s, "c1", store.Lease{Holder: "y", Token: "y", Until: at(50)}, at(0))
		expectCode(t, s.Release(ctx, holdfast.Local, "c1", "y"), holdfast.ErrUnavailable)
	},

	"of many writers behind one event exactly one wins, and nothing is lost": func(t *testing.T, s Store) {
		const writers, each = 4, 8
		c := conversation("c1")
		create(t, s, c)
		var all sync.WaitGroup
		for i := range writers {
			all.Go(func() {
				for n := 0; n < each; {
					got, err := s.Get(t.Context(), holdfast.Local, "c1")
					if err != nil {
						t.Error(err)
						return
					}
					turn, text := event(0, "turn"), event(0, "user")
					turn.ID = holdfast.EventID(fmt.Sprintf("writer %d, turn %d", i, n))
					text.ID = holdfast.EventID(fmt.Sprintf("writer %d, text %d", i, n))
					switch err := s.Append(t.Context(), holdfast.Local, "c1", got.Head, []store.StoredEvent{turn, text}); code(err) {
					case "":
						n++
					case holdfast.ErrConflict: // another one was there first
					default:
						t.Error(err)
						return
					}
				}
			})
		}
		all.Go(func() {
			for last := 0; last < 2*writers*each && !t.Failed(); {
				read := events(t, s, "c1", store.EventRange{})
				if len(read)%2 != 0 || len(read) < last {
					t.Errorf("a reader saw %d events behind %d: appends are of two", len(read), last)
				}
				last = len(read)
			}
		})
		all.Wait()
		seen := map[holdfast.EventID]bool{}
		for i, e := range events(t, s, "c1", store.EventRange{}) {
			expect(t, e.Seq, int64(i+1))
			seen[e.ID] = true
		}
		expect(t, len(seen), 2*writers*each)
		got, err := s.Get(t.Context(), holdfast.Local, "c1")
		expectCode(t, err, "")
		expect(t, []int64{got.Head, int64(got.Turns)}, []int64{2 * writers * each, writers * each})
	},
}
