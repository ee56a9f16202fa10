package conversations_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/engine/conversations"
	"github.com/holdfast-dev/holdfast/store"
)

func TestImportOfTheCoreForm(t *testing.T) {
	s := newService(t)
	done, damage := importText(t, s, core)
	if len(done) != 1 || len(damage) != 0 {
		t.Fatalf("%+v, %+v", done, damage)
	}
	if got, want := done[0], (conversations.Imported{ID: done[0].ID, Title: "Why does the retry queue stall?", New: true, Added: 9}); got != want {
		t.Errorf("imported %+v, want %+v", got, want)
	}
	c, err := s.Get(t.Context(), done[0].ID)
	if err != nil || c.Turns != 2 || c.Head != 9 || c.Origin != store.ImportedConversation || c.Title != done[0].Title || !c.CreatedAt.Equal(noon) {
		t.Errorf("stored %+v, %v", c, err)
	}
	l, err := s.Load(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	want := holdfast.Overlay{Source: holdfast.ManualOverlay, StripReasoning: true, Tools: &holdfast.ToolPolicy{Request: true, Response: true}}
	if diff := cmp.Diff(want, l.Entries[8].Event); diff != "" {
		t.Error(diff)
	}
	for i, e := range l.Entries {
		if e.Seq != int64(i+1) || len(e.ID) != 36 || !e.At.Equal(noon) {
			t.Errorf("entry %d is %d, %q, %v", i, e.Seq, e.ID, e.At)
		}
	}
}

func TestImportAgain(t *testing.T) {
	head := `{"kind":"conversation","version":1,"id":"c1","title":"Queue"}` + "\n"
	unknown := `{"kind":"hologram","depth":3}` + "\n"
	dated := `{"kind":"user","id":"u1","at":"2026-02-01T00:00:00Z","content":[{"type":"text","text":"hi"}],"mood":"calm"}` + "\n"
	cases := []struct {
		name, first, second string
		added, known        int // by the second
	}{
		{"the same file adds nothing", core, core, 0, 9},
		{"a file that grew adds what is new", core, core + `{"kind":"turn"}` + "\n", 1, 9},
		{"a file that was cut short adds nothing", core, strings.Join(strings.SplitAfter(core, "\n")[:4], ""), 0, 4},
		{"the same line many times is as many events", `{"kind":"turn"}` + "\n" + `{"kind":"turn"}` + "\n", strings.Repeat(`{"kind":"turn"}`+"\n", 3), 1, 2},
		{"a head with an id names the conversation", head + core, head + core + unknown, 1, 9},
		{"lines of unknown kinds", head + unknown + unknown, head + unknown + unknown, 0, 2},
		{"lines with ids of their own", dated + core, dated + core, 0, 10},
		{"lines that cannot be read", "{\n" + core, "{\n" + core, 0, 9},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newService(t)
			id := one(t, s, c.first)
			done, _ := importText(t, s, c.second)
			if len(done) != 1 || done[0].ID != id || done[0].New || done[0].Added != c.added || done[0].Known != c.known {
				t.Errorf("the second import: %+v, want %d added to %s, %d known", done, c.added, id, c.known)
			}
			if list, err := s.List(t.Context(), true); err != nil || len(list) != 1 {
				t.Errorf("%d conversations, %v", len(list), err)
			}
		})
	}
}

func TestAFileThatGrewGivesItsConversationATitle(t *testing.T) {
	s := newService(t)
	begun := `{"kind":"conversation","version":1,"id":"c1"}` + "\n" + `{"kind":"turn"}` + "\n"
	id := one(t, s, begun)
	done, _ := importText(t, s, begun+`{"kind":"user","content":[{"type":"text","text":"Fix it"}]}`+"\n")
	if c, err := s.Get(t.Context(), id); c.Title != "Fix it" || done[0].Title != "Fix it" || err != nil {
		t.Errorf("kept %q, told %q, %v", c.Title, done[0].Title, err)
	}
}

