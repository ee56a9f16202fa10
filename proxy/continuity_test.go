package proxy_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/eval"
	"github.com/holdfast-dev/holdfast/proxy"
	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/upstream"
)

// gateway is a whole Holdfast in this process, in front of one base URL.
type gateway struct {
	ledger  journal
	t       *testing.T
	store   *store.Memory
	cfg     engine.Config
	off     bool // the feature is off
	target  string
	mu      sync.Mutex
	handler http.Handler
	engine  *engine.Engine
	client  *http.Transport
	server  *httptest.Server
}

func newGateway(t *testing.T, target string, change func(*gateway)) *gateway {
	t.Helper()
	g := &gateway{
		t: t, store: store.NewMemory(), target: target,
		cfg: engine.Config{Preserve: continuity.All, MaxCapsuleTokens: 2500, UserWordsTokens: 1000, CopyOnFork: true, Redact: func(s string) (string, int) { return s, 0 }},
	}
	if change != nil {
		change(g)
	}
	g.start()
	g.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		h := g.handler
		g.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		g.server.Close()
		g.stop()
	})
	return g
}

func (g *gateway) start() {
	var ups []upstream.Upstream
	for _, p := range holdfast.Protocols() {
		base := g.target
		if p == holdfast.Chat || p == holdfast.Responses {
			base += "/v1"
		}
		u, err := url.Parse(base)
		if err != nil {
			g.t.Fatal(err)
		}
		ups = append(ups, upstream.Upstream{Name: string(p), Protocol: p, Base: u})
	}
	reg := prometheus.NewRegistry()
	log := slog.New(slog.DiscardHandler)
	g.client = upstream.NewTransport()
	var c proxy.Coordinator
	if !g.off {
		g.engine = engine.New(g.store, g.cfg, log, engine.NewMetrics(reg), time.Now)
		c = g.engine
	}
	h := proxy.New(proxy.Config{MaxBody: 64 << 20, MaxInFlight: 512 << 20}, proxy.Parts{
		Upstreams: upstream.New(ups), Transport: g.client, Engine: c, Ledger: &g.ledger,
	}, log, reg)
	g.mu.Lock()
	g.handler = h
	g.mu.Unlock()
}

func (g *gateway) stop() {
	g.client.CloseIdleConnections()
	if g.engine != nil {
		if err := g.engine.Close(context.Background()); err != nil {
			g.t.Error(err)
		}
	}
}

// restart is the end of the process and the start of another over its data.
func (g *gateway) restart() {
	g.stop()
	g.start()
}

// each calls before for every request, numbered from 0, and keeps the bodies.
type each struct {
	before func(n int, r *http.Request)
	mu     sync.Mutex
	bodies [][]byte
}

