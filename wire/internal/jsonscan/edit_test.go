package jsonscan

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/holdfast-dev/holdfast"
)

func TestSplice(t *testing.T) {
	at := func(start, end int) holdfast.Span { return holdfast.Span{Start: start, End: end} }
	got := Splice([]byte("<"), []byte("abcdef"), Edit{at(0, 0), []byte("1")}, Edit{at(1, 3), nil}, Edit{at(4, 5), []byte("22")}, Edit{at(6, 6), []byte("3")})
	if want := "<1ad22f3"; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// cut feeds the literals as one text and returns each with its cuts applied.
func cut(lits ...string) (out []string, visible bool) {
	c := NewCutter("<rec", "</rec>")
	base := make([]int, len(lits))
	for i, lit := range lits {
		base[i] = c.Pos()
		c.Feed([]byte(lit))
	}
	visible = c.End()
	for i, lit := range lits {
		edits := c.Cuts(holdfast.Span{Start: 0, End: len(lit)}, base[i])
		out = append(out, string(Splice(nil, []byte(lit), edits...)))
	}
	return out, visible
}

func TestCutter(t *testing.T) {
	cases := []struct {
		name    string
		lits    []string
		want    []string
		visible bool
	}{
		{"text without a passage stays", []string{`"a <b> </rec> "`}, []string{`"a <b> </rec> "`}, true},
		{"a passage goes with the white space before it", []string{`"a\n\n<rec x>1</rec>\nb"`}, []string{`"a\nb"`}, true},
		{"white space of every spelling", []string{`"a \u0020\t\u00a0` + "\u2003" + `<rec></rec>b"`}, []string{`"ab"`}, true},
		{"a delimiter in escapes", []string{`"a\u003crec>1<\/rec\u003eb"`}, []string{`"ab"`}, true},
		{"two passages", []string{`"a <rec></rec> b <rec></rec> <rec></rec>c"`}, []string{`"a bc"`}, true},
		{"a passage that never closes", []string{`"a <rec 1</re <rec"`}, []string{`"a"`}, true},
		{"a start of a start stays", []string{`"a <re<rec></rec><re"`}, []string{`"a <re<re"`}, true},
		{"a passage over many literals", []string{`"a "`, `" <"`, `""`, `"rec 1"`, `"2"`, `"</r"`, `"ec>b"`}, []string{`"a"`, `""`, `""`, `""`, `""`, `""`, `"b"`}, true},
		{"a false start over many literals", []string{`"a "`, `"<r"`, `"e"`, `"d>"`}, []string{`"a "`, `"<r"`, `"e"`, `"d>"`}, true},
		{"a false end inside a passage", []string{`"<rec </re</rec>x"`}, []string{`"x"`}, true},
		{"a text that is nothing but a passage is no blank one", []string{`" <rec></rec> \n"`}, []string{`" \n"`}, true},
		{"a text that ends in the middle of a start is no blank one", []string{`" <re"`}, []string{`" <re"`}, true},
		{"no text at all", []string{`""`, `null`}, []string{`""`, `null`}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, visible := cut(c.lits...)
			if !slices.Equal(got, c.want) || visible != c.visible {
				t.Errorf("got %q, visible %v; want %q, %v", got, visible, c.want, c.visible)
			}
		})
	}
}

func TestCutterSettlesWhatCannotChangeAnyMore(t *testing.T) {
	c := NewCutter("<rec", "</rec>")
	for _, step := range []struct {
		lit     string
		settled int
		visible bool
	}{
		{`"ab \n"`, 2, true}, // the white space may belong to a passage
		{`"c"`, 6, true},
		{`"<r"`, 6, true},
		{`"x"`, 9, true},
		{`" <rec"`, 14, true}, // from here on all is cut
		{`" 1"`, 16, true},
		{`"</rec> "`, 22, true}, // the passage is closed, white space is open again
		{`"d"`, 24, true},
	} {
		c.Feed([]byte(step.lit))
		if c.Settled() != step.settled || c.Visible() != step.visible {
			t.Errorf("behind %s: settled %d, visible %v; want %d, %v", step.lit, c.Settled(), c.Visible(), step.settled, step.visible)
		}
	}
}

func TestCutterForgetsOldCutsButNotTheOpenOne(t *testing.T) {
	c := NewCutter("<rec", "</rec>")
	c.Feed([]byte(`"<rec></rec>a<rec"`))
	c.Forget(c.Pos())
	if len(c.cuts) != 1 {
		t.Fatalf("%d cuts kept, want the open one", len(c.cuts))
	}
	c.Feed([]byte(`"1</rec>"`))
	if c.cuts[0].End != c.Pos() {
		t.Errorf("the open passage ends at %d, want %d", c.cuts[0].End, c.Pos())
	}
}

var passage = regexp.MustCompile(`(?s)[\pZ\t\n\v\f\r\x{85}]*<rec.*?(</rec>|$)`)

func FuzzCutter(f *testing.F) {
	f.Add("a \n<rec x>1</rec> b", "<re", "c")
	f.Add("a <rec", "</r", "ec> b\u2028<rec")
	f.Fuzz(func(t *testing.T, a, b, d string) {
		var lits []string
		for _, s := range []string{a, b, d} {
			lits = append(lits, string(AppendQuote(nil, s)))
		}
		text := Text([]byte(lits[0])) + Text([]byte(lits[1])) + Text([]byte(lits[2]))
		want := passage.ReplaceAllString(text, "")
		out, visible := cut(lits...)
		got := ""
		for _, lit := range out {
			got += Text([]byte(lit))
		}
		if got != want {
			t.Fatalf("%q became %q, want %q", text, got, want)
		}
		if visible != (strings.TrimFunc(text, unicode.IsSpace) != "") {
			t.Fatalf("visible %v for %q", visible, want)
		}
	})
}

func TestAmend(t *testing.T) {
	cases := []struct {
		name, in, tail, want string
		last                 int
		lit                  string
	}{
		{"the tail goes behind the last text", `["a","b"]`, "\n.", `["a","b\n."]`, 1, `"b\n."`},
		{"a text of white space is not the last", `["a"," \n"]`, "!", `["a!"," \n"]`, 0, `"a!"`},
		{"passages are cut from every text", `["<rec></rec>","a <rec>","b <rec></rec>c","<rec>"]`, "!", `["","a","bc","!"]`, 3, `"!"`},
		{"without a tail passages are only cut", `["a <rec>","b"]`, "", `["a","b"]`, 1, `"b"`},
		{"a text that is nothing but a passage", `[" <rec></rec>"," "]`, "!", `["!"," "]`, 0, `"!"`},
		{"no text", `[" ",""]`, "!", `[" ",""]`, -1, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := []byte(c.in)
			edits, last, lit := NewCutter("<rec", "</rec>").Amend(in, Elements(in, 0), c.tail)
			got := Splice(nil, in, edits...)
			if string(got) != c.want || last != c.last || string(lit) != c.lit {
				t.Errorf("got %s, %d, %s; want %s, %d, %s", got, last, lit, c.want, c.last, c.lit)
			}
			if size := SizeOf(len(in), edits); size != len(c.want) {
				t.Errorf("size %d, want %d", size, len(c.want))
			}
		})
	}
}
