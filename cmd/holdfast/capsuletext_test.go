package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// everyFact is a capsule with facts of every kind, in force, out of force and
// provisional.
func everyFact() holdfast.Capsule {
	said := func(turn int, quote string) holdfast.Evidence {
		return holdfast.Evidence{By: holdfast.ByUser, Turn: turn, Quote: quote}
	}
	return holdfast.Capsule{
		SchemaVersion: holdfast.SchemaVersion, Revision: 9, Branch: mainBranch,
		Proposal: &holdfast.Proposal{
			Status: holdfast.PlanProposed, Source: holdfast.FromConversation,
			Steps:    []holdfast.Step{{Text: "Split the writer", Status: holdfast.StepPending}},
			Evidence: holdfast.Evidence{By: holdfast.ByAgent, Turn: 5},
		},
		Decisions: []holdfast.Decision{
			{
				ID: "d1", Subject: "storage", Statement: "SQLite", Rationale: "one file", Status: holdfast.FactActive,
				Evidence: holdfast.Evidence{By: holdfast.ByAcceptance, Turn: 2, Last: 4, Quote: "Yes, do that.", Proposal: "Shall we take SQLite?"},
			},
			{ID: "d2", Subject: "cache", Statement: "Redis", Status: holdfast.FactProvisional, Evidence: holdfast.Evidence{By: holdfast.ByInferred}},
		},
		Constraints: []holdfast.Constraint{
			{ID: "c1", Statement: "No cgo", Status: holdfast.FactActive, Evidence: said(3, "No\x1b[31m cgo.")},
			{ID: "c2", Statement: "Go 1.22", Status: holdfast.FactLifted, Evidence: said(1, "")},
		},
		RejectedAlternatives: []holdfast.Alternative{
			{ID: "r1", Statement: "PostgreSQL", Reason: "needs a server", Status: holdfast.FactRejected, Evidence: holdfast.Evidence{By: holdfast.ByEdit, Turn: 4}},
		},
		OpenQuestions: []holdfast.Question{
			{ID: "q1", Kind: holdfast.OpenQuestion, Statement: "Which port?", Status: holdfast.FactAnswered, Evidence: said(1, "")},
			{ID: "q2", Kind: holdfast.Blocker, Statement: "No access to CI", Status: holdfast.FactOpen, Evidence: holdfast.Evidence{By: holdfast.ByAgent}},
		},
		Facts: []holdfast.Fact{
			{ID: "f1", Kind: holdfast.DeadEndFact, Statement: "WAL on NFS", Status: holdfast.FactActive, Evidence: said(6, "")},
			{ID: "f2", Kind: holdfast.ValueFact, Statement: "port 8081", Status: holdfast.FactProvisional, Evidence: holdfast.Evidence{By: holdfast.ByAgent}},
		},
	}
}

