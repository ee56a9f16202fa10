package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/store"
)

// desk is a recorder over a store whose writes can be disturbed.
type desk struct {
	t        *testing.T
	st       *store.Memory
	r        *Recorder
	b        *Branch
	log      bytes.Buffer
	mu       sync.Mutex
	outcomes map[string]int
	gone     bool         // the session is
	before   func() error // a write; its error is the write's
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, st: store.NewMemory(), outcomes: map[string]int{}, before: func() error { return nil }}
	d.start()
	t.Cleanup(d.stop)
	return d
}

// tagged takes texts that begin with a tag for a harness's.
func tagged(parts []holdfast.Part) []bool {
	synthetic := make([]bool, len(parts))
	for i, p := range parts {
		text, ok := p.(holdfast.Text)
		synthetic[i] = ok && strings.HasPrefix(string(text), "<")
	}
	return synthetic
}

func (d *desk) start() {
	d.r = New(disturbed{d.st, d}, Config{
		Redact: func(s string) (string, int) {
			return strings.ReplaceAll(s, "hunter2", "[redacted]"), strings.Count(s, "hunter2")
		},
		Synthetic: tagged,
		Exists:    func(context.Context, holdfast.Principal, holdfast.SessionID) (bool, error) { return !d.gone, nil },
		Count: func(outcome string) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.outcomes[outcome]++
		},
	}, slog.New(slog.NewTextHandler(&d.log, nil)))
	d.b = NewBranch(Key{Principal: holdfast.Local, Session: "s", Branch: "b", Agent: "codex"})
}

// stop waits for all that was put.
func (d *desk) stop() {
	if err := d.r.Close(context.Background()); err != nil {
		d.t.Error(err)
	}
}

func (d *desk) restart() {
	d.stop()
	d.start()
}

// disturbed runs what the test wants to happen before a write.
type disturbed struct {
	*store.Memory
	d *desk
}

func (s disturbed) Create(ctx context.Context, c store.Conversation, events []store.StoredEvent) error {
	if err := s.d.before(); err != nil {
		return err
	}
	return s.Memory.Create(ctx, c, events)
}

func (s disturbed) Append(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID, after int64, events []store.StoredEvent) error {
	if err := s.d.before(); err != nil {
		return err
	}
	return s.Memory.Append(ctx, p, id, after, events)
}

// history is a passage of texts: those of the user begin with "u", the others are
// the model's. It starts behind the first from of them; all: the whole epoch.
func history(from int, all bool, texts ...string) *Passage {
	p := &Passage{At: time.Unix(int64(len(texts)), 0), From: from, Whole: all, Read: read}
	for i, text := range texts {
		digest := holdfast.DigestOf(strings.Join(texts[:i+1], "\n"))
		switch {
		case i < from:
			p.Before = digest
		default:
			p.Elements = append(p.Elements, Element{Raw: []byte(text), Anchors: []holdfast.Digest{digest}})
		}
	}
	return p
}

func read(raw []byte) ([]holdfast.Event, error) {
	text := string(raw)
	switch {
	case text == "broken":
		return nil, holdfast.Errorf(holdfast.ErrUsage, "no element")
	case text == "defect":
		panic("words of the session")
	case strings.HasPrefix(text, "u"):
		return []holdfast.Event{holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text(text)}}}, nil
	}
	return []holdfast.Event{holdfast.AssistantMessage{Text: text, Digest: holdfast.TextDigest(text), Len: len(text)}}, nil
}

