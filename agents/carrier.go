package agents

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-dev/holdfast"
)

// Shape is how a carrier's call states the plan or an answer.
type Shape string

// The shapes.
const (
	Snapshot   Shape = "snapshot"    // the whole list, each time
	TaskCreate Shape = "task_create" // one new step; its id is in the result
	TaskUpdate Shape = "task_update" // one step, named by its id
	ExitPlan   Shape = "exit_plan"   // shows a plan to the user; the result is the user's word
	PlanFile   Shape = "plan_file"   // writes the plan that ExitPlan will show
	PlanEdit   Shape = "plan_edit"   // replaces a passage of that plan
	Ask        Shape = "ask"         // structured questions; the result is the user's answers
	AskOne     Shape = "ask_one"     // one question; the result is the answer
	TaskList   Shape = "task_list"   // asks for the list; the result is the list
	TeamTask   Shape = "team_task"   // one step; its id and status are in the result
	Checklist  Shape = "checklist"   // the whole list, as Markdown check boxes
	Proposed   Shape = "proposed"    // no tool: a plan that the model wrote between known tags
	Accepted   Shape = "accepted"    // no tool: the text by which a harness tells the user's yes
	Said       Shape = "said"        // no tool: what the user typed
)

// Carrier is a tool whose calls carry plan state or the user's structured answers.
type Carrier struct {
	Tool  string
	Agent string
	Shape Shape
	// Field names of the call's arguments, for Snapshot.
	List, Text, Status string
	// Done begin the results of calls that took effect, for wires that have no
	// error flag; none: any result that is not marked as an error.
	Done []string
	// Versions that the form was captured from.
	Versions []string
}

var carriers = []Carrier{
	{Tool: "TodoWrite", Agent: ClaudeCode, Shape: Snapshot, List: "todos", Text: "content", Status: "status", Versions: []string{"2.1.197"}},
	{Tool: "TaskCreate", Agent: ClaudeCode, Shape: TaskCreate, Versions: []string{"2.1.197", "2.1.332"}},
	{Tool: "TaskUpdate", Agent: ClaudeCode, Shape: TaskUpdate, Versions: []string{"2.1.197", "2.1.332"}},
	{Tool: "ExitPlanMode", Agent: ClaudeCode, Shape: ExitPlan, Versions: []string{"2.1.197", "2.1.332"}},
	{Tool: "Write", Agent: ClaudeCode, Shape: PlanFile, Versions: []string{"2.1.197", "2.1.332"}},
	{Tool: "Edit", Agent: ClaudeCode, Shape: PlanEdit, Versions: []string{"2.1.332"}},
	{Tool: "AskUserQuestion", Agent: ClaudeCode, Shape: Ask, Versions: []string{"2.1.197", "2.1.332"}},
	{Tool: "TaskList", Agent: ClaudeCode, Shape: TaskList, Versions: []string{"2.1.197", "2.1.332"}},
	{Tool: "update_plan", Agent: Codex, Shape: Snapshot, List: "plan", Text: "step", Status: "status", Done: []string{"Plan updated"}, Versions: []string{"0.171.0"}},
	{Tool: "request_user_input", Agent: Codex, Shape: Ask, Versions: []string{"0.171.0"}},
	{Tool: "todowrite", Agent: OpenCode, Shape: Snapshot, List: "todos", Text: "content", Status: "status", Done: []string{"["}, Versions: []string{"1.18.33"}},
	{Tool: "question", Agent: OpenCode, Shape: Ask, Done: []string{"User has answered your questions:"}, Versions: []string{"1.18.33"}},
	{Tool: "write", Agent: OpenCode, Shape: PlanFile, Versions: []string{"1.18.33"}},
	{Tool: "edit", Agent: OpenCode, Shape: PlanEdit, Done: []string{"Edit applied successfully"}, Versions: []string{"1.18.33"}},
	{Tool: "plan_exit", Agent: OpenCode, Shape: ExitPlan, Done: []string{"User approved"}, Versions: []string{"1.18.33"}},
	{Tool: "todo_write", Agent: Qwen, Shape: Snapshot, List: "todos", Text: "content", Status: "status", Done: []string{"Todos have been", "Todo list has been cleared.", "Todo list is already up to date."}, Versions: []string{"0.15.10", "0.24.4"}},
	{Tool: "ask_user_question", Agent: Qwen, Shape: Ask, Done: []string{"User has provided the following answers:"}, Versions: []string{"0.15.10", "0.24.4"}},
	{Tool: "exit_plan_mode", Agent: Qwen, Shape: ExitPlan, Done: []string{"User has approved", "User approved.", "Plan approved"}, Versions: []string{"0.15.10", "0.24.4", "0.61.0"}},
	{Tool: "write_todos", Agent: Gemini, Shape: Snapshot, List: "todos", Text: "description", Status: "status", Done: []string{"Successfully"}, Versions: []string{"0.61.0"}},
	{Tool: "ask_user", Agent: Gemini, Shape: Ask, Versions: []string{"0.61.0"}},
	{Tool: "write_file", Agent: Gemini, Shape: PlanFile, Versions: []string{"0.61.0"}},
	{Tool: "replace", Agent: Gemini, Shape: PlanEdit, Versions: []string{"0.61.0"}},
	{Tool: "team_task", Agent: Cline, Shape: TeamTask, Versions: []string{"3.0.65"}},
	{Tool: "ask_question", Agent: Cline, Shape: AskOne, Versions: []string{"3.0.65"}},
	// Read in the source of crush, and of Roo and Kilo; never run.
	{Tool: "todos", Agent: Crush, Shape: Snapshot, List: "todos", Text: "content", Status: "status"},
	{Tool: "update_todo_list", Shape: Checklist, List: "todos"},
	{Tool: proposedPlan, Agent: Codex, Shape: Proposed, Versions: []string{"0.171.0"}},
	{Tool: UserSaid, Shape: Said},
	{Tool: acceptedPlan, Agent: Codex, Shape: Accepted, Versions: []string{"0.171.0"}},
}

