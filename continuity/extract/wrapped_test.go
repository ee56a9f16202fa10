package extract_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity/extract"
)

// An editor wraps lines anywhere: what takes a sentence back may stand in the line
// before the one that is cited.
func TestAWrappedSentenceIsCitedWhole(t *testing.T) {
	const words = "We have looked at this with the customer, and for now we should never\npush to the main branch."
	const whole = "We have looked at this with the customer, and for now we should never push to the main branch."
	d, _ := extract.Ground(talk(holdfast.Capsule{}, "u: "+words), extract.Extraction{
		Constraints: []extract.Item{{Statement: "push to the main branch", Quote: "push to the main branch."}},
	})
	got := d.Constraints[0]
	if got.Statement != whole || got.Evidence.Quote != whole {
		t.Errorf("%q by %q, want the whole sentence", got.Statement, got.Evidence.Quote)
	}
}
