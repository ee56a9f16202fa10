package proxy

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/wire/chat"
)

// exchange is one request and its answer.
type exchange struct {
	p       *Proxy
	w       http.ResponseWriter
	r       *http.Request
	rt      route
	caller  holdfast.Caller
	ours    bool // a call of our extractor
	body    *body
	form    format
	attempt *engine.Attempt
	plain   *plainBody         // nil until the body was decoded
	model   string             // that the request names; "" until it was read
	altered []byte             // the body that goes upstream, when it is not the client's own
	first   holdfast.AttemptID // names the first record of the exchange
	record  *holdfast.Attempt  // of the call that is under way; nil: none is
	meter   *meter             // of its answer; nil: nothing is read
	left    holdfast.Outcome   // why the exchange was broken off; "": it was not
}

// plainBody is a body without its coding.
type plainBody struct {
	bytes  []byte
	coding *coding // nil: it had none
	ok     bool    // false: it cannot be read
}

func (x *exchange) run() {
	held := true
	release := func() {
		if held {
			held = false
			x.body.release()
		}
	}
	defer release()
	defer x.finish(holdfast.Answer{}) // after a panic of the server, too
	defer x.endRecord()
	x.read()
	if err := x.choose(); err != nil {
		x.p.refuse(x.w, x.rt.protocol, err)
		return
	}
	if err := x.admit(); err != nil {
		x.p.refuse(x.w, x.rt.protocol, err)
		return
	}
	start := time.Now()
	resp, err := x.call()
	if err != nil {
		x.unreachable(err)
		return
	}
	defer resp.Body.Close() //nolint:errcheck // reading is over
	x.p.metrics.upstream.WithLabelValues(string(x.rt.protocol)).Observe(time.Since(start).Seconds())
	release()
	x.plain, x.altered = nil, nil
	x.relay(resp)
}

// choose finds the upstream by the model, unless the path named it, and keeps
// its credential from foreign web pages.
func (x *exchange) choose() error {
	if x.rt.up == nil {
		up, err := x.p.upstreams.ForModel(x.rt.protocol, x.modelName)
		if err != nil {
			return err
		}
		x.rt.up = up
	}
	if origin := x.r.Header.Get("Origin"); x.rt.up.Key != "" && foreignOrigin(origin) {
		return holdfast.Errorf(holdfast.ErrForbidden,
			"a web page of %q may not use this server's own credential for %q; call it from a program, without an Origin header", origin, x.rt.up.Name)
	}
	return nil
}

// admit asks whether there is money for the call.
func (x *exchange) admit() error {
	if x.p.admission == nil || x.ours {
		return nil
	}
	switch {
	case asksModel(x.r.Method, x.rt):
		return x.p.admission.Admit(x.caller, x.rt.up.Name, x.modelName())
	case mayCost(x.r.Method, x.rt):
		return x.p.admission.Admit(x.caller, x.rt.up.Name, "")
	}
	return nil
}

// read scans the body and asks the engine what the request is. Whatever fails
// here leaves the request as it came.
func (x *exchange) read() {
	p := x.p
	form, known := formats[x.rt.protocol]
	if p.engine == nil || x.ours || !known || !x.rt.readable || x.r.Method != http.MethodPost || len(x.body.bytes) == 0 {
		return
	}
	plain := x.decoded()
	if !plain.ok {
		return
	}
	var req holdfast.Request
	var scanErr error
	ok := p.guarded("read", func() {
		var sums []uint64
		if req, sums, scanErr = x.scan(form, plain.bytes); scanErr != nil {
			return
		}
		x.attempt = p.engine.Begin(x.r.Context(), form.reader, engine.Inbound{
			Caller: x.caller, Run: x.rt.run, Path: x.rt.plain, Header: x.r.Header.Get, Body: plain.bytes, Request: req, Sums: sums,
			Model: geminiModel(x.rt.plain), Trace: traceOf(x.r.Header.Get("Traceparent")), Attempt: x.name(),
		})
	})
	x.model, x.form = req.Model, form
	if scanErr != nil {
		p.metrics.unread.WithLabelValues("malformed").Inc()
	}
	if !ok || x.attempt == nil || x.attempt.Insert == nil {
		return
	}
	p.guarded("insert", func() {
		out, err := form.writer.InsertBlock(plain.bytes, req, x.attempt.Insert.At, x.attempt.Insert.Text)
		if err == nil && plain.coding != nil {
			out, err = plain.coding.encode(out)
		}
		if err != nil {
			p.metrics.unread.WithLabelValues("insert").Inc()
			return
		}
		x.altered = out
	})
}

// scan finds the parts of a body that is a conversation, and the sum of each element
// of its history.
func (x *exchange) scan(form format, raw []byte) (req holdfast.Request, sums []uint64, err error) {
	r := x.p.histories.rescan(x.caller.Principal, raw)
	if req, err = form.reader.Rescan(raw, r.known); err != nil {
		return req, nil, err
	}
	return req, r.sums(req.Messages), nil
}

// decoded is the body without its coding. A body that cannot be read is counted
// once, and holds no more than its own bytes.
func (x *exchange) decoded() plainBody {
	if x.plain == nil {
		x.plain = &plainBody{}
		x.p.guarded("decode", x.decode)
	}
	return *x.plain
}

