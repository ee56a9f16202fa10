package extract

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
)

// Bounds of one message in a batch, in bytes after pasted bulk was cut.
const (
	maxUserBytes  = 12 << 10
	maxOfferBytes = 12 << 10
)

// maxHolding bounds the messages of a batch that may hold something: what they hold
// must have room in one answer.
const maxHolding = 16

// Source cuts a history into batches for the extractor.
type Source struct {
	// Tokens bounds a batch with the capsule before it; the prompt's own text is not
	// in it. Below 1,000 it counts as 1,000.
	Tokens int
	// Most bounds the messages of a batch that may hold something, where what more of
	// them hold was too much for one answer; 0: 16, which is also the most.
	Most     int
	Estimate func(string) int    // tokens of a text
	Redact   func(string) string // takes secrets out of a text
}

// Batch is what one call reads, and what its answer is held against.
type Batch struct {
	Base   holdfast.Capsule // the capsule before it
	Record string           // what the extractor is shown of it: JSON
	// Messages are as they are sent: redacted and shortened, oldest first. Those of
	// the model are there for what the person answered.
	Messages []Message
	// Watermark is what the capsule's is when the batch was read.
	Watermark string
	// Eligible tells that it may hold something. If not, no call is needed and the
	// watermark moves.
	Eligible bool
	// More tells that there is text behind it for another batch.
	More bool
	// Holding counts the messages that may hold something.
	Holding int
	// Tokens is what a call for it is sent, instructions and record included.
	Tokens int
}

// Due reports whether a batch is worth a call now, where nothing needs it: it is full,
// or the session has grown by so much since the last call, in tokens, that what it is
// sent is at most that ratio of it. From 1 on nothing gathers.
func (b Batch) Due(grown int, ratio float64) bool {
	return b.More || ratio >= 1 || float64(b.Tokens) <= ratio*float64(grown)
}

// Next is the first batch behind the watermark of c. ok is false when nothing is
// there. All messages of the person are in it, with the plan-like text of the model
// that each may answer, also one from before the watermark, and the newest plan of
// steps; when that is too much to be sent, or to be answered at once, the oldest that fit, at
// least one.
func (s Source) Next(c holdfast.Capsule, messages []Message) (b Batch, ok bool) {
	first := behind(messages, c.Watermark)
	if first == len(messages) {
		return b, false
	}
	room := max(s.Tokens, 1000)
	b = Batch{Base: c, Record: s.Redact(record(c, room/2, s.Estimate))}
	kept := s.Estimate(b.Record)
	b.Tokens = kept + s.Estimate(system) + messageTokens
	left := room - kept
	last := newestOffer(messages, first)
	sent := -1 // the newest message of the model in the batch
	most := s.most()
	for i := first; i < len(messages); i++ {
		m := messages[i]
		var add []Message
		eligible := false
		switch {
		case m.Role == User:
			if at := answered(messages, i); at > sent {
				add = append(add, s.offer(messages[at]))
				eligible = answers(m.Text, messages[at].Text)
			}
			add = append(add, s.typed(m))
			eligible = eligible || Eligible(m.Text) && (!nods(m.Text) || offered(messages, i))
		case i == last && !answeredLater(messages, i):
			add = append(add, s.offer(m))
			eligible = true
		}
		cost := 0
		for _, x := range add {
			cost += s.Estimate(x.Text) + messageTokens
		}
		if len(b.Messages) > 0 && (cost > left || eligible && b.Holding == most) {
			b.More = true
			return b, true
		}
		if cost > left {
			cost = s.squeeze(add, left) // alone in its batch
		}
		for _, x := range add {
			if x.Role == Assistant {
				sent = indexOf(messages, x.ID)
			}
		}
		b.Messages = append(b.Messages, add...)
		if eligible {
			b.Eligible = true
			b.Holding++
		}
		b.Watermark = m.ID
		left -= cost
		b.Tokens += cost
	}
	return b, true
}

func (s Source) most() int {
	if s.Most > 0 {
		return min(s.Most, maxHolding)
	}
	return maxHolding
}

// Takes reports whether a batch that is not full is not full with more messages behind
// it either, told by their sizes alone.
func (s Source) Takes(b Batch, more []Message) bool {
	size, holding := b.Tokens, b.Holding
	for _, m := range more {
		size += len(m.Text)/2 + messageTokens // a token has two bytes and more
		if m.Role == User {
			size += maxOfferBytes / 2 // what it answers
			holding++
		}
	}
	return size < max(s.Tokens, 1000) && holding < s.most()
}

// messageTokens is what a message costs beside its text.
const messageTokens = 12

// squeeze shortens messages that are alone in a batch until they fit into a room.
func (s Source) squeeze(add []Message, room int) (cost int) {
	for limit := maxOfferBytes; ; limit /= 2 {
		cost = 0
		for i := range add {
			if len(add[i].Text) > limit {
				add[i].Text, add[i].Cut = continuity.Shorten(add[i].Text, limit), true
			}
			cost += s.Estimate(add[i].Text) + messageTokens
		}
		if cost <= room || limit < 200 {
			return cost
		}
	}
}

// typed is a message of the person as it is sent: pasted bulk becomes a stub, and
// what is still too long keeps head and tail.
func (s Source) typed(m Message) Message {
	m.Text = continuity.Shorten(s.Redact(m.Text), maxUserBytes)
	m.Cut = strings.Contains(m.Text, "[…]")
	return m
}

