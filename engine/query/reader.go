package query

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
	"github.com/holdfast-dev/holdfast/engine/conversations"
)

// Extraction is how a model reads what no tool call states.
type Extraction struct {
	// Ask makes a call of the extractor's model, without tools, beside other calls, and
	// ends when the context does: the turn waits for that. job names the batch in its
	// record. The usage is zero where none was told.
	Ask func(ctx context.Context, p extract.Prompt, job string) (extract.Answer, holdfast.Usage, error)
	// Preserve is what is kept of what was found.
	Preserve    continuity.Preserve
	InputTokens int // of a call: the capsule and the messages
	// Ratio is what calls are sent by what the conversation has grown by, in tokens,
	// while no compaction needs them; 1: each turn is read at once.
	Ratio   float64
	Timeout time.Duration // of a call
	// Barrier is how long a compaction, and the end of a turn, wait at most for a
	// call; 0: not at all.
	Barrier time.Duration
	// Waiting is told when a wait takes longer than a second, and when it is over.
	Waiting func(bool)
}

// patience is how long a wait needs no explanation.
const patience = time.Second

// reader reads a conversation, one batch at a time. Only the call itself is made by
// a goroutine of its own: everything else, and all that is appended, is done by the
// one that holds the conversation.
type reader struct {
	Extraction
	source extract.Source
	job    *job   // under way; nil: none
	mark   string // the newest message that was read, or can hold nothing; "": as the stream says
	failed bool   // in this process nothing is tried again
	left   time.Duration
}

// job is the reading of one batch. What it found may be looked at when done is
// closed.
type job struct {
	batch  extract.Batch
	cancel context.CancelFunc
	done   chan struct{}
	found  extract.Reading
	usage  holdfast.Usage
	err    error
}

func newReader(cfg Config) *reader {
	if cfg.Extraction == nil {
		return nil
	}
	return &reader{
		Extraction: *cfg.Extraction,
		source:     extract.Source{Tokens: cfg.Extraction.InputTokens, Estimate: continuity.EstimateTokens, Redact: cfg.Redact},
	}
}

// read begins the next job, where something that the person typed is worth a call and
// none is under way. What a compaction has taken out of sight unread is read in any
// case, and then hidden is true. Before a compaction all is: also a plan of the model
// that nobody has answered, which else is read with the answer.
func (q *Loop) read(ctx context.Context, l *conversations.Loaded, before bool) (hidden bool) {
	r := q.reader
	if r == nil || r.job != nil || r.failed {
		return false
	}
	// A panic here is a defect of ours: the turn goes on without what is not read.
	defer func() {
		if x := recover(); x != nil {
			q.unread(fmt.Sprintf("a defect of Holdfast (%T)", x))
			hidden = false
		}
	}()
	messages := heard(l.Entries)
	r.source.Most = 0
	if n := failures(l.Entries); n > 0 {
		if whole, ok := r.source.Next(q.capsule(l), messages); ok {
			r.source.Most = max(whole.Holding>>n, 1)
		}
	}
	c := q.capsule(l)
	for {
		batch, ok := r.source.Next(c, messages)
		if !ok {
			return false
		}
		if batch.Eligible {
			typed, hidden := unseen(batch.Messages, l.Entries)
			if !before && (typed == 0 || !hidden && !batch.Due(grown(l.Entries), r.Ratio)) {
				return false
			}
			r.start(ctx, batch, string(l.ID)+"/"+batch.Watermark)
			return hidden
		}
		c.Watermark, r.mark = batch.Watermark, batch.Watermark
	}
}

