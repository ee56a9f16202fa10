package conversations_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine/conversations"
	"github.com/holdfast-dev/holdfast/store"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// newService returns a service over an empty store, with a clock that stands at
// noon and ids that count.
func newService(t *testing.T) *conversations.Service {
	t.Helper()
	s, _ := serviceOn(store.NewMemory())
	return s
}

func serviceOn(st store.Conversations) (*conversations.Service, store.Conversations) {
	n := 0
	newID := func() string { n++; return fmt.Sprintf("id-%d", n) }
	return conversations.New(st, holdfast.Local, func() time.Time { return noon }, newID), st
}

// importText imports a text and fails the test where that fails.
func importText(t *testing.T, s *conversations.Service, text string) ([]conversations.Imported, []conversations.Damage) {
	t.Helper()
	done, damage, err := s.Import(t.Context(), strings.NewReader(text), conversations.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return done, damage
}

// one imports a text with one conversation and returns its id.
func one(t *testing.T, s *conversations.Service, text string) holdfast.ConversationID {
	t.Helper()
	done, _ := importText(t, s, text)
	if len(done) != 1 {
		t.Fatalf("%d conversations", len(done))
	}
	return done[0].ID
}

func export(t *testing.T, s *conversations.Service, id holdfast.ConversationID) string {
	t.Helper()
	var b strings.Builder
	if err := s.Export(t.Context(), id, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// core is the core of the form, as other programs write it: no ids, no times.
const core = `{"kind":"turn"}
{"kind":"user","content":[{"type":"text","text":"Why does the retry queue stall?"}]}
{"kind":"reasoning","text":"look"}
{"kind":"tool_call","call_id":"1","name":"fs_read_file","arguments":{"path":"a.go"}}
{"kind":"tool_result","call_id":"1","content":[{"type":"text","text":"package a"}],"is_error":false}
{"kind":"assistant","content":[{"type":"text","text":"It never wakes."}]}
{"kind":"turn"}
{"kind":"user","content":[{"type":"text","text":"Fix it."}]}
{"kind":"compaction","from_turn":0,"to_turn":0,"source":"manual","reasoning":"strip","tool_calls":{"policy":"strip","request":true,"response":true}}
`
