package continuity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
)

// call is a carrier call with a result; an empty result means none yet.
func call(id, tool, args, result string) continuity.Call {
	c := continuity.Call{ID: id, Tool: tool, Arguments: []byte(args)}
	if result != "" {
		c.Result = &holdfast.ToolResult{CallID: id, Text: result}
	}
	return c
}

func failed(id, tool, args, result string) continuity.Call {
	c := call(id, tool, args, result)
	c.Result.IsError = true
	return c
}

// plan writes a plan as "status:text" lines, then removed ones as "-text".
func plan(c holdfast.Capsule) string {
	if c.Plan == nil {
		return "none"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s", c.Plan.Status)
	for _, s := range c.Plan.Steps {
		fmt.Fprintf(&b, " %s:%s", s.Status, s.Text)
	}
	for _, r := range c.Plan.Removed {
		fmt.Fprintf(&b, " -%s", r)
	}
	return b.String()
}

const updated = "Plan updated"

func TestFoldPlans(t *testing.T) {
	for _, tt := range []struct {
		name  string
		calls []continuity.Call
		want  string
	}{
		{
			"a finished task that is reopened behind an approved plan is no removed step, though an open one had its name",
			[]continuity.Call{
				call("1", "TaskCreate", `{"subject":"a"}`, "Task #1 created successfully: a"),
				call("2", "TaskUpdate", `{"taskId":"1","status":"completed"}`, "Updated"),
				call("3", "TaskCreate", `{"subject":"a"}`, "Task #2 created successfully: a"),
				call("4", "ExitPlanMode", `{}`, "User has approved your plan.\n\n## Approved Plan:\n1. b"),
				call("5", "TaskUpdate", `{"taskId":"1","status":"pending"}`, "Updated"),
			},
			"accepted pending:a",
		},
		{
			"update_plan states the whole list",
			[]continuity.Call{call("1", "update_plan", `{"plan":[{"step":"a","status":"completed"},{"step":"b","status":"in_progress"},{"step":"c","status":"pending"}]}`, updated)},
			"accepted completed:a in_progress:b pending:c",
		},
		{
			"the newest list is the plan, in its own order, also when a step was reopened",
			[]continuity.Call{
				call("1", "update_plan", `{"plan":[{"step":"a","status":"completed"},{"step":"b","status":"pending"}]}`, updated),
				call("2", "update_plan", `{"plan":[{"step":"b","status":"in_progress"},{"step":"a","status":"pending"}]}`, updated),
			},
			"accepted in_progress:b pending:a",
		},
		{
			"an open step that vanishes stays by name, a finished one does not",
			[]continuity.Call{
				call("1", "update_plan", `{"plan":[{"step":"a","status":"completed"},{"step":"b","status":"pending"},{"step":"c","status":"pending"}]}`, updated),
				call("2", "update_plan", `{"plan":[{"step":"c","status":"pending"}]}`, updated),
			},
			"accepted pending:c -b",
		},
		{
			"a removed step that returns is a step again",
			[]continuity.Call{
				call("1", "update_plan", `{"plan":[{"step":"a","status":"pending"},{"step":"b","status":"pending"}]}`, updated),
				call("2", "update_plan", `{"plan":[{"step":"b","status":"pending"}]}`, updated),
				call("3", "update_plan", `{"plan":[{"step":"a","status":"pending"},{"step":"b","status":"completed"}]}`, updated),
			},
			"accepted pending:a completed:b",
		},
		{
			"all steps done is a completed plan",
			[]continuity.Call{call("1", "update_plan", `{"plan":[{"step":"a","status":"completed"}]}`, updated)},
			"completed completed:a",
		},
		{
			"a state that nobody knows reads as pending, cancelled leaves the plan",
			[]continuity.Call{call("1", "TodoWrite", `{"todos":[{"content":"a","status":"blocked?"},{"content":"b","status":"cancelled"}]}`, "Todos have been modified successfully.")},
			"accepted pending:a -b",
		},
		{
			"an emptied list is an abandoned plan",
			[]continuity.Call{
				call("1", "TodoWrite", `{"todos":[{"content":"a","status":"pending"}]}`, "Todos have been modified successfully."),
				call("2", "TodoWrite", `{"todos":[]}`, "Todos have been modified successfully."),
			},
			"abandoned -a",
		},
		{
			"an error result never counts",
			[]continuity.Call{failed("1", "TodoWrite", `{"todos":[{"content":"a","status":"pending"}]}`, "InputValidationError")},
			"none",
		},
		{
			"a tool that does not exist never counts, though no error flag is set",
			[]continuity.Call{call("1", "TodoWrite", `{"todos":[{"content":"a","status":"pending"}]}`, "<tool_use_error>Error: No such tool available: TodoWrite")},
			"none",
		},
		{
			"a plan tool that is switched off never counts (codex)",
			[]continuity.Call{call("1", "update_plan", `{"plan":[{"step":"a","status":"pending"}]}`, "unsupported call: update_plan")},
			"none",
		},
		{
			"a list without a result yet counts",
			[]continuity.Call{call("1", "update_plan", `{"plan":[{"step":"a","status":"pending"}]}`, "")},
			"accepted pending:a",
		},
		{
			"tasks are steps in the order of their creation",
			[]continuity.Call{
				call("1", "TaskCreate", `{"subject":"a","description":"x"}`, "Task #1 created successfully: a"),
				call("2", "TaskCreate", `{"subject":"b","description":"x"}`, "Task #2 created successfully: b\n\n<system-reminder>\nx</system-reminder>"),
				call("3", "TaskUpdate", `{"taskId":"1","status":"completed"}`, "Updated task #1 status"),
				call("4", "TaskUpdate", `{"taskId":"2","status":"in_progress"}`, "Updated task #2 status"),
			},
			"accepted completed:a in_progress:b",
		},
		{
			"a task without a result has no id and does not count yet",
			[]continuity.Call{call("1", "TaskCreate", `{"subject":"a"}`, "")},
			"none",
		},
		{
			"a deleted task leaves the plan by name",
			[]continuity.Call{
				call("1", "TaskCreate", `{"subject":"a"}`, "Task #1 created successfully: a"),
				call("2", "TaskCreate", `{"subject":"b"}`, "Task #2 created successfully: b"),
				call("3", "TaskUpdate", `{"taskId":"1","status":"deleted"}`, "Updated task #1 deleted"),
			},
			"accepted pending:b -a",
		},
		{
			"a task that is renamed keeps its place",
			[]continuity.Call{
				call("1", "TaskCreate", `{"subject":"a"}`, "Task #1 created successfully: a"),
				call("2", "TaskCreate", `{"subject":"b"}`, "Task #2 created successfully: b"),
				call("3", "TaskUpdate", `{"taskId":"1","subject":"a2"}`, "Updated task #1 subject"),
			},
			"accepted pending:a2 pending:b",
		},
		{
			"an update of a task that nobody knows changes nothing",
			[]continuity.Call{
				call("1", "TaskCreate", `{"subject":"a"}`, "Task #1 created successfully: a"),
				call("2", "TaskUpdate", `{"taskId":"7","status":"completed"}`, "Updated"),
			},
			"accepted pending:a",
		},
		{
			"arguments that are no JSON are no plan",
			[]continuity.Call{call("1", "update_plan", `{"plan":[{"step":`, updated), call("2", "update_plan", ``, updated)},
			"none",
		},
		{
			"a plan of the wrong shape is no plan",
			[]continuity.Call{call("1", "update_plan", `{"plan":"all of it"}`, updated)},
			"none",
		},
		{
			"an approved plan is in force, its list items are the steps",
			[]continuity.Call{call("1", "ExitPlanMode", `{}`, "User has approved your plan. You can now start coding.\n\n## Approved Plan:\n# Plan\n1. a\n   - detail\n2. b\n\n<system-reminder>\nx</system-reminder>")},
			"accepted pending:a pending:b",
		},
		{
			"an approval without a plan is none",
			[]continuity.Call{call("1", "ExitPlanMode", `{}`, "User has approved exiting plan mode. You can now proceed.")},
			"none",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := continuity.Fold(holdfast.Capsule{}, tt.calls, continuity.All)
			if plan(got) != tt.want {
				t.Errorf("got  %s\nwant %s", plan(got), tt.want)
			}
			again := continuity.Fold(got, tt.calls, continuity.All)
			if last := tt.calls[len(tt.calls)-1:]; continuity.Fold(got, last, continuity.All).Digest != got.Digest {
				t.Error("the newest call again changed the capsule")
			}
			if len(tt.calls) == 1 && again.Digest != got.Digest {
				t.Error("folding again changed the capsule")
			}
			if off := continuity.Fold(holdfast.Capsule{}, tt.calls, continuity.Preserve{}); !continuity.Empty(off) {
				t.Error("with preserving off something was kept")
			}
		})
	}
}

