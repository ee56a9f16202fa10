package engine

import (
	"bytes"
	"context"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine/recording"
)

// recordingOf is the recording of a branch.
func (s *session) recordingOf(b *branch) *recording.Branch {
	if b.recording == nil {
		b.recording = recording.NewBranch(recording.Key{
			Principal: s.key.principal, Session: s.row.ID, Branch: b.row.ID, Parent: b.row.Parent, Agent: s.key.agent,
		})
	}
	return b.recording
}

// passage takes out of a history what may hold something that is not recorded:
// from the last anchor on that the branch has, or all of the epoch when the
// recording is behind. It is asked before the harvest; nil: nothing. s.mu is held.
func (e *Engine) passage(a *Attempt, l linked, codec Codec, in Inbound, h *history) *recording.Passage {
	if e.scribe == nil || l.replay || len(in.Request.Messages) == 0 {
		return nil
	}
	asks := a.Verdict.Kind == holdfast.Compaction
	b := a.s.recordingOf(l.b)
	p := &recording.Passage{At: e.now(), Epoch: l.ep.row.N, Read: codec.Whole, Capsule: l.b.effective, Asks: asks}
	p.Whole = b.Behind() || l.how == "epoch"
	if asks && (p.Whole || h.prompt != "" || !l.ep.isTip(h, l.next)) {
		// A history in words holds nothing to record, and from one that leaves out
		// the newest round nothing is new.
		return nil
	}
	first := 0 // element
	if !p.Whole {
		for i, start := range h.starts {
			if start < l.next {
				first = i
			}
		}
		// What stands before the summary is no part of the epoch.
		p.Whole = h.summaryAt >= 0 && first <= h.summaryAt+1
	}
	if p.Whole {
		first = 0
	}
	if p.Whole && h.summaryAt >= 0 {
		first, p.Summary, p.Model = h.summaryAt, h.summary, l.ep.model
		p.Told = l.b.at(l.ep.row.N-1, ever)
		if from := l.b.epochs[0]; l.b.row.Parent != "" && from != l.ep {
			p.Parted, p.PartedIn = digestsOf(from.anchors), from.row.N
		}
	}
	start := h.starts[first]
	p.From = len(l.ep.anchors) - l.next + start
	if start > 0 {
		p.Before = h.anchors[start-1].digest
	}
	spans := in.Request.Messages[first:]
	origin := spans[0].Start
	raw := bytes.Clone(in.Body[origin:spans[len(spans)-1].End])
	for i, span := range spans {
		end := len(h.anchors)
		if first+i+1 < len(h.starts) {
			end = h.starts[first+i+1]
		}
		p.Elements = append(p.Elements, recording.Element{
			Raw: raw[span.Start-origin : span.End-origin], Anchors: digestsOf(h.anchors[h.starts[first+i]:end]),
		})
	}
	return p
}

// transcribe hands a passage over, once its branch is on its way to the store.
// What begins an unsettled session waits until that is settled. s.mu is held.
func (e *Engine) transcribe(a *Attempt, p *recording.Passage) {
	switch {
	case p == nil:
	case a.s.unsettled:
		a.s.held = p
	default:
		e.scribe.Put(a.s.recordingOf(a.b), p)
	}
}

// isTip reports whether the anchor before index next of a history is the newest
// of the epoch.
func (ep *epoch) isTip(h *history, next int) bool {
	if next == 0 {
		return len(ep.anchors) == 0
	}
	at, known := ep.pos[h.anchors[next-1].digest]
	return known && at == len(ep.anchors)-1
}

func digestsOf(anchors []anchor) []holdfast.Digest {
	out := make([]holdfast.Digest, len(anchors))
	for i, a := range anchors {
		out[i] = a.digest
	}
	return out
}

// Whole reports whether the answer is recorded, so that its reader must keep
// texts, reasoning and the arguments of all calls.
func (a *Attempt) Whole() bool { return a.b != nil && !a.Boundary && a.e.scribe != nil }

// transcribeAnswer hands over an answer, with the anchors that the next history
// will have for it. Of two answers to one state of a branch only the first is
// recorded here: the next history tells which one counts. s.mu is held.
func (e *Engine) transcribeAnswer(a *Attempt, ans holdfast.Answer) {
	if !a.Whole() || a.s.unsettled {
		return
	}
	b := a.s.recordingOf(a.b)
	if a.s.held != nil {
		e.scribe.Put(b, a.s.held)
		a.s.held = nil
	}
	if b.Behind() || a.ep.answered == a.base+1 || !whole(ans) {
		return
	}
	a.ep.answered = a.base + 1
	p := &recording.Passage{At: e.now(), Epoch: a.ep.row.N, From: a.base, Answer: true, Capsule: a.b.effective}
	if a.base > 0 {
		p.Before = a.ep.anchors[a.base-1].digest
	}
	el := recording.Element{Events: ans.Events}
	prev, led := a.tip, a.led
	for _, ev := range ans.Events {
		var m mark
		switch ev := ev.(type) {
		case holdfast.AssistantMessage:
			m = textMark(ev)
		case holdfast.ToolCall:
			m = callMark(ev)
		default:
			continue
		}
		at := place(m, prev, led)
		prev, led = at.digest, lead(led, at)
		el.Anchors = append(el.Anchors, prev)
	}
	p.Elements = []recording.Element{el}
	e.scribe.Put(b, p)
}

// whole reports whether an answer was read with its texts and arguments.
func whole(ans holdfast.Answer) bool {
	for _, ev := range ans.Events {
		switch ev := ev.(type) {
		case holdfast.AssistantMessage:
			if ev.Text == "" && ev.Len > 0 {
				return false
			}
		case holdfast.ToolCall:
			if ev.Arguments == nil {
				return false
			}
		}
	}
	return len(ans.Events) > 0
}

// kept reports whether the store has a session. What is queued of it is written
// first.
func (e *Engine) kept(ctx context.Context, p holdfast.Principal, id holdfast.SessionID) (bool, error) {
	if err := e.rec.flush(ctx); err != nil {
		return false, err
	}
	st, err := found(e.store.Outline(ctx, p, id))
	return st != nil, err
}

// unrecord erases what was recorded of a session while it was being erased. s.mu is
// held.
func (e *Engine) unrecord(s *session) {
	if e.scribe == nil {
		return
	}
	for _, b := range s.branches {
		e.scribe.Erase(s.recordingOf(b))
	}
}
