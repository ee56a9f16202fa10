package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/store/sqlite"
)

// TestAnEditOfACommandReachesTheUpstream has a server and the command line over one
// database, each with a connection of its own, as two processes have.
func TestAnEditOfACommandReachesTheUpstream(t *testing.T) {
	data := t.TempDir()
	st, err := sqlite.Open(filepath.Join(data, "holdfast.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	p := newPolicedOver(t, st, "", "ci/", "other/")
	capsule := func(args ...string) string {
		t.Helper()
		var out, errs strings.Builder
		a := &app{in: strings.NewReader(""), out: &out, err: &errs, now: time.Now, open: openStore}
		if status := a.run(t.Context(), append([]string{"--data", data, "capsule", "--principal", "ci"}, args...)); status != 0 {
			t.Fatalf("exit status %d: %s", status, errs.String())
		}
		return out.String()
	}
	turns := []string{"I go on.", "Yes.", saidBack, "More."}
	first := p.carried("ci/", "a")
	theirs := p.carried("other/", "b")

	out := capsule("add", "last", "--constraint", "No cgo")
	if !strings.Contains(out, "+ c1 constraint No cgo; by an edit, turn 3\n") || !strings.Contains(out, "with its next request, or from its next compaction on where Claude has thought behind the record.\n") {
		t.Fatalf("the command says\n%s", out)
	}
	edited := first
	for deadline := time.Now().Add(5 * time.Second); edited == first; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("five seconds after the edit the server still adds\n%s", edited)
		}
		edited = p.added("ci/", resumed("a", turns...))
	}
	if !strings.Contains(edited, "- No cgo\\n") || !strings.Contains(edited, openStep) {
		t.Fatalf("behind the edit was added\n%s", edited)
	}
	turns = append(turns, saidBack, "And more.")
	if got := p.added("ci/", resumed("a", turns...)); got != edited {
		t.Errorf("later in the epoch was added\n%s", got)
	}
	if got := p.added("other/", resumed("b", turns...)); got != theirs {
		t.Errorf("to the session of another principal was added\n%s", got)
	}

	// While no server runs an edit is only written; the next one carries it.
	p.stop()
	capsule("reject", "last", "c1")
	capsule("add", "last", "--fact", "port 5433")
	p.start("")
	turns = append(turns, saidBack, "And again.")
	got := p.added("ci/", resumed("a", turns...))
	if strings.Contains(got, "No cgo") || !strings.Contains(got, "- value: port 5433\\n") {
		t.Errorf("the next server added\n%s", got)
	}
	if again := p.added("ci/", resumed("a", append(turns, saidBack, "Once more.")...)); again != got {
		t.Errorf("and then\n%s", again)
	}
	if got := p.added("other/", resumed("b", turns...)); got != theirs {
		t.Errorf("to the session of another principal the next server added\n%s", got)
	}
}

func TestEachKindOfFactIsLeftOutWhereAPolicySaysSo(t *testing.T) {
	for _, c := range []struct {
		key, fact string // what stands in a block while the key is true
		add       []string
	}{
		{"constraints", "- No cgo\\n", []string{"--constraint", "No cgo"}},
		{"rationale", "needs a server", []string{"--rejected", "MySQL", "--why", "needs a server"}},
		{"rejected_alternatives", "- MySQL", []string{"--rejected", "MySQL"}},
		{"open_questions", "- blocker: No CI\\n", []string{"--blocker", "No CI"}},
		{"facts", "- value: port 5433\\n", []string{"--fact", "port 5433"}},
	} {
		t.Run(c.key, func(t *testing.T) {
			st := store.NewMemory()
			p := newPolicedOver(t, st, "[[session_policy]]\nprincipal = \"ci\"\npreserve."+c.key+" = false", "ci/", "other/")
			for _, principal := range []string{"ci", "other"} {
				p.carried(principal+"/", "s")
				var errs strings.Builder
				a := &app{out: io.Discard, err: &errs, now: time.Now, open: func(string, bool) (database, io.Closer, error) { return st, io.NopCloser(nil), nil }}
				args := append([]string{"--data", "none", "capsule", "add", "last", "--principal", principal}, c.add...)
				if status := a.run(t.Context(), args); status != 0 {
					t.Fatalf("exit status %d: %s", status, errs.String())
				}
			}
			p.restart("[[session_policy]]\nprincipal = \"ci\"\npreserve." + c.key + " = false")
			for principal, kept := range map[string]bool{"ci": false, "other": true} {
				got := p.added(principal+"/", resumed("s", "I go on.", "Yes.", saidBack, "More."))
				if !strings.Contains(got, openStep) || strings.Contains(got, c.fact) != kept {
					t.Errorf("to a session of %s was added\n%s", principal, got)
				}
			}
		})
	}
}
