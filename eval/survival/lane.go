package survival

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// mark is the header by which a request is known again at the upstream:
// LANE/REQUEST/COPY. The product passes what it does not know.
const mark = "X-Eval-Request"

// lateBy is how long the answer of a late compactor takes.
const lateBy = 15 * time.Millisecond

// world is an upstream on loopback with the lanes that talk to it.
type world struct {
	up     *eval.Upstream
	base   string // of the upstream
	server *http.Server
	ended  chan struct{}
	// reader is the extractor's model, behind a server of its own; nil for none.
	reader       *eval.Upstream
	readerServer *http.Server

	mu    sync.Mutex
	lanes map[string]*lane
}

func newWorld(seed string) (*world, error) {
	w := &world{lanes: map[string]*lane{}, ended: make(chan struct{})}
	w.up = eval.NewUpstream(eval.Config{Seed: seed, Turn: w.answer(false), Summary: w.answer(true)})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, holdfast.Errorf(holdfast.ErrUnavailable, "no free port on loopback: %w", err)
	}
	w.base = "http://" + l.Addr().String()
	w.server = &http.Server{Handler: http.HandlerFunc(w.serve), ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(w.ended)
		_ = w.server.Serve(l) // ends when stop closes it
	}()
	return w, nil
}

// serve hands a request to the upstream, a copy that is held back when its time
// has come.
func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	if name, seq, copied := readMark(r.Header); copied > 0 {
		if l := w.find(name); l != nil {
			l.wait(seq)
		}
	}
	w.up.ServeHTTP(rw, r)
}

func (w *world) find(name string) *lane {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lanes[name]
}

func (w *world) stop() {
	_ = w.server.Close()
	<-w.ended
	if w.readerServer != nil {
		_ = w.readerServer.Close()
	}
}

// upstreams are the base URLs as the provider's own SDK takes them.
func (w *world) upstreams() map[holdfast.Protocol]string {
	return map[holdfast.Protocol]string{
		holdfast.Anthropic: w.base, holdfast.Responses: w.base + "/v1", holdfast.Chat: w.base + "/v1", holdfast.Gemini: w.base,
	}
}

// answer is the script of the upstream: that of the lane which sent the request.
func (w *world) answer(compaction bool) eval.Script {
	return func(_ int, r eval.Request) eval.Reply {
		name, seq, _ := readMark(r.Header)
		l := w.find(name)
		if l == nil {
			return eval.Reply{Status: http.StatusBadRequest}
		}
		return l.answer(seq, r, compaction)
	}
}

func readMark(h http.Header) (lane string, seq, copied int) {
	parts := strings.Split(h.Get(mark), "/")
	if len(parts) != 3 {
		return "", 0, 0
	}
	seq, _ = strconv.Atoi(parts[1])
	copied, _ = strconv.Atoi(parts[2])
	return parts[0], seq, copied
}

// sent is one request as the client sent it.
type sent struct {
	seq    int
	copied int // 0: as the agent sent it; above: a copy, by a number of its own
	kind   eval.Kind
	path   string
	body   []byte
	served int  // answers of the model that were given before
	epoch  int  // boundaries before it
	at     int  // answers that were given when its epoch's boundary was asked for
	middle bool // that boundary was in the middle of a turn
	direct bool // past the product
}

// lane is one side of a session on its way through the product. It is the
// transport of its agent, and keeps what the agent sent.
type lane struct {
	name      string
	session   *Session
	forked    bool // from the lane of the session, where its history begins
	world     *world
	compactor Compactor
	pool      *http.Transport

	mu      sync.Mutex
	target  string // where requests go; the agent's own URL when empty
	direct  bool   // target is the upstream itself
	trouble meddler
	// holds: copies of turns wait until the session is behind the next boundary.
	holds    bool
	moved    *sync.Cond // on mu: a request was noted, or the session has ended
	ended    bool
	summary  eval.Script
	asked    int // compaction requests
	copies   int // requests that were sent again
	served   int
	replies  map[int]eval.Reply
	sent     []sent
	turn     sent // the last turn, for a restless client
	epoch    int
	at       int
	boundary bool // a summary was asked for, and no turn has followed yet
	atNext   int  // answers given when it was asked for
	inTurn   bool // the agent is in the middle of a turn
	middle   bool
	midNext  bool
	reply    eval.Reply // the newest, for the person who is asked
}

// meddler stands between a lane and its proxy: it gets each request with the
// function that sends it, or a copy of it, also past the lane's proxy to another.
type meddler func(now sent, send func(copied bool, base string) (*http.Response, error)) (*http.Response, error)

