package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// running is a server that was started by its command line.
type running struct {
	base string // its URL
	stop func() int
}

func start(t *testing.T, errors io.Writer, args ...string) running {
	t.Helper()
	out, w := io.Pipe()
	a := &app{out: w, err: errors, now: time.Now, open: openStore}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() {
		ended <- a.run(ctx, append([]string{"serve", "--listen", "127.0.0.1:0", "--json"}, args...))
		w.Close()
	}()
	first, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server did not start: %v", err)
	}
	var line struct {
		Listening string `json:"listening"`
	}
	if err := json.Unmarshal([]byte(first), &line); err != nil {
		t.Fatalf("the line %q: %v", first, err)
	}
	return running{line.Listening, func() int { cancel(); return <-ended }}
}

func TestServeForwardsToTheConfiguredUpstreamWithItsKeyAndStopsInOrder(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.URL.RequestURI()+" "+r.Header.Get("Authorization")+" "+string(body))
	}))
	defer up.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "config.toml")
	text := "[[upstream]]\nname = \"here\"\nprotocol = \"chat\"\nbase_url = \"" + up.URL + "/api/v1\"\napi_key = \"env:HERE_KEY\"\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HERE_KEY", "configured")

	data := filepath.Join(dir, "data")
	s := start(t, io.Discard, "--config", config, "--data", data)
	req, err := http.NewRequest("POST", s.base+"/v1/chat/completions?x=%20", strings.NewReader(`{"model":"m"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer client")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(res.Body)
	res.Body.Close()
	if want := `/api/v1/chat/completions?x=%20 Bearer configured {"model":"m"}`; err != nil || string(got) != want {
		t.Errorf("the upstream saw %q (%v), want %q", got, err, want)
	}
	if status := s.stop(); status != 0 {
		t.Errorf("stopped with exit status %d", status)
	}
	if _, err := http.Get(s.base); err == nil {
		t.Error("it still answers")
	}
	// A single file is left: the database was closed.
	left, err := filepath.Glob(filepath.Join(data, "*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "holdfast.db" {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestServeDoesNotStartWithoutTheKeyItWasTold(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "config.toml")
	text := "[[upstream]]\nname = \"here\"\nprotocol = \"chat\"\nbase_url = \"http://h/v1\"\napi_key = \"env:NO_SUCH_KEY\"\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("NO_SUCH_KEY", "")
	var out, errors strings.Builder
	a := &app{out: &out, err: &errors, now: time.Now, open: openStore}
	status := a.run(context.Background(), []string{"serve", "--listen", "127.0.0.1:0", "--config", config, "--data", dir})
	want := "holdfast: upstream here: api_key refers to the environment variable NO_SUCH_KEY, which is empty. " +
		"Set it, or leave api_key out to forward the client's own\n"
	if errors.String() != want || status != holdfast.ErrConfig.ExitStatus() || out.String() != "" {
		t.Errorf("status %d, out %q, err %q", status, out.String(), errors.String())
	}
}

func TestASecondServerOnThePortOfTheFirstSaysSo(t *testing.T) {
	dir := t.TempDir()
	s := start(t, io.Discard, "--data", dir)
	defer s.stop()
	var errors strings.Builder
	a := &app{out: io.Discard, err: &errors, now: time.Now, open: openStore}
	status := a.run(context.Background(), []string{"serve", "--listen", strings.TrimPrefix(s.base, "http://"), "--data", dir})
	if status != holdfast.ErrConflict.ExitStatus() || !strings.Contains(errors.String(), " is taken, perhaps by another holdfast serve.") {
		t.Errorf("status %d: %s", status, errors.String())
	}
}
