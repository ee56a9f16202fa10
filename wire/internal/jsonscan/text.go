package jsonscan

import (
	"bytes"
	"math"
	"unicode/utf16"
	"unicode/utf8"
)

// Text decodes a string literal, quotes included; anything else gives "".
// Invalid UTF-8, broken escapes and lone surrogate halves become U+FFFD, each
// byte or half its own, as in encoding/json.
func Text(lit []byte) string {
	body, ok := inside(lit)
	if !ok {
		return ""
	}
	if bytes.IndexByte(body, '\\') < 0 && utf8.Valid(body) {
		return string(body)
	}
	var j Joiner
	return string(j.Flush(j.Append(make([]byte, 0, len(body)), lit)))
}

// AppendText decodes at most room bytes of a string literal, cut between two
// characters, and appends them to dst. What does not fit is not decoded.
func AppendText(dst, lit []byte, room int) []byte {
	body, _ := inside(lit)
	limit := len(dst) + room
	var j Joiner
	dst = j.Flush(j.decode(dst, body, limit))
	if len(dst) <= limit {
		return dst
	}
	for limit > 0 && !utf8.RuneStart(dst[limit]) {
		limit--
	}
	return dst[:limit]
}

// Joiner decodes a text that arrives in several string literals, where a
// character above U+FFFF may be cut between its two surrogate halves. The zero
// value is ready. It is not for concurrent use.
type Joiner struct{ high rune }

// Append decodes lit, quotes included, and appends it to dst. A high half at
// the end is held back until the next literal tells whether its low half
// follows. Anything but a string appends nothing.
func (j *Joiner) Append(dst, lit []byte) []byte {
	body, ok := inside(lit)
	if !ok {
		return dst
	}
	return j.decode(dst, body, math.MaxInt)
}

// decode appends the inside of a literal to dst until that has limit bytes or
// a few more: the last character is whole.
func (j *Joiner) decode(dst, body []byte, limit int) []byte {
	for len(body) > 0 && len(dst) < limit {
		if j.high == 0 {
			run := body[:min(len(body), limit-len(dst))]
			if i := bytes.IndexByte(run, '\\'); i >= 0 {
				run = run[:i]
			}
			for n := 1; n < utf8.UTFMax && len(run) < len(body) && !utf8.RuneStart(body[len(run)]); n++ {
				run = body[:len(run)+1]
			}
			dst = appendValid(dst, run)
			if body = body[len(run):]; len(body) == 0 || body[0] != '\\' {
				continue
			}
		}
		r, n := char(body)
		body = body[n:]
		if j.high != 0 {
			if whole := utf16.DecodeRune(j.high, r); whole != utf8.RuneError {
				r = whole
			} else {
				dst = utf8.AppendRune(dst, utf8.RuneError)
			}
			j.high = 0
		}
		if isHigh(r) && len(body) == 0 {
			j.high = r
			break
		}
		dst = utf8.AppendRune(dst, valid(r))
	}
	return dst
}

// Flush ends the text: a half that is still held back becomes U+FFFD.
func (j *Joiner) Flush(dst []byte) []byte {
	if j.high != 0 {
		j.high = 0
		dst = utf8.AppendRune(dst, utf8.RuneError)
	}
	return dst
}

// AppendQuote appends s as a string literal, quotes included.
func AppendQuote(dst []byte, s string) []byte {
	return append(AppendEscaped(append(dst, '"'), s), '"')
}

// AppendEscaped appends s as the inside of a string literal. Invalid UTF-8
// becomes U+FFFD.
func AppendEscaped(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[from:i]...), "\ufffd"...)
				from = i + 1
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	return append(dst, s[from:]...)
}

// EscapedRoom is an upper bound of what AppendEscaped appends for s, in bytes.
func EscapedRoom(s string) int {
	room := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			room++
		case c < ' ':
			room += len(`\u0000`) - 1
		case c >= utf8.RuneSelf:
			room += 2
		}
	}
	return room
}

// inside returns what stands between the quotes of a string literal.
func inside(lit []byte) ([]byte, bool) {
	if len(lit) < 2 || lit[0] != '"' || lit[len(lit)-1] != '"' {
		return nil, false
	}
	return lit[1 : len(lit)-1], true
}

// appendValid appends b with every invalid byte replaced.
func appendValid(dst, b []byte) []byte {
	if utf8.Valid(b) {
		return append(dst, b...)
	}
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		dst = utf8.AppendRune(dst, r)
		b = b[n:]
	}
	return dst
}

func isHigh(r rune) bool { return r >= 0xd800 && r < 0xdc00 }

// valid replaces a lone surrogate half.
func valid(r rune) rune {
	if utf16.IsSurrogate(r) {
		return utf8.RuneError
	}
	return r
}

// char decodes the first character of the inside of a string literal, which
// must not be empty. n is the number of bytes that it takes there, 1 or more.
// Two surrogate halves in a row are one character; a lone half is itself.
func char(b []byte) (r rune, n int) {
	switch c := b[0]; {
	case c != '\\' && c < utf8.RuneSelf:
		return rune(c), 1
	case c != '\\':
		return utf8.DecodeRune(b)
	case len(b) < 2:
		return utf8.RuneError, 1
	}
	switch b[1] {
	case '"', '\\', '/':
		return rune(b[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r, ok := unit(b)
		if !ok {
			return utf8.RuneError, 1
		}
		if isHigh(r) {
			if low, ok := unit(b[6:]); ok {
				if whole := utf16.DecodeRune(r, low); whole != utf8.RuneError {
					return whole, 12
				}
			}
		}
		return r, 6
	}
	return utf8.RuneError, 1
}

// unit reads the escape that b starts with: \u and four hexadecimal digits.
func unit(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
