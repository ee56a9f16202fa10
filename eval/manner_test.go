package eval_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// each runs f for every manner.
func each(t *testing.T, f func(t *testing.T, m eval.Manner)) {
	t.Helper()
	for _, m := range eval.Manners() {
		t.Run(m.Name, func(t *testing.T) { f(t, m) })
	}
}

// start returns an agent of a manner in a world, and its upstream.
func start(t *testing.T, m eval.Manner, w eval.World, script eval.Script) (eval.Agent, *eval.Upstream) {
	t.Helper()
	up := eval.NewUpstream(eval.Config{Seed: "fixed", Turn: script})
	agent := m.New(http.DefaultClient, serve(t, up), "s")
	agent.Enter(w)
	return agent, up
}

func prompt(t *testing.T, agent eval.Agent, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := agent.Prompt(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
}

// rounds are answers with one command each, whose ids are c1, c2 and so on.
func rounds(m eval.Manner, n int) []eval.Reply {
	var out []eval.Reply
	for i := range n {
		out = append(out, eval.Reply{Calls: []eval.Call{{ID: fmt.Sprintf("c%d", i+1), Name: m.Work}}})
	}
	return out
}

func kinds(requests []eval.Request) string {
	var out []string
	for _, r := range requests {
		out = append(out, string(r.Kind))
	}
	return strings.Join(out, " ")
}

// inOrder reports the first of the texts that does not follow the one before.
func inOrder(body []byte, texts []string) (missing string, ok bool) {
	rest := string(body)
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			return text, false
		}
		rest = after
	}
	return "", true
}

const summarized = "The user and the assistant worked on the code for a while. Go on with the work."

