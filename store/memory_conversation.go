package store

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store/internal/refuse"
)

// turnKind is the kind of the events that Turns counts.
const turnKind = "turn"

// memoryStream is a conversation with its events. Those are only ever appended
// to, so a reader may go on with the slice that it got under the lock.
type memoryStream struct {
	Conversation
	events []StoredEvent
	ids    map[holdfast.EventID]bool
	lease  Lease
}

type recordingKey struct {
	principal holdfast.Principal
	branch    holdfast.BranchID
}

// Create implements Conversations.
func (m *Memory) Create(ctx context.Context, c Conversation, events []StoredEvent) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := gaveUp(ctx); err != nil {
		return err
	}
	if m.streams[c.ID] != nil {
		return refuse.TakenConversation(c.ID)
	}
	key := recordingKey{c.Principal, c.Branch}
	if _, taken := m.recordings[key]; taken {
		return refuse.TakenRecording(c.Branch)
	}
	c.Version = max(c.Version, StreamVersion)
	c.CreatedAt, c.UsedAt = stored(c.CreatedAt), stored(later(c.CreatedAt, c.UsedAt))
	c.Head, c.Turns, c.Bytes = 0, 0, 0
	s := &memoryStream{Conversation: c, ids: map[holdfast.EventID]bool{}}
	if err := s.check(events); err != nil {
		return err
	}
	s.append(events)
	m.streams[c.ID] = s
	if c.Branch != "" {
		m.recordings[key] = c.ID
	}
	return nil
}

// Append implements Conversations.
func (m *Memory) Append(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID, after int64, events []StoredEvent) error {
	return m.change(ctx, p, id, func(s *memoryStream) error {
		if s.Version > StreamVersion {
			return refuse.NewerStream(id, s.Version, StreamVersion)
		}
		if s.Head != after {
			return refuse.MovedOn(id, after, s.Head)
		}
		if err := s.check(events); err != nil {
			return err
		}
		s.append(events)
		return nil
	})
}

// check refuses events that the stream may not hold or has already.
func (s *memoryStream) check(events []StoredEvent) error {
	given := map[holdfast.EventID]bool{}
	for _, e := range events {
		if err := refuse.Event(s.ID, e.ID, e.Kind, e.Line); err != nil {
			return err
		}
		if s.ids[e.ID] || given[e.ID] {
			return refuse.TakenEvent(s.ID, e.ID)
		}
		given[e.ID] = true
	}
	return nil
}

func (s *memoryStream) append(events []StoredEvent) {
	for _, e := range events {
		s.Head++
		e.Seq, e.At, e.Line = s.Head, stored(e.At), bytes.Clone(e.Line)
		if e.Kind == turnKind {
			s.Turns++
		}
		s.Bytes += int64(len(e.Line))
		s.ids[e.ID] = true
		s.events = append(s.events, e)
	}
	if len(events) > 0 {
		s.UsedAt = later(s.UsedAt, stored(events[len(events)-1].At))
	}
}

// change runs f on a conversation under the lock.
func (m *Memory) change(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID, f func(*memoryStream) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := gaveUp(ctx); err != nil {
		return err
	}
	s, err := m.stream(p, id)
	if err != nil {
		return err
	}
	return f(s)
}

func (m *Memory) stream(p holdfast.Principal, id holdfast.ConversationID) (*memoryStream, error) {
	s := m.streams[id]
	if s == nil || s.Principal != p {
		return nil, refuse.NoConversation(id)
	}
	return s, nil
}

// List implements Conversations.
func (m *Memory) List(ctx context.Context, p holdfast.Principal, archived bool) ([]Conversation, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var list []Conversation
	for _, s := range m.streams {
		if s.Principal == p && (archived || !s.Archived) {
			list = append(list, s.Conversation)
		}
	}
	slices.SortFunc(list, func(a, b Conversation) int {
		return cmp.Or(b.UsedAt.Compare(a.UsedAt), cmp.Compare(b.ID, a.ID))
	})
	return list, nil
}

// Get implements Conversations.
func (m *Memory) Get(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID) (Conversation, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s, err := m.stream(p, id)
	if err != nil {
		return Conversation{}, err
	}
	return s.Conversation, nil
}

// ByBranch implements Conversations.
func (m *Memory) ByBranch(ctx context.Context, p holdfast.Principal, branch holdfast.BranchID) (Conversation, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	id, known := m.recordings[recordingKey{p, branch}]
	if !known {
		return Conversation{}, refuse.NoRecording(branch)
	}
	return m.streams[id].Conversation, nil
}

// Events implements Conversations.
func (m *Memory) Events(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID, r EventRange) iter.Seq2[StoredEvent, error] {
	return func(yield func(StoredEvent, error) bool) {
		events, err := m.events(p, id)
		if err != nil {
			yield(StoredEvent{}, err)
			return
		}
		for _, e := range events[min(max(r.After, 0), int64(len(events))):] {
			if err := ctx.Err(); err != nil {
				yield(StoredEvent{}, holdfast.Errorf(holdfast.ErrUnavailable, "reading ended early, the caller gave up: %w", err))
				return
			}
			if r.UpTo != 0 && e.Seq > r.UpTo {
				return
			}
			if len(r.Kinds) > 0 && !slices.Contains(r.Kinds, e.Kind) {
				continue
			}
			e.Line = bytes.Clone(e.Line)
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (m *Memory) events(p holdfast.Principal, id holdfast.ConversationID) ([]StoredEvent, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s, err := m.stream(p, id)
	if err != nil {
		return nil, err
	}
	return s.events, nil
}

// Change implements Conversations.
func (m *Memory) Change(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID, c ConversationChange) error {
	return m.change(ctx, p, id, func(s *memoryStream) error {
		if c.Title != nil {
			s.Title = *c.Title
		}
		if c.Archived != nil {
			s.Archived = *c.Archived
		}
		return nil
	})
}

// Delete implements Conversations.
func (m *Memory) Delete(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID) error {
	return m.change(ctx, p, id, func(s *memoryStream) error {
		m.drop(s)
		return nil
	})
}

// drop erases a conversation. m.mu is held.
func (m *Memory) drop(s *memoryStream) {
	delete(m.recordings, recordingKey{s.Principal, s.Branch})
	delete(m.streams, s.ID)
}

// Hold implements Conversations.
func (m *Memory) Hold(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID, l Lease, now time.Time) (held Lease, err error) {
	if l.Token == "" {
		return Lease{}, refuse.NoToken(id)
	}
	err = m.change(ctx, p, id, func(s *memoryStream) error {
		if s.lease.Token != l.Token && stored(now).Before(s.lease.Until) {
			held = s.lease
			return refuse.Held(id, held.Holder, held.Until)
		}
		l.Until = stored(l.Until)
		s.lease, held = l, l
		return nil
	})
	return held, err
}

// Release implements Conversations.
func (m *Memory) Release(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID, token string) error {
	return m.change(ctx, p, id, func(s *memoryStream) error {
		if s.lease.Token == token {
			s.lease = Lease{}
		}
		return nil
	})
}
