package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
)

const (
	// maxBody bounds an answer that is not streamed, in bytes.
	maxBody = 64 << 20
	// maxError bounds what is read of an error, in bytes.
	maxError = 64 << 10
)

// request makes a request to the upstream, with its credential.
func (c *Client) request(ctx context.Context, method string, to *url.URL, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, c.cfg.Header)
	req.Header.Set("User-Agent", "holdfast")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.up.Protocol == holdfast.Anthropic {
		req.Header.Set("Anthropic-Version", anthropicVersion)
	}
	c.up.Authorize(req)
	return req, nil
}

// attempt sends the call once. The answer is what came of it, also when it failed;
// the status is 0 where none came.
func (c *Client) attempt(ctx context.Context, call holdfast.Call, body []byte, emit func(holdfast.Delta)) (a Answer, status int, failed *failure) {
	req, err := c.request(ctx, http.MethodPost, c.up.URL(c.protocol.path(call.Model)), body)
	if err != nil {
		return Answer{}, 0, &failure{err: holdfast.Errorf(holdfast.ErrInternal, "The call to the upstream %q could not be made: %w.", c.up.Name, err)}
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := c.transport.RoundTrip(req)
	if err != nil {
		return Answer{}, 0, c.unreachable(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, maxError)) // what came will do
		return Answer{}, res.StatusCode, c.declined(res, text)
	}
	// Some servers do not stream, whatever they are asked for.
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "application/json" {
		a, failed = c.whole(res.Body)
		return a, res.StatusCode, failed
	}
	a, failed = c.streamed(res.Body, emit)
	return a, res.StatusCode, failed
}

// streamed reads an answer that is streamed.
func (c *Client) streamed(body io.Reader, emit func(holdfast.Delta)) (Answer, *failure) {
	s, l := c.protocol.stream(), c.protocol.live()
	var r sse.Reader
	take := func(e sse.Event) {
		s.Event(e)
		l.Event(e, emit)
	}
	began := false
	buf := make([]byte, 32<<10)
	var err error
	for err == nil && !r.Overflowed() {
		var n int
		n, err = body.Read(buf)
		began = began || n > 0
		r.Feed(buf[:n], take)
	}
	if len(bytes.TrimSpace(r.Rest())) > 0 && !r.Overflowed() {
		r.Feed([]byte("\n\n"), take) // a last frame without its blank line
	}
	answer := c.answer(s.Answer(), l)
	switch {
	case !began:
		failed := c.broken(err)
		failed.again = true
		return answer, failed
	case r.Overflowed():
		return answer, c.broken(errors.New("a frame is larger than 16 MiB"))
	}
	return c.judge(answer, l, err)
}

// whole reads an answer that is one JSON text.
func (c *Client) whole(body io.Reader) (Answer, *failure) {
	data, err := io.ReadAll(io.LimitReader(body, maxBody))
	if err != nil {
		failed := c.broken(err)
		failed.again = len(data) == 0
		return Answer{}, failed
	}
	read, err := c.protocol.body(data)
	if err != nil {
		return Answer{}, c.broken(err)
	}
	l := c.protocol.live()
	l.Body(data)
	return c.judge(c.answer(read, l), l, io.EOF)
}

func (c *Client) answer(read holdfast.Answer, l live) Answer {
	usage, _ := l.Usage()
	return Answer{ID: read.ID, Events: read.Events, Usage: usage, Tokens: l.Tokens(), Stop: read.Stop, Finish: l.Finish(read)}
}

// judge says whether an answer failed that was read until end.
func (c *Client) judge(a Answer, l live, end error) (Answer, *failure) {
	if kind, message, failed := l.Failure(); failed && a.Finish == holdfast.FinishNone {
		return a, c.reported(kind, message)
	}
	for _, e := range a.Events {
		if m, ok := e.(holdfast.AssistantMessage); ok && len(m.Text) != m.Len {
			return a, c.broken(errors.New("it is too long to be kept"))
		}
	}
	switch {
	case a.Finish != holdfast.FinishNone:
		return a, nil
	case a.Stop != "":
		return a, c.broken(fmt.Errorf("it stopped with %q", clean(a.Stop, c.up.Key)))
	case errors.Is(end, io.EOF):
		return a, c.broken(io.ErrUnexpectedEOF)
	}
	return a, c.broken(end)
}

// clean makes the words of a provider fit for one line: cut, without line breaks
// and without the key, or what they show of it.
func clean(words, key string) string {
	if key != "" {
		words = strings.ReplaceAll(words, key, "[key]")
	}
	list := strings.Fields(words)
	for i, word := range list {
		if bare := strings.Trim(word, `.,;:()<>"'`); showsKey(bare, key) {
			list[i] = strings.Replace(word, bare, "[key]", 1)
		}
	}
	words = strings.Join(list, " ")
	if runes := []rune(words); len(runes) > 300 {
		words = string(runes[:300]) + "…"
	}
	return words
}

// shownOfKey is how much of the beginning or the end of a key providers show
// beside what they hide of it, at least.
const shownOfKey = 4

// showsKey reports whether a word is a key of which a part is hidden, or has the
// beginning or the end of key.
func showsKey(word, key string) bool {
	for _, hidden := range []string{"**", "...", "…"} {
		if strings.Contains(word, hidden) {
			return true
		}
	}
	if len(key) < 2*shownOfKey {
		return false
	}
	return strings.Contains(word, key[:shownOfKey]) || strings.Contains(word, key[len(key)-shownOfKey:])
}
