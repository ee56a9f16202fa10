package conversations

import (
	"context"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// batchBytes and batchEvents bound what is written in one commit when many
// events go to one conversation.
const (
	batchBytes  = 4 << 20
	batchEvents = 5000
)

// writer puts many events into one conversation, a batch at a time.
type writer struct {
	s       *Service
	c       store.Conversation // Head is what is written
	exists  bool               // in the store
	created bool               // by this writer
	title   string             // as it is in the store
	batch   []store.StoredEvent
	bytes   int
}

func (s *Service) writer(c store.Conversation) *writer { return &writer{s: s, c: c} }

// put appends an event; its sequence number is given to it.
func (w *writer) put(ctx context.Context, e store.StoredEvent) error {
	e.Seq = w.c.Head + int64(len(w.batch)) + 1
	w.batch = append(w.batch, e)
	if w.bytes += len(e.Line); w.bytes < batchBytes && len(w.batch) < batchEvents {
		return nil
	}
	return w.flush(ctx)
}

// flush writes what is waiting, and the conversation itself where it is new.
func (w *writer) flush(ctx context.Context) error {
	switch {
	case !w.exists:
		if err := w.s.st.Create(ctx, w.c, w.batch); err != nil {
			return err
		}
		w.exists, w.created, w.title = true, true, w.c.Title
	case len(w.batch) > 0:
		if err := w.s.st.Append(ctx, w.s.principal, w.c.ID, w.c.Head, w.batch); err != nil {
			return err
		}
	}
	w.c.Head += int64(len(w.batch))
	w.batch, w.bytes = nil, 0
	return nil
}

// undo takes away what this writer began, so that what failed leaves nothing
// half done, and returns err.
func (w *writer) undo(ctx context.Context, err error) error {
	if !w.created {
		return err
	}
	if gone := w.s.st.Delete(context.WithoutCancel(ctx), w.s.principal, w.c.ID); gone != nil {
		return holdfast.Errorf(holdfast.CodeOf(err), "%w. What was begun could not be erased: remove conversation %s", err, w.c.ID)
	}
	return err
}
