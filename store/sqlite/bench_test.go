package sqlite

import (
	"fmt"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// BenchmarkApply writes to the disk under the temporary directory with a flush
// per call. A batch is a turn of one session: its branch, two anchors, and a
// revision of some 2 KB.
func BenchmarkApply(b *testing.B) {
	for _, size := range []int{1, 50} {
		b.Run(fmt.Sprintf("batches per call=%d", size), func(b *testing.B) {
			s := openAt(b, newPath(b))
			turn := 0
			for b.Loop() {
				turn++
				batches := make([]store.Batch, size)
				for i := range batches {
					batches[i] = turnOf(i, turn)
				}
				apply(b, s, batches...)
			}
			perSecond := float64(size*b.N) / b.Elapsed().Seconds()
			b.ReportMetric(perSecond, "batches/s")
			b.ReportMetric(perSecond*4, "rows/s")
		})
	}
}

func turnOf(session, n int) store.Batch {
	id, branch := holdfast.SessionID(fmt.Sprint("session ", session)), holdfast.BranchID(fmt.Sprint("branch ", session))
	capsule := fmt.Appendf(nil, `{"revision":%d,"plan":"%02000d"}`, n, n)
	return store.Batch{
		Session:  store.Session{ID: id, Principal: holdfast.Local, Agent: "codex", Key: string(id), CreatedAt: at(0), UsedAt: at(n)},
		Branches: []store.Branch{{ID: branch, Session: id, CreatedAt: at(0), UsedAt: at(n)}},
		Anchors: []store.Anchor{
			{Branch: branch, Seq: 2*n - 2, Digest: holdfast.DigestOf("text", string(id), fmt.Sprint(n)), Revision: n},
			{Branch: branch, Seq: 2*n - 1, Digest: holdfast.DigestOf("call", string(id), fmt.Sprint(n)), Strong: true, Revision: n},
		},
		Revisions: []store.Revision{{Branch: branch, N: n, Seq: 2 * n, Digest: fmt.Sprint("sha256:", n), Capsule: capsule, At: at(n)}},
	}
}

// BenchmarkOutline reads a session of ten turns, as its first request does, and how far it
// is, as a request does that another process went ahead of.
func BenchmarkOutline(b *testing.B) {
	s := openAt(b, newPath(b))
	for turn := 1; turn <= 10; turn++ {
		apply(b, s, turnOf(1, turn))
	}
	b.Run("session", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Session(b.Context(), holdfast.Local, "codex", "session 1"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("heads", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Heads(b.Context(), holdfast.Local, "codex", "session 1"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkFind looks up a history of 1,000 anchors, all known, in a store of
// 50,000.
func BenchmarkFind(b *testing.B) {
	s := openAt(b, newPath(b))
	for turn := 1; turn <= 1000; turn++ {
		batches := make([]store.Batch, 50)
		for i := range batches {
			batches[i] = turnOf(i, turn)
			batches[i].Revisions = nil
		}
		apply(b, s, batches...)
	}
	var digests []holdfast.Digest
	for turn := 1; turn <= 1000; turn++ {
		digests = append(digests, turnOf(7, turn).Anchors[1].Digest)
	}
	for b.Loop() {
		hits, err := s.Find(b.Context(), holdfast.Local, digests)
		if err != nil || len(hits) != len(digests) {
			b.Fatalf("%d hits: %v", len(hits), err)
		}
	}
}

// thousand is event n of a stream, of a thousand bytes. Every fiftieth is a turn
// and every ten-thousandth a compaction.
func thousand(n int) store.StoredEvent {
	kind := "assistant"
	if n%10_000 == 0 {
		kind = "compaction"
	} else if n%50 == 0 {
		kind = "turn"
	}
	return store.StoredEvent{
		ID: holdfast.EventID(fmt.Sprintf("01890000-0000-7000-8000-%012d", n)), Kind: kind, At: at(n),
		Line: fmt.Appendf(nil, `{"kind":%q,"text":"%0960d"}`, kind, n),
	}
}

// created is a store with a stream of n events.
func created(b *testing.B, n int) *Store {
	s := openAt(b, newPath(b))
	events := make([]store.StoredEvent, n)
	for i := range events {
		events[i] = thousand(i + 1)
	}
	if err := s.Create(b.Context(), store.Conversation{ID: "c1", Principal: holdfast.Local, CreatedAt: at(0)}, events); err != nil {
		b.Fatal(err)
	}
	// Else what is measured next would move these events out of the log.
	if err := emptyLog(b.Context(), s.writer); err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkAppend appends one event a call, each flushed to the disk. What it
// costs must not depend on the length of the stream.
func BenchmarkAppend(b *testing.B) {
	for _, before := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("events before=%d", before), func(b *testing.B) {
			s := created(b, before)
			n := before
			for b.Loop() {
				n++
				if err := s.Append(b.Context(), holdfast.Local, "c1", int64(n-1), []store.StoredEvent{thousand(n)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEvents reads from a stream of 100 MB.
func BenchmarkEvents(b *testing.B) {
	s := created(b, 100_000)
	for _, test := range []struct {
		name  string
		kinds []string
		want  int
	}{
		{"10 compactions", []string{"compaction", "revocation"}, 10},
		{"2,000 turns and compactions", []string{"turn", "compaction", "revocation"}, 2000},
		{"all 100,000", nil, 100_000},
	} {
		b.Run(test.name, func(b *testing.B) {
			for b.Loop() {
				n := 0
				for _, err := range s.Events(b.Context(), holdfast.Local, "c1", store.EventRange{Kinds: test.kinds}) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n != test.want {
					b.Fatalf("%d events, want %d", n, test.want)
				}
			}
		})
	}
}
