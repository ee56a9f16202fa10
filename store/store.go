// Package store is the contract of what is durable, and an in-memory store
// that keeps it. A capsule must outlive the process, or a restart between two
// compactions would lose the plan.
//
// What is stored of sessions, per principal: their branches, the anchors by
// which a later history is recognised (digests only), every revision of a
// capsule, epochs with the block that a sticky delivery repeats, boundaries. Of
// the text of requests and answers a session holds only what a capsule does;
// whole texts are in conversations, whose contract is Conversations. What upstream
// calls took is in records of their own, whose contract is Attempts.
//
// Laws of sessions, checked for every implementation by storetest:
//   - A Batch is applied whole or not at all, in the order given.
//   - Applying the newest batch of a branch again changes nothing (a lost
//     acknowledgement is safe).
//   - A revision is written once: another content under the same number is
//     refused with a conflict, and nothing of that batch is written. So is one that
//     was made on another revision before it than the stored one.
//   - Behind a batch that is refused, those of the same session in the same call
//     are refused too: they were made on what was not written.
//   - A batch for a session that was removed is refused with not_found.
//   - With a session go the conversations that record its branches. Forks of
//     these stay.
//   - A branch never goes back: a row that has it in an earlier epoch than the
//     stored one is refused with a conflict.
//   - A row for a branch that is not of the batch's session, and a new session
//     under a key that is taken, are refused with a conflict: what the writer
//     has in mind is not what is stored.
//   - No read crosses principals.
//   - Times are kept to the microsecond and come back in UTC.
//
// What is removed, and when:
//
//	sessions with all their rows,
//	among them every revision            Remove; Expire by the last use
//	conversations, recorded              with their session; ExpireRecordings by the last use; Delete
//	conversations, own and imported      Delete only
//	leases                               Release; with their conversation
//	removals                             Expire, 30 days later at the earliest
//	keys                                 DeleteKey, once they are revoked
//
// All implementations are safe for concurrent use.
package store

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Session is one session of an agent.
type Session struct {
	ID        holdfast.SessionID
	Principal holdfast.Principal
	Agent     string // "" when unknown
	// Key is the agent's own id, or "run:NAME" when the path named it. It is
	// unique within (Principal, Agent).
	Key       string
	CreatedAt time.Time
	UsedAt    time.Time
}

// Branch is one lineage of history.
type Branch struct {
	ID      holdfast.BranchID
	Session holdfast.SessionID
	Thread  string // "" is the main thread
	// Parent and ParentRevision tell where a fork took its capsule from.
	Parent         holdfast.BranchID
	ParentRevision int
	Epoch          int // the newest epoch
	// Watermark names the newest message that extraction has read, or found to hold
	// nothing; "" for none.
	Watermark string
	// Round is how many anchors of the newest epoch stood before those of the newest
	// round.
	Round     int
	CreatedAt time.Time
	UsedAt    time.Time
}

// Epoch runs from one boundary of a branch to the next. Epoch 0 has no row
// until its branch is written.
type Epoch struct {
	Branch   holdfast.BranchID
	N        int
	Evidence holdfast.Digest // of the summary that opens it; zero in epoch 0
	// Revision is that of the capsule when it opened, or when Block was written anew
	// after an edit.
	Revision int
	// Block is the text that a sticky delivery repeats, byte for byte; empty
	// when the summary itself carries it or there is nothing to carry.
	Block string
	// Place is how many elements behind the summary it stands; 0: in that one.
	Place    int
	OpenedAt time.Time
}

// Anchor is one recognised piece of a branch's history.
type Anchor struct {
	Branch holdfast.BranchID
	Epoch  int
	Seq    int // position within the epoch, from 0, without gaps
	Digest holdfast.Digest
	// Strong anchors (call ids, long texts, opaque items, our block) identify a
	// history on their own; the others only in their place.
	Strong bool
	// Revision is that of the capsule once this anchor was read.
	Revision int
}

// Revision is one state of a branch's capsule.
type Revision struct {
	Branch holdfast.BranchID
	N      int // from 1
	Epoch  int
	// Seq is the number of anchors of the epoch that had been read.
	Seq    int
	Digest string
	// After is the digest of revision N-1, on which it was made; "", or where that one
	// is not stored: that is not checked. It comes back empty.
	After string
	// Edit tells that the person made it, and not what passed in the session.
	Edit bool
	// Capsule is its JSON form (holdfast.Capsule), with its own schema version.
	Capsule []byte
	At      time.Time
}

// BoundaryStatus is how far a compaction got.
type BoundaryStatus string

// The statuses. A boundary is discarded when the agent goes on without the summary
// that it was given.
const (
	BoundaryStarted   BoundaryStatus = "started"
	BoundaryCommitted BoundaryStatus = "committed"
	BoundaryFailed    BoundaryStatus = "failed"
	BoundaryDiscarded BoundaryStatus = "discarded"
)

// Boundary is one compaction of one branch.
type Boundary struct {
	ID       holdfast.BoundaryID
	Branch   holdfast.BranchID
	Epoch    int    // the epoch that it closes
	Row      string // of the agents table
	Status   BoundaryStatus
	Revision int             // of the capsule that it carries; 0: none
	Summary  holdfast.Digest // of the summary as the client received it
	Block    string          // digest of the block that was delivered; "": none
	At       time.Time
}

