package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/store"
)

// linked is where a request belongs.
type linked struct {
	b  *branch
	ep *epoch
	// next is the index in the history of the first anchor that the branch does
	// not have. replay is true when the history is an earlier state of the
	// branch: it changes nothing.
	next   int
	replay bool
	how    string // for logs and counters: turn, new, reset, fork, epoch, ...
}

// unsure is how a history is linked that is no plain continuation of what this
// process knows, before it is clear that no other process knows more.
const unsure = "unsure"

// link finds or makes the branch of a history. Unless the session's state is sure
// to be the newest, it makes nothing and says so. s.mu is held.
func (e *Engine) link(ctx context.Context, s *session, set *Settings, v holdfast.Verdict, h *history, sure bool) (linked, error) {
	var of []*branch
	for _, b := range s.branches {
		if b.row.Thread == v.Thread {
			of = append(of, b)
		}
	}
	if sure && s.key.holdsMany() && len(of) > 0 && (v.Kind == holdfast.Compaction || !h.summary.IsZero()) &&
		!slices.ContainsFunc(of, func(b *branch) bool { return b.knows(h) }) {
		e.metrics.unlinked.WithLabelValues("unknown_epoch").Inc()
		return linked{b: s.newBranch(e, v.Thread, h), how: "unknown_epoch"}.start(), nil
	}
	if h.prompt != "" && len(of) > 1 {
		return linked{b: quotedFrom(of, h), next: len(h.anchors), how: "compaction"}.start(), nil
	}
	if l, ok, err := e.linkWithin(ctx, s, set, of, v, h, sure); ok || err != nil {
		return l, err
	}
	if !sure {
		return linked{how: unsure}, nil
	}
	waits := slices.IndexFunc(of, func(b *branch) bool { return b.awaits(h) })
	if v.Kind == holdfast.Compaction && len(of) > 0 && waits < 0 {
		// A history in words may hold nothing that is known again: it is that of the
		// branch which the agent used last.
		return linked{b: lastUsed(of), next: len(h.anchors), how: "compaction"}.start(), nil
	}
	if !h.summary.IsZero() && len(of) > 0 {
		b := openedBy(of, h)
		if v.Kind == holdfast.Compaction {
			b = of[waits] // the epoch is seen first when it is compacted
		}
		if b != nil {
			if err := e.complete(ctx, s.key.principal, b, b.current()); err != nil {
				return linked{}, err
			}
			if err := e.rejoin(ctx, s, of, b, h); err != nil {
				return linked{}, err
			}
			b, err := e.goBack(ctx, s, set, b, h)
			if err != nil {
				return linked{}, err
			}
			return e.openEpoch(b, h), nil
		}
		e.metrics.unlinked.WithLabelValues("ambiguous").Inc()
		return linked{b: s.newBranch(e, v.Thread, h), how: "ambiguous"}.start(), nil
	}
	if len(of) == 0 {
		l, found, err := e.linkAcross(ctx, s, set, v, h)
		if err != nil || found {
			return l, err
		}
		how := "new"
		if !h.summary.IsZero() {
			how = "unknown_epoch" // it was compacted before we saw it, or it expired
			e.metrics.unlinked.WithLabelValues(how).Inc()
		}
		return linked{b: s.newBranch(e, v.Thread, h), how: how}.start(), nil
	}
	for _, b := range of {
		if len(b.current().anchors) > 2*len(h.anchors)+4 {
			e.metrics.falseShrink.WithLabelValues(v.Agent).Inc()
			break
		}
	}
	return linked{b: s.newBranch(e, v.Thread, h), how: "reset"}.start(), nil
}

// missed reports whether a history brings something for the capsule from more than the
// answer that this process saw last: another one may have written it, as revisions that
// ours must stand behind. It is also true where an agent wrote more into its history than
// the model said, which costs a look into the store.
func (l linked) missed(h *history) bool {
	if l.how != "turn" {
		return false
	}
	due, news := 0, false
	if l.ep.whole == len(l.ep.anchors) {
		due = l.ep.brings
	}
	for _, a := range h.anchors[l.next:] {
		if !a.user {
			due--
		}
		call, carries := h.calls[a.call]
		news = news || carries && !slices.ContainsFunc(l.b.asked, func(c continuity.Call) bool { return c.ID == call.ID })
	}
	return due < 0 && news
}

