package hold

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

// line is a frame whose data is a list of string literals, all of them text.
func line(texts ...string) Frame {
	f := Frame{Data: []byte("[")}
	for i, text := range texts {
		if i > 0 {
			f.Data = append(f.Data, ',')
		}
		start := len(f.Data)
		f.Data = append(append(append(f.Data, '"'), text...), '"')
		f.Texts = append(f.Texts, holdfast.Span{Start: start, End: len(f.Data)})
	}
	f.Data = append(f.Data, ']')
	f.Raw = fmt.Appendf(nil, "data: %s\n\n", f.Data)
	return f
}

// written is the frame that line makes, as bytes.
func written(texts ...string) string { return string(line(texts...).Raw) }

const older = `<holdfast-record revision=1>x</holdfast-record>`

func TestQueueHoldsWhatIsOpen(t *testing.T) {
	q := New()
	var got strings.Builder
	emit := func(raw []byte) { got.Write(raw) }
	step := func(name, want string, do func()) {
		t.Helper()
		got.Reset()
		if do(); got.String() != want {
			t.Errorf("%s: emitted %q, want %q", name, got.String(), want)
		}
	}
	push := func(texts ...string) func() { return func() { q.Push(line(texts...), emit) } }
	step("plain text leaves at once", written("a"), push("a"))
	step("white space may go with an older block", "", push("b ", `\n`))
	step("a frame without text keeps its place", "", push())
	step("a character settles it", written("b ", `\n`)+written()+written("c"), push("c"))
	step("the start of a delimiter is held", "", push("d <hold"))
	step("an older block is cut out of all its frames", written("d")+written("", "e"), push("fast-record revision=1>", "</holdfast-record>e"))
	q.Wait()
	step("what waits is held, settled or not", "", push("f"))
	step("Go lets it leave", written("f"), func() { q.Go(emit) })
	step("and what follows", written("g"), push("g"))
	step("giving up lets all go as it is", written("h <holdfast-rec"), func() { push("h <holdfast-rec")(); q.GiveUp(emit) })
	step("and what follows, uncut", written(older), push(older))
	if !q.Off() {
		t.Error("it does not say that it gave up")
	}
}

func TestQueueKeepsNoMemoryOfTheCaller(t *testing.T) {
	q := New()
	f := line("a ")
	q.Push(f, func([]byte) { t.Error("emitted too early") })
	clear(f.Raw)
	clear(f.Data)
	clear(f.Texts)
	var got []byte
	q.GiveUp(func(raw []byte) { got = append(got, raw...) })
	if string(got) != written("a ") {
		t.Errorf("got %q", got)
	}
}

func TestFinish(t *testing.T) {
	extra := func(like []byte) []byte { return fmt.Appendf(nil, "extra like %s", like) }
	cases := []struct {
		name          string
		before, after []Frame // after waits
		tail          string
		emitted, rest string
		text          string // what the digest is of; "" when not patched
	}{
		{"the tail gets a frame of its own", []Frame{line("a")}, []Frame{line(), line()}, "T", written("a") + "extra like []", written() + written(), "aT"},
		{"the tail goes to the text of the first frame that waits", nil, []Frame{line("a", "b", ""), line()}, "T\n", "", written("a", `bT\n`, "") + written(), "abT\n"},
		{"what was held for an older block leaves first", []Frame{line("a ")}, []Frame{line("")}, "T", written("a ") + `extra like [""]`, written(""), "a T"},
		{"an older block is cut before the tail", nil, []Frame{line("a "+older, older)}, "T", "", written("a", "T"), "aT"},
		{"a text that ends in half a character", nil, []Frame{line(`a\ud83e`)}, "T", "", written(`a\ud83eT`), "a\ufffdT"},
		{"no tail", []Frame{line("a")}, []Frame{line("b")}, "", written("a"), written("b"), ""},
		{"white space is no text", []Frame{line(" ")}, []Frame{line()}, "T", written(" "), written(), ""},
		{"nothing but an older block is a text", []Frame{line(older)}, []Frame{line()}, "T", written("") + "extra like []", written(), "T"},
		{"no frame waits", []Frame{line("a")}, nil, "T", written("a"), "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			q := New()
			var emitted bytes.Buffer
			emit := func(raw []byte) { emitted.Write(raw) }
			for _, f := range c.before {
				q.Push(f, emit)
			}
			q.Wait()
			for _, f := range c.after {
				q.Push(f, emit)
			}
			rest, sum, patched := q.Finish(c.tail, extra, emit)
			var want holdfast.Digest
			if c.text != "" {
				want = holdfast.TextDigest(c.text)
			}
			if emitted.String() != c.emitted || string(rest) != c.rest || sum != want || patched != (c.text != "") {
				t.Errorf("emitted %q, rest %q, digest %v, patched %v; want %q, %q, %v", &emitted, rest, sum, patched, c.emitted, c.rest, want)
			}
		})
	}
}

func TestQueueGivesUpAboveTheBound(t *testing.T) {
	q := New()
	q.Wait()
	n := 0
	emit := func(raw []byte) { n += len(raw) }
	big := line(strings.Repeat("x", 1<<20-100))
	for range 2 { // both the frame and its data are held
		if q.Push(big, emit); q.Off() || n > 0 {
			t.Fatalf("off %v, %d bytes emitted", q.Off(), n)
		}
	}
	if q.Push(big, emit); !q.Off() || n != 3*len(big.Raw) {
		t.Errorf("off %v, %d bytes emitted, want %d", q.Off(), n, 3*len(big.Raw))
	}
}

func TestPatch(t *testing.T) {
	f := line("a <holdfast-record revision=1>", "x</holdfast-record>", " b")
	got, sum, ok := Patch(f.Data, f.Texts, "T")
	if want := `["a",""," bT"]`; !ok || string(got) != want || sum != holdfast.TextDigest("a bT") {
		t.Errorf("got %s, %v, %v; want %s", got, sum, ok, want)
	}
	f = line(" ", "\n")
	if got, sum, ok := Patch(f.Data, f.Texts, "T"); ok || got != nil || !sum.IsZero() {
		t.Errorf("without text: got %s, %v, %v", got, sum, ok)
	}
}

func TestEnvelope(t *testing.T) {
	got := Envelope([]byte(`{`), []byte(` {"id": "1","x":2,"m\u006fdel":{"a":[]},"n":null}`), "n", "model", "id", "none")
	if want := `{"id":"1","model":{"a":[]},"n":null,`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
