package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// keyed is a server with an upstream of its own, and the commands beside it.
type keyed struct {
	t      *testing.T
	dir    string
	data   string
	config string
	log    syncLog
	server running
}

// syncLog is a log that is read while it is written.
type syncLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *syncLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *syncLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// The credentials of the upstream, one of the environment and one of a file.
const (
	fromEnviron = "sk-upstream-from-the-environment"
	fromFile    = "sk-upstream-from-a-file"
)

func newKeyed(t *testing.T) *keyed {
	t.Helper()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Join(append(r.Header["Authorization"], r.Header["X-Api-Key"]...), " "))
	}))
	t.Cleanup(up.Close)
	k := &keyed{t: t, dir: t.TempDir()}
	k.data, k.config = filepath.Join(k.dir, "data"), filepath.Join(k.dir, "config.toml")
	secret := filepath.Join(k.dir, "secret")
	text := "[[upstream]]\nname = \"chat\"\nprotocol = \"chat\"\nbase_url = \"" + up.URL + "/v1\"\napi_key = \"env:UPSTREAM_KEY\"\n" +
		"[[upstream]]\nname = \"claude\"\nprotocol = \"anthropic\"\nbase_url = \"" + up.URL + "\"\napi_key = \"file:" + secret + "\"\n"
	for path, content := range map[string]string{k.config: text, secret: fromFile + "\n"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("UPSTREAM_KEY", fromEnviron)
	return k
}

func (k *keyed) serve(args ...string) {
	k.t.Helper()
	k.server = start(k.t, &k.log, append([]string{"--config", k.config, "--data", k.data}, args...)...)
}

// command runs a command beside the server and returns its output.
func (k *keyed) command(args ...string) string {
	k.t.Helper()
	var out strings.Builder
	a := &app{out: &out, err: &k.log, now: time.Now, open: openStore, random: rand.Reader}
	if status := a.run(context.Background(), append([]string{"--data", k.data}, args...)); status != 0 {
		k.t.Fatalf("%v ends with %d", args, status)
	}
	return strings.TrimSpace(out.String())
}

// call is the status and the answer of a request with a key.
func (k *keyed) call(path, key string) (int, string) {
	k.t.Helper()
	req, err := http.NewRequest("POST", k.server.base+path, strings.NewReader(`{"model":"m","messages":[]}`))
	if err != nil {
		k.t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		k.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		k.t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// expect calls until the status is want: a change of keys takes a moment to hold.
func (k *keyed) expect(what, key string, want int) {
	k.t.Helper()
	end := time.Now().Add(10 * time.Second)
	for {
		got, _ := k.call("/v1/messages", key)
		if got == want {
			return
		}
		if time.Now().After(end) {
			k.t.Fatalf("%s: status %d, want %d", what, got, want)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestServeAsksForKeysOnceThereAreSome(t *testing.T) {
	k := newKeyed(t)
	k.serve()
	stopped := sync.OnceValue(k.server.stop)
	defer stopped()
	k.expect("without keys", "", 200)

	mine := k.command("key", "create")
	if status, got := k.call("/v1/messages", mine); status != 200 || got != fromFile {
		t.Errorf("at once with the first key: status %d, the upstream got %q", status, got)
	}
	if status, got := k.call("/v1/chat/completions", mine); status != 200 || got != "Bearer "+fromEnviron {
		t.Errorf("status %d, the upstream got %q", status, got)
	}
	k.expect("without one", "", 401)

	second := k.command("key", "rotate", mine)
	if status, _ := k.call("/v1/messages", second); status != 200 {
		t.Errorf("at once with the next key: status %d", status)
	}
	k.expect("with the old key", mine, 401)
	k.command("key", "revoke", second)
	k.expect("with the last key, revoked", second, 401)
	k.expect("without one still", "", 401)
	k.command("key", "rm", mine, "--yes")
	k.command("key", "rm", second, "--yes")
	k.expect("without keys again", "", 200)

	if status := stopped(); status != 0 {
		t.Errorf("stopped with exit status %d", status)
	}
	k.expectNoSecret(mine, second)
}

// expectNoSecret looks for keys and credentials in what was stored and logged.
func (k *keyed) expectNoSecret(keys ...string) {
	k.t.Helper()
	files, err := filepath.Glob(filepath.Join(k.data, "*"))
	if err != nil || len(files) == 0 {
		k.t.Fatalf("%v: %v", files, err)
	}
	texts := map[string]string{"the log": k.log.String()}
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			k.t.Fatal(err)
		}
		texts[path] = string(raw)
	}
	for _, key := range keys {
		id, _ := holdfast.KeyIDOf(key)
		if secret := strings.TrimPrefix(key, "hf_"+string(id)+"_"); len(secret) != 43 {
			k.t.Errorf("%s is no key", key)
		} else {
			keys = append(keys, secret)
		}
	}
	for _, secret := range append(keys, fromEnviron, fromFile) {
		for where, text := range texts {
			if strings.Contains(text, secret) {
				k.t.Errorf("a secret is in %s", where)
			}
		}
	}
}

func TestServeForOtherMachinesIsNeverOpen(t *testing.T) {
	k := newKeyed(t)
	mine := k.command("key", "create", "me")
	k.serve("--listen", "0.0.0.0:0")
	defer k.server.stop()
	k.server.base = "http://127.0.0.1:" + k.server.base[strings.LastIndex(k.server.base, ":")+1:]
	k.expect("with a key", mine, 200)
	k.expect("without one", "", 401)
	k.command("key", "revoke", mine)
	k.command("key", "rm", mine, "--yes")
	k.expect("with an erased key", mine, 401)
	k.expect("without any key left", "", 401)
}

func TestServeForOtherMachinesNeedsAKeyInForce(t *testing.T) {
	k := newKeyed(t)
	k.command("key", "revoke", k.command("key", "create"))
	var errs strings.Builder
	a := &app{out: io.Discard, err: &errs, now: time.Now, open: openStore}
	status := a.run(context.Background(), []string{"serve", "--listen", "0.0.0.0:0", "--config", k.config, "--data", k.data})
	want := "holdfast: --listen 0.0.0.0:0 would open Holdfast to other machines, and there is no key that could guard it. " +
		"Make one with `holdfast key create`, or use a loopback address such as 127.0.0.1:4141\n"
	if status != 2 || errs.String() != want {
		t.Errorf("status %d, %q", status, errs.String())
	}
}
