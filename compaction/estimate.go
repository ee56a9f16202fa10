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
// that by what the provider counted so far, Count does not guess.
//
// An image, and any file that is not text, counts a fixed allowance.
//
// It is a value, safe for concurrent use if Render and Count are.
type Estimator struct {
	// Render writes the capsule as it stands in the view; nil: it is left out.
	Render func(holdfast.Capsule) string
	// Overhead is what every request carries beside the conversation: the system
	// text and the schemas of the tools as they are sent. It may be left out where
	// it is not known, as for the session of another agent: Calibrated finds it in
	// what the provider counted. It is to be set before that.
	Overhead []string
	// Count is a tokenizer. nil: characters are divided.
	Count func(string) int

	divisor float64 // characters to a token; 0: plainDivisor
	known   known
	// changed tells that something came since the known request that makes the
	// view another one.
	changed bool
}

// known is a request whose size the provider said; the zero value is none.
type known struct {
	input int64 // tokens, those of the cache too
	size  size  // as it is estimated
	// answered is the size with the answer. ratio is how many characters of both a
	// token had.
	answered size
	ratio    float64
}

const (
	plainDivisor = 4
	leastDivisor = 1
	mostDivisor  = 8
	// agentDivisor is about what the code, the logs and the JSON of coding agents
	// have to a token; priorTokens is the weight of it beside what was counted.
	agentDivisor = 3
	priorTokens  = 2000
	// doubt is by how much an estimate may be too high.
	doubt = 1.5
	// mediaTokens is what an image or a document counts: about an image of a
	// million pixels, or a page.
	mediaTokens = 1600
)

// Calibrated is e with what the provider reported for calls of the conversation.
// The newest one is the size of the request as it was then; what came or went
// since is estimated by how the sizes grew from the oldest call of the same model
// to the newest one. So what a request carries that is not in the stream is
// counted, be it known or not. Only calls for turns count. window is the context
// window of a model in tokens, 0 where it is not known: a figure above it is not
// trusted. Without a figure, and where Count is set, e stays as it is.
func (e Estimator) Calibrated(entries []holdfast.Entry, window func(model string) int64) Estimator {
	if e.Count != nil {
		return e
	}
	newest, changed := -1, false
	for i := len(entries) - 1; i >= 0 && newest < 0; i-- {
		switch event := entries[i].Event.(type) {
		case holdfast.Overlay, holdfast.Revocation, holdfast.Settings:
			changed = true
		case holdfast.Usage:
			if event.Purpose == holdfast.ForTurn {
				newest = i
			}
		}
	}
	if newest < 0 {
		return e
	}
	usage := entries[newest].Event.(holdfast.Usage)
	last := e.request(entries, newest)
	if most := window(usage.Model); last.input <= 0 || last.size.chars == 0 && last.size.tokens == 0 || most > 0 && usage.Window() > most {
		return e
	}
	first := last
	for i, entry := range entries[:newest] {
		if u, ok := entry.Event.(holdfast.Usage); ok && u.Purpose == holdfast.ForTurn && u.Model == usage.Model {
			first = e.request(entries, i)
			break
		}
	}
	prior := float64(agentDivisor)
	if len(e.Overhead) > 0 { // then all that was sent is known
		prior = last.ratio
	}
	chars := last.size.chars - first.size.chars
	tokens := last.input - first.input - int64(last.size.tokens-first.size.tokens)
	if chars < 0 || tokens < 0 {
		chars, tokens = 0, 0 // the older one was another view
	}
	e.divisor = bounded((float64(chars) + prior*priorTokens) / (float64(tokens) + priorTokens))
	e.known, e.changed = last, changed
	return e
}

func bounded(divisor float64) float64 { return min(max(divisor, leastDivisor), mostDivisor) }

// Sent is what was sent for the answer that the usage at an index belongs to:
// everything before that answer. The usage stands behind it, or behind the results
// of its calls.
func Sent(entries []holdfast.Entry, usage int) []holdfast.Entry {
	i := usage
	for i > 0 && !byModel(entries[i-1].Event) {
		switch entries[i-1].Event.(type) {
		case holdfast.TurnStart, holdfast.UserMessage, holdfast.Usage:
			return entries[:usage] // the answer said nothing
		}
		i--
	}
	end := behindInput(entries, i)
	for end < i && !byModel(entries[end].Event) {
		end++ // such as the report of the call before
	}
	return entries[:end]
}

// request is the request that the usage at an index tells the size of.
func (e Estimator) request(entries []holdfast.Entry, usage int) known {
	u := entries[usage].Event.(holdfast.Usage)
	sent := Sent(entries, usage)
	k := known{input: u.Window() - u.Output, size: e.measure(sent)}
	k.answered = k.size
	for _, entry := range entries[len(sent):usage] {
		k.answered.addEvent(entry.Event)
	}
	k.ratio = bounded(float64(k.answered.chars) / float64(max(u.Window()-int64(k.answered.tokens), 1)))
	return k
}

// behindInput is the index behind the newest thing before an index that a model
// was sent.
func behindInput(entries []holdfast.Entry, i int) int {
	for ; i > 0; i-- {
		switch entries[i-1].Event.(type) {
		case holdfast.TurnStart, holdfast.UserMessage, holdfast.ToolResult:
			return i
		}
	}
	return 0
}

// Tokens estimates the request that the stream is sent as.
func (e Estimator) Tokens(entries []holdfast.Entry) int {
	return e.whole(e.measure(entries))
}

// whole estimates a request.
func (e Estimator) whole(s size) int {
	if e.known.input == 0 {
		return e.tokens(s)
	}
	more := float64(s.chars-e.known.size.chars) / e.divisor
	estimate := int(e.known.input) + s.tokens - e.known.size.tokens + int(math.Ceil(more))
	if more < 0 {
		// What went may have been of a kind that took more.
		estimate = max(estimate, s.chars/mostDivisor+s.tokens)
	}
	return estimate
}

// AtLeast is a bound that the request is not below: what the provider said of
// the last call and a cautious estimate of what came since, or a cautious
// estimate of all. Media do not count in what is estimated. Where this and the
// room for an answer are above the window, the request cannot fit.
func (e Estimator) AtLeast(entries []holdfast.Entry) int {
	s := e.measure(entries)
	most := float64(mostDivisor)
	if e.known.ratio > 0 {
		// A conversation in Chinese may go on with English code.
		most = min(most, doubt*max(e.known.ratio, plainDivisor))
	}
	switch {
	case e.Count != nil:
		return int(float64(s.tokens-s.media) / doubt)
	case e.known.input > 0 && !e.changed && s.chars >= e.known.answered.chars:
		// Of the answer it is not sure that it is sent again: its reasoning may not be.
		return int(e.known.input) + int(float64(s.chars-e.known.answered.chars)/most)
	}
	return int(float64(s.chars) / most)
}

// Text estimates a text.
func (e Estimator) Text(text string) int {
	s := size{count: e.Count}
	s.add(text)
	return e.tokens(s)
}

// tokens estimates a part of a request.
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
