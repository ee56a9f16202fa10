package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// long is a stream of some 5 MB in 400 events: turns of a user message, three
// calls and results, and every hundredth a compaction. What reads in pages needs
// several for each kind of them but the last.
func long() []store.StoredEvent {
	var kinds []string
	for n := 1; n <= 400; n++ {
		switch {
		case n%100 == 0:
			kinds = append(kinds, "compaction")
		case n%8 == 1:
			kinds = append(kinds, "turn")
		case n%2 == 0:
			kinds = append(kinds, "call")
		default:
			kinds = append(kinds, "result")
		}
	}
	all := stream(kinds...)
	for i := range all {
		if all[i].Kind != "compaction" {
			all[i].Line = fmt.Appendf(nil, `{"n":%d,"text":%q}`, i+1, strings.Repeat("text ", 2500))
		}
	}
	return all
}

// picked are the events that a test picks itself.
func picked(all []store.StoredEvent, wanted func(store.StoredEvent) bool) []store.StoredEvent {
	return slices.DeleteFunc(slices.Clone(all), func(e store.StoredEvent) bool { return !wanted(e) })
}

var streaming = map[string]func(*testing.T, Store){
	"a range has the events behind its beginning, up to its end and of its kinds": func(t *testing.T, s Store) {
		create(t, s, conversation("c1"), stream("turn", "user", "turn", "compaction", "user", "turn")...)
		create(t, s, conversation("c2"), stream("turn", "turn", "turn")...)
		for _, test := range []struct {
			r    store.EventRange
			want []int64
		}{
			{store.EventRange{}, []int64{1, 2, 3, 4, 5, 6}},
			{store.EventRange{After: 2}, []int64{3, 4, 5, 6}},
			{store.EventRange{After: -3}, []int64{1, 2, 3, 4, 5, 6}},
			{store.EventRange{UpTo: 2}, []int64{1, 2}},
			{store.EventRange{UpTo: 60}, []int64{1, 2, 3, 4, 5, 6}},
			{store.EventRange{UpTo: -1}, nil},
			{store.EventRange{After: 2, UpTo: 4}, []int64{3, 4}},
			{store.EventRange{After: 4, UpTo: 2}, nil},
			{store.EventRange{After: 6}, nil},
			{store.EventRange{After: 60}, nil},
			{store.EventRange{Kinds: []string{}}, []int64{1, 2, 3, 4, 5, 6}},
			{store.EventRange{Kinds: []string{"turn"}}, []int64{1, 3, 6}},
			{store.EventRange{Kinds: []string{"user", "compaction"}}, []int64{2, 4, 5}},
			{store.EventRange{Kinds: []string{"turn", "user", "turn"}}, []int64{1, 2, 3, 5, 6}},
			{store.EventRange{Kinds: []string{"user", "turn", "none"}, After: 1, UpTo: 5}, []int64{2, 3, 5}},
			{store.EventRange{Kinds: []string{"none"}}, nil},
			{store.EventRange{Kinds: []string{""}}, nil},
		} {
			var got []int64
			for _, e := range events(t, s, "c1", test.r) {
				got = append(got, e.Seq)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("the range %+v has the events %v, want %v", test.r, got, test.want)
			}
		}
	},

	"a long stream comes back whole, and by kinds": func(t *testing.T, s Store) {
		all := long()
		create(t, s, conversation("c1"), all...)
		create(t, s, conversation("c2"), all[:100]...)
		expect(t, events(t, s, "c1", store.EventRange{}), all)
		expect(t, events(t, s, "c1", store.EventRange{After: 30, UpTo: 390}), all[30:390])
		for _, kinds := range [][]string{{"compaction"}, {"call"}, {"result", "call", "turn"}} {
			want := picked(all, func(e store.StoredEvent) bool { return slices.Contains(kinds, e.Kind) })
			expect(t, events(t, s, "c1", store.EventRange{Kinds: kinds}), want)
		}
	},

	"an iterator may be left at any event and used again": func(t *testing.T, s Store) {
		all := long()
		create(t, s, conversation("c1"), all...)
		iterator := s.Events(t.Context(), holdfast.Local, "c1", store.EventRange{})
		for _, most := range []int{1, 150, 400} {
			var got []store.StoredEvent
			for e, err := range iterator {
				expectCode(t, err, "")
				if got = append(got, e); len(got) == most {
					break
				}
			}
			expect(t, got, all[:most])
		}
	},

	"the body of a loop over events may call the store": func(t *testing.T, s Store) {
		all := long()
		create(t, s, conversation("c1"), all...)
		create(t, s, conversation("copy"))
		// Deeper than any pool of connections.
		var nested func(depth int)
		nested = func(depth int) {
			for e, err := range s.Events(t.Context(), holdfast.Local, "c1", store.EventRange{}) {
				expectCode(t, err, "")
				expect(t, e, all[0])
				if depth > 0 {
					nested(depth - 1)
				}
				break
			}
		}
		nested(20)

		var copied []store.StoredEvent
		for e, err := range s.Events(t.Context(), holdfast.Local, "c1", store.EventRange{}) {
			expectCode(t, err, "")
			copied = append(copied, e)
			expectCode(t, s.Append(t.Context(), holdfast.Local, "copy", e.Seq-1, []store.StoredEvent{e}), "")
		}
		expect(t, copied, all)
		expect(t, events(t, s, "copy", store.EventRange{}), all)
	},

	"what is appended to a stream while it is read leaves what was there as it is": func(t *testing.T, s Store) {
		all := long()
		create(t, s, conversation("c1"), all...)
		var got []store.StoredEvent
		for e, err := range s.Events(t.Context(), holdfast.Local, "c1", store.EventRange{UpTo: 400}) {
			expectCode(t, err, "")
			got = append(got, e)
			head := int64(399 + len(got))
			expectCode(t, s.Append(t.Context(), holdfast.Local, "c1", head, []store.StoredEvent{event(int(head)+1, "turn")}), "")
		}
		expect(t, got, all)
	},

	"reading events ends with the context": func(t *testing.T, s Store) {
		create(t, s, conversation("c1"), long()...)
		for _, most := range []int{0, 1, 200} {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if most == 0 {
				cancel()
			}
			read, errs := 0, []error(nil)
			for e, err := range s.Events(ctx, holdfast.Local, "c1", store.EventRange{}) {
				if err != nil {
					expect(t, e, store.StoredEvent{})
					errs = append(errs, err)
					continue
				}
				if read++; read == most {
					cancel()
				}
			}
			expect(t, read, most)
			expect(t, codes(errs), []holdfast.Code{holdfast.ErrUnavailable})
		}
	},
}