func (e *each) RoundTrip(r *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	n := len(e.bodies)
	e.bodies = append(e.bodies, raw)
	e.mu.Unlock()
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(raw))
	if e.before != nil {
		e.before(n, r)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// play runs a scenario and returns what the upstream received.
func play(t *testing.T, s eval.Scenario, base func(up string) string, client http.RoundTripper) []eval.Request {
	t.Helper()
	up := eval.NewUpstream(eval.Config{Seed: t.Name(), Turn: s.Script(), Summary: func(n int, r eval.Request) eval.Reply {
		// A model never writes the same summary twice.
		reply := eval.Forgetful(n, r)
		reply.Text = fmt.Sprintf("%s\nPart %d ends here.", reply.Text, n+1)
		return reply
	}})
	server := httptest.NewServer(up)
	defer server.Close()
	if client == nil {
		client = http.DefaultTransport
	}
	if err := s.Run(context.Background(), &http.Client{Transport: client}, base(server.URL), t.Name()); err != nil {
		t.Fatal(err)
	}
	return up.Requests()
}

func judge(t *testing.T, s eval.Scenario, requests []eval.Request) []eval.Epoch {
	t.Helper()
	epochs, err := s.Judge(requests)
	if err != nil {
		t.Fatal(err)
	}
	return epochs
}

func survived(t *testing.T, s eval.Scenario, requests []eval.Request) {
	t.Helper()
	for _, e := range judge(t, s, requests) {
		if !e.Survived() {
			t.Errorf("after compaction %d the plan is not there, in order, once, in every request: %+v", e.Compaction, e.Requests)
		}
	}
}

func everyScenario(t *testing.T, f func(t *testing.T, s eval.Scenario)) {
	for _, s := range eval.Scenarios() {
		t.Run(s.Name, func(t *testing.T) { f(t, s) })
	}
}

// through starts a gateway in front of an upstream and returns its base URL.
func through(t *testing.T, change func(*gateway)) func(string) string {
	return func(up string) string { return newGateway(t, up, change).server.URL }
}

func TestCriterion06And08ThePlanSurvivesThreeCompactionsWithoutAModelCall(t *testing.T) {
	everyScenario(t, func(t *testing.T, s eval.Scenario) {
		client := &each{}
		requests := play(t, s, through(t, nil), client)
		survived(t, s, requests)
		if len(requests) != len(client.bodies) {
			t.Errorf("the agent made %d calls, the upstream got %d", len(client.bodies), len(requests))
		}
	})
}

func TestWithTheFeatureOffThePlanIsLostAndEveryByteIsTheClients(t *testing.T) {
	everyScenario(t, func(t *testing.T, s eval.Scenario) {
		client := &each{}
		requests := play(t, s, through(t, func(g *gateway) { g.off = true }), client)
		for _, e := range judge(t, s, requests) {
			if !e.Lost() {
				t.Errorf("after compaction %d the plan is known with the feature off: the test proves nothing", e.Compaction)
			}
		}
		for i, r := range requests {
			if !bytes.Equal(r.Body, client.bodies[i]) {
				t.Errorf("request %d was changed", i)
			}
		}
	})
}

func TestOnlyRequestsWithAStickyBlockAreChanged(t *testing.T) {
	everyScenario(t, func(t *testing.T, s eval.Scenario) {
		client := &each{}
		sticky := 0
		for i, r := range play(t, s, through(t, nil), client) {
			mine := client.bodies[i]
			if bytes.Equal(r.Body, mine) {
				continue
			}
			sticky++
			// Taking one passage out of the upstream's bytes gives the client's.
			a, b := commonPrefix(r.Body, mine), commonSuffix(r.Body, mine)
			if len(mine) > a+b || !bytes.Contains(r.Body, []byte(holdfast.BlockOpen)) {
				t.Errorf("request %d is changed in more than one place", i)
			}
		}
		if opaque := strings.Contains(s.Name, "remote"); opaque != (sticky > 0) {
			t.Errorf("%d requests were changed", sticky)
		}
	})
}

// The provider's prompt cache lives from the common prefix of two requests.
func TestTheCommonPrefixAtTheUpstreamIsNoShorterThanTheClients(t *testing.T) {
	everyScenario(t, func(t *testing.T, s eval.Scenario) {
		client := &each{}
		requests := play(t, s, through(t, nil), client)
		for i := 1; i < len(requests); i++ {
			if requests[i].Kind.IsCompaction() || requests[i-1].Kind.IsCompaction() {
				continue
			}
			mine, theirs := commonPrefix(client.bodies[i-1], client.bodies[i]), commonPrefix(requests[i-1].Body, requests[i].Body)
			if theirs < mine {
				t.Errorf("requests %d and %d share %d bytes at the upstream, %d at the client", i-1, i, theirs, mine)
			}
		}
	})
}

func commonPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

func TestThePlanSurvivesARestartBeforeEveryRequest(t *testing.T) {
	everyScenario(t, func(t *testing.T, s eval.Scenario) {
		var g *gateway
		client := &each{before: func(int, *http.Request) { g.restart() }}
		survived(t, s, play(t, s, func(up string) string {
			g = newGateway(t, up, nil)
			return g.server.URL
		}, client))
	})
}

func TestThePlanSurvivesARefreshedCredential(t *testing.T) {
	everyScenario(t, func(t *testing.T, s eval.Scenario) {
		client := &each{before: func(n int, r *http.Request) {
			for _, name := range []string{"X-Api-Key", "Authorization", "X-Goog-Api-Key"} {
				if r.Header.Get(name) != "" {
					r.Header.Set(name, fmt.Sprintf("Bearer token-%d", n/3))
				}
			}
		}}
		requests := play(t, s, through(t, nil), client)
		survived(t, s, requests)
		last := requests[len(requests)-1].Header
		if got := last.Get("X-Api-Key") + last.Get("Authorization") + last.Get("X-Goog-Api-Key") + last.Get("X-Goog-Api-Key"); !strings.HasPrefix(got, "Bearer token-") || got == "Bearer token-0" {
			t.Errorf("the upstream got the credential %q", got)
		}
	})
}

func TestHoldfastBehindHoldfastDeliversOneBlock(t *testing.T) {
	everyScenario(t, func(t *testing.T, s eval.Scenario) {
		survived(t, s, play(t, s, func(up string) string {
			inner := newGateway(t, up, nil)
			return newGateway(t, inner.server.URL, nil).server.URL
		}, nil))
	})
}

func TestAnAgentGoesOnWhenHoldfastIsStoppedAfterAnyRequest(t *testing.T) {
	everyScenario(t, func(t *testing.T, s eval.Scenario) {
		total := len(play(t, s, func(up string) string { return up }, nil))
		for stop := 0; stop < total; stop += 3 { // each kind of request is hit
			var direct string
			client := &each{before: func(n int, r *http.Request) {
				if n > stop {
					r.URL.Host = direct
				}
			}}
			requests := play(t, s, func(up string) string {
				direct = strings.TrimPrefix(up, "http://")
				return newGateway(t, up, nil).server.URL
			}, client)
			if len(requests) != total {
				t.Errorf("stopped after request %d the agent made %d requests, %d without a proxy", stop, len(requests), total)
			}
			for i, r := range requests {
				if i > stop && !bytes.Equal(r.Body, client.bodies[i]) {
					t.Errorf("request %d did not go past the proxy", i)
				}
			}
		}
	})
}

func TestAnAgentThatBypassesHoldfastForItsCompactionStillGetsThePlan(t *testing.T) {
	everyScenario(t, func(t *testing.T, s eval.Scenario) {
		var direct string
		client := &each{}
		client.before = func(n int, r *http.Request) {
			if eval.KindOf(r, client.bodies[n]).IsCompaction() {
				r.URL.Host = direct
			}
		}
		survived(t, s, play(t, s, func(up string) string {
			direct = strings.TrimPrefix(up, "http://")
			return newGateway(t, up, nil).server.URL
		}, client))
	})
}

func TestCriterion10And23WhatIsStoredIsNoTranscriptAndBounded(t *testing.T) {
	everyScenario(t, func(t *testing.T, s eval.Scenario) {
		var g *gateway
		play(t, s, func(up string) string {
			g = newGateway(t, up, nil)
			return g.server.URL
		}, nil)
		g.restart()
		list, err := g.store.Sessions(context.Background(), holdfast.Local)
		if err != nil || len(list) != 1 {
			t.Fatalf("%d sessions, %v", len(list), err)
		}
		st, err := g.store.Load(context.Background(), holdfast.Local, list[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		if len(st.Branches) != 1 {
			t.Errorf("%d branches, want 1", len(st.Branches))
		}
		for _, b := range st.Branches {
			for _, r := range b.Revisions {
				for _, foreign := range []string{"goes line by line", "The tests pass"} {
					if bytes.Contains(r.Capsule, []byte(foreign)) {
						t.Errorf("revision %d holds text of the conversation: %q", r.N, foreign)
					}
				}
				if len(r.Capsule) > 4<<10 {
					t.Errorf("revision %d has %d bytes", r.N, len(r.Capsule))
				}
			}
			called := map[holdfast.BoundaryID]int{}
			for _, a := range g.ledger.all() {
				if a.Session == st.ID && a.Branch == b.ID && a.Agent == st.Agent {
					called[a.Boundary]++
				}
			}
			if len(called) != len(b.Boundaries)+1 || called[""] == 0 {
				t.Errorf("the recorded calls are of the boundaries %v, want some of none and those of %v", called, b.Boundaries)
			}
			for i, bd := range b.Boundaries {
				if called[bd.ID] == 0 {
					t.Errorf("no call of boundary %d is recorded", i)
				}
				if bd.Status != store.BoundaryCommitted {
					t.Errorf("boundary %d is %s", i, bd.Status)
				}
			}
			if b.Epoch != 3 || len(b.Boundaries) != 3 {
				t.Errorf("epoch %d, %d boundaries, want 3 and 3", b.Epoch, len(b.Boundaries))
			}
		}
	})
}

func TestCriterion20ARepeatedCompactionLeavesOneBlock(t *testing.T) {
	everyScenario(t, func(t *testing.T, s eval.Scenario) {
		client := &repeating{}
		survived(t, s, play(t, s, through(t, nil), client))
		if client.repeated == 0 {
			t.Error("no compaction request was repeated")
		}
	})
}

// repeating sends each compaction request three times and uses the last answer.
type repeating struct{ repeated int }

func (c *repeating) RoundTrip(r *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	times := 1
	if eval.KindOf(r, raw).IsCompaction() {
		times = 3
		c.repeated++
	}
	for {
		again := r.Clone(r.Context())
		again.Body = io.NopCloser(bytes.NewReader(raw))
		resp, err := http.DefaultTransport.RoundTrip(again)
		if times--; times == 0 || err != nil {
			return resp, err
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return nil, err
		}
		resp.Body.Close()
	}
}

func TestASummaryThatCopiesTheOldBlockLeavesOneBlock(t *testing.T) {
	everyScenario(t, func(t *testing.T, s eval.Scenario) {
		up := eval.NewUpstream(eval.Config{Seed: t.Name(), Turn: s.Script(), Summary: func(n int, r eval.Request) eval.Reply {
			reply := eval.Forgetful(n, r)
			// The summarizer copies the record of the epoch before, as models do.
			body := string(r.Body)
			if i := strings.LastIndex(body, holdfast.BlockOpen); i >= 0 {
				if j := strings.Index(body[i:], holdfast.BlockClose); j >= 0 {
					old := strings.NewReplacer(`\n`, "\n", `\"`, `"`).Replace(body[i : i+j+len(holdfast.BlockClose)])
					reply.Text = old + "\n" + reply.Text + "\n" + old
				}
			}
			return reply
		}})
		server := httptest.NewServer(up)
		defer server.Close()
		if err := s.Run(context.Background(), http.DefaultClient, through(t, nil)(server.URL), t.Name()); err != nil {
			t.Fatal(err)
		}
		survived(t, s, up.Requests())
	})
}
