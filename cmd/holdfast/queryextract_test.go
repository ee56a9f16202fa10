package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine/extraction"
	"github.com/holdfast-dev/holdfast/eval"
)

// readBy lets the conversations of a world be read by the extractor at a server.
func (q *asking) readBy(small string, more ...string) {
	q.config = append([]string{
		fmt.Sprintf(`upstream=[{name="small",protocol=%[1]q,base_url=%[3]q,models=["tiny-*"]},{name="here",protocol=%[1]q,base_url=%[2]q}]`, q.protocol, q.url, small+paths[q.protocol]),
		`compaction_continuity.extractor={enabled=true,route="small:tiny-1",input_ratio=1,timeout="20s",barrier_timeout="20s"}`,
	}, more...)
}

// compacting are settings by which each turn but the newest is compacted once a turn
// of wordy has passed.
func compacting() []string {
	return []string{
		"conversation.compaction.auto.enabled=true", "conversation.compaction.auto.min_turns=1", "conversation.compaction.auto.trigger_ratio=0.05",
		"conversation.compaction.auto.rule={keep_first=0,keep_last=1,summary={}}", "conversation.compaction.estimator=chars",
	}
}

// wordy answers at length, with a plan call in the first turn.
func wordy(n int, r eval.Request) eval.Reply {
	switch {
	case n == 0:
		return plans(0, r)
	case bytes.Contains(r.Body, []byte("You summarize a part")):
		return eval.Reply{Text: "They talked."}
	}
	return eval.Reply{Text: strings.Repeat("It goes on and on. ", 250)}
}

// attempts are the calls that are recorded of the local principal.
func (q *asking) attempts() []holdfast.Attempt {
	q.t.Helper()
	st, closer, err := openStore(filepath.Join(q.dir, "data", "holdfast.db"), false)
	if err != nil {
		q.t.Fatal(err)
	}
	list, err := st.Attempts(q.t.Context(), holdfast.Local, 50)
	if err := closer.Close(); err != nil {
		q.t.Error(err)
	}
	if err != nil {
		q.t.Fatal(err)
	}
	return list
}

// recordOf is our block in a request, "" for none.
func recordOf(body string) string {
	var b strings.Builder
	for _, text := range stringsOf(json.RawMessage(body)) {
		if _, after, ok := strings.Cut(text, holdfast.BlockOpen); ok {
			block, _, _ := strings.Cut(after, holdfast.BlockClose)
			b.WriteString(block)
		}
	}
	return b.String()
}

// stringsOf are all texts in a JSON value.
func stringsOf(raw json.RawMessage) (list []string) {
	var text string
	var values []json.RawMessage
	var members map[string]json.RawMessage
	switch {
	case json.Unmarshal(raw, &text) == nil:
		return []string{text}
	case json.Unmarshal(raw, &values) == nil:
		for _, v := range values {
			list = append(list, stringsOf(v)...)
		}
	case json.Unmarshal(raw, &members) == nil:
		for _, v := range members {
			list = append(list, stringsOf(v)...)
		}
	}
	return list
}

const constraintTaken = "## Constraints\n- " + choiceTaken

func TestAChoiceInProseReachesTheModelBehindACompaction(t *testing.T) {
	for _, p := range holdfast.Protocols() {
		t.Run(string(p), func(t *testing.T) {
			small, base := newSmall(t, statingScript)
			q := newAsking(t, p, wordy)
			q.readBy(base, append(compacting(), `models.tiny-1.price={input=1.0,output=2.0}`, "compaction_continuity.extractor.input_ratio=0.07")...)
			q.ok("q", "Port the importer. "+choice)
			if _, errs, _ := q.run("q", "-c", "What is left of it?"); !strings.Contains(errs, "compacted turn 1: ~") {
				t.Fatalf("it was not compacted: %s", errs)
			}
			q.ok("q", "-c", "Go on.")
			all := q.bodies()
			last := all[len(all)-2] // behind it another compaction is summarized
			block := recordOf(last)
			for _, part := range []string{constraintTaken, "[in_progress] Write the migration"} {
				if !strings.Contains(block, part) {
					t.Errorf("the record has no %q:\n%s\nin\n%s", part, block, last)
				}
			}
			if !strings.Contains(last, "They talked.") || strings.Contains(fmt.Sprint(all), "base_revision is") {
				t.Errorf("the request:\n%s", last)
			}
			// The extractor was sent the choice once, and knew where it came from.
			requests := small.Requests()
			if len(requests) != 1 {
				t.Fatalf("the extractor was called %d times", len(requests))
			}
			r := requests[0]
			if !bytes.Contains(r.Body, []byte(choice)) || bytes.Contains(r.Body, []byte(`"tools"`)) || !bytes.Contains(r.Body, []byte("additionalProperties")) {
				t.Errorf("the extractor was sent:\n%s", r.Body)
			}
			if mark := r.Header[extraction.MarkHeader]; len(mark) != 1 {
				t.Errorf("the marks of the call are %q", mark)
			}
			// Both are in the record of calls, and in the conversation.
			roles := map[holdfast.Role]int{}
			list := q.attempts()
			for _, a := range list {
				roles[a.Role]++
				if a.Role != holdfast.ExtractorRole {
					continue
				}
				if a.Conversation != list[len(list)-1].Conversation || a.Conversation == "" || a.Upstream != "small" || a.Model != "tiny-1" ||
					!strings.HasPrefix(a.Job, string(a.Conversation)+"/") || a.Outcome != holdfast.OutcomeOK || a.Cost == nil || *a.Cost == 0 {
					t.Errorf("recorded is %+v", a)
				}
			}
			want := map[holdfast.Role]int{holdfast.PrimaryRole: 4, holdfast.SummaryRole: 2, holdfast.ExtractorRole: 1}
			if diff := cmp.Diff(want, roles); diff != "" {
				t.Errorf("the calls (-want +got):\n%s", diff)
			}
			if usage := q.ok("usage", "--by", "role"); !strings.Contains(usage, string(holdfast.ExtractorRole)) || !strings.Contains(usage, "primary") {
				t.Errorf("usage:\n%s", usage)
			}
			if shown := q.ok("c", "show", "last"); !strings.Contains(shown, "1 constraint") {
				t.Errorf("the conversation:\n%s", shown)
			}
			if exported := q.ok("c", "export", "last"); strings.Count(exported, `"purpose":"extraction"`) != 1 {
				t.Errorf("the export:\n%s", exported)
			}
		})
	}
}

