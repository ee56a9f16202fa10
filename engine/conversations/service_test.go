package conversations_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/engine/conversations"
	"github.com/holdfast-dev/holdfast/store"
)

func TestAnExportIsImportedAsTheSameConversation(t *testing.T) {
	s := newService(t)
	id := one(t, s, `{"kind":"conversation","version":1,"id":"c1","title":"Queue","agent":"codex"}
`+core+`{"kind":"hologram","x": 1.0}
{"kind":"user","mood":"calm","content":[]}
`)
	text := export(t, s, id)
	for _, part := range []string{`{"kind":"hologram","x": 1.0}` + "\n", `"mood":"calm"`, `"id":"c1","title":"Queue","agent":"codex"`} {
		if !strings.Contains(text, part) {
			t.Errorf("the export has no %s:\n%s", part, text)
		}
	}
	if done, _ := importText(t, s, text); done[0].Added != 0 || done[0].Known != 11 {
		t.Errorf("importing it where it came from: %+v", done)
	}
	elsewhere := newService(t)
	if done, _ := importText(t, elsewhere, text); done[0].ID != "c1" || done[0].Added != 11 {
		t.Errorf("importing it elsewhere: %+v", done)
	}
	if diff := cmp.Diff(text, export(t, elsewhere, "c1")); diff != "" {
		t.Error(diff)
	}
}

// TestAForkHasTheCompactionsThatStoodBeforeIt: of a stream of 100 events with
// compactions at 40 and 80, forks at 30, 60 and 90 have none, the first, both.
func TestAForkHasTheCompactionsThatStoodBeforeIt(t *testing.T) {
	s := newService(t)
	var lines []string
	for i := 1; i <= 100; i++ {
		switch {
		case i == 40:
			lines = append(lines, `{"kind":"compaction","from_turn":1,"to_turn":5,"source":"auto","reasoning":"strip"}`)
		case i == 80:
			lines = append(lines, `{"kind":"compaction","from_turn":6,"to_turn":8,"summary":{"text":"S"}}`)
		case i%5 == 1:
			lines = append(lines, `{"kind":"turn"}`)
		default:
			lines = append(lines, fmt.Sprintf(`{"kind":"reasoning","text":"thought %d"}`, i))
		}
	}
	id := one(t, s, strings.Join(lines, "\n"))
	parent, err := s.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for upTo, want := range map[int64]int{30: 0, 60: 1, 90: 2} {
		child, err := s.Fork(t.Context(), id, upTo, "fork")
		if err != nil {
			t.Fatal(err)
		}
		if child.Parent != id || child.ParentSeq != upTo || child.Head != upTo || child.Title != "fork" {
			t.Errorf("fork at %d: %+v", upTo, child)
		}
		l, err := s.Load(t.Context(), child.ID)
		if err != nil {
			t.Fatal(err)
		}
		overlays := conversation.Overlays(l.Entries)
		if len(overlays) != want || want > 0 && overlays[0].Source != holdfast.AutoOverlay {
			t.Errorf("fork at %d has the overlays %+v, want %d", upTo, overlays, want)
		}
		if diff := cmp.Diff(conversations.View(parent.Entries[:upTo]), conversations.View(l.Entries)); diff != "" {
			t.Errorf("fork at %d: the view is another than the parent's there:\n%s", upTo, diff)
		}
	}
	if _, err := s.Fork(t.Context(), id, 101, ""); holdfast.CodeOf(err) != holdfast.ErrUsage {
		t.Errorf("a fork behind the end: %v", err)
	}
}

func TestAppendRefusesWhatAnotherWroteMeanwhile(t *testing.T) {
	s := newService(t)
	id := one(t, s, core)
	a, err := s.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), &a, holdfast.TurnStart{}, holdfast.AssistantMessage{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), &b, holdfast.TurnStart{}); holdfast.CodeOf(err) != holdfast.ErrConflict {
		t.Errorf("error %v", err)
	}
	l, err := s.Load(t.Context(), id)
	if err != nil || l.Head != 11 || len(a.Entries) != 11 {
		t.Fatalf("head %d, %d entries, %v", l.Head, len(a.Entries), err)
	}
	if diff := cmp.Diff(a.Entries[9:], l.Entries[9:]); diff != "" {
		t.Error(diff)
	}
}

