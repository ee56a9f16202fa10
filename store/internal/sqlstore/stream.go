package sqlstore

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/store/internal/refuse"
)

// turnKind is the kind of the events that the head counts as turns.
const turnKind = "turn"

// pageBytes is how much of a stream is read at once: many short events, or a
// long one.
const pageBytes = 1 << 20

const (
	getEnd      = `SELECT head, version FROM conversations WHERE id = ? AND principal = ?`
	insertEvent = `INSERT INTO events (conversation_id, seq, event_id, kind, happened_at, line)
		VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (conversation_id, event_id) DO NOTHING`
	moveEnd = `UPDATE conversations SET head = ?, turns = turns + ?, bytes = bytes + ?,
		version = CASE WHEN version < ? THEN ? ELSE version END,
		used_at = CASE WHEN used_at < ? THEN ? ELSE used_at END WHERE id = ?`

	// The end of a range is not in the query: SQLite would take two bounds of seq
	// for better than the kind.
	eventsBehind = `SELECT seq, event_id, kind, happened_at, line FROM events WHERE conversation_id = ? AND seq > ?`
	ofKind       = ` AND kind = ?`
	inOrder      = ` ORDER BY seq`
)

// streamQueries lists what is prepared when a store opens.
func streamQueries() []string { return []string{getEnd, insertEvent, moveEnd} }

// Append implements store.Conversations.
func (s *Store) Append(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID, after int64, events []store.StoredEvent) error {
	err := s.write(ctx, func(t tx) error {
		head, version, err := t.end(p, id)
		if err != nil {
			return err
		}
		if version > store.StreamVersion {
			return refuse.NewerStream(id, version, store.StreamVersion)
		}
		if head != after {
			return refuse.MovedOn(id, after, head)
		}
		return t.append(id, head, events)
	})
	return s.explain("append to conversation "+string(id), err)
}

// end reads where a stream ends, and its version.
func (t tx) end(p holdfast.Principal, id holdfast.ConversationID) (head int64, version int, err error) {
	found, err := t.get(getEnd, []any{id, p}, &head, &version)
	if err == nil && !found {
		err = refuse.NoConversation(id)
	}
	return head, version, err
}

// append writes events behind the newest one, whose number is head.
func (t tx) append(id holdfast.ConversationID, head int64, events []store.StoredEvent) error {
	if len(events) == 0 {
		return nil
	}
	turns, size := 0, 0
	for _, e := range events {
		if err := refuse.Event(id, e.ID, e.Kind, e.Line); err != nil {
			return err
		}
		head++
		n, err := t.exec(insertEvent, id, head, e.ID, e.Kind, e.At.UnixMicro(), e.Line)
		if err != nil {
			return err
		}
		if n == 0 {
			return refuse.TakenEvent(id, e.ID)
		}
		if e.Kind == turnKind {
			turns++
		}
		size += len(e.Line)
	}
	used := events[len(events)-1].At.UnixMicro()
	_, err := t.exec(moveEnd, head, turns, size, store.StreamVersion, store.StreamVersion, used, used, id)
	return err
}

// Events implements store.Conversations. It reads page by page, each in a
// transaction of its own that ends before the page is handed out.
func (s *Store) Events(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID, r store.EventRange) iter.Seq2[store.StoredEvent, error] {
	return func(yield func(store.StoredEvent, error) bool) {
		rest, more := r, true
		for more {
			var page []store.StoredEvent
			err := s.read(ctx, func(t tx) error {
				var err error
				page, more, err = t.page(p, id, rest)
				return err
			})
			for i := 0; err == nil && i < len(page); i++ {
				if err = ctx.Err(); err == nil && !yield(page[i], nil) {
					return
				}
				rest.After = page[i].Seq
			}
			if err != nil {
				yield(store.StoredEvent{}, s.explain("read conversation "+string(id), err))
				return
			}
		}
	}
}

// page reads the first events of a range, and whether there may be more.
func (t tx) page(p holdfast.Principal, id holdfast.ConversationID, r store.EventRange) (page []store.StoredEvent, more bool, err error) {
	if _, _, err := t.end(p, id); err != nil {
		return nil, false, err
	}
	query, args := eventsQuery(id, r)
	rows, err := t.QueryContext(t.ctx, query, args...)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	for size := 0; size < pageBytes; {
		if !rows.Next() {
			return page, false, rows.Err()
		}
		var e store.StoredEvent
		if err := rows.Scan(&e.Seq, &e.ID, &e.Kind, instant{&e.At}, &e.Line); err != nil {
			return nil, false, err
		}
		if r.UpTo != 0 && e.Seq > r.UpTo {
			return page, false, nil
		}
		page = append(page, e)
		size += len(e.Line)
	}
	return page, true, nil
}

// eventsQuery reads what stands behind the beginning of a range, in order. It
// merges one query per kind: each follows an index in the order of the stream, so
// that nothing is sorted and no row of another kind is read.
func eventsQuery(id holdfast.ConversationID, r store.EventRange) (query string, args []any) {
	if len(r.Kinds) == 0 {
		return eventsBehind + inOrder, []any{id, r.After}
	}
	var arms []string
	for _, kind := range slices.Compact(slices.Sorted(slices.Values(r.Kinds))) {
		arms = append(arms, eventsBehind+ofKind)
		args = append(args, id, r.After, kind)
	}
	return strings.Join(arms, " UNION ALL ") + inOrder, args
}
