package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// headings are those of a block's plans.
func headings(block string) (heads []string) {
	for line := range strings.Lines(block) {
		if head, ok := strings.CutPrefix(line, "## "); ok && strings.Contains(strings.ToLower(head), "plan") {
			heads = append(heads, strings.TrimSuffix(head, "\n"))
		}
	}
	return heads
}

const (
	planInForce  = "Plan in force (0 of 1 steps completed)"
	planWaiting  = "Proposed plan, awaiting the user's answer"
	planRejected = "Plan that the user rejected"
)

func TestATurnThatIsSentAgainBehindItsCompactionTakesNothingBack(t *testing.T) {
	const plan = `{"plan":"1. move the index"}`
	for _, tt := range []struct{ name, tool, args, result, want string }{
		{"a plan that was refused", "exit_plan_mode", plan, "[Operation Cancelled] Reason: User did not allow tool call", planRejected},
		{"a plan that was approved", "exit_plan_mode", plan, "User has approved your plan.", planInForce},
		{
			"a plan that was approved in other words", "exit_plan_mode", plan,
			"User has approved your plan.\n\n## Approved Plan (edited by user):\n1. move two indexes", planInForce,
		},
		{"a list", "update_plan", steps("pending:a"), ok, planInForce},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			h := []entry{user("build it")}
			shown := w.turn(s1, h, call("c1", tt.tool, tt.args))
			whole := join(shown, result("c1", tt.result), user(codexMarker))
			a := w.begin(s1, whole...)
			if got := headings(a.Block); len(got) != 1 || got[0] != tt.want {
				t.Fatalf("the block holds %q, want %q\n%s", got, tt.want, a.Block)
			}
			done(w.begin(s1, h...), call("c1", tt.tool, tt.args)) // the client's retry ends while it waits
			a.Commit(context.Background(), holdfast.TextDigest("forgot all"), false)
			done(a, answer("forgot all"))
			done(w.begin(s1, h...), call("c1", tt.tool, tt.args))
			if again := w.boundary(s1, whole...); again != a.Block {
				t.Errorf("the turn again made of the block\n%s\nthe block\n%s", a.Block, again)
			}
		})
	}
}

func TestThePlanInTheLastRoundBeforeACompactionInWordsIsInItsBlock(t *testing.T) {
	const (
		file  = `{"filePath":"/srv/x/.opencode/plans/a.md","content":"1. move the index"}`
		other = `{"filePath":"/srv/x/docs/plans.md","content":"1. move the index"}`
		list  = `{"todos":[{"content":"a","status":"pending"}]}`
		begun = "[Assistant tool call]: "
		good  = "\n[Tool result]: "
		bad   = "\n[Tool error]: "
		wrote = begun + "write(" + file + ")" + good + "Wrote file successfully.\n"
	)
	write, exit := call("w1", "write", file), call("x1", "plan_exit", "{}")
	for _, tt := range []struct {
		name   string
		answer []entry
		said   string
		want   string
	}{
		{"a plan that was written waits", []entry{write}, wrote, planWaiting},
		{
			"a plan that was approved is in force",
			[]entry{write, exit},
			wrote + begun + "plan_exit({})" + good + "User approved switching to build agent. Wait for further instructions.", planInForce,
		},
		{
			"a plan that was refused is refused",
			[]entry{write, exit},
			wrote + begun + "plan_exit({})" + bad + "The user dismissed this question", planRejected,
		},
		{"a plan that could not be written is none", []entry{write}, begun + "write(" + file + ")" + bad + "no space left", ""},
		{"another file is no plan", []entry{call("w1", "write", other)}, begun + "write(" + other + ")" + good + "Wrote file successfully.", ""},
		{"a list counts", []entry{call("t1", "todowrite", list)}, begun + "todowrite(" + list + ")" + good + "[]", planInForce},
		{"a list that failed does not", []entry{call("t1", "todowrite", list)}, begun + "todowrite(" + list + ")" + bad + "no such session", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.planOnly()
			w.turn(open1, []entry{user("set it up")}, tt.answer...)
			block := w.boundary(open1, user(fmt.Sprintf(openCompact, "[User]: set it up\n\n"+tt.said+"\n\n")))
			if got := strings.Join(headings(block), ", "); got != tt.want {
				t.Errorf("the block holds %q, want %q\n%s\n%s", got, tt.want, block, w.log)
			}
		})
	}
}

func TestAnAnswerThatIsRelayedBehindItsEndHoldsNoCompactionUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.planned(s1)
		late, flying := w.begin(s1, h...), w.begin(s1, h...)
		done(late)
		late.Relayed()
		began := time.Now()
		w.boundary(s1, join(h, user(codexMarker))...)
		if waited := time.Since(began); waited > 0 {
			t.Errorf("it waited %v for an answer that has ended", waited)
		}
		done(flying)
	})
}
