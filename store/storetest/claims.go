package storetest

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// claiming checks store.Claims and store.Secrets.
var claiming = map[string]func(*testing.T, Store){
	"a mark of a branch has one holder until its time is over": func(t *testing.T, s Store) {
		for _, step := range []struct {
			what, branch, mark, holder string
			now, until                 int
			want                       bool
		}{
			{"nobody has it", "b1", "m1", "one", 0, 10, true},
			{"somebody else has it", "b1", "m1", "two", 1, 11, false},
			{"another mark", "b1", "m2", "two", 1, 11, true},
			{"another branch", "b2", "m1", "two", 1, 11, true},
			{"the holder again, for longer", "b1", "m1", "one", 5, 20, true},
			{"still held", "b1", "m1", "two", 19, 30, false},
			{"its time is over", "b1", "m1", "two", 20, 30, true},
			{"the old holder", "b1", "m1", "one", 21, 30, false},
		} {
			got, err := s.Claim(t.Context(), holdfast.BranchID(step.branch), step.mark, step.holder, at(step.now), at(step.until))
			expectCode(t, err, "")
			if got != step.want {
				t.Errorf("%s: got %v", step.what, got)
			}
		}
	},
	"only the holder releases": func(t *testing.T, s Store) {
		claim := func(holder string, want bool) {
			t.Helper()
			got, err := s.Claim(t.Context(), "b", "m", holder, at(0), at(10))
			expectCode(t, err, "")
			if got != want {
				t.Errorf("%s: got %v", holder, got)
			}
		}
		claim("one", true)
		expectCode(t, s.Unclaim(t.Context(), "b", "m", "two"), "")
		claim("two", false)
		expectCode(t, s.Unclaim(t.Context(), "b", "m", "one"), "")
		claim("two", true)
		expectCode(t, s.Unclaim(t.Context(), "b", "none", "one"), "")
	},
	"the first secret of a name stays": func(t *testing.T, s Store) {
		for _, step := range []struct{ name, fresh, want string }{{"a", "one", "one"}, {"a", "two", "one"}, {"b", "two", "two"}} {
			got, err := s.Secret(t.Context(), step.name, []byte(step.fresh))
			expectCode(t, err, "")
			expect(t, string(got), step.want)
		}
	},
	"a branch keeps its watermark, and where its newest round begins": func(t *testing.T, s Store) {
		b := branch(session("s1"), "b1", 1)
		b.Watermark, b.Round = "m1", 3
		apply(t, s, store.Batch{Session: session("s1"), Branches: []store.Branch{b}})
		b.Watermark, b.Round = "m2", 7
		apply(t, s, store.Batch{Session: session("s1"), Branches: []store.Branch{b}})
		state, err := s.Load(t.Context(), holdfast.Local, "s1")
		expectCode(t, err, "")
		expect(t, state.Branches[0].Branch.Watermark, "m2")
		expect(t, state.Branches[0].Branch.Round, 7)
	},
}
