package engine

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
)

// Codec reads one wire format.
type Codec interface {
	// Decode reads one element; wanted tells of which calls it reads the text of
	// the result.
	Decode(element []byte, wanted func(callID string) bool) ([]holdfast.Event, error)
	// Whole reads all of one element, for a recording: the same events as Decode,
	// with the content of reasoning, media and results.
	Whole(element []byte) ([]holdfast.Event, error)
	Tools(raw []byte) []holdfast.Tool
	SystemTexts(raw []byte, max int) []string
}

// strongText is the length in bytes from which a text of the model identifies a
// history on its own. Shorter ones ("Done.") recur everywhere.
const strongText = 64

// mark is an anchor before it is placed in a history.
type mark struct {
	digest holdfast.Digest
	strong bool
	call   string // the call id, when the mark is a carrier's call
	said   bool   // the call stands in a text, so that its id is its place
	acted  bool   // a call without an id of its own: with all that stands before it, it is strong
	// text is what extraction may read, and whose it is; "" for none.
	text string
	role extract.Role
}

// element is what one element of a history holds for us. It is kept per session
// under the hash of its raw bytes, so that a history that is sent again costs a
// hash and a look-up.
type element struct {
	marks    []mark
	calls    map[string]continuity.Call // carrier calls by id
	results  []holdfast.ToolResult      // of carrier calls
	summary  holdfast.Digest            // a summary that came back
	back     agents.Returned            // and how
	answer   holdfast.Digest            // of the first text of the model, for a summary that is one
	said     []holdfast.Digest          // of the user's texts, wherever they stand
	user     holdfast.Digest            // of the last user text, as it is
	confirms bool                       // the user text before it is a summary
	prompt   string                     // that quotes a history; "" for none
	blocks   []string                   // digests of blocks in its texts
}

// words makes of a user's text what is kept of it: without secrets, without
// pasted bulk. Of a very long text the bulk goes first, since a secret is never
// looked for in what is not kept.
func (e *Engine) words(text string) string {
	const long = 64 << 10
	if len(text) <= long {
		text = e.redact(text)
	}
	return e.redact(continuity.Words(text))
}

func (e *Engine) redact(text string) string {
	clean, secrets := e.cfg.Redact(text)
	e.metrics.redactions.Add(float64(secrets))
	return clean
}

// readElement makes an element of its events. wanted tells which results are of carrier
// calls seen so far. marker drops the last user text: the compaction prompt. words keeps
// what the user says; opens tells that no person's text stands before it.
func (e *Engine) readElement(in Inbound, agent string, events []holdfast.Event, wanted func(string) bool, marker, words, opens bool) *element {
	el := &element{}
	for i, ev := range events {
		switch ev := ev.(type) {
		case holdfast.UserMessage:
			parts := ev.Parts
			if marker && i == len(events)-1 && len(parts) > 0 {
				if t, ok := parts[len(parts)-1].(holdfast.Text); ok {
					el.quoted(string(t))
				}
				parts = parts[:len(parts)-1]
			}
			for _, part := range parts {
				if t, ok := part.(holdfast.Text); ok {
					el.userText(in.Request.Protocol, agent, string(t), e, words, opens)
				}
			}
		case holdfast.AssistantMessage:
			el.blocks = append(el.blocks, continuity.Digests(ev.Text)...)
			if el.answer.IsZero() {
				el.answer = ev.Digest
			}
			el.confirms = el.confirms || agents.Confirms(agent, ev.Text)
			if ev.Len > 0 && !agents.SyntheticAnswer(ev.Text) {
				m := textMark(ev)
				e.note(&m, extract.Assistant, ev.Text)
				if carrier, plan, ok := agents.ProposedPlan(ev.Text); ok {
					el.says(&m, carrier, plan)
				}
				el.marks = append(el.marks, m)
			}
		case holdfast.ToolCall:
			el.call(ev)
		case holdfast.ToolResult:
			if el.calls[ev.CallID].ID != "" || wanted(ev.CallID) {
				el.results = append(el.results, ev)
			}
		case holdfast.CompactionItem:
			el.summary, el.back.Row = ev.Digest, agents.OpaqueContinuation
			el.marks = append(el.marks, mark{digest: holdfast.DigestOf("item", ev.Digest.String()), strong: true})
		}
	}
	return el
}

