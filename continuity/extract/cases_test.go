package extract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
)

// extractor is a model that answers a batch with these members.
type extractor func(b extract.Batch) string

// read goes the whole way once: the next batch behind the watermark, the answer,
// grounding, merge. sent tells whether a call was needed.
func read(t *testing.T, c holdfast.Capsule, all []extract.Message, model extractor) (next holdfast.Capsule, sent bool) {
	t.Helper()
	b, ok := source(12000).Next(c, all)
	switch {
	case !ok:
		return c, false
	case !b.Eligible:
		return continuity.Merge(c, continuity.Delta{Watermark: b.Watermark}), false
	}
	text := fmt.Sprintf(`{"schema_version":1,"base_revision":%d,%s}`, c.Revision, model(b))
	x, _, reason := extract.Parse(extract.Answer{Text: text}, c.Revision)
	if reason != "" {
		t.Fatalf("discarded: %s", reason)
	}
	d, _ := extract.Ground(b, x)
	return continuity.Merge(c, d), true
}

func always(members string) extractor { return func(extract.Batch) string { return members } }

// block is the record without its first and last lines.
func block(c holdfast.Capsule) string {
	b, _ := continuity.Render(c, continuity.All, continuity.Budget{Tokens: 2500, Words: 1000}, continuity.EstimateTokens)
	_, text, _ := strings.Cut(b.Text, "the later message holds.\n\n")
	text, _, _ = strings.Cut(text, "\n\nrecord revision")
	return text
}

func TestTheNewestOrderWins(t *testing.T) {
	c, _ := read(t, holdfast.Capsule{}, history(
		"u: Draft a plan for the cache.",
		"a: Plan v1: write-through, 5 files.",
		"u: Not write-through. Revise and show me the plan again before you touch any file.",
	), always(`
		"constraints":[{"statement":"show me the plan again before you touch any file","quote":"show me the plan again before you touch any file"}],
		"rejected_alternatives":[{"statement":"write-through","quote":"Not write-through."}],
		"plan":{"verdict":"accepted","steps":["write-through"],"quote":"Revise and show me the plan again","proposal_quote":"Plan v1: write-through, 5 files."}`))
	want := `## Proposed plan, awaiting the user's answer
> 1. Plan v1: write-through, 5 files.

## Constraints
- show me the plan again before you touch any file

## Alternatives that the user rejected
- write-through`
	if diff := cmp.Diff(want, block(c)); diff != "" {
		t.Error(diff)
	}
}

func TestApprovalBelongsToOneRevision(t *testing.T) {
	all := history("u: Plan it.", "a: Plan: 1. edit a.go. 2. edit b.go.", "u: yes, go", "a: Plan: 1. edit a.go. 2. edit b.go. 3. drop table events.")
	c, _ := read(t, holdfast.Capsule{}, all[:3], always(`"plan":{"verdict":"accepted","steps":[],"quote":"yes, go","proposal_quote":"Plan: 1. edit a.go."}`))
	// The model takes the old yes for the new plan.
	c, sent := read(t, c, all, always(`"plan":{"verdict":"accepted","steps":[],"quote":"yes, go","proposal_quote":"3. drop table events"}`))
	want := `## Plan in force (0 of 2 steps completed)
1. [pending] edit a.go
2. [pending] edit b.go

## Proposed plan, awaiting the user's answer
> 1. edit a.go
> 2. edit b.go
> 3. drop table events`
	if diff := cmp.Diff(want, block(c)); diff != "" || !sent {
		t.Error(diff)
	}
}

