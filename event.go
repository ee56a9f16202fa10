package holdfast

// Event is one entry of a conversation's history, in order. The union is
// sealed: the types below are all there are.
type Event interface{ event() }

// UserMessage is what stands in the user's role: typed by a person or put
// there by a harness (agents.Synthetic tells which).
type UserMessage struct{ Parts []Part }

// AssistantMessage is text of the model.
type AssistantMessage struct {
	// Text is empty when the message was read from a stream.
	Text string
	// Digest is TextDigest of the whole text; always set.
	Digest Digest
	// Len is the length of the whole text in bytes.
	Len int
}

// Reasoning marks that the model reasoned here. Its content is never read.
type Reasoning struct{}

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
	// Text holds the text parts joined by newlines, cut to MaxResultText.
	Text string
}

// MaxResultText bounds ToolResult.Text in bytes: results of plan tools are
// small, and nothing else of a result is ever read.
const MaxResultText = 64 << 10

// CompactionItem is a provider's opaque summary item (Responses).
type CompactionItem struct {
	ID     string
	Digest Digest // of its opaque content
}

// CompactionTrigger asks the provider for an opaque compaction (Responses).
type CompactionTrigger struct{}

// SystemMessage is a system or developer item inside the history. Its text is
// never read: harnesses change it between requests.
type SystemMessage struct{}

// Unknown is an entry of a type that this version does not know.
type Unknown struct{ Type string }

func (UserMessage) event()       {}
func (AssistantMessage) event()  {}
func (Reasoning) event()         {}
func (ToolCall) event()          {}
func (ToolResult) event()        {}
func (CompactionItem) event()    {}
func (CompactionTrigger) event() {}
func (SystemMessage) event()     {}
func (Unknown) event()           {}

// Part is one piece of a user message. The union is sealed.
type Part interface{ part() }

// Text is a text part, whole and as sent.
type Text string

// Media stands for an image, a document or audio; its bytes are never read.
type Media struct{ Type string }

func (Text) part()  {}
func (Media) part() {}
