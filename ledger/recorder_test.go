package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// scripted is a store that can be made to fail and to hang.
type scripted struct {
	*store.Memory
	mu     sync.Mutex
	fail   error
	hang   chan struct{}
	groups []int // sizes of the groups that it took, in order
}

func (s *scripted) AddAttempts(ctx context.Context, list []holdfast.Attempt) error {
	s.mu.Lock()
	hang, fail := s.hang, s.fail
	s.mu.Unlock()
	if hang != nil {
		<-hang
	}
	if fail != nil {
		return fail
	}
	s.mu.Lock()
	s.groups = append(s.groups, len(list))
	s.mu.Unlock()
	return s.Memory.AddAttempts(ctx, list)
}

func (s *scripted) set(fail error, hang chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail, s.hang = fail, hang
}

func (s *scripted) sizes() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.groups)
}

// journal is a log that is read while it is written.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// bench is a recorder over a scripted store.
type bench struct {
	*Recorder
	st  *scripted
	log journal
}

func newBench(cfg Config) *bench {
	b := &bench{st: &scripted{Memory: store.NewMemory()}}
	if cfg.Price == nil {
		cfg.Price = func(string, string) *holdfast.Price { return nil }
	}
	b.Recorder = New(b.st, cfg, slog.New(slog.NewTextHandler(&b.log, nil)), NewMetrics(prometheus.NewRegistry()), time.Now)
	return b
}

// written are the ids in the store, the order of their beginnings reversed.
func (b *bench) written(t *testing.T) (ids []string) {
	t.Helper()
	list, err := b.st.Attempts(t.Context(), holdfast.Local, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		ids = append(ids, string(a.ID))
	}
	slices.Sort(ids)
	return ids
}

func (b *bench) stopped(t *testing.T) {
	t.Helper()
	if err := b.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func attempt(n int) holdfast.Attempt {
	return holdfast.Attempt{
		ID: holdfast.AttemptID(fmt.Sprintf("a%05d", n)), Began: time.Now(), Ended: time.Now(), Principal: holdfast.Local, Role: holdfast.PrimaryRole,
		Upstream: "u", Model: "m", Protocol: holdfast.Chat, Outcome: holdfast.OutcomeOK,
	}
}

// counted is the value of a counter, with those of all its labels.
func counted(t *testing.T, c prometheus.Collector) (n float64) {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(c)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			n += m.GetCounter().GetValue()
		}
	}
	return n
}

func expect[T any](t *testing.T, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-) and got (+) differ:\n%s", diff)
	}
}

func TestRecordsOfAFifthOfASecondAreOneGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(Config{})
		defer b.stopped(t)
		b.Record(attempt(1))
		time.Sleep(199 * time.Millisecond)
		b.Record(attempt(2))
		synctest.Wait()
		expect(t, b.written(t), nil)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		expect(t, b.written(t), []string{"a00001", "a00002"})
		expect(t, b.st.sizes(), []int{2})
	})
}

func TestAFullGroupIsWrittenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(Config{})
		defer b.stopped(t)
		for n := range 300 {
			b.Record(attempt(n))
		}
		synctest.Wait()
		expect(t, b.st.sizes(), []int{256})
		time.Sleep(200 * time.Millisecond) // the others wait for company
		synctest.Wait()
		expect(t, b.st.sizes(), []int{256, 44})
	})
}

func TestWhatTheStoreRefusesIsWrittenLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(Config{})
		defer b.stopped(t)
		b.st.set(holdfast.Errorf(holdfast.ErrUnavailable, "the disk is full"), nil)
		b.Record(attempt(1))
		time.Sleep(3 * time.Second)
		b.Record(attempt(2))
		b.st.set(nil, nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		expect(t, b.written(t), []string{"a00001", "a00002"})
		// At 0.2, 1.2 and 2.2 seconds; it is said once that it fails and once that it does not.
		expect(t, counted(t, b.metrics.failures), 3.0)
		expect(t, counted(t, b.metrics.attempts.WithLabelValues("ok", "chat", "primary")), 2.0)
		expect(t, strings.Count(b.log.String(), "level=ERROR"), 1)
		expect(t, strings.Count(b.log.String(), "usage is written again"), 1)
	})
}

func TestAFullQueueLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(Config{})
		hang := make(chan struct{})
		b.st.set(nil, hang)
		b.Record(attempt(0))
		time.Sleep(time.Second) // the store has the first one
		synctest.Wait()
		const late = 1000
		for n := range queueLength + late {
			b.Record(attempt(n + 1))
		}
		expect(t, counted(t, b.metrics.late), float64(late))
		expect(t, strings.Count(b.log.String(), "level=WARN"), 1)
		close(hang)
		b.stopped(t)
		expect(t, len(b.written(t)), queueLength+late+1)
		expect(t, counted(t, b.metrics.dropped), 0.0)
	})
}

func TestTheQueueHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(Config{})
		hang := make(chan struct{})
		b.st.set(nil, hang)
		b.Record(attempt(0))
		time.Sleep(time.Second)
		synctest.Wait()
		for n := range maxWaiting + 7 {
			b.Record(attempt(n + 1))
		}
		expect(t, counted(t, b.metrics.dropped), 7.0)
		close(hang)
		b.stopped(t)
		expect(t, len(b.written(t)), maxWaiting+1)
	})
}

func TestStop(t *testing.T) {
	t.Run("writes what waits, at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(Config{})
			for n := range 600 {
				b.Record(attempt(n))
			}
			began := time.Now()
			b.stopped(t)
			expect(t, time.Since(began), 0)
			expect(t, len(b.written(t)), 600)
			b.stopped(t)
		})
	})
	t.Run("what is recorded behind it is lost and counted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(Config{})
			b.stopped(t)
			b.Record(attempt(1))
			expect(t, counted(t, b.metrics.dropped), 1.0)
			b.stopped(t)
			expect(t, b.written(t), nil)
		})
	})
	t.Run("says how many records the store did not take", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(Config{})
			b.st.set(holdfast.Errorf(holdfast.ErrUnavailable, "the disk is full"), nil)
			for n := range 300 {
				b.Record(attempt(n))
			}
			for range 2 {
				err := b.Stop(t.Context())
				expect(t, fmt.Sprint(holdfast.CodeOf(err), ": ", err),
					"unavailable: 300 usage records could not be written and are lost; look after the database in the data directory")
			}
			expect(t, counted(t, b.metrics.dropped), 300.0)
		})
	})
	t.Run("waits no longer than it is told to", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(Config{})
			hang := make(chan struct{})
			b.st.set(nil, hang)
			b.Record(attempt(1))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			err := b.Stop(ctx)
			if !errors.Is(err, context.DeadlineExceeded) || holdfast.CodeOf(err) != holdfast.ErrUnavailable {
				t.Errorf("got %v", err)
			}
			expect(t, time.Since(began), time.Minute)
			close(hang)
		})
	})
}

