package compaction

import (
	"context"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
)

// Summarizer has a model write a summary.
type Summarizer interface {
	// Summarize returns what the model wrote, be it fit for use or not, with an
	// error where there was no answer.
	Summarize(ctx context.Context, in SummaryInput) (Draft, error)
}

// SummaryInput is what a summary is made of.
type SummaryInput struct {
	// Entries are the raw events of whole turns: never a projection, so that no
	// summary is made of a summary.
	Entries []holdfast.Entry
	Request SummaryRequest
}

// Draft is a summary as it came from a model.
type Draft struct {
	Text  string
	Model string
	// Complete tells that the provider called the answer whole; Stop is its
	// reason, as sent.
	Complete bool
	Stop     string
	// Calls counts the tool calls in the answer.
	Calls int
	Usage holdfast.Usage
}

// Input is what the summary of a step is made of.
func (s Step) Input(entries []holdfast.Entry) SummaryInput {
	turns := conversation.Turns(entries)
	return SummaryInput{Entries: entries[turns[s.Range.From].Start:turns[s.Range.To].End], Request: *s.Request}
}

// Finish gives a step its summary. It is taken only if it is whole, not blank,
// without tool calls, and estimated smaller than what the model is sent of its
// turns now. Else the error has the code failed, and the step is not to be
// appended. What the summary takes is in the estimates once Measure ran anew.
func (s Step) Finish(entries []holdfast.Entry, d Draft, est Estimator) (Step, error) {
	text := strings.TrimSpace(d.Text)
	switch {
	case d.Calls > 0:
		return s, s.unfit("the model called a tool instead")
	case !d.Complete:
		return s, s.unfit("the model stopped before its end (" + d.Stop + ")")
	case text == "":
		return s, s.unfit("it is blank")
	}
	summary := *s.Overlay.Summary
	summary.Text, summary.Model = text, d.Model
	s.Overlay.Summary, s.Request = &summary, nil
	now, then := est.inside(entries, s.Range), est.inside(with(entries, s.Overlay), s.Range)
	if then >= now {
		return s, s.unfit("it takes as much room as what it stands for, or more")
	}
	return s, nil
}

func (s Step) unfit(why string) error {
	return holdfast.Errorf(holdfast.ErrFailed, "the summary of %s is not used: %s. Nothing was compacted. Try again, or give another model", s.Range, why)
}

// inside estimates those turns of the view that stand for turns of a range. No
// turn of the view may stand for some in it and some outside.
func (e Estimator) inside(entries []holdfast.Entry, in Range) int {
	s := size{count: e.Count}
	for _, t := range conversation.Project(entries, nil).Turns {
		if in.contains(Range{t.Origin.From, t.Origin.To}) {
			s.addTurn(t)
		}
	}
	return e.tokens(s)
}
