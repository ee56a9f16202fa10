package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// childArgument makes the binary a part of the fleet instead of the bench.
const childArgument = "part-of-the-fleet"

const (
	startTimeout = 15 * time.Second
	stopTimeout  = 15 * time.Second
)

// runChild is the mock upstream ("upstream") or the control ("control URL"). It
// ends with ctx, or when the bench closes its standard input or dies.
func runChild(ctx context.Context, args []string) error {
	var h http.Handler
	switch {
	case len(args) == 1 && args[0] == "upstream":
		h = newUpstream()
	case len(args) == 2 && args[0] == "control":
		c, err := newControl(args[1])
		if err != nil {
			return err
		}
		h = c
	default:
		return fmt.Errorf("%q is started by the bench itself", childArgument)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: startTimeout}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is the message
	}()
	go func() {
		select {
		case <-ended:
		case <-ctx.Done():
		}
		_ = srv.Close() // no call is worth waiting for
	}()
	fmt.Printf("%shttp://%s\n", announcement, ln.Addr())
	if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// announcement begins the line with which every process of the fleet says where
// it listens.
const announcement = "listening on "

// child is a running process of the fleet.
type child struct {
	base  string
	cmd   *exec.Cmd
	stdin io.Closer
	log   *os.File
	done  chan struct{} // closed when the process has ended
}

// start runs a command until it has announced its address. procs is its
// GOMAXPROCS.
func start(ctx context.Context, dir, name string, procs int, command ...string) (*child, error) {
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), fmt.Sprintf("GOMAXPROCS=%d", procs)}
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	c := &child{cmd: cmd, stdin: in, log: log, done: make(chan struct{})}
	lines := make(chan string, 1)
	go func() {
		defer close(c.done)
		r := bufio.NewReader(out)
		line, _ := r.ReadString('\n') // an end without a line is told by what it holds
		lines <- line
		_, _ = io.Copy(io.Discard, r)
		_ = cmd.Wait() // how it ended shows in the log
	}()
	limit := time.NewTimer(startTimeout)
	defer limit.Stop()
	select {
	case line := <-lines:
		base, ok := strings.CutPrefix(strings.TrimSpace(line), announcement)
		if !ok {
			c.stop()
			text, _ := os.ReadFile(log.Name())
			return nil, fmt.Errorf("%s did not start: %s%s", name, line, text)
		}
		c.base = base
		return c, nil
	case <-limit.C:
		c.stop()
		return nil, fmt.Errorf("%s announced no address within %s", name, startTimeout)
	}
}

// stop ends the process, first politely, and waits.
func (c *child) stop() {
	_ = c.stdin.Close() // fails only when it has ended
	_ = c.cmd.Process.Signal(os.Interrupt)
	t := time.NewTimer(stopTimeout)
	defer t.Stop()
	select {
	case <-c.done:
	case <-t.C:
		_ = c.cmd.Process.Kill()
		<-c.done
	}
	c.log.Close()
}

// target is one way to the upstream. cpu is what its process has used so far;
// nil where there is no process in between.
type target struct {
	base string
	cpu  func() (time.Duration, error)
	// counted is what of that is in a volley already; 0 before the first one.
	counted *time.Duration
}

// The names of the targets.
const (
	direct  = "direct"
	control = "control"
	on      = "holdfast"
	off     = "holdfast off"
)

// fleet is all that runs beside the load.
type fleet struct {
	dir, binary string
	upstream    string
	extractor   bool // sessions are read by a model, a mock too
	children    []*child
	targets     map[string]target
	workers     []*worker
	tokens      uint64
}

func startFleet(ctx context.Context, dir, binary string, extractor bool) (*fleet, error) {
	if err := cpuSupported(); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the bench itself: %w", err)
	}
	f := &fleet{dir: dir, binary: binary, extractor: extractor, targets: map[string]target{}}
	// Load and upstream are cheap beside what they measure: half the cores are
	// enough for each, so that they do not push the proxies aside.
	half := max(1, runtime.NumCPU()/2)
	runtime.GOMAXPROCS(half)
	up, err := start(ctx, dir, "upstream", half, self, childArgument, "upstream")
	if err != nil {
		return nil, err
	}
	f.children = append(f.children, up)
	f.upstream = up.base
	f.targets[direct] = target{base: up.base}
	ctl, err := start(ctx, dir, control, runtime.NumCPU(), self, childArgument, "control", up.base)
	if err != nil {
		f.stop()
		return nil, err
	}
	f.add(control, ctl)
	for _, name := range []string{on, off} {
		c, err := f.startHoldfast(ctx, name, name == on)
		if err != nil {
			f.stop()
			return nil, err
		}
		f.add(name, c)
	}
	return f, nil
}

func (f *fleet) add(name string, c *child) {
	f.children = append(f.children, c)
	f.targets[name] = targetOf(c)
}

func targetOf(c *child) target {
	pid := c.cmd.Process.Pid
	return target{base: c.base, cpu: func() (time.Duration, error) { return cpuTime(pid) }, counted: new(time.Duration)}
}

// startHoldfast runs `holdfast serve` with a data directory of its own.
func (f *fleet) startHoldfast(ctx context.Context, name string, enabled bool) (*child, error) {
	dir := filepath.Join(f.dir, "runs", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "config.toml")
	text := fmt.Sprintf("[[upstream]]\nname = \"anthropic\"\nprotocol = \"anthropic\"\nbase_url = %q\n\n"+
		"[[upstream]]\nname = \"openai\"\nprotocol = \"responses\"\nbase_url = %q\n\n"+
		"[compaction_continuity]\nenabled = %t\n", f.upstream, f.upstream+"/v1", enabled)
	if f.extractor && enabled {
		text += fmt.Sprintf("\n[compaction_continuity.extractor]\nenabled = true\nroute = \"small:reader\"\n\n"+
			"[[upstream]]\nname = \"small\"\nprotocol = \"chat\"\nbase_url = %q\nmodels = [\"reader\"]\n", f.upstream+readerPath)
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return start(ctx, dir, "holdfast", runtime.NumCPU(), f.binary, "--config", config,
		"--data", filepath.Join(dir, "data"), "serve", "--listen", "127.0.0.1:0")
}

// stop ends all processes, the last started first.
func (f *fleet) stop() {
	for _, w := range f.workers {
		w.transport.CloseIdleConnections()
	}
	for i := len(f.children) - 1; i >= 0; i-- {
		f.children[i].stop()
	}
	f.children = nil
}
