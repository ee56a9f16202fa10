package main

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/holdfast-dev/holdfast/engine/measure"
)

// notWider fails where a line of text takes more columns than a terminal has.
func notWider(t *testing.T, text string, width int) {
	t.Helper()
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); ansi.StringWidth(line) > width {
			t.Errorf("wider than %d: %q", width, line)
		}
	}
}

func TestATableThatIsTooWideIsWrittenByRows(t *testing.T) {
	rows := func(row func(...string)) {
		row("a.jsonl", "12", "", "small")
		row("b.jsonl", "3", "in the newest event")
	}
	const head = "session\tturns\tplan\t"
	var wide, narrow strings.Builder
	grid(&wide, 45, head, rows)
	want := "session  turns  plan  \na.jsonl  12           small\nb.jsonl  3      in the newest event\n"
	if wide.String() != want {
		t.Errorf("%q, want %q", wide.String(), want)
	}
	grid(&narrow, 20, head, rows)
	want = "a.jsonl\n  turns: 12\n  small\nb.jsonl\n  turns: 3\n  plan: in the\n    newest event\n"
	if narrow.String() != want {
		t.Errorf("%q, want %q", narrow.String(), want)
	}
}

func TestReportsFitANarrowTerminal(t *testing.T) {
	report := reductionJSON{
		Conversations: []reducedJSON{{
			File: "session.jsonl",
			Reduction: measure.Reduction{
				Turns: 12, Raw: 61_000, Policies: []measure.Saved{{Policy: "turns", Share: 0.7}, {Policy: "events", Share: 0.8, Plan: measure.NoPlan}},
			},
		}},
		Policies: []measure.Pooled{{Policy: "events", About: "events, all but the first turn and the newest 10,000 tokens, in which texts and plan calls stay"}},
		Skipped:  []skippedJSON{{File: "notes.md", Reason: "no session is in it, as its first line is no JSON object at all"}},
	}
	for _, width := range []int{40, 80} {
		notWider(t, fold(report.text(width), width), width)
	}
	p := grown()
	p.Title = strings.Repeat("a long title ", 8)
	notWider(t, (&app{width: 40}).plotText(p), 40)
}
