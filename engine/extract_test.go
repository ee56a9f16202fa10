package engine_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity/extract"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/engine/extraction"
)

// oracle is an extractor that takes each line that begins with "Use" for a
// constraint. before runs in each call.
type oracle struct {
	mu     sync.Mutex
	calls  []engine.ExtractorCall
	before func(context.Context) error
	answer *extract.Answer // in place of a good one; REVISION stands for the one asked for
	most   int             // constraints in an answer, beyond which it breaks off; 0: any
}

var baseRevision = regexp.MustCompile(`base_revision is (\d+)`)

func (o *oracle) Extract(ctx context.Context, c engine.ExtractorCall) (extract.Answer, holdfast.Tokens, error) {
	o.mu.Lock()
	o.calls = append(o.calls, c)
	before, answer := o.before, o.answer
	o.mu.Unlock()
	if before != nil {
		if err := before(ctx); err != nil {
			return extract.Answer{}, holdfast.Tokens{}, err
		}
	}
	base := baseRevision.FindStringSubmatch(c.Prompt.System)[1]
	if answer != nil {
		return extract.Answer{Text: strings.ReplaceAll(answer.Text, "REVISION", base), Calls: answer.Calls}, holdfast.Tokens{}, nil
	}
	var items []string
	_, data, _ := strings.Cut(c.Prompt.Data, "\n\n") // behind the record
	for line := range strings.Lines(data) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "Use") {
			items = append(items, fmt.Sprintf(`{"statement":%q,"quote":%q}`, line, line))
		}
	}
	if o.most > 0 && len(items) > o.most {
		return extract.Answer{Text: `{"schema_version":1,`, Cut: true}, holdfast.Tokens{}, nil
	}
	return extract.Answer{Text: fmt.Sprintf(`{"schema_version":1,"base_revision":%s,"constraints":[%s]}`, base, strings.Join(items, ","))}, holdfast.Tokens{}, nil
}

func (o *oracle) set(before func(context.Context) error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.before = before
}

func (o *oracle) sent() (texts []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range o.calls {
		texts = append(texts, c.Prompt.Data)
	}
	return texts
}

// newReader is a world with an extractor, and without the user's words: what a
// block says the extractor has found.
func newReader(t *testing.T) (*world, *oracle) {
	w, o := newWorld(t), &oracle{}
	w.cfg.Preserve.UserWords = false
	w.cfg.Extractor = &engine.Extractor{
		Config: extraction.Config{Workers: 2, Pending: 8, Timeout: 5 * time.Second}, Model: o, Claims: w.st,
		InputTokens: 12_000, Ratio: 1, Barrier: 2 * time.Second,
	}
	w.restart()
	return w, o
}

func (o *oracle) wait(t *testing.T, n int) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); len(o.sent()) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d calls of the extractor, want %d", len(o.sent()), n)
		}
	}
}

const said = "Use port 5433 for the replica."

func TestWhatTheUserSaidIsInTheNextBlock(t *testing.T) {
	w, o := newReader(t)
	h := w.turn(s1, []entry{user(said)}, long("Done"))
	o.wait(t, 1)
	h = w.turn(s1, append(h, user("go on")), long("Going"))
	a := w.begin(s1, append(h, user(codexMarker))...)
	if block := a.Final(context.Background()); !a.Boundary || !strings.Contains(block, said) {
		t.Fatalf("boundary %v, block\n%s", a.Boundary, block)
	}
	a.Commit(context.Background(), holdfast.TextDigest("s"), true)
	done(a, answer("s"))
	c := o.calls[0]
	if c.For.Principal != holdfast.Local || c.For.Session == "" || c.For.Branch == "" || c.For.Job == "" || c.For.Agent != "codex" || c.For.Role != holdfast.ExtractorRole {
		t.Errorf("the call is for %+v", c.For)
	}
	for _, text := range o.sent()[1:] {
		if strings.Contains(text, said) && !strings.Contains(strings.SplitN(text, "\n\n", 2)[0], said) {
			t.Errorf("it was read again:\n%s", text)
		}
	}
}

