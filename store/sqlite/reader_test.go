package sqlite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// checkedAt is the time of the checks of these tests.
var checkedAt = at(0).Add(60 * 24 * time.Hour)

// look opens a reader that is closed with the test.
func look(t testing.TB, path string) *Reader {
	t.Helper()
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// options read events and capsules as the tests write them: a capsule's digest is
// that of its text.
func options(full bool) store.CheckOptions {
	return store.CheckOptions{
		Full: full, Now: checkedAt,
		Event: func(line []byte) (string, error) {
			var e struct{ Kind string }
			err := json.Unmarshal(line, &e)
			return e.Kind, err
		},
		Capsule: func(data []byte) (string, string, error) {
			var c struct{ Digest, Text string }
			err := json.Unmarshal(data, &c)
			return c.Digest, "of " + c.Text, err
		},
	}
}

func checked(t testing.TB, path string, full bool) store.Report {
	t.Helper()
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	report, err := r.Check(t.Context(), options(full))
	if err = errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return report
}

// everything writes rows of all kinds: sessions s1 with its branch b1 and its
// recording, and s2, which is removed; conversations c1 and rec; a lease; a key; a usage record; a claim; a secret.
func everything(t testing.TB, s *Store) {
	t.Helper()
	b := step(1)
	b.Revisions[0].Digest, b.Revisions[0].Capsule = "of one", []byte(`{"digest":"of one","text":"one"}`)
	b.Revisions[0].Edit = true
	b.Epochs = []store.Epoch{{Branch: "b1", N: 1, OpenedAt: at(1)}}
	b.Boundaries = []store.Boundary{{ID: "x", Branch: "b1", Status: store.BoundaryCommitted, At: at(1)}}
	gone := store.Batch{Session: store.Session{ID: "s2", Principal: holdfast.Local, Key: "k2", CreatedAt: at(0)}}
	apply(t, s, b, gone)
	create(t, s, 3)
	for _, err := range []error{
		s.Remove(t.Context(), holdfast.Local, "s2"),
		s.Create(t.Context(), store.Conversation{
			ID: "rec", Principal: holdfast.Local, Origin: store.RecordedConversation, Branch: "b1", CreatedAt: at(0),
		}, []store.StoredEvent{{ID: "e", Kind: "new", At: at(1), Line: []byte(`{"kind":"new"}`)}}),
		s.AddKey(t.Context(), store.Key{ID: "key", Principal: "work", CreatedAt: at(0)}),
		s.AddAttempts(t.Context(), calls("a", 1)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, noted := s.Note(t.Context(), []store.AuditEntry{{At: at(0), Principal: "work", Session: "s1", Policy: "p", Key: "k"}})
	_, claimed := s.Claim(t.Context(), "b1", "m", "one", at(0), at(1))
	_, kept := s.Secret(t.Context(), "mark", []byte("bytes"))
	if err := errors.Join(noted, claimed, kept); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Hold(t.Context(), holdfast.Local, "c1", store.Lease{Holder: "secret words", Token: "1", Until: checkedAt.Add(-29 * 24 * time.Hour)}, at(0)); err != nil {
		t.Fatal(err)
	}
}

// healthy is a closed database with rows of all kinds, in a directory with the
// right mode.
func healthy(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data", "holdfast.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	everything(t, s)
	closed(t, s)
	return path
}

// rows are what everything leaves.
var rows = []store.TableCount{
	{Table: "anchors", Rows: 1},
	{Table: "attempts", Rows: 1},
	{Table: "audit", Rows: 1},
	{Table: "boundaries", Rows: 1},
	{Table: "branches", Rows: 1},
	{Table: "claims", Rows: 1},
	{Table: "conversations", Rows: 2},
	{Table: "edits", Rows: 1},
	{Table: "epochs", Rows: 1},
	{Table: "events", Rows: 7},
	{Table: "keys", Rows: 1},
	{Table: "leases", Rows: 1},
	{Table: "removals", Rows: 1},
	{Table: "revisions", Rows: 1},
	{Table: "secrets", Rows: 1},
	{Table: "sessions", Rows: 1},
}

func TestACheckFindsNothingInAHealthyDatabaseAndChangesNothing(t *testing.T) {
	path := healthy(t)
	state := func() string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(holdfast.DigestOf(string(data)), info.ModTime(), files)
	}
	before := state()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, full := range []bool{false, true} {
		expect(t, checked(t, path, full), store.Report{
			Path: path, Bytes: info.Size(), Schema: 8, Mode: 0o600, DirectoryMode: 0o700, Tables: rows,
		})
	}
	expect(t, state(), before)
}

func TestACheckGoesOnBesideARunningServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "holdfast.db")
	s := openAt(t, path)
	everything(t, s)
	r := look(t, path)
	o := options(false)
	steps, next := map[string]int64{}, 4
	o.Progress = func(step string, done, total int64) {
		if done < 0 || total > 0 && done >= total {
			t.Errorf("%s: %d of %d", step, done, total)
		}
		if step == "events" { // the server writes while events are read
			if err := s.Append(t.Context(), holdfast.Local, "c1", int64(2*next-2), exchange(next)); err != nil {
				t.Error(err)
			}
			next++
		}
		steps[step]++
	}
	report, err := r.Check(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, report.Findings, nil)
	expect(t, steps, map[string]int64{"pages": 1, "tables": 17, "revisions": 1, "events": 7})
	if next != 4+7 {
		t.Errorf("%d appends", next-4)
	}
	expect(t, exists(path+"-wal"), true) // the server's own
}

