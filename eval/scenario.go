package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/holdfast-dev/holdfast"
)

// Scenario is a long session of one agent, with a compaction after each phase
// of the work: on one plan, and with words of the user that the work needs.
type Scenario struct {
	// Name is the agent and the form of its compaction or protocol.
	Name     string
	Protocol holdfast.Protocol
	phases   []phase
	agent    func(client *http.Client, base, seed string) Agent
}

// phase is what happens up to one compaction, or behind the last.
type phase struct {
	prompts  []string
	replies  []Reply
	plan     []holdfast.Step // as it stands at the end
	words    []string        // of the user so far, that the agent does not keep
	compacts bool
}

// The plan of every scenario. The user's prompts never name its steps: some
// agents keep the user's words, and these must not pass for the plan.
const (
	stepReader  = "Put the CSV reader behind the Source interface"
	stepMapping = "Port the column mapping to typed fields"
	stepGolden  = "Record golden files for three tenants"
	stepSwitch  = "Switch the nightly import to the new reader"
)

const (
	pending   = holdfast.StepPending
	working   = holdfast.StepInProgress
	completed = holdfast.StepCompleted
)

// states are the statuses of the steps at the three compactions. Before the
// third, a finished step is opened again; forward is for an agent that cannot.
var (
	states = [][4]holdfast.StepStatus{
		{completed, working, pending, pending},
		{completed, completed, working, pending},
		{completed, pending, working, pending},
	}
	forward = [][4]holdfast.StepStatus{
		{completed, working, pending, pending},
		{completed, completed, working, pending},
		{completed, completed, completed, working},
	}
)

// The values that the user names in the first two phases.
const (
	wordPort   = "port 48213"
	wordBranch = "release/4.17-import"
)

var prompts = [][]string{
	{"The nightly import is slow and hard to change. Please rework it, step by step, with a plan. The test database listens on " + wordPort + ".", "Looks right so far, go on."},
	{"Keep going, and run the tests after every change. Commit to " + wordBranch + " only.", "Good. Next."},
	{"One of the finished steps has a bug with empty columns, please take it up again later.", "Go on."},
	{"What is next? Go on with it."},
}

// habits is what sets the session of one agent apart.
type habits struct {
	// calls writes the tool calls that take the plan from one state to the next.
	// Nil: the agent has no plan.
	calls  func(from, to []holdfast.Step) []Call
	work   string                   // the agent's tool for commands
	states [][4]holdfast.StepStatus // at the compactions
	// keepsTurn: the agent keeps its newest turn behind a compaction, which must
	// not be one that holds the plan.
	keepsTurn bool
	// keepsWords: the agent keeps what the user said.
	keepsWords bool
}

// Scenarios returns one session per captured form: claude-code with its Task
// tools among the tools and deferred, codex with a summary in words and with an
// opaque item, pi in two protocols, and one of each other agent.
func Scenarios() []Scenario {
	return []Scenario{
		{"claude-code 2.1.197", holdfast.Anthropic, phases(habits{calls: taskCalls, work: "Bash", states: states}), claude(false)},
		{"claude-code 2.1.332", holdfast.Anthropic, phases(habits{calls: taskCalls, work: "Bash", states: states}), claude(true)},
		{"codex 0.171.0, local", holdfast.Responses, phases(habits{calls: planCalls, work: "exec_command", states: states, keepsWords: true}), codex(false)},
		{"codex 0.171.0, remote", holdfast.Responses, phases(habits{calls: planCalls, work: "exec_command", states: states, keepsWords: true}), codex(true)},
		{"opencode 1.18.33", holdfast.Chat, phases(habits{calls: openCodeCalls, work: "bash", states: states}), func(c *http.Client, base, seed string) Agent { return NewOpenCode(c, base, seed) }},
		{"qwen-code 0.15.10", holdfast.Chat, phases(habits{calls: qwenCalls, work: "run_shell_command", states: states, keepsTurn: true}), func(c *http.Client, base, _ string) Agent { return NewQwenCode(c, base) }},
		{"gemini-cli 0.61.0", holdfast.Gemini, phases(habits{calls: geminiCalls, work: "run_shell_command", states: states, keepsTurn: true}), func(c *http.Client, base, _ string) Agent { return NewGeminiCLI(c, base) }},
		{"pi 0.74.2, chat", holdfast.Chat, phases(habits{work: "bash", states: states, keepsTurn: true}), pi(false)},
		{"cline 3.0.65", holdfast.Chat, phases(habits{calls: teamCalls, work: "run_commands", states: forward, keepsTurn: true}), func(c *http.Client, base, _ string) Agent { return NewCline(c, base) }},
		{"pi 0.74.2, responses", holdfast.Responses, phases(habits{work: "bash", states: states, keepsTurn: true}), pi(true)},
	}
}

