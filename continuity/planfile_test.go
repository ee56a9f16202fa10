package continuity_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
)

// proposal writes a proposal as "status: text".
func proposal(c holdfast.Capsule) string {
	if c.Proposal == nil {
		return "none"
	}
	return string(c.Proposal.Status) + ": " + c.Proposal.Text
}

func TestFoldEditedPlanFiles(t *testing.T) {
	const (
		approved = "User approved switching to build agent. Wait for further instructions."
		edited   = "Edit applied successfully."
	)
	write := call("w", "write", `{"filePath":"/p/.opencode/plans/x.md","content":"1. drop table events\n2. add the reader\n"}`, "Wrote file successfully.")
	no := failed("n", "plan_exit", `{}`, "The user dismissed this question")
	yes := call("y", "plan_exit", `{}`, approved)
	edit := func(old, text, result string) continuity.Call {
		return call("e", "edit", `{"filePath":"/p/.opencode/plans/x.md","oldString":"`+old+`","newString":"`+text+`"}`, result)
	}
	archive := edit("drop table", "archive table", edited)
	const old, text = "1. drop table events\n2. add the reader", "1. archive table events\n2. add the reader"
	for _, tt := range []struct {
		name           string
		calls          []continuity.Call
		plan, proposal string
	}{
		{"an edit of a rejected plan is a new proposal", []continuity.Call{write, no, archive}, "none", "proposed: " + text},
		{"an approval behind it accepts what the file says then", []continuity.Call{write, no, archive, yes}, "accepted pending:archive table events pending:add the reader", "none"},
		{"a passage that is not there leaves the text unknown", []continuity.Call{write, edit("drop the table", "archive", edited), yes}, "none", "none"},
		{"a passage that stands there twice is none", []continuity.Call{write, edit("e", "a", edited), yes}, "none", "none"},
		{"the last line may be taken with its end", []continuity.Call{write, edit(`2. add the reader\n`, `2. add the writer\n`, edited)}, "none", "proposed: 1. drop table events\n2. add the writer"},
		{"an edit that failed is none", []continuity.Call{write, edit("drop", "archive", "oldString not found in content")}, "none", "proposed: " + old},
		{"the plan in force is edited", []continuity.Call{write, yes, archive}, "accepted pending:drop table events pending:add the reader", "proposed: " + text},
		{"an approval of a rejected plan that nobody changed leaves its text unknown", []continuity.Call{write, no, yes}, "none", "none"},
		{
			"gemini-cli replaces a passage",
			[]continuity.Call{
				call("w", "write_file", `{"file_path":"/h/.gemini/tmp/1/plans/x.md","content":"1. drop table events"}`, "Successfully created"),
				call("n", "exit_plan_mode", `{}`, "Plan rejected. User feedback: do not drop it\n\nThe plan is stored at: /h/x.md\n\nRevise the plan based on the feedback."),
				call("e", "replace", `{"file_path":"/h/.gemini/tmp/1/plans/x.md","old_string":"1. drop table events","new_string":"1. archive table events"}`, "Successfully modified file"),
				call("y", "exit_plan_mode", `{}`, "Plan approved. Switching to Default mode."),
			},
			"accepted pending:archive table events", "none",
		},
		{
			"claude-code replaces all passages",
			[]continuity.Call{
				call("w", "Write", `{"file_path":"/home/dev/.claude/plans/p.md","content":"1. a\n2. a"}`, "ok"),
				call("e", "Edit", `{"file_path":"/home/dev/.claude/plans/p.md","old_string":"a","new_string":"b","replace_all":true}`, "ok"),
			},
			"none", "proposed: 1. b\n2. b",
		},
		{
			"an edit elsewhere is none",
			[]continuity.Call{write, call("e", "edit", `{"filePath":"/p/plans/x.md","oldString":"drop","newString":"archive"}`, edited)},
			"none", "proposed: " + old,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := continuity.Fold(holdfast.Capsule{}, tt.calls, continuity.All)
			if plan(c) != tt.plan || proposal(c) != tt.proposal {
				t.Errorf("plan %s, proposal %s", plan(c), proposal(c))
			}
			if again := continuity.Fold(c, tt.calls, continuity.All); again.Digest != c.Digest {
				t.Errorf("again: plan %s, proposal %s", plan(again), proposal(again))
			}
		})
	}
}

func TestFoldWordsOnAPlan(t *testing.T) {
	const path = `"file_path":"/home/dev/.claude/plans/p.md"`
	write := call("w", "Write", `{`+path+`,"content":"1. archive"}`, "ok")
	ok := call("y", "ExitPlanMode", `{}`, "User has approved your plan. You can now start coding.\n\n## Approved Plan:\n1. run the release checklist")
	todos := func(list string) continuity.Call {
		return call("t", "TodoWrite", `{"todos":`+list+`}`, "Todos have been modified successfully.")
	}
	for _, tt := range []struct {
		name           string
		calls          []continuity.Call
		plan, proposal string
	}{
		{"gemini-cli found no file", []continuity.Call{write, call("x", "exit_plan_mode", `{}`, "Plan file does not exist: /h/y.md. You must create the plan file before requesting approval.")}, "none", "proposed: 1. archive"},
		{"the dialog was closed", []continuity.Call{write, call("x", "exit_plan_mode", `{}`, "User cancelled the plan approval dialog. The plan was not approved and you are still in Plan Mode.")}, "none", "proposed: 1. archive"},
		{"the call was malformed", []continuity.Call{write, failed("x", "exit_plan_mode", `{}`, "params must have required property 'plan_filename'")}, "none", "proposed: 1. archive"},
		{"qwen-code's user said no", []continuity.Call{call("x", "exit_plan_mode", `{"plan":"1. archive"}`, "Plan execution was not approved. Remaining in plan mode.")}, "none", "rejected: 1. archive"},
		{"qwen-code's user said yes", []continuity.Call{call("x", "exit_plan_mode", `{"plan":"1. archive"}`, "User approved. You can now start coding.")}, "accepted pending:archive", "none"},
		{
			"the end of plan mode without a plan approves none",
			[]continuity.Call{
				write, failed("x", "ExitPlanMode", `{}`, "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nno"),
				call("y", "ExitPlanMode", `{}`, "User has approved exiting plan mode. You can now proceed."),
			},
			"none", "rejected: 1. archive",
		},
		{"a plan that was finished is approved again", []continuity.Call{ok, todos(`[{"content":"a","status":"completed"}]`), ok}, "accepted pending:run the release checklist", "none"},
		{"a plan that was emptied is approved again", []continuity.Call{ok, todos(`[]`), ok}, "accepted pending:run the release checklist", "none"},
		{"an approval again changes nothing", []continuity.Call{ok, todos(`[{"content":"a","status":"pending"}]`), ok}, "accepted pending:a", "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := continuity.Fold(holdfast.Capsule{}, tt.calls, continuity.All)
			if plan(c) != tt.plan || proposal(c) != tt.proposal {
				t.Errorf("plan %s, proposal %s", plan(c), proposal(c))
			}
		})
	}
}
