//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// slow is a server of one model that says the first half of an answer, tells so, and
// says the second when it is let.
type slow struct{ half, rest chan struct{} }

func (s slow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	say := func(text string) {
		_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", text)
		_ = http.NewResponseController(w).Flush()
	}
	w.Header().Set("Content-Type", "text/event-stream")
	say("first half, ")
	// Comments, more than connections hold: when they are written, what stands before
	// them was read.
	_, _ = io.WriteString(w, strings.Repeat(": "+strings.Repeat("-", 1000)+"\n", 16_000))
	close(s.half)
	select {
	case <-s.rest:
	case <-r.Context().Done():
	}
	say("second half")
	_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

// program is the command line as a process of its own, which a shell may have made
// ignore hangups. What the tests themselves run under is not handed on.
func program(t *testing.T, nohup bool, args ...string) *exec.Cmd {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(caught) })
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	if nohup {
		c = exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-c", `trap "" HUP; exec "$0" "$@"`, os.Args[0]}, args...)...)
	}
	c.Env = append(os.Environ(), asProgram+"=1")
	return c
}

func hangUp(t *testing.T, c *exec.Cmd) {
	t.Helper()
	for range 2 { // the terminal does it, and the shell
		if err := c.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAQueryWhoseTerminalCloses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		nohup  bool
		status int
		kept   string
	}{
		{"keeps what came", false, 1, "first half, "},
		{"goes on under nohup", true, 0, "first half, second half"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := slow{make(chan struct{}), make(chan struct{})}
			server := httptest.NewServer(s)
			defer server.Close()
			data := []string{"--data", t.TempDir()}
			c := program(t, tt.nohup, append(data,
				"--set", fmt.Sprintf(`upstream=[{name="here",protocol="chat",base_url="%s"}]`, server.URL),
				"--set", "query.titles=false", "--set", "models.m.context_window=32000", "query", "-m", "m", "--no-tools", "Well?")...)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			<-s.half
			hangUp(t, c)
			if tt.nohup {
				close(s.rest)
			}
			_ = c.Wait() // its status is looked at
			if got := c.ProcessState.ExitCode(); got != tt.status {
				t.Errorf("exit status %d, want %d", got, tt.status)
			}
			out, err := program(t, false, append(data, "conversation", "export", "last")...).Output()
			if want := fmt.Sprintf(`"text":%q`, tt.kept); err != nil || !strings.Contains(string(out), want) {
				t.Errorf("the conversation has no %s: %v\n%s", want, err, out)
			}
		})
	}
}

func TestAServerWhoseTerminalClosesEndsInOrder(t *testing.T) {
	c := program(t, false, "--json", "--data", filepath.Join(t.TempDir(), "data"), "serve", "--listen", "127.0.0.1:0")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	hangUp(t, c)
	if err := c.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
