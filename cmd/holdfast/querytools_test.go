package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
	"github.com/holdfast-dev/holdfast/toolbox"
)

// TestAConfiguredServerIsCalled: its tool is offered, its header sent, the model
// gets a shortened result, and the whole one is kept beside it.
func TestAConfiguredServerIsCalled(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "lines", Version: "1"}, nil)
	type input struct {
		Word string `json:"word"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "repeat", Description: "Repeats a word."}, func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
		text := "first " + strings.Repeat(in.Word+" ", 2000) + "last"
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Team") != "blue" {
			http.Error(w, "who are you?", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	defer remote.Close()
	script := func(n int, _ eval.Request) eval.Reply {
		if n%2 == 0 {
			return eval.Reply{Calls: []eval.Call{{ID: "call_1", Name: "srv_repeat", Args: json.RawMessage(`{"word":"again"}`)}}}
		}
		return eval.Reply{Text: "Done."}
	}
	q := newAsking(t, holdfast.Chat, script)
	q.config = []string{`mcp={srv={url="` + remote.URL + `",headers={"X-Team"="blue"}}}`, "query.max_result=2KB", `tools.allow=["srv_*"]`}
	if out := q.ok("q", "Repeat it."); out != "Done.\n" {
		t.Errorf("answer %q", out)
	}
	all := q.bodies()
	if !strings.Contains(all[0], `"srv_repeat"`) {
		t.Errorf("the tool is not offered:\n%s", all[0])
	}
	if n := strings.Count(all[1], "again "); n == 0 || n > 400 || !strings.Contains(all[1], "first again") || !strings.Contains(all[1], "again last") {
		t.Errorf("the model got %d of 2000 words:\n%s", n, all[1])
	}
	kept := q.ok("c", "export", "last")
	if !strings.Contains(kept, `{"kind":"raw_result","call_id":"call_1"`) || strings.Count(kept, "again ") < 2000 {
		t.Error("the whole result is not kept")
	}

	// What is not allowed is refused where nobody can be asked, and the model is told.
	q.config[2] = `tools.allow=["fs_*"]`
	if _, errs, status := q.run("q", "Repeat it."); status != 0 || !strings.Contains(errs, "error: ") {
		t.Errorf("status %d, %q", status, errs)
	}
	// A server that does not start is a notice.
	q.config[0] = `mcp={srv={url="` + remote.URL + `"}}`
	if out, errs, _ := q.run("q", "Repeat it."); out != "Done.\n" || !strings.Contains(errs, "srv") {
		t.Errorf("answer %q, %q", out, errs)
	}
}

// TestAPersonSeesAllOfACallBeforeItIsMade: arguments are shown whole, harmless, and
// only a yes makes the call.
func TestAPersonSeesAllOfACallBeforeItIsMade(t *testing.T) {
	arguments := `{"command":"` + strings.Repeat("x", 500) + ` rm -rf \u001b[2K"}`
	for typed, want := range map[string]toolbox.Answer{"y\n": toolbox.Once, "Always\n": toolbox.Always, "n\n": toolbox.No, "\n": toolbox.No, "": toolbox.No, "yesterday\n": toolbox.No} {
		var shown strings.Builder
		a := &app{in: strings.NewReader(typed), err: &shown}
		got, err := a.askTool(t.Context(), holdfast.ToolCall{Name: "srv_run\x1b[2K", Arguments: []byte(arguments + "\x1b[2K")})
		if err != nil || got != want {
			t.Errorf("%q: %v, %v", typed, got, err)
		}
		if !strings.Contains(shown.String(), "rm -rf") || strings.Contains(shown.String(), "\x1b") {
			t.Errorf("shown %q", shown.String())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	nobody, _ := io.Pipe()
	if got, err := (&app{in: nobody, err: io.Discard}).askTool(ctx, holdfast.ToolCall{}); got != toolbox.No || !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v, %v", got, err)
	}
}
