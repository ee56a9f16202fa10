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
	said   bool   // the call stands in a text, or its id recurs, so that its place is its id
	user   bool   // a text of the user
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
	incoming bool                       // it is in the user's role: a text, or what a tool said
	thinks   bool                       // it holds reasoning
}

// words makes of a user's text what is kept of it: without secrets, without pasted bulk.
// Secrets go before it is cut, since they are known by what stands around them; of a very
// long text the bulk goes first.
func (e *Engine) words(text string) string {
	const long = 64 << 10
	if len(text) > long {
		text = continuity.Shorten(text, long)
	}
	return e.redact(continuity.Words(e.redact(text)))
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
			el.incoming = true
			parts := ev.Parts
			if marker && i == len(events)-1 && len(parts) > 0 {
				if t, ok := parts[len(parts)-1].(holdfast.Text); ok {
					el.quoted(string(t))
				}
				parts = parts[:len(parts)-1]
			}
			synthetic := e.synthetic(parts)
			for i, part := range parts {
				if t, ok := part.(holdfast.Text); ok {
					el.userText(in.Request.Protocol, agent, string(t), e, synthetic[i], words, opens)
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
		case holdfast.Reasoning:
			el.thinks = true
		case holdfast.ToolResult:
			el.incoming = true
			if el.calls[ev.CallID].ID != "" || wanted(ev.CallID) {
				el.results = append(el.results, ev)
			}
		case holdfast.CompactionItem:
			el.summary, el.back.Row = ev.Digest, agents.OpaqueContinuation
			if in.Request.Protocol == holdfast.Anthropic {
				el.back.Row = agents.CompactionBlock
			}
			el.marks = append(el.marks, mark{digest: holdfast.DigestOf("item", ev.Digest.String()), strong: true})
		}
	}
	return el
}

func (el *element) userText(p holdfast.Protocol, agent, text string, e *Engine, synthetic, words, opens bool) {
	if back, ok := agents.Continuation(p, agent, text, opens); ok {
		el.summary, el.back = holdfast.TextDigest(text), back
	}
	el.blocks = append(el.blocks, continuity.Digests(text)...)
	el.user = holdfast.TextDigest(text)
	if synthetic {
		return
	}
	text = agents.UserText(text)
	m := userMark(text)
	el.said = append(el.said, m.digest)
	carrier, plan, accepted := agents.AcceptedPlan(text)
	if plan == "" {
		e.note(&m, extract.User, text)
	}
	if accepted {
		el.says(&m, carrier, e.redact(plan))
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
	return mark{digest: holdfast.DigestOf("user", holdfast.TextDigest(text).String()), user: true}
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

// counted are ids that only tell which call of its conversation, or of its answer, it
// is: Kimi K2 writes functions.NAME:N (vLLM's parser kimi_k2), some servers call_N. They
// recur, and as without an id only its place tells one call from another. The id of a
// result is that of the call, and answers the first open one.
var counted = regexp.MustCompile(`^(?:functions\..*:|call_?|tool_?)?\d{1,6}$`)

// recurs reports whether an id does not tell a call from others.
func recurs(id string) bool { return placeless(id) || counted.MatchString(id) }

func (el *element) call(ev holdfast.ToolCall) {
	m := callMark(ev)
	ev = agents.Meant(ev)
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
	acted := recurs(ev.ID)
	return mark{digest: holdfast.DigestOf("call", ev.ID), strong: !acted, said: acted, acted: acted}
}

// carries leaves out calls of general tools that write anything but a plan.
func carries(c agents.Carrier, args []byte) bool {
	return !c.Shape.PlanText() || bytes.Contains(args, []byte("plans"))
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
	user   bool // a text of the user; not known of those that come from the store
	call   string
}

// place chains a mark that does not stand on its own to the anchor before it, and a
// call without an id to all that led to it: the anchor before it may be a text of the
// model that says nothing of that.
func place(m mark, prev, led holdfast.Digest) anchor {
	if m.acted {
		prev = led
	}
	a := anchor{digest: m.digest, strong: m.strong || m.acted && !prev.IsZero(), user: m.user, call: m.call}
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
	// incoming is the last element in the user's role, thought the last one with
	// reasoning; -1: none.
	incoming, thought int
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
			h.anchors = slices.Clone(h.anchors) // the memo has these
			h.anchors[o.anchor].call = ""
		}
		return
	}
}

// relayedRow is the row id of a summary that is known only because it went
// through here as an answer.
const relayedRow = "any/relayed"

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
