package anthropic

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
)

func TestOnlyTheTextOfWantedResultsIsRead(t *testing.T) {
	got, err := Codec{}.Decode([]byte(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"A"},{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"B"}],"is_error":true}]}`), func(id string) bool { return id == "b" })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]holdfast.Event{holdfast.ToolResult{CallID: "a"}, holdfast.ToolResult{CallID: "b", IsError: true, Text: "B"}}, got); diff != "" {
		t.Error(diff)
	}
}
