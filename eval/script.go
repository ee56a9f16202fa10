package eval

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Kind is what the upstream takes a request for.
type Kind string

// The kinds.
const (
	Probe            Kind = "probe"             // HEAD, GET, an unknown path
	Upgrade          Kind = "upgrade"           // asks for a WebSocket
	CountTokens      Kind = "count_tokens"      // asks for a number of tokens
	SideCall         Kind = "side_call"         // a model call without tools
	Turn             Kind = "turn"              // a turn of the conversation
	PlainCompaction  Kind = "plain_compaction"  // asks for a summary in words
	OpaqueCompaction Kind = "opaque_compaction" // asks for an opaque item
)

// IsCompaction reports whether the kind asks for a summary of either form.
func (k Kind) IsCompaction() bool { return k == PlainCompaction || k == OpaqueCompaction }

// Request is one request as it arrived.
type Request struct {
	Method string
	// URI is path and query as sent.
	URI    string
	Header http.Header
	// Body is the bytes as sent, content coding included.
	Body []byte
	Kind Kind
	// Protocol is told by the path; empty for one of none.
	Protocol holdfast.Protocol
}

// Reply is what the upstream answers to one request. The zero value is an
// answer of the model without text.
type Reply struct {
	Text  string
	Calls []Call
	// InputTokens is the usage that the answer reports: a large number makes an
	// agent compact. Zero: a quarter of the body's bytes.
	InputTokens int
	// Status from 400 on answers with the protocol's error of that status.
	Status int
	// Delay passes before the first byte.
	Delay time.Duration
	// CutAfter breaks the connection after so many stream events, or in the
	// middle of a body that is not streamed. Zero: never.
	CutAfter int
}

// Call is a tool call in a Reply.
type Call struct {
	// ID is made up when empty.
	ID   string
	Name string
	// Args is the JSON object of the arguments; empty stands for {}.
	Args json.RawMessage
}

// Script decides the answer to the n-th request (from 0) of its sort. It is
// called by one goroutine at a time.
type Script func(n int, r Request) Reply

// Queue answers with the replies in order, and after the last with a short
// text that calls no tool.
func Queue(replies ...Reply) Script {
	return func(n int, _ Request) Reply {
		if n < len(replies) {
			return replies[n]
		}
		return Reply{Text: "Nothing more to do."}
	}
}

// Forgetful is a summarizer that forgets everything. Its form is the one that
// agents accept without asking a second time.
func Forgetful(n int, r Request) Reply {
	const nothing = "The user and the assistant worked on the code for a while. Go on with the work."
	if r.Protocol == holdfast.Anthropic {
		return Reply{Text: "<analysis>\nNothing stood out.\n</analysis>\n<summary>\n" + nothing + "\n</summary>"}
	}
	return Reply{Text: nothing}
}