func TestAConversationOfALaterVersionCanBeReadOnly(t *testing.T) {
	s, st := serviceOn(store.NewMemory())
	c := store.Conversation{ID: "c", Principal: holdfast.Local, Origin: store.OwnConversation, Version: store.StreamVersion + 1, CreatedAt: noon}
	events := []store.StoredEvent{
		{Seq: 1, ID: "a", Kind: "user", At: noon, Line: []byte(`{"kind":"user","content":[{"type":"text","text":"hi"}]}`)},
		{Seq: 2, ID: "b", Kind: "user", At: noon, Line: []byte(`{"kind":"user","content":{"v2":true}}`)},
	}
	if err := st.Create(t.Context(), c, events); err != nil {
		t.Fatal(err)
	}
	l, err := s.Load(t.Context(), "c")
	if err != nil || l.Unreadable != 1 || len(conversations.View(l.Entries).Turns) != 1 {
		t.Fatalf("%+v, %v", l, err)
	}
	if err := s.Append(t.Context(), &l, holdfast.TurnStart{}); holdfast.CodeOf(err) != holdfast.ErrNewer {
		t.Errorf("append: %v", err)
	}
	if _, err := s.Fork(t.Context(), "c", 0, ""); holdfast.CodeOf(err) != holdfast.ErrNewer {
		t.Errorf("fork: %v", err)
	}
	text := `{"kind":"conversation","version":1,"id":"c"}` + "\n" + core
	if _, _, err := s.Import(t.Context(), strings.NewReader(text), conversations.ImportOptions{}); holdfast.CodeOf(err) != holdfast.ErrNewer {
		t.Errorf("import: %v", err)
	}
	if got := export(t, s, "c"); !strings.HasSuffix(got, string(events[0].Line)+"\n"+string(events[1].Line)+"\n") {
		t.Errorf("export:\n%s", got)
	}
}

func TestMarksAreWhereTurnsBegin(t *testing.T) {
	cases := []struct {
		name, in string
		want     []int64
	}{
		{"settings before the first marker", `{"kind":"config","config":{}}
			{"kind":"turn"}
			{"kind":"user"}
			{"kind":"turn"}`, []int64{1, 4}},
		{"messages before the first marker", `{"kind":"config","config":{}}
			{"kind":"user"}
			{"kind":"turn"}`, []int64{1, 3}},
		{"no marker", `{"kind":"user"}`, []int64{1}},
		{"markers alone", `{"kind":"turn"}
			{"kind":"turn"}`, []int64{1, 2}},
		{"nothing for a model", `{"kind":"config","config":{}}`, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newService(t)
			id := one(t, s, c.in)
			m, err := s.Marks(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, m.Starts); diff != "" {
				t.Error(diff)
			}
			l, err := s.Load(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			var starts []int64
			for _, turn := range conversation.Turns(l.Entries) {
				starts = append(starts, l.Entries[turn.Start].Seq)
			}
			if diff := cmp.Diff(starts, m.Starts); diff != "" {
				t.Errorf("the turns of the stream begin elsewhere:\n%s", diff)
			}
		})
	}
}

func TestEndOfTurn(t *testing.T) {
	s := newService(t)
	id := one(t, s, core)
	for turn, want := range map[int]int64{0: 6, 1: 9} {
		if got, err := s.EndOfTurn(t.Context(), id, turn); err != nil || got != want {
			t.Errorf("turn %d ends with %d, %v; want %d", turn, got, err, want)
		}
	}
	if _, err := s.EndOfTurn(t.Context(), id, 2); holdfast.CodeOf(err) != holdfast.ErrUsage {
		t.Errorf("error %v", err)
	}
}

