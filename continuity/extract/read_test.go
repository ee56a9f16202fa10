package extract_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
)

func TestOnlyWhatWasGroundedAndIsPreservedComesOutOfACall(t *testing.T) {
	batch := extract.Batch{
		Base:      holdfast.Capsule{Revision: 3},
		Messages:  []extract.Message{{ID: "m1", Turn: 2, Role: extract.User, Text: "Use port 5433, the old one is taken."}},
		Watermark: "m1",
	}
	said := continuity.Delta{
		Constraints: []holdfast.Constraint{{
			Statement: "Use port 5433", Status: holdfast.FactActive,
			Evidence: holdfast.Evidence{By: holdfast.ByUser, Turn: 2, Quote: "Use port 5433, the old one is taken."},
		}},
		Watermark: "m1",
	}
	failed := errors.New("no route")
	without := continuity.All
	without.Constraints = false
	for _, tt := range []struct {
		name   string
		keep   continuity.Preserve
		answer extract.Answer
		err    error
		want   extract.Reading
	}{
		{
			"what the person said", continuity.All,
			extract.Answer{Text: `{"schema_version":1,"base_revision":3,"constraints":[{"statement":"Use port 5433","quote":"Use port 5433"}]}`},
			nil,
			extract.Reading{Delta: said, Doubted: extract.Counts{}},
		},
		{
			"what is not preserved", without,
			extract.Answer{Text: `{"schema_version":1,"base_revision":3,"constraints":[{"statement":"Use port 5433","quote":"Use port 5433"}]}`},
			nil,
			extract.Reading{Delta: continuity.Delta{Watermark: "m1"}, Doubted: extract.Counts{}},
		},
		{"prose", continuity.All, extract.Answer{Text: "I think port 5433."}, nil, extract.Reading{Doubted: extract.Counts{}, Discarded: extract.Prose}},
		{"a tool call", continuity.All, extract.Answer{Calls: 1}, nil, extract.Reading{Doubted: extract.Counts{}, Discarded: extract.ToolCall}},
		{"a call that failed", continuity.All, extract.Answer{}, failed, extract.Reading{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var sent extract.Prompt
			got, err := extract.Read(batch, "=word", tt.keep, func(p extract.Prompt) (extract.Answer, error) {
				sent = p
				return tt.answer, tt.err
			})
			if !errors.Is(err, tt.err) {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(batch.Prompt("=word"), sent); diff != "" {
				t.Errorf("the prompt: %s", diff)
			}
		})
	}
}
