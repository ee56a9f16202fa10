package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
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

// branch is one lineage of history.
type branch struct {
	row    store.Branch
	epochs []*epoch
	revs   []revision
	// confirmed is the fold of the calls that a history carried; effective has
	// the calls of the newest answer on top.
	confirmed, effective holdfast.Capsule
	pending              *boundary
	passedOver           time.Time // when the newest boundary that was discarded was committed
	// summed is the capsule when the newest compaction request came, with what was read
	// since: what answers bring meanwhile stands in no history that is summed up.
	summed        *holdfast.Capsule
	done          map[string]bool   // calls folded with their result, this epoch
	asked         []continuity.Call // of the newest answer, while in memory
	foldedThrough int               // anchors of this epoch that were folded before we read the branch
	stored        cursor            // what the store has
	read          int               // revisions that came from the store when the branch was read
	outlined      bool              // confirmed and effective are, or what the epoch began with
	recording     *recording.Branch // nil until something was recorded by this process
	edited        int               // the newest revision that a person made; 0: none
	// Of extraction, while in memory: the messages of the newest history behind those
	// that the epoch before left unread, the turn that this ended with, the job
	// that is under way, what gathers for the next one, the epoch to
	// come whose summary lacks what came too late for it, how often batches have failed, how many messages
	// they may have at most since more were too much, and up to where they were passed over.
	heard    []extract.Message
	left     []extract.Message
	turn     int
	reading  *reading
	gathered gathered
	owed     int
	tries    map[string]int
	most     int
	passed   string
}

// cursor is how much of a branch was handed to the recorder.
type cursor struct{ epochs, anchors, revs int }

// epoch is the history of a branch between two boundaries.
type epoch struct {
	row     store.Epoch
	anchors []anchor
	pos     map[holdfast.Digest]int
	said    map[holdfast.Digest]bool // of the user's texts, while in memory
	names   map[message]string       // of the texts that extraction heard, while in memory
	// model wrote the summary that opens it, and answered is how many anchors it
	// had when an answer was recorded, from 1; asked is how many it had with the newest
	// one of the user, whole how many when an answer came whole. While in memory.
	model    string
	answered int
	asked    int
	whole    int
	latest   []holdfast.Digest // the strong anchors that the newest whole answer will be
	newest   int               // where the anchors of the newest round begin
	// written is the summary that opens it, as the model wrote it; zero: not known.
	written holdfast.Digest
	// carried tells that its summary has a block, summaryRow which row knows it;
	// rewritten that its own block is another one than the store has.
	carried    bool
	summaryRow string
	rewritten  bool
	// sealed tells that a model may have thought behind its block, which stays then (see
	// binds), late that something came for it since. While in memory.
	sealed, late bool
	// places are those of the block in histories that ended before its own, by their
	// newest anchor: an answer to one may have been thought behind it. While in memory.
	places map[int]int
	// opening is closed when what stands in it is decided; nil: it is. state is the
	// capsule when it opened, with what was read since; nil: its block is written.
	opening chan struct{}
	state   *holdfast.Capsule
}

// revision is one state of the capsule with the place where it came to be.
type revision struct {
	epoch, seq int
	capsule    holdfast.Capsule
	at         time.Time
	// outlined tells that of the capsule only Branch, Revision and Digest are here, and
	// no time: the rest is in the store. See complete.
	outlined bool
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
// becomes a branch of its own. All else each request's own history tells. s.mu is held, and the returned
// session's is; with an error, none is.
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
	s.dead = true
	s.mu.Unlock()
	n, err := e.enter(ctx, s.key)
	if err == nil {
		n.usedAt = e.now()
	}
	return n, err
}

// behind reports whether the store holds what the session does not.
func (s *session) behind(heads []store.Head) bool {
	own := make(map[holdfast.BranchID]*branch, len(s.branches))
	for _, b := range s.branches {
		own[b.row.ID] = b
	}
	return slices.ContainsFunc(heads, func(h store.Head) bool { return own[h.Branch] == nil || own[h.Branch].behind(h) })
}

func (b *branch) behind(h store.Head) bool {
	if h.Epoch != b.row.Epoch {
		return h.Epoch > b.row.Epoch
	}
	return h.Revision > b.newest() || !h.Committed.IsZero() && (b.pending == nil && h.Committed.After(b.passedOver) || b.pending != nil && b.pending.row.At.Before(h.Committed))
}

// newest is the number of the newest revision; 0 for none.
func (b *branch) newest() int {
	if n := len(b.revs); n > 0 {
		return b.revs[n-1].capsule.Revision
	}
	return 0
}

// newRow is the row of a session that nobody has seen.
func newRow(k sessionKey, now time.Time) store.Session {
	return store.Session{
		ID: holdfast.SessionID(newID()), Principal: k.principal, Agent: k.agent, Key: k.key, CreatedAt: now, UsedAt: now,
	}
}

