package agents

import "strings"

// Shape is how a carrier's call states the plan or an answer.
type Shape string

// The shapes.
const (
	Snapshot   Shape = "snapshot"    // the whole list, each time
	TaskCreate Shape = "task_create" // one new step; its id is in the result
	TaskUpdate Shape = "task_update" // one step, named by its id
	ExitPlan   Shape = "exit_plan"   // shows a plan to the user; the result is the user's word
	PlanFile   Shape = "plan_file"   // writes the plan that ExitPlan will show
	Ask        Shape = "ask"         // structured questions; the result is the user's answers
)

// Carrier is a tool whose calls carry plan state or the user's structured answers.
type Carrier struct {
	Tool  string
	Agent string
	Shape Shape
	// Field names of the call's arguments, for Snapshot.
	List, Text, Status string
	// Versions that the form was captured from.
	Versions []string
}

var carriers = []Carrier{
	{Tool: "TodoWrite", Agent: ClaudeCode, Shape: Snapshot, List: "todos", Text: "content", Status: "status", Versions: []string{"2.1.197"}},
	{Tool: "TaskCreate", Agent: ClaudeCode, Shape: TaskCreate, Versions: []string{"2.1.197", "2.1.332"}},
	{Tool: "TaskUpdate", Agent: ClaudeCode, Shape: TaskUpdate, Versions: []string{"2.1.197", "2.1.332"}},
	{Tool: "ExitPlanMode", Agent: ClaudeCode, Shape: ExitPlan, Versions: []string{"2.1.197", "2.1.332"}},
	{Tool: "Write", Agent: ClaudeCode, Shape: PlanFile, Versions: []string{"2.1.197", "2.1.332"}},
	{Tool: "AskUserQuestion", Agent: ClaudeCode, Shape: Ask, Versions: []string{"2.1.197", "2.1.332"}},
	{Tool: "update_plan", Agent: Codex, Shape: Snapshot, List: "plan", Text: "step", Status: "status", Versions: []string{"0.171.0"}},
	{Tool: "request_user_input", Agent: Codex, Shape: Ask, Versions: []string{"0.171.0"}},
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

// PlanFilePath reports whether a written file is the plan of a plan mode
// (claude-code: a Markdown file below .claude/plans).
func PlanFilePath(path string) bool {
	p := strings.ReplaceAll(path, `\`, "/")
	return strings.Contains(p, "/.claude/plans/") && strings.HasSuffix(p, ".md")
}

// FailedResult reports whether a result text says that the tool did not run,
// in wires that have no error flag or agents that do not set it.
func FailedResult(text string) bool {
	t := strings.TrimSpace(text)
	for _, p := range []string{
		"<tool_use_error>",                   // claude-code
		"unsupported call:",                  // codex, tool switched off
		"failed to parse function arguments", // codex
	} {
		if strings.HasPrefix(t, p) {
			return true
		}
	}
	return false
}
