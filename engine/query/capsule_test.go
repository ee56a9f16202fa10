package query_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
	"github.com/holdfast-dev/holdfast/engine/query"
	"github.com/holdfast-dev/holdfast/redact"
)

func plain(text string) string { return text }

// stream numbers events as a store does.
func stream(events ...holdfast.Event) []holdfast.Entry {
	entries := make([]holdfast.Entry, len(events))
	for i, e := range events {
		entries[i] = holdfast.Entry{Seq: int64(i + 1), ID: holdfast.EventID(fmt.Sprint("e", i+1)), Event: e}
	}
	return entries
}

func asked(text string) holdfast.UserMessage {
	return holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text(text)}}
}

func planned(id string) holdfast.ToolResult {
	return holdfast.ToolResult{CallID: id, Parts: []holdfast.Part{holdfast.Text("Plan updated")}}
}

// read is a capsule as extraction left it: with a constraint and a plan that was
// accepted in words, read up to a message.
func readUpTo(watermark string, branch holdfast.BranchID) holdfast.Continuity {
	e := holdfast.Evidence{By: holdfast.ByUser, Turn: 1, Quote: "Use tabs."}
	accepted := e
	accepted.By = holdfast.ByAcceptance
	c := continuity.Merge(holdfast.Capsule{Branch: branch, Revision: 4}, continuity.Delta{
		Constraints: []holdfast.Constraint{{Statement: "Use tabs.", Status: holdfast.FactActive, Evidence: e}},
		Plan:        &continuity.PlanWord{Verdict: holdfast.PlanAccepted, Steps: []string{"Port the store"}, Evidence: accepted},
		Watermark:   watermark,
	})
	return holdfast.Continuity{Capsule: c}
}

func TestTheCapsuleOfAStreamBeginsWithWhatWasRead(t *testing.T) {
	old := plan("1", `{"step":"Old","status":"pending"}`)
	next := plan("2", `{"step":"New","status":"pending"}`)
	found := readUpTo("e2", "c")
	unread := found
	unread.Capsule.Watermark = ""
	later := readUpTo("e2", "c")
	later.Capsule.SchemaVersion = holdfast.SchemaVersion + 1
	elsewhere := readUpTo("0198aa", "proxied")
	for _, tt := range []struct {
		name        string
		entries     []holdfast.Entry
		constraints int
		steps       []string
		removed     []string
		words       int
	}{
		{
			"a plan call that came later replaces what was accepted in words",
			stream(holdfast.TurnStart{}, asked("Use tabs."), found, holdfast.TurnStart{}, asked("Go on."), next, planned("2")),
			1,
			[]string{"New"},
			nil, 1,
		},
		{
			"a plan call that came before is in it",
			stream(holdfast.TurnStart{}, asked("Use tabs."), old, planned("1"), found, holdfast.TurnStart{}, asked("Go on.")),
			1,
			[]string{"Port the store"},
			nil, 1,
		},
		{
			"a call that waits for its result stays, and one that failed counts for nothing",
			stream(holdfast.TurnStart{}, asked("Use tabs."), old, found, holdfast.ToolResult{CallID: "1", IsError: true}),
			1,
			[]string{"Port the store"},
			nil, 0,
		},
		{
			"a capsule that nobody has read counts for nothing",
			stream(holdfast.TurnStart{}, asked("Use tabs."), unread, asked("Go on.")),
			0, nil, nil, 2,
		},
		{
			"nor does one of a later version",
			stream(holdfast.TurnStart{}, asked("Use tabs."), later, asked("Go on.")),
			0, nil, nil, 2,
		},
		{
			"behind one of the proxy the calls of its turn count again",
			stream(holdfast.TurnStart{}, asked("Use tabs."), old, planned("1"), elsewhere, holdfast.TurnStart{}, asked("Go on.")),
			1,
			[]string{"Old"},
			nil, 2,
		},
		{
			"one that stands in a summary counts too",
			stream(holdfast.TurnStart{}, asked("Use tabs."), holdfast.Overlay{Summary: &holdfast.Summary{Text: "They chose.", Capsule: &found.Capsule}}, asked("Go on.")),
			1,
			[]string{"Port the store"},
			nil, 1,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := query.Capsule(tt.entries, "c", plain)
			if len(c.Constraints) != tt.constraints || len(c.UserWords) != tt.words || c.Branch != "c" {
				t.Errorf("the capsule is %+v", c)
			}
			var steps, removed []string
			if c.Plan != nil {
				for _, s := range c.Plan.Steps {
					steps = append(steps, s.Text)
				}
				removed = c.Plan.Removed
			}
			if diff := cmp.Diff(tt.steps, steps); diff != "" {
				t.Errorf("the steps (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.removed, removed); diff != "" {
				t.Errorf("removed (-want +got):\n%s", diff)
			}
		})
	}
}

