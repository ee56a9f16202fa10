package proxy

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/engine/extraction"
	"github.com/holdfast-dev/holdfast/upstream"
)

// Config is what a person can set.
type Config struct {
	// MaxBody and MaxInFlight bound request bodies, in bytes.
	MaxBody, MaxInFlight int64
	// Remote answers under names of other machines too. It is for servers that are
	// never open: there a web page that found a name for the server has no key.
	Remote bool
}

// Coordinator is the engine, as far as the proxy needs it.
type Coordinator interface {
	Begin(ctx context.Context, codec engine.Codec, in engine.Inbound) *engine.Attempt
}

// Proxy is the HTTP handler. Safe for concurrent use.
type Proxy struct {
	cfg       Config
	upstreams *upstream.Set
	transport http.RoundTripper
	auth      Authenticator     // nil: everybody is Local
	admission Admission         // nil: everything is admitted
	engine    Coordinator       // nil: continuity is off, everything passes
	marked    func(string) bool // nil: no call is known as the extractor's
	ledger    Ledger            // nil: nothing is recorded
	log       *slog.Logger
	metrics   *metrics
	scrape    http.Handler
	histories *histories
	inFlight  atomic.Int64
	pause     time.Duration // bodyPause
}

// Parts are what a proxy works with.
type Parts struct {
	Upstreams *upstream.Set
	Transport http.RoundTripper
	// Any of these may be nil: then everybody is Local, everything is admitted,
	// requests pass as they are, and no call is recorded.
	Authenticator Authenticator
	Admission     Admission
	Engine        Coordinator
	Ledger        Ledger
	// Extraction knows a call of our own extractor by the value of MarkHeader: it
	// passes, is recorded by who made it, and starts nothing.
	Extraction func(mark string) bool
}

// MarkHeader is the header that Parts.Extraction reads. It never goes upstream.
const MarkHeader = extraction.MarkHeader

// New makes a proxy.
func New(cfg Config, parts Parts, log *slog.Logger, reg *prometheus.Registry) *Proxy {
	p := &Proxy{
		cfg: cfg, upstreams: parts.Upstreams, transport: parts.Transport, auth: parts.Authenticator, admission: parts.Admission,
		engine: parts.Engine, ledger: parts.Ledger, marked: parts.Extraction, log: log, histories: newHistories(), pause: bodyPause,
	}
	p.metrics = newMetrics(reg, func() float64 { return float64(p.inFlight.Load()) })
	p.scrape = promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	return p
}

// ServeHTTP answers one request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.cfg.Remote && !loopbackHost(r.Host) {
		p.refuse(w, "", holdfast.Errorf(holdfast.ErrForbidden,
			"the Host header names %q; this server answers to loopback names only. Use http://127.0.0.1 or http://localhost as the base URL", r.Host))
		return
	}
	if r.URL.Path == "/healthz" {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, "{\"status\":\"ok\"}\n") //nolint:errcheck // the client has left
		return
	}
	rt, err := p.route(r)
	caller, refused := p.authenticate(r)
	if refused != nil {
		// Before all else: what is wrong with the path tells of the upstreams, and so
		// does the protocol of one.
		w.Header().Set("WWW-Authenticate", `Bearer realm="holdfast"`)
		p.refuse(w, rt.form, refused)
		return
	}
	if r.URL.Path == "/metrics" {
		p.scrape.ServeHTTP(w, r)
		return
	}
	if err != nil {
		p.refuse(w, rt.protocol, err)
		return
	}
	if isUpgrade(r) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "HTTP/1.1")
		p.refuseStatus(w, rt.protocol, http.StatusUpgradeRequired, "websocket", "this server speaks HTTP: send the request with POST")
		return
	}
	body, err := p.admit(w, r)
	if err != nil {
		if holdfast.CodeOf(err) == holdfast.ErrBusy {
			w.Header().Set("Retry-After", "1")
		}
		p.refuse(w, rt.protocol, err)
		return
	}
	x := &exchange{p: p, w: w, r: r, rt: rt, caller: caller, body: body}
	if mark := r.Header.Get(MarkHeader); mark != "" {
		x.ours = p.marked != nil && p.marked(mark)
		r.Header.Del(MarkHeader)
	}
	if body == nil {
		x.broken("client_left") // an answer would be one to half a request
	}
	x.run()
}

// route is where a request goes.
type route struct {
	up       *upstream.Upstream
	protocol holdfast.Protocol
	form     holdfast.Protocol // what the client speaks, by its path and headers alone
	run      string
	path     string   // without our prefixes
	plain    string   // what it stands for; see plainPath
	url      *url.URL // the same as a URL, query kept
	readable bool     // a path whose body is a conversation
}

// route finds the upstream of a request.
func (p *Proxy) route(r *http.Request) (rt route, err error) {
	name := ""
	rt.path = r.URL.EscapedPath()
	for {
		rest, value, key := prefix(rt.path)
		if key == "" {
			break
		}
		if key == "u" {
			name = value
		} else {
			rt.run = value
		}
		rt.path = rest
	}
	rt.url = &url.URL{RawPath: rt.path, RawQuery: r.URL.RawQuery, ForceQuery: r.URL.ForceQuery}
	if rt.url.Path, err = url.PathUnescape(rt.path); err != nil {
		return rt, holdfast.Errorf(holdfast.ErrUsage, "the path %q is not validly escaped", rt.path)
	}
	rt.plain = plainPath(rt.url.Path)
	rt.protocol, rt.readable = protocolOf(rt.plain)
	if rt.protocol == "" {
		rt.protocol = p.protocolByHeader(r)
	}
	rt.form = rt.protocol
	if climbs(rt.url.Path) {
		return rt, holdfast.Errorf(holdfast.ErrUsage, "the path %q has a \"..\" in it, which could leave the base_url of its upstream. Write it without", rt.path)
	}
	if name != "" {
		if rt.up, err = p.upstreams.ByName(name); err != nil {
			return rt, err
		}
		rt.protocol = rt.up.Protocol
		return rt, nil
	}
	if rt.protocol == "" {
		return rt, holdfast.Errorf(holdfast.ErrNotFound,
			"no upstream for %s %q: the path belongs to no known protocol. Name the upstream in the path: /u/NAME%s", r.Method, rt.path, rt.path)
	}
	return rt, nil // the upstream follows once the model is known
}

