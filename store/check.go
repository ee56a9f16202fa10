package store

import (
	"io/fs"
	"time"
)

// CheckOptions says how a database is looked at, and brings what a store knows
// nothing of: how events and capsules are written.
type CheckOptions struct {
	// Full also compares every index with its table, which takes several times as
	// long.
	Full bool
	// Now is the time by which what ended long ago is told from what is under way.
	Now time.Time
	// Event reads the line of an event and tells its kind. Required; a kind that it
	// does not know is no error.
	Event func(line []byte) (kind string, err error)
	// Capsule reads the JSON form of a capsule. Required; stated is the digest that
	// it has, actual that of its content, "" where a newer version wrote it.
	Capsule func(data []byte) (stated, actual string, err error)
	// Progress is told of each step how much of it is done, once for each row and
	// by one goroutine; nil: nobody is. A total of 0 is not known.
	Progress func(step string, done, total int64)
}

// Report is what a check found. It holds no text of sessions.
type Report struct {
	Path   string
	Bytes  int64 // of the file and its log
	Schema int64 // version; 0: an empty file, or one that cannot be read
	Mode   fs.FileMode
	// DirectoryMode is that of the directory that the file is in.
	DirectoryMode fs.FileMode
	Tables        []TableCount // by name
	Findings      []Finding
	// Omitted are findings beyond the first hundred of one kind in one table.
	Omitted int
	// Partial tells that the file is damaged, so that its rows were neither counted
	// nor looked at.
	Partial bool
}

// TableCount is how many rows a table has.
type TableCount struct {
	Table string
	Rows  int64
}

// FindingKind tells findings apart, for programs.
type FindingKind string

// The kinds.
const (
	OpenToOthers   FindingKind = "open_to_others"  // the mode of a file or directory
	Damaged        FindingKind = "damaged"         // pages, or an index, in the database's own words
	Orphaned       FindingKind = "orphaned"        // rows of something that does not exist
	RemovedSession FindingKind = "removed_session" // it is there and among the removals
	LeftRecording  FindingKind = "left_recording"  // its session is gone
	BadDigest      FindingKind = "bad_digest"      // of the wrong length
	BadCapsule     FindingKind = "bad_capsule"     // unreadable, or with another digest than its content
	MissingEvents  FindingKind = "missing_events"  // a gap in a conversation
	WrongCounts    FindingKind = "wrong_counts"    // the head of a conversation disagrees with its events
	BadEvent       FindingKind = "bad_event"       // unreadable, or of another kind than its row says
	AbandonedLease FindingKind = "abandoned_lease" // it ended long ago
)

// Finding is one thing that is not as it should be.
type Finding struct {
	Kind  FindingKind
	Table string // "" where it is not about rows
	ID    string // of the row, or what the kind is about
	What  string // a sentence
	Next  string // what to do, a sentence
}
