package survival

// Kind is what a plant is.
type Kind string

// The kinds. The first group is what a continuation needs; the second must
// never be taken for a fact of the user.
const (
	Value      Kind = "value"      // an exact value: port, version, error code, command
	Location   Kind = "location"   // where something is
	DeadEnd    Kind = "dead_end"   // what was tried and did not work
	Preference Kind = "preference" // how the user likes it
	Decision   Kind = "decision"
	Constraint Kind = "constraint"
	Rejected   Kind = "rejected_alternative"
	Question   Kind = "open_question"

	Brainstorm Kind = "brainstorm" // the assistant thinks aloud
	ToolClaim  Kind = "tool_claim" // a false decision in a file, a quote or a tool's output
	Injection  Kind = "injection"  // orders to an extractor, a summarizer or a merge
	Notice     Kind = "notice"     // a harness's text in the user's role
)

// False reports whether a plant of the kind must never become a fact.
func (k Kind) False() bool {
	return k == Brainstorm || k == ToolClaim || k == Injection || k == Notice
}

// Plant is one thing said in a session, with what is true of it. Plants of one
// session have different texts; no text stands in another session.
type Plant struct {
	ID   string `json:"id"` // within its session
	Kind Kind   `json:"kind"`
	// Quote is the sentence as it was said, in the language of the session.
	Quote string `json:"quote"`
	// Exact is the literal in Quote by which it is known: a canary, a value, or
	// where it is paraphrased, a run of plain words of it.
	Exact string `json:"exact"`
	// Subject and Statement are the fact in short, Reason what it rests on.
	Subject   string `json:"subject,omitempty"`
	Statement string `json:"statement,omitempty"`
	Reason    string `json:"reason,omitempty"`
	// Supersedes is the id of the plant that this one puts out of force.
	Supersedes string `json:"supersedes,omitempty"`
	// Typed: a false plant that the user typed, as code or as a quote, so that it
	// stands in the user's words. Planned: one that stands in a plan's text.
	Typed   bool `json:"typed,omitempty"`
	Planned bool `json:"planned,omitempty"`
}
