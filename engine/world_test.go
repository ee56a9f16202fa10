package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/store"
)

// entry is one element of a history in the tests' own wire form.
type entry struct {
	User, Answer, Call, Tool, Args, Result, Item string `json:",omitempty"`
	Trigger, Thought                             bool   `json:",omitempty"`
}

func user(text string) entry           { return entry{User: text} }
func answer(text string) entry         { return entry{Answer: text} }
func call(id, tool, args string) entry { return entry{Call: id, Tool: tool, Args: args} }
func result(id, text string) entry     { return entry{Call: id, Result: text} }
func long(text string) entry           { return answer(text + strings.Repeat(" and so on", 10)) }

// codec reads that form.
type codec struct{}

func (codec) Decode(raw []byte, _ func(string) bool) ([]holdfast.Event, error) {
	var e entry
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, err
	}
	switch {
	case e.User != "":
		return []holdfast.Event{holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text(e.User)}}}, nil
	case e.Answer != "":
		return []holdfast.Event{holdfast.AssistantMessage{Text: e.Answer, Digest: holdfast.TextDigest(e.Answer), Len: len(e.Answer)}}, nil
	case e.Tool != "":
		return []holdfast.Event{holdfast.ToolCall{ID: e.Call, Name: e.Tool, Arguments: []byte(e.Args)}}, nil
	case e.Item != "":
		return []holdfast.Event{holdfast.CompactionItem{Digest: holdfast.TextDigest(e.Item)}}, nil
	case e.Thought:
		return []holdfast.Event{holdfast.Reasoning{}}, nil
	case e.Trigger:
		return []holdfast.Event{holdfast.CompactionTrigger{}}, nil
	}
	return []holdfast.Event{holdfast.ToolResult{CallID: e.Call, Text: e.Result}}, nil
}

func (codec) Whole(raw []byte) ([]holdfast.Event, error) {
	events, err := codec{}.Decode(raw, nil)
	for i, ev := range events {
		if r, ok := ev.(holdfast.ToolResult); ok {
			r.Parts, r.Text = []holdfast.Part{holdfast.Text(r.Text)}, ""
			events[i] = r
		}
	}
	return events, err
}

func (codec) SystemTexts([]byte, int) []string { return nil }

func (codec) Tools([]byte) []holdfast.Tool {
	return []holdfast.Tool{
		{Name: "update_plan"},
		{Name: "TaskCreate"},
		{Name: "TaskUpdate"},
		{Name: "Bash"},
		{Name: "exit_plan_mode"},
		{Name: "write"},
		{Name: "plan_exit"},
		{Name: "todowrite"},
		{Name: "tool_call"},
	}
}

// world is an engine over a store, with the steps of a test.
type world struct {
	t   *testing.T
	st  *store.Memory
	e   *engine.Engine
	cfg engine.Config
	log *lockedBuffer
	reg *prometheus.Registry // of the engine that runs
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, st: store.NewMemory(), cfg: engine.Config{Preserve: continuity.All, MaxCapsuleTokens: 2500, UserWordsTokens: 1000, CopyOnFork: true, Redact: func(s string) (string, int) {
		return strings.ReplaceAll(s, "hunter2", "[redacted:test]"), strings.Count(s, "hunter2")
	}}, log: &lockedBuffer{}}
	w.start()
	t.Cleanup(w.stop)
	return w
}

// lockedBuffer is a log that is written while it is read.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newTestLog(b *lockedBuffer) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

func (w *world) start() {
	w.reg = prometheus.NewRegistry()
	w.e = engine.New(w.st, w.cfg, newTestLog(w.log), engine.NewMetrics(w.reg), time.Now)
}

func (w *world) stop() {
	if err := w.e.Close(context.Background()); err != nil {
		w.t.Error(err)
	}
}

// restart ends the process, as far as the engine knows, and begins another.
func (w *world) restart() {
	w.stop()
	w.start()
}

// request is what varies between requests besides the history.
type request struct {
	session, thread, fork string
	agent                 string // opencode; "": codex, or claude-code by its protocol
	protocol              holdfast.Protocol
	bare                  bool   // no id of any kind; session is ignored
	run                   string // that the path names
}

// count reads a counter without labels.
func (w *world) count(name string) float64 {
	w.t.Helper()
	families, err := w.reg.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	w.t.Fatalf("there is no metric %s", name)
	return 0
}

// begin sends a history; ans ends it.
func (w *world) begin(r request, history ...entry) *engine.Attempt {
	w.t.Helper()
	return w.beginIn(context.Background(), r, history...)
}

