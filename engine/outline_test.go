package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/store"
)

// counted is a store that tells what of sessions was read, as long as it can be.
type counted struct {
	*store.Memory
	mu     sync.Mutex
	reads  []string
	broken bool // capsules cannot be read
}

func (c *counted) note(read string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads = append(c.reads, read)
}

func (c *counted) Session(ctx context.Context, p holdfast.Principal, agent, key string) (store.SessionState, error) {
	c.note("outline")
	return c.Memory.Session(ctx, p, agent, key)
}

func (c *counted) Outline(ctx context.Context, p holdfast.Principal, id holdfast.SessionID) (store.SessionState, error) {
	c.note("outline")
	return c.Memory.Outline(ctx, p, id)
}

func (c *counted) Load(ctx context.Context, p holdfast.Principal, id holdfast.SessionID) (store.SessionState, error) {
	c.note("all")
	return c.Memory.Load(ctx, p, id)
}

func (c *counted) Heads(ctx context.Context, p holdfast.Principal, agent, key string) ([]store.Head, error) {
	c.note("heads")
	return c.Memory.Heads(ctx, p, agent, key)
}

func (c *counted) Revision(ctx context.Context, p holdfast.Principal, b holdfast.BranchID, n int) (store.Revision, error) {
	c.note(fmt.Sprint(n))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken {
		return store.Revision{}, holdfast.Errorf(holdfast.ErrUnavailable, "the store is out of reach")
	}
	return c.Memory.Revision(ctx, p, b, n)
}

func (c *counted) setBroken(broken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = broken
}

// since tells what was read since it was asked last.
func (c *counted) since() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.reads = nil }()
	return strings.Join(c.reads, " ")
}

// counting replaces the world's engine by one that has nothing in memory, over a store
// that counts.
func (w *world) counting() *counted {
	w.stop()
	c := &counted{Memory: w.st}
	w.e = engine.New(c, w.cfg, newTestLog(w.log), engine.NewMetrics(prometheus.NewRegistry()), time.Now)
	return c
}

// replanned is a session whose plan was written ten times, each a revision of its own;
// the step of the last is "step-10".
func (w *world) replanned(r request) (h []entry) {
	h = []entry{user("build it")}
	for i := range 10 {
		id := fmt.Sprint("c", i+1)
		h = w.turn(r, h, call(id, "update_plan", steps(fmt.Sprint("pending:step-", i+1))))
		h = append(h, result(id, ok))
	}
	return w.turn(r, h, long("planned"))
}

func TestOfALongSessionOnlyIsReadWhatARequestGoesOnFrom(t *testing.T) {
	for _, c := range []struct {
		name string
		ask  func(w *world, h []entry) (block string)
		read string // with an empty memory
		want string
	}{
		{
			"a turn reads the newest revision",
			func(w *world, h []entry) string {
				a := w.begin(s1, append(h, user("go on"))...)
				done(a)
				return ""
			},
			"outline 10", "",
		},
		{
			"a compaction reads the newest revision, and asks how far the session is",
			func(w *world, h []entry) string { return w.boundary(s1, append(h, user(codexMarker))...) },
			"outline heads 10", "pending:step-10",
		},
		{
			"a fork reads the revision at its point",
			func(w *world, h []entry) string {
				// Behind the third plan, which its result confirms.
				fork := append(slices.Clone(h[:7]), user("otherwise"))
				done(w.begin(s1, fork...), long("so"))
				return w.boundary(s1, append(fork, long("so"), user(codexMarker))...)
			},
			"outline heads 3 heads", "pending:step-3",
		},
		{
			"a fork by another session reads the revision at its point",
			func(w *world, h []entry) string {
				fork := append(slices.Clone(h[:7]), user("otherwise"))
				r := request{session: "s2", fork: "s1"}
				done(w.begin(r, fork...), long("so"))
				return w.boundary(r, append(fork, long("so"), user(codexMarker))...)
			},
			"outline outline 3 heads", "pending:step-3",
		},
		{
			"the first request of an epoch reads the newest revision",
			func(w *world, _ []entry) string {
				a := w.begin(s1, user("build it"), user(codexSummary+"a summary that nobody saw"), user("go on"))
				defer done(a)
				return a.Insert.Text
			},
			"outline heads 10", "pending:step-10",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.planOnly()
			h := w.replanned(s1)
			st := w.counting()
			if got := planIn(c.ask(w, h)); c.want != "" && got != c.want {
				t.Errorf("carried is %q, want %q", got, c.want)
			}
			if got := st.since(); got != c.read {
				t.Errorf("read is %q, want %q", got, c.read)
			}
			// What is in memory now is not read again.
			done(w.begin(s1, append(h, user("go on"))...), long("yes"))
			st.since()
			done(w.begin(s1, append(h, user("go on"), long("yes"), user("more"))...))
			if got := st.since(); got != "" {
				t.Errorf("a turn of a session in memory reads %q", got)
			}
		})
	}
}

func TestAnEditReadsTheNewestRevisionAndAServerThatTakesItUpTheEdit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.planOnly()
		h := w.replanned(s1)
		st := w.counting()
		h = w.turn(s1, append(h, user("go on")), long("yes"))
		session, err := w.st.Session(t.Context(), holdfast.Local, "codex", "s1")
		if err != nil {
			t.Fatal(err)
		}
		st.since()
		for _, text := range []string{"no cgo", "no panics"} {
			if _, err := engine.Edit(t.Context(), st, holdfast.Local, session.ID, session.Branches[0].ID, keepTo(text), time.Now(), false); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := st.since(), "outline 10 outline 11"; got != want {
			t.Errorf("two edits read %q, want %q", got, want)
		}
		time.Sleep(time.Second)
		// Both were written when the server looked for edits. There is nothing left to
		// read for the second.
		if got, want := st.since(), "outline 12 11 outline"; got != want {
			t.Errorf("the server reads %q, want %q", got, want)
		}
		block := w.boundary(s1, append(h, user(codexMarker))...)
		for _, text := range []string{"- no cgo\n", "- no panics\n"} {
			if !strings.Contains(block, text) {
				t.Errorf("%q is not in\n%s", text, block)
			}
		}
		if got, want := st.since(), "heads"; got != want {
			t.Errorf("a compaction reads %q, want %q", got, want)
		}
	})
}

