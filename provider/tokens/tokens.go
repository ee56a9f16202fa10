// Package tokens counts the tokens of texts with a real tokenizer, o200k, for
// estimates. It is that of newer OpenAI models; others differ from it by a
// quarter or so, and for most of them none is published. It works offline.
//
// It reads some two megabytes a second, so counts are kept by the digest of the
// text, which is not kept itself: a conversation is counted again with each turn.
package tokens

import (
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/holdfast-dev/holdfast"
)

// Counter counts tokens. It is safe for concurrent use.
type Counter struct {
	codec *codec.Codec

	mu     sync.Mutex
	counts map[holdfast.Digest]int
}

// maxCounts bounds the kept counts, some ten megabytes.
const maxCounts = 200_000

// New makes a counter. The first one of a program builds the vocabulary: some
// tens of milliseconds and of megabytes.
func New() *Counter {
	return &Counter{codec: codec.NewO200kBase(), counts: map[holdfast.Digest]int{}}
}

// Count is the number of tokens of a text.
func (c *Counter) Count(text string) int {
	digest := holdfast.DigestOf(text)
	c.mu.Lock()
	n, ok := c.counts[digest]
	c.mu.Unlock()
	if ok {
		return n
	}
	n, err := c.codec.Count(text)
	if err != nil {
		// The pattern that cuts words ran into a limit; none is set. There are
		// never more tokens than bytes.
		n = len(text)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.counts) >= maxCounts {
		clear(c.counts)
	}
	c.counts[digest] = n
	return n
}
