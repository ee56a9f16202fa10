package holdfast

// SchemaVersion is the version of the capsule's JSON form that this build
// writes. Older versions decode forever; a newer one is shown, never written.
const SchemaVersion = 1

// Capsule is the continuity state of one branch: only what must survive a
// lossy compaction. Its JSON form is persisted and shown.
type Capsule struct {
	SchemaVersion int      `json:"schema_version"`
	Revision      int      `json:"revision"`
	Branch        BranchID `json:"branch"`
	// Digest covers the branch and everything below it: within a branch equal
	// content has an equal digest, whatever the revision.
	Digest string `json:"digest"`

	Plan      *Plan      `json:"plan,omitempty"`
	Proposal  *Proposal  `json:"proposal,omitempty"`
	Decisions []Decision `json:"decisions,omitempty"`
	// UserWords are what the user typed, oldest first; words, not facts.
	UserWords []UserWord `json:"user_words,omitempty"`
}

// StepStatus is the state of a plan step.
type StepStatus string

// The states. Anything that a harness says beyond them reads as StepPending.
const (
	StepPending    StepStatus = "pending"
	StepInProgress StepStatus = "in_progress"
	StepCompleted  StepStatus = "completed"
)

// Step is one step of a plan.
type Step struct {
	// Ref is the harness's own id of the step, when it has one.
	Ref    string     `json:"ref,omitempty"`
	Text   string     `json:"text"`
	Status StepStatus `json:"status"`
}

// PlanStatus is the state of a plan or proposal.
type PlanStatus string

// The states; a Plan has one of the first three, a Proposal of the last two.
const (
	PlanAccepted  PlanStatus = "accepted"
	PlanCompleted PlanStatus = "completed"
	PlanAbandoned PlanStatus = "abandoned"
	PlanProposed  PlanStatus = "proposed"
	PlanRejected  PlanStatus = "rejected"
)

// PlanSource tells where a plan came from.
type PlanSource string

// The sources.
const (
	FromStructuredTool PlanSource = "structured_tool"
	FromPlanMode       PlanSource = "plan_mode"
)

// Plan is the plan in force.
type Plan struct {
	Status PlanStatus `json:"status"`
	Source PlanSource `json:"source"`
	// Text is the plan as the user approved it in plan mode. Steps are its list
	// items, or since then the agent's own list.
	Text  string `json:"text,omitempty"`
	Steps []Step `json:"steps,omitempty"`
	// Earlier are finished steps of the harness's list from before Text was
	// approved: a later update may name one by its Ref.
	Earlier []Step `json:"earlier,omitempty"`
	// Removed names steps that vanished without a user's word, or that the
	// harness deleted or cancelled, oldest first.
	Removed []string `json:"removed,omitempty"`
}

// Proposal is the newest plan that nobody accepted.
type Proposal struct {
	Status PlanStatus `json:"status"`
	Source PlanSource `json:"source"`
	Text   string     `json:"text,omitempty"`
	// Reason is what the user said when rejecting it.
	Reason string `json:"reason,omitempty"`
}

// FactStatus is the state of a fact.
type FactStatus string

// The states that structured sources can produce.
const (
	FactActive     FactStatus = "active"
	FactSuperseded FactStatus = "superseded"
)

// Authority tells on whose word a fact stands.
type Authority string

// The authorities.
const (
	ByStructured Authority = "structured" // the user's answer to a structured question
)

// Evidence is what a fact rests on.
type Evidence struct {
	By Authority `json:"by"`
	// Call is the tool call that carried it, for structured sources.
	Call  string `json:"call,omitempty"`
	Quote string `json:"quote,omitempty"`
}

// Decision is a choice that holds until it is superseded.
type Decision struct {
	ID         string     `json:"id"`
	Subject    string     `json:"subject"`
	Statement  string     `json:"statement"`
	Supersedes []string   `json:"supersedes,omitempty"`
	Status     FactStatus `json:"status"`
	Evidence   Evidence   `json:"evidence"`
}

// UserWord is one message that a person typed, redacted, with pasted bulk cut
// to a stub.
type UserWord struct {
	// Turn counts the kept messages of the branch from 1.
	Turn int    `json:"turn"`
	Text string `json:"text"`
}
