package sqlite

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

func TestADatabaseOfANewerSchemaIsRefusedAndLeftAsItIs(t *testing.T) {
	path := newPath(t)
	s := openAt(t, path)
	apply(t, s, step(1))
	change(t, s, "INSERT INTO holdfast_schema (version_id, is_applied) VALUES (9, 1)")
	// As it is after a crash, the newer version only in the log; and closed.
	crashed := newPath(t)
	copyFile(t, path, crashed)
	copyFile(t, path+"-wal", crashed+"-wal")
	closed(t, s)

	for _, file := range []string{crashed, crashed + "-wal", path} {
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		database := strings.TrimSuffix(file, "-wal")
		_, err = Open(database)
		expectError(t, err, holdfast.ErrNewer, database+" was written by a newer version of Holdfast "+
			"(its schema has version 9, this program knows 8) and was left as it is: "+
			"upgrade Holdfast, or choose another directory with --data DIR")
		after, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before, after) {
			t.Errorf("%s was changed", filepath.Base(file))
		}
	}
}

func TestAFileOfAnotherKindIsRefusedAndLeftAsItIs(t *testing.T) {
	foreign := newPath(t)
	db, err := database{foreign, time.Second}.connect()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE notes (text)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	text := newPath(t)
	if err := os.WriteFile(text, bytes.Repeat([]byte("shopping list\n"), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{foreign, text} {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Open(path)
		expectError(t, err, holdfast.ErrUnavailable,
			path+" is not a database of Holdfast and was left as it is; move it away, or choose another directory with --data DIR")
		after, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before, after) {
			t.Errorf("%s was changed", path)
		}
	}
}

func TestADamagedDatabaseIsNamed(t *testing.T) {
	path := newPath(t)
	s := openAt(t, path)
	for n := range 30 {
		apply(t, s, step(n+1))
	}
	closed(t, s)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Every page behind the first is overwritten.
	broken := append(bytes.Clone(data[:4096]), bytes.Repeat([]byte{0xEE}, len(data)-4096)...)
	if err := os.WriteFile(path, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(path)
	expectError(t, err, holdfast.ErrUnavailable, "the database "+path+" is damaged; move it and its -wal and -shm files away "+
		"to start with an empty one, or put a backup in its place (database disk image is malformed (11))")
}

func TestAnUnwritableDirectoryIsNamedWithTheReason(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(filepath.Join(file, "holdfast.db"))
	expectError(t, err, holdfast.ErrUnavailable, "cannot write in the data directory "+file+
		": mkdir "+file+": not a directory; make it writable for this user, or choose another with --data DIR")
}

func TestALockedDatabaseIsNamedOnceTheWaitIsOver(t *testing.T) {
	path := newPath(t)
	other := openAt(t, path)
	s, err := open(path, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, s)
	tx, err := other.writer.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	errs := s.Apply(t.Context(), []store.Batch{step(1), step(2)})
	for _, err := range errs {
		expectError(t, err, holdfast.ErrUnavailable, "cannot write: the database "+path+
			" is locked by another process for more than 20ms; stop that process or try again (database is locked (5) (SQLITE_BUSY))")
	}
	if len(errs) != 2 {
		t.Errorf("got %d errors for two batches", len(errs))
	}
	if _, err := s.Sessions(t.Context(), holdfast.Local); err != nil {
		t.Errorf("a reader had to wait for a writer: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	apply(t, s, step(1))
}

func TestAFullDiskRefusesWritesAndTakesThemAgainOnceThereIsRoom(t *testing.T) {
	path := newPath(t)
	s := openAt(t, path)
	apply(t, s, step(1))
	var pages int
	if err := s.writer.QueryRowContext(t.Context(), "PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	limit := func(n int) {
		var got int
		if err := s.writer.QueryRowContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", n)).Scan(&got); err != nil || got != n {
			t.Fatalf("the limit is %d, want %d: %v", got, n, err)
		}
	}
	limit(pages)
	big := step(3)
	big.Revisions[0].Capsule = bytes.Repeat([]byte("plan "), 2_000)

	// The first batch would fit alone: one commit holds both, so none is in.
	for _, err := range s.Apply(t.Context(), []store.Batch{step(2), big}) {
		expectError(t, err, holdfast.ErrUnavailable, "cannot write: no room is left for the database "+path+
			"; free some disk space, nothing needs a restart (database or disk is full (13))")
	}
	expect(t, load(t, s, "s1"), stateAfter(1))

	limit(pages + 100)
	apply(t, s, step(2), big)
	want := stateAfter(3)
	want.Branches[0].Revisions[2] = big.Revisions[0]
	expect(t, load(t, s, "s1"), want)
}

func TestAClosedStoreSaysSo(t *testing.T) {
	s, err := Open(newPath(t))
	if err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	closed(t, s)
	expectError(t, s.Apply(t.Context(), []store.Batch{step(1)})[0], holdfast.ErrUnavailable,
		"cannot write: the store is closed (sql: database is closed)")
	_, err = s.Load(t.Context(), holdfast.Local, "s1")
	expectError(t, err, holdfast.ErrUnavailable, "cannot read a session: the store is closed (sql: database is closed)")
}

// TestVersion1OpensForever reads a database as the first schema wrote it. The
// dump is frozen: no later change of the schema may touch it.
func TestVersion1OpensForever(t *testing.T) {
	s := openDump(t, "testdata/schema1.sql")
	digest := func(first byte) (d holdfast.Digest) { d[0] = first; return d }
	created := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC) // 1767323045678901 in the dump
	expect(t, load(t, s, "s1"), store.SessionState{
		Session: store.Session{
			ID: "s1", Principal: holdfast.Local, Agent: "codex", Key: "run:work", CreatedAt: created, UsedAt: created.Add(time.Second),
		},
		Branches: []store.BranchState{
			{
				Branch: store.Branch{ID: "b1", Session: "s1", Epoch: 1, CreatedAt: created, UsedAt: created},
				Epochs: []store.Epoch{
					{Branch: "b1", N: 0, OpenedAt: created},
					{Branch: "b1", N: 1, Evidence: digest(0xEE), Revision: 1, Block: "a block\nof two lines", OpenedAt: created},
				},
				Anchors: []store.Anchor{
					{Branch: "b1", Epoch: 0, Seq: 0, Digest: digest(0xA0), Strong: true},
					{Branch: "b1", Epoch: 0, Seq: 1, Digest: digest(0xA1), Revision: 1},
				},
				Revisions: []store.Revision{
					{Branch: "b1", N: 1, Epoch: 0, Seq: 2, Digest: "sha256:one", Capsule: []byte(`{"schema_version":1,"revision":1}`), At: created},
				},
				Boundaries: []store.Boundary{{
					ID: "c1", Branch: "b1", Epoch: 0, Row: "codex/local", Status: store.BoundaryCommitted, Revision: 1,
					Summary: digest(0xEE), Block: "sha256:block", At: created,
				}},
			},
			{Branch: store.Branch{
				ID: "b2", Session: "s1", Thread: "agent-7", Parent: "b1", ParentRevision: 1, CreatedAt: created.Add(time.Second), UsedAt: created,
			}},
		},
	})
	list, err := s.Removals(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, list, []store.Removal{{Seq: 3, Session: "s0"}})

	create(t, s, 2) // what the second schema added
	want, events := streamAfter(2)
	expect(t, get(t, s), want)
	expectStream(t, s, events)
}

// schemaObjects lists what a schema holds, by name.
func schemaObjects(t *testing.T, db *sql.DB) map[string]string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT name, COALESCE(sql, '') FROM sqlite_schema")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			t.Fatal(err)
		}
		all[name] = strings.Join(strings.Fields(text), " ")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
