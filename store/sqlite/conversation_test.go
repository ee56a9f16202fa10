package sqlite

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// create writes conversation c1 with n exchanges.
func create(t testing.TB, s *Store, n int) {
	t.Helper()
	c, events := streamAfter(n)
	if err := s.Create(t.Context(), c, events); err != nil {
		t.Fatal(err)
	}
}

// get reads the head of conversation c1.
func get(t testing.TB, s *Store) store.Conversation {
	t.Helper()
	c, err := s.Get(t.Context(), holdfast.Local, "c1")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// expectStream compares the events of conversation c1.
func expectStream(t testing.TB, s *Store, want []store.StoredEvent) {
	t.Helper()
	var got []store.StoredEvent
	for e, err := range s.Events(t.Context(), holdfast.Local, "c1", store.EventRange{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	expect(t, got, want)
}

func TestTwoProcessesTakeTurnsOnAConversation(t *testing.T) {
	path := newPath(t)
	one, two := openAt(t, path), openAt(t, path)
	create(t, one, 0)
	first := store.Lease{Holder: "holdfast query, process 1 on host a", Token: "1", Until: at(30)}
	second := store.Lease{Holder: "holdfast query, process 2 on host a", Token: "2", Until: at(60)}
	if _, err := one.Hold(t.Context(), holdfast.Local, "c1", first, at(0)); err != nil {
		t.Fatal(err)
	}
	held, err := two.Hold(t.Context(), holdfast.Local, "c1", second, at(29))
	expect(t, held, first)
	expectError(t, err, holdfast.ErrConflict, "conversation c1 is in use by holdfast query, process 1 on host a until 2026-03-01T12:00:30Z: "+
		"wait, or end that program")
	held, err = two.Hold(t.Context(), holdfast.Local, "c1", second, at(30))
	expect(t, held, second)
	if err != nil {
		t.Error(err)
	}
	if err := two.Release(t.Context(), holdfast.Local, "c1", "2"); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Hold(t.Context(), holdfast.Local, "c1", first, at(0)); err != nil {
		t.Error(err)
	}
}

func TestTwoProcessesThatAppendLoseNothing(t *testing.T) {
	path := newPath(t)
	one, two := openAt(t, path), openAt(t, path)
	create(t, one, 1)
	if err := two.Append(t.Context(), holdfast.Local, "c1", 2, exchange(2)); err != nil {
		t.Fatal(err)
	}
	lost := exchange(3)
	expectError(t, one.Append(t.Context(), holdfast.Local, "c1", 2, lost), holdfast.ErrConflict,
		"conversation c1 ends with event 4 and not with event 2, nothing was written: read it again and append behind its end")
	if err := one.Append(t.Context(), holdfast.Local, "c1", get(t, one).Head, lost); err != nil {
		t.Fatal(err)
	}
	want, events := streamAfter(3)
	for _, s := range []*Store{one, two} {
		expect(t, get(t, s), want)
		expectStream(t, s, events)
	}
}

func TestEventsAreReadWhileAnotherProcessWrites(t *testing.T) {
	path := newPath(t)
	s, other := openAt(t, path), openAt(t, path)
	create(t, s, 12)
	writing, err := other.writer.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writing.Exec("DELETE FROM events"); err != nil {
		t.Fatal(err)
	}
	_, events := streamAfter(12)
	expectStream(t, s, events)
	if err := writing.Commit(); err != nil {
		t.Fatal(err)
	}
	expectStream(t, s, nil)
}

func TestALoopOverEventsKeepsNothingOfTheDatabase(t *testing.T) {
	s := openAt(t, newPath(t))
	create(t, s, 12)
	for _, err := range s.Events(t.Context(), holdfast.Local, "c1", store.EventRange{}) {
		if err != nil {
			t.Fatal(err)
		}
		// A reader of an older state would keep the log from being emptied.
		var busy, frames, moved int
		if err := s.Append(t.Context(), holdfast.Local, "c1", get(t, s).Head, exchange(get(t, s).Turns+1)); err != nil {
			t.Fatal(err)
		}
		if err := s.writer.QueryRowContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved); err != nil {
			t.Fatal(err)
		}
		expect(t, busy, 0)
		if get(t, s).Turns == 30 {
			break
		}
	}
	expect(t, get(t, s).Turns, 30)
}

func TestADeletedConversationLeavesNoTextInTheFiles(t *testing.T) {
	const secret = "the words nobody may read again"
	path := newPath(t)
	s := openAt(t, path)
	c, events := streamAfter(3)
	c.Title = secret
	events[1].Line = bytes.Repeat([]byte(secret), 10_000)
	events[2].Line = []byte(secret)
	if err := s.Create(t.Context(), c, events); err != nil {
		t.Fatal(err)
	}
	lease := store.Lease{Holder: secret, Token: secret, Until: at(50)}
	if _, err := s.Hold(t.Context(), holdfast.Local, "c1", lease, at(0)); err != nil {
		t.Fatal(err)
	}
	if copies(t, path, secret) < 10_000 {
		t.Fatal("the text was never in the files: this test looks in the wrong place")
	}
	if err := s.Delete(t.Context(), holdfast.Local, "c1"); err != nil {
		t.Fatal(err)
	}
	expect(t, copies(t, path, secret), 0)
}

// TestAnAppendWritesAsMuchHoweverLongTheStreamIs counts what goes into the log,
// which is all that is written before an append returns.
func TestAnAppendWritesAsMuchHoweverLongTheStreamIs(t *testing.T) {
	logged := func(before int) int64 {
		const appends = 200
		path := newPath(t)
		s := openAt(t, path)
		c, _ := streamAfter(0)
		var events []store.StoredEvent
		for n := range before {
			events = append(events, thousand(n+1))
		}
		if err := s.Create(t.Context(), c, events); err != nil {
			t.Fatal(err)
		}
		change(t, s, "PRAGMA wal_autocheckpoint = 0")
		if err := emptyLog(t.Context(), s.writer); err != nil {
			t.Fatal(err)
		}
		for n := before + 1; n <= before+appends; n++ {
			if err := s.Append(t.Context(), holdfast.Local, "c1", int64(n-1), []store.StoredEvent{thousand(n)}); err != nil {
				t.Fatal(err)
			}
		}
		log, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return log.Size() / appends
	}
	// The page of the head, and of the table and each index with those above it.
	short, long := logged(0), logged(3000)
	if short < 4096 || long > short*3/2 {
		t.Errorf("an append writes %d bytes at the end of a short stream, and %d at the end of a long one", short, long)
	}
}

func TestWhatFailsOnAConversationIsNamedWithTheReason(t *testing.T) {
	path := newPath(t)
	other := openAt(t, path)
	s, err := open(path, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	create(t, s, 1)
	c2, title := get(t, s), "new"
	c2.ID = "c2"
	// calls are all methods; the first ones write.
	calls := func() []error {
		_, held := s.Hold(t.Context(), holdfast.Local, "c1", store.Lease{Holder: "one", Token: "1", Until: at(9)}, at(0))
		errs := []error{
			s.Create(t.Context(), c2, nil),
			s.Append(t.Context(), holdfast.Local, "c1", 2, exchange(2)),
			s.Change(t.Context(), holdfast.Local, "c1", store.ConversationChange{Title: &title}),
			s.Delete(t.Context(), holdfast.Local, "c1"),
			held,
			s.Release(t.Context(), holdfast.Local, "c1", "1"),
		}
		_, listed := s.List(t.Context(), holdfast.Local, true)
		_, got := s.Get(t.Context(), holdfast.Local, "c1")
		_, found := s.ByBranch(t.Context(), holdfast.Local, "b1")
		errs = append(errs, listed, got, found)
		for _, err := range s.Events(t.Context(), holdfast.Local, "c1", store.EventRange{}) {
			if err != nil {
				errs = append(errs, err)
			}
		}
		return errs
	}
	writes := []string{
		"create conversation c2", "append to conversation c1", "change conversation c1", "delete conversation c1",
		"hold conversation c1", "release conversation c1",
	}
	reads := []string{"list conversations", "read a conversation", "read a conversation", "read conversation c1"}

	locked, err := other.writer.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, err := range calls()[:len(writes)] {
		expectError(t, err, holdfast.ErrUnavailable, "cannot "+writes[i]+": the database "+path+
			" is locked by another process for more than 20ms; stop that process or try again (database is locked (5) (SQLITE_BUSY))")
	}
	if err := locked.Rollback(); err != nil {
		t.Fatal(err)
	}

	closed(t, s)
	errs := calls()
	expect(t, len(errs), len(writes)+len(reads))
	for i, doing := range append(writes, reads...) {
		expectError(t, errs[i], holdfast.ErrUnavailable, "cannot "+doing+": the store is closed (sql: database is closed)")
	}
}

func TestAFullDiskRefusesAnAppendWhole(t *testing.T) {
	path := newPath(t)
	s := openAt(t, path)
	create(t, s, 1)
	var pages, limit int
	if err := s.writer.QueryRowContext(t.Context(), "PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if err := s.writer.QueryRowContext(t.Context(), "PRAGMA max_page_count = 1").Scan(&limit); err != nil || limit != pages {
		t.Fatalf("the limit is %d, want %d: %v", limit, pages, err)
	}
	expectError(t, s.Append(t.Context(), holdfast.Local, "c1", 2, exchange(2)), holdfast.ErrUnavailable,
		"cannot append to conversation c1: no room is left for the database "+path+
			"; free some disk space, nothing needs a restart (database or disk is full (13))")
	want, events := streamAfter(1)
	expect(t, get(t, s), want)
	expectStream(t, s, events)
}

func TestAConversationOfALaterVersionSaysHowToWriteToIt(t *testing.T) {
	s := openAt(t, newPath(t))
	create(t, s, 1)
	change(t, s, "UPDATE conversations SET version = 9")
	expectError(t, s.Append(t.Context(), holdfast.Local, "c1", 2, exchange(2)), holdfast.ErrNewer,
		"conversation c1 was written by a newer version of Holdfast (its stream has version 9, this program writes 1): "+
			"it can be read here; upgrade Holdfast to write to it")
	_, events := streamAfter(1)
	expectStream(t, s, events)
}

func TestAnAppendMovesAnEarlierVersionUp(t *testing.T) {
	s := openAt(t, newPath(t))
	create(t, s, 1)
	change(t, s, "UPDATE conversations SET version = 0")
	if err := s.Append(t.Context(), holdfast.Local, "c1", 2, exchange(2)); err != nil {
		t.Fatal(err)
	}
	want, _ := streamAfter(2)
	expect(t, get(t, s), want)
}

// TestVersion2OpensForever reads a database as the second schema wrote it. The
// dump is frozen: no later change of the schema may touch it.
func TestVersion2OpensForever(t *testing.T) {
	s := openDump(t, "testdata/schema2.sql")
	created := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC) // 1767323045678901 in the dump
	expect(t, load(t, s, "s1").Session, store.Session{
		ID: "s1", Principal: holdfast.Local, Agent: "codex", Key: "run:work", CreatedAt: created, UsedAt: created.Add(time.Second),
	})
	expect(t, get(t, s), store.Conversation{
		ID: "c1", Principal: holdfast.Local, Title: "a title", Origin: store.RecordedConversation, Agent: "codex", Branch: "b1",
		Parent: "c0", ParentSeq: 7, Version: 1, Archived: true, CreatedAt: created, UsedAt: created.Add(time.Second),
		Head: 2, Turns: 1, Bytes: 35,
	})
	expectStream(t, s, []store.StoredEvent{
		{Seq: 1, ID: "e1", Kind: "turn", At: created, Line: []byte(`{"kind":"turn"}`)},
		{Seq: 2, ID: "e2", Kind: "assistant", At: created.Add(time.Second), Line: []byte(`{"kind":"assistant"}`)},
	})
	_, err := s.Hold(t.Context(), holdfast.Local, "c1", store.Lease{Holder: "two", Token: "2", Until: created}, created)
	expectError(t, err, holdfast.ErrConflict, "conversation c1 is in use by one until 2026-01-02T03:04:06Z: wait, or end that program")
}

// openDump opens a database that a dump describes.
func openDump(t *testing.T, name string) *Store {
	t.Helper()
	s := openAt(t, dumped(t, name))
	target := schemaObjects(t, openAt(t, newPath(t)).writer)
	expect(t, schemaObjects(t, s.writer), target) // as a new database has them
	return s
}

// dumped makes a database of a dump, as it is.
func dumped(t *testing.T, name string) string {
	t.Helper()
	dump, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	path := newPath(t)
	db, err := database{path, time.Second}.connect()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(string(dump)); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the dump is not in the database yet: %v", err)
	}
	return path
}
