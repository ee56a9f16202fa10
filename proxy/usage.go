package proxy

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/sse"
)

// Ledger takes the records of calls. Record returns at once.
type Ledger interface {
	Record(a holdfast.Attempt)
}

// Admission decides whether there is money for a call.
type Admission interface {
	// Admit refuses a call of a caller with the code budget; its text goes to the
	// client. Of model "" is what may cost and nobody can count. It is on the path of
	// every request, and waits for nothing.
	Admit(c holdfast.Caller, upstream, model string) error
}

// live reads what an answer tells beside its content.
type live interface {
	Event(e sse.Event, emit func(holdfast.Delta))
	Body(body []byte)
	Tokens() holdfast.Tokens
	Failure() (kind, message string, failed bool)
}

// free are the ends of paths that cost nothing: counting tokens, ending what runs,
// and uploads.
var free = []string{"/count_tokens", ":countTokens", "/input_tokens", "/cancel", ":cancel", "/files"}

// mayCost reports whether what a request asks for may cost, though it calls no model
// that is read: a batch, an embedding, an image, and whatever else is not known to be
// free, as the reports of claude-code are.
func mayCost(method string, rt route) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodDelete:
		return false
	}
	return !slices.ContainsFunc(free, func(end string) bool { return strings.HasSuffix(rt.plain, end) }) &&
		!(rt.protocol == holdfast.Anthropic && strings.HasPrefix(rt.plain, "/api/"))
}

// asksModel reports whether a request calls a model: what counts tokens, lists
// models or manages what is stored does not.
func asksModel(method string, rt route) bool {
	return method == http.MethodPost && rt.readable &&
		!strings.HasSuffix(rt.plain, "/count_tokens") && !strings.HasSuffix(rt.plain, ":countTokens")
}

// name is the id of the record that the call will have first; "" where none is kept.
func (x *exchange) name() holdfast.AttemptID {
	if x.p.ledger != nil && x.first == "" {
		x.first = holdfast.AttemptID(uuid.Must(uuid.NewV7()).String())
	}
	return x.first
}

// beginRecord opens the record of a call that is about to be sent with a body. One that
// is open is of the call that this one repeats.
func (x *exchange) beginRecord(raw []byte) {
	if x.p.ledger == nil || x.ours || !asksModel(x.r.Method, x.rt) {
		return
	}
	id, parent := x.name(), holdfast.AttemptID("")
	if x.record != nil {
		id, parent = holdfast.AttemptID(uuid.Must(uuid.NewV7()).String()), x.record.ID
		x.endRecord()
	}
	sent := int64(len(raw))
	if plain := x.decoded(); plain.coding != nil {
		sent = max(sent, int64(len(plain.bytes))) // an inserted block is little beside it
	}
	a := &holdfast.Attempt{
		ID: id, Began: time.Now(), Principal: x.caller.Principal, Label: x.caller.Label, Parent: parent,
		Trace: traceOf(x.r.Header.Get("Traceparent")), Role: holdfast.PrimaryRole,
		Upstream: x.rt.up.Name, Model: x.modelName(), Protocol: x.rt.protocol, Sent: sent,
	}
	if x.attempt != nil {
		a.Agent = x.attempt.Verdict.Agent
		a.Session, a.Branch, a.Boundary = x.attempt.Place()
	}
	x.record, x.meter = a, nil
}

// endRecord hands the record over, once.
func (x *exchange) endRecord() {
	a := x.record
	if a == nil {
		return
	}
	x.record = nil
	a.Ended = time.Now()
	failed, whole := false, false
	if m := x.meter; m != nil {
		x.p.guarded("usage", func() {
			a.Tokens = m.tokens()
			_, _, failed = m.live.Failure()
		})
		whole = m.over
		a.Received = m.content(a.Received)
	}
	switch {
	case a.Status == 0 && x.left == "", a.Status != 0 && a.Status/100 != 2, failed:
		a.Outcome = holdfast.OutcomeError
	case x.left == "", whole: // who has all of an answer may leave
		a.Outcome = holdfast.OutcomeOK
	default:
		a.Outcome = x.left
	}
	x.p.ledger.Record(*a)
}

