// Command holdfast is the product on the command line: one file per command.
//
// It is the only place that opens stores, reads the environment and knows what
// a terminal is. Laws:
//   - Results go to standard output, everything else to standard error.
//   - With --json every command writes JSON only, errors included.
//   - An error ends the process with the exit status of its code.
//   - What the HTTP transport says by itself is written nowhere: it quotes answers.
//   - Text that came from a session is data: nothing in it can move the cursor
//     of a terminal or begin a new line where a line is expected.
package main

import (
	"context"
	"crypto/rand"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/store/sqlite"
)

// version is set by the build (-ldflags "-X main.version=...").
var version string

func main() {
	// The transport writes there what an upstream sends behind the end of an answer.
	log.SetOutput(io.Discard)
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup has it ignored
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	dir, _ := os.Getwd() // where it was removed there is no workspace
	a := &app{
		in:          os.Stdin,
		out:         os.Stdout,
		err:         os.Stderr,
		terminal:    term.IsTerminal(os.Stdin.Fd()) && term.IsTerminal(os.Stdout.Fd()),
		interactive: term.IsTerminal(os.Stdin.Fd()),
		colour:      term.IsTerminal(os.Stdout.Fd()) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		width:       columns(),
		now:         time.Now,
		version:     buildVersion(),
		open:        openStore,
		newID:       func() string { return uuid.Must(uuid.NewV7()).String() },
		random:      rand.Reader,
		environ:     os.Environ(),
		dir:         dir,
	}
	go func() {
		// A second interrupt ends the process at once. A terminal that closes hangs up
		// more than once, and nobody is in a hurry behind it.
		<-ctx.Done()
		signal.Ignore(syscall.SIGHUP)
		stop()
	}()
	status := a.run(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}

// columns is the width of the output: that of the terminal, or what COLUMNS
// asks for; 0 is no limit.
func columns() int {
	if width, _, err := term.GetSize(os.Stdout.Fd()); err == nil {
		return width
	}
	width, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil {
		return 0
	}
	return max(width, 0)
}

// buildVersion falls back to what the Go tool recorded, as after go install.
func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// database is what the commands keep and read.
type database interface {
	store.Reader
	store.Keeper
	store.Writer
	store.Conversations
	store.Keys
	store.Attempts
	store.Audit
	store.Secrets
}

// openStore opens the database at path. One that does not exist yet is shown
// as an empty one and not made, unless create is set: only what has something to
// keep begins a database.
func openStore(path string, create bool) (database, io.Closer, error) {
	if _, err := os.Stat(path); os.IsNotExist(err) && !create {
		return store.NewMemory(), io.NopCloser(nil), nil
	}
	st, err := sqlite.Open(path)
	if err != nil {
		return nil, nil, err
	}
	return st, st, nil
}
