package main

import (
	"context"
	"net/http"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/config"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/engine/extraction"
	"github.com/holdfast-dev/holdfast/engine/query"
)

// extraction is how the conversation of a query is read, by what holds for a session
// of the principal local; nil where it is not. Where the extractor cannot be called,
// as without its key, the query is asked all the same, and a line says so: a server
// that does not start loses nothing, a question does.
func (a *app) extraction(ctx context.Context, cfg config.Config, st extraction.Secrets, books accounts, transport http.RoundTripper, screen *screen, show func(string)) *query.Extraction {
	holds := cfg.ForSession(holdfast.Caller{Principal: holdfast.Local}, "")
	if !cfg.ExtractorRuns() || !holds.Enabled || !holds.Extractor.Enabled {
		return nil
	}
	calls, err := newExtractorCalls(ctx, cfg, st, a.environ, transport, a.now)
	if err != nil {
		screen.Notice("what is said is not read by the extractor: " + err.Error())
		return nil
	}
	calls.budgets, calls.ledger = books.budgets, books.recorder
	schema, x := extract.Schema(), cfg.Continuity.Extractor
	return &query.Extraction{
		Ask: func(ctx context.Context, p extract.Prompt, job string) (extract.Answer, holdfast.Usage, error) {
			answer, got, err := calls.call(ctx, engine.ExtractorCall{Prompt: p, Schema: schema, For: holdfast.Attempt{
				Principal: holdfast.Local, Conversation: books.id, Job: job, Role: holdfast.ExtractorRole,
			}})
			return answer, got.Usage, err
		},
		Preserve: continuity.Preserve(holds.Preserve), InputTokens: x.MaxInputTokens, Ratio: x.InputRatio, Timeout: x.Timeout, Barrier: x.BarrierTimeout,
		Waiting: func(yes bool) {
			if yes {
				show("waiting for the extractor")
			} else {
				show("")
			}
		},
	}
}
