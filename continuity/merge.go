package continuity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// Delta is what one source brought since a capsule was read, already held against
// the words that it rests on. New facts have no ID: Merge numbers them. Their
// status is that of their list in force, or FactProvisional. The evidence of one in
// force names its turn, unless it is an edit.
type Delta struct {
	Decisions            []holdfast.Decision // Supersedes names decisions of the capsule before
	Constraints          []holdfast.Constraint
	RejectedAlternatives []holdfast.Alternative
	OpenQuestions        []holdfast.Question
	Facts                []holdfast.Fact
	// Closed are facts of the capsule before that are no longer in force.
	Closed []Closing
	Plan   *PlanWord
	// Watermark is the newest message that was read; "" leaves the old one.
	Watermark string
}

// Of leaves in a delta what is preserved. What takes a fact out of force stays.
func (k Preserve) Of(d Delta) Delta {
	if !k.Plan {
		d.Plan = nil
	}
	if !k.UserDecisions {
		d.Decisions = nil
	}
	if !k.Constraints {
		d.Constraints = nil
	}
	if !k.RejectedAlternatives {
		d.RejectedAlternatives = nil
	}
	if !k.OpenQuestions {
		d.OpenQuestions = nil
	}
	if !k.Facts {
		d.Facts = nil
	}
	if !k.Rationale {
		d.Decisions, d.RejectedAlternatives = slices.Clone(d.Decisions), slices.Clone(d.RejectedAlternatives)
		for i := range d.Decisions {
			d.Decisions[i].Rationale = ""
		}
		for i := range d.RejectedAlternatives {
			d.RejectedAlternatives[i].Reason = ""
		}
	}
	return d
}

// Closing takes a fact out of force: a decision is rejected, a constraint lifted,
// an alternative reversed, a question answered, a Fact superseded.
type Closing struct {
	ID       string
	Evidence holdfast.Evidence
}

// PlanWord is what was said of one plan that the model showed in prose.
type PlanWord struct {
	// Verdict is PlanProposed, PlanAccepted or PlanRejected.
	Verdict holdfast.PlanStatus
	// Steps are those that the verdict is about, Removed those of the same
	// proposal that the user took out when accepting it.
	Steps, Removed []string
	Evidence       holdfast.Evidence
}

// Merge applies a delta. The revision grows by one when the content changed, else
// the capsule is as it was, save for the watermark.
//
// The user's own word, typed, edited, answered or accepted, wins by the turn in
// which it was said; where a turn is not known, what is merged later wins. What an
// agent or a model says on its own never overrides that and stays provisional
// beside it. Deltas that state different things of a subject, each with its turn,
// give the same facts in force in any order.
func Merge(c holdfast.Capsule, d Delta) holdfast.Capsule {
	before := Seal(c)
	next := clone(c)
	for _, x := range d.Closed {
		closeFact(&next, x)
	}
	mergeChoices(&next, d)
	for _, x := range d.Constraints {
		if add := mergeFact(&next, constraints, x.Statement, x.Status, x.Evidence); add {
			x.ID = nextID(next, constraints)
			next.Constraints = append(next.Constraints, x)
		}
	}
	for _, x := range d.OpenQuestions {
		if add := mergeFact(&next, questions, x.Statement, x.Status, x.Evidence); add {
			x.ID = nextID(next, questions)
			next.OpenQuestions = append(next.OpenQuestions, x)
		}
	}
	for _, x := range d.Facts {
		if add := mergeFact(&next, facts, x.Statement, x.Status, x.Evidence); add {
			x.ID = nextID(next, facts)
			next.Facts = append(next.Facts, x)
		}
	}
	if d.Plan != nil {
		mergePlan(&next, *d.Plan)
	}
	if d.Watermark != "" {
		next.Watermark = d.Watermark
	}
	return seal(before, next)
}

