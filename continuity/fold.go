package continuity

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
)

// Fold applies carrier calls, in the order of the history, to a capsule. The
// result is sealed; c itself is not changed. Without calls a sealed capsule stays
// as it is.
func Fold(c holdfast.Capsule, calls []Call, keep Preserve) holdfast.Capsule {
	if len(calls) == 0 && c.Digest != "" {
		return c
	}
	c = clone(c)
	known := ranked{}
	for _, call := range calls {
		carrier, ok := agents.CarrierOf(call.Tool)
		if !ok {
			continue
		}
		if !keep.carries(carrier.Shape) {
			continue
		}
		if call.Result != nil && carrier.Failed(call.Result.IsError, call.Result.Text) {
			// A refused plan is an answer; every other failure is no call at all.
			if carrier.Shape == agents.ExitPlan && agents.Rejected(call.Result.Text) {
				rejectPlan(&c, call)
			}
			continue
		}
		switch carrier.Shape {
		case agents.Snapshot:
			applySnapshot(&c, carrier, call)
		case agents.TaskCreate:
			createTask(&c, call)
		case agents.TaskUpdate:
			updateTask(&c, call)
		case agents.PlanFile:
			proposeFile(&c, call)
		case agents.PlanEdit:
			editFile(&c, call)
		case agents.TeamTask:
			teamTask(&c, call)
		case agents.Checklist:
			applyChecklist(&c, carrier, call)
		case agents.TaskList:
			listTasks(&c, call)
		case agents.ExitPlan:
			exitPlan(&c, call)
		case agents.Proposed:
			propose(&c, string(call.Arguments))
		case agents.Accepted:
			if len(call.Arguments) > 0 {
				accept(&c, string(call.Arguments))
			} else if c.Proposal != nil && c.Proposal.Status == holdfast.PlanProposed {
				accept(&c, c.Proposal.Text)
			}
		case agents.Said:
			addWords(&c, string(call.Arguments), known)
		case agents.Ask:
			answerQuestions(&c, call)
		case agents.AskOne:
			answerOne(&c, call)
		}
	}
	return Seal(c)
}

// carries reports whether what a shape of calls brings is preserved.
func (k Preserve) carries(shape agents.Shape) bool {
	switch shape {
	case agents.Said:
		return k.UserWords
	case agents.Ask, agents.AskOne:
		return k.UserDecisions
	}
	return k.Plan
}

// status maps a harness's state; gone is true for states that take a step out
// of the plan.
func status(s string) (st holdfast.StepStatus, gone bool) {
	switch s {
	case "in_progress":
		return holdfast.StepInProgress, false
	case "completed":
		return holdfast.StepCompleted, false
	case "cancelled", "canceled", "deleted":
		return "", true
	}
	return holdfast.StepPending, false
}

func applySnapshot(c *holdfast.Capsule, carrier agents.Carrier, call Call) {
	var args map[string]json.RawMessage
	if json.Unmarshal(call.Arguments, &args) != nil {
		return
	}
	var items []map[string]any
	raw, ok := args[carrier.List]
	if !ok || json.Unmarshal(raw, &items) != nil {
		return
	}
	var steps []holdfast.Step
	var removed []string
	for _, item := range items {
		text, _ := item[carrier.Text].(string)
		text = bounded(text, maxStepBytes)
		if text == "" || len(steps) == maxSteps {
			continue
		}
		state, _ := item[carrier.Status].(string)
		st, gone := status(state)
		if gone {
			removed = append(removed, text)
			continue
		}
		steps = append(steps, holdfast.Step{Text: text, Status: st})
	}
	replaceSteps(c, steps, removed)
}

