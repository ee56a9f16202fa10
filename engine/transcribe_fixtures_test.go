package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/store"
)

// told is what an event says, however it was read; "" for what is not compared.
// Texts of the user are compared part by part.
func told(e holdfast.Event) (out []string) {
	switch e := e.(type) {
	case holdfast.UserMessage:
		for _, p := range e.Parts {
			if text, ok := p.(holdfast.Text); ok && !e.Synthetic && !agents.Synthetic(string(text)) {
				out = append(out, "user "+strings.TrimSpace(string(text)))
			}
		}
	case holdfast.AssistantMessage:
		if text := strings.TrimSpace(e.Text); text != "" && !agents.SyntheticAnswer(text) {
			out = append(out, "assistant "+text)
		}
	case holdfast.ToolCall:
		out = append(out, "call "+e.ID)
	case holdfast.ToolResult:
		id, _, _ := strings.Cut(e.CallID, "#") // where the wire has no ids, the tool
		out = append(out, "result "+id)
	}
	return out
}

// again is how often one prompt was sent in sessions where a compaction stands
// between two times.
var again = map[string]int{
	"claude-code-2.1.197/tui-rewind-clear": 2, // "summarize from here" sends the prompt again
	"claude-code-2.1.332/tui-rewind-clear": 2,
	"pi-0.74.2/chat":                       5, // the long prompt
}

// TestCapturedSessionsAreRecorded replays whole captured sessions. What a turn
// carried is recorded in its order, and what identifies itself once only.
func TestCapturedSessionsAreRecorded(t *testing.T) {
	dirs, err := filepath.Glob("../testdata/wire/*/*")
	if err != nil || len(dirs) < 30 {
		t.Fatalf("%d sessions, %v", len(dirs), err)
	}
	for _, dir := range dirs {
		name := strings.TrimPrefix(filepath.ToSlash(dir), "../testdata/wire/")
		t.Run(name, func(t *testing.T) {
			w := newRecordedWorld(t)
			files, err := filepath.Glob(dir + "/*.json")
			if err != nil || len(files) == 0 {
				t.Fatalf("no fixtures: %v", err)
			}
			var requests []capturedRequest
			for _, path := range files {
				r := w.request(path)
				if unnamed(name) {
					r.in.Run = "one" // what has no words to be found again by is not recorded
				}
				requests = append(requests, r)
			}
			var turns [][]string
			for i, r := range requests {
				a := w.e.Begin(context.Background(), r.codec, r.in)
				turn := a.Verdict.Kind == holdfast.Turn && a.Linked()
				if a.Boundary {
					a.Commit(context.Background(), holdfast.TextDigest(files[i]), false)
				}
				if i+1 < len(files) && strings.HasSuffix(files[i+1], "overflow-compact.json") {
					a.Done(holdfast.Answer{}) // the request was refused
				} else {
					a.Done(answerIn(r, requests[i+1:]))
				}
				if turn {
					turns = append(turns, toldBy(r.history))
				}
			}
			w.restart()
			streams, summaries := w.toldStreams()
			for _, stream := range streams {
				for s, n := range counts(stream) {
					if most := max(mostIn(turns, s), again[name]); strings.HasPrefix(s, "user ") && n > most {
						t.Errorf("%.80q is recorded %d times, and at most %d times in one history", s, n, most)
					}
				}
			}
			for i, history := range turns {
				// opencode keeps a prompt that was refused, and sends it once more.
				history = slices.Compact(slices.DeleteFunc(history, func(s string) bool { return summaries[s] }))
				if err := heldBy(streams, history); err != nil {
					t.Errorf("turn %d: %v", i, err)
				}
			}
		})
	}
}

func counts(list []string) map[string]int {
	n := map[string]int{}
	for _, s := range list {
		n[s]++
	}
	return n
}

// mostIn is how often one history has s at most.
func mostIn(histories [][]string, s string) (most int) {
	for _, h := range histories {
		most = max(most, counts(h)[s])
	}
	return most
}

// unnamed reports whether the agent of a session sends no id of it. Qwen-code sends none
// either; from 0.24 on it writes more behind a summary, which is found by its block then.
func unnamed(name string) bool {
	return strings.HasPrefix(name, "gemini-cli") || strings.HasPrefix(name, "pi-") || strings.HasPrefix(name, "cline") || strings.HasPrefix(name, "qwen-code-0.24")
}

// capturedRequest is a captured request with what its history says.
type capturedRequest struct {
	codec   engine.Codec
	in      engine.Inbound
	history []holdfast.Event
}

