package main

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/config"
	"github.com/holdfast-dev/holdfast/continuity/extract"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/engine/extraction"
	"github.com/holdfast-dev/holdfast/ledger"
	"github.com/holdfast-dev/holdfast/provider"
	"github.com/holdfast-dev/holdfast/upstream"
)

// extractorStore is what the extractor's calls need of a store beside the sessions.
type extractorStore interface {
	extraction.Claims
	extraction.Secrets
}

// extractorCalls makes the calls of the extractor, on its own route and with the
// credential of that: an agent's is never used for them. Each call is admitted by
// the budgets of the caller whose session is read, recorded for it, and made once:
// what failed is tried again by the engine, or with the next query, with what has
// come by then.
type extractorCalls struct {
	catalogue *provider.Catalogue
	transport http.RoundTripper
	up        *upstream.Upstream
	keyName   string
	model     string
	maxOutput int64
	mark      *extraction.Mark
	budgets   *ledger.Budgets  // nil: all are admitted
	ledger    *ledger.Recorder // nil: none is recorded
	now       func() time.Time
}

// newExtractorCalls finds the way to the extractor's model. Where a key is needed
// and none is there, the error has the code config.
func newExtractorCalls(ctx context.Context, cfg config.Config, st extraction.Secrets, environ config.Environ, transport http.RoundTripper, now func() time.Time) (*extractorCalls, error) {
	x := cfg.Continuity.Extractor
	c := &extractorCalls{
		catalogue: provider.NewCatalogue(modelEntries(cfg)), transport: transport, model: x.Route.Model, maxOutput: int64(x.MaxOutputTokens), now: now,
	}
	for _, u := range cfg.Upstreams {
		if u.Name != x.Route.Upstream {
			continue
		}
		c.up = &upstream.Upstream{Name: u.Name, Protocol: u.Protocol, Base: u.BaseURL}
		c.keyName = c.catalogue.KeyName(c.up)
		var err error
		if c.up.Key, err = credential(u.APIKey, c.keyName, environ); err != nil {
			return nil, holdfast.Errorf(holdfast.ErrConfig, "upstream %s: %w", u.Name, err)
		}
	}
	if c.up == nil {
		return nil, holdfast.Errorf(holdfast.ErrInternal, "the extractor's upstream %q is not there", x.Route.Upstream)
	}
	if err := c.client(holdfast.Attempt{}).Ready(); err != nil {
		return nil, holdfast.Errorf(holdfast.ErrConfig, "the extractor cannot be called: %w", err)
	}
	var err error
	c.mark, err = extraction.NewMark(ctx, st)
	return c, err
}

// credential is the key of an upstream: what the configuration refers to, or else
// what the provider's own variable holds.
func credential(ref config.SecretRef, variable string, environ config.Environ) (string, error) {
	if ref != "" {
		return ref.Read()
	}
	if variable == "" {
		return "", nil
	}
	return environ.Get(variable), nil
}

// client makes one call for somebody.
func (c *extractorCalls) client(who holdfast.Attempt) *provider.Client {
	cfg := provider.Config{KeyName: c.keyName, Attempts: 1, Header: http.Header{}}
	if c.mark != nil {
		cfg.Header.Set(extraction.MarkHeader, c.mark.Make(c.now()))
	}
	if c.budgets != nil {
		me := holdfast.Caller{Principal: who.Principal, Label: who.Label}
		cfg.Admit = func(upstream, model string) error { return c.budgets.Admit(me, upstream, model) }
	}
	if c.ledger != nil {
		cfg.Ended = func(a holdfast.Attempt) { c.ledger.Record(attributed(a, who)) }
	}
	return provider.New(c.transport, c.up, c.catalogue, cfg)
}

// attributed is an attempt with for whom it was made.
func attributed(a, who holdfast.Attempt) holdfast.Attempt {
	a.ID = holdfast.AttemptID(uuid.Must(uuid.NewV7()).String())
	a.Principal, a.Label, a.Session, a.Branch, a.Boundary = who.Principal, who.Label, who.Session, who.Branch, who.Boundary
	a.Conversation, a.Job, a.Parent = who.Conversation, who.Job, who.Parent
	a.Trace, a.Agent, a.Role = who.Trace, who.Agent, who.Role
	return a
}

// Extract implements engine.ExtractorModel.
func (c *extractorCalls) Extract(ctx context.Context, call engine.ExtractorCall) (extract.Answer, holdfast.Tokens, error) {
	answer, got, err := c.call(ctx, call)
	return answer, got.Tokens, err
}

// call makes a call. What it took is beside an error too.
func (c *extractorCalls) call(ctx context.Context, call engine.ExtractorCall) (extract.Answer, provider.Answer, error) {
	got, err := c.client(call.For).Call(ctx, holdfast.Call{
		Model: c.model, System: call.Prompt.System, Schema: call.Schema, MaxOutput: c.maxOutput,
		Events: []holdfast.Event{holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text(call.Prompt.Data)}}},
	}, nil)
	if err != nil {
		return extract.Answer{}, got, err
	}
	answer := answerOf(got.Events)
	switch answer.Cut = got.Finish == holdfast.FinishLength; {
	case answer.Cut, got.Complete():
		return answer, got, nil
	}
	return extract.Answer{}, got, holdfast.Errorf(holdfast.ErrUnavailable, "the extractor's answer is not complete: %s", got.Finish)
}

// answerOf is what a model said, and how many tools it called.
func answerOf(events []holdfast.Event) (a extract.Answer) {
	for _, e := range events {
		switch p := e.(type) {
		case holdfast.AssistantMessage:
			if p.Data != nil {
				a.Text += string(p.Data)
			} else {
				a.Text += p.Text
			}
		case holdfast.ToolCall:
			a.Calls++
		}
	}
	return a
}

// extractor is what the engine reads sessions with.
func (c *extractorCalls) extractor(x config.Extractor, claims extraction.Claims) *engine.Extractor {
	return &engine.Extractor{
		Config: extraction.Config{Workers: x.Workers, Pending: x.MaxPendingJobs, Timeout: x.Timeout},
		Model:  c, Claims: claims, InputTokens: x.MaxInputTokens, Ratio: x.InputRatio, Barrier: x.BarrierTimeout,
	}
}
