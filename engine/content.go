package engine

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
)

// contentPrefix begins the keys of sessions whose agent sends no id.
const contentPrefix = "content:"

func (k sessionKey) byContent() bool { return strings.HasPrefix(k.key, contentPrefix) }

// searched reports whether requests of a session may come without its id: those
// of agents that never send one, and of those that leave it out of a compaction.
func (k sessionKey) searched() bool { return k.byContent() || k.agent == "" }

// runPrefix begins the keys of sessions that a path names.
const runPrefix = "run:"

// holdsMany reports whether a session may hold several conversations: what names it is
// chosen for a run, or by a client that is not known.
func (k sessionKey) holdsMany() bool {
	return strings.HasPrefix(k.key, runPrefix) || k.agent == "" && !k.byContent()
}

// content finds the session of a request without a session id by what the
// request carries: calls and longer texts of the model, summaries and blocks
// that were relayed; for a history in words also what the user said. It indexes
// sessions while they are in memory; the store knows the others.
type content struct {
	mu    sync.Mutex
	memos map[holdfast.Principal]*memo // apart: nothing of one principal serves another
	index map[indexKey][]sessionKey
	known map[sessionKey][]indexKey // what to forget with a session
	// fresh are sessions whose first answer is under way, by the newest anchor of
	// what they began with: the same request again is not another session.
	fresh map[indexKey]*session
}

// indexKey is something relayed, within a principal.
type indexKey struct {
	principal holdfast.Principal
	digest    holdfast.Digest
}

// maxIndexed bounds what is indexed of one session: older entries stay, since a
// history carries them as long as its epoch lasts.
const maxIndexed = 20_000

// maxMemos bounds the principals whose memos are held; a memo only saves time.
const maxMemos = 64

func newContent() content {
	return content{memos: map[holdfast.Principal]*memo{}, index: map[indexKey][]sessionKey{}, known: map[sessionKey][]indexKey{}, fresh: map[indexKey]*session{}}
}

// add indexes digests for a session. c.mu is held.
func (c *content) add(k sessionKey, digests ...holdfast.Digest) {
	for _, d := range digests {
		at := indexKey{k.principal, d}
		seen := false
		for _, other := range c.index[at] {
			seen = seen || other == k
		}
		if !seen && len(c.known[k]) < maxIndexed {
			c.index[at] = append(c.index[at], k)
			c.known[k] = append(c.known[k], at)
		}
	}
}

// drop takes a digest of a session out of the index; that it was there stays in known,
// which is only walked to forget the session.
func (c *content) drop(k sessionKey, d holdfast.Digest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := indexKey{k.principal, d}
	is := func(other sessionKey) bool { return other == k }
	if c.index[at] = slices.DeleteFunc(c.index[at], is); len(c.index[at]) == 0 {
		delete(c.index, at)
	}
}

// learn indexes the strong anchors of a history and the user's texts.
func (c *content) learn(k sessionKey, h *history) {
	if !k.searched() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range h.anchors {
		if a.strong {
			c.add(k, a.digest)
		}
	}
	c.add(k, h.said...)
}

// answered indexes what an answer holds. A session that has nothing by which a
// next request could find it is dropped. s.mu is held.
func (c *content) answered(a *Attempt, ans holdfast.Answer) {
	s := a.s
	if !s.key.searched() {
		return
	}
	c.mu.Lock()
	found, prev, led := false, a.tip, a.led
	for _, ev := range ans.Events {
		var m mark
		switch ev := ev.(type) {
		case holdfast.ToolCall:
			m = callMark(ev)
		case holdfast.AssistantMessage:
			if m = textMark(ev); m.strong {
				c.add(s.key, answerDigest(m.digest))
			}
			if ev.Len == 0 || agents.SyntheticAnswer(ev.Text) {
				continue
			}
		default:
			continue
		}
		at := place(m, prev, led)
		prev, led = at.digest, lead(led, at)
		if m.acted && c.others(s.key, at.digest) {
			break // it goes the way of another session: it is that one until they part
		}
		if at.strong {
			c.add(s.key, at.digest)
			found = true
		}
	}
	c.mu.Unlock()
	switch {
	case !s.unsettled:
	case found && ans.Complete:
		s.unsettled = false
		c.begun(s)
		a.e.record(s, a.b, false)
	case s.attempts == 0:
		s.dead = true
		c.begun(s)
	}
}

// others reports whether another session has a digest. c.mu is held.
func (c *content) others(k sessionKey, d holdfast.Digest) bool {
	return slices.ContainsFunc(c.index[indexKey{k.principal, d}], func(other sessionKey) bool { return other != k })
}

// begun takes a session out of those that wait for their first answer.
func (c *content) begun(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fresh[s.began] == s {
		delete(c.fresh, s.began)
	}
}

func summaryDigest(d holdfast.Digest) holdfast.Digest {
	return holdfast.DigestOf("summary", d.String())
}

// answerDigest is that of an answer that may turn out to be a summary, by its mark.
func answerDigest(mark holdfast.Digest) holdfast.Digest {
	return holdfast.DigestOf("answer", mark.String())
}

func blockDigest(d string) holdfast.Digest { return holdfast.DigestOf("block", d) }

// summarised indexes a summary that was relayed, and its block: by that the session
// is found. s.mu is held.
func (c *content) summarised(s *session, summary holdfast.Digest, block string) {
	if !s.key.searched() {
		return
	}
	c.mu.Lock()
	c.add(s.key, summaryDigest(summary))
	if block != "" {
		c.add(s.key, blockDigest(block))
	}
	c.mu.Unlock()
	s.unsettled = false
	c.begun(s)
}

