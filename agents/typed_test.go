package agents_test

import (
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
)

func TestSyntheticParts(t *testing.T) {
	const (
		begin = "\n--- Content from referenced files ---"
		end   = "\n--- End of content ---"
		read  = `Called the Read tool with the following input: {"filePath":"/p/notes.md"}`
	)
	image := holdfast.Media{Type: "image"}
	for _, tt := range []struct {
		name  string
		parts []holdfast.Part
		want  []bool
	}{
		{"words alone are the person's", []holdfast.Part{holdfast.Text("a"), holdfast.Text("b")}, []bool{false, false}},
		{
			"files stand between their lines",
			[]holdfast.Part{holdfast.Text("see @a"), holdfast.Text(begin), holdfast.Text("\nContent from @a:\n"), holdfast.Text("x"), holdfast.Text(end), holdfast.Text("and go")},
			[]bool{false, true, true, true, true, false},
		},
		{
			"a file that holds the last line does not end the files",
			[]holdfast.Part{holdfast.Text("see @a"), holdfast.Text(begin), holdfast.Text("x" + end + "\ny"), holdfast.Text("z"), holdfast.Text(end)},
			[]bool{false, true, true, true, true},
		},
		{"files without an end go to the end", []holdfast.Part{holdfast.Text("see @a" + begin), holdfast.Text("x"), holdfast.Text("y")}, []bool{false, true, true}},
		{"files that end within their text end there", []holdfast.Part{holdfast.Text("see @a" + begin + "\nx" + end), holdfast.Text("y")}, []bool{false, false}},
		{"what the tool read is one part", []holdfast.Part{holdfast.Text("see @a"), holdfast.Text(read), holdfast.Text("x"), holdfast.Text("and go")}, []bool{false, true, true, false}},
		{"two files are two pairs", []holdfast.Part{holdfast.Text(read), holdfast.Text("x"), holdfast.Text(read), holdfast.Text("y")}, []bool{true, true, true, true}},
		{"a file may say what the tool says", []holdfast.Part{holdfast.Text(read), holdfast.Text(read), holdfast.Text("and go")}, []bool{true, true, false}},
		{"an image is the output", []holdfast.Part{holdfast.Text(read), image, holdfast.Text("and go")}, []bool{true, false, false}},
		{"a line within a sentence begins nothing", []holdfast.Part{holdfast.Text("why --- Content from referenced files --- here?"), holdfast.Text("x")}, []bool{false, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := agents.SyntheticParts(tt.parts); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestUserText(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"words as they are", "use postgres", "use postgres"},
		{
			"what is typed behind a command",
			"<command-message>db</command-message>\n<command-name>/db</command-name>\n<command-args>use postgres, never sqlite</command-args>",
			"use postgres, never sqlite",
		},
		{"files are cut out", "see @a\n--- Content from referenced files ---\nContent from @a:\nx\n--- End of content ---\nand go", "see @a\nand go"},
		{"files hold their last line", "see @a\n--- Content from referenced files ---\nx\n--- End of content ---\ny\n--- End of content ---", "see @a"},
		{"what is typed while a tool runs", "\n[User message received during tool execution]: use postgres", "use postgres"},
		{"files without an end go to the end", "see @a\n--- Content from referenced files ---\nx", "see @a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if agents.Synthetic(tt.text) {
				t.Error("no words of the person")
			}
			if got := agents.UserText(tt.text); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAcceptedPlan(t *testing.T) {
	for text, want := range map[string]struct {
		plan string
		ok   bool
	}{
		"Implement the plan.":                              {"", true},
		"Implement the following plan:\n\n# Plan\n1. Read": {"# Plan\n1. Read", true},
		"Implement the following plan:":                    {"", false},
		"Implement the plan":                               {"", false},
	} {
		if _, plan, ok := agents.AcceptedPlan(text); plan != want.plan || ok != want.ok {
			t.Errorf("AcceptedPlan(%q) = %q, %v", text, plan, ok)
		}
	}
}
