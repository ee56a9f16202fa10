package recording

import (
	"context"
	"slices"
	"strconv"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// attempts are how often a passage is tried when others write to the same
// conversation.
const attempts = 5

// record writes what is new in a passage.
func (r *Recorder) record(ctx context.Context, b *Branch, p *Passage) error {
	b.missed = b.missed || p.missed
	if b.over || b.lost && !p.Whole {
		return nil
	}
	w, err := walk(p, r.cfg.Synthetic)
	if err != nil {
		return err
	}
	for try := range attempts {
		if err = r.load(ctx, b); err == nil && !b.exists {
			err = r.begin(ctx, b, p, w.items)
		}
		if err == nil && !b.over {
			err = r.write(ctx, b, p, w)
		}
		if holdfast.CodeOf(err) != holdfast.ErrConflict || err == nil || try == attempts-1 {
			break
		}
		b.loaded = false // somebody else has written to it
	}
	if err == nil && !b.over {
		b.lost, b.missed = false, false
	}
	return err
}

// write appends what is new behind the stream as it was read.
func (r *Recorder) write(ctx context.Context, b *Branch, p *Passage, w *walker) error {
	d := &draft{state: b.state, redact: redactor{r.cfg.Redact}, at: p.At, capsule: p.Capsule}
	opens := w.found && !b.overlays[overlayID(p.Epoch)]
	at := b.known(w.items)
	if at < 0 && b.exists && !p.Answer {
		at = b.kept(w.items)
	}
	kept, news := w.items[:at+1], w.items[at+1:]
	gap := b.exists && len(news) > 0 && (b.missed && opens || at < 0 && !w.found && !p.Answer)
	switch {
	case p.Asks && at < 0:
		return nil
	case p.Asks:
		news = news[:d.leading(news)]
	case gap:
		id := newID()
		d.row(id, holdfast.Unknown{Type: GapKind, Raw: gapLine(id, p.At)})
	}
	rest := news
	if opens {
		rest = d.compacted(p, w, kept, news)
	}
	d.putAll(rest)
	if p.Answer && len(d.open) == 0 {
		d.continuity(p.Capsule)
	}
	if err := r.append(ctx, b, p, d); err != nil {
		return err
	}
	b.state = d.state
	if opens {
		b.overlays[overlayID(p.Epoch)] = true
	}
	for _, it := range kept {
		b.ids.add(it.id)
	}
	if len(news) > 0 {
		b.unsure = 0
	}
	for _, it := range news {
		b.ids.add(it.id)
		if it.content.IsZero() {
			continue
		}
		if b.contents.add(it.content); p.Answer {
			b.unsure++
		}
	}
	if gap {
		r.cfg.Count(Gap)
	} else {
		r.cfg.Count(Written)
	}
	return nil
}

// append writes a draft.
func (r *Recorder) append(ctx context.Context, b *Branch, p *Passage, d *draft) (err error) {
	switch {
	case len(d.rows) == 0:
		return nil
	case !b.exists:
		c := r.head(b, p.At)
		c.Title = d.title
		if err = r.st.Create(ctx, c, d.rows); err == nil {
			b.id, b.used, b.exists = c.ID, p.At, true
		}
	default:
		err = r.st.Append(ctx, b.key.Principal, b.id, d.head, d.rows)
		if err == nil {
			b.used = p.At
		}
		if err == nil && d.title != "" {
			err = r.st.Change(ctx, b.key.Principal, b.id, store.ConversationChange{Title: &d.title})
		}
	}
	d.head += int64(len(d.rows))
	return err
}

// compacted drafts the overlay of the compaction that opens an epoch, and returns
// what of news comes behind it. kept are the items behind the summary that were
// recorded before it.
func (d *draft) compacted(p *Passage, w *walker, kept, news []item) (rest []item) {
	if d.turns == 0 {
		// What the summary tells was never recorded: it is all that is known.
		told := holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text(w.text)}, Synthetic: true}
		return append([]item{{id: idOf("summary", strconv.Itoa(p.Epoch)), event: told, message: -1}}, news...)
	}
	n := d.leading(news)
	d.putAll(news[:n])
	// A turn whose message the agent kept is not told by the summary.
	if to := d.turns - 1 - messages(kept); to >= 0 {
		s := holdfast.Summary{Text: d.redact.clean(w.text), Origin: holdfast.GeneratedSummary, Model: p.Model}
		if p.Told.Revision > 0 {
			told := d.redact.capsule(p.Told)
			s.Capsule = &told
		}
		d.row(overlayID(p.Epoch), holdfast.Overlay{ToTurn: to, Source: holdfast.AgentOverlay, Summary: &s})
	}
	return news[n:]
}

// leading counts the results that come first and answer calls of the turn.
func (d *draft) leading(items []item) (n int) {
	open := slices.Clone(d.open)
	for _, it := range items {
		result, ok := it.event.(holdfast.ToolResult)
		if !ok {
			break
		}
		s := state{open: open}
		i := slices.Index(open, s.answers(result.CallID))
		if i < 0 {
			break
		}
		open = slices.Delete(open, i, i+1)
		n++
	}
	return n
}

// putAll drafts items: what stands together in a user message is one event.
func (d *draft) putAll(items []item) {
	for i := 0; i < len(items); i++ {
		e := items[i].event
		m, ok := e.(holdfast.UserMessage)
		for ok && i+1 < len(items) && items[i+1].message == items[i].message {
			next := items[i+1].event.(holdfast.UserMessage)
			if next.Synthetic != m.Synthetic {
				break
			}
			m.Parts = append(slices.Clip(m.Parts), next.Parts...)
			i++
		}
		if ok {
			e = m
		}
		d.put(items[i].id, e)
	}
}

// messages counts the messages of a person among items.
func messages(items []item) (n int) {
	last := 0
	for _, it := range items {
		if m, ok := it.event.(holdfast.UserMessage); ok && !m.Synthetic && it.message != last {
			last = it.message
			n++
		}
	}
	return n
}
