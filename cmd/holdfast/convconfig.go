package main

import (
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
	"github.com/holdfast-dev/holdfast/config"
	"github.com/holdfast-dev/holdfast/engine/conversations"
	"github.com/holdfast-dev/holdfast/provider/tokens"
)

// conversationConfig is what the configuration says about one conversation.
type conversationConfig struct {
	rules     []compaction.Rule // never empty
	auto      compaction.AutoConfig
	window    func(model string) int64 // in tokens; 0: not known
	estimator compaction.Estimator
	all       config.Config

	kind  config.Estimator
	count func(string) int // a tokenizer, where that is configured
}

// estimate is an estimator that fits a stream. overhead is what its requests carry
// beside it; nil: that is not known.
func (c conversationConfig) estimate(entries []holdfast.Entry, overhead []string, window func(model string) int64) compaction.Estimator {
	e := compaction.Estimator{Render: conversations.Render, Overhead: overhead, Count: c.count}
	if c.kind == config.EstimateCalibrated {
		e = e.Calibrated(entries, window)
	}
	return e
}

// conversationConfig is the configuration with the settings of a conversation.
// Settings that this version does not take, as an imported stream may have, are
// left out and named: they are no reason not to show or compact it.
func (a *app) conversationConfig(entries []holdfast.Entry) (conversationConfig, error) {
	sources := a.sources()
	merged, err := sources.Load()
	if err != nil {
		return conversationConfig{}, err
	}
	for _, e := range entries {
		s, ok := e.Event.(holdfast.Settings)
		if !ok {
			continue
		}
		with := sources
		layer, err := config.ConversationLayer(fmt.Sprintf("event %d of the conversation", e.Seq), s.JSON)
		if err == nil {
			with.Conversation = append(slices.Clip(sources.Conversation), layer)
			var more *config.Merged
			if more, err = with.Load(); err == nil {
				sources, merged = with, more
			}
		}
		if err != nil && !a.json {
			_, _ = fmt.Fprintf(a.err, "holdfast: settings left out: %s\n", clean(err.Error()))
		}
	}
	c := conversationConfig{all: merged.Config, kind: merged.Compaction.Estimator, window: a.newModels(merged.Config).window}
	for _, r := range merged.Compaction.Rules {
		rule, err := compactionRule(r)
		if err != nil {
			return conversationConfig{}, err
		}
		c.rules = append(c.rules, rule)
	}
	auto := merged.Compaction.Auto
	c.auto = compaction.AutoConfig{
		Enabled: auto.Enabled, TriggerRatio: auto.TriggerRatio, MinTurns: auto.MinTurns,
		Granularity: compaction.Granularity(auto.Granularity), MinGain: auto.MinGain,
	}
	if c.auto.Rule, err = compactionRule(auto.Rule); err != nil {
		return conversationConfig{}, err
	}
	if c.kind == config.EstimateTokenizer {
		c.count = tokens.New().Count
	}
	c.estimator = c.estimate(entries, nil, c.window)
	return c, nil
}

// compactionRule is a configured rule as the planner knows it. Both read bounds
// in the same form.
func compactionRule(r config.Rule) (compaction.Rule, error) {
	rule := compaction.Rule{KeepLastTokens: r.KeepLastTokens, Reasoning: r.Reasoning == config.StripReasoning}
	var err error
	if rule.KeepFirst, err = compaction.ParseKeepFirst(r.KeepFirst.String()); err != nil {
		return rule, holdfast.Errorf(holdfast.ErrConfig, "keep_first of a compaction rule: %w", err)
	}
	if rule.KeepLast, err = compaction.ParseKeepLast(r.KeepLast.String()); err != nil {
		return rule, holdfast.Errorf(holdfast.ErrConfig, "keep_last of a compaction rule: %w", err)
	}
	if r.ToolCalls != config.KeepTools {
		tools, err := compaction.ParseTools(string(r.ToolCalls))
		if err != nil {
			return rule, holdfast.Errorf(holdfast.ErrConfig, "tool_calls of a compaction rule: %w", err)
		}
		rule.Tools = &tools
	}
	if s := r.Summary; s != nil {
		rule.Summary = &compaction.SummaryRequest{Instructions: s.Instructions, Context: s.Context, Model: s.Model}
	}
	return rule, nil
}