func (el *element) userText(p holdfast.Protocol, agent, text string, e *Engine, words, opens bool) {
	if back, ok := agents.Continuation(p, agent, text, opens); ok {
		el.summary, el.back = holdfast.TextDigest(text), back
	}
	el.blocks = append(el.blocks, continuity.Digests(text)...)
	el.user = holdfast.TextDigest(text)
	if e.synthetic(text) {
		return
	}
	text = agents.UserText(text)
	m := userMark(text)
	e.note(&m, extract.User, text)
	el.said = append(el.said, m.digest)
	if carrier, ok := agents.AcceptedPlan(text); ok {
		el.says(&m, carrier, "")
	} else if words {
		if said := e.words(text); said != "" {
			el.says(&m, agents.UserSaid, said)
		}
	}
	el.marks = append(el.marks, m)
}

// quoted takes the history that a compaction prompt holds in words.
func (el *element) quoted(prompt string) {
	el.blocks = append(el.blocks, continuity.Digests(prompt)...)
	for _, q := range agents.Quotes(prompt) {
		el.prompt = prompt
		if q.User {
			m := userMark(q.Text)
			el.said = append(el.said, m.digest)
			el.marks = append(el.marks, m)
		} else if q.Text != "" {
			el.marks = append(el.marks, textMark(holdfast.AssistantMessage{Digest: holdfast.TextDigest(q.Text), Len: len(q.Text)}))
		}
	}
}

func userMark(text string) mark {
	return mark{digest: holdfast.DigestOf("user", holdfast.TextDigest(text).String())}
}

// says makes a call of a plan state that stands in a text. Such a call has no
// result to wait for.
func (el *element) says(m *mark, carrier, text string) {
	m.call, m.said = "text "+m.digest.String(), true
	if el.calls == nil {
		el.calls = map[string]continuity.Call{}
	}
	el.calls[m.call] = continuity.Call{ID: m.call, Tool: carrier, Arguments: []byte(text), Result: &holdfast.ToolResult{CallID: m.call}}
}

// placeless reports whether an id was made of a call's own words, since the wire
// has none: then it recurs, and only its place tells one call from another. The
// id of a result ends with the mark, and answers the first open call of its tool.
func placeless(id string) bool { return strings.Contains(id, "#") }

// counted are ids that only tell which call of its conversation it is: Kimi K2 writes
// functions.NAME:N (vLLM's parser kimi_k2), some servers call_N. They recur in every
// conversation.
var counted = regexp.MustCompile(`^(?:functions\..*:|call_?|tool_?)?\d{1,6}$`)

func (el *element) call(ev holdfast.ToolCall) {
	m := callMark(ev)
	if carrier, ok := agents.CarrierOf(ev.Name); ok && carries(carrier, ev.Arguments) {
		m.call = ev.ID
		if el.calls == nil {
			el.calls = map[string]continuity.Call{}
		}
		el.calls[ev.ID] = continuity.Call{ID: ev.ID, Tool: ev.Name, Arguments: slices.Clone(ev.Arguments)}
	}
	el.marks = append(el.marks, m)
}

func callMark(ev holdfast.ToolCall) mark {
	acted := placeless(ev.ID) || counted.MatchString(ev.ID)
	return mark{digest: holdfast.DigestOf("call", ev.ID), strong: !acted, said: placeless(ev.ID), acted: acted}
}

// carries leaves out calls of general tools that write anything but a plan.
func carries(c agents.Carrier, args []byte) bool {
	return c.Shape != agents.PlanFile || bytes.Contains(args, []byte("plans"))
}

func textMark(m holdfast.AssistantMessage) mark {
	return mark{digest: assistantDigest(m.Digest), strong: m.Len >= strongText}
}

func assistantDigest(text holdfast.Digest) holdfast.Digest {
	return holdfast.DigestOf("assistant", text.String())
}

// anchor is a mark in its place in a history.
type anchor struct {
	digest holdfast.Digest
	strong bool
	call   string
}

// place chains a mark that does not stand on its own to the anchor before it, and a
// call without an id to all that led to it: the anchor before it may be a text of the
// model that says nothing of that.
func place(m mark, prev, led holdfast.Digest) anchor {
	if m.acted {
		prev = led
	}
	a := anchor{digest: m.digest, strong: m.strong || m.acted && !prev.IsZero(), call: m.call}
	if !m.strong {
		a.digest = holdfast.DigestOf("after", string(prev[:]), string(m.digest[:]))
	}
	if m.said {
		a.call = "text " + a.digest.String()
	}
	return a
}

// lead adds anchors to what leads to a place.
func lead(led holdfast.Digest, anchors ...anchor) holdfast.Digest {
	for _, a := range anchors {
		led = holdfast.DigestOf("led", string(led[:]), string(a.digest[:]))
	}
	return led
}

// behind begins the chain of an epoch: what is said behind two summaries alike
// does not stand in one place.
func behind(summary holdfast.Digest) holdfast.Digest {
	return holdfast.DigestOf("behind", summary.String())
}

