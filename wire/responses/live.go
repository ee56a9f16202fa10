package responses

import (
	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// Live follows a streamed answer beside a Stream: the pieces that are shown as
// they come, the usage, and why it failed. The zero value is ready. It is not for
// concurrent use.
type Live struct {
	tokens        holdfast.Tokens
	counted       bool
	text, thought jsonscan.Joiner
	refused       bool
	incomplete    string // why
	failed        bool
	kind, message string
	buf           []byte
}

// Event takes the next frame and emits what it holds of the answer.
func (l *Live) Event(e sse.Event, emit func(holdfast.Delta)) {
	ev := parse(e)
	switch ev.kind {
	case "response.refusal.delta", "response.output_text.delta":
		l.refused = l.refused || ev.kind == "response.refusal.delta"
		if l.buf = l.text.Append(l.buf[:0], ev.of(eventDelta)); len(l.buf) > 0 {
			emit(holdfast.Delta{Text: string(l.buf)})
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		if l.buf = l.thought.Append(l.buf[:0], ev.of(eventDelta)); len(l.buf) > 0 {
			emit(holdfast.Delta{Text: string(l.buf), Reasoning: true})
		}
	case "response.completed", "response.failed", "response.incomplete":
		l.Body(ev.of(eventResponse))
	case "error":
		// The error is the event, or, from some servers, a member of it.
		l.fail(ev.data)
		var f [1]holdfast.Span
		_, _ = jsonscan.Fields(ev.data, jsonscan.Space(ev.data, 0), f[:], "error")
		if object := f[0].Of(ev.data); len(object) > 0 && object[0] == '{' {
			l.fail(object)
		}
	}
}

// Body takes an answer that was not streamed.
func (l *Live) Body(body []byte) {
	var f [4]holdfast.Span
	if _, err := jsonscan.Fields(body, jsonscan.Space(body, 0), f[:], "usage", "error", "incomplete_details", "output"); err != nil {
		return
	}
	l.count(f[0].Of(body))
	if object := f[1].Of(body); len(object) > 0 && !isNull(object) {
		l.fail(object)
	}
	if f[2].Present() {
		var s [1]holdfast.Span
		// What is no object leaves the span absent.
		_, _ = jsonscan.Fields(body, f[2].Start, s[:], "reason")
		l.incomplete = jsonscan.Text(s[0].Of(body))
	}
	for _, it := range items(body, f[3]) {
		for _, p := range parts(it.in, it.fields[fieldContent]) {
			l.refused = l.refused || p.kind == "refusal"
		}
	}
}

// count reads a usage object: input_tokens is with what the cache gave and, which newer
// models tell and have a price for, took; output_tokens is with the reasoning.
// https://platform.openai.com/docs/guides/prompt-caching
func (l *Live) count(usage []byte) {
	if len(usage) == 0 || usage[0] != '{' {
		return
	}
	l.counted = true
	var f [4]holdfast.Span
	_, _ = jsonscan.Fields(usage, 0, f[:], "input_tokens", "output_tokens", "input_tokens_details", "output_tokens_details")
	var d [2]holdfast.Span
	if f[2].Present() {
		_, _ = jsonscan.Fields(usage, f[2].Start, d[:], "cached_tokens", "cache_write_tokens")
	}
	var o [1]holdfast.Span
	if f[3].Present() {
		_, _ = jsonscan.Fields(usage, f[3].Start, o[:], "reasoning_tokens")
	}
	count := func(s holdfast.Span) *int64 { return jsonscan.Amount(s.Of(usage)) }
	t := holdfast.Tokens{Input: count(f[0]), CacheRead: count(d[0]), CacheWrite: count(d[1]), Output: count(f[1]), Reasoning: count(o[0])}
	rest := jsonscan.Number(f[0].Of(usage))
	for _, part := range []*int64{t.CacheRead, t.CacheWrite} {
		if part != nil {
			*part = min(*part, rest)
			rest -= *part
		}
	}
	if t.Input != nil {
		*t.Input = rest
	}
	l.tokens = t
}

func (l *Live) fail(object []byte) {
	l.failed = true
	var f [3]holdfast.Span
	// What is no object leaves the spans absent.
	_, _ = jsonscan.Fields(object, 0, f[:], "code", "message", "type")
	if l.kind = jsonscan.Text(f[0].Of(object)); l.kind == "" {
		l.kind = jsonscan.Text(f[2].Of(object))
	}
	l.message = jsonscan.Text(f[1].Of(object))
}

// Usage is what was counted so far, without a purpose and a model; ok is false
// when the provider told nothing.
func (l *Live) Usage() (u holdfast.Usage, ok bool) { return l.tokens.Usage(), l.counted }

// Tokens is what the provider told so far.
func (l *Live) Tokens() holdfast.Tokens { return l.tokens }

// Failure is the error that the answer told of, in the provider's words; failed
// is false when there was none.
func (l *Live) Failure() (kind, message string, failed bool) { return l.kind, l.message, l.failed }

// Finish tells why the answer that a Stream read ended:
// https://platform.openai.com/docs/api-reference/responses/object.
func (l *Live) Finish(a holdfast.Answer) holdfast.FinishReason {
	switch {
	case l.failed:
		return holdfast.FinishNone
	case l.incomplete == "content_filter" || a.Complete && l.refused:
		return holdfast.FinishRefusal
	case a.Complete:
		return holdfast.FinishStop
	case l.incomplete == "max_output_tokens":
		return holdfast.FinishLength
	}
	return holdfast.FinishNone
}