// Carriers returns the table, for documentation and tests.
func Carriers() []Carrier { return append([]Carrier(nil), carriers...) }

// CarrierOf finds the carrier that a tool name means.
func CarrierOf(tool string) (Carrier, bool) {
	for _, c := range carriers {
		if c.Tool == tool {
			return c, true
		}
	}
	return Carrier{}, false
}

// DeferredLoader is the tool by which claude-code loads tools that a request
// does not list. Where it is offered, any carrier of that agent may be called.
const DeferredLoader = "ToolSearch"

// bridge is the tool by which qwen-code 0.24 calls tools that it keeps out of a request,
// by name. Of the carriers that is todo_write, where the setting tools.eager leaves it
// out; ask_user_question and exit_plan_mode are offered always (read in its code).
const bridge = "tool_call"

// Bridges reports whether calls of a tool may stand for calls of another one.
func Bridges(tool string) bool { return tool == bridge }

// Meant is the call that a call stands for: one of a bridge with the name and the
// arguments in it, any other as it is.
func Meant(call holdfast.ToolCall) holdfast.ToolCall {
	if !Bridges(call.Name) {
		return call
	}
	var args struct {
		Name      string         `json:"name"`
		Arguments jsontext.Value `json:"arguments"`
	}
	if json.Unmarshal(call.Arguments, &args) != nil || args.Name == "" {
		return call
	}
	call.Name, call.Arguments = args.Name, []byte(args.Arguments)
	return call
}

// PlanLeftOut reports whether the arguments of a call that showed a plan hold none any
// more: qwen-code 0.24.4 puts a note in its place once the plan is approved.
func PlanLeftOut(arguments []byte) bool {
	var args struct {
		Plan string `json:"plan"`
	}
	return json.Unmarshal(arguments, &args) == nil && strings.HasPrefix(args.Plan, "[Plan approved and saved to ")
}

