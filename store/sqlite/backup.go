package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"

	driver "modernc.org/sqlite"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store/internal/sqlstore"
)

// stepPages is how many pages a backup copies between two looks at its context.
const stepPages = 256

// BackupOptions says how a backup is made.
type BackupOptions struct {
	Overwrite bool // a file that is there already
	// Progress is told how many pages are copied; nil: nobody is.
	Progress func(done, total int64)
}

// Backup is a backup that was made.
type Backup struct {
	Path   string // absolute
	Bytes  int64
	Schema int64 // version
}

// Backup copies the database, as it is when the call begins, into one file with
// mode 0600, whatever others write meanwhile. The file gets its name once it is
// whole, flushed to the disk and checked; what was broken off leaves at most a file
// whose name begins with a dot and ends in .partial. It is kept until somebody
// deletes it, with what the database erases later, and with the digests of keys.
//
// It fails with conflict where the file exists and is not to be overwritten, or a
// database is open there; with failed where the copy does not pass the check, so
// that the database itself is damaged; with unavailable where it cannot be written, or
// the database is too damaged to be read.
func (r *Reader) Backup(ctx context.Context, to string, o BackupOptions) (Backup, error) {
	to, err := filepath.Abs(to)
	if err != nil {
		return Backup{}, unwritten(to, err)
	}
	if r.damaged != nil {
		return Backup{}, r.explain("back up", r.damaged)
	}
	if err := r.mayReplace(to, o.Overwrite); err != nil {
		return Backup{}, err
	}
	// The mode of a new file is 0600.
	f, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+".*.partial")
	if err != nil {
		return Backup{}, unwritten(to, err)
	}
	part := database{f.Name(), r.d.busy}
	defer func() {
		// After the renaming there is none of these.
		_ = os.Remove(part.path)
		_ = os.Remove(part.path + "-journal")
	}()
	if err := f.Close(); err != nil {
		return Backup{}, unwritten(to, err)
	}
	if err := r.copy(ctx, part, o.Progress); err != nil {
		if ctx.Err() != nil {
			return Backup{}, holdfast.Errorf(holdfast.ErrUnavailable, "the backup %s was broken off, nothing is left of it: %w", to, ctx.Err())
		}
		return Backup{}, unwritten(to, err)
	}
	size, err := flush(part.path)
	if err != nil {
		return Backup{}, unwritten(to, err)
	}
	if err := part.sound(ctx, r.schema); err != nil {
		return Backup{}, holdfast.Errorf(holdfast.ErrFailed,
			"the copy of %s is not sound and was not kept: %w; see `holdfast store check`", r.d.path, err)
	}
	// Somebody may have put a file there meanwhile.
	if err := r.mayReplace(to, o.Overwrite); err != nil {
		return Backup{}, err
	}
	if err := os.Rename(part.path, to); err != nil {
		return Backup{}, unwritten(to, err)
	}
	// Not every system can flush a directory; the file itself is on the disk.
	_, _ = flush(filepath.Dir(to))
	return Backup{Path: to, Bytes: size, Schema: r.schema}, nil
}

func unwritten(to string, err error) error {
	return holdfast.Errorf(holdfast.ErrUnavailable,
		"the backup %s cannot be written: %w; make room or choose another place", to, err)
}

// mayReplace refuses a place where a backup would destroy something.
func (r *Reader) mayReplace(to string, overwrite bool) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if same(to, r.d.path+suffix) {
			return holdfast.Errorf(holdfast.ErrUsage, "%s is part of the database itself: choose another place for the backup", to)
		}
	}
	info, err := os.Stat(to)
	switch {
	case err == nil && info.IsDir():
		return holdfast.Errorf(holdfast.ErrUsage, "%s is a directory: name a file in it", to)
	case exists(to) && !overwrite:
		return holdfast.Errorf(holdfast.ErrConflict, "%s exists already: choose another name, or add --force to overwrite it", to)
	case exists(to + "-wal"):
		return holdfast.Errorf(holdfast.ErrConflict,
			"%s-wal shows that a database is in use there: end what uses it, or choose another name", to)
	}
	return nil
}

// same reports whether two names are those of one file, be it there or not.
func same(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// copy copies all pages of one state into another database.
func (r *Reader) copy(ctx context.Context, into database, progress func(done, total int64)) (err error) {
	conn, err := r.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	// A transaction that has read holds the state: else each write of another
	// process would begin the copy anew.
	t, err := conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer t.Rollback() // it was only read
	if err := t.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(new(int)); err != nil {
		return err
	}
	return conn.Raw(func(c any) error {
		b, err := c.(interface {
			NewBackup(uri string) (*driver.Backup, error)
		}).NewBackup(into.uri())
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			if err = ctx.Err(); err == nil {
				more, err = b.Step(stepPages)
			}
			if progress != nil && err == nil {
				total := int64(b.PageCount())
				progress(total-int64(b.Remaining()), total)
			}
		}
		return errors.Join(err, b.Finish())
	})
}

// flush makes sure that a file or directory is on the disk, and returns its size.
func flush(name string) (int64, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// sound checks a database that nobody else can have open.
func (d database) sound(ctx context.Context, schema int64) (err error) {
	db, err := d.connect("mode", "ro", "immutable", "1")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	t, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer t.Rollback() // it was only read
	said, err := damage(ctx, t, false)
	if err != nil {
		return err
	}
	if len(said) > 0 {
		return errors.New(said[0])
	}
	if schema == 0 {
		return nil // an empty file
	}
	var v int64
	err = t.QueryRowContext(ctx, "SELECT max(version_id) FROM "+sqlstore.VersionTable).Scan(&v)
	if err == nil && v != schema {
		err = errors.New("its schema has another version")
	}
	return err
}
