package survival

import (
	"fmt"
)

// figure is one thing that is measured.
type figure string

const (
	values     figure = "values"
	prefix     figure = "prefix"
	walkAway   figure = "walk_away"
	structured figure = "structured_by_next_boundary"
	userWords  figure = "words_by_next_boundary"
	stored     figure = "stored_after_n"
	fits       figure = "fits_or_named"
	stale      figure = "stale_shown_active"
	lies       figure = "false_facts"
	steps      figure = "plan_steps"
	copies     figure = "copies"
	growth     figure = "block_slope"
	noCalls    figure = "extra_calls"
	oneChange  figure = "one_change"
	ahead      figure = "ahead_of_revision"
	differs    figure = "states_differ"
	crossed    figure = "crossed"

	// Of sessions that an extractor reads.
	prose     figure = "prose_by_next_boundary"
	invented  figure = "statements_nobody_made"
	overruled figure = "overruled_shown_active"
	foreign   figure = "foreign_text_in_extractor_input"
	idleCalls figure = "extractor_calls_for_nothing"
	inputs    figure = "extractor_input_slope"
)

// Figure is one row of the report.
type Figure struct {
	ID   string `json:"id"`
	What string `json:"what"`
	Goal string `json:"goal"`
	// Checked counts what was looked at, Failed what was not as it should be.
	Checked int `json:"checked"`
	Failed  int `json:"failed"`
	// Value is the figure itself where it is no count of failures: a share from
	// 0 to 1, or tokens for each compaction.
	Value  *float64 `json:"value,omitempty"`
	Passed bool     `json:"passed"`
	// OfExtractor tells that the figure is there only with an extractor.
	OfExtractor bool `json:"of_extractor,omitempty"`
	// Examples tell where the first failures are, and which.
	Examples []string `json:"examples,omitempty"`
}

// rows are the figures in their order, with the goals of the product.
var rows = []struct {
	id         figure
	what, goal string
	share      float64 // the least share that passes; 1: all
	read       bool    // of sessions that an extractor reads
}{
	{values, "exact values in a message of the user, after each compaction", "at least 95 %", 0.95, false},
	{prefix, "common prefix with the request before, against the client's own", "never shorter, boundaries aside", 1, false},
	{oneChange, "requests changed in more than one place", "0", 1, false},
	{walkAway, "requests of agents whose proxy was stopped after a turn", "all go on with the provider", 1, false},
	{structured, "structured facts in the block by the next boundary", "100 %", 1, false},
	{userWords, "user's words in the block by the next boundary", "at least 95 %", 0.95, false},
	{stored, "active facts after N compactions", "100 %", 1, false},
	{fits, "blocks within their size; what does not fit is named", "100 %", 1, false},
	{stale, "superseded, rejected or cancelled facts shown as active", "0", 1, false},
	{lies, "brainstorming, tool text, injections that became facts", "0", 1, false},
	{steps, "plan steps in order with right status", "100 %", 1, false},
	{copies, "turns with one copy of the block, the same through the epoch", "100 %", 1, false},
	{growth, "tokens that the block grows by with each compaction, after saturation", "0", 0, false},
	{noCalls, "calls at the upstream that no agent made", "0", 1, false},
	{ahead, "requests of a new epoch ahead of its block", "0", 1, false},
	{differs, "states that differ after replayed, reordered or parallel requests", "0", 1, false},
	{crossed, "requests with a fact of another session or branch", "0", 1, false},
	{prose, "facts said in prose among those of the block by the next boundary", "at least 99 %", 0.99, true},
	{invented, "statements of the block that the extractor made up", "0", 1, true},
	{overruled, "facts said in prose and put out of force, shown as active", "0", 1, true},
	{foreign, "requests to the extractor with output of tools or text of harnesses", "0", 1, true},
	{idleCalls, "requests to the extractor for sessions with nothing to extract", "0", 1, true},
	{inputs, "tokens that the extractor's input grows by with each call, after saturation", "0", 0, true},
}

// unmeasured are the goals that this run says nothing of, with where they are.
var unmeasured = []string{
	"extractor input: over the delta about 1, at most 7 % of the session: see holdfast eval extraction",
	"100,000 seeded runs, 10,000 interleavings: as many as --seeds and --interleavings ask for",
}

// tally counts by figure.
type tally map[figure]*Figure

// examplesKept is how many failures of a figure are named.
const examplesKept = 5

func (t tally) of(id figure) *Figure {
	if t[id] == nil {
		t[id] = &Figure{ID: string(id)}
	}
	return t[id]
}

// count counts one check. The text says where it failed.
func (t tally) count(id figure, ok bool, format string, args ...any) {
	f := t.of(id)
	f.Checked++
	if ok {
		return
	}
	f.Failed++
	if len(f.Examples) < examplesKept {
		f.Examples = append(f.Examples, fmt.Sprintf(format, args...))
	}
}

// add counts n checks of which some failed.
func (t tally) add(id figure, n, failed int, where string) {
	f := t.of(id)
	f.Checked += n
	f.Failed += failed
	if failed > 0 && len(f.Examples) < examplesKept {
		f.Examples = append(f.Examples, where)
	}
}

// merge adds another tally.
func (t tally) merge(other tally) {
	for id, o := range other {
		f := t.of(id)
		f.Checked += o.Checked
		f.Failed += o.Failed
		for _, e := range o.Examples {
			if len(f.Examples) < examplesKept {
				f.Examples = append(f.Examples, e)
			}
		}
	}
}

// slope is the slope of the line through the values by least squares.
func slope(values []float64) float64 {
	n := float64(len(values))
	var x, y, xy, xx float64
	for i, v := range values {
		f := float64(i)
		x, y, xy, xx = x+f, y+v, xy+f*v, xx+f*f
	}
	if d := n*xx - x*x; d != 0 {
		return (n*xy - x*y) / d
	}
	return 0
}
