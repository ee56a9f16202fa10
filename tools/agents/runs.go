package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// startLimit bounds one start of an agent.
const startLimit = 45 * time.Second

// world is what all cases share.
type world struct {
	holdfast string // the binary
	dir      string // of all homes
	keep     bool   // write the recorded requests there, too
}

// check is one line of the report. An empty Problem is a pass.
type check struct {
	Case    string `json:"case"`
	Name    string `json:"check"`
	Problem string `json:"problem,omitempty"`
}

// mode is what stands between the agent and the upstream.
type mode string

const (
	direct mode = "direct" // nothing
	off    mode = "off"    // Holdfast, feature off
	on     mode = "on"     // Holdfast, feature on
)

// traffic is what was seen of one session.
type traffic struct {
	sent        []recorded     // by the agent; nil when direct
	arrived     []eval.Request // at the upstream
	compactions int            // that Holdfast counted
}

// runCase runs a case in all modes and checks it.
func runCase(ctx context.Context, c agentCase, w world) []check {
	seen := map[mode]traffic{}
	for _, m := range []mode{direct, off, on} {
		t, err := runSession(ctx, c, m, w)
		if err != nil {
			return []check{{c.name, "the session runs, " + string(m), err.Error()}}
		}
		seen[m] = t
	}
	add := func(name string, err error) check {
		if err != nil {
			return check{c.name, name, err.Error()}
		}
		return check{Case: c.name, Name: name}
	}
	return []check{
		add("without Holdfast the plan is lost", lostIn(seen[direct].arrived, c.plans)),
		add("feature off: bytes in are bytes out", sameBytes(seen[off].sent, seen[off].arrived)),
		add("feature off: requests as without Holdfast", sameStructure(seen[direct].arrived, seen[off].arrived)),
		add("feature on: every compaction is recognised", counted(seen[on].compactions, len(c.plans))),
		add("feature on: the plan is in every turn behind it", survivedIn(seen[on].arrived, c.plans)),
		add("feature on: turns before it pass byte for byte", sameBytes(head(seen[on].sent), headArrived(seen[on].arrived))),
		add("feature on: nothing is inserted but the plan", onlyInserted(seen[on].sent, seen[on].arrived)),
	}
}

// runSession runs one session of a case in one mode.
func runSession(ctx context.Context, c agentCase, m mode, w world) (t traffic, err error) {
	// One seed for all modes: identifiers must not make a difference. The names
	// of the homes have one length, since they are part of what agents send.
	home := filepath.Join(w.dir, holdfast.DigestOf(c.name, string(m)).String()[:16])
	work := filepath.Join(home, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return t, err
	}
	up := eval.NewUpstream(eval.Config{Seed: c.name, Turn: eval.Queue(c.script...)})
	base, stopUpstream, err := serve(ctx, up)
	if err != nil {
		return t, err
	}
	defer stopUpstream()
	var front *relay
	var proxy *child
	if m != direct {
		if proxy, err = startHoldfast(ctx, w.holdfast, filepath.Join(w.dir, "holdfast-"+filepath.Base(home)), base, m == on); err != nil {
			return t, err
		}
		defer proxy.stop()
		if front, err = newRelay(proxy.base); err != nil {
			return t, err
		}
		defer front.transport.CloseIdleConnections()
		var stopRelay func()
		if base, stopRelay, err = serve(ctx, front); err != nil {
			return t, err
		}
		defer stopRelay()
	}
	if err := c.prepare(home, work, base); err != nil {
		return t, err
	}
	runErr := runAgent(ctx, c, home, work, base)
	t.arrived = up.Requests()
	if front != nil {
		t.sent = front.all()
	}
	if w.keep {
		if err := keepRequests(filepath.Join(w.dir, "requests-"+filepath.Base(home)), c.name+", "+string(m), t); err != nil {
			return t, err
		}
	}
	if runErr == nil && m == on {
		t.compactions, runErr = proxy.compactions(ctx)
	}
	return t, runErr
}

// runAgent starts the agent as often as its case says.
func runAgent(ctx context.Context, c agentCase, home, work, base string) error {
	session := ""
	for i, s := range c.starts {
		output, err := runOnce(ctx, c, s(session), home, work, base)
		if err != nil {
			return fmt.Errorf("start %d of %d: %w: %s", i+1, len(c.starts), err, tailOf(output))
		}
		if session == "" {
			session = sessionOf(output)
		}
	}
	return nil
}

func runOnce(ctx context.Context, c agentCase, args []string, home, work, base string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.path, args...)
	cmd.Dir = work
	cmd.Env = cleanEnv(home, c.env(base)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second // of a helper process that holds the output open
	group(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	err := cmd.Wait()
	_ = endGroup(cmd) // fails when nothing is left of it, which is what is wanted
	if ctx.Err() != nil {
		err = fmt.Errorf("not finished within %s", startLimit)
	}
	return out.Bytes(), err
}

// tailOf is the end of an output, as far as it helps.
func tailOf(output []byte) string {
	const most = 600
	output = bytes.TrimSpace(output)
	if len(output) > most {
		output = output[len(output)-most:]
	}
	return string(output)
}

// keepRequests writes what was seen into a directory, for a person to read.
func keepRequests(dir, title string, t traffic) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "title"), []byte(title+"\n"), 0o600); err != nil {
		return err
	}
	write := func(name string, v any, body []byte) error {
		b, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), append(append(b, '\n'), body...), 0o600)
	}
	for i, r := range t.arrived {
		body := r.Body
		r.Body = nil
		if err := write(fmt.Sprintf("%03d-arrived-%s", i, r.Kind), r, body); err != nil {
			return err
		}
	}
	for i, r := range t.sent {
		body := r.Body
		r.Body = nil
		if err := write(fmt.Sprintf("%03d-sent", i), r, body); err != nil {
			return err
		}
	}
	return nil
}
