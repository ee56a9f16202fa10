package sqlstore

// The look-ups over all of a principal's history, as Find and FindBlock run
// them, and what must not grow with a conversation or the number of them.
const (
	FindTwoAnchors = findAnchors + "?,?)"
	FindBlock      = findBlock
	HeadsOf        = headsOf
	WholeRevision  = wholeRevision
	GetEnd         = getEnd
	HeadByBranch   = headByBranch
	ListHeads      = listHeads
	SumCost        = sumCost
	ExpireAttempts = expireAttempts
)

// EventsQuery is how Events reads a range.
var EventsQuery = eventsQuery
