package store

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store/internal/refuse"
)

// Memory is a store that lasts as long as its process: a Writer, Reader, Keeper,
// Sweeper, Conversations, Keys, Attempts, Claims, Secrets and Audit. It never
// forgets a removal. Find, FindBlock and List read all that a principal has, and
// what reads attempts all of these.
type Memory struct {
	mu       sync.RWMutex
	sessions map[holdfast.SessionID]*memorySession
	// These keep ids unique over all sessions.
	keys       map[sessionKey]holdfast.SessionID
	branches   map[holdfast.BranchID]holdfast.SessionID
	boundaries map[holdfast.BoundaryID]holdfast.BranchID
	removed    map[holdfast.SessionID]bool
	removals   []Removal
	edits      []Edit
	lastEdit   int64

	streams    map[holdfast.ConversationID]*memoryStream
	recordings map[recordingKey]holdfast.ConversationID

	credentials map[holdfast.KeyID]Key
	attempts    map[holdfast.AttemptID]holdfast.Attempt
	claims      map[claimKey]claim
	secrets     map[string][]byte

	audit []AuditEntry // in the order in which they were written
}

type sessionKey struct {
	principal  holdfast.Principal
	agent, key string
}

type memorySession struct {
	Session
	branches map[holdfast.BranchID]*memoryBranch
}

type memoryBranch struct {
	Branch
	epochs     map[int]Epoch
	anchors    map[anchorKey]Anchor
	revisions  map[int]Revision
	boundaries map[holdfast.BoundaryID]Boundary
}

type anchorKey struct{ epoch, seq int }

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{
		sessions:   map[holdfast.SessionID]*memorySession{},
		keys:       map[sessionKey]holdfast.SessionID{},
		branches:   map[holdfast.BranchID]holdfast.SessionID{},
		boundaries: map[holdfast.BoundaryID]holdfast.BranchID{},
		removed:    map[holdfast.SessionID]bool{},
		streams:    map[holdfast.ConversationID]*memoryStream{},
		recordings: map[recordingKey]holdfast.ConversationID{},

		credentials: map[holdfast.KeyID]Key{},
		attempts:    map[holdfast.AttemptID]holdfast.Attempt{},
		claims:      map[claimKey]claim{},
		secrets:     map[string][]byte{},
	}
}

// Apply implements Writer.
func (m *Memory) Apply(ctx context.Context, batches []Batch) []error {
	errs := make([]error, len(batches))
	m.mu.Lock()
	defer m.mu.Unlock()
	late := gaveUp(ctx)
	refused := map[holdfast.SessionID]error{}
	for i, b := range batches {
		if late != nil {
			errs[i] = late
			continue
		}
		// A batch is checked whole before its first row is written: that makes
		// it atomic without an undo.
		if errs[i] = refused[b.Session.ID]; errs[i] == nil {
			errs[i] = m.checkSession(b.Session)
		}
		if errs[i] == nil {
			errs[i] = m.checkRows(b)
		}
		if refused[b.Session.ID] = errs[i]; errs[i] == nil {
			m.write(b)
		}
	}
	return errs
}

// gaveUp refuses a write whose context has ended.
func gaveUp(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return holdfast.Errorf(holdfast.ErrUnavailable, "nothing was written, the caller gave up first: %w", err)
	}
	return nil
}

func (m *Memory) checkSession(s Session) error {
	old, known := m.sessions[s.ID]
	if known {
		if old.Principal != s.Principal {
			return refuse.Gone(s.ID)
		}
		return nil
	}
	if s.CreatedAt.IsZero() || m.removed[s.ID] {
		return refuse.Gone(s.ID)
	}
	if _, taken := m.keys[sessionKey{s.Principal, s.Agent, s.Key}]; taken {
		return refuse.TakenKey(s.Agent, s.Key)
	}
	return nil
}

