package eval

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/holdfast-dev/holdfast"
)

// Scenario is a long session of one agent on one plan, with a compaction after
// each phase of the work.
type Scenario struct {
	// Name is the agent and the form of its compaction.
	Name     string
	Protocol holdfast.Protocol
	phases   []phase
	agent    func(client *http.Client, base, seed string) Agent
}

// phase is what happens up to one compaction.
type phase struct {
	prompts []string
	replies []Reply
	plan    []holdfast.Step // as it stands at the end
}

// The plan of every scenario. The user's prompts never name its steps: some
// agents keep the user's words, and these must not pass for the plan.
const (
	stepReader  = "Put the CSV reader behind the Source interface"
	stepMapping = "Port the column mapping to typed fields"
	stepGolden  = "Record golden files for three tenants"
	stepSwitch  = "Switch the nightly import to the new reader"
)

// states are the statuses of the steps at the three compactions. Before the
// third, a finished step is opened again.
var states = [][4]holdfast.StepStatus{
	{holdfast.StepCompleted, holdfast.StepInProgress, holdfast.StepPending, holdfast.StepPending},
	{holdfast.StepCompleted, holdfast.StepCompleted, holdfast.StepInProgress, holdfast.StepPending},
	{holdfast.StepCompleted, holdfast.StepPending, holdfast.StepInProgress, holdfast.StepPending},
}

var prompts = [][]string{
	{"The nightly import is slow and hard to change. Please rework it, step by step, with a plan.", "Looks right so far, go on."},
	{"Keep going, and run the tests after every change.", "Good. Next."},
	{"One of the finished steps has a bug with empty columns, please take it up again later.", "Go on."},
	{"What is next? Go on with it."},
}

// Scenarios returns one session per captured form: claude-code with its Task
// tools among the tools and deferred, codex with a summary in words and with an
// opaque item.
func Scenarios() []Scenario {
	return []Scenario{
		{"claude-code 2.1.197", holdfast.Anthropic, phases(taskCalls, "Bash"), claude(false)},
		{"claude-code 2.1.332", holdfast.Anthropic, phases(taskCalls, "Bash"), claude(true)},
		{"codex 0.171.0, local", holdfast.Responses, phases(planCalls, "exec_command"), codex(false)},
		{"codex 0.171.0, remote", holdfast.Responses, phases(planCalls, "exec_command"), codex(true)},
	}
}

func claude(deferred bool) func(*http.Client, string, string) Agent {
	return func(c *http.Client, base, seed string) Agent { return NewClaudeCode(c, base, seed, deferred) }
}

func codex(remote bool) func(*http.Client, string, string) Agent {
	return func(c *http.Client, base, seed string) Agent { return NewCodex(c, base, seed, remote) }
}

// Script is what the model answers in the session.
func (s Scenario) Script() Script {
	var all []Reply
	for _, p := range s.phases {
		all = append(all, p.replies...)
	}
	return Queue(all...)
}

// Plans is the plan as it stands at each compaction.
func (s Scenario) Plans() [][]holdfast.Step {
	var all [][]holdfast.Step
	for _, p := range s.phases {
		if p.plan != nil {
			all = append(all, p.plan)
		}
	}
	return all
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
		if p.plan == nil {
			continue
		}
		if err := agent.Compact(ctx); err != nil {
			return err
		}
	}
	return nil
}

// phases builds the session: calls writes the tool calls that take the plan
// from one state to the next, work is the agent's tool for commands.
func phases(calls func(from, to []holdfast.Step) []Call, work string) []phase {
	run := Reply{Text: "Let me look at it.", Calls: []Call{{Name: work, Args: args(object{{"command", "go test ./..."}, {"cmd", "go test ./..."}})}}}
	var out []phase
	var plan []holdfast.Step
	for i, words := range prompts {
		if i == len(states) {
			out = append(out, phase{prompts: words, replies: []Reply{run, {Text: "Done for today."}}})
			break
		}
		p := phase{prompts: words, plan: planAt(states[i])}
		if plan == nil { // the model makes the plan, then works on it
			plan = planAt([4]holdfast.StepStatus{holdfast.StepPending, holdfast.StepPending, holdfast.StepPending, holdfast.StepPending})
			p.replies = append(p.replies, Reply{Text: "First the plan.", Calls: calls(nil, plan)})
		}
		p.replies = append(p.replies,
			run, Reply{Text: "This part of the work is under way."},
			Reply{Calls: calls(plan, p.plan)}, run, Reply{Text: "The tests pass."})
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

func args(o object) json.RawMessage { return encode(o) }
