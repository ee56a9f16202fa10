package conversations

import (
	"cmp"
	"context"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/store"
)

// Marks tells where turns begin and what is compacted, read without the rest of
// the stream.
type Marks struct {
	// Starts are the sequence numbers with which the turns begin. The first turn
	// has all that stands before it too: it begins with 1.
	Starts   []int64
	Overlays []conversation.PlacedOverlay
	Head     int64
}

// Range is the sequence numbers of the turns from and to, counted from 0.
func (m Marks) Range(from, to int) store.EventRange {
	r := store.EventRange{After: m.Starts[from] - 1}
	if to+1 < len(m.Starts) {
		r.UpTo = m.Starts[to+1] - 1
	}
	return r
}

// Deciding lists the overlays that decide how a turn is shown, by their index.
func (m Marks) Deciding(turn int) []int {
	r := m.Range(turn, turn)
	return conversation.Deciding(m.Overlays, turn, r.After+1, cmp.Or(r.UpTo, m.Head))
}

// toModel are the kinds that make a turn without a marker.
var toModel = []string{
	conversation.KindUser, conversation.KindAssistant, conversation.KindReasoning, conversation.KindToolCall, conversation.KindToolResult,
}

// Marks reads where the turns of a conversation begin, and its overlays.
func (s *Service) Marks(ctx context.Context, id holdfast.ConversationID) (Marks, error) {
	c, err := s.st.Get(ctx, s.principal, id)
	if err != nil {
		return Marks{}, err
	}
	m := Marks{Head: c.Head}
	first := c.Head + 1 // of what is for a model
	for e, err := range s.st.Events(ctx, s.principal, id, store.EventRange{Kinds: toModel}) {
		if err != nil {
			return Marks{}, err
		}
		first = e.Seq
		break
	}
	var markers []int64
	var placed []holdfast.Entry
	kinds := []string{conversation.KindTurn, conversation.KindCompaction, conversation.KindRevocation}
	for e, err := range s.Entries(ctx, id, store.EventRange{Kinds: kinds}) {
		if err != nil {
			return Marks{}, err
		}
		if _, marker := e.Event.(holdfast.TurnStart); marker {
			markers = append(markers, e.Seq)
		} else {
			placed = append(placed, e)
		}
	}
	switch {
	case len(markers) == 0 && first > c.Head:
	case len(markers) == 0 || first < markers[0]:
		m.Starts = append([]int64{1}, markers...)
	default:
		m.Starts = append([]int64{1}, markers[1:]...)
	}
	m.Overlays = conversation.Overlays(placed)
	return m, nil
}

// EndOfTurn is the last event of a turn, counted from 0.
func (s *Service) EndOfTurn(ctx context.Context, id holdfast.ConversationID, turn int) (int64, error) {
	m, err := s.Marks(ctx, id)
	if err != nil {
		return 0, err
	}
	if turn < 0 || turn >= len(m.Starts) {
		return 0, holdfast.Errorf(holdfast.ErrUsage, "there is no turn %d: conversation %s has turns 1 to %d", turn+1, id, len(m.Starts))
	}
	if turn+1 < len(m.Starts) {
		return m.Starts[turn+1] - 1, nil
	}
	return m.Head, nil
}
