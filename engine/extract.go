package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
	"github.com/holdfast-dev/holdfast/engine/extraction"
)

// Extractor is what semantic extraction works with.
type Extractor struct {
	extraction.Config
	Model       ExtractorModel
	Claims      extraction.Claims
	InputTokens int // of one call: the capsule and the messages
	// Ratio is what calls are sent by what the session has grown by, in tokens, while
	// nothing needs them: until then what is said gathers. 1: each turn is read at once.
	Ratio float64
	// Barrier is how long a compaction request, and the first request of an epoch,
	// wait at most for what is still to be read.
	Barrier time.Duration
}

// maxTries is how often a batch is sent that fails.
const maxTries = 3

// reading is the job of a branch that is under way.
type reading struct {
	mark   string
	again  bool          // there is more to read
	halved bool          // it was too much for one answer, and the next one is half of it
	late   bool          // what needed it has gone on without it: a request, or the epoch before
	upTo   string        // late: the newest message that the request needed
	epoch  int           // late: the epoch that needed it
	done   chan struct{} // closed when it has ended
}

// placedText is a text of the person or of the model in a history.
type placedText struct {
	at     int // its element
	anchor int
	role   extract.Role
	text   string
}

// hear lists what extraction may read of a history: what the epoch before left, and of
// its own what stands behind the summary that opens it. s.mu is held.
func (b *branch) hear(ep *epoch, h *history) []extract.Message {
	turn := 0
	var out []extract.Message
	if ep.row.N > 0 {
		before := b.at(ep.row.N-1, ever)
		if before.Revision == 0 && b.row.Parent != "" && len(b.revs) > 0 {
			before = b.revs[0].capsule // forked from the middle of this epoch
		}
		turn = continuity.NewestTurn(before)
		if ep == b.current() {
			turn, out = max(turn, b.turn), slices.Clone(b.left)
		}
	}
	seen := map[holdfast.Digest]int{}
	for _, t := range h.texts {
		switch {
		case t.anchor >= len(h.anchors):
			continue // it was found to be a summary
		case h.summaryAt >= 0 && (t.anchor < h.summaryAnchor || t.role == extract.Assistant && t.at <= h.summaryAt+1):
			continue // kept from before, or the summary in the model's words
		case h.row == relayedRow && t.anchor == h.summaryAnchor:
			continue // the summary in the user's role
		case t.role == extract.User:
			turn++
		}
		d := h.anchors[t.anchor].digest
		out = append(out, extract.Message{ID: ep.messageID(d, seen[d]), Turn: turn, Role: t.role, Text: t.text})
		seen[d]++
	}
	return out
}

// message is a text by its anchor, and how often that stood before it in its epoch.
type message struct {
	digest holdfast.Digest
	before int
}

// messageID names a text of a branch. A model may say the same twice in one epoch, and
// again in the next: what stands between must not pass for read. The names are kept,
// since each history asks for those of the one before. s.mu is held.
func (ep *epoch) messageID(d holdfast.Digest, before int) string {
	m := message{d, before}
	id, known := ep.names[m]
	if !known {
		id = holdfast.DigestOf("message", strconv.Itoa(ep.row.N), d.String(), strconv.Itoa(before)).String()
		if len(ep.names) >= maxIndexed || ep.names == nil {
			ep.names = map[message]string{}
		}
		ep.names[m] = id
	}
	return id
}

// leave keeps for the epoch that opens what of the one before is not read. s.mu is held.
func (b *branch) leave() {
	own := b.heard[min(len(b.left), len(b.heard)):]
	for _, m := range own {
		b.turn = max(b.turn, m.Turn)
	}
	mark := cmp.Or(b.passed, b.row.Watermark)
	read := slices.IndexFunc(own, func(m extract.Message) bool { return m.ID == mark })
	b.heard, b.left = nil, own[read+1:] // all, where it is none of them
}

// unstored is what was heard of a branch, which is in no store. s.mu is held.
func (b *branch) unstored() branch {
	return branch{row: b.row, heard: b.heard, left: b.left, turn: b.turn}
}