// offer is a message of the model as it is sent: code becomes a stub. Its list items
// stay, whatever they look like; what is too long is cut behind a line.
func (s Source) offer(m Message) Message {
	var b strings.Builder
	var fence continuity.Fence
	code := 0
	for line := range strings.Lines(s.Redact(m.Text)) {
		mark := fence.Line(line)
		if mark && !fence.In() {
			fmt.Fprintf(&b, "[%d lines of code left out]\n", code)
		}
		if mark {
			code = 0
			continue
		}
		if fence.In() {
			code++
			continue
		}
		if b.Len()+len(line) > maxOfferBytes {
			m.Cut = true
			break
		}
		b.WriteString(line)
	}
	m.Cut = m.Cut || fence.In() // it never ends
	m.Text = strings.TrimSpace(b.String())
	return m
}

// answered is the index of the text of the model that the message at i may answer:
// the newest plan-like one since the message of the person before it, else the one
// right before it when the answer is too short to be understood alone; -1 for none.
func answered(messages []Message, i int) int {
	for k := i - 1; k >= 0 && messages[k].Role == Assistant; k-- {
		if PlanLike(messages[k].Text) {
			return k
		}
	}
	if i > 0 && messages[i-1].Role == Assistant && len(messages[i].Text) < shortAnswer {
		return i - 1
	}
	return -1
}

// offered reports whether the model said something since the message of the person
// before the one at i that a yes may answer: with its last text, or by a plan or a
// question before that. What it tells of its work in between waits for nobody.
func offered(messages []Message, i int) bool {
	for k := i - 1; k >= 0 && messages[k].Role == Assistant; k-- {
		text := messages[k].Text
		if k == i-1 && offers(text) || PlanLike(text) || strings.ContainsAny(text, "?？") {
			return true
		}
	}
	return false
}

// shortAnswer is the length in bytes below which a message is read with what it
// answers.
const shortAnswer = 160

// newestOffer is the index of the newest plan of steps of the model behind first.
func newestOffer(messages []Message, first int) int {
	for i := len(messages) - 1; i >= first; i-- {
		if messages[i].Role == Assistant && len(Steps(messages[i].Text)) >= 2 {
			return i
		}
	}
	return -1
}

// answeredLater reports whether the person said something behind the message at i:
// then it goes with that.
func answeredLater(messages []Message, i int) bool {
	for _, m := range messages[i+1:] {
		if m.Role == User {
			return true
		}
	}
	return false
}

func indexOf(messages []Message, id string) int {
	for i, m := range messages {
		if m.ID == id {
			return i
		}
	}
	return -1
}

// record is what the extractor sees of the capsule before: what is in force, with
// ids, as JSON. What has no room goes, oldest first.
func record(c holdfast.Capsule, most int, estimate func(string) int) string {
	r := holdfast.Capsule{SchemaVersion: holdfast.SchemaVersion, Revision: c.Revision, Proposal: c.Proposal}
	if c.Plan != nil {
		p := *c.Plan
		if p.Earlier = nil; len(p.Steps) > 0 {
			p.Text = ""
		}
		r.Plan = &p
	}
	for _, x := range c.Decisions {
		if x.Status == holdfast.FactActive {
			x.Evidence = holdfast.Evidence{By: x.Evidence.By, Turn: x.Evidence.Turn}
			x.Supersedes = nil
			r.Decisions = append(r.Decisions, x)
		}
	}
	for _, x := range c.Constraints {
		if x.Status == holdfast.FactActive {
			x.Evidence = holdfast.Evidence{By: x.Evidence.By, Turn: x.Evidence.Turn}
			r.Constraints = append(r.Constraints, x)
		}
	}
	for _, x := range c.RejectedAlternatives {
		if x.Status == holdfast.FactRejected {
			x.Evidence = holdfast.Evidence{By: x.Evidence.By, Turn: x.Evidence.Turn}
			r.RejectedAlternatives = append(r.RejectedAlternatives, x)
		}
	}
	for _, x := range c.OpenQuestions {
		if x.Status == holdfast.FactOpen {
			x.Evidence = holdfast.Evidence{By: x.Evidence.By, Turn: x.Evidence.Turn}
			r.OpenQuestions = append(r.OpenQuestions, x)
		}
	}
	for _, x := range c.Facts {
		if x.Status == holdfast.FactActive {
			x.Evidence = holdfast.Evidence{By: x.Evidence.By, Turn: x.Evidence.Turn}
			r.Facts = append(r.Facts, x)
		}
	}
	for {
		raw, err := json.Marshal(r)
		if err != nil {
			panic(err) // plain strings and slices always marshal
		}
		text := string(raw)
		if estimate(text) <= most {
			return text
		}
		switch longest := max(len(r.Decisions), len(r.Constraints), len(r.RejectedAlternatives), len(r.OpenQuestions), len(r.Facts)); {
		case longest == 0:
			r.Plan, r.Proposal = nil, nil // alone they have no room
			most = len(text)
		case len(r.Facts) == longest:
			r.Facts = r.Facts[(longest+3)/4:]
		case len(r.OpenQuestions) == longest:
			r.OpenQuestions = r.OpenQuestions[(longest+3)/4:]
		case len(r.RejectedAlternatives) == longest:
			r.RejectedAlternatives = r.RejectedAlternatives[(longest+3)/4:]
		case len(r.Constraints) == longest:
			r.Constraints = r.Constraints[(longest+3)/4:]
		default:
			r.Decisions = r.Decisions[(longest+3)/4:]
		}
	}
}