func (l linked) start() linked {
	l.ep = l.b.current()
	return l
}

// linkWithin looks for the history among the epochs that begin with the same
// summary: the one whose way it goes longest, then the one that it ends.
func (e *Engine) linkWithin(ctx context.Context, s *session, set *Settings, of []*branch, v holdfast.Verdict, h *history, sure bool) (linked, bool, error) {
	var best linked
	var bm match
	atTip := func(m match, ep *epoch, b *branch) int {
		if m.isTip(ep) && ep == b.current() {
			return 1
		}
		return 0
	}
	found := false
	meets := meeting(h.anchors)
	for _, b := range of {
		for _, ep := range slices.Backward(b.epochs) {
			if ep.row.Evidence != h.summary || h.summary.IsZero() && len(of) > 1 && !meets(ep) {
				continue
			}
			m := ep.match(h.anchors)
			if m.n == 0 && h.summary.IsZero() {
				continue
			}
			if !found || cmp.Or(m.compare(bm), atTip(m, ep, b)-atTip(bm, best.ep, best.b), b.row.UsedAt.Compare(best.b.row.UsedAt)) > 0 {
				best, bm, found = linked{b: b, ep: ep, next: m.next}, m, true
			}
		}
	}
	switch {
	case !found:
		return linked{}, false, nil
	case v.Kind == holdfast.Compaction && s.key.byContent() && best.ep != best.b.current() && bm.n == bm.next && h.prompt == "":
		// Another session may go the way that one of before went until its compaction:
		// what came behind that is none of it.
	case v.Kind == holdfast.Compaction && agents.SumsUpAll(v.Row) && best.b.beyond(best.ep, bm, h):
		// A person went back, and has it compacted there: what was taken back is none of it.
	case v.Kind == holdfast.Compaction:
		// An agent may leave its last rounds out of the request and keep them verbatim
		// behind the summary, so a shorter history is no fork here.
		best.how = "compaction"
		best.replay = best.ep != best.b.current()
		return best, true, nil
	case bm.isTip(best.ep) && best.ep == best.b.current():
		best.how = "turn"
		if best.next == len(h.anchors) {
			best.how = "retry"
		}
		return best, true, nil
	case best.ep == best.b.current() && !h.summary.IsZero() && best.b.pending != nil && best.b.committed(best.b.pending.row.ID) &&
		(best.ep.written.IsZero() || best.ep.written == best.b.pending.row.Summary):
		// A compaction is waiting for its summary, and the summary is the one of
		// before, word for word.
		return linked{}, false, nil
	case best.next == len(h.anchors):
		best.replay, best.how = true, "replay"
		return best, true, nil
	}
	if !sure {
		return linked{}, false, nil
	}
	b, err := s.fork(ctx, e, set, best.b, best.ep, bm.tip, v.Thread)
	if err != nil {
		return linked{}, false, err
	}
	return linked{b: b, next: best.next, how: "fork"}.start(), true, nil
}

// knows reports whether a history has anything of a branch's: what a session knows is no
// evidence where it may hold several conversations. What the user said is not known
// behind a restart, and then a history in words may be the branch's.
func (b *branch) knows(h *history) bool {
	if h.summary.IsZero() && len(h.anchors)+len(h.said)+len(h.blocks) == 0 {
		return true // it tells nothing, of no branch
	}
	if b.pending != nil && b.pending.row.Status == store.BoundaryCommitted || b.blockIn(h) || h.prompt != "" && len(b.current().said) == 0 {
		return true
	}
	return slices.ContainsFunc(b.epochs, func(ep *epoch) bool {
		return !h.summary.IsZero() && ep.row.Evidence == h.summary || ep.match(h.anchors).n > 0 ||
			slices.ContainsFunc(h.said, func(d holdfast.Digest) bool { return ep.said[d] })
	})
}

// blockIn reports whether a history carries a block of the branch's.
func (b *branch) blockIn(h *history) bool {
	return slices.ContainsFunc(b.revs, func(r revision) bool { return slices.Contains(h.blocks, r.capsule.Digest) })
}