// forget drops what is indexed for a session.
func (c *content) forget(k sessionKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for began, s := range c.fresh {
		if s.key == k {
			delete(c.fresh, began)
		}
	}
	for _, at := range c.known[k] {
		var left []sessionKey
		for _, other := range c.index[at] {
			if other != k {
				left = append(left, other)
			}
		}
		if left == nil {
			delete(c.index, at)
		} else {
			c.index[at] = left
		}
	}
	delete(c.known, k)
}

// strongScore is what a strong anchor counts in a match.
const strongScore = 1 << 10

// match finds the session in memory that shares most with a history, and how much: 0
// for none. Relayed summaries and blocks count before everything else. ambiguous is
// true when more than one shares as much. Of a history in words the user's texts are
// most of what can be known again.
func (c *content) match(p holdfast.Principal, h *history) (best sessionKey, top int, ambiguous bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	score := map[sessionKey]int{}
	count := func(d holdfast.Digest, weight int) {
		for _, k := range c.index[indexKey{p, d}] {
			score[k] += weight
		}
	}
	for _, a := range h.anchors {
		if a.strong {
			count(a.digest, strongScore)
		}
	}
	if h.prompt != "" {
		for _, d := range h.said {
			count(d, 1)
		}
	}
	for _, d := range h.blocks {
		count(blockDigest(d), 1<<20)
	}
	summary := func(text holdfast.Digest) {
		count(summaryDigest(text), 1<<24)
		count(answerDigest(assistantDigest(text)), 1<<24)
	}
	if !h.summaryText.IsZero() {
		summary(h.summaryText)
	}
	for _, o := range h.opening {
		if o.text != h.summaryText {
			summary(o.text)
		}
	}
	for k, n := range score {
		switch {
		case n > top:
			best, top, ambiguous = k, n, false
		case n == top:
			ambiguous = true
		}
	}
	return best, top, ambiguous
}

// read reads a history through the memo that a principal's sessions without an id
// share.
func (c *content) read(e *Engine, codec Codec, in Inbound, agent string, marker, words bool) (*history, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.memos[in.Principal]
	if m == nil {
		if len(c.memos) >= maxMemos {
			clear(c.memos)
		}
		fresh := newMemo()
		m = &fresh
		c.memos[in.Principal] = m
	}
	if len(m.carriers) > maxIndexed {
		m.carriers, m.last = map[string]bool{}, nil
	}
	return m.read(e, codec, in, agent, marker, words)
}

// findByContent returns the session of a request without an id, locked.
func (e *Engine) findByContent(ctx context.Context, codec Codec, in Inbound, v holdfast.Verdict, marker, words bool) (*session, *history, error) {
	h, err := e.content.read(e, codec, in, v.Agent, marker, words)
	if err != nil {
		return nil, nil, err
	}
	key, score, ambiguous := e.content.match(in.Principal, h)
	ok := score > 0
	if score < strongScore {
		stored, found, err := e.storedByContent(ctx, in.Principal, h)
		if err != nil {
			return nil, nil, err
		}
		if found {
			key, ambiguous, ok = stored, false, true
		}
	}
	if ok && ambiguous {
		e.metrics.unlinked.WithLabelValues("ambiguous").Inc()
		ok = false
	}
	if ok {
		s, err := e.enterFor(ctx, key, v)
		return s, h, err
	}
	return e.beginByContent(in.Principal, v.Agent, h), h, nil
}

// beginByContent returns the session that begins with a history, locked: one
// that waits for the answer to this very history, or a new one.
func (e *Engine) beginByContent(p holdfast.Principal, agent string, h *history) *session {
	n := newSession(sessionKey{p, agent, contentPrefix + newID()})
	n.usedAt = e.now()
	n.row = newRow(n.key, e.now())
	n.loaded, n.unsettled = true, true
	n.mu.Lock()
	if last := len(h.anchors) - 1; last >= 0 {
		n.began = indexKey{principal: p, digest: holdfast.DigestOf(agent, h.anchors[last].digest.String())}
		for {
			e.content.mu.Lock()
			s := e.content.fresh[n.began]
			if s == nil {
				e.content.fresh[n.began] = n
				e.content.mu.Unlock()
				break
			}
			e.content.mu.Unlock()
			s.mu.Lock()
			if !s.dead && s.unsettled {
				s.usedAt = e.now()
				return s
			}
			s.mu.Unlock()
			e.content.mu.Lock()
			if e.content.fresh[n.began] == s {
				delete(e.content.fresh, n.began)
			}
			e.content.mu.Unlock()
		}
	}
	e.mu.Lock()
	e.sessions[n.key] = n
	e.mu.Unlock()
	e.evictOldest()
	return n
}

// storedByContent looks a history up in the store.
func (e *Engine) storedByContent(ctx context.Context, p holdfast.Principal, h *history) (sessionKey, bool, error) {
	strong := h.strong()
	if len(strong) == 0 && len(h.blocks) == 0 {
		return sessionKey{}, false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, LoadTimeout)
	defer cancel()
	e.settle(ctx)
	st, err := e.origin(ctx, p, "", h.blocks, strong)
	if st == nil || err != nil {
		return sessionKey{}, false, err
	}
	k := sessionKey{p, st.Agent, st.Key}
	return k, k.searched(), nil
}
