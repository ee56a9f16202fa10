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
	// Watermark is the id of the newest message that semantic extraction has
	// read or found to hold nothing; "" for none. It is no content: it has no
	// part in the digest.
	Watermark string `json:"watermark,omitempty"`
	// Digest covers the branch and everything below it: within a branch equal
	// content has an equal digest, whatever the revision.
	Digest string `json:"digest"`

	Plan                 *Plan         `json:"plan,omitempty"`
	Proposal             *Proposal     `json:"proposal,omitempty"`
	Decisions            []Decision    `json:"decisions,omitempty"`
	Constraints          []Constraint  `json:"constraints,omitempty"`
	RejectedAlternatives []Alternative `json:"rejected_alternatives,omitempty"`
	OpenQuestions        []Question    `json:"open_questions,omitempty"`
	Facts                []Fact        `json:"facts,omitempty"`
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
	FromConversation   PlanSource = "conversation" // shown in prose, and accepted in words
	FromEdit           PlanSource = "edit"         // written by the person
)

// Plan is the plan in force.
type Plan struct {
	Status PlanStatus `json:"status"`
	Source PlanSource `json:"source"`
	// Text is the plan as the user approved it. Steps are its list items, or since
	// then the agent's own list.
	Text  string `json:"text,omitempty"`
	Steps []Step `json:"steps,omitempty"`
	// Earlier are finished steps of the harness's list from before Text was
	// approved: a later update may name one by its Ref.
	Earlier []Step `json:"earlier,omitempty"`
	// Removed names steps that vanished without a user's word, that the harness
	// deleted or cancelled, or that the user took out, oldest first.
	Removed []string `json:"removed,omitempty"`
	// Evidence is what the approval rests on; zero for a structured source.
	Evidence Evidence `json:"evidence,omitzero"`
}

// Proposal is the newest plan that nobody accepted.
type Proposal struct {
	Status PlanStatus `json:"status"`
	Source PlanSource `json:"source"`
	Text   string     `json:"text,omitempty"`
	// Steps are those of a plan that was shown in prose; such a plan has no Text.
	Steps []Step `json:"steps,omitempty"`
	// Reason is what the user said when rejecting it.
	Reason string `json:"reason,omitempty"`
	// Evidence is where it was shown, or what the rejection rests on; zero for a
	// structured source.
	Evidence Evidence `json:"evidence,omitzero"`
}

// FactStatus is the state of a fact: of a decision, a constraint, a rejected
// alternative, an open question or a Fact.
type FactStatus string

// The states. In force are FactActive, of a decision, a constraint or a Fact, and
// what stands beside the list that it belongs to: FactRejected of an alternative,
// FactOpen of a question. FactProvisional is what somebody states and nothing
// that the user said supports; it is never shown to a model.
const (
	FactActive      FactStatus = "active"
	FactProvisional FactStatus = "provisional"
	FactSuperseded  FactStatus = "superseded"
	FactRejected    FactStatus = "rejected" // of a decision: the user took it back
	FactLifted      FactStatus = "lifted"   // of a constraint
	FactReversed    FactStatus = "reversed" // of an alternative: it may be chosen again
	FactOpen        FactStatus = "open"
	FactAnswered    FactStatus = "answered"
)

// Authority tells on whose word a fact stands.
type Authority string

// The authorities. The first four are the user's own word.
const (
	ByUser       Authority = "user"       // typed in the session
	ByAcceptance Authority = "acceptance" // the user said yes to what the model proposed
	ByEdit       Authority = "edit"       // the person changed the capsule
	ByStructured Authority = "structured" // the user's answer to a structured question
	ByAgent      Authority = "agent"      // the agent recorded it
	ByInferred   Authority = "inferred"   // read between the lines
)

// Evidence is what a fact rests on.
type Evidence struct {
	By Authority `json:"by"`
	// Turn counts the messages that the person typed in the branch, from 1, up to
	// the one that said it; 0 where that is not known.
	Turn int `json:"turn,omitempty"`
	// Last is the turn that said it again, the newest; 0 for none. It is no
	// content: to repeat a fact leaves the digest as it is.
	Last int `json:"last,omitempty"`
	// Call is the tool call that carried it, for structured sources.
	Call string `json:"call,omitempty"`
	// Quote is literal: the sentences of the user, redacted, that it rests on. Of
	// questions and proposals it may be the model's.
	Quote string `json:"quote,omitempty"`
	// Proposal is the model's sentence that an acceptance said yes to.
	Proposal string `json:"proposal,omitempty"`
}

// Decision is a choice that holds until it is superseded.
type Decision struct {
	ID string `json:"id"` // d1, d2, ...
	// Subject is what was decided about: a question, or a short name such as
	// storage.engine. At most one decision of a subject is active.
	Subject    string     `json:"subject"`
	Statement  string     `json:"statement"`
	Rationale  string     `json:"rationale,omitempty"`
	Supersedes []string   `json:"supersedes,omitempty"`
	Status     FactStatus `json:"status"`
	Evidence   Evidence   `json:"evidence"`
}

// Constraint is what the work must keep to.
type Constraint struct {
	ID        string     `json:"id"` // c1, c2, ...
	Statement string     `json:"statement"`
	Status    FactStatus `json:"status"` // active, lifted or provisional
	Evidence  Evidence   `json:"evidence"`
}

// Alternative is what the user does not want to be proposed again.
type Alternative struct {
	ID        string     `json:"id"` // r1, r2, ...
	Statement string     `json:"statement"`
	Reason    string     `json:"reason,omitempty"`
	Status    FactStatus `json:"status"` // rejected, reversed or provisional
	Evidence  Evidence   `json:"evidence"`
}

// QuestionKind tells what waits for an answer.
type QuestionKind string

// The kinds.
const (
	OpenQuestion QuestionKind = "question"
	Blocker      QuestionKind = "blocker" // the work cannot go on before it
)

// Question is what nobody has answered yet. It carries no authority.
type Question struct {
	ID        string       `json:"id"` // q1, q2, ...
	Kind      QuestionKind `json:"kind"`
	Statement string       `json:"statement"`
	Status    FactStatus   `json:"status"` // open, answered or provisional
	Evidence  Evidence     `json:"evidence"`
}

// FactKind tells what a Fact is.
type FactKind string

// The kinds.
const (
	ValueFact      FactKind = "value"      // an exact value that the user gave
	LocationFact   FactKind = "location"   // where something is
	DeadEndFact    FactKind = "dead_end"   // what was tried and did not work
	PreferenceFact FactKind = "preference" // how the user likes it
)

// Fact is what a continuation needs and no decision states.
type Fact struct {
	ID        string     `json:"id"` // f1, f2, ...
	Kind      FactKind   `json:"kind"`
	Statement string     `json:"statement"`
	Status    FactStatus `json:"status"` // active, superseded or provisional
	Evidence  Evidence   `json:"evidence"`
}

// UserWord is one message that a person typed, redacted, with pasted bulk cut
// to a stub.
type UserWord struct {
	// Turn counts the kept messages of the branch from 1.
	Turn int    `json:"turn"`
	Text string `json:"text"`
}
