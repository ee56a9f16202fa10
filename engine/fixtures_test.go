package engine_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/wire/anthropic"
	"github.com/holdfast-dev/holdfast/wire/chat"
	"github.com/holdfast-dev/holdfast/wire/gemini"
	"github.com/holdfast-dev/holdfast/wire/responses"
)

// captured reads a captured request.
func (w *world) captured(path string) (engine.Codec, engine.Inbound) {
	w.t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	var f struct {
		URL     string          `json:"url"`
		Headers [][2]string     `json:"headers"`
		Body    json.RawMessage `json:"body"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		w.t.Fatal(err)
	}
	h := http.Header{}
	for _, kv := range f.Headers {
		h.Add(kv[0], kv[1])
	}
	u, err := url.Parse(f.URL)
	if err != nil {
		w.t.Fatal(err)
	}
	var c interface {
		engine.Codec
		Scan([]byte) (holdfast.Request, error)
	} = anthropic.Codec{}
	switch {
	case strings.HasSuffix(u.Path, "/responses"):
		c = responses.Codec{}
	case strings.HasSuffix(u.Path, "/chat/completions"):
		c = chat.Codec{}
	case strings.Contains(u.Path, "enerateContent"):
		c = gemini.Codec{}
	}
	req, err := c.Scan(f.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return c, engine.Inbound{Caller: holdfast.Caller{Principal: holdfast.Local}, Path: u.Path, Header: h.Get, Body: f.Body, Request: req}
}

// replay sends one captured request and ends its attempt without an answer: all
// that is known of an answer is what the next request carries of it.
func (w *world) replay(path string) *engine.Attempt {
	w.t.Helper()
	codec, in := w.captured(path)
	if unnamed(strings.TrimPrefix(filepath.ToSlash(path), "../testdata/wire/")) {
		in.Run = "one" // a captured summary has no block to be found by
	}
	a := w.e.Begin(context.Background(), codec, in)
	if a.Boundary {
		a.Commit(context.Background(), holdfast.TextDigest(path), false)
	}
	a.Done(holdfast.Answer{})
	return a
}

// TestCapturedSessions replays whole captured sessions. At each compaction the
// block must hold these lines in this order; since the captured summaries do
// not carry it, the requests behind it must get the sticky block.
func TestCapturedSessions(t *testing.T) {
	type lines = []string
	for _, tt := range []struct {
		dir string
		// blocks are the lines at each compaction; nil: nothing to carry.
		blocks []lines
	}{
		{"claude-code-2.1.197/task-tools", []lines{
			{"1. [completed] alpha", "2. [in_progress] gamma renamed", "3. [pending] delta", "- beta"},
			{"1. [completed] alpha", "2. [completed] gamma renamed", "3. [pending] delta"},
			{"1. [completed] alpha", "2. [completed] gamma renamed", "3. [pending] delta"},
		}},
		{"claude-code-2.1.332/task-tools", []lines{
			{"1. [completed] alpha", "2. [in_progress] gamma renamed", "3. [pending] delta", "- beta"},
			{"1. [completed] alpha", "2. [completed] gamma renamed", "3. [pending] delta"},
			{"1. [completed] alpha", "2. [completed] gamma renamed", "3. [pending] delta"},
			{"1. [completed] alpha", "2. [completed] gamma renamed", "3. [pending] delta"},
		}},
		{"claude-code-2.1.197/todowrite-auto-compact", []lines{
			{"1. [in_progress] alpha", "2. [pending] beta"},
			{"1. [completed] alpha", "2. [in_progress] beta"},
		}},
		{"claude-code-2.1.332/todowrite-auto-compact", []lines{
			{"1. [in_progress] alpha", "2. [pending] beta"},
			{"1. [completed] alpha", "2. [in_progress] beta"},
		}},
		{"claude-code-2.1.197/tui-ask-compact", []lines{{"- Which db? -> postgres", "- Which systems? -> linux"}}},
		{"claude-code-2.1.332/tui-ask-compact", []lines{{"- Which db? -> postgres", "- Which systems? -> linux"}}},
		{"claude-code-2.1.332/tui-plan-mode", []lines{{"### The plan as the user approved it", "1. alpha", "2. gamma", "3. by the user"}}},
		{"claude-code-2.1.197/tui-rewind-clear", []lines{{"1. [pending] alpha"}, {"1. [pending] alpha"}}},
		{"claude-code-2.1.332/tui-rewind-clear", []lines{{"1. [pending] alpha"}, {"1. [pending] alpha"}}},
		{"codex-0.171.0/local-compact", []lines{
			{"1. [in_progress] alpha", "2. [pending] beta"},
			nil,
		}}, // all steps are done
		{"codex-0.171.0/remote-compact", []lines{
			{"1. [in_progress] alpha", "2. [pending] beta"},
			{"1. [completed] alpha", "2. [in_progress] beta"},
		}},
		{"codex-0.171.0/tui-plan-mode", []lines{
			// The user went one step back, behind the call of update_plan.
			{"### The plan as the user approved it", "# Plan", "1. alpha", "2. beta", "- Which db? -> sqlite", "- Which system? -> macos"},
			{"### The plan as the user approved it", "# Plan", "1. alpha", "2. beta", "- Which db? -> sqlite", "- Which system? -> macos"},
		}},
		{"qwen-code-0.24.4/deferred-tools", []lines{{"1. [completed] alpha", "2. [in_progress] beta"}}},
		{"qwen-code-0.24.4/tui-plan-mode", []lines{
			{"### The plan as the user approved it", "- Which db? -> sqlite", "- Which systems? -> linux, macos"},
		}},
	} {
		t.Run(tt.dir, func(t *testing.T) {
			w := newWorld(t)
			files, err := filepath.Glob("../testdata/wire/" + tt.dir + "/*.json")
			if err != nil || len(files) == 0 {
				t.Fatalf("no fixtures: %v", err)
			}
			n, sticky := 0, ""
			for _, path := range files {
				a := w.replay(path)
				switch {
				case a.Boundary:
					if n == len(tt.blocks) {
						t.Fatalf("%s: compaction %d was not expected", path, n+1)
					}
					if want := tt.blocks[n] != nil; a.Verdict.Summary == holdfast.PlainSummary && want != (a.Block != "") {
						t.Errorf("%s: block %q", path, a.Block)
					} else if a.Verdict.Summary == holdfast.PlainSummary {
						inOrder(t, path, a.Block, tt.blocks[n])
					}
					n, sticky = n+1, ""
				case a.Verdict.Kind == holdfast.SideCall || a.Verdict.Thread != "":
					if a.Insert != nil {
						t.Errorf("%s: a block in a side call or a subagent", path)
					}
				case n > 0 && !strings.Contains(path, "fork") && !strings.Contains(path, "clear-turn") && !strings.Contains(path, "new-thread"):
					if want := tt.blocks[n-1] != nil; want != (a.Insert != nil) {
						t.Errorf("%s: the summary does not carry a block; insertion %+v", path, a.Insert)
					}
					if a.Insert == nil {
						continue
					}
					inOrder(t, path, a.Insert.Text, tt.blocks[n-1])
					if sticky != "" && a.Insert.Text != sticky {
						t.Errorf("%s: the block changed within the epoch", path)
					}
					sticky = a.Insert.Text
				}
			}
			if n != len(tt.blocks) {
				t.Errorf("%d compactions, want %d", n, len(tt.blocks))
			}
		})
	}
}

func inOrder(t *testing.T, where, text string, lines []string) {
	t.Helper()
	rest := text
	for _, l := range lines {
		i := strings.Index(rest, l+"\n")
		if i < 0 {
			t.Errorf("%s: %q is not there in order:\n%s", where, l, text)
			return
		}
		rest = rest[i+len(l):]
	}
}
