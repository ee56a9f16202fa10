package provider

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/upstream"
)

// Config says how a Client goes about its calls. The zero value is for a server
// without keys.
type Config struct {
	// KeyName names what holds the key of the upstream, such as ANTHROPIC_API_KEY:
	// without a key no call is made. "": the server needs none.
	KeyName string
	// Attempts is how often a call is sent at most; 0 stands for 5.
	Attempts int
	// Pause is the longest first pause between two attempts, which doubles each
	// time; 0 stands for 2 seconds. MaxPause bounds all pauses, also those that
	// the server asks for; 0 stands for a minute.
	Pause, MaxPause time.Duration
	// Retrying is told of each attempt that failed and is followed by another
	// one after the pause; nil: nobody is.
	Retrying func(err error, pause time.Duration)
	// Admit is asked before each attempt, and refuses it with an error; nil: all are
	// admitted.
	Admit func(upstream, model string) error
	// Ended is told of each attempt that was sent, once it has ended, before another
	// one is made; nil: nobody is. The record has what an attempt itself knows: times,
	// upstream, model, protocol, tokens, status and outcome.
	Ended func(holdfast.Attempt)
	// Header stands in each request beside what the protocol needs.
	Header http.Header
}

// Client calls the models of one upstream. It is safe for concurrent use.
type Client struct {
	transport http.RoundTripper
	up        *upstream.Upstream
	catalogue *Catalogue
	cfg       Config
	protocol  protocol
	stale     stale
}

// New makes a client. The transport stays the caller's: see
// upstream.NewTransport.
func New(transport http.RoundTripper, up *upstream.Upstream, catalogue *Catalogue, cfg Config) *Client {
	if cfg.Attempts == 0 {
		cfg.Attempts = 5
	}
	if cfg.Pause == 0 {
		cfg.Pause = 2 * time.Second
	}
	if cfg.MaxPause == 0 {
		cfg.MaxPause = time.Minute
	}
	return &Client{transport: transport, up: up, catalogue: catalogue, cfg: cfg, protocol: protocolOf(up)}
}

// Answer is what a model answered.
type Answer struct {
	// ID is the provider's id of the answer.
	ID string
	// Events are reasoning, texts and calls in order, in the form in which a
	// conversation keeps them. The answer to a schema is in the Data of the last
	// message, without a code fence around it, unless it is no JSON. Whether it follows
	// the schema is not looked at. Of an answer that is not complete they are what
	// came, without calls whose arguments did not.
	Events []holdfast.Event
	// Usage has the model and, where a price is known, the cost; its purpose is
	// for the caller to say. It is zero when the provider told none.
	Usage holdfast.Usage
	// Tokens are the same counts as the provider told them.
	Tokens holdfast.Tokens
	// Stop is the provider's stop reason, as sent.
	Stop   string
	Finish holdfast.FinishReason
}

// Complete reports whether the model came to its own end: the answer was neither
// cut by a bound nor refused nor broken off.
func (a Answer) Complete() bool { return a.Finish == holdfast.FinishStop }

// Ready reports whether a call can be made: without a key that is needed, the
// error has the code config.
func (c *Client) Ready() error {
	if c.up.Key == "" && c.cfg.KeyName != "" {
		return c.keyless()
	}
	return nil
}