// history is what a request carries, read for linking and harvest.
type history struct {
	anchors []anchor
	// tip is what a next anchor is chained to, led all of the epoch that leads to the
	// anchor at ledTo.
	tip, led holdfast.Digest
	ledTo    int
	calls    map[string]continuity.Call      // carrier calls by id
	results  map[string]*holdfast.ToolResult // their results
	// summary is the summary that opens this epoch; zero in epoch 0. summaryAt is
	// the index of its element, summaryAnchor that of the first anchor from there,
	// summaryText the digest of the text as the model wrote it, where the agent
	// gives it back bare.
	summary       holdfast.Digest
	summaryText   holdfast.Digest
	row           string
	summaryAt     int
	summaryAnchor int
	// blocks are the digests of all blocks in it; carried reports whether one
	// stands where this epoch's block belongs, carriedAt in which element.
	blocks    []string
	carried   bool
	carriedAt int
	// prompt is that of a compaction, when it quotes the history in words.
	prompt  string
	said    []holdfast.Digest // of the user's texts
	texts   []placedText
	opening []opening
	keys    []uint64 // raw hash of each element
	starts  []int    // the first anchor of each element
}

// begin begins the chain of the epoch that a summary opens, behind all anchors.
func (h *history) begin(summary holdfast.Digest) holdfast.Digest {
	h.led, h.ledTo = behind(summary), len(h.anchors)
	return h.led
}

// follow brings led to the end of the history. Where calls have ids nothing asks for
// it on the way.
func (h *history) follow() {
	h.led, h.ledTo = lead(h.led, h.anchors[h.ledTo:]...), len(h.anchors)
}

// opening is a user text near the start of a history, where a client that no row
// knows may put the summary that it was given.
type opening struct {
	text   holdfast.Digest
	at     int // its element
	anchor int // the first anchor from there
}

// openingLength is how many elements the start of a history has.
const openingLength = 3

// adopt takes an opening text that relayed knows as the summary that opens the
// epoch, when no row has found one. Its words are the model's, not the user's.
func (h *history) adopt(relayed func(holdfast.Digest) bool) {
	if !h.summary.IsZero() {
		return
	}
	for _, o := range h.opening {
		if !relayed(o.text) {
			continue
		}
		h.summary, h.summaryText, h.row = o.text, o.text, relayedRow
		h.summaryAt, h.summaryAnchor = o.at, o.anchor
		if o.anchor < len(h.anchors) {
			h.anchors[o.anchor].call = ""
		}
		return
	}
}

// relayedRow is the row id of a summary that is known only because it went
// through here as an answer.
const relayedRow = "any/relayed"

// openCall is a call without an id of its own whose result is still to come.
type openCall struct{ id, placed string }

// memo keeps what elements hold, under the hash of their raw bytes. It is
// guarded by its owner's mutex.
type memo struct {
	elements map[uint64]*element
	words    bool            // whether elements have what the user said
	carriers map[string]bool // ids of carrier calls seen
	anchors  int             // of the history before, about as many as the next one has
}

func newMemo() memo {
	return memo{elements: map[uint64]*element{}, carriers: map[string]bool{}}
}