func TestFoldPlanMode(t *testing.T) {
	write := call("w", "Write", `{"file_path":"/home/dev/.claude/plans/p.md","content":"1. edit two files"}`, "File created successfully")
	write2 := call("w2", "Write", `{"file_path":"/home/dev/.claude/plans/p.md","content":"1. drop table events"}`, "File created successfully")
	approve := call("x", "ExitPlanMode", `{}`, "User has approved your plan.\n## Approved Plan (edited by user):\n1. edit two files")

	t.Run("a plan file is a proposal until the user says yes", func(t *testing.T) {
		c := continuity.Fold(holdfast.Capsule{}, []continuity.Call{write}, continuity.All)
		if c.Plan != nil || c.Proposal == nil || c.Proposal.Status != holdfast.PlanProposed || c.Proposal.Text != "1. edit two files" {
			t.Errorf("got plan %v, proposal %+v", c.Plan, c.Proposal)
		}
	})
	t.Run("approval belongs to one revision: a later proposal waits beside the plan in force", func(t *testing.T) {
		c := continuity.Fold(holdfast.Capsule{}, []continuity.Call{write, approve, write2, call("y", "ExitPlanMode", `{}`, "")}, continuity.All)
		if plan(c) != "accepted pending:edit two files" {
			t.Errorf("plan in force: %s", plan(c))
		}
		if c.Proposal == nil || c.Proposal.Status != holdfast.PlanProposed || c.Proposal.Text != "1. drop table events" {
			t.Errorf("proposal: %+v", c.Proposal)
		}
	})
	t.Run("a refusal marks the proposal with the user's words and leaves the plan in force", func(t *testing.T) {
		c := continuity.Fold(holdfast.Capsule{}, []continuity.Call{
			write, approve, write2,
			failed("y", "ExitPlanMode", `{}`, "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nkeep the table"),
		}, continuity.All)
		if plan(c) != "accepted pending:edit two files" || c.Proposal.Status != holdfast.PlanRejected || c.Proposal.Reason != "keep the table" {
			t.Errorf("plan %s, proposal %+v", plan(c), c.Proposal)
		}
	})
	t.Run("a plan tool that did not run is no refusal", func(t *testing.T) {
		c := continuity.Fold(holdfast.Capsule{}, []continuity.Call{write, failed("y", "ExitPlanMode", `{"plan":"x"}`, "<tool_use_error>Error: No such tool available: ExitPlanMode")}, continuity.All)
		if c.Proposal == nil || c.Proposal.Status != holdfast.PlanProposed || c.Proposal.Text != "1. edit two files" {
			t.Errorf("proposal: %+v", c.Proposal)
		}
	})
	t.Run("a file elsewhere is no plan", func(t *testing.T) {
		c := continuity.Fold(holdfast.Capsule{}, []continuity.Call{call("w", "Write", `{"file_path":"/home/dev/plans/p.md","content":"x"}`, "ok")}, continuity.All)
		if !continuity.Empty(c) {
			t.Errorf("got %+v", c)
		}
	})
	t.Run("the task list that follows keeps the approved text", func(t *testing.T) {
		c := continuity.Fold(holdfast.Capsule{}, []continuity.Call{
			write, approve,
			call("t", "TaskCreate", `{"subject":"edit a.go"}`, "Task #1 created successfully: edit a.go"),
		}, continuity.All)
		if plan(c) != "accepted pending:edit a.go" || c.Plan.Text != "1. edit two files" {
			t.Errorf("plan %s, approved %q", plan(c), c.Plan.Text)
		}
	})
}