// lane adds a lane to the world.
func (w *world) lane(name string, s *Session, c Compactor) *lane {
	l := &lane{
		name: name, session: s, world: w, compactor: c, replies: map[int]eval.Reply{}, pool: &http.Transport{},
		summary: c.New(rand.New(rand.NewPCG(s.Seed, 11))),
	}
	l.moved = sync.NewCond(&l.mu)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lanes[name] = l
	return l
}

// answer gives the next answer of the session, or the same one again to a
// request that was sent before.
func (l *lane) answer(seq int, r eval.Request, compaction bool) eval.Reply {
	l.mu.Lock()
	defer l.mu.Unlock()
	reply, known := l.replies[seq]
	if !known {
		reply = l.next(r, compaction)
		l.replies[seq] = reply
	}
	return reply
}

// next is the next answer of the session. l.mu is held.
func (l *lane) next(r eval.Request, compaction bool) eval.Reply {
	var reply eval.Reply
	switch replies := l.session.replies(); {
	case compaction:
		reply = l.summary(l.asked, r)
		l.asked++
		if l.compactor.Late {
			reply.Delay = lateBy
		}
	case l.served < len(replies):
		reply = replies[l.served]
		l.served++
		l.reply = reply
	default:
		reply = eval.Reply{Status: http.StatusBadRequest} // more turns than the session has
	}
	return reply
}

func (s *Session) replies() (all []eval.Reply) {
	for _, t := range s.Turns {
		all = append(all, t.Replies...)
	}
	return all
}

// people are the person and the machine of the session.
func (l *lane) people(t Turn) eval.World {
	return eval.World{
		Answer: func(string) string {
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, c := range l.reply.Calls {
				if a := l.session.Answered[c.ID]; a != "" {
					return a
				}
			}
			return ""
		},
		Approve: func(plan string) (bool, string) {
			words, refused := l.session.Refusals[strings.TrimSpace(plan)]
			return !refused, words
		},
		Output: func(c eval.Call) string { return l.session.Outputs[c.ID] },
		Notice: func() string { return t.Notice },
	}
}

// client is the one of all agents: a request goes through the lane that drives
// the agent, so that a fork or a subagent has a lane of its own.
var client = &http.Client{Transport: switchboard{}}

type (
	switchboard struct{}
	laneKey     struct{}
)

// RoundTrip hands a request to its lane.
func (switchboard) RoundTrip(r *http.Request) (*http.Response, error) {
	return r.Context().Value(laneKey{}).(*lane).RoundTrip(r)
}

// drive plays the turns from the given one on.
func (l *lane) drive(ctx context.Context, agent eval.Agent, from int, each func(turn int) error) error {
	ctx = context.WithValue(ctx, laneKey{}, l)
	for i := from; i < len(l.session.Turns); i++ {
		if err := each(i); err != nil {
			return err
		}
		t := l.session.Turns[i]
		agent.Enter(l.people(t))
		if t.CompactIn > 0 {
			agent.CompactIn(t.CompactIn)
		}
		l.between(true)
		err := agent.Prompt(ctx, t.Prompt)
		l.between(false)
		if err == nil && t.Compacts {
			err = agent.Compact(ctx)
		}
		if err != nil {
			return fmt.Errorf("turn %d of %s: %w", i, l.name, err)
		}
	}
	return nil
}

func (l *lane) between(in bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inTurn = in
}

// RoundTrip notes a request of the agent and sends it. Around a boundary a
// restless client sends more than the agent does.
func (l *lane) RoundTrip(r *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	first, before := l.note(r, raw)
	compaction := first.kind.IsCompaction()
	if l.compactor.Replays && compaction {
		l.again(r, before) // a retry of the turn before
	}
	var beside sync.WaitGroup
	if l.compactor.Late && compaction {
		beside.Go(func() { l.again(r, before) })
	}
	resp, err := l.deliver(r, first)
	beside.Wait()
	if err != nil || resp.StatusCode != http.StatusOK || !l.compactor.Replays {
		return resp, err
	}
	// What comes again, comes once the answer is there.
	answer, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	switch {
	case compaction:
		l.again(r, first) // the same compaction
		l.again(r, before)
	case first.epoch > 0 && before.epoch < first.epoch:
		l.again(r, first)  // the first turn of the epoch
		l.again(r, before) // and one of the epoch before, out of order
	}
	return resp, nil
}

// deliver sends a request, with the trouble that the lane is in.
func (l *lane) deliver(r *http.Request, s sent) (*http.Response, error) {
	if l.trouble == nil {
		return l.send(r, s, "")
	}
	return l.trouble(s, func(copied bool, base string) (*http.Response, error) {
		if copied {
			return l.send(r, l.copy(s), base)
		}
		return l.send(r, s, base)
	})
}

// copy notes a request that is sent once more.
func (l *lane) copy(s sent) sent {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.copies++
	s.copied = l.copies
	l.sent = append(l.sent, s)
	return s
}

