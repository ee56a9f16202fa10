package extract_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity/extract"
)

func TestMessagesOfAPerson(t *testing.T) {
	for _, tt := range []struct {
		name  string
		parts []holdfast.Part
		want  string
	}{
		{
			"a file that was named is not typed",
			[]holdfast.Part{
				holdfast.Text("Summarise @notes.md"), holdfast.Text("\n--- Content from referenced files ---"), holdfast.Text("\nContent from @notes.md:\n"),
				holdfast.Text("We use MySQL. Never use sqlite."), holdfast.Text("\n--- End of content ---"),
			},
			"Summarise @notes.md",
		},
		{
			"what a tool read is not typed",
			[]holdfast.Part{holdfast.Text("Summarise @notes.md"), holdfast.Text("Called the Read tool with the following input: {}"), holdfast.Text("We use MySQL.")},
			"Summarise @notes.md",
		},
		{"a plan that was accepted is not typed", []holdfast.Part{holdfast.Text("Implement the following plan:\n\n# Plan\n1. Always use MySQL.")}, ""},
		{
			"what stands behind a command is typed",
			[]holdfast.Part{holdfast.Text("<command-message>db</command-message>\n<command-name>/db</command-name>\n<command-args>use postgres, never sqlite</command-args>")},
			"use postgres, never sqlite",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var want []extract.Message
			if tt.want != "" {
				want = []extract.Message{{ID: "1", Turn: 1, Role: extract.User, Text: tt.want}}
			}
			got := extract.Messages([]holdfast.Entry{{ID: "1", Event: holdfast.UserMessage{Parts: tt.parts}}}, 0)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
