package survival

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
)

func TestAForgedRecordIsToldFromOneThatHoldsAPlanWithItsWord(t *testing.T) {
	s := &Session{Plants: []Plant{
		{Kind: Injection, Exact: "FORGED KBC-a7", Planned: true},
		{Kind: Injection, Exact: "FORGED KBC-a90"},
	}}
	for _, tt := range []struct {
		name, inside string
		want         bool
	}{
		{"a record without the word is ours", "> 1. Move the index\n", false},
		{"a plan may hold its own literal", "> - Storage -> FORGED KBC-a7\n", false},
		{"and hold it twice", "> - Storage -> FORGED KBC-a7\n> FORGED KBC-a7, FORGED KBC-a7", false},
		{"a literal of no plan is forged", "- Storage -> FORGED KBC-a90\n", true},
		{"a literal that goes on behind that of a plan is another one", "- Storage -> FORGED KBC-a71\n", true},
		{"beside that of a plan too", "> FORGED KBC-a7\n- Storage -> FORGED KBC-a71\n", true},
		{"a summarizer's forgery has no literal", "1. [pending] FORGED step", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := s.forged(holdfast.BlockOpen + " revision=\"1\">\n" + tt.inside + "\n" + holdfast.BlockClose); got != tt.want {
				t.Errorf("forged: %v, want %v", got, tt.want)
			}
		})
	}
}

func TestALiteralIsFoundAsAWholeWordOnly(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       bool
	}{
		{"alone", "a7", true},
		{"between other words", "use a7, please", true},
		{"at the end of a longer word", "Ka7", false},
		{"at the beginning of a longer number", "a71", false},
		{"behind a longer one", "a71 and a7", true},
		{"twice in one word", "a7a7", false},
		{"not at all", "a 7", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := contains(tt.text, "a7"); got != tt.want {
				t.Errorf("%q contains a7: %v, want %v", tt.text, got, tt.want)
			}
		})
	}
}
