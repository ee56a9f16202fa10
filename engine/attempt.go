package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"hash/maphash"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/store"
)

// Inbound is a request as it arrived.
type Inbound struct {
	holdfast.Caller
	Run     string // the session that the path names; "" when none
	Path    string // without Holdfast's prefixes and without query
	Header  func(name string) string
	Body    []byte // decoded, whole
	Request holdfast.Request
	// Sums are SumOf of each element of Request.Messages; nil: they are not made yet.
	Sums []uint64
	// Model is what the request is for, where Request does not say; "" if unknown.
	Model string
	// Trace is the trace id that the client gave; "" for none.
	Trace string
	// Attempt names the record of the call; "" where none is kept.
	Attempt holdfast.AttemptID
}

var seed = maphash.MakeSeed()

// SumOf is a hash by which a process knows bytes again that it has read. No other
// process has the same, so that nobody can choose bytes that collide.
func SumOf(raw []byte) uint64 { return maphash.Bytes(seed, raw) }

// sum is that of an element of the history.
func (in *Inbound) sum(i int) uint64 {
	if in.Sums != nil {
		return in.Sums[i]
	}
	return SumOf(in.Request.Messages[i].Of(in.Body))
}

// Insertion is a block that must stand in the request: behind or inside the
// element at index At (-1: before the first), or in the place of an older one there.
type Insertion struct {
	At   int
	Text string
}

// Attempt is one upstream call of a linked or passing request. Its methods are
// called from one goroutine, save Relayed.
type Attempt struct {
	Verdict holdfast.Verdict
	// Insert is set when the request must carry a sticky block.
	Insert *Insertion
	// Boundary is true for a compaction request of a known branch: the terminal
	// event of its answer is held until Commit.
	Boundary bool
	// Block is what goes into its summary, as far as is known when it begins; "" when
	// there is nothing, or the summary is opaque. Where MayCarry is false, it stays
	// so; else Final tells at the end of the answer.
	Block    string
	MayCarry bool

	e        *Engine
	s        *session
	b        *branch
	ep       *epoch
	set      *Settings // that hold for it
	protocol holdfast.Protocol
	model    string
	label    string // of the caller's key
	trace    string
	id       holdfast.AttemptID // of its record
	base     int                // anchors of the epoch when the request was read
	tip, led holdfast.Digest    // those of the history, at its end
	replay   bool
	offers   map[string]bool // carriers that the request lets the model call
	bound    store.Boundary
	size     int      // of the history, in bytes
	history  *history // of a compaction
	session  holdfast.SessionID
	branch   holdfast.BranchID
	settled  bool
	ended    bool          // Done was called
	left     time.Duration // that it may still wait for extraction
	again    bool          // its session was overtaken while it waited
	was      branch        // then: what was heard of its branch, which is in no store
}

// maxBegins bounds how often a request is linked whose session another process
// carried further while it waited.
const maxBegins = 3

// Linked reports whether the answer matters: it is harvested, or a boundary.
func (a *Attempt) Linked() bool { return a.b != nil }

// Place names what the call belongs to; "" where it belongs to none. Of a side call
// it is the session alone, where the process has that in memory.
func (a *Attempt) Place() (holdfast.SessionID, holdfast.BranchID, holdfast.BoundaryID) {
	return a.session, a.branch, a.bound.ID
}

// Begin links a request and harvests its history. It returns an attempt that
// only passes when the request is a side call, has no identity, or the store
// fails. It waits for the store only as the package comment says.
func (e *Engine) Begin(ctx context.Context, codec Codec, in Inbound) *Attempt {
	before := &Attempt{}
	if e.pool != nil {
		before.left = e.cfg.Extractor.Barrier
	}
	for n := 1; ; n++ {
		a := e.begin(ctx, codec, in, before)
		if !a.again || n == maxBegins {
			return a
		}
		before = a
	}
}

