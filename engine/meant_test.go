package engine_test

import (
	"strings"
	"testing"
)

// qwen-code takes the text of a plan out of its history as soon as it is approved: only
// the answer that showed it held it.
func TestAPlanThatIsLeftOutOnceItIsApprovedIsInForce(t *testing.T) {
	const (
		shown = `{"plan":"# Plan\n1. move the index"}`
		left  = `{"plan":"[Plan approved and saved to /h/.qwen/plans/p.md. The plan text was removed from the conversation after approval; read that file if you need to consult it again.]"}`
		yes   = "User approved. You can now start coding."
	)
	for _, tt := range []struct {
		name, id string
		restart  bool
		want     string
	}{
		{"by the answer that showed it", "c7f3", false, "1. move the index\n"},
		{"with an id that recurs", "call_1", false, "1. move the index\n"},
		{"by what waits since, behind a restart", "c7f3", true, "1. move the index\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			h := w.turn(s1, []entry{user("build it")}, long("first a look"))
			h = join(h, user("plan it"))
			w.turn(s1, h, call(tt.id, "exit_plan_mode", shown))
			if tt.restart {
				w.restart()
			}
			h = w.turn(s1, join(h, call(tt.id, "exit_plan_mode", left), result(tt.id, yes)), long("on it"))
			block := w.boundary(s1, join(h, user(codexMarker))...)
			if got := headings(block); len(got) != 1 || !strings.HasPrefix(got[0], "Plan in force") || !strings.Contains(block, tt.want) {
				t.Errorf("the block holds %q, and not %q:\n%s\n%s", got, tt.want, block, w.log)
			}
		})
	}
}

func TestAListThatIsWrittenThroughABridgeIsInForce(t *testing.T) {
	list := func(state string) string {
		return `{"name":"todo_write","arguments":{"todos":[{"id":"1","content":"a","status":"` + state + `"}]}}`
	}
	const good = "Todos have been modified successfully."
	begun := func(w *world) []entry {
		h := w.turn(s1, []entry{user("build it")}, call("c1", "tool_call", list("in_progress")))
		return w.turn(s1, join(h, result("c1", good)), long("working"))
	}
	for _, tt := range []struct {
		name    string
		history func(w *world) []entry
		want    string
	}{
		{"once its result is there", begun, "in_progress:a"},
		{"as soon as an answer holds it", func(w *world) []entry {
			h := join(begun(w), user("go on"))
			w.turn(s1, h, call("c2", "tool_call", list("pending")))
			return h
		}, "pending:a"},
		{"not when it was refused", func(w *world) []entry {
			h := w.turn(s1, join(begun(w), user("go on")), call("c2", "tool_call", list("done")))
			return w.turn(s1, join(h, result("c2", `Each todo must have a valid "status" (pending, in_progress, completed).`)), long("so"))
		}, "in_progress:a"},
		{"not when it is another tool", func(w *world) []entry {
			h := w.turn(s1, join(begun(w), user("go on")), call("c2", "tool_call", strings.Replace(list("pending"), "todo_write", "save_list", 1)))
			return w.turn(s1, join(h, result("c2", good)), long("so"))
		}, "in_progress:a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			h := tt.history(w)
			if got := planIn(w.boundary(s1, join(h, user(codexMarker))...)); got != tt.want {
				t.Errorf("the block holds %q, want %q\n%s", got, tt.want, w.log)
			}
		})
	}
}
