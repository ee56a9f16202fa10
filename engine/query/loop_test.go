package query_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/engine/conversations"
	"github.com/holdfast-dev/holdfast/engine/query"
	"github.com/holdfast-dev/holdfast/store"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// reply is one answer of the scripted model, beside its error.
type reply struct {
	query.Reply
	err error
	// before runs while the call is under way.
	before func()
}

// model answers with replies in turn, and keeps the calls.
type model struct {
	replies []reply
	calls   []holdfast.Call
	called  func(holdfast.Call) // nil: nothing looks
}

func (m *model) Call(_ context.Context, call holdfast.Call, emit func(holdfast.Delta)) (query.Reply, error) {
	m.calls = append(m.calls, call)
	if m.called != nil {
		m.called(call)
	}
	r := m.replies[0]
	m.replies = m.replies[1:]
	if r.before != nil {
		r.before()
	}
	for _, e := range r.Events {
		if a, ok := e.(holdfast.AssistantMessage); ok {
			emit(holdfast.Delta{Text: a.Text})
		}
	}
	return r.Reply, r.err
}

func says(text string) reply {
	return reply{Reply: query.Reply{Events: []holdfast.Event{holdfast.AssistantMessage{Text: text}}, Finish: holdfast.FinishStop}}
}

func wants(calls ...holdfast.ToolCall) reply {
	r := reply{Reply: query.Reply{Finish: holdfast.FinishStop}}
	for _, c := range calls {
		r.Events = append(r.Events, c)
	}
	return r
}

func read(id string) holdfast.ToolCall {
	return holdfast.ToolCall{ID: id, Name: "read", Arguments: []byte(`{"path": "a.go"}`)}
}

func plan(id, steps string) holdfast.ToolCall {
	return holdfast.ToolCall{ID: id, Name: query.PlanTool, Arguments: []byte(`{"plan":[` + steps + `]}`)}
}

// tools answer each call with its name, save the plan tool, and fail with err.
type tools struct{ err error }

func (t tools) Definitions() []holdfast.ToolDefinition {
	return []holdfast.ToolDefinition{{Name: "read", Description: "reads", Schema: []byte(`{"type":"object"}`)}, {Name: query.PlanTool}}
}

func (t tools) Run(_ context.Context, call holdfast.ToolCall) (holdfast.ToolResult, error) {
	said := "result of " + call.Name
	if call.Name == query.PlanTool {
		said = "Plan updated"
	}
	return holdfast.ToolResult{Parts: []holdfast.Part{holdfast.Text(said)}}, t.err
}

// screen keeps what a person saw, a line each.
type screen struct{ lines []string }

func (s *screen) Delta(d holdfast.Delta)           { s.lines = append(s.lines, "~"+d.Text) }
func (s *screen) Said(m holdfast.AssistantMessage) { s.lines = append(s.lines, m.Text) }
func (s *screen) Answered()                        { s.lines = append(s.lines, ".") }
func (s *screen) Calling(c holdfast.ToolCall)      { s.lines = append(s.lines, "> "+c.Name) }
func (s *screen) Notice(text string)               { s.lines = append(s.lines, "! "+text) }
func (s *screen) Called(c holdfast.ToolCall, r holdfast.ToolResult) {
	s.lines = append(s.lines, fmt.Sprintf("< %s %v", c.Name, r.Parts))
}

// world is a loop over an empty conversation.
type world struct {
	t      *testing.T
	s      *conversations.Service
	l      conversations.Loaded
	model  *model
	screen *screen
	cfg    query.Config
	tools  query.Tools
}

func newWorld(t *testing.T, replies ...reply) *world {
	t.Helper()
	n := 0
	st := store.NewMemory()
	c := store.Conversation{ID: "c", Principal: holdfast.Local, Origin: store.OwnConversation, Version: store.StreamVersion, CreatedAt: noon}
	if err := st.Create(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	s := conversations.New(st, holdfast.Local, func() time.Time { return noon }, func() string { n++; return fmt.Sprint("e", n) })
	l, err := s.Load(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	return &world{
		t: t, s: s, l: l, model: &model{replies: replies}, screen: &screen{}, tools: tools{},
		cfg: query.Config{
			Model: "m", System: "be brief", MaxCalls: 10,
			Estimator: func(_ []holdfast.Entry, overhead []string) compaction.Estimator {
				return compaction.Estimator{Overhead: overhead}
			},
			Redact: func(text string) string { return strings.ReplaceAll(text, "hunter2", "[redacted]") },
		},
	}
}

func (w *world) ask(ctx context.Context, text string) (holdfast.AssistantMessage, error) {
	loop := query.NewLoop(w.s, w.model, w.tools, w.screen, w.cfg)
	return loop.Turn(ctx, &w.l, holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text(text)}})
}

