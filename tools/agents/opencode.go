package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// openCodeFull is usage that makes it compact before its next turn, of the
// window that its configuration sets.
const openCodeFull = 99_000

var openCodeRun = call("bash", fields{"command": "echo checked", "description": "Check"})

func openCodePlan(plan []holdfast.Step) eval.Reply {
	return call("todowrite", fields{"todos": listed(plan, func(_ int, s holdfast.Step) fields {
		return fields{"content": s.Text, "status": s.Status, "priority": "high"}
	})})
}

// openCodeCase is a session with an automatic compaction and one by hand, a
// restart of its server and a fork.
func openCodeCase() agentCase {
	return agentCase{
		name: "opencode 1.18.33", agent: "opencode",
		pkg: npmPackage{"opencode-ai", "1.18.33", "opencode-*/bin/opencode"},
		script: []eval.Reply{
			openCodePlan(planned), openCodeRun, say("The plan is made, and the work has begun.", small),
			openCodePlan(first), say("That part is finished.", openCodeFull),
			// here it compacts by itself
			openCodeRun, openCodePlan(second), say("Another part is finished.", small),
			// here it is told to
			openCodeRun, say("It goes well.", small),
			say("The fork goes well.", small),
			say("All is well.", small),
		},
		drive: driveOpenCode,
		plans: [][]holdfast.Step{first, second},
		prepare: func(d desk) error {
			limit := `"limit":{"context":100000,"output":8000}`
			return d.put(".config/opencode/opencode.json", fmt.Sprintf(`{"autoupdate":false,"share":"disabled","snapshot":false,`+
				`"compaction":{"preserve_recent_tokens":150},"model":"scripted/main","small_model":"scripted/small",`+
				`"provider":{"scripted":{"npm":"@ai-sdk/openai-compatible","name":"scripted","options":{"baseURL":%q,"apiKey":"sk-dummy"},`+
				`"models":{"main":{"name":"main",%s},"small":{"name":"small",%s}}}}}`, d.base+"/v1", limit, limit))
		},
		env: func(string) []string {
			return []string{
				"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
				// Else the server installs its plugin package before it answers.
				"npm_config_registry=http://127.0.0.1:1", "npm_config_fetch_retries=0",
			}
		},
	}
}

func driveOpenCode(ctx context.Context, d desk) error {
	o, err := startOpenCode(ctx, d)
	if err != nil {
		return err
	}
	session, err := o.create(ctx, "/session")
	if err == nil {
		err = o.say(ctx, session, firstPrompt, "Go on.", "What is next? Go on.")
	}
	o.stop()
	if err != nil {
		return err
	}
	if o, err = startOpenCode(ctx, d); err != nil {
		return err
	}
	defer o.stop()
	if _, err := o.post(ctx, "/session/"+session+"/summarize", fields{"providerID": "scripted", "modelID": "main"}); err != nil {
		return err
	}
	if err := o.say(ctx, session, "Go on with the next one."); err != nil {
		return err
	}
	fork, err := o.create(ctx, "/session/"+session+"/fork")
	if err != nil {
		return err
	}
	if err := o.say(ctx, fork, "Try it another way."); err != nil {
		return err
	}
	return o.say(ctx, session, "And now?")
}

// openCode is a running server of opencode.
type openCode struct {
	*running
	base, work string
}

func startOpenCode(ctx context.Context, d desk) (*openCode, error) {
	addr, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	_, port, _ := strings.Cut(addr, ":")
	r, err := d.launch(ctx, "serve", "--port", port)
	if err != nil {
		return nil, err
	}
	o := &openCode{r, "http://" + addr, d.work}
	if _, err := o.await("listening"); err != nil {
		o.stop()
		return nil, fmt.Errorf("%w: %s", err, tailOf(o.errors.Bytes()))
	}
	return o, nil
}

// post is one call of the server's API.
func (o *openCode) post(ctx context.Context, path string, body any) ([]byte, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return o.call(ctx, http.MethodPost, path, b)
}

func (o *openCode) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, o.base+path+"?directory="+url.QueryEscape(o.work), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("opencode answered %s with status %d: %s", path, resp.StatusCode, tailOf(out))
	}
	return out, err
}

// create makes a session and returns its id.
func (o *openCode) create(ctx context.Context, path string) (string, error) {
	out, err := o.post(ctx, path, fields{})
	if err != nil {
		return "", err
	}
	var s struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(out, &s); err != nil || s.ID == "" {
		return "", fmt.Errorf("opencode named no session: %s", tailOf(out))
	}
	return s.ID, nil
}

// say gives prompts, one after the other, and waits for the end of each answer.
func (o *openCode) say(ctx context.Context, session string, prompts ...string) error {
	for _, prompt := range prompts {
		_, err := o.post(ctx, "/session/"+session+"/message", fields{
			"model": fields{"providerID": "scripted", "modelID": "main"},
			"parts": []fields{{"type": "text", "text": prompt}},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// openCodeSitting is one session on a running server.
type openCodeSitting struct {
	*openCode
	session string
}

func sitAtOpenCode(ctx context.Context, d desk) (sitting, error) {
	o, err := startOpenCode(ctx, d)
	if err != nil {
		return nil, err
	}
	session, err := o.create(ctx, "/session")
	if err != nil {
		o.stop()
		return nil, err
	}
	return &openCodeSitting{o, session}, nil
}

func (s *openCodeSitting) say(ctx context.Context, prompt string) error {
	return s.openCode.say(ctx, s.session, prompt)
}

func (s *openCodeSitting) compact(ctx context.Context) error {
	_, err := s.post(ctx, "/session/"+s.session+"/summarize", fields{"providerID": "scripted", "modelID": "main"})
	return err
}

func (s *openCodeSitting) back(ctx context.Context) error {
	out, err := s.call(ctx, http.MethodGet, "/session/"+s.session+"/message", nil)
	if err != nil {
		return err
	}
	var messages []struct {
		Info struct {
			ID   string `json:"id"`
			Role string `json:"role"`
		} `json:"info"`
	}
	if err := json.Unmarshal(out, &messages); err != nil {
		return err
	}
	for _, m := range slices.Backward(messages) {
		if m.Info.Role == "user" {
			_, err := s.post(ctx, "/session/"+s.session+"/revert", fields{"messageID": m.Info.ID})
			return err
		}
	}
	return fmt.Errorf("opencode named no message to go back to: %s", tailOf(out))
}