// prefix cuts /u/VALUE or /r/VALUE off a path; key is "" when it has neither.
func prefix(path string) (rest, value, key string) {
	for _, k := range [...]string{"u", "r"} {
		tail, ok := strings.CutPrefix(path, "/"+k+"/")
		if !ok {
			continue
		}
		v, _, _ := strings.Cut(tail, "/")
		if unescaped, err := url.PathUnescape(v); err == nil && v != "" {
			// A part of the path and no copy: a client may write many prefixes.
			if rest = tail[len(v):]; rest == "" {
				rest = "/"
			}
			return rest, unescaped, k
		}
	}
	return path, "", ""
}

// plainPath is what an unescaped path stands for at a server that does not mind how it
// is written: without dots, empty segments and a slash at its end. What a request is must
// not go by its spelling, since the upstream answers to all of them.
func plainPath(unescaped string) string {
	return path.Clean(unescaped)
}

// climbs reports whether a segment of an unescaped path leads out of the one before.
// Some servers take a backslash for a slash.
func climbs(unescaped string) bool {
	return strings.Contains(unescaped, "..") &&
		slices.Contains(strings.FieldsFunc(unescaped, func(c rune) bool { return c == '/' || c == '\\' }), "..")
}

// protocolOf tells the protocol of a plain path, and whether its body is (or asks
// about) a conversation.
func protocolOf(path string) (p holdfast.Protocol, readable bool) {
	switch {
	case strings.HasSuffix(path, "/messages"), strings.HasSuffix(path, "/messages/count_tokens"):
		return holdfast.Anthropic, true
	case strings.HasSuffix(path, "/responses"), strings.HasSuffix(path, "/responses/compact"):
		return holdfast.Responses, true
	case strings.HasSuffix(path, "/chat/completions"):
		return holdfast.Chat, true
	case strings.HasSuffix(path, ":generateContent"), strings.HasSuffix(path, ":streamGenerateContent"), strings.HasSuffix(path, ":countTokens"):
		return holdfast.Gemini, true
	case strings.HasPrefix(path, "/v1beta/"), strings.HasPrefix(path, "/v1alpha/"):
		return holdfast.Gemini, false
	case strings.Contains(path, "/messages/"), path == "/", strings.HasPrefix(path, "/api/"):
		return holdfast.Anthropic, false // batches; the probes of claude-code
	case strings.Contains(path, "/responses/"):
		return holdfast.Responses, false
	case strings.Contains(path, "/chat/"):
		return holdfast.Chat, false
	}
	return "", false
}

// protocolByHeader tells whose client asks for a path that all providers have,
// such as /v1/models. A bearer token says OpenAI's, whose two protocols share
// these paths.
func (p *Proxy) protocolByHeader(r *http.Request) holdfast.Protocol {
	switch {
	case r.Header.Get("Anthropic-Version") != "":
		return holdfast.Anthropic
	case r.Header.Get("X-Goog-Api-Key") != "" || r.URL.Query().Has("key"):
		return holdfast.Gemini
	case r.Header.Get("X-Api-Key") != "":
		return holdfast.Anthropic
	case strings.HasPrefix(r.Header.Get("Authorization"), "Bearer "):
		if _, err := p.upstreams.ForModel(holdfast.Responses, func() string { return "" }); err != nil {
			return holdfast.Chat
		}
		return holdfast.Responses
	}
	return ""
}

// loopbackHost accepts the names and addresses of this machine itself.
func loopbackHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.Trim(strings.ToLower(host), "[]"), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// foreignOrigin holds for web pages that are not served by this machine, and for
// those that hide where they come from ("null"). The schemes of editors and
// desktop programs are no web pages.
func foreignOrigin(origin string) bool {
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme == "" {
		return true
	}
	return (u.Scheme == "http" || u.Scheme == "https") && !loopbackHost(u.Host)
}

func isUpgrade(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// refuse answers a request that does not go to an upstream.
func (p *Proxy) refuse(w http.ResponseWriter, proto holdfast.Protocol, err error) {
	code := holdfast.CodeOf(err)
	p.refuseStatus(w, proto, code.HTTPStatus(), string(code), err.Error())
}

func (p *Proxy) refuseStatus(w http.ResponseWriter, proto holdfast.Protocol, status int, code, message string) {
	p.metrics.refused.WithLabelValues(code).Inc()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(errorBody(proto, status, code, "holdfast: "+message)) //nolint:errcheck // the client has left
}

// guarded runs f and turns a panic into a counted, content-free log line; ok is
// false then. The panic value may hold text of a session, so it is not logged.
func (p *Proxy) guarded(where string, f func()) (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			if v == http.ErrAbortHandler {
				panic(v)
			}
			ok = false
			p.metrics.panics.WithLabelValues(where).Inc()
			p.log.Error("defect: the request passes unchanged", "where", where, "type", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
		}
	}()
	f()
	return true
}
