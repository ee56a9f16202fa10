package conversations

import (
	"context"
	"iter"
	"regexp"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/store"
)

// Match is a place in a conversation where a pattern was found.
type Match struct {
	Seq  int64
	Turn int // from 0
	Kind string
	// Line is the line of the text that matched, [Start:End] what did.
	Line       string
	Start, End int
}

// Search yields the lines of a conversation that match: what was said, reasoned,
// called and answered, and summaries, whether they are revoked or not.
func (s *Service) Search(ctx context.Context, id holdfast.ConversationID, pattern *regexp.Regexp) iter.Seq2[Match, error] {
	return func(yield func(Match, error) bool) {
		var turns conversation.Counter
		for e, err := range s.Entries(ctx, id, store.EventRange{}) {
			if err != nil {
				yield(Match{}, err)
				return
			}
			turn := turns.Count(e.Event)
			for _, text := range texts(e.Event) {
				for line := range strings.Lines(text) {
					line = strings.TrimRight(line, "\r\n")
					at := pattern.FindStringIndex(line)
					if at == nil {
						continue
					}
					m := Match{Seq: e.Seq, Turn: turn, Kind: conversation.KindOf(e.Event), Line: line, Start: at[0], End: at[1]}
					if !yield(m, nil) {
						return
					}
				}
			}
		}
	}
}

// texts are what can be searched of an event.
func texts(e holdfast.Event) (list []string) {
	of := func(parts []holdfast.Part) {
		for _, p := range parts {
			switch p := p.(type) {
			case holdfast.Text:
				list = append(list, string(p))
			case holdfast.Media:
				list = append(list, p.Name, p.URI)
			}
		}
	}
	switch e := e.(type) {
	case holdfast.UserMessage:
		of(e.Parts)
	case holdfast.AssistantMessage:
		list = append(list, e.Text, string(e.Data))
	case holdfast.Reasoning:
		list = append(list, e.Text)
	case holdfast.ToolCall:
		list = append(list, e.Name, string(e.Arguments))
	case holdfast.ToolResult:
		of(e.Parts)
	case holdfast.Overlay:
		if e.Summary != nil {
			list = append(list, e.Summary.Text)
		}
	}
	return list
}
