package continuity_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
)

func TestEdits(t *testing.T) {
	start := continuity.Merge(holdfast.Capsule{}, decided("db", "Redis", 3))
	start = continuity.Merge(start, provisional(decided("cache", "none", 4)))
	start = continuity.Merge(start, constraint("no cgo", 3))
	start = continuity.Merge(start, rejected("MySQL", 3))
	start = continuity.Merge(start, asked("Who owns it?", 3))
	start = continuity.Merge(start, fact("port 1", 3))
	start = continuity.Merge(start, word(holdfast.PlanProposed, 4, "a", "b"))
	const all = "d1 active db=Redis\nd2 provisional cache=none\nc1 active no cgo\nr1 rejected MySQL\nq1 open Who owns it?\nf1 active port 1"
	with := func(old, text string) string { return strings.Replace(all, old, text, 1) }
	for _, tt := range []struct {
		name string
		edit continuity.Edit
		want string
		plan string
	}{
		{"add a decision", continuity.Edit{Op: continuity.EditAdd, List: continuity.ListDecisions, Subject: "db", Statement: "Postgres"}, with("d1 active db=Redis\nd2 provisional cache=none", "d1 superseded db=Redis\nd2 provisional cache=none\nd3 active db=Postgres for d1"), ""},
		{"add a constraint", continuity.Edit{Op: continuity.EditAdd, List: continuity.ListConstraints, Statement: "no asm"}, with("c1 active no cgo", "c1 active no cgo\nc2 active no asm"), ""},
		{"add an alternative that was decided", continuity.Edit{Op: continuity.EditAdd, List: continuity.ListAlternatives, Statement: "redis"}, strings.NewReplacer("d1 active", "d1 rejected", "r1 rejected MySQL", "r1 rejected MySQL\nr2 rejected redis").Replace(all), ""},
		{"add a question", continuity.Edit{Op: continuity.EditAdd, List: continuity.ListQuestions, Kind: "blocker", Statement: "Key?"}, with("q1 open Who owns it?", "q1 open Who owns it?\nq2 open Key?"), ""},
		{"add a fact", continuity.Edit{Op: continuity.EditAdd, List: continuity.ListFacts, Kind: "location", Statement: "in etc"}, all + "\nf2 active in etc", ""},
		{"add a plan", continuity.Edit{Op: continuity.EditAdd, List: continuity.ListPlan, Statement: "1. x\n2. y"}, all, "accepted edit: x, y | proposed: a, b"},
		{"add a plan of one step", continuity.Edit{Op: continuity.EditAdd, List: continuity.ListPlan, Statement: "do x"}, all, "accepted edit: do x | proposed: a, b"},
		{"supersede a decision", continuity.Edit{Op: continuity.EditSupersede, ID: "d1", Statement: "Postgres"}, with("d1 active db=Redis\nd2 provisional cache=none", "d1 superseded db=Redis\nd2 provisional cache=none\nd3 active db=Postgres for d1"), ""},
		{"supersede a decision under another subject", continuity.Edit{Op: continuity.EditSupersede, ID: "d1", Subject: "store", Statement: "Postgres"}, with("d1 active db=Redis\nd2 provisional cache=none", "d1 superseded db=Redis\nd2 provisional cache=none\nd3 active store=Postgres for d1"), ""},
		{"supersede a fact", continuity.Edit{Op: continuity.EditSupersede, ID: "f1", Statement: "port 2"}, with("f1 active port 1", "f1 superseded port 1\nf2 active port 2"), ""},
		{"supersede with the same changes nothing", continuity.Edit{Op: continuity.EditSupersede, ID: "f1", Statement: "port 1"}, all, ""},
		{"reject a decision", continuity.Edit{Op: continuity.EditReject, ID: "d1"}, with("d1 active", "d1 rejected"), ""},
		{"reject a constraint", continuity.Edit{Op: continuity.EditReject, ID: "c1"}, with("c1 active", "c1 lifted"), ""},
		{"reject what is provisional", continuity.Edit{Op: continuity.EditReject, ID: "d2"}, with("d2 provisional", "d2 rejected"), ""},
		{"reject the proposal", continuity.Edit{Op: continuity.EditReject, ID: continuity.ProposalID, Reason: "too much"}, all, "none | rejected: a, b because too much"},
		{"resolve a question", continuity.Edit{Op: continuity.EditResolve, ID: "q1"}, with("q1 open", "q1 answered"), ""},
		{"resolve an alternative", continuity.Edit{Op: continuity.EditResolve, ID: "r1"}, with("r1 rejected", "r1 reversed"), ""},
		{"resolve what is provisional: the person confirms it", continuity.Edit{Op: continuity.EditResolve, ID: "d2"}, with("d2 provisional", "d2 active"), ""},
		{"resolve the proposal: the person accepts it", continuity.Edit{Op: continuity.EditResolve, ID: continuity.ProposalID}, all, "accepted conversation: a, b"},
		{"edit a decision", continuity.Edit{Op: continuity.EditChange, ID: "d1", Statement: "Redis 7"}, with("db=Redis", "db=Redis 7"), ""},
		{"edit a fact", continuity.Edit{Op: continuity.EditChange, ID: "f1", Statement: "port 10"}, with("port 1", "port 10"), ""},
		{"rm a constraint", continuity.Edit{Op: continuity.EditRemove, ID: "c1"}, with("c1 active no cgo\n", ""), ""},
		{"rm the proposal", continuity.Edit{Op: continuity.EditRemove, ID: continuity.ProposalID}, all, "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := continuity.Apply(start, tt.edit)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, lines(got)); diff != "" {
				t.Error(diff)
			}
			plan := tt.plan
			if plan == "" {
				plan = "none | proposed: a, b"
			}
			if planned(got) != plan {
				t.Errorf("got  %s\nwant %s", planned(got), plan)
			}
			if changed := got.Digest != start.Digest; changed != (got.Revision == start.Revision+1) {
				t.Errorf("revision %d after %d, changed: %t", got.Revision, start.Revision, changed)
			}
			if lines(start) != all {
				t.Error("the capsule before was changed")
			}
		})
	}
}

