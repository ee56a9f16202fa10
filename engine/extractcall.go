package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
	"github.com/holdfast-dev/holdfast/engine/extraction"
)

// ExtractorCall is one call of the extractor's model. Neither it nor its answer is
// ever stored or logged.
type ExtractorCall struct {
	Prompt extract.Prompt
	Schema []byte // of the answer; strict, where the provider takes one
	// For says for whom the call is made, as its record tells: caller, session,
	// branch, boundary, job, trace and agent.
	For holdfast.Attempt
}

// ExtractorModel makes calls on the route of the extractor. It offers no tools, and
// is safe for concurrent use.
type ExtractorModel interface {
	Extract(ctx context.Context, c ExtractorCall) (extract.Answer, holdfast.Tokens, error)
}

// batchOf is one batch of one branch and what becomes of what is found in it.
type batchOf struct {
	who    holdfast.Attempt
	batch  extract.Batch
	keep   continuity.Preserve
	wanted func() bool
	merge  func(continuity.Delta) continuity.Outcome
	halve  func() // the batch is too much for one answer
}

// call has the model read a batch, and merges what is found.
func (e *Engine) call(ctx context.Context, j batchOf) extraction.Outcome {
	start := time.Now()
	delimiter := "=" + rand.Text() // no text of a session knows it
	found, err := extract.Read(j.batch, delimiter, j.keep, func(p extract.Prompt) (extract.Answer, error) {
		answer, tokens, err := e.cfg.Extractor.Model.Extract(ctx, ExtractorCall{Prompt: p, Schema: e.schema, For: j.who})
		e.metrics.extracted(time.Since(start), tokens)
		return answer, err
	})
	if err != nil {
		code := string(holdfast.CodeOf(err))
		if errors.Is(err, context.DeadlineExceeded) {
			code = "timeout"
		}
		return e.unread(j, "call", code)
	}
	e.metrics.doubted(found.Doubted)
	if found.Discarded != "" {
		e.metrics.doubted(extract.Counts{found.Discarded: 1})
		if found.Discarded.TooMuch() && j.batch.Holding > 1 {
			j.halve()
		}
		return e.unread(j, "answer", string(found.Discarded))
	}
	if !j.wanted() {
		return extraction.Dropped
	}
	switch j.merge(found.Delta) {
	case continuity.Merged:
		return extraction.OK
	case continuity.Stale:
		return extraction.Stale
	}
	return extraction.Dropped
}

// unread tells of a call that brought nothing, without anything that its session or
// its provider said.
func (e *Engine) unread(j batchOf, where, code string) extraction.Outcome {
	e.log.Warn("extraction failed", "where", where, "code", code, "session", j.who.Session, "branch", j.who.Branch, "job", j.who.Job)
	return extraction.Failed
}
