package conversations_test

import (
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine/conversations"
	"github.com/holdfast-dev/holdfast/transcript"
)

// of yields items as a reader of transcripts does.
func of(items ...transcript.Item) iter.Seq2[transcript.Item, error] {
	return func(yield func(transcript.Item, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// said is the n-th event of a session: a turn, or what a person typed in it.
func said(session string, n int, text string) transcript.Item {
	e := holdfast.Entry{ID: holdfast.EventID(fmt.Sprint(session, n)), At: noon.Add(time.Duration(n) * time.Second)}
	e.Event = holdfast.TurnStart{}
	if text != "" {
		e.Event = holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text(text)}}
	}
	return transcript.Event{Session: session, Entry: e}
}

func TestSessionsOfAgentsAreImported(t *testing.T) {
	s := newService(t)
	first := []transcript.Item{
		transcript.Session{ID: "main", Agent: "codex", StartedAt: noon},
		said("main", 1, ""), said("main", 2, "Fix the queue"),
		transcript.Session{ID: "sub", Agent: "codex", Parent: "main"},
		said("sub", 1, ""),
		transcript.Damage{Line: 7, Reason: "it breaks off"},
		transcript.Session{ID: "main", Agent: "codex", Title: "The queue"},
		said("main", 3, ""), said("sub", 2, "Look"),
	}
	done, damage, err := s.ImportSessions(t.Context(), of(first...), conversations.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	main, sub := conversations.SessionID("codex", "main"), conversations.SessionID("codex", "sub")
	want := []conversations.Imported{{ID: main, Title: "The queue", New: true, Added: 3}, {ID: sub, Title: "Look", New: true, Added: 2}}
	if diff := cmp.Diff(want, done); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]conversations.Damage{{Line: 7, Reason: "it breaks off"}}, damage); diff != "" {
		t.Error(diff)
	}
	c, err := s.Get(t.Context(), sub)
	if err != nil || c.Parent != main || c.Agent != "codex" {
		t.Errorf("the subagent: %+v, %v", c, err)
	}
	if c, err = s.Get(t.Context(), main); err != nil || c.Title != "The queue" || !c.CreatedAt.Equal(noon) {
		t.Errorf("the session: %+v, %v", c, err)
	}

	// Again, grown: only what is new is added.
	done, _, err = s.ImportSessions(t.Context(), of(append(first, said("main", 4, "More"))...), conversations.ImportOptions{})
	want = []conversations.Imported{{ID: main, Title: "The queue", Added: 1, Known: 3}, {ID: sub, Title: "Look", Known: 2}}
	if diff := cmp.Diff(want, done); diff != "" || err != nil {
		t.Errorf("%s, %v", diff, err)
	}
}

// TestASessionGrowsBehindWhatWasAddedHere: a compaction made here, and events that
// the agent put in between, keep nothing from being imported.
func TestASessionGrowsBehindWhatWasAddedHere(t *testing.T) {
	s := newService(t)
	session := transcript.Session{ID: "a", Agent: "pi"}
	if _, _, err := s.ImportSessions(t.Context(), of(session, said("a", 1, "one"), said("a", 3, "three")), conversations.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	l := load(t, s, conversations.SessionID("pi", "a"))
	if err := s.Append(t.Context(), l, holdfast.Overlay{Source: holdfast.ManualOverlay, StripReasoning: true}); err != nil {
		t.Fatal(err)
	}
	grown := of(session, said("a", 1, "one"), said("a", 2, "two"), said("a", 3, "three"), said("a", 4, "four"))
	for _, added := range []int{2, 0} {
		done, _, err := s.ImportSessions(t.Context(), grown, conversations.ImportOptions{})
		if err != nil || len(done) != 1 || done[0].Added != added || done[0].Added+done[0].Known != 4 {
			t.Fatalf("%+v, %v; want %d added", done, err, added)
		}
	}
	var ids []string
	for _, e := range load(t, s, l.ID).Entries {
		if _, overlay := e.Event.(holdfast.Overlay); overlay {
			ids = append(ids, "overlay")
		} else {
			ids = append(ids, string(e.ID))
		}
	}
	if diff := cmp.Diff([]string{"a1", "a3", "overlay", "a2", "a4"}, ids); diff != "" {
		t.Error(diff)
	}
}

func TestATitleThatComesLaterIsTaken(t *testing.T) {
	untitled := transcript.Session{ID: "a", Agent: "pi"}
	titled := transcript.Session{ID: "a", Agent: "pi", Title: "The queue"}
	mine := "mine"
	cases := []struct {
		name    string
		before  []transcript.Item
		retitle *string
		after   []transcript.Item
		want    string
	}{
		{"of the first message", []transcript.Item{untitled, said("a", 1, "")}, nil, []transcript.Item{untitled, said("a", 1, ""), said("a", 2, "Fix it")}, "Fix it"},
		{"of the agent, where there was none", []transcript.Item{untitled, said("a", 1, "")}, nil, []transcript.Item{titled, said("a", 1, "")}, "The queue"},
		{"of the agent, for that of the first message", []transcript.Item{untitled, said("a", 1, "Fix it")}, nil, []transcript.Item{titled, said("a", 1, "Fix it")}, "The queue"},
		{"never for one that a person gave", []transcript.Item{untitled, said("a", 1, "Fix it")}, &mine, []transcript.Item{titled, said("a", 1, "Fix it"), said("a", 2, "More")}, "mine"},
		{"nor is one of the agent lost", []transcript.Item{titled, said("a", 1, "Fix it")}, nil, []transcript.Item{untitled, said("a", 1, "Fix it"), said("a", 2, "More")}, "The queue"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newService(t)
			id := conversations.SessionID("pi", "a")
			if _, _, err := s.ImportSessions(t.Context(), of(c.before...), conversations.ImportOptions{}); err != nil {
				t.Fatal(err)
			}
			if c.retitle != nil {
				if err := s.Retitle(t.Context(), id, *c.retitle); err != nil {
					t.Fatal(err)
				}
			}
			done, _, err := s.ImportSessions(t.Context(), of(c.after...), conversations.ImportOptions{})
			if err != nil {
				t.Fatal(err)
			}
			kept, err := s.Get(t.Context(), id)
			if kept.Title != c.want || done[0].Title != c.want || err != nil {
				t.Errorf("kept %q, told %q, want %q; %v", kept.Title, done[0].Title, c.want, err)
			}
		})
	}
}

func TestAReaderThatFailsLeavesNoHalfSession(t *testing.T) {
	s := newService(t)
	failing := func(yield func(transcript.Item, error) bool) {
		yield(transcript.Session{ID: "a", Agent: "pi"}, nil)
		for n := range 6000 {
			yield(said("a", n, "word"), nil)
		}
		yield(nil, holdfast.Errorf(holdfast.ErrUnavailable, "the disk is gone"))
	}
	if _, _, err := s.ImportSessions(t.Context(), failing, conversations.ImportOptions{}); holdfast.CodeOf(err) != holdfast.ErrUnavailable {
		t.Errorf("error %v", err)
	}
	if list, err := s.List(t.Context(), true); err != nil || len(list) != 0 {
		t.Errorf("%d conversations, %v", len(list), err)
	}
}