// restore builds a branch from the outline of its stored state.
func restore(st store.BranchState) *branch {
	b := &branch{row: st.Branch, done: map[string]bool{}}
	b.effective.Branch = st.ID
	for _, row := range st.Epochs {
		b.epochs = append(b.epochs, newEpoch(row))
	}
	if len(b.epochs) == 0 {
		b.epochs = []*epoch{newEpoch(store.Epoch{Branch: st.ID})}
	}
	for _, a := range st.Anchors {
		if ep := b.epoch(a.Epoch); ep != nil {
			ep.add(anchor{digest: a.Digest, strong: a.Strong})
		}
	}
	for _, r := range st.Revisions {
		b.revs = append(b.revs, revision{
			epoch: r.Epoch, seq: r.Seq, outlined: true,
			capsule: holdfast.Capsule{Branch: st.ID, Revision: r.N, Digest: r.Digest},
		})
		if r.Edit {
			b.edited = r.N
		}
	}
	b.read, b.outlined = len(b.revs), len(b.revs) > 0
	if n := len(b.revs); n > 0 {
		b.effective = b.revs[n-1].capsule
	}
	cur := b.current()
	cur.newest = st.Round
	b.confirmed, b.foldedThrough = b.at(cur.row.N, len(cur.anchors)), len(cur.anchors)
	for _, bd := range st.Boundaries {
		switch {
		case bd.Status == store.BoundaryFailed, bd.Status == store.BoundaryDiscarded:
		case bd.Epoch == cur.row.N:
			b.pending = &boundary{row: bd}
		case bd.Epoch == cur.row.N-1 && bd.Status == store.BoundaryCommitted:
			cur.written = bd.Summary
		}
	}
	b.stored = cursor{epochs: len(b.epochs), anchors: len(cur.anchors), revs: len(b.revs)}
	return b
}

func newEpoch(row store.Epoch) *epoch {
	return &epoch{row: row, pos: map[holdfast.Digest]int{}, said: map[holdfast.Digest]bool{}}
}

func (ep *epoch) add(a anchor) {
	if _, known := ep.pos[a.digest]; !known {
		ep.pos[a.digest] = len(ep.anchors)
	}
	ep.anchors = append(ep.anchors, a)
}

// meeting tells of epochs whether any of these anchors is theirs. A session may have
// thousands of branches that were left after a few messages, so that the shorter side
// is looked up in the longer.
func meeting(anchors []anchor) func(*epoch) bool {
	own := sync.OnceValue(func() map[holdfast.Digest]bool {
		set := make(map[holdfast.Digest]bool, len(anchors))
		for _, a := range anchors {
			set[a.digest] = true
		}
		return set
	})
	return func(ep *epoch) bool {
		if len(ep.anchors) < len(anchors) {
			return slices.ContainsFunc(ep.anchors, func(a anchor) bool { return own()[a.digest] })
		}
		return slices.ContainsFunc(anchors, func(a anchor) bool { _, known := ep.pos[a.digest]; return known })
	}
}

func (b *branch) current() *epoch { return b.epochs[len(b.epochs)-1] }

func (b *branch) epoch(n int) *epoch {
	for _, ep := range b.epochs {
		if ep.row.N == n {
			return ep
		}
	}
	return nil
}

// at is the capsule as it was when seq anchors of epoch n had been read.
func (b *branch) at(n, seq int) holdfast.Capsule {
	if i := b.indexAt(n, seq); i >= 0 {
		return b.revs[i].capsule
	}
	return holdfast.Capsule{Branch: b.row.ID}
}

// indexAt is the place of that capsule's revision; -1 for none.
func (b *branch) indexAt(n, seq int) int {
	for i := len(b.revs) - 1; i >= 0; i-- {
		if r := &b.revs[i]; r.epoch < n || (r.epoch == n && r.seq <= seq) {
			return i
		}
	}
	return -1
}

// advance makes c the effective capsule. Equal content makes no revision.
func (b *branch) advance(c holdfast.Capsule, seq int, now time.Time) bool {
	if c.Digest == b.effective.Digest || (b.effective.Digest == "" && continuity.Empty(c)) {
		return false
	}
	c.Revision = b.newest() + 1
	b.effective = c
	b.revs = append(b.revs, revision{epoch: b.current().row.N, seq: seq, capsule: c, at: now})
	return true
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

// round is how many anchors an epoch has before those that may have been broken off: all
// but the newest round, and with what the user said last where that was answered whole.
func (ep *epoch) round() int {
	if ep.whole == len(ep.anchors) {
		return max(ep.newest, ep.asked)
	}
	return ep.newest
}

// collect adds what the store does not have of b: nothing while its epoch is opening,
// since the next process would find that epoch without a block.
func (b *branch) collect(batch *store.Batch) {
	if b.current().opening != nil {
		return
	}
	b.row.Round = b.current().round()
	batch.Branches = append(batch.Branches, b.row)
	first := max(b.stored.epochs-1, 0)
	for i := first; i < len(b.epochs); i++ {
		ep := b.epochs[i]
		if i >= b.stored.epochs || ep.rewritten {
			batch.Epochs = append(batch.Epochs, ep.row)
			ep.rewritten = false
		}
		from := 0
		if i == first && b.stored.epochs > 0 {
			from = b.stored.anchors
		}
		for seq := from; seq < len(ep.anchors); seq++ {
			a := ep.anchors[seq]
			batch.Anchors = append(batch.Anchors, store.Anchor{
				Branch: b.row.ID, Epoch: ep.row.N, Seq: seq,
				Digest: a.digest, Strong: a.strong, Revision: b.at(ep.row.N, seq+1).Revision,
			})
		}
	}
	for i := b.stored.revs; i < len(b.revs); i++ {
		r, after := b.revs[i], ""
		if i > 0 {
			after = b.revs[i-1].capsule.Digest
		}
		raw, err := json.Marshal(r.capsule)
		if err != nil {
			panic(err) // plain strings and slices always marshal
		}
		batch.Revisions = append(batch.Revisions, store.Revision{
			Branch: b.row.ID, N: r.capsule.Revision, Epoch: r.epoch,
			Seq: r.seq, Digest: r.capsule.Digest, After: after, Capsule: raw, At: r.at,
		})
	}
	b.stored = cursor{epochs: len(b.epochs), anchors: len(b.current().anchors), revs: len(b.revs)}
}
