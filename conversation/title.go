package conversation

import (
	"strings"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast"
)

// maxTitle bounds a title that is made of a message, in characters.
const maxTitle = 60

// TitleOf is a title made of a message that a person typed; "" for other events.
func TitleOf(e holdfast.Event) string {
	m, ok := e.(holdfast.UserMessage)
	if !ok || m.Synthetic {
		return ""
	}
	for _, p := range m.Parts {
		text, ok := p.(holdfast.Text)
		if words := strings.Fields(string(text)); ok && len(words) > 0 {
			return bounded(words)
		}
	}
	return ""
}

// bounded is as many of the words as a title has room for.
func bounded(words []string) string {
	title := ""
	for _, w := range words {
		longer := strings.TrimSpace(title + " " + w)
		if utf8.RuneCountInString(longer) > maxTitle {
			if title == "" {
				return string([]rune(w)[:maxTitle-1]) + "…"
			}
			return title + " …"
		}
		title = longer
	}
	return title
}