func TestACostIsThatOfTheTokensThatAreKnown(t *testing.T) {
	list := func(upstream, model string) *holdfast.Price {
		if upstream != "u" || model != "m" {
			return nil
		}
		return &holdfast.Price{Input: 1_000_000, CacheRead: 100_000, CacheWrite: 2_000_000, Output: 10_000_000}
	}
	own := &holdfast.Price{Output: 1}
	for _, tt := range []struct {
		name  string
		given func(a *holdfast.Attempt)
		price *holdfast.Price
		cost  *int64
	}{
		{"all is known", func(a *holdfast.Attempt) {
			a.Tokens = holdfast.Tokens{Input: new(int64(1)), CacheRead: new(int64(10)), CacheWrite: new(int64(100)), Output: new(int64(1000)), Reasoning: new(int64(500))}
		}, list("u", "m"), new(int64(1 + 1 + 200 + 10_000))},
		{"nothing is known", func(*holdfast.Attempt) {}, nil, nil},
		{"the output is not known", func(a *holdfast.Attempt) { a.Tokens.Input = new(int64(7)) }, list("u", "m"), new(int64(7))},
		{"nothing was taken", func(a *holdfast.Attempt) { a.Tokens = holdfast.Tokens{Input: new(int64(0)), Output: new(int64(0))} }, list("u", "m"), new(int64(0))},
		{"the price is not known", func(a *holdfast.Attempt) { a.Model, a.Tokens.Input = "other", new(int64(7)) }, nil, nil},
		{"the record has a price of its own", func(a *holdfast.Attempt) { a.Price, a.Tokens.Output = own, new(int64(3_000_000)) }, own, new(int64(3))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(Config{Price: list})
			a := attempt(1)
			tt.given(&a)
			b.Record(a)
			b.stopped(t)
			got, err := b.st.Attempts(t.Context(), holdfast.Local, 9)
			if err != nil || len(got) != 1 {
				t.Fatal(got, err)
			}
			expect(t, got[0].Price, tt.price)
			expect(t, got[0].Cost, tt.cost)
			cost := 0.0
			if tt.cost != nil {
				cost = float64(*tt.cost)
			}
			expect(t, counted(t, b.metrics.cost.WithLabelValues("primary")), cost)
		})
	}
}

func TestTheNameOfAModelIsCut(t *testing.T) {
	b := newBench(Config{})
	a := attempt(1)
	a.Model = strings.Repeat("m", MaxModel-1) + "é"
	b.Record(a)
	b.stopped(t)
	got, err := b.st.Attempts(t.Context(), holdfast.Local, 9)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, got[0].Model, strings.Repeat("m", MaxModel-1))
}

func TestOldRecordsAreRemovedEachHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(Config{TTL: 90 * time.Minute})
		defer b.stopped(t)
		b.Record(attempt(1))
		time.Sleep(time.Hour)
		b.Record(attempt(2))
		time.Sleep(59 * time.Minute)
		expect(t, b.written(t), []string{"a00001", "a00002"})
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		expect(t, b.written(t), []string{"a00002"})
	})
}

func TestWithoutATTLRecordsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(Config{})
		defer b.stopped(t)
		b.Record(attempt(1))
		time.Sleep(200_000 * time.Hour)
		synctest.Wait()
		expect(t, b.written(t), []string{"a00001"})
	})
}

func TestAPriceIsLookedUpOnceForAGroup(t *testing.T) {
	var asked []string
	b := newBench(Config{Price: func(upstream, model string) *holdfast.Price {
		asked = append(asked, upstream+"/"+model)
		if model == "unknown" {
			return nil
		}
		return &holdfast.Price{Input: 1_000_000}
	}})
	for i, model := range []string{"m", "unknown", "m", "unknown", "m"} {
		a := attempt(i)
		a.Model, a.Tokens = model, holdfast.Tokens{Input: new(int64(7)), Output: new(int64(0))}
		b.Record(a)
	}
	b.stopped(t)
	expect(t, asked, []string{"u/m", "u/unknown"})
	list, err := b.st.Attempts(t.Context(), holdfast.Local, 9)
	if err != nil {
		t.Fatal(err)
	}
	costs := map[string][]*int64{}
	for _, a := range list {
		costs[a.Model] = append(costs[a.Model], a.Cost)
	}
	expect(t, costs, map[string][]*int64{"m": {new(int64(7)), new(int64(7)), new(int64(7))}, "unknown": {nil, nil}})
}

// BenchmarkRecord has a goal of 5 microseconds for one record.
func BenchmarkRecord(b *testing.B) {
	r := newBench(Config{Price: func(string, string) *holdfast.Price { return &holdfast.Price{Input: 1} }})
	a := attempt(1)
	a.Tokens = holdfast.Tokens{Input: new(int64(1)), Output: new(int64(1))}
	b.ReportAllocs()
	for b.Loop() {
		r.Record(a)
	}
	if err := r.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
}