func TestFoldAnswers(t *testing.T) {
	const ask = `{"questions":[{"question":"Which db?","header":"DB","options":[]},{"question":"Port?","header":"P","options":[]}]}`
	type fact struct{ subject, statement, status string }
	facts := func(c holdfast.Capsule) (fs []fact) {
		for _, d := range c.Decisions {
			fs = append(fs, fact{d.Subject, d.Statement, string(d.Status)})
		}
		return fs
	}
	for _, tt := range []struct {
		name  string
		calls []continuity.Call
		want  []fact
	}{
		{
			"each answer is a decision of the user",
			[]continuity.Call{call("1", "AskUserQuestion", ask, `Your questions have been answered: "Which db?"="sqlite". "Port?"="4141". You can now continue with these answers in mind.`)},
			[]fact{{"Which db?", "sqlite", "active"}, {"Port?", "4141", "active"}},
		},
		{
			"an answer may hold quotes and full stops of its own",
			[]continuity.Call{call("1", "AskUserQuestion", ask, `Your questions have been answered: "Which db?"="the "fast" one. Really", "Port?"="4141". You can now continue with these answers in mind.`)},
			[]fact{{"Which db?", `the "fast" one. Really`, "active"}, {"Port?", "4141", "active"}},
		},
		{
			"a question without an answer leaves nothing",
			[]continuity.Call{call("1", "AskUserQuestion", ask, `Your questions have been answered: "Port?"="1". You can now continue`)},
			[]fact{{"Port?", "1", "active"}},
		},
		{
			"the newest answer supersedes, also back to the first (A, B, A)",
			[]continuity.Call{
				call("1", "AskUserQuestion", ask, `x: "Which db?"="a". You can now continue`),
				call("2", "AskUserQuestion", ask, `x: "Which db?"="b". You can now continue`),
				call("3", "AskUserQuestion", ask, `x: "Which db?"="a". You can now continue`),
			},
			[]fact{{"Which db?", "a", "superseded"}, {"Which db?", "b", "superseded"}, {"Which db?", "a", "active"}},
		},
		{
			"codex names the question by its id",
			[]continuity.Call{call("1", "request_user_input", `{"questions":[{"id":"db","header":"DB","question":"Which db?","options":[]}]}`, `{"answers":{"db":{"answers":["sqlite","on disk"]}}}`)},
			[]fact{{"Which db?", "sqlite, on disk", "active"}},
		},
		{
			"a question that the user declined leaves nothing",
			[]continuity.Call{failed("1", "AskUserQuestion", ask, "The user doesn't want to proceed with this tool use.")},
			nil,
		},
		{
			"a question without a result leaves nothing",
			[]continuity.Call{call("1", "AskUserQuestion", ask, "")},
			nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := continuity.Fold(holdfast.Capsule{}, tt.calls, continuity.All)
			if diff := cmp.Diff(tt.want, facts(c), cmp.AllowUnexported(fact{})); diff != "" {
				t.Error(diff)
			}
			if again := continuity.Fold(c, tt.calls, continuity.All); again.Digest != c.Digest && len(tt.calls) == 1 {
				t.Error("folding again changed the capsule")
			}
		})
	}
}

