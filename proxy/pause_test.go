package proxy

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast/upstream"
)

// paused is a proxy that waits so long for more of a body, and a connection to it.
func paused(t *testing.T, pause time.Duration) (*Proxy, net.Conn) {
	t.Helper()
	p := New(Config{MaxBody: 64, MaxInFlight: 64}, Parts{Upstreams: upstream.New(nil)}, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	p.pause = pause
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return p, conn
}

func TestWhoSendsNoMoreOfABodyHoldsNothing(t *testing.T) {
	for _, c := range []struct{ name, head, sent string }{
		{"of a length", "Content-Length: 64\r\n\r\n", "{"},
		{"of a length, and nothing of it", "Content-Length: 64\r\n\r\n", ""},
		{"in chunks", "Transfer-Encoding: chunked\r\n\r\n", "1\r\n{\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, conn := paused(t, 20*time.Millisecond)
			if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\n%s%s", c.head, c.sent)
			if got, err := io.ReadAll(conn); err != nil || len(got) > 0 {
				t.Errorf("the connection says %q, %v", got, err)
			}
			if n := p.inFlight.Load(); n != 0 {
				t.Errorf("%d bytes are in flight", n)
			}
		})
	}
}

func TestWhoGoesOnSendingMayTakeLong(t *testing.T) {
	p, conn := paused(t, time.Second)
	fmt.Fprint(conn, "POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n")
	for range 10 {
		time.Sleep(p.pause / 6)
		fmt.Fprint(conn, "x")
	}
	answers := bufio.NewReader(conn)
	if line, err := answers.ReadString('\n'); !strings.Contains(line, "404") {
		t.Errorf("got %q, %v", line, err)
	}
}
