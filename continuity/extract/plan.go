package extract

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
)

// listItem is a top-level item of a list, and inlineItem one inside of a line.
var (
	listItem   = regexp.MustCompile(`^(?:[-*+]|\d{1,2}[.)])\s+(?:\[[ xX]\]\s+)?(.+)$`)
	inlineItem = regexp.MustCompile(`(?:^|\s)(\d{1,2})[.)]\s+`)
)

// maxSteps bounds the steps that are read out of a text; one with more is no plan
// that a person reads.
const maxSteps = 60

// Steps are the steps that a text of the model lists, as it words them: the items of
// its lists, those with numbers alone where it has both kinds, since by these they are
// spoken of; or what is numbered from 1 inside of a line.
func Steps(text string) (steps []string) {
	var fence continuity.Fence
	var numbered []string
	for line := range strings.Lines(text) {
		fence.Line(line)
		if m := listItem.FindStringSubmatch(strings.TrimRight(line, " \t\r\n")); m != nil && !fence.In() {
			if inner := inline(line); len(inner) > 1 {
				return inner
			}
			steps = append(steps, continuity.Normal(m[1]))
			if unicode.IsDigit(rune(line[0])) {
				numbered = append(numbered, continuity.Normal(m[1]))
			}
		}
	}
	if len(numbered) > 1 {
		steps = numbered
	}
	if len(steps) == 0 {
		steps = inline(text)
	}
	if len(steps) > maxSteps {
		return nil
	}
	return steps
}

// inline reads steps that are numbered 1, 2, 3 in running text.
func inline(text string) (steps []string) {
	next, from := 1, 0
	cut := func(to int) {
		if next > 1 {
			steps = append(steps, strings.TrimRight(continuity.Normal(text[from:to]), ".;,"))
		}
	}
	for _, m := range inlineItem.FindAllStringSubmatchIndex(text, -1) {
		if n, _ := strconv.Atoi(text[m[2]:m[3]]); n != next {
			continue
		}
		cut(m[0])
		next, from = next+1, m[1]
	}
	cut(len(text))
	return steps
}

// PlanLike reports whether a text of the model shows a plan that the person may
// answer: it lists steps, or says that it proposes something.
func PlanLike(text string) bool {
	return len(Steps(text)) >= 2 || slices.ContainsFunc(wordsOf(text), func(w word) bool { return proposing[w.text] })
}

// answers reports whether a message of the person may answer a text of the model: any
// may, where that shows a plan of steps, and a yes or a no, where it proposes something
// in other words. A yes that only wants the work to go on answers a question alone.
func answers(message, text string) bool {
	if len(message) > maxUserBytes {
		message = strings.ToValidUTF8(message[:maxUserBytes], "") // it begins with a yes or a no
	}
	switch {
	case len(Steps(text)) >= 2:
		return true
	case !PlanLike(text):
		return false
	case goesOn(message) && !strings.ContainsAny(text, "?？"):
		return refuses(message)
	}
	return affirms(message) || refuses(message)
}

// goesOn reports whether words only want the work to go on.
func goesOn(words string) bool {
	tokens := tokensOf(words)
	return slices.ContainsFunc(tokens, func(t string) bool { return goingOn[t] }) ||
		!slices.ContainsFunc(tokens, func(t string) bool { return hasWord(t) && !chatter[t] })
}

// offers reports whether a text of the model may wait for a yes: it shows a plan, asks,
// speaks of what could be or will be done, other than that the work goes on, or is in a
// language that is not known.
func offers(text string) bool {
	return PlanLike(text) || strings.ContainsAny(text, "?？") || !charted(tokensOf(text)) ||
		slices.ContainsFunc(speak(text).sentencesText(), func(s string) bool {
			tokens := tokensOf(s)
			return slices.ContainsFunc(tokens, func(t string) bool { return offering[t] }) &&
				slices.ContainsFunc(tokens, func(t string) bool { return hasWord(t) && !chatter[t] && !progress[t] })
		})
}

