package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/config"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/ledger"
	"github.com/holdfast-dev/holdfast/proxy"
	"github.com/holdfast-dev/holdfast/redact"
	"github.com/holdfast-dev/holdfast/upstream"
)

// stack is all that answers a call, over one store.
type stack struct {
	handler   http.Handler
	transport *http.Transport
	engine    *engine.Engine   // nil where continuity is off for all
	ledger    *ledger.Recorder // nil where no calls are recorded
}

// access is who may ask: what the proxy authenticates by, and whether machines
// other than this one may. The zero value lets all of this machine in.
type access struct {
	auth   proxy.Authenticator
	remote bool
}

// stackStores are what a stack is built over; they stay the caller's to close.
type stackStores struct {
	sessions  engine.Store
	extractor extractorStore // nil where no session is read by the extractor
	books     ledger.Store   // nil: no calls are recorded
}

// newStack puts the rooms together. What is taken away is for measurements.
func newStack(cfg config.Config, st stackStores, environ config.Environ, may access, log *slog.Logger, now func() time.Time, without engine.Ablation) (*stack, error) {
	ups, err := upstreams(cfg.Upstreams)
	if err != nil {
		return nil, err
	}
	s := &stack{transport: upstream.NewTransport()}
	reg := prometheus.NewRegistry()
	parts := proxy.Parts{Upstreams: ups, Transport: s.transport, Authenticator: may.auth}
	var budgets *ledger.Budgets
	if st.books != nil {
		if s.ledger, budgets, err = newRecorder(cfg, st.books, log, reg, now); err != nil {
			return nil, err
		}
		parts.Ledger, parts.Admission = s.ledger, budgets
	}
	if cfg.ContinuityRuns() {
		secrets, err := redact.New(nil)
		if err != nil {
			return nil, errors.Join(holdfast.Errorf(holdfast.ErrInternal, "%w", err), s.close())
		}
		ec := engine.Config{
			Policy: func(c holdfast.Caller, agent string) engine.Settings { return settings(cfg.ForSession(c, agent)) },
			Redact: func(text string) (string, int) {
				clean, found := secrets.Text(text)
				return clean, len(found)
			},
			TTL:         cfg.Continuity.TTL,
			Transcripts: cfg.Transcripts.Enabled, TranscriptTTL: cfg.Transcripts.TTL,
			Without: without,
		}
		if cfg.ExtractorRuns() {
			ctx, cancel := context.WithTimeout(context.Background(), shutdownLimit)
			calls, err := newExtractorCalls(ctx, cfg, st.extractor, environ, s.transport, now)
			cancel()
			if err != nil {
				return nil, errors.Join(err, s.close())
			}
			calls.budgets, calls.ledger = budgets, s.ledger
			ec.Extractor = calls.extractor(cfg.Continuity.Extractor, st.extractor)
			parts.Extraction = func(mark string) bool { return calls.mark.Knows(mark, now()) }
		}
		s.engine = engine.New(st.sessions, ec, log, engine.NewMetrics(reg), now)
		parts.Engine = s.engine
	}
	s.handler = proxy.New(proxy.Config{MaxBody: cfg.Limits.Body, MaxInFlight: cfg.Limits.InFlight, Remote: may.remote}, parts, log, reg)
	return s, nil
}

// settings are what holds for a session, as the engine has it.
func settings(f config.InForce) engine.Settings {
	set := engine.Settings{
		Enabled:          f.Enabled,
		Preserve:         continuity.Preserve(f.Preserve),
		MaxCapsuleTokens: f.MaxCapsuleTokens,
		UserWordsTokens:  f.UserWordsTokens,
		CopyOnFork:       f.Fork == config.ForkCopy,
		Extract:          f.Extractor.Enabled,
	}
	for _, t := range f.Terms {
		set.Terms = append(set.Terms, engine.Term(t))
	}
	return set
}

// close writes what is queued; no call may be under way.
func (s *stack) close() error {
	s.transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownLimit)
	defer cancel()
	var unkept, unwritten error
	if s.engine != nil { // first: calls of the extractor that it ends are recorded
		if err := s.engine.Close(ctx); err != nil {
			unwritten = holdfast.Errorf(holdfast.ErrUnavailable, "not all of the latest plan changes could be written: %w", err)
		}
	}
	if s.ledger != nil {
		unkept = s.ledger.Stop(ctx)
	}
	return errors.Join(unwritten, unkept)
}

// upstreams makes the routing set and reads the credentials.
func upstreams(list []config.Upstream) (*upstream.Set, error) {
	ups := make([]upstream.Upstream, len(list))
	for i, u := range list {
		key, err := u.APIKey.Read()
		if err != nil {
			return nil, holdfast.Errorf(holdfast.ErrConfig, "upstream %s: %w", u.Name, err)
		}
		ups[i] = upstream.Upstream{Name: u.Name, Protocol: u.Protocol, Base: u.BaseURL, Key: key, Models: u.Models}
	}
	return upstream.New(ups), nil
}