// PlanFilePath reports whether a written file is the plan of a plan mode
// (a Markdown file
// below .claude/plans, .opencode/plans, or plans in .gemini).
func PlanFilePath(path string) bool {
	p := strings.ReplaceAll(path, `\`, "/")
	return (strings.Contains(p, "/.claude/plans/") || strings.Contains(p, ".opencode/plans/") ||
		strings.Contains(p, "/.gemini/") && strings.Contains(p, "/plans/")) && strings.HasSuffix(p, ".md")
}

// WrittenFile is the path and the content in the arguments of a call that writes a
// file; "" for what they do not name.
func WrittenFile(arguments []byte) (path, content string) {
	var args struct {
		Path     string `json:"file_path"` // claude-code, gemini-cli
		FilePath string `json:"filePath"`  // opencode
		Content  string `json:"content"`
	}
	if json.Unmarshal(arguments, &args) != nil {
		return "", ""
	}
	return args.Path + args.FilePath, args.Content
}

// Edit replaces a passage of a file: the only one that reads so, or all.
type Edit struct {
	Path, Old, New string
	All            bool
}

// EditedFile reads the arguments of a call that edits a file; the zero Edit when they
// are damaged.
func EditedFile(arguments []byte) Edit {
	var args struct {
		Path     string `json:"file_path"` // claude-code, gemini-cli
		Old      string `json:"old_string"`
		New      string `json:"new_string"`
		All      bool   `json:"replace_all"`
		Multiple bool   `json:"allow_multiple"` // gemini-cli
		FilePath string `json:"filePath"`       // opencode
		OldText  string `json:"oldString"`
		NewText  string `json:"newString"`
		AllTexts bool   `json:"replaceAll"`
	}
	if json.Unmarshal(arguments, &args) != nil {
		return Edit{}
	}
	return Edit{Path: args.Path + args.FilePath, Old: args.Old + args.OldText, New: args.New + args.NewText, All: args.All || args.Multiple || args.AllTexts}
}

// PlanText reports whether a shape's calls write the text of a plan into a file. Its
// tool writes any other file too.
func (s Shape) PlanText() bool { return s == PlanFile || s == PlanEdit }

// Carries reports whether a call states the plan, or asks for an answer of the
// user: what a compaction must not take out.
func Carries(call holdfast.ToolCall) bool {
	call = Meant(call)
	c, ok := CarrierOf(call.Name)
	if !ok || !c.Shape.PlanText() {
		return ok
	}
	path, _ := WrittenFile(call.Arguments)
	return PlanFilePath(path)
}

// Names under which plan states that stand in texts are treated as calls. No
// tool can have them: tool names hold no spaces.
const (
	proposedPlan = "proposed plan"
	acceptedPlan = "accepted plan"
	UserSaid     = "user said"
)

// ProposedPlan finds the plan that codex's plan mode shows: the text between
// its tags in an answer of the model, the last one when there are more.
func ProposedPlan(answer string) (carrier, plan string, ok bool) {
	const open, end = "<proposed_plan>", "</proposed_plan>"
	i := strings.LastIndex(answer, open)
	if i < 0 {
		return "", "", false
	}
	plan, _, ok = strings.Cut(answer[i+len(open):], end)
	return proposedPlan, strings.TrimSpace(plan), ok
}

// AcceptedPlan recognises the texts that tell of an accepted plan in the user's role.
// Codex sends one when the user chose to implement the plan that was shown last;
// plan is "" then. Claude-code begins a new context with the whole plan. A person who
// types the same words asks for the same.
func AcceptedPlan(userText string) (carrier, plan string, ok bool) {
	text := strings.TrimSpace(userText)
	if plan, ok := strings.CutPrefix(text, "Implement the following plan:"); ok {
		plan = strings.TrimSpace(plan)
		return acceptedPlan, plan, plan != ""
	}
	return acceptedPlan, "", text == "Implement the plan."
}

// Early reports whether a call counts as soon as an answer holds it. What is
// written into a file may be long and is seldom a plan: it is read from the
// history that follows. Opencode's may never follow, since its compactions put the
// newest round into words too.
func (c Carrier) Early() bool { return !c.Shape.PlanText() || c.Agent == OpenCode }

// Failed reports whether a result says that the call did not take effect.
func (c Carrier) Failed(isError bool, text string) bool {
	t := strings.TrimSpace(text)
	if isError || Refused(t) {
		return true
	}
	for _, d := range c.Done {
		if strings.HasPrefix(t, d) {
			return false
		}
	}
	return len(c.Done) > 0
}

// Refused reports whether a result text says that the tool did not run at all,
// as opposed to a user who said no (claude-code writes both as errors).
func Refused(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "<tool_use_error>")
}

// rejections begin the results by which harnesses tell that the user saw a plan and
// said no (claude-code, gemini-cli, qwen-code, opencode).
var rejections = []string{
	"The user doesn't want to proceed",
	"Plan rejected.",
	"Plan execution was not approved",
	"[Operation Cancelled] Reason: User did not allow tool call",
	"The user dismissed",
}

// Rejected reports whether the result of a plan that was shown is the user's no.
// Anything else that went wrong says nothing of the plan.
func Rejected(text string) bool {
	t := strings.TrimSpace(text)
	return slices.ContainsFunc(rejections, func(r string) bool { return strings.HasPrefix(t, r) })
}
