package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast"
)

// prepareFile makes sure that the directory can be written and that the file
// exists, for the eyes of its owner only. SQLite gives the -wal and -shm files
// the mode of the database.
//
// An existing file is never opened here: closing it would drop the locks that
// this process may hold on it through another connection.
func prepareFile(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return unwritable(dir, err)
	}
	// SQLite would say only that it cannot open a file; the probe tells why.
	probe, err := os.CreateTemp(dir, ".holdfast-probe-*")
	if err != nil {
		return unwritable(dir, err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return unwritable(dir, err)
	}

	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		err = f.Close()
	} else if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err != nil {
		return unwritable(dir, err)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if err := narrow(name); err != nil {
			return unwritable(dir, err)
		}
	}
	return nil
}

// narrow takes the rights of others away from a file, if there is one.
func narrow(name string) error {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return os.Chmod(name, info.Mode().Perm()&^0o077)
}

func unwritable(dir string, err error) error {
	return holdfast.Errorf(holdfast.ErrUnavailable,
		"cannot write in the data directory %s: %w; make it writable for this user, or choose another with --data DIR", dir, err)
}
