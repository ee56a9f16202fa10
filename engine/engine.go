// Package engine is the continuity coordinator: it links each request to a
// branch, harvests plan state into the branch's capsule, and says what must be
// carried where. It owns the clock, the logger and the transactions. The wire
// formats are passed in; it never changes bytes itself.
//
// # Laws
//
//   - A request is linked by what it carries: the agent's own session id, then
//     the anchors of its history. Anchors leave out what agents change between
//     two requests of one branch: ids of messages, signatures, cache marks, tool
//     results' content, system items, synthetic texts, our own block.
//   - Without an id, a session is found by what only it can carry: calls with ids,
//     longer texts of the model, summaries and blocks that were relayed; where calls
//     have no ids, or ids that only count them, by a call with all that was said and
//     called before it in its epoch. Sessions that went the same way so far are one, and its branches part
//     where their histories do. A request that has nothing of that is a session of
//     its own, which is dropped unless its answer brings something.
//   - History that goes on from a branch's newest anchor continues it. History
//     that leaves a branch at an earlier anchor is a fork, with the capsule as it
//     was there, also in a compaction request that holds all that it sums up, and
//     where what stands verbatim behind a new summary ends earlier. Only a newest
//     round that may have been broken off may be missing there. Of several branches
//     it is that on whose way it goes longest. A known session whose history carries
//     nothing known is a reset:
//     a new, empty branch. Two requests from one point are one branch until
//     their histories differ.
//   - An epoch is identified by the summary that opens its history. A summary
//     that nobody has seen opens a new epoch of its branch, whether or not the
//     compaction request was seen. Where a session may hold several conversations,
//     because a path or an unknown client names it, the summary's history must share
//     something with the branch.
//   - The capsule of a branch is the fold of its carrier calls in the order of
//     the history. A call in an answer that no later history has confirmed counts
//     on top, and is withdrawn when the next history does not carry it.
//   - One boundary is one compaction: repeats of its request are the same, and what
//     breaks off in one of them takes nothing back. One that the agent goes on without
//     is discarded.
//   - The block of a sticky delivery is written when its epoch opens and is the
//     same bytes in the same element until the epoch ends, or the person edits the
//     capsule: then it is written once more, whole, with the next request. In
//     Anthropic's protocol nothing that stands before thinking changes, since the
//     provider may refuse the request then: it comes with the next boundary.
//   - An edit that another process wrote is taken up within a second, and at a
//     boundary at once. An edit and what passes at the same time both stay.
//   - Nothing waits for the store but a boundary (at most CommitTimeout, and at
//     most LoadTimeout to see whether another process has carried the session
//     further), a request that goes on from answers which this process did not see
//     (LoadTimeout, for the same) and the first request of a session that this process
//     has not seen (LoadTimeout; a read that takes longer goes on, for the requests
//     that follow).
//     When the store fails, traffic goes on, recording is tried again from the
//     whole state, and it is said once.
//   - A session that was erased is forgotten within a second, its block with it.
//   - What holds for a session is what its caller and its agent have in
//     Config.Policy; nothing else that a client sends has a say in it. Requests of a
//     session that is not enabled pass unread, and the block of one that was
//     enabled before ends. What is in force for a session, and for keys of one
//     label, is noted in the audit when it is first seen, and when it differs from
//     what was noted last. A session that is not enabled and whose agent sends no
//     id cannot be told without being read, so nothing is noted of it.
//   - Extraction, where it is on, reads the histories that pass, in jobs that nothing
//     waits for but the end of a compaction's answer, beside which they run, and the
//     first request of an epoch, at most Extractor.Barrier. It stores how far it has
//     read, and what it found as revisions of the capsule. The texts that it may read
//     are held in memory with their session. A result that comes behind that wait goes
//     into the epoch's block, once: from the next request on, in the place of the one
//     that the summary has, if it has one. While nothing needs it, what is said
//     gathers: a call is made when what it is sent is at most Extractor.Ratio of what
//     the branch has grown by since the last one, by the bytes of its histories, or
//     when a batch is full.
//   - Where transcripts are on, what is new of each branch goes to package
//     recording, which nothing waits for.
//
// State is held per session under one mutex; sessions are independent: what holds the
// mutex of all of them waits for that of none. Idle sessions leave memory after
// IdleTimeout and are read back when they return, in outline: of a branch that has
// thousands of revisions, a request reads the few capsules that it goes on from.
package engine

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
	"github.com/holdfast-dev/holdfast/engine/extraction"
	"github.com/holdfast-dev/holdfast/engine/recording"
	"github.com/holdfast-dev/holdfast/store"
)

