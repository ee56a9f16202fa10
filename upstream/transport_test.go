package upstream

import (
	"bytes"
	"io"
	"net"
	"testing"
)

func TestAConnectionSendsABodyAsItIs(t *testing.T) {
	for _, size := range []int{0, 1, 32 << 10, 100_000} {
		body := bytes.Repeat([]byte("0123456789abcdef!"), size/17+1)[:size]
		ours, theirs := net.Pipe()
		go func() {
			n, err := conn{ours}.ReadFrom(io.LimitReader(bytes.NewReader(body), int64(size)))
			if n != int64(size) || err != nil {
				t.Errorf("%d bytes: sent %d, %v", size, n, err)
			}
			ours.Close()
		}()
		got, err := io.ReadAll(theirs)
		if !bytes.Equal(got, body) || err != nil {
			t.Errorf("%d bytes: other %d came, %v", size, len(got), err)
		}
		theirs.Close()
	}
}
