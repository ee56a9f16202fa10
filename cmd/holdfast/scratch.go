package main

import (
	"context"
	"log/slog"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/config"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/eval/survival"
	"github.com/holdfast-dev/holdfast/store"
)

// scratch starts proxies that keep nothing behind: for the demonstration and for
// measurements. It is a survival.Product.
type scratch struct{ now func() time.Time }

// Start implements survival.Product.
func (s scratch) Start(ctx context.Context, bases map[holdfast.Protocol]string, extractor string, without survival.Ablation) (survival.Proxy, error) {
	cfg := config.Default()
	cfg.Upstreams = nil
	for _, p := range holdfast.Protocols() {
		base, err := url.Parse(bases[p])
		if err != nil {
			return nil, holdfast.Errorf(holdfast.ErrInternal, "%w", err)
		}
		cfg.Upstreams = append(cfg.Upstreams, config.Upstream{Name: string(p), Protocol: p, BaseURL: base})
	}
	if extractor != "" {
		base, err := url.Parse(extractor)
		if err != nil {
			return nil, holdfast.Errorf(holdfast.ErrInternal, "%w", err)
		}
		cfg.Upstreams = append(cfg.Upstreams, config.Upstream{Name: "extractor", Protocol: holdfast.Chat, BaseURL: base, Models: []string{"script"}})
		x := &cfg.Continuity.Extractor
		x.Enabled, x.Route = true, config.Route{Upstream: "extractor", Model: "script"}
		// Nobody thinks here: who is late comes late, and the run has an end.
		x.Timeout, x.BarrierTimeout = 2*time.Second, 500*time.Millisecond
	}
	first := &scratchProxy{cfg: cfg, now: s.now, without: without, store: store.NewMemory()}
	return first.Next(ctx)
}

// proxy is the startProxy of the demonstration.
func (s scratch) proxy(ctx context.Context, bases map[holdfast.Protocol]string) (string, func(), error) {
	p, err := s.Start(ctx, bases, "", survival.Whole)
	if err != nil {
		return "", nil, err
	}
	return p.Base(), p.Stop, nil
}

// scratchProxy is a proxy on a free port, over a store that others may share.
type scratchProxy struct {
	cfg     config.Config
	now     func() time.Time
	without survival.Ablation
	store   *store.Memory

	base  string
	link  *mortalStore
	stop  context.CancelFunc
	ended chan struct{}
}

func (p *scratchProxy) Base() string { return p.base }

// Next implements survival.Proxy.
func (p *scratchProxy) Next(ctx context.Context) (survival.Proxy, error) {
	n := &scratchProxy{cfg: p.cfg, now: p.now, without: p.without, store: p.store, ended: make(chan struct{})}
	n.link = &mortalStore{Store: p.store, careless: p.without == survival.NoRevision}
	ln, err := openListener("127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	log := slog.New(slog.DiscardHandler)
	stack, err := newStack(n.cfg, stackStores{sessions: n.link, extractor: n.store}, nil, access{}, log, n.now, engine.Ablation{
		Grounding:    p.without == survival.NoGrounding,
		Supersession: p.without == survival.NoSupersession,
		Barrier:      p.without == survival.NoBarrier,
	})
	if err != nil {
		_ = ln.Close()
		return nil, err
	}
	n.base = "http://" + ln.Addr().String()
	ctx, n.stop = context.WithCancel(ctx)
	go func() {
		defer close(n.ended)
		_ = serveOn(ctx, ln, stack.handler, log, 0)
		_ = stack.close() // what a dead link did not write is meant to be lost
	}()
	return n, nil
}

// Stop implements survival.Proxy.
func (p *scratchProxy) Stop() {
	p.stop()
	<-p.ended
}

// Kill implements survival.Proxy: from now on nothing reaches the store.
func (p *scratchProxy) Kill() {
	p.link.dead.Store(true)
	p.Stop()
}

// diskTime is what a disk takes to make a batch durable: memory is too fast for a
// process to die in between.
const diskTime = 3 * time.Millisecond

// mortalStore is a process's link to a store, which ends with the process.
type mortalStore struct {
	engine.Store
	dead     atomic.Bool
	careless bool // revisions are written whatever else is there, and nobody hears of it
}

// Heads tells how far a session is, which a process compares its own revisions with.
func (m *mortalStore) Heads(ctx context.Context, p holdfast.Principal, agent, key string) ([]store.Head, error) {
	if m.careless {
		return nil, nil
	}
	return m.Store.Heads(ctx, p, agent, key)
}

// Apply writes batches while the process lives.
func (m *mortalStore) Apply(ctx context.Context, batches []store.Batch) []error {
	time.Sleep(diskTime)
	if m.dead.Load() {
		return slices.Repeat([]error{holdfast.Errorf(holdfast.ErrUnavailable, "the process is dead")}, len(batches))
	}
	if !m.careless {
		return m.Store.Apply(ctx, batches)
	}
	var errs []error
	for _, b := range batches {
		errs = append(errs, m.force(ctx, b))
	}
	return errs
}

// force writes a batch; revisions that were overtaken go on top.
func (m *mortalStore) force(ctx context.Context, b store.Batch) error {
	err := m.Store.Apply(ctx, []store.Batch{b})[0]
	if holdfast.CodeOf(err) != holdfast.ErrConflict {
		return err
	}
	st, loadErr := m.Store.Session(ctx, b.Session.Principal, b.Session.Agent, b.Session.Key)
	if loadErr != nil {
		return err
	}
	newest := map[holdfast.BranchID]int{}
	b.Branches = slices.Clone(b.Branches)
	for _, branch := range st.Branches {
		for i := range b.Branches {
			if b.Branches[i].ID == branch.ID {
				b.Branches[i].Epoch = max(b.Branches[i].Epoch, branch.Epoch)
			}
		}
		for _, r := range branch.Revisions {
			newest[branch.ID] = max(newest[branch.ID], r.N)
		}
	}
	b.Session = st.Session
	b.Revisions = slices.Clone(b.Revisions)
	for i := range b.Revisions {
		r := &b.Revisions[i]
		newest[r.Branch]++
		r.N = newest[r.Branch]
	}
	return m.Store.Apply(ctx, []store.Batch{b})[0]
}
