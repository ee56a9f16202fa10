package engine

import (
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
)

// openCall is a call without an id of its own whose result is still to come.
type openCall struct{ id, placed string }

// memo keeps what elements hold, under the hash of their raw bytes, and how far the
// newest history was read. It is guarded by its owner's mutex.
type memo struct {
	elements map[uint64]*element
	words    bool            // whether elements have what the user said
	carriers map[string]bool // ids of carrier calls seen
	last     *reached        // nil: nothing was read
}

func newMemo() memo {
	return memo{elements: map[uint64]*element{}, carriers: map[string]bool{}}
}

// behindWords is added to the key of an element that a person's text stands before: it
// holds something else there.
const behindWords = 1

// reached is a history up to an element. In a memo it ends before the last one, which
// agents change when they send it again, and nothing in it changes any more: a history
// that begins with the same elements goes on from there.
type reached struct {
	h         history // its keys are those of the elements that were read
	prev      holdfast.Digest
	announced bool     // the text before said that the summary is the model's text here
	before    *element // the element before, and where its anchors begin
	start     int
	// A person's text stands before this element, and before that one.
	spoken, spokenBefore bool
	open                 []openCall
	blockAt              []int // the elements that hold blocks
}

// reach returns what is known of a history, as far as its elements are those of the
// newest one, with room for the rest, and how many elements that is.
func (m *memo) reach(keys []uint64) (r *reached, known int) {
	r = &reached{h: history{summaryAt: -1, incoming: -1, thought: -1}, before: &element{}}
	if m.last != nil {
		known = len(m.last.h.keys)
		if known >= len(keys) || !slices.Equal(m.last.h.keys, keys[:known]) {
			known = 0
		}
	}
	if known > 0 {
		*r = *m.last
	}
	h := &r.h
	h.keys = keys
	h.starts = append(make([]int, 0, len(keys)), h.starts...)[:len(keys)]
	h.anchors = append(make([]anchor, 0, len(h.anchors)+2*(len(keys)-known)+8), h.anchors...)
	h.calls, h.results = copied(h.calls), copied(h.results)
	r.open = slices.Clone(r.open)
	return r, known
}

// copied is a copy of a map, and an empty one of nil.
func copied[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return maps.Clone(m)
}

// keep remembers what was read before element i. Whoever adds to its lists gets new
// ones, and nobody writes to what is in them.
func (m *memo) keep(r *reached, i int) {
	last := *r
	h := &last.h
	h.keys, h.starts = h.keys[:i:i], h.starts[:i:i]
	h.calls, h.results = maps.Clone(h.calls), maps.Clone(h.results)
	last.open = slices.Clone(r.open)
	h.anchors, h.blocks, h.said = slices.Clip(h.anchors), slices.Clip(h.blocks), slices.Clip(h.said)
	h.texts, h.opening, last.blockAt = slices.Clip(h.texts), slices.Clip(h.opening), slices.Clip(last.blockAt)
	m.last = &last
}

// read reads all elements of a request of an agent, "" when it names none. With marker
// the last user text is the compaction prompt, and no part of the history. words keeps
// what the user says.
func (m *memo) read(e *Engine, codec Codec, in Inbound, agent string, marker, words bool) (*history, error) {
	req := in.Request
	if m.words != words {
		m.words, m.last = words, nil
		clear(m.elements)
	}
	end := len(req.Messages) - 1
	keys, named := make([]uint64, len(req.Messages)), SumOf([]byte(agent))
	for i := range keys {
		keys[i] = in.sum(i) + named // of another agent it holds something else
	}
	if marker && end >= 0 {
		keys[end] = ^keys[end] // so it does without its prompt
	}
	r, known := m.reach(keys)
	wanted := func(id string) bool {
		if tool, ok := strings.CutSuffix(id, "#"); ok {
			_, ok := agents.CarrierOf(tool)
			return ok || agents.Bridges(tool)
		}
		_, ok := r.h.calls[id]
		return ok || m.carriers[id] || slices.ContainsFunc(r.open, func(c openCall) bool { return c.id == id })
	}
	for i := known; i <= end; i++ {
		last := i == end
		if last && !marker && i > 0 {
			m.keep(r, i)
		}
		key := keys[i]
		if r.spoken {
			key += behindWords
		}
		el, ok := m.elements[key]
		if !ok {
			events, err := codec.Decode(req.Messages[i].Of(in.Body), wanted)
			if err != nil {
				return nil, err
			}
			el = e.readElement(in, agent, events, wanted, last && marker, words, !r.spoken)
			if !last || !marker {
				m.elements[key] = el
			}
		}
		r.take(i, el, m.carriers)
	}
	h := &r.h
	if h.summaryAt >= 0 {
		// In a text of its own behind the summary's element stands the summary that
		// was announced, or what a proxy before us put behind an opaque one.
		if h.carriedAt = h.summaryAt; !slices.Contains(r.blockAt, h.carriedAt) {
			h.carriedAt++
		}
		h.carried = slices.Contains(r.blockAt, h.carriedAt)
	}
	h.tip = r.prev
	m.trim(h.keys)
	return h, nil
}

