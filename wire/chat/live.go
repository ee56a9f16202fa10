package chat

import (
	"bytes"
	"cmp"

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
	failed        bool
	kind, message string
	buf           []byte
}

// Event takes the next frame and emits what it holds of the answer.
func (l *Live) Event(e sse.Event, emit func(holdfast.Delta)) {
	l.object(e.Data)
	c := parse(e)
	m := &c.message
	if l.buf = l.thought.Append(l.buf[:0], m.thought()); len(l.buf) > 0 {
		emit(holdfast.Delta{Text: string(l.buf), Reasoning: true})
	}
	var said []byte
	for _, p := range parts(m.in, m.fields[fieldContent]) {
		said = l.text.Append(said, p.text.Of(m.in))
	}
	if m.says(fieldRefusal) {
		l.refused = true
		said = l.text.Append(said, m.of(fieldRefusal))
	}
	if len(said) > 0 {
		emit(holdfast.Delta{Text: string(said)})
	}
}

// Body takes an answer that was not streamed.
func (l *Live) Body(body []byte) {
	l.object(body)
	if c, _, err := chunkAt(body, jsonscan.Space(body, 0), "message"); err == nil {
		l.refused = c.message.says(fieldRefusal)
	}
}

// object reads what stands beside the choices. Some servers stream the usage
// inside a choice (https://platform.moonshot.ai/docs/api/chat), or in a member of
// their own (https://console.groq.com/docs/api-reference).
func (l *Live) object(in []byte) {
	var f [4]holdfast.Span
	if _, err := jsonscan.Fields(in, jsonscan.Space(in, 0), f[:], "usage", "error", "x_groq", "choices"); err != nil {
		return
	}
	nested := func(at int) {
		var s [1]holdfast.Span
		// What is no object leaves the span absent.
		_, _ = jsonscan.Fields(in, at, s[:], "usage")
		l.count(in, s[0])
	}
	if f[2].Present() {
		nested(f[2].Start)
	}
	if f[3].Present() && (!f[0].Present() || isNull(f[0].Of(in))) {
		for _, choice := range jsonscan.Elements(in, f[3].Start) {
			nested(choice.Start)
		}
	}
	l.count(in, f[0])
	if object := f[1].Of(in); len(object) > 0 && !isNull(object) {
		l.failed = true
		var s [3]holdfast.Span
		// What is no object leaves the spans absent.
		_, _ = jsonscan.Fields(object, 0, s[:], "type", "code", "message")
		if l.kind = jsonscan.Text(s[0].Of(object)); l.kind == "" {
			l.kind = string(bytes.Trim(s[1].Of(object), `"`))
		}
		if l.message = jsonscan.Text(s[2].Of(object)); l.message == "" {
			l.message = jsonscan.Text(object)
		}
	}
}

// count reads a usage object. prompt_tokens is with what the cache gave
// (https://platform.openai.com/docs/guides/prompt-caching), and where a server
// tells it, with what went in
// (https://openrouter.ai/docs/guides/guides/usage-accounting). DeepSeek calls the
// cached part prompt_cache_hit_tokens
// (https://api-docs.deepseek.com/guides/kv_cache), and Kimi has it beside the details
// (https://platform.kimi.ai/docs/api/chat). Where total_tokens is more than
// the two, reasoning was left out of completion_tokens, as xAI does
// (https://docs.x.ai/docs/guides/reasoning).
func (l *Live) count(in []byte, usage holdfast.Span) {
	if !usage.Present() || in[usage.Start] != '{' {
		return
	}
	l.counted = true
	var f [7]holdfast.Span
	_, _ = jsonscan.Fields(in, usage.Start, f[:], "prompt_tokens", "completion_tokens", "total_tokens", "prompt_cache_hit_tokens", "prompt_tokens_details", "completion_tokens_details", "cached_tokens")
	var d [2]holdfast.Span
	if f[4].Present() {
		_, _ = jsonscan.Fields(in, f[4].Start, d[:], "cached_tokens", "cache_write_tokens")
	}
	var o [1]holdfast.Span
	if f[5].Present() {
		_, _ = jsonscan.Fields(in, f[5].Start, o[:], "reasoning_tokens")
	}
	number := func(s holdfast.Span) int64 { return jsonscan.Number(s.Of(in)) }
	count := func(s holdfast.Span) *int64 { return jsonscan.Amount(s.Of(in)) }
	prompt := number(f[0])
	cached := cmp.Or(count(d[0]), count(f[3]), count(f[6]))
	t := holdfast.Tokens{Input: count(f[0]), CacheRead: cached, CacheWrite: count(d[1]), Output: count(f[1]), Reasoning: count(o[0])}
	rest := prompt
	for _, part := range []*int64{t.CacheRead, t.CacheWrite} {
		if part != nil {
			*part = min(*part, rest)
			rest -= *part
		}
	}
	if t.Input != nil {
		*t.Input = rest
	}
	if t.Output != nil {
		*t.Output = max(*t.Output, number(f[2])-prompt)
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
// https://platform.openai.com/docs/api-reference/chat/object.
func (l *Live) Finish(a holdfast.Answer) holdfast.FinishReason {
	switch {
	case a.Stop == "content_filter" || a.Complete && l.refused:
		return holdfast.FinishRefusal
	case !a.Complete:
		return holdfast.FinishNone
	case a.Stop == "length":
		return holdfast.FinishLength
	}
	return holdfast.FinishStop
}
