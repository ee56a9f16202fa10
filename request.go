package holdfast

// Span is a byte range [Start, End) of a body. The zero value means "absent".
type Span struct{ Start, End int }

// Of returns the bytes of body that the span covers.
func (s Span) Of(body []byte) []byte { return body[s.Start:s.End] }

// Present reports whether the span names a value.
func (s Span) Present() bool { return s.End > s.Start }

// Request is what one pass over a request body found. Spans index that body;
// nothing is decoded that nobody asked for.
type Request struct {
	Protocol Protocol
	Model    string
	Stream   bool
	// Messages are the elements of the history in order: messages (Anthropic,
	// Chat), input (Responses), contents (Gemini). An input that is one string
	// or one object counts as one element.
	Messages []Span
	// List is the span of the history value itself, brackets included.
	List Span
	// System and Tools are raw values: an absent one is not Present.
	System, Tools Span
	// ToolCount is the number of elements of Tools.
	ToolCount int
	// PreviousResponse is previous_response_id (Responses).
	PreviousResponse string
	// CacheKey is prompt_cache_key (Responses, Chat).
	CacheKey string
	// UserID is metadata.user_id (Anthropic), as sent.
	UserID string
	// Summarize is true when a summary is asked for in place of an answer: compaction
	// of type summarize (Anthropic).
	Summarize bool
}

// Tool is one tool that a request offers.
type Tool struct {
	Name string
	// Server is true for a tool that the provider runs itself: it has no
	// schema of the client's.
	Server bool
}

// Answer is what an upstream's answer held, read from a body or a stream.
type Answer struct {
	// ID is the provider's id of the response or message.
	ID string
	// Events hold the assistant's texts, calls and opaque compaction items.
	Events []Event
	// Complete is true when the protocol's terminal event was read and it
	// reported success. A broken, failed, cancelled or refused answer is not.
	Complete bool
	// Stop is the provider's stop reason or status, as sent.
	Stop string
}

// RequestKind classifies a request within its session.
type RequestKind string

// The kinds, in the order in which they are decided.
const (
	SideCall   RequestKind = "side_call"  // passes; no branch, no harvest
	Compaction RequestKind = "compaction" // asks for a summary of the history
	Turn       RequestKind = "turn"       // an ordinary request of a thread
)

// SummaryForm tells how a compaction's result comes back.
type SummaryForm string

// The forms.
const (
	PlainSummary  SummaryForm = "plain"  // text, can be patched
	OpaqueSummary SummaryForm = "opaque" // an encrypted item, cannot
)

// Verdict is what the agents table says of one request. It carries no text of
// the conversation.
type Verdict struct {
	Agent   string // "claude-code", "codex", or "" when unknown
	Session string // the agent's own session id; "" when it sends none
	Thread  string // "" is the session's main thread; else the subagent's id
	// ForkedFrom is the thread that this one says it was forked from.
	ForkedFrom string
	Kind       RequestKind
	Row        string      // id of the table row that decided Kind; "" for a turn
	Summary    SummaryForm // set for a compaction
}

// Block is the rendered capsule as it goes to a model, with its delimiters.
type Block struct {
	Text string
	// Digest is the capsule digest that the text ends with.
	Digest string
}

// Delimiters of a block. Open is a prefix: attributes follow it, and BlockBegins is
// what no text has that only speaks of it.
const (
	BlockOpen   = "<holdfast-record"
	BlockBegins = BlockOpen + " revision="
	BlockClose  = "</holdfast-record>"
)
