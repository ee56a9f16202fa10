package query_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
	"github.com/holdfast-dev/holdfast/engine/conversations"
	"github.com/holdfast-dev/holdfast/engine/query"
)

// oracle is an extractor that takes each line that begins with "Use" for a
// constraint.
type oracle struct {
	mu     sync.Mutex
	sent   []string                    // what of the conversation each call was sent
	jobs   []string                    // as they are named
	before func(context.Context) error // in each call
	answer *extract.Answer             // in place of a good one; REVISION stands for the one asked for
	most   int                         // constraints in an answer, beyond which it breaks off; 0: any
}

var baseRevision = regexp.MustCompile(`base_revision is (\d+)`)

func (o *oracle) Ask(ctx context.Context, p extract.Prompt, job string) (extract.Answer, holdfast.Usage, error) {
	o.mu.Lock()
	_, data, _ := strings.Cut(p.Data, "\n\n") // behind the record
	o.sent, o.jobs = append(o.sent, data), append(o.jobs, job)
	before, answer := o.before, o.answer
	o.mu.Unlock()
	if before != nil {
		if err := before(ctx); err != nil {
			return extract.Answer{}, holdfast.Usage{}, err
		}
	}
	usage := holdfast.Usage{Model: "tiny", Input: 7, Output: 1}
	base := baseRevision.FindStringSubmatch(p.System)[1]
	if answer != nil {
		return extract.Answer{Text: strings.ReplaceAll(answer.Text, "REVISION", base), Calls: answer.Calls}, usage, nil
	}
	var items []string
	for line := range strings.Lines(data) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "Use") {
			items = append(items, fmt.Sprintf(`{"statement":%q,"quote":%q}`, line, line))
		}
	}
	if o.most > 0 && len(items) > o.most {
		return extract.Answer{Text: `{"schema_version":1,`, Cut: true}, usage, nil
	}
	return extract.Answer{Text: fmt.Sprintf(`{"schema_version":1,"base_revision":%s,"constraints":[%s]}`, base, strings.Join(items, ","))}, usage, nil
}

// calls are the messages that were sent, a line each, without what is around them.
func (o *oracle) calls() (list []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, data := range o.sent {
		var lines []string
		for line := range strings.Lines(data) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "=") {
				lines = append(lines, line)
			}
		}
		list = append(list, strings.Join(lines, " | "))
	}
	return list
}

// read lets a world be read by an oracle.
func (w *world) read() *oracle {
	o := &oracle{}
	w.cfg.Extraction = &query.Extraction{
		Ask: o.Ask, Preserve: continuity.All, InputTokens: 12_000, Ratio: 1, Timeout: 8 * time.Second, Barrier: 2 * time.Second,
		Waiting: func(yes bool) { w.screen.lines = append(w.screen.lines, fmt.Sprint("waiting ", yes)) },
	}
	return o
}

// capsule is the newest of the stream.
func (w *world) capsule() (c holdfast.Capsule) {
	for _, e := range w.l.Entries {
		if record, ok := e.Event.(holdfast.Continuity); ok {
			c = record.Capsule
		}
	}
	return c
}

