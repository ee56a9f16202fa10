package proxy

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/upstream"
)

func TestBuffersOfBodiesFitAndGoBackWhereTheyCameFrom(t *testing.T) {
	for n := smallest; n <= largest; n += 1 + n/97 {
		class, size := classOf(n)
		if size < n || size-n > n/4+1 {
			t.Fatalf("%d bytes get a buffer of %d", n, size)
		}
		if again, _ := classOf(size); again != class {
			t.Fatalf("%d bytes: taken from pool %d, given back to %d", n, class, again)
		}
	}
	for _, n := range []int{smallest, largest} {
		if class, _ := classOf(n); class >= len(pools) {
			t.Fatalf("no pool %d", class)
		}
	}
}

// counted counts what is written to a connection, and how often.
type counted struct {
	net.Conn
	writes *atomic.Int32
}

func (c counted) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

func TestAShortRequestGoesUpstreamInOneWrite(t *testing.T) {
	for name, chunked := range map[string]bool{"of a length": false, "in chunks": true} {
		t.Run(name, func(t *testing.T) {
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(w, r.Body)
			}))
			t.Cleanup(up.Close)
			base, err := url.Parse(up.URL)
			if err != nil {
				t.Fatal(err)
			}
			var writes atomic.Int32
			tr := upstream.NewTransport()
			t.Cleanup(tr.CloseIdleConnections)
			dial := tr.DialContext
			tr.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				c, err := dial(ctx, network, address)
				return counted{c, &writes}, err
			}
			p := New(Config{MaxBody: 1 << 20, MaxInFlight: 1 << 20}, Parts{
				Upstreams: upstream.New([]upstream.Upstream{{Name: "anthropic", Protocol: holdfast.Anthropic, Base: base}}), Transport: tr,
			}, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
			server := httptest.NewServer(p)
			t.Cleanup(server.Close)

			const body = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
			var sent io.Reader = strings.NewReader(body)
			if chunked {
				sent = struct{ io.Reader }{sent}
			}
			resp, err := http.Post(server.URL+"/v1/messages", "application/json", sent)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if got, err := io.ReadAll(resp.Body); err != nil || string(got) != body {
				t.Fatalf("the upstream got %q, %v", got, err)
			}
			if n := writes.Load(); n != 1 {
				t.Errorf("it took %d writes", n)
			}
		})
	}
}
