package chat

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
)

func TestOnlyTheTextOfWantedResultsIsRead(t *testing.T) {
	got, err := Codec{}.Decode([]byte(`{"role":"tool","tool_call_id":"a","content":"A"}`), func(id string) bool { return id == "b" })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]holdfast.Event{holdfast.ToolResult{CallID: "a"}}, got); diff != "" {
		t.Error(diff)
	}
}
