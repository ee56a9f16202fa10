package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// summarized has a conversation of five turns, of which a model can write summaries.
func summarized(t *testing.T) *asking {
	q := newAsking(t, holdfast.Chat, func(_ int, r eval.Request) eval.Reply {
		if bytes.Contains(r.Body, []byte("You summarize a part")) {
			return eval.Reply{Text: "They planned."}
		}
		return eval.Reply{Text: "Fine. " + strings.Repeat("It goes on and on. ", 100)}
	})
	q.ok("q", "one")
	for _, word := range []string{"two", "three", "four", "five"} {
		q.ok("q", "-c", word)
	}
	return q
}

func TestACompactionHasAModelWriteSummaries(t *testing.T) {
	const rule = `conversation.compaction.rules=[{keep_first=1,keep_last=2,summary={model="small"}}]`
	for _, tt := range []struct {
		name   string
		config []string
		args   []string
		said   string // by the command
		model  string // that was asked
	}{
		{"by a spec", nil, []string{"c", "compact", "last", "-k", "s:..-3"}, "Compacted turns 1..2 (2 total, summary)", "m"},
		{"by a rule with a model of its own", []string{rule, "models.small.context_window=32000"}, []string{"c", "compact", "last"}, "Compacted turns 2..3 (2 total, summary)", "small"},
		{"in a fork", nil, []string{"c", "fork", "last", "-k", "s:1..3"}, "Compacted turns 1..3 (3 total, summary)", "m"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := summarized(t)
			before := len(q.bodies())
			q.config = tt.config
			if tt.args[1] == "compact" {
				if out := q.ok(append(tt.args, "--dry-run")...); !strings.Contains(out, strings.Replace(tt.said, "Compacted", "Would compact", 1)) || len(q.bodies()) != before {
					t.Errorf("the dry run, after %d calls:\n%s", len(q.bodies())-before, out)
				}
			}
			if out := q.ok(tt.args...); !strings.Contains(out, tt.said) {
				t.Errorf("it says:\n%s", out)
			}
			asked := q.bodies()[before:]
			if len(asked) != 1 || !strings.Contains(asked[0], `"model":"`+tt.model+`"`) {
				t.Fatalf("it asked %q", asked)
			}
			if out := q.ok("c", "print", "last", "--compacted"); !strings.Contains(out, "They planned.") {
				t.Errorf("the model would be sent:\n%s", out)
			}
			var calls []struct{ Role, Model string }
			if err := json.Unmarshal([]byte(q.ok("usage", "--calls", "1", "--json")), &calls); err != nil || len(calls) != 1 || calls[0].Role != "summary" || calls[0].Model != tt.model {
				t.Errorf("on record: %+v, %v", calls, err)
			}
		})
	}
}

func TestASummaryThatNoModelCanWrite(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config []string
		status int
		said   string
	}{
		{"a model that nobody serves", []string{`conversation.compaction.rules=[{summary={model="gone"}}]`, "models.gone.upstream=here", `upstream=[{name="here",protocol="chat",base_url="http://127.0.0.1:1",api_key="env:NOT_SET_ANYWHERE"}]`}, 78, "NOT_SET_ANYWHERE"},
		{"a budget that is spent", []string{`budget=[{name="none",per="day",hard=0}]`, `models.m={price={input=1,output=1}}`, `conversation.compaction.rules=[{summary={}}]`}, 77, "the budget none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := summarized(t)
			q.config = tt.config
			out, errs, status := q.run("c", "compact", "last")
			if status != tt.status || out != "" || !strings.Contains(errs, tt.said) {
				t.Errorf("status %d, %q, %s", status, out, errs)
			}
			if shown := q.ok("c", "show", "last"); !strings.Contains(shown, "compactions   none") {
				t.Errorf("the conversation:\n%s", shown)
			}
		})
	}
}
