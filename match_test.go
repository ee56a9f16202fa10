package holdfast_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"claude-*", "claude-opus-4", true},
		{"claude-*", "claude-", true},
		{"claude-*", "claude", false},
		{"claude-*", "x-claude-opus", false},
		{"*", "anything/at:all", true},
		{"*-mini", "gpt-5-mini", true},
		{"*-mini", "gpt-5-mini-2", false},
		{"gpt-*-mini", "gpt-5-mini", true},
		{"gpt-*-mini", "gpt-mini", false},
		{"a*b*c", "a-b-b-c", true},
		{"a*b*c", "a-c-b", false},
		{"*/llama*", "meta/llama-3", true},
		{"gpt-5", "gpt-5", true},
		{"gpt-5", "gpt-5.1", false},
		{"gpt-5", "GPT-5", false},
		{"**", "x", true},
		{"a**", "a", true},
	} {
		if got := holdfast.Matches(c.pattern, c.text); got != c.want {
			t.Errorf("Matches(%q, %q) = %v", c.pattern, c.text, got)
		}
	}
}

func TestMatchingTakesNoLongerThanTheProductOfLengths(t *testing.T) {
	pattern := strings.Repeat("*a", 2000) + "b"
	if holdfast.Matches(pattern, strings.Repeat("a", 4000)) {
		t.Error("a text without b matched")
	}
}
