package eval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Config says how an Upstream answers.
type Config struct {
	// Seed goes into every identifier. Two upstreams behind one store need
	// different seeds, since real identifiers never repeat.
	Seed string
	// Turn answers the turns of the conversation. Nil is Queue().
	Turn Script
	// Summary answers compactions; of an opaque one only the status, the delay,
	// the tokens and the cut count. Nil is Forgetful.
	Summary Script
	// Side answers what is neither, counted like the turns: calls without tools,
	// such as those for titles. Nil answers with a fixed text.
	Side Script
	// Thinks lets turns in Anthropic's protocol begin with thinking that is bound to what
	// stands before it, see Moved.
	Thinks bool
}

// Upstream is a provider that follows a script and keeps every request. It is
// an http.Handler and safe for concurrent use.
type Upstream struct {
	cfg Config

	mu       sync.Mutex
	requests []Request
	count    map[bool]int // requests answered so far; compactions under true
	ids      int
	moved    int
}

// NewUpstream returns an upstream that has seen nothing yet.
func NewUpstream(cfg Config) *Upstream {
	if cfg.Turn == nil {
		cfg.Turn = Queue()
	}
	if cfg.Summary == nil {
		cfg.Summary = Forgetful
	}
	return &Upstream{cfg: cfg, count: map[bool]int{}}
}

// Requests returns all requests so far in the order in which they were read.
// They are shared: do not change them.
func (u *Upstream) Requests() []Request {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.requests)
}

// Moved counts the thinking that came back behind something else than it was made behind.
// A provider with newer models refuses such a request.
func (u *Upstream) Moved() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.moved
}

// ServeHTTP records a request and answers it.
func (u *Upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left while sending: there is nobody to answer
	}
	req := Request{
		Method: r.Method, URI: r.RequestURI, Header: r.Header.Clone(), Body: raw,
		Protocol: protocolOf(r.URL.Path),
	}
	body := readRequest(r.URL.Path, raw)
	req.Kind = kindOf(r, req.Protocol, body)
	reply := u.take(req)

	switch req.Kind {
	case Upgrade:
		w.WriteHeader(http.StatusUpgradeRequired)
		return
	case Probe:
		probe(w, r, req.Protocol)
		return
	case CountTokens:
		name := "input_tokens"
		if req.Protocol == holdfast.Gemini {
			name = "totalTokens"
		}
		writeJSON(w, http.StatusOK, object{{name, len(raw) / 4}})
		return
	}
	if !wait(r.Context(), reply.Delay) {
		return
	}
	if reply.Status >= 400 {
		w.Header().Set("X-Should-Retry", "false")
		writeJSON(w, reply.Status, errorBody(req.Protocol, reply.Status))
		return
	}
	if reply.InputTokens == 0 {
		reply.InputTokens = len(raw) / 4
	}
	var events []event
	var whole object
	switch req.Protocol {
	case holdfast.Anthropic:
		thinking := ""
		if u.cfg.Thinks {
			signature, moved := behind(raw)
			u.mu.Lock()
			u.moved += moved
			u.mu.Unlock()
			if req.Kind == Turn {
				thinking = signature
			}
		}
		events, whole = messagesAnswer(body, reply, thinking, u.id)
	case holdfast.Responses:
		events, whole = responsesAnswer(body, reply, req.Kind == OpaqueCompaction, u.id)
	case holdfast.Chat:
		events, whole = chatAnswer(body, reply, u.id)
	case holdfast.Gemini:
		events, whole = geminiAnswer(body, reply, u.id)
	}
	if body.Stream {
		w.Header().Set("Request-Id", u.id("req_"))
		writeStream(w, events, reply.CutAfter)
		return
	}
	writeBody(w, whole, reply.CutAfter)
}

