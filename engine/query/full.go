package query

import (
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
	"github.com/holdfast-dev/holdfast/engine/conversations"
)

// ways are compactions that may make room, the mildest first, as they are typed.
var ways = []struct {
	spec        string
	first, last int
}{
	{"r+t", 1, 3},
	{"r+t", 0, 0},
	{"r+t=omit", 0, 0},
	{"s", 0, 1},
}

// fits refuses a call that cannot fit the window, even where it is smaller than
// it seems.
func (q *Loop) fits(l *conversations.Loaded, call holdfast.Call) error {
	if q.cfg.Window <= 0 {
		return nil
	}
	least := q.least(l.Entries)
	if least+call.MaxOutput <= q.cfg.Window {
		return nil
	}
	answer := ""
	if call.MaxOutput > 0 {
		answer = fmt.Sprintf(" and the answer may take %d", call.MaxOutput)
	}
	return holdfast.Errorf(holdfast.ErrTooLarge, "the conversation takes at least %d tokens%s, but the window of %s has %d. Nothing was sent. %s",
		least, answer, q.cfg.Model, q.cfg.Window, q.room(l, call.MaxOutput))
}

// least is what a call with these events takes at least, in tokens.
func (q *Loop) least(entries []holdfast.Entry) int64 {
	return int64(q.estimator(entries).AtLeast(entries))
}

// room says what makes room for a call: the mildest compaction behind which it may
// fit, for a summary without what that takes itself.
func (q *Loop) room(l *conversations.Loaded, answer int64) string {
	for _, way := range ways {
		rule, err := compaction.ParseInline(way.spec, compaction.Count(way.first), compaction.Count(way.last))
		if err != nil {
			continue
		}
		// No bound is a time. What cannot be planned helps nobody.
		steps, err := compaction.Plan(l.Entries, []compaction.Rule{rule}, time.Time{}, q.estimator(l.Entries))
		if err != nil || steps[0].Skipped != "" {
			continue
		}
		compacted := append(l.Entries[:len(l.Entries):len(l.Entries)], holdfast.Entry{Seq: l.Entries[len(l.Entries)-1].Seq + 1, Event: steps[0].Overlay})
		if q.least(compacted)+answer <= q.cfg.Window {
			return fmt.Sprintf("Compact it: holdfast conversation compact %s -k %s --keep-first %d --keep-last %d", l.ID, way.spec, way.first, way.last)
		}
	}
	return "No compaction makes room enough: use a model with a larger window, or ask for less in a new conversation"
}
