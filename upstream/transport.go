package upstream

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// NewTransport makes the transport that all upstreams share. It follows
// HTTP_PROXY, HTTPS_PROXY and NO_PROXY, speaks HTTP/2 where https offers it,
// and gives up connecting after 10 seconds. It never decodes an answer and,
// being a RoundTripper, never follows a redirect. The caller ends it with
// CloseIdleConnections.
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return conn{c}, nil
		},
		TLSHandshakeTimeout: 10 * time.Second,
		DisableCompression:  true,
		// Hundreds of agents run at once against one provider: with the default
		// of 2 most of their calls would open a connection of their own.
		MaxIdleConnsPerHost:   512,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
		// A dialer of one's own turns HTTP/2 off unless it is asked for.
		ForceAttemptHTTP2: true,
		// Without a limit on answers, a ping is what finds a dead connection.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// conn sends a body that is in memory as it is, and any other through a pooled buffer.
// A TCP connection makes a buffer of its own for every body, which would be most of
// what a call without TLS leaves to the garbage collector.
type conn struct{ net.Conn }

// pieces are the buffers, of the size that net would make.
var pieces = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// ReadFrom implements io.ReaderFrom.
func (c conn) ReadFrom(r io.Reader) (int64, error) {
	if l, ok := r.(*io.LimitedReader); ok {
		// A body is limited to its length, which is how net/http hides what it is.
		if b, ok := l.R.(inMemory); ok && int64(b.Len()) <= l.N {
			n, err := b.WriteTo(c.Conn)
			l.N -= n
			return n, err
		}
	}
	buf := pieces.Get().(*[]byte)
	defer pieces.Put(buf)
	// Without their own ways to copy, which would not use the buffer.
	return io.CopyBuffer(struct{ io.Writer }{c.Conn}, struct{ io.Reader }{r}, *buf)
}

// inMemory is what bytes.Reader is: one that knows how much it has left, and writes it
// without a copy.
type inMemory interface {
	io.WriterTo
	Len() int
}