// begin is Begin, once; before is the attempt that was overtaken.
func (e *Engine) begin(ctx context.Context, codec Codec, in Inbound, before *Attempt) *Attempt {
	a := &Attempt{e: e, left: before.left, protocol: in.Request.Protocol, model: cmp.Or(in.Request.Model, in.Model), label: in.Label, trace: in.Trace, id: in.Attempt}
	tools := func() []holdfast.Tool {
		if !in.Request.Tools.Present() {
			return nil
		}
		return codec.Tools(in.Request.Tools.Of(in.Body))
	}
	var last []holdfast.Event
	if n := len(in.Request.Messages); n > 0 {
		// A last element that does not decode is no marker; reading the history
		// reports it. What tools said is none either.
		last, _ = codec.Decode(in.Request.Messages[n-1].Of(in.Body), func(string) bool { return false })
	}
	a.Verdict = agents.Classify(agents.Evidence{
		Protocol: in.Request.Protocol, Path: in.Path, Header: in.Header,
		Request: &in.Request, Tools: tools, System: func() []string { return codec.SystemTexts(in.Request.System.Of(in.Body), 200) }, Last: last,
	})
	v := a.Verdict
	if v.Kind == holdfast.SideCall {
		a.session = e.entered(keyOf(in, v))
		return a
	}
	set := e.policies.of(in.Caller, v.Agent)
	if !set.Enabled {
		key := keyOf(in, v)
		a.session = e.entered(key)
		e.audit.note(key, in.Label, set, "")
		return a
	}
	if in.Request.PreviousResponse != "" {
		// The provider holds the history; what is here does not tell the branch.
		e.metrics.unlinked.WithLabelValues("previous_response").Inc()
		return a
	}
	marker := v.Kind == holdfast.Compaction && v.Summary == holdfast.PlainSummary
	s, h, err := e.find(ctx, codec, in, v, marker, set.Preserve.UserWords)
	if err != nil {
		e.log.Warn("session not read, request passes unlinked", "code", holdfast.CodeOf(err))
		e.metrics.unlinked.WithLabelValues(unlinkedBy(err)).Inc()
		return a
	}
	defer func() {
		if s == nil {
			return
		}
		if x := recover(); x != nil { // a defect of ours, for the caller to tell
			if a.s != nil {
				s.attempts--
			}
			s.mu.Unlock()
			panic(x)
		}
		s.mu.Unlock()
	}()
	if s.key.agent != v.Agent {
		// What a client calls itself does not free a session that was found by what it
		// carries from what holds for the session's own agent.
		if set = e.policies.of(in.Caller, s.key.agent); !set.Enabled {
			return a
		}
	}
	h.adopt(func(text holdfast.Digest) bool { return s.relayed[assistantDigest(text)] })
	l, err := linked{how: unsure}, error(nil)
	if v.Kind != holdfast.Compaction {
		l, err = e.link(ctx, s, set, v, h, len(s.branches) == 0)
		if s.used && l.missed(h) {
			l.how = unsure
		}
	}
	if err == nil && l.how == unsure {
		if s, err = e.catchUp(ctx, s); err == nil {
			l, err = e.link(ctx, s, set, v, h, true)
		}
	}
	if err == nil {
		err = e.complete(ctx, s.key.principal, l.b, l.ep)
	}
	if err != nil {
		e.log.Warn("request not linked", "code", holdfast.CodeOf(err))
		e.metrics.unlinked.WithLabelValues("store").Inc()
		return a
	}
	a.s, a.b, a.ep, a.set, a.replay = s, l.b, l.ep, set, l.replay
	a.size = in.Request.List.End - in.Request.List.Start
	a.session, a.branch = s.row.ID, l.b.row.ID
	s.attempts++
	s.used = true
	a.b.recall(before.was)
	if l.how == "epoch" && e.pool != nil {
		state := a.b.effective
		a.ep.state = &state
	}
	e.told(s, h.anchors[l.next:])
	e.content.learn(s.key, h)
	if s.key.searched() || e.scribe != nil {
		h.follow()
		a.tip, a.led = h.tip, h.led
	}
	p := e.passage(a, l, codec, in, h)
	if !l.replay {
		e.harvest(l, set, h, v.Kind == holdfast.Compaction)
	}
	a.base, a.offers = len(a.ep.anchors), s.offered(in, tools)
	if h.summaryAt >= 0 && !l.replay {
		a.ep.carried, a.ep.summaryRow = h.carried, h.row
	}
	switch {
	case v.Kind == holdfast.Compaction:
		if l.how == "epoch" {
			e.beginEpoch(ctx, a, h, p)
			l.b.leave()
		}
		if heard := l.b.hear(l.ep, h); len(heard) > len(l.b.heard) {
			l.b.heard = heard
		}
		a.bound.ID = l.b.nextBoundary() // what is read for it names it
		if e.pool != nil && set.Extract {
			e.read(s, l.b, set, a.forWhom(), true)
		}
		a.history = h
		e.beginBoundary(a)
	case l.how == "epoch":
		if !a.open(ctx) {
			return a.pass()
		}
		e.beginEpoch(ctx, a, h, p)
		l.b.leave()
		e.listen(a, h)
	default:
		if !a.opened(ctx) {
			return a.pass()
		}
		e.listen(a, h)
		if !l.replay && l.how != "retry" {
			e.record(s, l.b, false, l.discarded(h)...)
		}
	}
	if l.how != "epoch" {
		e.transcribe(a, p)
	}
	if !s.unsettled {
		e.audit.note(s.key, in.Label, set, s.row.ID)
	}
	switch {
	case a.Verdict.Kind == holdfast.Turn:
		e.renew(ctx, a, h)
		a.stick(h)
		a.ep.sealed = a.protocol == holdfast.Anthropic // its answer may begin with thinking
	case a.binds(h, h.summaryAt+a.ep.row.Place):
		a.stick(h) // also a compaction sends the thinking that was made behind it
	}
	if l.how != "turn" && l.how != "retry" {
		e.log.Info("linked", "how", l.how, "agent", v.Agent, "session", s.row.ID, "branch", l.b.row.ID, "epoch", l.ep.row.N, "revision", l.b.effective.Revision)
	}
	return a
}