func TestNoConversationIsReadWhereNobodyChoseIt(t *testing.T) {
	for _, tt := range []struct {
		name string
		more []string
		args []string
		text string
	}{
		{"off", []string{`compaction_continuity.extractor={enabled=false}`}, nil, choice},
		{"off for the local principal", []string{`session_policy=[{principal="local",extractor={enabled=false}}]`}, nil, choice},
		{"all is off for it", []string{`session_policy=[{principal="local",enabled=false}]`}, nil, choice},
		{"nothing is kept", nil, []string{"--no-persist"}, choice},
		{"there is nothing to read", nil, nil, "Go on."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			small, base := newSmall(t, statingScript)
			q := newAsking(t, holdfast.Chat, func(int, eval.Request) eval.Reply { return eval.Reply{Text: "Fine."} })
			q.readBy(base, tt.more...)
			_, errs, status := q.run(append([]string{"q", tt.text}, tt.args...)...)
			if n := len(small.Requests()); n > 0 || status != 0 || errs != "" {
				t.Errorf("%d calls were made, status %d: %s", n, status, errs)
			}
		})
	}
}

func TestAPolicyTurnsTheReadingOfConversationsOn(t *testing.T) {
	small, base := newSmall(t, statingScript)
	q := newAsking(t, holdfast.Chat, func(int, eval.Request) eval.Reply { return eval.Reply{Text: "Fine."} })
	q.readBy(base, `compaction_continuity.extractor={enabled=false,route="small:tiny-1",input_ratio=1,timeout="20s",barrier_timeout="20s"}`, `session_policy=[{principal="local",extractor={enabled=true}}]`)
	q.ok("q", choice)
	if n := len(small.Requests()); n != 1 {
		t.Errorf("%d calls were made", n)
	}
}

func TestTheNextQueryReadsWhatOneLeft(t *testing.T) {
	small, base := newSmall(t, func(n int, r eval.Request) eval.Reply {
		if n == 0 {
			return eval.Reply{Status: 400}
		}
		return statingScript(n, r)
	})
	q := newAsking(t, holdfast.Chat, func(int, eval.Request) eval.Reply { return eval.Reply{Text: "Fine."} })
	q.readBy(base)
	out, errs, status := q.run("q", "Port the importer. "+choice)
	if status != 0 || out != "Fine.\n" || !strings.Contains(errs, "holdfast: the extractor has not read all that was said: ") {
		t.Errorf("status %d, %q, %s", status, out, errs)
	}
	if shown := q.ok("c", "show", "last"); strings.Contains(shown, "constraint") {
		t.Errorf("the conversation:\n%s", shown)
	}
	q.ok("q", "-c", "Go on.")
	if shown := q.ok("c", "show", "last"); !strings.Contains(shown, "1 constraint") || len(small.Requests()) != 2 {
		t.Errorf("%d calls; the conversation:\n%s", len(small.Requests()), shown)
	}
	// A fork has what was found, and reads nothing again.
	q.ok("q", "-c", "--fork", "Go on.")
	if shown := q.ok("c", "show", "last"); !strings.Contains(shown, "fork of") || !strings.Contains(shown, "1 constraint") || len(small.Requests()) != 2 {
		t.Errorf("%d calls; the copy:\n%s", len(small.Requests()), shown)
	}
}

func TestACapsuleInWhichNothingWasFoundIsPrintedOnce(t *testing.T) {
	_, base := newSmall(t, statingScript)
	q := newAsking(t, holdfast.Chat, func(int, eval.Request) eval.Reply { return eval.Reply{Text: "Fine."} })
	q.readBy(base)
	q.ok("q", "Tabs look nicer.")
	shown := q.ok("c", "print", "last")
	if strings.Count(shown, holdfast.BlockOpen) != 1 || !strings.Contains(shown, "\ncapsule revision 1\n  "+holdfast.BlockOpen) ||
		!strings.Contains(shown, "\ncapsule revision 1, the same: more was read\n") {
		t.Errorf("printed:\n%s", shown)
	}
}

