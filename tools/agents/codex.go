package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// codexFull is usage that makes it compact before its next turn.
const codexFull = 400_000

// The two ways in which it summarizes: in words, and with an opaque item.
const (
	codexLocal = `model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "%s/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
`
	codexRemote = `openai_base_url = "%s/v1"
`
)

var codexRun = call("exec_command", fields{"cmd": "echo checked"})

func codexPlan(plan []holdfast.Step) eval.Reply {
	return call("update_plan", fields{"plan": listed(plan, func(_ int, s holdfast.Step) fields {
		return fields{"step": s.Text, "status": s.Status}
	})})
}

// codexCase is a session with two automatic compactions. provider is the part of
// the configuration that names the base URL.
func codexCase(name, provider string) agentCase {
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
			codexPlan(planned), codexRun, say("The plan is made, and the work has begun.", small),
			codexPlan(first), say("That part is finished.", codexFull),
			codexRun, codexPlan(second), say("Another part is finished.", codexFull),
			codexRun, say("It goes well.", small),
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

// codexSitting is one thread of an app server.
type codexSitting struct {
	*running
	calls  int
	thread string
	turn   string // the last one
}

func sitAtCodex(ctx context.Context, d desk) (sitting, error) {
	r, err := d.launch(ctx, "app-server")
	if err != nil {
		return nil, err
	}
	c := &codexSitting{running: r}
	var answer struct {
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
	}
	err = c.call("initialize", fields{"clientInfo": fields{"name": "holdfast", "version": "1"}}, nil)
	if err == nil {
		err = c.call("thread/start", fields{"cwd": d.work, "sandbox": "danger-full-access", "approvalPolicy": "never"}, &answer)
	}
	if err != nil {
		c.stop()
		return nil, fmt.Errorf("%w: %s", err, tailOf(c.errors.Bytes()))
	}
	c.thread = answer.Thread.ID
	return c, nil
}

// call makes one call of the server and reads its result into a value, which may be
// nil.
func (c *codexSitting) call(method string, params fields, result any) error {
	c.calls++
	if err := c.send(fields{"id": c.calls, "method": method, "params": params}); err != nil {
		return err
	}
	line, err := c.await(fmt.Sprintf(`"id":%d,`, c.calls))
	if err != nil {
		return err
	}
	var answer struct {
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal([]byte(line), &answer); err != nil || answer.Result == nil {
		return fmt.Errorf("codex refused %s: %s", method, strings.TrimSpace(line))
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer.Result, result)
}

func (c *codexSitting) say(_ context.Context, prompt string) error {
	var answer struct {
		Turn struct {
			ID string `json:"id"`
		} `json:"turn"`
	}
	if err := c.call("turn/start", fields{"threadId": c.thread, "input": []fields{{"type": "text", "text": prompt}}}, &answer); err != nil {
		return err
	}
	c.turn = answer.Turn.ID
	_, err := c.await(`"method":"turn/completed"`)
	return err
}

func (c *codexSitting) back(context.Context) error {
	return c.call("thread/revert", fields{"threadId": c.thread, "beforeTurnId": c.turn}, nil)
}

func (c *codexSitting) compact(context.Context) error {
	if err := c.call("thread/compact/start", fields{"threadId": c.thread}, nil); err != nil {
		return err
	}
	_, err := c.await(`"method":"turn/completed"`)
	return err
}