func claude(deferred bool) func(*http.Client, string, string) Agent {
	return func(c *http.Client, base, seed string) Agent { return NewClaudeCode(c, base, seed, deferred) }
}

func codex(remote bool) func(*http.Client, string, string) Agent {
	return func(c *http.Client, base, seed string) Agent { return NewCodex(c, base, seed, remote) }
}

func pi(responses bool) func(*http.Client, string, string) Agent {
	return func(c *http.Client, base, seed string) Agent { return NewPi(c, base, seed, responses) }
}

// Script is what the model answers in the session.
func (s Scenario) Script() Script {
	var all []Reply
	for _, p := range s.phases {
		all = append(all, p.replies...)
	}
	return Queue(all...)
}

// Plans is the plan as it stands at each compaction; empty for an agent that
// has none.
func (s Scenario) Plans() [][]holdfast.Step {
	var all [][]holdfast.Step
	for _, p := range s.phases {
		if p.compacts {
			all = append(all, p.plan)
		}
	}
	return all
}

// Words are what the model has to know of the user's words after each
// compaction; empty for an agent that keeps them itself.
func (s Scenario) Words() [][]string {
	var all [][]string
	for _, p := range s.phases {
		if p.compacts {
			all = append(all, p.words)
		}
	}
	return all
}

// Judge judges the turns behind each compaction of the session: its plan and
// its words. Another number of compactions is an error.
func (s Scenario) Judge(requests []Request) ([]Epoch, error) {
	return judgeEpochs(requests, s.Plans(), s.Words())
}

// Run drives the session against the base URL. The seed makes its identifiers;
// what stands at base has to answer by the scenario's Script in the end.
func (s Scenario) Run(ctx context.Context, client *http.Client, base, seed string) error {
	agent := s.agent(client, base, seed+s.Name)
	for _, p := range s.phases {
		for _, text := range p.prompts {
			if err := agent.Prompt(ctx, text); err != nil {
				return err
			}
		}
		if !p.compacts {
			continue
		}
		if err := agent.Compact(ctx); err != nil {
			return err
		}
	}
	return nil
}

// phases builds the session. Answers are of a length by which histories can be
// known, and differ; only the first is short, as the first often are.
func phases(h habits) []phase {
	looks := 0
	run := func() Reply {
		looks++
		return Reply{
			Text:  fmt.Sprintf("Let me look at it. This is look number %d at the importer, with all tests of the package run once more.", looks),
			Calls: []Call{{Name: h.work, Args: args(object{{"command", "go test ./..."}, {"cmd", "go test ./..."}})}},
		}
	}
	end := func(text string) Reply {
		return Reply{Text: fmt.Sprintf("%s It took %d looks at the code until now, and nothing outside of the importer was changed.", text, looks)}
	}
	var out []phase
	var plan []holdfast.Step
	for i, words := range prompts {
		if i == len(h.states) {
			out = append(out, phase{prompts: words, replies: []Reply{run(), end("Done for today.")}})
			break
		}
		p := phase{prompts: words, compacts: true}
		if !h.keepsWords {
			p.words = []string{wordPort, wordBranch}[:min(i+1, 2)]
		}
		if h.calls != nil {
			p.plan = planAt(h.states[i])
			if plan == nil { // the model makes the plan, then works on it
				plan = planAt([4]holdfast.StepStatus{pending, pending, pending, pending})
				p.replies = append(p.replies, Reply{Text: "First the plan.", Calls: h.calls(nil, plan)})
			}
		}
		p.replies = append(p.replies, run(), end("This part of the work is under way."))
		if h.calls != nil {
			p.replies = append(p.replies, Reply{Calls: h.calls(plan, p.plan)})
		}
		p.replies = append(p.replies, run(), end("The tests pass."))
		if h.keepsTurn {
			p.prompts = append(slices.Clip(words), fmt.Sprintf("Thanks for part %d. Is there anything that I should look at?", i+1))
			p.replies = append(p.replies, end("No, there is nothing."))
		}
		plan = p.plan
		out = append(out, p)
	}
	return out
}