// pass unlinks the attempt, whose session was erased meanwhile, or overtaken: then it
// is to be linked again. s.mu is held.
func (a *Attempt) pass() *Attempt {
	a.s.attempts--
	if a.again = !a.s.erased; a.again {
		a.was = a.b.unstored()
	}
	a.s, a.b, a.ep, a.bound = nil, nil, nil, store.Boundary{}
	return a
}

// keyOf is what a request says of its session; its key is "" when it says nothing.
func keyOf(in Inbound, v holdfast.Verdict) sessionKey {
	if in.Run != "" {
		return sessionKey{in.Principal, v.Agent, runPrefix + in.Run}
	}
	return sessionKey{in.Principal, v.Agent, v.Session}
}

// find returns the session of a request, locked, and its history.
func (e *Engine) find(ctx context.Context, codec Codec, in Inbound, v holdfast.Verdict, marker, words bool) (*session, *history, error) {
	key := keyOf(in, v)
	if key.key == "" {
		return e.findByContent(ctx, codec, in, v, marker, words)
	}
	s, err := e.enterFor(ctx, key, v)
	if err != nil {
		return nil, nil, err
	}
	h, err := s.read(e, codec, in, v.Agent, marker, words)
	if err != nil {
		return nil, nil, err
	}
	return s, h, nil
}

// enterFor enters a session for a request. A compaction sees what the answers
// before it brought.
func (e *Engine) enterFor(ctx context.Context, k sessionKey, v holdfast.Verdict) (*session, error) {
	s, err := e.enter(ctx, k)
	if err != nil {
		return nil, err
	}
	s.usedAt = e.now()
	if v.Kind == holdfast.Compaction && !e.cfg.Without.Barrier {
		s.drain(DrainTimeout)
	}
	return s, nil
}

// read reads a history through the session's memo. When it does not return one,
// by an error or by a panic of the codec, the session is unlocked.
func (s *session) read(e *Engine, codec Codec, in Inbound, agent string, marker, words bool) (h *history, err error) {
	defer func() {
		if h == nil {
			s.mu.Unlock()
		}
	}()
	return s.memo.read(e, codec, in, agent, marker, words)
}

// unlinkedBy names why a request could not be linked.
func unlinkedBy(err error) string {
	if holdfast.CodeOf(err) == holdfast.ErrUsage {
		return "unreadable"
	}
	return "store"
}

