package continuity_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
)

func TestASentenceStaysUntilFactsHoldAllOfIt(t *testing.T) {
	decision := func(subject, statement, reason string) continuity.Delta {
		return continuity.Delta{Decisions: []holdfast.Decision{{Subject: subject, Statement: statement, Rationale: reason, Status: holdfast.FactActive}}}
	}
	constraint := func(statement string) continuity.Delta {
		return continuity.Delta{Constraints: []holdfast.Constraint{{Statement: statement, Status: holdfast.FactActive}}}
	}
	rejected := func(statement, reason string) continuity.Delta {
		return continuity.Delta{RejectedAlternatives: []holdfast.Alternative{{Statement: statement, Reason: reason, Status: holdfast.FactRejected}}}
	}
	const redis = "Use Redis for the queue, but not for sessions, and listen on port 48213."
	for _, tt := range []struct {
		name, words string
		facts       []continuity.Delta
		stays       bool
	}{
		{"an exception and a port that no fact holds", redis, []continuity.Delta{decision("queue.engine", "Redis", "")}, true},
		{"an exception that no fact holds", redis, []continuity.Delta{decision("queue.engine", "Redis", ""), constraint("listen on port 48213")}, true},
		{"facts that hold all of it together", "Use Redis for the queue and listen on port 48213.", []continuity.Delta{decision("queue.engine", "Redis", ""), constraint("listen on port 48213")}, false},
		{"a choice and its reason", "For the queue we use PostgreSQL, because SQLite was too slow.", []continuity.Delta{decision("queue.engine", "PostgreSQL", "SQLite was too slow")}, false},
		{"a choice without its reason", "For the queue we use PostgreSQL, because SQLite was too slow.", []continuity.Delta{decision("queue.engine", "PostgreSQL", "")}, true},
		{"a rejection, whose heading says no", "Not write-through, it locks us in.", []continuity.Delta{rejected("write-through", "it locks us in")}, false},
		{"a no too many", "Never push to main and never to release.", []continuity.Delta{constraint("Never push to main release")}, true},
		{"another number", "The limit is 17 MB, later 18.", []continuity.Delta{constraint("limit 17 MB later")}, true},
		{"a language whose words are not known", "数据库用 PostgreSQL。", []continuity.Delta{decision("storage", "PostgreSQL", "")}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := said(tt.words)
			for _, d := range tt.facts {
				e := by(holdfast.ByUser, 1, tt.words)
				for i := range d.Decisions {
					d.Decisions[i].Evidence = e
				}
				for i := range d.Constraints {
					d.Constraints[i].Evidence = e
				}
				for i := range d.RejectedAlternatives {
					d.RejectedAlternatives[i].Evidence = e
				}
				c = continuity.Merge(c, d)
			}
			if text := render(t, c, 2500); strings.Contains(text, "\n- "+tt.words+"\n") != tt.stays {
				t.Errorf("it stays: %t in\n%s", !tt.stays, text)
			}
		})
	}
}

// What else a sentence says is not out of force with the choice that it was cited for.
func TestWhatElseWasSaidOutlivesAChoice(t *testing.T) {
	for _, tt := range []struct {
		words string
		stays bool
	}{
		{"Use Redis for the queue and never push to main.", true},
		{"Use Redis for the queue, it listens on port 48213.", true},
		{"We use Redis for the queue at first and the database of the others after that\nnever push to main", true},
		{"Use Redis for the queue, it is fast.", false},
	} {
		c := said(tt.words, "Forget Redis, use Postgres.", "thanks")
		for turn, statement := range []string{"Redis", "Postgres"} {
			quote := continuity.Normal(c.UserWords[turn].Text)
			c = continuity.Merge(c, continuity.Delta{Decisions: []holdfast.Decision{{Subject: "queue", Statement: statement, Status: holdfast.FactActive, Evidence: holdfast.Evidence{By: holdfast.ByUser, Turn: turn + 1, Quote: quote}}}})
		}
		first, _, _ := strings.Cut(tt.words, "\n")
		if text := render(t, c, 2500); strings.Contains(text, "- "+first) != tt.stays {
			t.Errorf("%q stays: %t in\n%s", tt.words, !tt.stays, text)
		}
	}
}

func TestTheConditionOfAnAcceptanceStays(t *testing.T) {
	const yes = "Yes, go ahead, but never push to main."
	c := said("Plan the importer.", yes, "thanks")
	c = continuity.Merge(c, continuity.Delta{Plan: &continuity.PlanWord{
		Verdict: holdfast.PlanAccepted, Steps: []string{"a", "b"}, Evidence: by(holdfast.ByAcceptance, 2, yes),
	}})
	done := continuity.Fold(c, []continuity.Call{call("u", "update_plan", `{"plan":[{"step":"a","status":"completed"},{"step":"b","status":"completed"}]}`, updated)}, continuity.All)
	for name, c := range map[string]holdfast.Capsule{"in force": c, "completed": done} {
		t.Run(name, func(t *testing.T) {
			if text := render(t, c, 2500); !strings.Contains(text, "\n- "+yes+"\n") {
				t.Errorf("it is missing in\n%s", text)
			}
		})
	}
}
