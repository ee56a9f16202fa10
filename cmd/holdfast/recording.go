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

// newRecorder starts a recorder of usage with the prices and the budgets of a
// configuration.
func newRecorder(cfg config.Config, st ledger.Store, log *slog.Logger, reg prometheus.Registerer, now func() time.Time) (*ledger.Recorder, *ledger.Budgets, error) {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownLimit)
	defer cancel()
	price, metrics := pricing(cfg), ledger.NewMetrics(reg)
	budgets, err := ledger.NewBudgets(ctx, st, budgetsOf(cfg), price, log, metrics, now)
	if err != nil {
		return nil, nil, err
	}
	return ledger.New(st, ledger.Config{Price: price, TTL: cfg.Usage.TTL, Budgets: budgets}, log, metrics, now), budgets, nil
}

// budgetsOf are the configured budgets as the ledger knows them.
func budgetsOf(cfg config.Config) (list []ledger.Budget) {
	for _, b := range cfg.Budgets {
		list = append(list, ledger.Budget{Name: b.Name, Principal: b.Principal, Label: b.Label, Per: ledger.Period(b.Per), Soft: b.Soft, Hard: b.Hard})
	}
	return list
}

// accounts are the books of a conversation's calls, as long as a command runs.
type accounts struct {
	recorder *ledger.Recorder
	budgets  *ledger.Budgets
	id       holdfast.ConversationID // "" for one that is not kept
	end      func()
}

// recordCalls has the calls that go to models admitted and recorded, as those of a
// conversation that is kept. The end of the accounts ends that.
func (a *app) recordCalls(m *models, cfg config.Config, st ledger.Store, id holdfast.ConversationID, unkept bool) (accounts, error) {
	if unkept {
		id = ""
	}
	r, budgets, err := newRecorder(cfg, st, slog.New(slog.DiscardHandler), prometheus.NewRegistry(), a.now)
	if err != nil {
		return accounts{}, err
	}
	me := holdfast.Caller{Principal: a.principal}
	m.admit = func(upstream, model string) error { return budgets.Admit(me, upstream, model) }
	m.ended = func(attempt holdfast.Attempt) {
		attempt.ID = holdfast.AttemptID(uuid.Must(uuid.NewV7()).String())
		attempt.Principal, attempt.Conversation = a.principal, id
		r.Record(attempt)
	}
	return accounts{r, budgets, id, func() {
		defer a.warnOfBudgets(budgets, me)
		ctx, cancel := context.WithTimeout(context.Background(), shutdownLimit)
		defer cancel()
		if err := r.Stop(ctx); err != nil {
			// The answer is there; what it cost is not.
			_, _ = fmt.Fprintln(a.err, clean("holdfast: "+err.Error()))
		}
	}}, nil
}

// warnOfBudgets tells of what a caller has spent above a soft limit.
func (a *app) warnOfBudgets(budgets *ledger.Budgets, c holdfast.Caller) {
	for _, s := range budgets.States() {
		if s.Soft != nil && s.Covers(c) && s.Spent >= *s.Soft {
			_, _ = fmt.Fprintf(a.err, "holdfast: the budget %s is above its soft limit of %s a %s: %s are spent\n", s.Name, ledger.Dollars(*s.Soft), s.Per, ledger.Dollars(s.Spent))
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