func TestEachAgentCompactsInTheMiddleOfATurnAsItWasCaptured(t *testing.T) {
	const usual = "turn turn plain_compaction turn turn turn turn"
	type side struct {
		holds []string // in this order
		lacks []string
	}
	type form struct {
		kinds         string
		asked, behind side // the last request for the summary, and the one that follows
	}
	whole := side{holds: []string{"First prompt.", "Settled.", "Second prompt.", "result of c1", "CRITICAL: Respond"}}
	keepsTurn := side{holds: []string{"First prompt."}, lacks: []string{"Second prompt.", "result of c1"}}
	tests := map[string]form{
		"claude-code 2.1.197": {
			usual,
			side{[]string{"First prompt.", "Second prompt.", "CRITICAL: Respond"}, []string{"result of c1"}},
			side{[]string{"This session is being continued", summarized, `"id":"c1"`, `result of c1\n\n\n<system-reminder>`}, []string{"Second prompt."}},
		},
		"claude-code 2.1.332": {
			usual, whole,
			side{[]string{"This session is being continued", summarized, `"id":"c1"`, "result of c1", `{"type":"text","text":"<system-reminder>`}, []string{"Second prompt."}},
		},
		"codex 0.171.0, local": {
			usual,
			side{holds: []string{"Second prompt.", "result of c1", "CONTEXT CHECKPOINT", `\"phase\":\"mid_turn\"`}},
			side{[]string{"First prompt.", "<environment_context>", "Second prompt.", "Another language model", summarized + `"}]}],"tools"`, `:1\",\"window_number\":1`}, []string{"result of c1", "Settled."}},
		},
		"codex 0.171.0, remote": {
			"turn turn opaque_compaction turn turn turn turn",
			side{holds: []string{"Second prompt.", "result of c1", `{"type":"compaction_trigger"}],"tools":[{`, `\"phase\":\"mid_turn\"`}},
			side{[]string{"First prompt.", "<environment_context>", "Second prompt.", `{"type":"compaction","id":"cmp_`}, []string{"result of c1", "Settled."}},
		},
		"opencode 1.18.33": {
			usual,
			side{holds: []string{`[User]: First prompt.`, `[User]: Second prompt.`, `[Tool result]: result of c1`}},
			side{[]string{"What did we do so far?", summarized, `{"role":"user","content":"Continue if you have next steps, or stop and ask for clarification if you are unsure how to proceed."}],"tools"`}, []string{"Second prompt.", "result of c1"}},
		},
		"qwen-code 0.15.10": {
			usual, keepsTurn,
			side{[]string{summarized, "Thanks for the additional context!", "Second prompt.", "result of c1"}, []string{"First prompt.", "We are setting up"}},
		},
		"gemini-cli 0.61.0": {
			"turn turn plain_compaction plain_compaction turn turn turn turn", keepsTurn,
			side{[]string{"<session_context>", summarized, "Thanks for the additional context!", "Second prompt.", "result of c1"}, []string{"First prompt."}},
		},
		"cline 3.0.65": {
			usual,
			side{[]string{`[User]: <user_input mode=\"act\">First prompt.`, "[Bot]: Settled."}, []string{"Second prompt."}},
			side{[]string{"Context summary:", summarized, `{"role":"user","content":"Second prompt."}`, "result of c1"}, []string{"First prompt.", "Settled."}},
		},
	}
	afterTurn := form{
		"turn turn turn turn turn plain_compaction turn", keepsTurn, // pi
		side{[]string{"The conversation history before this point was compacted", summarized, "Second prompt.", "result of c3", "Finished.", "Third prompt."}, []string{"First prompt."}},
	}
	tests["pi 0.74.2, chat"], tests["pi 0.74.2, responses"] = afterTurn, afterTurn
	each(t, func(t *testing.T, m eval.Manner) {
		script := append(append([]eval.Reply{{Text: "Settled."}}, rounds(m, 3)...), eval.Reply{Text: "Finished."})
		agent, up := start(t, m, eval.World{Output: func(c eval.Call) string { return "result of " + c.ID }}, eval.Queue(script...))
		prompt(t, agent, "First prompt. "+strings.Repeat("It is long. ", 50)) // else gemini-cli refuses the summary
		agent.CompactIn(1)
		prompt(t, agent, "Second prompt.", "Third prompt.")
		want, requests := tests[m.Name], up.Requests()
		if got := kinds(requests); got != want.kinds {
			t.Fatalf("got the requests %s, want %s", got, want.kinds)
		}
		last := len(requests) - 1
		for !requests[last].Kind.IsCompaction() {
			last--
		}
		check := func(name string, r eval.Request, s side) {
			if missing, ok := inOrder(r.Body, s.holds); !ok {
				t.Errorf("%s: not there, or not in its place: %s", name, missing)
			}
			for _, text := range s.lacks {
				if bytes.Contains(r.Body, []byte(text)) {
					t.Errorf("%s: still there: %s", name, text)
				}
			}
		}
		check("the request for the summary", requests[last], want.asked)
		check("the one behind", requests[last+1], want.behind)
	})
}

func TestATurnWithFewerRoundsDoesNotCompact(t *testing.T) {
	each(t, func(t *testing.T, m eval.Manner) {
		script := slices.Concat([]eval.Reply{{Text: "Settled."}}, rounds(m, 1), []eval.Reply{{Text: "Done."}}, rounds(m, 3))
		agent, up := start(t, m, eval.World{}, eval.Queue(script...))
		prompt(t, agent, "First prompt.")
		agent.CompactIn(2)
		prompt(t, agent, "Second prompt.", "Third prompt.")
		if got, want := kinds(up.Requests()), "turn turn turn turn turn turn turn"; got != want {
			t.Errorf("got the requests %s, want %s", got, want)
		}
	})
}

func TestAnAgentThatKeepsItsNewestTurnCannotCompactInItsFirst(t *testing.T) {
	fails := map[string]bool{"qwen-code 0.15.10": true, "gemini-cli 0.61.0": true, "cline 3.0.65": true}
	each(t, func(t *testing.T, m eval.Manner) {
		agent, _ := start(t, m, eval.World{}, eval.Queue(rounds(m, 1)...))
		agent.CompactIn(1)
		err := agent.Prompt(t.Context(), "Go.")
		if failed := err != nil; failed != fails[m.Name] {
			t.Errorf("got %v", err)
		}
	})
}

