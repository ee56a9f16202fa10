package survival

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// trouble is a way in which a session does not go in order.
type trouble struct {
	name string
	run  func(ctx context.Context, p Product, without Ablation, s *Session, t tally) error
	// needs says which agents can meet it; nil for all.
	needs func(m eval.Manner) bool
}

// allTroubles are met in turn, each by each agent.
func allTroubles() []trouble {
	return []trouble{
		{name: "the process is killed and started again", run: crashes},
		{name: "requests are repeated while they are under way", run: repeats},
		{name: "two processes take turns over one store", run: replicas},
		{name: "subagents work and compact beside the session", run: subagents, needs: func(m eval.Manner) bool { return m.Subagents }},
	}
}

// interleavings plays n sessions, each with one trouble, and holds what arrived
// against the session played in order.
func interleavings(ctx context.Context, p Product, without Ablation, n int, manners []eval.Manner, troubles []trouble, t tally) error {
	var mu sync.Mutex
	var failed error
	var group sync.WaitGroup
	slots := make(chan struct{}, 4)
	for i := range n {
		// Each trouble is met at once, and each by every agent in the end.
		x, m := troubles[i%len(troubles)], manners[(i+i/(len(troubles)*len(manners)))%len(manners)]
		if x.needs != nil && !x.needs(m) {
			continue
		}
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			mine := tally{}
			s := Generate(uint64(i)*131+2, m, 3)
			s.Fork = nil
			err := x.run(ctx, p, without, s, mine)
			mu.Lock()
			defer mu.Unlock()
			if err != nil && failed == nil {
				failed = holdfast.Errorf(holdfast.CodeOf(err), "%s, %s, seed %d: %w", m.Name, x.name, s.Seed, err)
			}
			t.merge(mine)
		})
	}
	group.Wait()
	return failed
}

// inOrder plays a session without any trouble and returns its states.
func inOrder(ctx context.Context, p Product, without Ablation, s *Session) ([]string, error) {
	w, err := play(ctx, p, without, []*Session{s}, Compactors()[0], nil, false)
	if err != nil {
		return nil, err
	}
	return w.states(w.lanes[s.Tag]), nil
}

// troubled plays a session with a trouble and compares it with the session in
// order. begin gets the proxy that is started, and returns the trouble.
func troubled(ctx context.Context, p Product, without Ablation, s *Session, t tally, name string,
	begin func(proxy Proxy, l *lane) (meddler, func()),
) error {
	want, err := inOrder(ctx, p, without, s)
	if err != nil {
		return err
	}
	w, err := newWorld(fmt.Sprint(name, s.Seed))
	if err != nil {
		return err
	}
	defer w.stop()
	proxy, err := p.Start(ctx, w.upstreams(), "", without)
	if err != nil {
		return err
	}
	l := w.lane(s.Tag, s, Compactors()[0])
	defer l.pool.CloseIdleConnections()
	var end func()
	l.trouble, end = begin(proxy, l)
	agent := s.Manner.New(client, proxy.Base(), s.Tag)
	err = l.drive(ctx, agent, 0, func(int) error { return nil })
	end() // all that was sent has arrived
	if err != nil {
		return err
	}
	j := newJudge()
	j.world(w)
	t.merge(j.tally)
	got := w.states(l)
	for i := range want {
		now := ""
		if i < len(got) {
			now = got[i]
		}
		t.count(differs, now == want[i], "%s, %s: the block behind compaction %d differs from that of the session in order: %q stands for %q", s.Tag, name, i+1, firstMissing(now, want[i]), firstMissing(want[i], now))
	}
	return nil
}

// firstMissing is the first line of a text that another does not have.
func firstMissing(text, in string) string {
	for line := range strings.Lines(text) {
		if !strings.Contains(in, line) {
			return strings.TrimSpace(line)
		}
	}
	return "none, there are others"
}

