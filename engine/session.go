package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine/recording"
	"github.com/holdfast-dev/holdfast/store"
)

// session is one session in memory. mu guards all but key, principal, name and void.
type session struct {
	mu        sync.Mutex
	key       sessionKey
	row       store.Session
	name      atomic.Pointer[holdfast.SessionID] // of row, once it is loaded; needs no lock
	loaded    bool
	used      bool        // a request was linked since
	loading   *loading    // nil: none is under way
	void      atomic.Bool // the store refused a batch: nothing more is written of it
	dead      bool        // erased, evicted or in conflict: its state counts no more
	erased    bool
	whole     bool     // the store missed something: write the whole state next
	unsettled bool     // found by content, and nothing yet by which it can be found again
	began     indexKey // what an unsettled session began with
	branches  []*branch
	memo      memo
	toolsKey  uint64 // hash of the tools that offers was read from
	offers    map[string]bool
	relayed   map[holdfast.Digest]bool // marks of longer texts of the model that stand in no history yet
	attempts  int                      // attempts in flight
	held      *recording.Passage       // of an unsettled session, until it is found again
	usedAt    time.Time
	answering map[*Attempt]bool // answers whose terminal event was relayed
	settled   *sync.Cond        // signalled when answering shrinks
}

// boundary is a compaction that no later history has taken up yet.
type boundary struct {
	row   store.Boundary
	model string // that was asked; while in memory
}

func newSession(k sessionKey) *session {
	s := &session{key: k, memo: newMemo(), answering: map[*Attempt]bool{}, relayed: map[holdfast.Digest]bool{}}
	s.settled = sync.NewCond(&s.mu)
	return s
}

// maxRelayed bounds how many answers are remembered as possible summaries.
const maxRelayed = 512

// remember notes the longer texts of an answer: a client that no row knows may
// send one back as a summary. s.mu is held.
func (s *session) remember(ans holdfast.Answer) {
	if len(s.relayed) > maxRelayed {
		s.relayed = map[holdfast.Digest]bool{}
	}
	for _, ev := range ans.Events {
		if m, ok := ev.(holdfast.AssistantMessage); ok && m.Len >= strongText {
			s.relayed[textMark(m).digest] = true
		}
	}
}

// told notes the anchors that a history adds: an answer that the conversation went on
// from was no summary. s.mu is held.
func (e *Engine) told(s *session, anchors []anchor) {
	for _, a := range anchors {
		if s.relayed[a.digest] {
			delete(s.relayed, a.digest)
			e.content.drop(s.key, answerDigest(a.digest))
		}
	}
}

// id waits for a read that is under way.
func (s *session) id() holdfast.SessionID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.loading; l != nil {
		s.mu.Unlock()
		<-l.done
		s.mu.Lock()
	}
	return s.row.ID
}

// unusedFor is how long nothing has used the session; 0 while something does. s.mu is
// held.
func (s *session) unusedFor(now time.Time) time.Duration {
	switch {
	case s.dead:
		return ContentIdleTimeout
	case s.attempts > 0, s.loading != nil, slices.ContainsFunc(s.branches, func(b *branch) bool { return b.reading != nil }):
		return 0
	}
	return now.Sub(s.usedAt)
}

