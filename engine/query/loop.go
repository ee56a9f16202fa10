package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
	"github.com/holdfast-dev/holdfast/engine/conversations"
)

// Config is what does not change through a turn.
type Config struct {
	Model  string
	System string
	// MaxOutput bounds an answer in tokens; 0: the provider's own bound. It is
	// held free in the window.
	MaxOutput int64
	// Window is the context window in tokens; 0: not known, then any call is made.
	Window int64
	// MaxCalls bounds the calls of the model in one turn.
	MaxCalls int
	// Estimator gives an estimator for a stream whose requests carry an overhead:
	// the system text and the tools.
	Estimator func(entries []holdfast.Entry, overhead []string) compaction.Estimator
	// Trigger compacts at the end of a turn and, by events, between two calls of
	// the model; nil: never. It estimates as the loop does.
	Trigger *conversations.Trigger
	// Redact takes secrets out of the user's words before the capsule keeps them or
	// the extractor is sent them.
	Redact func(string) string
	// Extraction reads what no tool call states; nil: nothing is read, and no other
	// model called.
	Extraction *Extraction
}

// Loop holds one conversation.
type Loop struct {
	service *conversations.Service
	model   Model
	tools   Tools // nil: none
	screen  Screen
	cfg     Config
	reader  *reader // nil: nothing is extracted
}

// NewLoop returns a Loop. tools may be nil.
func NewLoop(s *conversations.Service, m Model, tools Tools, screen Screen, cfg Config) *Loop {
	q := &Loop{service: s, model: m, tools: tools, screen: screen, cfg: cfg, reader: newReader(cfg)}
	if t := cfg.Trigger; t != nil {
		t.Estimator = q.estimator
		if q.reader != nil {
			t.Ready = q.ready
		}
	}
	return q
}

// Interrupted is wrapped by the error of a turn that a person interrupted. What
// came is in the stream.
var Interrupted = errors.New("interrupted")

// Turn asks and lets the model work until it is done. The last answer is
// returned. Errors of the model carry its codes; one with Interrupted says that
// ctx ended.
func (q *Loop) Turn(ctx context.Context, l *conversations.Loaded, asked holdfast.UserMessage) (holdfast.AssistantMessage, error) {
	if err := q.service.Append(ctx, l, holdfast.TurnStart{}, asked); err != nil {
		return holdfast.AssistantMessage{}, err
	}
	q.barrier()
	defer q.end(ctx, l)
	hidden := q.read(ctx, l, false)
	if err := q.harvest(ctx, l); err != nil {
		return holdfast.AssistantMessage{}, err
	}
	if hidden {
		q.await(ctx, l) // the model sees it only as the capsule has it
	}
	answer, err := q.work(ctx, l, asked.Schema)
	if err == nil {
		q.screen.Answered()
	}
	// What is in the stream is harvested however the turn ended.
	if kept := q.harvest(context.WithoutCancel(ctx), l); err == nil {
		err = kept
	}
	q.barrier()
	q.await(ctx, l)
	if err != nil {
		return answer, err
	}
	if q.cfg.Trigger != nil {
		q.tell(q.service.Boundary(ctx, l, q.cfg.Trigger))
	}
	return answer, nil
}

// work calls the model until it wants no more tools.
func (q *Loop) work(ctx context.Context, l *conversations.Loaded, schema []byte) (last holdfast.AssistantMessage, err error) {
	for calls := 1; ; calls++ {
		call := q.call(l, schema)
		if err := q.fits(l, call); err != nil {
			return last, err
		}
		reply, failed := q.model.Call(ctx, call, q.screen.Delta)
		wanted, err := q.take(context.WithoutCancel(ctx), l, reply, &last)
		switch {
		case err != nil:
			return last, err
		case failed != nil:
			return last, errors.Join(q.broken(ctx, l, wanted), interruption(ctx, failed))
		case reply.Finish == holdfast.FinishRefusal:
			return last, holdfast.Errorf(holdfast.ErrFailed, "the model declined to answer. Ask in another way, or use another model")
		case reply.Finish == holdfast.FinishLength:
			err := holdfast.Errorf(holdfast.ErrFailed, "the answer was cut off at its limit. Raise max_output of the model, or ask for less at once")
			return last, errors.Join(q.broken(ctx, l, wanted), err)
		case len(wanted) == 0:
			if !speaks(reply) {
				q.screen.Notice("the model ended its turn without a text. Ask again, or in another way")
			}
			return last, nil
		case calls >= q.cfg.MaxCalls:
			err := holdfast.Errorf(holdfast.ErrFailed, "the model was called %d times in this turn, which is the limit. Continue with another query, or raise query.max_calls", calls)
			return last, errors.Join(q.broken(ctx, l, wanted), err)
		}
		if err := q.run(ctx, l, wanted); err != nil {
			return last, err
		}
		q.collect(ctx, l)
		q.read(ctx, l, false)
		q.barrier()
		if err := q.gap(ctx, l); err != nil {
			return last, err
		}
	}
}

// interruption words the end of a call that the person ended.
func interruption(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return holdfast.Errorf(holdfast.ErrFailed, "the answer was %w; what came is kept", Interrupted)
	}
	return err
}