// states are the records that opened the epochs of a lane, without what differs
// from process to process: revision and digest.
func (w *world) states(l *lane) (all []string) {
	bodies := map[key][]byte{}
	for _, r := range w.up.Requests() {
		lane, seq, copied := readMark(r.Header)
		if k := (key{lane, seq, copied}); bodies[k] == nil {
			bodies[k] = r.Body
		}
	}
	epoch := 0
	for _, s := range l.sent {
		if s.kind != eval.Turn || s.copied > 0 || s.epoch == epoch {
			continue
		}
		epoch = s.epoch
		blocks := l.session.blocks(bodies[key{l.name, s.seq, s.copied}])
		var lines []string
		for line := range strings.Lines(strings.Join(blocks, "\n")) {
			if !strings.HasPrefix(line, holdfast.BlockOpen) && !strings.HasPrefix(line, "record revision ") {
				lines = append(lines, line)
			}
		}
		all = append(all, strings.Join(lines, ""))
	}
	return all
}

// The points at which a process is killed.
const (
	beforeRequest = iota
	inAnswer
	afterAnswer
	nowhere
)

// settled is how long a person's machine takes between an answer and the next
// request. A process that is killed sooner than that behind an answer, may lose
// what the answer brought, where the agent does not send it again.
const settled = 60 * time.Millisecond

// plans reports whether the answer to a turn will change the plan.
func (l *lane) plans(now sent) bool {
	gold := l.session.Gold
	return now.kind == eval.Turn && now.served+1 < len(gold) && !slices.Equal(gold[now.served].Steps, gold[now.served+1].Steps)
}

// unread reports whether a request is a compaction right behind a question to the
// user. Where a prompt quotes the history in words, the answer stands in it alone,
// and only the process that relayed the question can tell it from what a tool
// printed.
func (l *lane) unread(now sent) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.kind.IsCompaction() && slices.ContainsFunc(l.reply.Calls, func(c eval.Call) bool { return l.session.Answered[c.ID] != "" })
}

// crashes kills the process before a request, within an answer and behind one.
func crashes(ctx context.Context, p Product, without Ablation, s *Session, t tally) error {
	rng := rand.New(rand.NewPCG(s.Seed, 5))
	return troubled(ctx, p, without, s, t, "killed", func(proxy Proxy, l *lane) (meddler, func()) {
		again := func() error {
			proxy.Kill()
			next, err := proxy.Next(ctx)
			if err != nil {
				return err
			}
			proxy = next
			l.aim(proxy.Base())
			return nil
		}
		after := false // the answer before was that of a compaction
		return func(now sent, send func(bool, string) (*http.Response, error)) (*http.Response, error) {
			compaction := now.kind.IsCompaction()
			point := nowhere
			switch n := rng.IntN(8); {
			case l.unread(now):
			case n == 0, after && n < 4:
				point = beforeRequest
			case n == 1, compaction && n < 4:
				point = inAnswer
			case compaction && n < 7:
				point = afterAnswer
			}
			after = compaction
			if point == beforeRequest || point == inAnswer && compaction {
				time.Sleep(settled) // a compaction may leave out what the answer before it brought
			}
			if point == beforeRequest {
				if err := again(); err != nil {
					return nil, err
				}
			}
			resp, err := send(false, "")
			if err != nil || point != inAnswer && point != afterAnswer {
				return resp, err
			}
			defer resp.Body.Close()
			if point == inAnswer {
				_, _ = io.ReadFull(resp.Body, make([]byte, 200)) // then it breaks off
				if err := again(); err != nil {
					return nil, err
				}
				return send(true, "")
			}
			raw, err := io.ReadAll(resp.Body)
			if err == nil {
				err = again()
			}
			resp.Body = io.NopCloser(bytes.NewReader(raw))
			return resp, err
		}, func() { proxy.Stop() }
	})
}

