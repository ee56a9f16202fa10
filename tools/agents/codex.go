package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// codexFull is usage that makes it compact before its next turn.
const codexFull = 400_000

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
		drive: inTurn(
			begin(firstPrompt), ask("Go on."), ask("What is next? Go on."),
			ask("Go on with the next one."), ask("And now?"),
		),
		plans: [][]holdfast.Step{first, second},
		prepare: func(d desk) error {
			text := "model = \"gpt-5.5\"\ncheck_for_update_on_startup = false\n" + fmt.Sprintf(provider, d.base) +
				"[features]\ndaemon_auto_start = false\n[tools]\nupdate_plan = { enabled = true }\n[analytics]\nenabled = false\n" +
				fmt.Sprintf("[projects.%q]\ntrust_level = \"trusted\"\n", d.work)
			return d.put(".codex/config.toml", text)
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
