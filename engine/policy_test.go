package engine

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// byAgent is a policy of one term, and counts how often it was asked.
func byAgent(asked *int) func(holdfast.Caller, string) Settings {
	return func(c holdfast.Caller, agent string) Settings {
		*asked++
		return Settings{Enabled: agent != "codex", Terms: []Term{{Key: "fork", Value: "empty", Global: "copy", Policy: agent + string(c.Principal) + c.Label}}}
	}
}

func TestWhatHoldsIsAskedForOncePerCallerAndAgentAndCostsNoMemoryAfterThat(t *testing.T) {
	asked := 0
	e := New(store.NewMemory(), Config{Policy: byAgent(&asked)}, slog.New(slog.DiscardHandler), NewMetrics(prometheus.NewRegistry()), time.Now)
	defer e.Close(context.Background())
	callers := []who{
		{holdfast.Caller{Principal: "a"}, "codex"},
		{holdfast.Caller{Principal: "a", Label: "x"}, "codex"},
		{holdfast.Caller{Principal: "b"}, "codex"},
		{holdfast.Caller{Principal: "a"}, "claude-code"},
	}
	request := func() {
		for _, c := range callers {
			set := e.policies.of(c.Caller, c.agent)
			if set.Terms[0].Policy != c.agent+string(c.Principal)+c.Label {
				t.Fatalf("%v has what holds for %s", c, set.Terms[0].Policy)
			}
			e.audit.note(sessionKey{c.Principal, c.agent, "s"}, c.Label, set, "id")
		}
	}
	request()
	if n := testing.AllocsPerRun(100, request); n >= 1 {
		t.Errorf("%v allocations", n)
	}
	if asked != len(callers) {
		t.Errorf("asked %d times for %d callers", asked, len(callers))
	}
}

// full refuses what is noted while it is full, and remembers what it wrote.
type full struct {
	*store.Memory
	full bool
}

func (f *full) Note(ctx context.Context, entries []store.AuditEntry) ([]store.AuditEntry, error) {
	if f.full {
		return nil, holdfast.Errorf(holdfast.ErrUnavailable, "the disk is full: %w", errors.ErrUnsupported)
	}
	return f.Memory.Note(ctx, entries)
}

func TestWhatCouldNotBeNotedIsNotedWithALaterRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		var log strings.Builder
		st := &full{store.NewMemory(), true}
		a := newAuditor(st, nil, slog.New(slog.NewTextHandler(&log, nil)), time.Now)
		set := byAgent(&asked)(holdfast.Caller{}, "codex")
		k := sessionKey{"a", "codex", "s"}
		for range 3 {
			a.note(k, "", &set, "id")
			synctest.Wait()
		}
		st.full = false
		for range 3 {
			a.note(k, "", &set, "id")
			synctest.Wait()
		}
		if err := a.close(t.Context()); err != nil {
			t.Error(err)
		}
		a.note(k, "", &Settings{Terms: set.Terms}, "id") // after the end: nothing
		list, err := st.Noted(t.Context(), "")
		if err != nil || len(list) != 1 || list[0].Session != "id" || list[0].From != "copy" || list[0].To != "empty" {
			t.Errorf("noted is %+v, %v", list, err)
		}
		for text, want := range map[string]int{"the audit is not written": 1, "the audit is written again": 1, "in force": 1} {
			if n := strings.Count(log.String(), text); n != want {
				t.Errorf("%q is said %d times, want %d", text, n, want)
			}
		}
	})
}

func TestEntriesOfTheAuditGoAfterAYear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		if _, err := st.Note(t.Context(), []store.AuditEntry{
			{At: time.Now(), Principal: "a", Session: "old", Policy: "p", Key: "fork", To: "empty"},
			{At: time.Now().Add(2 * time.Hour), Principal: "a", Session: "young", Policy: "p", Key: "fork", To: "empty"},
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(store.AuditRetention + time.Hour)
		e := New(st, Config{}, slog.New(slog.DiscardHandler), NewMetrics(prometheus.NewRegistry()), time.Now)
		synctest.Wait()
		if list, err := st.Noted(t.Context(), ""); err != nil || len(list) != 1 || list[0].Session != "young" {
			t.Errorf("left is %+v, %v", list, err)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// BenchmarkSettings is what a request pays for policies.
func BenchmarkSettings(b *testing.B) {
	asked := 0
	e := New(store.NewMemory(), Config{Policy: byAgent(&asked)}, slog.New(slog.DiscardHandler), NewMetrics(prometheus.NewRegistry()), time.Now)
	defer e.Close(context.Background())
	k, c := sessionKey{"a", "claude-code", "s"}, holdfast.Caller{Principal: "a", Label: "x"}
	b.ReportAllocs()
	for b.Loop() {
		e.audit.note(k, c.Label, e.policies.of(c, k.agent), "id")
	}
}
