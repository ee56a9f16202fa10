package jsonscan

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	cases := []struct{ name, lit, want string }{
		{"plain", `"abc"`, "abc"},
		{"umlaut and emoji as they are", `"grün 🧭"`, "grün 🧭"},
		{"every short escape", `"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t"},
		{"escapes in hex of both cases", `"\u00fC\u0041"`, "üA"},
		{"two surrogate halves are one character", `"\ud83e\udDED!"`, "🧭!"},
		{"a lone high half", `"\ud83ex"`, "\ufffdx"},
		{"a lone high half at the end", `"x\ud83e"`, "x\ufffd"},
		{"a lone low half", `"\uddedx"`, "\ufffdx"},
		{"a high half before a whole pair", `"\ud83e\ud83e\udded"`, "\ufffd🧭"},
		{"each invalid byte is replaced", "\"a\xff\xfeb\"", "a\ufffd\ufffdb"},
		{"a broken escape", `"\qa"`, "\ufffdqa"},
		{"half an escape", `"\u00"`, "\ufffdu00"},
		{"a number is no text", `12`, ""},
		{"null is no text", `null`, ""},
		{"nothing is no text", ``, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := Text([]byte(c.lit)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAppendText(t *testing.T) {
	cases := []struct {
		name, lit string
		room      int
		want      string
	}{
		{"all of it when there is room", `"abc"`, 3, "<abc"},
		{"cut to the room", `"abc"`, 2, "<ab"},
		{"no room", `"abc"`, 0, "<"},
		{"an escape counts as what it means", `"a\nbc"`, 3, "<a\nb"},
		{"a character that does not fit is left out", `"aü"`, 2, "<a"},
		{"an escaped character that does not fit is left out", `"a\ud83e\udded"`, 4, "<a"},
		{"one that fits exactly stays", `"aüb"`, 3, "<aü"},
		{"a replacement that does not fit is left out", "\"a\xff\"", 2, "<a"},
		{"no string", `7`, 9, "<"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := string(AppendText([]byte("<"), []byte(c.lit), c.room)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestJoiner(t *testing.T) {
	cases := []struct {
		name string
		lits []string
		want string
	}{
		{"a pair cut between two literals", []string{`"a\ud83e"`, `"\uddedb"`}, "a🧭b"},
		{"with an empty literal and a null between", []string{`"\ud83e"`, `""`, `null`, `"\udded"`}, "🧭"},
		{"a half that never gets its other half", []string{`"a\ud83e"`, `"b"`}, "a\ufffdb"},
		{"a half at the very end", []string{`"a\ud83e"`}, "a\ufffd"},
		{"two high halves in a row", []string{`"\ud83e"`, `"\ud83e"`, `"\udded"`}, "\ufffd🧭"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var j Joiner
			var got []byte
			for _, lit := range c.lits {
				got = j.Append(got, []byte(lit))
			}
			if got = j.Flush(got); string(got) != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAppendQuote(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"plain text", "abc", `"abc"`},
		{"what must be escaped", "\"\\\n\r\t\x00\x1f", `"\"\\\n\r\t\u0000\u001f"`},
		{"what need not be stays readable", "<a href='x'>&ü🧭/\u2028", "\"<a href='x'>&ü🧭/\u2028\""},
		{"invalid bytes", "a\xffb", "\"a\ufffdb\""},
		{"nothing", "", `""`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := string(AppendQuote(nil, c.in)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{`"\ud83e\udded"`, "\"a\xffb\"", `"\n\u00fc"`, `""`} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, lit []byte, room int) {
		got := Text(lit)
		var want string
		if len(lit) > 0 && lit[0] == '"' && lit[len(lit)-1] == '"' && json.Unmarshal(lit, &want) == nil && got != want {
			t.Fatalf("got %q, encoding/json %q", got, want)
		}
		if !utf8.ValidString(got) {
			t.Fatalf("%q is no valid UTF-8", got)
		}
		room = (room & 0x7fffffff) % 20
		cut := string(AppendText(nil, lit, room))
		if !strings.HasPrefix(got, cut) || len(cut) > room {
			t.Fatalf("cut to %d: %q of %q", room, cut, got)
		}
		if rest := got[len(cut):]; rest != "" {
			if _, n := utf8.DecodeRuneInString(rest); len(cut)+n <= room {
				t.Fatalf("cut to %d: %q leaves out a character of %q that fits", room, cut, got)
			}
		}
	})
}

func FuzzQuote(f *testing.F) {
	f.Add("a\"\n\xff\u2028")
	f.Fuzz(func(t *testing.T, s string) {
		lit := AppendQuote(nil, s)
		var back string
		if err := json.Unmarshal(lit, &back); err != nil {
			t.Fatal(err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); utf8.ValidString(s) && back != want {
			t.Fatalf("%q was read back as %q", s, back)
		}
		if back != Text(lit) {
			t.Fatalf("Text reads %q, encoding/json %q", Text(lit), back)
		}
		if len(lit)-2 > EscapedRoom(s) {
			t.Fatalf("%d bytes, the bound is %d", len(lit)-2, EscapedRoom(s))
		}
	})
}
