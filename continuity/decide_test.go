package continuity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
)

func TestAStructuredAnswerSettlesWhatWasSaidInWords(t *testing.T) {
	ask := func(id, answer string) continuity.Call {
		return call(id, "AskUserQuestion", `{"questions":[{"question":"Which db?"}]}`,
			fmt.Sprintf(`Your questions have been answered: "Which db?"="%s". You can now continue with these answers in mind.`, answer))
	}
	inForce := func(c holdfast.Capsule) (all []string) {
		for _, d := range c.Decisions {
			if d.Status == holdfast.FactActive {
				all = append(all, d.Subject+" -> "+d.Statement+" for "+strings.Join(d.Supersedes, ","))
			}
		}
		for _, r := range c.RejectedAlternatives {
			if r.Status == holdfast.FactRejected {
				all = append(all, "not "+r.Statement)
			}
		}
		return all
	}
	words := func(subject, statement string, supersedes ...string) continuity.Delta {
		return continuity.Delta{Decisions: []holdfast.Decision{{
			Subject: subject, Statement: statement, Supersedes: supersedes, Status: holdfast.FactActive, Evidence: by(holdfast.ByUser, 3, "q"),
		}}}
	}
	redis := continuity.Merge(holdfast.Capsule{}, continuity.Delta{RejectedAlternatives: []holdfast.Alternative{
		{Statement: "Redis", Status: holdfast.FactRejected, Evidence: by(holdfast.ByUser, 1, "Not Redis.")},
	}})
	asked := continuity.Fold(holdfast.Capsule{}, []continuity.Call{ask("1", "sqlite")}, continuity.All)
	chain := continuity.Merge(continuity.Merge(asked, words("storage.engine", "postgres", "d1")), words("storage.server", "mariadb", "d2"))
	for _, tt := range []struct {
		name string
		from holdfast.Capsule
		call continuity.Call
		want []string
	}{
		{"it chooses what was rejected", redis, ask("2", "Redis"), []string{"Which db? -> Redis for "}},
		{"it chooses something else than what was rejected", redis, ask("2", "sqlite"), []string{"Which db? -> sqlite for ", "not Redis"}},
		{"the decision that replaced the one before is superseded", continuity.Merge(asked, words("storage.engine", "postgres", "d1")), ask("2", "sqlite"), []string{"Which db? -> sqlite for d2"}},
		{"so is the one that replaced that", chain, ask("2", "sqlite"), []string{"Which db? -> sqlite for d3"}},
		{"a decision on something else stays", continuity.Merge(asked, words("license", "MIT")), ask("2", "postgres"), []string{"license -> MIT for ", "Which db? -> postgres for d1"}},
		{"the first call again changes nothing", chain, ask("1", "sqlite"), []string{"storage.server -> mariadb for d2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := continuity.Fold(tt.from, []continuity.Call{tt.call}, continuity.All)
			if diff := cmp.Diff(tt.want, inForce(c)); diff != "" {
				t.Error(diff)
			}
			if again := continuity.Fold(c, []continuity.Call{tt.call}, continuity.All); again.Digest != c.Digest {
				t.Error("the same call again changed the capsule")
			}
		})
	}
}

func TestAnOpenTaskThatVanishesIsKeptByName(t *testing.T) {
	a := call("1", "TaskCreate", `{"subject":"a"}`, "Task #1 created successfully: a")
	b := call("2", "TaskCreate", `{"subject":"b"}`, "Task #2 created successfully: b")
	for _, tt := range []struct {
		name  string
		calls []continuity.Call
		want  string
	}{
		{"from the harness's list", []continuity.Call{a, b, call("3", "TaskList", `{}`, "#2 [in_progress] b")}, "accepted in_progress:b -a"},
		{"not when it was finished", []continuity.Call{a, b, call("3", "TaskUpdate", `{"taskId":"1","status":"completed"}`, "Updated"), call("4", "TaskList", `{}`, "#2 [pending] b")}, "accepted pending:b"},
		{"not when the list names it otherwise", []continuity.Call{a, b, call("3", "TaskList", `{}`, "#1 [pending] c\n#2 [pending] b")}, "accepted pending:c pending:b"},
		{"when its id is given to another, which begins as pending", []continuity.Call{a, call("2", "TaskUpdate", `{"taskId":"1","status":"in_progress"}`, "Updated"), call("3", "TaskCreate", `{"subject":"x"}`, "Task #1 created successfully: x")}, "accepted pending:x -a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := plan(continuity.Fold(holdfast.Capsule{}, tt.calls, continuity.All)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
