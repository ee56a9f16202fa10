package main

import (
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

	"github.com/google/go-cmp/cmp"
)

func TestWhatAServerHasCountedIsTold(t *testing.T) {
	ok := "holdfast_recording 1\nholdfast_requests_total{outcome=\"2xx\",protocol=\"chat\"} 2\nholdfast_requests_total{outcome=\"client_left\",protocol=\"chat\"} 1\n"
	well := ailment{"traffic", healthy, "3 requests since the server started: 2 2xx, 1 client left.", ""}
	for _, tt := range []struct {
		name, text string
		want       []ailment
	}{
		{"nothing has come", "holdfast_recording 1\n", []ailment{{"traffic", noted, "No request has come since the server started.", "point an agent at it, as the README shows"}}},
		{"all is well", ok + "holdfast_compactions_total{agent=\"codex\",outcome=\"committed\",protocol=\"responses\"} 2\nholdfast_panics_total{outcome=\"relay\"} 0\n", []ailment{
			well, {"traffic", healthy, "2 compactions seen to the end, 0 broke off.", ""},
		}},
		{"an agent's histories shrank", ok + "holdfast_false_shrink_total{agent=\"codex\"} 1\n", []ailment{
			well, {"traffic", noted, "Of codex 1 history shrank though no compaction was recognised: it may have changed its prompts.", "look for a newer holdfast, and report the agent's version"},
		}},
		{"requests were not linked", ok + "holdfast_unlinked_total{outcome=\"previous_response\"} 4\nholdfast_unlinked_total{outcome=\"ambiguous\"} 0\n", []ailment{
			well, {"traffic", noted, "Requests that name the answer before and leave their history with the provider, and pass without the record: 4.", "have the agent send its history (store = false)"},
		}},
		{"the store refuses", strings.Replace(ok, "recording 1", "recording 0", 1) + "holdfast_store_errors_total{outcome=\"unavailable\"} 7\n", []ailment{
			well,
			{"traffic", noted, "7 records were refused by the store.", "look at the log of the server"},
			{"traffic", ailing, "Nothing is recorded: the store refused it.", "free disk space, or look at the log of the server"},
		}},
		{"a defect", ok + "holdfast_panics_total{outcome=\"relay\"} 1\n", []ailment{
			well, {"traffic", ailing, "1 defect was caught, and the traffic went on.", "report what the log of the server says"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := readCounts(strings.NewReader(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			d := &doctor{}
			d.traffic(c)
			if diff := cmp.Diff(tt.want, d.found); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// examined runs holdfast doctor and returns what it found of some checks, by status.
func examined(t *testing.T, dir string, args ...string) (found map[string][]string, status int) {
	t.Helper()
	var out strings.Builder
	a := &app{out: &out, err: io.Discard, now: time.Now, open: openStore}
	status = a.run(context.Background(), append([]string{"doctor", "--json", "--data", dir}, args...))
	var list []ailment
	if err := json.Unmarshal([]byte(out.String()), &list); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	found = map[string][]string{}
	for _, f := range list {
		found[f.Check+" "+f.Status] = append(found[f.Check+" "+f.Status], f.What)
	}
	return found, status
}

func TestTheDoctorLooksAtARunningServer(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"r","object":"response","status":"completed","output":[]}`)
	}))
	defer up.Close()
	dir := filepath.Join(t.TempDir(), "data")
	set := `upstream=[{name="here",protocol="responses",base_url="` + up.URL + `/v1"}]`
	server := start(t, io.Discard, "--data", dir, "--set", set)
	defer server.stop()
	for _, body := range []string{
		`{"model":"m","previous_response_id":"r0","input":"go on"}`,
		`{"model":"m","input":"begin"}`,
	} {
		resp, err := http.Post(server.base+"/v1/responses", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	found, status := examined(t, dir, "--set", set, "--url", server.base)
	if status != 0 || len(found["database ok"]) != 1 || len(found["upstream ok"]) != 1 || len(found["server ok"]) != 1 ||
		strings.Join(found["traffic ok"], "") != "2 requests since the server started: 2 2xx." || len(found["traffic note"]) != 1 {
		t.Errorf("status %d, found %q", status, found)
	}
}

func TestTheDoctorTellsWhatIsWrong(t *testing.T) {
	stranger := httptest.NewServer(http.NotFoundHandler())
	defer stranger.Close()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "holdfast.db"), []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	found, status := examined(t, dir, "--set", `upstream=[{name="here",protocol="chat",base_url="http://127.0.0.1:1/v1",api_key="env:NOT_THERE"}]`, "--url", stranger.URL)
	for _, check := range []string{"upstream failed", "database failed", "server failed"} {
		if len(found[check]) != 1 {
			t.Errorf("%s: %q", check, found)
		}
	}
	if status != 1 {
		t.Errorf("exit status %d", status)
	}
}

func TestTheDoctorNeedsAKeyWhereTheServerDoes(t *testing.T) {
	k := newKeyed(t)
	secret := filepath.Join(k.dir, "key")
	if err := os.WriteFile(secret, []byte(k.command("key", "create")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k.serve()
	defer k.server.stop()
	found, _ := examined(t, k.data, "--config", k.config, "--url", k.server.base)
	if len(found["server note"]) != 1 || len(found["server ok"]) != 0 {
		t.Errorf("without a key: %q", found)
	}
	found, _ = examined(t, k.data, "--config", k.config, "--url", k.server.base, "--key-file", secret)
	if len(found["server ok"]) != 1 {
		t.Errorf("with one: %q", found)
	}
}
