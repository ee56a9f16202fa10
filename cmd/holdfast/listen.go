package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// shutdownLimit is how long calls that are under way may take once the server
// was told to stop.
const shutdownLimit = 10 * time.Second

// cutLimit is how long calls that were cut off may take to write down what they took.
const cutLimit = 2 * time.Second

// openListener opens the address of --listen. Nothing is answered on it before
// serveOn.
func openListener(address string) (net.Listener, error) {
	_, port, err := net.SplitHostPort(address)
	if _, bad := net.LookupPort("tcp", port); err != nil || bad != nil {
		return nil, holdfast.Errorf(holdfast.ErrUsage, "--listen %s is no address. Write HOST:PORT such as 127.0.0.1:4141", address)
	}
	ln, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, holdfast.Errorf(holdfast.ErrConflict,
			"%s is taken, perhaps by another holdfast serve. Stop that one, or choose another port: holdfast serve --listen 127.0.0.1:0 takes any that is free", address)
	case err != nil:
		return nil, holdfast.Errorf(holdfast.ErrUnavailable, "cannot listen on %s: %w. Choose another address with --listen", address, err)
	}
	return ln, nil
}

// loopback reports whether only this machine reaches an address.
func loopback(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// serveOn answers on ln until ctx ends. Then it takes no more calls, lets those
// under way finish for at most limit, cuts off the rest and returns when these have
// ended too, cutLimit later at the latest.
func serveOn(ctx context.Context, ln net.Listener, h http.Handler, log *slog.Logger, limit time.Duration) error {
	var calls atomic.Int64
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			defer calls.Add(-1)
			h.ServeHTTP(w, r)
		}),
		// A header has its time. A body may take as long as its client goes on sending,
		// which the proxy sees to.
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelError),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	select {
	case err := <-failed:
		return holdfast.Errorf(holdfast.ErrUnavailable, "the server stopped: %w", err)
	case <-ctx.Done():
	}
	hard, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := srv.Shutdown(hard)
	if err != nil {
		err = srv.Close()
		for end := time.Now().Add(cutLimit); calls.Load() > 0 && time.Now().Before(end); {
			time.Sleep(time.Millisecond) // Close waits for no handler
		}
	}
	if served := <-failed; err == nil && !errors.Is(served, http.ErrServerClosed) {
		err = served
	}
	if err != nil {
		return holdfast.Errorf(holdfast.ErrUnavailable, "the server could not be stopped in order: %w", err)
	}
	return nil
}

// announce says where the server listens, and on a terminal how an agent is
// pointed at it.
func (a *app) announce(address net.Addr) error {
	base := "http://" + address.String()
	switch {
	case a.json:
		return a.print(fmt.Sprintf("{\"listening\":%q}\n", base))
	case !a.terminal:
		return a.print("listening on " + base + "\n")
	}
	return a.print(strings.ReplaceAll(`listening on {}

Point an agent at it:
  Claude Code
    ANTHROPIC_BASE_URL={} claude
  Codex
    codex -c openai_base_url={}/v1
  Gemini CLI
    GOOGLE_GEMINI_BASE_URL={} gemini
  others
    OPENAI_BASE_URL={}/v1

Stop with Ctrl-C.
`, "{}", base))
}