// harvest takes the anchors and calls of a history that its branch does not
// have yet. A compaction request adds calls but no anchors: what stands behind
// them may be the prompt's own.
func (e *Engine) harvest(l linked, set *Settings, h *history, compaction bool) {
	b, ep, now := l.b, l.ep, e.now()
	before := b.effective.Digest
	base := len(ep.anchors) - l.next // position of an anchor at index i of h is base+i
	if !compaction || len(ep.anchors) == 0 {
		if l.next < len(h.anchors) {
			ep.newest = len(ep.anchors)
		}
		for _, a := range h.anchors[l.next:] {
			if a.user {
				ep.asked = len(ep.anchors) + 1
			}
			ep.add(a)
		}
	}
	if !compaction {
		for _, d := range h.said {
			ep.said[d] = true
		}
	}
	var news []placedCall
	for _, call := range h.callsOf(h.anchors) {
		if call.Result == nil || b.done[call.ID] {
			continue
		}
		b.done[call.ID] = true
		if l.how == "epoch" && call.seq < h.summaryAnchor {
			continue // kept verbatim before the summary: the capsule is newer
		}
		at, known := ep.pos[h.anchors[call.seq].digest]
		if call.seq < l.next && known && at < b.foldedThrough {
			continue // folded before this process read the branch
		}
		if agents.PlanLeftOut(call.Arguments) {
			call.Arguments = b.shown(call)
		}
		news = append(news, call)
	}
	for _, call := range b.asked {
		// A history in words holds no calls, but what those of the newest answer
		// returned is nowhere else.
		if result, ok := agents.QuotedResult(h.prompt, call.Tool, string(call.Arguments)); ok && !b.done[call.ID] {
			b.done[call.ID] = true
			result.CallID, call.Result = call.ID, &result
			news = append(news, placedCall{Call: call, seq: l.next - 1})
		}
	}
	e.foldAll(b, set, news, base, now)
	if len(h.anchors) > l.next && !compaction && b.confirmed.Digest != b.effective.Digest {
		// The newest answer is confirmed or was replaced by this history.
		b.advance(continuity.Seal(b.confirmed), len(ep.anchors), now)
	}
	if b.effective.Digest != before {
		e.observe(b)
	}
}

// shown are the arguments of a call as the newest answer had them, or with the plan that
// waits since, where the person thought about it until the answer was forgotten.
func (b *branch) shown(call placedCall) []byte {
	for _, asked := range b.asked {
		if asked.Tool == call.Tool {
			return asked.Arguments
		}
	}
	if p := b.effective.Proposal; p != nil && p.Status == holdfast.PlanProposed && p.Text != "" {
		raw, err := json.Marshal(map[string]string{"plan": p.Text})
		if err != nil {
			panic(err) // strings always marshal
		}
		return raw
	}
	return call.Arguments
}

// foldAll folds confirmed calls, with a revision for each that changes
// something, so that a fork finds the state at its point. When they only confirm
// what the newest answer had announced, there is nothing to record.
func (e *Engine) foldAll(b *branch, set *Settings, calls []placedCall, base int, now time.Time) {
	next := b.confirmed
	for _, call := range calls {
		next = e.fold(set, next, []continuity.Call{call.Call})
	}
	if next.Digest != b.effective.Digest {
		step := b.confirmed
		for _, call := range calls {
			step = e.fold(set, step, []continuity.Call{call.Call})
			if b.advance(step, base+call.seq+1, now) {
				e.metrics.harvest.WithLabelValues(call.Tool).Inc()
			}
		}
	}
	b.confirmed = next
}

// await waits for a write, at most CommitTimeout.
func (e *Engine) await(ctx context.Context, written <-chan error) {
	t := time.NewTimer(CommitTimeout)
	defer t.Stop()
	select {
	case <-written:
	case <-ctx.Done():
	case <-t.C:
		e.metrics.commitTimeouts.Inc()
	}
}

// Keep says of which tools a stream reader should keep the arguments.
func (a *Attempt) Keep(tool string) bool {
	c, ok := agents.CarrierOf(tool)
	return ok && c.Early() || agents.Bridges(tool)
}

// Relayed notes that the answer's terminal event goes to the client now, so
// that a compaction request that follows waits for Done; behind Done it is nothing.
// Safe for concurrent use.
func (a *Attempt) Relayed() {
	if a.b == nil {
		return
	}
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	if !a.ended { // a decoder may learn of it only when it is closed
		a.s.answering[a] = true
	}
}