func (w *world) wantConstraints(want ...string) {
	w.t.Helper()
	var got []string
	for _, c := range w.capsule().Constraints {
		if c.Status == holdfast.FactActive {
			got = append(got, c.Statement)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("the constraints (-want +got):\n%s", diff)
	}
}

func (w *world) asks(text string) {
	w.t.Helper()
	if _, err := w.ask(w.t.Context(), text); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) notices() (list []string) {
	for _, line := range w.screen.lines {
		if rest, ok := strings.CutPrefix(line, "! "); ok {
			list = append(list, rest)
		}
	}
	return list
}

func TestWhatIsSaidInProseIsReadBesideTheModelsCall(t *testing.T) {
	w := newWorld(t)
	o := w.read()
	// Each of the two calls ends only when the other one is under way.
	model, extractor := make(chan struct{}), make(chan struct{})
	o.before = func(context.Context) error { close(extractor); <-model; return nil }
	first := says("Fine.")
	first.before = func() {
		w.wantStored("turn", "user", "continuity 1")
		close(model)
		<-extractor
	}
	w.model.replies = []reply{first}
	w.asks("Use port 5433, the password is hunter2.")
	w.wantStored("turn", "user", "continuity 1", "assistant Fine.", "usage", "continuity 2")
	w.wantConstraints("Use port 5433, the password is [redacted].")
	if c := w.capsule(); c.Watermark != string(w.l.Entries[1].ID) || c.Constraints[0].Evidence.Turn != 1 {
		t.Errorf("the capsule is %+v", c)
	}
	want := holdfast.Usage{Purpose: holdfast.ForExtraction, Model: "tiny", Input: 7, Output: 1}
	if got := w.l.Entries[4].Event; got != want {
		t.Errorf("it took %+v", got)
	}
	if diff := cmp.Diff([]string{"c/" + string(w.l.Entries[1].ID)}, o.jobs); diff != "" {
		t.Errorf("the jobs: %s", diff)
	}
	if strings.Contains(fmt.Sprint(o.sent), "hunter2") {
		t.Errorf("a secret was sent: %s", o.sent)
	}
}

func TestWhatIsReadByACallAndWhatIsNot(t *testing.T) {
	offer := "This is the plan:\n1. Read the store\n2. Write the migration\n"
	for _, tt := range []struct {
		name  string
		turns [][2]string // what is asked, and answered
		want  []string    // the messages of each call
	}{
		{"nothing that could be anything", [][2]string{{"Continue", "I do."}, {"Go on", "I do."}}, nil},
		{"each message once", [][2]string{{"Use tabs.", "Yes."}, {"Use LF.", "Yes."}}, []string{"Use tabs.", "Yes. | Use LF."}}, // what a short one answers goes with it
		{
			"what held nothing is not sent later",
			[][2]string{{"Continue", "I do."}, {"Use tabs.", "Yes."}, {"Go on", "I do."}},
			[]string{"I do. | Use tabs."},
		},
		{
			"a plan of the model with the answer to it",
			[][2]string{{"Continue", offer}, {"Yes, do that", "Yes."}},
			[]string{"This is the plan: | 1. Read the store | 2. Write the migration | Yes, do that"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			o := w.read()
			for _, turn := range tt.turns {
				w.model.replies = append(w.model.replies, says(turn[1]))
				w.asks(turn[0])
			}
			if diff := cmp.Diff(tt.want, o.calls()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if n := w.notices(); len(n) > 0 {
				t.Errorf("notices %q", n)
			}
		})
	}
}

func TestACallThatFindsNothingIsNotPaidForAgain(t *testing.T) {
	w := newWorld(t, says("Yes."), says("Yes."))
	o := w.read()
	w.asks("Tabs look nicer.")
	w.wantStored("turn", "user", "continuity 1", "assistant Yes.", "usage", "continuity 1")
	w.asks("Continue")
	if diff := cmp.Diff([]string{"Tabs look nicer."}, o.calls()); diff != "" {
		t.Error(diff)
	}
}

func TestTheEndOfATurnWaitsForACallNotForLong(t *testing.T) {
	slow := func(d time.Duration) func(context.Context) error {
		return func(ctx context.Context) error {
			select {
			case <-time.After(d):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	const late = "the extractor has not read all that was said: its call did not end in the 2s that a turn waits for it, the barrier_timeout. The next query goes on there"
	for _, tt := range []struct {
		name    string
		takes   time.Duration // the call
		barrier time.Duration
		waits   time.Duration
		found   bool
		shown   []string
	}{
		{"a quick one", 900 * time.Millisecond, 2 * time.Second, 900 * time.Millisecond, true, nil},
		{"one that is waited for", 1500 * time.Millisecond, 2 * time.Second, 1500 * time.Millisecond, true, []string{"waiting true", "waiting false"}},
		{"one that takes too long", 5 * time.Second, 2 * time.Second, 2 * time.Second, false, []string{"waiting true", "waiting false", "! " + late}},
		{"where nothing waits", time.Millisecond, 0, 0, false, []string{"! " + strings.Replace(late, "2s", "0s", 1)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, says("Yes."))
				o := w.read()
				o.before, w.cfg.Extraction.Barrier = slow(tt.takes), tt.barrier
				start := time.Now()
				w.asks("Use tabs.")
				if took := time.Since(start); took != tt.waits {
					t.Errorf("it waited %s, want %s", took, tt.waits)
				}
				if found := len(w.capsule().Constraints) > 0; found != tt.found {
					t.Errorf("found: %v", found)
				}
				if diff := cmp.Diff(append([]string{"~Yes.", "Yes.", "."}, tt.shown...), w.screen.lines); diff != "" {
					t.Errorf("the screen (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestThePersonEndsAWaitAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, says("Yes."))
		o := w.read()
		o.before = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		w.cfg.Extraction.Barrier = time.Minute
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(300 * time.Millisecond)
			cancel()
		}()
		start := time.Now()
		answer, err := w.ask(ctx, "Use tabs.")
		if err != nil || answer.Text != "Yes." {
			t.Errorf("%+v, %v", answer, err)
		}
		if took := time.Since(start); took != 300*time.Millisecond || len(w.notices()) > 0 {
			t.Errorf("it took %s, with the notices %q", took, w.notices())
		}
	})
}

// A compaction that is due is left to the next turn: the person wants no more now.
func TestNothingIsCompactedBehindAWaitThatWasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		o := w.read()
		w.tools = bigTools{}
		w.cfg.Trigger = trigger(compaction.ByTurn)
		w.cfg.Extraction.Barrier = time.Minute
		for _, text := range []string{"Continue", "Use tabs."} {
			for i := range 3 {
				r := wants(read(fmt.Sprint(i)))
				r.Usage = holdfast.Usage{Model: "m", Input: 1}
				w.model.replies = append(w.model.replies, r)
			}
			w.model.replies = append(w.model.replies, says("Yes."))
			if text == "Continue" {
				w.asks(text)
			}
		}
		o.before = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(300 * time.Millisecond)
			cancel()
		}()
		if answer, err := w.ask(ctx, "Use tabs."); err != nil || answer.Text != "Yes." {
			t.Errorf("%+v, %v", answer, err)
		}
		if n := w.notices(); len(n) > 0 {
			t.Errorf("notices %q", n)
		}
		o.before = nil
		w.model.replies = append(w.model.replies, says("Yes."))
		w.asks("Continue")
		if n := w.notices(); len(n) != 1 || !strings.HasPrefix(n[0], "compacted ") {
			t.Errorf("notices of the next turn %q", n)
		}
		w.wantConstraints("Use tabs.")
	})
}

func TestAResultComesBetweenTwoCallsOfTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.read()
		first := wants(plan("1", `{"step":"Read","status":"in_progress"}`))
		first.before = synctest.Wait // the extractor is done
		w.model.replies = []reply{first, says("Yes.")}
		w.asks("Use tabs.")
		w.wantStored("turn", "user", "continuity 1", "tool_call", "tool_result 1 false [Plan updated]", "usage", "continuity 2", "assistant Yes.")
		w.wantConstraints("Use tabs.")
		if p := w.capsule().Plan; p == nil || p.Steps[0].Text != "Read" {
			t.Errorf("the plan is %+v", p)
		}
	})
}

