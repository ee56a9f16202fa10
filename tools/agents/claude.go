package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// claudeFull is usage that makes it compact before its next turn, of the window
// that its environment sets.
const claudeFull = 98_000

var claudeRun = call("Bash", fields{"command": "echo checked", "description": "Check"})

var claudeArgs = []string{"--model", "claude-sonnet-4-5", "--permission-mode", "bypassPermissions", "-p", "--output-format", "json"}

const claudeID = "5f0c2f52-9d0e-4f4e-8a51-6b1f6f6f0a01"

// claudeCase is a session with an automatic and a manual compaction.
func claudeCase(name, version string, script []eval.Reply, env ...string) agentCase {
	ask := func(prompt string) start {
		return func(string) []string {
			return append(slices.Clone(claudeArgs), "--resume", claudeID, prompt)
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
	var script []eval.Reply
	script = append(script, plan...)
	script = append(script, claudeRun, say("The plan is made, and the work has begun.", small))
	script = append(script, atFirst...)
	script = append(script, say("That part is finished.", claudeFull))
	// here the agent compacts by itself
	script = append(script, claudeRun)
	script = append(script, atSecond...)
	script = append(script, say("Another part is finished.", small))
	// here it is told to
	return append(script, claudeRun, say("It goes well.", small))
}

func claudeTasks() []eval.Reply {
	return claudeSession(claudePlan(),
		[]eval.Reply{claudeUpdate("1", done), claudeUpdate("2", working)},
		[]eval.Reply{claudeUpdate("2", done), claudeUpdate("3", working)})
}

func claudeTodos() []eval.Reply {
	return claudeSession(claudeWrite(planned), claudeWrite(first), claudeWrite(second))
}

// claudePlan makes the plan task by task.
func claudePlan() []eval.Reply {
	var plan []eval.Reply
	for _, s := range steps {
		plan = append(plan, claudeCreate(s))
	}
	return append(plan, claudeUpdate("1", working))
}

func claudeCreate(step string) eval.Reply {
	return call("TaskCreate", fields{"subject": step, "description": "As discussed.", "activeForm": "Working"})
}

func claudeUpdate(id string, status holdfast.StepStatus) eval.Reply {
	return call("TaskUpdate", fields{"taskId": id, "status": status})
}

// claudeWrite states the whole plan.
func claudeWrite(plan []holdfast.Step) []eval.Reply {
	return []eval.Reply{call("TodoWrite", fields{"todos": listed(plan, func(_ int, s holdfast.Step) fields {
		return fields{"content": s.Text, "status": s.Status, "activeForm": "Working"}
	})})}
}

// claudeSitting starts the agent anew for every prompt, as print mode does.
type claudeSitting struct {
	desk
	at     string // the entry to go on behind; "": the newest
	before string // the newest entry before the last prompt
}

func sitAtClaude(_ context.Context, d desk) (sitting, error) { return &claudeSitting{desk: d}, nil }

func (c *claudeSitting) stop() {}

func (c *claudeSitting) say(ctx context.Context, prompt string) error {
	paths, err := filepath.Glob(filepath.Join(c.home, ".claude", "projects", "*", claudeID+".jsonl"))
	if err != nil {
		return err
	}
	args := append(slices.Clone(claudeArgs), "--session-id", claudeID)
	if len(paths) > 0 {
		args[len(args)-2] = "--resume"
		record, err := os.ReadFile(paths[0])
		if err != nil {
			return err
		}
		c.before = newestEntry(record)
	}
	if c.at != "" {
		args = append(args, "--resume-session-at", c.at)
	}
	c.at = ""
	_, err = c.run(ctx, append(args, prompt)...)
	return err
}

func (c *claudeSitting) back(context.Context) error {
	c.at = c.before
	return nil
}

func (c *claudeSitting) compact(ctx context.Context) error { return c.say(ctx, "/compact") }

// newestEntry is the id of the newest message in the agent's own record of a session;
// "" for none.
func newestEntry(record []byte) (id string) {
	for line := range bytes.Lines(record) {
		var e struct {
			Type string `json:"type"`
			UUID string `json:"uuid"`
		}
		if json.Unmarshal(line, &e) == nil && (e.Type == "user" || e.Type == "assistant") {
			id = e.UUID
		}
	}
	return id
}
