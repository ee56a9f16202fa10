package main

import (
	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// claudeFull is usage that makes it compact before its next turn, of the window
// that its environment sets.
const claudeFull = 98_000

// claudeCase is a session with an automatic and a manual compaction.
func claudeCase(name, version string, script []eval.Reply, env ...string) agentCase {
	const session = "5f0c2f52-9d0e-4f4e-8a51-6b1f6f6f0a01"
	ask := func(prompt string) start {
		return func(string) []string {
			args := []string{"--model", "claude-sonnet-4-5", "--permission-mode", "bypassPermissions", "-p", "--output-format", "json"}
			return append(args, "--resume", session, prompt)
		}
	}
	begin := func(prompt string) start {
		return func(string) []string {
			args := ask(prompt)("")
			args[len(args)-3] = "--session-id"
			return args
		}
	}
	return agentCase{
		name: name, agent: "claude-code", pkg: claudePackage(version), script: script,
		drive: inTurn(
			begin(firstPrompt), ask("Go on."), ask("What is next? Go on."),
			ask("/compact"), ask("Go on with the next one."),
		),
		plans:   [][]holdfast.Step{first, second},
		prepare: func(desk) error { return nil },
		env: func(base string) []string {
			return append([]string{
				"ANTHROPIC_BASE_URL=" + base, "ANTHROPIC_API_KEY=sk-ant-dummy", "IS_SANDBOX=1", "CLAUDE_CODE_AUTO_COMPACT_WINDOW=100000",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
			}, env...)
		},
	}
}

// claudeSession is the script around the calls that state the plan.
func claudeSession(plan, atFirst, atSecond []eval.Reply) []eval.Reply {
	bash := call("Bash", fields{"command": "echo checked", "description": "Check"})
	var script []eval.Reply
	script = append(script, plan...)
	script = append(script, bash, say("The plan is made, and the work has begun.", small))
	script = append(script, atFirst...)
	script = append(script, say("That part is finished.", claudeFull))
	// here the agent compacts by itself
	script = append(script, bash)
	script = append(script, atSecond...)
	script = append(script, say("Another part is finished.", small))
	// here it is told to
	return append(script, bash, say("It goes well.", small))
}

func claudeTasks() []eval.Reply {
	update := func(id string, status holdfast.StepStatus) eval.Reply {
		return call("TaskUpdate", fields{"taskId": id, "status": status})
	}
	var plan []eval.Reply
	for _, s := range steps {
		plan = append(plan, call("TaskCreate", fields{"subject": s, "description": "As discussed.", "activeForm": "Working"}))
	}
	return claudeSession(append(plan, update("1", working)),
		[]eval.Reply{update("1", done), update("2", working)},
		[]eval.Reply{update("2", done), update("3", working)})
}

func claudeTodos() []eval.Reply {
	write := func(plan []holdfast.Step) []eval.Reply {
		todos := []fields{}
		for _, s := range plan {
			todos = append(todos, fields{"content": s.Text, "status": s.Status, "activeForm": "Working"})
		}
		return []eval.Reply{call("TodoWrite", fields{"todos": todos})}
	}
	return claudeSession(write(planned), write(first), write(second))
}