// recall takes what was heard of a branch when its session was overtaken. s.mu is held.
func (b *branch) recall(was branch) {
	if b.row.ID == was.row.ID && b.heard == nil {
		b.heard, b.left, b.turn = was.heard, was.left, was.turn
	}
}

// listen reads what is new of a history, off the request path. s.mu is held.
func (e *Engine) listen(a *Attempt, h *history) {
	if e.pool == nil || !a.set.Extract || a.replay {
		return
	}
	if heard := a.b.hear(a.ep, h); len(heard) > 0 {
		a.b.heard = heard
	}
	a.b.gathered.grow(a.size)
	e.read(a.s, a.b, a.set, a.forWhom(), false)
}

// gathered is what a branch has grown by since the last call of the extractor, and the
// batch that waits for more of that.
type gathered struct {
	size  int           // of the newest history, in bytes
	grown int           // bytes
	upTo  string        // the newest message when the batch was made
	batch extract.Batch // its size alone
}

// grow takes the size of the newest history, in bytes: behind a compaction it begins
// anew.
func (g *gathered) grow(size int) {
	g.grown += max(0, size-g.size)
	g.size = size
}

// bytesPerToken is how much of a history makes a token, about.
const bytesPerToken = 4

// waits reports whether a batch is to wait for more.
func (g *gathered) waits(b extract.Batch, ratio float64) bool {
	return !b.Due(g.grown/bytesPerToken, ratio)
}

// still reports whether the batch that waited waits on, whatever came since: it only
// grows. So a session is not read anew with each request.
func (g *gathered) still(heard []extract.Message, source extract.Source, ratio float64) bool {
	for i, m := range slices.Backward(heard) {
		if m.ID == g.upTo {
			return g.waits(g.batch, ratio) && source.Takes(g.batch, heard[i+1:])
		}
	}
	return false
}

// forWhom says for whom calls beside an attempt are made.
func (a *Attempt) forWhom() holdfast.Attempt {
	return holdfast.Attempt{
		Principal: a.s.key.principal, Label: a.label, Session: a.session, Branch: a.branch, Boundary: a.bound.ID,
		Parent: a.id, Trace: a.trace, Agent: a.Verdict.Agent, Role: holdfast.ExtractorRole,
	}
}

// read puts the next batch of a branch that may hold something into the queue, unless
// one is under way, and returns the job; nil: there is nothing to wait for. What
// cannot hold anything moves the watermark alone, and what nothing needs now may
// gather. s.mu is held.
func (e *Engine) read(s *session, b *branch, set *Settings, who holdfast.Attempt, needed bool) (r *reading) {
	// A panic here is a defect of ours, on a goroutine that would take the process with
	// it, or a request: these go on without what is not read.
	defer func() {
		if x := recover(); x != nil {
			e.log.Error("the extraction of a branch failed by a defect", "session", s.row.ID, "branch", b.row.ID, "panic", fmt.Sprintf("%T", x))
			r = nil
		}
	}()
	if b.reading != nil {
		if b.heard != nil && b.reading.mark != b.heard[len(b.heard)-1].ID && !b.reading.again {
			b.reading.again = true
			e.metrics.extractions.WithLabelValues(string(extraction.Coalesced)).Inc()
		}
		return b.reading
	}
	if len(b.heard) == 0 {
		return nil
	}
	source := extract.Source{Tokens: e.cfg.Extractor.InputTokens, Most: b.most, Estimate: continuity.EstimateTokens, Redact: e.redact}
	if !needed && b.gathered.still(b.heard, source, e.cfg.Extractor.Ratio) {
		return nil
	}
	c := b.effective
	c.Watermark = cmp.Or(b.passed, b.row.Watermark)
	for {
		batch, ok := source.Next(c, b.heard)
		if !ok {
			return nil
		}
		if batch.Eligible && b.tries[batch.Watermark] < maxTries {
			if !needed && b.gathered.waits(batch, e.cfg.Extractor.Ratio) {
				b.gathered.upTo, b.gathered.batch = b.heard[len(b.heard)-1].ID, extract.Batch{Tokens: batch.Tokens, Holding: batch.Holding}
				return nil
			}
			return e.send(s, b, set, who, batch)
		}
		// What failed too often is passed over by this process only.
		if b.passed = batch.Watermark; !batch.Eligible && c.Watermark == b.row.Watermark {
			b.row.Watermark, b.passed = batch.Watermark, ""
		}
		if c.Watermark = batch.Watermark; !batch.More {
			return nil
		}
	}
}

