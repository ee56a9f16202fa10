package sqlstore_test

import (
	"database/sql"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/pressly/goose/v3"

	"github.com/holdfast-dev/holdfast/store/internal/sqlstore"
)

// interrupted calls before once, when a file is first read: that is after the
// reader of the migrations has seen the version, and before it acts on it.
type interrupted struct {
	files  fstest.MapFS
	before func()
}

func (i interrupted) Open(name string) (fs.File, error) {
	if name != "." {
		i.before()
	}
	return i.files.Open(name)
}

func TestAMigrationGoesOnWhereAnotherProcessGotAhead(t *testing.T) {
	files := fstest.MapFS{}
	for n := 1; n <= 3; n++ {
		files[fmt.Sprintf("%05d_step.sql", n)] = &fstest.MapFile{
			Data: fmt.Appendf(nil, "-- +goose Up\nCREATE TABLE step%d (x INTEGER);\n", n),
		}
	}
	for ahead := 1; ahead <= 3; ahead++ {
		t.Run(fmt.Sprint("by migrations: ", ahead), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "steps.db")
			ours, other := connect(t, path), connect(t, path)
			theirs := fstest.MapFS{}
			for n := 1; n <= ahead; n++ {
				name := fmt.Sprintf("%05d_step.sql", n)
				theirs[name] = files[name]
			}
			migrations := interrupted{files, sync.OnceFunc(func() {
				if err := sqlstore.Migrate(t.Context(), other, goose.DialectSQLite3, theirs); err != nil {
					t.Error(err)
				}
			})}
			if err := sqlstore.Migrate(t.Context(), ours, goose.DialectSQLite3, migrations); err != nil {
				t.Error(err)
			}
			if v, err := sqlstore.Version(t.Context(), ours); v != 3 || err != nil {
				t.Errorf("got version %d, want 3: %v", v, err)
			}
		})
	}
}

func TestAMigrationThatFailsIsReported(t *testing.T) {
	files := fstest.MapFS{"00001_bad.sql": &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE TABLE;\n")}}
	db := connect(t, filepath.Join(t.TempDir(), "steps.db"))
	if err := sqlstore.Migrate(t.Context(), db, goose.DialectSQLite3, files); err == nil {
		t.Error("a migration with a syntax error passed")
	}
	if v, err := sqlstore.Version(t.Context(), db); v != 0 || err != nil {
		t.Errorf("got version %d, want 0: %v", v, err)
	}
}

func connect(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_busy_timeout=5000&_txlock=immediate&_journal_mode=WAL")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}
