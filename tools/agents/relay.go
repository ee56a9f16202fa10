package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/eval"
)

// recorded is one request as it passed a point.
type recorded struct {
	Method string
	URI    string
	Header http.Header
	Body   []byte
}

// kind is what the upstream would take the request for.
func (r recorded) kind() eval.Kind {
	u, err := url.ParseRequestURI(r.URI)
	if err != nil {
		return eval.Probe
	}
	return eval.KindOf(&http.Request{Method: r.Method, URL: u, Header: r.Header}, r.Body)
}

// relay passes requests on as they are and keeps a copy of each. It stands
// between an agent and Holdfast. Safe for concurrent use.
type relay struct {
	target    *url.URL
	transport *http.Transport

	mu       sync.Mutex
	requests []recorded
}

func newRelay(target string) (*relay, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	return &relay{target: u, transport: &http.Transport{DisableCompression: true}}, nil
}

// all returns the requests so far, in order.
func (p *relay) all() []recorded {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]recorded(nil), p.requests...)
}

// ServeHTTP implements http.Handler.
func (p *relay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the agent left while sending
	}
	p.mu.Lock()
	p.requests = append(p.requests, recorded{r.Method, r.RequestURI, r.Header.Clone(), body})
	p.mu.Unlock()

	out, err := http.NewRequestWithContext(r.Context(), r.Method, p.target.Scheme+"://"+p.target.Host+r.RequestURI, bytes.NewReader(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out.Header = r.Header.Clone()
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header.Set("User-Agent", "") // keeps Go from adding its own
	}
	resp, err := p.transport.RoundTrip(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	flush := http.NewResponseController(w)
	buf := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			if _, werr := w.Write(buf[:n]); werr != nil {
				return
			}
			_ = flush.Flush() // a client that left shows at the next write
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler) // the agent must see that the answer broke off
		}
	}
}

// serve listens on a free port of loopback until stop is called.
func serve(ctx context.Context, h http.Handler) (base string, stop func(), err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listen on 127.0.0.1: %w", err)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // ends when stop closes it
	}()
	return "http://" + l.Addr().String(), func() { _ = srv.Close(); <-done }, nil
}