func (x *exchange) decode() {
	unread := func(reason string) { x.p.metrics.unread.WithLabelValues(reason).Inc() }
	c, isPlain, ok := codingOf(x.r.Header)
	switch {
	case !ok:
		unread("coding")
		return
	case isPlain:
		*x.plain = plainBody{bytes: x.body.bytes, ok: true}
		return
	}
	own := x.body.size
	out, err := c.decode(x.body.bytes, x.p.cfg.MaxBody, x.body.grow)
	if err != nil {
		x.body.shrink(x.body.size - own)
	}
	switch {
	case err == nil:
		*x.plain = plainBody{bytes: out, coding: &c, ok: true}
	case errors.Is(err, errTooLong):
		unread("decoded_too_large")
	case errors.Is(err, errNoRoom):
		unread("in_flight")
	default:
		unread("broken_coding")
	}
}

// modelName is the model that the request names, "" when none can be read.
func (x *exchange) modelName() string {
	switch {
	case x.model != "":
	case x.rt.protocol == holdfast.Gemini:
		x.model = geminiModel(x.rt.plain)
	case x.r.Method == http.MethodPost && len(x.body.bytes) > 0:
		if plain := x.decoded(); plain.ok {
			x.p.guarded("model", func() { x.model = x.modelOf(plain.bytes) })
		}
	}
	return x.model
}

// modelOf reads the model out of a body, through what is known of its history.
func (x *exchange) modelOf(raw []byte) string {
	if form, known := formats[x.rt.protocol]; known && x.rt.readable {
		if req, _, err := x.scan(form, raw); err == nil {
			return req.Model
		}
	}
	return chat.Model(raw)
}

// geminiModel reads M out of /v1beta/models/M:generateContent.
func geminiModel(path string) string {
	_, tail, ok := strings.Cut(path, "/models/")
	if !ok {
		return ""
	}
	model, _, _ := strings.Cut(tail, ":")
	return model
}

// hopByHop are the headers of one connection (RFC 9110, 7.6.1), and Expect,
// which the server has answered itself.
var hopByHop = []string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect",
}

func removeHopByHop(h http.Header) {
	for _, line := range h.Values("Connection") {
		for name := range strings.SplitSeq(line, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopByHop {
		h.Del(name)
	}
}

// call sends the request; an altered one that is refused for its form is sent
// once more as the client wrote it.
func (x *exchange) call() (*http.Response, error) {
	if x.altered == nil {
		return x.send(x.body.bytes)
	}
	resp, err := x.send(x.altered)
	if err != nil || (resp.StatusCode != http.StatusBadRequest && resp.StatusCode != http.StatusRequestEntityTooLarge) {
		return resp, err
	}
	resp.Body.Close() //nolint:errcheck // its answer is not used
	x.p.metrics.restored.Inc()
	return x.send(x.body.bytes)
}

func (x *exchange) send(raw []byte) (*http.Response, error) {
	out := &http.Request{
		Method: x.r.Method, URL: x.rt.up.URL(x.rt.url), Header: x.r.Header.Clone(),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		ContentLength: int64(len(raw)), Body: x.body.reader(raw),
	}
	// A connection that was closed before anything was written is no call: the
	// transport takes the body again and another connection.
	out.GetBody = func() (io.ReadCloser, error) { return x.body.reader(raw), nil }
	removeHopByHop(out.Header)
	if key, ok := out.Header["Idempotency-Key"]; ok {
		// In this case of letters, the transport does not take it as leave to
		// send a call again after it was written.
		delete(out.Header, "Idempotency-Key")
		out.Header["idempotency-key"] = key
	}
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header["User-Agent"] = nil // else net/http names itself
	}
	if x.attempt != nil && x.attempt.Boundary {
		out.Header.Set("Accept-Encoding", "identity") // the answer is read and patched
	}
	x.rt.up.Authorize(out)
	x.beginRecord(raw)
	resp, err := x.p.transport.RoundTrip(out.WithContext(x.r.Context()))
	if err == nil && x.record != nil {
		x.record.Status = resp.StatusCode
	}
	return resp, err
}

// unreachable answers for an upstream that gave no answer.
func (x *exchange) unreachable(err error) {
	if x.r.Context().Err() != nil {
		x.broken("client_left")
	}
	x.count("unreachable")
	x.p.log.Warn("upstream unreachable", "upstream", x.rt.up.Name)
	x.p.refuse(x.w, x.rt.protocol, holdfast.Errorf(holdfast.ErrUnavailable,
		"the upstream %q at %s did not answer (%s); check its base_url and the network", x.rt.up.Name, x.rt.up.Base.Host, reason(err)))
}

// reason names a transport error without the request's URL and query.
func reason(err error) string {
	var op interface{ Timeout() bool }
	switch {
	case errors.As(err, &op) && op.Timeout():
		return "timeout"
	case strings.Contains(err.Error(), "connection refused"):
		return "connection refused"
	case strings.Contains(err.Error(), "no such host"):
		return "no such host"
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed"
	}
	return "connection failed"
}

func (x *exchange) count(outcome string) {
	x.p.metrics.requests.WithLabelValues(string(x.rt.protocol), outcome).Inc()
}

// finish tells the engine what the answer held, once.
func (x *exchange) finish(ans holdfast.Answer) {
	if x.attempt == nil {
		return
	}
	a := x.attempt
	x.attempt = nil
	x.p.guarded("done", func() { a.Done(ans) })
}

// writeHeader writes the answer's head, with another length unless it is -1.
func (x *exchange) writeHeader(resp *http.Response, length int) {
	h := x.w.Header()
	removeHopByHop(resp.Header)
	for name, values := range resp.Header {
		h[name] = values
	}
	if _, ok := h["Content-Type"]; !ok {
		h["Content-Type"] = nil // else net/http guesses one
	}
	if length >= 0 {
		h.Set("Content-Length", strconv.Itoa(length))
	}
	for name := range resp.Trailer {
		h.Add("Trailer", name)
	}
	x.w.WriteHeader(resp.StatusCode)
}
