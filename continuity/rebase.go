package continuity

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// Outcome tells what became of a delta that was made for an older revision.
type Outcome string

// The outcomes.
const (
	Merged Outcome = "merged"
	Stale  Outcome = "stale" // it collides with something newer; nothing of it was taken
)

// Rebase merges a delta that was made for the capsule base into the newer one of
// the same branch, unless they collide. They do when what the delta decides or
// closes changed since base and is not known to have been said before it, when it
// states what was taken out since, or when both changed the plan.
func Rebase(base, newer holdfast.Capsule, d Delta) (holdfast.Capsule, Outcome) {
	if collides(base, newer, d) {
		return Seal(newer), Stale
	}
	return Merge(newer, d), Merged
}

func collides(base, newer holdfast.Capsule, d Delta) bool {
	was, is := entriesOf(&base), entriesOf(&newer)
	for _, x := range d.Decisions {
		for _, now := range newer.Decisions {
			changed := now.Status == holdfast.FactActive && SameSubject(now.Subject, x.Subject) && !same(now.Statement, x.Statement) && !unchanged(was, now.ID, now.Statement)
			if changed && x.Status == holdfast.FactActive && !earlier(now.Evidence, x.Evidence) {
				return true
			}
		}
		for _, now := range newer.RejectedAlternatives {
			if now.Status == holdfast.FactRejected && same(now.Statement, x.Statement) && !unchanged(was, now.ID, now.Statement) && !earlier(now.Evidence, x.Evidence) {
				return true
			}
		}
		if gone(was, is, decisions, x.Statement) || slices.ContainsFunc(x.Supersedes, func(id string) bool { return rewritten(was, is, id) }) {
			return true
		}
	}
	for _, x := range d.RejectedAlternatives {
		for _, now := range newer.Decisions {
			if now.Status == holdfast.FactActive && same(now.Statement, x.Statement) && !unchanged(was, now.ID, now.Statement) && !earlier(now.Evidence, x.Evidence) {
				return true
			}
		}
		if gone(was, is, alternatives, x.Statement) {
			return true
		}
	}
	return slices.ContainsFunc(d.Constraints, func(x holdfast.Constraint) bool { return gone(was, is, constraints, x.Statement) }) ||
		slices.ContainsFunc(d.OpenQuestions, func(x holdfast.Question) bool { return gone(was, is, questions, x.Statement) }) ||
		slices.ContainsFunc(d.Facts, func(x holdfast.Fact) bool { return gone(was, is, facts, x.Statement) }) ||
		slices.ContainsFunc(d.Closed, func(x Closing) bool { return rewritten(was, is, x.ID) }) ||
		d.Plan != nil && planChanged(base, newer, d.Plan.Evidence)
}

// unchanged reports whether a fact in force was in force before, in these words.
func unchanged(was []entry, id, statement string) bool {
	return slices.ContainsFunc(was, func(x entry) bool { return x.id == id && x.holds() && x.statement == statement })
}

// gone reports whether a statement was there before and has been erased since.
func gone(was, is []entry, s section, statement string) bool {
	says := func(x entry) bool { return x.section == s && same(x.statement, statement) }
	return slices.ContainsFunc(was, says) && !slices.ContainsFunc(is, says)
}

// rewritten reports whether the fact with an id says something else by now.
func rewritten(was, is []entry, id string) bool {
	for _, x := range is {
		if x.id == id {
			return !slices.ContainsFunc(was, func(old entry) bool { return old.id == id && old.statement == x.statement })
		}
	}
	return false
}

// planChanged reports whether the user's word on a plan, or the newest proposal,
// is another one than before and not known to be older than e. The steps of a list
// that the agent keeps are no such word.
func planChanged(base, newer holdfast.Capsule, e holdfast.Evidence) bool {
	word, wordBefore := planWord(newer.Plan), planWord(base.Plan)
	offer, offerBefore := proposalWord(newer.Proposal), proposalWord(base.Proposal)
	return word != wordBefore && !earlier(word.evidence, e) || offer != offerBefore && !earlier(offer.evidence, e)
}

// wording is what somebody said of a plan, for comparing.
type wording struct {
	evidence holdfast.Evidence
	text     string
}

func planWord(p *holdfast.Plan) wording {
	if p == nil {
		return wording{}
	}
	return wording{p.Evidence, p.Text}
}

func proposalWord(p *holdfast.Proposal) wording {
	if p == nil {
		return wording{}
	}
	return wording{p.Evidence, string(p.Status) + "\n" + p.Text + "\n" + stepList(p.Steps)}
}
