package agents_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/wire/anthropic"
	"github.com/holdfast-dev/holdfast/wire/chat"
	"github.com/holdfast-dev/holdfast/wire/gemini"
	"github.com/holdfast-dev/holdfast/wire/responses"
)

// codec is what the two wire formats have in common here.
type codec interface {
	Scan([]byte) (holdfast.Request, error)
	Decode(element []byte, wanted func(string) bool) ([]holdfast.Event, error)
	Tools([]byte) []holdfast.Tool
	SystemTexts(raw []byte, max int) []string
}

// fixture is a captured request.
type fixture struct {
	Agent   string          `json:"agent"`
	Method  string          `json:"method"`
	URL     string          `json:"url"`
	Headers [][2]string     `json:"headers"`
	Body    json.RawMessage `json:"body"`
}

func load(t *testing.T, path string) fixture {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var f fixture
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// classify gives a request to the table as the engine does.
func classify(t *testing.T, f fixture, body []byte) holdfast.Verdict {
	t.Helper()
	h := http.Header{}
	for _, kv := range f.Headers {
		h.Add(kv[0], kv[1])
	}
	u, err := url.Parse(f.URL)
	if err != nil {
		t.Fatal(err)
	}
	var c codec = anthropic.Codec{}
	switch {
	case strings.HasSuffix(u.Path, "/responses"):
		c = responses.Codec{}
	case strings.HasSuffix(u.Path, "/chat/completions"):
		c = chat.Codec{}
	case strings.Contains(u.Path, "enerateContent"):
		c = gemini.Codec{}
	}
	req, err := c.Scan(body)
	if err != nil {
		t.Fatal(err)
	}
	last, err := c.Decode(req.Messages[len(req.Messages)-1].Of(body), nil)
	if err != nil {
		t.Fatal(err)
	}
	return agents.Classify(agents.Evidence{
		Protocol: req.Protocol, Path: u.Path, Header: h.Get, Request: &req,
		Tools: func() []holdfast.Tool { return c.Tools(req.Tools.Of(body)) }, Last: last,
		System: func() []string { return c.SystemTexts(req.System.Of(body), 200) },
	})
}

// TestCapturedRequests holds the table to every request that was captured: the
// file's name says what the agent was doing.
func TestCapturedRequests(t *testing.T) {
	files, err := filepath.Glob("../testdata/wire/*/*/*.json")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d fixtures, %v", len(files), err)
	}
	counts := map[holdfast.RequestKind]int{}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		f := load(t, path)
		v := classify(t, f, f.Body)
		want := holdfast.Turn
		switch {
		case strings.Contains(string(f.Body), "This is the PREFIX of a turn"):
			want = holdfast.SideCall // the other half of pi's pair carries the block
		case strings.HasSuffix(name, "-compact"):
			want = holdfast.Compaction
		case strings.Contains(name, "-side-"):
			want = holdfast.SideCall
		}
		counts[want]++
		if v.Kind != want {
			t.Errorf("%s: taken for %s (row %q), is a %s", path, v.Kind, v.Row, want)
		}
		agent := filepath.Base(filepath.Dir(filepath.Dir(path)))
		agent = agent[:strings.LastIndexByte(agent, '-')]
		switch agent {
		case "pi", "cline": // no header tells them
		default:
			if v.Agent != agent {
				t.Errorf("%s: agent %q", path, v.Agent)
			}
		}
		switch agent {
		case "claude-code", "codex":
			if sub := strings.HasSuffix(name, "-in-subagent"); sub != (v.Thread != "") {
				t.Errorf("%s: thread %q", path, v.Thread)
			}
			fallthrough
		case "opencode":
			if v.Session == "" {
				t.Errorf("%s: no session", path)
			}
		}
		if fork := strings.HasPrefix(v.Agent, "codex") && strings.Contains(name, "-fork-"); fork && v.ForkedFrom == "" {
			t.Errorf("%s: the fork's origin is not seen", path)
		}
		if want == holdfast.Compaction {
			form := holdfast.PlainSummary
			if strings.Contains(path, "remote-compact") {
				form = holdfast.OpaqueSummary
			}
			if v.Summary != form {
				t.Errorf("%s: summary %q, want %q", path, v.Summary, form)
			}
		}
	}
	t.Logf("%v", counts)
	if counts[holdfast.Compaction] < 12 || counts[holdfast.SideCall] < 8 {
		t.Errorf("the fixtures do not hold enough of each kind: %v", counts)
	}
}