// send puts a batch into the queue. s.mu is held.
func (e *Engine) send(s *session, b *branch, set *Settings, who holdfast.Attempt, batch extract.Batch) *reading {
	r := &reading{mark: batch.Watermark, done: make(chan struct{})}
	who.Job = string(b.row.ID) + "/" + batch.Watermark[:min(len(batch.Watermark), 16)]
	job := batchOf{
		who: who, batch: batch, keep: set.Preserve,
		wanted: func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return !s.dead
		},
		halve: func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			b.most, r.halved = batch.Holding/2, true
		},
		merge: func(d continuity.Delta) continuity.Outcome { return e.merge(s, b, set, r, batch.Base, d) },
	}
	outcome := e.pool.Put(extraction.Job{
		For: who, Mark: batch.Watermark, Wanted: job.wanted,
		Read:  func(ctx context.Context) extraction.Outcome { return e.call(ctx, job) },
		Ended: func(o extraction.Outcome) { e.ended(s, b, set, who, r, o) },
	})
	if outcome != extraction.Queued {
		return nil
	}
	b.reading = r
	b.gathered = gathered{size: b.gathered.size}
	if n := len(b.left); n > 0 && b.heardBefore(cmp.Or(b.passed, b.row.Watermark), b.left[n-1].ID) {
		r.late, r.epoch, r.upTo = true, b.current().row.N, b.left[n-1].ID
	}
	return r
}

// merge takes what a job found into the capsule of its branch.
func (e *Engine) merge(s *session, b *branch, set *Settings, r *reading, base holdfast.Capsule, d continuity.Delta) continuity.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return ""
	}
	// Both, or the next fold would lose it.
	confirmed, outcome := continuity.Rebase(base, b.confirmed, d)
	if outcome == continuity.Stale {
		return outcome
	}
	next, outcome := continuity.Rebase(base, b.effective, d)
	if outcome == continuity.Stale {
		return outcome
	}
	ep := b.current()
	for _, state := range []*holdfast.Capsule{ep.state, b.summed} {
		if state == nil {
			continue
		}
		if with, o := continuity.Rebase(base, *state, d); o != continuity.Stale {
			if state == ep.state && with.Digest != state.Digest {
				b.owed = ep.row.N // its summary may have a block without that
			}
			*state = with
		}
	}
	b.confirmed = confirmed
	b.row.Watermark, b.passed, b.most = d.Watermark, "", 2*b.most
	changed, seq := false, len(b.current().anchors)
	if n := len(b.revs); n > 0 && next.Digest != b.effective.Digest && b.revs[n-1].epoch == b.current().row.N && b.revs[n-1].seq > seq {
		// The newest answer is on top, and no history has it yet: where it never comes,
		// what is left is the result without it.
		changed = b.advance(confirmed, seq, e.now())
		seq = b.revs[n-1].seq
	}
	if b.advance(next, seq, e.now()) || changed {
		e.metrics.harvest.WithLabelValues("extraction").Inc()
		e.observe(b)
		e.catchLate(b, set, r)
	}
	e.record(s, b, false)
	return outcome
}

