package continuity_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
)

func TestALaterWordOnKnownSteps(t *testing.T) {
	word := func(v holdfast.PlanStatus, a holdfast.Authority, turn int, steps, removed []string) continuity.Delta {
		return continuity.Delta{Plan: &continuity.PlanWord{Verdict: v, Steps: steps, Removed: removed, Evidence: by(a, turn, "q")}}
	}
	accept := func(turn int, steps, removed []string) continuity.Delta {
		return word(holdfast.PlanAccepted, holdfast.ByAcceptance, turn, steps, removed)
	}
	abc := []string{"a", "b", "c"}
	first := continuity.Merge(holdfast.Capsule{}, accept(1, abc, []string{"d"}))
	finished := first
	finished.Plan = &holdfast.Plan{Status: holdfast.PlanCompleted, Source: holdfast.FromConversation, Evidence: by(holdfast.ByAcceptance, 1, "q")}
	for _, s := range abc {
		finished.Plan.Steps = append(finished.Plan.Steps, holdfast.Step{Text: s, Status: holdfast.StepCompleted})
	}
	listed := continuity.Fold(holdfast.Capsule{}, []continuity.Call{call("u", "update_plan", `{"plan":[{"step":"a","status":"completed"},{"step":"b","status":"pending"}]}`, updated)}, continuity.All)
	for _, tt := range []struct {
		name string
		from holdfast.Capsule
		d    continuity.Delta
		want string
	}{
		{"another order is the new one", first, accept(4, []string{"c", "a", "b"}, nil), "accepted pending:c pending:a pending:b -d"},
		{"steps that are taken out are removed", first, accept(4, []string{"a"}, []string{"b", "c"}), "accepted pending:a -d -b -c"},
		{"a removed step that is accepted is a step again", first, accept(4, []string{"a", "b", "c", "d"}, nil), "accepted pending:a pending:b pending:c pending:d"},
		{"the same steps in their order are no news", first, accept(4, abc, nil), "accepted pending:a pending:b pending:c -d"},
		{"an older word on another order changes nothing", first, accept(1, []string{"c", "a", "b"}, nil), "accepted pending:a pending:b pending:c -d"},
		{"a finished plan that is accepted again is to be done again", finished, accept(6, abc, nil), "accepted pending:a pending:b pending:c"},
		{"some steps of the agent's own list leave it as it is", listed, accept(2, []string{"b"}, nil), "accepted completed:a pending:b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := continuity.Merge(continuity.Seal(tt.from), tt.d)
			if plan(got) != tt.want {
				t.Errorf("got  %s\nwant %s", plan(got), tt.want)
			}
			if again := continuity.Merge(got, tt.d); again.Digest != got.Digest {
				t.Errorf("again it becomes %s", plan(again))
			}
		})
	}
	t.Run("a proposal of known steps in another order is kept", func(t *testing.T) {
		c := continuity.Merge(first, word(holdfast.PlanProposed, holdfast.ByAgent, 4, []string{"c", "a"}, nil))
		if c.Proposal == nil || len(c.Proposal.Steps) != 2 || c.Proposal.Steps[0].Text != "c" {
			t.Errorf("the proposal is %+v", c.Proposal)
		}
	})
	t.Run("an accepted proposal that the agent's own list has already waits no more", func(t *testing.T) {
		c := continuity.Merge(listed, word(holdfast.PlanProposed, holdfast.ByAgent, 1, []string{"a", "b", "c"}, nil))
		list := call("v", "update_plan", `{"plan":[{"step":"a","status":"completed"},{"step":"b","status":"pending"},{"step":"c","status":"pending"}]}`, updated)
		c = continuity.Merge(continuity.Fold(c, []continuity.Call{list}, continuity.All), accept(2, abc, nil))
		if c.Proposal != nil || plan(c) != "accepted completed:a pending:b pending:c" {
			t.Errorf("the plan is %s, and %+v waits", plan(c), c.Proposal)
		}
	})
	t.Run("the yes to a plan takes no newer one with more steps away", func(t *testing.T) {
		c := continuity.Merge(listed, word(holdfast.PlanProposed, holdfast.ByAgent, 3, []string{"a", "b", "drop"}, nil))
		if c = continuity.Merge(c, accept(2, []string{"a", "b"}, nil)); c.Proposal == nil {
			t.Error("it is gone")
		}
	})
}
