package holdfast

import "time"

// Attempt is the record of one upstream call: for whom it was made and what it
// took. Nothing of what was said is in it.
type Attempt struct {
	ID AttemptID
	// Began and Ended are kept to the microsecond and come back in UTC.
	Began, Ended time.Time
	Principal    Principal
	Label        string // of the caller's key; "" without one
	// What the call belongs to; "" where it belongs to none, or nobody knows.
	Session      SessionID
	Branch       BranchID
	Boundary     BoundaryID
	Conversation ConversationID
	Job          string    // the piece of background work
	Parent       AttemptID // the attempt that this one repeats or serves
	Trace        string    // the trace id of the client's traceparent header
	Agent        string    // "" for unknown agents and for calls of our own
	Role         Role
	Upstream     string // its name
	Model        string // as the request names it; "" when it could not be read
	Protocol     Protocol
	Tokens       Tokens
	// Price is what Cost was computed with; nil where none is known.
	Price *Price
	// Cost is in millionths of a US dollar, of the tokens that are known: what was
	// not told costs more. nil where no price or no tokens are known.
	Cost *int64
	// Sent and Received are the bytes of the request and, about, of what the answer
	// says, without a coding that can be read. Estimate is what the tokens that were not told are reckoned to cost by
	// them, in millionths of a US dollar: only budgets count it. nil where all was
	// told, no price is known, or the provider declined the call.
	Sent, Received int64
	Estimate       *int64
	Status         int // of HTTP; 0: no answer came
	Outcome        Outcome
}

// Role tells whose work a call did.
type Role string

// The roles. All but the first are auxiliary.
const (
	PrimaryRole   Role = "primary" // the agent's own, or the turn of a query
	SummaryRole   Role = "summary"
	TitleRole     Role = "title"
	ExtractorRole Role = "compaction_continuity_extractor"
)

// Role is the role of calls with a purpose.
func (p Purpose) Role() Role {
	switch p {
	case ForTurn:
		return PrimaryRole
	case ForExtraction:
		return ExtractorRole
	}
	return Role(p)
}

// Outcome tells how an attempt ended.
type Outcome string

// The outcomes.
const (
	OutcomeOK        Outcome = "ok"
	OutcomeError     Outcome = "error"     // it was refused, failed, or never got through
	OutcomeCancelled Outcome = "cancelled" // the caller left
	OutcomeBroken    Outcome = "broken"    // the answer broke off
)

// Tokens are what a provider told of the tokens of a call; nil is what it did not
// tell. The first four do not overlap, as in Usage; Reasoning is part of Output.
type Tokens struct{ Input, CacheRead, CacheWrite, Output, Reasoning *int64 }

// Usage takes what was not told for nothing. It has no purpose and no model.
func (t Tokens) Usage() Usage {
	count := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return *n
	}
	return Usage{Input: count(t.Input), CacheRead: count(t.CacheRead), CacheWrite: count(t.CacheWrite), Output: count(t.Output)}
}

// Price is what tokens cost, in millionths of a US dollar per million tokens: a
// dollar per million is 1,000,000.
type Price struct{ Input, CacheRead, CacheWrite, Output int64 }

// Cost is what a call cost, in millionths of a US dollar, rounded half up. The
// usage must be of less than 10^12 tokens.
func (p Price) Cost(u Usage) int64 {
	const million = 1_000_000
	var whole, rest int64
	for _, item := range [...]struct{ tokens, price int64 }{
		{u.Input, p.Input},
		{u.CacheRead, p.CacheRead},
		{u.CacheWrite, p.CacheWrite},
		{u.Output, p.Output},
	} {
		// In two steps, so that nothing overflows.
		whole += item.tokens / million * item.price
		rest += item.tokens % million * item.price
	}
	return whole + (rest+million/2)/million
}