// hold takes a lease that must be given.
func hold(t *testing.T, s Store, id string, l store.Lease, now time.Time) {
	t.Helper()
	got, err := s.Hold(t.Context(), holdfast.Local, holdfast.ConversationID(id), l, now)
	if err != nil {
		t.Fatalf("Hold: %v", err)
	}
	expect(t, got, l)
}

// refusedHold asks for a lease that another one must keep it from.
func refusedHold(t *testing.T, s Store, id string, l store.Lease, now time.Time, other store.Lease) {
	t.Helper()
	got, err := s.Hold(t.Context(), holdfast.Local, holdfast.ConversationID(id), l, now)
	expectCode(t, err, holdfast.ErrConflict)
	expect(t, got, other)
	if err != nil && !strings.Contains(err.Error(), other.Holder) {
		t.Errorf("the refusal does not name %q: %v", other.Holder, err)
	}
}

var holding = map[string]func(*testing.T, Store){
	"a lease keeps others out until it ends": func(t *testing.T, s Store) {
		create(t, s, conversation("c1"))
		create(t, s, conversation("c2"))
		one := store.Lease{Holder: "holdfast query, process 1", Token: "1", Until: at(10)}
		two := store.Lease{Holder: "holdfast query, process 2", Token: "2", Until: at(20)}
		hold(t, s, "c1", one, at(0))
		refusedHold(t, s, "c1", two, at(1), one)
		refusedHold(t, s, "c1", two, at(10).Add(-time.Microsecond), one)
		hold(t, s, "c2", two, at(1)) // of another conversation
		hold(t, s, "c1", two, at(10))
		refusedHold(t, s, "c1", one, at(11), two)
	},

	"a lease is prolonged, and shortened, by its token": func(t *testing.T, s Store) {
		create(t, s, conversation("c1"))
		one := store.Lease{Holder: "one", Token: "1", Until: at(10)}
		two := store.Lease{Holder: "two", Token: "2", Until: at(50)}
		hold(t, s, "c1", one, at(0))
		one.Holder, one.Until = "one, renamed", at(20)
		hold(t, s, "c1", one, at(9))
		refusedHold(t, s, "c1", two, at(15), one)
		one.Until = at(16)
		hold(t, s, "c1", one, at(15))
		hold(t, s, "c1", two, at(16))
	},

	"a lease ends when its token is released, and no other one does it": func(t *testing.T, s Store) {
		create(t, s, conversation("c1"))
		create(t, s, conversation("c2"))
		one := store.Lease{Holder: "one", Token: "1", Until: at(10)}
		two := store.Lease{Holder: "two", Token: "2", Until: at(20)}
		release := func(id holdfast.ConversationID, token string) {
			t.Helper()
			expectCode(t, s.Release(t.Context(), holdfast.Local, id, token), "")
		}
		release("c1", "1") // there is none
		hold(t, s, "c1", one, at(0))
		release("c1", "2")
		release("c1", "")
		release("c2", "1")
		refusedHold(t, s, "c1", two, at(1), one)
		release("c1", "1")
		hold(t, s, "c1", two, at(2))
		release("c1", "1") // no longer held
		refusedHold(t, s, "c1", one, at(3), two)
	},

	"a lease without a token is refused": func(t *testing.T, s Store) {
		create(t, s, conversation("c1"))
		got, err := s.Hold(t.Context(), holdfast.Local, "c1", store.Lease{Holder: "one", Until: at(10)}, at(0))
		expectCode(t, err, holdfast.ErrInternal)
		expect(t, got, store.Lease{})
		hold(t, s, "c1", store.Lease{Holder: "two", Token: "2", Until: at(20)}, at(1))
	},

	"the end of a lease comes back in UTC, to the microsecond": func(t *testing.T, s Store) {
		create(t, s, conversation("c1"))
		given := store.Lease{Holder: "one", Token: "1", Until: time.Date(2026, 3, 1, 13, 0, 5, 123456789, time.FixedZone("east", 3600))}
		kept := given
		kept.Until = time.Date(2026, 3, 1, 12, 0, 5, 123456000, time.UTC)
		got, err := s.Hold(t.Context(), holdfast.Local, "c1", given, at(0))
		expectCode(t, err, "")
		expect(t, got, kept)
		refusedHold(t, s, "c1", store.Lease{Holder: "two", Token: "2", Until: at(20)}, at(1), kept)
	},

	"a lease says nothing about appends, and changes nothing that is told": func(t *testing.T, s Store) {
		c, all := conversation("c1"), stream("turn", "user")
		create(t, s, c, all[0])
		hold(t, s, "c1", store.Lease{Holder: "one", Token: "1", Until: at(50)}, at(40))
		expectStream(t, s, after(c, all[:1]), all[:1])
		expectCode(t, s.Append(t.Context(), holdfast.Local, "c1", 1, all[1:]), "")
		expectStream(t, s, after(c, all), all)
	},
}
