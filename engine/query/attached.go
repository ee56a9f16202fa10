package query

import (
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// Attached is the content of a text file as it goes along with a message: a text of
// its own, under the name of the file. It is sent to the model of the conversation,
// and neither to the extractor nor into the user's words: nobody typed it.
func Attached(name, content string) holdfast.Text {
	return holdfast.Text("File " + strings.ReplaceAll(name, "\n", " ") + ":\n" + content)
}

var attached = regexp.MustCompile(`^File [^\n]+:\n`)

// withoutFiles is a message without the files that went along with it.
func withoutFiles(m holdfast.UserMessage) holdfast.UserMessage {
	isFile := func(p holdfast.Part) bool {
		text, ok := p.(holdfast.Text)
		return ok && attached.MatchString(string(text))
	}
	if slices.ContainsFunc(m.Parts, isFile) {
		m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), isFile)
	}
	return m
}