// take records the request and asks the script for its answer.
func (u *Upstream) take(r Request) Reply {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.requests = append(u.requests, r)
	compaction := r.Kind.IsCompaction()
	if r.Kind == SideCall && u.cfg.Side == nil {
		return Reply{Text: "Working on the code"}
	}
	if !compaction && r.Kind != Turn && r.Kind != SideCall {
		return Reply{}
	}
	n := u.count[compaction]
	u.count[compaction]++
	switch {
	case compaction:
		return u.cfg.Summary(n, r)
	case r.Kind == SideCall:
		return u.cfg.Side(n, r)
	}
	return u.cfg.Turn(n, r)
}

// id makes an identifier with the prefix that the provider uses for its kind.
func (u *Upstream) id(prefix string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ids++
	sum := sha256.Sum256([]byte(u.cfg.Seed + "\x00" + strconv.Itoa(u.ids)))
	return prefix + hex.EncodeToString(sum[:12])
}

// wait reports whether d passed before the client left.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// probe answers what is no model call: agents ask whether the host is there
// and which models it has.
func probe(w http.ResponseWriter, r *http.Request, p holdfast.Protocol) {
	switch {
	case r.Method == http.MethodHead:
		w.WriteHeader(http.StatusOK)
	case r.Method == http.MethodPost && p != "":
		writeJSON(w, http.StatusBadRequest, errorBody(p, http.StatusBadRequest))
	default:
		writeJSON(w, http.StatusNotFound, errorBody(p, http.StatusNotFound))
	}
}

func writeJSON(w http.ResponseWriter, status int, body object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(body)) // a client that left is no failure of the upstream
}

// writeBody writes an answer that is not streamed; cut above zero breaks the
// connection in the middle of it.
func writeBody(w http.ResponseWriter, body object, cut int) {
	if cut <= 0 {
		writeJSON(w, http.StatusOK, body)
		return
	}
	b := encode(body)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b[:len(b)/2])
	_ = http.NewResponseController(w).Flush() // else the half would never leave
	panic(http.ErrAbortHandler)
}

// event is one server-sent event. Chat Completions and Gemini give theirs no
// name. One without data is the mark that ends a stream of Chat Completions.
type event struct {
	name string
	data object
}

func (e event) frame() []byte {
	var b []byte
	if e.name != "" {
		b = fmt.Appendf(b, "event: %s\n", e.name)
	}
	if e.data == nil {
		return append(b, "data: [DONE]\n\n"...)
	}
	return fmt.Appendf(b, "data: %s\n\n", encode(e.data))
}

// writeStream writes the events, each in a write of its own; cut above zero
// breaks the connection after so many.
func writeStream(w http.ResponseWriter, events []event, cut int) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	for i, e := range events {
		if cut > 0 && i == cut {
			panic(http.ErrAbortHandler)
		}
		if _, err := w.Write(e.frame()); err != nil {
			return
		}
		if err := out.Flush(); err != nil {
			return
		}
	}
}

// errorBody is an error as the provider writes it.
func errorBody(p holdfast.Protocol, status int) object {
	message := fmt.Sprintf("scripted answer with status %d", status)
	if p == holdfast.Anthropic {
		return object{{"type", "error"}, {"error", object{{"type", anthropicErrorType(status)}, {"message", message}}}}
	}
	if p == holdfast.Gemini {
		return object{{"error", object{{"code", status}, {"message", message}, {"status", geminiErrorStatus(status)}}}}
	}
	return object{{"error", object{{"message", message}, {"type", "invalid_request_error"}, {"param", nil}, {"code", nil}}}}
}

func anthropicErrorType(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case 529:
		return "overloaded_error"
	}
	if status >= 500 {
		return "api_error"
	}
	return "invalid_request_error"
}

// pieces cuts s into runs of about 20 bytes, between characters: models write
// a few words at a time, and a reader must cope with any cut.
func pieces(s string) []string {
	const size = 20
	var out []string
	start := 0
	for i := range s {
		if i-start >= size {
			out = append(out, s[start:i])
			start = i
		}
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}
