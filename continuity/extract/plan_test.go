package extract_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
)

func TestSteps(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"a numbered list", "Plan:\n\n1. Add a reader.\n   - a detail\n2. Port the mapping\n", []string{"Add a reader.", "Port the mapping"}},
		{"a list of points", "I would:\n- add `x`\n* [ ] move y\n", []string{"add `x`", "move y"}},
		{"a numbered list behind what was found", "I found:\n- a leak\n- a race\n\nPlan:\n1. Close it\n2. Lock it\n", []string{"Close it", "Lock it"}},
		{"a numbered list with points between", "1. Reader\n- open it\n- parse it\n2. Writer\n- flush it\n", []string{"Reader", "Writer"}},
		{"numbers in a line", "1. Add reader behind interface Source. 2. Port column mapping. 3. Golden files for 3 tenants. 4. Delete csv package.", []string{"Add reader behind interface Source", "Port column mapping", "Golden files for 3 tenants", "Delete csv package"}},
		{"a list in a fence is code", "```\n- a\n- b\n```", nil},
		{"numbers that do not count up", "It took 4. Then 7. Done.", nil},
		{"prose", "I did it.", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, extract.Steps(tt.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const shown = "a: 1. Add reader behind interface Source. 2. Port column mapping. 3. Golden files for 3 tenants. 4. Delete csv package."

func TestGroundPlans(t *testing.T) {
	const (
		add, port, golden, del = "Add reader behind interface Source", "Port column mapping", "Golden files for 3 tenants", "Delete csv package"
		all                    = add + " | " + port + " | " + golden + " | " + del
		offered                = "1. Add reader"
	)
	waiting := continuity.Merge(holdfast.Capsule{}, continuity.Delta{Plan: &continuity.PlanWord{
		Verdict: holdfast.PlanProposed, Steps: []string{"a", "b"}, Evidence: holdfast.Evidence{By: holdfast.ByAgent, Turn: 1, Quote: "I would do a and b."},
	}})
	for _, tt := range []struct {
		name  string
		base  holdfast.Capsule
		lines []string
		item  extract.PlanItem
		want  string
	}{
		{"nobody answered", holdfast.Capsule{}, []string{"u: Plan it.", shown}, extract.PlanItem{Verdict: extract.Proposed, ProposalQuote: offered}, "proposed " + all},
		{"a yes", holdfast.Capsule{}, []string{"u: Plan it.", shown, "u: Yes, go ahead."}, extract.PlanItem{Verdict: extract.Accepted, Quote: "Yes, go ahead.", ProposalQuote: offered}, "accepted " + all},
		{"a yes in German", holdfast.Capsule{}, []string{"u: Plan it.", shown, "u: Ja, mach das so."}, extract.PlanItem{Verdict: extract.Accepted, Quote: "Ja, mach das so."}, "accepted " + all},
		{"the steps are the model's, not those of the answer", holdfast.Capsule{}, []string{shown, "u: Yes."}, extract.PlanItem{Verdict: extract.Accepted, Steps: []string{"Drop the database"}, Quote: "Yes."}, "accepted " + all},
		{"a range by number, whatever the answer says", holdfast.Capsule{}, []string{shown, "u: Good, but keep the csv package until March. Do 1 to 3."}, extract.PlanItem{Verdict: extract.Accepted, Steps: []string{del}, Quote: "Do 1 to 3.", ProposalQuote: offered}, "accepted " + add + " | " + port + " | " + golden + " -" + del},
		{"all but one", holdfast.Capsule{}, []string{shown, "u: All but step 3, please."}, extract.PlanItem{Verdict: extract.Accepted, Quote: "All but step 3, please."}, "accepted " + add + " | " + port + " | " + del + " -" + golden},
		{"everything except two", holdfast.Capsule{}, []string{shown, "u: OK, everything except 2 and 4."}, extract.PlanItem{Verdict: extract.Partly, Steps: []string{add}, Quote: "OK, everything except 2 and 4."}, "accepted " + add + " | " + golden + " -" + port + " -" + del},
		{"skipping one", holdfast.Capsule{}, []string{shown, "u: Fine, skip step 4."}, extract.PlanItem{Verdict: extract.Accepted, Quote: "Fine, skip step 4."}, "accepted " + add + " | " + port + " | " + golden + " -" + del},
		{"without one, in German", holdfast.Capsule{}, []string{shown, "u: Passt, aber ohne Schritt 4."}, extract.PlanItem{Verdict: extract.Accepted, Quote: "Passt, aber ohne Schritt 4."}, "accepted " + add + " | " + port + " | " + golden + " -" + del},
		{"only one, in German", holdfast.Capsule{}, []string{shown, "u: Gut, mach nur Schritt 2."}, extract.PlanItem{Verdict: extract.Accepted, Quote: "Gut, mach nur Schritt 2."}, "accepted " + port + " -" + add + " -" + golden + " -" + del},
		{"one that is denied by name", holdfast.Capsule{}, []string{shown, "u: Good, but do not delete the csv package."}, extract.PlanItem{Verdict: extract.Accepted, Quote: "Good, but do not delete the csv package."}, "accepted " + add + " | " + port + " | " + golden + " -" + del},
		{"what a step deletes is kept", holdfast.Capsule{}, []string{shown, "u: Good, but keep the csv package until March."}, extract.PlanItem{Verdict: extract.Accepted, Quote: "Good, but keep the csv package until March."}, "accepted " + add + " | " + port + " | " + golden + " -" + del},
		{"what a step deletes is spoken of", holdfast.Capsule{}, []string{shown, "u: Good. The csv package is in internal/csv."}, extract.PlanItem{Verdict: extract.Accepted, Quote: "Good."}, "accepted " + all},
		{"a step is skipped by name", holdfast.Capsule{}, []string{shown, "u: Good, skip the golden files for the tenants."}, extract.PlanItem{Verdict: extract.Accepted, Quote: "Good, skip the golden files for the tenants."}, "accepted " + add + " | " + port + " | " + del + " -" + golden},
		{"one that must not be forgotten", holdfast.Capsule{}, []string{shown, "u: Good, but don't forget the golden files for 3 tenants."}, extract.PlanItem{Verdict: extract.Accepted, Quote: "Good, but don't forget the golden files for 3 tenants."}, "accepted " + all},
		{"a number behind what was found", holdfast.Capsule{}, []string{"a: I found:\n- a leak\n- a race\n\nPlan:\n1. Close it\n2. Lock it", "u: Ok, do only step 2."}, extract.PlanItem{Verdict: extract.Partly, Quote: "Ok, do only step 2."}, "accepted Lock it -Close it"},
		{"a number that is no step", holdfast.Capsule{}, []string{shown, "u: Yes, on port 3."}, extract.PlanItem{Verdict: extract.Accepted, Quote: "Yes, on port 3."}, "accepted " + all},
		{"a part that the answer names", holdfast.Capsule{}, []string{shown, "u: Yes, the first two."}, extract.PlanItem{Verdict: extract.Partly, Steps: []string{add, port}, Quote: "Yes, the first two."}, "accepted " + add + " | " + port + " -" + golden + " -" + del},
		{"a part that nobody names stays a proposal", holdfast.Capsule{}, []string{shown, "u: Yes, some of it."}, extract.PlanItem{Verdict: extract.Partly, Quote: "Yes, some of it."}, "proposed " + all},
		{"a no", holdfast.Capsule{}, []string{shown, "u: No, that is too much at once."}, extract.PlanItem{Verdict: extract.Rejected, Quote: "No, that is too much at once."}, "rejected " + all},
		{"a no that the answer calls a yes", holdfast.Capsule{}, []string{shown, "u: No, that is too much at once."}, extract.PlanItem{Verdict: extract.Accepted, Quote: "No, that is too much at once."}, "proposed " + all},
		{"a yes behind a no", holdfast.Capsule{}, []string{shown, "u: No. Good idea, later perhaps."}, extract.PlanItem{Verdict: extract.Accepted, Quote: "Good idea, later perhaps."}, "proposed " + all},
		{"a yes that the answer calls a no", holdfast.Capsule{}, []string{shown, "u: Yes, go ahead."}, extract.PlanItem{Verdict: extract.Rejected, Quote: "Yes, go ahead."}, "proposed " + all},
		{"a wish for a revision", holdfast.Capsule{}, []string{"a: Plan v1: write-through, 5 files.", "u: Not write-through. Revise and show me the plan again before you touch any file."}, extract.PlanItem{Verdict: extract.Accepted, Quote: "Revise and show me the plan again before you touch any file.", ProposalQuote: "Plan v1: write-through, 5 files."}, "proposed Plan v1: write-through, 5 files."},
		{"a question is no answer", holdfast.Capsule{}, []string{shown, "u: OK to start now?"}, extract.PlanItem{Verdict: extract.Accepted, Quote: "OK to start now?"}, "proposed " + all},
		{"words before the plan are no answer to it", holdfast.Capsule{}, []string{"u: yes, go", shown}, extract.PlanItem{Verdict: extract.Accepted, Quote: "yes, go", ProposalQuote: offered}, "none"},
		{"the yes belongs to the plan before it, not to the next", holdfast.Capsule{}, []string{"a: 1. edit a. 2. edit b.", "u: yes, go", shown}, extract.PlanItem{Verdict: extract.Accepted, Quote: "yes, go", ProposalQuote: "1. edit a."}, "accepted edit a | edit b"},
		{"a yes behind another plan is not for the cited one", holdfast.Capsule{}, []string{"a: 1. edit a. 2. edit b.", "u: Hm.", shown, "u: yes, go"}, extract.PlanItem{Verdict: extract.Accepted, Quote: "yes, go", ProposalQuote: "1. edit a."}, "proposed " + all},
		{"words that nobody typed", holdfast.Capsule{}, []string{shown, "u: Hm."}, extract.PlanItem{Verdict: extract.Accepted, Quote: "Yes, go ahead."}, "proposed " + all},
		{"a plan that nobody showed", holdfast.Capsule{}, []string{"u: Yes."}, extract.PlanItem{Verdict: extract.Accepted, Steps: []string{"x"}, Quote: "Yes."}, "none"},
		{"a yes to what waits in the capsule", waiting, []string{"u: Yes, please."}, extract.PlanItem{Verdict: extract.Accepted, Quote: "Yes, please."}, "accepted a | b"},
		{"a yes in a language that no list covers stays a proposal", holdfast.Capsule{}, []string{shown, "u: Kyllä, tee niin."}, extract.PlanItem{Verdict: extract.Accepted, Quote: "Kyllä, tee niin."}, "proposed " + all},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, _ := extract.Ground(talk(tt.base, tt.lines...), extract.Extraction{Plan: &tt.item})
			got := "none"
			if d.Plan != nil {
				got = string(d.Plan.Verdict) + " " + strings.Join(d.Plan.Steps, " | ")
				for _, r := range d.Plan.Removed {
					got += " -" + r
				}
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestAPlanThatIsNotKnownWholeIsNotAccepted(t *testing.T) {
	for _, at := range []int{0, 1} {
		b := talk(holdfast.Capsule{}, shown, "u: Yes, go ahead.")
		b.Messages[at].Cut = true
		d, counts := extract.Ground(b, extract.Extraction{Plan: &extract.PlanItem{Verdict: extract.Accepted, Quote: "Yes, go ahead."}})
		if d.Plan != nil && d.Plan.Verdict == holdfast.PlanAccepted || len(counts) == 0 {
			t.Errorf("with message %d cut: %+v, %v", at, d.Plan, counts)
		}
	}
}

// From the words to the block.
func TestAPartlyAcceptedPlanReachesTheBlock(t *testing.T) {
	b := talk(holdfast.Capsule{}, "u: Move the importer from CSV to Parquet. Plan first.", shown, "u: Good, but keep the csv package until March. Do 1 to 3.")
	x, _, reason := extract.Parse(extract.Answer{Text: strings.Replace(answer(`
		"decisions":[{"subject":"csv.package","statement":"csv package stays until March","quote":"keep the csv package until March"}],
		"plan":{"verdict":"accepted","steps":["Add reader","Port mapping","Golden files","Delete csv package"],"quote":"Do 1 to 3.","proposal_quote":"1. Add reader"}`), `"base_revision":7`, `"base_revision":0`, 1)}, 0)
	if reason != "" {
		t.Fatal(reason)
	}
	d, _ := extract.Ground(b, x)
	c := continuity.Merge(holdfast.Capsule{}, d)
	block, _ := continuity.Render(c, continuity.All, continuity.Budget{Tokens: 2500, Words: 1000}, continuity.EstimateTokens)
	want := `
## Plan in force (0 of 3 steps completed)
1. [pending] Add reader behind interface Source
2. [pending] Port column mapping
3. [pending] Golden files for 3 tenants

Taken out of the plan:
- Delete csv package

## Decisions of the user
- csv.package -> Good, but keep the csv package until March.
`
	if !strings.Contains(block.Text, want) {
		t.Errorf("%s\nis missing in\n%s", want, block.Text)
	}
	if c.Watermark != "m3" || c.Revision != 1 {
		t.Errorf("watermark %q, revision %d", c.Watermark, c.Revision)
	}
}

// Many people end a sentence with the line alone.
func TestWhatALineSaysOfAStepStaysInIt(t *testing.T) {
	for _, tt := range []struct{ answer, removed string }{
		{"yes to all\ndon't touch the docs\nwrite golden files for all 3 tenants", ""},
		{"yes, go\nno new dependencies\nport the column mapping as it is", ""},
		{"yes, go ahead\nskip step 2\nrun the tests after each step", "Port column mapping"},
		{"yes, go ahead\nwithout step 2\n3 workers are enough", "Port column mapping"},
		{"yes, do 1 to 3\nthe port is 4", "Delete csv package"},
	} {
		d, _ := extract.Ground(talk(holdfast.Capsule{}, shown, "u: "+tt.answer), extract.Extraction{Plan: &extract.PlanItem{Verdict: extract.Accepted, Quote: tt.answer}})
		if d.Plan == nil || d.Plan.Verdict != holdfast.PlanAccepted || strings.Join(d.Plan.Removed, " | ") != tt.removed {
			t.Errorf("%q: %+v, want %q removed", tt.answer, d.Plan, tt.removed)
		}
	}
}

// A number of a step is taken, left out, or only spoken of, by what stands before it.
func TestWhatIsSaidOfANumberedStep(t *testing.T) {
	const add, port, golden, del = "Add reader behind interface Source", "Port column mapping", "Golden files for 3 tenants", "Delete csv package"
	for _, tt := range []struct{ answer, removed string }{
		{"Yes, but don't do step 2.", port},
		{"Yes, but we don't need step 2.", port},
		{"Ja, aber ohne den Schritt 2.", port},
		{"Sí, pero sin el paso 2.", port},
		{"Oui, sauf l'étape 2.", port},
		{"Yes, but don't skip step 2.", ""},
		{"Yes, and don't forget step 2.", ""},
		{"Yes, I like step 2.", ""},
		{"Looks good, especially step 2.", ""},
		{"Ok, aber Schritt 3 vor Schritt 2.", ""},
		{"Yes, but not the csv package.", del},
		{"Yes, just without the csv package.", del},
		{"Yes, except the csv package.", del},
		{"Yes, but the csv package stays.", del},
		{"Ja, aber nicht das csv package.", del},
		{"Yes, but not without the csv package.", ""},
		{"Good, step 2.", add + " | " + golden + " | " + del},
		{"Yes, just the steps 1 and 2.", golden + " | " + del},
	} {
		d, _ := extract.Ground(talk(holdfast.Capsule{}, shown, "u: "+tt.answer), extract.Extraction{Plan: &extract.PlanItem{Verdict: extract.Accepted, Quote: tt.answer}})
		if d.Plan == nil || d.Plan.Verdict != holdfast.PlanAccepted || strings.Join(d.Plan.Removed, " | ") != tt.removed {
			t.Errorf("%q: %+v, want %q removed", tt.answer, d.Plan, tt.removed)
		}
	}
}
