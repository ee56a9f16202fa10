package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
)

func TestAddressesThatOtherMachinesReachAreTold(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:0": true, "127.9.8.7:0": true, "localhost:0": true, "0.0.0.0:0": false, ":0": false,
	} {
		ln, err := openListener(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if got := loopback(ln.Addr()); got != want {
			t.Errorf("%s is loopback: %v, want %v", address, got, want)
		}
		ln.Close()
	}
	for ip, want := range map[string]bool{"::1": true, "::ffff:127.0.0.1": true, "::": false, "192.168.1.5": false, "fe80::1": false} {
		if got := loopback(&net.TCPAddr{IP: net.ParseIP(ip)}); got != want {
			t.Errorf("%s is loopback: %v, want %v", ip, got, want)
		}
	}
	_, err := openListener("192.0.2.1:0") // RFC 5737: of no machine
	if holdfast.CodeOf(err) != holdfast.ErrUnavailable || !strings.HasSuffix(err.Error(), ". Choose another address with --listen") {
		t.Errorf("an address of another machine: %v", err)
	}
	for _, address := range []string{"4141", "127.0.0.1:99999", "127.0.0.1:-1", "127.0.0.1:no-such-service"} {
		if _, err := openListener(address); holdfast.CodeOf(err) != holdfast.ErrUsage {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestATakenPortIsExplained(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, err = openListener(ln.Addr().String())
	want := ln.Addr().String() + " is taken, perhaps by another holdfast serve. Stop that one, or choose another port: holdfast serve --listen 127.0.0.1:0 takes any that is free"
	if err == nil || err.Error() != want || holdfast.CodeOf(err) != holdfast.ErrConflict {
		t.Errorf("got %v", err)
	}
}

func TestTheAnnouncementFitsItsReader(t *testing.T) {
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4141}
	for _, c := range []struct {
		name string
		app  app
		want string
	}{
		{"a pipe", app{}, "listening on http://127.0.0.1:4141\n"},
		{"a program", app{json: true, terminal: true}, "{\"listening\":\"http://127.0.0.1:4141\"}\n"},
		{"a person", app{terminal: true}, `listening on http://127.0.0.1:4141

Point an agent at it:
  Claude Code
    ANTHROPIC_BASE_URL=http://127.0.0.1:4141 claude
  Codex
    codex -c openai_base_url=http://127.0.0.1:4141/v1
  Gemini CLI
    GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:4141 gemini
  others
    OPENAI_BASE_URL=http://127.0.0.1:4141/v1

Stop with Ctrl-C.
`},
	} {
		var out bytes.Buffer
		c.app.out = &out
		if err := c.app.announce(addr); err != nil || out.String() != c.want {
			t.Errorf("%s: %v\n%s", c.name, err, out.String())
		}
	}
}

// served starts serveOn with a handler that says when it began and answers once
// it may.
func served(t *testing.T, limit time.Duration) (url string, began, may chan struct{}, stop func() error) {
	t.Helper()
	ln, err := openListener("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	began, may = make(chan struct{}), make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		select {
		case <-may:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, "whole")
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serveOn(ctx, ln, h, slog.New(slog.DiscardHandler), limit) }()
	return "http://" + ln.Addr().String(), began, may, func() error { cancel(); return <-ended }
}

func TestACallThatIsUnderWayIsFinishedBeforeTheServerStops(t *testing.T) {
	url, began, may, stop := served(t, time.Minute)
	answer := make(chan string, 1)
	go func() {
		res, err := http.Get(url)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		answer <- string(body)
	}()
	<-began
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	// Once the port refuses, the server is stopping; only then may the call end.
	for {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			break
		}
		c.Close()
	}
	close(may)
	if got := <-answer; got != "whole" {
		t.Errorf("the call got %q", got)
	}
	if err := <-stopped; err != nil {
		t.Errorf("stopped with %v", err)
	}
}

func TestACallThatDoesNotEndIsCutOffAtTheLimit(t *testing.T) {
	url, began, _, stop := served(t, time.Millisecond)
	failed := make(chan error, 1)
	go func() {
		res, err := http.Get(url)
		if err == nil {
			res.Body.Close()
		}
		failed <- err
	}()
	<-began
	if err := stop(); err != nil {
		t.Errorf("stopped with %v", err)
	}
	if err := <-failed; err == nil {
		t.Error("the call was answered")
	}
}

func TestACallThatWasCutOffEndsBeforeWhatItWritesTo(t *testing.T) {
	ln, err := openListener("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	began, over := make(chan struct{}), atomic.Bool{}
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		time.Sleep(50 * time.Millisecond) // the record of the call
		over.Store(true)
	})
	go func() {
		if res, err := http.Get("http://" + ln.Addr().String()); err == nil {
			res.Body.Close()
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	if err := serveOn(ctx, ln, h, slog.New(slog.DiscardHandler), time.Millisecond); err != nil {
		t.Error(err)
	}
	if !over.Load() {
		t.Error("the server has ended, and the call has not")
	}
}
