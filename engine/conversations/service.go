package conversations

import (
	"context"
	"iter"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/store"
)

// Service works on the conversations of one principal.
type Service struct {
	st        store.Conversations
	principal holdfast.Principal
	now       func() time.Time
	newID     func() string // a UUIDv7
}

// New returns a Service. newID makes ids that are in the order of time.
func New(st store.Conversations, p holdfast.Principal, now func() time.Time, newID func() string) *Service {
	return &Service{st: st, principal: p, now: now, newID: newID}
}

// Begin makes an empty conversation of our own.
func (s *Service) Begin(ctx context.Context) (Loaded, error) {
	c := store.Conversation{
		ID: holdfast.ConversationID(s.newID()), Principal: s.principal, Origin: store.OwnConversation,
		Version: store.StreamVersion, CreatedAt: s.now().UTC(),
	}
	if err := s.st.Create(ctx, c, nil); err != nil {
		return Loaded{}, err
	}
	return s.Load(ctx, c.ID)
}

// List lists conversations, last used first, archived ones only where asked.
func (s *Service) List(ctx context.Context, archived bool) ([]store.Conversation, error) {
	return s.st.List(ctx, s.principal, archived)
}

// Loaded is a whole conversation in memory.
type Loaded struct {
	store.Conversation
	Entries []holdfast.Entry
	// Unreadable counts entries that this version cannot read. They stand among
	// Entries as unknown events.
	Unreadable int
}

// Load reads a whole conversation.
func (s *Service) Load(ctx context.Context, id holdfast.ConversationID) (Loaded, error) {
	head, err := s.st.Get(ctx, s.principal, id)
	if err != nil {
		return Loaded{}, err
	}
	l := Loaded{Conversation: head, Entries: make([]holdfast.Entry, 0, head.Head)}
	for e, err := range s.Entries(ctx, id, store.EventRange{}) {
		if err != nil {
			return Loaded{}, err
		}
		if u, unknown := e.Event.(holdfast.Unknown); unknown && u.Type == "" {
			l.Unreadable++
		}
		l.Entries = append(l.Entries, e)
	}
	return l, nil
}

// Get reads what is told of a conversation.
func (s *Service) Get(ctx context.Context, id holdfast.ConversationID) (store.Conversation, error) {
	return s.st.Get(ctx, s.principal, id)
}

// Entries yields events as they are read. One whose line this version cannot
// read is an unknown event without a type.
func (s *Service) Entries(ctx context.Context, id holdfast.ConversationID, r store.EventRange) iter.Seq2[holdfast.Entry, error] {
	return func(yield func(holdfast.Entry, error) bool) {
		for stored, err := range s.st.Events(ctx, s.principal, id, r) {
			if err != nil {
				yield(holdfast.Entry{}, err)
				return
			}
			if !yield(entry(stored), nil) {
				return
			}
		}
	}
}

// entry reads a stored event. What the store says of it counts, not the line.
func entry(stored store.StoredEvent) holdfast.Entry {
	e, err := conversation.ParseLine(stored.Line)
	if err != nil {
		e.Event = holdfast.Unknown{Raw: stored.Line}
	}
	e.Seq, e.ID, e.At = stored.Seq, stored.ID, stored.At
	return e
}

// stored is an entry as it goes to the store.
func stored(e holdfast.Entry) store.StoredEvent {
	return store.StoredEvent{Seq: e.Seq, ID: e.ID, Kind: conversation.KindOf(e.Event), At: e.At, Line: conversation.AppendLine(nil, e)}
}

// Append appends events to a conversation that was loaded, and to l. It fails
// with a conflict when another has written to it since.
func (s *Service) Append(ctx context.Context, l *Loaded, events ...holdfast.Event) error {
	now := s.now().UTC().Truncate(time.Microsecond)
	rows := make([]store.StoredEvent, len(events))
	entries := make([]holdfast.Entry, len(events))
	for i, event := range events {
		entries[i] = holdfast.Entry{Seq: l.Head + int64(i) + 1, ID: holdfast.EventID(s.newID()), At: now, Event: event}
		rows[i] = stored(entries[i])
	}
	if err := s.st.Append(ctx, s.principal, l.ID, l.Head, rows); err != nil {
		return err
	}
	l.Head += int64(len(rows))
	l.Entries = append(l.Entries, entries...)
	return nil
}

// Retitle gives a conversation another title.
func (s *Service) Retitle(ctx context.Context, id holdfast.ConversationID, title string) error {
	return s.st.Change(ctx, s.principal, id, store.ConversationChange{Title: &title})
}

// Archive takes a conversation out of the list, or puts it back.
func (s *Service) Archive(ctx context.Context, id holdfast.ConversationID, archived bool) error {
	return s.st.Change(ctx, s.principal, id, store.ConversationChange{Archived: &archived})
}

// Delete erases a conversation.
func (s *Service) Delete(ctx context.Context, id holdfast.ConversationID) error {
	return s.st.Delete(ctx, s.principal, id)
}

// Fork makes a new conversation of a beginning of another: all events up to the
// sequence number upTo (0: all), with the overlays that stand among them and
// what made them. It returns the new head.
func (s *Service) Fork(ctx context.Context, id holdfast.ConversationID, upTo int64, title string) (store.Conversation, error) {
	parent, err := s.st.Get(ctx, s.principal, id)
	if err != nil {
		return store.Conversation{}, err
	}
	if upTo == 0 {
		upTo = parent.Head
	}
	if upTo < 0 || upTo > parent.Head {
		return store.Conversation{}, holdfast.Errorf(holdfast.ErrUsage,
			"event %d is none of conversation %s, which has events 1 to %d", upTo, id, parent.Head)
	}
	child := store.Conversation{
		ID: holdfast.ConversationID(s.newID()), Principal: s.principal, Title: title, Origin: parent.Origin, Agent: parent.Agent,
		Parent: id, ParentSeq: upTo, Version: min(parent.Version, store.StreamVersion), CreatedAt: s.now().UTC(),
	}
	if parent.Version > store.StreamVersion {
		return store.Conversation{}, newer(parent)
	}
	if child.Origin == store.RecordedConversation {
		child.Origin = store.OwnConversation // only the branch itself is recorded
	}
	w := s.writer(child)
	for e, err := range s.st.Events(ctx, s.principal, id, store.EventRange{UpTo: upTo}) {
		if err == nil {
			err = w.put(ctx, e)
		}
		if err != nil {
			return store.Conversation{}, w.undo(ctx, err)
		}
	}
	if err := w.flush(ctx); err != nil {
		return store.Conversation{}, w.undo(ctx, err)
	}
	return s.st.Get(ctx, s.principal, child.ID)
}

func newer(c store.Conversation) error {
	return holdfast.Errorf(holdfast.ErrNewer,
		"conversation %s was written by a newer version (form %d, this program writes %d): it can be read, not changed. Use a newer holdfast", c.ID, c.Version, store.StreamVersion)
}
