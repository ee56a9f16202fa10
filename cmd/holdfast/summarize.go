package main

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
	"github.com/holdfast-dev/holdfast/config"
	"github.com/holdfast-dev/holdfast/engine/conversations"
	"github.com/holdfast-dev/holdfast/engine/query"
	"github.com/holdfast-dev/holdfast/redact"
)

// summarizer has models write summaries. route is the way to one by its name; "" is
// that of the conversation.
func (a *app) summarizer(cfg config.Config, show func(string), route func(model string) (query.Route, error)) (*query.Summarizer, error) {
	secrets, err := redact.New(nil)
	if err != nil {
		return nil, holdfast.Errorf(holdfast.ErrInternal, "%w", err)
	}
	return &query.Summarizer{
		Route: route, MaxResult: int(cfg.Query.MaxResult), Estimator: compaction.Estimator{},
		Redact: func(text string) (string, int) {
			clean, found := secrets.Text(text)
			return clean, len(found)
		},
		Progress: func(call, of int) { show(fmt.Sprintf("summarizing, call %d of %d", call, of)) },
	}, nil
}

// asksModel reports whether a step has a summary that a model writes.
func asksModel(s compaction.Step) bool { return s.Skipped == "" && s.Request != nil }

// summarize applies planned steps of which some have a summary that a model writes.
// Its calls are admitted and recorded as those of a query. A dry run only finds the
// ways to the models.
func (a *app) summarize(ctx context.Context, d database, s *conversations.Service, l *conversations.Loaded, cfg conversationConfig, steps []compaction.Step, dry bool) error {
	m := a.newModels(cfg.all)
	m.retrying = a.retrying
	said := conversations.Model(l.Entries)
	named := func(model string) (string, error) {
		name := firstOf(model, said, cfg.all.Query.Model)
		if name == "" {
			return "", holdfast.Errorf(holdfast.ErrUsage, "no model is chosen to write the summary. Set query.model, or model in the summary of the rule, or write it yourself (--summary-file FILE). See holdfast models")
		}
		return name, nil
	}
	for _, step := range steps {
		if !asksModel(step) {
			continue
		}
		name, err := named(step.Request.Model)
		if err != nil {
			return err
		}
		way, err := m.caller(name, holdfast.ForSummary)
		if err != nil {
			return err
		}
		if err := way.c.Ready(); err != nil {
			return err
		}
	}
	if dry {
		return nil
	}
	books, err := a.recordCalls(m, cfg.all, d, l.ID, false)
	if err != nil {
		return err
	}
	defer books.end()
	show := progressLine(a.err)
	defer show("")
	writer, err := a.summarizer(cfg.all, show, func(model string) (query.Route, error) {
		name, err := named(model)
		if err != nil {
			return query.Route{}, err
		}
		route, err := m.route(ctx, name, holdfast.ForSummary)
		route.Other = name != said
		return route, err
	})
	if err != nil {
		return err
	}
	return s.Compact(ctx, l, steps, writer, cfg.estimator)
}

// retrying tells of a call that failed and is made again.
func (a *app) retrying(err error) {
	_, _ = fmt.Fprintln(a.err, clean("holdfast: trying again: "+err.Error()))
}
