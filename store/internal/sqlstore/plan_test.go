package sqlstore_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/store"
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
	all, allArgs := sqlstore.EventsQuery("c", store.EventRange{After: 3, UpTo: 9})
	one, oneArgs := sqlstore.EventsQuery("c", store.EventRange{Kinds: []string{"turn"}})
	two, twoArgs := sqlstore.EventsQuery("c", store.EventRange{Kinds: []string{"turn", "compaction"}})
	const ofKind = "SEARCH events USING INDEX events_kind (conversation_id=? AND kind=? AND seq>?)"
	for _, test := range []struct {
		name, query string
		args        []any
		want        []string
	}{
		{
			"anchors, whose rows are not even read", sqlstore.FindTwoAnchors,
			[]any{"x", "y"},
			[]string{"SEARCH anchors USING COVERING INDEX anchors_strong (digest=?)"},
		},
		{
			"blocks", sqlstore.FindBlock,
			[]any{"x", "y", "z"},
			[]string{
				"SEARCH r USING INDEX boundaries_block (block=?)",
				"SEARCH b USING PRIMARY KEY (id=?)",
				"SEARCH s USING PRIMARY KEY (id=?)",
				"USE TEMP B-TREE FOR ORDER BY", // of the few that delivered one block
			},
		},
		{
			"how far branches are", sqlstore.HeadsOf,
			[]any{"x", "y"},
			[]string{
				"SEARCH b USING INDEX branches_session (session_id=?)",
				"CORRELATED SCALAR SUBQUERY 1",
				"SEARCH v USING COVERING INDEX sqlite_autoindex_revisions_1 (branch_id=?)", // its last entry
				"CORRELATED SCALAR SUBQUERY 2",
				"SEARCH r USING INDEX boundaries_branch (branch_id=?)",
				"USE TEMP B-TREE FOR ORDER BY", // of branches
			},
		},
		{
			"one revision", sqlstore.WholeRevision,
			[]any{"b", 1, "p"},
			[]string{
				"SEARCH b USING PRIMARY KEY (id=?)",
				"SEARCH s USING PRIMARY KEY (id=?)",
				"SEARCH r USING INDEX sqlite_autoindex_revisions_1 (branch_id=? AND n=?)",
				"CORRELATED SCALAR SUBQUERY 1",
				"SEARCH e USING COVERING INDEX sqlite_autoindex_edits_1 (branch_id=? AND revision=?)",
			},
		},
		{
			"the end of a stream", sqlstore.GetEnd,
			[]any{"c", "p"},
			[]string{"SEARCH conversations USING PRIMARY KEY (id=?)"},
		},
		{
			"the recording of a branch", sqlstore.HeadByBranch,
			[]any{"b", "p"},
			[]string{"SEARCH conversations USING INDEX conversations_branch (principal=? AND branch=?)"},
		},
		{
			"the conversations of a principal, in their order", sqlstore.ListHeads,
			[]any{"p", 1},
			[]string{"SEARCH conversations USING INDEX conversations_used (principal=?)"},
		},
		{
			"what callers spent, whose rows are not even read", sqlstore.SumCost,
			[]any{1},
			[]string{"SEARCH attempts USING COVERING INDEX attempts_began (began_at>?)", "USE TEMP B-TREE FOR GROUP BY"},
		},
		{
			"usage records that expire", sqlstore.ExpireAttempts,
			[]any{1},
			[]string{"SEARCH attempts USING INDEX attempts_began (began_at<?)"},
		},
		{
			"events, in their order", all, allArgs,
			[]string{"SEARCH events USING INDEX sqlite_autoindex_events_1 (conversation_id=? AND seq>?)"},
		},
		{"events of a kind, in their order", one, oneArgs, []string{ofKind}},
		{
			"events of two kinds, merged and not sorted", two, twoArgs,
			[]string{"MERGE (UNION ALL)", "LEFT", ofKind, "RIGHT", ofKind},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			rows, err := db.Query("EXPLAIN QUERY PLAN "+test.query, test.args...)
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			var steps []string
			for rows.Next() {
				var id, parent, unused int
				var step string
				if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
					t.Fatal(err)
				}
				steps = append(steps, step)
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(steps, test.want) {
				t.Errorf("the steps are\n%q, want\n%q", steps, test.want)
			}
		})
	}
}