// enter returns the session of a key, locked, with its stored state read. The
// error is the store's: the request then goes on unlinked.
func (e *Engine) enter(ctx context.Context, k sessionKey) (*session, error) {
	for {
		e.mu.Lock()
		s, known := e.sessions[k]
		if !known {
			s = newSession(k)
			s.usedAt = e.now()
			e.sessions[k] = s
		}
		e.mu.Unlock()
		if !known {
			e.evictOldest()
		}
		s.mu.Lock()
		switch {
		case s.dead:
			s.mu.Unlock()
			e.drop(s)
			continue
		case s.loaded:
			return s, nil
		case s.loading == nil:
			s.loading = &loading{done: make(chan struct{})}
			go e.load(s, s.loading)
		}
		l := s.loading
		s.mu.Unlock()
		if err := l.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// evictOldest keeps the number of sessions in memory bounded: once there are evicted
// more than maxSessions, it drops as many of those that nothing has used for longest. It
// waits for none: one whose mutex is held is in use.
func (e *Engine) evictOldest() {
	e.mu.Lock()
	var all []*session
	if len(e.sessions) >= maxSessions+evicted {
		all = slices.Collect(maps.Values(e.sessions))
	}
	e.mu.Unlock()
	now := e.now()
	type candidate struct {
		s   *session
		age time.Duration
	}
	var unused []candidate
	for _, s := range all {
		if !s.mu.TryLock() {
			continue
		}
		if d := s.unusedFor(now); d > 0 && !e.rec.pending(s.row.ID) {
			unused = append(unused, candidate{s, d})
		}
		s.mu.Unlock()
	}
	slices.SortFunc(unused, func(a, b candidate) int { return cmp.Compare(b.age, a.age) })
	for _, c := range unused[:min(evicted, len(unused))] {
		e.dropUnused(c.s, now, c.age)
	}
}

// loading is a read of a session's stored state. A request waits for it at most
// LoadTimeout; then it goes on without, so that a later one finds the session read,
// however long it is.
type loading struct {
	done chan struct{}
	err  error // once it is done
}

// loadLimit ends a read that nobody waits for any more.
const loadLimit = 5 * time.Second

func (l *loading) wait(ctx context.Context) error {
	t := time.NewTimer(LoadTimeout)
	defer t.Stop()
	late := context.DeadlineExceeded
	select {
	case <-l.done:
		return l.err
	case <-t.C:
	case <-ctx.Done():
		late = ctx.Err()
	}
	return holdfast.Errorf(holdfast.ErrUnavailable, "the session is still being read: %w", late)
}

// load takes up a session's stored state.
func (e *Engine) load(s *session, l *loading) {
	row, branches, err := e.stored(s.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.row, s.branches, s.loaded = row, branches, true
		s.name.Store(&row.ID)
	}
	l.err, s.loading = err, nil
	close(l.done)
}

// stored reads a session; one that the store has not is new.
func (e *Engine) stored(k sessionKey) (row store.Session, branches []*branch, err error) {
	// A panic is a defect of ours, on a goroutine that would take the process with it.
	defer func() {
		if x := recover(); x != nil {
			err = holdfast.Errorf(holdfast.ErrInternal, "a session was not read by a defect: %T", x)
		}
	}()
	ctx, cancel := context.WithTimeout(e.life, loadLimit)
	defer cancel()
	st, err := e.store.Session(ctx, k.principal, k.agent, k.key)
	switch {
	case err == nil:
		for _, b := range st.Branches {
			branches = append(branches, restore(b))
		}
		return st.Session, branches, nil
	case holdfast.CodeOf(err) == holdfast.ErrNotFound:
		return newRow(k, e.now()), nil, nil
	}
	return store.Session{}, nil, err
}

// entered is the id of a session that is in memory, without waiting for what is
// done with it; "" for any other.
func (e *Engine) entered(k sessionKey) holdfast.SessionID {
	e.mu.Lock()
	s := e.sessions[k]
	e.mu.Unlock()
	if s == nil || s.name.Load() == nil {
		return ""
	}
	return *s.name.Load()
}

// catchUp reads a session again when another process has carried it further: at
// a boundary what we hold must be the newest, and so it must before a history
// becomes a branch of its own, or brings answers that this process did not see. All else
// each request's own history tells. s.mu is held, and the returned session's is; with an
// error, none is.
func (e *Engine) catchUp(ctx context.Context, s *session) (*session, error) {
	if s.unsettled {
		return s, nil
	}
	within, cancel := context.WithTimeout(ctx, LoadTimeout)
	defer cancel()
	heads, err := e.store.Heads(within, s.key.principal, s.key.agent, s.key.key)
	switch {
	case err == nil && s.behind(heads):
	case err == nil, holdfast.CodeOf(err) == holdfast.ErrNotFound:
		return s, nil
	default:
		e.log.Warn("another process may have gone ahead", "code", holdfast.CodeOf(err))
		return s, nil
	}
	var heard []branch
	for _, b := range s.branches {
		if len(b.heard)+len(b.left) > 0 {
			heard = append(heard, b.unstored())
		}
	}
	s.dead = true
	s.mu.Unlock()
	n, err := e.enter(ctx, s.key)
	if err != nil {
		return n, err
	}
	n.usedAt = e.now()
	for _, b := range n.branches {
		for _, was := range heard {
			if was.row.Epoch == b.row.Epoch { // it is the same history
				b.recall(was)
			}
		}
	}
	return n, nil
}

// behind reports whether the store holds what the session does not.
func (s *session) behind(heads []store.Head) bool {
	own := make(map[holdfast.BranchID]*branch, len(s.branches))
	for _, b := range s.branches {
		own[b.row.ID] = b
	}
	return slices.ContainsFunc(heads, func(h store.Head) bool { return own[h.Branch] == nil || own[h.Branch].behind(h) })
}

// newRow is the row of a session that nobody has seen.
func newRow(k sessionKey, now time.Time) store.Session {
	return store.Session{
		ID: holdfast.SessionID(newID()), Principal: k.principal, Agent: k.agent, Key: k.key, CreatedAt: now, UsedAt: now,
	}
}

// record hands what is new to the recorder, urgent when somebody waits for it to
// be written. s.mu is held. With whole set, or
// after a failed write, everything is written again that did not come from the
// store; the store's laws make that safe.
func (e *Engine) record(s *session, b *branch, urgent bool, extra ...store.Boundary) <-chan error {
	if s.unsettled {
		s.whole = true
		written := make(chan error, 1)
		written <- nil
		return written
	}
	now := e.now()
	s.row.UsedAt, b.row.UsedAt = now, now
	batch := store.Batch{Session: s.row, Boundaries: extra}
	branches := []*branch{b}
	if s.whole {
		branches = s.branches
		s.whole = false
		for _, x := range branches {
			x.stored = cursor{revs: x.read}
			if x.pending != nil && !slices.ContainsFunc(extra, func(r store.Boundary) bool { return r.ID == x.pending.row.ID }) {
				batch.Boundaries = append(batch.Boundaries, x.pending.row)
			}
		}
	}
	for _, x := range branches {
		x.collect(&batch)
	}
	// News of a capsule is written at once: not every agent's next request carries
	// what a killed process had not written yet.
	return e.rec.put(batch, urgent || len(batch.Revisions) > 0, &s.void, func(err error) { e.wrote(s, err) })
}

// wrote learns what became of a batch.
func (e *Engine) wrote(s *session, err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if overtaken(err) {
		// What we hold is void, the next request reads the store again.
		s.dead = true
		return
	}
	s.whole = true
}
