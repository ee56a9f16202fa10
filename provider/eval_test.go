package provider

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// A loop of calls against the upstream that real agents are tested with: it tells
// a turn by its tools and takes each body apart by itself.
func TestALoopOfCallsAgainstTheScriptedUpstream(t *testing.T) {
	for _, s := range speakers {
		t.Run(string(s.protocol), func(t *testing.T) {
			up := eval.NewUpstream(eval.Config{Turn: eval.Queue(
				eval.Reply{Text: "I look.", Calls: []eval.Call{{Name: "bash", Args: json.RawMessage(`{"command":"ls"}`)}, {Name: "bash", Args: json.RawMessage(`{"command":"pwd"}`)}}},
				eval.Reply{Text: "Two files, and some words to make the answer longer than a piece.", InputTokens: 1234},
				eval.Reply{Text: "This will break off before it is said.", CutAfter: 1},
				eval.Reply{Status: 400},
			)})
			srv := &server{Server: httptest.NewServer(up)}
			t.Cleanup(srv.Close)
			c := s.client(t, srv, Config{})
			call := holdfast.Call{Model: "model-1", System: "Be brief.", Events: ask("look"), Tools: []holdfast.ToolDefinition{{Name: "bash"}}, CacheKey: "conversation-1"}

			first, err := c.Call(t.Context(), call, nil)
			if err != nil {
				t.Fatal(err)
			}
			call.Events = append(call.Events, first.Events...)
			var texts, calls []string
			for _, e := range first.Events {
				switch e := e.(type) {
				case holdfast.AssistantMessage:
					texts = append(texts, e.Text)
				case holdfast.ToolCall:
					calls = append(calls, string(e.Arguments))
					call.Events = append(call.Events, holdfast.ToolResult{CallID: e.ID, Parts: []holdfast.Part{holdfast.Text("ok")}})
				}
			}
			if diff := cmp.Diff([]string{"I look.", `{"command":"ls"}`, `{"command":"pwd"}`}, append(texts, calls...)); diff != "" || !first.Complete() {
				t.Error(diff, first.Finish)
			}

			var heard hears
			second, err := c.Call(t.Context(), call, heard.take)
			want := "Two files, and some words to make the answer longer than a piece."
			if err != nil || !cmp.Equal(second.Events, []holdfast.Event{holdfast.AssistantMessage{Text: want}}) || heard.text.String() != want {
				t.Errorf("got %v, %v, heard %q", second.Events, err, &heard.text)
			}
			if u := second.Usage; u.Input+u.CacheRead+u.CacheWrite != 1234 || u.Output == 0 {
				t.Errorf("usage %+v", u)
			}

			if third, err := c.Call(t.Context(), call, nil); holdfast.CodeOf(err) != holdfast.ErrUnavailable || third.Complete() {
				t.Errorf("got %v, %v", third, err)
			}
			if _, err := c.Call(t.Context(), call, nil); holdfast.CodeOf(err) != holdfast.ErrUsage {
				t.Errorf("got %v", err)
			}

			requests := up.Requests()
			if len(requests) != 4 {
				t.Fatalf("%d requests", len(requests))
			}
			for i, r := range requests {
				if r.Kind != eval.Turn || r.Protocol != s.protocol {
					t.Errorf("request %d was taken for a %s over %s", i, r.Kind, r.Protocol)
				}
			}
		})
	}
}
