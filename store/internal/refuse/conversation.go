package refuse

import (
	"bytes"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// NoConversation refuses a conversation that was deleted or never written.
func NoConversation(id holdfast.ConversationID) error {
	return holdfast.Errorf(holdfast.ErrNotFound,
		"conversation %s does not exist: it was deleted or never written; `holdfast conversation ls` lists those that exist", id)
}

// NoRecording refuses a branch that no conversation records.
func NoRecording(branch holdfast.BranchID) error {
	return holdfast.Errorf(holdfast.ErrNotFound,
		"no conversation records branch %q: one is made with the first turn that is recorded", branch)
}

// TakenConversation refuses a new conversation under an id that is taken.
func TakenConversation(id holdfast.ConversationID) error {
	return holdfast.Errorf(holdfast.ErrConflict, "conversation %s exists already: read it and append to it", id)
}

// TakenRecording refuses a second recording of one branch.
func TakenRecording(branch holdfast.BranchID) error {
	return holdfast.Errorf(holdfast.ErrConflict,
		"another conversation records branch %s already: look it up by the branch and append to it", branch)
}

// MovedOn refuses an append behind an event that is not the newest.
func MovedOn(id holdfast.ConversationID, after, head int64) error {
	return holdfast.Errorf(holdfast.ErrConflict,
		"conversation %s ends with event %d and not with event %d, nothing was written: read it again and append behind its end", id, head, after)
}

// TakenEvent refuses an event under an id that is taken.
func TakenEvent(id holdfast.ConversationID, event holdfast.EventID) error {
	return holdfast.Errorf(holdfast.ErrConflict,
		"conversation %s has an event %s already, nothing was written: read it again and append what is missing", id, event)
}

// NewerStream refuses to write to a stream of a later version.
func NewerStream(id holdfast.ConversationID, theirs, ours int) error {
	return holdfast.Errorf(holdfast.ErrNewer,
		"conversation %s was written by a newer version of Holdfast (its stream has version %d, this program writes %d): "+
			"it can be read here; upgrade Holdfast to write to it", id, theirs, ours)
}

// Held refuses a lease while another one is in force.
func Held(id holdfast.ConversationID, holder string, until time.Time) error {
	return holdfast.Errorf(holdfast.ErrConflict,
		"conversation %s is in use by %s until %s: wait, or end that program", id, holder, until.UTC().Format(time.RFC3339))
}

// NoToken refuses a lease that nobody could tell from another one.
func NoToken(id holdfast.ConversationID) error {
	return holdfast.Errorf(holdfast.ErrInternal,
		"a lease on conversation %s has no token, which is a defect of Holdfast: please report it", id)
}

// Event refuses an event that no stream may hold; it returns nil for any other.
func Event(id holdfast.ConversationID, event holdfast.EventID, kind string, line []byte) error {
	if event != "" && kind != "" && len(line) > 0 && bytes.IndexByte(line, '\n') < 0 {
		return nil
	}
	return holdfast.Errorf(holdfast.ErrInternal,
		"event %q for conversation %s has no id, no kind or not one line of text, which is a defect of Holdfast: "+
			"nothing was written, please report it", event, id)
}
