// Package jsonwrite writes JSON member by member, in the order in which it is
// told, so that equal calls give equal bytes and raw values go in as they are.
package jsonwrite

import (
	"strconv"

	"github.com/holdfast-dev/holdfast/wire/internal/jsonscan"
)

// Writer appends to one JSON text and puts the commas. The zero value is ready.
// It is not for concurrent use.
type Writer struct{ b []byte }

// Bytes is what was written so far.
func (w *Writer) Bytes() []byte { return w.b }

// comma separates the next value or key from one before it. Nothing that ends a
// value looks like what may stand before one.
func (w *Writer) comma() {
	if len(w.b) == 0 {
		return
	}
	switch w.b[len(w.b)-1] {
	case '{', '[', ':':
	default:
		w.b = append(w.b, ',')
	}
}

// Open begins an object or a list: '{' or '['.
func (w *Writer) Open(bracket byte) {
	w.comma()
	w.b = append(w.b, bracket)
}

// Close ends it: '}' or ']'.
func (w *Writer) Close(bracket byte) { w.b = append(w.b, bracket) }

// Key begins a member. The name needs no escapes.
func (w *Writer) Key(name string) {
	w.comma()
	w.b = append(w.b, '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, '"', ':')
}

// Text writes a string. Invalid UTF-8 becomes U+FFFD.
func (w *Writer) Text(s string) {
	w.comma()
	w.b = jsonscan.AppendQuote(w.b, s)
}

// Raw writes a value that is JSON already, byte for byte.
func (w *Writer) Raw(value []byte) {
	w.comma()
	w.b = append(w.b, value...)
}

// Strings writes members that are strings: names and values by turns.
func (w *Writer) Strings(pairs ...string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		w.Key(pairs[i])
		w.Text(pairs[i+1])
	}
}

// Flag writes a member that is true or false.
func (w *Writer) Flag(name string, set bool) {
	w.Key(name)
	w.Raw(strconv.AppendBool(nil, set))
}

// Number writes a member that is a number.
func (w *Writer) Number(name string, n int64) {
	w.Key(name)
	w.Raw(strconv.AppendInt(nil, n, 10))
}