// heard are the messages of a stream that may be read. A recording may have begun in
// the middle of a session: its turns are counted on from those that the capsules of
// the proxy know of, so that what is said now is the newest.
func heard(entries []holdfast.Entry) []extract.Message {
	entries = slices.Clone(entries)
	for i, e := range entries {
		if m, ok := e.Event.(holdfast.UserMessage); ok {
			entries[i].Event = withoutFiles(m)
		}
	}
	messages := extract.Messages(entries, 0)
	turns := map[string]int{} // of the messages
	for _, m := range messages {
		turns[m.ID] = m.Turn
	}
	turn, before := 0, 0
	for _, e := range entries {
		if n, ok := turns[string(e.ID)]; ok {
			turn = n
		}
		if event, ok := e.Event.(holdfast.Continuity); ok {
			_, own := turns[event.Capsule.Watermark]
			if event.Capsule.Watermark != "" && !own {
				before = max(continuity.NewestTurn(event.Capsule)-turn, 0)
			}
		}
	}
	for i := range messages {
		messages[i].Turn += before
	}
	return messages
}

// unseen counts what the person typed of a batch, and tells whether any of it is not in
// the view of the stream.
func unseen(batch []extract.Message, entries []holdfast.Entry) (typed int, hidden bool) {
	shown := map[string]bool{}
	view := conversations.View(entries)
	for _, t := range view.Turns {
		for _, e := range t.Entries {
			shown[string(e.ID)] = true
		}
	}
	for _, m := range batch {
		if m.Role == extract.User {
			typed++
			hidden = hidden || view.InForce > 0 && !shown[m.ID]
		}
	}
	return typed, hidden
}

// grown is what a stream has grown by since the last call of the extractor, in tokens.
func grown(entries []holdfast.Entry) int {
	from, mark := 0, ""
	for i, e := range entries {
		switch event := e.Event.(type) {
		case holdfast.Usage:
			if event.Purpose == holdfast.ForExtraction {
				from = i + 1
			}
		case holdfast.Continuity:
			if event.Capsule.Watermark != mark {
				mark, from = event.Capsule.Watermark, i+1
			}
		}
	}
	return compaction.Estimator{Render: conversations.Render}.Tokens(conversations.Raw(entries[from:]))
}

// start has a batch read beside what goes on. Its owner is the turn: see end.
func (r *reader) start(ctx context.Context, batch extract.Batch, name string) {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	j := &job{batch: batch, cancel: cancel, done: make(chan struct{})}
	r.job = j
	go func() {
		defer close(j.done)
		defer cancel()
		defer func() {
			if x := recover(); x != nil {
				j.err = holdfast.Errorf(holdfast.ErrInternal, "its call failed by a defect of Holdfast (%T)", x)
			}
		}()
		delimiter := "=" + rand.Text() // no text of a conversation knows it
		j.found, j.err = extract.Read(batch, delimiter, r.Preserve, func(p extract.Prompt) (answer extract.Answer, err error) {
			answer, j.usage, err = r.Ask(ctx, p, name)
			return answer, err
		})
	}()
}

// collect takes what a job brought that is done, and appends it. Whatever that meets
// does not harm the turn.
func (q *Loop) collect(ctx context.Context, l *conversations.Loaded) {
	if q.reader == nil || q.reader.job == nil {
		return
	}
	r, j := q.reader, q.reader.job
	select {
	case <-j.done:
	default:
		return
	}
	r.job = nil
	defer func() {
		if x := recover(); x != nil {
			q.unread(fmt.Sprintf("a defect of Holdfast (%T)", x))
		}
	}()
	was := q.capsule(l)
	next, why := r.outcome(j, was)
	if ctx.Err() != nil && j.err != nil {
		r.failed = true // the person ended it, and knows
		return
	}
	halved := j.found.Discarded.TooMuch() && j.batch.Holding > 1
	if why != "" {
		if paid(j.usage) && failures(l.Entries)+1 >= maxTries {
			next.Watermark, halved = j.batch.Watermark, false
			why += fmt.Sprintf(". That was the case %d times, and it is passed over", maxTries)
		} else {
			why += ". The next query goes on there"
		}
	}
	var events []holdfast.Event
	if paid(j.usage) {
		j.usage.Purpose = holdfast.ForExtraction
		events = append(events, j.usage)
	}
	if next.Watermark != was.Watermark {
		// Also where nothing new was found: nobody pays for that again.
		next.Revision = was.Revision
		if newest := newestCapsule(l.Entries); newest == nil || newest.Digest != next.Digest {
			next.Revision++
		}
		events = append(events, holdfast.Continuity{Capsule: next})
	}
	if len(events) > 0 {
		if err := q.service.Append(context.WithoutCancel(ctx), l, events...); err != nil {
			next.Watermark, halved, why = was.Watermark, false, "what it found cannot be written: "+err.Error()
		}
	}
	r.mark = next.Watermark
	if why != "" && !halved {
		q.unread(why)
	}
}

