package main

import (
	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// qwenCase is a session with a compaction by hand and one in the middle of a
// turn, resumed by every start but not behind the second: what it takes up then
// differs from run to run. full is usage that makes it compact in the middle of a turn,
// of the window that it knows the model to have.
func qwenCase(version string, full int) agentCase {
	const session = "5f0c2f52-9d0e-4f4e-8a51-6b1f6f6f0a02"
	ask := func(option, prompt string) start {
		return func(string) []string {
			return []string{"--yolo", "--auth-type", "openai", option, session, prompt}
		}
	}
	write := func(plan []holdfast.Step) eval.Reply {
		return call("todo_write", fields{"todos": listed(plan, func(i int, s holdfast.Step) fields {
			return fields{"id": string(rune('1' + i)), "content": s.Text, "status": s.Status}
		})})
	}
	look := call("glob", fields{"pattern": "*.sql"}) // its shell takes seconds to begin
	return agentCase{
		name: "qwen-code " + version, agent: "qwen-code",
		pkg: npmPackage{"@qwen-code/qwen-code", version, "@qwen-code/qwen-code/cli.js"},
		script: []eval.Reply{
			write(planned), look, write(first), say("The plan is made, and the first part is finished.", small),
			// here it is told to compact
			write(second), say("Another part is finished.", small),
			using(full, look),
			// here it compacts by itself
			look, say("It goes well.", small),
		},
		drive: inTurn(
			ask("--session-id", firstPrompt), ask("--resume", "/compress"),
			ask("--resume", "Go on."), ask("--resume", "What is next? Go on."),
		),
		plans: [][]holdfast.Step{first, second},
		prepare: func(d desk) error {
			return d.put(".qwen/settings.json", `{"security":{"auth":{"selectedType":"openai"}},"privacy":{"usageStatisticsEnabled":false},`+
				`"telemetry":{"enabled":false},"general":{"enableAutoUpdate":false},"memory":{"enableManagedAutoMemory":false},"tools":{"todoWrite":{"enabled":true}},`+
				`"model":{"name":"qwen3-coder-plus"}}`)
		},
		env: func(base string) []string {
			return []string{"OPENAI_API_KEY=sk-dummy", "OPENAI_BASE_URL=" + base + "/v1", "OPENAI_MODEL=qwen3-coder-plus"}
		},
	}
}
