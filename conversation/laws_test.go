package conversation_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
)

// randomStream is any stream, with orphans, ids used twice, empty turns, events
// of all kinds, and overlays and revocations anywhere.
func randomStream(t *rapid.T) []holdfast.Entry {
	var list []holdfast.Entry
	var overlays []holdfast.EventID
	id := rapid.SampledFrom([]string{"a", "b", "c"})
	text := rapid.SampledFrom([]string{"", "x", "words"})
	parts := func() []holdfast.Part {
		parts := []holdfast.Part{holdfast.Text(text.Draw(t, "text"))}
		if rapid.Bool().Draw(t, "image") {
			parts = append(parts, holdfast.Media{Type: "image", Data: "AA=="})
		}
		return parts
	}
	for i := range rapid.IntRange(0, 60).Draw(t, "events") {
		e := holdfast.Entry{Seq: int64(i + 1), ID: holdfast.EventID(fmt.Sprint("e", i))}
		switch rapid.IntRange(0, 12).Draw(t, "kind") {
		case 0, 1:
			e.Event = holdfast.TurnStart{}
		case 2:
			e.Event = holdfast.UserMessage{Parts: parts()}
		case 3:
			e.Event = holdfast.AssistantMessage{Text: text.Draw(t, "answer")}
		case 4:
			e.Event = holdfast.Reasoning{Text: text.Draw(t, "thought"), Opaque: []byte("{}")}
		case 5, 6:
			e.Event = holdfast.ToolCall{ID: id.Draw(t, "call"), Name: "tool", Arguments: []byte(`{"x": 1}`)}
		case 7, 8:
			e.Event = holdfast.ToolResult{CallID: id.Draw(t, "result"), IsError: rapid.Bool().Draw(t, "error"), Parts: parts()}
		case 9:
			e.Event = holdfast.Settings{JSON: []byte(`{}`)}
		case 10, 11:
			o := holdfast.Overlay{Source: holdfast.ManualOverlay, StripReasoning: rapid.Bool().Draw(t, "strip")}
			from, length := rapid.IntRange(0, 12).Draw(t, "from"), rapid.IntRange(0, 8).Draw(t, "length")
			if o.FromTurn, o.ToTurn = from, from+length; rapid.IntRange(0, 3).Draw(t, "by events") == 0 {
				o.FromTurn, o.ToTurn, o.FromEvent, o.ToEvent = 0, 0, int64(from+1), int64(from+length+1)
				for seq := o.FromEvent; seq <= o.ToEvent; seq++ {
					if rapid.IntRange(0, 3).Draw(t, "kept") == 0 {
						o.KeptCalls = append(o.KeptCalls, seq)
					}
				}
			}
			switch rapid.IntRange(0, 3).Draw(t, "tools") {
			case 1:
				o.Tools = &holdfast.ToolPolicy{Omit: true}
			case 2:
				o.Tools = &holdfast.ToolPolicy{Request: true}
			case 3:
				o.Tools = &holdfast.ToolPolicy{Request: true, Response: true}
			}
			if !o.ByEvents() && rapid.Bool().Draw(t, "summary") {
				o.Summary = &holdfast.Summary{Text: fmt.Sprint("summary ", i), Origin: holdfast.GeneratedSummary, Capsule: &holdfast.Capsule{Revision: i}}
			}
			e.Event = o
			overlays = append(overlays, e.ID)
		default:
			e.Event = holdfast.Unknown{Type: "hologram", Raw: []byte("{}")}
			if len(overlays) > 0 && rapid.Bool().Draw(t, "revoke") {
				e.Event = holdfast.Revocation{Overlays: []holdfast.EventID{rapid.SampledFrom(overlays).Draw(t, "revoked")}}
			}
		}
		list = append(list, e)
	}
	return list
}

func record(c holdfast.Capsule) string { return fmt.Sprint("record ", c.Revision) }

func TestAProjectionLeavesTheStreamAsItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := randomStream(t)
		lines := func() (out string) {
			for _, e := range in {
				out += string(conversation.AppendLine(nil, e)) + "\n"
			}
			return out
		}
		before := lines()
		conversation.Project(in, record)
		if diff := cmp.Diff(before, lines()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestAViewHasNoResultWithoutACallAndNoCallWithoutAResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, turn := range conversation.Project(randomStream(t), record).Turns {
			open := map[string]int{}
			for _, e := range turn.Entries {
				switch e := e.Event.(type) {
				case holdfast.ToolCall:
					open[e.ID]++
				case holdfast.ToolResult:
					if open[e.CallID]--; open[e.CallID] < 0 {
						t.Fatalf("turn %v has a result of %s that no call waits for", turn.Origin, e.CallID)
					}
				}
			}
			for id, n := range open {
				if n != 0 {
					t.Fatalf("turn %v has %d calls %s without a result", turn.Origin, n, id)
				}
			}
		}
	})
}

func TestProjectingAProjectionChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		once := conversation.Project(randomStream(t), record)
		twice := conversation.Project(once.Entries(), record)
		if diff := cmp.Diff(once.Settings, twice.Settings); diff != "" {
			t.Fatal(diff)
		}
		var a, b [][]holdfast.Entry
		for _, turn := range once.Turns {
			a = append(a, append([]holdfast.Entry{}, turn.Entries...))
		}
		for _, turn := range twice.Turns {
			b = append(b, append([]holdfast.Entry{}, turn.Entries...))
		}
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestWhatNoRangeCoversIsInTheViewAsInTheStream compares with the view of the
// same stream without its overlays, turn by turn.
func TestWhatNoRangeCoversIsInTheViewAsInTheStream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := randomStream(t)
		turns := conversation.Turns(in)
		covered := map[int]bool{}
		for _, o := range conversation.Overlays(in) {
			for i, turn := range turns {
				for _, e := range in[turn.Start:turn.End] {
					if !o.Revoked && (o.ByEvents() && o.FromEvent <= e.Seq && e.Seq <= o.ToEvent || !o.ByEvents() && o.FromTurn <= i && i <= o.ToTurn) {
						covered[i] = true
					}
				}
			}
		}
		bare := make([]holdfast.Entry, len(in))
		for i, e := range in {
			if _, ok := e.Event.(holdfast.Overlay); ok {
				e.Event = holdfast.Unknown{}
			}
			bare[i] = e
		}
		raw := map[int][]holdfast.Entry{}
		for _, turn := range conversation.Project(bare, nil).Turns {
			raw[turn.Origin.From] = turn.Entries
		}
		shown := map[int][]holdfast.Entry{}
		for _, turn := range conversation.Project(in, nil).Turns {
			if !turn.Origin.Summary {
				shown[turn.Origin.From] = turn.Entries
			}
		}
		for i := range turns {
			if covered[i] {
				continue
			}
			if diff := cmp.Diff(raw[i], shown[i], cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("turn %d:\n%s", i, diff)
			}
		}
	})
}

