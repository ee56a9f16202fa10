package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/store/storetest"
)

func TestSQLiteKeepsTheContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Store { return openAt(t, newPath(t)) })
}

func at(n int) time.Time { return time.Date(2026, 3, 1, 12, 0, n, 0, time.UTC) }

func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "holdfast.db") }

// openAt opens a database that is closed with the test.
func openAt(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, s) })
	return s
}

func closed(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func apply(t testing.TB, s *Store, batches ...store.Batch) {
	t.Helper()
	for i, err := range s.Apply(t.Context(), batches) {
		if err != nil {
			t.Fatalf("batch %d: %v", i, err)
		}
	}
}

func load(t testing.TB, s *Store, id holdfast.SessionID) store.SessionState {
	t.Helper()
	state, err := s.Load(t.Context(), holdfast.Local, id)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func expect[T any](t testing.TB, got, want T) {
	t.Helper()
	// Long texts are compared at once and not byte by byte.
	texts := cmp.FilterValues(func(a, b []byte) bool { return len(a)+len(b) > 0 }, cmp.Comparer(bytes.Equal))
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), texts); diff != "" {
		t.Errorf("want (-) and got (+) differ:\n%s", diff)
	}
}

// expectError compares the code and the message of an error.
func expectError(t testing.TB, err error, code holdfast.Code, message string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s: %s", code, message)
	}
	expect(t, fmt.Sprint(holdfast.CodeOf(err), ": ", err), fmt.Sprint(code, ": ", message))
}

func TestAClosedDatabaseOpensWithAllThatWasWritten(t *testing.T) {
	path := newPath(t)
	s := openAt(t, path)
	for n := range 20 {
		apply(t, s, step(n+1))
	}
	closed(t, s)
	files, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	expect(t, files, []string{path})
	expect(t, load(t, openAt(t, path), "s1"), stateAfter(20))
}

func TestAPathMayHoldAnyCharacter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a dir?mode=memory&x#50%é", "hold fast.db")
	s := openAt(t, path)
	apply(t, s, step(1))
	closed(t, s)
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	expect(t, load(t, openAt(t, path), "s1"), stateAfter(1))
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "for it")
	path := filepath.Join(dir, "holdfast.db")
	modes := func() map[string]os.FileMode {
		all := map[string]os.FileMode{}
		for _, name := range []string{dir, path, path + "-wal", path + "-shm"} {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			all[strings.TrimPrefix(name, dir)] = info.Mode().Perm()
		}
		return all
	}
	want := map[string]os.FileMode{"": 0o700, "/holdfast.db": 0o600, "/holdfast.db-wal": 0o600, "/holdfast.db-shm": 0o600}

	apply(t, openAt(t, path), step(1))
	expect(t, modes(), want)

	for name := range want {
		if name != "" {
			if err := os.Chmod(dir+name, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	openAt(t, path)
	expect(t, modes(), want)
}

func TestManyOpenANewDatabaseAtOnce(t *testing.T) {
	path := newPath(t)
	const many = 6
	stores, errs := make([]*Store, many), make([]error, many)
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() { stores[i], errs[i] = Open(path) })
	}
	all.Wait()
	for i := range many {
		if errs[i] != nil {
			t.Fatalf("process %d: %v", i, errs[i])
		}
		t.Cleanup(func() { closed(t, stores[i]) })
	}
	apply(t, stores[0], step(1))
	apply(t, stores[1], step(2))
	expect(t, load(t, stores[2], "s1"), stateAfter(2))
}

func TestARemovalIsSeenByAnotherProcess(t *testing.T) {
	path := newPath(t)
	server, command := openAt(t, path), openAt(t, path)
	apply(t, server, step(1))
	if err := command.Remove(t.Context(), holdfast.Local, "s1"); err != nil {
		t.Fatal(err)
	}
	list, err := server.Removals(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, list, []store.Removal{{Seq: 1, Session: "s1"}})
	expectError(t, server.Apply(t.Context(), []store.Batch{step(2)})[0], holdfast.ErrNotFound,
		"session s1 does not exist: it was removed, has expired or was never written; `holdfast session ls` lists those that exist")
}

