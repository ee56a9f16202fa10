package extract

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/continuity"
)

// Role tells who wrote a message.
type Role string

// The roles.
const (
	User      Role = "user"      // the person
	Assistant Role = "assistant" // the model
)

// Message is a text of the person or of the model.
type Message struct {
	ID string // its place in the history, unique there: what a watermark names
	// Turn counts the messages of the person from 1, up to this one.
	Turn int
	Role Role
	Text string
	// Cut tells that a part of the text, beside code and pasted bulk, is missing: it
	// was too long.
	Cut bool
}

// Messages takes out of a history what may be read: what the person typed and what
// the model answered. Results of tools, calls, reasoning, media, texts of harnesses,
// summaries and records of ours are left out. before is the number of messages that
// the person typed in the branch before these entries.
func Messages(entries []holdfast.Entry, before int) []Message {
	var out []Message
	turn := before
	for _, e := range entries {
		switch event := e.Event.(type) {
		case holdfast.UserMessage:
			if text := typed(event); text != "" {
				turn++
				out = append(out, Message{ID: string(e.ID), Turn: turn, Role: User, Text: text})
			}
		case holdfast.AssistantMessage:
			if text := withoutRecord(event.Text); text != "" && !agents.SyntheticAnswer(text) {
				out = append(out, Message{ID: string(e.ID), Turn: turn, Role: Assistant, Text: text})
			}
		}
	}
	return out
}

// typed is what of a message the person typed.
func typed(m holdfast.UserMessage) string {
	if m.Synthetic {
		return ""
	}
	var texts []string
	synthetic := agents.SyntheticParts(m.Parts)
	for i, p := range m.Parts {
		text, ok := p.(holdfast.Text)
		if !ok || synthetic[i] {
			continue
		}
		words := withoutRecord(agents.UserText(string(text)))
		if _, plan, _ := agents.AcceptedPlan(words); words != "" && plan == "" {
			texts = append(texts, words)
		}
	}
	return strings.Join(texts, "\n")
}

// withoutRecord cuts records of ours out of a text. One that is torn goes to the
// end.
func withoutRecord(text string) string {
	for {
		before, rest, ok := strings.Cut(text, holdfast.BlockBegins)
		if !ok {
			return strings.TrimSpace(text)
		}
		_, after, _ := strings.Cut(rest, holdfast.BlockClose)
		text = before + after
	}
}

// behind is the index of the first message that a watermark does not cover: all are
// new when it names none of them.
func behind(messages []Message, watermark string) int {
	for i, m := range slices.Backward(messages) {
		if watermark != "" && m.ID == watermark {
			return i + 1
		}
	}
	return 0
}

// sentence is one sentence of a message, in normal form.
type sentence struct{ from, to int }

// spoken is the text of a message that is its author's own, in normal form: fences
// and quoted lines are left out, and nothing can be found across one.
type spoken struct {
	text      string
	sentences []sentence
	lines     []string // the sentences, cut where a line ends
}

func speak(text string) spoken {
	var b strings.Builder
	var s spoken
	for _, piece := range continuity.Sentences(text) {
		normal := continuity.Normal(piece.Text)
		switch {
		case piece.Quoted:
			b.WriteString("\x00")
			continue
		case normal == "":
			continue
		case b.Len() > 0:
			b.WriteString(" ")
		}
		s.sentences = append(s.sentences, sentence{b.Len(), b.Len() + len(normal)})
		for line := range strings.Lines(piece.Text) {
			s.lines = append(s.lines, continuity.Normal(line))
		}
		b.WriteString(normal)
	}
	s.text = b.String()
	return s
}

// find widens a quote to the whole sentences in which it stands, at the borders of
// words. The last place counts. said is what they say and do not ask.
func (s spoken) find(quote string) (sentences, said string, ok bool) {
	quote = continuity.Normal(quote)
	if !hasWord(quote) {
		return "", "", false
	}
	for end := len(s.text); ; {
		at := strings.LastIndex(s.text[:end], quote)
		if at < 0 {
			return "", "", false
		}
		if to := at + len(quote); !splitsWord(s.text, at) && !splitsWord(s.text, to) {
			from := at
			var all []string
			for _, x := range s.sentences {
				if x.from < at+len(quote) && x.to > at {
					from, to = min(from, x.from), max(to, x.to)
					all = append(all, s.text[x.from:x.to])
				}
			}
			return s.text[from:to], told(all), true
		}
		end = at + len(quote) - 1
	}
}