func TestTextsOfHarnessesDecideNothing(t *testing.T) {
	all := extract.Messages(entries(
		user(holdfast.Text("This session is being continued from a previous conversation that ran out of context. Summary: the assistant suggested SQLite and thinks the user will like it.")),
		holdfast.AssistantMessage{Text: "Understood."},
		user(holdfast.Text("Continue if you have next steps, or stop and ask for clarification if you are unsure how to proceed.")),
		user(holdfast.Text("<system-reminder>todo list is empty</system-reminder>")),
		holdfast.AssistantMessage{Text: "I propose SQLite. Steps: 1. schema 2. reader 3. writer"},
	), 0)
	c, _ := read(t, holdfast.Capsule{}, all, always(`
		"decisions":[{"subject":"storage","statement":"SQLite","quote":"the user will like it"},{"subject":"storage","statement":"SQLite","quote":"I propose SQLite."}],
		"plan":{"verdict":"accepted","steps":[],"quote":"Continue if you have next steps","proposal_quote":"I propose SQLite."}`))
	want := `## Proposed plan, awaiting the user's answer
> 1. schema
> 2. reader
> 3. writer`
	if diff := cmp.Diff(want, block(c)); diff != "" {
		t.Error(diff)
	}
}

func TestARepeatWithoutNewsIsNone(t *testing.T) {
	all := history("u: Use port 48213. The owner is team Heron. The limit is 17 MB. The branch is rel/9.4. The ticket is Q-0031. Never use cgo.")
	model := always(`
		"constraints":[{"statement":"Never use cgo","quote":"Never use cgo."}],
		"facts":[{"kind":"value","statement":"port 48213","quote":"Use port 48213."},{"kind":"value","statement":"owner is team Heron","quote":"The owner is team Heron."},
			{"kind":"value","statement":"limit is 17 MB","quote":"The limit is 17 MB."},{"kind":"location","statement":"branch is rel/9.4","quote":"The branch is rel/9.4."},
			{"kind":"value","statement":"ticket is Q-0031","quote":"The ticket is Q-0031."}]`)
	c, _ := read(t, holdfast.Capsule{}, all, model)
	digest, calls := c.Digest, 0
	for range 5 {
		next, sent := read(t, c, all, model)
		if sent {
			calls++
		}
		// A process that has lost the watermark reads it all again.
		next.Watermark = ""
		next, _ = read(t, next, all, model)
		if next.Digest != digest || next.Revision != 1 {
			t.Fatalf("revision %d:\n%s", next.Revision, block(next))
		}
		c = next
	}
	want := `## Constraints
- Never use cgo

## Facts
- value: port 48213
- value: owner is team Heron
- value: limit is 17 MB
- location: branch is rel/9.4
- value: ticket is Q-0031`
	if diff := cmp.Diff(want, block(c)); diff != "" || calls != 0 {
		t.Errorf("%d calls\n%s", calls, diff)
	}
}

func TestALateAnswerDoesNotBringBackWhatWasGivenUp(t *testing.T) {
	all := history("u: Use Redis for the queue.", "a: Done.", "u: Forget Redis, use Postgres.")
	start := continuity.Merge(holdfast.Capsule{}, continuity.Delta{Constraints: []holdfast.Constraint{{Statement: "no cgo", Status: holdfast.FactActive, Evidence: holdfast.Evidence{By: holdfast.ByEdit}}}})
	ground := func(upTo int, statement, quote string) continuity.Delta {
		b, _ := source(12000).Next(start, all[:upTo])
		d, _ := extract.Ground(b, extract.Extraction{Decisions: []extract.Item{{Subject: "queue", Statement: statement, Quote: quote}}})
		return d
	}
	redis, postgres := ground(1, "Redis", "Use Redis for the queue."), ground(3, "Postgres", "Forget Redis, use Postgres.")

	newer := continuity.Merge(start, postgres)
	late, outcome := continuity.Rebase(start, newer, redis)
	if outcome != continuity.Stale {
		t.Errorf("the late answer was %s", outcome)
	}
	inOrder, outcome := continuity.Rebase(start, continuity.Merge(start, redis), postgres)
	if outcome != continuity.Merged {
		t.Errorf("the answer in time was %s", outcome)
	}
	want := "## Decisions of the user\n- queue -> Postgres\n\n## Constraints\n- no cgo"
	for _, c := range []holdfast.Capsule{late, inOrder} {
		if diff := cmp.Diff(want, block(c)); diff != "" {
			t.Error(diff)
		}
	}
}