// TestNearMisses takes captured compaction requests and moves or breaks the
// evidence: none of these is a compaction.
func TestNearMisses(t *testing.T) {
	claude := load(t, "../testdata/wire/claude-code-2.1.332/task-tools/06-manual-1-compact.json")
	local := load(t, "../testdata/wire/codex-0.171.0/local-compact/04-auto-before-turn-compact.json")
	remote := load(t, "../testdata/wire/codex-0.171.0/remote-compact/04-auto-before-turn-compact.json")
	type m = map[string]any
	edit := func(f fixture, change func(body m)) []byte {
		var body m
		if err := json.Unmarshal(f.Body, &body); err != nil {
			t.Fatal(err)
		}
		change(body)
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	push := func(list string, item m) func(m) {
		return func(body m) { body[list] = append(body[list].([]any), item) }
	}
	lastBlock := func(body m) m {
		messages := body["messages"].([]any)
		content := messages[len(messages)-1].(m)["content"].([]any)
		return content[len(content)-1].(m)
	}
	withoutMetadata := local
	withoutMetadata.Headers = nil
	for _, kv := range local.Headers {
		if !strings.EqualFold(kv[0], "x-codex-turn-metadata") {
			withoutMetadata.Headers = append(withoutMetadata.Headers, kv)
		}
	}
	if v := classify(t, withoutMetadata, local.Body); v.Kind != holdfast.Compaction || v.Row != "codex/local-prompt" {
		t.Fatalf("without metadata codex's prompt alone is evidence: %+v", v)
	}
	for _, tt := range []struct {
		name string
		f    fixture
		body []byte
	}{
		{"claude: the prompt is not the last text", claude, edit(claude, func(b m) {
			push("messages", m{"role": "assistant", "content": "ok"})(b)
			push("messages", m{"role": "user", "content": "go on"})(b)
		})},
		{"claude: the prompt stands in a quotation", claude, edit(claude, func(b m) {
			block := lastBlock(b)
			block["text"] = "What does this mean?\n> " + block["text"].(string)
		})},
		{"claude: the prompt stands in a fence", claude, edit(claude, func(b m) {
			block := lastBlock(b)
			block["text"] = "```\n" + block["text"].(string) + "\n```"
		})},
		{"claude: a user's own words begin like it", claude, edit(claude, func(b m) {
			lastBlock(b)["text"] = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools. What is two plus two?"
		})},
		{"claude: the prompt stands in the model's answer", claude, edit(claude, func(b m) {
			messages := b["messages"].([]any)
			messages[len(messages)-1].(m)["role"] = "assistant"
		})},
		{"claude: the prompt stands in a tool result", claude, edit(claude, func(b m) {
			text := lastBlock(b)["text"]
			push("messages", m{"role": "user", "content": []any{m{"type": "tool_result", "tool_use_id": "x", "content": text}}})(b)
		})},
		{"codex: the prompt with tools on offer", withoutMetadata, edit(local, func(b m) {
			b["tools"] = []any{m{"type": "function", "name": "f"}}
		})},
		{"codex: the prompt is not the last item", withoutMetadata, edit(local, push("input", m{"type": "message", "role": "user", "content": "go on"}))},
		{"codex: the trigger is not the last item", remote, edit(remote, push("input", m{"type": "message", "role": "user", "content": "go on"}))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if v := classify(t, tt.f, tt.body); v.Kind == holdfast.Compaction {
				t.Errorf("taken for a compaction by row %q", v.Row)
			}
		})
	}
	count := claude
	count.URL = "/v1/messages/count_tokens?beta=true"
	if v := classify(t, count, claude.Body); v.Kind != holdfast.SideCall {
		t.Errorf("a token count of a compaction request is taken for %s", v.Kind)
	}
}

func TestSessionFields(t *testing.T) {
	const uuid = "11111111-1111-4111-8111-111111111111"
	none := map[string]string{}
	for _, tt := range []struct {
		name           string
		protocol       holdfast.Protocol
		header         map[string]string
		userID, cache  string
		agent, session string
		thread         string
	}{
		{"claude-code by its header", holdfast.Anthropic, map[string]string{"X-Claude-Code-Session-Id": uuid}, "", "", "claude-code", uuid, ""},
		{"claude-code by the JSON in metadata.user_id", holdfast.Anthropic, none, `{"device_id":"d","session_id":"` + uuid + `"}`, "", "claude-code", uuid, ""},
		{"claude-code by the older form of metadata.user_id", holdfast.Anthropic, none, "user_t1_account_a1_session_" + uuid, "", "claude-code", uuid, ""},
		{"a user id of another client", holdfast.Anthropic, none, "customer-7", "", "", "", ""},
		{"a user id that only looks like JSON", holdfast.Anthropic, none, `{"session_id":`, "", "", "", ""},
		{"a subagent of claude-code", holdfast.Anthropic, map[string]string{"X-Claude-Code-Session-Id": uuid, "X-Claude-Code-Agent-Id": "a7"}, "", "", "claude-code", uuid, "a7"},
		{"codex by its headers", holdfast.Responses, map[string]string{"Session-Id": "s", "Thread-Id": "s"}, "", "s", "codex", "s", ""},
		{"a subagent of codex", holdfast.Responses, map[string]string{"Session-Id": "s", "Thread-Id": "t"}, "", "s", "codex", "s", "t"},
		{"an unknown client by its cache key", holdfast.Responses, none, "", "conv-2", "", "conv-2", ""},
		{"an unknown client by x-session-id", holdfast.Anthropic, map[string]string{"X-Session-Id": "ses_1"}, "", "", "", "ses_1", ""},
		{"a client without any id", holdfast.Anthropic, none, "", "", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := agents.Classify(agents.Evidence{
				Protocol: tt.protocol, Path: "/v1/x", Header: func(n string) string { return tt.header[n] },
				Request: &holdfast.Request{Protocol: tt.protocol, UserID: tt.userID, CacheKey: tt.cache, ToolCount: 9},
			})
			if v.Agent != tt.agent || v.Session != tt.session || v.Thread != tt.thread {
				t.Errorf("got %q %q %q, want %q %q %q", v.Agent, v.Session, v.Thread, tt.agent, tt.session, tt.thread)
			}
		})
	}
}