func TestACapsuleIsShownWithAllThatItHolds(t *testing.T) {
	c := everyFact()
	r := store.Revision{N: 9, At: noon.Add(-time.Minute)}
	b := store.BranchState{Branch: store.Branch{ID: mainBranch}, Revisions: []store.Revision{r}}
	s := store.SessionState{Branches: []store.BranchState{b}}
	for _, test := range []struct {
		name  string
		width int
		want  string
	}{
		{"on a wide terminal", 0, `revision 9 of branch 0195a3b2, 1m ago

Proposal: proposed
  [ ] Split the writer
  recorded by the agent, turn 5

Decisions:
  d1  storage: SQLite
      why: one file
      accepted by the user, turn 2: "Yes, do that.", to: "Shall we take SQLite?"

Constraints:
  c1  No cgo
      said by the user, turn 3: "No␛[31m cgo."
  c2  Go 1.22 (lifted)
      said by the user, turn 1

Rejected alternatives:
  r1  PostgreSQL
      why: needs a server
      by an edit, turn 4

Open questions:
  q1  Which port? (answered)
      said by the user, turn 1
  q2  blocker: No access to CI
      recorded by the agent

Facts:
  f1  dead end: WAL on NFS
      said by the user, turn 6

Not settled, and shown to no model:
  d2  decision cache: Redis
      read between the lines
  f2  fact value: port 8081
      recorded by the agent
`},
		{"on a narrow one", 24, `revision 9 of branch
  0195a3b2, 1m ago

Proposal: proposed
  [ ] Split the writer
  recorded by the
    agent, turn 5

Decisions:
  d1  storage: SQLite
      why: one file
      accepted by the
        user, turn 2:
        "Yes, do that.",
        to: "Shall we
        take SQLite?"

Constraints:
  c1  No cgo
      said by the
        user, turn 3:
        "No␛[31m cgo."
  c2  Go 1.22 (lifted)
      said by the
        user, turn 1

Rejected alternatives:
  r1  PostgreSQL
      why: needs a
        server
      by an edit, turn
        4

Open questions:
  q1  Which port?
      (answered)
      said by the
        user, turn 1
  q2  blocker: No access
      to CI
      recorded by the
        agent

Facts:
  f1  dead end: WAL on
      NFS
      said by the
        user, turn 6

Not settled, and shown
  to no model:
  d2  decision cache:
      Redis
      read between the
        lines
  f2  fact value: port
      8081
      recorded by the
        agent
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := &app{now: func() time.Time { return noon }, width: test.width}
			if diff := cmp.Diff(strings.Split(test.want, "\n"), strings.Split(a.capsuleText(s, b, &c), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatChangedOfFactsIsTold(t *testing.T) {
	// The second saying of d1 is no change; its reason is one, and so is the word
	// that d2 rests on.
	from, to := everyFact(), everyFact()
	to.Decisions[0].Evidence.Last = 7
	to.Constraints = to.Constraints[:1]
	to.Decisions[1].Status, to.Decisions[1].Evidence.By = holdfast.FactActive, holdfast.ByEdit
	to.RejectedAlternatives[0].Reason = "too heavy"
	to.OpenQuestions[1].Status = holdfast.FactAnswered
	to.Facts = append(to.Facts, holdfast.Fact{ID: "f3", Kind: holdfast.LocationFact, Statement: "cmd/x", Status: holdfast.FactActive, Evidence: holdfast.Evidence{By: holdfast.ByEdit}})
	changes := compare(&from, &to)
	var got []string
	for _, c := range changes {
		if c.Before != nil {
			got = append(got, "- "+c.Before.full())
		}
		if c.After != nil {
			got = append(got, "+ "+c.After.full())
		}
	}
	want := []string{
		"- d2 decision cache: Redis (provisional); read between the lines",
		"+ d2 decision cache: Redis; by an edit",
		"- c2 constraint Go 1.22 (lifted); said by the user, turn 1",
		"- r1 rejected alternative PostgreSQL; why: needs a server; by an edit, turn 4",
		"+ r1 rejected alternative PostgreSQL; why: too heavy; by an edit, turn 4",
		"- q2 open question blocker: No access to CI; recorded by the agent",
		"+ q2 open question blocker: No access to CI (answered); recorded by the agent",
		"+ f3 fact location: cmd/x; by an edit",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	const line = "decision cache: Redis; constraint dropped: Go 1.22; rejected alternative PostgreSQL; " +
		"open question blocker: No access to CI (answered); fact location: cmd/x"
	if got := summarise(changes); got != line {
		t.Errorf("in one line: %s", got)
	}
}

func TestFactsOfACapsuleAreCounted(t *testing.T) {
	c := everyFact()
	counts := countsOf(c)
	const text = "revision 9: 0 of 0 steps completed, 1 decision, 1 constraint, 1 rejected alternative, 1 open question, 1 fact, 2 not settled, 0 messages of the user"
	if got := counts.text(); got != text {
		t.Errorf("got %s", got)
	}
	data, err := json.Marshal(counts)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"revision":9,"steps":0,"steps_completed":0,"decisions":1,"constraints":1,"rejected_alternatives":1,"open_questions":1,"facts":1,"provisional":2,"user_words":0}`
	if string(data) != want {
		t.Errorf("got %s", data)
	}
	const summary = "proposal proposed; 1 decision; 2 constraints; 1 rejected alternative; 2 open questions; 1 fact"
	if got := capsuleSummary(row(mainBranch, 9, 0, noon, c)); got != summary {
		t.Errorf("got %s", got)
	}
}
