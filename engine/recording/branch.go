package recording

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/store"
)

// Key names a branch.
type Key struct {
	Principal holdfast.Principal
	Session   holdfast.SessionID
	Branch    holdfast.BranchID
	Parent    holdfast.BranchID // that it was forked from; "" for none
	Agent     string            // "" when unknown
}

// window is how many of a stream's newest events are known by their ids, and
// their contents.
const window = 1024

// Branch is the recording of one branch. What it keeps in memory is bounded, and
// read back from the store where it is not there. All but behind belongs to the
// recorder's goroutine.
type Branch struct {
	key    Key
	behind atomic.Bool

	loaded, exists bool
	id             holdfast.ConversationID
	used           time.Time // the newest append
	state          state
	ids            ring[holdfast.EventID]
	contents       ring[holdfast.Digest]
	unsure         int // how many of the newest contents are an answer that no history has
	overlays       map[holdfast.EventID]bool

	lost   bool // passages are missing: only one of a whole epoch is taken
	missed bool // something was lost since the newest event
	over   bool // nothing more is recorded

	dropped bool // a passage was, since the last whole one; guarded by who calls Put
}

// NewBranch returns the recording of a branch, of which nothing is known yet.
func NewBranch(k Key) *Branch {
	b := &Branch{key: k, lost: true}
	b.behind.Store(true)
	return b
}

// Behind reports whether the next passage must begin with its epoch. Safe for
// concurrent use.
func (b *Branch) Behind() bool { return b.behind.Load() }

// failed notes that a passage was not written. What a later one cannot mend ends
// the recording.
func (b *Branch) failed(err error) {
	b.loaded = false
	b.lost, b.missed = true, true
	switch holdfast.CodeOf(err) {
	case holdfast.ErrNewer, holdfast.ErrInternal, holdfast.ErrUsage:
		b.over = true
	}
	b.behind.Store(true)
}

// erased notes that the conversation is gone. Where it may have come of age, the
// next passage, which must be of a whole epoch, begins another one; else somebody
// erased it, and nothing more is recorded.
func (b *Branch) erased(p *Passage, ttl time.Duration) {
	if p == nil || ttl <= 0 || p.At.Sub(b.used) < ttl {
		b.over = true
		return
	}
	b.loaded, b.id, b.used = false, "", time.Time{}
	b.lost, b.missed = true, false
	b.behind.Store(true)
}

// ring remembers the newest values that were added.
type ring[T comparable] struct {
	order []T
	count map[T]int
}

func (r *ring[T]) add(v T) {
	if r.count == nil {
		r.count = map[T]int{}
	}
	if len(r.order) >= 2*window {
		for _, old := range r.order[:window] {
			if r.count[old]--; r.count[old] == 0 {
				delete(r.count, old)
			}
		}
		r.order = append(r.order[:0], r.order[window:]...)
	}
	r.order = append(r.order, v)
	r.count[v]++
}

func (r *ring[T]) has(v T) bool { return r.count[v] > 0 }

// newest is the value that was added last, but for n; the zero value: there is
// none.
func (r *ring[T]) newest(n int) (v T) {
	if len(r.order) > n {
		v = r.order[len(r.order)-1-n]
	}
	return v
}

// load reads what the store has of a branch.
func (r *Recorder) load(ctx context.Context, b *Branch) error {
	if b.loaded {
		return nil
	}
	b.state, b.exists = state{closed: true}, false
	b.ids, b.contents = ring[holdfast.EventID]{}, ring[holdfast.Digest]{}
	b.overlays, b.unsure = map[holdfast.EventID]bool{}, 0
	c, err := r.st.ByBranch(ctx, b.key.Principal, b.key.Branch)
	switch {
	case holdfast.CodeOf(err) == holdfast.ErrNotFound && err != nil:
		if b.id != "" {
			return err // it was erased
		}
		b.loaded = true
		return nil
	case err != nil:
		return err
	}
	if c.Head < c.ParentSeq {
		// Its beginning was being copied when the process ended.
		if err := r.copy(ctx, c, c.Head); err != nil {
			return err
		}
		if c, err = r.st.Get(ctx, c.Principal, c.ID); err != nil {
			return err
		}
	}
	return r.read(ctx, b, c)
}

