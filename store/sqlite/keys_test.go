package sqlite

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// TestVersion3OpensForever reads a database as the third schema wrote it. The
// dump is frozen: no later change of the schema may touch it.
func TestVersion3OpensForever(t *testing.T) {
	s := openDump(t, "testdata/schema3.sql")
	created := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC) // 1767323045678901 in the dump
	list, err := s.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	expect(t, list, []store.Key{
		{ID: "abcdefgh", Principal: holdfast.Local, Label: "a label", Digest: [32]byte{0xA1}, CreatedAt: created},
		{
			ID: "ijklmnop", Principal: "work", Digest: [32]byte{0xB2}, CreatedAt: created.Add(time.Second),
			RevokedAt: created.Add(2 * time.Second), ReplacedBy: "abcdefgh",
		},
	})
	expect(t, get(t, s).Title, "a title")
	expect(t, load(t, s, "s1").Agent, "codex")
}
