package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/proxy"
	"github.com/holdfast-dev/holdfast/store/sqlite"
	"github.com/holdfast-dev/holdfast/upstream"
)

// serveHoldfast runs the proxy in this process, in front of base.
func serveHoldfast(tb testing.TB, base string, enabled bool) string {
	tb.Helper()
	parse := func(s string) *url.URL {
		u, err := url.Parse(s)
		if err != nil {
			tb.Fatal(err)
		}
		return u
	}
	ups := upstream.New([]upstream.Upstream{
		{Name: "anthropic", Protocol: holdfast.Anthropic, Base: parse(base)},
		{Name: "openai", Protocol: holdfast.Responses, Base: parse(base + "/v1")},
	})
	log := slog.New(slog.DiscardHandler)
	reg := prometheus.NewRegistry()
	var coordinator proxy.Coordinator
	if enabled {
		st, err := sqlite.Open(filepath.Join(tb.TempDir(), "holdfast.db"))
		if err != nil {
			tb.Fatal(err)
		}
		e := engine.New(st, engine.Config{Preserve: continuity.Preserve{Plan: true, UserDecisions: true}, MaxCapsuleTokens: 2500, CopyOnFork: true},
			log, engine.NewMetrics(reg), time.Now)
		tb.Cleanup(func() {
			if err := e.Close(context.Background()); err != nil {
				tb.Error(err)
			}
			if err := st.Close(); err != nil {
				tb.Error(err)
			}
		})
		coordinator = e
	}
	rt := upstream.NewTransport()
	tb.Cleanup(rt.CloseIdleConnections)
	return serve(tb, proxy.New(proxy.Config{MaxBody: 64 << 20, MaxInFlight: 512 << 20}, proxy.Parts{Upstreams: ups, Transport: rt, Engine: coordinator}, log, reg))
}

func serve(tb testing.TB, h http.Handler) string {
	tb.Helper()
	srv := httptest.NewServer(h)
	tb.Cleanup(srv.Close)
	return srv.URL
}

// BenchmarkTurn is one turn of a session, load and upstream in the same process.
// It serves to take profiles of the request path; the load test measures.
func BenchmarkTurn(b *testing.B) {
	up := serve(b, newUpstream())
	ctl, err := newControl(up)
	if err != nil {
		b.Fatal(err)
	}
	ways := []struct{ name, base string }{
		{control, serve(b, ctl)},
		{"off", serveHoldfast(b, up, false)},
		{on, serveHoldfast(b, up, true)},
	}
	var f fleet // counts the sessions
	for _, z := range sizes {
		for _, way := range ways {
			b.Run(z.name+"/"+way.name, func(b *testing.B) {
				s := newSession(holdfast.Anthropic, z, true, 1)
				w := newWorker()
				defer w.transport.CloseIdleConnections()
				a := ask{deltas: cellDeltas}
				want := newAnswer(s.protocol, a.deltas)
				var t tally
				send := func(i int) {
					if err := w.send(b.Context(), target{base: way.base}, job{s: s, request: i, ask: a, want: want}, &t); err != nil {
						b.Fatal(err)
					}
				}
				next := len(s.cuts)
				b.SetBytes(int64(z.bytes))
				for b.Loop() {
					if next == len(s.cuts) {
						b.StopTimer()
						f.begin(herd{{s}})
						send(0)
						next = 1
						b.StartTimer()
					}
					send(next)
					next++
				}
				// The control cuts a stream now and then: it races the request body.
				if faults(t) > 0 && way.name != control {
					b.Fatalf("%d of %d answers are wrong: %s", faults(t), t.Requests, t.Problem)
				}
			})
		}
	}
}
