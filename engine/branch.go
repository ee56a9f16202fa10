package engine

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
	"github.com/holdfast-dev/holdfast/engine/recording"
	"github.com/holdfast-dev/holdfast/store"
)

// branch is one lineage of history.
type branch struct {
	row    store.Branch
	epochs []*epoch
	revs   []revision
	// confirmed is the fold of the calls that a history carried; effective has
	// the calls of the newest answer on top.
	confirmed, effective holdfast.Capsule
	pending              *boundary
	passedOver           time.Time // when the newest boundary that was discarded was committed
	// summed is the capsule when the newest compaction request came, with what was read
	// since: what answers bring meanwhile stands in no history that is summed up.
	summed        *holdfast.Capsule
	done          map[string]bool   // calls folded with their result, this epoch
	asked         []continuity.Call // of the newest answer, while in memory
	foldedThrough int               // anchors of this epoch that were folded before we read the branch
	stored        cursor            // what the store has
	read          int               // revisions that came from the store when the branch was read
	outlined      bool              // confirmed and effective are, or what the epoch began with
	recording     *recording.Branch // nil until something was recorded by this process
	edited        int               // the newest revision that a person made; 0: none
	// Of extraction, while in memory: the messages of the newest history behind those
	// that the epoch before left unread, the turn that this ended with, the job
	// that is under way, what gathers for the next one, the epoch to
	// come whose summary lacks what came too late for it, how often batches have failed, how many messages
	// they may have at most since more were too much, and up to where they were passed over.
	heard    []extract.Message
	left     []extract.Message
	turn     int
	reading  *reading
	gathered gathered
	owed     int
	tries    map[string]int
	most     int
	passed   string
}

// cursor is how much of a branch was handed to the recorder.
type cursor struct{ epochs, anchors, revs int }

// epoch is the history of a branch between two boundaries.
type epoch struct {
	row     store.Epoch
	anchors []anchor
	pos     map[holdfast.Digest]int
	said    map[holdfast.Digest]bool // of the user's texts, while in memory
	names   map[message]string       // of the texts that extraction heard, while in memory
	// model wrote the summary that opens it, and answered is how many anchors it
	// had when an answer was recorded, from 1; asked is how many it had with the newest
	// one of the user, whole how many when an answer came whole. While in memory.
	model    string
	answered int
	asked    int
	whole    int
	latest   []holdfast.Digest // the strong anchors that the newest whole answer will be
	brings   int               // how many anchors it will be at most
	newest   int               // where the anchors of the newest round begin
	// written is the summary that opens it, as the model wrote it; zero: not known.
	written holdfast.Digest
	// carried tells that its summary has a block, summaryRow which row knows it;
	// rewritten that its own block is another one than the store has.
	carried    bool
	summaryRow string
	rewritten  bool
	// sealed tells that a model may have thought behind its block, which stays then (see
	// binds), late that something came for it since. While in memory.
	sealed, late bool
	// places are those of the block in histories that ended before its own, by their
	// newest anchor: an answer to one may have been thought behind it. While in memory.
	places map[int]int
	// opening is closed when what stands in it is decided; nil: it is. state is the
	// capsule when it opened, with what was read since; nil: its block is written.
	opening chan struct{}
	state   *holdfast.Capsule
}

// revision is one state of the capsule with the place where it came to be.
type revision struct {
	epoch, seq int
	capsule    holdfast.Capsule
	at         time.Time
	// outlined tells that of the capsule only Branch, Revision and Digest are here, and
	// no time: the rest is in the store. See complete.
	outlined bool
}

func (b *branch) behind(h store.Head) bool {
	if h.Epoch != b.row.Epoch {
		return h.Epoch > b.row.Epoch
	}
	return h.Revision > b.newest() || !h.Committed.IsZero() && (b.pending == nil && h.Committed.After(b.passedOver) || b.pending != nil && b.pending.row.At.Before(h.Committed))
}

// newest is the number of the newest revision; 0 for none.
func (b *branch) newest() int {
	if n := len(b.revs); n > 0 {
		return b.revs[n-1].capsule.Revision
	}
	return 0
}

// restore builds a branch from the outline of its stored state.
func restore(st store.BranchState) *branch {
	b := &branch{row: st.Branch, done: map[string]bool{}}
	b.effective.Branch = st.ID
	for _, row := range st.Epochs {
		b.epochs = append(b.epochs, newEpoch(row))
	}
	if len(b.epochs) == 0 {
		b.epochs = []*epoch{newEpoch(store.Epoch{Branch: st.ID})}
	}
	for _, a := range st.Anchors {
		if ep := b.epoch(a.Epoch); ep != nil {
			ep.add(anchor{digest: a.Digest, strong: a.Strong})
		}
	}
	for _, r := range st.Revisions {
		b.revs = append(b.revs, revision{
			epoch: r.Epoch, seq: r.Seq, outlined: true,
			capsule: holdfast.Capsule{Branch: st.ID, Revision: r.N, Digest: r.Digest},
		})
		if r.Edit {
			b.edited = r.N
		}
	}
	b.read, b.outlined = len(b.revs), len(b.revs) > 0
	if n := len(b.revs); n > 0 {
		b.effective = b.revs[n-1].capsule
	}
	cur := b.current()
	cur.newest = st.Round
	b.confirmed, b.foldedThrough = b.at(cur.row.N, len(cur.anchors)), len(cur.anchors)
	for _, bd := range st.Boundaries {
		switch {
		case bd.Status == store.BoundaryFailed, bd.Status == store.BoundaryDiscarded:
		case bd.Epoch == cur.row.N:
			b.pending = &boundary{row: bd}
		case bd.Epoch == cur.row.N-1 && bd.Status == store.BoundaryCommitted:
			cur.written = bd.Summary
		}
	}
	b.stored = cursor{epochs: len(b.epochs), anchors: len(cur.anchors), revs: len(b.revs)}
	return b
}

