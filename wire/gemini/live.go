package gemini

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
	blocked       bool
	failed        bool
	kind, message string
	buf           []byte
}

// Event takes the next frame and emits what it holds of the answer.
func (l *Live) Event(e sse.Event, emit func(holdfast.Delta)) {
	span := whole(e.Data)
	if !span.Present() {
		return
	}
	l.object(e.Data, span)
	c := chunkAt(e.Data, span)
	l.blocked = l.blocked || c.blocked != ""
	for _, p := range c.parts {
		switch p.kind {
		case "text":
			if l.buf = l.text.Append(l.buf[:0], p.value.Of(c.in)); len(l.buf) > 0 {
				emit(holdfast.Delta{Text: string(l.buf)})
			}
		case "thought":
			if l.buf = l.thought.Append(l.buf[:0], p.value.Of(c.in)); len(l.buf) > 0 {
				emit(holdfast.Delta{Text: string(l.buf), Reasoning: true})
			}
		}
	}
}

// Body takes an answer that was not streamed, or a stream in its list form.
func (l *Live) Body(body []byte) {
	for _, span := range elements(body, whole(body)) {
		l.object(body, span)
		c := chunkAt(body, span)
		l.blocked = l.blocked || c.blocked != ""
	}
}

// object reads what stands beside the candidates.
func (l *Live) object(in []byte, span holdfast.Span) {
	var f [2]holdfast.Span
	fields(in, span, f[:], "usageMetadata", "error")
	l.count(in, f[0])
	if f[1].Present() {
		l.failed = true
		var s [2]holdfast.Span
		fields(in, f[1], s[:], "status", "message")
		l.kind, l.message = jsonscan.Text(s[0].Of(in)), jsonscan.Text(s[1].Of(in))
	}
}

// count reads a usageMetadata object; a later one stands for the whole answer so
// far. promptTokenCount is with what the cache gave, candidatesTokenCount without
// the thoughts: https://ai.google.dev/api/generate-content#UsageMetadata.
func (l *Live) count(in []byte, usage holdfast.Span) {
	if !usage.Present() || in[usage.Start] != '{' {
		return
	}
	l.counted = true
	var f [5]holdfast.Span
	fields(in, usage, f[:], "promptTokenCount", "cachedContentTokenCount", "toolUsePromptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
	count := func(i int) *int64 { return jsonscan.Amount(f[i].Of(in)) }
	number := func(i int) int64 { return jsonscan.Number(f[i].Of(in)) }
	t := holdfast.Tokens{Input: count(0), CacheRead: count(1), Output: count(3), Reasoning: count(4)}
	if t.CacheRead != nil {
		*t.CacheRead = min(*t.CacheRead, number(0))
	}
	if t.Input != nil {
		*t.Input += number(2) - min(number(1), number(0))
	}
	if t.Output != nil || t.Reasoning != nil {
		t.Output = new(number(3) + number(4))
	}
	l.tokens = t
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
// https://ai.google.dev/api/generate-content#FinishReason.
func (l *Live) Finish(a holdfast.Answer) holdfast.FinishReason {
	if l.failed {
		return holdfast.FinishNone
	}
	switch a.Stop {
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY":
		return holdfast.FinishRefusal
	case "MAX_TOKENS":
		return holdfast.FinishLength
	}
	switch {
	case l.blocked:
		return holdfast.FinishRefusal
	case a.Complete:
		return holdfast.FinishStop
	}
	return holdfast.FinishNone
}
