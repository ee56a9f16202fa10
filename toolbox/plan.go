package toolbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// planTool carries the plan, in the form and with the answer by which the agents
// table knows it: the call itself is what is kept.
var planTool = tool{
	ToolDefinition: holdfast.ToolDefinition{
		Name: "update_plan",
		Description: "States the plan for the task: every step of it, in order, each with its status. " +
			"Call it again, with all steps, whenever a step begins or ends or the plan changes. At most one step is in_progress.",
		Schema: []byte(`{"type":"object","properties":{` +
			`"plan":{"type":"array","items":{"type":"object","properties":{` +
			`"step":{"type":"string"},"status":{"type":"string","enum":["pending","in_progress","completed"]}},` +
			`"required":["step","status"],"additionalProperties":false}},` +
			`"explanation":{"type":"string"}},"required":["plan"],"additionalProperties":false}`),
	},
	run: updatePlan,
}

func updatePlan(_ context.Context, arguments []byte) ([]holdfast.Part, bool, error) {
	var in struct {
		Plan []struct {
			Step   string `json:"step"`
			Status string `json:"status"`
		} `json:"plan"`
		Explanation string `json:"explanation"`
	}
	if err := decode(arguments, &in); err != nil {
		return nil, false, err
	}
	// An empty plan is one that was given up.
	if in.Plan == nil {
		return nil, false, errors.New("the plan is missing. State all of its steps, also those that are completed")
	}
	for i, s := range in.Plan {
		if strings.TrimSpace(s.Step) == "" {
			return nil, false, fmt.Errorf("step %d of the plan has no text", i+1)
		}
		if s.Status != "pending" && s.Status != "in_progress" && s.Status != "completed" {
			return nil, false, fmt.Errorf("the status of step %d must be pending, in_progress or completed", i+1)
		}
	}
	return []holdfast.Part{holdfast.Text("Plan updated")}, false, nil
}
