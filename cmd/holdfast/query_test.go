package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
	"github.com/holdfast-dev/holdfast/store"
)

// asking is a world for queries: a scripted provider over HTTP, a data directory,
// and the command line.
type asking struct {
	t        *testing.T
	up       *eval.Upstream
	url      string
	dir      string
	protocol holdfast.Protocol
	ids      int
	config   []string // more settings
	stdin    string
	ctx      context.Context // nil: one that does not end
}

// paths are what a base URL of each protocol ends with.
var paths = map[holdfast.Protocol]string{holdfast.Anthropic: "", holdfast.Chat: "/v1", holdfast.Responses: "/v1", holdfast.Gemini: ""}

func newAsking(t *testing.T, p holdfast.Protocol, script eval.Script) *asking {
	t.Helper()
	up := eval.NewUpstream(eval.Config{Seed: "seed", Turn: script, Summary: script, Side: script})
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	return &asking{t: t, up: up, url: server.URL + paths[p], dir: t.TempDir(), protocol: p}
}

// run runs a command line and returns what it wrote.
func (q *asking) run(args ...string) (stdout, stderr string, status int) {
	q.t.Helper()
	var out, errs bytes.Buffer
	a := &app{
		in: strings.NewReader(q.stdin), out: &out, err: &errs, now: func() time.Time { return noon }, open: openStore, dir: q.dir, version: "v1",
		newID: func() string { q.ids++; return fmt.Sprintf("019cb000-0000-7000-8000-%012d", q.ids) },
	}
	set := []string{
		"--data", filepath.Join(q.dir, "data"),
		"--set", fmt.Sprintf(`upstream=[{name="here",protocol="%s",base_url="%s"}]`, q.protocol, q.url),
		"--set", `query.model="m"`, "--set", "models.m.context_window=32000", "--set", "query.titles=false",
	}
	for _, c := range q.config {
		set = append(set, "--set", c)
	}
	ctx := q.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	status = a.run(ctx, append(set, args...))
	return out.String(), errs.String(), status
}

// ok runs a command line that must succeed.
func (q *asking) ok(args ...string) string {
	q.t.Helper()
	out, errs, status := q.run(args...)
	if status != 0 {
		q.t.Fatalf("%q ended with %d: %s", args, status, errs)
	}
	return out
}

// bodies are the requests that arrived, with what differs from run to run taken
// out.
func (q *asking) bodies() (list []string) {
	for _, r := range q.up.Requests() {
		list = append(list, string(r.Body))
	}
	return list
}

// plans is the script of a model that makes a plan, then works: an answer to each
// request, by the words of its last message.
func plans(n int, r eval.Request) eval.Reply {
	switch {
	case n == 0:
		return eval.Reply{Calls: []eval.Call{{ID: "call_1", Name: "update_plan", Args: json.RawMessage(`{"plan":[{"step":"Read the store","status":"completed"},{"step":"Write the migration","status":"in_progress"}]}`)}}}
	case bytes.Contains(r.Body, []byte("You summarize a part")):
		return eval.Reply{Text: "They planned."}
	}
	return eval.Reply{Text: fmt.Sprintf("Answer %d.", n)}
}

func TestAQueryAnswersInEveryProtocol(t *testing.T) {
	for _, p := range holdfast.Protocols() {
		t.Run(string(p), func(t *testing.T) {
			q := newAsking(t, p, plans)
			out, errs, status := q.run("query", "Move", "to", "PostgreSQL", "on", "port", "5433.")
			if status != 0 || out != "Answer 1.\n" {
				t.Fatalf("status %d, answer %q, %s", status, out, errs)
			}
			if !strings.Contains(errs, "> update_plan {") {
				t.Errorf("the call is not shown: %q", errs)
			}
			// The second request has the call and its result.
			second := q.bodies()[1]
			for _, part := range []string{"update_plan", "Plan updated", "Move to PostgreSQL on port 5433."} {
				if !strings.Contains(second, part) {
					t.Errorf("the second request has no %s:\n%s", part, second)
				}
			}
			if out := q.ok("q", "-c", "And", "then?"); out != "Answer 2.\n" {
				t.Errorf("the next answer %q", out)
			}
			if third := q.bodies()[2]; !strings.Contains(third, "Answer 1.") || !strings.Contains(third, "And then?") {
				t.Errorf("the third request:\n%s", third)
			}
			list := q.ok("c", "ls")
			if !strings.Contains(list, "Move to PostgreSQL on port 5433.  own") {
				t.Errorf("the list:\n%s", list)
			}
		})
	}
}

