package conversations

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
	"github.com/holdfast-dev/holdfast/conversation"
)

// Compact appends what planned steps come to, all together, behind the stream
// that they were planned for. Summaries that a model has to write are written
// first. When one fails nothing is appended but what calls took, unless an earlier
// step has a summary that was paid for: then the steps up to it are appended, and
// the error is returned all the same. writer may be nil where no step asks for a
// summary.
func (s *Service) Compact(ctx context.Context, l *Loaded, steps []compaction.Step, writer compaction.Summarizer, est compaction.Estimator) error {
	var events []holdfast.Event
	kept := 0 // the events up to the last summary that was paid for
	for i, step := range steps {
		if step.Skipped != "" {
			continue
		}
		if step.Request != nil {
			if writer == nil {
				return holdfast.Errorf(holdfast.ErrUsage,
					"the summary of %s has to be written, and no model is set up for that. Write it yourself (--summary-file FILE), or leave it out", step.Range)
			}
			draft, err := writer.Summarize(ctx, step.Input(l.Entries))
			if err == nil {
				steps[i], err = step.Finish(l.Entries, draft, est)
			}
			draft.Usage.Purpose = holdfast.ForSummary
			if err != nil {
				events = events[:kept]
				if draft.Usage.Model != "" {
					// A call was made, be it that nobody told what it took: this keeps the
					// next attempt waiting, in other processes too.
					events = append(events, draft.Usage)
				}
				if len(events) > 0 {
					err = errors.Join(err, s.Append(context.WithoutCancel(ctx), l, events...))
				}
				return err
			}
			events = append(events, draft.Usage, steps[i].Overlay)
			kept = len(events)
			continue
		}
		events = append(events, steps[i].Overlay)
	}
	if len(events) == 0 {
		return nil
	}
	compaction.Measure(l.Entries, steps, est)
	return s.Append(ctx, l, events...)
}

// Reset picks overlays to revoke. The zero value is all of them.
type Reset struct {
	Number int                    // as Overlays counts them, from 1; 0: any
	Source holdfast.OverlaySource // "": any
}

// Find lists the overlays that a reset revokes. A number that there is none of,
// or that is revoked already, is an error with the code usage.
func (r Reset) Find(overlays []conversation.PlacedOverlay) ([]conversation.PlacedOverlay, error) {
	if r.Number < 0 || r.Number > len(overlays) {
		return nil, holdfast.Errorf(holdfast.ErrUsage, "there is no compaction %d: there are %d. See holdfast conversation show", r.Number, len(overlays))
	}
	if r.Number > 0 && overlays[r.Number-1].Revoked {
		return nil, holdfast.Errorf(holdfast.ErrUsage, "compaction %d is revoked already", r.Number)
	}
	var found []conversation.PlacedOverlay
	for i, o := range overlays {
		if !o.Revoked && (r.Number == 0 || r.Number == i+1) && (r.Source == "" || r.Source == o.Source) {
			found = append(found, o)
		}
	}
	return found, nil
}

// Revoke takes overlays back.
func (s *Service) Revoke(ctx context.Context, l *Loaded, overlays []conversation.PlacedOverlay) error {
	if len(overlays) == 0 {
		return nil
	}
	ids := make([]holdfast.EventID, len(overlays))
	for i, o := range overlays {
		ids[i] = o.ID
	}
	return s.Append(ctx, l, holdfast.Revocation{Overlays: ids})
}

// Raw is a stream as if nothing had been compacted.
func Raw(entries []holdfast.Entry) []holdfast.Entry {
	out := make([]holdfast.Entry, 0, len(entries))
	for _, e := range entries {
		if _, overlay := e.Event.(holdfast.Overlay); !overlay {
			out = append(out, e)
		}
	}
	return out
}

// Model is the model that a conversation was last held with; "" where nothing
// tells.
func Model(entries []holdfast.Entry) string {
	for i := len(entries) - 1; i >= 0; i-- {
		switch e := entries[i].Event.(type) {
		case holdfast.Usage:
			if e.Purpose == holdfast.ForTurn && e.Model != "" {
				return e.Model
			}
		case holdfast.Settings:
			if model := modelOf(e.JSON); model != "" {
				return model
			}
		}
	}
	return ""
}