// replaceSteps makes steps the plan in force. Open steps of the list before
// that are not in the new one are kept by name.
func replaceSteps(c *holdfast.Capsule, steps []holdfast.Step, removed []string) {
	p := holdfast.Plan{Source: holdfast.FromStructuredTool, Steps: steps}
	if old := c.Plan; old != nil {
		p.Removed = old.Removed
		if old.Status == holdfast.PlanAccepted {
			p.Text, p.Evidence = approvedText(old), old.Evidence
		}
		if old.Source == holdfast.FromStructuredTool {
			for _, s := range old.Steps {
				if s.Status != holdfast.StepCompleted {
					removed = append(removed, s.Text)
				}
			}
		}
	}
	remove(&p, removed...)
	settle(&p)
	c.Plan = &p
}

// approvedText is a plan as the user approved it. One that was approved in prose
// is its steps, which the agent's own list is about to replace.
func approvedText(p *holdfast.Plan) string {
	if p.Source == holdfast.FromConversation || p.Source == holdfast.FromEdit {
		return stepList(p.Steps)
	}
	return p.Text
}

// remove adds names to Removed, without those that are steps again.
func remove(p *holdfast.Plan, names ...string) {
	isStep := func(name string) bool {
		return slices.ContainsFunc(p.Steps, func(s holdfast.Step) bool { return s.Text == name })
	}
	all := append(slices.Clone(p.Removed), names...)
	p.Removed = nil
	for _, n := range all {
		if !isStep(n) && !slices.Contains(p.Removed, n) {
			p.Removed = append(p.Removed, n)
		}
	}
	if over := len(p.Removed) - maxRemoved; over > 0 {
		p.Removed = p.Removed[over:]
	}
}

// settle derives the plan's status from its steps. A list that was emptied
// while steps were open is abandoned.
func settle(p *holdfast.Plan) {
	p.Status = holdfast.PlanAccepted
	if len(p.Steps) == 0 {
		p.Status = holdfast.PlanAbandoned
		return
	}
	for _, s := range p.Steps {
		if s.Status != holdfast.StepCompleted {
			return
		}
	}
	p.Status = holdfast.PlanCompleted
}

// taskCreated reads the id out of claude-code's "Task #1 created successfully: ...".
var taskCreated = regexp.MustCompile(`^Task #(\S+) created successfully`)

// taskPlan is the plan in force if it is a list of tasks, else a new one.
func taskPlan(c *holdfast.Capsule) *holdfast.Plan {
	if p := c.Plan; p != nil && p.Source == holdfast.FromStructuredTool &&
		(len(p.Steps) == 0 || p.Steps[0].Ref != "") {
		return p
	}
	var earlier []holdfast.Step
	if c.Plan != nil {
		earlier = slices.Clone(c.Plan.Earlier)
	}
	replaceSteps(c, nil, nil)
	c.Plan.Steps = earlier
	remove(c.Plan) // a step that is back is not removed
	return c.Plan
}

func createTask(c *holdfast.Capsule, call Call) {
	if call.Result == nil {
		return // the id by which later updates name it is in the result
	}
	id := taskCreated.FindStringSubmatch(strings.TrimSpace(call.Result.Text))
	var args struct {
		Subject string `json:"subject"`
	}
	if id == nil || json.Unmarshal(call.Arguments, &args) != nil || strings.TrimSpace(args.Subject) == "" {
		return
	}
	p := taskPlan(c)
	text := bounded(args.Subject, maxStepBytes)
	for i, s := range p.Steps {
		if s.Ref != id[1] {
			continue
		}
		if s.Text == text {
			return // this call again
		}
		if s.Status == holdfast.StepCompleted {
			// The harness counts from one again: the finished step gave its id up.
			p.Steps = slices.Delete(p.Steps, i, i+1)
			break
		}
		// An open step whose id means another one now is kept by name.
		p.Steps = slices.Delete(p.Steps, i, i+1)
		remove(p, s.Text)
		break
	}
	if len(p.Steps) == maxSteps {
		return
	}
	p.Steps = append(p.Steps, holdfast.Step{Ref: id[1], Text: text, Status: holdfast.StepPending})
	remove(p)
	settle(p)
}

