package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

func secondsIn(n int) time.Time { return time.Unix(1_700_000_000+int64(n), 0).UTC() }

// batch draws what a session may write: mostly what a store takes.
func batch(t *rapid.T, id holdfast.SessionID, n int) store.Batch {
	pick := func(label string, most int) int { return rapid.IntRange(0, most).Draw(t, label) }
	rarely := func(label string) bool { return pick(label, 15) == 0 }
	b := store.Batch{Session: store.Session{
		ID: id, Principal: "p", Agent: "codex", Key: string(id), CreatedAt: secondsIn(0), UsedAt: secondsIn(pick("used", 9)),
	}}
	if rarely("begun elsewhere") {
		b.Session.CreatedAt = time.Time{}
	}
	if rarely("another's") {
		b.Session.Principal = "q"
	}
	branch := func() holdfast.BranchID {
		if rarely("foreign") {
			return "taken"
		}
		return holdfast.BranchID(fmt.Sprint(id, "-", pick("branch", 1)))
	}
	letter := func(label string) string { return string(rune('a' + pick(label, 1))) }
	for range pick("branches", 2) {
		r := store.Branch{ID: branch(), Session: id, Thread: letter("thread"), Epoch: n / 2, CreatedAt: secondsIn(1), UsedAt: secondsIn(n)}
		if rarely("astray") {
			r.Session = "other"
		}
		if rarely("back") {
			r.Epoch = pick("epoch", 2)
		}
		b.Branches = append(b.Branches, r)
	}
	for range pick("epochs", 1) {
		b.Epochs = append(b.Epochs, store.Epoch{Branch: branch(), N: pick("epoch", 2), Block: letter("block"), OpenedAt: secondsIn(n)})
	}
	for range pick("runs", 2) {
		at, epoch, from := branch(), pick("epoch", 1), pick("from", 4)
		for seq := from; seq < from+1+pick("anchors", 3); seq++ {
			b.Anchors = append(b.Anchors, store.Anchor{Branch: at, Epoch: epoch, Seq: seq, Digest: holdfast.DigestOf(letter("anchor")), Revision: n})
		}
	}
	for range pick("revisions", 1) {
		r := store.Revision{Branch: branch(), N: 1 + pick("revision", 2), Digest: letter("capsule"), Edit: rarely("edit"), At: secondsIn(n)}
		r.Capsule = []byte(r.Digest)
		if pick("after", 3) == 0 {
			r.After = letter("before")
		}
		b.Revisions = append(b.Revisions, r)
	}
	for range pick("boundaries", 1) {
		b.Boundaries = append(b.Boundaries, store.Boundary{
			ID: holdfast.BoundaryID(fmt.Sprint(id, "/", pick("boundary", 1))), Branch: branch(), Epoch: n, Status: store.BoundaryStarted, At: secondsIn(n),
		})
	}
	return b
}

// outcomes are the codes; a refused batch may have more than one reason.
func outcomes(errs []error) (codes []holdfast.Code) {
	for _, err := range errs {
		var code holdfast.Code
		if err != nil {
			code = holdfast.CodeOf(err)
		}
		codes = append(codes, code)
	}
	return codes
}

func TestBatchesWrittenTogetherLeaveWhatTheyLeaveOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := []holdfast.SessionID{"s1", "s2"}
		draw := func(label string, from int) (list []store.Batch) {
			for i := range rapid.IntRange(0, 6).Draw(t, label) {
				list = append(list, batch(t, rapid.SampledFrom(ids).Draw(t, "session"), from+i))
			}
			return list
		}
		foreign := store.Batch{
			Session:  store.Session{ID: "s0", Principal: "p", Key: "s0", CreatedAt: secondsIn(0)},
			Branches: []store.Branch{{ID: "taken", Session: "s0"}},
		}
		before, batches := append([]store.Batch{foreign}, draw("before", 0)...), draw("batches", 3)
		apart, together := store.NewMemory(), store.NewMemory()
		apart.Apply(t.Context(), before)
		together.Apply(t.Context(), before)
		want := outcomes(apart.Apply(t.Context(), batches))
		got := outcomes((&recorder{w: together}).apply(batches))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("the outcomes differ (-want +got):\n%s", diff)
		}
		for _, id := range append(ids, "s0") {
			want, wantErr := apart.Load(t.Context(), "p", id)
			got, gotErr := together.Load(t.Context(), "p", id)
			if diff := cmp.Diff(want, got); diff != "" || (wantErr == nil) != (gotErr == nil) {
				t.Fatalf("what is stored of %s differs (%v, %v; -want +got):\n%s", id, wantErr, gotErr, diff)
			}
		}
	})
}