// mergeChoices merges what was chosen and what was rejected, which may be the same
// thing: the user's own word first, and each in the order in which it was said.
func mergeChoices(c *holdfast.Capsule, d Delta) {
	type choice struct {
		evidence holdfast.Evidence
		merge    func()
	}
	var all []choice
	for _, x := range d.RejectedAlternatives {
		all = append(all, choice{x.Evidence, func() { mergeAlternative(c, x) }})
	}
	for _, x := range d.Decisions {
		all = append(all, choice{x.Evidence, func() { mergeDecision(c, x) }})
	}
	slices.SortStableFunc(all, func(a, b choice) int {
		return cmp.Or(weight(b.evidence.By)-weight(a.evidence.By), a.evidence.Turn-b.evidence.Turn)
	})
	for _, x := range all {
		x.merge()
	}
}

// seal bounds and seals what was made of a sealed capsule, and gives it the next
// revision when it differs.
func seal(before, next holdfast.Capsule) holdfast.Capsule {
	evict(&next)
	next = Seal(next)
	next.Revision = before.Revision
	if next.Digest != before.Digest {
		next.Revision++
	}
	return next
}

// entry is a fact of any list: what all lists have in common.
type entry struct {
	section   section
	index     int
	id        string
	statement string
	size      int // bytes that count against the store's bound
	status    *holdfast.FactStatus
	evidence  *holdfast.Evidence
}

// entriesOf lists the facts of all lists. The pointers lead into c.
func entriesOf(c *holdfast.Capsule) (all []entry) {
	add := func(s section, i int, id, statement string, more int, status *holdfast.FactStatus, e *holdfast.Evidence) {
		all = append(all, entry{s, i, id, statement, len(statement) + more + len(e.Quote) + len(e.Proposal), status, e})
	}
	for i := range c.Decisions {
		x := &c.Decisions[i]
		add(decisions, i, x.ID, x.Statement, len(x.Subject)+len(x.Rationale), &x.Status, &x.Evidence)
	}
	for i := range c.Constraints {
		x := &c.Constraints[i]
		add(constraints, i, x.ID, x.Statement, 0, &x.Status, &x.Evidence)
	}
	for i := range c.RejectedAlternatives {
		x := &c.RejectedAlternatives[i]
		add(alternatives, i, x.ID, x.Statement, len(x.Reason), &x.Status, &x.Evidence)
	}
	for i := range c.OpenQuestions {
		x := &c.OpenQuestions[i]
		add(questions, i, x.ID, x.Statement, 0, &x.Status, &x.Evidence)
	}
	for i := range c.Facts {
		x := &c.Facts[i]
		add(facts, i, x.ID, x.Statement, 0, &x.Status, &x.Evidence)
	}
	return all
}

// find is the fact with an id.
func find(c *holdfast.Capsule, id string) (entry, bool) {
	all := entriesOf(c)
	i := slices.IndexFunc(all, func(x entry) bool { return x.id == id })
	if i < 0 || id == "" {
		return entry{}, false
	}
	return all[i], true
}

// inForce and outOfForce are the states of a fact of each list.
var (
	inForce    = [sections]holdfast.FactStatus{holdfast.FactActive, holdfast.FactActive, holdfast.FactRejected, holdfast.FactOpen, holdfast.FactActive}
	outOfForce = [sections]holdfast.FactStatus{holdfast.FactRejected, holdfast.FactLifted, holdfast.FactReversed, holdfast.FactAnswered, holdfast.FactSuperseded}
)

func (x entry) holds() bool { return *x.status == inForce[x.section] }

// prefixes begin the ids of each list.
const prefixes = "dcrqf"

// nextID is one above the highest number in use, so that ids are never reused
// while any fact that might name them is left.
func nextID(c holdfast.Capsule, s section) string {
	most := 0
	for _, x := range entriesOf(&c) {
		var n int
		if _, err := fmt.Sscanf(x.id, prefixes[s:s+1]+"%d", &n); err == nil && x.section == s {
			most = max(most, n)
		}
	}
	return fmt.Sprintf("%c%d", prefixes[s], most+1)
}

// same reports whether two statements say the same: white space, case and a full
// stop make no difference.
func same(a, b string) bool {
	fold := func(s string) string { return strings.ToLower(strings.TrimRight(Normal(s), ".!")) }
	return fold(a) == fold(b)
}

// told reports whether what e says was known when old was said: it is of the same
// turn or an earlier one or, where turns are not known, the same words. An edit of
// an unknown turn is always news, anything else of an unknown turn never.
func told(old, e holdfast.Evidence) bool {
	switch {
	case e.Turn == 0:
		return e.By != holdfast.ByEdit
	case old.Turn == 0:
		return old.Quote == e.Quote
	}
	return e.Turn <= newest(old)
}

