package main

import (
	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// geminiFull is usage that makes it compact in the middle of a turn.
const geminiFull = 900_000

// geminiCase is a session with two compactions in the middle of a turn, each of
// two requests, resumed by every start.
func geminiCase() agentCase {
	ask := func(prompt string, more ...string) start {
		return func(string) []string {
			return append([]string{"-m", "gemini-2.5-pro", "--approval-mode", "yolo", "-p", prompt}, more...)
		}
	}
	again := func(prompt string) start { return ask(prompt, "--resume", "latest") }
	write := func(plan []holdfast.Step) eval.Reply {
		return call("write_todos", fields{"todos": listed(plan, func(_ int, s holdfast.Step) fields {
			return fields{"description": s.Text, "status": s.Status}
		})})
	}
	run := call("run_shell_command", fields{"command": "echo checked", "description": "Check"})
	return agentCase{
		name: "gemini-cli 0.61.0", agent: "gemini-cli",
		pkg: npmPackage{"@google/gemini-cli", "0.61.0", "@google/gemini-cli/bundle/gemini.js"},
		script: []eval.Reply{
			write(planned), run, write(first), say("The plan is made, and the first part is finished.", small),
			using(geminiFull, run),
			// here it compacts
			run, write(second), say("Another part is finished.", small),
			using(geminiFull, run),
			// and again
			run, say("It goes well.", small),
			say("All is well.", small),
		},
		drive: inTurn(
			ask(firstPrompt, "--session-id", "5f0c2f52-9d0e-4f4e-8a51-6b1f6f6f0a03"),
			again("Go on."), again("What is next? Go on."), again("And now?"),
		),
		plans: [][]holdfast.Step{first, second},
		prepare: func(d desk) error {
			return d.put(".gemini/settings.json", `{"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":false}},`+
				`"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},`+
				`"general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false},"ui":{"hideTips":true,"hideBanner":true}}`)
		},
		env: func(base string) []string {
			return []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + base, "GEMINI_CLI_TRUST_WORKSPACE=true"}
		},
	}
}
