package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/config"
	"github.com/holdfast-dev/holdfast/ledger"
	"github.com/holdfast-dev/holdfast/provider"
	"github.com/holdfast-dev/holdfast/upstream"
)

// newRecorder starts a recorder of usage with the prices of a configuration.
func newRecorder(cfg config.Config, st ledger.Store, log *slog.Logger, reg prometheus.Registerer, now func() time.Time) *ledger.Recorder {
	return ledger.New(st, ledger.Config{Price: pricing(cfg), TTL: cfg.Usage.TTL}, log, ledger.NewMetrics(reg), now)
}

// recordCalls has the calls that go to models recorded, as those of a conversation
// that is kept. The function that it returns ends that.
func (a *app) recordCalls(m *models, cfg config.Config, st ledger.Store, id holdfast.ConversationID, unkept bool) (end func()) {
	if unkept {
		id = ""
	}
	r := newRecorder(cfg, st, slog.New(slog.DiscardHandler), prometheus.NewRegistry(), a.now)
	m.ended = func(attempt holdfast.Attempt) {
		attempt.ID = holdfast.AttemptID(uuid.Must(uuid.NewV7()).String())
		attempt.Principal, attempt.Conversation = holdfast.Local, id
		r.Record(attempt)
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownLimit)
		defer cancel()
		if err := r.Stop(ctx); err != nil {
			// The answer is there; what it cost is not.
			_, _ = fmt.Fprintln(a.err, clean("holdfast: "+err.Error()))
		}
	}
}

// pricing finds prices: the user's own, or else those of the embedded list.
func pricing(cfg config.Config) func(upstream, model string) *holdfast.Price {
	catalogue := provider.NewCatalogue(modelEntries(cfg))
	byName := map[string]*upstream.Upstream{}
	for _, u := range cfg.Upstreams {
		byName[u.Name] = &upstream.Upstream{Name: u.Name, Protocol: u.Protocol, Base: u.BaseURL}
	}
	return func(upstream, model string) *holdfast.Price {
		u := byName[upstream]
		if u == nil {
			return nil
		}
		known, _ := catalogue.Model(u, model)
		return known.Price
	}
}
