// Package keyring holds keys: they tell whose a request is, so that several
// principals can share one server and none reads what is another's.
//
// A key is hf_, an id of 8 characters, _, and 32 random bytes in base64url. It is
// shown once, when it is made. What is stored of it (package store) is its id, by
// which it is looked up and which is no secret, its principal and label, the
// SHA-256 of the whole key, and when it was made and revoked. 256 random bits
// need no slow hash.
//
// # Laws
//
//   - The server is open, with the one principal Local, as long as no key is
//     stored at all and Config.Open says so. A revoked key counts: revoking the
//     last one locks the server, erasing the last one opens it.
//   - Otherwise a request passes with at least one key, where all that it carries
//     hold and belong to one principal.
//   - A key is compared in constant time, one with an unknown id too.
//   - Nothing but an unknown id waits for the store: a Ring decides by a table in
//     memory, which it reads again every second. A key that was revoked is refused
//     within two seconds, by every process that shares the store.
//   - An unknown id, and any key at an open server, waits for one reading that
//     begins later, at most RefreshLimit: a key works as soon as it was made.
//     Readings are at least a tenth of a second apart, whoever asks for them.
//   - While the store cannot be read, the table stays as it is. That is logged
//     once.
//   - No part of a key but its id is in an error or a log.
package keyring

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"io"
	"regexp"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// Secret is a whole key. It goes to its owner and nowhere else.
type Secret string

// MaxLabel bounds a label, in characters.
const MaxLabel = 100

const (
	idBytes     = 5 // 8 characters
	secretBytes = 32
	keyLength   = len("hf_") + 8 + len("_") + 43
)

// New makes a key of a principal out of random bytes, which must be fit for
// cryptography. The label is for people.
func New(random io.Reader, p holdfast.Principal, label string, now time.Time) (Secret, store.Key, error) {
	if !utf8.ValidString(label) || containsControl(label) {
		return "", store.Key{}, holdfast.Errorf(holdfast.ErrUsage, "a label is text in one line, and this one has control characters or is no UTF-8. Write it without them")
	}
	if n := utf8.RuneCountInString(label); n > MaxLabel {
		return "", store.Key{}, holdfast.Errorf(holdfast.ErrUsage, "a label has at most %d characters, and this one has %d. Write a shorter one", MaxLabel, n)
	}
	var raw [idBytes + secretBytes]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return "", store.Key{}, holdfast.Errorf(holdfast.ErrInternal, "no key was made, the system gives no random bytes: %w", err)
	}
	id := lowerBase32.EncodeToString(raw[:idBytes])
	secret := Secret("hf_" + id + "_" + base64.RawURLEncoding.EncodeToString(raw[idBytes:]))
	return secret, store.Key{ID: holdfast.KeyID(id), Principal: p, Label: label, Digest: sha256.Sum256([]byte(secret)), CreatedAt: now}, nil
}

var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567")

func containsControl(s string) bool {
	for _, r := range s {
		if unicode.IsControl(r) {
			return true
		}
	}
	return false
}

var principalName = regexp.MustCompile(`^[a-z0-9._-]{1,64}$`)

// ParsePrincipal reads the name of a principal: 1 to 64 characters of a-z, 0-9,
// ".", "_" and "-".
func ParsePrincipal(name string) (holdfast.Principal, error) {
	if _, key := holdfast.KeyIDOf(name); key || !principalName.MatchString(name) {
		// What was written may be a secret, so it is not repeated.
		return "", holdfast.Errorf(holdfast.ErrUsage, "a principal is named with 1 to 64 characters of a-z, 0-9, '.', '_' and '-', such as %s", holdfast.Local)
	}
	return holdfast.Principal(name), nil
}
