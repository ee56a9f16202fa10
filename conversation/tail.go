package conversation

import (
	"errors"
	"strconv"

	"github.com/holdfast-dev/holdfast"
)

// Tail is the end of a stream: it knows what may be appended next. The zero value
// is the end of an empty stream.
type Tail struct {
	Counter
	open     map[string]int // calls of the last turn without a result
	overlays map[holdfast.EventID]bool
}

// Append takes the next entry, or says why it cannot stand there; then nothing
// changed. A result needs an open call of its id in the turn, a revocation
// overlays that were made before.
func (t *Tail) Append(e holdfast.Entry) error {
	switch event := e.Event.(type) {
	case holdfast.TurnStart:
		t.open = nil
	case holdfast.ToolResult:
		if t.open[event.CallID] == 0 {
			return errors.New("tool_result: there is no call " + strconv.Quote(event.CallID) + " in this turn that waits for a result")
		}
		t.open[event.CallID]--
	case holdfast.ToolCall:
		if t.open == nil {
			t.open = map[string]int{}
		}
		t.open[event.ID]++
	case holdfast.Overlay:
		if t.overlays == nil {
			t.overlays = map[holdfast.EventID]bool{}
		}
		t.overlays[e.ID] = true
	case holdfast.Revocation:
		for _, id := range event.Overlays {
			if !t.overlays[id] {
				return errors.New("revocation: there is no compaction " + strconv.Quote(string(id)) + " before it")
			}
		}
	}
	t.Count(e.Event)
	return nil
}
