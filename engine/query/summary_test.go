package query_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/engine/query"
)

// source reads lines into entries.
func source(t *testing.T, lines ...string) (entries []holdfast.Entry) {
	t.Helper()
	for i, line := range lines {
		e, err := conversation.ParseLine([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		e.Seq = int64(i + 1)
		entries = append(entries, e)
	}
	return entries
}

// summarizer writes by m, with a window of some tokens.
func summarizer(m query.Model, window int64, other bool) *query.Summarizer {
	return &query.Summarizer{
		Route: func(name string) (query.Route, error) {
			if name == "" {
				name = "main"
			}
			return query.Route{Model: m, Name: name, Window: window, MaxOutput: 100, Other: other}, nil
		},
		MaxResult: 200,
		Redact: func(text string) (string, int) {
			return strings.ReplaceAll(text, "hunter2", "[redacted]"), strings.Count(text, "hunter2")
		},
	}
}

// sent is all that went to a model, in words.
func sent(calls []holdfast.Call) string {
	var b strings.Builder
	for _, c := range calls {
		for _, e := range c.Events {
			switch e := e.(type) {
			case holdfast.UserMessage:
				fmt.Fprintln(&b, e.Parts)
			case holdfast.AssistantMessage:
				fmt.Fprintln(&b, e.Text)
			case holdfast.ToolCall:
				fmt.Fprintln(&b, e.Name, string(e.Arguments))
			case holdfast.ToolResult:
				fmt.Fprintln(&b, e.Parts)
			default:
				fmt.Fprintf(&b, "%T\n", e)
			}
		}
	}
	return b.String()
}

func TestASummaryIsMadeOfRawEventsAsRealMessages(t *testing.T) {
	m := &model{replies: []reply{says("It went well.")}}
	m.replies[0].Usage = holdfast.Usage{Input: 50, Output: 5}
	in := compaction.SummaryInput{
		Entries: source(t, `{"kind":"turn"}`,
			`{"kind":"user","content":[{"type":"text","text":"the password is hunter2"}]}`,
			`{"kind":"reasoning","text":"secretly","opaque":"{}"}`,
			`{"kind":"tool_call","call_id":"1","name":"read","arguments":{"a": 1}}`,
			`{"kind":"tool_result","call_id":"1","content":[{"type":"text","text":"`+strings.Repeat("a", 150)+strings.Repeat("b", 150)+`"}]}`,
			`{"kind":"tool_call","call_id":"2","name":"read","arguments":{}}`,
			`{"kind":"compaction","from_turn":0,"to_turn":0,"summary":{"text":"an older summary"}}`),
		Request: compaction.SummaryRequest{Instructions: "Be short.", Context: "It is a compiler."},
	}
	d, err := summarizer(m, 0, false).Summarize(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	want := compaction.Draft{
		Text: "It went well.", Model: "main", Complete: true, Stop: "stop",
		Usage: holdfast.Usage{Purpose: holdfast.ForSummary, Model: "main", Input: 50, Output: 5},
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
	call := m.calls[0]
	if call.System != "Be short." || call.Tools != nil || call.Model != "main" || call.CacheKey != "" {
		t.Errorf("the call: %+v", call)
	}
	shown := fmt.Sprintf("[%s\n[100 bytes left out here]\n%s]", strings.Repeat("a", 100), strings.Repeat("b", 100))
	wantSent := "[the password is hunter2]\nread {\"a\": 1}\n" + shown + "\nread {}\n[" + conversation.NoResult + "]\n" +
		"[Write the summary of the conversation up to here now.\n\nBeside the conversation, this is known:\nIt is a compiler.]\n"
	if diff := cmp.Diff(wantSent, sent(m.calls)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatGoesToAnotherProviderIsRedacted(t *testing.T) {
	m := &model{replies: []reply{says("S")}}
	in := compaction.SummaryInput{
		Entries: source(t,
			`{"kind":"user","content":[{"type":"text","text":"hunter2"}]}`,
			`{"kind":"tool_call","call_id":"1","name":"read","arguments":{"key":"hunter2"}}`,
			`{"kind":"tool_result","call_id":"1","content":[{"type":"text","text":"hunter2"}]}`,
			`{"kind":"assistant","content":[{"type":"text","text":"hunter2"}]}`),
		Request: compaction.SummaryRequest{Model: "small"},
	}
	if _, err := summarizer(m, 0, true).Summarize(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	text := sent(m.calls)
	if strings.Contains(text, "hunter2") || strings.Count(text, "[redacted]") != 4 {
		t.Errorf("sent:\n%s", text)
	}
}

// TestWhatDoesNotFitIsSummarizedInPieces: nothing is left out, each call fits,
// and the pieces' summaries are summarized in one more call.
func TestWhatDoesNotFitIsSummarizedInPieces(t *testing.T) {
	var lines []string
	for i := range 12 {
		lines = append(lines,
			`{"kind":"turn"}`,
			fmt.Sprintf(`{"kind":"user","content":[{"type":"text","text":"question %d %s"}]}`, i, strings.Repeat("long ", 100)),
			fmt.Sprintf(`{"kind":"tool_call","call_id":"%d","name":"read","arguments":{"n":%d}}`, i, i),
			fmt.Sprintf(`{"kind":"tool_result","call_id":"%d","content":[{"type":"text","text":"output %d"}]}`, i, i),
			fmt.Sprintf(`{"kind":"assistant","content":[{"type":"text","text":"answer %d"}]}`, i))
	}
	// One message that is larger than the window by itself.
	var huge strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&huge, "word%d ", i)
	}
	lines = append(lines, `{"kind":"user","content":[{"type":"text","text":"`+huge.String()+`"}]}`)
	echo := &echoing{}
	s := summarizer(echo, 2000, false)
	var progress []string
	s.Progress = func(call, of int) { progress = append(progress, fmt.Sprintf("%d/%d", call, of)) }
	d, err := s.Summarize(t.Context(), compaction.SummaryInput{Entries: source(t, lines...)})
	if err != nil || !d.Complete {
		t.Fatalf("%+v, %v", d, err)
	}
	all := sent(echo.calls)
	for i := range 12 {
		for _, part := range []string{fmt.Sprintf("question %d ", i), fmt.Sprintf(`{"n":%d}`, i), fmt.Sprintf("output %d", i), fmt.Sprintf("answer %d", i)} {
			if !strings.Contains(all, part) {
				t.Errorf("%q was left out", part)
			}
		}
	}
	joined := strings.ReplaceAll(strings.ReplaceAll(all, "]\n[", ""), "\n", "")
	missing := 0
	for i := range 1500 {
		if !strings.Contains(joined, fmt.Sprintf("word%d", i)) {
			missing++
		}
	}
	// A cut may go through a word.
	if missing > len(echo.calls) {
		t.Errorf("%d words of the long message were left out", missing)
	}
	for i, c := range echo.calls {
		entries := make([]holdfast.Entry, len(c.Events))
		for k, e := range c.Events {
			entries[k].Event = e
		}
		if n := (compaction.Estimator{}).Tokens(entries); n > 2000-100 {
			t.Errorf("call %d has %d tokens", i, n)
		}
	}
	last := fmt.Sprint(echo.calls[len(echo.calls)-1].Events)
	if n := len(echo.calls); n < 4 || len(progress) != n || progress[n-1] != fmt.Sprintf("%d/%d", n, n) || !strings.Contains(last, "Summary of part 1 of") {
		t.Errorf("%d calls, progress %q, the last one has %s", n, progress, last)
	}
	if d.Usage.Output != int64(len(echo.calls)) {
		t.Errorf("usage %+v of %d calls", d.Usage, len(echo.calls))
	}
}

// echoing answers each call in a few words.
type echoing struct{ calls []holdfast.Call }

func (m *echoing) Call(_ context.Context, call holdfast.Call, _ func(holdfast.Delta)) (query.Reply, error) {
	m.calls = append(m.calls, call)
	return query.Reply{
		Events: []holdfast.Event{holdfast.AssistantMessage{Text: fmt.Sprint("part ", len(m.calls))}},
		Usage:  holdfast.Usage{Output: 1}, Finish: holdfast.FinishStop,
	}, nil
}

func TestASummaryThatFailsInAPieceFails(t *testing.T) {
	long := `{"kind":"user","content":[{"type":"text","text":"` + strings.Repeat("long ", 3000) + `"}]}`
	cut := says("half")
	cut.Finish = holdfast.FinishLength
	for name, second := range map[string]reply{
		"an error": {err: errors.New("no route")}, "a limit": cut, "a call": wants(read("1")), "nothing": says(" "),
	} {
		m := &model{replies: []reply{says("one"), second}}
		d, err := summarizer(m, 2000, false).Summarize(t.Context(), compaction.SummaryInput{Entries: source(t, long)})
		if err == nil && d.Complete && d.Calls == 0 && strings.TrimSpace(d.Text) != "" {
			t.Errorf("%s: %+v", name, d)
		}
		if len(m.calls) != 2 {
			t.Errorf("%s: %d calls", name, len(m.calls))
		}
	}
}
