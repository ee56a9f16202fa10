package callid

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

func TestOf(t *testing.T) {
	plan := "write_todos#" + holdfast.DigestOf(`{"todos":["a <b>\n"],"n":1}`).String()
	none := "list#" + holdfast.DigestOf(`{}`).String()
	for _, tt := range []struct{ name, tool, arguments, want string }{
		{"arguments as an agent writes them", "write_todos", `{"todos":["a <b>\n"],"n":1}`, plan},
		{"white space between tokens", "write_todos", " {\"todos\" : [ \"a <b>\\n\" ],\r\n\t\"n\": 1 } ", plan},
		{"strings that are escaped otherwise", "write_todos", `{"t\u006fdos":["a \u003cb\u003e\u000a"],"n":1}`, plan},
		{"no arguments", "list", ``, none},
		{"empty arguments", "list", `{ }`, none},
		{"arguments that break off", "list", `{ "a": "b`, "list#" + holdfast.DigestOf(`{"a":"b`).String()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Of(tt.tool, []byte(tt.arguments)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestOtherCallsHaveOtherIDs(t *testing.T) {
	seen := map[string]string{}
	for _, args := range []string{`{}`, `{"a":"b c"}`, `{"a":"bc"}`, `{"a":["b","c"]}`, `{"a":1}`, `{"a":"1"}`, `[{"a":1}]`} {
		id := Of("t", []byte(args))
		if other, ok := seen[id]; ok {
			t.Errorf("%s and %s have one id", args, other)
		}
		seen[id] = args
		if !strings.HasPrefix(id, Result("t")) || strings.HasPrefix(id, Result("tt")) || strings.HasPrefix(Of("tt", nil), Result("t")) {
			t.Errorf("%s does not belong to its tool alone", id)
		}
	}
}