func (q *Loop) call(l *conversations.Loaded, schema []byte) holdfast.Call {
	call := holdfast.Call{
		Model: q.cfg.Model, System: q.cfg.System, Schema: schema, MaxOutput: q.cfg.MaxOutput, CacheKey: string(l.ID),
	}
	if q.tools != nil {
		call.Tools = q.tools.Definitions()
	}
	for _, t := range conversations.View(l.Entries).Turns {
		for _, e := range t.Entries {
			call.Events = append(call.Events, e.Event)
		}
	}
	return call
}

// estimator estimates with what every call carries beside the conversation.
func (q *Loop) estimator(entries []holdfast.Entry) compaction.Estimator {
	return q.cfg.Estimator(entries, q.overhead())
}

// overhead is what every call carries beside the conversation.
func (q *Loop) overhead() []string {
	texts := []string{q.cfg.System}
	if q.tools != nil {
		for _, d := range q.tools.Definitions() {
			texts = append(texts, d.Name, d.Description, string(d.Schema))
		}
	}
	return texts
}

// take writes an answer to the stream, and returns the calls in it.
func (q *Loop) take(ctx context.Context, l *conversations.Loaded, r Reply, last *holdfast.AssistantMessage) (wanted []holdfast.ToolCall, err error) {
	var events []holdfast.Event
	var texts []holdfast.AssistantMessage
	for _, e := range r.Events {
		switch e := e.(type) {
		case holdfast.AssistantMessage:
			e.Digest, e.Len = holdfast.Digest{}, 0
			texts = append(texts, e)
			events = append(events, e)
		case holdfast.ToolCall:
			wanted = append(wanted, e)
			events = append(events, e)
		case holdfast.Reasoning:
			events = append(events, e)
		}
	}
	if r.Usage != (holdfast.Usage{}) {
		r.Usage.Purpose = holdfast.ForTurn
		events = append(events, r.Usage)
	}
	if len(events) == 0 {
		return nil, nil
	}
	err = q.service.Append(ctx, l, events...)
	// What was paid for is shown also where it cannot be kept.
	if len(texts) > 0 {
		*last = joined(texts)
		q.screen.Said(*last)
	}
	if err != nil {
		return nil, err
	}
	return wanted, nil
}

// speaks reports whether a reply has something to show.
func speaks(r Reply) bool {
	return slices.ContainsFunc(r.Events, func(e holdfast.Event) bool {
		m, ok := e.(holdfast.AssistantMessage)
		return ok && (strings.TrimSpace(m.Text) != "" || len(m.Data) > 0)
	})
}

// joined is the texts of an answer as one, a blank line between them. The answer to
// a schema stands alone.
func joined(texts []holdfast.AssistantMessage) holdfast.AssistantMessage {
	last := texts[len(texts)-1]
	if last.Data != nil {
		return last
	}
	list := make([]string, len(texts))
	for i, m := range texts {
		list[i] = m.Text
	}
	return holdfast.AssistantMessage{Text: strings.Join(list, "\n\n")}
}

// run runs calls one by one, and writes each result when it is there.
func (q *Loop) run(ctx context.Context, l *conversations.Loaded, wanted []holdfast.ToolCall) error {
	for i, call := range wanted {
		q.screen.Calling(call)
		result, err := holdfast.ToolResult{}, error(nil)
		if q.tools == nil {
			result = failed(call, "there are no tools in this conversation")
		} else {
			result, err = q.tools.Run(ctx, call)
		}
		if err != nil {
			return errors.Join(q.broken(ctx, l, wanted[i:]), interruption(ctx, err))
		}
		result.CallID = call.ID
		if err := q.service.Append(context.WithoutCancel(ctx), l, result); err != nil {
			return err
		}
		q.screen.Called(call, result)
	}
	return nil
}

// failed is the result of a call that went wrong.
func failed(call holdfast.ToolCall, why string) holdfast.ToolResult {
	return holdfast.ToolResult{CallID: call.ID, IsError: true, Parts: []holdfast.Part{holdfast.Text(why)}}
}

// broken answers calls that are not made any more.
func (q *Loop) broken(ctx context.Context, l *conversations.Loaded, calls []holdfast.ToolCall) error {
	if len(calls) == 0 {
		return nil
	}
	events := make([]holdfast.Event, len(calls))
	for i, c := range calls {
		events[i] = failed(c, "not run: the turn ended before")
	}
	return q.service.Append(context.WithoutCancel(ctx), l, events...)
}

// gap lets automatic compaction look between two calls of one turn.
func (q *Loop) gap(ctx context.Context, l *conversations.Loaded) error {
	if q.cfg.Trigger == nil || !q.cfg.Trigger.Config.ActsInsideTurns() {
		return nil
	}
	// A view with a compaction shows the capsule, and the plan may have changed.
	if err := q.harvest(context.WithoutCancel(ctx), l); err != nil {
		return err
	}
	q.tell(q.service.Gap(ctx, l, q.cfg.Trigger))
	return nil
}

// tell says what automatic compaction did. What it could not do costs no turn.
func (q *Loop) tell(fired conversations.Fired, err error) {
	switch {
	case err != nil:
		q.screen.Notice("automatic compaction was not written: " + err.Error())
	case fired.Failure != nil:
		q.screen.Notice("automatic compaction failed, the conversation stays as it is: " + fired.Failure.Error())
	case fired.Fire != nil:
		q.screen.Notice(fmt.Sprintf("compacted %s: ~%d -> ~%d tokens (window %d)", fired.Fire.Covers(), fired.Estimate, fired.After, fired.Window))
	}
	if fired.Notice != "" {
		q.screen.Notice(fired.Notice)
	}
}
