package eval

import (
	"context"
	"fmt"
	"net/http"
	"slices"

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

// Scenarios returns one session per form of Manners.
func Scenarios() []Scenario {
	var all []Scenario
	for _, m := range Manners() {
		all = append(all, Scenario{m.Name, m.Protocol, phases(m), m.New})
	}
	return all
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
func phases(m Manner) []phase {
	at := states
	if m.Forward {
		at = forward
	}
	looks := 0
	run := func() Reply {
		looks++
		return Reply{
			Text:  fmt.Sprintf("Let me look at it. This is look number %d at the importer, with all tests of the package run once more.", looks),
			Calls: []Call{{Name: m.Work, Args: args(object{{"command", "go test ./..."}, {"cmd", "go test ./..."}})}},
		}
	}
	end := func(text string) Reply {
		return Reply{Text: fmt.Sprintf("%s It took %d looks at the code until now, and nothing outside of the importer was changed.", text, looks)}
	}
	var out []phase
	var plan []holdfast.Step
	for i, words := range prompts {
		if i == len(at) {
			out = append(out, phase{prompts: words, replies: []Reply{run(), end("Done for today.")}})
			break
		}
		p := phase{prompts: words, compacts: true}
		if !m.KeepsWords {
			p.words = []string{wordPort, wordBranch}[:min(i+1, 2)]
		}
		if m.Plan != nil {
			p.plan = planAt(at[i])
			if plan == nil { // the model makes the plan, then works on it
				plan = planAt([4]holdfast.StepStatus{pending, pending, pending, pending})
				p.replies = append(p.replies, Reply{Text: "First the plan.", Calls: m.Plan(nil, plan)})
			}
		}
		p.replies = append(p.replies, run(), end("This part of the work is under way."))
		if m.Plan != nil {
			p.replies = append(p.replies, Reply{Calls: m.Plan(plan, p.plan)})
		}
		p.replies = append(p.replies, run(), end("The tests pass."))
		if m.KeepsTurn {
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
