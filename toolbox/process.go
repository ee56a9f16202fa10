package toolbox

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// process is a server that runs as a command, with all that it starts in a
// group of its own: it can be ended as a whole, and an interruption from the
// terminal, which is meant for the turn, does not reach it.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	stderr *lastLine
	grace  time.Duration
}

// startProcess starts a command. A write that takes longer than patience breaks
// the connection: a server that stopped reading must not hold up a call.
func startProcess(cfg Server, dir string, env []string, grace, patience time.Duration) (*process, error) {
	cmd := exec.Command(cfg.Command, cfg.Args...)
	cmd.Dir, cmd.Env = dir, env
	// What the command left behind may hold its standard error open.
	cmd.WaitDelay = grace / 4
	ownGroup(cmd)
	p := &process{cmd: cmd, stderr: &lastLine{}, grace: grace}
	cmd.Stderr = p.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("it has no standard input: %w", err)
	}
	p.stdin = patient{stdin, patience}
	if p.stdout, err = cmd.StdoutPipe(); err != nil {
		return nil, fmt.Errorf("it has no standard output: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *process) transport() mcp.Transport {
	return &mcp.IOTransport{Reader: p.stdout, Writer: p.stdin}
}

// stop ends the command: by closing its input, then by asking, then by force.
// What it left behind in its group ends with it.
func (p *process) stop() {
	_ = p.stdin.Close() // it may be closed, with the session
	ended := make(chan struct{})
	go func() {
		_ = p.cmd.Wait() // how it ended does not matter
		close(ended)
	}()
	for _, end := range []func(*exec.Cmd){terminateGroup, killGroup} {
		select {
		case <-ended:
		case <-time.After(p.grace):
			end(p.cmd)
		}
	}
	<-ended
	killGroup(p.cmd)
}

// patient writes to a pipe for a while at most.
type patient struct {
	io.WriteCloser
	patience time.Duration
}

func (p patient) Write(data []byte) (int, error) {
	if w, ok := p.WriteCloser.(interface{ SetWriteDeadline(time.Time) error }); ok {
		// Where the system has no deadlines for pipes, a write waits.
		_ = w.SetWriteDeadline(time.Now().Add(p.patience))
	}
	return p.WriteCloser.Write(data)
}

// inherited are the variables that a command gets of this process: others may
// hold credentials that are none of its business.
var inherited = []string{
	"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
	"APPDATA", "LOCALAPPDATA", "PATHEXT", "PROGRAMFILES", "SYSTEMROOT", "TEMP", "TMP", "USERPROFILE",
}

func environment(own map[string]string) []string {
	env := []string{} // nil would be all of it
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range own {
		env = append(env, name+"="+value)
	}
	return env
}

// lastLine keeps the end of what was written to it.
type lastLine struct {
	mu  sync.Mutex
	end string
}

func (l *lastLine) Write(data []byte) (int, error) {
	const most = 2000
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end = last(l.end+string(data), most)
	return len(data), nil
}

// String is the last line that is not empty.
func (l *lastLine) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	end := strings.TrimSpace(l.end)
	return end[strings.LastIndexByte(end, '\n')+1:]
}