func (w *world) request(path string) (r capturedRequest) {
	w.t.Helper()
	r.codec, r.in = w.captured(path)
	for _, span := range r.in.Request.Messages {
		events, err := r.codec.Whole(span.Of(r.in.Body))
		if err != nil {
			w.t.Fatal(err)
		}
		r.history = append(r.history, events...)
	}
	return r
}

// toldBy is what a history says, without the results that gemini-cli repeats.
func toldBy(events []holdfast.Event) (out []string) {
	open := map[string]int{}
	for _, e := range events {
		for _, s := range told(e) {
			if id, ok := strings.CutPrefix(s, "call "); ok {
				id, _, _ = strings.Cut(id, "#")
				open[id]++
			}
			if id, ok := strings.CutPrefix(s, "result "); ok {
				if open[id]--; open[id] < 0 {
					open[id] = 0
					continue
				}
			}
			out = append(out, s)
		}
	}
	return out
}

// answerIn is the answer to a request, as the first later history has it that
// goes on from the last that its own says; any answer where none does.
func answerIn(r capturedRequest, later []capturedRequest) (ans holdfast.Answer) {
	own := toldBy(r.history)
	for _, next := range later {
		at := -1
		for i, e := range next.history {
			if len(own) > 0 && slices.Contains(told(e), own[len(own)-1]) {
				at = i
			}
		}
		for i := at + 1; at >= 0 && i < len(next.history); i++ {
			switch e := next.history[i].(type) {
			case holdfast.AssistantMessage, holdfast.Reasoning, holdfast.ToolCall:
				ans.Events = append(ans.Events, e)
				continue
			}
			break
		}
		if len(ans.Events) > 0 {
			break
		}
	}
	if len(ans.Events) == 0 {
		text := "What the agent did not go on from, in words that stand nowhere else than in this answer."
		ans.Events = []holdfast.Event{holdfast.AssistantMessage{Text: text, Digest: holdfast.TextDigest(text), Len: len(text)}}
	}
	ans.Complete = true
	return ans
}

// toldStreams reads what is recorded in each conversation, and checks that what
// identifies itself is there once. summaries are what histories hold for it.
func (w *world) toldStreams() (streams [][]string, summaries map[string]bool) {
	w.t.Helper()
	list, err := w.st.List(context.Background(), holdfast.Local, true)
	if err != nil {
		w.t.Fatal(err)
	}
	summaries = map[string]bool{}
	for _, c := range list {
		var stream []string
		seen := map[string]bool{}
		for row, err := range w.st.Events(context.Background(), holdfast.Local, c.ID, store.EventRange{}) {
			if err != nil {
				w.t.Fatal(err)
			}
			e, err := conversation.ParseLine(row.Line)
			if err != nil {
				w.t.Fatal(err)
			}
			if o, ok := e.Event.(holdfast.Overlay); ok {
				if o.ToTurn >= c.Turns {
					w.t.Errorf("conversation %s has %d turns, and a compaction of 0 to %d", c.ID, c.Turns, o.ToTurn)
				}
				for _, role := range []string{"user ", "assistant "} {
					summaries[role+strings.TrimSpace(o.Summary.Text)] = true
				}
			}
			if m, ok := e.Event.(holdfast.UserMessage); ok && m.Synthetic {
				summaries["user "+strings.TrimSpace(string(m.Parts[0].(holdfast.Text)))] = true
			}
			for _, s := range told(e.Event) {
				if strings.HasPrefix(s, "call ") && !strings.Contains(s, "#") {
					if seen[s] {
						w.t.Errorf("conversation %s has %q twice", c.ID, s)
					}
					seen[s] = true
				}
				stream = append(stream, s)
			}
			if row.Kind == "gap" {
				w.t.Errorf("conversation %s has a gap", c.ID)
			}
		}
		streams = append(streams, stream)
	}
	return streams, summaries
}

// heldBy looks for the stream that holds a history in its order. An epoch begins
// with what is recorded elsewhere or as a summary, so that some of what comes
// first may be missing.
func heldBy(streams [][]string, history []string) error {
	best, missing := len(history)+1, ""
	for _, stream := range streams {
		i, lost, what := len(stream), 0, ""
		for _, h := range slices.Backward(history) {
			at := i - 1
			for at >= 0 && stream[at] != h {
				at--
			}
			if at < 0 {
				lost++
				what = h
				continue
			}
			i = at
		}
		if lost < best {
			best, missing = lost, what
		}
	}
	if best > 0 {
		return fmt.Errorf("%d of %d are in no conversation in this order, the first is %.80q", best, len(history), missing)
	}
	return nil
}