func updateTask(c *holdfast.Capsule, call Call) {
	var args struct {
		TaskID  string `json:"taskId"`
		Status  string `json:"status"`
		Subject string `json:"subject"`
	}
	if json.Unmarshal(call.Arguments, &args) != nil || c.Plan == nil {
		return
	}
	p := c.Plan
	if args.TaskID != "" && slices.ContainsFunc(p.Earlier, func(s holdfast.Step) bool { return s.Ref == args.TaskID }) {
		p = taskPlan(c)
	}
	for i := range p.Steps {
		if p.Steps[i].Ref != args.TaskID || args.TaskID == "" {
			continue
		}
		if text := bounded(args.Subject, maxStepBytes); text != "" {
			p.Steps[i].Text = text
		}
		if args.Status != "" {
			st, gone := status(args.Status)
			if gone {
				name := p.Steps[i].Text
				p.Steps = slices.Delete(p.Steps, i, i+1)
				remove(p, name)
				settle(p)
				return
			}
			p.Steps[i].Status = st
		}
		settle(p)
		return
	}
}

// teamTask reads cline's tasks: the call says what is done, the result the id and
// the state. A blocked task is still to be done.
func teamTask(c *holdfast.Capsule, call Call) {
	var args struct {
		Title string `json:"title"`
	}
	var result struct {
		Action string `json:"action"`
		TaskID string `json:"taskId"`
		Status string `json:"status"`
	}
	if call.Result == nil || json.Unmarshal([]byte(call.Result.Text), &result) != nil || result.TaskID == "" ||
		json.Unmarshal(call.Arguments, &args) != nil {
		return
	}
	st, gone := status(result.Status)
	title := bounded(args.Title, maxStepBytes)
	p := c.Plan
	if result.Action == "create" && title != "" {
		p = taskPlan(c)
	}
	if p == nil {
		return
	}
	at := slices.IndexFunc(p.Steps, func(s holdfast.Step) bool { return s.Ref == result.TaskID })
	switch {
	case at < 0 && result.Action == "create" && title != "" && !gone && len(p.Steps) < maxSteps:
		p.Steps = append(p.Steps, holdfast.Step{Ref: result.TaskID, Text: title, Status: st})
		remove(p)
	case at >= 0 && gone:
		name := p.Steps[at].Text
		p.Steps = slices.Delete(p.Steps, at, at+1)
		remove(p, name)
	case at >= 0 && result.Action != "create":
		p.Steps[at].Status = st
	}
	settle(p)
}

// checkbox is a line of a Markdown check list: done, under way, or open.
var checkbox = regexp.MustCompile(`^\s*(?:[-*+]\s+)?\[([ xX~-])\]\s+(.+)$`)

func applyChecklist(c *holdfast.Capsule, carrier agents.Carrier, call Call) {
	var args map[string]any
	if json.Unmarshal(call.Arguments, &args) != nil {
		return
	}
	list, _ := args[carrier.List].(string)
	var steps []holdfast.Step
	for line := range strings.SplitSeq(list, "\n") {
		m := checkbox.FindStringSubmatch(line)
		if m == nil || len(steps) == maxSteps {
			continue
		}
		st := map[string]holdfast.StepStatus{" ": holdfast.StepPending, "x": holdfast.StepCompleted, "X": holdfast.StepCompleted}[m[1]]
		if st == "" {
			st = holdfast.StepInProgress
		}
		steps = append(steps, holdfast.Step{Text: bounded(m[2], maxStepBytes), Status: st})
	}
	if len(steps) > 0 {
		replaceSteps(c, steps, nil)
	}
}

// taskLine is a line of claude-code's task list: "#1 [completed] alpha".
var taskLine = regexp.MustCompile(`(?m)^#(\S+) \[(\w+)\] (.+)$`)

