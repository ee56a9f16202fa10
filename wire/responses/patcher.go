package responses

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// maxHeld bounds what a Patcher holds back, in bytes. Beyond, it gives up.
const maxHeld = 4 << 20

// Patcher patches a streamed answer as Codec.PatchBody patches one that was not
// streamed. The block arrives in a delta of its own, when that text came in
// deltas, and at the end of the same text in its done events, its item and the
// final response; the sequence numbers behind the new delta grow by one. It
// holds back no more than it must: the start of what may be an older block, with
// the white space before it; all from the end of a text on, until an event shows
// that another text follows; and the terminal event, until the caller is ready.
// All that it does not change it emits as it came.
//
// A failed answer, one that calls a tool or refuses and one without text get no
// block; nor does one where more than 4 MiB would be held back, or whose texts
// do not come one behind the other. What was cut of an older block by then
// stays cut. It is not for concurrent use.
type Patcher struct {
	block func() string
	off   bool // nothing is looked at any more but the terminal event

	places places
	cutter *jsonscan.Cutter
	open   bool  // deltas of a text are arriving
	now    key   // the newest text
	form   *form // how its deltas look; nil when it has none
	// hash is over the last text whose first delta was emitted, as emitted.
	hash holdfast.TextHasher
	join jsonscan.Joiner
	buf  []byte

	held []frame
	size int // bytes in held
	// ending is set while held starts with what comes behind a whole text
	// that may be the last one: last.
	ending   bool
	last     key
	lastForm *form

	shift    int // added to sequence numbers
	terminal []byte
	patched  bool
	summary  holdfast.Digest
}

// frame is one frame of the stream, with what is known of the texts in it.
type frame struct {
	raw, data []byte
	sequence  holdfast.Span
	// Of a delta:
	delta  holdfast.Span // the string literal; absent when it is none
	base   int           // where that stands in the cutter's count
	begins bool          // it is the first delta of a text
	// Of a frame that says whole texts:
	texts []holdfast.Span
	place key
	item  bool // it says all texts of the item, not only that at place
}

// form is what a delta says beside its text, as sent.
type form struct{ item, output, part, logprobs []byte }

// NewPatcher returns a Patcher for one answer. block is called at most once, at the
// terminal event of an answer that may get it; what it returns is valid UTF-8, and ""
// for none. Where block is nil nothing is changed, and only the terminal event is held
// back.
func NewPatcher(block func() string) *Patcher {
	none := key{-1, -1}
	return &Patcher{block: block, off: block == nil, cutter: newCutter(), now: none, last: none}
}

// Event takes the next frame of the upstream and emits what can go to the
// client, in order. Emitted bytes are valid during the call of emit only. At a
// terminal event (response.completed, response.failed, response.incomplete,
// error) it returns true and does not emit that event: the caller emits Terminal
// when it has committed what the client will rely on, before it passes on any
// further event.
func (p *Patcher) Event(e sse.Event, emit func(raw []byte)) (terminal bool) {
	ev := parse(e)
	f := frame{raw: e.Raw, data: e.Data, sequence: ev.fields[eventSequence]}
	if p.terminal != nil {
		p.write(&f, "", emit)
		return false
	}
	switch ev.kind {
	case "response.completed":
		p.finish(&ev, &f, emit)
		return true
	case "response.failed", "response.incomplete", "error":
		p.giveUp(emit)
		p.terminal = bytes.Clone(e.Raw)
		return true
	}
	if !p.off {
		p.look(&ev, &f, emit)
	}
	p.push(f, emit)
	return false
}

// look finds out what a frame says of texts.
func (p *Patcher) look(ev *event, f *frame, emit func([]byte)) {
	switch ev.kind {
	case "response.output_text.delta":
		p.delta(ev, f, emit)
	case "response.output_text.done":
		p.whole(ev, f, []outputText{{lit: ev.fields[eventText]}}, emit)
	case "response.content_part.done":
		var s [2]holdfast.Span
		if span := ev.fields[eventPartValue]; span.Present() {
			// What is no object leaves the spans absent.
			_, _ = jsonscan.Fields(ev.data, span.Start, s[:], "type", "text")
		}
		if string(s[0].Of(ev.data)) == `"output_text"` {
			p.whole(ev, f, []outputText{{lit: s[1]}}, emit)
		}
	case "response.output_item.added", "response.output_item.done":
		it := ev.item()
		texts, plain := it.outputTexts()
		switch {
		case !plain:
			p.giveUp(emit)
		case ev.kind == "response.output_item.added":
			p.places.of(ev)
		default:
			f.item = true
			p.whole(ev, f, texts, emit)
		}
	case "response.refusal.delta", "response.refusal.done":
		p.giveUp(emit)
	}
}

