package query

import (
	"regexp"
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity/extract"
)

// Attached is the content of a text file as it goes along with a message: a text of
// its own, under the name of the file. It is sent to the model of the conversation,
// and not to the extractor: nobody typed it.
func Attached(name, content string) holdfast.Text {
	return holdfast.Text("File " + name + ":\n" + content)
}

var attached = regexp.MustCompile(`^File [^\n]+:\n`)

// heard are the messages of a stream that may be read.
func heard(entries []holdfast.Entry) []extract.Message {
	isFile := func(p holdfast.Part) bool {
		text, ok := p.(holdfast.Text)
		return ok && attached.MatchString(string(text))
	}
	entries = slices.Clone(entries)
	for i, e := range entries {
		if m, ok := e.Event.(holdfast.UserMessage); ok && slices.ContainsFunc(m.Parts, isFile) {
			m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), isFile)
			entries[i].Event = m
		}
	}
	return extract.Messages(entries, 0)
}
