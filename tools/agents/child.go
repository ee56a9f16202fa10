package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// startTimeout bounds the start of `holdfast serve`, stopTimeout its end.
const (
	startTimeout = 10 * time.Second
	stopTimeout  = 5 * time.Second
)

// child is a running `holdfast serve`.
type child struct {
	base string
	cmd  *exec.Cmd
	log  *os.File
	done chan struct{} // closed when the process has ended
}

// startHoldfast runs `holdfast serve` with its data and log in dir, in front of
// the upstream. Where reader is not "", the model there reads the sessions.
func startHoldfast(ctx context.Context, binary, dir, upstream, reader string, enabled bool) (*child, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "config.toml")
	text := fmt.Sprintf("[[upstream]]\nname = \"anthropic\"\nprotocol = \"anthropic\"\nbase_url = %q\n\n"+
		"[[upstream]]\nname = \"openai\"\nprotocol = \"responses\"\nbase_url = %q\n\n"+
		"[[upstream]]\nname = \"chat\"\nprotocol = \"chat\"\nbase_url = %q\n\n"+
		"[[upstream]]\nname = \"gemini\"\nprotocol = \"gemini\"\nbase_url = %q\n\n"+
		"[compaction_continuity]\nenabled = %t\n", upstream, upstream+"/v1", upstream+"/v1", upstream, enabled)
	if reader != "" {
		text += fmt.Sprintf("\n[compaction_continuity.extractor]\nenabled = true\nroute = \"reader:scripted\"\n\n"+
			"[[upstream]]\nname = \"reader\"\nprotocol = \"chat\"\nbase_url = %q\n", reader+"/v1")
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	addr, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "holdfast.log"))
	if err != nil {
		return nil, err
	}
	c := &child{base: "http://" + addr, log: log, done: make(chan struct{})}
	c.cmd = exec.CommandContext(ctx, binary, "--data", filepath.Join(dir, "data"), "--config", config, "serve", "--listen", addr)
	c.cmd.Env = cleanEnv(dir)
	c.cmd.Stdout, c.cmd.Stderr = log, log
	group(c.cmd)
	if err := c.cmd.Start(); err != nil {
		log.Close()
		return nil, fmt.Errorf("start holdfast: %w", err)
	}
	go func() {
		defer close(c.done)
		_ = c.cmd.Wait() // how it ended shows in the log
	}()
	if err := c.waitReady(ctx, addr); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

// waitReady returns when the address takes connections.
func (c *child) waitReady(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-tick.C:
		case <-c.done:
			text, _ := os.ReadFile(c.log.Name())
			return fmt.Errorf("holdfast serve ended at once: %s", strings.TrimSpace(string(text)))
		case <-ctx.Done():
			return fmt.Errorf("holdfast serve took no connection on %s: %w", addr, err)
		}
	}
}

// compactions is how many compactions Holdfast recognised and carried through,
// as its metrics show it.
func (c *child) compactions(ctx context.Context) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("/metrics answered with status %d", resp.StatusCode)
	}
	return sumMetric(string(text), "holdfast_compactions_total", `outcome="committed"`)
}

// sumMetric adds the values of all series of a counter that have the label.
func sumMetric(text, name, label string) (int, error) {
	sum := 0.0
	for line := range strings.Lines(text) {
		labels, ok := strings.CutPrefix(line, name+"{")
		labels, value, found := strings.Cut(labels, "} ")
		if !ok || !found || !strings.Contains(labels, label) {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil {
			return 0, fmt.Errorf("metric line %q: %w", line, err)
		}
		sum += v
	}
	return int(sum), nil
}

// stop ends the process, first politely, and waits.
func (c *child) stop() {
	_ = c.cmd.Process.Signal(os.Interrupt) // fails only when it has ended
	t := time.NewTimer(stopTimeout)
	defer t.Stop()
	select {
	case <-c.done:
	case <-t.C:
		_ = endGroup(c.cmd)
		<-c.done
	}
	c.log.Close()
}

// freeAddress is a loopback address that was free a moment ago.
func freeAddress(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port on 127.0.0.1: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// cleanEnv is an environment with nothing of the person's own in it.
func cleanEnv(home string, more ...string) []string {
	return append([]string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8", "TZ=UTC",
		"NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost",
	}, more...)
}
