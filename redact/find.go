package redact

import (
	"regexp"
	"strings"
)

// finder looks for a secret at the offset of a literal and returns where it
// stands.
type finder func(s string, at int) (start, end int, ok bool)

// reach is how many bytes from its literal on an expression sees. It makes the
// cost of a literal constant, and so that of a text linear.
const reach = 512

// Parts of expressions: a quotation mark, also one that is escaped, as in JSON
// inside of JSON; what stands between a name and its value, with a declared
// type where there is one.
const (
	quote   = `(?:\\*["'` + "`" + `])`
	assigns = quote + `?\]?[ \t]*(?::[ \t]*&?[A-Za-z][\w.]{0,20}[ \t]*)?(?:=>|:=|={1,3}|:)[ \t]*`
)

// token finds a secret that carries its own prefix: the whole match, at the
// start of a word.
func token(expr string) finder { return far(reach, expr) }

// jwt is token for web tokens, which are long. A hyphen is of their alphabet:
// behind it, one goes on and none starts.
func jwt(expr string) finder {
	const longToken = 8 << 10
	find := far(longToken, expr)
	return func(s string, at int) (start, end int, ok bool) {
		if at > 0 && s[at-1] == '-' {
			return 0, 0, false
		}
		return find(s, at)
	}
}

// far is token for an expression that sees reach bytes.
func far(reach int, expr string) finder {
	re := regexp.MustCompile(`^(?:` + expr + `)`)
	return func(s string, at int) (start, end int, ok bool) {
		if !startsWord(s, at) {
			return 0, 0, false
		}
		m := re.FindStringIndex(s[at:min(at+reach, len(s))])
		if m == nil {
			return 0, 0, false
		}
		end = at + m[1]
		if m[1] == reach {
			end = runOn(s, end)
		}
		return at, end, filled(s[at:end])
	}
}

// after finds a secret by what leads to it: the group of the expression, when
// judge takes it for one.
func after(expr string, judge func(value string) bool) finder {
	re := regexp.MustCompile(`^(?:` + expr + `)`)
	return func(s string, at int) (int, int, bool) {
		m := re.FindStringSubmatchIndex(s[at:min(at+reach, len(s))])
		if m == nil {
			return 0, 0, false
		}
		start, end := at+m[len(m)-2], at+m[len(m)-1]
		if end == at+reach {
			end = runOn(s, end)
		}
		// What leads through a mark is no lead: it was none before the mark stood there.
		return start, end, !strings.Contains(s[at:start], opening) && judge(s[start:end])
	}
}

// runOn moves the end of a match that met the end of its window to where the
// run of token characters ends.
func runOn(s string, end int) int {
	for end < len(s) && (isWord(s[end]) || strings.IndexByte("-.+/=~", s[end]) >= 0) {
		end++
	}
	return end
}

// startsWord reports whether a word can start at offset at: what stands before
// it is no part of a word, or an escape of JSON, C or URLs that looks like one.
func startsWord(s string, at int) bool {
	if at == 0 || !isWord(s[at-1]) {
		return true
	}
	before := s[max(0, at-6):at]
	n := len(before)
	switch {
	case n >= 2 && before[n-2] == '\\' && strings.IndexByte("nrtbfv0", before[n-1]) >= 0:
		return true
	case n >= 3 && before[n-3] == '%' && isHex(before[n-2]) && isHex(before[n-1]):
		return true
	case n == 6 && strings.HasPrefix(before, `\u00`):
		return true
	}
	return false
}

const (
	longName  = 40  // of a name, from its literal on
	longValue = 256 // of its value; more is data
)

// assigned finds a value that is given to a name, quoted or bare. Only a quoted
// value may hold any character, since code assigns calls and fields to such
// names all the time. It uses no expression, for names like token are all over
// clean text.
func assigned(judge func(value string, quoted bool) bool) finder {
	return func(s string, at int) (start, end int, ok bool) {
		behind := at
		for behind < len(s) && behind < at+longName && isName(s[behind]) {
			behind++
		}
		start, ok = signEnd(s, behind)
		if !ok || describes(s[at:behind]) {
			return 0, 0, false
		}
		var quoted bool
		if s[behind] == '>' {
			quoted = true
			end, ok = valueEnd(s, start, "<")
		} else {
			start, end, quoted, ok = valueAt(s, start)
		}
		return start, end, ok && filled(s[start:end]) && judge(s[start:end], quoted)
	}
}

