package gemini

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
)

func TestOnlyTheTextOfWantedResultsIsRead(t *testing.T) {
	got, err := Codec{}.Decode([]byte(`{"role":"user","parts":[{"functionResponse":{"name":"a","response":{"output":"A"}}},{"functionResponse":{"name":"b","response":{"error":"B"}}}]}`), func(id string) bool { return id == "b#" })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]holdfast.Event{holdfast.ToolResult{CallID: "a#"}, holdfast.ToolResult{CallID: "b#", IsError: true, Text: "B"}}, got); diff != "" {
		t.Error(diff)
	}
}
