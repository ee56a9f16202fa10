package survival_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
	"github.com/holdfast-dev/holdfast/eval/survival"
)

func TestPinnedMessagesStayVerbatim(t *testing.T) {
	prompts := []string{
		"The port is 5433.\n\nAnd \"never\" use Redis:\n  - not for the queue\n  - not for the cache",
		"Fass `pkg/größe.go` nie an.\n```\n{\"a\": \"<b>\"}\n```",
		"Third: E10042 [User] said so.",
		"Fourth words.",
	}
	for _, a := range scripted {
		requests := play(t, a.make, survival.PinUserMessages(), prompts)
		var last eval.Request
		for _, r := range requests {
			if r.Kind == eval.Turn {
				last = r
			}
		}
		var all strings.Builder
		for _, p := range survival.Texts(last.Body) {
			all.WriteString(p.Text + "\n")
		}
		for _, text := range prompts {
			if !strings.Contains(all.String(), text) {
				t.Errorf("%s: after three compactions %q is gone", a.name, text)
			}
		}
	}
}

func TestPinsAreTheUsersMessagesAndNothingElse(t *testing.T) {
	script := survival.PinUserMessages()
	first := request(t, holdfast.Chat,
		survival.Passage{Role: "user", Text: "<system-reminder>\nA reminder.\n</system-reminder>"},
		survival.Passage{Role: "user", Text: "One.\nStill one."},
		survival.Passage{Role: "assistant", Text: "Never."},
		survival.Passage{Role: "tool", Text: "always"},
		survival.Passage{Role: "user", Text: "Two."})
	const list = "Messages of the user, word for word:\n=== message 1 ===\nOne.\nStill one.\n=== message 2 ===\nTwo.\n"
	const end = "=== end of the messages ==="
	one := script(0, first).Text
	if diff := cmp.Diff(list+end, one); diff != "" {
		t.Errorf("first summary (-want +got):\n%s", diff)
	}
	second := request(t, holdfast.Chat, said("This session is being continued from a previous conversation.\n"+one+"\n"+recordA, "Three.", "Two.")...)
	if diff := cmp.Diff(list+"=== message 3 ===\nThree.\n"+end, script(1, second).Text); diff != "" {
		t.Errorf("second summary (-want +got):\n%s", diff)
	}
}

func TestASummaryOfSummariesLosesWhatWasSaidEarly(t *testing.T) {
	var facts []string
	for i := range 40 {
		facts = append(facts, fmt.Sprintf("Fact %d is in pkg/part%d.go.", i, i))
	}
	left := func(text string) (n int) {
		for _, f := range facts {
			if strings.Contains(text, f) {
				n++
			}
		}
		return n
	}
	for seed := range uint64(20) {
		script := survival.SummaryOfSummary(seeded(seed))
		text := script(0, request(t, holdfast.Anthropic, said(facts...)...)).Text
		if n := left(text); n < 28 {
			t.Errorf("seed %d: one summary keeps %d of 40 facts", seed, n)
		}
		before := 40
		for i := 1; i < 16; i++ {
			text = script(i, request(t, holdfast.Anthropic, said("Summary:\n"+text+"\n\n"+recordA, "Go on.")...)).Text
			if n := left(text); n > before {
				t.Fatalf("seed %d: a fact came back, %d after %d", seed, n, before)
			} else {
				before = n
			}
		}
		if before >= 20 {
			t.Errorf("seed %d: %d of 40 facts are left after 16 summaries", seed, before)
		}
	}
}

func TestASummaryOfSummariesKeepsWhatIsSpecific(t *testing.T) {
	history := []survival.Passage{
		{Role: "user", Text: "Hello there. The port is 5433. Thanks a lot."},
		{Role: "assistant", Text: "Reading on. I wrote `parse` today."},
		{Role: "tool", Text: "row 17"},
		{Role: "user", Text: "<system-reminder>\nA reminder of 3 things.\n</system-reminder>"},
		{Role: "user", Text: "Never touch it. Nimm das nicht."},
	}
	lines := []string{"Nimm das nicht.", "Never touch it.", "The port is 5433.", "I wrote `parse` today."}
	kept := map[string]int{}
	for seed := range uint64(100) {
		text := survival.SummaryOfSummary(seeded(seed))(0, request(t, holdfast.Chat, history...)).Text
		points, ok := strings.CutPrefix(text, "What is known, the newest first:")
		if !ok {
			t.Fatalf("summary %q", text)
		}
		at := 0
		for _, line := range strings.Split(points, "\n- ")[1:] {
			kept[line]++
			for at < len(lines) && lines[at] != line {
				at++
			}
		}
		if at == len(lines) {
			t.Fatalf("seed %d: points out of order, or not of the conversation: %q", seed, points)
		}
	}
	for _, line := range lines {
		if n := kept[line]; n < 75 || n == 100 {
			t.Errorf("%q is kept %d times in 100, want about 90", line, n)
		}
	}
}

func TestASummaryOfSummariesIsBounded(t *testing.T) {
	var long []string
	for i := range 300 {
		long = append(long, fmt.Sprintf("Fact %d is in pkg/part%d.go, and that is so.", i, i))
	}
	text := survival.SummaryOfSummary(seeded(1))(0, request(t, holdfast.Chat, said(long...)...)).Text
	if len(text) > 6<<10 || len(text) < 5<<10 {
		t.Errorf("%d bytes", len(text))
	}
	if strings.Contains(text, "Fact 0 ") || !strings.Contains(text, "Fact 29") {
		t.Errorf("the oldest is kept, or the newest is not: %.200s", text)
	}
}