// drain waits until answers that were relayed whole are harvested. s.mu is held.
func (s *session) drain(limit time.Duration) {
	if len(s.answering) == 0 {
		return
	}
	late := false
	t := time.AfterFunc(limit, func() {
		s.mu.Lock()
		late = true
		s.mu.Unlock()
		s.settled.Broadcast()
	})
	defer t.Stop()
	for len(s.answering) > 0 && !late {
		s.settled.Wait()
	}
}

// Done ends the attempt with what its answer held; it must be called once.
func (a *Attempt) Done(ans holdfast.Answer) {
	if a.b == nil {
		return
	}
	e, s := a.e, a.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts--
	s.usedAt, a.ended = e.now(), true
	delete(s.answering, a)
	s.settled.Broadcast()
	if s.dead {
		return
	}
	if a.Boundary {
		if !a.settled {
			a.settled = true
			a.bound.Status, a.bound.Block = store.BoundaryFailed, ""
			if p := a.b.pending; p != nil && p.row.ID == a.bound.ID && !a.b.committed(a.bound.ID) {
				a.b.pending = nil
				e.record(s, a.b, false, a.bound)
			}
			e.metrics.compactions.WithLabelValues(a.Verdict.Agent, string(a.protocol), "failed").Inc()
			e.event(a, "failed")
		}
		return
	}
	s.remember(ans)
	e.content.answered(a, ans)
	// An answer to a state that the branch has left behind changes nothing.
	if a.replay || !ans.Complete || a.ep != a.b.current() || len(a.ep.anchors) != a.base {
		return
	}
	a.ep.whole, a.ep.latest = a.base, nil
	defer e.transcribeAnswer(a, ans)
	var calls []continuity.Call
	seq, at := a.base, a.base // at counts the anchors that the answer will be
	for _, ev := range ans.Events {
		switch ev := ev.(type) {
		case holdfast.AssistantMessage:
			at++
			if m := textMark(ev); m.strong {
				a.ep.latest = append(a.ep.latest, m.digest)
			}
		case holdfast.CompactionItem:
			at++
		case holdfast.ToolCall:
			at++
			if m := callMark(ev); m.strong {
				a.ep.latest = append(a.ep.latest, m.digest)
			}
			if meant := agents.Meant(ev); a.counts(ev.Name, meant) {
				calls = append(calls, continuity.Call{ID: ev.ID, Tool: meant.Name, Arguments: meant.Arguments})
				s.memo.carriers[ev.ID] = true
				seq = at
			}
		}
	}
	a.b.asked, a.ep.brings = calls, at-a.base
	if c := e.fold(a.set, a.b.confirmed, calls); a.b.advance(c, seq, e.now()) {
		e.metrics.harvest.WithLabelValues("answer").Inc()
		e.observe(a.b)
		e.record(s, a.b, false)
	} else if a.ep.round() != a.b.row.Round {
		e.record(s, a.b, false) // the next process must know what was answered
	}
}

// counts reports whether a call of the answer, made by a tool, is folded at once: it
// carries something, the request offered the tool, and its result is not known already,
// as that of a call is which a turn brings that was sent again.
func (a *Attempt) counts(tool string, call holdfast.ToolCall) bool {
	c, ok := agents.CarrierOf(call.Name)
	return ok && c.Early() && carries(c, call.Arguments) && !a.b.done[call.ID] &&
		(a.offers[tool] || a.offers[agents.DeferredLoader])
}

// offered are the carriers that a request lets the model call. Agents send the
// same tools with every request, so they are read when their bytes change.
func (s *session) offered(in Inbound, tools func() []holdfast.Tool) map[string]bool {
	key := SumOf(in.Request.Tools.Of(in.Body))
	if s.offers == nil || s.toolsKey != key {
		s.toolsKey, s.offers = key, map[string]bool{}
		for _, t := range tools() {
			if _, ok := agents.CarrierOf(t.Name); ok || t.Name == agents.DeferredLoader || agents.Bridges(t.Name) {
				s.offers[t.Name] = true
			}
		}
	}
	return s.offers
}