// newest is the turn in which a fact was said last; 0 where that is not known.
func newest(e holdfast.Evidence) int { return max(e.Turn, e.Last) }

// repeat notes that a fact in force was said again, on no lesser authority. The
// greater one becomes its evidence.
func repeat(old *holdfast.Evidence, e holdfast.Evidence) {
	switch a, b := weight(e.By), weight(old.By); {
	case a > b:
		e.Last = max(e.Last, newest(*old))
		*old = e
	case a == b && e.Turn > newest(*old) && old.Turn > 0:
		old.Last = e.Turn
	}
}

// earlier reports whether a was said before b, as far as that is known.
func earlier(a, b holdfast.Evidence) bool { return a.Turn > 0 && b.Turn > 0 && newest(a) < newest(b) }

// overrides reports whether a fact that rests on e may take one out of force that
// rests on old: the greater authority may, and of one the later word.
func overrides(e, old holdfast.Evidence) bool {
	if a, b := weight(e.By), weight(old.By); a != b {
		return a > b
	}
	return !earlier(e, old)
}

// closeFact takes a fact out of force when the words that do so are not older
// than the fact and carry enough authority. What is provisional always goes.
func closeFact(c *holdfast.Capsule, x Closing) {
	old, ok := find(c, x.ID)
	if ok && (*old.status == holdfast.FactProvisional || old.holds() && overrides(x.Evidence, *old.evidence)) {
		*old.status = outOfForce[old.section]
	}
}

// mergeFact looks for a statement among those of a list and reports whether it is
// to be added. A provisional one that is now supported is put in force where it
// stands; one in force gains authority; both keep their id.
func mergeFact(c *holdfast.Capsule, s section, statement string, status holdfast.FactStatus, e holdfast.Evidence) (add bool) {
	alike := slices.DeleteFunc(entriesOf(c), func(old entry) bool { return old.section != s || !same(old.statement, statement) })
	for _, old := range alike {
		closed := !old.holds() && *old.status != holdfast.FactProvisional
		if status == holdfast.FactProvisional || closed && told(*old.evidence, e) {
			return false // known, or out of force since
		}
	}
	for _, old := range alike {
		switch {
		case *old.status == holdfast.FactProvisional:
			*old.status, *old.evidence = status, e
			return false
		case old.holds():
			repeat(old.evidence, e)
			return false
		}
	}
	return true
}

// mergeAlternative adds what the user rejected. What was decided before and is
// the same is no longer decided; what was decided since stands.
func mergeAlternative(c *holdfast.Capsule, x holdfast.Alternative) {
	if !mergeFact(c, alternatives, x.Statement, x.Status, x.Evidence) {
		return
	}
	for i, d := range c.Decisions {
		if x.Status != holdfast.FactRejected || d.Status != holdfast.FactActive || !same(d.Statement, x.Statement) {
			continue
		}
		if overrides(x.Evidence, d.Evidence) {
			c.Decisions[i].Status = holdfast.FactRejected
		} else {
			x.Status = holdfast.FactReversed
		}
	}
	x.ID = nextID(*c, alternatives)
	c.RejectedAlternatives = append(c.RejectedAlternatives, x)
}