func TestARemovedSessionLeavesNoTextInTheFiles(t *testing.T) {
	const secret = "the plan nobody may read again"
	for _, test := range []struct {
		name   string
		remove func(*Store) error
	}{
		{"by its id", func(s *Store) error { return s.Remove(t.Context(), holdfast.Local, "s1") }},
		{"by its age", func(s *Store) error { _, err := s.Expire(t.Context(), at(100)); return err }},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := newPath(t)
			s := openAt(t, path)
			b := step(1)
			b.Revisions[0].Capsule = bytes.Repeat([]byte(secret), 1000)
			b.Epochs = []store.Epoch{{Branch: "b1", Block: secret}}
			apply(t, s, b)
			if copies(t, path, secret) == 0 {
				t.Fatal("the text was never in the files: this test looks in the wrong place")
			}
			if err := test.remove(s); err != nil {
				t.Fatal(err)
			}
			expect(t, copies(t, path, secret), 0)
		})
	}
}

func TestAReaderPutsOffTheWipingAndNotTheRemoval(t *testing.T) {
	const secret = "the plan nobody may read again"
	path := newPath(t)
	other := openAt(t, path)
	s, err := open(path, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	b := step(1)
	b.Revisions[0].Capsule = []byte(secret)
	apply(t, s, b)
	reading, err := other.writer.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"BEGIN DEFERRED", "SELECT * FROM sessions"} {
		if _, err := reading.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Remove(t.Context(), holdfast.Local, "s1"); err != nil {
		t.Fatal(err)
	}
	if copies(t, path, secret) == 0 {
		t.Error("the log was emptied under a reader: this test has no reader")
	}
	if err := reading.Close(); err != nil {
		t.Fatal(err)
	}
	closed(t, s)
	closed(t, other)
	expect(t, copies(t, path, secret), 0)
}

// copies counts text in the files of a database.
func copies(t *testing.T, path, text string) (n int) {
	t.Helper()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		data, err := os.ReadFile(path + suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		n += bytes.Count(data, []byte(text))
	}
	return n
}

func TestRemovalsAreForgottenAfterThirtyDays(t *testing.T) {
	s := openAt(t, newPath(t))
	for _, id := range []holdfast.SessionID{"old", "new", "last"} {
		b := store.Batch{Session: store.Session{ID: id, Principal: holdfast.Local, Key: string(id), CreatedAt: at(0)}}
		apply(t, s, b)
		if id == "last" {
			break
		}
		if err := s.Remove(t.Context(), holdfast.Local, id); err != nil {
			t.Fatal(err)
		}
	}
	for id, age := range map[string]time.Duration{"old": 30*24*time.Hour + time.Minute, "new": 30*24*time.Hour - time.Minute} {
		change(t, s, "UPDATE removals SET removed_at = ? WHERE session_id = ?", time.Now().Add(-age).UnixMicro(), id)
	}
	if _, err := s.Expire(t.Context(), at(0)); err != nil {
		t.Fatal(err)
	}
	list, err := s.Removals(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, list, []store.Removal{{Seq: 2, Session: "new"}})

	change(t, s, "DELETE FROM removals")
	if err := s.Remove(t.Context(), holdfast.Local, "last"); err != nil {
		t.Fatal(err)
	}
	list, err = s.Removals(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, list, []store.Removal{{Seq: 3, Session: "last"}}) // the numbers grow on
}

// change alters a database behind the back of its store.
func change(t testing.TB, s *Store, query string, args ...any) {
	t.Helper()
	if _, err := s.writer.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

func TestCommitsAreFlushedToTheDisk(t *testing.T) {
	s := openAt(t, newPath(t))
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "secure_delete": "1", "foreign_keys": "1", "busy_timeout": "5000",
	} {
		var got string
		if err := s.writer.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil {
			t.Fatal(err)
		}
		expect(t, fmt.Sprint(pragma, "=", got), fmt.Sprint(pragma, "=", want))
	}
}
