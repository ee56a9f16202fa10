package sqlite

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// TestVersion5OpensForever reads a database as the fifth schema wrote it. The
// dump is frozen: no later change of the schema may touch it.
func TestVersion5OpensForever(t *testing.T) {
	s := openDump(t, "testdata/schema5.sql")
	at := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC) // 1767323045678901 in the dump
	list, err := s.Noted(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	expect(t, list, []store.AuditEntry{
		{
			At: at, Principal: holdfast.Local, Session: "s1", Label: "nightly",
			Policy: "of ci", Key: "max_capsule_tokens", From: "2500", To: "1200",
		},
		{At: at.Add(time.Second), Principal: "work", Session: "s0", Key: "enabled", From: "false", To: "true"},
	})
	expect(t, load(t, s, "s1").Agent, "codex")
}
