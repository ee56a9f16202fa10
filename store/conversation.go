package store

import (
	"context"
	"iter"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// StreamVersion is the version of the stream that this build writes: the JSON
// form of events, and what they mean to a projection. A conversation of a later
// one can be read, not written.
const StreamVersion = 1

// Conversation is the head of one append-only stream of events.
type Conversation struct {
	ID        holdfast.ConversationID
	Principal holdfast.Principal
	// Title may be empty.
	Title string
	// Origin tells how the stream came about.
	Origin ConversationOrigin
	// Agent is the agent whose session was recorded or imported; "" else.
	Agent string
	// Branch is the branch of a session whose turns are recorded here; "" else.
	// It is unique among a principal's conversations.
	Branch holdfast.BranchID
	// Parent and ParentSeq tell where a fork left another stream: behind the event
	// ParentSeq. The parent may be gone.
	Parent    holdfast.ConversationID
	ParentSeq int64
	// Version is the newest StreamVersion that it was written with: Create and
	// Append move it up to that of this build. A later one that is given to
	// Create, for a stream that a later build made, stays.
	Version   int
	Archived  bool
	CreatedAt time.Time
	// UsedAt is the time of the newest append, and never before CreatedAt. Times
	// are kept to the microsecond and come back in UTC.
	UsedAt time.Time

	// What follows is counted by the store and ignored when given.

	Head  int64 // sequence number of the newest event; 0: none
	Turns int   // events of the kind turn
	Bytes int64 // of all lines
}

// ConversationOrigin tells how a conversation came about.
type ConversationOrigin string

// The origins.
const (
	OwnConversation      ConversationOrigin = "own"      // by query
	ImportedConversation ConversationOrigin = "imported" // from a file
	RecordedConversation ConversationOrigin = "recorded" // a proxied session
)

// StoredEvent is an event of a stream as it is kept. ID, Kind and Line are never
// empty.
type StoredEvent struct {
	// Seq is its place, from 1 without gaps. The store gives it, and ignores it
	// when it is given.
	Seq  int64
	ID   holdfast.EventID // unique within the conversation
	Kind string           // as in the line
	At   time.Time
	// Line is the event's JSON text, without a line break. It comes back byte
	// for byte.
	Line []byte
}

// EventRange picks events of a stream.
type EventRange struct {
	After int64    // only what stands behind it; 0: from the beginning
	UpTo  int64    // only up to this one, inclusive; 0: to the end
	Kinds []string // only these; none: all
}

// ConversationChange changes what is told of a conversation; nil leaves as it is.
type ConversationChange struct {
	Title    *string
	Archived *bool
}

// Lease is the right to write to a conversation for a while. It keeps two
// programs from working on one conversation at once; what keeps the stream whole
// is that Append names the event that it goes behind.
type Lease struct {
	// Holder says to a person who holds it, such as "holdfast query, process 4711
	// on host a". It is no secret.
	Holder string
	// Token tells holders apart; it is given by the holder and never empty.
	Token string
	Until time.Time // it is in force before this
}

// Conversations keeps streams of events. A conversation of another principal
// does not exist: reads find nothing, writes fail with not_found.
//
// Laws, checked by storetest, the second by a benchmark of each store:
//   - Append writes all of its events or none, behind the event that it names;
//     when another one stands there by now it is refused with a conflict.
//   - The cost of an append does not grow with the stream.
//   - Lines come back byte for byte, in order.
//   - An append to a conversation of a later StreamVersion is refused with
//     newer_schema. Reading one is not.
//   - A removal takes all of it; nothing brings it back but a new one.
type Conversations interface {
	// Create writes a new conversation with its first events, numbered from 1,
	// and is used at the latest of UsedAt, CreatedAt and the last one's time. A
	// conflict says that its id or its Branch is taken, or an event id given
	// twice.
	Create(ctx context.Context, c Conversation, events []StoredEvent) error
	// Append writes events behind the event after (0: an empty stream), and moves
	// UsedAt to the last one's time where that is later. An event id that the
	// conversation has already is a conflict. Without events it is checked alike
	// and writes nothing.
	Append(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID, after int64, events []StoredEvent) error
	// List lists conversations, last used first, then by id, the greater first;
	// archived ones among them only where asked.
	List(ctx context.Context, p holdfast.Principal, archived bool) ([]Conversation, error)
	// Get reads the head of one, archived or not.
	Get(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID) (Conversation, error)
	// ByBranch reads the head of the one that records a branch; none records "".
	ByBranch(ctx context.Context, p holdfast.Principal, branch holdfast.BranchID) (Conversation, error)
	// Events yields events in order, as they are read: a long stream is never
	// held as a whole, and nothing of the store while the loop's body runs, which
	// may call it, write to the conversation, take its time and break off. It ends
	// behind the first error. What is appended meanwhile may or may not be seen,
	// and so may a removal.
	Events(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID, r EventRange) iter.Seq2[StoredEvent, error]
	// Change changes what is told of it, and not when it was used.
	Change(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID, c ConversationChange) error
	// Delete erases a conversation with all its events.
	Delete(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID) error
	// Hold takes or prolongs a lease at the time now. While another token's lease
	// is in force it changes nothing and returns that lease with a conflict that
	// names its holder; else it returns l as it is kept.
	Hold(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID, l Lease, now time.Time) (Lease, error)
	// Release ends the lease with a token, where it is still held; else it changes
	// nothing.
	Release(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID, token string) error
}