// TestToKeepACapsuleInItsStreamChangesNothing: wherever no call waits, the capsule of
// what stands before may be put into the stream, as read up to any text of it or as
// never read, and what the whole stream comes to is the same.
func TestToKeepACapsuleInItsStreamChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var events []holdfast.Event
		var places []int // where no call waits
		for turn := range rapid.IntRange(1, 6).Draw(t, "turns") {
			events = append(events, holdfast.TurnStart{}, asked(rapid.SampledFrom([]string{"Use tabs.", "Go on.", "Use LF."}).Draw(t, "asked")))
			places = append(places, len(events))
			for call := range rapid.IntRange(0, 3).Draw(t, "calls") {
				id := fmt.Sprint(turn, ".", call)
				step := rapid.SampledFrom([]string{"Read", "Write", "Test"}).Draw(t, "step")
				state := rapid.SampledFrom([]string{"pending", "in_progress", "completed"}).Draw(t, "state")
				result := planned(id)
				result.IsError = rapid.Bool().Draw(t, "failed")
				events = append(events, plan(id, fmt.Sprintf(`{"step":%q,"status":%q}`, step, state)), result)
				places = append(places, len(events))
			}
			events = append(events, holdfast.AssistantMessage{Text: "Yes."})
			places = append(places, len(events))
		}
		want := query.Capsule(stream(events...), "c", plain)
		at := rapid.SampledFrom(places).Draw(t, "place")
		entries := stream(events...)
		kept := query.Capsule(entries[:at], "c", plain)
		if rapid.Bool().Draw(t, "read") {
			kept.Watermark = "e2" // a message of the person
		}
		with := append(append(append([]holdfast.Entry{}, entries[:at]...), holdfast.Entry{ID: "kept", Event: holdfast.Continuity{Capsule: kept}}), entries[at:]...)
		got := query.Capsule(with, "c", plain)
		got.Watermark = ""
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestWhatIsSaidInAForkOfARecordingIsNewerThanWhatTheProxyRead: a recording that began
// in the middle of a session has fewer messages than its capsules have counted.
func TestWhatIsSaidInAForkOfARecordingIsNewerThanWhatTheProxyRead(t *testing.T) {
	w := newWorld(t, says("Yes."))
	o := w.read()
	e := holdfast.Evidence{By: holdfast.ByUser, Turn: 9, Quote: "Use Kafka for the queue."}
	proxied := continuity.Merge(holdfast.Capsule{Branch: "b"}, continuity.Delta{
		Decisions: []holdfast.Decision{{Subject: "queue", Statement: "Use Kafka for the queue.", Status: holdfast.FactActive, Evidence: e}},
		Watermark: "elsewhere",
	})
	if err := w.s.Append(t.Context(), &w.l, holdfast.TurnStart{}, asked("Go on."), holdfast.Continuity{Capsule: proxied}, holdfast.AssistantMessage{Text: "Yes."}); err != nil {
		t.Fatal(err)
	}
	o.answer = &extract.Answer{Text: `{"schema_version":1,"base_revision":REVISION,"decisions":[{"subject":"queue","statement":"Use Redis for the queue.","quote":"Use Redis for the queue."}]}`}
	w.asks("Use Redis for the queue.")
	got := map[string]int{} // the turns of what is in force
	for _, d := range w.capsule().Decisions {
		if d.Status == holdfast.FactActive {
			got[d.Statement] = d.Evidence.Turn
		}
	}
	if diff := cmp.Diff(map[string]int{"Use Redis for the queue.": 10}, got); diff != "" {
		t.Errorf("in force (-want +got):\n%s", diff)
	}
}

// A secret is known by what stands around it, which may be cut off with the middle of a
// long message.
func TestASecretBesideACutIsRedacted(t *testing.T) {
	r, err := redact.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	clean := func(text string) string { text, _ = r.Text(text); return text }
	secret := strings.Repeat("q", 40)
	for i := range 80 {
		tail, head := 480+i/2, strings.Repeat("We have looked at this with the customer. ", 60+2000*(i%2))
		text := head + "Authorization: Bearer " + secret + " " + strings.Repeat("and so on ", 50)[:tail-len(secret)-1]
		c := query.Capsule(stream(asked(text), asked("thanks")), "b", clean)
		if strings.Contains(c.UserWords[0].Text, secret) {
			t.Fatalf("with a tail of %d bytes: %s", tail, c.UserWords[0].Text[len(c.UserWords[0].Text)-520:])
		}
	}
}