// signEnd returns where the sign of assignment ends that stands behind a name,
// with the space behind it. It reads what the expression assigns does, the end
// of an XML tag, and the way people say it.
func signEnd(s string, at int) (end int, ok bool) {
	if at < len(s) && s[at] == '>' {
		return at + 1, true
	}
	if said := " is "; strings.HasPrefix(s[at:], said) {
		return at + len(said), true
	}
	i := skip(s, at, "\\\"'`] \t")
	if i == len(s) || s[i] != '=' && s[i] != ':' {
		return 0, false
	}
	if s[i] == ':' {
		// A declared type, as in token: &str = "...".
		j := skip(s, i+1, " \t&")
		for j < len(s) && j < i+longName && (isWord(s[j]) || s[j] == '.') {
			j++
		}
		if j = skip(s, j, " \t"); j < len(s) && s[j] == '=' {
			i = j
		}
	}
	for _, sign := range []string{"=>", ":=", "===", "==", "=", ":"} {
		if strings.HasPrefix(s[i:], sign) {
			return skip(s, i+len(sign), " \t"), true
		}
	}
	return 0, false
}

// skip returns the first offset from at on whose byte is none of set, within the
// length of a name.
func skip(s string, at int, set string) int {
	end := min(at+longName, len(s))
	for at < end && strings.IndexByte(set, s[at]) >= 0 {
		at++
	}
	return at
}

// valueAt reads the value that starts at offset at.
func valueAt(s string, at int) (start, end int, quoted, ok bool) {
	start = at
	if start+1 < len(s) && strings.IndexByte("bfru", s[start]) >= 0 && strings.IndexByte("\"'`", s[start+1]) >= 0 {
		start++ // the prefix of a string in Python and Rust
	}
	for start < len(s) && s[start] == '\\' {
		start++
	}
	if start < len(s) && strings.IndexByte("\"'`", s[start]) >= 0 {
		closing := s[start : start+1]
		start++
		end, ok = valueEnd(s, start, closing)
		return start, end, true, ok
	}
	start = at
	end = start
	for end < len(s) && end < start+longValue && (isWord(s[end]) || strings.IndexByte("+/=.~!@#%^&*$-", s[end]) >= 0) {
		if s[end] == '&' && startsParameter(s, end+1) {
			return start, end, false, true
		}
		end++
	}
	ok = end > start && (isWord(s[start]) || s[start] == '/' || s[start] == '+') &&
		(end == len(s) || strings.IndexByte(" \t\r\n\"'`,;)}]|<\\", s[end]) >= 0)
	return start, end, false, ok
}

// isName reports whether c can stand in a name that is given a value.
func isName(c byte) bool { return isWord(c) || c == '.' || c == '-' }

// valueEnd returns where a quoted value ends: before its closing sign, which may
// be escaped, or at the end of the text. A value with white space is prose.
func valueEnd(s string, start int, closing string) (end int, ok bool) {
	for end = start; end < len(s) && end < start+longValue; end++ {
		switch c := s[end]; c {
		case closing[0], '\\':
			after := strings.TrimLeft(s[end:min(end+8, len(s))], `\`)
			return end, strings.HasPrefix(after, closing)
		case ' ', '\t', '\r', '\n':
			return end, false
		}
	}
	return end, end == len(s) && closing != "<"
}

// startsParameter reports whether a name and an equals sign stand at offset at,
// as in the query of a URL.
func startsParameter(s string, at int) bool {
	i := at
	for i < len(s) && i < at+longName && isName(s[i]) {
		i++
	}
	return i > at && i < len(s) && s[i] == '='
}

var botForm = regexp.MustCompile(`^:A[A-Za-z0-9_-]{34}`)

// botToken finds the secret of a Telegram bot at the colon behind its id.
func botToken(s string, at int) (start, end int, ok bool) {
	digits := at
	for digits > 0 && at-digits < 12 && '0' <= s[digits-1] && s[digits-1] <= '9' {
		digits--
	}
	m := botForm.FindString(s[at:min(at+reach, len(s))])
	start, end = at+1, at+len(m)
	if m == "" || at-digits < 5 || end < len(s) && isWord(s[end]) {
		return 0, 0, false
	}
	return start, end, filled(m)
}