// stored is the stream as it is stored, one word an event.
func (w *world) stored() (out []string) {
	w.t.Helper()
	l, err := w.s.Load(w.t.Context(), "c")
	if err != nil {
		w.t.Fatal(err)
	}
	if diff := cmp.Diff(l.Entries, w.l.Entries); diff != "" {
		w.t.Errorf("what is loaded differs from what is stored:\n%s", diff)
	}
	for _, e := range l.Entries {
		word := conversation.KindOf(e.Event)
		switch e := e.Event.(type) {
		case holdfast.ToolResult:
			word += fmt.Sprintf(" %s %v %v", e.CallID, e.IsError, e.Parts)
		case holdfast.AssistantMessage:
			word += " " + e.Text
		case holdfast.Continuity:
			word += fmt.Sprint(" ", e.Capsule.Revision)
		}
		out = append(out, word)
	}
	return out
}

func (w *world) wantStored(want ...string) {
	w.t.Helper()
	got := w.stored()
	if !slices.ContainsFunc(want, isCapsule) {
		got = slices.DeleteFunc(got, isCapsule) // what was typed is kept in every test
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("stream (-want +got):\n%s", diff)
	}
}

func isCapsule(word string) bool { return strings.HasPrefix(word, "continuity") }

func TestATurnGoesOnUntilTheModelWantsNoMoreTools(t *testing.T) {
	first := wants(read("1"), read("2"))
	first.Events = append([]holdfast.Event{holdfast.Reasoning{Text: "hm", Opaque: []byte(`{"s": 1}`)}}, first.Events...)
	first.Usage = holdfast.Usage{Model: "m", Input: 10, Output: 2}
	w := newWorld(t, first, says("done"))
	answer, err := w.ask(t.Context(), "ok")
	if err != nil || answer.Text != "done" {
		t.Fatalf("%+v, %v", answer, err)
	}
	w.wantStored("turn", "user", "reasoning", "tool_call", "tool_call", "usage",
		"tool_result 1 false [result of read]", "tool_result 2 false [result of read]", "assistant done")
	if diff := cmp.Diff([]string{"> read", "< read [result of read]", "> read", "< read [result of read]", "~done", "done", "."}, w.screen.lines); diff != "" {
		t.Error(diff)
	}
	second := w.model.calls[1]
	want := []holdfast.Event{
		holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text("ok")}},
		holdfast.Reasoning{Text: "hm", Opaque: []byte(`{"s": 1}`)},
		read("1"), read("2"),
		holdfast.ToolResult{CallID: "1", Parts: []holdfast.Part{holdfast.Text("result of read")}},
		holdfast.ToolResult{CallID: "2", Parts: []holdfast.Part{holdfast.Text("result of read")}},
	}
	if diff := cmp.Diff(want, second.Events); diff != "" {
		t.Errorf("the second call:\n%s", diff)
	}
	if second.System != "be brief" || len(second.Tools) != 2 || second.CacheKey != "c" || second.Model != "m" {
		t.Errorf("the second call: %+v", second)
	}
}

func TestWhatTheUserAskedIsDurableBeforeTheModelIsCalled(t *testing.T) {
	w := newWorld(t)
	asked := says("x")
	asked.before = func() { w.wantStored("turn", "user") }
	w.model.replies = []reply{asked}
	if _, err := w.ask(t.Context(), "ok"); err != nil {
		t.Fatal(err)
	}
}

func TestTurnsThatEndEarly(t *testing.T) {
	cut := wants(read("1"))
	cut.Finish = holdfast.FinishLength
	refused := says("No.")
	refused.Finish = holdfast.FinishRefusal
	failed := reply{err: holdfast.Errorf(holdfast.ErrUnavailable, "the provider is down")}
	cases := []struct {
		name    string
		replies []reply
		tools   query.Tools
		want    string
		stream  []string
	}{
		{"the provider fails", []reply{failed}, tools{}, "the provider is down", []string{"turn", "user"}},
		{"the model declines", []reply{refused}, tools{}, "the model declined", []string{"turn", "user", "assistant No."}},
		{
			"the answer is cut off in a call",
			[]reply{cut},
			tools{},
			"the answer was cut off",
			[]string{"turn", "user", "tool_call", "tool_result 1 true [not run: the turn ended before]"},
		},
		{
			"the person ends it at a call",
			[]reply{wants(read("1"), read("2"))},
			tools{err: errors.New("stopped")},
			"stopped",
			[]string{"turn", "user", "tool_call", "tool_call", "tool_result 1 true [not run: the turn ended before]", "tool_result 2 true [not run: the turn ended before]"},
		},
		{
			"the model calls without end",
			[]reply{wants(read("1")), wants(read("2"))},
			tools{},
			"the model was called 2 times",
			[]string{"turn", "user", "tool_call", "tool_result 1 false [result of read]", "tool_call", "tool_result 2 true [not run: the turn ended before]"},
		},
		{
			"a call where there are no tools",
			[]reply{wants(read("1")), says("oh")},
			nil, "",
			[]string{"turn", "user", "tool_call", "tool_result 1 true [there are no tools in this conversation]", "assistant oh"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.replies...)
			w.tools, w.cfg.MaxCalls = c.tools, 2
			_, err := w.ask(t.Context(), "ok")
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			w.wantStored(c.stream...)
		})
	}
}

