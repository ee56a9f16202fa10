package main

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// clineFull is usage that makes it compact before its next request.
const clineFull = 300_000

// clineCase is one long turn with two compactions. It takes a session up again
// only in a terminal, so that is not done here.
func clineCase() agentCase {
	task := func(f fields) eval.Reply { return call("team_task", f) }
	claim := func(i int) eval.Reply { return task(fields{"action": "claim", "taskId": fmt.Sprintf("task_%04d", i)}) }
	complete := func(i int) eval.Reply {
		return task(fields{"action": "complete", "taskId": fmt.Sprintf("task_%04d", i), "summary": "It is finished."})
	}
	// Results that together are more than it keeps, and with the last one too much.
	long := func(from int) (out []eval.Reply) {
		const calls = 8
		for i := range calls {
			at := 100_000 + (from+i)*3_000
			out = append(out, call("run_commands", fields{"commands": []string{fmt.Sprintf("seq %d %d", at, at+2_500)}}))
		}
		out[calls-1] = using(clineFull, out[calls-1])
		return out
	}
	var script []eval.Reply
	for _, s := range steps {
		script = append(script, task(fields{"action": "create", "title": s, "description": "As discussed."}))
	}
	script = append(script, claim(1), complete(1), claim(2))
	script = append(script, long(0)...)
	script = append(script, complete(2), claim(3))
	script = append(script, long(10)...)
	// It does not end a turn while a task is open.
	script = append(script, complete(3), claim(4), complete(4), say("All is finished.", small))
	return agentCase{
		name: "cline 3.0.65", agent: "cline",
		pkg:     npmPackage{"cline", "3.0.65", "@cline/cli-*/bin/cline"},
		script:  script,
		drive:   driveCline,
		plans:   [][]holdfast.Step{first, second},
		prepare: func(d desk) error { return nil },
		env: func(string) []string {
			return []string{"CLINE_TELEMETRY_DISABLED=1", "DO_NOT_TRACK=1", "CLINE_NO_AUTO_UPDATE=1"}
		},
	}
}

func driveCline(ctx context.Context, d desk) error {
	if _, err := d.run(ctx, "auth", "-p", "openai", "-k", "sk-dummy", "-m", "scripted", "-b", d.base+"/v1"); err != nil {
		return err
	}
	_, err := d.run(ctx, "--json", firstPrompt)
	return err
}
