package compaction

import (
	"encoding/base64"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
)

// Estimator estimates how many tokens a request takes. Its zero value divides
// the characters of everything that the request carries by four. Of what a
// tokenizer counts that is 0.9 to 1 for English and code, 0.7 to 0.8 for JSON,
// and 0.3 to 0.5 for Chinese, Japanese, Korean and base64. Calibrated corrects
// that by what the conversation was made of so far, Count does not guess.
//
// An image, and any file that is not text, counts a fixed allowance.
//
// It is a value, safe for concurrent use if Render and Count are.
type Estimator struct {
	// Render writes the capsule as it stands in the view; nil: it is left out.
	Render func(holdfast.Capsule) string
	// Overhead is what every request carries beside the conversation: the system
	// text and the schemas of the tools as they are sent.
	Overhead []string
	// Count is a tokenizer. nil: characters are divided.
	Count func(string) int

	divisor float64 // characters to a token; 0: plainDivisor
	// known is what the last call took; only a call that nothing came after but
	// more of the conversation.
	known known
}

// known is a request whose size the provider said.
type known struct {
	input int64 // tokens; 0: none is known
	chars int   // of what the call left in the window
}

const (
	plainDivisor = 4
	leastDivisor = 1
	mostDivisor  = 8
	// doubt is by how much an estimate may be too high.
	doubt = 1.5
	// mediaTokens is what an image or a document counts: about an image of a
	// million pixels, or a page.
	mediaTokens = 1600
)

// Calibrated is e with the divisor that the last call of the conversation shows:
// the characters of the view as it was then, by the tokens that the provider
// reported for it. Only calls for turns count, and only the last one: each
// carries all of the conversation. window is the context window of a model in
// tokens, 0 where it is not known: a figure above it is not trusted. Without a
// figure, and where Count is set, e stays as it is.
func (e Estimator) Calibrated(entries []holdfast.Entry, window func(model string) int64) Estimator {
	if e.Count != nil {
		return e
	}
	changed := false // something that came later makes the figure one of another view
	for i := len(entries) - 1; i >= 0; i-- {
		switch event := entries[i].Event.(type) {
		case holdfast.Overlay, holdfast.Revocation, holdfast.Settings:
			changed = true
		case holdfast.Usage:
			if event.Purpose != holdfast.ForTurn {
				continue
			}
			most := window(event.Model)
			size := e.measure(entries[:i])
			tokens := event.Window() - int64(size.tokens)
			if tokens <= 0 || size.chars == 0 || most > 0 && event.Window() > most {
				return e
			}
			e.divisor = min(max(float64(size.chars)/float64(tokens), leastDivisor), mostDivisor)
			if !changed {
				e.known = known{input: event.Window() - event.Output, chars: size.chars}
			}
			return e
		}
	}
	return e
}

// Tokens estimates the request that the stream is sent as.
func (e Estimator) Tokens(entries []holdfast.Entry) int {
	return e.tokens(e.measure(entries))
}

// AtLeast is a bound that the request is not below: what the provider said of
// the last call and a cautious estimate of what came since, or a cautious
// estimate of all. Media do not count in what is estimated. Where this and the
// room for an answer are above the window, the request cannot fit.
func (e Estimator) AtLeast(entries []holdfast.Entry) int {
	size := e.measure(entries)
	most := float64(mostDivisor)
	if e.divisor > 0 {
		// A conversation in Chinese may go on with English code.
		most = min(most, doubt*max(e.divisor, plainDivisor))
	}
	switch {
	case e.Count != nil:
		return int(float64(size.tokens-size.media) / doubt)
	case e.known.input > 0 && size.chars >= e.known.chars:
		return int(e.known.input) + int(float64(size.chars-e.known.chars)/most)
	}
	return int(float64(size.chars) / most)
}

// Text estimates a text.
func (e Estimator) Text(text string) int {
	s := size{count: e.Count}
	s.add(text)
	return e.tokens(s)
}

func (e Estimator) tokens(s size) int {
	divisor := e.divisor
	if divisor == 0 {
		divisor = plainDivisor
	}
	return s.tokens + int(math.Ceil(float64(s.chars)/divisor))
}

// measure is the size of the request that the stream is sent as.
func (e Estimator) measure(entries []holdfast.Entry) size {
	s := size{count: e.Count}
	for _, text := range e.Overhead {
		s.add(text)
	}
	for _, t := range conversation.Project(entries, e.Render).Turns {
		s.addTurn(t)
	}
	return s
}

// size is how much something is: characters that are to be divided, and tokens.
type size struct {
	chars, tokens int
	media         int // tokens of media, which are in tokens too
	count         func(string) int
}

func (s *size) add(text string) {
	if s.count != nil {
		s.tokens += s.count(text)
		return
	}
	s.chars += utf8.RuneCountInString(text)
}

func (s *size) addBytes(text []byte) {
	if s.count != nil {
		s.tokens += s.count(string(text))
		return
	}
	s.chars += utf8.RuneCount(text)
}

func (s *size) addTurn(t conversation.ViewTurn) {
	for _, e := range t.Entries {
		s.addEvent(e.Event)
	}
}

func (s *size) addEvent(event holdfast.Event) {
	switch e := event.(type) {
	case holdfast.UserMessage:
		s.addParts(e.Parts)
		s.addBytes(e.Schema)
	case holdfast.AssistantMessage:
		s.add(e.Text)
		s.addBytes(e.Data)
	case holdfast.Reasoning:
		s.add(e.Text)
		s.addBytes(e.Opaque)
	case holdfast.ToolCall:
		s.add(e.ID)
		s.add(e.Name)
		s.addBytes(e.Arguments)
	case holdfast.ToolResult:
		s.add(e.CallID)
		s.add(e.Text)
		s.addParts(e.Parts)
	}
}

func (s *size) addParts(parts []holdfast.Part) {
	for _, part := range parts {
		switch p := part.(type) {
		case holdfast.Text:
			s.add(string(p))
		case holdfast.Media:
			s.addMedia(p)
		}
	}
}

func (s *size) addMedia(m holdfast.Media) {
	s.add(m.Name)
	if kind, _, _ := strings.Cut(m.MIME, "/"); kind == "text" || m.MIME == "application/json" {
		if text, err := base64.StdEncoding.DecodeString(m.Data); err == nil && len(text) > 0 {
			s.addBytes(text)
			return
		}
	}
	s.tokens += mediaTokens
	s.media += mediaTokens
}