func planAt(status [4]holdfast.StepStatus) []holdfast.Step {
	var plan []holdfast.Step
	for i, text := range []string{stepReader, stepMapping, stepGolden, stepSwitch} {
		plan = append(plan, holdfast.Step{Text: text, Status: status[i]})
	}
	return plan
}

// taskCalls are claude-code's: one TaskCreate per new step, one TaskUpdate per
// changed status, which names the step only by its number.
func taskCalls(from, to []holdfast.Step) []Call {
	var out []Call
	for i, step := range to {
		switch {
		case i >= len(from):
			out = append(out, Call{Name: "TaskCreate", Args: args(object{
				{"subject", step.Text}, {"description", "As discussed."}, {"activeForm", "Working on it"},
			})})
		case from[i].Status != step.Status:
			out = append(out, Call{Name: "TaskUpdate", Args: args(object{
				{"taskId", string(rune('1' + i))}, {"status", string(step.Status)},
			})})
		}
	}
	return out
}

// planCalls is codex's: the whole plan in one call.
func planCalls(_, to []holdfast.Step) []Call {
	steps := []object{}
	for _, step := range to {
		steps = append(steps, object{{"step", step.Text}, {"status", string(step.Status)}})
	}
	return []Call{{Name: "update_plan", Args: args(object{{"plan", steps}})}}
}

// todoCalls is a whole list in one call, in the form that one agent gives it.
func todoCalls(tool string, step func(i int, s holdfast.Step) object) func(_, to []holdfast.Step) []Call {
	return func(_, to []holdfast.Step) []Call {
		todos := []object{}
		for i, s := range to {
			todos = append(todos, step(i, s))
		}
		return []Call{{Name: tool, Args: args(object{{"todos", todos}})}}
	}
}

var (
	openCodeCalls = todoCalls("todowrite", func(_ int, s holdfast.Step) object {
		return object{{"content", s.Text}, {"status", string(s.Status)}, {"priority", "high"}}
	})
	qwenCalls = todoCalls("todo_write", func(i int, s holdfast.Step) object {
		return object{{"id", strconv.Itoa(i + 1)}, {"content", s.Text}, {"status", string(s.Status)}}
	})
	geminiCalls = todoCalls("write_todos", func(_ int, s holdfast.Step) object {
		return object{{"description", s.Text}, {"status", string(s.Status)}}
	})
)

// teamCalls are cline's: one call per new step and per changed status, which
// names the step only by its id.
func teamCalls(from, to []holdfast.Step) []Call {
	var out []Call
	for i, step := range to {
		change := object{{"action", "complete"}, {"taskId", fmt.Sprintf("task_%04d", i+1)}}
		switch {
		case i >= len(from):
			change = object{{"action", "create"}, {"title", step.Text}, {"description", "As discussed."}}
		case from[i].Status == step.Status:
			continue
		case step.Status == working:
			change[0].value = "claim"
		}
		out = append(out, Call{Name: "team_task", Args: args(change)})
	}
	return out
}

func args(o object) json.RawMessage { return encode(o) }
