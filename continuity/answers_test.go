package continuity_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
)

func TestFoldAnswersWithNotes(t *testing.T) {
	const (
		one = `{"questions":[{"question":"Which db?","header":"DB","options":[{"label":"sqlite","preview":"engine = \"sqlite\"\nsee notes: below"},{"label":"postgres"}]}]}`
		two = `{"questions":[{"question":"Which db?","header":"DB"},{"question":"Port?","header":"Port"}]}`
		end = ". You can now continue with these answers in mind."
	)
	for _, tt := range []struct {
		name, tool, args, result string
		want                     []string
	}{
		{
			"notes belong to the answer", "AskUserQuestion", one,
			`Your questions have been answered: "Which db?"="sqlite" notes: only for the tests, production stays on "postgres"` + end,
			[]string{`Which db? = sqlite (notes: only for the tests, production stays on "postgres")`},
		},
		{
			"notes alone are the answer", "AskUserQuestion", one,
			`The user answered: "Which db?"=(no option selected) notes: take mariadb. Read the answers carefully`,
			[]string{"Which db? = take mariadb"},
		},
		{"no option and no notes are no answer", "AskUserQuestion", one, `The user answered: "Which db?"=(no option selected). Read the answers carefully`, nil},
		{
			"a preview is the model's", "AskUserQuestion", one,
			"Your questions have been answered: \"Which db?\"=\"sqlite\" selected preview:\nengine = \"sqlite\"\nsee notes: below" + end,
			[]string{"Which db? = sqlite"},
		},
		{
			"notes stand behind a preview", "AskUserQuestion", one,
			"Your questions have been answered: \"Which db?\"=\"sqlite\" selected preview:\nengine = \"sqlite\"\nsee notes: below notes: on disk" + end,
			[]string{"Which db? = sqlite (notes: on disk)"},
		},
		{
			"notes stand behind a preview that no option has", "AskUserQuestion", one,
			"Your questions have been answered: \"Which db?\"=\"sqlite\" selected preview:\nbackup = \"s3\" notes: on disk" + end,
			[]string{"Which db? = sqlite (notes: on disk)"},
		},
		{
			"notes end where the next question begins", "AskUserQuestion", two,
			`Your questions have been answered: "Which db?"="sqlite" notes: on disk, "Port?"=(no option selected) user notes: any above 1024` + end,
			[]string{"Which db? = sqlite (notes: on disk)", "Port? = any above 1024"},
		},
		{
			"an answer of the user's own may end with a sentence", "AskUserQuestion", two,
			`Your questions have been answered: "Which db?"="a, my "own" one. Or b", "Port?"="1"` + end,
			[]string{`Which db? = a, my "own" one. Or b`, "Port? = 1"},
		},
		{
			"questions under one header have their answers in order", "ask_user_question",
			`{"questions":[{"question":"Which db for tests?","header":"DB"},{"question":"Which db for prod?","header":"DB"}]}`,
			"User has provided the following answers:\n\n**DB**: sqlite\n**DB**: postgres",
			[]string{"Which db for tests? = sqlite", "Which db for prod? = postgres"},
		},
		{
			"of two questions under one header a single answer is nobody's", "ask_user_question",
			`{"questions":[{"question":"Which db for tests?","header":"DB"},{"question":"Which db for prod?","header":"DB"},{"question":"Port?","header":"Port"}]}`,
			"User has provided the following answers:\n\n**DB**: sqlite\n**Port**: 1",
			[]string{"Port? = 1"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := continuity.Fold(holdfast.Capsule{}, []continuity.Call{call("1", tt.tool, tt.args, tt.result)}, continuity.All)
			var got []string
			for _, d := range c.Decisions {
				got = append(got, d.Subject+" = "+d.Statement)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