// beyond reports whether a branch goes on behind the place up to which a history is its
// own: by more than a newest round that may have been broken off, or another way.
func (b *branch) beyond(ep *epoch, m match, h *history) bool {
	if ep != b.current() {
		return true
	}
	return !m.isTip(ep) && m.next < len(h.anchors) || ep.goesOn(m.tip)
}

// goesOn reports whether an epoch has more behind a place than a newest round that may
// have been broken off. One that was answered whole was not, but an agent may leave out
// its calls: what the user said tells.
func (ep *epoch) goesOn(tip int) bool {
	return tip+1 < ep.round()
}

// quotedFrom finds the branch whose newest history a compaction prompt quotes.
// Quotes hold no calls, so that only long texts of the model and what the user
// said can be known again; forks share what was said before they parted.
func quotedFrom(of []*branch, h *history) *branch {
	best, most := []*branch(nil), -1
	for _, b := range of {
		ep, n := b.current(), 0
		for _, a := range h.anchors {
			if _, known := ep.pos[a.digest]; known && a.strong {
				n++
			}
		}
		for _, d := range h.said {
			if ep.said[d] {
				n++
			}
		}
		switch {
		case n > most:
			best, most = []*branch{b}, n
		case n == most:
			best = append(best, b)
		}
	}
	return lastUsed(best)
}

// openedBy finds the branch that a new summary belongs to: the one whose block
// it carries, else the one whose summary it is, else the one that waits for some
// summary to come back, else the one that shares history with it. nil when two wait
// and nothing tells them apart.
func openedBy(of []*branch, h *history) *branch {
	type claim struct{ block, own, pending, shared int }
	var best *branch
	var top claim
	tie := false
	for _, b := range of {
		var c claim
		if b.blockIn(h) {
			c.block = 1
		}
		if b.pending != nil && b.pending.row.Status == store.BoundaryCommitted {
			c.pending = 1
		}
		if b.awaits(h) {
			c.own = 1
		}
		c.shared = b.current().match(h.anchors).n
		switch {
		case best == nil || less(top.block, c.block, top.own, c.own, top.pending, c.pending, top.shared, c.shared) < 0:
			best, top, tie = b, c, false
		case less(top.block, c.block, top.own, c.own, top.pending, c.pending, top.shared, c.shared) == 0:
			tie = true
		}
	}
	switch {
	case !tie:
		return best
	case top.block == 0 && top.pending == 0:
		// No compaction was seen: it was that of the branch used last.
		return lastUsed(of)
	}
	return nil
}

// lastUsed is the branch that the newest request went to.
func lastUsed(of []*branch) *branch {
	best := of[0]
	for _, b := range of[1:] {
		if b.row.UsedAt.After(best.row.UsedAt) {
			best = b
		}
	}
	return best
}

// less compares pairs in order: negative when the left ones are smaller.
func less(pairs ...int) int {
	for i := 0; i < len(pairs); i += 2 {
		if d := pairs[i] - pairs[i+1]; d != 0 {
			return d
		}
	}
	return 0
}

// newBranch begins an empty branch that starts at h's epoch.
func (s *session) newBranch(e *Engine, thread string, h *history) *branch {
	now := e.now()
	b := &branch{
		row:  store.Branch{ID: holdfast.BranchID(newID()), Session: s.row.ID, Thread: thread, CreatedAt: now, UsedAt: now},
		done: map[string]bool{},
	}
	ep := store.Epoch{Branch: b.row.ID, Evidence: h.summary, OpenedAt: now}
	if !h.summary.IsZero() {
		ep.N = 1
	}
	b.row.Epoch = ep.N
	b.epochs = []*epoch{newEpoch(ep)}
	b.confirmed.Branch, b.effective.Branch = b.row.ID, b.row.ID
	s.branches = append(s.branches, b)
	return b
}

