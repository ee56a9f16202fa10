package extraction

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// MarkHeader is the header by which a call of the extractor is known again where its
// route leads back to a proxy of the same store: there it passes, and starts nothing.
const MarkHeader = "X-Holdfast-Extraction"

// markAge is how old a mark may be, or how far ahead another machine's clock.
const markAge = time.Minute

// Secrets keeps what the processes of a store share; see store.Secrets.
type Secrets interface {
	Secret(ctx context.Context, name string, fresh []byte) ([]byte, error)
}

// Mark makes and knows marks. They are bound to a time and to a key that only the
// store has, so what a client invents is none.
type Mark struct{ key []byte }

// NewMark reads the key, or makes it.
func NewMark(ctx context.Context, st Secrets) (*Mark, error) {
	fresh := make([]byte, sha256.Size)
	_, _ = rand.Read(fresh) // it never fails
	key, err := st.Secret(ctx, "extraction mark", fresh)
	if err != nil {
		return nil, err
	}
	return &Mark{key}, nil
}

// Make is the value of the header at a time.
func (m *Mark) Make(now time.Time) string {
	stamp := strconv.FormatInt(now.Unix(), 10)
	return stamp + "." + m.sum(stamp)
}

// Knows reports whether a value is a mark of this store, made a short while ago.
func (m *Mark) Knows(value string, now time.Time) bool {
	stamp, sum, ok := strings.Cut(value, ".")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if !ok || err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > markAge {
		return false
	}
	return hmac.Equal([]byte(sum), []byte(m.sum(stamp)))
}

func (m *Mark) sum(stamp string) string {
	h := hmac.New(sha256.New, m.key)
	h.Write([]byte(stamp)) //nolint:errcheck // a hash takes everything
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