func TestACheckFindsWhatIsWrongAndNothingElse(t *testing.T) {
	restore := "put a backup in place, or "
	export := "put a backup in place, or keep what is there with `holdfast conversation export c1`"
	for _, test := range []struct {
		name  string
		wrong []string // statements, with foreign keys off
		want  store.Finding
	}{
		{
			"an event that is gone",
			[]string{"DELETE FROM events WHERE conversation_id = 'c1' AND seq = 3"},
			store.Finding{Kind: store.MissingEvents, Table: "conversations", ID: "c1", What: "events are missing: 5 of 6 are there, and event 3 is the first that is not", Next: export},
		},
		{
			"the first event gone",
			[]string{"DELETE FROM events WHERE conversation_id = 'c1' AND seq = 1"},
			store.Finding{Kind: store.MissingEvents, Table: "conversations", ID: "c1", What: "events are missing: 5 of 6 are there, and event 1 is the first that is not", Next: export},
		},
		{
			"the newest event gone",
			[]string{"DELETE FROM events WHERE conversation_id = 'c1' AND seq = 6"},
			store.Finding{
				Kind: store.WrongCounts, Table: "conversations", ID: "c1", Next: export,
				What: "it says event 6 as the newest, 3 turns and 600135 bytes; stored are event 5 as the newest, 3 turns and 400105 bytes",
			},
		},
		{
			"a wrong number of turns",
			[]string{"UPDATE conversations SET turns = 4 WHERE id = 'c1'"},
			store.Finding{
				Kind: store.WrongCounts, Table: "conversations", ID: "c1", Next: export,
				What: "it says event 6 as the newest, 4 turns and 600135 bytes; stored are event 6 as the newest, 3 turns and 600135 bytes",
			},
		},
		{
			"a wrong head",
			[]string{"UPDATE conversations SET head = 9 WHERE id = 'c1'"},
			store.Finding{
				Kind: store.WrongCounts, Table: "conversations", ID: "c1", Next: export,
				What: "it says event 9 as the newest, 3 turns and 600135 bytes; stored are event 6 as the newest, 3 turns and 600135 bytes",
			},
		},
		{
			"a line that is no JSON",
			[]string{"UPDATE events SET line = CAST('{\"kind\"=\"turn\"}' AS BLOB) WHERE conversation_id = 'c1' AND seq = 1"},
			store.Finding{Kind: store.BadEvent, Table: "events", ID: "c1 1", What: "its line cannot be read", Next: export},
		},
		{
			"a line of another kind",
			[]string{"UPDATE events SET line = CAST('{\"kind\":\"tuRn\"}' AS BLOB) WHERE conversation_id = 'c1' AND seq = 1"},
			store.Finding{Kind: store.BadEvent, Table: "events", ID: "c1 1", What: "its line is of another kind than the row", Next: export},
		},
		{
			"a capsule that is no JSON",
			[]string{"UPDATE revisions SET capsule = '{'"},
			store.Finding{Kind: store.BadCapsule, Table: "revisions", ID: "b1 1", What: "its capsule cannot be read", Next: restore + "erase the session with `holdfast session rm s1`"},
		},
		{
			"a capsule with another digest than its row",
			[]string{"UPDATE revisions SET digest = 'of two'"},
			store.Finding{
				Kind: store.BadCapsule, Table: "revisions", ID: "b1 1", What: "its capsule has another digest than the row",
				Next: restore + "erase the session with `holdfast session rm s1`",
			},
		},
		{
			"a capsule that was altered",
			[]string{`UPDATE revisions SET capsule = '{"digest":"of one","text":"two"}'`},
			store.Finding{
				Kind: store.BadCapsule, Table: "revisions", ID: "b1 1", What: "its capsule was altered: the digest is not that of its content",
				Next: restore + "erase the session with `holdfast session rm s1`",
			},
		},
		{
			"epochs of a branch that is not there",
			[]string{"INSERT INTO epochs SELECT 'b7', n + 1, evidence, revision, block, place, opened_at FROM epochs", "INSERT INTO epochs SELECT 'b7', 9, evidence, revision, block, place, opened_at FROM epochs LIMIT 1"},
			orphaned("epochs", "b7", 2, "branch_id", "branches"),
		},
		{
			"an anchor of a branch that is not there",
			[]string{"UPDATE anchors SET branch_id = 'b7'"},
			orphaned("anchors", "b7", 1, "branch_id", "branches"),
		},
		{
			"a boundary of a branch that is not there",
			[]string{"UPDATE boundaries SET branch_id = 'b7'"},
			orphaned("boundaries", "b7", 1, "branch_id", "branches"),
		},
		{
			"what a removed session left behind",
			[]string{"DELETE FROM conversations WHERE id = 'rec'", "DELETE FROM events WHERE conversation_id = 'rec'", "DELETE FROM sessions"},
			orphaned("branches", "s1", 1, "session_id", "sessions"),
		},
		{
			"events of a conversation that is not there",
			[]string{"INSERT INTO events SELECT 'c7', seq, event_id, kind, happened_at, line FROM events WHERE conversation_id = 'rec'"},
			orphaned("events", "c7", 1, "conversation_id", "conversations"),
		},
		{
			"a session that was removed and is there",
			[]string{"INSERT INTO removals (session_id, removed_at) VALUES ('s1', 1)"},
			store.Finding{
				Kind: store.RemovedSession, Table: "sessions", ID: "s1", What: "it was removed, and is still there",
				Next: "erase it with `holdfast session rm s1`",
			},
		},
		{
			"a recording whose session is gone",
			[]string{"PRAGMA foreign_keys = ON", "DELETE FROM sessions"},
			store.Finding{
				Kind: store.LeftRecording, Table: "conversations", ID: "rec", What: "the session that it records is gone",
				Next: "erase it with `holdfast conversation rm rec`",
			},
		},
		{
			"a lease that ended long ago",
			[]string{fmt.Sprint("UPDATE leases SET held_until = ", checkedAt.Add(-30*24*time.Hour).UnixMicro()-1)},
			store.Finding{
				Kind: store.AbandonedLease, Table: "leases", ID: "c1", What: "a program that held it ended without giving it back, over 30 days ago",
				Next: "nothing waits for it; what next writes to conversation c1 takes its place",
			},
		},
		{
			"a digest of a key that was cut",
			[]string{"UPDATE keys SET digest = x'0102'"},
			store.Finding{
				Kind: store.BadDigest, Table: "keys", ID: "key", What: "its digest has not the length of a digest, 32 bytes",
				Next: "reads of key fail: put a backup in place, or erase what it belongs to",
			},
		},
		{
			"a digest of an anchor that was cut",
			[]string{"UPDATE anchors SET digest = x'0102'"},
			store.Finding{
				Kind: store.BadDigest, Table: "anchors", ID: "b1 0 0", What: "its digest has not the length of a digest, 16 bytes",
				Next: "reads of b1 0 0 fail: put a backup in place, or erase what it belongs to",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := healthy(t)
			db, err := database{path, time.Second}.connect()
			if err != nil {
				t.Fatal(err)
			}
			db.SetMaxOpenConns(1)
			for _, query := range test.wrong {
				if _, err := db.ExecContext(t.Context(), query); err != nil {
					t.Fatal(err)
				}
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			expect(t, checked(t, path, false).Findings, []store.Finding{test.want})
		})
	}
}

func orphaned(table, id string, n int, column, parent string) store.Finding {
	return store.Finding{
		Kind: store.Orphaned, Table: table, ID: id, What: fmt.Sprintf("%d of its rows belong to %s %s, which is not among the %s", n, column, id, parent),
		Next: "nothing reads them; put a backup in place where what they belonged to is missed",
	}
}

func TestAFreshRecordingMayStandBeforeItsBranch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "holdfast.db")
	s := openAt(t, path)
	for id, used := range map[string]time.Time{"old": checkedAt.Add(-time.Hour - time.Microsecond), "new": checkedAt.Add(-time.Hour)} {
		c := store.Conversation{
			ID: holdfast.ConversationID(id), Principal: holdfast.Local, Origin: store.RecordedConversation, Branch: holdfast.BranchID(id), CreatedAt: used,
		}
		if err := s.Create(t.Context(), c, nil); err != nil {
			t.Fatal(err)
		}
	}
	report := checked(t, path, false)
	if len(report.Findings) != 1 || report.Findings[0].ID != "old" {
		t.Errorf("found %+v", report.Findings)
	}
}

