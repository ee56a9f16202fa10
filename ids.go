package holdfast

import "strings"

// Principal is who is authenticated, and pays.
type Principal string

// Local is the only principal of a server without keys. It stays the same
// whatever provider credential passes through, so that a refreshed login does
// not lose a session.
const Local Principal = "local"

// Caller is who a request is from.
type Caller struct {
	Principal Principal
	// Label is that of the key that the request carries; "" without one.
	Label string
}

// Identifiers that Holdfast makes itself (UUIDv7 in text form; events that are
// recorded of a session have UUIDv8, made of what they are).
type (
	SessionID  string
	BranchID   string
	BoundaryID string

	ConversationID string
	EventID        string

	AttemptID string
)

// Protocol names a wire format.
type Protocol string

// The four wire formats.
const (
	Anthropic Protocol = "anthropic" // POST /v1/messages
	Chat      Protocol = "chat"      // POST /v1/chat/completions
	Responses Protocol = "responses" // POST /v1/responses
	Gemini    Protocol = "gemini"    // POST /v1beta/models/M:generateContent
)

// Protocols lists all wire formats in their fixed order.
func Protocols() []Protocol { return []Protocol{Anthropic, Chat, Responses, Gemini} }

// KeyID names a key of Holdfast without telling it: 8 characters of a-z and 2-7.
type KeyID string

// KeyIDOf reads the id out of a text that begins like a key of Holdfast: hf_, 8
// characters, _ and whatever follows. It does so for damaged and invented keys
// too, so that whoever forwards credentials can keep back all that may be one.
// Tokens of Hugging Face, which begin alike, have no second underscore.
func KeyIDOf(credential string) (id KeyID, ok bool) {
	const length = 8
	rest, ok := strings.CutPrefix(credential, "hf_")
	if !ok || len(rest) <= length || rest[length] != '_' {
		return "", false
	}
	return KeyID(rest[:length]), true
}
