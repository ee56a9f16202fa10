package ledger

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// MaxModel bounds the name of a model in a record, in bytes: clients choose it.
const MaxModel = 200

// queueLength is how many records wait when all is well, maxWaiting how many at
// most, of about 500 bytes each. A group is what one transaction writes; a record
// lingers for others to share it.
const (
	queueLength = 4096
	maxWaiting  = 64 << 10
	groupSize   = 256
	linger      = 200 * time.Millisecond
	retryPause  = time.Second
	sweepPause  = time.Hour
	// refreshPause is how long it may take until a budget counts what another
	// process spent.
	refreshPause = 5 * time.Second
)

// Store is what the ledger needs of a store; see store.Attempts.
type Store interface {
	AddAttempts(ctx context.Context, attempts []holdfast.Attempt) error
	ExpireAttempts(ctx context.Context, t time.Time) (int, error)
	BudgetStore
}

// Config is what a Recorder goes by.
type Config struct {
	// Price finds what a model costs at an upstream; nil where it is not known. It
	// is called by one goroutine, off the path of any request.
	Price func(upstream, model string) *holdfast.Price
	// TTL is how long a record is kept; 0: forever.
	TTL time.Duration
	// Budgets count what calls cost; nil: there are none.
	Budgets *Budgets
}

// Recorder writes records. One goroutine owns the writing. Safe for concurrent
// use.
type Recorder struct {
	st      Store
	cfg     Config
	log     *slog.Logger
	metrics *Metrics
	now     func() time.Time

	mu      sync.Mutex
	waiting []holdfast.Attempt
	settled int // so many of those that wait, the oldest; the owner's
	stopped bool
	crowded bool // it was said
	lost    int  // behind the end

	wake, full chan struct{} // of capacity one: there is something (more, where budgets count it), and a group of it
	stop       chan struct{}
	finished   chan struct{}
	ctx        context.Context // ends when nobody waits any more
	cancel     context.CancelFunc

	// The owner's: a group that is not written yet.
	group   []holdfast.Attempt
	failing bool
}

// New starts a recorder. Stop must be called to write what waits and end it.
func New(st Store, cfg Config, log *slog.Logger, m *Metrics, now func() time.Time) *Recorder {
	ctx, cancel := context.WithCancel(context.Background())
	r := &Recorder{
		st: st, cfg: cfg, log: log, metrics: m, now: now,
		wake: make(chan struct{}, 1), full: make(chan struct{}, 1),
		stop: make(chan struct{}), finished: make(chan struct{}), ctx: ctx, cancel: cancel,
	}
	go r.run()
	return r
}

