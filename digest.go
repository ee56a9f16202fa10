package holdfast

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"unicode"
	"unicode/utf8"
)

// Digest identifies content: the first 16 bytes of its SHA-256.
type Digest [16]byte

// IsZero reports whether d is unset.
func (d Digest) IsZero() bool { return d == Digest{} }

// String is the digest in lower-case hex.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// ParseDigest reads what String wrote; ok is false for anything else.
func ParseDigest(s string) (d Digest, ok bool) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(d) {
		return d, false
	}
	copy(d[:], b)
	return d, true
}

// DigestOf hashes the parts with their lengths, so that no two lists collide.
func DigestOf(parts ...string) (d Digest) {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		for i, l := 0, len(p); i < 8; i++ {
			n[i] = byte(l >> (8 * i))
		}
		h.Write(n[:])
		h.Write([]byte(p))
	}
	copy(d[:], h.Sum(nil))
	return d
}

// TextDigest is the digest of a text in normal form: white space at both ends
// left out, since agents add and drop it between two requests of one history.
func TextDigest(s string) Digest {
	var t TextHasher
	t.Write(s)
	return t.Sum()
}

// TextHasher computes TextDigest over text that arrives in pieces. Pieces must
// be cut between characters. The zero value is ready; not for concurrent use.
type TextHasher struct {
	h       hash.Hash
	pending []byte // white space that is part of the text if more text follows
	length  int
	started bool
}

// Write adds a piece.
func (t *TextHasher) Write(s string) {
	t.length += len(s)
	if t.h == nil {
		t.h = sha256.New()
	}
	if !t.started {
		for len(s) > 0 {
			r, n := utf8.DecodeRuneInString(s)
			if !unicode.IsSpace(r) {
				t.started = true
				break
			}
			s = s[n:]
		}
	}
	end := len(s)
	for end > 0 {
		r, n := utf8.DecodeLastRuneInString(s[:end])
		if !unicode.IsSpace(r) {
			break
		}
		end -= n
	}
	if end > 0 {
		t.h.Write(t.pending)
		t.pending = t.pending[:0]
		t.h.Write([]byte(s[:end]))
	}
	t.pending = append(t.pending, s[end:]...)
}

// Len is the number of bytes written so far.
func (t *TextHasher) Len() int { return t.length }

// Sum is the digest of all that was written; the hasher can go on.
func (t *TextHasher) Sum() (d Digest) {
	if t.h == nil {
		t.h = sha256.New()
	}
	copy(d[:], t.h.Sum(nil))
	return d
}
