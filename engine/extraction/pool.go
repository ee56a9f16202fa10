package extraction

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
)

// Pool makes calls. Safe for concurrent use.
type Pool struct {
	model   Model
	claims  Claims
	cfg     Config
	metrics Metrics
	log     *slog.Logger
	now     func() time.Time
	schema  []byte
	holder  string // this process

	queue chan Job
	ctx   context.Context // ends with Stop
	stop  context.CancelFunc
	done  sync.WaitGroup

	mu      sync.Mutex
	stopped bool
}

// New starts the workers. Stop must be called to end them.
func New(m Model, c Claims, cfg Config, metrics Metrics, log *slog.Logger, now func() time.Time) *Pool {
	ctx, stop := context.WithCancel(context.Background())
	p := &Pool{
		model: m, claims: c, cfg: cfg, metrics: metrics, log: log, now: now, schema: extract.Schema(),
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
	claimed, err := p.claims.Claim(ctx, j.For.Branch, j.Batch.Watermark, p.holder, now, now.Add(p.cfg.Timeout+time.Second))
	if err != nil {
		return p.failed(j, "claim", err)
	}
	if !claimed {
		return Skipped
	}
	// The claim is given back even when the job was stopped.
	defer p.claims.Unclaim(context.WithoutCancel(ctx), j.For.Branch, j.Batch.Watermark, p.holder) //nolint:errcheck // it ends by itself
	p.metrics.Job(Started)
	answer, tokens, err := p.model.Extract(ctx, Call{Prompt: j.Batch.Prompt(delimiter()), Schema: p.schema, For: j.For})
	p.metrics.Seconds(p.now().Sub(now).Seconds())
	p.metrics.Tokens(tokens)
	switch {
	case err != nil && p.ctx.Err() != nil:
		return Dropped
	case err != nil:
		return p.failed(j, "call", err)
	}
	found, dropped, reason := extract.Parse(answer, j.Batch.Base.Revision)
	p.count(dropped)
	if reason != "" {
		p.metrics.Dropped(reason, 1)
		return p.failed(j, "answer", errors.New(string(reason)))
	}
	delta, doubted := extract.Ground(j.Batch, found)
	p.count(doubted)
	if !j.Wanted() {
		return Dropped
	}
	switch j.Merge(j.Keep.Of(delta)) {
	case continuity.Merged:
		return OK
	case continuity.Stale:
		return Stale
	}
	return Dropped
}

func (p *Pool) count(counts extract.Counts) {
	for reason, n := range counts {
		p.metrics.Dropped(reason, n)
	}
}

// failed tells of a job that failed, without anything that its session or its
// provider said.
func (p *Pool) failed(j Job, where string, err error) Outcome {
	code := string(holdfast.CodeOf(err))
	if where == "answer" {
		code = err.Error() // one of the reasons of extract
	}
	if errors.Is(err, context.DeadlineExceeded) {
		code = "timeout"
	}
	p.log.Warn("extraction failed", "where", where, "code", code, "session", j.For.Session, "branch", j.For.Branch, "job", j.For.Job)
	return Failed
}

// delimiter is a word that no text of a session knows.
func delimiter() string { return "=" + rand.Text() }