// fork begins a branch with the history of from up to and including tip, and a
// copy of the capsule as it was there, unless forks are to begin empty.
func (s *session) fork(ctx context.Context, e *Engine, set *Settings, from *branch, ep *epoch, tip int, thread string) (*branch, error) {
	if set.CopyOnFork {
		if err := e.fetch(ctx, s.key.principal, from, from.indexAt(ep.row.N, tip+1)); err != nil {
			return nil, err
		}
	}
	now := e.now()
	b := &branch{row: store.Branch{
		ID: holdfast.BranchID(newID()), Session: s.row.ID, Thread: thread, Parent: from.row.ID,
		Epoch: ep.row.N, CreatedAt: now, UsedAt: now,
	}, done: map[string]bool{}}
	row := ep.row
	row.Branch, row.OpenedAt = b.row.ID, now
	if at, ok := ep.places[tip]; ok {
		row.Place = at
	}
	if !set.CopyOnFork {
		row.Block, row.Revision = "", 0
	}
	ne := newEpoch(row)
	for _, a := range ep.anchors[:tip+1] {
		ne.add(a)
	}
	b.epochs, b.foldedThrough = []*epoch{ne}, tip+1
	b.confirmed.Branch, b.effective.Branch = b.row.ID, b.row.ID
	c := from.at(ep.row.N, tip+1)
	later := ne.row.Block != "" && ep.row.Revision > c.Revision // it was written with what does not cross
	if later && c.Revision == 0 {
		ne.row.Block = ""
	}
	if set.CopyOnFork && c.Revision > 0 {
		b.row.ParentRevision, b.row.Watermark = c.Revision, c.Watermark // what it holds is not read again
		c.Branch = b.row.ID
		b.advance(continuity.Seal(c), 0, now)
		b.confirmed = b.effective
		ne.row.Revision = b.effective.Revision
		if later || from.outdated() && b.row.ParentRevision >= from.edited {
			b.edited, ne.row.Revision = b.effective.Revision, 0
		}
	}
	s.branches = append(s.branches, b)
	e.metrics.forks.Inc()
	return b, nil
}

// linkAcross finds the branch of another session of the same principal that an
// unknown session was forked from: by the agent's own word, by our block, by
// the strong anchors of its history.
func (e *Engine) linkAcross(ctx context.Context, s *session, set *Settings, v holdfast.Verdict, h *history) (linked, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, LoadTimeout)
	defer cancel()
	if s.key.byContent() {
		return linked{}, false, nil // it was looked for already
	}
	strong := h.strong()
	if v.ForkedFrom == "" && len(h.blocks) == 0 && len(strong) == 0 {
		return linked{}, false, nil
	}
	e.settle(ctx)
	state, err := e.originOf(ctx, s, v, h, strong)
	if err != nil || state == nil {
		return linked{}, false, err
	}
	var from, waiting *branch
	var fromEp *epoch
	var top match
	for _, row := range state.Branches {
		b := restore(row)
		if b.awaits(h) {
			waiting = b
		}
		for _, ep := range b.epochs {
			if ep.row.Evidence != h.summary {
				continue
			}
			if m := ep.match(h.anchors); from == nil || m.compare(top) >= 0 {
				from, fromEp, top = b, ep, m
			}
		}
	}
	if from == nil && waiting != nil {
		// It was forked behind a compaction, before any turn of the new epoch.
		ep := waiting.current()
		b, err := s.fork(ctx, e, set, waiting, ep, len(ep.anchors)-1, v.Thread)
		if err != nil {
			return linked{}, false, err
		}
		return e.openEpoch(b, h), true, nil
	}
	if from == nil || (top.n == 0 && h.summary.IsZero()) || (!top.strong && h.summary.IsZero() && v.ForkedFrom == "") {
		return linked{}, false, nil
	}
	b, err := s.fork(ctx, e, set, from, fromEp, top.tip, v.Thread)
	if err != nil {
		return linked{}, false, err
	}
	return linked{b: b, next: top.next, how: "fork"}.start(), true, nil
}

// awaits reports whether the summary that opens a history is the one that the
// branch's newest compaction delivered.
func (b *branch) awaits(h *history) bool {
	if h.summary.IsZero() || b.pending == nil || b.pending.row.Status != store.BoundaryCommitted {
		return false
	}
	row := b.pending.row
	return row.Summary == h.summary || row.Summary == h.summaryText || row.Block != "" && slices.Contains(h.blocks, row.Block)
}