func TestFindingsOfOneKindAreBounded(t *testing.T) {
	path := healthy(t)
	db, err := database{path, time.Second}.connect()
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 130)
			INSERT INTO boundaries SELECT 'y' || i, 'b1', 0, '', 'failed', 0, x'00', '', 0 FROM n`,
		"UPDATE keys SET digest = x'00'",
	} {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	report := checked(t, path, false)
	n := map[string]int{}
	for _, f := range report.Findings {
		n[f.Table]++
	}
	expect(t, n, map[string]int{"boundaries": 100, "keys": 1})
	expect(t, report.Omitted, 30)
}

// damagePage flips bytes of the page that holds the key of everything, in its
// header, which says what kind of page it is, and returns its number.
func damagePage(t *testing.T, path string) int {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte("keywork")) / 4096 * 4096
	if at <= 0 {
		t.Fatal("no page holds the key")
	}
	for i := range 8 {
		data[at+i] ^= 0xFF
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return at/4096 + 1
}

func pageError(page int) string {
	return fmt.Sprintf("Tree %d page %d: btreeInitPage() returns error code 11", page, page)
}

func TestADamagedPageIsTheOnlyFinding(t *testing.T) {
	path := healthy(t)
	page := damagePage(t, path)
	for _, full := range []bool{false, true} {
		report := checked(t, path, full)
		if len(report.Findings) != 1 || report.Findings[0].Kind != store.Damaged || !report.Partial || report.Tables != nil {
			t.Errorf("full %t: %+v", full, report)
		}
		expect(t, report.Findings, []store.Finding{{
			Kind: store.Damaged, What: pageError(page),
			Next: "put a backup in its place; without one, export what can still be read with `holdfast conversation export`",
		}})
	}
}

// TestOnlyAFullCheckComparesIndexes has an index whose entries are not those that
// its declaration asks for, which no look at the pages alone shows.
func TestOnlyAFullCheckComparesIndexes(t *testing.T) {
	path := healthy(t)
	db, err := database{path, time.Second}.connect()
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	for _, query := range []string{
		"PRAGMA writable_schema = ON",
		"UPDATE sqlite_schema SET sql = 'CREATE INDEX sessions_used ON sessions (created_at)' WHERE name = 'sessions_used'",
	} {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	expect(t, checked(t, path, false).Findings, nil)
	report := checked(t, path, true)
	if len(report.Findings) == 0 || report.Findings[0].Kind != store.Damaged || !strings.Contains(report.Findings[0].What, "sessions_used") {
		t.Errorf("found %+v", report.Findings)
	}
}

func TestFilesThatOthersMayReadAreFound(t *testing.T) {
	path := healthy(t)
	apply(t, openAt(t, path), step(2)) // there is a log now
	for name, mode := range map[string]os.FileMode{filepath.Dir(path): 0o755, path: 0o640, path + "-wal": 0o604} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	report := checked(t, path, false)
	expect(t, report.Mode, 0o640)
	expect(t, report.DirectoryMode, 0o755)
	const open = ": others on this machine may get at what is stored"
	report.Findings = slices.DeleteFunc(report.Findings, func(f store.Finding) bool { return f.Kind == store.BadCapsule }) // that of step
	expect(t, report.Findings, []store.Finding{
		{Kind: store.OpenToOthers, ID: filepath.Dir(path), What: "its mode is 0755" + open, Next: "run chmod 700 " + filepath.Dir(path)},
		{Kind: store.OpenToOthers, ID: path, What: "its mode is 0640" + open, Next: "run chmod 600 " + path},
		{Kind: store.OpenToOthers, ID: path + "-wal", What: "its mode is 0604" + open, Next: "run chmod 600 " + path + "-wal"},
	})
}

func TestAReaderRefusesWhatAStoreRefuses(t *testing.T) {
	newer := newPath(t)
	s, err := Open(newer)
	if err != nil {
		t.Fatal(err)
	}
	change(t, s, "INSERT INTO holdfast_schema (version_id, is_applied) VALUES (9, 1)")
	closed(t, s)
	text := newPath(t)
	if err := os.WriteFile(text, bytes.Repeat([]byte("shopping list\n"), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := newPath(t)
	for _, test := range []struct {
		path    string
		code    holdfast.Code
		message string
	}{
		{newer, holdfast.ErrNewer, newer + " was written by a newer version of Holdfast (its schema has version 9, this program knows 8) and was left as it is: " +
			"upgrade Holdfast, or choose another directory with --data DIR"},
		{text, holdfast.ErrUnavailable, text + " is not a database of Holdfast and was left as it is; move it away, or choose another directory with --data DIR"},
		{missing, holdfast.ErrNotFound, "there is no database " + missing + ": the first session or conversation begins it; name another directory with --data DIR"},
	} {
		_, err := OpenReader(test.path)
		expectError(t, err, test.code, test.message)
		left, err := filepath.Glob(test.path + "*")
		if err != nil || len(left) > 1 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

func TestAnOlderSchemaIsCheckedAsItIs(t *testing.T) {
	path := dumped(t, "testdata/schema1.sql")
	report := checked(t, path, true)
	expect(t, report.Schema, int64(1))
	var names []string
	for _, c := range report.Tables {
		names = append(names, c.Table)
	}
	expect(t, names, []string{"anchors", "boundaries", "branches", "epochs", "removals", "revisions", "sessions"})
	// The capsule of the dump has not the digest that this test's would have.
	var kinds []store.FindingKind
	for _, f := range report.Findings {
		kinds = append(kinds, f.Kind)
	}
	expect(t, kinds, []store.FindingKind{store.OpenToOthers, store.OpenToOthers, store.BadCapsule}) // it was not made by Open
	expect(t, checked(t, path, true).Schema, int64(1))
}
