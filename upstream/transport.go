package upstream

import (
	"net"
	"net/http"
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
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
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
