package sqlstore

import (
	"context"
	"database/sql"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
	"github.com/holdfast-dev/holdfast/store/internal/refuse"
)

const (
	insertConversation = `INSERT INTO conversations (` + headColumns + `)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	getConversation = `SELECT 1 FROM conversations WHERE id = ?`

	headColumns = `id, principal, title, origin, agent, branch, parent, parent_seq, version, archived,
		created_at, used_at, head, turns, bytes`
	headByID     = `SELECT ` + headColumns + ` FROM conversations WHERE id = ? AND principal = ?`
	headByBranch = `SELECT ` + headColumns + ` FROM conversations WHERE branch = ? AND branch <> '' AND principal = ?`
	// The flag of an archived one is 1, so a bound of 0 leaves these out.
	listHeads = `SELECT ` + headColumns + ` FROM conversations WHERE principal = ? AND archived <= ?
		ORDER BY used_at DESC, id DESC`

	changeConversation = `UPDATE conversations SET title = COALESCE(?, title), archived = COALESCE(?, archived)
		WHERE id = ? AND principal = ?`
	deleteConversation = `DELETE FROM conversations WHERE id = ? AND principal = ?`
)

// Create implements store.Conversations.
func (s *Store) Create(ctx context.Context, c store.Conversation, events []store.StoredEvent) error {
	err := s.write(ctx, func(t tx) error {
		used := max(c.CreatedAt.UnixMicro(), c.UsedAt.UnixMicro())
		n, err := t.exec(insertConversation, c.ID, c.Principal, c.Title, c.Origin, c.Agent, c.Branch, c.Parent, c.ParentSeq,
			max(c.Version, store.StreamVersion), flag(c.Archived), c.CreatedAt.UnixMicro(), used, 0, 0, 0)
		if err != nil {
			return err
		}
		if n == 0 {
			var one int
			taken, err := t.get(getConversation, []any{c.ID}, &one)
			if err == nil && taken {
				err = refuse.TakenConversation(c.ID)
			} else if err == nil {
				err = refuse.TakenRecording(c.Branch)
			}
			return err
		}
		return t.append(c.ID, 0, events)
	})
	return s.explain("create conversation "+string(c.ID), err)
}

// Get implements store.Conversations.
func (s *Store) Get(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID) (store.Conversation, error) {
	c, found, err := s.head(ctx, headByID, id, p)
	if err == nil && !found {
		err = refuse.NoConversation(id)
	}
	return c, err
}

// ByBranch implements store.Conversations.
func (s *Store) ByBranch(ctx context.Context, p holdfast.Principal, branch holdfast.BranchID) (store.Conversation, error) {
	c, found, err := s.head(ctx, headByBranch, branch, p)
	if err == nil && !found {
		err = refuse.NoRecording(branch)
	}
	return c, err
}

func (s *Store) head(ctx context.Context, query string, args ...any) (c store.Conversation, found bool, err error) {
	err = s.read(ctx, func(t tx) error {
		var err error
		found, err = t.get(query, args, headInto(&c)...)
		return err
	})
	if err != nil {
		return store.Conversation{}, false, s.explain("read a conversation", err)
	}
	return c, found, nil
}

func headInto(c *store.Conversation) []any {
	return []any{
		&c.ID, &c.Principal, &c.Title, &c.Origin, &c.Agent, &c.Branch, &c.Parent, &c.ParentSeq, &c.Version, &c.Archived,
		instant{&c.CreatedAt},
		instant{&c.UsedAt},
		&c.Head, &c.Turns, &c.Bytes,
	}
}

// List implements store.Conversations.
func (s *Store) List(ctx context.Context, p holdfast.Principal, archived bool) ([]store.Conversation, error) {
	var list []store.Conversation
	err := s.read(ctx, func(t tx) error {
		return t.each(listHeads, []any{p, flag(archived)}, func(rows *sql.Rows) error {
			var c store.Conversation
			err := rows.Scan(headInto(&c)...)
			list = append(list, c)
			return err
		})
	})
	if err != nil {
		return nil, s.explain("list conversations", err)
	}
	return list, nil
}

// Change implements store.Conversations.
func (s *Store) Change(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID, c store.ConversationChange) error {
	var title, archived any // NULL leaves a column as it is
	if c.Title != nil {
		title = *c.Title
	}
	if c.Archived != nil {
		archived = flag(*c.Archived)
	}
	err := s.write(ctx, func(t tx) error { return t.one(id, changeConversation, title, archived, id, p) })
	return s.explain("change conversation "+string(id), err)
}

// Delete implements store.Conversations. What it leaves in the files of the
// database is wiped as by Remove.
func (s *Store) Delete(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID) error {
	err := s.write(ctx, func(t tx) error { return t.one(id, deleteConversation, id, p) })
	if err != nil {
		return s.explain("delete conversation "+string(id), err)
	}
	return s.wipe(ctx)
}

// one runs a statement that changes the row of a conversation.
func (t tx) one(id holdfast.ConversationID, query string, args ...any) error {
	n, err := t.exec(query, args...)
	if err == nil && n == 0 {
		err = refuse.NoConversation(id)
	}
	return err
}