// Store is what the engine needs of a store.
type Store interface {
	store.Writer
	store.Reader
	store.Keeper
	store.Sweeper
	store.Conversations
	store.Audit
}

// Timeouts and bounds that are no configuration.
const (
	CommitTimeout = 250 * time.Millisecond
	LoadTimeout   = 250 * time.Millisecond
	DrainTimeout  = 250 * time.Millisecond
	IdleTimeout   = 45 * time.Second
	// ContentIdleTimeout is that of sessions whose agent sends no id: memory
	// knows more of them than the store.
	ContentIdleTimeout = 30 * time.Minute
	maxSessions        = 1024
	evicted            = maxSessions / 16 // at once, so that not every session looks at all others
)

// Config is what a person can set.
type Config struct {
	// Policy is what holds for a caller's sessions with an agent, by its name in the
	// agents table or "". It is pure. nil: the four below hold for all, and no
	// audit is written.
	Policy           func(c holdfast.Caller, agent string) Settings
	Preserve         continuity.Preserve
	MaxCapsuleTokens int
	UserWordsTokens  int // share of the user's words in it
	CopyOnFork       bool
	// Redact takes secrets out of the user's words before anything is kept of
	// them, and counts them; required when these are preserved.
	Redact func(string) (clean string, secrets int)
	TTL    time.Duration // 0: capsules are kept forever
	// Transcripts records branches as conversations. Redact is required with it.
	Transcripts bool
	// TranscriptTTL is how long recordings are kept after their last use, also
	// where Transcripts is off; 0: as long as their sessions.
	TranscriptTTL time.Duration
	// Extractor reads what no tool call states; nil: nothing is read, and no model
	// called. Redact is required with it.
	Extractor *Extractor
	Without   Ablation // for measurements
}

// Engine coordinates all sessions of a process. Safe for concurrent use.
type Engine struct {
	store    Store
	cfg      Config
	log      *slog.Logger
	metrics  *Metrics
	now      func() time.Time
	rec      *recorder
	scribe   *recording.Recorder // nil: nothing is recorded
	policies *policies
	audit    *auditor
	pool     *extraction.Pool // nil: nothing is extracted
	schema   []byte           // of the extractor's answers

	mu       sync.Mutex
	sessions map[sessionKey]*session
	content  content

	stop chan struct{}
	done sync.WaitGroup
	life context.Context // ends with Close: for reads that outlast their requests
	end  context.CancelFunc
}

type sessionKey struct {
	principal  holdfast.Principal
	agent, key string
}

// New starts an engine. Close must be called to flush and stop it.
func New(st Store, cfg Config, log *slog.Logger, m *Metrics, now func() time.Time) *Engine {
	e := &Engine{
		store: st, cfg: cfg, log: log, metrics: m, now: now,
		sessions: map[sessionKey]*session{}, stop: make(chan struct{}),
	}
	e.life, e.end = context.WithCancel(context.Background())
	e.rec = newRecorder(st, log, m)
	e.content = newContent()
	e.policies, e.audit = newPolicies(cfg), newAuditor(st, e.identify, log, now)
	if cfg.Transcripts {
		e.scribe = recording.New(st, recording.Config{
			Redact: cfg.Redact, Synthetic: e.synthetic, Exists: e.kept, TTL: cfg.TranscriptTTL,
			Count: func(outcome string) { m.transcripts.WithLabelValues(outcome).Inc() },
		}, log)
	}
	if x := cfg.Extractor; x != nil {
		e.schema = extract.Schema()
		e.pool = extraction.New(x.Claims, x.Config, m.extraction(), log, now)
	}
	e.done.Add(1)
	go e.sweep()
	return e
}