// key is the place that an event names; ok is false when it names none.
func (p *Patcher) key(ev *event) (k key, ok bool) {
	var named bool
	k.item, named = p.places.of(ev)
	k.part, ok = ev.part()
	return k, ok && named
}

// delta takes a piece of a text.
func (p *Patcher) delta(ev *event, f *frame, emit func([]byte)) {
	k, ok := p.key(ev)
	if !p.open || k != p.now {
		p.endText(emit)
		if !ok || !k.after(p.now) {
			p.giveUp(emit)
			return
		}
		p.open, p.now, f.begins = true, k, true
		p.form = &form{
			item:     bytes.Clone(ev.of(eventItemID)),
			output:   bytes.Clone(ev.of(eventOutput)),
			part:     bytes.Clone(ev.of(eventPart)),
			logprobs: bytes.Clone(ev.of(eventLogprobs)),
		}
	}
	f.delta = ev.fields[eventDelta]
}

// whole takes a frame that says texts as a whole, which ends them.
func (p *Patcher) whole(ev *event, f *frame, texts []outputText, emit func([]byte)) {
	k, ok := p.key(ev)
	for _, t := range texts {
		if !t.lit.Present() || ev.data[t.lit.Start] != '"' {
			return
		}
		f.texts = append(f.texts, t.lit)
	}
	if !ok {
		if len(texts) > 0 {
			p.giveUp(emit)
		}
		return
	}
	f.place = k
	if p.open && (k == p.now || f.item && k.item == p.now.item) {
		p.endText(emit)
	}
	_, i, _ := newCutter().Amend(ev.data, f.texts, "")
	if i < 0 {
		return
	}
	if f.item {
		k.part = texts[i].part
	}
	if k.after(p.last) {
		// A text that did not come in deltas.
		p.endText(emit)
		p.now, p.form = k, nil
		p.begin(emit)
	}
}

// endText closes the text whose deltas were arriving.
func (p *Patcher) endText(emit func([]byte)) {
	if !p.open {
		return
	}
	p.open = false
	if p.cutter.End() {
		p.begin(emit)
	}
}

// begin lets go of what is held and holds what follows the end of the newest
// text.
func (p *Patcher) begin(emit func([]byte)) {
	p.ending = false
	p.release("", emit)
	p.ending, p.last, p.lastForm = true, p.now, p.form
}

// push takes a frame behind all that is held.
func (p *Patcher) push(f frame, emit func([]byte)) {
	if p.off {
		emit(f.raw)
		return
	}
	if f.delta.Present() && f.data[f.delta.Start] != '"' {
		f.delta = holdfast.Span{}
	}
	f.base = p.cutter.Pos()
	p.cutter.Feed(f.delta.Of(f.data))
	if p.ending && p.cutter.Visible() {
		// Another text follows: the one that ended was not the last.
		p.ending = false
	}
	p.release("", emit)
	if len(p.held) == 0 && p.settled(&f) {
		p.write(&f, "", emit)
		return
	}
	f.raw, f.data = bytes.Clone(f.raw), bytes.Clone(f.data)
	p.held = append(p.held, f)
	p.size += len(f.raw) + len(f.data)
	if p.size > maxHeld {
		p.giveUp(emit)
	}
}

// settled reports whether f can be emitted once nothing is held before it.
func (p *Patcher) settled(f *frame) bool {
	return !p.ending && f.base+max(f.delta.End-f.delta.Start-2, 0) <= p.cutter.Settled()
}

// release emits the frames that are settled, with tail at the end of the whole
// texts at last.
func (p *Patcher) release(tail string, emit func([]byte)) {
	n := 0
	for n < len(p.held) && p.settled(&p.held[n]) {
		f := &p.held[n]
		at := ""
		if f.place == p.last || f.item && f.place.item == p.last.item {
			at = tail
		}
		p.write(f, at, emit)
		p.size -= len(f.raw) + len(f.data)
		n++
	}
	if n > 0 {
		p.held = p.held[:copy(p.held, p.held[n:])]
		clear(p.held[len(p.held):cap(p.held)])
	}
}

