package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// startLimit bounds one start of an agent that ends by itself, or one answer of
// an agent that runs on.
const startLimit = 90 * time.Second

// desk is where one session of an agent takes place.
type desk struct {
	path string // the agent's binary, or its script for node
	node string // that runs it; "": the one on the machine
	home string
	work string // its working directory
	base string // of what it talks to, without a path
	env  []string
}

// put writes a file below the home.
func (d desk) put(name, text string) error {
	path := filepath.Join(d.home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// command is one start of the agent, in a process group of its own.
func (d desk) command(ctx context.Context, args ...string) *exec.Cmd {
	name := d.path
	if filepath.Ext(name) == ".js" {
		name, args = cmp.Or(d.node, "node"), append([]string{d.path}, args...)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = d.work
	cmd.Env = cleanEnv(d.home, d.env...)
	cmd.WaitDelay = time.Second // of a helper process that holds the output open
	group(cmd)
	return cmd
}

// run starts the agent, waits for its end and returns what it printed.
func (d desk) run(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	cmd := d.command(ctx, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	err := cmd.Wait()
	_ = endGroup(cmd) // fails when nothing is left of it, which is what is wanted
	if ctx.Err() != nil {
		err = fmt.Errorf("not finished within %s", startLimit)
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, tailOf(out.Bytes()))
	}
	return out.Bytes(), err
}

// start is one start of an agent that ends by itself: session is the id that an
// earlier start printed, empty at the first.
type start func(session string) []string

// inTurn plays a session of starts, one after the other.
func inTurn(starts ...start) func(context.Context, desk) error {
	return func(ctx context.Context, d desk) error {
		session := ""
		for i, s := range starts {
			output, err := d.run(ctx, s(session)...)
			if err != nil {
				return fmt.Errorf("start %d of %d: %w", i+1, len(starts), err)
			}
			if session == "" {
				session = sessionOf(output)
			}
		}
		return nil
	}
}

// running is an agent that was started and runs on.
type running struct {
	cmd    *exec.Cmd
	cancel context.CancelFunc
	errors bytes.Buffer // what it prints to standard error; read after stop
	in     io.WriteCloser
	out    *bufio.Reader
}

// launch starts the agent; whoever calls stops it.
func (d desk) launch(ctx context.Context, args ...string) (*running, error) {
	ctx, cancel := context.WithCancel(ctx)
	r := &running{cmd: d.command(ctx, args...), cancel: cancel}
	r.cmd.Stderr = &r.errors
	in, err := r.cmd.StdinPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	r.in, r.out = in, bufio.NewReader(out)
	if err := r.cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	return r, nil
}

// stop ends the agent with all that it started, and waits.
func (r *running) stop() {
	r.cancel()
	_ = r.cmd.Wait() // it was killed: how it ended says nothing
	_ = endGroup(r.cmd)
}

// send writes a value as one line of JSON.
func (r *running) send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = r.in.Write(append(b, '\n'))
	return err
}

// await reads lines until one holds the words, and returns it.
func (r *running) await(words ...string) (string, error) {
	t := time.AfterFunc(startLimit, r.cancel) // which ends the output
	defer t.Stop()
	last := ""
	for {
		line, err := r.out.ReadString('\n')
		if err != nil {
			return "", fmt.Errorf("waiting for %q: %w; the last line was %s", words, err, tailOf([]byte(last)))
		}
		if last = line; hasAll(line, words) {
			return line, nil
		}
	}
}

func hasAll(s string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
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
