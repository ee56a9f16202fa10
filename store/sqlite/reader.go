package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/store/internal/sqlstore"
)

// Reader is a database that is only looked at: nothing in it is changed, no schema
// brought forward, no mode narrowed. Other processes go on with it. It is safe for
// concurrent use.
type Reader struct {
	d      database
	db     *sql.DB
	body   *sqlstore.Inspection
	schema int64
	alone  bool // nobody had it open
	// damaged is why not even the schema can be read; nil: it can.
	damaged error
}

// OpenReader opens the database at path to look at it. It fails with not_found
// where there is none, with unavailable when it cannot be read or is of another
// program, and with newer_schema when a newer version wrote it. A file that is too
// damaged to be used can still be checked.
func OpenReader(path string) (*Reader, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, holdfast.Errorf(holdfast.ErrUnavailable, "cannot find the database %s: %w; name a directory with --data DIR", path, err)
	}
	r := &Reader{d: database{path, busyTimeout}}
	if err := r.open(context.Background()); err != nil {
		return nil, r.explain("open", err)
	}
	return r, nil
}

func (r *Reader) open(ctx context.Context) error {
	if _, err := os.Stat(r.d.path); errors.Is(err, fs.ErrNotExist) {
		return holdfast.Errorf(holdfast.ErrNotFound,
			"there is no database %s: the first session or conversation begins it; name another directory with --data DIR", r.d.path)
	}
	r.alone = !exists(r.d.path+"-wal") && !exists(r.d.path+"-shm")
	migrations, err := fs.Sub(embedded, "migrations")
	if err != nil {
		return err
	}
	target, err := sqlstore.Target(migrations)
	if err == nil {
		r.schema, err = r.d.version(ctx)
	}
	if corrupt(err) {
		r.damaged, err = err, nil
	}
	if err == nil && r.schema > target {
		err = r.d.newer(r.schema, target)
	}
	if err == nil {
		r.db, err = r.d.connect("mode", "ro", "_query_only", "on")
	}
	if err != nil {
		r.tidy(ctx)
		return err
	}
	r.body = sqlstore.NewInspection(r.db, sqlstore.CheckDialect{
		Explain: r.d.explain, Damage: damage, Tables: tables, References: references,
	})
	return nil
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// explain gives err a code and a text for a person.
func (r *Reader) explain(doing string, err error) error {
	err = r.d.wrap(err)
	var own *holdfast.Error
	if !errors.As(err, &own) {
		err = holdfast.Errorf(holdfast.ErrInternal, "cannot %s the database %s: %w", doing, r.d.path, err)
	}
	return err
}

// Close ends the look. Closing twice is fine.
func (r *Reader) Close() error {
	err := r.db.Close()
	r.tidy(context.Background())
	if err != nil {
		return r.explain("close", err)
	}
	return nil
}

// tidy takes the -wal and -shm files away that a reader leaves behind where it was
// the only process: only a connection that may write does so. It is no loss where
// it fails.
func (r *Reader) tidy(ctx context.Context) {
	if !r.alone {
		return
	}
	db, err := r.d.connect("mode", "rw")
	if err != nil {
		return
	}
	_ = db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(new(int))
	_ = db.Close()
}

// Check looks at the file, its mode and all rows, as the shared body has it.
func (r *Reader) Check(ctx context.Context, o store.CheckOptions) (store.Report, error) {
	var report store.Report
	err := r.damaged
	if err == nil {
		report, err = r.body.Check(ctx, o)
	}
	if corrupt(err) {
		report, err = unusable(err), nil
	}
	if err != nil {
		return store.Report{}, err
	}
	report.Path, report.Schema = r.d.path, r.schema
	var open []store.Finding
	for _, f := range []struct {
		name string
		mode fs.FileMode
		into *fs.FileMode
	}{
		{filepath.Dir(r.d.path), 0o700, &report.DirectoryMode},
		{r.d.path, 0o600, &report.Mode},
		{r.d.path + "-wal", 0o600, new(fs.FileMode)},
	} {
		info, err := os.Stat(f.name)
		if errors.Is(err, fs.ErrNotExist) && f.name != r.d.path || r.alone && strings.HasSuffix(f.name, "-wal") {
			continue // there is none, but for this reader's own
		}
		if err != nil {
			return store.Report{}, holdfast.Errorf(holdfast.ErrUnavailable, "cannot look at %s: %w; make it readable for this user", f.name, err)
		}
		if *f.into = info.Mode().Perm(); !info.IsDir() {
			report.Bytes += info.Size()
		}
		// Windows has no such modes.
		if *f.into&0o077 != 0 && runtime.GOOS != "windows" {
			open = append(open, store.Finding{
				Kind: store.OpenToOthers, ID: f.name,
				What: fmt.Sprintf("its mode is %04o: others on this machine may get at what is stored", *f.into),
				Next: fmt.Sprintf("run chmod %o %s", f.mode, f.name),
			})
		}
	}
	report.Findings = append(open, report.Findings...)
	return report, nil
}

// unusable is what there is to say of a file whose tables cannot be read.
func unusable(err error) store.Report {
	return store.Report{Partial: true, Findings: []store.Finding{{
		Kind: store.Damaged, What: tooDamaged(err),
		Next: "put a backup in its place; without one, move it and its -wal and -shm files away to start with an empty one",
	}}}
}

// tooDamaged words a corrupt error in SQLite's own words.
func tooDamaged(err error) string {
	var e *driver.Error
	errors.As(err, &e)
	return "it is too damaged to be checked: " + e.Error()
}

// corrupt reports whether err says that the file is damaged.
func corrupt(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_CORRUPT
}

// damage is what SQLite says of the pages, and with full of the indexes.
func damage(ctx context.Context, t *sql.Tx, full bool) ([]string, error) {
	query := "PRAGMA quick_check"
	if full {
		query = "PRAGMA integrity_check"
	}
	said, err := texts(ctx, t, query)
	if len(said) == 1 && said[0] == "ok" {
		said = nil
	}
	if corrupt(err) {
		if len(said) == 0 {
			said = []string{tooDamaged(err)}
		}
		err = nil
	}
	for i := range said {
		said[i] = strings.TrimPrefix(said[i], "*** in database main *** ")
	}
	return said, err
}

// tables lists the tables by name, without those of SQLite.
func tables(ctx context.Context, t *sql.Tx) ([]string, error) {
	return texts(ctx, t, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`)
}

// references lists the foreign keys. Their rows are looked up one by one, since
// foreign_key_check names no row of a table without row ids.
func references(ctx context.Context, t *sql.Tx) (list []sqlstore.Reference, err error) {
	rows, err := t.QueryContext(ctx, `SELECT m.name, f."from", f."table", f."to"
		FROM sqlite_schema m JOIN pragma_foreign_key_list(m.name) f WHERE m.type = 'table' ORDER BY m.name, f.id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r sqlstore.Reference
		if err := rows.Scan(&r.Table, &r.Column, &r.Parent, &r.ParentColumn); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// texts reads a column of texts, as far as that goes. What SQLite says in several
// lines is one.
func texts(ctx context.Context, t *sql.Tx, query string) (list []string, err error) {
	rows, err := t.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return list, err
		}
		list = append(list, strings.Join(strings.Fields(text), " "))
	}
	return list, rows.Err()
}
