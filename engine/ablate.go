package engine

import (
	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/continuity"
)

// Ablation takes safeguards away, so that a measurement shows what each is for.
// The product sets none.
type Ablation struct {
	Grounding    bool // texts of harnesses count as the user's words
	Supersession bool // an answer that was replaced stays in force
	Barrier      bool // a compaction waits for no harvest, and its answer for no commit
}

// fold folds calls into a capsule.
func (e *Engine) fold(set *Settings, c holdfast.Capsule, calls []continuity.Call) holdfast.Capsule {
	c = continuity.Fold(c, calls, set.Preserve)
	if !e.cfg.Without.Supersession {
		return c
	}
	for i := range c.Decisions {
		c.Decisions[i].Status = holdfast.FactActive
	}
	return continuity.Seal(c)
}

// synthetic reports which parts of a message in the user's role are no words of a
// person.
func (e *Engine) synthetic(parts []holdfast.Part) []bool {
	synthetic := agents.SyntheticParts(parts)
	if !e.cfg.Without.Grounding {
		return synthetic
	}
	for i, part := range parts {
		if t, ok := part.(holdfast.Text); ok && len(continuity.Digests(string(t))) == 0 {
			synthetic[i] = agents.IsMarker(string(t))
		}
	}
	return synthetic
}