// read reads all elements of a request of an agent, "" when it names none. With marker
// the last user text is the compaction prompt, and no part of the history. words keeps
// what the user says.
func (m *memo) read(e *Engine, codec Codec, in Inbound, agent string, marker, words bool) (*history, error) {
	req := in.Request
	if m.words != words {
		m.words = words
		clear(m.elements)
	}
	h := &history{calls: map[string]continuity.Call{}, results: map[string]*holdfast.ToolResult{}, summaryAt: -1}
	h.keys, h.starts = make([]uint64, len(req.Messages)), make([]int, len(req.Messages))
	h.anchors = make([]anchor, 0, m.anchors+8)
	var prev holdfast.Digest
	blockAt := map[int]bool{}
	announced := false
	before, start := &element{}, 0       // the element before, and where its anchors begin
	spoken, spokenBefore := false, false // a person's text stands before this element, and before that one
	named := SumOf([]byte(agent))
	wanted := func(id string) bool {
		if tool, ok := strings.CutSuffix(id, "#"); ok {
			_, ok := agents.CarrierOf(tool)
			return ok
		}
		_, ok := h.calls[id]
		return ok || m.carriers[id]
	}
	var open []openCall
	for i, span := range req.Messages {
		raw := span.Of(in.Body)
		last := marker && i == len(req.Messages)-1
		key := in.sum(i)
		if last {
			key = ^key // without its prompt it holds something else
		}
		key += named // as it does for another agent
		if spoken {
			key++ // and behind a person's text
		}
		h.keys[i] = key
		el, ok := m.elements[key]
		if !ok {
			events, err := codec.Decode(raw, wanted)
			if err != nil {
				return nil, err
			}
			el = e.readElement(in, agent, events, wanted, last, words, !spoken)
			if !last {
				m.elements[key] = el
			}
		}
		if announced {
			// The text before said that the summary is the model's text here.
			announced = false
			if !el.answer.IsZero() {
				h.summary, h.summaryText = el.answer, el.answer
				prev = h.begin(h.summary)
			}
		}
		if !el.summary.IsZero() && (h.summaryAt < 0 || !el.back.First) {
			h.summary, h.row, h.summaryAt, h.summaryAnchor = el.summary, el.back.Row, i, len(h.anchors)
			announced = el.back.InAnswer
			prev = h.begin(h.summary)
		}
		if el.confirms && i > 0 && !before.user.IsZero() && !spokenBefore {
			// The element before is a summary, not the user's words.
			h.anchors = h.anchors[:start]
			h.texts = slices.DeleteFunc(h.texts, func(t placedText) bool { return t.anchor >= start })
			prev = h.begin(before.user)
			h.summary, h.summaryText, h.row = before.user, before.user, agents.Confirmed
			h.summaryAt, h.summaryAnchor = i-1, start
		}
		before, start = el, len(h.anchors)
		spoken, spokenBefore = spoken || len(el.said) > 0, spoken
		h.starts[i] = start
		if i < openingLength && !el.user.IsZero() {
			h.opening = append(h.opening, opening{text: el.user, at: i, anchor: start})
		}
		h.said = append(h.said, el.said...)
		h.prompt += el.prompt
		for _, mk := range el.marks {
			if mk.acted {
				h.follow()
			}
			a := place(mk, prev, h.led)
			prev = a.digest
			h.anchors = append(h.anchors, a)
			if mk.text != "" {
				h.texts = append(h.texts, placedText{i, len(h.anchors) - 1, mk.role, mk.text})
			}
			if mk.call != "" {
				c := el.calls[mk.call]
				c.ID = a.call
				h.calls[a.call] = c
				if placeless(mk.call) {
					open = append(open, openCall{mk.call, a.call})
				} else {
					m.carriers[a.call] = true
				}
			}
		}
		for r := range el.results {
			id := el.results[r].CallID
			if placeless(id) {
				at := slices.IndexFunc(open, func(c openCall) bool { return strings.HasPrefix(c.id, id) })
				if at < 0 {
					continue // a repeat: gemini-cli sends some when it resumes
				}
				id = open[at].placed
				open = slices.Delete(open, at, at+1)
			}
			h.results[id] = &el.results[r]
		}
		if len(el.blocks) > 0 {
			h.blocks = append(h.blocks, el.blocks...)
			blockAt[i] = true
		}
	}
	if h.summaryAt >= 0 {
		// In a text of its own behind the summary's element stands the summary that
		// was announced, or what a proxy before us put behind an opaque one.
		if h.carriedAt = h.summaryAt; !blockAt[h.carriedAt] {
			h.carriedAt++
		}
		h.carried = blockAt[h.carriedAt]
	}
	h.tip = prev
	m.trim(h.keys)
	m.anchors = len(h.anchors)
	return h, nil
}

// trim keeps the memo near the size of one history.
func (m *memo) trim(keys []uint64) {
	if len(m.elements) <= 4*len(keys)+1024 {
		return
	}
	kept := make(map[uint64]*element, len(keys))
	for _, k := range keys {
		if el, ok := m.elements[k]; ok {
			kept[k] = el
		}
	}
	m.elements = kept
}

// maxLookups bounds the anchors that are looked up in the store.
const maxLookups = 128

// strong lists the newest strong anchors.
func (h *history) strong() []holdfast.Digest {
	strong := make([]holdfast.Digest, 0, maxLookups)
	for i := len(h.anchors) - 1; i >= 0 && len(strong) < maxLookups; i-- {
		if h.anchors[i].strong {
			strong = append(strong, h.anchors[i].digest)
		}
	}
	return strong
}

// callsOf lists the carrier calls among anchors, in order, with their results.
func (h *history) callsOf(anchors []anchor) (calls []placedCall) {
	for i, a := range anchors {
		if a.call == "" {
			continue
		}
		if c, ok := h.calls[a.call]; ok {
			if r := h.results[a.call]; r != nil {
				c.Result = r
			}
			calls = append(calls, placedCall{Call: c, seq: i})
		}
	}
	return calls
}

// placedCall is a carrier call with the position of its anchor.
type placedCall struct {
	continuity.Call
	seq int
}
