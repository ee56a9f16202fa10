package recording

import (
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
)

// item is one event of a history, or one part of a user message, in its place.
type item struct {
	id    holdfast.EventID
	event holdfast.Event
	// content is the same wherever the item stands; zero for what agents change or
	// leave out at a compaction.
	content holdfast.Digest
	unique  bool // content recurs nowhere else
	message int  // the user message that it is a part of
}

// walker goes through a passage.
type walker struct {
	synthetic func([]holdfast.Part) []bool
	epoch     int
	// seq anchors stand before, anchor is the last of them.
	seq    int
	anchor holdfast.Digest
	behind map[string]int // what stands behind it already, by kind
	left   []holdfast.Digest
	// summary is looked for; text is what it says once found.
	summary holdfast.Digest
	found   bool
	text    string

	items   []item
	message int
}

// walk lists what a passage holds behind the summary that opens its epoch, or
// all where there is none in it.
func walk(p *Passage, synthetic func([]holdfast.Part) []bool) (*walker, error) {
	w := &walker{synthetic: synthetic, epoch: p.Epoch, seq: p.From, anchor: p.Before, behind: map[string]int{}, summary: p.Summary}
	for _, el := range p.Elements {
		events := el.Events
		if events == nil {
			var err error
			if events, err = p.Read(el.Raw); err != nil {
				return nil, err
			}
		}
		w.left = el.Anchors
		for _, e := range events {
			w.take(e)
		}
	}
	return w, nil
}

func (w *walker) take(e holdfast.Event) {
	switch e := e.(type) {
	case holdfast.UserMessage:
		w.message++
		synthetic := w.synthetic(e.Parts)
		for i, part := range e.Parts {
			w.part(part, synthetic[i])
		}
	case holdfast.AssistantMessage:
		if e.Len == 0 || agents.SyntheticAnswer(e.Text) {
			return
		}
		w.pass()
		if w.opens(e.Digest, e.Text) {
			return
		}
		w.add(item{
			event: holdfast.AssistantMessage{Text: e.Text}, id: w.id(""),
			content: holdfast.DigestOf("assistant", e.Digest.String()), unique: e.Len >= uniqueText,
		})
	case holdfast.Reasoning:
		w.add(item{event: e, id: w.id("reasoning")})
	case holdfast.ToolCall:
		w.pass()
		w.add(item{event: e, id: w.id(""), content: holdfast.DigestOf("call", e.ID), unique: !placeless(e.ID)})
	case holdfast.ToolResult:
		w.add(item{event: e, id: w.id("result", e.CallID), content: resultContent(e.CallID, e.Parts), unique: !placeless(e.CallID)})
	case holdfast.CompactionItem:
		w.pass()
		w.opens(e.Digest, opaqueSummary)
	}
}

// uniqueText is the length in bytes from which a text of the model recurs
// nowhere else.
const uniqueText = 64

// opaqueSummary stands for a summary that only its provider can read.
const opaqueSummary = "[The summary is the provider's own, in a form that only the provider can read.]"

func (w *walker) part(part holdfast.Part, synthetic bool) {
	text, ok := part.(holdfast.Text)
	if !ok {
		w.add(item{event: holdfast.UserMessage{Parts: []holdfast.Part{part}}, id: w.id("media"), message: w.message})
		return
	}
	digest := holdfast.TextDigest(string(text))
	if !synthetic && len(w.left) > 0 {
		w.pass()
	} else {
		synthetic = true
	}
	if w.opens(digest, string(text)) {
		return
	}
	it := item{event: holdfast.UserMessage{Parts: []holdfast.Part{part}, Synthetic: synthetic}, message: w.message}
	if synthetic {
		it.id = w.id("synthetic", digest.String())
	} else {
		it.id, it.content = w.id(""), holdfast.DigestOf("user", digest.String())
	}
	w.add(it)
}

// opens reports whether a text is the summary that opens the epoch. What stands
// before it is no part of the epoch.
func (w *walker) opens(d holdfast.Digest, text string) bool {
	if w.found || w.summary.IsZero() || d != w.summary {
		return false
	}
	w.found, w.text, w.items = true, text, nil
	return true
}

func (w *walker) add(it item) { w.items = append(w.items, it) }

// pass goes on to the next anchor.
func (w *walker) pass() {
	if len(w.left) == 0 {
		return
	}
	w.seq++
	w.anchor, w.left = w.left[0], w.left[1:]
	clear(w.behind)
}

// id is the id of what stands here. kind is empty for the anchor itself.
func (w *walker) id(kind string, of ...string) holdfast.EventID {
	key := strings.Join(append([]string{kind}, of...), " ")
	n := w.behind[key]
	w.behind[key]++
	return idOf("event", strconv.Itoa(w.epoch), strconv.Itoa(w.seq), w.anchor.String(), key, strconv.Itoa(n))
}

// anchorID is the id of what is the anchor d of an epoch, the seq-th.
func anchorID(epoch, seq int, d holdfast.Digest) holdfast.EventID {
	return (&walker{epoch: epoch, seq: seq, anchor: d, behind: map[string]int{}}).id("")
}

// overlayID is the id of the overlay for the compaction that opens an epoch.
func overlayID(epoch int) holdfast.EventID { return idOf("overlay", strconv.Itoa(epoch)) }

// idOf makes an id of what identifies an event: a UUID of the eighth version,
// RFC 9562, section 5.8.
func idOf(parts ...string) holdfast.EventID {
	u := uuid.UUID(holdfast.DigestOf(parts...))
	u[6] = u[6]&0x0f | 0x80
	u[8] = u[8]&0x3f | 0x80
	return holdfast.EventID(u.String())
}

// placeless reports whether an id was made of a call's own words, since the wire
// has none. The id of a result ends with the mark, and answers the first open
// call whose id begins with it.
func placeless(id string) bool { return strings.Contains(id, "#") }

// resultContent is the content of a result. The id of one without a place is no
// more than the tool's name; in the stream it has that of its call.
func resultContent(id string, parts []holdfast.Part) holdfast.Digest {
	tool, _, ok := strings.Cut(id, "#")
	if !ok {
		return holdfast.DigestOf("result", id)
	}
	return holdfast.DigestOf("result", tool, textOf(parts))
}

func textOf(parts []holdfast.Part) string {
	var b strings.Builder
	for _, p := range parts {
		if t, ok := p.(holdfast.Text); ok {
			b.WriteString(string(t))
		}
	}
	return b.String()
}
