package redact

import (
	"regexp"
	"strings"
)

var (
	beginForm   = regexp.MustCompile(`^-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----`)
	endForm     = regexp.MustCompile(`^-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----`)
	accountForm = regexp.MustCompile(`private_key\\*"\s*:\s*\\*"$`)
)

const (
	// longKey is the longest body between two lines of a key, in bytes: more
	// is text that mentions both.
	longKey = 32 << 10
	// keyRun is the shortest run of base64 that makes a body one of a key.
	keyRun = 16
	// fullLine is the shortest line of a key that another one can follow.
	fullLine = 32
)

// accountKey finds the key of a service account: a private key that is the
// value of private_key in JSON.
func accountKey(s string, at int) (start, end int, ok bool) {
	if !accountForm.MatchString(s[max(0, at-40):at]) {
		return 0, 0, false
	}
	return keyFromBegin(s, at)
}

// keyFromBegin finds a private key by its first line: up to its last line, or,
// when the key was cut, up to where no line of a key is.
func keyFromBegin(s string, at int) (start, end int, ok bool) {
	head := beginForm.FindString(s[at:min(at+100, len(s))])
	if head == "" {
		return 0, 0, false
	}
	body := at + len(head)
	// Looking no further than the next hyphens keeps the cost linear.
	if n := strings.Index(s[body:], "-----"); n >= 0 && n <= longKey {
		last := body + n
		if tail := endForm.FindString(s[last:min(last+100, len(s))]); tail != "" {
			return at, last + len(tail), hasRun(s[body:last])
		}
	}
	end = body
	for from, short := body, false; from < len(s); {
		to, next := line(s, from)
		text := bare(s[from:to])
		run := base64Run(text)
		switch whole := run > 0 && run == len(text); {
		case whole && (!short || text[0] == '='):
			end = from + strings.Index(s[from:to], text) + run
			short = run < fullLine
		case end == body && (text == "" || strings.Contains(text, ": ")):
			// A header of an older form, or the empty line behind it.
		case text == "" && from < to:
			// Between an escaped line end and a real one, in a text of several strings.
		default:
			// Where a key breaks off within a line, something else than a word follows.
			if !whole && !short && run > 0 && end > body && text[run] != ' ' {
				end = from + strings.Index(s[from:to], text) + run
			}
			next = len(s)
		}
		from = next
	}
	return at, end, hasRun(s[body:end])
}

// keyToEnd finds a private key by its last line, when the first was cut away.
func keyToEnd(s string, at int) (start, end int, ok bool) {
	tail := endForm.FindString(s[at:min(at+100, len(s))])
	if tail == "" {
		return 0, 0, false
	}
	start = at
	full := false
	for to := at; to > 0; {
		from := lineStart(s, to)
		text := bare(s[from:to])
		run := base64Run(text)
		if run == 0 && text == "" && start == at {
			to = lineBefore(s, from)
			continue
		}
		if run < len(text) || full && run < keyRun && !(from == 0 && mixed(text)) {
			// What is before a key in its first line ends with no letter of it.
			if last := lastRun(text); last >= keyRun {
				start = from + strings.LastIndex(s[from:to], text) + len(text) - last
			}
			break
		}
		start = from + strings.LastIndex(s[from:to], text)
		full = full || run >= fullLine
		to = lineBefore(s, from)
	}
	return start, at + len(tail), hasRun(s[start:at])
}

// bare is a line of a key without what stands around it when the key was
// quoted, indented, numbered or concatenated.
func bare(text string) string {
	const around = " \t\r\"'`,;\\>|"
	text = strings.TrimSuffix(strings.Trim(text, around), `\r`)
	if text == "+" {
		return ""
	}
	if t, ok := strings.CutSuffix(text, " +"); ok {
		text = t
	}
	if t, ok := strings.CutPrefix(text, "+ "); ok {
		text = t
	}
	number := strings.TrimLeft(text, "0123456789")
	if len(number) < len(text) {
		for _, sign := range []string{"→", "\t", ":", "|", " "} {
			if t, ok := strings.CutPrefix(number, sign); ok {
				text = t
			}
		}
	}
	return strings.Trim(text, around)
}

// base64Run is the length of the run of base64 that text starts with.
func base64Run(text string) int {
	for i := range len(text) {
		if c := text[i]; !isLetter(c) && !('0' <= c && c <= '9') && c != '+' && c != '/' && c != '=' {
			return i
		}
	}
	return len(text)
}

// lastRun is the length of the run of base64 that text ends with.
func lastRun(text string) (n int) {
	for n < len(text) && base64Run(text[len(text)-n-1:]) == n+1 {
		n++
	}
	return n
}

// hasRun reports whether text holds what only a key has: a long run of base64.
func hasRun(text string) bool {
	for i := 0; i < len(text); i++ {
		n := base64Run(text[i:])
		if n >= keyRun {
			return true
		}
		i += n
	}
	return false
}

// longLine is how far the ends of a line are looked for, in bytes. Lines of keys
// are shorter.
const longLine = 256

// line returns where the line at offset from ends and the next one starts. An
// escaped line end, as in JSON, is one too.
func line(s string, from int) (end, next int) {
	window := s[from:min(from+longLine, len(s))]
	end = len(window)
	next = end
	if i := strings.IndexByte(window, '\n'); i >= 0 {
		end, next = i, i+1
	}
	if i := strings.Index(window[:end], `\n`); i >= 0 {
		end, next = i, i+2
	}
	return from + end, from + next
}

// lineStart returns where the line that ends at offset to starts.
func lineStart(s string, to int) int {
	from := max(0, to-longLine)
	window := s[from:to]
	start := strings.LastIndexByte(window, '\n') + 1
	if i := strings.LastIndex(window[start:], `\n`); i >= 0 {
		start += i + 2
	}
	return from + start
}

// lineBefore returns where the line before the one that starts at offset from
// ends.
func lineBefore(s string, from int) int {
	if strings.HasSuffix(s[:from], `\n`) {
		return from - 2
	}
	return max(0, from-1)
}
