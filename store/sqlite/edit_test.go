package sqlite

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/store"
)

// TestVersion6OpensForever reads a database as the sixth schema wrote it. The dump
// is frozen: no later change of the schema may touch it.
func TestVersion6OpensForever(t *testing.T) {
	s := openDump(t, "testdata/schema6.sql")
	at := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC) // 1767323045678901 in the dump
	b := load(t, s, "s1").Branches[0]
	expect(t, b.Watermark, "turn 3")
	expect(t, b.Revisions[0].Edit, false)
	edits, err := s.Edits(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, edits, []store.Edit(nil))
	held, err := s.Claim(t.Context(), "b1", "turn 4", "two", at, at.Add(time.Hour)) // until a second later
	if err != nil {
		t.Fatal(err)
	}
	expect(t, held, false)
	secret, err := s.Secret(t.Context(), "mark", []byte("fresh"))
	if err != nil {
		t.Fatal(err)
	}
	expect(t, secret, []byte{1, 2})
	target := schemaObjects(t, openAt(t, newPath(t)).writer)
	expect(t, schemaObjects(t, s.writer), target) // as a new database has them
}

// TestVersion7OpensForever reads a database as the seventh schema wrote it. The dump
// is frozen: no later change of the schema may touch it.
func TestVersion7OpensForever(t *testing.T) {
	s := openDump(t, "testdata/schema7.sql")
	b := load(t, s, "s1").Branches[0]
	expect(t, b.Round, 0)
	expect(t, b.Revisions[0].Edit, true)
	edits, err := s.Edits(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, len(edits), 1)
	expect(t, edits[0].Seq, int64(3))
	target := schemaObjects(t, openAt(t, newPath(t)).writer)
	expect(t, schemaObjects(t, s.writer), target) // as a new database has them
}
