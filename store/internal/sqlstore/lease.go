package sqlstore

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/store/internal/refuse"
)

const (
	getOtherLease = `SELECT holder, token, held_until FROM leases WHERE conversation_id = ? AND token <> ? AND held_until > ?`
	putLease      = `INSERT INTO leases (conversation_id, holder, token, held_until) VALUES (?, ?, ?, ?)
		ON CONFLICT (conversation_id) DO UPDATE SET holder = excluded.holder, token = excluded.token, held_until = excluded.held_until`
	deleteLease = `DELETE FROM leases WHERE conversation_id = ? AND token = ?`
)

// Hold implements store.Conversations.
func (s *Store) Hold(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID, l store.Lease, now time.Time) (held store.Lease, err error) {
	if l.Token == "" {
		return store.Lease{}, refuse.NoToken(id)
	}
	until := l.Until.UnixMicro()
	err = s.write(ctx, func(t tx) error {
		if _, _, err := t.end(p, id); err != nil {
			return err
		}
		var other store.Lease
		taken, err := t.get(getOtherLease, []any{id, l.Token, now.UnixMicro()}, &other.Holder, &other.Token, instant{&other.Until})
		if err != nil {
			return err
		}
		if taken {
			held = other
			return refuse.Held(id, other.Holder, other.Until)
		}
		_, err = t.exec(putLease, id, l.Holder, l.Token, until)
		return err
	})
	if err != nil {
		return held, s.explain("hold conversation "+string(id), err)
	}
	l.Until = time.UnixMicro(until).UTC()
	return l, nil
}

// Release implements store.Conversations.
func (s *Store) Release(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID, token string) error {
	err := s.write(ctx, func(t tx) error {
		if _, _, err := t.end(p, id); err != nil {
			return err
		}
		_, err := t.exec(deleteLease, id, token)
		return err
	})
	return s.explain("release conversation "+string(id), err)
}
