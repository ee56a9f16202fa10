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
}

// call asks the model what a batch holds. Whatever it brings, an error, prose or
// what nobody said: only what was parsed and grounded is merged, and only what is
// preserved.
func (e *Engine) call(ctx context.Context, j batchOf) extraction.Outcome {
	start := time.Now()
	delimiter := "=" + rand.Text() // no text of a session knows it
	answer, tokens, err := e.cfg.Extractor.Model.Extract(ctx, ExtractorCall{Prompt: j.batch.Prompt(delimiter), Schema: e.schema, For: j.who})
	e.metrics.extracted(time.Since(start), tokens)
	if err != nil {
		code := string(holdfast.CodeOf(err))
		if errors.Is(err, context.DeadlineExceeded) {
			code = "timeout"
		}
		return e.unread(j, "call", code)
	}
	found, dropped, reason := extract.Parse(answer, j.batch.Base.Revision)
	e.metrics.doubted(dropped)
	if reason != "" {
		e.metrics.doubted(extract.Counts{reason: 1})
		return e.unread(j, "answer", string(reason))
	}
	delta, dropped := extract.Ground(j.batch, found)
	e.metrics.doubted(dropped)
	if !j.wanted() {
		return extraction.Dropped
	}
	switch j.merge(j.keep.Of(delta)) {
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