func TestAnEditStandsAgainstOlderWords(t *testing.T) {
	c := continuity.Merge(holdfast.Capsule{}, decided("db", "Redis", 3))
	c, err := continuity.Apply(c, continuity.Edit{Op: continuity.EditAdd, List: continuity.ListDecisions, Subject: "db", Statement: "Postgres", Turn: 5})
	if err != nil {
		t.Fatal(err)
	}
	const edited = "d1 superseded db=Redis\nd2 active db=Postgres for d1"
	if c = continuity.Merge(c, decided("db", "Redis", 3)); lines(c) != edited {
		t.Errorf("old words came back:\n%s", lines(c))
	}
	if c = continuity.Merge(c, decidedBy(holdfast.ByAgent, "db", "Redis", 9)); lines(c) != edited {
		t.Errorf("the agent overrode the person:\n%s", lines(c))
	}
	if c = continuity.Merge(c, decided("db", "Redis", 6)); lines(c) != "d1 superseded db=Redis\nd2 superseded db=Postgres for d1\nd3 active db=Redis for d2" {
		t.Errorf("the user's later word did not count:\n%s", lines(c))
	}
}

func TestARewordedDecisionStandsAgainstOlderWords(t *testing.T) {
	c := continuity.Merge(holdfast.Capsule{}, decided("db", "Redis", 3))
	c, err := continuity.Apply(c, continuity.Edit{Op: continuity.EditChange, ID: "d1", Statement: "Redis 7", Turn: 5})
	if err != nil {
		t.Fatal(err)
	}
	if c = continuity.Merge(c, decided("db", "Postgres", 4)); lines(c) != "d1 active db=Redis 7\nd2 superseded db=Postgres" {
		t.Errorf("older words replaced it:\n%s", lines(c))
	}
}