// trigger compacts whole turns above some 1,000 tokens.
func trigger(granularity compaction.Granularity) *conversations.Trigger {
	config := compaction.DefaultAuto()
	config.Enabled, config.Granularity, config.MinTurns, config.Rule.KeepFirst, config.Rule.KeepLast = true, granularity, 1, compaction.Count(0), compaction.Count(1)
	return &conversations.Trigger{Config: config, Window: func(string) int64 { return 8000 }}
}

func TestACompactionWaitsForWhatIsNotRead(t *testing.T) {
	for _, tt := range []struct {
		name  string
		takes time.Duration
		want  bool // the choice reaches the compaction
	}{
		{"as long as it takes", 1500 * time.Millisecond, true},
		{"not for longer than the barrier", time.Minute, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				o := w.read()
				w.cfg.Extraction.Timeout = 5 * time.Minute
				o.before = func(ctx context.Context) error {
					select {
					case <-time.After(tt.takes):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				w.tools = bigTools{}
				w.cfg.Trigger = trigger(compaction.ByEvent)
				w.model.replies = []reply{says("Yes.")}
				w.asks("Continue")
				// Six results of some 2,500 tokens are more than the newest events that
				// stay and the threshold: it fires in a gap.
				for i := range 6 {
					r := wants(read(fmt.Sprint(i)))
					r.Usage = holdfast.Usage{Model: "m", Input: 1}
					w.model.replies = append(w.model.replies, r)
				}
				w.model.replies = append(w.model.replies, says("Done."))
				w.asks("Use tabs.")
				stood := false
				at := -1
				for i, e := range w.l.Entries {
					if c, ok := e.Event.(holdfast.Continuity); ok && len(c.Capsule.Constraints) > 0 {
						stood = true
					}
					if _, ok := e.Event.(holdfast.Overlay); ok {
						at = i
						break
					}
				}
				if at < 0 || stood != tt.want {
					t.Errorf("the first compaction is at %d; before it the choice is there: %v", at, stood)
				}
				if got := strings.Contains(fmt.Sprint(w.model.calls[len(w.model.calls)-1].Events), "## Constraints"); got != tt.want {
					t.Errorf("the last call has the choice in the record: %v", got)
				}
			})
		})
	}
}

