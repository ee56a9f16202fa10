package continuity

import "github.com/holdfast-dev/holdfast"

// NewestTurn is the newest turn that a capsule knows of, 0 for none: the number of a
// message of the person, counted from 1 through the branch.
func NewestTurn(c holdfast.Capsule) (turn int) {
	note := func(e holdfast.Evidence) { turn = max(turn, e.Turn, e.Last) }
	for _, x := range c.Decisions {
		note(x.Evidence)
	}
	for _, x := range c.Constraints {
		note(x.Evidence)
	}
	for _, x := range c.RejectedAlternatives {
		note(x.Evidence)
	}
	for _, x := range c.OpenQuestions {
		note(x.Evidence)
	}
	for _, x := range c.Facts {
		note(x.Evidence)
	}
	if c.Plan != nil {
		note(c.Plan.Evidence)
	}
	if c.Proposal != nil {
		note(c.Proposal.Evidence)
	}
	for _, w := range c.UserWords {
		turn = max(turn, w.Turn)
	}
	return turn
}
