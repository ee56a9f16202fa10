package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/config"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/eval"
	"github.com/holdfast-dev/holdfast/store/sqlite"
)

// TestWhatAServerWritesIsSoundAndCanBeRestored plays agents through a proxy that
// records them, checks and backs up its database while it is open, and serves the
// backup.
func TestWhatAServerWritesIsSoundAndCanBeRestored(t *testing.T) {
	base := t.TempDir()
	data, restored := filepath.Join(base, "data"), filepath.Join(base, "restored")
	st, err := sqlite.Open(filepath.Join(data, "holdfast.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	scenarios := map[holdfast.Protocol]eval.Scenario{} // one of each protocol
	for _, s := range eval.Scenarios() {
		scenarios[s.Protocol] = s
	}
	for _, s := range scenarios {
		play(t, st, s)
	}

	var report struct {
		Findings []any
		Rows     map[string]int
	}
	if err := json.Unmarshal([]byte(command(t, 0, data, "store", "check", "--full", "--json")), &report); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"sessions", "branches", "revisions", "boundaries", "anchors", "conversations", "events"} {
		if report.Rows[table] == 0 {
			t.Errorf("there are no %s: this test looks at too little", table)
		}
	}
	sessions := command(t, 0, data, "session", "ls", "--json")
	recordings := command(t, 0, data, "conversation", "ls", "--json")
	backup := filepath.Join(base, "backup.db")
	command(t, 0, data, "store", "backup", backup)

	// What the help says is done.
	whole, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(restored, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(restored, "holdfast.db"), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, io.Discard, "--data", restored)
	resp, err := http.Get(s.base + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("the server answers with %s", resp.Status)
	}
	command(t, 0, restored, "store", "check") // beside the server
	if got := command(t, 0, restored, "session", "ls", "--json"); got != sessions {
		t.Errorf("the sessions are\n%s\nand were\n%s", got, sessions)
	}
	if got := command(t, 0, restored, "conversation", "ls", "--json"); got != recordings {
		t.Errorf("the recordings are\n%s\nand were\n%s", got, recordings)
	}
	if status := s.stop(); status != 0 {
		t.Errorf("stopped with exit status %d", status)
	}
}

// play runs a scenario through a proxy that records into a store.
func play(t *testing.T, st *sqlite.Store, s eval.Scenario) {
	t.Helper()
	script := s.Script()
	provider := httptest.NewServer(eval.NewUpstream(eval.Config{Seed: "fixed", Turn: script}))
	defer provider.Close()
	target, err := url.Parse(provider.URL)
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Transcripts.Enabled = true
	cfg.Upstreams = []config.Upstream{{Name: "up", Protocol: s.Protocol, BaseURL: target}}
	stack, err := newStack(cfg, stackStores{st, st, st}, nil, access{}, slog.New(slog.DiscardHandler), time.Now, engine.Ablation{})
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(stack.handler)
	defer proxy.Close()
	if err := s.Run(t.Context(), http.DefaultClient, proxy.URL, "seed "+string(s.Protocol)); err != nil {
		t.Fatal(err)
	}
	proxy.Close()
	if err := stack.close(); err != nil {
		t.Fatal(err)
	}
}

// command runs a command line on a data directory and returns what it writes.
func command(t *testing.T, status int, data string, args ...string) string {
	t.Helper()
	var out, errors strings.Builder
	a := &app{out: &out, err: &errors, now: time.Now, open: openStore}
	if got := a.run(t.Context(), append([]string{"--data", data}, args...)); got != status {
		t.Fatalf("%q ended with status %d, want %d:\n%s%s", args, got, status, out.String(), errors.String())
	}
	return out.String()
}