// read reads the end of a conversation.
func (r *Recorder) read(ctx context.Context, b *Branch, c store.Conversation) error {
	b.state.titled, b.state.turns = c.Title != "", c.Turns
	marks := store.EventRange{Kinds: []string{conversation.KindCompaction, conversation.KindContinuity}, UpTo: max(c.Head-window, 1)}
	if c.Head > window {
		for row, err := range r.st.Events(ctx, c.Principal, c.ID, marks) {
			if err != nil {
				return err
			}
			b.learn(row)
		}
	}
	b.state.closed, b.state.fresh = c.Head == 0, false
	for row, err := range r.st.Events(ctx, c.Principal, c.ID, store.EventRange{After: max(c.Head-window, 0), UpTo: c.Head}) {
		if err != nil {
			return err
		}
		b.learn(row)
	}
	b.id, b.used, b.state.head = c.ID, c.UsedAt, c.Head
	b.loaded, b.exists = true, true
	return nil
}

// learn takes an event that is in the stream.
func (b *Branch) learn(row store.StoredEvent) {
	b.ids.add(row.ID)
	e, err := conversation.ParseLine(row.Line)
	if err != nil {
		return // this version did not write it
	}
	if o, ok := e.Event.(holdfast.Overlay); ok {
		b.overlays[row.ID] = true
		if o.Source != holdfast.AgentOverlay {
			return
		}
	}
	if content := contentOf(e.Event); !content.IsZero() {
		b.contents.add(content)
	}
	b.state.saw(e.Event)
}

// contentOf is the content of a stored event, as of an item.
func contentOf(e holdfast.Event) holdfast.Digest {
	switch e := e.(type) {
	case holdfast.UserMessage:
		if e.Synthetic || len(e.Parts) == 0 {
			return holdfast.Digest{}
		}
		if t, ok := e.Parts[len(e.Parts)-1].(holdfast.Text); ok {
			return holdfast.DigestOf("user", holdfast.TextDigest(string(t)).String())
		}
	case holdfast.AssistantMessage:
		return holdfast.DigestOf("assistant", holdfast.TextDigest(e.Text).String())
	case holdfast.ToolCall:
		return holdfast.DigestOf("call", e.ID)
	case holdfast.ToolResult:
		return resultContent(e.CallID, e.Parts)
	}
	return holdfast.Digest{}
}

// known is the index of the newest item that is recorded; -1: none is.
func (b *Branch) known(items []item) int {
	for i, it := range slices.Backward(items) {
		if b.ids.has(it.id) {
			return i
		}
	}
	return -1
}

// kept is the index of the newest item that is recorded elsewhere, as the agent
// kept it verbatim behind a summary; -1: none is. What agents keep reaches up to
// the newest of all, but for an answer that they did not take up: to leave that
// out, more than one item must be known, since what a person types may be what
// was typed before.
func (b *Branch) kept(items []item) int {
	for i, it := range slices.Backward(items) {
		if it.content == b.contents.newest(0) || it.unique && b.contents.has(it.content) {
			return i
		}
	}
	known := 0
	last := -1
	for i, it := range items {
		if !b.contents.has(it.content) {
			continue
		}
		known++
		if it.content == b.contents.newest(b.unsure) && known > 1 {
			last = i
		}
	}
	return last
}

