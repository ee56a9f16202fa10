package keyring_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/keyring"
)

func TestAKeyIsMadeOfItsRandomBytes(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	random := append([]byte{0, 0, 0, 0, 0x1f}, bytes.Repeat([]byte{0xff}, 32)...)
	secret, row, err := keyring.New(bytes.NewReader(random), "me", "laptop", now)
	if err != nil {
		t.Fatal(err)
	}
	// 40 bits in groups of five: seven zeros and 31. 256 ones in groups of six:
	// 42 of 63, and one of four ones with two zeros behind them, which is 60.
	want := "hf_aaaaaaa7_" + strings.Repeat("_", 42) + "8"
	if string(secret) != want {
		t.Errorf("got %s, want %s", secret, want)
	}
	if row.ID != "aaaaaaa7" || row.Principal != "me" || row.Label != "laptop" || row.Digest != sha256.Sum256([]byte(want)) ||
		!row.CreatedAt.Equal(now) || !row.RevokedAt.IsZero() || row.ReplacedBy != "" {
		t.Errorf("stored is %+v", row)
	}
}

func TestEveryKeyTellsItsID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rapid.SliceOfN(rapid.Byte(), 37, 37).Draw(t, "random")
		secret, row, err := keyring.New(bytes.NewReader(random), "me", "", time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		id, ok := holdfast.KeyIDOf(string(secret))
		if !ok || id != row.ID || len(id) != 8 || len(secret) != 55 {
			t.Fatalf("%q of %d characters has the id %q, %v, want %q", secret, len(secret), id, ok, row.ID)
		}
	})
}

func TestNoKeyIsMadeOfTooFewRandomBytes(t *testing.T) {
	secret, _, err := keyring.New(iotest.ErrReader(errors.New("none")), "me", "", time.Time{})
	if secret != "" || holdfast.CodeOf(err) != holdfast.ErrInternal {
		t.Errorf("got %q, %v", secret, err)
	}
	if secret, _, err = keyring.New(bytes.NewReader(make([]byte, 36)), "me", "", time.Time{}); secret != "" || err == nil {
		t.Errorf("got %q, %v", secret, err)
	}
}

func TestLabels(t *testing.T) {
	const long = "a label has at most 100 characters, and this one has 101. Write a shorter one"
	const wrong = "a label is text in one line, and this one has control characters or is no UTF-8. Write it without them"
	for _, c := range []struct{ label, want string }{
		{"", ""},
		{"Ä laptop, the old one", ""},
		{strings.Repeat("ä", 100), ""},
		{strings.Repeat("a", 101), long},
		{"two\nlines", wrong},
		{"\x1b[31m", wrong},
		{"\xff", wrong},
	} {
		_, _, err := keyring.New(bytes.NewReader(make([]byte, 37)), "me", c.label, time.Time{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want || holdfast.CodeOf(err) != holdfast.ErrUsage) {
			t.Errorf("%q: %v", c.label, err)
		}
	}
}

func TestPrincipals(t *testing.T) {
	for _, c := range []struct {
		name string
		ok   bool
	}{
		{"local", true},
		{"a", true},
		{"team-7.ci_runner", true},
		{strings.Repeat("x", 64), true},
		{strings.Repeat("x", 65), false},
		{"", false},
		{"Me", false},
		{"ä", false},
		{"a b", false},
		{"a\n", false},
		{"a/b", false},
		{"hf_aaaaaaaa_secret", false},
	} {
		p, err := keyring.ParsePrincipal(c.name)
		if c.ok && (err != nil || string(p) != c.name) || !c.ok && (p != "" || holdfast.CodeOf(err) != holdfast.ErrUsage) {
			t.Errorf("%q: %q, %v", c.name, p, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error repeats it: %v", c.name, err)
		}
	}
}

func TestWhatLooksLikeAKey(t *testing.T) {
	for _, c := range []struct {
		name, text string
		id         holdfast.KeyID
	}{
		{"a key", "hf_abcdefgh_" + strings.Repeat("x", 43), "abcdefgh"},
		{"a damaged one", "hf_abcdefgh_x", "abcdefgh"},
		{"without its secret", "hf_abcdefgh_", "abcdefgh"},
		{"in the wrong letters", "hf_ABCDEFGH_x", "ABCDEFGH"},
		{"a token of Hugging Face", "hf_" + strings.Repeat("a", 34), ""},
		{"an id", "hf_abcdefgh", ""},
		{"another prefix", "sk_abcdefgh_x", ""},
		{"a short id", "hf_abc_defghij", ""},
		{"nothing", "", ""},
	} {
		if id, ok := holdfast.KeyIDOf(c.text); id != c.id || ok != (c.id != "") {
			t.Errorf("%s: %q, %v", c.name, id, ok)
		}
	}
}
