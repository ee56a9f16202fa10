package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

const dollar = 1_000_000

func amount(dollars float64) *int64 { return new(int64(dollars * dollar)) }

// flat is a dollar for a million tokens of any kind, of every model but free ones.
func flat(_, model string) *holdfast.Price {
	switch model {
	case "unpriced":
		return nil
	case "free":
		return &holdfast.Price{}
	}
	return &holdfast.Price{Input: dollar, CacheRead: dollar, CacheWrite: dollar, Output: dollar}
}

// costing is an attempt of so many million tokens, which are as many dollars.
func costing(n int, c holdfast.Caller, millions int64) holdfast.Attempt {
	a := attempt(n)
	a.Principal, a.Label = c.Principal, c.Label
	a.Tokens = holdfast.Tokens{Input: new(millions * 1_000_000), Output: new(int64(0))}
	return a
}

// purse is a recorder with budgets over a store, at a time that the test sets.
type purse struct {
	*bench
	budgets *Budgets
	now     time.Time
}

func newPurse(t *testing.T, st *scripted, now time.Time, list ...Budget) *purse {
	t.Helper()
	p := &purse{now: now, bench: &bench{st: st}}
	log, m, clock := slog.New(slog.NewTextHandler(&p.log, nil)), NewMetrics(prometheus.NewRegistry()), func() time.Time { return p.now }
	var err error
	if p.budgets, err = NewBudgets(t.Context(), st, list, flat, log, m, clock); err != nil {
		t.Fatal(err)
	}
	p.Recorder = New(st, Config{Price: flat, Budgets: p.budgets}, log, m, clock)
	return p
}

// record records attempts that begin now, and waits until they are written.
func (p *purse) record(list ...holdfast.Attempt) {
	for _, a := range list {
		a.Began, a.Ended = p.now, p.now
		p.Record(a)
	}
	time.Sleep(2 * linger)
	synctest.Wait()
}

func refusal(err error) string {
	if err == nil {
		return "admitted"
	}
	return err.Error()
}

var (
	me    = holdfast.Caller{Principal: "me"}
	ci    = holdfast.Caller{Principal: "ci", Label: "nightly runs"}
	other = holdfast.Caller{Principal: "other"}
	// A Sunday, the last day but one of its month.
	sunday = time.Date(2026, 11, 29, 18, 0, 0, 0, time.UTC)
)

func TestABudgetAdmitsUntilItIsSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPurse(t, &scripted{Memory: store.NewMemory()}, sunday, Budget{Name: "mine", Principal: "me", Per: PerDay, Hard: amount(5)})
		defer p.stopped(t)
		for n := range 5 {
			if err := p.budgets.Admit(me, "u", "m"); err != nil {
				t.Fatalf("after %d dollars: %v", n, err)
			}
			p.record(costing(n, me, 1))
		}
		err := p.budgets.Admit(me, "u", "m")
		expect(t, refusal(err), "the budget mine of $5.00 a day is spent. It begins anew at 2026-11-30T00:00:00Z; whoever runs this server can raise its hard limit")
		expect(t, holdfast.CodeOf(err).HTTPStatus(), 402)
		expect(t, refusal(p.budgets.Admit(other, "u", "m")), "admitted")
		p.now = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
		expect(t, refusal(p.budgets.Admit(me, "u", "m")), "admitted")
		expect(t, p.budgets.States()[0].Spent, int64(0))
	})
}

// Agents do not wait for a record to be written before they call again.
func TestACallCountsBeforeItIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPurse(t, &scripted{Memory: store.NewMemory()}, sunday, Budget{Name: "mine", Principal: "me", Per: PerDay, Hard: amount(5)})
		defer p.stopped(t)
		admitted := 0
		for n := range 9 {
			if p.budgets.Admit(me, "u", "m") == nil {
				admitted++
			}
			a := costing(n, me, 1)
			a.Began, a.Ended = p.now, p.now
			p.Record(a)
			synctest.Wait()
		}
		expect(t, admitted, 5)
		written := func() int {
			list, err := p.st.Attempts(t.Context(), "", 100)
			expect(t, err, nil)
			return len(list)
		}
		expect(t, written(), 0)
		time.Sleep(2 * linger)
		synctest.Wait()
		expect(t, written(), 9)
		expect(t, p.budgets.States()[0].Spent, 9*dollar)
	})
}

func TestSeveralLimitsHoldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPurse(t, &scripted{Memory: store.NewMemory()}, sunday,
			Budget{Name: "all", Per: PerMonth, Hard: amount(10)},
			Budget{Name: "nights", Label: "nightly*", Per: PerDay, Hard: amount(3)},
			Budget{Name: "warned", Per: PerDay, Soft: amount(1)})
		defer p.stopped(t)
		p.record(costing(1, ci, 3))
		if got := refusal(p.budgets.Admit(ci, "u", "m")); !strings.HasPrefix(got, "the budget nights of $3.00 a day is spent. It begins anew at 2026-11-30") {
			t.Errorf("got %s", got)
		}
		expect(t, refusal(p.budgets.Admit(me, "u", "m")), "admitted")
		p.record(costing(2, me, 7))
		// Of two that are spent the one that stays so longest is told.
		if got := refusal(p.budgets.Admit(ci, "u", "m")); !strings.HasPrefix(got, "the budget all of $10.00 a month is spent. It begins anew at 2026-12-01") {
			t.Errorf("got %s", got)
		}
		var spent []int64
		for _, s := range p.budgets.States() {
			spent = append(spent, s.Spent/dollar)
		}
		expect(t, spent, []int64{10, 3, 10})
		if n := strings.Count(p.log.String(), "a budget is above its soft limit"); n != 1 {
			t.Errorf("%d warnings:\n%s", n, p.log.String())
		}
		p.now = p.now.Add(24 * time.Hour)
		p.record(costing(3, me, 2))
		if n := strings.Count(p.log.String(), "a budget is above its soft limit"); n != 2 {
			t.Errorf("%d warnings on the next day:\n%s", n, p.log.String())
		}
	})
}

func TestMoneyFailsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPurse(t, &scripted{Memory: store.NewMemory()}, sunday, Budget{Name: "mine", Principal: "me", Per: PerDay, Hard: amount(5)}, Budget{Name: "soft", Per: PerDay, Soft: amount(1)})
		defer p.stopped(t)
		expect(t, refusal(p.budgets.Admit(me, "u", "unpriced")),
			`no price is known of the model "unpriced" at "u", so the budget mine could not count the call. Set price in [models."unpriced"], 0 for what costs nothing`)
		expect(t, refusal(p.budgets.Admit(me, "u", "free")), "admitted")
		expect(t, refusal(p.budgets.Admit(me, "u", "")),
			`the budget mine could not count what the request costs at "u": it names no model that can be read, or asks for something else than an answer of one`)
		expect(t, refusal(p.budgets.Admit(other, "u", "")), "admitted")
		// Who has no hard limit may.
		expect(t, refusal(p.budgets.Admit(other, "u", "unpriced")), "admitted")
	})
}

// TestWhatIsNotToldIsCountedByItsSize: a caller who breaks each answer off has no
// usage, and would pay for nothing.
func TestWhatIsNotToldIsCountedByItsSize(t *testing.T) {
	four := int64(4_000_000)
	for _, tt := range []struct {
		name string
		of   func(*holdfast.Attempt)
		want int64 // dollars, at a million tokens each
	}{
		{"nothing was told", func(a *holdfast.Attempt) { a.Tokens = holdfast.Tokens{} }, 3},
		{"the input was told", func(a *holdfast.Attempt) { a.Tokens = holdfast.Tokens{Input: new(int64(5_000_000))} }, 6},
		{"all was told", func(a *holdfast.Attempt) {
			a.Tokens = holdfast.Tokens{Input: new(int64(5_000_000)), Output: new(int64(0))}
		}, 5},
		{"the provider declined", func(a *holdfast.Attempt) { a.Tokens, a.Status = holdfast.Tokens{}, 429 }, 0},
		{"no answer came", func(a *holdfast.Attempt) { a.Tokens, a.Status, a.Received = holdfast.Tokens{}, 0, 0 }, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPurse(t, &scripted{Memory: store.NewMemory()}, sunday, Budget{Name: "mine", Per: PerDay, Hard: amount(100)})
				defer p.stopped(t)
				a := attempt(1)
				a.Sent, a.Received, a.Status = 2*four, four, 200
				tt.of(&a)
				p.record(a)
				expect(t, p.budgets.States()[0].Spent, tt.want*dollar)
				// The same stands in the store.
				states, err := Spent(t.Context(), p.st, []Budget{{Name: "mine", Per: PerDay}}, p.now)
				if err != nil || states[0].Spent != tt.want*dollar {
					t.Errorf("stored: %+v, %v", states, err)
				}
			})
		})
	}
}

func TestNothingDriftsWhenAProcessEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &scripted{Memory: store.NewMemory()}
		budget := Budget{Name: "mine", Principal: "me", Per: PerMonth, Hard: amount(1000)}
		want := int64(0)
		for run := range 5 {
			p := newPurse(t, st, sunday, budget)
			expect(t, p.budgets.States()[0].Spent, want*dollar)
			for n := range 7 {
				p.record(costing(100*run+n, me, int64(n+1)))
				want += int64(n + 1)
			}
			p.Record(func() holdfast.Attempt {
				a := costing(100*run+50, me, 2) // counted only when it is written, at the end
				a.Began, a.Ended = p.now, p.now
				return a
			}())
			want += 2
			p.stopped(t)
			expect(t, p.budgets.States()[0].Spent, want*dollar)
		}
	})
}

func TestWhatAnotherProcessSpendsCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &scripted{Memory: store.NewMemory()}
		budget := Budget{Name: "mine", Principal: "me", Per: PerMonth, Hard: amount(5)}
		one, two := newPurse(t, st, sunday, budget), newPurse(t, st, sunday, budget)
		defer one.stopped(t)
		defer two.stopped(t)
		one.record(costing(1, me, 3))
		two.record(costing(2, me, 2))
		time.Sleep(2 * refreshPause)
		synctest.Wait()
		for _, p := range []*purse{one, two} {
			expect(t, p.budgets.States()[0].Spent, int64(5*dollar))
			if p.budgets.Admit(me, "u", "m") == nil {
				t.Error("admitted above the limit")
			}
		}
	})
}

func TestABudgetCountsWhileTheStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &scripted{Memory: store.NewMemory()}
		p := newPurse(t, st, sunday, Budget{Name: "mine", Principal: "me", Per: PerMonth, Hard: amount(5)})
		st.set(errors.New("full"), nil)
		for n := range 6 {
			p.record(costing(n, me, 1))
			time.Sleep(retryPause)
			synctest.Wait()
			expect(t, p.budgets.States()[0].Spent, int64(n+1)*dollar)
			expect(t, p.budgets.Admit(me, "u", "m") == nil, n+1 < 5)
		}
		st.set(nil, nil)
		time.Sleep(2*retryPause + 2*refreshPause)
		synctest.Wait()
		expect(t, p.budgets.States()[0].Spent, int64(6*dollar))
		p.stopped(t)
		spent, err := st.Spent(t.Context(), time.Time{})
		if err != nil || len(spent) != 1 || spent[0].Cost != 6*dollar {
			t.Errorf("written is %v, %v", spent, err)
		}
	})
}

func TestAStoreThatCannotBeReadStopsTheStart(t *testing.T) {
	_, err := NewBudgets(t.Context(), unreadable{}, []Budget{{Name: "b", Per: PerDay, Hard: amount(1)}}, flat, slog.New(slog.DiscardHandler), NewMetrics(prometheus.NewRegistry()), time.Now)
	if err == nil {
		t.Error("budgets without what is spent")
	}
}

type unreadable struct{}

func (unreadable) Spent(context.Context, time.Time) ([]store.Spending, error) {
	return nil, errors.New("disk")
}

func TestDollarsAreWritten(t *testing.T) {
	for micro, want := range map[int64]string{0: "$0.00", 5 * dollar: "$5.00", 12_340_000: "$12.34", 100: "$0.0001", 1: "$0.000001", 1_230_000_000_000: "$1230000.00"} {
		if got := Dollars(micro); got != want {
			t.Errorf("%d is %s, want %s", micro, got, want)
		}
	}
}

func TestPeriodsAreOfTheCalendarInUTC(t *testing.T) {
	zone := time.FixedZone("east", 5*3600)
	for _, tt := range []struct {
		per        Period
		at         time.Time
		from, next string
	}{
		{PerDay, time.Date(2026, 3, 1, 2, 0, 0, 0, zone), "2026-02-28", "2026-03-01"},
		{PerMonth, time.Date(2026, 3, 1, 2, 0, 0, 0, zone), "2026-02-01", "2026-03-01"},
		{PerMonth, time.Date(2026, 12, 31, 23, 59, 0, 0, time.UTC), "2026-12-01", "2027-01-01"},
		{PerDay, time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC), "2028-02-29", "2028-03-01"},
	} {
		from, next := tt.per.Span(tt.at)
		if got := fmt.Sprint(from.Format(time.DateOnly), " ", next.Format(time.DateOnly)); got != tt.from+" "+tt.next {
			t.Errorf("%s %s: got %s", tt.per, tt.at, got)
		}
	}
}
