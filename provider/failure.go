package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// failure is why an attempt failed.
type failure struct {
	err   *holdfast.Error
	again bool          // another attempt may do better
	after time.Duration // the pause that the server asks for; 0: none
	model bool          // the server does not know the model
	cut   bool          // the answer broke off
	// moved: reasoning in the call stands behind something else than it was made behind.
	moved bool
}

// keyless is the error of an upstream that has no key.
func (c *Client) keyless() error {
	return holdfast.Errorf(holdfast.ErrConfig, "The upstream %q has no key. Set %s, or give it api_key = \"env:NAME\" in its [[upstream]].", c.up.Name, c.cfg.KeyName)
}

func (c *Client) unreachable(err error) *failure {
	return &failure{again: true, err: holdfast.Errorf(holdfast.ErrUnavailable,
		"The upstream %q cannot be reached at %s: %w. Check its base_url, and that the server runs.", c.up.Name, c.up.Base.Host, err)}
}

func (c *Client) broken(err error) *failure {
	return &failure{cut: true, err: holdfast.Errorf(holdfast.ErrUnavailable, "The answer of the upstream %q broke off: %w. Try again.", c.up.Name, err)}
}

// reported is the failure that an answer itself tells of.
func (c *Client) reported(kind, message string) *failure {
	if kind == "" {
		kind = "error"
	}
	words := kind + worded(clean(message, c.up.Key))
	if kind == tooLongCode || saysTooLong(strings.ToLower(message)) {
		return &failure{err: c.tooLong(words)}
	}
	return &failure{err: holdfast.Errorf(holdfast.ErrUnavailable, "The upstream %q failed while it answered: %s. Try again.", c.up.Name, words)}
}

// worded puts the provider's words behind something.
func worded(message string) string {
	if message == "" {
		return ""
	}
	return ": " + strings.TrimRight(message, ".")
}

// movedWords are Anthropic's of reasoning that it does not take back, since a compaction, a
// change of the tools or of the system text stands before it:
// https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation
const movedWords = "bound to a different conversation"

// tooLongCode is OpenAI's code of a prompt that is above the window.
const tooLongCode = "context_length_exceeded"

func (c *Client) tooLong(words string) *holdfast.Error {
	return holdfast.Errorf(holdfast.ErrTooLarge, "The upstream %q does not take the conversation, it is too long (%s). `holdfast conversation compact` makes it shorter.", c.up.Name, words)
}

// declined is the failure that a status tells of.
func (c *Client) declined(res *http.Response, body []byte) *failure {
	kind, message := errorOf(body)
	message = clean(message, c.up.Key)
	words := worded(message)
	f := &failure{after: cmp.Or(retryAfter(res.Header, time.Now()), retryDelay(body))}
	fail := func(code holdfast.Code, format string, args ...any) {
		f.err = holdfast.Errorf(code, "The upstream %q "+format, append([]any{c.up.Name}, args...)...)
	}
	status, lower := res.StatusCode, strings.ToLower(message)
	switch {
	case status == http.StatusUnauthorized:
		fail(holdfast.ErrForbidden, "refused the key (status %d%s). Check what %s holds, and that it may use this model.", status, words, c.keyName())
	case kind == "insufficient_quota" || status == http.StatusPaymentRequired:
		fail(holdfast.ErrForbidden, "has no credit left for this key (status %d%s). Add some, or use another upstream.", status, words)
	case status == http.StatusForbidden:
		fail(holdfast.ErrForbidden, "does not allow the call (status %d%s). Check that what %s holds may use this model, and from here.", status, words, c.keyName())
	case kind == "model_not_found", status == http.StatusNotFound && strings.Contains(lower, "model"), strings.Contains(lower, "not a valid model"):
		f.model = true
		fail(holdfast.ErrNotFound, "does not know the model (status %d%s).", status, words)
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status >= 300 && status < 400:
		fail(holdfast.ErrConfig, "answers %d where %s calls go%s. Check its base_url and protocol.", status, c.up.Protocol, words)
	case status == http.StatusBadRequest && strings.Contains(lower, movedWords):
		f.moved = true
		fail(holdfast.ErrUsage, "does not take the reasoning back (status %d%s).", status, words)
	case tooLong(status, kind, lower):
		f.err = c.tooLong(fmt.Sprintf("status %d%s", status, words))
	case status == http.StatusTooManyRequests:
		f.again = true
		wait := "a while"
		if f.after > 0 {
			wait = f.after.Round(time.Second).String()
		}
		fail(holdfast.ErrBusy, "asks to slow down (status %d%s). Wait %s and try again.", status, words, wait)
	case status >= 500 || status == http.StatusRequestTimeout || status == http.StatusConflict:
		f.again = true
		fail(holdfast.ErrUnavailable, "failed (status %d%s). Try again later.", status, words)
	default:
		fail(holdfast.ErrUsage, "does not take the call (status %d%s).", status, words)
	}
	// OpenAI and Anthropic say it outright, and their own clients listen to it.
	switch res.Header.Get("X-Should-Retry") {
	case "true":
		f.again = true
	case "false":
		f.again = false
	}
	return f
}