// outcome is the capsule with what a job brought, or why that is nothing.
func (r *reader) outcome(j *job, was holdfast.Capsule) (next holdfast.Capsule, why string) {
	switch {
	case errors.Is(j.err, context.DeadlineExceeded):
		return was, "its call took longer than " + r.Timeout.String() + ", the timeout"
	case errors.Is(j.err, context.Canceled):
		return was, "its call did not end in the " + r.Barrier.String() + " that a turn waits for it, the barrier_timeout"
	case j.err != nil:
		return was, strings.TrimSuffix(j.err.Error(), ".")
	case j.found.Discarded != "":
		return was, fmt.Sprintf("its answer counts for nothing (%s)", j.found.Discarded)
	}
	next, outcome := continuity.Rebase(j.batch.Base, was, j.found.Delta)
	if outcome == continuity.Stale {
		return was, "the capsule has changed meanwhile"
	}
	return next, ""
}

// maxTries is how often what stands behind a watermark is paid for and not read.
const maxTries = 3

func paid(u holdfast.Usage) bool { return u != (holdfast.Usage{}) }

// failures counts the calls that were paid for since the watermark moved.
func failures(entries []holdfast.Entry) (n int) {
	mark := ""
	for _, e := range entries {
		switch event := e.Event.(type) {
		case holdfast.Usage:
			if event.Purpose == holdfast.ForExtraction {
				n++
			}
		case holdfast.Continuity:
			if event.Capsule.Watermark != mark {
				mark, n = event.Capsule.Watermark, 0
			}
		}
	}
	return n
}

// unread tells why something was not read, and lets the reader rest.
func (q *Loop) unread(why string) {
	q.reader.failed = true
	q.screen.Notice("the extractor has not read all that was said: " + why)
}

// await waits for the job that is under way, at most for what is left of the
// barrier and until ctx ends, and takes what came; false: it is not done.
func (q *Loop) await(ctx context.Context, l *conversations.Loaded) bool {
	r := q.reader
	if r == nil || r.job == nil {
		return true
	}
	start := time.Now()
	limit, patient := time.NewTimer(r.left), time.NewTimer(patience)
	defer limit.Stop()
	defer patient.Stop()
	told, over := false, r.left <= 0
	for !over {
		select {
		case <-patient.C:
			if told = r.Waiting != nil; told {
				r.Waiting(true)
			}
			continue
		case <-r.job.done:
		case <-limit.C:
		case <-ctx.Done():
		}
		over = true
	}
	if told {
		r.Waiting(false)
	}
	r.left -= time.Since(start)
	q.collect(ctx, l)
	return r.job == nil
}

// ready has everything read that a compaction is about to take out of sight, as far
// as the barrier lets it. It is the Ready of the trigger.
func (q *Loop) ready(ctx context.Context, l *conversations.Loaded) {
	for q.reader.left > 0 && ctx.Err() == nil {
		q.read(ctx, l, true)
		if q.reader.job == nil || !q.await(ctx, l) {
			return
		}
	}
}

// barrier gives the waits that come all of their time.
func (q *Loop) barrier() {
	if q.reader != nil {
		q.reader.left = q.reader.Barrier
	}
}

// end ends the job that is under way, and waits for that.
func (q *Loop) end(ctx context.Context, l *conversations.Loaded) {
	if q.reader == nil || q.reader.job == nil {
		return
	}
	q.reader.job.cancel()
	<-q.reader.job.done
	q.collect(ctx, l)
}
