package anthropic

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
	summing       [4]int64 // of the provider's own compaction, in the order of tokens
	counted       bool
	begun         bool // the output is only that of the first frame
	text, thought jsonscan.Joiner
	failed        bool
	kind, message string
	buf           []byte
}

// Event takes the next frame and emits what it holds of the answer.
func (l *Live) Event(e sse.Event, emit func(holdfast.Delta)) {
	ev := parse(e)
	var f [2]holdfast.Span
	switch ev.kind {
	case "message_start":
		ev.fields(ev.message, f[:], "usage")
		l.count(ev.data, f[0])
		l.begun = true
	case "content_block_start":
		ev.fields(ev.content, f[:], "text", "thinking")
		l.say(ev.data, f, emit)
	case "content_block_delta":
		ev.fields(ev.delta, f[:], "text", "thinking")
		l.say(ev.data, f, emit)
	case "message_delta", "error":
		// parse went through this object.
		_, _ = jsonscan.Fields(ev.data, jsonscan.Space(ev.data, 0), f[:], "usage", "error")
		before := l.tokens.Output
		l.count(ev.data, f[0])
		l.begun = l.begun && l.tokens.Output == before
		l.fail(ev.data, f[1])
	}
}

// Body takes an answer that was not streamed.
func (l *Live) Body(body []byte) {
	var f [2]holdfast.Span
	if _, err := jsonscan.Fields(body, jsonscan.Space(body, 0), f[:], "usage", "error"); err == nil {
		l.count(body, f[0])
		l.fail(body, f[1])
	}
}

// say emits the pieces of text and of thinking that an object of an event holds.
func (l *Live) say(in []byte, pieces [2]holdfast.Span, emit func(holdfast.Delta)) {
	l.buf = l.text.Append(l.buf[:0], pieces[0].Of(in))
	if len(l.buf) > 0 {
		emit(holdfast.Delta{Text: string(l.buf)})
	}
	l.buf = l.thought.Append(l.buf[:0], pieces[1].Of(in))
	if len(l.buf) > 0 {
		emit(holdfast.Delta{Text: string(l.buf), Reasoning: true})
	}
}

// count reads a usage object. Its counts are of the whole answer so far, and
// input_tokens leaves out what the cache gave and took:
// https://platform.claude.com/docs/en/build-with-claude/prompt-caching.
func (l *Live) count(in []byte, usage holdfast.Span) {
	if !usage.Present() || in[usage.Start] != '{' {
		return
	}
	l.counted = true
	var f [6]holdfast.Span
	_, _ = jsonscan.Fields(in, usage.Start, f[:], "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens", "output_tokens_details", "iterations")
	l.iterations(in, f[5])
	if details := f[4]; details.Present() {
		// What is no object leaves the span absent.
		f[4] = holdfast.Span{}
		_, _ = jsonscan.Fields(in, details.Start, f[4:], "thinking_tokens")
	}
	for i, to := range []**int64{&l.tokens.Input, &l.tokens.CacheRead, &l.tokens.CacheWrite, &l.tokens.Output, &l.tokens.Reasoning} {
		if n := jsonscan.Amount(f[i].Of(in)); n != nil {
			*to = n
		}
	}
}

// iterations reads what was sampled in the course of one answer. What a compaction took
// is in no other count:
// https://platform.claude.com/docs/en/build-with-claude/compaction-threshold.
func (l *Live) iterations(in []byte, list holdfast.Span) {
	if !list.Present() || in[list.Start] != '[' {
		return
	}
	l.summing = [4]int64{}
	for _, s := range jsonscan.Elements(in, list.Start) {
		var f [5]holdfast.Span
		_, _ = jsonscan.Fields(in, s.Start, f[:], "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens", "type")
		if jsonscan.Text(f[4].Of(in)) != "compaction" {
			continue
		}
		for i := range l.summing {
			if n := jsonscan.Amount(f[i].Of(in)); n != nil {
				l.summing[i] += *n
			}
		}
	}
}

// counts is all that was counted, the provider's own compaction included.
func (l *Live) counts() holdfast.Tokens {
	t := l.tokens
	for i, to := range []**int64{&t.Input, &t.CacheRead, &t.CacheWrite, &t.Output} {
		if n := l.summing[i]; n > 0 {
			if *to != nil {
				n += **to
			}
			*to = &n
		}
	}
	return t
}

func (l *Live) fail(in []byte, object holdfast.Span) {
	if !object.Present() || isNull(object.Of(in)) {
		return
	}
	l.failed = true
	var f [2]holdfast.Span
	// What is no object leaves the spans absent.
	_, _ = jsonscan.Fields(in, object.Start, f[:], "type", "message")
	l.kind, l.message = jsonscan.Text(f[0].Of(in)), jsonscan.Text(f[1].Of(in))
}

// Usage is what was counted so far, without a purpose and a model; ok is false
// when the provider told nothing.
func (l *Live) Usage() (u holdfast.Usage, ok bool) { return l.counts().Usage(), l.counted }

// Tokens is what the provider told so far. The output that message_start counts
// is only what the answer begins with, so it is not told before message_delta.
func (l *Live) Tokens() holdfast.Tokens {
	t := l.counts()
	if l.begun {
		t.Output, t.Reasoning = nil, nil
	}
	return t
}

// Failure is the error that the answer told of, in the provider's words; failed
// is false when there was none.
func (l *Live) Failure() (kind, message string, failed bool) { return l.kind, l.message, l.failed }

// Finish tells why the answer that a Stream read ended:
// https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons.
func (l *Live) Finish(a holdfast.Answer) holdfast.FinishReason {
	switch {
	case a.Stop == "refusal":
		return holdfast.FinishRefusal
	case !a.Complete:
		return holdfast.FinishNone
	case a.Stop == "max_tokens" || a.Stop == "model_context_window_exceeded":
		return holdfast.FinishLength
	}
	return holdfast.FinishStop
}
