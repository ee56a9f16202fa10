package extraction

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast"
)

// Pool does jobs. Safe for concurrent use.
type Pool struct {
	claims  Claims
	cfg     Config
	metrics Metrics
	log     *slog.Logger
	now     func() time.Time
	holder  string // this process

	queue chan Job
	ctx   context.Context // ends with Stop
	stop  context.CancelFunc
	done  sync.WaitGroup

	mu      sync.Mutex
	stopped bool
}

// New starts the workers. Stop must be called to end them.
func New(c Claims, cfg Config, metrics Metrics, log *slog.Logger, now func() time.Time) *Pool {
	ctx, stop := context.WithCancel(context.Background())
	p := &Pool{
		claims: c, cfg: cfg, metrics: metrics, log: log, now: now,
		holder: uuid.NewString(), queue: make(chan Job, cfg.Pending), ctx: ctx, stop: stop,
	}
	for range cfg.Workers {
		p.done.Go(p.work)
	}
	return p
}

// Put takes a job, or tells that it was skipped or dropped: then it has ended
// already, and Ended is not called.
func (p *Pool) Put(j Job) Outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	outcome := Dropped
	if !p.stopped {
		select {
		case p.queue <- j:
			outcome = Queued
		default:
			outcome = Skipped
		}
	}
	p.metrics.Job(outcome)
	p.metrics.Depth(len(p.queue))
	return outcome
}

// Stop ends all jobs and waits for that, at most until ctx ends. What waits is
// dropped. It is idempotent.
func (p *Pool) Stop(ctx context.Context) error {
	p.mu.Lock()
	if !p.stopped {
		p.stopped = true
		p.stop()
		close(p.queue)
	}
	p.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		p.done.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return holdfast.Errorf(holdfast.ErrUnavailable, "a call of the extractor did not end in time: %w", ctx.Err())
	}
}

func (p *Pool) work() {
	for j := range p.queue {
		p.metrics.Depth(len(p.queue))
		outcome := p.run(j)
		p.metrics.Job(outcome)
		j.Ended(outcome)
	}
}

// run does one job.
func (p *Pool) run(j Job) (outcome Outcome) {
	// A panic here is a defect of ours; the session goes on without this result.
	defer func() {
		if r := recover(); r != nil {
			p.log.Error("the extraction of a branch failed by a defect", "branch", j.For.Branch, "panic", fmt.Sprintf("%T", r))
			outcome = Failed
		}
	}()
	if p.ctx.Err() != nil || !j.Wanted() {
		return Dropped
	}
	ctx, cancel := context.WithTimeout(p.ctx, p.cfg.Timeout)
	defer cancel()
	now := p.now()
	claimed, err := p.claims.Claim(ctx, j.For.Branch, j.Mark, p.holder, now, now.Add(p.cfg.Timeout+time.Second))
	if err != nil {
		p.log.Warn("extraction failed", "where", "claim", "code", holdfast.CodeOf(err), "session", j.For.Session, "branch", j.For.Branch, "job", j.For.Job)
		return Failed
	}
	if !claimed {
		return Skipped
	}
	// The claim is given back even when the job was stopped.
	defer p.claims.Unclaim(context.WithoutCancel(ctx), j.For.Branch, j.Mark, p.holder) //nolint:errcheck // it ends by itself
	p.metrics.Job(Started)
	if outcome = j.Read(ctx); outcome == Failed && p.ctx.Err() != nil {
		return Dropped
	}
	return outcome
}