// settle lets what is queued be written before the store is asked, as far as
// half the time allows: under load an answer from what is written is better than
// none.
func (e *Engine) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, LoadTimeout/2)
	defer cancel()
	_ = e.rec.flush(ctx) // what is not written yet is not found
}

// originOf reads the session that an unknown one came from; nil: none.
func (e *Engine) originOf(ctx context.Context, s *session, v holdfast.Verdict, h *history, strong []holdfast.Digest) (*store.SessionState, error) {
	if v.ForkedFrom != "" {
		st, err := found(e.store.Session(ctx, s.key.principal, v.Agent, v.ForkedFrom))
		if st != nil || err != nil {
			return st, err
		}
	}
	return e.origin(ctx, s.key.principal, s.row.ID, h.blocks, strong)
}

// origin reads the stored session, other than self, that delivered one of these
// blocks, the last one first, or that holds most of these anchors; nil: none.
func (e *Engine) origin(ctx context.Context, p holdfast.Principal, self holdfast.SessionID, blocks []string, strong []holdfast.Digest) (*store.SessionState, error) {
	load := func(id holdfast.SessionID) (*store.SessionState, error) {
		if id == self {
			return nil, nil
		}
		return found(e.store.Outline(ctx, p, id))
	}
	for _, block := range slices.Backward(blocks) {
		hit, err := e.store.FindBlock(ctx, p, block)
		if err == nil {
			return load(hit.Session)
		}
		if holdfast.CodeOf(err) != holdfast.ErrNotFound {
			return nil, err
		}
	}
	if len(strong) == 0 {
		return nil, nil
	}
	hits, err := e.store.Find(ctx, p, strong)
	if err != nil {
		return nil, err
	}
	var named []holdfast.SessionID
	count := map[holdfast.SessionID]int{}
	for _, hit := range hits {
		if count[hit.Session]++; count[hit.Session] == 1 {
			named = append(named, hit.Session)
		}
	}
	slices.SortStableFunc(named, func(a, b holdfast.SessionID) int { return count[b] - count[a] })
	if len(named) == 0 || named[0] == self {
		return nil, nil
	}
	// Of an anchor that several sessions have, the one used last is named alone.
	best, err := load(named[0])
	if err != nil || len(named) == 1 {
		return best, err
	}
	most := sharedBy(best, strong)
	for _, id := range named[1:min(len(named), maxOrigins)] {
		st, err := load(id)
		if err != nil {
			return nil, err
		}
		if n := sharedBy(st, strong); n > most {
			best, most = st, n
		}
	}
	return best, nil
}

// sharedBy counts the anchors that a session has; nil has none.
func sharedBy(st *store.SessionState, anchors []holdfast.Digest) (n int) {
	if st == nil {
		return 0
	}
	has := map[holdfast.Digest]bool{}
	for _, b := range st.Branches {
		for _, a := range b.Anchors {
			has[a.Digest] = true
		}
	}
	for _, d := range anchors {
		if has[d] {
			n++
		}
	}
	return n
}

// maxOrigins bounds the sessions that are read to see which of them a history is of.
const maxOrigins = 8

// found turns "not found" into nil.
func found(st store.SessionState, err error) (*store.SessionState, error) {
	switch {
	case err == nil:
		return &st, nil
	case holdfast.CodeOf(err) == holdfast.ErrNotFound:
		return nil, nil
	}
	return nil, err
}

// openEpoch begins the next epoch of b with the history that a summary opens.
func (e *Engine) openEpoch(b *branch, h *history) linked {
	now := e.now()
	b.row.Epoch++
	row := store.Epoch{Branch: b.row.ID, N: b.row.Epoch, Evidence: h.summary, Revision: b.effective.Revision, OpenedAt: now}
	ep := newEpoch(row)
	if b.pending != nil {
		ep.model, ep.written = b.pending.model, b.pending.row.Summary
	}
	b.epochs = append(b.epochs, ep)
	b.confirmed = b.effective
	b.done, b.foldedThrough = map[string]bool{}, 0
	b.pending = nil
	return linked{b: b, how: "epoch"}.start()
}