func (c *Client) keyName() string {
	if c.cfg.KeyName == "" {
		return "its api_key"
	}
	return c.cfg.KeyName
}

// tooLong reports whether an error says that the prompt is above the window. message is
// in lower case.
func tooLong(status int, kind, message string) bool {
	return status == http.StatusRequestEntityTooLarge || kind == tooLongCode ||
		status == http.StatusBadRequest && saysTooLong(message)
}

// saysTooLong reports whether words, in lower case, say so. Each provider has its own:
// https://github.com/earendil-works/pi/blob/main/packages/ai/src/utils/overflow.ts lists
// them.
func saysTooLong(message string) bool {
	for _, words := range []string{
		"prompt is too long",                     // Anthropic
		"exceed context limit",                   // Anthropic, of the prompt and the bound together
		"exceeds the context window",             // OpenAI
		"maximum context length",                 // OpenAI, vLLM, DeepSeek, Mistral, OpenRouter
		"maximum allowed input length",           // OpenRouter
		"exceeds the maximum number of tokens",   // Gemini
		"maximum prompt length",                  // xAI
		"reduce the length of the messages",      // Groq
		"longer than the model's context length", // Together
		"exceeded model token limit",             // Kimi
		"context window exceeds limit",           // MiniMax
		"exceeds the available context size",     // llama.cpp
		"greater than the context length",        // LM Studio
		"exceeded max context length",            // Ollama
	} {
		if strings.Contains(message, words) {
			return true
		}
	}
	return false
}

// errorOf reads the error that a provider describes, in any of their forms: an
// object in error or the text there, a message beside it, a detail.
func errorOf(body []byte) (kind, message string) {
	var form struct {
		Error   json.RawMessage `json:"error"`
		Message detail          `json:"message"`
		Detail  detail          `json:"detail"`
		Type    string          `json:"type"`
	}
	// What does not fit leaves its field empty.
	_ = json.Unmarshal(unlisted(body), &form)
	var object struct {
		Code    json.RawMessage `json:"code"`
		Type    string          `json:"type"`
		Status  string          `json:"status"`
		Message string          `json:"message"`
	}
	var text string
	switch {
	case json.Unmarshal(form.Error, &text) == nil:
		return form.Type, text
	case len(form.Error) > 0:
		_ = json.Unmarshal(form.Error, &object)
		if json.Unmarshal(object.Code, &text) == nil && text != "" {
			return text, object.Message
		}
		if object.Type == "" {
			return object.Status, object.Message
		}
		return object.Type, object.Message
	case form.Message != "":
		return form.Type, string(form.Message)
	}
	return form.Type, string(form.Detail)
}

// detail is what an error says as a text, or as a list of what is wrong with the call, as
// FastAPI does (https://fastapi.tiangolo.com/tutorial/handling-errors/). Mistral has
// that in a member of its message.
type detail string

// UnmarshalJSON never fails.
func (d *detail) UnmarshalJSON(b []byte) error {
	var list []struct {
		Words string `json:"msg"`
	}
	var object struct {
		Detail detail `json:"detail"`
	}
	switch {
	case json.Unmarshal(b, (*string)(d)) == nil:
	case json.Unmarshal(b, &list) == nil:
		var words []string
		for _, e := range list {
			words = append(words, e.Words)
		}
		*d = detail(strings.Join(words, "; "))
	case json.Unmarshal(b, &object) == nil:
		*d = object.Detail
	}
	return nil
}

// unlisted is the first element of a list, into which Gemini puts its errors, and any
// other body as it is.
func unlisted(body []byte) []byte {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		return list[0]
	}
	return body
}

// retryDelay is the pause that an error of Google's asks for, which has no header for
// it: the RetryInfo in its details, such as "45.837906927s"; 0: none.
// https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto
func retryDelay(body []byte) time.Duration {
	var form struct {
		Error struct {
			Details []struct {
				Type  string `json:"@type"`
				Delay string `json:"retryDelay"`
			} `json:"details"`
		} `json:"error"`
	}
	// What does not fit leaves its field empty.
	_ = json.Unmarshal(unlisted(body), &form)
	for _, d := range form.Error.Details {
		if pause, err := time.ParseDuration(d.Delay); err == nil && strings.HasSuffix(d.Type, "google.rpc.RetryInfo") {
			return max(pause, 0)
		}
	}
	return 0
}

// retryAfter is the pause that an answer asks for: a number of seconds or a time
// (RFC 9110, section 10.2.3), or OpenAI's milliseconds; 0: none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// explain is the error that the caller gets: one of an unknown model with the
// names that are known, also to the server.
func (c *Client) explain(ctx context.Context, model string, f *failure) error {
	if !f.model {
		return f.err
	}
	names := c.catalogue.Names(c.up)
	if listed, err := c.Models(ctx); err == nil {
		for _, m := range listed {
			names = append(names, m.Name)
		}
	}
	return holdfast.Errorf(f.err.Code, "The upstream %q knows no model %q. %s", c.up.Name, model, suggest(model, names))
}
