package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
)

// spoiled answers as the upstream does, but through change.
func spoiled(change func(w http.ResponseWriter, text []byte)) http.Handler {
	up := newUpstream()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &recorder{header: http.Header{}}
		up.ServeHTTP(rec, r)
		change(w, rec.text.Bytes())
	})
}

type recorder struct {
	header http.Header
	text   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(int)             {}
func (r *recorder) Write(b []byte) (int, error) { return r.text.Write(b) }
func (r *recorder) FlushError() error           { return nil }

func TestEveryAnswerIsComparedWithWhatWasSent(t *testing.T) {
	const workers, requests = 3, 4
	for _, c := range []struct {
		name                  string
		h                     http.Handler
		refused, cut, changed int
		problem               string
	}{
		{"the upstream itself", newUpstream(), 0, 0, 0, ""},
		{"a byte is another one", spoiled(func(w http.ResponseWriter, text []byte) {
			text[len(text)/2] ^= 1
			_, _ = w.Write(text)
		}), 0, 0, 12, ""},
		{"the last byte is missing, and the end is clean", spoiled(func(w http.ResponseWriter, text []byte) {
			_, _ = w.Write(text[:len(text)-1])
		}), 0, 12, 0, ""},
		{"the connection breaks", spoiled(func(w http.ResponseWriter, text []byte) {
			_, _ = w.Write(text[:len(text)/2])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}), 0, 12, 0, ""},
		{"there is something behind the end", spoiled(func(w http.ResponseWriter, text []byte) {
			_, _ = w.Write(append(text, '\n'))
		}), 0, 0, 12, ""},
		{"another status", spoiled(func(w http.ResponseWriter, _ []byte) {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte("busy"))
		}), 12, 0, 0, "status 429: busy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSession(holdfast.Anthropic, sizes[0], true, 1)
			a := ask{deltas: 5, number: 9}
			h := newHerd(s, workers, 1)
			var f fleet
			f.begin(h)
			got, err := volley(t.Context(), target{base: serve(t, c.h)}, f.crew(workers), h.requests(0, requests, a, newAnswer(s.protocol, a.deltas)))
			if err != nil {
				t.Fatal(err)
			}
			if got.Requests != workers*requests || got.Refused != c.refused || got.Cut != c.cut || got.Changed != c.changed || got.Problem != c.problem {
				t.Errorf("%+v", got)
			}
			if want := 12 - c.refused - c.cut - c.changed; len(got.Latency) != want {
				t.Errorf("%d latencies, want %d", len(got.Latency), want)
			}
		})
	}
}

func TestABodyThatArrivesChangedIsRefused(t *testing.T) {
	s := newSession(holdfast.Anthropic, sizes[0], false, 1)
	w := newWorker()
	defer w.transport.CloseIdleConnections()
	at := target{base: serve(t, newUpstream())}
	right := sumOf(s.request(0))
	var got tally
	for _, sum := range []uint64{right, right + 1, 0} {
		if err := w.send(t.Context(), at, job{s: s, ask: ask{sum: sum}, want: newAnswer(s.protocol, 0)}, &got); err != nil {
			t.Fatal(err)
		}
	}
	if got.Requests != 3 || got.Refused != 1 || !strings.HasPrefix(got.Problem, "status 422: the body has the hash ") {
		t.Errorf("%+v", got)
	}
}

func TestTheWholeProductIsMeasured(t *testing.T) {
	base := serveHoldfast(t, serve(t, newUpstream()), true)
	f := fleet{targets: map[string]target{on: {base: base}}}
	s := newSession(holdfast.Anthropic, sizes[1], true, 1)
	h := newHerd(s, 1, 1)
	f.begin(h)
	a := ask{deltas: cellDeltas}
	got, err := volley(t.Context(), f.targets[on], f.crew(1), h.requests(0, len(s.cuts), a, newAnswer(s.protocol, a.deltas)))
	if err != nil {
		t.Fatal(err)
	}
	if faults(got) > 0 {
		t.Errorf("%+v", got)
	}
	rec, err := f.recorded(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Every plan differs from the one before it.
	text, _ := s.request(len(s.cuts) - 1)
	want := recordedRow{Harvested: bytes.Count(text, []byte(`"name":"TodoWrite"`))}
	if diff := cmp.Diff(want, rec); want.Harvested == 0 || diff != "" {
		t.Error(diff)
	}
}

func TestStreamsAreComparedThroughTheProduct(t *testing.T) {
	f := fleet{}
	at := target{base: serveHoldfast(t, serve(t, newUpstream()), true)}
	got, err := f.compareStreams(t.Context(), at, 1)
	if err != nil {
		t.Fatal(err)
	}
	// One volley of each: hasty ones, then three kinds of nine requests.
	if want := hastyStreams + streamWorkers*3*9; got.Requests != want || faults(got) != 0 {
		t.Errorf("%d streams, want %d; %d refused, %d cut, %d changed: %s", got.Requests, want, got.Refused, got.Cut, got.Changed, got.Problem)
	}
}

func TestAProcessIsQuietWhenItUsesNoMore(t *testing.T) {
	for _, c := range []struct {
		name  string
		busy  int // readings until it rests
		after time.Duration
		took  time.Duration
	}{
		{"at rest", 0, 0, 20 * time.Millisecond},
		{"busy for ten readings", 10, 10 * time.Millisecond, 70*time.Millisecond - 5*time.Millisecond},
		{"never at rest", 1 << 30, 201 * time.Millisecond, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				used, readings := time.Duration(0), 0
				start := time.Now()
				got, err := settle(t.Context(), func() (time.Duration, error) {
					if readings++; readings <= c.busy {
						used += time.Millisecond
					}
					return used, nil
				})
				if took := time.Since(start); err != nil || got != c.after || took != c.took {
					t.Errorf("%v after %v, %v; want %v after %v", got, took, err, c.after, c.took)
				}
			})
		})
	}
}

func TestAVolleyEndsWithItsContext(t *testing.T) {
	s := newSession(holdfast.Anthropic, sizes[0], true, 1)
	ctx, cancel := context.WithCancel(t.Context())
	h := newHerd(s, 1, 1)
	var f fleet
	up := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		// A server sees that its client has left only behind the body.
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	}))
	got, err := volley(ctx, target{base: up}, f.crew(1), h.requests(0, 5, ask{}, newAnswer(s.protocol, 0)))
	if !errors.Is(err, context.Canceled) || got.Requests != 1 {
		t.Errorf("%d requests, %v", got.Requests, err)
	}
}

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"an argument", []string{"x"}, `there is no argument "x". See --help`},
		{"quick and long", []string{"--quick", "--long"}, "--quick and --long exclude each other. Choose one"},
		{"negative streams", []string{"--streams", "-1"}, "--streams must not be negative"},
		{"a part alone", []string{childArgument, "x"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.want == "" {
				if err := runChild(t.Context(), c.args[1:]); err == nil || err.Error() != `"part-of-the-fleet" is started by the bench itself` {
					t.Error(err)
				}
				return
			}
			if err := run(t.Context(), c.args, &bytes.Buffer{}, &bytes.Buffer{}); err == nil || err.Error() != c.want {
				t.Error(err)
			}
		})
	}
}

func TestAProcessThatDoesNotStartIsToldWithItsLog(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "fails")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho no room >&2\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := start(t.Context(), dir, "part", 1, script)
	if err == nil || err.Error() != "part did not start: no room\n" {
		t.Errorf("%v", err)
	}
}