func TestTheAnswerOfACompactionWaitsForWhatIsStillToBeRead(t *testing.T) {
	w, o := newReader(t)
	// Nothing of this went through before.
	start := time.Now()
	o.set(func(context.Context) error { time.Sleep(50 * time.Millisecond); return nil })
	a := w.begin(s1, user(said), long("Done"), user(codexMarker))
	if waited := time.Since(start); waited > 40*time.Millisecond {
		t.Errorf("the request waited %s for what its answer needs", waited)
	}
	if block := a.Final(context.Background()); !strings.Contains(block, said) {
		t.Errorf("the block\n%s", block)
	}
	done(a)
}

func TestWhatHoldsNothingIsNotRead(t *testing.T) {
	w, o := newReader(t)
	h := w.turn(s1, []entry{user("continue")}, long("Done"))
	h = w.turn(s1, append(h, user("thanks, go on")), long("Done"))
	done(w.begin(s1, append(h, user(codexMarker))...))
	if n := len(o.sent()); n != 0 {
		t.Errorf("%d calls: %q", n, o.sent())
	}
}

func TestACompactionGoesOnWithoutASlowExtractor(t *testing.T) {
	w, o := newReader(t)
	w.cfg.Extractor.Barrier = 50 * time.Millisecond
	w.restart()
	hold := make(chan struct{})
	o.set(func(context.Context) error { <-hold; return nil })
	h := w.turn(s1, []entry{user(said)}, long("Done"))
	a := w.begin(s1, append(h, entry{Trigger: true})...)
	a.Commit(context.Background(), holdfast.Digest{}, false)
	done(a, entry{Item: "blob"})
	h = []entry{user(said), {Item: "blob"}, user("next")}
	start := time.Now()
	b := w.begin(s1, h...)
	if waited := time.Since(start); waited < 50*time.Millisecond || waited > time.Second {
		t.Errorf("it waited %s", waited)
	}
	if w.count("holdfast_barrier_timeouts_total") != 1 {
		t.Error("the timeout is not counted")
	}
	if b.Insert != nil {
		t.Errorf("nothing was known, and %s was inserted", b.Insert.Text)
	}
	done(b, long("Going"))
	h = append(h, long("Going"), user("and on"))
	close(hold)
	// What came too late stands in every request from then on, with the same bytes.
	var late *engine.Insertion
	for end := time.Now().Add(5 * time.Second); late == nil; {
		b = w.begin(s1, h...)
		late = b.Insert
		done(b)
		if time.Now().After(end) {
			t.Fatalf("it never came\n%s", w.log)
		}
	}
	if !strings.Contains(late.Text, said) || late.At != 1 {
		t.Errorf("inserted %+v", late)
	}
	w.restart()
	b = w.begin(s1, append(h, long("Yes"), user("more"))...)
	if b.Insert == nil || *b.Insert != *late {
		t.Errorf("after a restart: %+v", b.Insert)
	}
	done(b)
}

// What a new epoch waits for is recorded meanwhile, and so is the epoch itself: its
// block must still be the one that the first request got, for those that came
// beside it and for the next process.
func TestABlockThatWaitedIsTheBlockOfItsEpoch(t *testing.T) {
	w, o := newReader(t)
	hold := make(chan struct{})
	release := sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release)
	o.set(func(context.Context) error { <-hold; return nil })
	w.turn(s1, []entry{user(said)}, long("Done"))
	h := []entry{user(said), {Item: "blob"}, user("next")}
	got := make(chan *engine.Attempt, 2)
	for range 2 {
		go func() { got <- w.begin(s1, h...) }()
	}
	select {
	case <-got:
		t.Fatal("a request did not wait")
	case <-time.After(50 * time.Millisecond):
	}
	release()
	var blocks []string
	for range 2 {
		a := <-got
		if a.Insert == nil || !strings.Contains(a.Insert.Text, said) {
			t.Fatalf("inserted: %+v", a.Insert)
		}
		blocks = append(blocks, a.Insert.Text)
		done(a, long("Going"))
	}
	w.restart()
	a := w.begin(s1, append(h, long("Going"), user("more"))...)
	if a.Insert == nil || a.Insert.Text != blocks[0] || blocks[1] != blocks[0] {
		t.Errorf("the blocks %q, after a restart %+v", blocks, a.Insert)
	}
	done(a)
}