// Close writes what is queued and stops the engine. It is idempotent and waits
// at most until ctx ends.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	select {
	case <-e.stop:
	default:
		close(e.stop)
		e.end()
	}
	e.mu.Unlock()
	e.done.Wait()
	var late error
	if e.scribe != nil {
		late = e.scribe.Close(ctx)
	}
	if e.pool != nil {
		late = errors.Join(late, e.pool.Stop(ctx))
	}
	return errors.Join(late, e.audit.close(ctx), e.rec.close(ctx))
}

// newID makes a time-ordered identifier.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// sweep follows removals and edits, drops idle sessions from memory and expires old ones.
func (e *Engine) sweep() {
	defer e.done.Done()
	follow := time.NewTicker(500 * time.Millisecond)
	defer follow.Stop()
	var after, edited int64
	var expired time.Time
	// Removals from before this process are no news.
	if rs, err := e.store.Removals(context.Background(), 0); err == nil && len(rs) > 0 {
		after = rs[len(rs)-1].Seq
	}
	for {
		if now := e.now(); now.Sub(expired) >= time.Hour {
			expired = now
			e.expire(now)
		}
		select {
		case <-e.stop:
			return
		case <-follow.C:
		}
		rs, err := e.store.Removals(context.Background(), after)
		if err == nil {
			for _, r := range rs {
				after = r.Seq
				e.forget(r.Session)
			}
		}
		edited = e.followEdits(context.Background(), edited)
		e.dropIdle()
	}
}

// expire erases what has come of age. What the store refuses now is tried again
// with the next round.
func (e *Engine) expire(now time.Time) {
	for _, kind := range []struct {
		what  string
		ttl   time.Duration
		erase func(context.Context, time.Time) (int, error)
	}{
		{"sessions", e.cfg.TTL, e.store.Expire},
		{"recordings", e.cfg.TranscriptTTL, e.store.ExpireRecordings},
		{"audit entries", store.AuditRetention, e.store.ExpireNoted},
	} {
		if kind.ttl <= 0 {
			continue
		}
		if n, err := kind.erase(context.Background(), now.Add(-kind.ttl)); err == nil && n > 0 {
			e.log.Info(kind.what+" expired", "count", n)
		}
	}
}

// forget drops a session from memory, whatever is in flight on it.
func (e *Engine) forget(id holdfast.SessionID) {
	s := e.inMemory(id)
	if s == nil {
		return
	}
	s.mu.Lock()
	s.dead, s.erased = true, true
	e.unrecord(s)
	// Before a request may enter the key anew.
	e.content.forget(s.key)
	e.audit.forget(s.key)
	s.mu.Unlock()
	e.drop(s)
}

// dropIdle drops sessions that nothing uses; they are read back on return. It waits
// for none: one whose mutex is held is in use.
func (e *Engine) dropIdle() {
	e.mu.Lock()
	all := slices.Collect(maps.Values(e.sessions))
	e.mu.Unlock()
	now := e.now()
	for _, s := range all {
		limit := IdleTimeout
		if s.key.byContent() {
			limit = ContentIdleTimeout
		}
		e.dropUnused(s, now, limit)
	}
}

// dropUnused drops a session that nothing has used for limit, unless something of it
// waits to be written. A request that has found it already finds it dead, and enters
// it anew.
func (e *Engine) dropUnused(s *session, now time.Time, limit time.Duration) {
	if !s.mu.TryLock() {
		return
	}
	unused := s.unusedFor(now) >= limit && !e.rec.pending(s.row.ID)
	if unused {
		s.dead = true
		e.content.forget(s.key)
	}
	s.mu.Unlock()
	if unused {
		e.drop(s)
	}
}

// drop takes a dead session out, unless its key was entered anew.
func (e *Engine) drop(s *session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sessions[s.key] == s {
		delete(e.sessions, s.key)
	}
}
