package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// sessionLimit bounds one session of an agent, in one mode.
const sessionLimit = 200 * time.Second

// pairs is how often the direct session is compared with one with the feature
// off. On a busy machine some agents differ from run to run by themselves, such
// as gemini-cli in its prompt; what Holdfast changes, it changes every time.
const pairs = 3

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
	read   mode = "read"   // and a scripted model that reads the session
)

// traffic is what was seen of one session.
type traffic struct {
	sent        []recorded     // by the agent; nil when direct
	arrived     []eval.Request // at the upstream
	compactions int            // that Holdfast counted
	moved       int            // thinking that does not stand behind what it was made behind
}

// runCase runs a case in all modes and checks it.
func runCase(ctx context.Context, c agentCase, w world) []check {
	seen := map[mode]traffic{}
	play := func(n int, modes ...mode) []check {
		for _, m := range modes {
			t, err := runSession(ctx, c, m, n, w)
			if err != nil {
				return []check{{c.name, "the session runs, " + string(m), err.Error()}}
			}
			seen[m] = t
		}
		return nil
	}
	add := func(name string, err error) check {
		if err != nil {
			return check{c.name, name, err.Error()}
		}
		return check{Case: c.name, Name: name}
	}
	if len(c.taken) > 0 {
		if failed := play(1, direct, read); failed != nil {
			return failed
		}
		checks := []check{
			add("lost without", c.lost(seen[direct].arrived)),
			add("read: recognised", counted(seen[read].compactions, len(c.plans))),
			add("read: choice kept", choiceIn(seen[read].arrived, len(c.plans))),
			add("read: plan kept", c.survived(seen[read].arrived)),
			add("read: only the plan added", onlyInserted(seen[read].sent, seen[read].arrived)),
			add("read: taken back", takenBack(seen[read].arrived, c.taken)),
		}
		if c.thinks {
			checks = append(checks, add("read: thinking holds", holds(seen[direct].moved, seen[read].moved)))
		}
		return checks
	}
	if failed := play(1, direct, off, on, read); failed != nil {
		return failed
	}
	same := sameStructure(seen[direct].arrived, seen[off].arrived)
	for n := 2; n <= pairs && same != nil; n++ {
		if failed := play(n, direct, off); failed != nil {
			return failed
		}
		same = sameStructure(seen[direct].arrived, seen[off].arrived)
	}
	return []check{
		add("lost without", c.lost(seen[direct].arrived)),
		add("off: same bytes", sameBytes(seen[off].sent, seen[off].arrived)),
		add("off: as without", same),
		add("on: recognised", counted(seen[on].compactions, len(c.plans))),
		add("on: plan kept", c.survived(seen[on].arrived)),
		add("on: same bytes before", sameBytes(head(seen[on].sent), headArrived(seen[on].arrived))),
		add("on: only the plan added", onlyInserted(seen[on].sent, seen[on].arrived)),
		add("read: choice kept", choiceIn(seen[read].arrived, len(c.plans))),
		add("read: plan kept", c.survived(seen[read].arrived)),
	}
}

// runSession runs one session of a case in one mode, for the nth time.
func runSession(ctx context.Context, c agentCase, m mode, n int, w world) (t traffic, err error) {
	// One seed for all modes: identifiers must not make a difference. The names
	// of the homes have one length, since they are part of what agents send.
	home := filepath.Join(w.dir, holdfast.DigestOf(c.name, string(m), strconv.Itoa(n)).String()[:16])
	work := filepath.Join(home, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return t, err
	}
	ctx, cancel := context.WithTimeout(ctx, sessionLimit)
	defer cancel()
	up := eval.NewUpstream(eval.Config{Seed: c.name, Turn: eval.Queue(c.script...), Thinks: c.thinks})
	base, stopUpstream, err := serve(ctx, up)
	if err != nil {
		return t, err
	}
	defer stopUpstream()
	var front *relay
	var proxy *child
	if m != direct {
		reader := ""
		if m == read {
			model := func(_ int, r eval.Request) eval.Reply { return eval.Reply{Text: stating(r.Body)} }
			var stopReader func()
			if reader, stopReader, err = serve(ctx, eval.NewUpstream(eval.Config{Seed: "reader", Side: model, Turn: model, Summary: model})); err != nil {
				return t, err
			}
			defer stopReader()
		}
		if proxy, err = startHoldfast(ctx, w.holdfast, filepath.Join(w.dir, "holdfast-"+filepath.Base(home)), base, reader, m == on || m == read); err != nil {
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
	d := desk{path: c.path, node: c.nodePath, home: home, work: work, base: base, env: c.env(base)}
	defer endAllOf(home)
	if err := c.prepare(d); err != nil {
		return t, err
	}
	runErr := c.drive(ctx, d)
	t.arrived, t.moved = up.Requests(), up.Moved()
	if front != nil {
		t.sent = front.all()
	}
	if w.keep {
		if err := keepRequests(filepath.Join(w.dir, "requests-"+filepath.Base(home)), c.name+", "+string(m), t); err != nil {
			return t, err
		}
	}
	if runErr == nil && (m == on || m == read) {
		t.compactions, runErr = proxy.compactions(ctx)
	}
	return t, runErr
}

var baseRevision = regexp.MustCompile(`base_revision is (\d+)`)

// stating is the answer of a model that states the person's choices where they stand
// in what it is sent.
func stating(body []byte) string {
	revision, constraints := "0", []string{}
	if m := baseRevision.FindSubmatch(body); m != nil {
		revision = string(m[1])
	}
	for _, c := range []struct{ statement, quote string }{{chosen, choice}, {takenChosen, takenChoice}} {
		if bytes.Contains(body, []byte(c.quote)) {
			constraints = append(constraints, fmt.Sprintf(`{"statement":%q,"quote":%q}`, c.statement, c.quote))
		}
	}
	return fmt.Sprintf(`{"schema_version":1,"base_revision":%s,"constraints":[%s]}`, revision, strings.Join(constraints, ","))
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
