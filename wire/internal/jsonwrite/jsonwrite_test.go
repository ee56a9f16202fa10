package jsonwrite

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestCommasStandBetweenMembersAndElements(t *testing.T) {
	var w Writer
	w.Open('{')
	w.Strings("a", "x,", "b", "{[:")
	w.Key("c")
	w.Open('[')
	w.Text("")
	w.Raw([]byte(`{"raw": 1.0 }`))
	w.Open('[')
	w.Close(']')
	w.Open('{')
	w.Close('}')
	w.Close(']')
	w.Number("d", -5)
	w.Flag("e", true)
	w.Close('}')
	want := `{"a":"x,","b":"{[:","c":["",{"raw": 1.0 },[],{}],"d":-5,"e":true}`
	if got := string(w.Bytes()); got != want {
		t.Errorf("got %s", got)
	}
}

func TestAnyTextIsWrittenAsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOf(rapid.String()).Draw(t, "texts")
		var w Writer
		w.Open('[')
		for _, s := range texts {
			w.Text(s)
		}
		w.Close(']')
		var got []string
		if err := json.Unmarshal(w.Bytes(), &got); err != nil || len(got) != len(texts) {
			t.Fatalf("%s: %v", w.Bytes(), err)
		}
		for i, s := range texts {
			if got[i] != s {
				t.Fatalf("%q became %q", s, got[i])
			}
		}
	})
}
