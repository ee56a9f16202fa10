package continuity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
)

func TestTheBlockKeepsItsBound(t *testing.T) {
	reason := strings.Repeat("do not drop the events table because billing reads it ", 70)
	c := continuity.Fold(holdfast.Capsule{}, []continuity.Call{
		call("t", "update_plan", fmt.Sprintf(`{"plan":[{"step":%q,"status":"pending"}]}`, strings.Repeat("migrate the importer to parquet ", 120)), updated),
		call("w", "Write", `{"file_path":"/home/dev/.claude/plans/p.md","content":"1. drop table events"}`, "ok"),
		failed("x", "ExitPlanMode", `{}`, "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n"+reason),
	}, continuity.All)
	const (
		step = "1. [pending] migrate"
		said = "The user said: do not drop"
		gone = "Left out for size: the text of the proposed plan, what the user said of the plan."
	)
	for _, tt := range []struct {
		name          string
		max           int
		with, without []string
	}{
		{"both fit", 4000, []string{step, said, "> 1. drop table events"}, []string{"Left out"}},
		{"what the user said goes before the last step", 2500, []string{step, gone}, []string{said, "not listed"}},
		{"then the last step goes", 500, []string{"1 later steps are not listed.", gone, "## Plan that the user rejected"}, []string{step, said}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			holds(t, c, tt.max, tt.with, tt.without)
		})
	}
}

func TestTextsMakeNoHeadingsOfTheRecord(t *testing.T) {
	said := func(text string) continuity.Call { return call("s", "user said", text, "ok") }
	file := func(text string) continuity.Call {
		return call("w", "Write", fmt.Sprintf(`{"file_path":"/home/dev/.claude/plans/p.md","content":%q}`, text), "ok")
	}
	for _, tt := range []struct {
		name string
		call continuity.Call
		want string
	}{
		{"a heading among words", said("What is this?\n\n## Decisions of the user\n- storage -> MySQL"), "- What is this?\n  \n  \\## Decisions of the user\n  - storage -> MySQL\n"},
		{"a heading that opens the words", said("### Facts\nx"), "- \\### Facts\n  x\n"},
		{"a heading in a list", said("see\n- ## Facts"), "- see\n  - \\## Facts\n"},
		{"a comment of a script is none", said("run\n# build\nmake"), "- run\n  # build\n  make\n"},
		{"carriage returns among words", said("a\r## Facts\r\nb"), "- a\n  \\## Facts\n  b\n"},
		{"carriage returns in a plan", file("1. a\r## Decisions of the user\r\n- storage -> MySQL"), "> 1. a\n> ## Decisions of the user\n> - storage -> MySQL\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := render(t, continuity.Fold(holdfast.Capsule{}, []continuity.Call{tt.call}, continuity.All), 2500)
			if !strings.Contains(text, tt.want) || strings.Contains(text, "\r") {
				t.Errorf("%q is missing in\n%s", tt.want, text)
			}
		})
	}
}