// write emits a frame without what is cut of its texts, with tail at the end of
// the last one, and with its new sequence number.
func (p *Patcher) write(f *frame, tail string, emit func([]byte)) {
	if f.begins {
		p.hash, p.join = holdfast.TextHasher{}, jsonscan.Joiner{}
	}
	var edits []jsonscan.Edit
	if len(f.texts) > 0 {
		var lit []byte
		if edits, _, lit = newCutter().Amend(f.data, f.texts, tail); tail != "" && lit != nil {
			p.summary = holdfast.TextDigest(jsonscan.Text(lit))
		}
	}
	if f.delta.Present() {
		edits = p.cutter.Cuts(f.delta, f.base)
		p.cutter.Forget(f.base)
		lit := f.delta.Of(f.data)
		if len(edits) > 0 {
			lit = jsonscan.Splice(nil, lit, p.cutter.Cuts(holdfast.Span{End: len(lit)}, f.base)...)
		}
		p.buf = p.join.Append(p.buf[:0], lit)
		p.hash.Write(string(p.buf))
	}
	emit(p.rewrite(f, edits))
}

// rewrite applies edits and the shift of the sequence number to a frame; without
// any it is the frame as it came.
func (p *Patcher) rewrite(f *frame, edits []jsonscan.Edit) []byte {
	if n, err := strconv.Atoi(string(f.sequence.Of(f.data))); err == nil && p.shift > 0 {
		edits = append(edits, jsonscan.Edit{Span: f.sequence, New: strconv.AppendInt(nil, int64(n+p.shift), 10)})
		slices.SortStableFunc(edits, func(a, b jsonscan.Edit) int { return cmp.Compare(a.Start, b.Start) })
	}
	if len(edits) == 0 {
		return f.raw
	}
	return sse.Rewrite(nil, f.raw, jsonscan.Splice(nil, f.data, edits...))
}

// giveUp lets everything go as it is.
func (p *Patcher) giveUp(emit func([]byte)) {
	p.cutter.End()
	p.ending, p.off = false, true
	p.release("", emit)
}

// finish decides at response.completed.
func (p *Patcher) finish(ev *event, f *frame, emit func([]byte)) {
	if !p.off {
		p.endText(emit)
	}
	var s [2]holdfast.Span
	if span := ev.fields[eventResponse]; span.Present() {
		// What is no object leaves the spans absent.
		_, _ = jsonscan.Fields(ev.data, span.Start, s[:], "status", "output")
	}
	status := jsonscan.Text(s[0].Of(ev.data))
	lits, plain := outputTexts(ev.data, s[1])
	tail := ""
	if !p.off && plain && (status == "" || status == "completed") {
		if block := p.block(); block != "" {
			tail = separator + block
		}
	}
	edits, last, lit := newCutter().Amend(ev.data, lits, tail)
	if tail == "" || !p.ending && last < 0 {
		p.giveUp(emit)
		p.terminal = bytes.Clone(f.raw)
		return
	}
	p.patched = true
	if last >= 0 {
		p.summary = holdfast.TextDigest(jsonscan.Text(lit))
	}
	if p.ending && p.lastForm != nil {
		first := f
		if len(p.held) > 0 {
			first = &p.held[0]
		}
		emit(p.extra(first, tail))
		p.hash.Write(string(p.join.Flush(nil)))
		p.hash.Write(tail)
		p.summary = p.hash.Sum()
		p.shift = 1
	}
	p.ending = false
	p.release(tail, emit)
	p.terminal = bytes.Clone(p.rewrite(f, edits))
}

// extra is the delta that brings the block, with the sequence number of the
// frame that it comes before.
func (p *Patcher) extra(before *frame, tail string) []byte {
	data := []byte(`{"type":"response.output_text.delta"`)
	member := func(name string, value []byte) {
		if len(value) > 0 {
			data = append(append(append(append(data, `,"`...), name...), `":`...), value...)
		}
	}
	member("item_id", p.lastForm.item)
	member("output_index", p.lastForm.output)
	member("content_index", p.lastForm.part)
	member("delta", jsonscan.AppendQuote(nil, tail))
	if len(p.lastForm.logprobs) > 0 {
		member("logprobs", []byte(`[]`))
	}
	member("sequence_number", before.sequence.Of(before.data))
	return sse.Append(nil, "response.output_text.delta", append(data, '}'))
}

// Terminal is the terminal event's frame as the client gets it; nil before it
// was read.
func (p *Patcher) Terminal() []byte { return p.terminal }

// Flush emits what is held when the upstream ends without a terminal event:
// the client must see the break, so nothing is added.
func (p *Patcher) Flush(emit func(raw []byte)) {
	if p.terminal == nil {
		p.giveUp(emit)
	}
}

// Patched reports whether the answer got the block; final at the terminal event.
func (p *Patcher) Patched() bool { return p.patched }

// Summary is the digest of the text that got the block, as the client receives
// it; zero when none did.
func (p *Patcher) Summary() holdfast.Digest { return p.summary }