// nods reports whether a text says yes and nothing else. It holds something only where
// something waited for that. What is too long to be sent whole, such as a pasted log, is
// more than that, and is not looked through.
func nods(text string) bool {
	if len(text) > maxUserBytes {
		return false
	}
	tokens := tokensOf(text)
	return affirms(text) && !slices.ContainsFunc(tokens, func(t string) bool { return hasWord(t) && !affirmations[t] && !chatter[t] && !nodding[t] })
}

// affirms reports whether words begin with a yes, in a language that is known. A
// question after what, where or how is none, whatever stands in it.
func affirms(words string) bool {
	clauses := clausesOf(words)
	if len(clauses) == 0 || clauses[0][0].denied() {
		return false
	}
	if interrogatives[clauses[0][0].text] && asks(continuity.Sentences(strings.TrimSpace(words))[0].Text) {
		return false
	}
	for _, w := range clauses[0] {
		if affirmations[w.text] {
			return true
		}
		for _, mark := range affirmationsUnspaced {
			if unspaced(w.text) && strings.HasPrefix(w.text, mark) {
				return true
			}
		}
	}
	return false
}

// refuses reports whether words begin with a no.
func refuses(words string) bool {
	tokens := tokensOf(words)
	return len(tokens) > 0 && refusals[tokens[0]] && (len(tokens) < 2 || tokens[1] != "problem")
}

// plan grounds what an answer says of a plan. The steps are those of the model's
// message, whatever the answer says; a verdict that the user's words do not carry
// leaves a proposal.
func (g *grounder) plan(item PlanItem) *continuity.PlanWord {
	offer, ok := g.newestOffer(len(g.batch.Messages), item.ProposalQuote)
	if item.Verdict == Proposed {
		return g.proposal(offer, ok, item)
	}
	at, words, said, found := g.cited(item.Quote, User)
	if found {
		offer, ok = g.newestOffer(at, item.ProposalQuote)
	}
	switch {
	case !found || !ok:
		g.counts[NotSaid]++
		return g.proposal(offer, ok, item)
	case offer.other, said == "", len(words) > maxTextBytes, g.batch.Messages[at].Cut:
		g.counts[NotAccepted]++
		last, ok := g.newestOffer(len(g.batch.Messages), "")
		return g.proposal(last, ok, item)
	}
	e := holdfast.Evidence{By: holdfast.ByAcceptance, Turn: g.batch.Messages[at].Turn, Quote: words, Proposal: offer.words}
	if item.Verdict == Rejected {
		e.By = holdfast.ByUser
		if !negates(said) {
			g.counts[Unsupported]++
			return g.proposal(offer, true, item)
		}
		return &continuity.PlanWord{Verdict: holdfast.PlanRejected, Steps: offer.steps, Evidence: e}
	}
	kept, removed, understood := choose(offer.steps, g.spoken[at].inLines(), item)
	if !understood || !accepts(words, g.spoken[at]) {
		g.counts[NotAccepted]++
		return g.proposal(offer, true, item)
	}
	return &continuity.PlanWord{Verdict: holdfast.PlanAccepted, Steps: kept, Removed: removed, Evidence: e}
}

// offer is a plan that the model has shown.
type offer struct {
	steps []string
	words string // the sentence by which it is cited; "" for none
	turn  int
	other bool // another plan was shown behind it
}

