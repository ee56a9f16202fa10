package holdfast

// Event is one event of a conversation, in order. The union is sealed: the types
// here and in stream.go are all there are. Those here stand in requests and
// answers; where a reader of the wire leaves a field empty, that is said.
type Event interface{ event() }

// UserMessage is what stands in the user's role: typed by a person or put
// there by a harness (agents.Synthetic tells which).
type UserMessage struct {
	Parts []Part
	// Schema is the JSON schema that the answer must follow; nil: free text. No
	// reader of the wire sets it.
	Schema []byte
	// Synthetic tells that a harness wrote the message. No reader of the wire
	// sets it: that is for the agents table to say.
	Synthetic bool
}

// AssistantMessage is text of the model.
type AssistantMessage struct {
	// Text is empty when the message was read from a stream, unless by a reader of
	// whole answers.
	Text string
	// Data is the answer to a schema, as JSON; nil where the answer is text. No
	// reader of the wire sets it.
	Data []byte
	// Digest is TextDigest of the whole text; set by every reader of the wire,
	// zero in a stored conversation.
	Digest Digest
	// Len is the length of the whole text in bytes, where Digest is set.
	Len int
}

// Reasoning marks that the model reasoned here. Readers of the wire leave both
// fields empty, unless they are asked to read whole.
type Reasoning struct {
	Text string
	// Opaque is the provider's own state (a signature, encrypted content), byte
	// for byte: it goes back as it came or not at all. nil: none.
	Opaque []byte
}

// ToolCall is a call that the model made.
type ToolCall struct {
	ID        string
	Name      string
	Namespace string // Responses only; empty elsewhere
	// Arguments is the raw JSON text of the arguments as the model wrote it;
	// nil when the reader was told not to keep it.
	Arguments []byte
}

// ToolResult is the answer to the call with the same id.
type ToolResult struct {
	CallID  string
	IsError bool
	// Text holds the text parts joined by newlines, cut to MaxResultText; set by
	// the readers of the wire, empty in a stored conversation.
	Text string
	// Parts is the content in a stored conversation, and from readers of the wire
	// that read whole; nil from the others.
	Parts []Part
}

// MaxResultText bounds ToolResult.Text in bytes: results of plan tools are
// small, and nothing else of a result is ever read.
const MaxResultText = 64 << 10

// CompactionItem is a summary that the provider made and takes back unchanged: an
// item (Responses), a block of an assistant message (Anthropic).
type CompactionItem struct {
	ID     string
	Digest Digest // of its content
}

// CompactionTrigger asks the provider for an opaque compaction (Responses).
type CompactionTrigger struct{}

// SystemMessage is a system or developer item inside the history. Its text is
// never read: harnesses change it between requests.
type SystemMessage struct{}

// Unknown is an event of a type that this version does not know.
type Unknown struct {
	Type string
	// Raw is its whole JSON text in a stored conversation, byte for byte; nil
	// from the wire.
	Raw []byte
}

func (UserMessage) event()       {}
func (AssistantMessage) event()  {}
func (Reasoning) event()         {}
func (ToolCall) event()          {}
func (ToolResult) event()        {}
func (CompactionItem) event()    {}
func (CompactionTrigger) event() {}
func (SystemMessage) event()     {}
func (Unknown) event()           {}

// Part is one piece of a user message or a tool result. The union is sealed.
type Part interface{ part() }

// Text is a text part, whole and as sent.
type Text string

// Media is an image, a document or audio.
type Media struct {
	// Type is what the wire calls it; "image" or "file" in a stored conversation,
	// and from readers of the wire that read whole.
	Type string
	// MIME is its media type, such as image/png. Readers of the wire leave this
	// and the fields below empty, unless they read whole.
	MIME string
	Name string // of a file; "" for none
	// Data is the content in base64; empty where URI says where it is.
	Data string
	URI  string // an address, or the provider's id of a file
}

func (Text) part()  {}
func (Media) part() {}