// mergeDecision adds a decision and keeps at most one active of its subject.
func mergeDecision(c *holdfast.Capsule, x holdfast.Decision) {
	x.Subject = Normal(x.Subject)
	if x.Status == holdfast.FactActive {
		x.Status = standing(c, x)
	}
	alike := -1 // the entry that x repeats
	for i, old := range c.Decisions {
		if !SameSubject(old.Subject, x.Subject) || !same(old.Statement, x.Statement) {
			continue
		}
		closed := old.Status != holdfast.FactActive && old.Status != holdfast.FactProvisional
		if x.Status == holdfast.FactProvisional || weight(x.Evidence.By) < ownWord || closed && told(old.Evidence, x.Evidence) {
			return // known, or out of force since
		}
		if old.Status == holdfast.FactActive || x.Status != holdfast.FactActive && (alike < 0 || c.Decisions[alike].Status != holdfast.FactActive) {
			alike = i
		}
	}
	if alike >= 0 {
		old := &c.Decisions[alike]
		if old.Status == holdfast.FactProvisional {
			old.Status, old.Evidence = x.Status, x.Evidence // said, and out of force since
		}
		if old.Rationale == "" {
			old.Rationale = x.Rationale
		}
		repeat(&old.Evidence, x.Evidence)
		return
	}
	named := x.Supersedes
	x.Supersedes = nil
	if x.Status == holdfast.FactActive {
		for i, old := range c.Decisions {
			about := SameSubject(old.Subject, x.Subject) || slices.Contains(named, old.ID)
			settled := old.Status == holdfast.FactActive || old.Status == holdfast.FactProvisional
			if about && settled && overrides(x.Evidence, old.Evidence) {
				c.Decisions[i].Status = holdfast.FactSuperseded
				x.Supersedes = append(x.Supersedes, old.ID)
			}
		}
		for i, old := range c.RejectedAlternatives {
			if old.Status == holdfast.FactRejected && same(old.Statement, x.Statement) {
				c.RejectedAlternatives[i].Status = holdfast.FactReversed
			}
		}
	}
	x.ID = nextID(*c, decisions)
	c.Decisions = append(c.Decisions, x)
}

// standing is the state in which a grounded decision enters: active, unless
// something that it may not override stands against it.
func standing(c *holdfast.Capsule, x holdfast.Decision) holdfast.FactStatus {
	against := func(old, e holdfast.Evidence, out holdfast.FactStatus) holdfast.FactStatus {
		if weight(e.By) < weight(old.By) {
			return holdfast.FactProvisional
		}
		return out
	}
	for _, old := range c.Decisions {
		if old.Status == holdfast.FactActive && SameSubject(old.Subject, x.Subject) && !overrides(x.Evidence, old.Evidence) {
			return against(old.Evidence, x.Evidence, holdfast.FactSuperseded)
		}
	}
	for _, old := range c.RejectedAlternatives {
		if old.Status == holdfast.FactRejected && same(old.Statement, x.Statement) && !overrides(x.Evidence, old.Evidence) {
			return against(old.Evidence, x.Evidence, holdfast.FactRejected)
		}
	}
	return holdfast.FactActive
}

// SameSubject reports whether two names mean one subject of a decision: case,
// white space and the marks between words make no difference.
func SameSubject(a, b string) bool {
	fold := func(s string) string {
		return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return strings.ContainsRune(" \t\r\n._-/:", r) }), " ")
	}
	return fold(a) == fold(b)
}

// evict keeps the store's bounds: what is provisional goes first, then what is out
// of force, then the oldest of the lowest authority.
func evict(c *holdfast.Capsule) {
	for {
		all := entriesOf(c)
		size, count := 0, [sections]int{}
		for _, x := range all {
			size += x.size
			count[x.section]++
		}
		worst := -1
		for i, x := range all {
			if size <= maxFactsBytes && count[x.section] <= maxFacts {
				continue
			}
			if worst < 0 || goesBefore(x, all[worst]) {
				worst = i
			}
		}
		if worst < 0 {
			return
		}
		take(c, all[worst])
	}
}

func goesBefore(a, b entry) bool {
	class := func(x entry) int {
		switch {
		case *x.status == holdfast.FactProvisional:
			return 0
		case !x.holds():
			return 1
		}
		return 2 + weight(x.evidence.By)
	}
	if x, y := class(a), class(b); x != y {
		return x < y
	}
	return a.evidence.Turn < b.evidence.Turn
}

// take takes one fact out of its list.
func take(c *holdfast.Capsule, x entry) {
	i := x.index
	switch x.section {
	case decisions:
		c.Decisions = slices.Delete(c.Decisions, i, i+1)
	case constraints:
		c.Constraints = slices.Delete(c.Constraints, i, i+1)
	case alternatives:
		c.RejectedAlternatives = slices.Delete(c.RejectedAlternatives, i, i+1)
	case questions:
		c.OpenQuestions = slices.Delete(c.OpenQuestions, i, i+1)
	case facts:
		c.Facts = slices.Delete(c.Facts, i, i+1)
	}
}
