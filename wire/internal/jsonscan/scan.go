// Package jsonscan finds and edits values in raw JSON without decoding it: a
// request of two megabytes is looked at once, and all that is not asked for is
// stepped over.
//
// It has three parts: the scan (Skip, Object, Array, Fields), text (decoding
// and quoting strings, also of a text that arrives in pieces), and edits
// (Splice, and the Cutter, which finds delimited passages in streamed text).
//
// Laws:
//   - No function reads beyond its input, loops or overflows the stack on
//     malformed input.
//   - Structure, literals and numbers are checked. The inside of strings is
//     not: a broken escape or a raw control character is only seen, and read
//     as U+FFFD or as itself, when that string is decoded.
//   - Positions are offsets into the whole input, spans of values include the
//     quotes or brackets.
//
// It stores nothing. The grammar is https://www.rfc-editor.org/rfc/rfc8259.
package jsonscan

import (
	"bytes"
	"fmt"

	"github.com/holdfast-dev/holdfast"
)

// MaxDepth is how deep values may nest.
const MaxDepth = 10_000

// SyntaxError tells where input stopped being JSON.
type SyntaxError struct {
	At   int    // offset in bytes
	Want string // what should stand there
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("malformed JSON at byte %d: %s expected", e.At, e.Want)
}

// Space returns the first position at or after at that holds no white space.
func Space(b []byte, at int) int {
	for at < len(b) && (b[at] == ' ' || b[at] == '\n' || b[at] == '\r' || b[at] == '\t') {
		at++
	}
	return at
}

// Skip returns where the value that starts at b[at] ends.
func Skip(b []byte, at int) (int, error) {
	var open nest
	for {
		if at >= len(b) {
			return 0, &SyntaxError{at, "a value"}
		}
		if open.depth == MaxDepth && (b[at] == '{' || b[at] == '[') {
			return 0, &SyntaxError{at, "less nesting"}
		}
		var err error
		switch b[at] {
		case '"':
			at, err = skipString(b, at)
		case '{':
			if at = Space(b, at+1); at < len(b) && b[at] == '}' {
				at++
				break
			}
			open.push(true)
			if _, at, err = skipKey(b, at); err != nil {
				return 0, err
			}
			continue
		case '[':
			if at = Space(b, at+1); at < len(b) && b[at] == ']' {
				at++
				break
			}
			open.push(false)
			continue
		default:
			at, err = skipScalar(b, at)
		}
		if err != nil {
			return 0, err
		}
		// A value ended: close what it completes, or go on to the next one.
		for {
			if open.depth == 0 {
				return at, nil
			}
			at = Space(b, at)
			more, err := next(b, at, open.object())
			if err != nil {
				return 0, err
			}
			at++
			if !more {
				open.pop()
				continue
			}
			at = Space(b, at)
			if open.object() {
				if _, at, err = skipKey(b, at); err != nil {
					return 0, err
				}
			}
			break
		}
	}
}

// Object visits the members of the object that starts at b[at] and returns
// where it ends. visit gets each key, decoded, and where its value starts, and
// returns where the value ends: Skip does for one that is of no interest. The
// key may alias b.
func Object(b []byte, at int, visit func(key []byte, at int) (int, error)) (int, error) {
	if at >= len(b) || b[at] != '{' {
		return 0, &SyntaxError{at, "an object"}
	}
	if at = Space(b, at+1); at < len(b) && b[at] == '}' {
		return at + 1, nil
	}
	for {
		end, value, err := skipKey(b, at)
		if err != nil {
			return 0, err
		}
		if at, err = visit(key(b[at:end]), value); err != nil {
			return 0, err
		}
		at = Space(b, at)
		more, err := next(b, at, true)
		if err != nil {
			return 0, err
		}
		if !more {
			return at + 1, nil
		}
		at = Space(b, at+1)
	}
}

// Array visits the elements of the array that starts at b[at] and returns
// where it ends. visit gets where each element starts and returns its end.
func Array(b []byte, at int, visit func(at int) (int, error)) (int, error) {
	if at >= len(b) || b[at] != '[' {
		return 0, &SyntaxError{at, "an array"}
	}
	if at = Space(b, at+1); at < len(b) && b[at] == ']' {
		return at + 1, nil
	}
	for {
		var err error
		if at, err = visit(at); err != nil {
			return 0, err
		}
		at = Space(b, at)
		more, err := next(b, at, false)
		if err != nil {
			return 0, err
		}
		if !more {
			return at + 1, nil
		}
		at = Space(b, at+1)
	}
}

// SkipUnless is Skip, save for a value of which known tells where it ends: it
// returns 0 for others. It may be nil.
func SkipUnless(known func(at int) (end int), b []byte, at int) (int, error) {
	if known != nil {
		if end := known(at); end > 0 {
			return end, nil
		}
	}
	return Skip(b, at)
}