// catchLate lets an epoch carry what came too late for its beginning, or for the
// summary that opens it: once, at this moment or when it opens. Where its summary has a
// block, the new one takes the place of that in the requests that follow. Where the
// model may have thought behind that, the next request decides (see binds). s.mu is
// held.
func (e *Engine) catchLate(b *branch, set *Settings, r *reading) {
	ep := b.current()
	switch {
	case !r.late:
		return
	case ep.row.N < r.epoch:
		b.owed = r.epoch
		return
	case ep.sealed:
		ep.late = true // the next request tells
		return
	}
	if block, ok := e.render(set, b.effective, ep.summaryRow, 0); ok {
		ep.row.Block, ep.row.Revision, ep.rewritten = block.Text, b.effective.Revision, true
		e.metrics.delivery.WithLabelValues("late").Inc()
	}
}

// ended notes what became of a job, and reads on where there is more.
func (e *Engine) ended(s *session, b *branch, set *Settings, who holdfast.Attempt, r *reading, o extraction.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if (o == extraction.Failed || o == extraction.Stale) && !r.halved {
		if b.tries == nil {
			b.tries = map[string]int{}
		}
		b.tries[r.mark]++
	}
	b.reading = nil
	close(r.done)
	if !s.dead && (r.again || r.halved || o == extraction.OK) {
		late := r.late && b.heardBefore(r.mark, r.upTo)
		if next := e.read(s, b, set, who, late); next != nil && late {
			next.late, next.upTo, next.epoch = true, r.upTo, r.epoch
		}
	}
}

// serves is the epoch that an attempt opens, or makes the summary for.
func (a *Attempt) serves() int {
	if a.Boundary {
		return a.bound.Epoch + 1
	}
	return a.ep.row.N
}

// lacks notes that an attempt goes on without what a job brings. s.mu is held.
func (a *Attempt) lacks(r *reading) {
	if r.late, r.epoch = true, a.serves(); len(a.b.heard) > 0 {
		r.upTo = a.b.heard[len(a.b.heard)-1].ID
	}
}

// heardBefore reports whether the message x stands before y.
func (b *branch) heardBefore(x, y string) bool {
	at := func(id string) int {
		return slices.IndexFunc(b.heard, func(m extract.Message) bool { return m.ID == id })
	}
	return at(x) < at(y)
}

// barrier waits until what a boundary or a new epoch needs is read, at most as long
// as is configured, and until ctx ends. It unlocks the session meanwhile. s.mu is
// held; false: the session is gone.
func (e *Engine) barrier(ctx context.Context, a *Attempt) bool {
	if e.pool == nil || !a.set.Extract || e.cfg.Without.Barrier {
		return true
	}
	s, b := a.s, a.b
	start := time.Now()
	limit := time.NewTimer(a.left)
	defer limit.Stop()
	defer func() { a.left -= time.Since(start) }()
	waited, before := false, ""
	for !s.dead {
		r := e.read(s, b, a.set, a.forWhom(), true)
		if r == nil {
			break // nothing is to be read
		}
		if before == r.mark+b.row.Watermark || b.tries[r.mark] > 0 && !r.again {
			a.lacks(r) // nobody waits for it again
			break
		}
		waited, before = true, r.mark+b.row.Watermark
		s.mu.Unlock()
		late := false
		select {
		case <-r.done:
		case <-ctx.Done():
			late = true
		case <-limit.C:
			late = true
			e.metrics.barrierTimeouts.Inc()
			e.log.Info("went on before extraction", "session", a.session, "branch", a.branch)
		}
		s.mu.Lock()
		if late {
			a.lacks(r)
			break
		}
		if b.reading == nil && b.tries[r.mark] > 0 {
			break // it failed, and nothing has come since
		}
	}
	if waited {
		e.metrics.barrierWait.Observe(time.Since(start).Seconds())
	}
	return !s.dead
}

// note keeps the text of a mark for extraction; of a very long one the pasted bulk
// goes at once.
func (e *Engine) note(m *mark, role extract.Role, text string) {
	const long = 64 << 10
	if e.pool == nil {
		return
	}
	if len(text) > long {
		text = continuity.Shorten(text, long)
	}
	m.role, m.text = role, strings.Clone(text)
}
