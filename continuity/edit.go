package continuity

import (
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// EditOp is what a person does to a capsule.
type EditOp string

// The operations.
const (
	EditAdd       EditOp = "add"       // state a fact, or a plan
	EditSupersede EditOp = "supersede" // put another statement in the place of one
	EditReject    EditOp = "reject"    // take a decision, constraint, Fact or proposal out of force
	// EditResolve answers a question, allows an alternative again, accepts the
	// proposal, ends the plan or a step of it, and confirms what is provisional.
	EditResolve EditOp = "resolve"
	EditChange  EditOp = "edit" // word a fact in another way
	// EditRemove erases a fact with its words. What is read again later may come
	// back; a rejected one does not.
	EditRemove EditOp = "rm"
)

// EditList names the list that EditAdd adds to.
type EditList string

// The lists.
const (
	ListDecisions    EditList = "decision"
	ListConstraints  EditList = "constraint"
	ListAlternatives EditList = "alternative"
	ListQuestions    EditList = "question"
	ListFacts        EditList = "fact"
	ListPlan         EditList = "plan" // Statement is its text; list items are its steps
)

// Ids that name the plan and the proposal in an edit. A step of the plan is named by
// its place: s1, s2, ...
const (
	PlanID     = "plan"
	ProposalID = "proposal"
	stepPrefix = "s" // s1 is the first step of the plan
)

// Edit is one change that the person makes. It stands on its own authority, by
// edit, and wins over what was said before.
type Edit struct {
	Op   EditOp
	List EditList // of EditAdd
	ID   string   // of all others: that of a fact or a step, PlanID or ProposalID
	// Statement is the new text. EditChange keeps what is left empty.
	Statement string
	Subject   string // of a decision
	// Reason is of a decision, an alternative, or the rejection of a proposal. That of
	// the rejection of a decision takes the place of the decision's own.
	Reason string
	// Kind is a QuestionKind or a FactKind; "" is OpenQuestion, ValueFact.
	Kind string
	// Turn is the number of messages that the person had typed; 0 when that is not
	// known.
	Turn int
}

// maxStatementBytes bounds a statement, a subject and a reason. Longer ones are
// refused, since a cut could go through a path or a command.
const maxStatementBytes = 2 << 10

// Apply makes an edit and seals the result; the revision grows when it changed
// anything. A subject, reason or kind where the record has no place for one is
// refused. Errors: usage, not_found, too_large.
func Apply(c holdfast.Capsule, e Edit) (holdfast.Capsule, error) {
	for _, text := range []string{e.Statement, e.Subject, e.Reason} {
		if len(text) > maxStatementBytes && e.List != ListPlan || len(text) > maxPlanBytes {
			return c, holdfast.Errorf(holdfast.ErrTooLarge, "the text has %d bytes, at most %d are kept: say it shorter", len(text), maxStatementBytes)
		}
	}
	next, before := clone(c), Seal(c)
	err := e.apply(&next)
	if err != nil {
		return c, err
	}
	return seal(before, next), nil
}

func (e Edit) evidence() holdfast.Evidence {
	return holdfast.Evidence{By: holdfast.ByEdit, Turn: e.Turn}
}

func (e Edit) apply(c *holdfast.Capsule) error {
	switch {
	case e.Op == EditAdd:
		return e.add(c, e.List, nil)
	case e.ID == PlanID:
		return e.onPlan(c)
	case e.ID == ProposalID:
		return e.onProposal(c)
	case strings.HasPrefix(e.ID, stepPrefix):
		return e.onStep(c)
	}
	x, ok := find(c, e.ID)
	if !ok {
		return holdfast.Errorf(holdfast.ErrNotFound, "the capsule has no entry %q: `holdfast capsule show` lists them with their ids", e.ID)
	}
	if e.Op == EditReject && (x.section == alternatives || x.section == questions) {
		return holdfast.Errorf(holdfast.ErrUsage, "%s is no choice that could be rejected: resolve it instead", e.ID)
	}
	words := e.Op == EditSupersede || e.Op == EditChange
	if err := e.keeps(
		words && x.section == alternatives || (words || e.Op == EditReject) && x.section == decisions,
		words && x.section == decisions,
		e.Op == EditSupersede && (x.section == questions || x.section == facts),
	); err != nil {
		return err
	}
	switch e.Op {
	case EditSupersede:
		return e.supersede(c, x)
	case EditReject:
		*x.status = outOfForce[x.section]
		if reason := Normal(e.Reason); reason != "" {
			c.Decisions[x.index].Rationale = reason
		}
	case EditResolve:
		return e.resolve(c, x)
	case EditChange:
		return e.change(c, x)
	case EditRemove:
		take(c, x)
	default:
		return holdfast.Errorf(holdfast.ErrUsage, "an edit has no operation %q: use add, supersede, reject, resolve, edit or rm", e.Op)
	}
	return nil
}

// keeps refuses what the record has no place for.
func (e Edit) keeps(reason, subject, kind bool) error {
	for _, given := range []struct {
		flag, text string
		kept       bool
	}{{"why", e.Reason, reason}, {"subject", e.Subject, subject}, {"kind", e.Kind, kind}} {
		if given.text != "" && !given.kept {
			return holdfast.Errorf(holdfast.ErrUsage, "--%s has no effect on %s: leave it out", given.flag, e.ID)
		}
	}
	return nil
}

// add states a fact. The same statement again changes nothing but its authority.
func (e Edit) add(c *holdfast.Capsule, list EditList, supersedes []string) error {
	if Normal(e.Statement) == "" {
		return holdfast.Errorf(holdfast.ErrUsage, "an entry needs a statement")
	}
	var d Delta
	switch list {
	case ListDecisions:
		if Normal(e.Subject) == "" {
			return holdfast.Errorf(holdfast.ErrUsage, "a decision needs a subject, such as storage.engine")
		}
		d.Decisions = []holdfast.Decision{{Subject: e.Subject, Statement: e.Statement, Rationale: e.Reason, Supersedes: supersedes, Status: holdfast.FactActive, Evidence: e.evidence()}}
	case ListConstraints:
		d.Constraints = []holdfast.Constraint{{Statement: e.Statement, Status: holdfast.FactActive, Evidence: e.evidence()}}
	case ListAlternatives:
		d.RejectedAlternatives = []holdfast.Alternative{{Statement: e.Statement, Reason: e.Reason, Status: holdfast.FactRejected, Evidence: e.evidence()}}
	case ListQuestions:
		q := holdfast.Question{Kind: holdfast.OpenQuestion, Statement: e.Statement, Status: holdfast.FactOpen, Evidence: e.evidence()}
		if e.Kind != "" {
			q.Kind = holdfast.QuestionKind(e.Kind)
		}
		if q.Kind != holdfast.OpenQuestion && q.Kind != holdfast.Blocker {
			return holdfast.Errorf(holdfast.ErrUsage, "a question has no kind %q: use question or blocker", e.Kind)
		}
		d.OpenQuestions = []holdfast.Question{q}
	case ListFacts:
		f := holdfast.Fact{Kind: holdfast.ValueFact, Statement: e.Statement, Status: holdfast.FactActive, Evidence: e.evidence()}
		if e.Kind != "" {
			f.Kind = holdfast.FactKind(e.Kind)
		}
		switch f.Kind {
		case holdfast.ValueFact, holdfast.LocationFact, holdfast.DeadEndFact, holdfast.PreferenceFact:
		default:
			return holdfast.Errorf(holdfast.ErrUsage, "a fact has no kind %q: use value, location, dead_end or preference", e.Kind)
		}
		d.Facts = []holdfast.Fact{f}
	case ListPlan:
		p := holdfast.Plan{Status: holdfast.PlanAccepted, Source: holdfast.FromEdit, Steps: markdownSteps(e.Statement), Evidence: e.evidence()}
		if len(p.Steps) == 0 {
			p.Steps = pending([]string{Normal(e.Statement)})
		}
		c.Plan = &p
		return nil
	default:
		return holdfast.Errorf(holdfast.ErrUsage, "a capsule has no list %q: use decision, constraint, alternative, question, fact or plan", list)
	}
	*c = Merge(*c, d)
	return nil
}

// lists names the list of each section.
var lists = [sections]EditList{ListDecisions, ListConstraints, ListAlternatives, ListQuestions, ListFacts}

// supersede closes a fact and states another of its list.
func (e Edit) supersede(c *holdfast.Capsule, x entry) error {
	switch x.section {
	case decisions:
		if e.Subject == "" {
			e.Subject = c.Decisions[x.index].Subject
		}
	case questions:
		if e.Kind == "" {
			e.Kind = string(c.OpenQuestions[x.index].Kind)
		}
	case facts:
		if e.Kind == "" {
			e.Kind = string(c.Facts[x.index].Kind)
		}
	}
	if same(x.statement, e.Statement) {
		return nil
	}
	if x.section != decisions && e.Statement != "" {
		*x.status = outOfForce[x.section]
	}
	return e.add(c, lists[x.section], []string{x.id})
}

func (e Edit) resolve(c *holdfast.Capsule, x entry) error {
	switch {
	case *x.status == holdfast.FactProvisional && x.section == decisions:
		d := c.Decisions[x.index]
		take(c, x)
		d.Status, d.Evidence = holdfast.FactActive, holdfast.Evidence{By: holdfast.ByEdit, Turn: e.Turn, Quote: d.Evidence.Quote}
		*c = Merge(*c, Delta{Decisions: []holdfast.Decision{d}})
	case *x.status == holdfast.FactProvisional:
		*x.status, x.evidence.By = inForce[x.section], holdfast.ByEdit
	case x.section == questions || x.section == alternatives || x.section == constraints:
		*x.status = outOfForce[x.section]
	default:
		return holdfast.Errorf(holdfast.ErrUsage, "%s is in no state to be resolved: supersede or reject it", e.ID)
	}
	return nil
}

func (e Edit) change(c *holdfast.Capsule, x entry) error {
	set := func(to *string, text string) {
		if text != "" {
			*to = text
		}
	}
	switch x.section {
	case decisions:
		d := &c.Decisions[x.index]
		for _, other := range c.Decisions {
			if other.ID != d.ID && other.Status == holdfast.FactActive && x.holds() && SameSubject(other.Subject, e.Subject) {
				return holdfast.Errorf(holdfast.ErrConflict, "%s is the active decision of that subject: supersede it instead", other.ID)
			}
		}
		set(&d.Subject, e.Subject)
		set(&d.Statement, e.Statement)
		set(&d.Rationale, e.Reason)
	case constraints:
		set(&c.Constraints[x.index].Statement, e.Statement)
	case alternatives:
		set(&c.RejectedAlternatives[x.index].Statement, e.Statement)
		set(&c.RejectedAlternatives[x.index].Reason, e.Reason)
	case questions:
		set(&c.OpenQuestions[x.index].Statement, e.Statement)
	case facts:
		set(&c.Facts[x.index].Statement, e.Statement)
	}
	x.evidence.By, x.evidence.Turn = holdfast.ByEdit, max(e.Turn, x.evidence.Turn)
	return nil
}

func (e Edit) onPlan(c *holdfast.Capsule) error {
	if c.Plan == nil {
		return holdfast.Errorf(holdfast.ErrNotFound, "the capsule has no plan: add one")
	}
	if err := e.keeps(false, false, false); err != nil {
		return err
	}
	switch e.Op {
	case EditReject:
		c.Plan.Status = holdfast.PlanAbandoned
	case EditResolve:
		c.Plan.Status = holdfast.PlanCompleted
	case EditRemove:
		c.Plan = nil
	default:
		return holdfast.Errorf(holdfast.ErrUsage, "a plan takes reject, resolve and rm, not %q: add a plan to put another one in its place", e.Op)
	}
	return nil
}

// onStep changes a step of the plan, until the agent's next list takes its place.
func (e Edit) onStep(c *holdfast.Capsule) error {
	n, err := strconv.Atoi(strings.TrimPrefix(e.ID, stepPrefix))
	if err != nil || c.Plan == nil || n < 1 || n > len(c.Plan.Steps) {
		return holdfast.Errorf(holdfast.ErrNotFound, "the plan has no step %q: s1 is the first; `holdfast capsule show` lists them", e.ID)
	}
	if err := e.keeps(false, false, false); err != nil {
		return err
	}
	p := c.Plan
	p.Steps = slices.Clone(p.Steps)
	step := &p.Steps[n-1]
	switch e.Op {
	case EditChange:
		if text := Normal(e.Statement); text != "" {
			step.Text = text
		}
	case EditResolve:
		step.Status = holdfast.StepCompleted
	case EditReject:
		name := step.Text
		p.Steps = slices.Delete(p.Steps, n-1, n)
		remove(p, name)
	case EditRemove:
		p.Steps = slices.Delete(p.Steps, n-1, n)
	default:
		return holdfast.Errorf(holdfast.ErrUsage, "a step takes edit, resolve, reject and rm, not %q", e.Op)
	}
	settle(p)
	return nil
}

func (e Edit) onProposal(c *holdfast.Capsule) error {
	p := c.Proposal
	if p == nil {
		return holdfast.Errorf(holdfast.ErrNotFound, "the capsule has no proposal")
	}
	if err := e.keeps(e.Op == EditReject, false, false); err != nil {
		return err
	}
	switch e.Op {
	case EditReject:
		p.Status, p.Reason, p.Evidence = holdfast.PlanRejected, Normal(e.Reason), e.evidence()
	case EditResolve:
		if p.Text != "" {
			accept(c, p.Text)
		} else {
			w := PlanWord{Verdict: holdfast.PlanAccepted, Evidence: e.evidence()}
			for _, s := range p.Steps {
				w.Steps = append(w.Steps, s.Text)
			}
			acceptSteps(c, w)
		}
	case EditRemove:
		c.Proposal = nil
	default:
		return holdfast.Errorf(holdfast.ErrUsage, "a proposal takes reject, resolve and rm, not %q", e.Op)
	}
	return nil
}