// List returns where the array that starts at b[at] stands, and where each of
// its elements does. known is that of SkipUnless.
func List(b []byte, at int, known func(at int) (end int)) (list holdfast.Span, elements []holdfast.Span, err error) {
	end, err := Array(b, at, func(at int) (int, error) {
		end, err := SkipUnless(known, b, at)
		elements = append(elements, holdfast.Span{Start: at, End: end})
		return end, err
	})
	return holdfast.Span{Start: at, End: end}, elements, err
}

// Count returns where the array that starts at b[at] stands, and how many
// elements it has. It allocates nothing.
func Count(b []byte, at int) (list holdfast.Span, n int, err error) {
	end, err := Array(b, at, func(at int) (int, error) {
		n++
		return Skip(b, at)
	})
	return holdfast.Span{Start: at, End: end}, n, err
}

// Fields finds the named members of the object that starts at b[at], one span
// for each name, and returns where the object ends. An absent member leaves its
// span alone; of a repeated one the last counts. It allocates nothing.
func Fields(b []byte, at int, spans []holdfast.Span, names ...string) (int, error) {
	return Object(b, at, func(key []byte, at int) (int, error) {
		end, err := Skip(b, at)
		if err != nil {
			return 0, err
		}
		for i, name := range names {
			if string(key) == name {
				spans[i] = holdfast.Span{Start: at, End: end}
			}
		}
		return end, nil
	})
}

// Elements returns the spans of the elements of the array that starts at
// b[at]; nil when no well-formed array stands there.
func Elements(b []byte, at int) (spans []holdfast.Span) {
	_, spans, err := List(b, at, nil)
	if err != nil {
		return nil
	}
	return spans
}

// next reads what follows an element: a comma (more), or the closing bracket.
func next(b []byte, at int, object bool) (more bool, err error) {
	end, want := byte(']'), "a comma or ]"
	if object {
		end, want = '}', "a comma or }"
	}
	switch {
	case at < len(b) && b[at] == ',':
		return true, nil
	case at < len(b) && b[at] == end:
		return false, nil
	}
	return false, &SyntaxError{at, want}
}

// skipKey steps over a key and its colon. It returns where the key ends, and
// where its value starts.
func skipKey(b []byte, at int) (end, value int, err error) {
	if at >= len(b) || b[at] != '"' {
		return 0, 0, &SyntaxError{at, "a key"}
	}
	if end, err = skipString(b, at); err != nil {
		return 0, 0, err
	}
	if at = Space(b, end); at >= len(b) || b[at] != ':' {
		return 0, 0, &SyntaxError{at, "a colon"}
	}
	return end, Space(b, at+1), nil
}

// skipString returns where the string ends whose opening quote is b[at].
func skipString(b []byte, at int) (int, error) {
	i := at + 1
	for {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return 0, &SyntaxError{len(b), "a closing quote"}
		}
		i += n
		// A quote behind an odd number of backslashes is escaped. The opening
		// quote stops the count.
		start := i
		for b[start-1] == '\\' {
			start--
		}
		if (i-start)%2 == 0 {
			return i + 1, nil
		}
		i++
	}
}

// skipScalar steps over a number, true, false or null.
func skipScalar(b []byte, at int) (int, error) {
	for _, word := range [...]string{"true", "false", "null"} {
		if b[at] == word[0] {
			if len(b)-at < len(word) || string(b[at:at+len(word)]) != word {
				return 0, &SyntaxError{at, word}
			}
			return at + len(word), nil
		}
	}
	i := at
	if b[i] == '-' {
		i++
	}
	digits := func() bool {
		from := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return 0, &SyntaxError{at, "a value"}
	}
	if i < len(b) && b[i] == '.' {
		i++
		if !digits() {
			return 0, &SyntaxError{i, "a digit"}
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return 0, &SyntaxError{i, "a digit"}
		}
	}
	return i, nil
}

// key decodes a key; nearly all have no escape.
func key(lit []byte) []byte {
	if bytes.IndexByte(lit, '\\') < 0 {
		return lit[1 : len(lit)-1]
	}
	return []byte(Text(lit))
}

// nest remembers of each open container whether it is an object, one bit each.
type nest struct {
	depth int
	bits  uint64   // the innermost containers, the last one lowest
	outer []uint64 // full words of 64 further out
}

func (n *nest) push(object bool) {
	if n.depth > 0 && n.depth%64 == 0 {
		n.outer = append(n.outer, n.bits)
	}
	n.depth++
	n.bits <<= 1
	if object {
		n.bits |= 1
	}
}

func (n *nest) pop() {
	n.depth--
	n.bits >>= 1
	if last := len(n.outer) - 1; last >= 0 && n.depth%64 == 0 {
		n.bits = n.outer[last]
		n.outer = n.outer[:last]
	}
}

func (n *nest) object() bool { return n.bits&1 == 1 }
