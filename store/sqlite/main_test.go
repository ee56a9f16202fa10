package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// role tells a copy of the test binary to play another process.
const role = "HOLDFAST_TEST_ROLE"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "write until killed":
		err = writeUntilKilled(os.Args[1])
	case "open":
		_, err = Open(os.Args[1])
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v", holdfast.CodeOf(err), err)
		os.Exit(1)
	}
}

// process is a copy of the test binary in a role.
func process(t *testing.T, as, path string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, path)
	cmd.Env = append(os.Environ(), role+"="+as)
	return cmd
}

// step is the batch that moves session s1 on by one revision; it needs only
// that those before it were applied.
func step(n int) store.Batch {
	return store.Batch{
		Session:  store.Session{ID: "s1", Principal: holdfast.Local, Key: "k", CreatedAt: at(0), UsedAt: at(n)},
		Branches: []store.Branch{{ID: "b1", Session: "s1", CreatedAt: at(0), UsedAt: at(n)}},
		Anchors:  []store.Anchor{{Branch: "b1", Seq: n - 1, Digest: holdfast.DigestOf(fmt.Sprint("call ", n)), Strong: true, Revision: n}},
		Revisions: []store.Revision{
			{Branch: "b1", N: n, Seq: n, Digest: fmt.Sprint("sha256:", n), Capsule: fmt.Appendf(nil, `{"revision":%d}`, n), At: at(n)},
		},
	}
}

// stateAfter is what n steps leave.
func stateAfter(n int) store.SessionState {
	last := step(n)
	state := store.SessionState{Session: last.Session, Branches: []store.BranchState{{Branch: last.Branches[0]}}}
	for i := range n {
		b := step(i + 1)
		state.Branches[0].Anchors = append(state.Branches[0].Anchors, b.Anchors...)
		state.Branches[0].Revisions = append(state.Branches[0].Revisions, b.Revisions...)
	}
	return state
}

// writeUntilKilled writes calls of three steps each and prints the number of
// steps once they are acknowledged.
func writeUntilKilled(path string) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	for n := 1; ; n += 3 {
		for _, err := range s.Apply(context.Background(), []store.Batch{step(n), step(n + 1), step(n + 2)}) {
			if err != nil {
				return err
			}
		}
		fmt.Fprintln(out, n+2)
		if err := out.Flush(); err != nil {
			return err
		}
	}
}
