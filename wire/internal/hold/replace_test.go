package hold_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/wire/internal/hold"
)

func TestReplace(t *testing.T) {
	const seal = `record revision 1, digest sha256:0123456789abcdef0123456789abcdef`
	const old, fresh = `<holdfast-record revision=\"1\">\na\n` + seal + `\n</holdfast-record>`, "<holdfast-record revision=\"2\">\nb\n</holdfast-record>"
	const now = `\n\n<holdfast-record revision=\"2\">\nb\n</holdfast-record>`
	for _, tt := range []struct {
		name, before, part, after, want string
	}{
		{"a block in the middle of a text", `[1,`, `{"role":"user","content":"They talked.\n\n` + old + `\nRead on."}`, `,"` + old + `"]`, `{"role":"user","content":"They talked.` + now + `\nRead on."}`},
		{"a block in one of many parts", ``, `{"parts":[{"text":"a"},{"text":"b ` + old + `"},{"text":"c"}]}`, ``, `{"parts":[{"text":"a"},{"text":"b` + now + `"},{"text":"c"}]}`},
		{"delimiters that are escaped", ``, `{"text":"b \u003choldfast-record revision=\"1\"\u003ea\n` + seal + `\n\u003c/holdfast-record\u003e"}`, ``, `{"text":"b` + now + `"}`},
		{"a second block goes", ``, `["x ` + old + ` y ` + old + `","` + old + `"]`, ``, `["x` + now + ` y",""]`},
		{"no block", ``, `{"text":"holdfast-record"}`, ``, ``},
		{"a text that speaks of the delimiters", ``, `{"text":"It stands between <holdfast-record> and </holdfast-record>, see there."}`, ``, ``},
		{"a text that speaks of the first one alone", ``, `{"text":"Look for <holdfast-record in it, and go on."}`, ``, ``},
		{"a block behind a text that speaks of them", ``, `["<holdfast-record> and </holdfast-record>, then <holdfast-record"," ` + old + `"]`, ``, `["<holdfast-record> and </holdfast-record>, then <holdfast-record","` + now + `"]`},
		{"a name is no text", ``, `{"` + old + `":"a"}`, ``, ``},
		{"a block beside the part", `"` + old + `",`, `"a"`, ``, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := []byte(tt.before + tt.part + tt.after)
			out, ok := hold.Replace(body, holdfast.Span{Start: len(tt.before), End: len(tt.before) + len(tt.part)}, fresh)
			switch want := tt.before + tt.want + tt.after; {
			case ok != (tt.want != ""):
				t.Errorf("replaced: %v", ok)
			case ok && string(out) != want:
				t.Errorf("got  %s\nwant %s", out, want)
			}
		})
	}
}
