// Package continuity is the capsule: how it is harvested from structured calls,
// merged, bounded and rendered. It is pure: no clock, no I/O, no randomness.
//
// # What enters
//
// Only what a harness states in machine-readable form: plan lists (TodoWrite,
// update_plan), tasks (TaskCreate, TaskUpdate), plans shown to the user and the
// user's word on them (ExitPlanMode), structured questions and their answers
// (AskUserQuestion, request_user_input); what the person edits; and what was read
// out of the conversation, once package extract has held it against the words that
// it rests on. This package interprets no text; the user's own words are kept as
// words, within a cap of their own.
//
// # Laws
//
//   - Fold is deterministic and idempotent: folding a call that was folded before
//     changes nothing, so a crash heals with the next request's history.
//   - The newest list is the plan, in its own order, with the states as given,
//     also when a step was reopened. States that a harness calls deleted or
//     cancelled leave the plan; states that nobody knows read as pending.
//   - A step that vanishes without a user's word stays by name in Removed.
//   - A call whose result is an error never counts. A call without a result yet
//     counts, unless its meaning is in the result (TaskCreate, questions).
//   - A proposal never displaces the plan in force; only the user's approval does.
//   - One active decision per subject; a newer answer supersedes.
//   - Merge is deterministic and idempotent too. The user's own word wins by the turn
//     in which it was said; what an agent or a model says never overrides it. To
//     repeat a fact makes no revision.
//   - A delta for an older revision is merged when nothing newer collides with it, or
//     not at all.
//   - The digest covers branch and content alone: within a branch equal content has
//     an equal digest, whatever the revision, the watermark, and how often a fact was
//     said.
//   - Render never fails and never cuts inside a step or a fact: what does not fit
//     is left out whole, in a fixed order, and named in one line.
//   - What is provisional is kept for the person to see, and never rendered. It is
//     the first to go when the store's bound is reached.
//
// The room is larger than others: it holds one noun, and what harvests, merges, edits
// and renders it must agree on every one of its fields.
package continuity

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast"
)

// Preserve says which parts of a capsule are kept and shown.
type Preserve struct {
	Plan                 bool
	UserDecisions        bool
	Constraints          bool
	Rationale            bool // the reasons of decisions and rejected alternatives
	RejectedAlternatives bool
	OpenQuestions        bool
	Facts                bool
	UserWords            bool
}

// All keeps everything.
var All = Preserve{
	Plan: true, UserDecisions: true, Constraints: true, Rationale: true, RejectedAlternatives: true, OpenQuestions: true, Facts: true, UserWords: true,
}

// Call is one carrier call of a history, with what came back.
type Call struct {
	ID        string
	Tool      string
	Arguments []byte
	Result    *holdfast.ToolResult // nil: no result seen yet
}

// Empty reports whether a capsule holds nothing that could be carried.
func Empty(c holdfast.Capsule) bool {
	return c.Plan == nil && c.Proposal == nil && len(c.Decisions) == 0 && len(c.Constraints) == 0 &&
		len(c.RejectedAlternatives) == 0 && len(c.OpenQuestions) == 0 && len(c.Facts) == 0 && len(c.UserWords) == 0
}

// CountInForce counts the facts in force: active decisions, constraints and Facts,
// rejected alternatives, open questions.
func CountInForce(c holdfast.Capsule) (n int) {
	for _, x := range entriesOf(&c) {
		if x.holds() {
			n++
		}
	}
	return n
}

// Seal sets the schema version and the digest of c's content. The branch is part
// of it, so that a digest in a block names one branch.
func Seal(c holdfast.Capsule) holdfast.Capsule {
	content := clone(c)
	for _, x := range entriesOf(&content) {
		x.evidence.Last = 0
	}
	content.SchemaVersion, content.Revision, content.Digest, content.Watermark = 0, 0, "", ""
	raw, err := json.Marshal(content)
	if err != nil {
		// Plain strings and slices always marshal.
		panic(err)
	}
	c.SchemaVersion = holdfast.SchemaVersion
	c.Digest = "sha256:" + holdfast.DigestOf(string(raw)).String()
	return c
}

// clone copies what may be changed, so that earlier revisions stay as they were.
func clone(c holdfast.Capsule) holdfast.Capsule {
	if c.Plan != nil {
		p := *c.Plan
		p.Steps = append([]holdfast.Step(nil), p.Steps...)
		p.Removed = append([]string(nil), p.Removed...)
		p.Earlier = append([]holdfast.Step(nil), p.Earlier...)
		c.Plan = &p
	}
	if c.Proposal != nil {
		p := *c.Proposal
		p.Steps = append([]holdfast.Step(nil), p.Steps...)
		c.Proposal = &p
	}
	c.Decisions = append([]holdfast.Decision(nil), c.Decisions...)
	c.Constraints = append([]holdfast.Constraint(nil), c.Constraints...)
	c.RejectedAlternatives = append([]holdfast.Alternative(nil), c.RejectedAlternatives...)
	c.OpenQuestions = append([]holdfast.Question(nil), c.OpenQuestions...)
	c.Facts = append([]holdfast.Fact(nil), c.Facts...)
	c.UserWords = append([]holdfast.UserWord(nil), c.UserWords...)
	return c
}

// Bounds of what the store keeps. They are generous: a block is bounded by
// Render, these only stop a runaway.
const (
	maxSteps     = 400
	maxStepBytes = 4 << 10
	maxPlanBytes = 64 << 10
	maxRemoved   = 40
	maxFacts     = 200 // of one list
	// Of all lists together: eight blocks of the usual size, at three bytes a token.
	maxFactsBytes = 8 * 2500 * 3
)

// bounded cuts a text behind the last word before max bytes and marks the cut.
func bounded(s string, max int) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	if cut := lastWord(s[:max]); cut > 0 {
		max = cut
	}
	return strings.TrimSpace(s[:max]) + " " + cutMark
}