func TestARequestWhoseCapsuleCannotBeReadPassesUnlinkedAndChangesNothing(t *testing.T) {
	const unlinked = "unlinked"
	for _, c := range []struct {
		name string
		ask  func(w *world, h []entry) string // the plan that is carried
		want string
	}{
		{"a compaction", func(w *world, h []entry) string {
			a := w.begin(s1, append(h, user(codexMarker))...)
			defer done(a)
			if !a.Linked() {
				return unlinked
			}
			return planIn(a.Block)
		}, "pending:step-10"},
		{"the first request of an epoch", func(w *world, _ []entry) string {
			a := w.begin(s1, user("build it"), user(codexSummary+"a summary that nobody saw"), user("go on"))
			defer done(a)
			if !a.Linked() {
				return unlinked
			}
			return planIn(a.Insert.Text)
		}, "pending:step-10"},
		{"a fork", func(w *world, h []entry) string {
			fork := append(slices.Clone(h[:7]), user("otherwise"))
			a := w.begin(s1, fork...)
			done(a, long("so"))
			if !a.Linked() {
				return unlinked
			}
			return planIn(w.boundary(s1, append(fork, long("so"), user(codexMarker))...))
		}, "pending:step-3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.planOnly()
			h := w.replanned(s1)
			st := w.counting()
			st.setBroken(true)
			for range 2 {
				if got := c.ask(w, h); got != unlinked {
					t.Errorf("without the capsule %q is carried", got)
				}
			}
			st.setBroken(false)
			if got := c.ask(w, h); got != c.want {
				t.Errorf("later %q is carried, want %q", got, c.want)
			}
		})
	}
}

func TestABranchOfANewerVersionPassesUnlinkedAndTheOthersDoNot(t *testing.T) {
	w := newWorld(t)
	w.planOnly()
	sub := request{session: "s1", thread: "sub"}
	h := w.replanned(s1)
	w.turn(sub, []entry{user("look")}, long("seen"))
	w.restart()
	st, err := w.st.Session(context.Background(), holdfast.Local, "codex", "s1")
	if err != nil {
		t.Fatal(err)
	}
	newer := store.Revision{Branch: st.Branches[0].ID, N: 11, Seq: 99, Digest: "sha256:newer", Capsule: []byte(`{"schema_version": 2, "revision": 11}`)}
	if err := w.st.Apply(context.Background(), []store.Batch{{Session: st.Session, Revisions: []store.Revision{newer}}})[0]; err != nil {
		t.Fatal(err)
	}
	for range 3 {
		a := w.begin(s1, append(h, user("go on"))...)
		done(a)
		b := w.begin(sub, user("look"), long("seen"), user("go on"))
		done(b)
		if a.Linked() || !b.Linked() {
			t.Errorf("the newer one is linked: %v, the other: %v\n%s", a.Linked(), b.Linked(), w.log)
		}
	}
	w.expect(s1, "none", "none") // of a newer schema nothing is known here, and no branch was added
}

// refusing is a store that writes nothing while it is full, and keeps the revisions
// that it was given then and later.
type refusing struct {
	faulty
	mu    sync.Mutex
	given []int
}

func (r *refusing) Apply(ctx context.Context, batches []store.Batch) []error {
	r.mu.Lock()
	for _, b := range batches {
		for _, rev := range b.Revisions {
			r.given = append(r.given, rev.N)
		}
	}
	r.mu.Unlock()
	return r.faulty.Apply(ctx, batches)
}

func TestAfterAWriteThatFailedWhatCameFromTheStoreIsNotWrittenAgain(t *testing.T) {
	w := newWorld(t)
	w.planOnly()
	h := w.replanned(s1)
	w.stop()
	r := &refusing{faulty: faulty{Memory: w.st}}
	r.full.Store(true)
	w.e = engine.New(r, w.cfg, newTestLog(w.log), engine.NewMetrics(prometheus.NewRegistry()), time.Now)
	h = w.turn(s1, append(h, user("go on")), call("c11", "update_plan", steps("pending:step-11")))
	h = append(h, result("c11", ok))
	until := func(said string) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); !strings.Contains(w.log.String(), said); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("it is not said that %s:\n%s", said, w.log)
			}
			h = append(w.turn(s1, h, long(fmt.Sprint("ok ", len(h)))), user("more"))
		}
	}
	until("recording stopped")
	r.full.Store(false)
	until("recording goes on")
	w.turn(s1, h, long("done"))
	w.expect(s1, "pending:step-11")
	slices.Sort(r.given)
	if got := slices.Compact(r.given); !slices.Equal(got, []int{11}) {
		t.Errorf("the revisions %v were written, want 11 alone", got)
	}
	st, err := w.st.Session(context.Background(), holdfast.Local, "codex", "s1")
	if err != nil {
		t.Fatal(err)
	}
	if revs := st.Branches[0].Revisions; len(revs) != 11 {
		t.Errorf("%d revisions are stored, want 11", len(revs))
	}
}
