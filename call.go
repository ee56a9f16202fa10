package holdfast

// Call is one call of a model before a protocol writes it.
type Call struct {
	Model string
	// System is the system text; "" for none.
	System string
	Tools  []ToolDefinition
	// Events is what the model is sent, in order: the events of a view, in which
	// every result stands behind its call and every call has one. Events that go
	// to no model are passed over.
	Events []Event
	// Schema is the JSON schema that the answer must follow; nil: free text.
	Schema []byte
	// MaxOutput bounds the answer in tokens, reasoning included; 0: the
	// provider's own bound.
	MaxOutput int64
	// CacheKey names the conversation to the provider's prompt cache and asks for
	// the marks that the protocol has for it; "": no marks.
	CacheKey string
}

// ToolDefinition is one tool that a call offers.
type ToolDefinition struct {
	Name        string
	Description string
	// Schema is the JSON schema of the arguments, an object; nil: no arguments.
	Schema []byte
}

// Delta is a piece of an answer as it arrives. Pieces are cut between characters.
type Delta struct {
	Text string
	// Reasoning tells that the text is of the model's reasoning.
	Reasoning bool
}

// FinishReason tells why a model ended its answer.
type FinishReason string

// The reasons. FinishNone stands for an answer that was broken off or failed.
const (
	FinishNone    FinishReason = ""
	FinishStop    FinishReason = "stop"    // it was done, or wants its calls answered
	FinishLength  FinishReason = "length"  // a bound on tokens cut it
	FinishRefusal FinishReason = "refusal" // the model or a filter declined
)
