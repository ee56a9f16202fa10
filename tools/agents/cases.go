package main

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// small is usage that makes no agent compact.
const small = 12_000

// agentCase is one agent in one setting, and its session.
type agentCase struct {
	name  string // unique
	agent string // for --only
	pkg   npmPackage
	path  string // of the binary or script, once installed
	// node is the version of Node.js that it needs, from npm as well; "": what is there.
	node     string
	nodePath string
	// drive plays the session: every start of the agent, every prompt.
	drive func(context.Context, desk) error
	// script is what the model answers, turn by turn.
	script []eval.Reply
	// plans is the plan as it stands at each compaction.
	plans [][]holdfast.Step
	// values stand in the first prompt, and must survive where the agent has no
	// plan tool; its plans are empty then.
	values []string
	// thinks: its turns begin with thinking that is bound to what stands before it.
	thinks bool
	// prepare writes what the agent needs into its home.
	prepare func(desk) error
	env     func(base string) []string
	// taken is what the person takes back before each compaction, and must be gone
	// behind it. Empty: nothing is taken back.
	taken [][]string
}

// cases lists the slowest first: two run at a time.
func cases() []agentCase {
	return slices.Concat([]agentCase{
		geminiCase(),
		qwenCase("0.15.10", 990_000),
		onNode22(qwenCase("0.24.4", 900_000)),
		clineCase(),
		openCodeCase(),
		claudeCase("claude-code 2.1.197", "2.1.197", claudeTasks()),
		claudeCase("claude-code 2.1.332", "2.1.332", claudeTasks()),
		claudeCase("claude-code 2.1.197, TodoWrite", "2.1.197", claudeTodos(), "CLAUDE_CODE_ENABLE_TASKS=0"),
	}, rewinds(), []agentCase{
		codexCase("codex 0.171.0, local", codexLocal),
		codexCase("codex 0.171.0, remote", codexRemote),
		piCase("0.74.2", "chat", "openai-completions"),
		piCase("0.74.2", "responses", "openai-responses"),
		onNode22(piCase("1.6.0", "chat", "openai-completions")),
	})
}

// onNode22 is a session of a version that needs Node.js 22.
func onNode22(c agentCase) agentCase {
	c.node = "22.23.5"
	return c
}

// steps of the plan; no prompt names them.
var steps = []string{
	"Put the reader behind an interface",
	"Port the column mapping",
	"Record golden files",
	"Switch the nightly import over",
}

// What the person types first, with a choice that no tool call states.
const (
	firstPrompt = "Please rework the nightly import, step by step. " + choice
	choice      = chosen + ", because the auditors read it."
	chosen      = "Never write to the table audit_log"
)

const (
	pending = holdfast.StepPending
	working = holdfast.StepInProgress
	done    = holdfast.StepCompleted
)

// planAt is the plan with a status for each step.
func planAt(status ...holdfast.StepStatus) []holdfast.Step {
	plan := make([]holdfast.Step, len(steps))
	for i := range steps {
		plan[i] = holdfast.Step{Text: steps[i], Status: status[i]}
	}
	return plan
}

// The plan when it is made, and at the two compactions.
var (
	planned = planAt(working, pending, pending, pending)
	first   = planAt(done, working, pending, pending)
	second  = planAt(done, done, working, pending)
)

// listed is the plan in the form of a tool that takes the whole list.
func listed(plan []holdfast.Step, form func(i int, s holdfast.Step) fields) []fields {
	list := make([]fields, len(plan))
	for i, s := range plan {
		list[i] = form(i, s)
	}
	return list
}

func call(name string, args any) eval.Reply {
	b, err := json.Marshal(args)
	if err != nil {
		panic(err) // the arguments are literals of this package
	}
	return eval.Reply{Calls: []eval.Call{{Name: name, Args: b}}, InputTokens: small}
}

func say(text string, tokens int) eval.Reply { return eval.Reply{Text: text, InputTokens: tokens} }

// using is a reply with another usage.
func using(tokens int, r eval.Reply) eval.Reply {
	r.InputTokens = tokens
	return r
}

type fields map[string]any
