package engine_test

import (
	"context"
	"strings"
	"testing"

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
