package sqlite

import (
	"errors"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/holdfast-dev/holdfast"
)

// explain words what SQLite reports; nil when it is not a state of the file,
// the disk or another process.
func (d database) explain(err error) *holdfast.Error {
	var e *driver.Error
	if !errors.As(err, &e) {
		return nil
	}
	// The low byte is the kind of the error, the rest its detail.
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return holdfast.Errorf(holdfast.ErrUnavailable,
			"the database %s is locked by another process for more than %s; stop that process or try again (%w)", d.path, d.busy, err)
	case sqlite3.SQLITE_FULL:
		return holdfast.Errorf(holdfast.ErrUnavailable,
			"no room is left for the database %s; free some disk space, nothing needs a restart (%w)", d.path, err)
	case sqlite3.SQLITE_NOTADB:
		return d.foreign()
	case sqlite3.SQLITE_CORRUPT:
		return holdfast.Errorf(holdfast.ErrUnavailable,
			"the database %s is damaged; move it and its -wal and -shm files away to start with an empty one, or put a backup in its place (%w)", d.path, err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return holdfast.Errorf(holdfast.ErrUnavailable,
			"the database %s cannot be written; make it and its directory writable for this user, or choose another directory with --data DIR (%w)", d.path, err)
	case sqlite3.SQLITE_IOERR:
		return holdfast.Errorf(holdfast.ErrUnavailable,
			"the disk reports an error for the database %s; check the disk, or choose another directory with --data DIR (%w)", d.path, err)
	}
	return nil
}

func (d database) foreign() *holdfast.Error {
	return holdfast.Errorf(holdfast.ErrUnavailable,
		"%s is not a database of Holdfast and was left as it is; move it away, or choose another directory with --data DIR", d.path)
}

func (d database) newer(theirs, ours int64) *holdfast.Error {
	return holdfast.Errorf(holdfast.ErrNewer,
		"%s was written by a newer version of Holdfast (its schema has version %d, this program knows %d) and was left as it is: "+
			"upgrade Holdfast, or choose another directory with --data DIR", d.path, theirs, ours)
}

// wrap explains an error that came before there was a store.
func (d database) wrap(err error) error {
	if known := d.explain(err); known != nil {
		return known
	}
	return err
}
