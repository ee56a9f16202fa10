package engine_test

import (
	"fmt"
	"testing"
)

// A process may end before it wrote the epoch that a summary began: the next one then
// sees it first when it is compacted. What the newest answer of the epoch before had
// announced was in the block, and is in force.
func TestAnEpochThatIsSeenFirstAtItsCompactionHoldsWhatWasDelivered(t *testing.T) {
	const newest = "completed:a in_progress:b"
	for _, opaque := range []bool{false, true} {
		t.Run(fmt.Sprint("opaque ", opaque), func(t *testing.T) {
			w := newWorld(t)
			h := w.planned(s1)
			h = w.turn(s1, join(h, user("go on")), call("c2", "update_plan", steps("completed:a", "in_progress:b")))
			w.restart() // what the answer brought is written, and no request that confirms it
			h = []entry{user("build it"), w.compact(s1, join(h, result("c2", ok)), opaque)}
			w.restart()
			h = join(h, user("more"), call("c3", "exec", "{}"), result("c3", "done"))
			if opaque {
				back := w.compact(s1, h, true)
				a := w.begin(s1, user("build it"), back, user("go on"))
				if a.Insert == nil || planIn(a.Insert.Text) != newest {
					t.Errorf("the next epoch begins with %+v\n%s", a.Insert, w.log)
				}
				done(a)
				return
			}
			if block := w.boundary(s1, join(h, user(codexMarker))...); planIn(block) != newest {
				t.Errorf("the block holds\n%s\n%s", block, w.log)
			}
			// The compaction was broken off: the epoch goes on as one that has begun.
			if a := w.begin(s1, join(h, user("no, go on"))...); a.Insert != nil || a.Boundary {
				t.Errorf("insertion %+v, boundary %v", a.Insert, a.Boundary)
			} else {
				done(a)
			}
			w.expect(s1, newest)
		})
	}
}
