package holdfast_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
)

func TestTheRoleOfACall(t *testing.T) {
	for purpose, want := range map[holdfast.Purpose]holdfast.Role{
		holdfast.ForTurn:       "primary",
		holdfast.ForSummary:    "summary",
		holdfast.ForTitle:      "title",
		holdfast.ForExtraction: "compaction_continuity_extractor",
	} {
		if got := purpose.Role(); got != want {
			t.Errorf("the role of a %s is %s, want %s", purpose, got, want)
		}
	}
}

func TestWhatWasNotToldCountsAsNothing(t *testing.T) {
	tokens := holdfast.Tokens{Input: new(int64(1)), CacheWrite: new(int64(3)), Reasoning: new(int64(5))}
	if got, want := tokens.Usage(), (holdfast.Usage{Input: 1, CacheWrite: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestCost(t *testing.T) {
	p := holdfast.Price{Input: 3_000_000, CacheRead: 300_000, CacheWrite: 3_750_000, Output: 15_000_000}
	for _, tt := range []struct {
		name  string
		usage holdfast.Usage
		want  int64
	}{
		{"nothing", holdfast.Usage{}, 0},
		{"one of each", holdfast.Usage{Input: 1, CacheRead: 1, CacheWrite: 1, Output: 1}, 22}, // 22.05
		{"half a millionth counts as one", holdfast.Usage{CacheRead: 5}, 2},                   // 1.5
		{"a row of the contract", holdfast.Usage{Input: 99, CacheRead: 170_000, CacheWrite: 3000, Output: 900}, 297 + 51_000 + 11_250 + 13_500},
		{"more than anybody will use", holdfast.Usage{Output: 999_999_999_999}, 14_999_999_999_985},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := p.Cost(tt.usage); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}