func TestWhatIsExportedAndImportedIsNotReadAgain(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
	}{
		{"as it is", nil},
		{"as a copy, with other ids", []string{"--copy"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			small, base := newSmall(t, statingScript)
			fine := func(int, eval.Request) eval.Reply { return eval.Reply{Text: "Fine."} }
			q, other := newAsking(t, holdfast.Chat, fine), newAsking(t, holdfast.Chat, fine)
			q.readBy(base)
			other.readBy(base)
			other.ids = 1000
			file := filepath.Join(q.dir, "policy.md")
			if err := os.WriteFile(file, []byte("We must never use tabs."), 0o600); err != nil {
				t.Fatal(err)
			}
			q.ok("q", choice, "-a", file)
			exported := filepath.Join(q.dir, "exported.jsonl")
			if err := os.WriteFile(exported, []byte(q.ok("c", "export", "last")), 0o600); err != nil {
				t.Fatal(err)
			}
			other.ok(append([]string{"c", "import", exported}, tt.args...)...)
			other.ok("q", "-c", "Go on.")
			if shown := other.ok("c", "show", "last"); !strings.Contains(shown, "1 constraint") {
				t.Errorf("the conversation:\n%s", shown)
			}
			requests := small.Requests()
			if len(requests) != 1 {
				t.Fatalf("%d calls were made", len(requests))
			}
			if body := requests[0].Body; bytes.Contains(body, []byte("use tabs")) || !bytes.Contains(body, []byte(choice)) {
				t.Errorf("the extractor was sent:\n%s", body)
			}
			if sent := q.bodies()[0]; !strings.Contains(sent, "We must never use tabs.") {
				t.Errorf("the model was sent:\n%s", sent)
			}
		})
	}
}

func TestWhatTheExtractorLacksCostsNoQuestion(t *testing.T) {
	for _, tt := range []struct {
		name string
		more []string
		want string
	}{
		{
			"its key",
			[]string{`upstream=[{name="small",protocol="chat",base_url="https://api.openai.com/v1",models=["tiny-*"]},{name="here",protocol="chat",base_url=HERE}]`},
			"holdfast: what is said is not read by the extractor: the extractor cannot be called: ",
		},
		{
			"its money",
			[]string{`models.m.price={input=0.0,output=0.0}`, `budget=[{name="mine",principal="local",per="day",hard=5}]`},
			"holdfast: the extractor has not read all that was said: ",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			small, base := newSmall(t, statingScript)
			q := newAsking(t, holdfast.Chat, func(int, eval.Request) eval.Reply { return eval.Reply{Text: "Fine."} })
			q.readBy(base, tt.more...)
			for i, c := range q.config {
				q.config[i] = strings.ReplaceAll(c, "HERE", fmt.Sprintf("%q", q.url))
			}
			out, errs, status := q.run("q", choice)
			if status != 0 || out != "Fine.\n" || !strings.HasPrefix(errs, tt.want) || strings.Count(errs, "\n") != 1 {
				t.Errorf("status %d, %q, %s", status, out, errs)
			}
			if n := len(small.Requests()); n > 0 {
				t.Errorf("%d calls were made", n)
			}
		})
	}
}

// TestASlowExtractorIsNotWaitedFor: the call that is broken off is recorded too.
func TestASlowExtractorIsNotWaitedFor(t *testing.T) {
	_, base := newSmall(t, func(n int, r eval.Request) eval.Reply {
		reply := statingScript(n, r)
		reply.Delay = time.Minute
		return reply
	})
	q := newAsking(t, holdfast.Chat, func(int, eval.Request) eval.Reply { return eval.Reply{Text: "Fine."} })
	q.readBy(base, `compaction_continuity.extractor={enabled=true,route="small:tiny-1",input_ratio=1,timeout="60s",barrier_timeout="100ms"}`)
	out, errs, status := q.run("--json", "q", choice)
	if status != 0 || !strings.Contains(out, `"answer": "Fine."`) || errs != "" {
		t.Errorf("status %d, %q, %s", status, out, errs)
	}
	_, errs, _ = q.run("q", "-c", "And then?")
	if want := "holdfast: the extractor has not read all that was said: its call did not end in the 100ms that a turn waits for it, the barrier_timeout. The next query goes on there\n"; errs != want {
		t.Errorf("told %q", errs)
	}
	var outcomes []holdfast.Outcome
	for _, a := range q.attempts() {
		if a.Role == holdfast.ExtractorRole {
			outcomes = append(outcomes, a.Outcome)
		}
	}
	slices.Sort(outcomes)
	if diff := cmp.Diff([]holdfast.Outcome{holdfast.OutcomeCancelled, holdfast.OutcomeCancelled}, outcomes); diff != "" {
		t.Errorf("the calls (-want +got):\n%s", diff)
	}
}
