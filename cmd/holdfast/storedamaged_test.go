package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/store/sqlite"
)

// TestStoreCheckOfADatabaseThatWasCutShort holds the exit status that the help
// promises.
func TestStoreCheckOfADatabaseThatWasCutShort(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	path := filepath.Join(data, "holdfast.db")
	st, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	var got checkJSON
	if err := json.Unmarshal([]byte(command(t, 1, data, "store", "check", "--json")), &got); err != nil {
		t.Fatal(err)
	}
	want := checkJSON{
		Path: path, Bytes: 4096, Mode: "0600", DirectoryMode: "0700", Partial: true, Rows: map[string]int64{},
		Findings: []findingJSON{{
			Kind: store.Damaged, What: "it is too damaged to be checked: database disk image is malformed (11)",
			Next: "put a backup in its place; without one, move it and its -wal and -shm files away to start with an empty one",
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
