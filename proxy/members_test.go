package proxy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// fed is the body that pieces leave.
func fed(pieces ...string) string {
	var m members
	for _, p := range pieces {
		m.feed([]byte(p))
	}
	return string(m.body())
}

func TestMembers(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"what tells the usage stays, all else goes", `{"id":"m","content":[{"usage":{"a":0}}],"usage":{"a":1,"b":{"c":[2]}},"x":1}`, `{"usage":{"a":1,"b":{"c":[2]}}}`},
		{"an error", ` {"error" : {"message":"no"} } `, `{"error":{"message":"no"}}`},
		{"no member of a member", `{"a":{"usage":{"b":1}},"c":[[{"error":1}]]}`, ``},
		{"no text that looks like one", `{"a":"\"usage\":{\"b\":1}","b":"usage"}`, ``},
		{"a value that is the last, and one that is none", `{"error":null,"usage":7}`, `{"usage":7,"error":null}`},
		{"brackets, quotes and commas inside texts", `{"usage":{"a":"}\\\",]"},"b":1}`, `{"usage":{"a":"}\\\",]"}}`},
		{"of the objects of a list the last that tells", `[{"usageMetadata":{"a":1}},{"b":2},{"usageMetadata":{"a":3}},{}]`, `{"usageMetadata":{"a":3}}`},
		{"no object of a list inside", `{"a":[{"usage":1}]}`, ``},
		{"nothing", ``, ``},
		{"what is no object", `"usage"`, ``},
		{"a member that is too long", `{"usage":{"a":"` + strings.Repeat("x", maxMember) + `"},"error":1}`, `{"error":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := fed(tt.in); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if got := fed(strings.Split(tt.in, "")...); got != tt.want {
				t.Errorf("byte by byte: got %s, want %s", got, tt.want)
			}
		})
	}
}

// value draws JSON of some depth whose names are often those that count.
func value(t *rapid.T, depth int) any {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.Float64Range(-1e9, 1e9).Draw(t, "number")
	case 1:
		return nil
	case 2:
		return rapid.Bool().Draw(t, "truth")
	case 3:
		return rapid.StringOfN(rapid.RuneFrom([]rune("ab\"\\{}[]:, \n\u00e9")), 0, 8, -1).Draw(t, "text")
	case 4:
		var list []any
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			list = append(list, value(t, depth-1))
		}
		return list
	}
	return object(t, depth)
}

func object(t *rapid.T, depth int) map[string]any {
	o := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, "members") {
		name := rapid.SampledFrom([]string{"usage", "usageMetadata", "error", "a", "us\"age", ""}).Draw(t, "name")
		o[name] = value(t, depth-1)
	}
	return o
}

func TestMembersAreThoseOfTheDocumentHoweverItComes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := object(t, 4)
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		var pieces []string
		for rest := string(text); rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		want := map[string]any{}
		for _, name := range metered {
			if v, ok := doc[name]; ok {
				want[name] = v
			}
		}
		got := map[string]any{}
		if body := fed(pieces...); body != "" {
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatalf("%s: %v", body, err)
			}
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if diff := cmp.Diff(string(b), string(a)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestHasObject(t *testing.T) {
	for in, want := range map[string]bool{
		`{"usage":{"a":1}}`:                   true,
		`{"usageMetadata" : {"a":1}}`:         true,
		`{"usage":null}`:                      false,
		`{"usage":null,"usage2":1}`:           false,
		`{"usage":null,"x":{"usage": {}}}`:    true,
		`{"text":"\"usage\":{"}`:              false,
		`{"text":"usage"}`:                    false,
		`{"text":"\"usage"`:                   false,
		`{"usage":`:                           false,
		`{"message":{"usage":{"a":1}},"b":0}`: true,
	} {
		if got := hasObject([]byte(in), "usage"); got != want {
			t.Errorf("%s: got %t, want %t", in, got, want)
		}
	}
}

func TestTheTraceOfARequest(t *testing.T) {
	const id = "0af7651916cd43dd8448eb211c80319c"
	for header, want := range map[string]string{
		"00-" + id + "-b7ad6b7169203331-01":       id,
		"01-" + id + "-b7ad6b7169203331-01-later": id,
		"": "",
		"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01": "",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01": "",
		"00-" + id:                  "",
		"00-secret-text-for-nobody": "",
	} {
		if got := traceOf(header); got != want {
			t.Errorf("%q: got %q, want %q", header, got, want)
		}
	}
}

func TestTheNamesOfEventsThatTellNothingButContent(t *testing.T) {
	for name, want := range map[string]bool{
		"":                                       false,
		"message_start":                          false,
		"content_block_start":                    false,
		"content_block_delta":                    true,
		"message_delta":                          false, // the usage
		"error":                                  false,
		"response.completed":                     false,
		"response.output_item.done":              false,
		"response.output_text.delta":             true,
		"response.function_call_arguments.delta": true,
	} {
		if got := contentAlone([]byte(name)); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}