// Call makes one call and hands the pieces of its answer to emit as they come;
// nil: nobody is told. A call without a bound on its answer gets the one that is
// known for the model.
//
// Reasoning that the provider does not take back, because of what has changed before it,
// is left out, of this call and of those that follow with its CacheKey.
//
// A refusal and an answer that was cut are no errors: see Answer.Finish. With an
// error comes what there was of the answer. Errors have the codes: config (no
// key), usage (the provider does not take the call), not_found (no such model),
// forbidden (the key is refused), too_large (more than the model's window), busy
// (the provider asks to slow down), unavailable (it cannot be reached, failed, or
// broke off), and internal (the events are no view). An error of ctx is wrapped.
func (c *Client) Call(ctx context.Context, call holdfast.Call, emit func(holdfast.Delta)) (Answer, error) {
	if err := c.Ready(); err != nil {
		return Answer{}, err
	}
	if call.MaxOutput == 0 {
		call.MaxOutput = c.catalogue.bound(c.up, call.Model)
	}
	if emit == nil {
		emit = func(holdfast.Delta) {}
	}
	body, err := c.protocol.write(c.stale.without(call))
	if err != nil {
		return Answer{}, err
	}
	for attempt := 1; ; attempt++ {
		if c.cfg.Admit != nil {
			if err := c.cfg.Admit(c.up.Name, call.Model); err != nil {
				return Answer{}, err
			}
		}
		began := time.Now()
		answer, status, failed := c.attempt(ctx, call, body, emit)
		if c.cfg.Ended != nil {
			c.cfg.Ended(holdfast.Attempt{
				Began: began, Ended: time.Now(), Upstream: c.up.Name, Model: call.Model, Protocol: c.up.Protocol,
				Tokens: answer.Tokens, Sent: int64(len(body)), Status: status, Outcome: outcome(ctx, failed),
			})
		}
		if failed == nil {
			return c.settle(call, answer), nil
		}
		if ctx.Err() != nil {
			return c.settle(call, answer), holdfast.Errorf(holdfast.ErrUnavailable, "The call to the upstream %q was given up: %w.", c.up.Name, ctx.Err())
		}
		if failed.moved && c.stale.grows(call) {
			if body, err = c.protocol.write(c.stale.without(call)); err != nil {
				return Answer{}, err
			}
			continue
		}
		pause, again := c.pause(attempt, failed)
		if !again {
			return c.settle(call, answer), c.explain(ctx, call.Model, failed)
		}
		if c.cfg.Retrying != nil {
			c.cfg.Retrying(failed.err, pause)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return Answer{}, holdfast.Errorf(holdfast.ErrUnavailable, "The call to the upstream %q was given up: %w.", c.up.Name, ctx.Err())
		}
	}
}

// outcome is how an attempt ended.
func outcome(ctx context.Context, failed *failure) holdfast.Outcome {
	switch {
	case failed == nil:
		return holdfast.OutcomeOK
	case ctx.Err() != nil:
		return holdfast.OutcomeCancelled
	case failed.cut:
		return holdfast.OutcomeBroken
	}
	return holdfast.OutcomeError
}

// pause is how long to wait before the next attempt; again is false when there is
// none.
func (c *Client) pause(attempt int, failed *failure) (pause time.Duration, again bool) {
	if !failed.again || attempt >= c.cfg.Attempts {
		return 0, false
	}
	if failed.after > 0 {
		return failed.after, failed.after <= c.cfg.MaxPause
	}
	// Between half of it and all, so that many clients do not come back at once.
	longest := min(c.cfg.Pause<<min(attempt-1, 16), c.cfg.MaxPause)
	return longest/2 + rand.N(longest/2+1), true
}

// settle makes the answer what a conversation keeps.
func (c *Client) settle(call holdfast.Call, a Answer) Answer {
	events := a.Events
	a.Events = nil
	last := -1
	for _, e := range events {
		switch e := e.(type) {
		case holdfast.AssistantMessage:
			e.Digest, e.Len = holdfast.Digest{}, 0
			last = len(a.Events)
			a.Events = append(a.Events, e)
		case holdfast.Reasoning:
			if e.Text != "" || e.Opaque != nil {
				a.Events = append(a.Events, e)
			}
		case holdfast.ToolCall:
			switch {
			case len(e.Arguments) > 0:
				a.Events = append(a.Events, e)
			case a.Complete():
				e.Arguments = []byte("{}")
				a.Events = append(a.Events, e)
			}
		}
	}
	if call.Schema != nil && a.Complete() && last >= 0 {
		m := a.Events[last].(holdfast.AssistantMessage)
		if text := unfenced(strings.TrimSpace(m.Text)); json.Valid([]byte(text)) {
			a.Events[last] = holdfast.AssistantMessage{Data: []byte(text)}
		}
	}
	if a.Usage.Window() == 0 {
		return a
	}
	a.Usage.Model = call.Model
	if m, _ := c.catalogue.Model(c.up, call.Model); m.Price != nil {
		cost := m.Price.Cost(a.Usage)
		a.Usage.Cost = &cost
	}
	return a
}

// unfenced is a text without the code fence that is around all of it, if one is.
func unfenced(text string) string {
	head, body, ok := strings.Cut(text, "\n")
	info, fence := strings.CutPrefix(head, "```")
	body, closed := strings.CutSuffix(body, "```")
	if !ok || !fence || !closed || strings.Contains(info, "`") {
		return text
	}
	return strings.TrimSpace(body)
}