// randomCalls draws a plausible history of carrier calls.
func randomCalls(t *rapid.T) (calls []continuity.Call) {
	tasks := 0
	for i := range rapid.IntRange(1, 12).Draw(t, "calls") {
		id := fmt.Sprint("c", i)
		word := rapid.StringMatching(`[a-e]{1,2}`).Draw(t, "word")
		status := rapid.SampledFrom([]string{"pending", "in_progress", "completed", "deleted", "odd"}).Draw(t, "status")
		switch rapid.IntRange(0, 7).Draw(t, "kind") {
		case 0:
			calls = append(calls, call(id, "update_plan", fmt.Sprintf(`{"plan":[{"step":%q,"status":%q},{"step":"fixed","status":"pending"}]}`, word, status), updated))
		case 1:
			tasks++
			calls = append(calls, call(id, "TaskCreate", fmt.Sprintf(`{"subject":%q}`, word), fmt.Sprintf("Task #%d created successfully: %s", tasks, word)))
		case 2:
			calls = append(calls, call(id, "TaskUpdate", fmt.Sprintf(`{"taskId":"%d","status":%q}`, rapid.IntRange(1, 4).Draw(t, "task"), status), "Updated"))
		case 3:
			calls = append(calls, call(id, "AskUserQuestion", `{"questions":[{"question":"q?"}]}`, fmt.Sprintf(`x: "q?"=%q. You can now continue`, word)))
		case 4:
			calls = append(calls, call(id, "Write", fmt.Sprintf(`{"file_path":"/home/x/.claude/plans/a.md","content":"1. %s"}`, word), "ok"))
		case 5:
			calls = append(calls, rapid.SampledFrom([]continuity.Call{
				call(id, "ExitPlanMode", `{}`, "User has approved your plan.\n\n## Approved Plan (edited by user):\n1. "+word),
				failed(id, "ExitPlanMode", `{}`, "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nnot "+word),
				failed(id, "ExitPlanMode", `{}`, "<tool_use_error>Error: No such tool available: ExitPlanMode</tool_use_error>"),
			}).Draw(t, "word on the plan file"))
		case 6:
			result := rapid.SampledFrom([]string{"User has approved your plan.", "[Operation Cancelled] Reason: User did not allow tool call"}).Draw(t, "word on the plan")
			calls = append(calls, call(id, "exit_plan_mode", fmt.Sprintf(`{"plan":"1. %s"}`, word), result))
		case 7:
			calls = append(calls, call(id, "Edit", fmt.Sprintf(`{"file_path":"/home/x/.claude/plans/a.md","old_string":"1. %s\n","new_string":"1. %s\n"}`, word, rapid.StringMatching(`[a-e]{1,2}`).Draw(t, "new word")), "ok"))
		}
	}
	return calls
}

func TestFoldLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls := randomCalls(t)
		whole := continuity.Fold(holdfast.Capsule{}, calls, continuity.All)

		var step holdfast.Capsule
		for i := range calls {
			before := step
			next := continuity.Fold(step, calls[i:i+1], continuity.All)
			if continuity.Seal(before).Digest != continuity.Seal(step).Digest {
				t.Fatal("Fold changed its input")
			}
			if again := continuity.Fold(next, calls[i:i+1], continuity.All); again.Digest != next.Digest {
				t.Fatalf("call %d again changed the capsule", i)
			}
			// As an answer that is sent again brings it.
			unanswered := calls[i]
			unanswered.Result = nil
			if again := continuity.Fold(next, []continuity.Call{unanswered}, continuity.All); again.Digest != next.Digest {
				t.Fatalf("call %d again, without its result, changed the capsule", i)
			}
			step = next
		}
		if step.Digest != whole.Digest {
			t.Fatal("one by one gives another capsule than all at once")
		}
		active := map[string]int{}
		ids := map[string]bool{}
		for _, d := range whole.Decisions {
			if ids[d.ID] {
				t.Fatalf("id %s twice", d.ID)
			}
			ids[d.ID] = true
			if d.Status == holdfast.FactActive {
				active[d.Subject]++
			}
		}
		for subject, n := range active {
			if n != 1 {
				t.Fatalf("%d active decisions on %q", n, subject)
			}
		}
		if whole.Plan != nil {
			for _, r := range whole.Plan.Removed {
				for _, s := range whole.Plan.Steps {
					if s.Text == r {
						t.Fatalf("%q is a step and removed", r)
					}
				}
			}
		}
	})
}

func TestFinishedTasksOutliveAnApprovedPlan(t *testing.T) {
	calls := []continuity.Call{
		call("1", "TaskCreate", `{"subject":"write the reader"}`, "Task #1 created successfully: write the reader"),
		call("2", "TaskUpdate", `{"taskId":"1","status":"completed"}`, "Updated task #1 status"),
		call("3", "Write", `{"file_path":"/home/x/.claude/plans/a.md","content":"1. port the mapping"}`, "ok"),
		call("4", "ExitPlanMode", `{}`, "User has approved your plan.\n\n## Approved Plan:\n1. port the mapping"),
	}
	c := continuity.Fold(holdfast.Capsule{}, calls, continuity.All)
	if c.Plan == nil || len(c.Plan.Steps) != 1 || c.Plan.Steps[0].Text != "port the mapping" {
		t.Fatalf("the approved plan is not in force: %+v", c.Plan)
	}
	reopened := continuity.Fold(c, []continuity.Call{
		call("5", "TaskUpdate", `{"taskId":"1","status":"pending"}`, "Updated task #1 status"),
	}, continuity.All)
	want := []holdfast.Step{{Ref: "1", Text: "write the reader", Status: holdfast.StepPending}}
	if !slices.Equal(reopened.Plan.Steps, want) {
		t.Errorf("a finished task that is opened again: got %+v, want %+v", reopened.Plan.Steps, want)
	}
	next := continuity.Fold(c, []continuity.Call{
		call("6", "TaskCreate", `{"subject":"port the mapping"}`, "Task #2 created successfully: port the mapping"),
	}, continuity.All)
	want = []holdfast.Step{
		{Ref: "1", Text: "write the reader", Status: holdfast.StepCompleted},
		{Ref: "2", Text: "port the mapping", Status: holdfast.StepPending},
	}
	if !slices.Equal(next.Plan.Steps, want) {
		t.Errorf("a new task behind an approved plan: got %+v, want %+v", next.Plan.Steps, want)
	}
}

func TestFoldWithoutCallsSealsWhatIsNot(t *testing.T) {
	open := holdfast.Capsule{Branch: "b", Facts: []holdfast.Fact{{ID: "f1", Statement: "The port is 8080."}}}
	sealed := continuity.Seal(open)
	for name, c := range map[string]holdfast.Capsule{"open": open, "sealed": sealed} {
		if diff := cmp.Diff(sealed, continuity.Fold(c, nil, continuity.Preserve{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