// repeats sends requests twice at once, and old ones behind them.
func repeats(ctx context.Context, p Product, without Ablation, s *Session, t tally) error {
	rng := rand.New(rand.NewPCG(s.Seed, 6))
	return troubled(ctx, p, without, s, t, "repeated", func(proxy Proxy, _ *lane) (meddler, func()) {
		return func(_ sent, send func(bool, string) (*http.Response, error)) (*http.Response, error) {
			if rng.IntN(3) > 0 {
				return send(false, "")
			}
			var beside sync.WaitGroup
			beside.Go(func() {
				if resp, err := send(true, ""); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body) // nobody reads it
					resp.Body.Close()
				}
			})
			defer beside.Wait()
			resp, err := send(false, "")
			if err != nil {
				return nil, err
			}
			defer resp.Body.Close()
			raw, err := io.ReadAll(resp.Body)
			resp.Body = io.NopCloser(bytes.NewReader(raw))
			return resp, err
		}, proxy.Stop
	})
}

// replicas sends requests to one or the other of two processes, and copies of
// some to the process that is left, whose answers come behind the next boundary:
// what that process then writes is long out of date. It does so from the second turn on: another process cannot know a session without an id
// before the model has said something that stands nowhere else.
func replicas(ctx context.Context, p Product, without Ablation, s *Session, t tally) error {
	rng := rand.New(rand.NewPCG(s.Seed, 7))
	return troubled(ctx, p, without, s, t, "replicas", func(proxy Proxy, l *lane) (meddler, func()) {
		both := []Proxy{proxy}
		l.holds = true
		var late sync.WaitGroup
		return func(now sent, send func(bool, string) (*http.Response, error)) (*http.Response, error) {
			if len(both) == 1 {
				second, err := proxy.Next(ctx)
				if err != nil {
					return nil, err
				}
				both = append(both, second)
			}
			if now.served < len(s.Turns[0].Replies) || l.unread(now) || rng.IntN(4) > 0 && !l.plans(now) {
				return send(false, "")
			}
			slices.Reverse(both)
			time.Sleep(settled)
			l.aim(both[0].Base())
			if now.kind == eval.Turn {
				left := both[1].Base()
				late.Go(func() {
					if resp, err := send(true, left); err == nil {
						_, _ = io.Copy(io.Discard, resp.Body) // nobody waits for it any more
						resp.Body.Close()
					}
				})
			}
			return send(false, "")
		}, func() { l.end(); late.Wait(); both[0].Stop(); both[len(both)-1].Stop() }
	})
}

// The subagents of one session, and how many of them compact.
const (
	subagentsOfOne   = 15
	subagentsCompact = 5
)

// subagents plays a session with subagents beside it, all at once.
func subagents(ctx context.Context, p Product, without Ablation, s *Session, t tally) error {
	w, err := newWorld(fmt.Sprint("subagents", s.Seed))
	if err != nil {
		return err
	}
	defer w.stop()
	proxy, err := p.Start(ctx, w.upstreams(), "", without)
	if err != nil {
		return err
	}
	defer proxy.Stop()
	main := w.lane(s.Tag, s, Compactors()[0])
	agent := s.Manner.New(client, proxy.Base(), s.Tag)
	drives := []func() error{func() error { return main.drive(ctx, agent, 0, func(int) error { return nil }) }}
	lanes := []*lane{main}
	for i := range subagentsOfOne {
		boundaries := 0
		if i < subagentsCompact {
			boundaries = 2
		}
		own := Generate(s.Seed*1000+uint64(i)+500_000, s.Manner.Sub(), boundaries)
		own.Fork = nil
		l := w.lane(own.Tag, own, Compactors()[0])
		sub := agent.Subagent(own.Tag)
		drives = append(drives, func() error { return l.drive(ctx, sub, 0, func(int) error { return nil }) })
		lanes = append(lanes, l)
	}
	errs := make([]error, len(drives))
	var group sync.WaitGroup
	for i, drive := range drives {
		group.Go(func() { errs[i] = drive() })
	}
	group.Wait()
	for i, l := range lanes {
		l.pool.CloseIdleConnections()
		if errs[i] != nil {
			return errs[i]
		}
	}
	j := newJudge()
	j.world(w)
	t.merge(j.tally)
	return nil
}