func TestSearchFindsTextOfEveryKind(t *testing.T) {
	s := newService(t)
	id := one(t, s, core+`{"kind":"turn"}
{"kind":"compaction","from_turn":0,"to_turn":1,"summary":{"text":"first line\nthe queue was fixed"}}
`)
	var got []string
	for m, err := range s.Search(t.Context(), id, regexp.MustCompile(`queue|wakes|look|a\.go|package`)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%d %d %s: %s", m.Turn, m.Seq, m.Kind, m.Line[m.Start:m.End]))
	}
	want := []string{"0 2 user: queue", "0 3 reasoning: look", "0 4 tool_call: a.go", "0 5 tool_result: package", "0 6 assistant: wakes", "2 11 compaction: queue"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// now is the time of a test's bubble.
func leased(t *testing.T, st store.Conversations, name string) *conversations.Service {
	t.Helper()
	n := 0
	return conversations.New(st, holdfast.Local, time.Now, func() string { n++; return fmt.Sprint(name, n) })
}

func TestALeaseKeepsASecondWriterWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		a, b := leased(t, st, "a"), leased(t, st, "b")
		id := one(t, a, core)
		release, err := a.Lease(t.Context(), id, "program a", time.Second, nil)
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		_, err = b.Lease(t.Context(), id, "program b", time.Minute, func(l store.Lease) { told = append(told, l.Holder) })
		want := fmt.Sprintf("conversation %s is being written by program a. Wait until it is done, or stop it", id)
		if holdfast.CodeOf(err) != holdfast.ErrConflict || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
		if diff := cmp.Diff([]string{"program a"}, told); diff != "" {
			t.Errorf("told while waiting: %s", diff)
		}
		time.AfterFunc(5*time.Second, release)
		began := time.Now()
		release, err = b.Lease(t.Context(), id, "program b", time.Minute, nil)
		if waited := time.Since(began); err != nil || waited < 5*time.Second || waited > 6*time.Second {
			t.Errorf("got it after %v, %v", waited, err)
		}
		release()
	})
}

// killed lets the first Hold through and none behind it.
type killed struct {
	store.Conversations
	held bool
}

func (k *killed) Hold(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID, l store.Lease, now time.Time) (store.Lease, error) {
	if k.held {
		return store.Lease{}, errors.New("the process is gone")
	}
	k.held = true
	return k.Conversations.Hold(ctx, p, id, l, now)
}

func TestALeaseOfAProcessThatWasKilledEndsBeforePatienceDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		b := leased(t, st, "b")
		id := one(t, b, core)
		gone, err := leased(t, &killed{Conversations: st}, "a").Lease(t.Context(), id, "gone", time.Second, nil)
		if err != nil {
			t.Fatal(err)
		}
		release, err := b.Lease(t.Context(), id, "program b", conversations.Patience, nil)
		if err != nil {
			t.Fatal(err)
		}
		release()
		gone()
	})
}

func TestMarkdownQuotesWhatCameFromTheConversation(t *testing.T) {
	s := newService(t)
	id := one(t, s, `{"kind":"conversation","version":1,"id":"c1","title":"A\n# B"}
{"kind":"turn"}
{"kind":"user","content":[{"type":"text","text":"# Not a heading\nsecond\u0007"},{"type":"file","name":"a.pdf"}]}
{"kind":"tool_call","call_id":"1","name":"read","arguments":{"a":1}}
{"kind":"tool_result","call_id":"1","content":[{"type":"text","text":"`+"```go\\nx\\n```"+`"}],"is_error":true}
{"kind":"usage","output_tokens":1}
{"kind":"turn"}
{"kind":"assistant","content":[{"type":"text","text":"Done."}]}
{"kind":"compaction","from_turn":0,"to_turn":0,"summary":{"text":"S"}}
`)
	var b strings.Builder
	if err := s.Markdown(t.Context(), id, &b, func(text string) string { return strings.ReplaceAll(text, "\a", "?") }); err != nil {
		t.Fatal(err)
	}
	want := `# A # B

## Turn 1

**User**

> # Not a heading
> second?
> [a.pdf]

**Call of ` + "`read`" + `**

` + "```\n{\"a\":1}\n```" + `

**Result: error**

` + "````\n```go\nx\n```\n````" + `

## Turn 2

**Assistant**

> Done.

**Summary of turns 1 to 1**

> S
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
