package ledger

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// Period is the time for which a budget is given: a day or a month of the
// calendar, in UTC.
type Period string

// The periods.
const (
	PerDay   Period = "day"
	PerMonth Period = "month"
)

// Span is the period that a time is in: from begins it, next the one behind it.
func (p Period) Span(t time.Time) (from, next time.Time) {
	year, month, day := t.UTC().Date()
	if p == PerMonth {
		from = time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
		return from, from.AddDate(0, 1, 0)
	}
	from = time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	return from, from.AddDate(0, 0, 1)
}

// Budget bounds what callers spend together. Amounts are in millionths of a US
// dollar.
type Budget struct {
	Name string
	// Principal and Label pick the callers, where * stands for any text; "" is
	// anybody.
	Principal, Label string
	Per              Period
	// Soft is from where on a warning is given, Hard from where on calls are
	// refused; nil: nowhere. At least one is set.
	Soft, Hard *int64
}

// Covers reports whether the calls of a caller count.
func (b Budget) Covers(c holdfast.Caller) bool {
	return (b.Principal == "" || holdfast.Matches(b.Principal, string(c.Principal))) &&
		(b.Label == "" || holdfast.Matches(b.Label, c.Label))
}

// BudgetState is a budget and what is spent of it.
type BudgetState struct {
	Budget
	// Spent is what the calls that began in the period at hand cost, with the
	// estimates of what was not told, in millionths of a US dollar.
	Spent int64
	// Resets is when the next period begins.
	Resets time.Time
}

// Dollars is an amount in US dollars, with as many digits behind the point as it
// has, at least two.
func Dollars(micro int64) string {
	text := fmt.Sprintf("$%d.%06d", micro/1_000_000, micro%1_000_000)
	const cents = 4 // digits that may go
	return text[:len(text)-cents] + strings.TrimRight(text[len(text)-cents:], "0")
}

// Spent reads what is spent of budgets at a time.
func Spent(ctx context.Context, st BudgetStore, budgets []Budget, now time.Time) ([]BudgetState, error) {
	sums := map[time.Time][]store.Spending{}
	list := make([]BudgetState, len(budgets))
	for i, b := range budgets {
		from, next := b.Per.Span(now)
		if _, read := sums[from]; !read {
			spent, err := st.Spent(ctx, from)
			if err != nil {
				return nil, err
			}
			sums[from] = spent
		}
		list[i] = BudgetState{Budget: b, Resets: next}
		for _, s := range sums[from] {
			if b.Covers(s.Caller) {
				list[i].Spent += s.Cost
			}
		}
	}
	return list, nil
}

// BudgetStore is what budgets are read from; see store.Attempts.
type BudgetStore interface {
	Spent(ctx context.Context, since time.Time) ([]store.Spending, error)
}

// Budgets knows what is spent, and admits calls by it. What a call cost counts when
// it has ended: those that are under way when a limit is reached are not cut off.
// It is safe for concurrent use.
type Budgets struct {
	price   func(upstream, model string) *holdfast.Price
	log     *slog.Logger
	metrics *Metrics
	now     func() time.Time

	mu     sync.Mutex
	states []BudgetState
	warned []time.Time // by budget: the end of the period for which a warning was given
}

// NewBudgets reads what is spent so far. price finds what a model costs; nil where
// it is not known. With no budgets everything is admitted.
func NewBudgets(ctx context.Context, st BudgetStore, list []Budget, price func(upstream, model string) *holdfast.Price, log *slog.Logger, m *Metrics, now func() time.Time) (*Budgets, error) {
	b := &Budgets{price: price, log: log, metrics: m, now: now, warned: make([]time.Time, len(list))}
	for _, one := range list {
		b.states = append(b.states, BudgetState{Budget: one})
	}
	return b, b.refresh(ctx, st)
}

// Admit refuses a call that a budget has no money for, or that no budget with a hard
// limit could count: one of a model without a price, or of "", which is none that is
// known. The error has the code budget
// and names the budget, and when it begins anew. Of several that are spent it is
// the one that stays so longest.
func (b *Budgets) Admit(c holdfast.Caller, upstream, model string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.roll()
	var spent *BudgetState
	for i := range b.states {
		s := &b.states[i]
		if s.Hard == nil || !s.Covers(c) {
			continue
		}
		if model == "" {
			b.metrics.refused.WithLabelValues(s.Name).Inc()
			return holdfast.Errorf(holdfast.ErrBudget,
				"the budget %s could not count what the request costs at %q: it names no model that can be read, or asks for something else than an answer of one", s.Name, upstream)
		}
		if b.price(upstream, model) == nil {
			b.metrics.refused.WithLabelValues(s.Name).Inc()
			return holdfast.Errorf(holdfast.ErrBudget,
				"no price is known of the model %q at %q, so the budget %s could not count the call. Set price in [models.%q], 0 for what costs nothing", model, upstream, s.Name, model)
		}
		if s.Spent >= *s.Hard && (spent == nil || s.Resets.After(spent.Resets)) {
			spent = s
		}
	}
	if spent == nil {
		return nil
	}
	b.metrics.refused.WithLabelValues(spent.Name).Inc()
	return holdfast.Errorf(holdfast.ErrBudget,
		"the budget %s of %s a %s is spent. It begins anew at %s; whoever runs this server can raise its hard limit", spent.Name, Dollars(*spent.Hard), spent.Per, spent.Resets.Format(time.RFC3339))
}

// States is what is spent of each budget, in their order.
func (b *Budgets) States() []BudgetState {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.roll()
	return slices.Clone(b.states)
}

// add counts an attempt whose cost is settled.
func (b *Budgets) add(a holdfast.Attempt) {
	if b == nil || a.Cost == nil && a.Estimate == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.roll()
	for i := range b.states {
		s := &b.states[i]
		from, _ := s.Per.Span(b.now())
		if !s.Covers(holdfast.Caller{Principal: a.Principal, Label: a.Label}) || a.Began.Before(from) {
			continue
		}
		for _, part := range []*int64{a.Cost, a.Estimate} {
			if part != nil {
				s.Spent += *part
			}
		}
	}
	b.warn()
}

// refresh reads what is spent, of other processes too. It must not be called while
// an attempt is counted and not written.
func (b *Budgets) refresh(ctx context.Context, st BudgetStore) error {
	if b == nil || len(b.states) == 0 {
		return nil
	}
	list := make([]Budget, len(b.states))
	for i, s := range b.states {
		list[i] = s.Budget
	}
	states, err := Spent(ctx, st, list, b.now())
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.states = states
	b.warn()
	return nil
}

// roll begins new periods. b.mu is held.
func (b *Budgets) roll() {
	now := b.now()
	for i := range b.states {
		if s := &b.states[i]; !now.Before(s.Resets) {
			_, s.Resets = s.Per.Span(now)
			s.Spent = 0
		}
	}
}

// warn tells of soft limits, once in a period. b.mu is held.
func (b *Budgets) warn() {
	for i, s := range b.states {
		b.metrics.spent.WithLabelValues(s.Name).Set(float64(s.Spent))
		if s.Soft == nil || s.Spent < *s.Soft || b.warned[i].Equal(s.Resets) {
			continue
		}
		b.warned[i] = s.Resets
		b.log.Warn("a budget is above its soft limit", "budget", s.Name, "spent", Dollars(s.Spent), "soft", Dollars(*s.Soft), "resets", s.Resets.Format(time.RFC3339))
	}
}