// listTasks takes the harness's own list as the plan. What stands behind a
// subject that is known (owner, blockers) is no part of it.
func listTasks(c *holdfast.Capsule, call Call) {
	if call.Result == nil {
		return
	}
	text, _, _ := strings.Cut(call.Result.Text, "\n\n<system-reminder>")
	rows := taskLine.FindAllStringSubmatch(text, maxSteps)
	if len(rows) == 0 {
		return
	}
	p := taskPlan(c)
	known := map[string]string{}
	for _, s := range p.Steps {
		known[s.Ref] = s.Text
	}
	old := p.Steps
	p.Steps = nil
	for _, row := range rows {
		subject := bounded(row[3], maxStepBytes)
		if name := known[row[1]]; name != "" && strings.HasPrefix(subject, name) {
			subject = name
		}
		st, gone := status(row[2])
		if !gone {
			p.Steps = append(p.Steps, holdfast.Step{Ref: row[1], Text: subject, Status: st})
		}
	}
	remove(p, lost(old, p.Steps)...)
	settle(p)
}

// lost are the names of open steps whose ids are not in a newer list.
func lost(old, steps []holdfast.Step) (names []string) {
	for _, s := range old {
		if s.Status != holdfast.StepCompleted && !slices.ContainsFunc(steps, func(n holdfast.Step) bool { return n.Ref == s.Ref }) {
			names = append(names, s.Text)
		}
	}
	return names
}

func proposeFile(c *holdfast.Capsule, call Call) {
	path, content := agents.WrittenFile(call.Arguments)
	if agents.PlanFilePath(path) {
		propose(c, content)
	}
}

// editFile makes the newest proposal, or else the plan in force, with a passage
// replaced the newest proposal. Where the passage is in neither, nobody knows what the
// file says now, and what was proposed before is not what an approval will mean.
func editFile(c *holdfast.Capsule, call Call) {
	edit := agents.EditedFile(call.Arguments)
	if !agents.PlanFilePath(edit.Path) {
		return
	}
	if edit.Old == "" {
		propose(c, edit.New)
		return
	}
	var texts []string
	proposed := c.Proposal != nil && c.Proposal.Source == holdfast.FromPlanMode
	if proposed {
		texts = append(texts, c.Proposal.Text)
	}
	if c.Plan != nil {
		texts = append(texts, c.Plan.Text)
	}
	for _, text := range texts {
		text += "\n" // it was cut off, and a passage may end with it
		found := strings.Count(text, edit.Old)
		if edit.New != "" && (found == 0 || strings.Contains(edit.New, edit.Old)) && strings.Contains(text, edit.New) {
			return // this edit again
		}
		if found == 1 || edit.All && found > 0 {
			propose(c, strings.ReplaceAll(text, edit.Old, edit.New))
			return
		}
	}
	if proposed {
		c.Proposal = nil
	}
}

// propose makes a text the newest proposal, unless it is the newest already: the
// user's word on that stands. The plan in force is none, and no older proposal is
// the newest behind it.
func propose(c *holdfast.Capsule, text string) {
	text = bounded(text, maxPlanBytes)
	if text != "" && c.Plan != nil && c.Plan.Text == text {
		c.Proposal = nil
		return
	}
	if text == "" || c.Proposal != nil && c.Proposal.Text == text {
		return
	}
	c.Proposal = &holdfast.Proposal{Status: holdfast.PlanProposed, Source: holdfast.FromPlanMode, Text: text}
}

// approval begins the result of an approved plan (claude-code and qwen-code,
// opencode, gemini-cli).
var approval = regexp.MustCompile(`^(?:User has approved|User approved|Plan approved)`)

// approved marks where claude-code's approval repeats the plan: a heading that
// begins so (its end differs between versions), then the text.
var approvedHeading = regexp.MustCompile(`(?m)^## Approved Plan[^\n]*:\s*$`)

