package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// Usage that makes an agent compact before its next turn, and usage that does not.
const (
	claudeFull = 98_000 // of the window that claudeEnv sets
	codexFull  = 400_000
	small      = 12_000
)

// agentCase is one agent in one setting, and its session.
type agentCase struct {
	name  string // unique
	agent string // for --only
	pkg   npmPackage
	path  string // of the binary, once installed
	// starts are the command lines of the session in order, without the binary.
	starts []start
	script []eval.Reply
	// plans is the plan as it stands at each compaction.
	plans [][]holdfast.Step
	// prepare writes what the agent needs into its home.
	prepare func(home, work, base string) error
	env     func(base string) []string
}

// start is one start of the agent: session is the id that an earlier start
// printed, empty at the first.
type start func(session string) []string

func cases() []agentCase {
	return []agentCase{
		claudeCase("claude-code 2.1.197", "2.1.197", claudeTasks()),
		claudeCase("claude-code 2.1.332", "2.1.332", claudeTasks()),
		claudeCase("claude-code 2.1.197, TodoWrite", "2.1.197", claudeTodos(), "CLAUDE_CODE_ENABLE_TASKS=0"),
		codexCase("codex 0.171.0, local", `model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "%s/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
`),
		codexCase("codex 0.171.0, remote", `openai_base_url = "%s/v1"
`),
	}
}

// steps of the plan; no prompt names them.
var steps = []string{
	"Put the reader behind an interface",
	"Port the column mapping",
	"Record golden files",
	"Switch the nightly import over",
}

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

func call(name string, args any) eval.Reply {
	b, err := json.Marshal(args)
	if err != nil {
		panic(err) // the arguments are literals of this file
	}
	return eval.Reply{Calls: []eval.Call{{Name: name, Args: b}}, InputTokens: small}
}

func say(text string, tokens int) eval.Reply { return eval.Reply{Text: text, InputTokens: tokens} }

type fields map[string]any

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
		starts: []start{
			begin("Please rework the nightly import, step by step."), ask("Go on."), ask("What is next? Go on."),
			ask("/compact"), ask("Go on with the next one."),
		},
		plans:   [][]holdfast.Step{first, second},
		prepare: func(string, string, string) error { return nil },
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

// codexCase is a session with two automatic compactions. provider is the part of
// the configuration that names the base URL.
func codexCase(name, provider string) agentCase {
	update := func(plan []holdfast.Step) eval.Reply {
		list := []fields{}
		for _, s := range plan {
			list = append(list, fields{"step": s.Text, "status": s.Status})
		}
		return call("update_plan", fields{"plan": list})
	}
	run := call("exec_command", fields{"cmd": "echo checked"})
	base := []string{"exec", "--skip-git-repo-check", "--sandbox", "danger-full-access", "--json"}
	begin := func(prompt string) start {
		return func(string) []string { return append(base[:len(base):len(base)], prompt) }
	}
	ask := func(prompt string) start {
		return func(session string) []string { return append(base[:len(base):len(base)], "resume", session, prompt) }
	}
	return agentCase{
		name: name, agent: "codex", pkg: codexPackage("0.171.0"),
		script: []eval.Reply{
			update(planned), run, say("The plan is made, and the work has begun.", small),
			update(first), say("That part is finished.", codexFull),
			run, update(second), say("Another part is finished.", codexFull),
			run, say("It goes well.", small),
			say("All is well.", small),
		},
		starts: []start{
			begin("Please rework the nightly import, step by step."), ask("Go on."), ask("What is next? Go on."),
			ask("Go on with the next one."), ask("And now?"),
		},
		plans: [][]holdfast.Step{first, second},
		prepare: func(home, work, base string) error {
			text := "model = \"gpt-5.5\"\ncheck_for_update_on_startup = false\n" + fmt.Sprintf(provider, base) +
				"[features]\ndaemon_auto_start = false\n[tools]\nupdate_plan = { enabled = true }\n[analytics]\nenabled = false\n" +
				fmt.Sprintf("[projects.%q]\ntrust_level = \"trusted\"\n", work)
			dir := filepath.Join(home, ".codex")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600)
		},
		env: func(string) []string { return []string{"SCRIPTED_KEY=sk-dummy", "CODEX_API_KEY=sk-dummy"} },
	}
}

// sessionOf finds the id that an agent printed for its session: codex's first
// line of JSON names it. Agents whose id is chosen by the case need none.
func sessionOf(output []byte) string {
	for line := range strings.Lines(string(output)) {
		var e struct {
			ThreadID string `json:"thread_id"`
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.ThreadID != "" {
			return e.ThreadID
		}
	}
	return ""
}