// TestTheBytesAfterACompactionAreThoseOfTheProtocol compares the request behind a
// compaction, with the plan in it once and in order, with the form that was read
// and kept.
func TestTheBytesAfterACompactionAreThoseOfTheProtocol(t *testing.T) {
	for _, p := range holdfast.Protocols() {
		t.Run(string(p), func(t *testing.T) {
			q := newAsking(t, p, plans)
			q.ok("q", "Move to PostgreSQL on port 5433.")
			q.ok("q", "-c", "Go on.")
			q.ok("q", "-c", "-k", "s:1..1", "And now?")
			all := q.bodies()
			last := all[len(all)-1]
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, []byte(last), "", "  "); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join("testdata", "query", string(p)+".json")
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), pretty.String()+"\n"); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			if n := strings.Count(last, "/holdfast-record"); n != 1 {
				t.Errorf("the record is there %d times", n)
			}
			read, write := strings.Index(last, "[completed] Read the store"), strings.Index(last, "[in_progress] Write the migration")
			if strings.Contains(last, "Answer 1.") || !strings.Contains(last, "They planned.") || write < 0 || read > write {
				t.Errorf("the request:\n%s", last)
			}
		})
	}
}

// TestASummaryThatFailsLeavesTheConversationAsItIs: each failure once by hand,
// where the command fails, and once by itself, where the answer stands.
func TestASummaryThatFailsLeavesTheConversationAsItIs(t *testing.T) {
	failures := map[string]eval.Reply{
		"the provider fails":        {Status: 400},
		"it is empty":               {Text: " "},
		"it is longer":              {Text: strings.Repeat("They planned at length. ", 4000)},
		"the model calls a tool":    {Calls: []eval.Call{{Name: "update_plan", Args: json.RawMessage(`{"plan":[]}`)}}},
		"the connection breaks off": {Text: "They planned.", CutAfter: 2},
	}
	for name, failure := range failures {
		t.Run(name, func(t *testing.T) {
			script := func(n int, r eval.Request) eval.Reply {
				if bytes.Contains(r.Body, []byte("You summarize a part")) {
					return failure
				}
				return eval.Reply{Text: "Fine. " + strings.Repeat("It goes on and on. ", 250)}
			}
			q := newAsking(t, holdfast.Chat, script)
			q.config = []string{
				"conversation.compaction.auto.enabled=true", "conversation.compaction.auto.min_turns=1", "conversation.compaction.auto.trigger_ratio=0.05",
				"conversation.compaction.estimator=chars",
				`conversation.compaction.auto.rule={keep_first=0,keep_last=1,reasoning="keep",tool_calls="keep",summary={}}`,
			}
			q.ok("q", "one")
			out, errs, status := q.run("q", "-c", "two")
			if status != 0 || !strings.HasPrefix(out, "Fine.") || !strings.Contains(errs, "automatic compaction failed, the conversation stays as it is") {
				t.Errorf("by itself: status %d, %q", status, errs)
			}
			out, _, status = q.run("q", "-c", "-k", "s:1..1", "three")
			if status == 0 || out != "" {
				t.Errorf("by hand: status %d, answer %q", status, out)
			}
			shown := q.ok("c", "show", "last")
			if !strings.Contains(shown, "compactions   none") || !strings.Contains(shown, "turns         2,") {
				t.Errorf("the conversation:\n%s", shown)
			}
		})
	}
}