// Record takes the record of an attempt that has ended. Its cost, and where it has
// none its price, are for the recorder to find. Behind Stop it is lost, and
// counted.
func (r *Recorder) Record(a holdfast.Attempt) {
	r.mu.Lock()
	n := len(r.waiting)
	lost := r.stopped || n >= maxWaiting
	if !lost {
		r.waiting = append(r.waiting, a)
	}
	said := r.crowded
	r.crowded = r.crowded || n >= queueLength
	r.mu.Unlock()
	switch {
	case lost:
		r.metrics.dropped.Inc()
	case n >= queueLength:
		r.metrics.late.Inc()
	case n == groupSize-1:
		signal(r.full)
	case n == 0 || r.counts():
		signal(r.wake)
	}
	if n >= queueLength && !said {
		r.log.Warn("usage records wait for the store, more than usual; they are kept", "waiting", n)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (r *Recorder) run() {
	defer r.end()
	sweep := time.NewTicker(sweepPause)
	defer sweep.Stop()
	var refresh <-chan time.Time
	if r.counts() {
		ticker := time.NewTicker(refreshPause)
		defer ticker.Stop()
		refresh = ticker.C
	}
	r.expire()
	for {
		select {
		case <-r.stop:
			r.flush(1)
			return
		case <-sweep.C:
			r.expire()
		case <-refresh:
			r.refreshBudgets()
		case <-r.wake:
			if r.linger() {
				r.flush(groupSize)
			}
		}
	}
}

// counts reports whether there are budgets.
func (r *Recorder) counts() bool { return r.cfg.Budgets != nil && len(r.cfg.Budgets.warned) > 0 }

// linger waits for others to share a transaction. What budgets count waits for nobody.
// ok is false when the recorder was stopped.
func (r *Recorder) linger() (ok bool) {
	timer := time.NewTimer(linger)
	defer timer.Stop()
	var more <-chan struct{}
	if r.counts() {
		more = r.wake
	}
	for {
		if more != nil {
			r.settleWaiting()
		}
		select {
		case <-timer.C:
			return true
		case <-r.full:
			return true
		case <-r.stop:
			return false
		case <-more:
		}
	}
}

// refreshBudgets reads what is spent, unless something is counted that is not
// written. What the store refuses is tried again; until then budgets go by what
// they know.
func (r *Recorder) refreshBudgets() {
	if len(r.group) > 0 || r.settled > 0 {
		return
	}
	if err := r.cfg.Budgets.refresh(r.ctx, r.st); err != nil {
		r.log.Warn("what other processes spent of budgets is not read yet", "code", holdfast.CodeOf(err))
	}
}

// end counts what is lost.
func (r *Recorder) end() {
	r.mu.Lock()
	r.lost = len(r.group) + len(r.waiting)
	r.group, r.waiting = nil, nil
	r.mu.Unlock()
	r.metrics.dropped.Add(float64(r.lost))
	close(r.finished)
}

// rest waits; ok is false when the recorder was stopped.
func (r *Recorder) rest(d time.Duration) (ok bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.stop:
		return false
	}
	return true
}

// flush writes a group, and further ones while at least so many records wait. A
// group that the store refuses is tried again until the recorder was stopped, then
// once more.
func (r *Recorder) flush(least int) {
	stopping := false
	for n := 1; r.take(n); {
		err := r.st.AddAttempts(r.ctx, r.group)
		r.note(err)
		switch {
		case err == nil:
			r.group, n = r.group[:0], least
		case stopping:
			return
		default:
			stopping = !r.rest(retryPause)
			r.settleWaiting() // budgets count them, however long the store fails
		}
	}
}

// take fills the group when so many records wait; ok is false when there is none.
// Fewer wait for others to come.
func (r *Recorder) take(least int) (ok bool) {
	if len(r.group) > 0 {
		return true
	}
	r.mu.Lock()
	n := min(len(r.waiting), groupSize)
	if n < least {
		if n > 0 {
			signal(r.wake)
		}
		n = 0
	}
	r.group = append(r.group, r.waiting[:n]...)
	if r.waiting = r.waiting[n:]; len(r.waiting) == 0 {
		r.waiting, r.crowded = nil, false
	}
	done := min(n, r.settled)
	r.settled -= done
	r.mu.Unlock()
	r.settleAll(r.group[done:])
	return n > 0
}

// settleWaiting settles what waits, in its place.
func (r *Recorder) settleWaiting() {
	r.mu.Lock()
	fresh := slices.Clone(r.waiting[r.settled:])
	r.mu.Unlock()
	r.settleAll(fresh)
	// Others only append meanwhile.
	r.mu.Lock()
	copy(r.waiting[r.settled:], fresh)
	r.settled += len(fresh)
	r.mu.Unlock()
}

func (r *Recorder) settleAll(list []holdfast.Attempt) {
	prices := map[priced]*holdfast.Price{}
	for i := range list {
		r.settle(&list[i], prices)
	}
}

// priced is what a price is of.
type priced struct{ upstream, model string }

// settle completes a record: what it cost goes with it from here on. prices are those
// that were looked up for its group.
func (r *Recorder) settle(a *holdfast.Attempt, prices map[priced]*holdfast.Price) {
	if len(a.Model) > MaxModel {
		a.Model = strings.ToValidUTF8(a.Model[:MaxModel], "")
	}
	role := string(a.Role)
	r.metrics.attempts.WithLabelValues(string(a.Outcome), string(a.Protocol), role).Inc()
	if a.Price == nil {
		of := priced{a.Upstream, a.Model}
		price, known := prices[of]
		if !known {
			price = r.cfg.Price(a.Upstream, a.Model)
			prices[of] = price
		}
		a.Price = price
	}
	if a.Price != nil {
		if a.Tokens.Input != nil || a.Tokens.Output != nil {
			a.Cost = new(a.Price.Cost(a.Tokens.Usage()))
			r.metrics.cost.WithLabelValues(role).Add(float64(*a.Cost))
		}
		a.Estimate = estimate(*a)
	}
	if a.Cost == nil && a.Estimate == nil {
		a.Price = nil // nothing was computed with it
	}
	r.cfg.Budgets.add(*a)
}

// estimate is what the tokens cost that were not told, at four bytes a token; nil
// where all were, or where the provider declined the call.
func estimate(a holdfast.Attempt) *int64 {
	const bytesPerToken = 4
	var missing holdfast.Usage
	if a.Tokens.Input == nil {
		missing.Input = (a.Sent + bytesPerToken - 1) / bytesPerToken
	}
	if a.Tokens.Output == nil {
		missing.Output = (a.Received + bytesPerToken - 1) / bytesPerToken
	}
	if missing == (holdfast.Usage{}) || a.Status >= 300 {
		return nil
	}
	return new(a.Price.Cost(missing))
}

// note counts what the store refused, and says once that it does and once that it
// no longer does.
func (r *Recorder) note(err error) {
	if err != nil {
		r.metrics.failures.Inc()
	}
	switch {
	case err != nil && !r.failing:
		r.failing = true
		r.log.Error("usage is not written, records wait and traffic goes on", "code", holdfast.CodeOf(err), "error", err.Error())
	case err == nil && r.failing:
		r.failing = false
		r.log.Info("usage is written again")
	}
}

// expire removes records that are kept no longer. What the store refuses is tried
// again at the next sweep.
func (r *Recorder) expire() {
	if r.cfg.TTL <= 0 {
		return
	}
	n, err := r.st.ExpireAttempts(r.ctx, r.now().Add(-r.cfg.TTL))
	switch {
	case err != nil:
		r.log.Warn("old usage records are not removed yet", "code", holdfast.CodeOf(err))
	case n > 0:
		r.log.Info("usage records expired", "count", n)
	}
}

// Stop writes what waits and ends the recorder. It is idempotent and waits at most
// until ctx ends. The error has the code unavailable and says how many records were
// lost.
func (r *Recorder) Stop(ctx context.Context) error {
	r.mu.Lock()
	if !r.stopped {
		r.stopped = true
		close(r.stop)
	}
	r.mu.Unlock()
	defer r.cancel()
	select {
	case <-r.finished:
	case <-ctx.Done():
		return holdfast.Errorf(holdfast.ErrUnavailable, "the last usage records were not written in time: %w", ctx.Err())
	}
	if r.lost > 0 {
		return holdfast.Errorf(holdfast.ErrUnavailable, "%d usage records could not be written and are lost; look after the database in the data directory", r.lost)
	}
	return nil
}