// expect compares what is stored: the conversations, last used first, as the texts
// of their events, other events as their kind.
func (d *desk) expect(want ...string) {
	d.t.Helper()
	d.restart()
	list, err := d.st.List(context.Background(), holdfast.Local, true)
	if err != nil {
		d.t.Fatal(err)
	}
	var got []string
	for _, c := range list {
		var words []string
		for row, err := range d.st.Events(context.Background(), holdfast.Local, c.ID, store.EventRange{}) {
			if err != nil {
				d.t.Fatal(err)
			}
			e, err := conversation.ParseLine(row.Line)
			if err != nil {
				d.t.Fatal(err)
			}
			switch e := e.Event.(type) {
			case holdfast.UserMessage:
				words = append(words, textOf(e.Parts))
			case holdfast.AssistantMessage:
				words = append(words, e.Text)
			default:
				words = append(words, "("+row.Kind+")")
			}
		}
		got = append(got, strings.Join(words, " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		d.t.Errorf("%s\n%s", diff, d.log.String())
	}
}

// full makes the queue as full as it may be, and empties it again.
func (d *desk) full(during func()) {
	d.r.mu.Lock()
	d.r.queued += maxQueuedBytes
	d.r.mu.Unlock()
	during()
	d.r.mu.Lock()
	d.r.queued -= maxQueuedBytes
	d.r.mu.Unlock()
}

func TestWhatFindsTheQueueFullComesWithTheNextRequest(t *testing.T) {
	d := newDesk(t)
	d.r.Put(d.b, history(0, true, "u1", "a1"))
	d.full(func() {
		d.r.Put(d.b, history(1, false, "u1", "a1", "u2"))
		d.r.Put(d.b, history(2, false, "u1", "a1", "u2", "a2"))
	})
	if !d.b.Behind() {
		t.Error("the branch is not behind")
	}
	d.r.Put(d.b, history(0, true, "u1", "a1", "u2", "a2", "u3"))
	if d.b.Behind() {
		t.Error("the branch is still behind")
	}
	d.expect("(turn) u1 a1 (turn) u2 a2 (turn) u3")
	if n := strings.Count(d.log.String(), "do not keep up"); n != 1 || d.outcomes[Dropped] != 2 || d.outcomes[Gap] != 0 {
		t.Errorf("said %d times, outcomes %v\n%s", n, d.outcomes, d.log.String())
	}
}

func TestWhatIsMissingAtACompactionIsAGap(t *testing.T) {
	d := newDesk(t)
	d.r.Put(d.b, history(0, true, "u1", "a1"))
	d.full(func() { d.r.Put(d.b, history(1, false, "u1", "a1", "u2")) })
	p := history(0, true, "u<summary>", "u3")
	p.Epoch, p.Summary = 1, holdfast.TextDigest("u<summary>")
	d.r.Put(d.b, p)
	d.expect("(turn) u1 a1 (gap) (compaction) (turn) u3")
}

func TestAHistoryThatIsKnownNowhereStandsBehindAGap(t *testing.T) {
	d := newDesk(t)
	d.r.Put(d.b, history(0, true, "u1", "a1"))
	d.r.Put(d.b, history(0, true, "u7", "a7"))
	d.expect("(turn) u1 a1 (gap) (turn) u7 a7")
}

func TestAnotherWriterIsNoHindrance(t *testing.T) {
	d := newDesk(t)
	writes := 0
	d.before = func() error {
		if writes++; writes != 2 {
			return nil
		}
		c, err := d.st.ByBranch(context.Background(), holdfast.Local, "b")
		if err != nil {
			return err
		}
		e := holdfast.Entry{ID: "m", At: time.Unix(9, 0), Event: holdfast.Overlay{Source: holdfast.ManualOverlay, StripReasoning: true}}
		return d.st.Append(context.Background(), holdfast.Local, c.ID, c.Head, []store.StoredEvent{rowOf(e)})
	}
	d.r.Put(d.b, history(0, true, "u1", "a1"))
	d.r.Put(d.b, history(1, false, "u1", "a1", "u2"))
	d.expect("(turn) u1 a1 (compaction) (turn) u2")
	if writes != 3 {
		t.Errorf("%d writes", writes)
	}
}

func TestAStoreThatFailsIsTriedAgainWithTheWholeHistory(t *testing.T) {
	d := newDesk(t)
	writes := 0
	d.before = func() error {
		if writes++; writes == 2 {
			return holdfast.Errorf(holdfast.ErrUnavailable, "the disk is full")
		}
		return nil
	}
	d.r.Put(d.b, history(0, true, "u1", "a1"))
	d.r.Put(d.b, history(1, false, "u1", "a1", "u2"))
	d.r.Put(d.b, history(2, false, "u1", "a1", "u2", "a2")) // it was put before the failure was known
	d.r.Put(d.b, history(0, true, "u1", "a1", "u2", "a2", "u3"))
	d.expect("(turn) u1 a1 (turn) u2 a2 (turn) u3")
	if n := strings.Count(d.log.String(), "level=ERROR"); n != 1 || d.outcomes[Failed] != 1 {
		t.Errorf("said %d times, outcomes %v\n%s", n, d.outcomes, d.log.String())
	}
}

func TestWhatCannotBeReadEndsTheRecordingOfItsBranch(t *testing.T) {
	for _, broken := range []string{"broken", "defect"} {
		t.Run(broken, func(t *testing.T) {
			d := newDesk(t)
			d.r.Put(d.b, history(0, true, "u1", "a1"))
			d.r.Put(d.b, history(1, false, "u1", "a1", broken))
			d.r.Put(d.b, history(0, true, "u1", "a1", "u2"))
			d.r.Put(NewBranch(Key{Principal: holdfast.Local, Session: "s", Branch: "a"}), history(0, true, "u1"))
			d.expect("(turn) u1 a1", "(turn) u1")
			if strings.Contains(d.log.String(), "words of the session") {
				t.Errorf("a defect tells of the session:\n%s", d.log.String())
			}
		})
	}
}

func TestAConversationThatCameOfAgeIsBegunAnew(t *testing.T) {
	for _, test := range []struct {
		name string
		ttl  time.Duration
		want []string
	}{
		{"at the end of its time", 3 * time.Second, []string{"(turn) u1 a1 (turn) u2 a2 (turn) u3 a3"}},
		{"before its time a person erased it", 4 * time.Second, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newDesk(t)
			d.r.cfg.TTL = test.ttl
			d.r.Put(d.b, history(0, true, "u1", "a1")) // at second 2
			d.stop()
			if _, err := d.st.ExpireRecordings(t.Context(), time.Unix(3, 0)); err != nil {
				t.Fatal(err)
			}
			b := d.b
			d.start()
			d.r.cfg.TTL = test.ttl
			d.b = b
			d.r.Put(d.b, history(2, false, "u1", "a1", "u2", "a2", "u3")) // at second 5, from a part of the epoch
			d.stop()
			d.start()
			d.r.cfg.TTL = test.ttl
			d.b = b
			if anew := d.b.Behind(); anew != (test.want != nil) {
				t.Errorf("the next passage must be whole: %t", anew)
			}
			d.r.Put(d.b, history(0, true, "u1", "a1", "u2", "a2", "u3", "a3"))
			d.expect(test.want...)
		})
	}
}

func TestWhatWasErasedIsNotBegunAgain(t *testing.T) {
	erase := func(d *desk) {
		c, err := d.st.ByBranch(context.Background(), holdfast.Local, "b")
		if err == nil {
			err = d.st.Delete(context.Background(), holdfast.Local, c.ID)
		}
		if err != nil {
			d.t.Error(err)
		}
	}
	t.Run("a conversation that a person erased", func(t *testing.T) {
		d := newDesk(t)
		writes := 0
		d.before = func() error {
			if writes++; writes == 2 {
				erase(d)
			}
			return nil
		}
		d.r.Put(d.b, history(0, true, "u1"))
		d.r.Put(d.b, history(0, false, "u1", "a1"))
		d.r.Put(d.b, history(0, true, "u1", "a1", "u2"))
		d.expect()
		if d.log.Len() > 0 {
			t.Errorf("what a person wanted is logged:\n%s", d.log.String())
		}
	})
	t.Run("a session that is gone", func(t *testing.T) {
		d := newDesk(t)
		d.gone = true
		d.r.Put(d.b, history(0, true, "u1"))
		d.r.Put(d.b, history(0, true, "u1", "a1"))
		d.expect()
	})
	t.Run("a session that goes", func(t *testing.T) {
		d := newDesk(t)
		d.r.Put(d.b, history(0, true, "u1"))
		d.r.Erase(d.b)
		d.r.Put(d.b, history(0, true, "u1", "a1"))
		d.expect()
	})
}

func TestAKilledProcessGetsBackWhatWasQueued(t *testing.T) {
	d := newDesk(t)
	d.r.Put(d.b, history(0, true, "u1", "a1"))
	d.restart() // what the next request of the old process brought is lost
	if !d.b.Behind() {
		t.Error("a new process is not behind")
	}
	d.r.Put(d.b, history(0, true, "u1", "a1", "u2", "a2", "u3"))
	d.expect("(turn) u1 a1 (turn) u2 a2 (turn) u3")
}

func TestAForkWhoseCopyWasBrokenOffIsFinished(t *testing.T) {
	d := newDesk(t)
	texts := []string{"u1"}
	for i := range 2 * portionEvents {
		texts = append(texts, fmt.Sprint("a", i))
	}
	fork := NewBranch(Key{Principal: holdfast.Local, Session: "s", Branch: "fork", Parent: "b"})
	writes := 0
	d.before = func() error {
		if writes++; writes == 3 { // the second portion
			return holdfast.Errorf(holdfast.ErrUnavailable, "the process was killed")
		}
		return nil
	}
	d.r.Put(d.b, history(0, true, texts...))
	for range 2 {
		d.r.Put(fork, history(0, true, append(slices.Clip(texts), "u2")...))
	}
	whole := "(turn) " + strings.Join(texts, " ")
	d.expect(whole+" (turn) u2", whole)
	c, err := d.st.ByBranch(context.Background(), holdfast.Local, "fork")
	if err != nil || c.ParentSeq != int64(len(texts)+1) || c.Title != "u1" {
		t.Errorf("the fork is %+v, %v", c, err)
	}
}

// slow is a store that waits before it writes.
type slow struct {
	store.Conversations
	release chan struct{}
}

func (s slow) ByBranch(ctx context.Context, p holdfast.Principal, b holdfast.BranchID) (store.Conversation, error) {
	<-s.release
	return s.Conversations.ByBranch(ctx, p, b)
}

func (s slow) Events(ctx context.Context, p holdfast.Principal, id holdfast.ConversationID, r store.EventRange) iter.Seq2[store.StoredEvent, error] {
	return s.Conversations.Events(ctx, p, id, r)
}

func TestPutDoesNotWaitForTheStore(t *testing.T) {
	s := slow{store.NewMemory(), make(chan struct{})}
	r := New(s, Config{
		Redact: func(s string) (string, int) { return s, 0 }, Synthetic: func(parts []holdfast.Part) []bool { return make([]bool, len(parts)) },
		Exists: func(context.Context, holdfast.Principal, holdfast.SessionID) (bool, error) { return true, nil }, Count: func(string) {},
	}, slog.New(slog.DiscardHandler))
	b := NewBranch(Key{Principal: holdfast.Local, Branch: "b"})
	r.Put(b, history(0, true, "u1"))
	r.Put(b, history(0, false, "u1", "a1"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.Close(ctx); holdfast.CodeOf(err) != holdfast.ErrUnavailable || !errors.Is(err, context.Canceled) {
		t.Errorf("closing gives up with %v", err)
	}
	close(s.release)
	if err := r.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if c, err := s.Conversations.ByBranch(context.Background(), holdfast.Local, "b"); err != nil || c.Head != 3 {
		t.Errorf("%d events, %v", c.Head, err)
	}
}