// Batch is what is written together. Rows replace older rows of the same key,
// except Revisions, which are written once.
type Batch struct {
	// Session is the session that all rows belong to. It is written when
	// CreatedAt is set and the row is new, and its UsedAt is moved forward.
	Session  Session
	Branches []Branch
	Epochs   []Epoch
	// Anchors replace those of the same branch, epoch and Seq. From the first that is
	// another than the stored one, the history went another way: what stood behind is
	// dropped. What another process wrote behind anchors that are the same, stays.
	Anchors    []Anchor
	Revisions  []Revision
	Boundaries []Boundary
}

// BranchState is a branch with what a process needs to go on with it.
type BranchState struct {
	Branch
	Epochs     []Epoch    // in order
	Anchors    []Anchor   // of all epochs, ordered by epoch and seq
	Revisions  []Revision // in order
	Boundaries []Boundary // in order of time
}

// SessionState is a session with all its branches, oldest first. In outline its
// Revisions are without Capsule and At: a long session has thousands of them, and a
// process goes on from few.
type SessionState struct {
	Session
	Branches []BranchState
}

// Head is how far a branch has come.
type Head struct {
	Branch   holdfast.BranchID
	Epoch    int // the newest
	Revision int // the newest; 0: none
	// Committed is when the newest committed boundary was that closes the newest epoch;
	// zero where none does.
	Committed time.Time
}

// Hit is a stored anchor or block found by its digest.
type Hit struct {
	Session holdfast.SessionID
	Anchor  Anchor // for a block: Branch, Epoch and Revision are set
}

// Removal names a removed session. Seq grows with every removal.
type Removal struct {
	Seq     int64
	Session holdfast.SessionID
}

// Edit names a revision that a person made. Seq grows with every edit.
type Edit struct {
	Seq      int64
	Session  holdfast.SessionID
	Branch   holdfast.BranchID
	Revision int
}

// SessionInfo is a session as a list shows it.
type SessionInfo struct {
	Session
	Branches int
	Epochs   int // boundaries that were carried through, all branches
	Revision int // the newest of the newest branch; 0: none
}

// Writer applies batches. Apply returns one error per batch, nil where it was
// written; the call fails as a whole only with a single non-nil error for all.
type Writer interface {
	Apply(ctx context.Context, batches []Batch) []error
}

// Reader finds what an engine needs, which waits for it in the way of requests: no
// method reads more capsules than the one that it is asked for. Errors carry holdfast
// codes: not_found, unavailable, newer_schema.
type Reader interface {
	// Session finds a session by the agent's own id, in outline.
	Session(ctx context.Context, p holdfast.Principal, agent, key string) (SessionState, error)
	// Outline reads a session by its id, in outline.
	Outline(ctx context.Context, p holdfast.Principal, id holdfast.SessionID) (SessionState, error)
	// Heads tells how far the branches of a session are, found by the agent's own id,
	// oldest first.
	Heads(ctx context.Context, p holdfast.Principal, agent, key string) ([]Head, error)
	// Revision reads revision n of a branch, whole.
	Revision(ctx context.Context, p holdfast.Principal, branch holdfast.BranchID, n int) (Revision, error)
	// Find looks anchors up among the strong ones of a principal and returns a
	// hit for each that is known, the newest where one is known more than once:
	// that of the branch used last, there the last in the history. Hits come in
	// the order of digests, one for a digest that is given twice.
	Find(ctx context.Context, p holdfast.Principal, digests []holdfast.Digest) ([]Hit, error)
	// FindBlock looks a delivered block up by its digest, among the boundaries
	// that did not fail; the newest when several delivered the same.
	FindBlock(ctx context.Context, p holdfast.Principal, digest string) (Hit, error)
}

// Keeper is what the commands use.
type Keeper interface {
	// Sessions lists sessions, last used first.
	Sessions(ctx context.Context, p holdfast.Principal) ([]SessionInfo, error)
	// Load reads one session by its id, whole.
	Load(ctx context.Context, p holdfast.Principal, id holdfast.SessionID) (SessionState, error)
	// Remove erases all of one session, with what is recorded of its branches, and
	// leaves only its Removal.
	Remove(ctx context.Context, p holdfast.Principal, id holdfast.SessionID) error
}

// Sweeper keeps a running server in step with removals and edits.
type Sweeper interface {
	// Removals lists removals behind a sequence number, oldest first.
	Removals(ctx context.Context, after int64) ([]Removal, error)
	// Edits lists the edits of sessions that exist behind a sequence number, oldest
	// first.
	Edits(ctx context.Context, after int64) ([]Edit, error)
	// Expire removes sessions that were last used before t, as Remove does, and
	// returns how many. It may forget removals that are older than 30 days.
	Expire(ctx context.Context, t time.Time) (int, error)
	// ExpireRecordings erases the conversations with the origin
	// RecordedConversation that were last used before t, of all principals,
	// archived ones too, and returns how many. Their sessions stay.
	ExpireRecordings(ctx context.Context, t time.Time) (int, error)
}