// newestOffer finds the plan that a message at the index before answers: the one
// that is cited or, without a quote, the newest; else the one that waits in the
// capsule. What was shown behind the cited one is noted.
func (g *grounder) newestOffer(before int, quote string) (offer, bool) {
	other := false
	for i := before - 1; i >= 0; i-- {
		m := g.batch.Messages[i]
		if m.Role != Assistant {
			continue
		}
		words, _, cited := g.spoken[i].find(quote)
		if len(words) > maxTextBytes {
			words = ""
		}
		if !cited && !PlanLike(m.Text) {
			continue
		}
		if quote == "" || cited {
			o := offer{steps: Steps(m.Text), words: words, turn: m.Turn, other: other}
			if len(o.steps) == 0 && words != "" {
				o.steps = []string{words}
			}
			return o, len(o.steps) > 0 && !m.Cut // its steps are not all known
		}
		other = true
	}
	p := g.batch.Base.Proposal
	if p == nil || p.Source != holdfast.FromConversation || p.Status != holdfast.PlanProposed || quote != "" && !strings.Contains(p.Evidence.Quote, continuity.Normal(quote)) && quote != p.Evidence.Quote {
		return offer{}, false
	}
	o := offer{words: p.Evidence.Quote, turn: p.Evidence.Turn, other: other}
	for _, s := range p.Steps {
		o.steps = append(o.steps, s.Text)
	}
	return o, true
}

// proposal is an offer that nobody has answered.
func (g *grounder) proposal(o offer, ok bool, item PlanItem) *continuity.PlanWord {
	if !ok {
		g.counts[Unsupported]++
		return nil
	}
	return &continuity.PlanWord{
		Verdict: holdfast.PlanProposed, Steps: o.steps,
		Evidence: holdfast.Evidence{By: holdfast.ByAgent, Turn: max(o.turn, 1), Quote: o.words},
	}
}

// numbers is a list of step numbers: "2", "1 to 3", "1, 2 and 4".
const numbers = `#?\d{1,2}(?: ?(?:-|–|to|through|bis|until|à|a|,|and|und|&|\+|et|y|e) ?#?\d{1,2})*`

const stepWord = `(?:(?:(?:the|den|die|dem|el|los|la|le|les)\s+|l['’])?(?:(?:steps?|points?|items?|numbers?|nos?\.|nr\.?|schritte?n?|punkte?n?|nummern?|étapes?|pasos?)\s+))`

// all but these, only these; the list ends the clause or nearly so.
var (
	butSteps  = regexp.MustCompile(`(?im)(?:^|[\s,;.])(?:but(?:\s+not)?|except(?:\s+for)?|without|skip|omit|leave\s+out|drop|not|no|außer|bis\s+auf|ohne|nicht|überspringe?|lass|streiche?|sauf|sans|excepto|sin|salvo)\s+` + stepWord + `?(` + numbers + `)(?:\s+(?:weg|aus|out|please|bitte))?\s*(?:$|[.,;!)]|\s(?:and|und|but|aber|for|für|first|now)\b)`)
	onlySteps = regexp.MustCompile(`(?im)(?:^|[\s,;.])(?:(?:do|only|just|start\s+with|go\s+ahead\s+with|implement|run|nur|mach|mache|macht|erst|solo|seulement)\s+(?:only\s+|just\s+|nur\s+|with\s+)?` + stepWord + `?|` + stepWord + `)(` + numbers + `)\s*(?:$|[.,;!)]|\s(?:and|und|but|aber|for|für|first|now|zuerst|please|bitte|only)\b)`)
	numberIn  = regexp.MustCompile(`\d{1,2}|-|–|to|through|bis|until|à`)
)

