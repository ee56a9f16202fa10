package engine_test

import (
	"fmt"
	"testing"
)

// Two processes serve a session in turn. One that comes back folds what it missed out of
// the history, not in the steps in which the other one wrote it.
func TestWhatAnAnswerBringsToAProcessThatMissedTurnsIsStored(t *testing.T) {
	for missed := range 4 {
		t.Run(fmt.Sprint("after ", missed), func(t *testing.T) {
			w := newWorld(t)
			h := w.planned(s1)
			h = w.turn(s1, join(h, user("go on with it")), long("going on"))
			w.restart()
			h = w.turn(s1, join(h, user("and use tabs")), long("with tabs"))
			o := w.another()
			for i := range missed {
				h = join(h, user(fmt.Sprint("use port 808", i)))
				// The answer that the agent throws away is a revision of its own, and taken back by the next.
				o.turn(s1, h, call(fmt.Sprint("x", i), "update_plan", steps("in_progress:a", fmt.Sprint("pending:x", i))))
				h = o.turn(s1, h, call(fmt.Sprint("o", i), "update_plan", steps("in_progress:a", "pending:b", fmt.Sprint("pending:c", i))))
				h = o.turn(s1, join(h, result(fmt.Sprint("o", i), ok)), long(fmt.Sprint("added step ", i)))
			}
			o.stop() // all is written
			w.turn(s1, join(h, user("now the next one")), call("w1", "update_plan", steps("completed:a", "in_progress:b")))
			w.stop()
			w.expect(s1, "completed:a in_progress:b")
		})
	}
}
