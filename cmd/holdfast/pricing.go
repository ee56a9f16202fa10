package main

import (
	"log/slog"
	"time"

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
