package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

func TestABackupHasAllThatWasAcknowledgedBeforeItBegan(t *testing.T) {
	path := newPath(t)
	s := openAt(t, path)
	const before = 40
	for n := range before {
		apply(t, s, step(n+1))
	}
	create(t, s, 20) // some thousand pages, so that there are many steps
	r := look(t, path)

	// A writer goes on until the backup is done, and at each of its steps.
	var writing sync.WaitGroup
	end := make(chan struct{})
	other := openAt(t, path)
	writing.Go(func() {
		for n := before + 1; ; n++ {
			select {
			case <-end:
				return
			default:
				if err := other.Apply(context.Background(), []store.Batch{step(n)})[0]; err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Millisecond) // who waits for the lock is in no queue
			}
		}
	})
	to := filepath.Join(t.TempDir(), "backup.db")
	steps, last, next := 0, int64(0), 21
	b, err := r.Backup(t.Context(), to, BackupOptions{Progress: func(done, total int64) {
		if steps++; done <= last || done > total {
			t.Errorf("step %d: %d of %d pages behind %d: the copy began anew", steps, done, total, last)
		}
		last = done
		if err := s.Append(t.Context(), holdfast.Local, "c1", int64(2*next-2), exchange(next)); err != nil {
			t.Error(err)
		}
		next++
	}})
	close(end)
	writing.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if steps < 3 {
		t.Errorf("%d steps: this test needs a larger database", steps)
	}
	info, err := os.Stat(to)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, b, Backup{Path: to, Bytes: info.Size(), Schema: 8})
	expect(t, info.Mode().Perm(), 0o600)
	expectFiles(t, filepath.Dir(to), "backup.db")

	// It is restored by copying it where a database belongs.
	place := filepath.Join(t.TempDir(), "data", "holdfast.db")
	copyFile(t, to, place)
	restored := openAt(t, place)
	state := load(t, restored, "s1")
	written := len(state.Branches[0].Revisions)
	if written < before {
		t.Errorf("%d of %d steps are in", written, before)
	}
	expect(t, state, stateAfter(written))
	c := get(t, restored)
	if c.Turns != 20 {
		t.Errorf("%d exchanges are in, and 20 were there when it began", c.Turns)
	}
	want, events := streamAfter(c.Turns)
	expect(t, c, want)
	expectStream(t, restored, events)
	apply(t, restored, step(written+1)) // it goes on
	expect(t, checkedKinds(t, place), nil)
}

// checkedKinds are the findings of a check that are not about capsules, whose
// digests step does not make.
func checkedKinds(t *testing.T, path string) (kinds []string) {
	t.Helper()
	for _, f := range checked(t, path, true).Findings {
		if f.Table != "revisions" {
			kinds = append(kinds, string(f.Kind))
		}
	}
	return kinds
}

func expectFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	expect(t, names, want)
}

func TestABackupOverwritesOnlyWhenItIsTold(t *testing.T) {
	path := healthy(t)
	r := look(t, path)
	dir := t.TempDir()
	to := filepath.Join(dir, "backup.db")
	if err := os.WriteFile(to, []byte("another one"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := r.Backup(t.Context(), to, BackupOptions{})
	expectError(t, err, holdfast.ErrConflict, to+" exists already: choose another name, or add --force to overwrite it")
	data, err := os.ReadFile(to)
	if err != nil || string(data) != "another one" {
		t.Errorf("it was changed: %q, %v", data, err)
	}
	if _, err := r.Backup(t.Context(), to, BackupOptions{Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(to)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, info.Mode().Perm(), 0o600)
	expect(t, load(t, openAt(t, to), "s1").Agent, "")
}

func TestABackupDestroysNoDatabase(t *testing.T) {
	path := healthy(t)
	r := look(t, path)
	other := newPath(t)
	apply(t, openAt(t, other), step(1))
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Link(path, link); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(path)
	own := func(name string) string {
		return name + " is part of the database itself: choose another place for the backup"
	}
	for _, test := range []struct {
		name, to string
		code     holdfast.Code
		message  string
	}{
		{"the database itself", path, holdfast.ErrUsage, own(path)},
		{"by another way to it", filepath.Join(dir, "..", filepath.Base(dir), "holdfast.db"), holdfast.ErrUsage, own(path)},
		{"by another name", link, holdfast.ErrUsage, own(link)},
		{"its log", path + "-wal", holdfast.ErrUsage, own(path + "-wal")},
		{"its journal, that is not there", path + "-journal", holdfast.ErrUsage, own(path + "-journal")},
		{"a directory", dir, holdfast.ErrUsage, dir + " is a directory: name a file in it"},
		{
			"another database that is open", other, holdfast.ErrConflict,
			other + "-wal shows that a database is in use there: end what uses it, or choose another name",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := r.Backup(t.Context(), test.to, BackupOptions{Overwrite: true})
			expectError(t, err, test.code, test.message)
		})
	}
	expect(t, load(t, openAt(t, path), "s1").ID, "s1")
}

func TestABackupThatIsBrokenOffLeavesNothing(t *testing.T) {
	path := newPath(t)
	s := openAt(t, path)
	create(t, s, 20)
	dir := t.TempDir()
	to := filepath.Join(dir, "backup.db")
	ctx, cancel := context.WithCancel(t.Context())
	_, err := look(t, path).Backup(ctx, to, BackupOptions{Progress: func(int64, int64) { cancel() }})
	expectError(t, err, holdfast.ErrUnavailable, "the backup "+to+" was broken off, nothing is left of it: context canceled")
	expectFiles(t, dir)
	if err := s.Append(t.Context(), holdfast.Local, "c1", 40, exchange(21)); err != nil {
		t.Errorf("the database is held: %v", err)
	}
}

func TestABackupThatCannotBeWrittenNamesItsPlace(t *testing.T) {
	path := healthy(t)
	to := filepath.Join(t.TempDir(), "missing", "backup.db")
	_, err := look(t, path).Backup(t.Context(), to, BackupOptions{})
	var where *os.PathError
	if !errors.As(err, &where) {
		t.Fatal(err)
	}
	expectError(t, err, holdfast.ErrUnavailable, "the backup "+to+" cannot be written: "+where.Error()+"; make room or choose another place")
}

// TestADamagedDatabaseIsNotBackedUp: what cannot be read back is no backup.
func TestADamagedDatabaseIsNotBackedUp(t *testing.T) {
	path := healthy(t)
	page := damagePage(t, path)
	dir := t.TempDir()
	_, err := look(t, path).Backup(t.Context(), filepath.Join(dir, "backup.db"), BackupOptions{})
	expectError(t, err, holdfast.ErrFailed, "the copy of "+path+" is not sound and was not kept: "+pageError(page)+"; see `holdfast store check`")
	expectFiles(t, dir)
}

// TestABackupNeedsNoWriter is made while another process holds the write lock.
func TestABackupNeedsNoWriter(t *testing.T) {
	path := newPath(t)
	s := openAt(t, path)
	apply(t, s, step(1))
	tx, err := s.writer.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(t.Context(), "DELETE FROM sessions"); err != nil {
		t.Fatal(err)
	}
	r, err := OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	to := filepath.Join(t.TempDir(), "backup.db")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err := r.Backup(ctx, to, BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	expect(t, load(t, openAt(t, to), "s1"), stateAfter(1))
}
