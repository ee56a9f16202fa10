package upstream

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
)

func TestAConnectionSendsABodyAsItIs(t *testing.T) {
	for _, c := range []struct {
		name string
		// more is what the body has beyond its length.
		more int
		as   func(*bytes.Reader) io.Reader
	}{
		{"a body in memory", 0, func(r *bytes.Reader) io.Reader { return r }},
		{"a body in memory that is longer than it says", 7, func(r *bytes.Reader) io.Reader { return r }},
		{"a body that is read", 0, func(r *bytes.Reader) io.Reader { return struct{ io.Reader }{r} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, size := range []int{0, 1, 32 << 10, 100_000} {
				body := bytes.Repeat([]byte("0123456789abcdef!"), size/17+2)
				ours, theirs := net.Pipe()
				go func() {
					n, err := conn{ours}.ReadFrom(io.LimitReader(c.as(bytes.NewReader(body[:size+c.more])), int64(size)))
					if n != int64(size) || err != nil {
						t.Errorf("%d bytes: sent %d, %v", size, n, err)
					}
					ours.Close()
				}()
				got, err := io.ReadAll(theirs)
				if !bytes.Equal(got, body[:size]) || err != nil {
					t.Errorf("%d bytes: other %d came, %v", size, len(got), err)
				}
				theirs.Close()
			}
		})
	}
}

// once takes one write and fails at the next.
type once struct {
	net.Conn
	writes int
}

func (c *once) Write(b []byte) (int, error) {
	if c.writes++; c.writes > 1 {
		return 0, errors.New("sent before")
	}
	return len(b), nil
}

func TestABodyInMemoryIsSentInOnePiece(t *testing.T) {
	c := &once{}
	n, err := conn{c}.ReadFrom(io.LimitReader(bytes.NewReader(make([]byte, 2<<20)), 2<<20))
	if n != 2<<20 || err != nil {
		t.Errorf("sent %d, %v", n, err)
	}
}