func TestImportRefusesAConversationThatWentOnInAnotherWay(t *testing.T) {
	s := newService(t)
	head := `{"kind":"conversation","version":1,"id":"c1"}` + "\n"
	one(t, s, head+core)
	before := export(t, s, "c1")
	other := strings.Replace(head+core, "Fix it.", "Leave it.", 1)
	_, _, err := s.Import(t.Context(), strings.NewReader(other), conversations.ImportOptions{})
	if holdfast.CodeOf(err) != holdfast.ErrConflict || !strings.HasPrefix(err.Error(), "line 9: conversation c1 has another event at this place") {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff(before, export(t, s, "c1")); diff != "" {
		t.Error(diff)
	}
	done, _, err := s.Import(t.Context(), strings.NewReader(other), conversations.ImportOptions{Copy: true})
	if err != nil || len(done) != 1 || !done[0].New || done[0].ID == "c1" || done[0].Added != 9 {
		t.Errorf("a copy: %+v, %v", done, err)
	}
}

func TestImportOfACopyKeepsWhatIsRevoked(t *testing.T) {
	s := newService(t)
	text := core + `{"kind":"compaction","id":"o","from_turn":0,"to_turn":1,"reasoning":"strip"}
{"kind":"revocation","compactions":["o"]}
`
	done, _, err := s.Import(t.Context(), strings.NewReader(text), conversations.ImportOptions{Copy: true})
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Load(t.Context(), done[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	list := conversation.Overlays(l.Entries)
	if len(list) != 2 || list[0].Revoked || !list[1].Revoked || list[1].ID == "o" {
		t.Errorf("overlays %+v", list)
	}
}

func TestImportNamesWhatItLeavesOut(t *testing.T) {
	s := newService(t)
	done, damage := importText(t, s, `{"kind":"turn"}
no JSON

{"kind":"tool_call","name":"n"}
{"kind":"user","content":[]}
{"kind":"assistant","content":[{"type":"te`)
	want := []conversations.Damage{
		{Line: 2, Reason: "this is no JSON object: it is wrong or breaks off at byte 1"},
		{Line: 4, Reason: "tool_call: a call needs call_id and name"},
		{Line: 6, Reason: "this is no JSON object: it is wrong or breaks off at byte 42"},
	}
	if diff := cmp.Diff(want, damage); diff != "" {
		t.Error(diff)
	}
	if len(done) != 1 || done[0].Added != 2 {
		t.Errorf("%+v", done)
	}
}

func TestImportOfSeveralConversations(t *testing.T) {
	s := newService(t)
	file := `{"kind":"conversation","version":1,"id":"a","title":"A"}
{"kind":"turn"}
{"kind":"conversation","version":1,"id":"b","title":"B","agent":"codex"}
{"kind":"conversation","version":1,"id":"c"}
{"kind":"turn"}
{"kind":"user","content":[{"type":"text","text":"C"}]}
`
	done, _ := importText(t, s, file)
	want := []conversations.Imported{
		{ID: "a", Title: "A", New: true, Added: 1}, {ID: "b", Title: "B", New: true}, {ID: "c", Title: "C", New: true, Added: 2},
	}
	if diff := cmp.Diff(want, done); diff != "" {
		t.Error(diff)
	}
}

func TestImportRefusesALaterForm(t *testing.T) {
	s := newService(t)
	_, _, err := s.Import(t.Context(), strings.NewReader(core+`{"kind":"conversation","version":2}`), conversations.ImportOptions{})
	if holdfast.CodeOf(err) != holdfast.ErrNewer || !strings.HasPrefix(err.Error(), "line 10: ") {
		t.Errorf("error %v", err)
	}
}

func TestAnImportThatFailsLeavesNothingHalfDone(t *testing.T) {
	s := newService(t)
	broken := io.MultiReader(strings.NewReader(strings.Repeat(`{"kind":"turn"}`+"\n", 6000)), broken{})
	_, _, err := s.Import(t.Context(), broken, conversations.ImportOptions{})
	if holdfast.CodeOf(err) != holdfast.ErrUnavailable {
		t.Errorf("error %v", err)
	}
	if list, err := s.List(t.Context(), true); err != nil || len(list) != 0 {
		t.Errorf("%d conversations, %v", len(list), err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

func TestTitles(t *testing.T) {
	user := func(text string) string {
		return `{"kind":"user","content":[{"type":"image","data":"AA=="},{"type":"text","text":"` + text + `"}]}` + "\n"
	}
	cases := []struct{ name, in, want string }{
		{"the first words of the first message", user(`Move\n the  store`) + user("B"), "Move the store"},
		{"what a harness wrote is none", `{"kind":"user","synthetic":true,"content":[{"type":"text","text":"<env>"}]}` + "\n" + user("B"), "B"},
		{"cut between words", user(strings.Repeat("abcdefghi ", 7)), strings.Repeat("abcdefghi ", 6) + "…"},
		{"a word without end", user(strings.Repeat("ü", 70)), strings.Repeat("ü", 59) + "…"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if done, _ := importText(t, newService(t), c.in); done[0].Title != c.want {
				t.Errorf("title %q, want %q", done[0].Title, c.want)
			}
		})
	}
}
