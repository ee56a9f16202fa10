package sqlite

import (
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
	case "append until killed":
		err = appendUntilKilled(os.Args[1])
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
	for n := 1; ; n += 3 {
		for _, err := range s.Apply(context.Background(), []store.Batch{step(n), step(n + 1), step(n + 2)}) {
			if err != nil {
				return err
			}
		}
		if _, err := fmt.Println(n + 2); err != nil {
			return err
		}
	}
}

// exchange is the n-th append to a conversation: a turn and a message of 200 KB.
func exchange(n int) []store.StoredEvent {
	turn := store.StoredEvent{
		Seq: int64(2*n - 1), ID: holdfast.EventID(fmt.Sprint("turn ", n)), Kind: "turn", At: at(n), Line: []byte(`{"kind":"turn"}`),
	}
	text := store.StoredEvent{
		Seq: int64(2 * n), ID: holdfast.EventID(fmt.Sprint("text ", n)), Kind: "assistant", At: at(n),
		Line: fmt.Appendf(nil, `{"kind":"assistant","text":"%0200000d"}`, n),
	}
	return []store.StoredEvent{turn, text}
}

// streamAfter is what n exchanges leave.
func streamAfter(n int) (store.Conversation, []store.StoredEvent) {
	c := store.Conversation{
		ID: "c1", Principal: holdfast.Local, Origin: store.OwnConversation, Version: 1, CreatedAt: at(0), UsedAt: at(n),
		Head: int64(2 * n), Turns: n,
	}
	var events []store.StoredEvent
	for i := range n {
		events = append(events, exchange(i+1)...)
	}
	for _, e := range events {
		c.Bytes += int64(len(e.Line))
	}
	return c, events
}

// appendUntilKilled appends exchanges and prints their number as soon as they are
// acknowledged.
func appendUntilKilled(path string) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	ctx := context.Background()
	c, _ := streamAfter(0)
	if err := s.Create(ctx, c, nil); err != nil {
		return err
	}
	for n := 1; ; n++ {
		if err := s.Append(ctx, holdfast.Local, "c1", int64(2*n-2), exchange(n)); err != nil {
			return err
		}
		if _, err := fmt.Println(n); err != nil {
			return err
		}
	}
}
