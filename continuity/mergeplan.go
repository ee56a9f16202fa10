package continuity

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// mergePlan applies what was said of a plan that was shown in prose.
func mergePlan(c *holdfast.Capsule, w PlanWord) {
	switch w.Verdict {
	case holdfast.PlanProposed:
		proposeSteps(c, w)
	case holdfast.PlanAccepted:
		acceptSteps(c, w)
	case holdfast.PlanRejected:
		rejectSteps(c, w)
	}
}

// proposeSteps makes steps the newest proposal, unless they are known: the user's
// word on them stands.
func proposeSteps(c *holdfast.Capsule, w PlanWord) {
	switch {
	case len(w.Steps) == 0,
		c.Plan != nil && (known(c.Plan, w.Steps) || earlier(w.Evidence, c.Plan.Evidence)),
		c.Proposal != nil && (proposes(c.Proposal, w.Steps) || earlier(w.Evidence, c.Proposal.Evidence)):
		return
	}
	c.Proposal = &holdfast.Proposal{Status: holdfast.PlanProposed, Source: holdfast.FromConversation, Steps: pending(w.Steps), Evidence: w.Evidence}
}

// acceptSteps puts steps in force. The steps of a list that the agent keeps itself
// stay as they are: there the accepted ones become the text of what was approved. What
// was proposed until then waits for no answer any more.
func acceptSteps(c *holdfast.Capsule, w PlanWord) {
	old := c.Plan
	if old != nil && old.Evidence.By != "" && told(old.Evidence, w.Evidence) || len(w.Steps) == 0 {
		return
	}
	if q := c.Proposal; q != nil && !earlier(w.Evidence, q.Evidence) && (q.Source == holdfast.FromConversation || proposes(q, w.Steps)) {
		c.Proposal = nil
	}
	if old != nil && restates(old, w) {
		return
	}
	p := holdfast.Plan{Status: holdfast.PlanAccepted, Source: holdfast.FromConversation, Steps: pending(w.Steps)}
	if old != nil {
		p.Removed, p.Earlier = old.Removed, old.Earlier
		if old.Source == holdfast.FromStructuredTool && old.Status == holdfast.PlanAccepted {
			p.Source, p.Steps, p.Text = old.Source, old.Steps, stepList(p.Steps)
		}
	}
	p.Evidence = w.Evidence
	remove(&p, w.Removed...)
	c.Plan = &p
}

// rejectSteps marks a proposal as rejected, with the user's words as the reason.
func rejectSteps(c *holdfast.Capsule, w PlanWord) {
	q := c.Proposal
	switch {
	case q != nil && earlier(w.Evidence, q.Evidence):
		return
	case q != nil && q.Source == holdfast.FromConversation && len(w.Steps) == 0, q != nil && proposes(q, w.Steps):
		if q.Status == holdfast.PlanProposed {
			q.Status, q.Reason, q.Evidence = holdfast.PlanRejected, w.Evidence.Quote, w.Evidence
		}
	case len(w.Steps) > 0:
		c.Proposal = &holdfast.Proposal{
			Status: holdfast.PlanRejected, Source: holdfast.FromConversation, Steps: pending(w.Steps), Reason: w.Evidence.Quote, Evidence: w.Evidence,
		}
	}
}

// restates reports whether an acceptance names what is in force already: of a list that
// the agent keeps some of its steps, of any other plan the same steps in their order.
func restates(p *holdfast.Plan, w PlanWord) bool {
	switch {
	case p.Status != holdfast.PlanAccepted:
		return false
	case p.Source == holdfast.FromStructuredTool:
		return knows(p.Steps, w.Steps) && len(w.Removed) == 0
	}
	return slices.EqualFunc(p.Steps, w.Steps, func(s holdfast.Step, text string) bool { return same(s.Text, text) })
}

// known reports whether a plan has had all of these steps, in this order.
func known(p *holdfast.Plan, texts []string) bool {
	at := 0
	for _, text := range texts {
		i := slices.IndexFunc(p.Steps[at:], func(s holdfast.Step) bool { return same(s.Text, text) })
		switch {
		case i >= 0:
			at += i + 1
		case !slices.ContainsFunc(p.Removed, func(r string) bool { return same(r, text) }):
			return false
		}
	}
	return true
}

func pending(texts []string) []holdfast.Step {
	steps := make([]holdfast.Step, 0, len(texts))
	for _, text := range texts {
		steps = append(steps, holdfast.Step{Text: text, Status: holdfast.StepPending})
	}
	return steps
}

// knows reports whether all of these texts are steps.
func knows(steps []holdfast.Step, texts []string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool {
		return !slices.ContainsFunc(steps, func(s holdfast.Step) bool { return same(s.Text, text) })
	})
}

// proposes reports whether a proposal shows all of these steps.
func proposes(p *holdfast.Proposal, texts []string) bool {
	steps := p.Steps
	if len(steps) == 0 {
		steps = markdownSteps(p.Text)
	}
	return len(texts) > 0 && knows(steps, texts)
}
