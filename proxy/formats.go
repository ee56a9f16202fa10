package proxy

import (
	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/sse"
	"github.com/holdfast-dev/holdfast/wire/anthropic"
	"github.com/holdfast-dev/holdfast/wire/chat"
	"github.com/holdfast-dev/holdfast/wire/gemini"
	"github.com/holdfast-dev/holdfast/wire/responses"
)

// format is one wire format that continuity reads and patches.
type format struct {
	reader     reader
	writer     writer
	newStream  func(keep func(tool string) bool) stream
	newWhole   func() stream // for an answer that is recorded
	newPatcher func(block func() string) patcher
	newLive    func() live
}

type reader interface {
	engine.Codec
	Rescan(body []byte, known func(at int) (end int)) (holdfast.Request, error)
}

type writer interface {
	InsertBlock(body []byte, r holdfast.Request, at int, text string) ([]byte, error)
	ReadBody(body []byte) (holdfast.Answer, error)
	ReadWhole(body []byte) (holdfast.Answer, error)
	PatchBody(body []byte, block string) (patched []byte, summary holdfast.Digest, ok bool)
}

// stream reads a streaming answer.
type stream interface {
	Event(sse.Event)
	Terminal() bool
	Answer() holdfast.Answer
}

// patcher patches a streaming answer at a boundary.
type patcher interface {
	Event(e sse.Event, emit func(raw []byte)) (terminal bool)
	Terminal() []byte
	Flush(emit func(raw []byte))
	Patched() bool
	Summary() holdfast.Digest
}

// ender is a patcher of a format whose streams may end well without a terminal
// event. End tells whether this one did; then Terminal holds what is left to
// send.
type ender interface {
	End(emit func(raw []byte)) (terminal bool)
}

// formats are the wire formats, one for each protocol.
var formats = map[holdfast.Protocol]format{
	holdfast.Anthropic: {
		reader: anthropic.Codec{}, writer: anthropic.Codec{},
		newStream:  func(keep func(string) bool) stream { return anthropic.NewStream(keep) },
		newWhole:   func() stream { return anthropic.NewWhole() },
		newPatcher: func(block func() string) patcher { return anthropic.NewPatcher(block) },
		newLive:    func() live { return &anthropic.Live{} },
	},
	holdfast.Responses: {
		reader: responses.Codec{}, writer: responses.Codec{},
		newStream:  func(keep func(string) bool) stream { return responses.NewStream(keep) },
		newWhole:   func() stream { return responses.NewWhole() },
		newPatcher: func(block func() string) patcher { return responses.NewPatcher(block) },
		newLive:    func() live { return &responses.Live{} },
	},
	holdfast.Chat: {
		reader: chat.Codec{}, writer: chat.Codec{},
		newStream:  func(keep func(string) bool) stream { return chat.NewStream(keep) },
		newWhole:   func() stream { return chat.NewWhole() },
		newPatcher: func(block func() string) patcher { return chat.NewPatcher(block) },
		newLive:    func() live { return &chat.Live{} },
	},
	holdfast.Gemini: {
		reader: gemini.Codec{}, writer: gemini.Codec{},
		newStream:  func(keep func(string) bool) stream { return gemini.NewStream(keep) },
		newWhole:   func() stream { return gemini.NewWhole() },
		newPatcher: func(block func() string) patcher { return gemini.NewPatcher(block) },
		newLive:    func() live { return &gemini.Live{} },
	},
}
