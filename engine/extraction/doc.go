// Package extraction makes the calls of semantic extraction: a fixed pool of workers
// over a bounded queue. What is worth a call, what it is sent and what of its answer
// is believed is that of package continuity/extract; whose branch it is, and what
// becomes of the result, is the coordinator's.
//
// Nothing is stored but a claim: a branch and the message up to which a job reads,
// for as long as the job may take, so that neither a retry nor another process on
// the same store makes the call twice. Input and answer are never stored or logged;
// what is logged and counted is outcomes and numbers.
//
// # Laws
//
//   - Put never waits. A full queue skips the job, which is counted.
//   - A job ends once, by success or not, within its time; Stop ends all of them.
//   - A job whose session is gone makes no call, and merges nothing.
//   - Whatever a call brings, an error, prose or a panic, no state changes by it:
//     only what was parsed and grounded is merged, and only what is preserved.
//   - A claim is released when its job ends, so that a batch that failed can be tried
//     again.
package extraction

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
)

// Call is one call of the extractor's model.
type Call struct {
	Prompt extract.Prompt
	Schema []byte // of the answer; strict, where the provider takes one
	// For says for whom the call is made, as its record tells: caller, session,
	// branch, boundary, job, trace and agent.
	For holdfast.Attempt
}

// Model makes calls on the route of the extractor. It offers no tools, and is safe
// for concurrent use.
type Model interface {
	Extract(ctx context.Context, c Call) (extract.Answer, holdfast.Tokens, error)
}

// Claims keep two processes from one job; see store.Claims.
type Claims interface {
	Claim(ctx context.Context, branch holdfast.BranchID, mark, holder string, now, until time.Time) (bool, error)
	Unclaim(ctx context.Context, branch holdfast.BranchID, mark, holder string) error
}

// Job is one batch of one branch.
type Job struct {
	For   holdfast.Attempt
	Batch extract.Batch
	Keep  continuity.Preserve
	// Wanted reports whether the job's result still has a use. It is asked right
	// before the call.
	Wanted func() bool
	// Merge takes what was extracted and tells what became of it. It is called at
	// most once.
	Merge func(continuity.Delta) continuity.Outcome
	// Ended is called once, behind Merge.
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

// Metrics counts. Its functions are called by many goroutines; nothing of a session
// is told to them.
type Metrics struct {
	Job     func(Outcome)
	Depth   func(waiting int)
	Seconds func(float64)
	Tokens  func(holdfast.Tokens)
	Dropped func(reason extract.Reason, n int) // items, or a whole answer
}