func TestAnAnswerIsAllOfItsTexts(t *testing.T) {
	parted := says("First.")
	parted.Events = append(parted.Events, holdfast.Reasoning{Opaque: []byte(`{"s": 1}`)}, holdfast.AssistantMessage{Text: "Then."})
	data := says("Here it is:")
	data.Events = append(data.Events, holdfast.AssistantMessage{Data: []byte(`{"a":1}`)})
	for _, c := range []struct {
		name  string
		reply reply
		want  holdfast.AssistantMessage
	}{
		{"texts around reasoning", parted, holdfast.AssistantMessage{Text: "First.\n\nThen."}},
		{"the answer to a schema behind a text", data, holdfast.AssistantMessage{Data: []byte(`{"a":1}`)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.reply)
			answer, err := w.ask(t.Context(), "ok")
			if diff := cmp.Diff(c.want, answer); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
			if last := w.screen.lines[len(w.screen.lines)-2]; last != c.want.Text {
				t.Errorf("shown %q, want %q", last, c.want.Text)
			}
		})
	}
}

func TestAnAnswerThatCannotBeKeptIsShown(t *testing.T) {
	r := says("paid for")
	w := newWorld(t, r)
	w.model.replies[0].before = func() {
		// Another process writes to the conversation.
		other, err := w.s.Load(t.Context(), "c")
		if err == nil {
			err = w.s.Append(t.Context(), &other, holdfast.TurnStart{})
		}
		if err != nil {
			t.Error(err)
		}
	}
	answer, err := w.ask(t.Context(), "ok")
	if holdfast.CodeOf(err) != holdfast.ErrConflict {
		t.Errorf("error %v, want a conflict", err)
	}
	if answer.Text != "paid for" || !slices.Contains(w.screen.lines, "paid for") {
		t.Errorf("answer %q, shown %q", answer.Text, w.screen.lines)
	}
}

func TestAnInterruptionKeepsWhatCame(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	broken := says("as far as")
	broken.Events = append(broken.Events, read("1"))
	broken.Finish, broken.err, broken.before = holdfast.FinishNone, context.Canceled, cancel
	w := newWorld(t, broken, says("and on"))
	answer, err := w.ask(ctx, "ok")
	if !errors.Is(err, query.Interrupted) || answer.Text != "as far as" {
		t.Errorf("%+v, %v", answer, err)
	}
	w.wantStored("turn", "user", "assistant as far as", "tool_call", "tool_result 1 true [not run: the turn ended before]")
	if _, err := w.ask(t.Context(), "ok"); err != nil {
		t.Errorf("the next turn: %v", err)
	}
}

// TestAToolLoopStopsBeforeTheWindow: one prompt, twenty calls of some 2,500
// tokens each, a window of 32,000.
func TestAToolLoopStopsBeforeTheWindow(t *testing.T) {
	w := newWorld(t)
	for i := range 20 {
		r := wants(read(fmt.Sprint(i)))
		r.Usage = holdfast.Usage{Model: "m", Input: int64(100 + 2500*i), Output: 20}
		w.model.replies = append(w.model.replies, r)
	}
	w.tools, w.cfg.Window, w.cfg.MaxOutput, w.cfg.MaxCalls = bigTools{}, 32_000, 4000, 50
	window := func(string) int64 { return 32_000 }
	w.cfg.Estimator = func(entries []holdfast.Entry, overhead []string) compaction.Estimator {
		return compaction.Estimator{Overhead: overhead}.Calibrated(entries, window)
	}
	_, err := w.ask(t.Context(), "ok")
	if holdfast.CodeOf(err) != holdfast.ErrTooLarge {
		t.Fatalf("error %v", err)
	}
	if n := len(w.model.calls); n < 8 || n > 13 {
		t.Errorf("%d calls were made: 32,000 tokens have room for some eleven", n)
	}
	raw := 0
	for _, e := range w.l.Entries {
		if r, ok := e.Event.(holdfast.ToolResult); ok && len(fmt.Sprint(r.Parts)) > 9000 {
			raw++
		}
	}
	if raw != len(w.model.calls) {
		t.Errorf("%d raw results of %d calls are in the stream", raw, len(w.model.calls))
	}
}

