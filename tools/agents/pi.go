package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

const (
	// piFull is usage that makes it compact after its turn, of the window that
	// its configuration sets.
	piFull = 99_000
	// piKept is longer than what its configuration keeps of the newest messages.
	piKept = "Go on with the next part of the work, and when it is finished look through all of it once more, " +
		"with an eye on the names, the comments and the error messages, before anything else is begun."
)

var (
	piValues = []string{"import_runs_v2", "02:45 UTC", "6 retries"}
	piPrompt = "Please rework the nightly import. It writes to the table " + piValues[0] + ", starts at " + piValues[1] +
		" and gives up after " + piValues[2] + ". " + choice
	piRun = call("bash", fields{"command": "echo checked"})
)

// piCase is a session in one protocol, with a compaction by hand and one after a
// turn, a restart and a fork. It has no plan tool: what must survive are the
// user's words.
func piCase(version, provider, api string) agentCase {
	return agentCase{
		name: "pi " + version + ", " + provider, agent: "pi",
		pkg: npmPackage{"@earendil-works/pi-coding-agent", version, "@earendil-works/pi-coding-agent/dist/cli.js"},
		script: []eval.Reply{
			piRun, say("The work has begun.", small),
			say("That part is finished.", small),
			// here it is told to compact
			piRun, say("It goes well.", small),
			say("Another part is finished.", piFull),
			// here it compacts by itself
			piRun, say("It still goes well.", small),
			say("The fork goes well.", small),
		},
		values: piValues,
		plans:  make([][]holdfast.Step, 2),
		drive: func(ctx context.Context, d desk) error {
			return drivePi(ctx, d, provider, piPrompt)
		},
		prepare: func(d desk) error {
			models := fmt.Sprintf(`{"providers":{%q:{"baseUrl":%q,"api":%q,"apiKey":"sk-dummy","models":[{"id":"scripted","name":"scripted",`+
				`"reasoning":false,"input":["text"],"contextWindow":100000,"maxTokens":8000,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0}}]}}}`,
				provider, d.base+"/v1", api)
			return errors.Join(d.put(".pi/agent/models.json", models),
				d.put(".pi/agent/settings.json", `{"compaction":{"enabled":true,"reserveTokens":16384,"keepRecentTokens":40}}`))
		},
		env: func(string) []string { return []string{"PI_OFFLINE=1", "PI_SKIP_VERSION_CHECK=1"} },
	}
}

func drivePi(ctx context.Context, d desk, provider, prompt string) error {
	p, err := startPi(ctx, d, provider)
	if err != nil {
		return err
	}
	if err = p.say(prompt, piKept); err == nil {
		_, err = p.do("compact")
	}
	if err == nil {
		err = p.say("What is next?")
	}
	p.stop()
	if err != nil {
		return err
	}
	if p, err = startPi(ctx, d, provider, "--continue"); err != nil {
		return err
	}
	defer p.stop()
	if err := p.say(piKept); err != nil {
		return err
	}
	if _, err := p.await(`"type":"compaction_end"`); err != nil {
		return err
	}
	if err := p.say("And now?"); err != nil {
		return err
	}
	return p.fork("Try it another way.")
}

// piProcess is a pi in its mode of JSON lines.
type piProcess struct{ *running }

func startPi(ctx context.Context, d desk, provider string, more ...string) (piProcess, error) {
	r, err := d.launch(ctx, append([]string{"--provider", provider, "--model", "scripted", "--mode", "rpc"}, more...)...)
	if err != nil {
		return piProcess{}, err
	}
	p := piProcess{r}
	if _, err := p.do("get_state"); err != nil {
		p.stop()
		return piProcess{}, fmt.Errorf("%w: %s", err, tailOf(p.errors.Bytes()))
	}
	return p, nil
}

// do gives a command and returns its response. rest holds more fields, as name
// and value in turn.
func (p piProcess) do(command string, rest ...string) (string, error) {
	f := fields{"type": command}
	for i := 0; i+1 < len(rest); i += 2 {
		f[rest[i]] = rest[i+1]
	}
	if err := p.send(f); err != nil {
		return "", err
	}
	line, err := p.await(`"type":"response"`, `"command":"`+command+`"`)
	if err == nil && !strings.Contains(line, `"success":true`) {
		err = fmt.Errorf("pi refused %s: %s", command, strings.TrimSpace(line))
	}
	return line, err
}

// say gives prompts, one after the other, and waits for the end of each answer.
func (p piProcess) say(prompts ...string) error {
	for _, prompt := range prompts {
		if _, err := p.do("prompt", "message", prompt); err != nil {
			return err
		}
		if _, err := p.await(`"type":"agent_end"`); err != nil {
			return err
		}
	}
	return nil
}

// fork goes back to before the last prompt in a session of its own, and says
// something else.
func (p piProcess) fork(prompt string) error {
	entry, err := p.last()
	if err != nil {
		return err
	}
	if _, err := p.do("fork", "entryId", entry); err != nil {
		return err
	}
	return p.say(prompt)
}

// last is the entry of the last prompt.
func (p piProcess) last() (string, error) {
	line, err := p.do("get_fork_messages")
	if err != nil {
		return "", err
	}
	var answer struct {
		Data struct {
			Messages []struct {
				EntryID string `json:"entryId"`
			} `json:"messages"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(line), &answer); err != nil || len(answer.Data.Messages) == 0 {
		return "", fmt.Errorf("pi named no message to go back to: %s", line)
	}
	return answer.Data.Messages[len(answer.Data.Messages)-1].EntryID, nil
}

// piBack is an extension with a command that goes back to before an entry of the
// same session, as /tree does in the terminal.
const piBack = `export default function (pi) {
  pi.registerCommand("back", {
    description: "Go back",
    handler: async (entry, ctx) => { await ctx.navigateTree(entry, { summarize: false }); },
  });
}
`

func sitAtPi(provider string) func(context.Context, desk) (sitting, error) {
	return func(ctx context.Context, d desk) (sitting, error) {
		if err := d.put(".pi/agent/extensions/back.ts", piBack); err != nil {
			return nil, err
		}
		p, err := startPi(ctx, d, provider)
		return piSitting{p}, err
	}
}

// piSitting is one session of a running process.
type piSitting struct{ piProcess }

func (s piSitting) say(_ context.Context, prompt string) error { return s.piProcess.say(prompt) }

func (s piSitting) compact(context.Context) error {
	_, err := s.do("compact")
	return err
}

func (s piSitting) back(context.Context) error {
	entry, err := s.last()
	if err != nil {
		return err
	}
	_, err = s.do("prompt", "message", "/back "+entry)
	return err
}