// beginIn is begin for a client that may leave.
func (w *world) beginIn(ctx context.Context, r request, history ...entry) *engine.Attempt {
	w.t.Helper()
	var body []byte
	req := holdfast.Request{Protocol: r.protocol, ToolCount: 4}
	if req.Protocol == "" {
		req.Protocol = holdfast.Responses
	}
	for _, e := range history {
		raw, err := json.Marshal(e)
		if err != nil {
			w.t.Fatal(err)
		}
		req.Messages = append(req.Messages, holdfast.Span{Start: len(body), End: len(body) + len(raw)})
		body = append(body, raw...)
	}
	req.Tools, req.List = holdfast.Span{Start: 0, End: 1}, holdfast.Span{End: len(body)}
	if n := len(history); n > 0 && history[n-1].User == codexMarker {
		req.ToolCount = 0 // codex offers no tools then
	}
	header := map[string]string{}
	if r.bare {
		if n := len(history); n > 0 && agents.IsMarker(history[n-1].User) {
			req.ToolCount = 0
		}
	} else if r.agent == agents.OpenCode {
		header["User-Agent"], header["X-Session-Id"] = "opencode/1.18.33", r.session
		if n := len(history); n > 0 && agents.IsMarker(history[n-1].User) {
			req.ToolCount = 0
		}
	} else if req.Protocol == holdfast.Anthropic {
		header["X-Claude-Code-Session-Id"], header["X-Claude-Code-Agent-Id"] = r.session, r.thread
	} else {
		thread := r.thread
		if thread == "" {
			thread = r.session
		}
		header["Session-Id"], header["Thread-Id"] = r.session, thread
		header["X-Codex-Turn-Metadata"] = fmt.Sprintf(`{"forked_from_thread_id":%q}`, r.fork)
	}
	return w.e.Begin(ctx, codec{}, engine.Inbound{
		Caller: holdfast.Caller{Principal: holdfast.Local}, Path: "/v1/x", Run: r.run,
		Header: func(n string) string { return header[n] }, Body: body, Request: req,
	})
}

func done(a *engine.Attempt, events ...entry) {
	ans := holdfast.Answer{Complete: true}
	for _, e := range events {
		raw, _ := json.Marshal(e)
		evs, _ := codec{}.Decode(raw, nil)
		ans.Events = append(ans.Events, evs...)
	}
	a.Done(ans)
}

// turn sends a history and gets an answer.
func (w *world) turn(r request, history []entry, events ...entry) []entry {
	w.t.Helper()
	done(w.begin(r, history...), events...)
	return append(append([]entry(nil), history...), events...)
}

// capsules reads the effective capsule of each branch of a session, oldest
// branch first, in the form "accepted pending:a ...".
func (w *world) capsules(r request) (out []string) {
	w.t.Helper()
	w.restart() // what counts is what another process finds
	agent := "codex"
	switch {
	case r.agent != "":
		agent = r.agent
	case r.protocol == holdfast.Anthropic:
		agent = "claude-code"
	}
	st, err := w.st.Session(context.Background(), holdfast.Local, agent, r.session)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.held(st.ID)
}

// held reads the newest capsule of each branch of a session, oldest first.
func (w *world) held(id holdfast.SessionID) (out []string) {
	w.t.Helper()
	st, err := w.st.Load(context.Background(), holdfast.Local, id)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, b := range st.Branches {
		var c holdfast.Capsule
		if n := len(b.Revisions); n > 0 {
			if err := json.Unmarshal(b.Revisions[n-1].Capsule, &c); err != nil {
				w.t.Fatal(err)
			}
		}
		out = append(out, brief(c))
	}
	return out
}

func brief(c holdfast.Capsule) string {
	if c.Plan == nil {
		return "none"
	}
	var b strings.Builder
	for _, s := range c.Plan.Steps {
		fmt.Fprintf(&b, "%s:%s ", s.Status, s.Text)
	}
	return strings.TrimSpace(b.String())
}

func (w *world) expect(r request, want ...string) {
	w.t.Helper()
	if got := w.capsules(r); strings.Join(got, " | ") != strings.Join(want, " | ") {
		w.t.Errorf("branches hold\n %q, want\n %q\nlog:\n%s", got, want, w.log)
	}
}

// steps makes update_plan arguments from "status:text" words.
func steps(words ...string) string {
	var items []string
	for _, s := range words {
		st, text, _ := strings.Cut(s, ":")
		items = append(items, fmt.Sprintf(`{"step":%q,"status":%q}`, text, st))
	}
	return `{"plan":[` + strings.Join(items, ",") + `]}`
}

const (
	codexMarker  = "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary for another LLM"
	codexSummary = "Another language model started to solve this problem. Here is the summary produced by the other language model: "
	claudeMarker = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\nan <analysis> block followed by a <summary> block."
	claudeBack   = "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.\n\n"
	ok           = "Plan updated"
)

var s1 = request{session: "s1"}

// planned is a session with a plan of two steps, the first under way.
func (w *world) planned(r request) []entry {
	h := w.turn(r, []entry{user("build it")}, call("c1", "update_plan", steps("in_progress:a", "pending:b")))
	return w.turn(r, append(h, result("c1", ok)), long("working"))
}
