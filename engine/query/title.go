package query

import (
	"context"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/conversation"
)

// maxTitleInput bounds what a title is made of, in bytes.
const maxTitleInput = 4000

// Title has a model write a title for a conversation that begins with a message.
func Title(ctx context.Context, r Route, asked holdfast.UserMessage) (string, error) {
	first := text(asked.Parts)
	if len(first) > maxTitleInput {
		first = strings.ToValidUTF8(first[:maxTitleInput], "")
	}
	call := holdfast.Call{
		Model:  r.Name,
		System: "You write titles. Answer with a title of at most six words for a conversation that begins with the message, in its language, without quotes.",
		Events: []holdfast.Event{holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text("The message:\n\n" + first)}}},
		// Models that reason need room before they answer.
		MaxOutput: min(r.MaxOutput, 2000),
	}
	reply, err := r.Model.Call(ctx, call, func(holdfast.Delta) {})
	if err != nil || reply.Finish != holdfast.FinishStop {
		return "", err
	}
	var b strings.Builder
	for _, e := range reply.Events {
		if m, ok := e.(holdfast.AssistantMessage); ok {
			b.WriteString(m.Text)
		}
	}
	title, _, _ := strings.Cut(strings.TrimSpace(b.String()), "\n")
	return conversation.TitleOf(holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text(strings.Trim(title, `"'“”`))}}), nil
}