func TestEditsThatAreRefused(t *testing.T) {
	start := continuity.Merge(holdfast.Capsule{}, decided("db", "Redis", 3))
	start = continuity.Merge(start, decided("cache", "none", 3))
	start = continuity.Merge(start, rejected("MySQL", 3))
	long := strings.Repeat("x", 2049)
	for _, tt := range []struct {
		name string
		edit continuity.Edit
		code holdfast.Code
	}{
		{"an unknown operation", continuity.Edit{Op: "burn", ID: "d1"}, holdfast.ErrUsage},
		{"an unknown list", continuity.Edit{Op: continuity.EditAdd, List: "wishes", Statement: "x"}, holdfast.ErrUsage},
		{"an unknown id", continuity.Edit{Op: continuity.EditRemove, ID: "d9"}, holdfast.ErrNotFound},
		{"no id", continuity.Edit{Op: continuity.EditRemove}, holdfast.ErrNotFound},
		{"nothing to add", continuity.Edit{Op: continuity.EditAdd, List: continuity.ListFacts, Statement: " \n"}, holdfast.ErrUsage},
		{"a decision about nothing", continuity.Edit{Op: continuity.EditAdd, List: continuity.ListDecisions, Statement: "x"}, holdfast.ErrUsage},
		{"an unknown kind of question", continuity.Edit{Op: continuity.EditAdd, List: continuity.ListQuestions, Kind: "riddle", Statement: "x"}, holdfast.ErrUsage},
		{"an unknown kind of fact", continuity.Edit{Op: continuity.EditAdd, List: continuity.ListFacts, Kind: "riddle", Statement: "x"}, holdfast.ErrUsage},
		{"a statement that would have to be cut", continuity.Edit{Op: continuity.EditChange, ID: "d1", Statement: long}, holdfast.ErrTooLarge},
		{"superseding with nothing", continuity.Edit{Op: continuity.EditSupersede, ID: "d1"}, holdfast.ErrUsage},
		{"rejecting an alternative", continuity.Edit{Op: continuity.EditReject, ID: "r1"}, holdfast.ErrUsage},
		{"resolving a decision in force", continuity.Edit{Op: continuity.EditResolve, ID: "d1"}, holdfast.ErrUsage},
		{"editing a decision into the subject of another", continuity.Edit{Op: continuity.EditChange, ID: "d1", Subject: "Cache"}, holdfast.ErrConflict},
		{"no plan", continuity.Edit{Op: continuity.EditRemove, ID: continuity.PlanID}, holdfast.ErrNotFound},
		{"no proposal", continuity.Edit{Op: continuity.EditResolve, ID: continuity.ProposalID}, holdfast.ErrNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := continuity.Apply(start, tt.edit)
			if err == nil || holdfast.CodeOf(err) != tt.code {
				t.Errorf("error %v, want %s", err, tt.code)
			}
			if err != nil && strings.Contains(err.Error(), long) {
				t.Error("the error repeats the text")
			}
			if got.Digest != start.Digest || got.Revision != start.Revision {
				t.Error("a refused edit changed something")
			}
		})
	}
}

func TestStepsOfThePlanAreEditedByTheirPlace(t *testing.T) {
	start, err := continuity.Apply(holdfast.Capsule{}, continuity.Edit{Op: continuity.EditAdd, List: continuity.ListPlan, Statement: "1. a\n2. b"})
	if err != nil {
		t.Fatal(err)
	}
	steps := func(c holdfast.Capsule) string {
		var out []string
		for _, s := range c.Plan.Steps {
			out = append(out, string(s.Status)+":"+s.Text)
		}
		return string(c.Plan.Status) + " " + strings.Join(out, " ") + " removed " + strings.Join(c.Plan.Removed, ",")
	}
	const before = "accepted pending:a pending:b removed "
	for _, tt := range []struct {
		name string
		edit continuity.Edit
		want string
		code holdfast.Code
	}{
		{"another wording", continuity.Edit{Op: continuity.EditChange, ID: "s2", Statement: " b  and its test\n"}, "accepted pending:a pending:b and its test removed ", ""},
		{"no words change nothing", continuity.Edit{Op: continuity.EditChange, ID: "s2"}, before, ""},
		{"a step that is done", continuity.Edit{Op: continuity.EditResolve, ID: "s1"}, "accepted completed:a pending:b removed ", ""},
		{"a step that the person took out is kept by name", continuity.Edit{Op: continuity.EditReject, ID: "s1"}, "accepted pending:b removed a", ""},
		{"a step that is erased", continuity.Edit{Op: continuity.EditRemove, ID: "s2"}, "accepted pending:a removed ", ""},
		{"behind the last one", continuity.Edit{Op: continuity.EditRemove, ID: "s3"}, before, holdfast.ErrNotFound},
		{"before the first one", continuity.Edit{Op: continuity.EditRemove, ID: "s0"}, before, holdfast.ErrNotFound},
		{"no number", continuity.Edit{Op: continuity.EditRemove, ID: "step"}, before, holdfast.ErrNotFound},
		{"an operation that steps do not take", continuity.Edit{Op: continuity.EditSupersede, ID: "s1", Statement: "x"}, before, holdfast.ErrUsage},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := continuity.Apply(start, tt.edit)
			if tt.code == "" && err != nil || tt.code != "" && holdfast.CodeOf(err) != tt.code {
				t.Fatalf("error %v", err)
			}
			if steps(got) != tt.want {
				t.Errorf("got %s, want %s", steps(got), tt.want)
			}
			if steps(start) != before {
				t.Error("the capsule before was changed")
			}
		})
	}
	done, err := continuity.Apply(start, continuity.Edit{Op: continuity.EditResolve, ID: "s1"})
	if err == nil {
		done, err = continuity.Apply(done, continuity.Edit{Op: continuity.EditRemove, ID: "s2"})
	}
	if err != nil || done.Plan.Status != holdfast.PlanCompleted {
		t.Errorf("all steps are done: %v, %v", done.Plan, err)
	}
}
