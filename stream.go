package holdfast

import "time"

// Entry is one event of a conversation's stream. Nothing in a stream is ever
// changed or taken away.
type Entry struct {
	// Seq is the place in the stream, from 1 without gaps: the only order that
	// counts. 0 stands in a projection for what is in no stream.
	Seq   int64
	ID    EventID
	At    time.Time // UTC, to the microsecond
	Event Event
}

// These are the events of a stream that are not part of what a model is sent.

// TurnStart begins a turn.
type TurnStart struct{}

// Settings is a part of a configuration that holds from here on.
type Settings struct{ JSON []byte }

// Revocation names overlays of the same stream that no longer apply.
type Revocation struct{ Overlays []EventID }

// Continuity is a new revision of the conversation's capsule.
type Continuity struct{ Capsule Capsule }

// Overlay is a compaction: how a range of the stream is shown to the model. The
// range stays in the stream as it is. A policy that is absent has no say.
type Overlay struct {
	// FromTurn and ToTurn are the range, from 0 and inclusive. They stay what
	// they were when the overlay was made.
	FromTurn, ToTurn int
	// FromEvent and ToEvent are sequence numbers, inclusive, of an overlay that
	// acts on events instead of turns: never a summary. Both are 0 else.
	FromEvent, ToEvent int64
	// KeptCalls are sequence numbers of tool calls in a range of events that stay
	// as they are, and their results with them, in ascending order.
	KeptCalls []int64
	Source    OverlaySource
	// StripReasoning takes the reasoning out.
	StripReasoning bool
	Tools          *ToolPolicy
	Summary        *Summary
}

// ByEvents reports whether the range is one of events.
func (o Overlay) ByEvents() bool { return o.FromEvent > 0 }

// OverlaySource tells who made an overlay.
type OverlaySource string

// The sources.
const (
	ManualOverlay OverlaySource = "manual" // a person
	AutoOverlay   OverlaySource = "auto"   // the trigger
	AgentOverlay  OverlaySource = "agent"  // the agent of a session that was recorded or imported
)

// ToolPolicy says what is left of tool calls and their results.
type ToolPolicy struct {
	// Omit leaves nothing. Else at least one of the halves is stripped.
	Omit bool
	// Request empties the arguments, Response the content of the result.
	Request, Response bool
}

// Summary stands in the place of a range.
type Summary struct {
	Text   string
	Origin SummaryOrigin
	// Model wrote a generated summary; "" where that is not known.
	Model string
	// Capsule is the continuity state that goes with it; nil: none.
	Capsule *Capsule
}

// SummaryOrigin tells who wrote a summary.
type SummaryOrigin string

// The origins.
const (
	GeneratedSummary SummaryOrigin = "generated"
	AuthoredSummary  SummaryOrigin = "authored" // the user: never widened, never replaced by a generated one
)

// Usage is what one call of a provider took. The four token counts do not
// overlap: their sum is what the call left in the window.
type Usage struct {
	Purpose Purpose
	Model   string
	Input   int64 // without what the cache held
	// CacheRead and CacheWrite are input that came from the provider's cache, and
	// went into it.
	CacheRead, CacheWrite int64
	Output                int64 // reasoning included
	// Cost is in millionths of a US dollar; nil where no price is known.
	Cost *int64
}

// Window is how many tokens of the context window were filled when the call
// ended.
func (u Usage) Window() int64 { return u.Input + u.CacheRead + u.CacheWrite + u.Output }

// Purpose tells what a provider was called for.
type Purpose string

// The purposes.
const (
	ForTurn       Purpose = "turn"
	ForSummary    Purpose = "summary"
	ForTitle      Purpose = "title"
	ForExtraction Purpose = "extraction"
)

func (TurnStart) event()  {}
func (Settings) event()   {}
func (Revocation) event() {}
func (Continuity) event() {}
func (Overlay) event()    {}
func (Usage) event()      {}