func TestAutomaticCompactionIsToldInOneLine(t *testing.T) {
	script := func(_ int, r eval.Request) eval.Reply {
		if bytes.Contains(r.Body, []byte("You summarize a part")) {
			return eval.Reply{Text: "They talked."}
		}
		return eval.Reply{Text: strings.Repeat("It goes on and on. ", 250)}
	}
	q := newAsking(t, holdfast.Anthropic, script)
	q.config = []string{
		"conversation.compaction.auto.enabled=true", "conversation.compaction.auto.min_turns=1", "conversation.compaction.auto.trigger_ratio=0.05",
		`conversation.compaction.auto.rule={keep_first=0,keep_last=1,summary={}}`, "conversation.compaction.estimator=chars",
	}
	q.ok("q", "one")
	_, errs, _ := q.run("q", "-c", "two")
	if !strings.Contains(errs, "holdfast: compacted turn 1: ~") || !strings.Contains(errs, "(window 32000)") {
		t.Errorf("told %q", errs)
	}
	if shown := q.ok("c", "show", "last"); !strings.Contains(shown, "summary + reasoning + tools  auto") {
		t.Errorf("the conversation:\n%s", shown)
	}
	n := len(q.bodies())
	q.ok("q", "-c", "three")
	if last := q.bodies()[n]; !strings.Contains(last, "They talked.") || !strings.Contains(last, "[Summary of previous conversation]") {
		t.Errorf("the next request:\n%s", last)
	}
	// What is not kept is not compacted either.
	before := q.ok("c", "export", "last")
	q.ok("q", "-c", "--no-persist", "four")
	if diff := cmp.Diff(before, q.ok("c", "export", "last")); diff != "" {
		t.Error(diff)
	}
}

