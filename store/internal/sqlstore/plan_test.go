package sqlstore_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/store/internal/sqlstore"
	"github.com/holdfast-dev/holdfast/store/sqlite"
)

func TestLookupsStartFromTheIndexOfWhatIsLookedUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdfast.db")
	s, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, test := range []struct {
		name, query string
		args        []any
		want        string
	}{
		{
			"anchors, whose rows are not even read", sqlstore.FindTwoAnchors,
			[]any{"x", "y"},
			"SEARCH anchors USING COVERING INDEX anchors_strong (digest=?)",
		},
		{"blocks", sqlstore.FindBlock, []any{"x", "y", "z"}, "SEARCH r USING INDEX boundaries_block (block=?)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var id, parent, unused int
			var first string
			err := db.QueryRow("EXPLAIN QUERY PLAN "+test.query, test.args...).Scan(&id, &parent, &unused, &first)
			if err != nil {
				t.Fatal(err)
			}
			if first != test.want {
				t.Errorf("the first step is %q, want %q", first, test.want)
			}
		})
	}
}