// Whatever a call brings changes nothing but for what was said, and the same batch
// can be read again.
func TestWhatACallBringsChangesNothing(t *testing.T) {
	const found = `{"schema_version":1,"base_revision":REVISION,"constraints":[{"statement":"` + said + `","quote":"` + said + `"}]}`
	fails := func(err error) func(context.Context) error { return func(context.Context) error { return err } }
	for _, tt := range []struct {
		name   string
		before func(context.Context) error
		answer string
		calls  int
		logged string
	}{
		{name: "an error of the provider", before: fails(holdfast.Errorf(holdfast.ErrBusy, "secret words")), logged: "where=call code=busy"},
		{name: "a budget that is spent", before: fails(holdfast.Errorf(holdfast.ErrBudget, "secret words")), logged: "where=call code=budget"},
		{name: "nothing until its time is over", before: func(ctx context.Context) error {
			<-ctx.Done()
			return holdfast.Errorf(holdfast.ErrUnavailable, "given up: %w", ctx.Err())
		}, logged: "where=call code=timeout"},
		{name: "a panic", before: func(context.Context) error { panic("secret words") }, logged: "failed by a defect"},
		{name: "prose", answer: "secret words", logged: "where=answer code=prose"},
		{name: "nothing", logged: "where=answer code=empty"},
		{name: "two objects", answer: found + found, logged: "where=answer code=two_objects"},
		{name: "an answer to another revision", answer: strings.Replace(found, "REVISION", "99", 1), logged: "where=answer code=base_revision"},
		{name: "200 facts", answer: `{"schema_version":1,"base_revision":REVISION,"facts":[` +
			strings.TrimSuffix(strings.Repeat(`{"kind":"value","statement":"a 1","quote":"a 1"},`, 200), ",") + `]}`, logged: "where=answer code=too_many"},
		{name: "tool calls", answer: found, calls: 1, logged: "where=answer code=tool_call"},
		{name: "a true quote with a false statement", answer: `{"schema_version":1,"base_revision":REVISION,"facts":[{"kind":"value","statement":"Use port 9999 for the replica.","quote":"` + said + `"}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, o := newReader(t)
			w.cfg.Extractor.Timeout = 50 * time.Millisecond
			w.restart()
			o.set(tt.before)
			o.answer = &extract.Answer{Text: tt.answer, Calls: tt.calls}
			h := w.turn(s1, []entry{user(said)}, long("Done"))
			o.wait(t, 1)
			a := w.begin(s1, append(h, user(codexMarker))...)
			block := a.Final(context.Background())
			if strings.Contains(block, "secret") || strings.Contains(block, "9999") || tt.logged != "" && strings.Contains(block, "5433") {
				t.Errorf("the block\n%s", block)
			}
			done(a)
			if log := w.log.String(); !strings.Contains(log, tt.logged) || strings.Contains(log, "secret") || strings.Contains(log, "5433") {
				t.Errorf("logged\n%s", log)
			}
			if tt.logged == "" {
				return // it was read, and is not read again
			}
			o.mu.Lock()
			o.answer, o.before = nil, nil
			o.mu.Unlock()
			a = w.begin(s1, append(h, user("Use it soon."), long("Yes"), user(codexMarker))...)
			if block := a.Final(context.Background()); !strings.Contains(block, said) {
				t.Errorf("then the block\n%s\n%s\n%q", block, w.log, o.sent())
			}
			done(a)
		})
	}
}

func TestABatchThatFailsIsTriedThreeTimes(t *testing.T) {
	w, o := newReader(t)
	o.set(func(context.Context) error { return holdfast.Errorf(holdfast.ErrBusy, "no") })
	h := []entry{user(said), long("Done")}
	for n := range 6 {
		done(w.begin(s1, append(h, user(fmt.Sprint("Use ", n)))...))
		o.wait(t, min(n+1, 3))
		time.Sleep(5 * time.Millisecond)
	}
	first := 0
	for _, text := range o.sent() {
		if strings.Contains(text, said) {
			first++
		}
	}
	if first > 6 {
		t.Errorf("the first message was sent %d times", first)
	}
}

func TestAClientThatLeavesEndsTheWait(t *testing.T) {
	w, o := newReader(t)
	o.set(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	w.turn(s1, []entry{user(said)}, long("Done"))
	left, leave := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer leave()
	start := time.Now()
	a := w.beginIn(left, s1, user(said), long("Done"), user(codexMarker))
	a.Final(left)
	if waited := time.Since(start); waited > time.Second {
		t.Errorf("it waited %s", waited)
	}
	done(a)
}

func TestAnErasedSessionTakesNoResult(t *testing.T) {
	w, o := newReader(t)
	hold := make(chan struct{})
	o.set(func(context.Context) error { <-hold; return nil })
	w.turn(s1, []entry{user(said)}, long("Done"))
	o.wait(t, 1)
	st, err := w.st.Session(context.Background(), holdfast.Local, "codex", "s1")
	for end := time.Now().Add(5 * time.Second); err != nil && time.Now().Before(end); time.Sleep(time.Millisecond) {
		st, err = w.st.Session(context.Background(), holdfast.Local, "codex", "s1")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.st.Remove(context.Background(), holdfast.Local, st.ID); err != nil {
		t.Fatal(err)
	}
	time.Sleep(700 * time.Millisecond) // the engine follows removals every half second
	close(hold)
	w.stop()
	if _, err := w.st.Session(context.Background(), holdfast.Local, "codex", "s1"); holdfast.CodeOf(err) != holdfast.ErrNotFound {
		t.Errorf("the session came back: %v", err)
	}
	w.start()
}

func TestNothingOfWhatIsReadIsKeptOrLogged(t *testing.T) {
	w, o := newReader(t)
	h := w.turn(s1, []entry{user("Use the password hunter2 for 5433.")}, long("Done"), call("b", "Bash", `{}`), result("b", "planted-tool-output"))
	o.wait(t, 1)
	done(w.begin(s1, append(h, user(codexMarker))...))
	for _, text := range o.sent() {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "planted-tool-output") {
			t.Errorf("sent:\n%s", text)
		}
	}
	w.stop()
	if strings.Contains(w.log.String(), "hunter2") || strings.Contains(w.log.String(), "5433") {
		t.Errorf("logged:\n%s", w.log)
	}
	w.start()
}

// TestExtractionAndHarvestDoNotLoseEachOther has both at work on one branch.
func TestExtractionAndHarvestDoNotLoseEachOther(t *testing.T) {
	w, o := newReader(t)
	o.set(func(context.Context) error { time.Sleep(2 * time.Millisecond); return nil })
	h := []entry{}
	for n := range 20 {
		h = w.turn(s1, append(h, user(fmt.Sprintf("Use rule %d.", n))), call(fmt.Sprint("c", n), "update_plan", steps(fmt.Sprintf("in_progress:step %d", n))))
		h = w.turn(s1, append(h, result(fmt.Sprint("c", n), ok)), long(fmt.Sprint("Done ", n)))
	}
	a := w.begin(s1, append(h, user(codexMarker))...)
	block := a.Final(context.Background())
	if !strings.Contains(block, "[in_progress] step 19") {
		t.Errorf("the plan is lost:\n%s", block)
	}
	for n := range 20 {
		if want := fmt.Sprintf("Use rule %d.", n); strings.Count(block, want) != 1 {
			t.Errorf("%q stands %d times in\n%s", want, strings.Count(block, want), block)
		}
	}
	done(a)
	w.restart()
	a = w.begin(s1, append(h, user(codexMarker))...)
	if block := a.Final(context.Background()); !strings.Contains(block, "Use rule 0.") || !strings.Contains(block, "Use rule 19.") {
		t.Errorf("after a restart:\n%s", block)
	}
	done(a)
}

// A person edits while a request waits for the extractor, so that what this process
// harvested meanwhile is refused: the request is linked again, and carries both.
func TestAnEditWhileARequestWaitsCostsItNoBlock(t *testing.T) {
	news := []entry{call("c2", "update_plan", steps("completed:a", "in_progress:b")), result("c2", ok)}
	for _, tt := range []struct {
		name string
		sent func(h []entry) []entry
		got  func(a *engine.Attempt) string
		plan string
	}{
		{
			"a compaction request",
			func(h []entry) []entry { return append(append(h, user(said)), append(news, user(codexMarker))...) },
			func(a *engine.Attempt) string { return a.Final(context.Background()) },
			"[in_progress] b\n",
		},
		{
			"the first request of an epoch",
			func([]entry) []entry { return append([]entry{user("build it"), {Item: "blob"}, user(said)}, news...) },
			func(a *engine.Attempt) string {
				if a.Insert == nil {
					return ""
				}
				return a.Insert.Text
			},
			"[in_progress] a\n", // what it brings itself stands behind the block
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, o := newReader(t)
				h := w.turn(s1, []entry{user("Use rule 1.")}, call("c1", "update_plan", steps("in_progress:a", "pending:b")))
				o.set(func(context.Context) error { time.Sleep(1500 * time.Millisecond); return nil })
				h = w.turn(s1, append(h, result("c1", ok), user("Use rule 2.")), long("working"))
				edited := make(chan struct{})
				go func() {
					defer close(edited)
					time.Sleep(100 * time.Millisecond)
					w.edit(s1, keepTo("no cgo"))
				}()
				start := time.Now()
				a := w.begin(s1, tt.sent(h)...)
				<-edited
				got := tt.got(a)
				if waited := time.Since(start); waited > 2100*time.Millisecond { // an answer of 100 ms, and the barrier
					t.Errorf("it waited %s", waited)
				}
				if !strings.Contains(got, "- no cgo\n") || !strings.Contains(got, tt.plan) {
					t.Errorf("it carries\n%s\n%s", got, w.log)
				}
				done(a)
				time.Sleep(10 * time.Second)
				had := constraints(w.newest(s1))
				slices.Sort(had)
				if !slices.Equal(had, []string{said, "Use rule 1.", "Use rule 2.", "no cgo"}) {
					t.Errorf("in the end there is %q", had)
				}
			})
		})
	}
}

// What the extractor brings while the first request of an epoch waits is stored with
// the epoch and its block, not before: a process that ends meanwhile would leave an
// epoch for which nothing is ever written.
func TestAnEpochIsNotStoredBeforeItsBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := newReader(t)
		w.cfg.Extractor.InputTokens = 1000
		w.restart()
		hold := make(chan struct{})
		h := []entry{user(said), long("Done")}
		h = w.turn(s1, append(h, user("go on")), call("c1", "update_plan", steps("in_progress:a")))
		time.Sleep(time.Second)
		o.set(func(context.Context) error {
			if len(o.sent()) > 2 {
				<-hold
			}
			return nil
		})
		filler := strings.Repeat("I care for how this reads. ", 100)
		w.turn(s1, append(h, result("c1", ok), user("Use rule 1.\n"+filler), answer("a"), user("Use rule 2.\n"+filler)), answer("working"))
		h = []entry{user(said), {Item: "blob"}, user("next")}
		first := w.e
		got := make(chan *engine.Attempt)
		go func() { got <- w.begin(s1, h...) }()
		time.Sleep(time.Second)
		synctest.Wait()
		if n := len(o.sent()); n != 3 {
			t.Fatalf("%d calls", n)
		}
		w.start() // beside the first, which is killed as far as the store knows
		a := w.begin(s1, h...)
		if a.Insert == nil || !strings.Contains(a.Insert.Text, "[in_progress] a\n") {
			t.Errorf("inserted: %+v\n%s", a.Insert, w.log)
		}
		done(a)
		close(hold)
		done(<-got)
		if err := first.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A defect in what looks for the next batch ends neither the process nor the reading
// of other sessions, and no request waits for it or misses its block.
func TestAPanicInLookingForTheNextBatchIsCaught(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := newReader(t)
		var broken atomic.Bool
		redact := w.cfg.Redact
		w.cfg.Redact = func(s string) (string, int) {
			if broken.Load() && strings.Contains(s, "rule 2") {
				panic("secret words")
			}
			return redact(s)
		}
		w.cfg.Extractor.Workers = 1
		w.restart()
		o.set(func(context.Context) error { time.Sleep(time.Second); return nil })
		h := w.planned(s1)
		h = w.turn(s1, append(h, user("Use rule 1.")), long("Done"))
		w.turn(s1, append(h, user("Use rule 2.")), long("Done"))
		broken.Store(true)
		time.Sleep(3 * time.Second) // it is looked for behind the first job
		h = []entry{user("build it"), {Item: "blob"}, user("next")}
		for range 2 {
			if block := w.block(h, long("Going")); !strings.Contains(block, "[in_progress] a\n") || !strings.Contains(block, "Use rule 1.") {
				t.Errorf("the block of the epoch\n%s", block)
			}
			h = append(h, long("Going"), user("more"))
		}
		other := request{session: "s2"}
		a := w.begin(other, append(w.turn(other, []entry{user(said)}, long("Done")), user(codexMarker))...)
		if block := a.Final(context.Background()); !strings.Contains(block, said) {
			t.Errorf("the block of another session\n%s", block)
		}
		done(a)
		if log := w.log.String(); strings.Contains(log, "secret") || !strings.Contains(log, "failed by a defect") {
			t.Errorf("logged\n%s", log)
		}
	})
}

// A slow model's answer is paid for: a session that nothing used meanwhile takes it.
func TestAResultForAnIdleSessionIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, o := newReader(t)
		w.cfg.Extractor.Timeout = 2 * time.Minute
		w.restart()
		o.set(func(context.Context) error { time.Sleep(engine.IdleTimeout + 10*time.Second); return nil })
		w.turn(s1, append(w.planned(s1), user(said)), long("Done"))
		time.Sleep(engine.IdleTimeout + 20*time.Second)
		if got := constraints(w.newest(s1)); !slices.Equal(got, []string{said}) {
			t.Errorf("it has %q", got)
		}
	})
}

// What came too late for a compaction changes no block where the summary carries one,
// also while that is not known of the epoch.
func TestALateResultWritesNoBlockBesideTheSummarys(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprintf("another process goes on: %v", restarted), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, o := newReader(t)
				h := w.planned(s1)
				time.Sleep(time.Second)
				a := w.begin(s1, append(h, user(codexMarker))...)
				o.set(func(context.Context) error { time.Sleep(3 * time.Second); return nil })
				a.Commit(context.Background(), holdfast.TextDigest("s"), true)
				done(a, answer("s"))
				h = []entry{user("build it"), user(codexSummary + "s\n\n" + a.Block), user("next")}
				h = w.turn(s1, h, long("go"))
				if restarted {
					w.restart()
				}
				late := w.begin(s1, append(h, user(said), long("so"), user(codexMarker))...)
				if block := late.Final(context.Background()); strings.Contains(block, said) {
					t.Errorf("it came in time:\n%s", block)
				}
				done(late)
				time.Sleep(3 * time.Second)
				if got := w.edit(s1, keepTo("no cgo")); got.Sticky || len(got.Before.Constraints) != 1 {
					t.Errorf("sticky %v, with %q", got.Sticky, constraints(got.Before))
				}
			})
		})
	}
}

// What the first request of an epoch brings stands in its own history: the block says
// how it was before.
func TestTheBlockIsTheStateAtTheCompactionAndWhatWasReadSince(t *testing.T) {
	w, _ := newReader(t)
	h := w.planned(s1)
	w.turn(s1, append(h, user(said)), long("Noted"))
	a := w.begin(
		s1, user("build it"), entry{Item: "blob"}, call("c2", "update_plan", steps("completed:a", "in_progress:b")), result("c2", ok), user("go on"),
	)
	if a.Insert == nil || !strings.Contains(a.Insert.Text, "1. [in_progress] a\n2. [pending] b\n") || !strings.Contains(a.Insert.Text, said) {
		t.Errorf("inserted: %+v\n%s", a.Insert, w.log)
	}
	done(a, long("Going"))
}
