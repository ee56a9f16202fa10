package continuity_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/continuity"
)

func TestSentencesOfWrappedLines(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{
			"a sentence goes on over wrapped lines",
			"We have looked at this with the customer, and for now we should never\npush to the main branch. Use a branch of your own, and let the others\n`review` it.",
			[]string{
				"We have looked at this with the customer, and for now we should never\npush to the main branch. ",
				"Use a branch of your own, and let the others\n`review` it.",
			},
		},
		{
			"short lines are sentences of their own",
			"use sqlite\nnever push to main\nkeep the tests green",
			[]string{"use sqlite\n", "never push to main\n", "keep the tests green"},
		},
		{
			"a line in which the next word had room is not wrapped",
			"take the database that the other importer has already\nkeep the tests green while you are at it, and do not touch the others",
			[]string{"take the database that the other importer has already\n", "keep the tests green while you are at it, and do not touch the others"},
		},
		{
			"a list has its items, and what they go on with",
			"Do this, in the order in which it stands here, one after the other one\n- look at the reader of the importer, since it holds the connection that\n  nobody closes\n- write the test",
			[]string{
				"Do this, in the order in which it stands here, one after the other one\n",
				"- look at the reader of the importer, since it holds the connection that\n  nobody closes\n",
				"- write the test",
			},
		},
		{
			"a paragraph ends at an empty line",
			"We have looked at this with the customer, and for now we should never\n\npush to the main branch of the repository that the importer lives in.",
			[]string{"We have looked at this with the customer, and for now we should never\n", "\n", "push to the main branch of the repository that the importer lives in."},
		},
		{
			"what is quoted is not part of it",
			"We have looked at this with the customer, and for now we should never\n> push to the main branch of the repository that the importer lives in",
			[]string{"We have looked at this with the customer, and for now we should never\n", "> push to the main branch of the repository that the importer lives in"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, s := range continuity.Sentences(tt.text) {
				got = append(got, s.Text)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSentencesInARowAreTheMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.StringMatching("[ >`\\ta-zA-Z0-9.!?-]{0,90}")).Draw(t, "lines"), "\n")
		var b strings.Builder
		for _, s := range continuity.Sentences(text) {
			if s.Text == "" {
				t.Fatal("an empty piece")
			}
			b.WriteString(s.Text)
		}
		if b.String() != text {
			t.Fatalf("got %q", b.String())
		}
	})
}

// A text of many lines that all go on is cut in one pass: joined line by line, it would
// take its length two thousand times. The race detector has regular expressions take
// memory with each line.
func TestSentencesOfManyWrappedLines(t *testing.T) {
	text := strings.Repeat(strings.Repeat("and ", 19)+"so\n", 4000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	continuity.Sentences(text)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 500*uint64(len(text)) {
		t.Errorf("%d bytes of memory for a text of %d", used, len(text))
	}
}

func TestAWordOfChoiceWithACurledApostrophe(t *testing.T) {
	const typed = "The old schema of the importer is what you mustn’t touch."
	texts := []string{"Build it.", typed}
	for i := range 30 {
		texts = append(texts, "and once more "+strings.Repeat("x", i))
	}
	b, _ := continuity.Render(said(texts...), continuity.All, continuity.Budget{Tokens: 2500, Words: 300}, continuity.EstimateTokens)
	if !strings.Contains(b.Text, typed) {
		t.Errorf("it is missing in\n%s", b.Text)
	}
}
