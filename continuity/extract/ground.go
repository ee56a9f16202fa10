package extract

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
)

// Ground holds an extraction against the batch that it was made of. What it returns
// states nothing as the user's word that the user did not say; what could not be
// shown to be said is provisional. The counts tell how often an item was dropped,
// kept as provisional or replaced by its words.
//
// The watermark of the delta is that of the batch.
func Ground(b Batch, x Extraction) (continuity.Delta, Counts) {
	g := grounder{batch: b, counts: Counts{}}
	for _, m := range b.Messages {
		g.spoken = append(g.spoken, speak(m.Text))
	}
	d := continuity.Delta{Watermark: b.Watermark}
	for _, item := range x.Decisions {
		if y, ok := g.decision(item); ok {
			d.Decisions = append(d.Decisions, y)
		}
	}
	for _, item := range x.Constraints {
		statement, status, e := g.stated(item, holdfast.FactActive)
		d.Constraints = append(d.Constraints, holdfast.Constraint{Statement: statement, Status: status, Evidence: e})
	}
	for _, item := range x.RejectedAlternatives {
		d.RejectedAlternatives = append(d.RejectedAlternatives, g.alternative(item))
	}
	for _, item := range x.OpenQuestions {
		if y, ok := g.question(item); ok {
			d.OpenQuestions = append(d.OpenQuestions, y)
		}
	}
	for _, item := range x.Facts {
		kind := holdfast.FactKind(item.Kind)
		switch kind {
		case holdfast.ValueFact, holdfast.LocationFact, holdfast.DeadEndFact, holdfast.PreferenceFact:
			statement, status, e := g.stated(item, holdfast.FactActive)
			d.Facts = append(d.Facts, holdfast.Fact{Kind: kind, Statement: statement, Status: status, Evidence: e})
		default:
			g.counts[WrongKind]++
		}
	}
	for _, item := range x.Answered {
		g.close(&d, item, true)
	}
	for _, item := range x.Withdrawn {
		g.close(&d, item, false)
	}
	if x.Plan != nil {
		d.Plan = g.plan(*x.Plan)
	}
	return d, g.counts
}

type grounder struct {
	batch  Batch
	spoken []spoken // of each message
	counts Counts
}

// cited finds the message of a role in which a quote stands, the newest one, the
// whole sentences around it, and what they say and do not ask.
func (g *grounder) cited(quote string, role Role) (at int, words, said string, ok bool) {
	for i, s := range slices.Backward(g.spoken) {
		if g.batch.Messages[i].Role != role {
			continue
		}
		if words, said, ok = s.find(quote); ok {
			return i, words, said, true
		}
	}
	return 0, "", "", false
}

// doubt is the evidence of what nobody is known to have said.
func (g *grounder) doubt(item Item, why Reason) holdfast.Evidence {
	g.counts[why]++
	return holdfast.Evidence{By: holdfast.ByInferred, Quote: continuity.Normal(item.Quote)}
}

// stated grounds a statement: what of it is believed, its status, and its evidence.
func (g *grounder) stated(item Item, inForce holdfast.FactStatus) (string, holdfast.FactStatus, holdfast.Evidence) {
	statement := continuity.Normal(item.Statement)
	at, words, said, ok := g.cited(item.Quote, User)
	switch {
	case !ok:
		return statement, holdfast.FactProvisional, g.doubt(item, NotSaid)
	case len(words) > maxTextBytes:
		return statement, holdfast.FactProvisional, g.doubt(item, TooLong)
	case said == "":
		return statement, holdfast.FactProvisional, g.doubt(item, OnlyAsked)
	}
	e := holdfast.Evidence{By: holdfast.ByUser, Turn: g.batch.Messages[at].Turn, Quote: words}
	if supported(statement, said, false) {
		return statement, inForce, e
	}
	if offer, ok := g.offered(at, statement, words); ok {
		e.By, e.Proposal = holdfast.ByAcceptance, offer
		return statement, inForce, e
	}
	g.counts[Misread]++
	return words, inForce, e
}

// offered finds the sentence of the model that supports a statement when the
// user's words, in the message at, say nothing but yes to it: it stands in the
// model's message right before. A sentence that offers a choice is none, nor is one of
// several questions where not all are answered alike.
func (g *grounder) offered(at int, statement, words string) (sentence string, ok bool) {
	if at == 0 || g.batch.Messages[at-1].Role != Assistant || !accepts(words, g.spoken[at]) {
		return "", false
	}
	asked := len(slices.DeleteFunc(g.spoken[at-1].sentencesText(), func(s string) bool { return !inquires(s) }))
	if asked > 1 && slices.ContainsFunc(wordsOf(g.spoken[at].inLines()), func(w word) bool { return picks[w.text] || w.denied() }) {
		return "", false
	}
	for _, s := range g.spoken[at-1].sentencesText() {
		said := wordsOf(s)
		if slices.ContainsFunc(said, func(w word) bool { return chooses[w.text] }) || len(s) > maxTextBytes {
			continue
		}
		if supported(statement, s, false) {
			return s, true
		}
	}
	return "", false
}

// chooses are words by which an offer names more than one thing.
var chooses = set("or oder ou o of lub или either alternatively alternativ")