// texts are all strings of a JSON value.
func texts(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, el := range v {
			out = append(out, texts(el)...)
		}
	case map[string]any:
		for _, el := range v {
			out = append(out, texts(el)...)
		}
	}
	return out
}

func textsOf(t *testing.T, raw []byte) []string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return texts(v)
}

func holds(all []string, literal string) bool {
	return slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, literal) })
}

// The person's word comes back in the form that was captured: each literal stands
// in the requests of the real agent too.
func TestThePersonsWordComesBackInTheCapturedForm(t *testing.T) {
	const (
		no    = "The user doesn't want to proceed with this tool use. The tool use was rejected"
		stop  = "STOP what you are doing and wait for the user to tell you how to proceed."
		broke = "[Request interrupted by user for tool use]"
		said  = "To tell you how to proceed, the user said:\nuse postgres in step two"
	)
	answers := func(with string) eval.World {
		return eval.World{Answer: func(q string) string { return map[string]string{"Which db?": with}[q] }}
	}
	approves := func(ok bool, words string) eval.World {
		return eval.World{Approve: func(plan string) (bool, string) { return ok && plan == "# Plan\n1. alpha\n2. beta\n", words }}
	}
	tests := []struct {
		name, manner, fixture string
		plan                  bool
		world                 eval.World
		turns                 int // requests of the turn
		want                  []string
	}{
		{"an answer", "claude-code 2.1.197", "claude-code-2.1.197/tui-ask-compact", false, answers("postgres"), 2, []string{`Your questions have been answered: "Which db?"="postgres`, "You can now continue with these answers in mind."}},
		{"an answer", "claude-code 2.1.332", "claude-code-2.1.332/tui-ask-compact", false, answers("postgres"), 2, []string{`Your questions have been answered: "Which db?"="postgres`}},
		{"an answer in the user's own words", "claude-code 2.1.197", "claude-code-2.1.197/tui-ask-compact", false, answers("duckdb"), 2, []string{`Your questions have been answered: "Which db?"="duckdb`}},
		{"an answer in the user's own words", "claude-code 2.1.332", "claude-code-2.1.332/tui-ask-compact", false, answers("duckdb"), 2, []string{`The user answered: "Which db?"="duckdb`}},
		{"no answer", "claude-code 2.1.197", "claude-code-2.1.197/tui-ask-compact", false, answers(""), 1, []string{no, stop, broke}},
		{"no answer", "claude-code 2.1.332", "claude-code-2.1.332/tui-ask-compact", false, eval.World{}, 1, []string{no, stop, broke}},
		{"an answer", "codex 0.171.0, local", "codex-0.171.0/tui-plan-mode", false, answers("postgres"), 2, []string{`{"answers":{"`, `":{"answers":["postgres"]}}}`}},
		{"an answer in the user's own words", "codex 0.171.0, remote", "codex-0.171.0/tui-plan-mode", false, answers("duckdb"), 2, []string{`":{"answers":["None of the above","user_note: duckdb"]}}}`}},
		{"no answer", "codex 0.171.0, remote", "codex-0.171.0/tui-plan-mode", false, answers(""), 1, []string{"aborted by user after 2.5s", "<turn_aborted>"}},
		{"an answer", "opencode 1.18.33", "opencode-1.18.33/question-plan-mode", false, answers("postgres"), 2, []string{`User has answered your questions: "Which db?"="postgres". You can now continue with the user's answers in mind.`}},
		{"no answer", "opencode 1.18.33", "opencode-1.18.33/question-plan-mode", false, answers(""), 2, []string{`="Unanswered". You can now`}},
		{"an answer", "qwen-code 0.15.10", "qwen-code-0.15.10/tui-plan-mode", false, answers("postgres"), 2, []string{"User has provided the following answers:\n\n**", "**: postgres"}},
		{"no answer", "qwen-code 0.15.10", "qwen-code-0.15.10/tui-plan-mode", false, answers(""), 1, []string{"[Operation Cancelled] Reason: User did not allow tool call"}},
		{"an answer", "gemini-cli 0.61.0", "gemini-cli-0.61.0/tui-plan-mode", false, answers("postgres"), 2, []string{`{"answers":{"0":"postgres"}}`}},
		{"an answer", "cline 3.0.65", "cline-3.0.65/tui-team-tasks", false, answers("postgres"), 2, []string{"postgres"}},

		{"a yes", "claude-code 2.1.197", "claude-code-2.1.197/tui-plan-mode", true, approves(true, ""), 2, []string{"User has approved your plan.", "Your plan has been saved to: /home/dev/.claude/plans/", "\n\n## Approved Plan (edited by user):\n# Plan\n1. alpha\n2. beta\n"}},
		{"a yes with a word", "claude-code 2.1.332", "claude-code-2.1.332/tui-plan-mode", true, approves(true, "and keep it small"), 2, []string{"User has approved your plan.", "\n\n## Approved Plan:\n# Plan\n1. alpha\n2. beta\n", "and keep it small"}},
		{"a no with a word", "claude-code 2.1.197", "claude-code-2.1.197/tui-plan-mode", true, approves(false, "use postgres in step two"), 2, []string{no, said}},
		{"a no with a word", "claude-code 2.1.332", "claude-code-2.1.332/tui-plan-mode", true, approves(false, "use postgres in step two"), 2, []string{no, said}},
		{"a no", "claude-code 2.1.332", "claude-code-2.1.332/tui-plan-mode", true, eval.World{}, 1, []string{no, stop, broke}},
		{"a yes", "opencode 1.18.33", "opencode-1.18.33/question-plan-mode", true, approves(true, ""), 2, []string{"Wrote file successfully.", "User approved switching to build agent. Wait for further instructions.", "The plan at .opencode/plans/", " has been approved, you can now edit files. Execute the plan", "<system-reminder>\nYour operational mode has changed from plan to build."}},
		{"a no with a word", "opencode 1.18.33", "opencode-1.18.33/question-plan-mode", true, approves(false, "use postgres in step two"), 2, []string{"The user dismissed this question", "use postgres in step two"}},
		{"a no", "opencode 1.18.33", "opencode-1.18.33/question-plan-mode", true, eval.World{}, 1, []string{"The user dismissed this question"}},
		{"a yes", "qwen-code 0.15.10", "qwen-code-0.15.10/tui-plan-mode", true, approves(true, ""), 2, []string{"User has approved your plan. You can now start coding."}},
		{"a no", "qwen-code 0.15.10", "qwen-code-0.15.10/tui-plan-mode", true, eval.World{}, 1, []string{"[Operation Cancelled] Reason: User did not allow tool call"}},
		{"a yes", "gemini-cli 0.61.0", "gemini-cli-0.61.0/tui-plan-mode", true, approves(true, ""), 2, []string{"Successfully created and wrote to new file: /home/dev/.gemini/tmp/", "Plan approved. Switching to Auto-Edit mode", "The approved implementation plan is stored at: /home/dev/.gemini/tmp/"}},
		{"a no with a word", "gemini-cli 0.61.0", "gemini-cli-0.61.0/tui-plan-mode", true, approves(false, "use postgres in step two"), 2, []string{"Plan rejected. User feedback: use postgres in step two\n\nThe plan is stored at: /home/dev/.gemini/tmp/", "\nRevise the plan based on the feedback."}},
	}
	for _, tt := range tests {
		t.Run(tt.manner+": "+tt.name, func(t *testing.T) {
			manners := eval.Manners()
			m := manners[slices.IndexFunc(manners, func(m eval.Manner) bool { return m.Name == tt.manner })]
			var calls []eval.Call
			if tt.plan {
				calls = m.Show("# Plan\n1. alpha\n2. beta\n")
			} else {
				calls = m.Ask("Which db?", []string{"sqlite", "postgres"})
			}
			agent, up := start(t, m, tt.world, eval.Queue(eval.Reply{Calls: calls}))
			prompt(t, agent, "Ask me.")
			if n := len(up.Requests()); n != tt.turns {
				t.Errorf("the turn has %d requests, want %d", n, tt.turns)
			}
			prompt(t, agent, "Go on.")
			got := textsOf(t, up.Requests()[len(up.Requests())-1].Body)
			var real []string
			files, err := filepath.Glob("../testdata/wire/" + tt.fixture + "/*.json")
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				raw, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				real = append(real, textsOf(t, raw)...)
			}
			for _, literal := range tt.want {
				if !holds(real, literal) {
					t.Errorf("the real agent never sent %q", literal)
				}
				if !holds(got, literal) {
					t.Errorf("the scripted agent did not send %q", literal)
				}
			}
		})
	}
}

