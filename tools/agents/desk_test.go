//go:build unix

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shell is a desk whose agent is a shell script.
func shell(t *testing.T, script string) desk {
	home := t.TempDir()
	path := filepath.Join(home, "agent")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return desk{path: path, home: home, work: home, env: []string{"EXTRA=yes"}}
}

func TestOneStartPassesTheSessionOfAnEarlierOneOn(t *testing.T) {
	d := shell(t, `echo "$EXTRA $HOME $*" >>calls; echo '{"thread_id":"id-1"}'`)
	first := func(session string) []string { return []string{"first", session} }
	later := func(session string) []string { return []string{"later", session} }
	if err := inTurn(first, later)(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(d.work, "calls"))
	want := "yes " + d.home + " first \nyes " + d.home + " later id-1\n"
	if string(got) != want || err != nil {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestAFailedStartNamesItselfAndShowsItsOutput(t *testing.T) {
	d := shell(t, "echo what went wrong; exit 3")
	err := inTurn(func(string) []string { return nil })(t.Context(), d)
	if err == nil || err.Error() != "start 1 of 1: exit status 3: what went wrong" {
		t.Errorf("got %v", err)
	}
}

func TestAScriptOfNodeIsRunByNode(t *testing.T) {
	for path, want := range map[string][]string{"/x/cli.js": {"node", "/x/cli.js", "-p"}, "/x/cli": {"/x/cli", "-p"}} {
		if got := (desk{path: path}).command(t.Context(), "-p").Args; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	if got := (desk{path: "/x/cli.js", node: "/y/node"}).command(t.Context(), "-p").Args; !slices.Equal(got, []string{"/y/node", "/x/cli.js", "-p"}) {
		t.Errorf("with a node of its own: got %q", got)
	}
}

func TestARunningAgentIsSpokenToInLines(t *testing.T) {
	r, err := shell(t, `while read -r line; do echo noise; echo "got $line"; done`).launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.stop()
	if err := r.send(fields{"type": "prompt"}); err != nil {
		t.Fatal(err)
	}
	if line, err := r.await("got", "prompt"); line != "got {\"type\":\"prompt\"}\n" || err != nil {
		t.Errorf("got %q, %v", line, err)
	}
}

func TestAnAgentThatEndsIsNotWaitedFor(t *testing.T) {
	r, err := shell(t, "echo its last words").launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.stop()
	if _, err := r.await("an answer"); err == nil || !strings.Contains(err.Error(), "its last words") {
		t.Errorf("got %v", err)
	}
}
