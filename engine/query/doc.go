// Package query holds a conversation with a model: the turn loop.
//
// A turn is what a person asked, and all that the model does until it is done:
// answers, tool calls, their results. Loop.Turn writes each of these to the
// stream when it is there, so that a crash loses at most what is under way.
//
// Laws:
//   - What a person asked is durable before the model is called.
//   - A call that cannot fit the window is not made: the turn stops with an error
//     that names the numbers and what helps. What stands in the stream stays.
//   - An interruption keeps what came. Calls that were not made yet, or were
//     broken off, get an error result, so the next turn is well-formed.
//   - A tool that fails or hangs is told to the model, not to the person alone.
//   - Automatic compaction runs behind a turn that completed and is durable, at
//     most once, and whatever it meets does not harm the turn.
//   - The capsule is harvested from the stream by the same rules as that of a
//     proxied session: plan calls and the user's words, over what extraction has
//     read. A revision is appended when it has changed.
//   - The system text and the tools of a call do not depend on what is compacted.
//
// # Extraction
//
// Where Config has an Extraction, a model reads what the person said in prose, beside
// the calls of the turn, by the rules of continuity/extract:
//
//   - What is said gathers until a call is worth it, by Extraction.Ratio of what the
//     stream has grown by since the last one. A compaction does not wait for that, nor
//     does what one has taken out of sight before it was read.
//   - It begins when the message is durable. One batch is read at a time. Only the
//     call is made by another goroutine; the one that holds the conversation takes the
//     result between two calls of the model, at the end of the turn and before
//     automatic compaction, and appends it: what the call took as a usage event, and
//     the capsule with its watermark, also where nothing was found, then under the
//     revision that it had. The watermark of what holds nothing goes with the next.
//   - Automatic compaction waits for what is not read yet, the end of a turn for the
//     call that is under way, each at most for the barrier. The first call of a turn
//     does where something is read that a compaction has taken out of sight. The
//     end of the context ends each wait at once.
//   - A call that takes longer is ended with the turn. The next one begins with what
//     this one left, which is all behind the watermark in the stream: a process that
//     died needs no more.
//   - Files that were attached are not read, and are no words of the user. What was piped
//     in is, as a paste is.
//   - A plan of the model that nobody has answered is read with the answer, or before
//     a compaction, and makes no call of its own else.
//   - A call that fails, whatever way, costs a notice, and nothing of the turn. What it
//     was to read is tried again by the next process, once in each. Each call that took
//     tokens in vain halves the batch, which may have been too much for one answer;
//     where that is known the next call follows at once, without a notice. After three
//     the batch is passed over: the stream tells how many there were.
//   - Two processes never read the same: who asks holds the lease of the conversation
//     (conversations.Service.Lease) from before it loads the stream to behind the turn.
//     That is the caller's to do; claims as the proxy has them are not needed beside it.
//
// The package stores nothing; engine/conversations does.
package query

import (
	"context"

	"github.com/holdfast-dev/holdfast"
)

// Model makes calls of one model.
type Model interface {
	// Call makes one call and emits pieces of its answer as they come. Where the
	// context ends, or the answer breaks off, what came so far is returned beside
	// the error.
	Call(ctx context.Context, call holdfast.Call, emit func(holdfast.Delta)) (Reply, error)
}

// Reply is the answer to a call.
type Reply struct {
	// Events are reasoning, texts and tool calls, whole and in order. Of an answer
	// that broke off, what was whole, and the text so far.
	Events []holdfast.Event
	Usage  holdfast.Usage // zero where the provider told none
	Finish holdfast.FinishReason
}

// Tools are what a model may call.
type Tools interface {
	Definitions() []holdfast.ToolDefinition
	// Run runs a call. What goes wrong is in the result; an error ends the turn,
	// as when the person said so.
	Run(ctx context.Context, call holdfast.ToolCall) (holdfast.ToolResult, error)
}

// Screen is what a person sees of a turn. Its methods are called in order, by
// one goroutine.
type Screen interface {
	Delta(holdfast.Delta)
	// Said tells that an answer is whole, with all of its texts.
	Said(holdfast.AssistantMessage)
	// Answered tells that the model is done, and what it said durable: what was said
	// last is the answer. Waits and a compaction may come behind it.
	Answered()
	Calling(holdfast.ToolCall)
	Called(holdfast.ToolCall, holdfast.ToolResult)
	// Notice is a line beside the conversation.
	Notice(text string)
}
