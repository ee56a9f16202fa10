package main

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
)

// newControl is the proxy that all ratios refer to. A ReverseProxy flushes event
// streams as they come by itself; other answers need no flush.
func newControl(upstream string) (http.Handler, error) {
	base, err := url.Parse(upstream)
	if err != nil {
		return nil, fmt.Errorf("the upstream's address: %w", err)
	}
	return &httputil.ReverseProxy{
		Rewrite:    func(r *httputil.ProxyRequest) { r.SetURL(base) },
		Transport:  &http.Transport{MaxIdleConnsPerHost: 512, DisableCompression: true},
		BufferPool: &bufferPool{},
	}, nil
}

// bufferPool implements httputil.BufferPool.
type bufferPool struct{ pool sync.Pool }

func (p *bufferPool) Get() []byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return *b
	}
	return make([]byte, 32<<10)
}

func (p *bufferPool) Put(b []byte) { p.pool.Put(&b) }
