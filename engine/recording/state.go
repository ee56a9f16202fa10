package recording

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/store"
)

// state is what the end of a stream says of what comes next.
type state struct {
	head   int64
	turns  int
	closed bool // nothing goes into the turn any more
	fresh  bool // the turn holds nothing but synthetic messages
	titled bool
	record string   // digest of the newest capsule
	open   []string // calls of the turn without a result
}

// saw takes an event that is in the stream now.
func (s *state) saw(e holdfast.Event) {
	switch e := e.(type) {
	case holdfast.TurnStart:
		s.closed, s.fresh, s.open = false, true, nil
	case holdfast.UserMessage:
		s.fresh = s.fresh && e.Synthetic
	case holdfast.AssistantMessage, holdfast.Reasoning:
		s.fresh = false
	case holdfast.ToolCall:
		s.fresh = false
		s.open = append(slices.Clip(s.open), e.ID)
	case holdfast.ToolResult:
		s.fresh = false
		if i := slices.Index(s.open, e.CallID); i >= 0 {
			s.open = slices.Delete(slices.Clone(s.open), i, i+1)
		}
	case holdfast.Overlay:
		if e.Source != holdfast.AgentOverlay || e.Summary == nil {
			return
		}
		s.closed = s.closed || e.ToTurn >= s.turns-1
		if e.Summary.Capsule != nil {
			s.record = e.Summary.Capsule.Digest
		}
	case holdfast.Continuity:
		s.record = e.Capsule.Digest
	}
}

// answers is the id of the call that a result answers; "" when none waits for
// it.
func (s *state) answers(result string) string {
	for _, call := range s.open {
		if call == result || placeless(result) && strings.HasPrefix(call, result) {
			return call
		}
	}
	return ""
}

// draft is what is about to be appended.
type draft struct {
	state
	redact  redactor
	at      time.Time
	capsule holdfast.Capsule // as it was before
	rows    []store.StoredEvent
	title   string
}

// put drafts an event, with what must stand before it.
func (d *draft) put(id holdfast.EventID, e holdfast.Event) {
	if r, ok := e.(holdfast.ToolResult); ok {
		call := d.answers(r.CallID)
		if call == "" && placeless(r.CallID) {
			return // a repeat: gemini-cli sends some when it resumes
		}
		if call != "" {
			r.CallID = call
		}
		e = r
	}
	m, isUser := e.(holdfast.UserMessage)
	genuine := isUser && !m.Synthetic
	if d.closed || genuine && !d.fresh {
		if d.turns > 0 {
			d.continuity(d.capsule)
		}
		d.turns++
		d.row(idOf("turn", string(id)), holdfast.TurnStart{})
	}
	e = d.redact.event(e)
	if genuine && !d.titled {
		if d.title = titleOf(e.(holdfast.UserMessage)); d.title != "" {
			d.titled = true
		}
	}
	d.row(id, e)
}

// continuity drafts a capsule where it is another one than the stream has.
func (d *draft) continuity(c holdfast.Capsule) {
	if c.Digest == "" || c.Digest == d.record || c.Revision == 0 {
		return
	}
	d.row(newID(), holdfast.Continuity{Capsule: d.redact.capsule(c)})
}

func (d *draft) row(id holdfast.EventID, e holdfast.Event) {
	d.rows = append(d.rows, rowOf(holdfast.Entry{ID: id, At: d.at, Event: e}))
	d.saw(e)
}

func rowOf(e holdfast.Entry) store.StoredEvent {
	e.At = e.At.UTC().Truncate(time.Microsecond)
	return store.StoredEvent{ID: e.ID, Kind: conversation.KindOf(e.Event), At: e.At, Line: conversation.AppendLine(nil, e)}
}

// titleOf is a title made of a message; "" where it has no words.
func titleOf(m holdfast.UserMessage) string {
	var words []holdfast.Part
	for _, p := range m.Parts {
		if t, ok := p.(holdfast.Text); ok {
			words = append(words, holdfast.Text(agents.UserText(string(t))))
		}
	}
	return conversation.TitleOf(holdfast.UserMessage{Parts: words})
}

func newID() holdfast.EventID { return holdfast.EventID(uuid.Must(uuid.NewV7()).String()) }

// GapKind is the kind of the event that says that something may be missing. It
// is none of the vocabulary: no model and no projection sees it.
const GapKind = "gap"

func gapLine(id holdfast.EventID, at time.Time) []byte {
	return fmt.Appendf(nil, `{"kind":%q,"id":%q,"at":%q}`, GapKind, id, at.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano))
}
