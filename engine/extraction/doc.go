// Package extraction does the jobs of semantic extraction: a fixed pool of workers
// over a bounded queue, and the mark by which a server knows its own calls again.
// What a job reads and what becomes of it is the coordinator's. A query has one job at a
// time under the lease of its conversation, and needs neither: see engine/query.
//
// Nothing is stored but a claim: a branch and the message up to which a job reads,
// for as long as the job may take, so that neither a retry nor another process on
// the same store does it twice.
//
// # Laws
//
//   - Put never waits. A full queue skips the job, which is counted.
//   - A job ends once, by success or not, within its time; Stop ends all of them.
//   - A job that nobody wants any more does nothing.
//   - A job that panics has failed, and the workers go on.
//   - A claim is released when its job ends, so that a batch that failed can be tried
//     again.
package extraction

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Claims keep two processes from one job; see store.Claims.
type Claims interface {
	Claim(ctx context.Context, branch holdfast.BranchID, mark, holder string, now, until time.Time) (bool, error)
	Unclaim(ctx context.Context, branch holdfast.BranchID, mark, holder string) error
}

// Job is one batch of one branch.
type Job struct {
	For holdfast.Attempt // for whom it is done: its Branch is claimed, ids are logged
	// Mark names the batch among those of its branch.
	Mark string
	// Wanted reports whether the job's result still has a use. It is asked right
	// before Read.
	Wanted func() bool
	// Read does the work within the time of ctx, and tells what became of it: one of
	// those from OK on.
	Read func(ctx context.Context) Outcome
	// Ended is called once, behind Read.
	Ended func(Outcome)
}

// Outcome tells what became of a job.
type Outcome string

// The outcomes. The first four are those of Put and of the start.
const (
	Queued    Outcome = "queued"
	Coalesced Outcome = "coalesced" // it waits for the job of its branch that is under way
	Skipped   Outcome = "skipped"   // the queue was full, or another process has the job
	Started   Outcome = "started"
	OK        Outcome = "ok"
	Failed    Outcome = "failed"
	Stale     Outcome = "stale"   // it collided with something newer
	Dropped   Outcome = "dropped" // its session is gone, or the pool was stopped
)

// Config bounds the work.
type Config struct {
	Workers int           // at once, at least 1
	Pending int           // that wait, at least 1
	Timeout time.Duration // of one call
}

// Metrics counts. Its functions are called by many goroutines.
type Metrics struct {
	Job   func(Outcome)
	Depth func(waiting int)
}
