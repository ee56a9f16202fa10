package conversations_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/engine/conversations"
)

// TestImportOfFilesThatBeginAlike is of files whose lines have no ids and that have
// no head: only their lines tell them apart.
func TestImportOfFilesThatBeginAlike(t *testing.T) {
	const turn = `{"kind":"turn"}` + "\n"
	said := func(kind, text string) string {
		return `{"kind":"` + kind + `","content":[{"type":"text","text":"` + text + `"}]}` + "\n"
	}
	a, b := turn+said("user", "A"), turn+said("user", "B")
	long := turn + said("user", "A") + said("assistant", "yes")
	other := turn + said("user", "A") + said("assistant", "no")
	cases := []struct {
		name  string
		files []string
		of    []int    // which conversation each file is, by the order in which they began
		title []string // of each conversation
		want  []string // the text of each conversation, without ids and times
	}{
		{"two first messages", []string{a, b}, []int{0, 1}, []string{"A", "B"}, []string{a, b}},
		{"each of them again", []string{a, b, a, b}, []int{0, 1, 0, 1}, []string{"A", "B"}, []string{a, b}},
		{"two answers to one message", []string{long, other, other, long}, []int{0, 1, 1, 0}, []string{"A", "A"}, []string{long, other}},
		{"the second one grows", []string{a, b, b + turn}, []int{0, 1, 1}, []string{"A", "B"}, []string{a, b + turn}},
		{"the second one grows in two ways", []string{a, b, b + turn, b + said("assistant", "no")}, []int{0, 1, 1, 2}, []string{"A", "B", "B"}, []string{a, b + turn, b + said("assistant", "no")}},
		{"a line that cannot be read stands before the difference", []string{"{\n" + a, "{\n" + b, "{\n" + b}, []int{0, 1, 1}, []string{"A", "B"}, []string{a, b}},
		{"lines of unknown kinds differ", []string{turn + `{"kind":"x","n":1}` + "\n", turn + `{"kind":"x","n":2}` + "\n", turn + `{"kind":"x","n":2}` + "\n"}, []int{0, 1, 1}, []string{"", ""}, []string{turn + `{"kind":"x","n":1}` + "\n", turn + `{"kind":"x","n":2}` + "\n"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newService(t)
			var began []conversations.Imported
			for i, file := range c.files {
				done, _ := importText(t, s, file)
				if len(done) != 1 {
					t.Fatalf("file %d is %d conversations", i+1, len(done))
				}
				if done[0].New {
					began = append(began, done[0])
				}
				if c.of[i] >= len(began) || began[c.of[i]].ID != done[0].ID {
					t.Fatalf("file %d is %s, want conversation %d of %v", i+1, done[0].ID, c.of[i]+1, began)
				}
				if got, want := done[0].Added+done[0].Known, strings.Count(strings.TrimPrefix(file, "{\n"), "\n"); got != want {
					t.Errorf("file %d: %d events added or known, want %d", i+1, got, want)
				}
			}
			var titles, texts []string
			for _, i := range began {
				titles = append(titles, i.Title)
				texts = append(texts, plain(export(t, s, i.ID)))
			}
			if diff := cmp.Diff(c.title, titles); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.want, texts); diff != "" {
				t.Error(diff)
			}
		})
	}
}

var stamps = regexp.MustCompile(`,"(id|at)":"[^"]*"`)

// plain is an export without its head, ids and times.
func plain(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, `"kind":"conversation"`) {
			continue
		}
		b.WriteString(stamps.ReplaceAllString(line, ""))
	}
	return b.String()
}