// take adds element i. carriers gets the ids of its carrier calls.
func (r *reached) take(i int, el *element, carriers map[string]bool) {
	h := &r.h
	if r.announced {
		r.announced = false
		if !el.answer.IsZero() {
			h.summary, h.summaryText = el.answer, el.answer
			r.prev = h.begin(h.summary)
		}
	}
	if !el.summary.IsZero() && (h.summaryAt < 0 || !el.back.First) {
		h.summary, h.row, h.summaryAt, h.summaryAnchor = el.summary, el.back.Row, i, len(h.anchors)
		r.announced = el.back.InAnswer
		r.prev = h.begin(h.summary)
	}
	if el.confirms && i > 0 && !r.before.user.IsZero() && !r.spokenBefore {
		// The element before is a summary, not the user's words.
		start := r.start
		h.anchors = h.anchors[:start:start]
		h.texts = slices.DeleteFunc(slices.Clone(h.texts), func(t placedText) bool { return t.anchor >= start })
		r.prev = h.begin(r.before.user)
		h.summary, h.summaryText, h.row = r.before.user, r.before.user, agents.Confirmed
		h.summaryAt, h.summaryAnchor = i-1, start
	}
	r.before, r.start = el, len(h.anchors)
	r.spoken, r.spokenBefore = r.spoken || len(el.said) > 0, r.spoken
	h.starts[i] = r.start
	if i < openingLength && !el.user.IsZero() {
		h.opening = append(h.opening, opening{text: el.user, at: i, anchor: r.start})
	}
	if el.incoming {
		h.incoming = i
	}
	if el.thinks {
		h.thought = i
	}
	h.said = append(h.said, el.said...)
	h.prompt += el.prompt
	for _, mk := range el.marks {
		if mk.acted {
			h.follow()
		}
		a := place(mk, r.prev, h.led)
		r.prev = a.digest
		h.anchors = append(h.anchors, a)
		if mk.text != "" {
			h.texts = append(h.texts, placedText{i, len(h.anchors) - 1, mk.role, mk.text})
		}
		if mk.call != "" {
			c := el.calls[mk.call]
			c.ID = a.call
			h.calls[a.call] = c
			if recurs(mk.call) {
				r.open = append(r.open, openCall{mk.call, a.call})
			} else {
				carriers[a.call] = true
			}
		}
	}
	for n := range el.results {
		id := el.results[n].CallID
		if recurs(id) {
			at := slices.IndexFunc(r.open, func(c openCall) bool { return c.id == id || placeless(id) && strings.HasPrefix(c.id, id) })
			if at < 0 {
				continue // a repeat: gemini-cli sends some when it resumes
			}
			id = r.open[at].placed
			r.open = slices.Delete(r.open, at, at+1)
		}
		h.results[id] = &el.results[n]
	}
	if len(el.blocks) > 0 {
		h.blocks = append(h.blocks, el.blocks...)
		r.blockAt = append(r.blockAt, i)
	}
}

// trim keeps the memo near the size of one history.
func (m *memo) trim(keys []uint64) {
	if len(m.elements) <= 4*len(keys)+1024 {
		return
	}
	kept := make(map[uint64]*element, len(keys))
	for _, k := range keys {
		for _, k := range []uint64{k, k + behindWords} {
			if el, ok := m.elements[k]; ok {
				kept[k] = el
			}
		}
	}
	m.elements = kept
}
