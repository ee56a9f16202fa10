package conversations

import (
	"bufio"
	"context"
	"io"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/store"
)

// Export writes a conversation in the line form: its head, then its events as
// they are stored. Importing that elsewhere makes the same conversation.
func (s *Service) Export(ctx context.Context, id holdfast.ConversationID, w io.Writer) error {
	c, err := s.st.Get(ctx, s.principal, id)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	head := conversation.AppendHead(nil, conversation.Head{
		ID: c.ID, Title: c.Title, Agent: c.Agent, CreatedAt: c.CreatedAt, Parent: c.Parent, ParentSeq: c.ParentSeq,
	})
	// A failed write shows at Flush.
	_, _ = out.Write(append(head, '\n'))
	for e, err := range s.st.Events(ctx, s.principal, id, store.EventRange{}) {
		if err != nil {
			return err
		}
		_, _ = out.Write(e.Line)
		if err := out.WriteByte('\n'); err != nil {
			break
		}
	}
	if err := out.Flush(); err != nil {
		return holdfast.Errorf(holdfast.ErrUnavailable, "the export cannot be written: %w", err)
	}
	return nil
}
