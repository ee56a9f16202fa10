package compaction_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
)

// planned is a plan as text, a line for each step.
func planned(steps []compaction.Step, err error) string {
	if err != nil {
		return outcome(compaction.Range{}, err)
	}
	var lines []string
	for _, s := range steps {
		if s.Skipped != "" {
			lines = append(lines, "skipped: "+s.Skipped)
			continue
		}
		o := s.Overlay
		does := []string{fmt.Sprintf("%s %d-%d", o.Source, o.FromTurn, o.ToTurn)}
		if o.StripReasoning {
			does = append(does, "reasoning")
		}
		if o.Tools != nil {
			does = append(does, "tools")
		}
		switch {
		case s.Request != nil:
			does = append(does, "to be summarized")
		case o.Summary != nil:
			does = append(does, fmt.Sprintf("%s %q", o.Summary.Origin, o.Summary.Text))
		}
		lines = append(lines, strings.Join(append(does, s.Notes...), "; "))
	}
	return strings.Join(lines, "\n")
}

// write is a rule that stores a summary of the user.
func write(t testing.TB, turns, text string) compaction.Rule {
	r := inline(t, "s:"+turns)
	r.Summary.Text = &text
	return r
}

func TestASummaryGrowsOverTheSummariesThatItMeets(t *testing.T) {
	grown := func(from, to string) string {
		return "; The summary covers turns " + to + " instead of turns " + from + ": it takes in the summaries that it meets."
	}
	for _, tt := range []struct {
		name     string
		overlays []holdfast.Overlay
		turns    string
		want     string
	}{
		{"none", nil, "4..8", "manual 3-7; to be summarized"},
		{"one that it does not meet", []holdfast.Overlay{generated(0, 2)}, "6..9", "manual 5-8; to be summarized"},
		{"one that it is next to", []holdfast.Overlay{generated(0, 2)}, "4..9", "manual 3-8; to be summarized"},
		{"one that goes on behind it", []holdfast.Overlay{generated(5, 9)}, "4..8", "manual 3-9; to be summarized" + grown("4..8", "4..10")},
		{"one that begins before it", []holdfast.Overlay{generated(0, 4)}, "4..9", "manual 0-8; to be summarized" + grown("4..9", "1..9")},
		{"one inside it", []holdfast.Overlay{generated(3, 5)}, "1..9", "manual 0-8; to be summarized"},
		{"one around it", []holdfast.Overlay{generated(0, 9)}, "4..6", "manual 0-9; to be summarized" + grown("4..6", "1..10")},
		{"a chain", []holdfast.Overlay{generated(0, 5), generated(4, 10), generated(9, 15)}, "4..8", "manual 0-15; to be summarized" + grown("4..8", "1..16")},
		{"a chain in any order", []holdfast.Overlay{generated(9, 15), generated(0, 5), generated(4, 10)}, "15..16", "manual 0-15; to be summarized" + grown("15..16", "1..16")},
		{"one that goes behind the end", []holdfast.Overlay{generated(5, 99)}, "4..8", "manual 3-19; to be summarized" + grown("4..8", "4..20")},
		{"one that begins behind the end", []holdfast.Overlay{generated(20, 99)}, "19..20", "manual 18-19; to be summarized"},
		{"a mechanical one", []holdfast.Overlay{mechanical(0, 9)}, "4..8", "manual 3-7; to be summarized"},
		{
			"one of the user that goes on behind it",
			[]holdfast.Overlay{authored(5, 9)},
			"4..8",
			"conflict: a summary of turns 4..8 meets the summary that you wrote of turns 6..10, which a generated one never replaces: it would be needed for turns 4..10. " +
				"Choose turns that do not meet, write that summary yourself (--summary-file), or take yours back (--reset=1)",
		},
		{
			"one of the user inside it, the second overlay",
			[]holdfast.Overlay{mechanical(0, 9), authored(3, 5)},
			"1..10",
			"conflict: a summary of turns 1..10 meets the summary that you wrote of turns 4..6, which a generated one never replaces: it would be needed for turns 1..10. " +
				"Choose turns that do not meet, write that summary yourself (--summary-file), or take yours back (--reset=2)",
		},
		{
			"one of the user at the end of a chain",
			[]holdfast.Overlay{authored(9, 11), generated(6, 9)},
			"4..8",
			"conflict: a summary of turns 4..8 meets the summary that you wrote of turns 10..12, which a generated one never replaces: it would be needed for turns 4..12. " +
				"Choose turns that do not meet, write that summary yourself (--summary-file), or take yours back (--reset=1)",
		},
		{"one of the user that it does not meet", []holdfast.Overlay{authored(9, 11)}, "4..8", "manual 3-7; to be summarized"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := conversation(20, 1).with(tt.overlays...)
			got := planned(compaction.Plan(s, []compaction.Rule{inline(t, "s:"+tt.turns)}, start, compaction.Estimator{}))
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestASummaryOfTheUserReplacesWhatItsTurnsHold(t *testing.T) {
	for _, tt := range []struct {
		name     string
		overlays []holdfast.Overlay
		turns    string
		want     string
	}{
		{"nothing", nil, "4..8", `manual 3-7; authored "mine"`},
		{
			"a generated one, which it grows over",
			[]holdfast.Overlay{generated(5, 9)},
			"4..8",
			`manual 3-9; authored "mine"; The summary covers turns 4..10 instead of turns 4..8: it takes in the summaries that it meets.`,
		},
		{"an older one of the user for the same turns", []holdfast.Overlay{authored(3, 7)}, "4..8", `manual 3-7; authored "mine"`},
		{"an older one of the user inside it", []holdfast.Overlay{authored(4, 5)}, "4..8", `manual 3-7; authored "mine"`},
		{
			"not an older one of the user that goes on behind it",
			[]holdfast.Overlay{authored(5, 9)},
			"4..8",
			"conflict: a summary of turns 4..8 meets the summary that you wrote of turns 6..10, and would be needed for turns 4..10. Write it for those, or choose turns that do not meet",
		},
		{
			"not one of the user that only growing would reach",
			[]holdfast.Overlay{generated(5, 9), authored(9, 11)},
			"4..8",
			"conflict: a summary of turns 4..8 meets the summary that you wrote of turns 10..12, and would be needed for turns 4..12. Write it for those, or choose turns that do not meet",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := conversation(20, 1).with(tt.overlays...)
			got := planned(compaction.Plan(s, []compaction.Rule{write(t, tt.turns, " mine\n")}, start, compaction.Estimator{}))
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestTheRangeOfASummaryGrowsUntilNothingChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const turns = 30
		span := func(label string) (from, to int) {
			from = rapid.IntRange(0, turns-1).Draw(t, label)
			return from, min(turns-1, from+rapid.IntRange(0, 6).Draw(t, label+" length"))
		}
		s := conversation(turns, 1)
		var others [][2]int
		for range rapid.IntRange(0, 8).Draw(t, "summaries") {
			from, to := span("summary")
			others = append(others, [2]int{from, to})
			s = s.with(generated(from, to))
		}
		from, to := span("new")
		want := compaction.Range{From: from, To: to}
		for changed := true; changed; {
			changed = false
			for _, o := range others {
				if meets := o[0] <= want.To && want.From <= o[1]; meets && (o[0] < want.From || o[1] > want.To) {
					want, changed = compaction.Range{From: min(o[0], want.From), To: max(o[1], want.To)}, true
				}
			}
		}
		rule := compaction.Rule{Summary: &compaction.SummaryRequest{}}
		rule.KeepFirst, _ = compaction.ParseKeepFirst(fmt.Sprint("@", from+1))
		rule.KeepLast, _ = compaction.ParseKeepLast(fmt.Sprint("@", to+1))
		steps, err := compaction.Plan(s, []compaction.Rule{rule}, start, compaction.Estimator{})
		if err != nil || steps[0].Range != want {
			t.Fatalf("got %v, %v, want %v", steps[0].Range, err, want)
		}
	})
}

func TestAPlan(t *testing.T) {
	rules := func(specs ...string) (list []compaction.Rule) {
		for _, spec := range specs {
			list = append(list, inline(t, spec))
		}
		return list
	}
	last := func(spec string) compaction.Rule {
		r := inline(t, spec)
		r.KeepFirst, _ = compaction.ParseKeepFirst("last-compaction")
		r.KeepLast = compaction.Count(0)
		return r
	}
	for _, tt := range []struct {
		name     string
		turns    int
		overlays []holdfast.Overlay
		rules    []compaction.Rule
		want     string
	}{
		{"the built-in rule", 10, nil, []compaction.Rule{compaction.Default()}, "manual 1-6; reasoning; tools"},
		{
			"two rules see the stream as it was",
			6,
			[]holdfast.Overlay{mechanical(0, 1)},
			[]compaction.Rule{last("r"), last("t=o")},
			"manual 2-5; reasoning\nmanual 2-5; tools",
		},
		{
			"a rule that leaves nothing is skipped, the other is not",
			4,
			nil,
			rules("r", "t:1..2"),
			"skipped: Nothing to compact: keep_first = 1 and keep_last = 3 leave none of 4 turns.\nmanual 0-1; tools",
		},
		{"no turns at all", 0, nil, rules("r"), "skipped: Nothing to compact: the conversation has no turns yet."},
		{"a range that the user named and that is empty", 4, nil, rules("r:..", "t:6..9"), "usage: no turn is in this range: the conversation has 4 turns\n    t:6..9\n      ^\nWrite POLICIES[:RANGE], such as s, r+t, t=omit:2..10 or s:..-3"},
		{"a rule without a policy", 10, nil, []compaction.Rule{{}}, "config: a compaction rule without a policy does nothing. Give it reasoning, tool_calls or summary, or remove it"},
		{"a blank summary", 10, nil, []compaction.Rule{write(t, "2..4", " \n")}, "usage: the summary is blank. Write what stands for turns 2..4, or leave the summary to a model"},
		{"policies and a summary in one overlay", 10, nil, rules("s+r+t:2..4"), "manual 1-3; reasoning; tools; to be summarized"},
		{"what was done already", 10, []holdfast.Overlay{mechanical(1, 6)}, rules("r+t"), "skipped: Nothing would change: turns 2..7 are compacted already."},
		{"what was done already around it", 10, []holdfast.Overlay{mechanical(0, 9)}, rules("r+t:3..3"), "skipped: Nothing would change: turn 3 is compacted already."},
		{"what a summary stands for", 10, []holdfast.Overlay{generated(1, 6)}, rules("r+t"), "skipped: Nothing would change: turns 2..7 are compacted already."},
		{"what was done for a part", 10, []holdfast.Overlay{mechanical(1, 5)}, rules("r+t"), "manual 1-6; reasoning; tools"},
		{"what was done in another way", 10, []holdfast.Overlay{mechanical(1, 6)}, rules("r+t=o"), "manual 1-6; reasoning; tools"},
		{"what was done and then done in another way", 10, []holdfast.Overlay{mechanical(1, 6), {FromTurn: 6, ToTurn: 6, Tools: &holdfast.ToolPolicy{Omit: true}}}, rules("r+t"), "manual 1-6; reasoning; tools"},
		{"what was done behind it does not count", 10, []holdfast.Overlay{mechanical(1, 6), mechanical(8, 9)}, rules("r+t"), "skipped: Nothing would change: turns 2..7 are compacted already."},
		{
			"two summaries of a run that do not meet",
			10,
			nil,
			rules("s:2..3", "s:4..5"),
			"manual 1-2; to be summarized\nmanual 3-4; to be summarized",
		},
		{
			"two summaries of a run that meet become one, by the later rule",
			10,
			nil,
			rules("s:2..5", "s:4..8"),
			"manual 1-7; to be summarized; The summary covers turns 2..8 instead of turns 4..8: it takes in the summaries that it meets.; An earlier rule's summary of turns 2..5 is not made: this one tells them too.",
		},
		{
			"what else the earlier rule does stays",
			10,
			nil,
			rules("s+r:2..5", "s:2..8"),
			"manual 1-4; reasoning\nmanual 1-7; to be summarized; An earlier rule's summary of turns 2..5 is not made: this one tells them too.",
		},
		{
			"and acts on its own turns, not on those that the summary would have needed",
			10,
			[]holdfast.Overlay{generated(4, 6)},
			rules("s+r:2..5", "s:2..8"),
			"manual 1-4; reasoning\nmanual 1-7; to be summarized; An earlier rule's summary of turns 2..7 is not made: this one tells them too.",
		},
		{
			"a summary of the user of the same run is not replaced",
			10,
			nil,
			[]compaction.Rule{write(t, "2..5", "mine"), inline(t, "s:4..8")},
			"conflict: a summary of turns 4..8 meets the summary that you wrote of turns 2..5, which a generated one never replaces: it would be needed for turns 2..8. Choose turns that do not meet, write that summary yourself (--summary-file)",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := conversation(tt.turns, 1).with(tt.overlays...)
			if got := planned(compaction.Plan(s, tt.rules, start, compaction.Estimator{})); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestAPlanLeavesItsRulesAndTheStreamAlone(t *testing.T) {
	rule := inline(t, "s+t:2..4")
	s := conversation(10, 1)
	before := append(stream(nil), s...)
	// Behind the end of what is planned for stands more in the same array.
	steps, err := compaction.Plan(s[:len(s)-1], []compaction.Rule{rule}, start, compaction.Estimator{})
	if err != nil {
		t.Fatal(err)
	}
	steps[0].Overlay.Tools.Omit, steps[0].Request.Model = true, "m"
	if rule.Tools.Omit || rule.Summary.Model != "" {
		t.Error("a change of a step changed the rule")
	}
	if diff := cmp.Diff(before, s); diff != "" {
		t.Error(diff)
	}
}

func TestEstimatesOfAPlanAddUp(t *testing.T) {
	// Of a turn a request carries "go" and "done", 400 characters of reasoning, and
	// the call and its result, 814 characters: "c" twice, "grep", `{"a":""}` around
	// 400, and 400 more. Together 1220.
	s := conversation(4, 400)
	steps, err := compaction.Plan(s, []compaction.Rule{
		inline(t, "r:1..2"), inline(t, "t"), inline(t, "t=o:2..2"), inline(t, "s:3..3"),
	}, start, compaction.Estimator{})
	if err != nil {
		t.Fatal(err)
	}
	var got [][2]int
	for _, step := range steps {
		got = append(got, [2]int{step.Before, step.After})
	}
	want := [][2]int{
		{1220, 1020}, // of 4880 characters go 2 * 400
		{1020, 1020}, // skipped: the keep values leave none of 4 turns
		{1020, 817},  // of 4080 go 814; 3266 / 4 is rounded up
		{817, 520},   // of 3266 go 1220, and 34 come: the line that asks for the summary
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
