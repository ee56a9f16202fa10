package continuity_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
)

// frozen reads a capsule as it was once written. The files never change.
func frozen(t *testing.T, name string) (holdfast.Capsule, []byte) {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var c holdfast.Capsule
	if err := dec.Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c, raw
}

func TestFrozenCapsulesDecodeForever(t *testing.T) {
	for _, name := range []string{"capsule-v1-structured.json", "capsule-v1-extracted.json"} {
		t.Run(name, func(t *testing.T) {
			c, raw := frozen(t, name)
			if got := continuity.Seal(c); got.Digest != c.Digest {
				t.Errorf("the digest became %s, it was %s", got.Digest, c.Digest)
			}
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetIndent("", "  ")
			if err := enc.Encode(c); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(raw), b.String()); diff != "" {
				t.Errorf("it is written otherwise:\n%s", diff)
			}
		})
	}
}

func TestTheDigestCoversEveryListAndNoWatermark(t *testing.T) {
	base, _ := frozen(t, "capsule-v1-extracted.json")
	for _, tt := range []struct {
		name    string
		change  func(*holdfast.Capsule)
		differs bool
	}{
		{"the watermark is no content", func(c *holdfast.Capsule) { c.Watermark = "m-99" }, false},
		{"the revision is no content", func(c *holdfast.Capsule) { c.Revision = 99 }, false},
		{"a rationale", func(c *holdfast.Capsule) { c.Decisions[0].Rationale = "" }, true},
		{"a constraint", func(c *holdfast.Capsule) { c.Constraints[0].Status = holdfast.FactLifted }, true},
		{"an alternative", func(c *holdfast.Capsule) { c.RejectedAlternatives[0].Reason = "" }, true},
		{"a question", func(c *holdfast.Capsule) { c.OpenQuestions[0].Status = holdfast.FactAnswered }, true},
		{"a fact", func(c *holdfast.Capsule) { c.Facts[0].Statement = "another" }, true},
		{"the evidence of the plan", func(c *holdfast.Capsule) { c.Plan.Evidence.Quote = "another" }, true},
		{"a step of the proposal", func(c *holdfast.Capsule) { c.Proposal.Steps[0].Text = "another" }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := frozen(t, "capsule-v1-extracted.json")
			tt.change(&c)
			if differs := continuity.Seal(c).Digest != base.Digest; differs != tt.differs {
				t.Errorf("the digest differs: %t", differs)
			}
		})
	}
}

func TestACapsuleThatHoldsOneListIsNotEmpty(t *testing.T) {
	for name, c := range map[string]holdfast.Capsule{
		"a constraint":   {Constraints: make([]holdfast.Constraint, 1)},
		"an alternative": {RejectedAlternatives: make([]holdfast.Alternative, 1)},
		"a question":     {OpenQuestions: make([]holdfast.Question, 1)},
		"a fact":         {Facts: make([]holdfast.Fact, 1)},
	} {
		if continuity.Empty(c) {
			t.Errorf("%s counts as nothing", name)
		}
	}
	if !continuity.Empty(holdfast.Capsule{Watermark: "m", Revision: 1}) {
		t.Error("a watermark alone counts as content")
	}
}
