package conversations

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/compaction"
)

func modelOf(settings []byte) string {
	var s modelSetting
	// Settings of another form name no model.
	_ = json.Unmarshal(settings, &s)
	return s.Model
}

// modelSetting is the form of settings that name a model.
type modelSetting struct {
	Model string `json:"model"`
}

// ModelSetting says which model a conversation is held with, where no usage does.
func ModelSetting(model string) holdfast.Settings {
	raw, err := json.Marshal(modelSetting{model})
	if err != nil {
		panic(err) // a string always marshals
	}
	return holdfast.Settings{JSON: raw}
}

// Trigger is automatic compaction of one conversation: Boundary is called once
// behind each turn that has completed and is durable, never for a turn that
// failed, and Gap once between two calls of one turn.
type Trigger struct {
	Config compaction.AutoConfig
	// Window is the context window of a model in tokens; 0 where it is not known.
	Window func(model string) int64
	// Estimator gives an estimator that fits the stream.
	Estimator func(entries []holdfast.Entry) compaction.Estimator
	// Writer writes summaries; nil: a rule with a summary fails.
	Writer compaction.Summarizer
	// Ready is called before an overlay is made, and may append to the conversation;
	// nil: nobody is.
	Ready func(context.Context, *Loaded)

	failed int64 // where the stream ended when a summary failed last
	told   bool  // the notice was given
}

// Fired is what automatic compaction did at a boundary.
type Fired struct {
	compaction.Decision
	Model  string
	Window int64
	// Failure is why a summary that was asked for is not there; nil else. The
	// turn before it stands, and nothing was appended.
	Failure error
	// Notice is for the user, once in a conversation's run: what would help. ""
	// for nothing.
	Notice string
}

// notice tells what helps where compaction does not. %s is what the rule keeps at
// the end.
const notice = "compaction three times in a row left the conversation above its threshold. A rule with a summary, a smaller %s or a model with a larger window would help"

// Boundary looks once whether to compact, and appends at most one overlay; none
// where ctx has ended, also while Ready was waited for. An error is of the store: the
// conversation was written to by another, or cannot be written. Nothing of what
// stands in the stream is at risk.
func (s *Service) Boundary(ctx context.Context, l *Loaded, t *Trigger) (Fired, error) {
	return s.look(ctx, l, t, false)
}

// Gap is Boundary between two calls of one turn, when every result is there. Only
// ranges of events without a summary fire there.
func (s *Service) Gap(ctx context.Context, l *Loaded, t *Trigger) (Fired, error) {
	if !t.Config.ActsInsideTurns() {
		return Fired{Decision: compaction.Decision{Reason: compaction.InsideTurn}}, nil
	}
	return s.look(ctx, l, t, true)
}

func (s *Service) look(ctx context.Context, l *Loaded, t *Trigger, inside bool) (Fired, error) {
	f := Fired{Model: Model(l.Entries)}
	if f.Model != "" {
		f.Window = t.Window(f.Model)
	}
	est := t.Estimator(l.Entries)
	decide := func() compaction.Decision {
		return compaction.Decide(l.Entries, t.Config, compaction.Boundary{
			Inside: inside, Stays: agents.Carries, Window: f.Window, Failed: t.failed, Now: s.now(),
		}, est)
	}
	if f.Decision = decide(); f.Fire != nil && t.Ready != nil {
		t.Ready(ctx, l)
		est = t.Estimator(l.Entries)
		f.Decision = decide() // of the stream as it is now
	}
	if ctx.Err() != nil {
		f.Fire = nil
	}
	if f.Fire == nil {
		return f, nil
	}
	steps := []compaction.Step{*f.Fire}
	err := s.Compact(ctx, l, steps, t.Writer, est)
	switch {
	case err == nil:
	case f.Fire.Request != nil && holdfast.CodeOf(err) != holdfast.ErrConflict:
		// What a model did not give costs nothing but the compaction.
		f.Failure, f.Fire, t.failed = err, nil, l.Head
		return f, nil
	default:
		return f, err
	}
	f.Fire, f.After = &steps[0], steps[0].After
	if f.Decision.Notice && !t.told {
		kept := "keep_last"
		if t.Config.Granularity == compaction.ByEvent {
			kept = "keep_last_tokens"
		}
		t.told, f.Notice = true, fmt.Sprintf(notice, kept)
	}
	return f, nil
}