// traceOf is the trace id of a traceparent header, "" when it has none:
// https://www.w3.org/TR/trace-context/#traceparent-header.
func traceOf(header string) string {
	parts := strings.Split(header, "-")
	if len(parts) < 4 || len(parts[1]) != 32 || strings.Trim(parts[1], "0123456789abcdef") != "" || strings.Trim(parts[1], "0") == "" {
		return ""
	}
	return parts[1]
}

// framing is about how many bytes of a frame are no content, least how many are at
// the least.
const (
	framing = 150
	least   = 4
)

// content is about how many bytes of an answer are what it says.
func (m *meter) content(bytes int64) int64 {
	return min(max(bytes-framing*m.frames, least*m.frames), bytes)
}

// meter reads the tokens of an answer out of the copy that is read of it. It keeps
// no part of the content. A nil meter reads nothing.
type meter struct {
	x        *exchange
	protocol holdfast.Protocol
	live     live
	members  members // of an answer that comes in one piece
	over     bool    // a stream came to its end
	broken   bool    // by a defect
	frames   int64   // of a stream
}

// newMeter is the meter of an answer; nil where nothing is recorded of it, or
// nothing can be told by it.
func (x *exchange) newMeter(resp *http.Response) *meter {
	form, known := formats[x.rt.protocol]
	if x.record == nil || !known || resp.StatusCode/100 != 2 {
		return nil
	}
	return &meter{x: x, protocol: x.rt.protocol, live: form.newLive()}
}

// event takes a frame of a stream. Most frames tell nothing, which is seen without
// reading them.
func (m *meter) event(e sse.Event) {
	if m == nil || m.broken {
		return
	}
	m.frames++
	if contentAlone(e.Name) {
		return
	}
	m.broken = !m.x.p.guarded("usage", func() {
		if hasObject(e.Data, "usage") || bytes.Contains(e.Data, []byte(`"error"`)) {
			m.live.Event(e, func(holdfast.Delta) {})
		}
		m.over = m.over || m.ends(e)
	})
}

// contentAlone reports whether events of a name hold a part of the content and
// nothing else, as most do. The message_delta of Anthropic holds the usage. Chat
// and Gemini name no events.
func contentAlone(name []byte) bool {
	return string(name) == "content_block_delta" || bytes.HasSuffix(name, []byte(".delta"))
}

// piece takes a piece of an answer that is no stream.
func (m *meter) piece(b []byte) {
	if m == nil || m.broken {
		return
	}
	m.broken = !m.x.p.guarded("usage", func() { m.members.feed(b) })
}

func (m *meter) tokens() holdfast.Tokens {
	if body := m.members.body(); body != nil {
		m.live.Body(body)
	}
	return m.live.Tokens()
}

// ends reports whether a frame is the last one that tells anything.
func (m *meter) ends(e sse.Event) bool {
	switch m.protocol {
	case holdfast.Anthropic:
		return string(e.Name) == "message_stop"
	case holdfast.Responses:
		return string(e.Name) == "response.completed" || string(e.Name) == "response.incomplete"
	case holdfast.Chat:
		return string(bytes.TrimSpace(e.Data)) == "[DONE]"
	}
	return bytes.Contains(e.Data, []byte(`"finishReason":`))
}

// sink feeds the meter alone.
func (m *meter) sink(isStream bool) func([]byte) {
	if !isStream {
		return m.piece
	}
	var frames sse.Reader
	return func(b []byte) { frames.Feed(b, m.event) }
}

// hasObject reports whether a member whose name begins with prefix may be an
// object. A quote inside a text has a backslash before it, so texts do not count.
func hasObject(data []byte, prefix string) bool {
	for {
		_, rest, found := bytes.Cut(data, []byte(`"`+prefix))
		if !found {
			return false
		}
		data = rest
		rest = bytes.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
		if rest, found = bytes.CutPrefix(rest, []byte(`"`)); !found {
			continue
		}
		rest = bytes.TrimLeft(rest, " \t\r\n:")
		if len(rest) > 0 && rest[0] == '{' {
			return true
		}
	}
}