func (m *Memory) checkRows(b Batch) error {
	id := b.Session.ID
	fresh := map[holdfast.BranchID]bool{}
	for _, r := range b.Branches {
		if owner, known := m.branches[r.ID]; r.Session != id || known && owner != id {
			return refuse.Foreign(r.ID, id)
		}
		if old := m.branch(id, r.ID); old != nil && old.Epoch > r.Epoch {
			return refuse.Overtaken(r.ID, r.Epoch)
		}
		fresh[r.ID] = true
	}
	for branch := range b.touched() {
		if !fresh[branch] && m.branches[branch] != id {
			return refuse.Foreign(branch, id)
		}
	}

	type revisionKey struct {
		branch holdfast.BranchID
		n      int
	}
	given := map[revisionKey]Revision{}
	for _, r := range b.Revisions {
		key := revisionKey{r.Branch, r.N}
		old, known := given[key]
		if stored := m.branch(id, r.Branch); !known && stored != nil {
			old, known = stored.revisions[r.N]
		}
		if known && !sameContent(old, r) {
			return refuse.Rewritten(r.Branch, r.N)
		}
		given[key] = r
	}
	for _, r := range b.Revisions {
		before, known := given[revisionKey{r.Branch, r.N - 1}]
		stored := m.branch(id, r.Branch)
		if stored != nil {
			if _, again := stored.revisions[r.N]; again {
				continue
			}
			if !known {
				before, known = stored.revisions[r.N-1]
			}
		}
		if known && r.After != "" && r.After != before.Digest {
			return refuse.Missed(r.Branch, r.N)
		}
	}

	moved := map[holdfast.BoundaryID]holdfast.BranchID{}
	for _, r := range b.Boundaries {
		old, known := moved[r.ID]
		if !known {
			old, known = m.boundaries[r.ID]
		}
		if known && old != r.Branch {
			return refuse.Moved(r.ID, r.Branch)
		}
		moved[r.ID] = r.Branch
	}
	return nil
}

// touched is the set of branches that rows other than branches belong to.
func (b Batch) touched() map[holdfast.BranchID]bool {
	set := map[holdfast.BranchID]bool{}
	for _, r := range b.Epochs {
		set[r.Branch] = true
	}
	for _, r := range b.Anchors {
		set[r.Branch] = true
	}
	for _, r := range b.Revisions {
		set[r.Branch] = true
	}
	for _, r := range b.Boundaries {
		set[r.Branch] = true
	}
	return set
}

// sameContent leaves the time out: a retry may carry another, and who made it is not
// known to all that write it again.
func sameContent(a, b Revision) bool {
	return a.Epoch == b.Epoch && a.Seq == b.Seq && a.Digest == b.Digest && bytes.Equal(a.Capsule, b.Capsule)
}

func (m *Memory) write(b Batch) {
	s := m.writeSession(b.Session)
	for _, r := range b.Branches {
		r.CreatedAt, r.UsedAt = stored(r.CreatedAt), stored(r.UsedAt)
		if old := s.branches[r.ID]; old != nil {
			old.Branch = r
			continue
		}
		m.branches[r.ID] = s.ID
		s.branches[r.ID] = &memoryBranch{
			Branch:     r,
			epochs:     map[int]Epoch{},
			anchors:    map[anchorKey]Anchor{},
			revisions:  map[int]Revision{},
			boundaries: map[holdfast.BoundaryID]Boundary{},
		}
	}
	for _, r := range b.Epochs {
		r.OpenedAt = stored(r.OpenedAt)
		s.branches[r.Branch].epochs[r.N] = r
	}
	for _, r := range b.Anchors {
		of := s.branches[r.Branch].anchors
		if was, known := of[anchorKey{r.Epoch, r.Seq}]; known && was.Digest != r.Digest {
			maps.DeleteFunc(of, func(old anchorKey, _ Anchor) bool { return old.epoch == r.Epoch && old.seq >= r.Seq })
		}
	}
	for _, r := range b.Anchors {
		s.branches[r.Branch].anchors[anchorKey{r.Epoch, r.Seq}] = r
	}
	for _, r := range b.Revisions {
		if _, known := s.branches[r.Branch].revisions[r.N]; known {
			continue
		}
		if r.Edit {
			m.edited(s, r)
		}
		r.At, r.Capsule, r.After = stored(r.At), bytes.Clone(r.Capsule), ""
		s.branches[r.Branch].revisions[r.N] = r
	}
	for _, r := range b.Boundaries {
		r.At = stored(r.At)
		m.boundaries[r.ID] = r.Branch
		s.branches[r.Branch].boundaries[r.ID] = r
	}
}