func TestWhatATurnLeftIsReadBeforeTheFirstCallBehindACompaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, says("Yes."), says("Yes."))
		o := w.read()
		o.before = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		w.asks("Use tabs.")
		w.wantConstraints()
		if err := w.s.Append(t.Context(), &w.l, holdfast.Overlay{Source: holdfast.ManualOverlay, Summary: &holdfast.Summary{Text: "They talked.", Origin: holdfast.AuthoredSummary}}); err != nil {
			t.Fatal(err)
		}
		o.before = func(context.Context) error { time.Sleep(time.Second / 2); return nil }
		w.asks("Use LF.")
		w.wantConstraints("Use tabs.", "Use LF.")
		sent := fmt.Sprint(w.model.calls[1].Events)
		if i := strings.Index(sent, "## Constraints"); i < 0 || !strings.Contains(sent[i:], "Use tabs.") {
			t.Errorf("the first call:\n%s", sent)
		}
	})
}

// A call is not made for every few words; a compaction that has taken them out of sight
// is reason enough.
func TestWhatIsSaidGathersUntilACallIsWorthIt(t *testing.T) {
	for _, tt := range []struct {
		name    string
		between holdfast.Event
		answer  string
		calls   int
	}{
		{"little was said", nil, "Yes.", 0},
		{"the conversation has grown", nil, strings.Repeat("It is a long story. ", 2000), 1},
		{"a compaction has hidden it", holdfast.Overlay{Source: holdfast.ManualOverlay, Summary: &holdfast.Summary{Text: "They talked.", Origin: holdfast.AuthoredSummary}}, "Yes.", 1},
		{"a compaction shows it", holdfast.Overlay{Source: holdfast.ManualOverlay, StripReasoning: true}, "Yes.", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, says(tt.answer), says("Yes."))
				o := w.read()
				w.cfg.Extraction.Ratio = 0.1
				w.asks("Use tabs.")
				if n := len(o.jobs); n != 0 {
					t.Fatalf("%d calls for the first words", n)
				}
				if tt.between != nil {
					if err := w.s.Append(t.Context(), &w.l, tt.between); err != nil {
						t.Fatal(err)
					}
				}
				w.asks("Use LF.")
				if n := len(o.jobs); n != tt.calls {
					t.Errorf("%d calls, want %d", n, tt.calls)
				}
				if tt.calls > 0 {
					w.wantConstraints("Use tabs.", "Use LF.")
				}
			})
		})
	}
}

func TestAPlanThatNobodyAnsweredIsReadBeforeACompactionOnly(t *testing.T) {
	for _, tt := range []struct {
		name     string
		compacts bool
		want     []string
	}{
		{"without one", false, nil},
		{"with one", true, []string{"I would do this: | 1. Read the store | 2. Write the migration"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			o := w.read()
			w.tools = bigTools{}
			if tt.compacts {
				w.cfg.Trigger = trigger(compaction.ByTurn)
			}
			for i := range 3 {
				first := wants(read(fmt.Sprint(i)))
				first.Usage = holdfast.Usage{Model: "m", Input: 1}
				if i == 2 {
					offer := holdfast.AssistantMessage{Text: "I would do this:\n1. Read the store\n2. Write the migration\n"}
					first.Events = append([]holdfast.Event{offer}, first.Events...)
				}
				w.model.replies = append(w.model.replies, first, says("I do."))
				w.asks("Continue")
			}
			if diff := cmp.Diff(tt.want, o.calls()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if got := len(w.notices()) > 0; got != tt.compacts {
				t.Errorf("notices %q", w.notices())
			}
		})
	}
}

// TestALongHistoryIsReadInBatches: that of an older version, which nobody has read.
// One batch is read at a time, as long as the model works, the oldest first.
func TestALongHistoryIsReadInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for i := range 3 {
			w.model.replies = append(w.model.replies, says("Yes."))
			w.asks(fmt.Sprintf("Use rule %d.\n", i) + strings.Repeat("The reason is a long one. ", 90))
		}
		o := w.read()
		w.cfg.Extraction.InputTokens = 2000
		for i := range 3 {
			r := wants(read(fmt.Sprint(i)))
			r.before = synctest.Wait // what the extractor does is done
			w.model.replies = append(w.model.replies, r)
		}
		w.model.replies = append(w.model.replies, says("Yes."))
		w.asks("Continue")
		var begins []string
		for _, call := range o.calls() {
			begins = append(begins, regexp.MustCompile(`Use rule \d`).FindAllString(call, -1)...)
		}
		if diff := cmp.Diff([]string{"Use rule 0", "Use rule 1", "Use rule 2"}, begins); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
		if n := len(o.calls()); n < 2 {
			t.Errorf("%d calls", n)
		}
		if n := len(w.capsule().Constraints); n != 3 {
			t.Errorf("%d constraints", n)
		}
	})
}