// choose tells which steps the user's message accepts. What the message says by
// number or by name counts before the answer of the model; understood is false when
// it takes only a part, and neither tells which.
func choose(steps []string, message string, item PlanItem) (kept, removed []string, understood bool) {
	out := map[int]bool{}
	only := map[int]bool{}
	add := func(to map[int]bool, list string) {
		for _, n := range listed(list, len(steps)) {
			to[n] = true
		}
	}
	rest := message
	for _, m := range slices.Backward(butSteps.FindAllStringSubmatchIndex(message, -1)) {
		if !slices.ContainsFunc(clauseBefore(message, m[0]), func(w word) bool { return w.not > 0 || w.refused > 0 }) { // do not skip 2
			add(out, message[m[2]:m[3]])
		}
		rest = rest[:m[0]] + ". " + rest[m[1]:]
	}
	for _, m := range onlySteps.FindAllStringSubmatchIndex(rest, -1) {
		before := clauseBefore(rest, m[0])
		switch {
		case slices.ContainsFunc(before, word.denied): // do not do 2
			add(out, rest[m[2]:m[3]])
		case slices.ContainsFunc(before, func(w word) bool { return w.not > 0 }): // do not forget 2
		case !takes(rest[m[0]:m[1]]) && slices.ContainsFunc(before, func(w word) bool { return !approvals[w.text] && !consents[w.text] && !chatter[w.text] }): // I like step 2
		default:
			add(only, rest[m[2]:m[3]])
		}
	}
	spoken := len(out)+len(only) > 0
	for i, s := range steps {
		if denied(s, message) {
			out[i+1], spoken = true, true
		}
	}
	if !spoken && item.Verdict == Partly {
		for i, s := range steps {
			named := slices.ContainsFunc(item.Steps, func(x string) bool { return strings.EqualFold(continuity.Normal(x), s) || sameStep(x, s) })
			if !named {
				out[i+1] = true
			}
		}
		if len(out) == 0 || len(out) == len(steps) {
			return nil, nil, false
		}
	}
	for i, s := range steps {
		if out[i+1] || len(only) > 0 && !only[i+1] {
			removed = append(removed, s)
		} else {
			kept = append(kept, s)
		}
	}
	return kept, removed, len(kept) > 0
}

// clauseBefore is what stands in the clause before a place in a text, where a mark may
// stand that ends one.
func clauseBefore(text string, at int) []word {
	return wordsOf(text[min(at, strings.LastIndexAny(text[:min(at+1, len(text))], ",;:.!?\n")+1):at])
}

// takes reports whether words begin with more than the name of a step: do, only.
func takes(words string) bool {
	for _, t := range tokensOf(words) {
		if hasWord(t) && !glue[t] {
			return !stepNouns[t]
		}
	}
	return false
}

// sameStep reports whether two wordings of a step have the same content.
func sameStep(a, b string) bool {
	return supported(a, b, false) || supported(b, a, false)
}

// listed reads a list of numbers from 1 to most; a range counts whole.
func listed(list string, most int) (ns []int) {
	upTo := false
	for _, t := range numberIn.FindAllString(list, -1) {
		n, err := strconv.Atoi(t)
		switch {
		case err != nil:
			upTo = true
			continue
		case n < 1 || n > most:
			return nil
		case upTo && len(ns) > 0:
			for k := ns[len(ns)-1] + 1; k <= n; k++ {
				ns = append(ns, k)
			}
		default:
			ns = append(ns, n)
		}
		upTo = false
	}
	return ns
}

// excludes reports whether a clause takes out what it names, without a verb of its own:
// but not the table.
func excludes(clause []word) bool {
	for i, w := range clause {
		switch {
		case contrasts[w.text], w.text == "just", w.text == "nur":
			continue
		case negators[w.text], excluding[w.text]:
			return w.refused == 0 && w.not < 2 && (i > 0 || lacking[w.text] || excluding[w.text])
		}
		break
	}
	return false
}

// denied reports whether a message says no to what a step does: most of the step's
// words stand in one clause that says no, keeps what the step takes away, or takes what
// it names out of the plan.
func denied(step, message string) bool {
	var of []word
	for _, w := range content(wordsOf(step)) {
		if !common[w.text] {
			of = append(of, w)
		}
	}
	if len(of) == 0 {
		return false
	}
	for _, clause := range clausesOf(message) {
		c, keeps := clause[0], of[0].refused > 0 && slices.ContainsFunc(clause, func(w word) bool { return keeping[w.text] })
		if !excludes(clause) && (c.denied() == of[0].denied() || c.not <= of[0].not && c.refused <= of[0].refused && !keeps) {
			continue
		}
		n := 0
		for _, w := range of {
			if slices.ContainsFunc(clause, func(s word) bool { return alike(w.text, s.text) }) {
				n++
			}
		}
		if n >= 2 && 2*n > len(of) {
			return true
		}
	}
	return false
}