func TestGeminiCLITakesBackATurnThatThePersonSentAway(t *testing.T) {
	m := eval.Manners()[6]
	for _, calls := range [][]eval.Call{m.Ask("Which db?", []string{"sqlite"}), m.Show("# Plan\n1. alpha\n")} {
		agent, up := start(t, m, eval.World{}, eval.Queue(eval.Reply{Text: "Hello."}, eval.Reply{Calls: calls}))
		prompt(t, agent, "First.", "Ask me.", "Go on.")
		last := up.Requests()[2].Body
		if missing, ok := inOrder(last, []string{`{"text":"First."}`, `{"text":"Hello."}`, `{"text":"Go on."}`}); !ok {
			t.Errorf("not there: %s", missing)
		}
		if bytes.Contains(last, []byte("Ask me.")) || bytes.Contains(last, []byte("alpha")) {
			t.Error("the turn is still there")
		}
	}
}

func TestClaudeCodeShowsThePlanFileAgainBehindACompaction(t *testing.T) {
	m := eval.Manners()[0]
	yes := eval.World{Approve: func(string) (bool, string) { return true, "" }}
	agent, up := start(t, m, yes, eval.Queue(eval.Reply{Calls: m.Show("# Plan\n1. alpha\n")}))
	prompt(t, agent, "Plan it.")
	if err := agent.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	prompt(t, agent, "Go on.")
	const want = "<system-reminder>\nA plan file exists from plan mode at: /home/dev/.claude/plans/import.md\n\nPlan contents:\n\n# Plan\n1. alpha\n"
	if !holds(textsOf(t, up.Requests()[3].Body), want) {
		t.Error("the plan file is not in the first request behind the compaction")
	}
}