func TestEveryRowHasItsFixture(t *testing.T) {
	for _, r := range agents.Compactions() {
		if r.Fixture == "" {
			continue // an endpoint is its own evidence
		}
		if len(r.Versions) == 0 && r.Agent == agents.Crush {
			continue // read in its source, never run
		}
		if hits, err := filepath.Glob("../testdata/wire/" + r.Fixture + "/*-compact.json"); err != nil || len(hits) == 0 {
			t.Errorf("row %s names fixture %s, which has no compaction request", r.ID, r.Fixture)
		}
		if len(r.Versions) == 0 {
			t.Errorf("row %s names no version", r.ID)
		}
	}
}

func TestSyntheticTexts(t *testing.T) {
	for text, want := range map[string]bool{
		"<system-reminder>\nx\n</system-reminder>":                                                               true,
		"  <system-reminder>\nx":                                                                                 true,
		"<command-name>/compact</command-name>":                                                                  true,
		"Continue from where you left off.":                                                                      true,
		"Continue from where you left off. And use tabs.":                                                        false,
		"<environment_context>\n  <cwd>/x</cwd>":                                                                 true,
		holdfast.BlockOpen + ` revision="3">`:                                                                    true,
		"Fix the <system-reminder> parser":                                                                       false,
		"use postgres":                                                                                           false,
		"Base directory for this skill: /home/u/.claude/skills/db\n\n# DB":                                       true,
		"Output token limit hit. Resume directly — no apology":                                                   true,
		"<user_shell_command>\n<command>\nls\n</command>\n</user_shell_command>":                                 true,
		"Called the Read tool with the following input: {}":                                                      true,
		"<command-message>db</command-message>\n<command-name>/db</command-name>":                                true,
		"<command-message>db</command-message>\n<command-name>/db</command-name>\n<command-args></command-args>": true,
		"<command-name>/model</command-name>\n<command-message>model</command-message>\n<command-args>opus</command-args>": true,
		"[Request interrupted by user for tool use]":                                                             true,
		"<plan-mode-active>\nx\n</plan-mode-active>":                                                             true,
		"<background-tasks>\nx\n</background-tasks>":                                                             true,
		"The following files were recently accessed before context was compacted. They are listed":               true,
		"Recently accessed file (full current content embedded):\n\n## /p/notes.txt":                             true,
		"Recent visual snapshots preserved from before context was compacted (most recent last).":                true,
		"<qwen:user-prompt-submit-context>\nx\n</qwen:user-prompt-submit-context>":                               true,
		"I ran the following shell command:\n```sh\nls\n```\n\nThis produced the following result:\n```\na\n```": true,
		"I ran the following shell command: ls. What does it say?":                                               false,
		"Recently accessed files are slow to open":                                                               false,
		"Implement the plan.": false,
		"Another language model started to solve this problem and…": true,
	} {
		if got := agents.Synthetic(text); got != want {
			t.Errorf("Synthetic(%q) = %v", text, got)
		}
	}
}

func TestWhatACompactionMustNotTakeOut(t *testing.T) {
	for _, tt := range []struct {
		name, tool, arguments string
		want                  bool
	}{
		{"a plan list", "TodoWrite", `{"todos":[]}`, true},
		{"a question to the user", "AskUserQuestion", `{}`, true},
		{"another tool", "Bash", `{"command":"ls"}`, false},
		{"the plan file of claude-code", "Write", `{"file_path":"/home/u/.claude/plans/calm-owl.md","content":"# Plan"}`, true},
		{"the plan file of opencode", "write", `{"filePath":"/p/.opencode/plans/1.md","content":"# Plan"}`, true},
		{"an edit of it", "edit", `{"filePath":"/p/.opencode/plans/1.md","oldString":"a","newString":"b"}`, true},
		{"an edit of any other file", "replace", `{"file_path":"/p/plan.md","old_string":"a","new_string":"b"}`, false},
		{"any other file", "Write", `{"file_path":"/p/plan.md","content":"# Plan"}`, false},
		{"a plan list behind a bridge", "tool_call", `{"name":"todo_write","arguments":{"todos":[]}}`, true},
		{"another tool behind a bridge", "tool_call", `{"name":"web_fetch","arguments":{"url":"x"}}`, false},
		{"arguments that a model broke off", "Write", `{"file_path":"/home/u/.claude/pla`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := agents.Carries(holdfast.ToolCall{Name: tt.tool, Arguments: []byte(tt.arguments)}); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