func newEpoch(row store.Epoch) *epoch {
	return &epoch{row: row, pos: map[holdfast.Digest]int{}, said: map[holdfast.Digest]bool{}}
}

func (ep *epoch) add(a anchor) {
	if _, known := ep.pos[a.digest]; !known {
		ep.pos[a.digest] = len(ep.anchors)
	}
	ep.anchors = append(ep.anchors, a)
}

// meeting tells of epochs whether any of these anchors is theirs. A session may have
// thousands of branches that were left after a few messages, so that the shorter side
// is looked up in the longer.
func meeting(anchors []anchor) func(*epoch) bool {
	own := sync.OnceValue(func() map[holdfast.Digest]bool {
		set := make(map[holdfast.Digest]bool, len(anchors))
		for _, a := range anchors {
			set[a.digest] = true
		}
		return set
	})
	return func(ep *epoch) bool {
		if len(ep.anchors) < len(anchors) {
			return slices.ContainsFunc(ep.anchors, func(a anchor) bool { return own()[a.digest] })
		}
		return slices.ContainsFunc(anchors, func(a anchor) bool { _, known := ep.pos[a.digest]; return known })
	}
}

func (b *branch) current() *epoch { return b.epochs[len(b.epochs)-1] }

func (b *branch) epoch(n int) *epoch {
	for _, ep := range b.epochs {
		if ep.row.N == n {
			return ep
		}
	}
	return nil
}

// at is the capsule as it was when seq anchors of epoch n had been read.
func (b *branch) at(n, seq int) holdfast.Capsule {
	if i := b.indexAt(n, seq); i >= 0 {
		return b.revs[i].capsule
	}
	return holdfast.Capsule{Branch: b.row.ID}
}

// indexAt is the place of that capsule's revision; -1 for none.
func (b *branch) indexAt(n, seq int) int {
	for i := len(b.revs) - 1; i >= 0; i-- {
		if r := &b.revs[i]; r.epoch < n || (r.epoch == n && r.seq <= seq) {
			return i
		}
	}
	return -1
}

// advance makes c the effective capsule. Equal content makes no revision.
func (b *branch) advance(c holdfast.Capsule, seq int, now time.Time) bool {
	if c.Digest == b.effective.Digest || (b.effective.Digest == "" && continuity.Empty(c)) {
		return false
	}
	c.Revision = b.newest() + 1
	b.effective = c
	b.revs = append(b.revs, revision{epoch: b.current().row.N, seq: seq, capsule: c, at: now})
	return true
}

// round is how many anchors an epoch has before those that may have been broken off: all
// but the newest round, and with what the user said last where that was answered whole.
func (ep *epoch) round() int {
	if ep.whole == len(ep.anchors) {
		return max(ep.newest, ep.asked)
	}
	return ep.newest
}

// collect adds what the store does not have of b: nothing while its epoch is opening,
// since the next process would find that epoch without a block.
func (b *branch) collect(batch *store.Batch) {
	if b.current().opening != nil {
		return
	}
	b.row.Round = b.current().round()
	batch.Branches = append(batch.Branches, b.row)
	first := max(b.stored.epochs-1, 0)
	for i := first; i < len(b.epochs); i++ {
		ep := b.epochs[i]
		if i >= b.stored.epochs || ep.rewritten {
			batch.Epochs = append(batch.Epochs, ep.row)
			ep.rewritten = false
		}
		from := 0
		if i == first && b.stored.epochs > 0 {
			from = b.stored.anchors
		}
		for seq := from; seq < len(ep.anchors); seq++ {
			a := ep.anchors[seq]
			batch.Anchors = append(batch.Anchors, store.Anchor{
				Branch: b.row.ID, Epoch: ep.row.N, Seq: seq,
				Digest: a.digest, Strong: a.strong, Revision: b.at(ep.row.N, seq+1).Revision,
			})
		}
	}
	for i := b.stored.revs; i < len(b.revs); i++ {
		r, after := b.revs[i], ""
		if i > 0 {
			after = b.revs[i-1].capsule.Digest
		}
		raw, err := json.Marshal(r.capsule)
		if err != nil {
			panic(err) // plain strings and slices always marshal
		}
		batch.Revisions = append(batch.Revisions, store.Revision{
			Branch: b.row.ID, N: r.capsule.Revision, Epoch: r.epoch,
			Seq: r.seq, Digest: r.capsule.Digest, After: after, Capsule: raw, At: r.at,
		})
	}
	b.stored = cursor{epochs: len(b.epochs), anchors: len(b.current().anchors), revs: len(b.revs)}
}
