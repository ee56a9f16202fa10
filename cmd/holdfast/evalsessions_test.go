package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/config"
)

// measured runs the command line on a session of 30 calls, each with a result of
// 2,000 words, of an agent that sends 5,000 tokens beside it.
func measured(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"kind":"conversation","version":1,"id":"0198c0de-0000-7000-8000-000000000001","title":"Long","agent":"codex"}` + "\n")
	for i := range 30 {
		if i%3 == 0 {
			fmt.Fprintf(&b, `{"kind":"turn"}`+"\n"+`{"kind":"user","content":[{"type":"text","text":"Look at %d"}]}`+"\n", i)
		}
		fmt.Fprintf(&b, `{"kind":"tool_call","call_id":"%[1]d","name":"cat","arguments":{}}
{"kind":"usage","model":"m","input_tokens":%[2]d,"output_tokens":9}
{"kind":"tool_result","call_id":"%[1]d","content":[{"type":"text","text":"%[3]s"}]}
{"kind":"assistant","content":[{"type":"text","text":"Seen %[1]d"}]}
`, i, 5000+2000*i, strings.Repeat("one ", 2000))
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "session.jsonl")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.md"), []byte("# Notes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	n := 0
	a := &app{
		in: strings.NewReader(""), out: &out, err: &errs, now: func() time.Time { return noon }, open: openStore,
		newID: func() string { n++; return fmt.Sprintf("0198c0de-0000-7000-8000-%012d", n) }, dir: dir, environ: config.Environ{"HOME=" + dir},
	}
	for i, arg := range args {
		args[i] = strings.Replace(arg, "DIR", dir, 1)
	}
	status = a.run(context.Background(), append([]string{"--data", filepath.Join(dir, "data")}, args...))
	if _, err := os.Stat(filepath.Join(dir, "data")); err == nil {
		t.Error("something was kept")
	}
	return out.String(), errs.String(), status
}

func TestReductionIsMeasuredOnFiles(t *testing.T) {
	text, errs, status := measured(t, "eval", "reduction", "DIR/session.jsonl", "DIR/notes.md")
	if status != 0 {
		t.Fatalf("status %d\n%s%s", status, text, errs)
	}
	for _, want := range []string{"session.jsonl  10     60.", "76 %", "left out: notes.md: ", "none open"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	text, _, _ = measured(t, "eval", "reduction", "DIR/session.jsonl", "--json")
	var report reductionJSON
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatal(err)
	}
	// Of 30 results 10,000 tokens stay; by turns four of ten turns do.
	if c := report.Conversations[0]; !report.Passed || c.Raw < 60_000 || c.Raw > 62_000 || report.Policies[0].Median > 0.62 || report.Policies[3].Median < 0.80 {
		t.Errorf("got %+v", report)
	}
}

func TestReductionNeedsSomethingToGoBy(t *testing.T) {
	_, errs, status := measured(t, "eval", "reduction", "DIR/notes.md")
	if status != 1 || !strings.Contains(errs, "notes.md: no session is in it") {
		t.Errorf("status %d, %s", status, errs)
	}
	_, errs, status = measured(t, "eval", "reduction")
	if status != 4 || !strings.Contains(errs, "no agent left a session") {
		t.Errorf("status %d, %s", status, errs)
	}
}

func TestTheTriggersEstimatesAreMeasuredOnFiles(t *testing.T) {
	text, errs, status := measured(t, "eval", "trigger", "DIR/session.jsonl")
	if status != 0 {
		t.Fatalf("status %d\n%s%s", status, text, errs)
	}
	for _, want := range []string{"session.jsonl  30     ", "100 %", "100.0 %", "before any report: x0.0"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	text, _, _ = measured(t, "eval", "trigger", "DIR/session.jsonl", "--json")
	var report triggerJSON
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatal(err)
	}
	if !report.Passed || report.Late.Estimates != 25 || report.Early.Estimates != 4 || report.Late.Error95 > 0.05 {
		t.Errorf("got %+v", report)
	}
}