func TestANoticeStandsBesideTheWordsAsTheAgentMarksIt(t *testing.T) {
	want := map[string]string{
		"claude-code": `{"type":"text","text":"<system-reminder>\nA note.\n</system-reminder>"},{"type":"text","text":"Go on."`,
		"codex":       `\"status\":{\"completed\":\"A note.\"}}\n</subagent_notification>"}]},{"type":"message","id":"msg_`,
		"opencode":    `"content":[{"type":"text","text":"Go on."},{"type":"text","text":"<system-reminder>\nA note.\n</system-reminder>"}]`,
		"qwen-code":   `"content":[{"type":"text","text":"<system-reminder>\nA note.\n</system-reminder>"},{"type":"text","text":"Go on."}]`,
		"cline":       `"content":"<mode_notice>A note.</mode_notice>\nGo on."`,
	}
	each(t, func(t *testing.T, m eval.Manner) {
		agent, up := start(t, m, eval.World{Notice: func() string { return "A note." }}, nil)
		prompt(t, agent, "Go on.")
		name, _, _ := strings.Cut(m.Name, " ")
		body := string(up.Requests()[0].Body)
		if literal, ok := want[name]; ok && !strings.Contains(body, literal) {
			t.Errorf("the request does not hold %s", literal)
		} else if !ok && strings.Contains(body, "A note.") { // gemini-cli and pi mark nothing
			t.Error("a text of the harness passes for one of the user")
		}
	})
}