// TestARangeOfEventsActsOnExactlyThoseEvents looks at every event of streams that
// have no other overlays.
func TestARangeOfEventsActsOnExactlyThoseEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := randomStream(t)
		for i, e := range in {
			if o, ok := e.Event.(holdfast.Overlay); ok && !o.ByEvents() {
				in[i].Event = holdfast.Unknown{}
			}
		}
		var overlays []conversation.PlacedOverlay
		for _, o := range conversation.Overlays(in) {
			if !o.Revoked {
				overlays = append(overlays, o)
			}
		}
		thinks := func(seq int64) bool {
			return !slices.ContainsFunc(overlays, func(o conversation.PlacedOverlay) bool {
				return o.StripReasoning && o.FromEvent <= seq && seq <= o.ToEvent
			})
		}
		// policy is that of the newest overlay that covers a call.
		policy := func(seq int64) holdfast.ToolPolicy {
			for _, o := range slices.Backward(overlays) {
				if o.Tools != nil && o.FromEvent <= seq && seq <= o.ToEvent && !slices.Contains(o.KeptCalls, seq) {
					return *o.Tools
				}
			}
			return holdfast.ToolPolicy{}
		}
		shown := map[int64]holdfast.Event{}
		for _, turn := range conversation.Project(in, nil).Turns {
			for _, e := range turn.Entries {
				shown[e.Seq] = e.Event
			}
		}
		for _, turn := range conversation.Turns(in) {
			var calls []holdfast.Entry // without a result
			for _, e := range in[turn.Start:turn.End] {
				untouched := true
				switch event := e.Event.(type) {
				case holdfast.UserMessage, holdfast.AssistantMessage:
				case holdfast.Reasoning:
					if untouched = thinks(e.Seq); !untouched && shown[e.Seq] != nil {
						t.Fatalf("the reasoning of event %d is shown", e.Seq)
					}
				case holdfast.ToolCall:
					untouched = !policy(e.Seq).Omit && !policy(e.Seq).Request
					calls = append(calls, e)
				case holdfast.ToolResult:
					n := slices.IndexFunc(calls, func(c holdfast.Entry) bool { return c.Event.(holdfast.ToolCall).ID == event.CallID })
					if n < 0 {
						continue // an orphan
					}
					// A result is on the side of its call.
					untouched = !policy(calls[n].Seq).Omit && !policy(calls[n].Seq).Response
					calls = slices.Delete(calls, n, n+1)
				default:
					continue
				}
				if diff := cmp.Diff(e.Event, shown[e.Seq]); untouched != (diff == "") {
					t.Fatalf("event %d, untouched %v:\n%s", e.Seq, untouched, diff)
				}
			}
		}
	})
}

func TestTurnsTogetherAreTheWholeStream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := randomStream(t)
		end := 0
		for _, turn := range conversation.Turns(in) {
			if turn.Start != end || turn.End <= turn.Start {
				t.Fatalf("turn %v behind %d", turn, end)
			}
			end = turn.End
		}
		if end != 0 && end != len(in) {
			t.Fatalf("the turns end at %d of %d", end, len(in))
		}
	})
}

func TestTheTailTakesNoOrphan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tail conversation.Tail
		var taken []holdfast.Entry
		for _, e := range randomStream(t) {
			if tail.Append(e) == nil {
				taken = append(taken, e)
			}
		}
		if orphans := conversation.Project(taken, nil).Orphans; len(orphans) > 0 {
			t.Fatalf("%d orphans", len(orphans))
		}
		if got, want := tail.Turns(), len(conversation.Turns(taken)); got != want {
			t.Fatalf("%d turns, want %d", got, want)
		}
	})
}

// TestDecidingIsWhatAProjectionFollows: without events by number, an overlay is
// in force exactly when it decides a turn that holds something for the model.
func TestDecidingIsWhatAProjectionFollows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := randomStream(t)
		for i, e := range in {
			if o, ok := e.Event.(holdfast.Overlay); ok && o.ByEvents() {
				in[i].Event = holdfast.Unknown{}
			}
		}
		overlays := conversation.Overlays(in)
		deciding := map[int]bool{}
		for i, turn := range conversation.Turns(in) {
			empty := true
			for _, e := range in[turn.Start:turn.End] {
				switch e.Event.(type) {
				case holdfast.UserMessage, holdfast.AssistantMessage, holdfast.Reasoning, holdfast.ToolCall, holdfast.ToolResult:
					empty = false
				}
			}
			for _, n := range conversation.Deciding(overlays, i, in[turn.Start].Seq, in[turn.End-1].Seq) {
				if !empty || overlays[n].Summary != nil {
					deciding[n] = true
				}
			}
		}
		if got := conversation.Project(in, nil).InForce; got != len(deciding) {
			t.Fatalf("%d overlays in force, %d decide", got, len(deciding))
		}
	})
}