// begin makes the conversation of a branch, as far as there is something to
// begin it with: a fork's copy. Without a copy nothing is written.
func (r *Recorder) begin(ctx context.Context, b *Branch, p *Passage, items []item) error {
	ok, err := r.cfg.Exists(ctx, b.key.Principal, b.key.Session)
	if err != nil {
		return err
	}
	if !ok {
		b.over = true
		return nil
	}
	if b.key.Parent == "" {
		return nil
	}
	parent, err := r.st.ByBranch(ctx, b.key.Principal, b.key.Parent)
	if err != nil {
		if holdfast.CodeOf(err) == holdfast.ErrNotFound {
			return nil // it was not recorded
		}
		return err
	}
	at, err := r.forkedAt(ctx, parent, p, items)
	if err != nil || at == 0 {
		return err
	}
	c := r.head(b, p.At)
	c.Title, c.Parent, c.ParentSeq = parent.Title, parent.ID, at
	if err := r.copy(ctx, c, 0); err != nil {
		return err
	}
	b.loaded = false
	return r.load(ctx, b)
}

// forkedAt is the event behind which a fork left its parent; 0: nothing in the
// parent's stream is the fork's too.
func (r *Recorder) forkedAt(ctx context.Context, parent store.Conversation, p *Passage, items []item) (int64, error) {
	in, kinds := map[holdfast.EventID]int64{}, map[int64]string{}
	for row, err := range r.st.Events(ctx, parent.Principal, parent.ID, store.EventRange{}) {
		if err != nil {
			return 0, err
		}
		in[row.ID], kinds[row.Seq] = row.Seq, row.Kind
	}
	for _, it := range slices.Backward(items) {
		if at := in[it.id]; at > 0 {
			return at, nil
		}
	}
	for i, d := range slices.Backward(p.Parted) {
		at := in[anchorID(p.PartedIn, i+1, d)]
		if at == 0 {
			continue
		}
		for slices.Contains(answering, kinds[at+1]) {
			at++
		}
		return at, nil
	}
	switch at, compacted := in[overlayID(p.Epoch)]; {
	case p.Summary.IsZero():
		return 0, nil
	case compacted:
		return at - 1, nil
	}
	return parent.Head, nil
}

// answering are the kinds of what belongs to the message or the call before it: what came
// of that, and what the model said.
var answering = []string{conversation.KindReasoning, conversation.KindAssistant, conversation.KindToolResult, conversation.KindContinuity}

func (r *Recorder) head(b *Branch, at time.Time) store.Conversation {
	return store.Conversation{
		ID: holdfast.ConversationID(uuid.Must(uuid.NewV7()).String()), Principal: b.key.Principal, Origin: store.RecordedConversation,
		Agent: b.key.Agent, Branch: b.key.Branch, Version: store.StreamVersion, CreatedAt: at, UsedAt: at,
	}
}

// Events are copied in portions of these sizes.
const (
	portionEvents = 1000
	portionBytes  = 4 << 20
)

// copy copies the events of a fork's parent behind head, up to ParentSeq, and
// makes the fork where it has none yet.
func (r *Recorder) copy(ctx context.Context, c store.Conversation, head int64) error {
	var rows []store.StoredEvent
	size := 0
	flush := func() (err error) {
		if head == 0 {
			err = r.st.Create(ctx, c, rows)
		} else {
			err = r.st.Append(ctx, c.Principal, c.ID, head, rows)
		}
		head += int64(len(rows))
		rows, size = nil, 0
		return err
	}
	for row, err := range r.st.Events(ctx, c.Principal, c.Parent, store.EventRange{After: head, UpTo: c.ParentSeq}) {
		if err != nil {
			return err
		}
		rows = append(rows, row)
		if size += len(row.Line); size >= portionBytes || len(rows) == portionEvents {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// erase ends the recording of a branch and takes away what there is.
func (r *Recorder) erase(ctx context.Context, b *Branch) error {
	b.over = true
	c, err := r.st.ByBranch(ctx, b.key.Principal, b.key.Branch)
	if err == nil {
		err = r.st.Delete(ctx, c.Principal, c.ID)
	}
	if err != nil && holdfast.CodeOf(err) == holdfast.ErrNotFound {
		return nil
	}
	return err
}
