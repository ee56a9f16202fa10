package eval

import (
	"encoding/json"
	"testing"
)

func TestAnObjectKeepsItsOrderAndEachLevelIsPlainJSON(t *testing.T) {
	var none []object
	v := object{
		{"b", "a < b & \u2028 \"c\"\n"},
		{"a", []object{{{"x", 1}}, {}}},
		{"raw", json.RawMessage(`{"z": [1, 2]}`)},
		{"list", []any{nil, true, object{{"y", []string{"é"}}}}},
		{"map", map[string]any{"k": object{{"q", 0.5}}}},
		{"none", none},
		{"empty", []object{}},
	}
	want := `{"b":"a < b & \u2028 \"c\"\n","a":[{"x":1},{}],"raw":{"z":[1,2]},"list":[null,true,{"y":["é"]}],"map":{"k":{"q":0.5}},"none":null,"empty":[]}`
	if got := string(encode(v)); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}
