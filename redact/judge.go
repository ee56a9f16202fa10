package redact

import (
	"bytes"
	"encoding/base64"
	"math"
	"strings"
)

// filled reports whether a value is more than a placeholder.
func filled(v string) bool { return v != "" && !placeholder(v) }

// stands are words that stand for a value in examples, references to where the
// value is kept, and the opening of our own marks.
var stands = []string{
	opening, "...", "…", "***", "your-", "your_", "your.", "example", "placeholder", "changeme",
	"change-me", "change_me", "replace-me", "replace_me", "dummy",
}

// references are what leads to a value that is kept elsewhere.
var references = []string{
	"env:", "env.", "process.env", "os.environ", "os.getenv", "secrets.", "vault:", "op://", "file:", "keychain:",
	"<", "${", "$(", "$env:", "{{", "{", "%(",
}

// placeholder reports whether v stands for a value that is filled in elsewhere.
func placeholder(v string) bool {
	for _, w := range stands {
		if containsFold(v, w) {
			return true
		}
	}
	for _, w := range references {
		if len(v) >= len(w) && strings.EqualFold(v[:len(w)], w) {
			return true
		}
	}
	if v[0] == '$' && len(v) > 1 && (isLetter(v[1]) || v[1] == '_') {
		return true // a shell variable; a password hash has a digit there
	}
	if v[0] == '%' && len(v) > 1 && (len(v) == 2 || v[len(v)-1] == '%') {
		return true // %s, %NAME%
	}
	return crossedOut(v)
}

// crossedOut reports whether v is made of the letter x, or has a run of it that
// no generator writes.
func crossedOut(v string) bool {
	run, longest := 0, 0
	for i := range len(v) {
		if v[i]|0x20 == 'x' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return longest >= 8 || longest >= 3 && longest == len(v)
}

// password judges the password of a URL. People choose those, so anything goes
// but the word itself and the name of a constant.
func password(v string) bool {
	switch strings.ToLower(v) {
	case "password", "passwd", "pass", "pwd", "pw":
		return false
	}
	return filled(v) && !constant(v)
}

// credential judges what stands behind the scheme of an authorization header,
// where prose has a word and code a name. Neither is long without a sign.
func credential(v string) bool {
	const long = 16
	return filled(v) && !constant(v) && (!wordy(v) || len(v) >= long && !strings.ContainsAny(v, joints))
}

// basic judges the value of the Basic scheme, user and password in base64.
func basic(v string) bool {
	pair, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
	return err == nil && bytes.IndexByte(pair, ':') >= 0
}

// random judges a value that nothing but its place makes a secret.
func random(v string) bool { return credential(v) && mixed(v) && entropy(v) >= 3 }

// humanSecret judges a value that a name calls a password. In quotes a digit or
// a sign is enough.
func humanSecret(v string, quoted bool) bool {
	if len(v) < 8 || constant(v) || sentence(v) || entropy(v) < 2.5 {
		return false
	}
	if quoted {
		return (mixed(v) || hasSign(v)) && !(wordy(v) && strings.ContainsAny(v, joints))
	}
	return mixed(v) && !wordy(v) && (hasSign(v) || jumbled(v))
}

// machineSecret judges a value that a name calls a secret, a token or a key.
func machineSecret(v string, quoted bool) bool {
	return len(v) >= 12 && random(v) && !sentence(v) && (quoted || jumbled(v))
}

// sentence reports whether v is an address, a call, or a format and no value.
func sentence(v string) bool {
	return strings.Contains(v, "://") || strings.ContainsAny(v, "(){}") || strings.Contains(v, "%s") || strings.Contains(v, "%d") || strings.Contains(v, "%v")
}

// describing are the last words of names that say something of a secret.
var describing = []string{
	"name", "names", "id", "ids", "type", "kind", "url", "uri", "path", "file", "dir", "field", "fields", "header", "headers",
	"length", "len", "size", "count", "limit", "prefix", "suffix", "format", "regex", "pattern", "env", "var", "policy", "label",
	"hint", "error", "message", "endpoint", "expiry", "expires", "ttl", "class", "version", "provider", "manager", "algorithm",
	"alg", "status", "usage", "izer", "ization", "ref", "source", "scope", "scopes", "role", "digest",
}

// describes reports whether a name says something of a secret instead of
// naming one.
func describes(name string) bool {
	for _, w := range describing {
		if n := len(name) - len(w); n > 0 && strings.EqualFold(name[n:], w) {
			return true
		}
	}
	return false
}

// constant reports whether v is the name of a constant or of a variable of the
// environment: upper case words.
func constant(v string) bool {
	joined := false
	for i := range len(v) {
		switch c := v[i]; {
		case c == '_' && i > 0:
			joined = true
		case 'A' <= c && c <= 'Z':
		case '0' <= c && c <= '9' && joined:
		default:
			return false
		}
	}
	return joined || len(v) < 20
}

// joints are the signs that join words to names and paths.
const joints = "-_./:@+~"

// wordy reports whether v is made of words: runs of letters, with a short
// number behind them or on its own, joined by signs of names and paths.
func wordy(v string) bool {
	const longWord, longNumber, telling = 30, 4, 16
	if len(v) >= telling && mixed(v) && jumbled(v) && !strings.ContainsAny(v, joints) {
		return false
	}
	letters, digits := 0, 0
	for i := range len(v) {
		switch c := v[i]; {
		case isLetter(c):
			if digits > 0 {
				return false
			}
			letters++
		case '0' <= c && c <= '9':
			digits++
		case strings.IndexByte(joints, c) >= 0:
			letters, digits = 0, 0
		default:
			return false
		}
		if letters > longWord || digits > longNumber {
			return false
		}
	}
	return true
}

// mixed reports whether v has both a letter and a digit.
func mixed(v string) bool {
	letter, digit := false, false
	for i := range len(v) {
		letter = letter || isLetter(v[i])
		digit = digit || '0' <= v[i] && v[i] <= '9'
	}
	return letter && digit
}

// hasSign reports whether v has a sign that neither names nor paths have.
func hasSign(v string) bool { return strings.ContainsAny(v, "!@#$%^&*?~") }

// jumbled reports whether letters, digits and cases follow each other as they do
// in no word: a quoted value says where it ends, a bare one may be code.
func jumbled(v string) bool {
	turns := 0
	for i := 1; i < len(v); i++ {
		a, b := v[i-1], v[i]
		digitThenLetter := '0' <= a && a <= '9' && isLetter(b)
		letterThenDigit := isLetter(a) && '0' <= b && b <= '9'
		lowerThenUpper := 'a' <= a && a <= 'z' && 'A' <= b && b <= 'Z'
		if digitThenLetter || letterThenDigit || lowerThenUpper {
			turns++
		}
	}
	return turns >= max(4, len(v)/6)
}

// entropy is Shannon's, of the bytes of v, in bits per byte.
func entropy(v string) (bits float64) {
	var count [256]int
	for i := range len(v) {
		count[v[i]]++
	}
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(v))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// containsFold reports whether v holds w, a text in lower case, in any case of
// ASCII letters.
func containsFold(v, w string) bool {
	for i := 0; i+len(w) <= len(v); i++ {
		if strings.EqualFold(v[i:i+len(w)], w) {
			return true
		}
	}
	return false
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

func isWord(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' || c == '_' }