func TestQueryTakesInputOfManyKinds(t *testing.T) {
	q := newAsking(t, holdfast.Chat, func(_ int, r eval.Request) eval.Reply {
		if bytes.Contains(r.Body, []byte("response_format")) {
			return eval.Reply{Text: ` {"ok": true}`}
		}
		return eval.Reply{Text: "Fine."}
	})
	file := func(name, content string) string {
		path := filepath.Join(q.dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	q.stdin = "piped text\n"
	q.ok("q", "Look at this:", "-a", file("a.txt", "attached text"), "-a", file("p.png", "\x89PNG\r\n\x1a\n"))
	for _, part := range []string{`Look at this:\n\npiped text`, `File a.txt:\nattached text`, "data:image/png;base64,"} {
		if !strings.Contains(q.bodies()[0], part) {
			t.Errorf("the request has no %s:\n%s", part, q.bodies()[0])
		}
	}
	q.stdin = ""
	if out := q.ok("q", "-s", `{"type":"object"}`, "Well?"); out != "{\"ok\": true}\n" {
		t.Errorf("the structured answer %q", out)
	}
	var answer struct {
		Conversation, Model, Answer string
		Usage                       struct{ Calls int }
	}
	if err := json.Unmarshal([]byte(q.ok("--json", "q", "Well?")), &answer); err != nil || answer.Answer != "Fine." || answer.Model != "m" || answer.Usage.Calls != 1 || answer.Conversation == "" {
		t.Errorf("JSON %+v, %v", answer, err)
	}
	if out := q.ok("What", "is", "this?"); out != "Fine.\n" {
		t.Errorf("bare text: %q", out)
	}
	for name, c := range map[string]struct {
		args   []string
		status int
		want   string
	}{
		"nothing to ask":                {[]string{"q"}, 2, "there is nothing to ask"},
		"a slip in a command":           {[]string{"sesion", "ls"}, 2, "Did you mean session"},
		"an attachment that is missing": {[]string{"q", "-a", "none.txt", "x"}, 4, "none.txt"},
		"an attachment of no use":       {[]string{"q", "-a", file("x.bin", "\x00\xff\xfe"), "x"}, 2, "models do not read"},
		"a schema that is none":         {[]string{"q", "-s", "{", "x"}, 2, "no JSON schema"},
		"an unknown conversation":       {[]string{"q", "--id", "zzz", "x"}, 4, "no conversation is named zzz"},
		"a SPEC that is none":           {[]string{"q", "-c", "-k", "nope", "x"}, 2, "here a policy is expected"},
	} {
		out, errs, status := q.run(c.args...)
		if status != c.status || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("%s: status %d, %q, %q", name, status, out, errs)
		}
	}
}

func TestAQueryThatCannotBeAskedLeavesNoConversation(t *testing.T) {
	q := newAsking(t, holdfast.Anthropic, plans)
	q.config = []string{`upstream=[{name="anthropic",protocol="anthropic",base_url="https://api.anthropic.com"}]`}
	_, errs, status := q.run("q", "-m", "claude-sonnet-4-6", "hi there")
	if status != 78 || !strings.Contains(errs, "ANTHROPIC_API_KEY") {
		t.Errorf("no key: status %d, %s", status, errs)
	}
	_, errs, status = q.run("q", "-m", "claude-sonet-4-6", "hi there")
	if status != 4 || !strings.Contains(errs, "claude-sonnet-4-6") || !strings.Contains(errs, "holdfast models") {
		t.Errorf("an unknown model: status %d, %s", status, errs)
	}
	picture := filepath.Join(q.dir, "p.png")
	if err := os.WriteFile(picture, []byte("\x89PNG\r\n\x1a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	q.config = []string{`upstream=[{name="openai",protocol="responses",base_url="https://api.openai.com/v1"}]`}
	_, errs, status = q.run("q", "-m", "o3-mini", "-a", picture, "hi there")
	if status != 2 || !strings.Contains(errs, "the model o3-mini takes no images, and p.png is one") {
		t.Errorf("an image for a model without eyes: status %d, %s", status, errs)
	}
	q.config = append(q.config, `query.model=""`)
	_, errs, status = q.run("q", "hi there")
	if status != 2 || !strings.Contains(errs, "no model is chosen") {
		t.Errorf("no model: status %d, %s", status, errs)
	}
	if out := q.ok("c", "ls"); !strings.Contains(out, "There are no conversations yet") {
		t.Errorf("the list:\n%s", out)
	}
}

// TestAConversationKeepsItsModelWhereNoUsageTellsIt: some servers tell none, and an
// answer that was interrupted has none.
func TestAConversationKeepsItsModelWhereNoUsageTellsIt(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPost && !bytes.Contains(body, []byte(`"other"`)) {
			t.Errorf("another model was asked: %s", body)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"Fine."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	q := newAsking(t, holdfast.Chat, nil)
	q.url = server.URL + "/v1"
	q.ok("q", "-m", "other", "Mine")
	if _, errs, status := q.run("q", "-c", "And?"); status != 0 || errs != "" {
		t.Errorf("status %d, %s", status, errs)
	}
	if out := q.ok("c", "show", "last"); !strings.Contains(out, "other") {
		t.Errorf("no model is shown:\n%s", out)
	}
	if out := q.ok("c", "export", "last"); strings.Count(out, `"config":{"model":"other"}`) != 1 {
		t.Errorf("the model is not said once:\n%s", out)
	}
}

// TestACopyInWhichNothingIsAskedIsNone: else it is what -c goes on with.
func TestACopyInWhichNothingIsAskedIsNone(t *testing.T) {
	q := newAsking(t, holdfast.Chat, func(int, eval.Request) eval.Reply { return eval.Reply{Text: "Fine."} })
	q.ok("q", "Mine")
	before := q.ok("c", "ls", "--json")
	if _, errs, status := q.run("q", "--fork", "-k", "r:..-3", "And?"); status != 2 || !strings.Contains(errs, "no turn is in this range") {
		t.Errorf("status %d, %s", status, errs)
	}
	if after := q.ok("c", "ls", "--json"); after != before {
		t.Errorf("the list was\n%s\nand is\n%s", before, after)
	}
}

// TestAForkThatIsInterruptedIsNone: Ctrl-C while a model writes its summary.
func TestAForkThatIsInterruptedIsNone(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	q := newAsking(t, holdfast.Chat, func(n int, _ eval.Request) eval.Reply {
		if n > 0 {
			interrupt()
		}
		return eval.Reply{Text: "Fine."}
	})
	q.ok("q", "Mine")
	before := q.ok("c", "ls", "--json")
	q.ctx = ctx
	if _, errs, status := q.run("c", "fork", "last", "-k", "s:.."); status == 0 {
		t.Errorf("it was not interrupted: %s", errs)
	}
	q.ctx = nil
	if after := q.ok("c", "ls", "--json"); after != before {
		t.Errorf("the list was\n%s\nand is\n%s", before, after)
	}
}

// TestARecordingIsContinuedInACopyOnly: the proxy writes it.
func TestARecordingIsContinuedInACopyOnly(t *testing.T) {
	q := newAsking(t, holdfast.Chat, func(int, eval.Request) eval.Reply { return eval.Reply{Text: "Fine."} })
	q.ok("q", "Mine")
	st, closer, err := openStore(filepath.Join(q.dir, "data", "holdfast.db"), true)
	if err != nil {
		t.Fatal(err)
	}
	recording := store.Conversation{ID: "rec", Principal: holdfast.Local, Title: "Theirs", Origin: store.RecordedConversation, Branch: "b", Version: store.StreamVersion, CreatedAt: noon}
	event := store.StoredEvent{ID: "e", Kind: "user", At: noon.Add(time.Hour), Line: []byte(`{"kind":"user","content":[{"type":"text","text":"theirs"}]}`)}
	if err := errors.Join(st.Create(t.Context(), recording, []store.StoredEvent{event}), closer.Close()); err != nil {
		t.Fatal(err)
	}
	q.ok("q", "-c", "And?")
	if last := q.bodies()[1]; !strings.Contains(last, "Mine") || strings.Contains(last, "theirs") {
		t.Errorf("-c continued another one:\n%s", last)
	}
	if _, errs, status := q.run("q", "--id", "rec", "And?"); status != 2 || !strings.Contains(errs, "add --fork") {
		t.Errorf("status %d, %s", status, errs)
	}
	q.ok("q", "--id", "rec", "--fork", "And?")
	if last := q.bodies()[2]; !strings.Contains(last, "theirs") {
		t.Errorf("the copy:\n%s", last)
	}
	if out := q.ok("c", "export", "rec"); strings.Contains(out, "And?") {
		t.Errorf("the recording was written to:\n%s", out)
	}
}

func TestModelsListsWhatCanBeCalled(t *testing.T) {
	q := newAsking(t, holdfast.Chat, plans)
	out := q.ok("models")
	if diff := cmp.Diff("MODEL  UPSTREAM  WINDOW  PRICE IN / OUT\nm      here      32.0k   unknown\n", out); diff != "" {
		t.Error(diff)
	}
	if out := q.ok("models", "nothing"); !strings.HasPrefix(out, "No such model is known.") {
		t.Errorf("none: %q", out)
	}
}

func TestMarkdownIsShownLineByLine(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"a heading", "## Two", "\x1b[1m## Two\x1b[22m"},
		{"strong words and code", "a **b c** `d **e**` f", "a \x1b[1mb c\x1b[22m \x1b[36md **e**\x1b[39m f"},
		{"a star is no mark", "2 ** 3 ** 4", "2 ** 3 ** 4"},
		{"a list wraps behind its mark", "- one two three four five", "• one two\n  three four\n  five"},
		{"a numbered list", "10. one two three four", "10. one two\n    three four"},
		{"code is not wrapped", "```go\nfunc main() { return nil }\n````\n```\nafter", "\x1b[2m```go\x1b[22m\n\x1b[36mfunc main() { return nil }\x1b[39m\n\x1b[2m````\x1b[22m\n\x1b[2m```\x1b[22m\n\x1b[36mafter\x1b[39m"},
		{"a table keeps its columns", "| a long column | another column |", "| a long column | another column |"},
	}
	for _, c := range cases {
		m := &markdown{width: 16}
		var got []string
		for line := range strings.SplitSeq(c.in, "\n") {
			got = append(got, m.line(line))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}