// note takes a request in and returns it with the turn before.
func (l *lane) note(r *http.Request, raw []byte) (now, before sent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kind := eval.KindOf(r, raw)
	if kind.IsCompaction() {
		if !l.boundary {
			l.boundary, l.atNext, l.midNext = true, l.served, l.inTurn
		}
	} else if l.boundary && kind == eval.Turn {
		l.boundary = false
		l.epoch++
		l.at, l.middle = l.atNext, l.midNext
	}
	now = sent{
		seq: len(l.sent), kind: kind, path: r.URL.RequestURI(), body: raw, served: l.served, epoch: l.epoch, at: l.at, middle: l.middle,
		direct: l.direct,
	}
	before = l.turn
	if kind == eval.Turn {
		l.turn = now
	}
	l.sent = append(l.sent, now)
	l.moved.Broadcast()
	return now, before
}

// wait holds a copy back until the second turn behind the next boundary, or the
// end of the session.
func (l *lane) wait(seq int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	passed := func() bool {
		turns := 0
		for _, s := range l.sent[seq:] {
			if s.copied == 0 && s.kind == eval.Turn && s.epoch > l.sent[seq].epoch {
				turns++
			}
		}
		return turns > 1
	}
	for l.holds && !l.ended && !passed() {
		l.moved.Wait()
	}
}

// end says that the session has ended.
func (l *lane) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.moved.Broadcast()
}

// again sends a request once more and forgets the answer.
func (l *lane) again(like *http.Request, s sent) {
	if s.body == nil {
		return
	}
	r := like.Clone(like.Context())
	if u, err := url.Parse(s.path); err == nil {
		r.URL.Path, r.URL.RawQuery = u.Path, u.RawQuery
	}
	if resp, err := l.send(r, l.copy(s), ""); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body) // the agent never sees it
		resp.Body.Close()
	}
}

// send sends a request to a base URL; "" is where the lane aims.
func (l *lane) send(r *http.Request, s sent, target string) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(mark, fmt.Sprintf("%s/%d/%d", l.name, s.seq, s.copied))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(s.body)), int64(len(s.body))
	if target == "" {
		l.mu.Lock()
		target = l.target
		l.mu.Unlock()
	}
	if target != "" {
		u, err := url.Parse(target)
		if err != nil {
			return nil, err
		}
		r.URL.Scheme, r.URL.Host, r.Host = u.Scheme, u.Host, ""
	}
	return l.pool.RoundTrip(r)
}

// follow takes over where the lane that it left stands: without a proxy, too.
func (l *lane) follow(parent *lane) {
	l.target, l.direct = parent.target, parent.direct
	l.served, l.epoch, l.at, l.middle = parent.served, parent.epoch, parent.at, parent.middle
	l.boundary, l.atNext, l.midNext = parent.boundary, parent.atNext, parent.midNext
}

// bypass sends what follows straight to the upstream.
func (l *lane) bypass() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target, l.direct = l.world.base, true
}

// aim sends what follows to another proxy.
func (l *lane) aim(base string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target = base
}

// run plays a session and its fork, if it has one, against a base URL.
func (w *world) run(ctx context.Context, base string, s *Session, c Compactor, each func(l *lane, turn int) error) ([]*lane, error) {
	name := s.Tag
	l := w.lane(name, s, c)
	defer l.pool.CloseIdleConnections()
	lanes := []*lane{l}
	agent := s.Manner.New(client, base, name)
	var other *lane
	var fork eval.Agent
	err := l.drive(ctx, agent, 0, func(turn int) error {
		if s.Fork != nil && turn == s.ForkAt {
			other = w.lane(name+"-fork", s.Fork, c)
			other.forked = true
			other.follow(l)
			fork = agent.Fork(name + " fork")
			lanes = append(lanes, other)
			if s.Seed%8 == 1 { // one side first, or the other
				return other.drive(ctx, fork, turn, func(int) error { return nil })
			}
		}
		return each(l, turn)
	})
	if other != nil {
		defer other.pool.CloseIdleConnections()
		if err == nil && s.Seed%8 != 1 {
			err = other.drive(ctx, fork, s.ForkAt, func(int) error { return nil })
		}
	}
	return lanes, err
}

// ids are the fields by which a history names a call, or an opaque item.
var ids = regexp.MustCompile(`"(?:tool_use_id|tool_call_id|call_id|encrypted_content)":"([^"]*)"`)

// minted reports whether all ids in a body are the upstream's own: a provider
// refuses a history with others.
func (l *lane) minted(body []byte) bool {
	for _, m := range ids.FindAllSubmatch(body, -1) {
		id := string(m[1])
		if !strings.Contains(id, strings.ToLower(l.session.Tag)) && !strings.HasPrefix(id, "b3BhcXVl") {
			return false
		}
	}
	return true
}
