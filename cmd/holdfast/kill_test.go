package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/eval"
	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/store/sqlite"
)

// asProgram makes the test binary behave as the program itself, so that a test
// can kill it.
const asProgram = "HOLDFAST_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// killed is a server process over one data directory that is killed without
// warning and started again.
type killed struct {
	t       *testing.T
	args    []string
	process *exec.Cmd
	host    string
	kills   int
	late    int // boundaries that went on before they were durable
	when    func(n int, body string) bool
	n       int
}

func (k *killed) start() {
	k.t.Helper()
	k.process = exec.Command(os.Args[0], k.args...)
	k.process.Env = append(os.Environ(), asProgram+"=1")
	out, err := k.process.StdoutPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := k.process.Start(); err != nil {
		k.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		k.t.Fatalf("the server did not start: %v", err)
	}
	var started struct {
		Listening string `json:"listening"`
	}
	if err := json.Unmarshal(line, &started); err != nil {
		k.t.Fatalf("the line %q: %v", line, err)
	}
	k.host = strings.TrimPrefix(started.Listening, "http://")
}

// lateCommits reads how many boundaries of the process were not durable in time:
// on a machine that is too slow for the limit, a kill may then lose one.
func (k *killed) lateCommits() int { return k.metric("holdfast_commit_timeouts_total") }

// settle waits until what the answers before brought is written.
func (k *killed) settle() {
	k.t.Helper()
	for end := time.Now().Add(5 * time.Second); k.metric("holdfast_streams_open") > 0 || k.metric("holdfast_records_waiting") > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			k.t.Fatal("the store does not keep up")
		}
	}
}

func (k *killed) metric(name string) int {
	k.t.Helper()
	resp, err := http.Get("http://" + k.host + "/metrics")
	if err != nil {
		k.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		k.t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var n int
		if _, err := fmt.Sscanf(line, name+" %d", &n); err == nil {
			return n
		}
	}
	k.t.Fatalf("the metrics do not tell %s", name)
	return 0
}

func (k *killed) kill() {
	k.t.Helper()
	k.late += k.lateCommits()
	if err := k.process.Process.Kill(); err != nil {
		k.t.Fatal(err)
	}
	_ = k.process.Wait() // it was killed, so this is an error
	k.kills++
}

// RoundTrip sends a request to the process of the day.
func (k *killed) RoundTrip(r *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if k.when(k.n, string(raw)) {
		// What the answer before brought is being written; a real agent takes longer
		// than that to its next request. Histories in words could not bring it back.
		k.settle()
		k.kill()
		k.start()
	}
	k.n++
	r = r.Clone(r.Context())
	r.URL.Host = k.host
	r.Body = io.NopCloser(bytes.NewReader(raw))
	return http.DefaultTransport.RoundTrip(r)
}

func isCompaction(body string) bool {
	for _, mark := range []string{
		"TEXT ONLY", "CONTEXT CHECKPOINT COMPACTION", `"compaction_trigger"`, "Here is the conversation so far:", "The messages above are",
		"Summarize this session for continuation.", "reason in your scratchpad", "Critically evaluate the",
	} {
		if strings.Contains(body, mark) {
			return true
		}
	}
	return false
}

// TestThePlanSurvivesKill9 kills the server with the scripted session under
// way: between harvest and boundary, and right behind the boundary.
func TestThePlanSurvivesKill9(t *testing.T) {
	for _, tt := range []struct {
		name string
		when func(before *bool) func(n int, body string) bool // before: the request before was a compaction
	}{
		{"between harvest and boundary", func(*bool) func(int, string) bool {
			return func(_ int, body string) bool { return isCompaction(body) }
		}},
		{"between boundary and the next request", func(before *bool) func(int, string) bool {
			return func(_ int, body string) bool {
				kill := *before && !isCompaction(body)
				*before = isCompaction(body)
				return kill
			}
		}},
		{"before every third request", func(*bool) func(int, string) bool {
			return func(n int, _ string) bool { return n%3 == 2 }
		}},
	} {
		for _, s := range eval.Scenarios() {
			t.Run(tt.name+", "+s.Name, func(t *testing.T) {
				for range 3 {
					before := false
					lost, late := killing(t, s, tt.when(&before))
					switch {
					case len(lost) == 0:
						return
					case late == 0:
						t.Fatalf("after these compactions the plan is not there, in order, once, in every request: %+v", lost)
					}
					t.Logf("%d boundaries were not durable in time, so this run proves nothing", late)
				}
			})
		}
	}
}

// killing plays a scenario through a server that is killed, and returns the
// epochs in which the plan did not survive, and how many boundaries were late.
func killing(t *testing.T, s eval.Scenario, when func(int, string) bool) (lost []eval.Epoch, late int) {
	up := eval.NewUpstream(eval.Config{Seed: t.Name(), Turn: s.Script()})
	server := httptest.NewServer(up)
	defer server.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "config.toml")
	var text strings.Builder
	text.WriteString("[transcripts]\nenabled = true\n\n")
	for protocol, base := range map[string]string{"anthropic": "", "gemini": "", "responses": "/v1", "chat": "/v1"} {
		fmt.Fprintf(&text, "[[upstream]]\nname = %q\nprotocol = %q\nbase_url = %q\n\n", protocol, protocol, server.URL+base)
	}
	if err := os.WriteFile(config, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	k := &killed{
		t: t, when: when,
		args: []string{"--json", "--config", config, "--data", filepath.Join(dir, "data"), "serve", "--listen", "127.0.0.1:0"},
	}
	k.start()
	defer func() {
		k.kill()
		nothingTwice(t, filepath.Join(dir, "data", "holdfast.db"))
	}()
	if err := s.Run(context.Background(), &http.Client{Transport: k}, "http://localhost", t.Name()); err != nil {
		t.Fatal(err)
	}
	if k.kills < 3 {
		t.Errorf("killed %d times only", k.kills)
	}
	epochs, err := s.Judge(up.Requests())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range epochs {
		if !e.Survived() {
			lost = append(lost, e)
		}
	}
	return lost, k.late + k.lateCommits()
}

// nothingTwice checks that no process has recorded again what one before it had.
func nothingTwice(t *testing.T, path string) {
	t.Helper()
	st, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	list, err := st.List(context.Background(), holdfast.Local, true)
	if err != nil || len(list) == 0 {
		t.Fatalf("%d conversations, %v", len(list), err)
	}
	for _, c := range list {
		seen := map[string]bool{}
		for row, err := range st.Events(context.Background(), holdfast.Local, c.ID, store.EventRange{Kinds: []string{conversation.KindAssistant, conversation.KindUser}}) {
			if err != nil {
				t.Fatal(err)
			}
			e, err := conversation.ParseLine(row.Line)
			if err != nil {
				t.Fatal(err)
			}
			if m, ok := e.Event.(holdfast.UserMessage); ok && m.Synthetic {
				continue // agents send those again behind a compaction
			}
			e.ID, e.At = "", time.Time{}
			said := string(conversation.AppendLine(nil, e))
			if seen[said] {
				t.Errorf("recorded twice: %.200s", said)
			}
			seen[said] = true
		}
	}
}
