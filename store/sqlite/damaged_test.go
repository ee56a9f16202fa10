package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// TestAFileThatWasCutShortIsFound is of files in which not even the tables are
// named any more.
func TestAFileThatWasCutShortIsFound(t *testing.T) {
	for _, size := range []int64{50, 4096, 60_000} {
		t.Run(fmt.Sprint(size, " bytes"), func(t *testing.T) {
			path := healthy(t)
			if err := os.Truncate(path, size); err != nil {
				t.Fatal(err)
			}
			report := checked(t, path, false)
			expect(t, report.Findings, []store.Finding{{
				Kind: store.Damaged, What: "it is too damaged to be checked: database disk image is malformed (11)",
				Next: "put a backup in its place; without one, move it and its -wal and -shm files away to start with an empty one",
			}})
			if !report.Partial || report.Path != path || report.Bytes != size || report.Mode != 0o600 || report.DirectoryMode != 0o700 || report.Schema != 0 {
				t.Errorf("report %+v", report)
			}

			r, err := OpenReader(path)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			to := filepath.Join(t.TempDir(), "copy.db")
			_, err = r.Backup(t.Context(), to, BackupOptions{})
			expectError(t, err, holdfast.ErrUnavailable, "the database "+path+" is damaged; move it and its -wal and -shm files away "+
				"to start with an empty one, or put a backup in its place (database disk image is malformed (11))")
			if exists(to) {
				t.Error("there is a backup of it")
			}
		})
	}
}
