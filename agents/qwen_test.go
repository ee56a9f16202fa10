package agents_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
)

func TestWhatQwenCodeOffersTellsItsTurnsFromItsSideCalls(t *testing.T) {
	const suggestion = "[SUGGESTION MODE: Suggest what the user might naturally type next.]"
	turn := []string{"edit", "tool_call", "tool_search"}
	for _, tt := range []struct {
		name, agent, last string
		tools             []string
		system            string
		want              holdfast.RequestKind
		row               string
	}{
		{"a turn", "QwenCode/0.24.4 (linux; x64)", "use postgres", turn, "You are Qwen Code", holdfast.Turn, ""},
		{"a turn with one tool", "QwenCode/0.24.4 (linux; x64)", "use postgres", []string{"edit"}, "", holdfast.Turn, ""},
		{"no tools", "QwenCode/0.24.4 (linux; x64)", "Conversation so far:", nil, "", holdfast.SideCall, "qwen-code/no-tools"},
		{"an answer in a schema", "QwenCode/0.24.4 (linux; x64)", "Who speaks next?", []string{"respond_in_schema"}, "", holdfast.SideCall, "qwen-code/no-tools"},
		{"a suggestion with the tools of its turns", "QwenCode/0.24.4 (linux; x64)", suggestion, turn, "", holdfast.SideCall, "qwen-code/suggestion"},
		{"words about a suggestion", "QwenCode/0.24.4 (linux; x64)", "What is " + suggestion, turn, "", holdfast.Turn, ""},
		{
			"what to remember", "QwenCode/0.24.4 (linux; x64)", "Scan the history.", turn,
			"You are now acting as the managed memory extraction subagent for an AI coding assistant.", holdfast.SideCall, "qwen-code/memory",
		},
		{"no tools, of another agent", "x/1", "Conversation so far:", nil, "", holdfast.Turn, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := agents.Classify(agents.Evidence{
				Protocol: holdfast.Anthropic, Path: "/v1/messages",
				Header:  func(n string) string { return map[string]string{"User-Agent": tt.agent}[n] },
				Request: &holdfast.Request{Protocol: holdfast.Anthropic, ToolCount: len(tt.tools)},
				Tools: func() (tools []holdfast.Tool) {
					for _, name := range tt.tools {
						tools = append(tools, holdfast.Tool{Name: name})
					}
					return tools
				},
				System: func() []string { return []string{tt.system} },
				Last:   []holdfast.Event{holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text(tt.last)}}},
			})
			if v.Kind != tt.want || v.Row != tt.row {
				t.Errorf("taken for %s by row %q, want %s by %q", v.Kind, v.Row, tt.want, tt.row)
			}
		})
	}
}

func TestWhatQwenCodeSaysOfItsCalls(t *testing.T) {
	for _, tt := range []struct {
		name, tool, result string
		failed             bool
	}{
		{"a list that is new", "todo_write", "Todos have been modified successfully.", false},
		{"a list that is empty", "todo_write", "Todo list has been cleared.", false},
		{"a list that says what is known", "todo_write", "Todo list is already up to date. No changes were needed.", false},
		{"a list without ids", "todo_write", `Each todo must have a non-empty "id" string of at most 500 characters.`, true},
		{"a list that a hook held up", "todo_write", "Todo creation blocked: too long", true},
		{"a bridge that refuses", "todo_write", `[tool_call bridge refused] Tool "todo_write" is already visible to the model or is not deferred.`, true},
		{"a plan approved (0.15.10)", "exit_plan_mode", "User has approved your plan. You can now start coding.", false},
		{"a plan approved (0.24.4)", "exit_plan_mode", "User approved. You can now start coding.", false},
		{"a plan that nobody decided on", "exit_plan_mode", "Plan exit was cancelled. Remaining in plan mode.", true},
		{"answers", "ask_user_question", "User has provided the following answers:\n\n**DB**: postgres", false},
		{"a call that was stopped", "ask_user_question", "Tool execution result was not recorded — likely interrupted", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, ok := agents.CarrierOf(tt.tool)
			if !ok || c.Failed(false, tt.result) != tt.failed {
				t.Errorf("known %v, failed %v", ok, c.Failed(false, tt.result))
			}
		})
	}
}

func TestACallOfABridgeMeansTheOneInIt(t *testing.T) {
	for _, tt := range []struct{ name, tool, arguments, meant, with string }{
		{"a list", "tool_call", `{"name":"todo_write","arguments":{"todos":[]}}`, "todo_write", `{"todos":[]}`},
		{"a call of the tool itself", "todo_write", `{"name":"x","arguments":{}}`, "todo_write", `{"name":"x","arguments":{}}`},
		{"no name", "tool_call", `{"arguments":{}}`, "tool_call", `{"arguments":{}}`},
		{"arguments that a model broke off", "tool_call", `{"name":"todo_write","argu`, "tool_call", `{"name":"todo_write","argu`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := agents.Meant(holdfast.ToolCall{ID: "c1", Name: tt.tool, Arguments: []byte(tt.arguments)})
			if got.ID != "c1" || got.Name != tt.meant || string(got.Arguments) != tt.with {
				t.Errorf("got %s %s(%s)", got.ID, got.Name, got.Arguments)
			}
		})
	}
}

func TestPlanLeftOut(t *testing.T) {
	for arguments, want := range map[string]bool{
		`{"plan":"[Plan approved and saved to /h/p.md. The plan text was removed from the conversation after approval]"}`: true,
		`{"plan":"1. alpha"}`: false,
		`{"plan":7}`:          false,
		`{}`:                  false,
	} {
		if got := agents.PlanLeftOut([]byte(arguments)); got != want {
			t.Errorf("PlanLeftOut(%s) = %v", arguments, got)
		}
	}
}
