package continuity_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
)

// TestWhatAnEditSaysIsKeptOrRefused: nothing that a person gives is thrown away.
func TestWhatAnEditSaysIsKeptOrRefused(t *testing.T) {
	old := decided("db", "Redis", 3)
	old.Decisions[0].Rationale = "it is fast"
	start := continuity.Merge(holdfast.Capsule{}, old)
	start = continuity.Merge(start, constraint("no cgo", 3))
	start = continuity.Merge(start, rejected("MySQL", 3))
	start = continuity.Merge(start, asked("Who owns it?", 3))
	start = continuity.Merge(start, fact("port 1", 3))
	start = continuity.Merge(start, word(holdfast.PlanAccepted, 4, "a", "b"))
	start = continuity.Merge(start, word(holdfast.PlanProposed, 5, "c"))
	const kept = ""
	refused := func(flag, id string) string { return "--" + flag + " has no effect on " + id + ": leave it out" }
	for _, tt := range []struct {
		name string
		edit continuity.Edit
		want string
	}{
		{"why a decision is rejected", continuity.Edit{Op: continuity.EditReject, ID: "d1", Reason: "X"}, kept},
		{"why a decision is superseded", continuity.Edit{Op: continuity.EditSupersede, ID: "d1", Statement: "Postgres", Reason: "X"}, kept},
		{"why a decision was made", continuity.Edit{Op: continuity.EditChange, ID: "d1", Reason: "X"}, kept},
		{"why an alternative was rejected", continuity.Edit{Op: continuity.EditChange, ID: "r1", Reason: "X"}, kept},
		{"why another alternative is", continuity.Edit{Op: continuity.EditSupersede, ID: "r1", Statement: "Oracle", Reason: "X"}, kept},
		{"why the proposal is rejected", continuity.Edit{Op: continuity.EditReject, ID: continuity.ProposalID, Reason: "X"}, kept},
		{"why a constraint is lifted", continuity.Edit{Op: continuity.EditReject, ID: "c1", Reason: "X"}, refused("why", "c1")},
		{"why a constraint is another", continuity.Edit{Op: continuity.EditSupersede, ID: "c1", Statement: "no asm", Reason: "X"}, refused("why", "c1")},
		{"why a constraint holds", continuity.Edit{Op: continuity.EditChange, ID: "c1", Reason: "X"}, refused("why", "c1")},
		{"why a fact holds no more", continuity.Edit{Op: continuity.EditReject, ID: "f1", Reason: "X"}, refused("why", "f1")},
		{"why a question is another", continuity.Edit{Op: continuity.EditSupersede, ID: "q1", Statement: "Who?", Reason: "X"}, refused("why", "q1")},
		{"why a step is taken out", continuity.Edit{Op: continuity.EditReject, ID: "s1", Reason: "X"}, refused("why", "s1")},
		{"why the plan is given up", continuity.Edit{Op: continuity.EditReject, ID: continuity.PlanID, Reason: "X"}, refused("why", "plan")},
		{"why the proposal is accepted", continuity.Edit{Op: continuity.EditResolve, ID: continuity.ProposalID, Reason: "X"}, refused("why", "proposal")},
		{"the subject of a fact", continuity.Edit{Op: continuity.EditChange, ID: "f1", Subject: "X"}, refused("subject", "f1")},
		{"the kind of a decision", continuity.Edit{Op: continuity.EditSupersede, ID: "d1", Statement: "Postgres", Kind: "value"}, refused("kind", "d1")},
		{"a reason where there is nothing to reject", continuity.Edit{Op: continuity.EditReject, ID: "r1", Reason: "X"}, "r1 is no choice that could be rejected: resolve it instead"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := continuity.Apply(start, tt.edit)
			if tt.want != kept {
				if err == nil || err.Error() != tt.want || holdfast.CodeOf(err) != holdfast.ErrUsage || got.Digest != start.Digest {
					t.Errorf("got %v, want %s", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var reasons []string
			for _, d := range got.Decisions {
				reasons = append(reasons, d.Rationale)
			}
			for _, a := range got.RejectedAlternatives {
				reasons = append(reasons, a.Reason)
			}
			if got.Proposal != nil {
				reasons = append(reasons, got.Proposal.Reason)
			}
			n := 0
			for _, r := range reasons {
				if r == "X" {
					n++
				}
			}
			if n != 1 {
				t.Errorf("the reasons are %q", reasons)
			}
		})
	}
}
