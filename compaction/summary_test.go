package compaction_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
)

func TestASummaryIsTakenOnlyIfItIsFit(t *testing.T) {
	// Turns 2 and 3 are 2 * 50 characters: "go", "done", "c" twice, "grep",
	// `{"a":""}`, and ten characters three times. The line that asks for a
	// summary is 34 of them, so one of up to 65 makes the request smaller; at four
	// characters to a token it has to be a token less: at most 62.
	for _, tt := range []struct {
		name  string
		draft compaction.Draft
		want  string
	}{
		{"a good one", compaction.Draft{Text: " It went well.\n", Complete: true, Stop: "end_turn"}, "It went well."},
		{"one just short enough", compaction.Draft{Text: strings.Repeat("s", 62), Complete: true}, strings.Repeat("s", 62)},
		{"one as long as what it stands for", compaction.Draft{Text: strings.Repeat("s", 63), Complete: true}, "it takes as much room as what it stands for, or more"},
		{"one that was cut", compaction.Draft{Text: "It went", Stop: "max_tokens"}, "the model stopped before its end (max_tokens)"},
		{"one that was refused", compaction.Draft{Text: "No.", Stop: "refusal"}, "the model stopped before its end (refusal)"},
		{"a blank one", compaction.Draft{Text: " \n\t", Complete: true}, "it is blank"},
		{"an empty one", compaction.Draft{Complete: true}, "it is blank"},
		{"one with a tool call", compaction.Draft{Text: "It went well.", Complete: true, Calls: 1}, "the model called a tool instead"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := conversation(4, 10)
			est := compaction.Estimator{Overhead: []string{strings.Repeat("o", 1000)}}
			steps, err := compaction.Plan(s, []compaction.Rule{inline(t, "s:2..3")}, start, est)
			if err != nil {
				t.Fatal(err)
			}
			tt.draft.Model = "m"
			step, err := steps[0].Finish(s, tt.draft, est)
			if err != nil {
				want := "failed: the summary of turns 2..3 is not used: " + tt.want + ". Nothing was compacted. Try again, or give another model"
				if got := outcome(compaction.Range{}, err); got != want {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
				return
			}
			if got := *step.Overlay.Summary; got != (holdfast.Summary{Text: tt.want, Model: "m", Origin: holdfast.GeneratedSummary}) || step.Request != nil {
				t.Errorf("got %+v, request %v", got, step.Request)
			}
			if steps[0].Overlay.Summary.Text != "" || steps[0].Request == nil {
				t.Error("the planned step changed")
			}
		})
	}
}

func TestASummaryIsHeldAgainstWhatTheModelIsSentNow(t *testing.T) {
	// The turns are stripped already: two short turns are left of them.
	s := conversation(4, 1000).with(mechanical(0, 3))
	steps, err := compaction.Plan(s, []compaction.Rule{inline(t, "s:2..3")}, start, compaction.Estimator{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := steps[0].Finish(s, compaction.Draft{Text: strings.Repeat("s", 500), Complete: true}, compaction.Estimator{}); holdfast.CodeOf(err) != holdfast.ErrFailed {
		t.Errorf("got %v: the turns take less than this summary", err)
	}
}

func TestASummaryIsMadeOfRawEvents(t *testing.T) {
	s := conversation(4, 10).with(mechanical(0, 3), generated(1, 1))
	steps, err := compaction.Plan(s, []compaction.Rule{inline(t, "s:2..3")}, start, compaction.Estimator{})
	if err != nil {
		t.Fatal(err)
	}
	in := steps[0].Input(s)
	// A turn is six events here.
	if len(in.Entries) != 12 || in.Entries[0].Seq != 7 || in.Entries[11].Seq != 18 {
		t.Fatalf("got %d events from %d to %d", len(in.Entries), in.Entries[0].Seq, in.Entries[len(in.Entries)-1].Seq)
	}
	if r, ok := in.Entries[4].Event.(holdfast.ToolResult); !ok || r.Parts[0] != holdfast.Text("rrrrrrrrrr") {
		t.Errorf("got %+v, want the whole result", in.Entries[4].Event)
	}
}