func (m *Memory) writeSession(given Session) *memorySession {
	used := stored(later(given.CreatedAt, given.UsedAt))
	s := m.sessions[given.ID]
	if s == nil {
		s = &memorySession{Session: given, branches: map[holdfast.BranchID]*memoryBranch{}}
		s.CreatedAt, s.UsedAt = stored(given.CreatedAt), used
		m.sessions[s.ID] = s
		m.keys[sessionKey{s.Principal, s.Agent, s.Key}] = s.ID
	}
	s.UsedAt = later(s.UsedAt, used)
	return s
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// stored is t as every store keeps it.
func stored(t time.Time) time.Time { return time.UnixMicro(t.UnixMicro()).UTC() }

func (m *Memory) branch(s holdfast.SessionID, b holdfast.BranchID) *memoryBranch {
	if session := m.sessions[s]; session != nil {
		return session.branches[b]
	}
	return nil
}

// Load implements Keeper.
func (m *Memory) Load(ctx context.Context, p holdfast.Principal, id holdfast.SessionID) (SessionState, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.sessions[id]
	if s == nil || s.Principal != p {
		return SessionState{}, refuse.Gone(id)
	}
	return s.state(true), nil
}

func (s *memorySession) state(whole bool) SessionState {
	state := SessionState{Session: s.Session}
	for _, b := range s.ordered() {
		revisions := slices.SortedFunc(maps.Values(b.revisions), func(a, b Revision) int { return cmp.Compare(a.N, b.N) })
		for i := range revisions {
			r := &revisions[i]
			if r.Capsule = bytes.Clone(r.Capsule); !whole {
				r.Capsule, r.At = nil, time.Time{}
			}
		}
		state.Branches = append(state.Branches, BranchState{
			Branch: b.Branch,
			Epochs: slices.SortedFunc(maps.Values(b.epochs), func(a, b Epoch) int { return cmp.Compare(a.N, b.N) }),
			Anchors: slices.SortedFunc(maps.Values(b.anchors), func(a, b Anchor) int {
				return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Seq, b.Seq))
			}),
			Revisions:  revisions,
			Boundaries: slices.SortedFunc(maps.Values(b.boundaries), compareBoundaries),
		})
	}
	return state
}

// ordered lists the branches, oldest first.
func (s *memorySession) ordered() []*memoryBranch {
	return slices.SortedFunc(maps.Values(s.branches), func(a, b *memoryBranch) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}

func compareBoundaries(a, b Boundary) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
}

// Find implements Reader.
func (m *Memory) Find(ctx context.Context, p holdfast.Principal, digests []holdfast.Digest) ([]Hit, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	type found struct {
		branch *memoryBranch
		anchor Anchor
	}
	newest := map[holdfast.Digest]*found{}
	for _, d := range digests {
		newest[d] = nil
	}
	for b := range m.owned(p) {
		for _, a := range b.anchors {
			old, wanted := newest[a.Digest]
			if !wanted || !a.Strong {
				continue
			}
			if old == nil || cmp.Or(
				b.UsedAt.Compare(old.branch.UsedAt),
				b.CreatedAt.Compare(old.branch.CreatedAt),
				cmp.Compare(b.ID, old.branch.ID),
				cmp.Compare(a.Epoch, old.anchor.Epoch),
				cmp.Compare(a.Seq, old.anchor.Seq),
			) > 0 {
				newest[a.Digest] = &found{b, a}
			}
		}
	}
	var hits []Hit
	for _, d := range digests {
		if f := newest[d]; f != nil {
			hits = append(hits, Hit{Session: f.branch.Session, Anchor: f.anchor})
			newest[d] = nil
		}
	}
	return hits, nil
}