// TestATurnThatFillsTheWindowIsCompactedBetweenItsCalls: the same prompt and
// calls as above, behind a small turn, with ranges of events.
func TestATurnThatFillsTheWindowIsCompactedBetweenItsCalls(t *testing.T) {
	const window, calls = 32_000, 20
	w := newWorld(t, says("hello"))
	if _, err := w.ask(t.Context(), "hi"); err != nil {
		t.Fatal(err)
	}
	for i := range calls {
		r := wants(read(fmt.Sprint(i)))
		if i == 3 {
			r = wants(plan("p", `{"step":"Read","status":"in_progress"},{"step":"Write","status":"pending"}`))
		}
		r.Usage = holdfast.Usage{Model: "m", Input: 1}
		w.model.replies = append(w.model.replies, r)
	}
	w.model.replies = append(w.model.replies, says("done"))
	config := compaction.DefaultAuto()
	config.Enabled, config.Granularity, config.MinTurns = true, compaction.ByEvent, 1
	w.cfg.Trigger = &conversations.Trigger{
		Config: config, Window: func(string) int64 { return window },
	}
	w.tools, w.cfg.Window, w.cfg.MaxOutput, w.cfg.MaxCalls = bigTools{}, window, 4000, 50
	w.model.called = func(call holdfast.Call) {
		size := len(fmt.Sprint(call.Events))
		if size/4 > window {
			t.Errorf("call %d left with %d characters", len(w.model.calls), size)
		}
	}
	if _, err := w.ask(t.Context(), "read them all"); err != nil {
		t.Fatal(err)
	}
	if n := len(w.model.calls); n != 1+calls+1 {
		t.Fatalf("%d calls", n)
	}
	sent := fmt.Sprintf("%s", w.model.calls[calls+1].Events)
	for _, want := range []string{"read them all", `{"step":"Write","status":"pending"}`, "[compacted] read: success", "word word"} {
		if !strings.Contains(sent, want) {
			t.Errorf("the last call has no %s", want)
		}
	}
	if events := w.model.calls[calls+1].Events; !strings.Contains(fmt.Sprint(events[len(events)-1]), "1. [in_progress] Read") {
		t.Errorf("the plan does not stand at the end: %v", events[len(events)-1])
	}
	raw, overlays := 0, 0
	for _, e := range w.l.Entries {
		switch event := e.Event.(type) {
		case holdfast.ToolResult:
			if len(fmt.Sprint(event.Parts)) > 9000 {
				raw++
			}
		case holdfast.Overlay:
			if overlays++; len(event.KeptCalls) != map[bool]int{true: 1}[overlays == 1] {
				t.Errorf("compaction %d keeps the calls %v: the plan is in the first", overlays, event.KeptCalls)
			}
		}
	}
	if raw != calls-1 || overlays == 0 {
		t.Errorf("%d raw results are in the stream, %d compactions", raw, overlays)
	}
	if notice := w.screen.lines[slices.IndexFunc(w.screen.lines, func(l string) bool { return strings.HasPrefix(l, "! ") })]; !strings.HasPrefix(notice, "! compacted events ") || !strings.Contains(notice, " in turn 2: ~") {
		t.Errorf("notice %q", notice)
	}
}

type bigTools struct{ tools }

func (t bigTools) Run(ctx context.Context, call holdfast.ToolCall) (holdfast.ToolResult, error) {
	if call.Name == query.PlanTool {
		return t.tools.Run(ctx, call)
	}
	return holdfast.ToolResult{Parts: []holdfast.Part{holdfast.Text(strings.Repeat("word ", 2000))}}, nil
}

