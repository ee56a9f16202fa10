package extract_test

import (
	"os"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/continuity/extract"
)

// corpus reads lines of a file; "#" begins a comment.
func corpus(t *testing.T, name string) (lines []string) {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// The gate costs a fact when it says no to a message that holds one, and a call when
// it says yes to one that holds none. In a typical session one message in four holds
// something.
func TestTheGate(t *testing.T) {
	holding, ordinary := corpus(t, "holding.txt"), corpus(t, "ordinary.txt")
	missed := 0
	for _, line := range holding {
		if !extract.Eligible(line) {
			missed++
			t.Logf("missed: %s", line)
		}
	}
	if recall := 1 - float64(missed)/float64(len(holding)); recall < 0.99 {
		t.Errorf("recall is %.1f %% of %d, at least 99 %%", 100*recall, len(holding))
	}
	sent := 0
	for _, line := range ordinary {
		if extract.Eligible(line) {
			sent++
			t.Logf("sent: %s", line)
		}
	}
	if share := 0.25 + 0.75*float64(sent)/float64(len(ordinary)); share > 0.45 {
		t.Errorf("%.1f %% of the messages are sent, at most 45 %%: %d of %d without need", 100*share, sent, len(ordinary))
	}
}

func TestEligible(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       bool
	}{
		{"nothing", " \n", false},
		{"marks alone", "...", false},
		{"a message that keeps the work going", "Please go on.", false},
		{"a proposal in the form of a question", "How about a new file for the parser?", true},
		{"an objection in the form of a question", "Why not a second cache?", true},
		{"a question that is one", "How do the tests find the file?", false},
		{"a question for more", "Anything else to fix here?", false},
		{"the same in German", "Bitte weitermachen.", false},
		{"the same in Chinese", "继续。", false},
		{"a language that no list covers", "Älä koske siihen", true},
		{"a remark on the time", "Hm, that took a while. Carry on.", false},
		{"the same remark in German", "Hm, das hat gedauert. Weiter.", false},
		{"a remark on the time with a wish", "That took a while. Use the cache from now on.", true},
		{"a name alone", "Postgres.", true},
		{"a value", "It is 48213", true},
		{"a path is no value", "Show me pkg/queue/file17.go again.", false},
		{"what stands in a fence is not the person's", "Look at this:\n```\nnever use redis on port 17\n```", false},
		{"what is pasted is not the person's either", "Why does this fail?\n" + strings.Repeat("2026-01-02T03:04:05Z WARN never=1 use=redis {a:1,b:[2,3]} 0x7fff\n", 40), false},
		{"but what is said beside it is", "Why does this fail?\n" + strings.Repeat("2026-01-02T03:04:05Z WARN never=1 use=redis {a:1,b:[2,3]} 0x7fff\n", 40) + "Use port 17.", true},
		{"what is quoted is not the person's", "Why?\n> never use redis on port 17", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := extract.Eligible(tt.text); got != tt.want {
				t.Errorf("eligible: %t", got)
			}
		})
	}
}

func TestPlanLike(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       bool
	}{
		{"a list", "So:\n- a\n- b", true},
		{"numbers in a line", "1. a. 2. b.", true},
		{"a proposal in prose", "I would move the reader first.", true},
		{"a proposal in German", "Mein Vorschlag: erst der Reader.", true},
		{"a report", "The tests are green and the file is written.", false},
		{"one point", "Done:\n- a", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := extract.PlanLike(tt.text); got != tt.want {
				t.Errorf("plan-like: %t", got)
			}
		})
	}
}