// FindBlock implements Reader.
func (m *Memory) FindBlock(ctx context.Context, p holdfast.Principal, digest string) (Hit, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var newest *Boundary
	for b := range m.owned(p) {
		for _, r := range b.boundaries {
			if r.Block == digest && digest != "" && r.Status != BoundaryFailed &&
				(newest == nil || compareBoundaries(*newest, r) < 0) {
				newest = &r
			}
		}
	}
	if newest == nil {
		return Hit{}, refuse.NoBlock(digest)
	}
	return Hit{
		Session: m.branches[newest.Branch],
		Anchor:  Anchor{Branch: newest.Branch, Epoch: newest.Epoch, Revision: newest.Revision},
	}, nil
}

// owned yields all branches of a principal, in no order.
func (m *Memory) owned(p holdfast.Principal) func(yield func(*memoryBranch) bool) {
	return func(yield func(*memoryBranch) bool) {
		for _, s := range m.sessions {
			if s.Principal != p {
				continue
			}
			for _, b := range s.branches {
				if !yield(b) {
					return
				}
			}
		}
	}
}

// Sessions implements Keeper.
func (m *Memory) Sessions(ctx context.Context, p holdfast.Principal) ([]SessionInfo, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var list []SessionInfo
	for _, s := range m.sessions {
		if s.Principal != p {
			continue
		}
		info := SessionInfo{Session: s.Session, Branches: len(s.branches)}
		for _, b := range s.ordered() {
			info.Revision = 0
			for n := range b.revisions {
				info.Revision = max(info.Revision, n)
			}
			for _, r := range b.boundaries {
				if r.Status == BoundaryCommitted {
					info.Epochs++
				}
			}
		}
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b SessionInfo) int {
		return cmp.Or(b.UsedAt.Compare(a.UsedAt), cmp.Compare(b.ID, a.ID))
	})
	return list, nil
}

// Remove implements Keeper.
func (m *Memory) Remove(ctx context.Context, p holdfast.Principal, id holdfast.SessionID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[id]
	if s == nil || s.Principal != p {
		return refuse.Gone(id)
	}
	m.remove(s)
	return nil
}

func (m *Memory) remove(s *memorySession) {
	for _, b := range s.branches {
		for id := range b.boundaries {
			delete(m.boundaries, id)
		}
		delete(m.branches, b.ID)
		key := recordingKey{s.Principal, b.ID}
		delete(m.streams, m.recordings[key])
		delete(m.recordings, key)
	}
	delete(m.keys, sessionKey{s.Principal, s.Agent, s.Key})
	delete(m.sessions, s.ID)
	m.forgetEdits(s)
	m.removed[s.ID] = true
	m.removals = append(m.removals, Removal{Seq: int64(len(m.removals) + 1), Session: s.ID})
}

// Removals implements Sweeper.
func (m *Memory) Removals(ctx context.Context, after int64) ([]Removal, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	from := min(max(after, 0), int64(len(m.removals)))
	return slices.Clone(m.removals[from:]), nil
}

// Expire implements Sweeper.
func (m *Memory) Expire(ctx context.Context, t time.Time) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var old []*memorySession
	for _, s := range m.sessions {
		if s.UsedAt.Before(stored(t)) {
			old = append(old, s)
		}
	}
	slices.SortFunc(old, func(a, b *memorySession) int {
		return cmp.Or(a.UsedAt.Compare(b.UsedAt), cmp.Compare(a.ID, b.ID))
	})
	for _, s := range old {
		m.remove(s)
	}
	return len(old), nil
}

// ExpireRecordings implements Sweeper.
func (m *Memory) ExpireRecordings(ctx context.Context, t time.Time) (n int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.streams {
		if s.Origin == RecordedConversation && s.UsedAt.Before(stored(t)) {
			m.drop(s)
			n++
		}
	}
	return n, nil
}
