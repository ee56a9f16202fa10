package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

func TestSkip(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)
	layers := strings.Repeat("[", 64) + strings.Repeat(`{"a":`, 64) + strings.Repeat("[", 9) +
		strings.Repeat("]", 9) + strings.Repeat("}", 64) + strings.Repeat("]", 64)
	mixed := strings.Repeat(`[{"a":`, 70) + "1" + strings.Repeat("}]", 70)
	cases := []struct {
		name, in string
		end, bad int // where the value ends, or -1 and where the error is
	}{
		{"a string up to its quote", `"ab" ,`, 4, 0},
		{"an escaped quote ends nothing", `"a\"b"`, 6, 0},
		{"a quote behind two backslashes ends the string", `"a\\" "`, 5, 0},
		{"an empty string", `""`, 2, 0},
		{"a number with all its parts", `-10.25e+3,`, 9, 0},
		{"zero takes no further digit", `01`, 1, 0},
		{"the three words", `[true,false,null]`, 17, 0},
		{"empty containers", "[ {} , [ ] ]x", 12, 0},
		{"an object with white space everywhere", "{ \"a\" : 1 , \"b\" : [ 2 , {\"c\":3} ] }", 35, 0},
		{"as deep as allowed", deep, 2 * MaxDepth, 0},
		{"objects and arrays in turn beyond one word of the stack", mixed, len(mixed), 0},
		{"64 arrays, 64 objects in them, and arrays again", layers, len(layers), 0},
		{"deeper than allowed", "[" + deep + "]", -1, MaxDepth},
		{"nothing", "", -1, 0},
		{"a string without an end", `["ab`, -1, 4},
		{"an escape at the end of input", `"\`, -1, 2},
		{"an object that ends behind a key", `{"a"`, -1, 4},
		{"a key that is no string", `{a:1}`, -1, 1},
		{"a missing colon", `{"a" 1}`, -1, 5},
		{"a comma before the end", `[1,]`, -1, 3},
		{"a missing comma", `[1 2]`, -1, 3},
		{"the wrong bracket", `[1}`, -1, 2},
		{"the wrong bracket of an object", `{"a":1]`, -1, 6},
		{"a wrong bracket behind the first word of the stack", strings.Repeat("[", 65) + "1" + strings.Repeat("]", 64) + "}", -1, 65 + 1 + 64},
		{"half a word", `tru`, -1, 0},
		{"a lone minus", `-`, -1, 0},
		{"a point without digits", `1.x`, -1, 2},
		{"an exponent without digits", `1e+`, -1, 3},
		{"a plus before a number", `+1`, -1, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			end, err := Skip([]byte(c.in), 0)
			if c.end >= 0 {
				if end != c.end || err != nil {
					t.Fatalf("got %d, %v; want %d", end, err, c.end)
				}
				return
			}
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || syntax.At != c.bad {
				t.Fatalf("got %d, %v; want an error at byte %d", end, err, c.bad)
			}
		})
	}
}

func TestSyntaxErrorNamesTheByte(t *testing.T) {
	_, err := Skip([]byte(`{"a":1,}`), 0)
	if want := "malformed JSON at byte 7: a key expected"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestObjectVisitsKeysDecodedAndValuesInPlace(t *testing.T) {
	in := []byte(`{"a":1, "b\u0063" : {"x":[]} ,"":""} tail`)
	var got []string
	end, err := Object(in, 0, func(key []byte, at int) (int, error) {
		end, err := Skip(in, at)
		got = append(got, fmt.Sprintf("%s=%s", key, in[at:end]))
		return end, err
	})
	want := []string{"a=1", `bc={"x":[]}`, `=""`}
	if !slices.Equal(got, want) || end != len(in)-len(" tail") || err != nil {
		t.Errorf("got %q up to %d, %v; want %q", got, end, err, want)
	}
}

func TestArrayVisitsElements(t *testing.T) {
	in := []byte(`[1, "a" ,[2]]`)
	var got []string
	for _, s := range Elements(in, 0) {
		got = append(got, string(s.Of(in)))
	}
	if want := []string{"1", `"a"`, "[2]"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestListAndCountTellWhereAnArrayStands(t *testing.T) {
	for in, want := range map[string]int{` [] `: 0, ` [1, "a" ,[2]] , 3`: 3} {
		end := strings.LastIndexByte(in, ']') + 1
		place, elements, err := List([]byte(in), 1, nil)
		if place != (holdfast.Span{Start: 1, End: end}) || len(elements) != want || err != nil {
			t.Errorf("%s: a list at %v of %d, %v; want it up to %d and %d", in, place, len(elements), err, end, want)
		}
		place, n, err := Count([]byte(in), 1)
		if place != (holdfast.Span{Start: 1, End: end}) || n != want || err != nil {
			t.Errorf("%s: counted at %v are %d, %v; want it up to %d and %d", in, place, n, err, end, want)
		}
	}
	for _, in := range []string{``, `1`, `[1`, `[1}`} {
		if _, _, err := List([]byte(in), 0, nil); err == nil {
			t.Errorf("%s was read as a list", in)
		}
		if _, _, err := Count([]byte(in), 0); err == nil {
			t.Errorf("%s was counted", in)
		}
	}
}

func TestContainersRefuseMalformedInput(t *testing.T) {
	for _, in := range []string{``, `1`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1]`, `{"a":}`} {
		if _, err := Fields([]byte(in), 0, nil); err == nil {
			t.Errorf("%s was read as an object", in)
		}
	}
	for _, in := range []string{``, `1`, `[`, `[1`, `[1,`, `[1}`, `[1 2]`, `[}`} {
		if got := Elements([]byte(in), 0); got != nil {
			t.Errorf("%s was read as an array of %d", in, len(got))
		}
	}
}

func TestFieldsTakesTheLastOfARepeatedKeyAndLeavesAbsentOnesAlone(t *testing.T) {
	in := []byte(`{"a":1,"b":2,"a":[3]}`)
	var f [3]holdfast.Span
	end, err := Fields(in, 0, f[:], "a", "b", "c")
	if err != nil || end != len(in) {
		t.Fatalf("got %d, %v", end, err)
	}
	if string(f[0].Of(in)) != "[3]" || string(f[1].Of(in)) != "2" || f[2].Present() {
		t.Errorf("got %s, %s, %v", f[0].Of(in), f[1].Of(in), f[2])
	}
	if n := testing.AllocsPerRun(50, func() { Fields(in, 0, f[:], "a", "b", "c") }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// blank replaces what stands inside strings, which the scan does not check.
func blank(b []byte) []byte {
	out := bytes.Clone(b)
	for i := 0; i < len(out); i++ {
		if out[i] != '"' {
			continue
		}
		end, err := skipString(b, i)
		if err != nil {
			return out
		}
		for k := i + 1; k < end-1; k++ {
			out[k] = 'x'
		}
		i = end - 1
	}
	return out
}

func FuzzSkip(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":null}],"c":"\"\\"}`, `[[[]]]`, `-0.5e-1`, `"\ud83d\ude00"`, `{"a":tru}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		start := Space(in, 0)
		end, err := Skip(in, start)
		whole := err == nil && Space(in, end) == len(in)
		if json.Valid(in) && !whole {
			t.Fatalf("valid JSON was refused: %v, end %d of %d", err, end, len(in))
		}
		if whole && !json.Valid(blank(in)) {
			t.Fatalf("malformed structure was taken: %q", in)
		}
		// The callback forms must agree with Skip.
		if err == nil && in[start] == '{' {
			if e, err := Fields(in, start, nil); e != end || err != nil {
				t.Fatalf("Fields ends at %d, %v; Skip at %d", e, err, end)
			}
		}
		if err == nil && in[start] == '[' {
			if e, err := Array(in, start, func(at int) (int, error) { return Skip(in, at) }); e != end || err != nil {
				t.Fatalf("Array ends at %d, %v; Skip at %d", e, err, end)
			}
		}
	})
}

// conversation is a body of about size bytes in the shape that agents send:
// long texts with line breaks and quotes, calls, and results of some kilobytes.
func conversation(size int) []byte {
	prose := strings.Repeat(`The reader stops at the first blank line.\nA field named \"data\" may repeat, `, 25)
	source := strings.Repeat(`\tfor at < len(b) {\n\t\tat = step(b, at)\n\t}\n`, 100)
	var b bytes.Buffer
	b.WriteString(`{"model":"m","stream":true,"messages":[`)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%06d","content":"%s"},{"type":"text","text":"%s"}]},`, i, source, prose)
		fmt.Fprintf(&b, `{"role":"assistant","content":[{"type":"text","text":"%s"},{"type":"tool_use","id":"toolu_%06d","name":"Read","input":{"path":"a/b.go","limit":200}}]}`, prose[:300], i)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

func BenchmarkSkip2MB(b *testing.B) {
	body := conversation(2 << 20)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Skip(body, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkText(b *testing.B) {
	lit := []byte(`" a few words with a \"quote\" and a\nline"`)
	b.SetBytes(int64(len(lit)))
	b.ReportAllocs()
	for b.Loop() {
		Text(lit)
	}
}