func exitPlan(c *holdfast.Capsule, call Call) {
	var args struct {
		Plan string `json:"plan"` // claude-code before plan files
	}
	if len(call.Arguments) > 0 && json.Unmarshal(call.Arguments, &args) != nil {
		return
	}
	if call.Result == nil || !approval.MatchString(strings.TrimSpace(call.Result.Text)) {
		propose(c, args.Plan)
		return
	}
	text := args.Plan
	if at := approvedHeading.FindStringIndex(call.Result.Text); at != nil {
		text = call.Result.Text[at[1]:]
		if i := strings.Index(text, "\n<system-reminder>"); i >= 0 {
			text = text[:i]
		}
	} else if text == "" && c.Proposal != nil {
		switch {
		case c.Proposal.Status == holdfast.PlanProposed:
			text = c.Proposal.Text
		case !strings.Contains(call.Result.Text, "exiting plan mode"):
			// The file must say something else by now. Claude-code, which shows every
			// plan that it asks about, means no plan at all.
			c.Proposal = nil
		}
	}
	accept(c, text)
}

// accept puts the plan that the user said yes to in force.
func accept(c *holdfast.Capsule, text string) {
	text = bounded(text, maxPlanBytes)
	if text == "" {
		return // nothing was shown
	}
	if c.Plan != nil && c.Plan.Text == text && c.Plan.Status == holdfast.PlanAccepted {
		c.Proposal = nil
		return // this approval again
	}
	p := holdfast.Plan{Status: holdfast.PlanAccepted, Source: holdfast.FromPlanMode, Text: text, Steps: markdownSteps(text)}
	if old := c.Plan; old != nil {
		p.Removed, p.Earlier = old.Removed, old.Earlier
		if old.Source == holdfast.FromStructuredTool {
			p.Earlier = nil
			for _, s := range old.Steps {
				switch {
				case s.Status != holdfast.StepCompleted:
					remove(&p, s.Text)
				case s.Ref != "":
					p.Earlier = append(p.Earlier, s)
				}
			}
		}
		remove(&p)
	}
	c.Plan, c.Proposal = &p, nil
}

// rejection is what claude-code puts before the words of a user who refused.
var rejectionWords = regexp.MustCompile(`(?s)(?:the user said:|User feedback:)\s*(.+?)(?:\n\nThe plan is stored at:.*)?$`)

func rejectPlan(c *holdfast.Capsule, call Call) {
	var args struct {
		Plan string `json:"plan"`
	}
	if len(call.Arguments) > 0 && json.Unmarshal(call.Arguments, &args) != nil {
		return
	}
	propose(c, args.Plan)
	if c.Proposal == nil {
		return
	}
	c.Proposal.Status, c.Proposal.Reason = holdfast.PlanRejected, ""
	if m := rejectionWords.FindStringSubmatch(call.Result.Text); m != nil {
		words := m[1]
		if i := strings.Index(words, "\n<system-reminder>"); i >= 0 {
			words = words[:i]
		}
		c.Proposal.Reason = bounded(words, maxStepBytes)
	}
}

// listItem is a top-level item of a Markdown list.
var listItem = regexp.MustCompile(`^(?:[-*+]|\d{1,3}[.)])\s+(?:\[([ xX])\]\s+)?(.+)$`)

// markdownSteps reads the top-level list items of a plan as steps.
func markdownSteps(text string) (steps []holdfast.Step) {
	var fence Fence
	for line := range strings.SplitSeq(text, "\n") {
		if fence.Line(line) {
			continue
		}
		m := listItem.FindStringSubmatch(line)
		if fence.In() || m == nil || len(steps) == maxSteps {
			continue
		}
		st := holdfast.StepPending
		if m[1] == "x" || m[1] == "X" {
			st = holdfast.StepCompleted
		}
		steps = append(steps, holdfast.Step{Text: bounded(m[2], maxStepBytes), Status: st})
	}
	return steps
}
