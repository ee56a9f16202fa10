package sqlstore

// The look-ups over all of a principal's history, as Find and FindBlock run
// them.
const (
	FindTwoAnchors = findAnchors + "?,?)"
	FindBlock      = findBlock
)