// A model can call only what a request offers.
func TestEveryCallOfAMannerIsOfATool(t *testing.T) {
	each(t, func(t *testing.T, m eval.Manner) {
		calls := []eval.Call{{Name: m.Work}}
		if m.Plan != nil {
			now := func(s holdfast.StepStatus) []holdfast.Step { return []holdfast.Step{{Text: "a", Status: s}} }
			calls = append(calls, m.Plan(now(holdfast.StepPending), append(now(holdfast.StepInProgress), now(holdfast.StepPending)...))...)
		}
		if m.Ask != nil {
			calls = append(calls, m.Ask("Which?", []string{"this"})...)
		}
		if m.Show != nil {
			calls = append(calls, m.Show("# Plan")...)
		}
		agent, up := start(t, m, eval.World{}, nil)
		prompt(t, agent, "Hello.")
		body := string(up.Requests()[0].Body)
		_, tools, _ := strings.Cut(body, `"tools":`)
		deferred := strings.Contains(tools, `"name":"ToolSearch"`) // its names stand in a reminder
		for _, c := range calls {
			offered := strings.Contains(tools, `"name":"`+c.Name+`"`) || deferred && strings.Contains(body, `\n`+c.Name+`\n`)
			if !offered && !(deferred && strings.HasPrefix(c.Name, "Task")) {
				t.Errorf("%s is not offered", c.Name)
			}
			if !json.Valid(c.Args) && c.Name != m.Work {
				t.Errorf("%s has the arguments %s", c.Name, c.Args)
			}
		}
	})
}

func TestAStepIsNamedByItsNumberAlsoBehindTheNinth(t *testing.T) {
	long := func(status holdfast.StepStatus) []holdfast.Step {
		var steps []holdfast.Step
		for i := range 12 {
			steps = append(steps, holdfast.Step{Text: fmt.Sprint("step ", i+1), Status: holdfast.StepPending})
		}
		steps[11].Status = status
		return steps
	}
	tests := []struct {
		manner   int
		from, to []holdfast.Step
		want     string // the last call
	}{
		{0, long(holdfast.StepPending), long(holdfast.StepInProgress), `{"taskId":"12","status":"in_progress"}`},
		{0, nil, long(holdfast.StepCompleted), `{"taskId":"12","status":"completed"}`},
		{8, long(holdfast.StepPending), long(holdfast.StepInProgress), `{"action":"claim","taskId":"task_0012"}`},
		{8, nil, long(holdfast.StepCompleted), `{"action":"complete","taskId":"task_0012"}`},
	}
	for _, tt := range tests {
		m := eval.Manners()[tt.manner]
		calls := m.Plan(tt.from, tt.to)
		if want := 1 + len(tt.to) - len(tt.from); len(calls) != want {
			t.Errorf("%s: %d calls, want %d", m.Name, len(calls), want)
		}
		if got := string(calls[len(calls)-1].Args); got != tt.want {
			t.Errorf("%s: got %s, want %s", m.Name, got, tt.want)
		}
	}
}

func TestTheFormsOfScenariosAndMannersAreTheSame(t *testing.T) {
	scenarios, manners := eval.Scenarios(), eval.Manners()
	if len(scenarios) != 10 || len(manners) != 10 {
		t.Fatalf("%d scenarios, %d manners", len(scenarios), len(manners))
	}
	for i, m := range manners {
		if s := scenarios[i]; s.Name != m.Name || s.Protocol != m.Protocol {
			t.Errorf("the scenario %d is %s, the manner %s", i, s.Name, m.Name)
		}
		if m.Opaque != strings.HasSuffix(m.Name, "remote") {
			t.Errorf("%s: opaque is %v", m.Name, m.Opaque)
		}
	}
}
