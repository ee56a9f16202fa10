package conversations

import (
	"context"
	"iter"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/transcript"
)

// SessionID is the id of the conversation that a session of an agent is imported
// as: the same for the same session.
func SessionID(agent, session string) holdfast.ConversationID {
	var names conversation.Namer
	return holdfast.ConversationID(names.Next([]byte("session " + agent + "\x00" + session)))
}

// ImportSessions imports what an agent left on disk: each session as a
// conversation, subagents and forks with their parent. Importing it again adds
// what is new, at the end, whatever was added here meanwhile, such as a
// compaction: events are told by their ids. Agents that rewrite their files may so
// bring an event behind those that it stood before.
func (s *Service) ImportSessions(ctx context.Context, items iter.Seq2[transcript.Item, error], o ImportOptions) ([]Imported, []Damage, error) {
	im := sessions{s: s, options: o, by: map[string]*importer{}}
	err := im.read(ctx, items)
	var done []Imported
	for _, id := range im.order {
		one := im.by[id]
		if err == nil {
			err = im.end(ctx, one)
		} else if one.w != nil {
			err = one.w.undo(ctx, err)
		}
		done = append(done, one.done...)
	}
	return done, im.damage, err
}

// sessions is the reading of the sessions of one source.
type sessions struct {
	s       *Service
	options ImportOptions
	by      map[string]*importer
	order   []string
	damage  []Damage
}

func (im *sessions) read(ctx context.Context, items iter.Seq2[transcript.Item, error]) error {
	agent := ""
	for item, err := range items {
		if err != nil {
			return err
		}
		switch item := item.(type) {
		case transcript.Session:
			agent = item.Agent
			im.session(item)
		case transcript.Damage:
			im.damage = append(im.damage, Damage{item.Line, item.Reason})
		case transcript.Event:
			if err := im.of(agent, item.Session).take(ctx, 0, item.Entry, true, conversation.AppendLine(nil, item.Entry)); err != nil {
				return err
			}
		}
	}
	return nil
}

// of is the importer of a session.
func (im *sessions) of(agent, id string) *importer {
	one := im.by[id]
	if one == nil {
		one = &importer{
			s: im.s, options: im.options, at: im.s.now().UTC().Truncate(time.Microsecond),
			anyOrder: true, stored: map[holdfast.EventID]bool{},
		}
		one.head = conversation.Head{ID: SessionID(agent, id), Agent: agent}
		im.by[id] = one
		im.order = append(im.order, id)
	}
	return one
}

// session takes what is known of a session. What is said later counts.
func (im *sessions) session(item transcript.Session) {
	one := im.of(item.Agent, item.ID)
	if item.Parent != "" {
		one.head.Parent = SessionID(item.Agent, item.Parent)
	}
	if !item.StartedAt.IsZero() {
		one.head.CreatedAt = item.StartedAt.UTC()
	}
	if item.Title != "" {
		one.head.Title = conversation.TitleOf(holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text(item.Title)}})
	}
}

// end writes what is left of a session. One without events is left out. The title that
// the agent gave takes the place of one that was made of the first message, and of no
// other.
func (im *sessions) end(ctx context.Context, one *importer) error {
	if one.w == nil {
		return nil
	}
	if title := one.head.Title; title != "" && (one.now.New || one.w.title == "" || one.w.title == one.made) {
		one.now.Title, one.w.c.Title = title, title
	}
	return one.end(ctx)
}