func TestWhatIsFolded(t *testing.T) {
	own := func(id holdfast.SessionID) store.Session {
		return store.Session{ID: id, Principal: "p", CreatedAt: secondsIn(0), UsedAt: secondsIn(1)}
	}
	branch := func(epoch, used int) store.Branch {
		return store.Branch{ID: "b", Session: "s", Epoch: epoch, UsedAt: secondsIn(used)}
	}
	anchors := func(epoch int, seqs ...int) (list []store.Anchor) {
		for _, seq := range seqs {
			list = append(list, store.Anchor{Branch: "b", Epoch: epoch, Seq: seq, Revision: len(seqs)})
		}
		return list
	}
	turn := func(epoch, used int, seqs ...int) store.Batch {
		return store.Batch{Session: own("s"), Branches: []store.Branch{branch(epoch, used)}, Anchors: anchors(epoch, seqs...)}
	}
	for _, c := range []struct {
		name string
		in   []store.Batch
		want []store.Batch
		of   [][]int
	}{
		{
			name: "two turns of a branch are its newest row and all anchors",
			in:   []store.Batch{turn(0, 1, 0, 1), turn(0, 2, 2)},
			want: []store.Batch{{Session: own("s"), Branches: []store.Branch{branch(0, 2)}, Anchors: append(anchors(0, 0, 1), anchors(0, 2)...)}},
			of:   [][]int{{0, 1}},
		},
		{
			name: "anchors that begin again are a batch of their own, with those that go on from them",
			in:   []store.Batch{turn(0, 1, 4, 5, 6), turn(0, 2, 5), turn(0, 3, 6)},
			want: []store.Batch{
				turn(0, 1, 4, 5, 6),
				{Session: own("s"), Branches: []store.Branch{branch(0, 3)}, Anchors: append(anchors(0, 5), anchors(0, 6)...)},
			},
			of: [][]int{{0}, {1, 2}},
		},
		{
			name: "the turns of another epoch are a batch of their own",
			in:   []store.Batch{turn(0, 1, 0), turn(0, 2, 1), turn(1, 3, 0), turn(1, 4, 1)},
			want: []store.Batch{
				{Session: own("s"), Branches: []store.Branch{branch(0, 2)}, Anchors: append(anchors(0, 0), anchors(0, 1)...)},
				{Session: own("s"), Branches: []store.Branch{branch(1, 4)}, Anchors: append(anchors(1, 0), anchors(1, 1)...)},
			},
			of: [][]int{{0, 1}, {2, 3}},
		},
		{
			name: "a branch that only the second one brings is no branch of the first",
			in:   []store.Batch{{Session: own("s"), Anchors: anchors(0, 0)}, turn(0, 1, 1)},
			want: []store.Batch{{Session: own("s"), Anchors: anchors(0, 0)}, turn(0, 1, 1)},
			of:   [][]int{{0}, {1}},
		},
		{
			name: "sessions that take turns are a batch each",
			in:   []store.Batch{{Session: own("s")}, {Session: own("t")}, turn(0, 1, 0), {Session: own("t")}},
			want: []store.Batch{turn(0, 1, 0), {Session: own("t")}},
			of:   [][]int{{0, 2}, {1, 3}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []store.Batch
			var of [][]int
			for _, f := range coalesce(c.in) {
				got, of = append(got, f.Batch), append(of, f.of)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("the batches differ (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.of, of); diff != "" {
				t.Errorf("what they are made of differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatDoesNotLinger(t *testing.T) {
	of := func(id holdfast.SessionID, urgent bool) job {
		return job{urgent: urgent, batch: &store.Batch{Session: store.Session{ID: id}}}
	}
	mark := job{urgent: true}
	for _, c := range []struct {
		name       string
		waiting    []job
		now, later string
	}{
		{"nothing is urgent", []job{of("a", false), of("b", false)}, "", "a b"},
		{"an urgent batch goes with those before it of its session", []job{of("a", false), of("b", false), of("a", true)}, "a a", "b"},
		{"all that stands before a mark goes with it", []job{of("a", false), of("b", false), mark, of("c", false)}, "a b mark", "c"},
		{"what is put behind an urgent batch keeps its place", []job{of("a", true), of("b", false), of("a", false)}, "a a", "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			names := func(list []job) (text string) {
				for i, j := range list {
					if i > 0 {
						text += " "
					}
					if j.batch == nil {
						text += "mark"
						continue
					}
					text += string(j.batch.Session.ID)
				}
				return text
			}
			now, later := urgent(c.waiting)
			if names(now) != c.now || names(later) != c.later {
				t.Errorf("got %q now and %q later, want %q and %q", names(now), names(later), c.now, c.later)
			}
		})
	}
}