func TestAutomaticCompactionRunsBehindTheTurn(t *testing.T) {
	w := newWorld(t)
	w.tools = bigTools{}
	config := compaction.DefaultAuto()
	config.Enabled = true
	w.cfg.Trigger = &conversations.Trigger{
		Config: config, Window: func(string) int64 { return 20_000 },
	}
	// Six turns of some 2,500 tokens are above 15,000; the seventh is not again.
	for i := range 7 {
		first := wants(read(fmt.Sprint(i)))
		first.Usage = holdfast.Usage{Model: "m", Input: 1}
		w.model.replies = append(w.model.replies, first, says("done"))
		if _, err := w.ask(t.Context(), "ok"); err != nil {
			t.Fatal(err)
		}
	}
	var notices []string
	for _, line := range w.screen.lines {
		if strings.HasPrefix(line, "! ") {
			notices = append(notices, line)
		}
	}
	if len(notices) != 1 || !strings.HasPrefix(notices[0], "! compacted turns 2..3: ~") {
		t.Errorf("notices %q", notices)
	}
	if kinds := w.stored(); kinds[len(kinds)-1] == "compaction" {
		t.Error("it was compacted behind the last turn too")
	}
	// System text and tools are the same before and after.
	first, last := w.model.calls[0], w.model.calls[len(w.model.calls)-1]
	if first.System != last.System || cmp.Diff(first.Tools, last.Tools) != "" {
		t.Error("the compaction changed the system text or the tools")
	}
}

func TestTheSystemTextCountsForTheTrigger(t *testing.T) {
	for _, tt := range []struct {
		name   string
		system string
		want   int // compactions
	}{
		{"a short one", "be brief", 0},
		{"one of 10,000 tokens", strings.Repeat("brief ", 40_000/6), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.tools, w.cfg.System = bigTools{}, tt.system
			config := compaction.DefaultAuto()
			config.Enabled, config.MinTurns, config.Rule.KeepLast = true, 1, compaction.Count(1)
			w.cfg.Trigger = &conversations.Trigger{Config: config, Window: func(string) int64 { return 20_000 }}
			// Three turns of 2,500 tokens are below 15,000.
			for i := range 3 {
				first := wants(read(fmt.Sprint(i)))
				first.Usage = holdfast.Usage{Model: "m", Input: 1}
				w.model.replies = append(w.model.replies, first, says("done"))
				if _, err := w.ask(t.Context(), "ok"); err != nil {
					t.Fatal(err)
				}
			}
			if got := len(conversation.Overlays(w.l.Entries)); got != tt.want {
				t.Errorf("%d compactions, want %d", got, tt.want)
			}
		})
	}
}

func TestTheCapsuleIsHarvestedAndGoesWithAnOverlay(t *testing.T) {
	w := newWorld(t,
		wants(plan("1", `{"step":"Read","status":"completed"},{"step":"Write","status":"in_progress"}`)), says("planned"),
		says("on it"))
	if _, err := w.ask(t.Context(), "Use port 5433, the password is hunter2."); err != nil {
		t.Fatal(err)
	}
	w.wantStored("turn", "user", "continuity 1", "tool_call", "tool_result 1 false [Plan updated]", "assistant planned", "continuity 2")
	if err := w.s.Append(t.Context(), &w.l, holdfast.Overlay{Source: holdfast.ManualOverlay, StripReasoning: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ask(t.Context(), "ok"); err != nil {
		t.Fatal(err)
	}
	sent := fmt.Sprint(w.model.calls[2].Events)
	if n := strings.Count(sent, holdfast.BlockClose); n != 1 {
		t.Errorf("the record is in the call %d times:\n%s", n, sent)
	}
	block := sent[strings.Index(sent, holdfast.BlockOpen):strings.Index(sent, holdfast.BlockClose)]
	read, write := strings.Index(block, "Read"), strings.Index(block, "Write")
	if write < 0 || read > write || !strings.Contains(block, "5433") || strings.Contains(block, "hunter2") {
		t.Errorf("the record:\n%s", block)
	}
}

func TestATurnThatEndsWithoutATextSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		replies []reply
		said    bool
	}{
		"an empty answer":         {[]reply{{Reply: query.Reply{Finish: holdfast.FinishStop}}}, true},
		"blanks":                  {[]reply{says(" \n")}, true},
		"nothing behind the last": {[]reply{wants(read("c1")), {Reply: query.Reply{Finish: holdfast.FinishStop}}}, true},
		"a text":                  {[]reply{says("Hello.")}, false},
		"an answer to a schema": {[]reply{{Reply: query.Reply{
			Events: []holdfast.Event{holdfast.AssistantMessage{Data: []byte(`{}`)}}, Finish: holdfast.FinishStop,
		}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.replies...)
			if _, err := w.ask(t.Context(), "Hello?"); err != nil {
				t.Fatal(err)
			}
			said := slices.ContainsFunc(w.screen.lines, func(l string) bool { return strings.HasPrefix(l, "! the model ended its turn without a text") })
			if said != c.said {
				t.Errorf("the screen has %q", w.screen.lines)
			}
		})
	}
}
