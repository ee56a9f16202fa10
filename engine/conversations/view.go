package conversations

import (
	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/conversation"
)

// The room of a rendered capsule in a view, in estimated tokens. It is no
// setting: what a stream projects to depends on the stream alone.
const (
	capsuleTokens = 2500
	wordsTokens   = 1000
)

// View is what the model is sent of a stream.
func View(entries []holdfast.Entry) conversation.View { return conversation.Project(entries, Render) }

// Render is a capsule as it stands in a view; "" for one with nothing to tell.
func Render(c holdfast.Capsule) string {
	if c.SchemaVersion > holdfast.SchemaVersion {
		return "" // what a later version means by it is not known
	}
	block, _ := continuity.Render(c, continuity.All, continuity.Budget{Tokens: capsuleTokens, Words: wordsTokens}, continuity.EstimateTokens)
	return block.Text
}
