// Package sqlite keeps the store in one SQLite file: the default, with nothing
// to install.
//
// Laws:
//   - What Apply, Append and all that writes acknowledged is on the disk: the
//     log is flushed with every commit. A killed process loses nothing that was
//     acknowledged.
//   - The file and its -wal and -shm companions have mode 0600; a directory
//     that is made for them has 0700.
//   - Several processes may open one file: a command works on the sessions of
//     a running server, which learns of removals through Removals. So a Store
//     always writes, and only a Reader, which checks and copies, does not.
//     Writers wait for each other up to five seconds, readers for nobody. The
//     file must be on a local disk.
//   - A file of a newer schema is refused before anything in it is changed; one
//     of an older schema is brought forward, never back.
//   - A removed session or conversation leaves no text in the files: freed pages
//     are zeroed and the log is emptied, at once unless another process is
//     reading, else at the latest when the last process closes the file.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	driver "modernc.org/sqlite"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store/internal/sqlstore"
)

//go:embed migrations/*.sql
var embedded embed.FS

// busyTimeout is how long a writer waits for another process.
const busyTimeout = 5 * time.Second

// readers bounds the connections that read, and with them their page caches of
// at most 2 MB each.
const readers = 4

// Store is an open database: a store.Writer, Reader, Keeper, Sweeper,
// Conversations, Keys, Attempts, Claims, Secrets and Audit with a Close, all by the
// shared SQL body. It is safe for concurrent use.
type Store struct {
	*sqlstore.Store
	writer *sql.DB
}

// Open opens the database at path and makes it, and the directory it is in,
// where there is none. Close it to leave a single file behind.
//
// It fails with unavailable when the directory cannot be written, the disk is
// full, the file is locked by another process or damaged or of another
// program, and with newer_schema when a newer version wrote it.
func Open(path string) (*Store, error) {
	return open(path, busyTimeout)
}

func open(path string, busy time.Duration) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, holdfast.Errorf(holdfast.ErrUnavailable, "cannot find the database %s: %w; name a directory with --data DIR", path, err)
	}
	if err := prepareFile(path); err != nil {
		return nil, err
	}
	s, err := openDatabase(context.Background(), database{path, busy})
	if err != nil {
		var own *holdfast.Error
		if !errors.As(err, &own) {
			err = holdfast.Errorf(holdfast.ErrInternal, "cannot open the database %s: %w", path, err)
		}
		return nil, err
	}
	return s, nil
}

// database is a file and how to open it.
type database struct {
	path string
	busy time.Duration
}

func openDatabase(ctx context.Context, d database) (*Store, error) {
	migrations, err := fs.Sub(embedded, "migrations")
	if err != nil {
		return nil, err
	}
	current, err := d.version(ctx)
	if err != nil {
		return nil, d.wrap(err)
	}
	target, err := sqlstore.Target(migrations)
	if err != nil {
		return nil, err
	}
	if current > target {
		return nil, d.newer(current, target)
	}

	// The write lock is taken when a transaction begins: one that reads first
	// and is then refused the lock could not be repeated.
	writer, err := d.connect("_txlock", "immediate", "_journal_mode", "WAL", "_synchronous", "FULL", "_foreign_keys", "on",
		"_pragma", "secure_delete(ON)")
	if err != nil {
		return nil, err
	}
	writer.SetMaxOpenConns(1)
	if current < target {
		if err := sqlstore.Migrate(ctx, writer, goose.DialectSQLite3, migrations); err != nil {
			return nil, errors.Join(d.wrap(err), writer.Close())
		}
	}
	reader, err := d.connect("_query_only", "on")
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	reader.SetMaxOpenConns(readers)
	reader.SetMaxIdleConns(readers)
	body, err := sqlstore.New(ctx, writer, reader, sqlstore.Dialect{Explain: d.explain, Erased: emptyLog})
	if err != nil {
		return nil, err
	}
	return &Store{body, writer}, nil
}

// connect returns a pool whose connections have the given parameters.
func (d database) connect(params ...string) (*sql.DB, error) {
	connector, err := driver.NewConnector(d.uri(params...))
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// uri names the file with parameters of a connection.
func (d database) uri(params ...string) string {
	query := url.Values{"_busy_timeout": {fmt.Sprint(d.busy.Milliseconds())}, "_dqs": {"0"}}
	for i := 0; i < len(params); i += 2 {
		query.Add(params[i], params[i+1])
	}
	path := filepath.ToSlash(d.path)
	if !strings.HasPrefix(path, "/") { // a drive letter
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
}

// version reads the schema version through a connection that cannot write; 0
// is an empty file.
func (d database) version(ctx context.Context) (v int64, err error) {
	db, err := d.connect("mode", "ro")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var tables, ours int
	err = db.QueryRowContext(ctx, "SELECT count(*), count(CASE WHEN name = ? THEN 1 END) FROM sqlite_schema",
		sqlstore.VersionTable).Scan(&tables, &ours)
	switch {
	case err != nil:
		return 0, err
	case tables == 0:
		return 0, nil
	case ours == 0:
		return 0, d.foreign()
	}
	return sqlstore.Version(ctx, db)
}

// emptyLog moves all pages of the log into the database and cuts the log, so
// that no older page stays in it. It waits for readers as long as a writer
// would; what another process still reads then goes with its own checkpoint.
func emptyLog(ctx context.Context, db *sql.DB) error {
	var busy, frames, moved int
	return db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved)
}