func (g *grounder) decision(item Item) (holdfast.Decision, bool) {
	statement, status, e := g.stated(item, holdfast.FactActive)
	d := holdfast.Decision{Subject: continuity.Normal(item.Subject), Statement: statement, Status: status, Evidence: e}
	if status == holdfast.FactProvisional {
		return d, true
	}
	if !g.named(d.Subject, e) {
		d.Status, d.Evidence = holdfast.FactProvisional, g.doubt(item, Unsupported)
		return d, true
	}
	if item.Rationale != "" {
		if supported(item.Rationale, e.Quote+" "+e.Proposal, true) {
			d.Rationale = continuity.Normal(item.Rationale)
		} else {
			g.counts[Unsupported]++
		}
	}
	_, _, said, _ := g.cited(item.Quote, User)
	for _, id := range item.Supersedes {
		old, found := entryOf(holdfast.Capsule{Decisions: g.batch.Base.Decisions}, id)
		switch {
		case !found:
			g.counts[UnknownID]++
		case old.supersededBy(said):
			d.Supersedes = append(d.Supersedes, id)
		case !continuity.SameSubject(old.subject, d.Subject):
			g.counts[Unsupported]++
		}
	}
	return d, true
}

// named reports whether the numbers in a subject are those of the words, or of a
// subject that is known.
func (g *grounder) named(subject string, e holdfast.Evidence) bool {
	if slices.ContainsFunc(g.batch.Base.Decisions, func(d holdfast.Decision) bool { return continuity.SameSubject(d.Subject, subject) }) {
		return true
	}
	said := wordsOf(e.Quote + "\n" + e.Proposal)
	for _, w := range wordsOf(subject) {
		if strings.ContainsAny(w.text, "0123456789") && !slices.ContainsFunc(said, func(s word) bool { return s.text == w.text }) {
			return false
		}
	}
	return true
}

func (g *grounder) alternative(item Item) holdfast.Alternative {
	a := holdfast.Alternative{Statement: continuity.Normal(item.Statement), Status: holdfast.FactProvisional}
	at, words, said, ok := g.cited(item.Quote, User)
	switch {
	case !ok:
		a.Evidence = g.doubt(item, NotSaid)
		return a
	case len(words) > maxTextBytes:
		a.Evidence = g.doubt(item, TooLong)
		return a
	case said == "":
		a.Evidence = g.doubt(item, OnlyAsked)
		return a
	}
	// Below its heading the words would say the contrary when they do not say no.
	switch {
	case rejects(a.Statement, said):
	case negates(said):
		a.Statement = words
		g.counts[Misread]++
	default:
		a.Evidence = g.doubt(item, Unsupported)
		return a
	}
	a.Status = holdfast.FactRejected
	a.Evidence = holdfast.Evidence{By: holdfast.ByUser, Turn: g.batch.Messages[at].Turn, Quote: words}
	if item.Reason != "" {
		if supported(item.Reason, said, true) {
			a.Reason = continuity.Normal(item.Reason)
		} else {
			g.counts[Unsupported]++
		}
	}
	return a
}

// question grounds what is open. It may be the model's, and carries no authority.
func (g *grounder) question(item Item) (holdfast.Question, bool) {
	q := holdfast.Question{Kind: holdfast.QuestionKind(item.Kind), Statement: continuity.Normal(item.Statement), Status: holdfast.FactOpen}
	if q.Kind != holdfast.OpenQuestion && q.Kind != holdfast.Blocker {
		g.counts[WrongKind]++
		return q, false
	}
	by := holdfast.ByUser
	at, words, _, ok := g.cited(item.Quote, User)
	if !ok {
		by = holdfast.ByAgent
		at, words, _, ok = g.cited(item.Quote, Assistant)
	}
	if !ok || len(words) > maxTextBytes {
		q.Status, q.Evidence = holdfast.FactProvisional, g.doubt(item, NotSaid)
		return q, true
	}
	q.Evidence = holdfast.Evidence{By: by, Turn: max(g.batch.Messages[at].Turn, 1), Quote: words}
	if !supported(q.Statement, words, false) {
		q.Statement = words
		g.counts[Misread]++
	}
	return q, true
}

// close takes a fact of the capsule before out of force. A question may be answered
// by anybody; everything else by the person, in words that take it back.
func (g *grounder) close(d *continuity.Delta, item Item, answer bool) {
	old, found := entryOf(g.batch.Base, item.ID)
	if !found || answer && !old.question {
		g.counts[UnknownID]++
		return
	}
	by := holdfast.ByUser
	at, words, said, ok := g.cited(item.Quote, User)
	if !ok && old.question {
		by = holdfast.ByAgent
		at, words, said, ok = g.cited(item.Quote, Assistant)
	}
	if !ok || len(words) > maxTextBytes {
		g.counts[NotSaid]++
		return
	}
	e := holdfast.Evidence{By: by, Turn: max(g.batch.Messages[at].Turn, 1), Quote: words}
	switch {
	case said == "":
		g.counts[OnlyAsked]++
	case !old.question && !old.withdrawnBy(said):
		g.counts[Unsupported]++
	default:
		d.Closed = append(d.Closed, continuity.Closing{ID: item.ID, Evidence: e})
	}
}
