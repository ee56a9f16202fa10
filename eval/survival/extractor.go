package survival

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// Extractor is a scripted model behind the semantic extraction.
type Extractor struct {
	Name string
	// New makes the script of one session with these plants. It states only what
	// stands in the request that it gets: a plant counts when its Quote does. It
	// is called by one goroutine at a time and depends on nothing but rng, the
	// plants and the requests.
	New func(rng *rand.Rand, plants []Plant) eval.Script
}

// Extractors lists all extractors in their fixed order. That of a product
// without extraction is not among them: it is never called.
func Extractors() []Extractor {
	return []Extractor{
		{"oracle", oracle}, {"noisy", noisy}, {"malformed", unreadable}, {"timeout", tooLate}, {"adversarial", adversarial},
	}
}

// extraction is an answer of an extractor.
type extraction struct {
	SchemaVersion int                 `json:"schema_version"`
	BaseRevision  int                 `json:"base_revision"`
	Decisions     []extractedDecision `json:"decisions,omitempty"`
	Constraints   []extractedItem     `json:"constraints,omitempty"`
	Rejected      []extractedItem     `json:"rejected_alternatives,omitempty"`
	Questions     []extractedItem     `json:"open_questions,omitempty"`
	Facts         []extractedItem     `json:"facts,omitempty"`
}

type extractedDecision struct {
	Subject    string   `json:"subject"`
	Statement  string   `json:"statement"`
	Rationale  string   `json:"rationale,omitempty"`
	Quote      string   `json:"quote"`
	Supersedes []string `json:"supersedes,omitempty"`
	// Status is not in the schema: only a malformed answer has it.
	Status string `json:"status,omitempty"`
}

// extractedItem is an item of another list. Kind is set for questions and facts,
// Reason for rejected alternatives.
type extractedItem struct {
	Kind      string `json:"kind,omitempty"`
	Statement string `json:"statement"`
	Reason    string `json:"reason,omitempty"`
	Quote     string `json:"quote"`
}

// extract states plants on top of what the request says of the capsule before.
func extract(before holdfast.Capsule, plants []Plant) extraction {
	x := extraction{SchemaVersion: holdfast.SchemaVersion, BaseRevision: before.Revision}
	for _, p := range plants {
		item := extractedItem{Statement: p.Statement, Quote: p.Quote}
		switch p.Kind {
		case Decision:
			d := extractedDecision{Subject: p.Subject, Statement: p.Statement, Rationale: p.Reason, Quote: p.Quote}
			for _, old := range before.Decisions {
				if old.Subject == d.Subject && old.Statement != d.Statement && old.Status == holdfast.FactActive {
					d.Supersedes = append(d.Supersedes, old.ID)
				}
			}
			x.Decisions = append(x.Decisions, d)
		case Constraint:
			x.Constraints = append(x.Constraints, item)
		case Rejected:
			item.Reason = p.Reason
			x.Rejected = append(x.Rejected, item)
		case Question:
			item.Kind = "question"
			x.Questions = append(x.Questions, item)
		case Value, Location, DeadEnd, Preference:
			item.Kind = string(p.Kind)
			x.Facts = append(x.Facts, item)
		}
	}
	return x
}

// text is the answer as a model writes it.
func (x extraction) text() string {
	b, _ := json.Marshal(x) // texts and numbers always marshal
	return string(b)
}

// planted returns the plants whose quote stands in a request, true or false ones.
// One without a statement states its quote.
func planted(r eval.Request, plants []Plant, lies bool) (in []Plant) {
	texts := textsOf(r.Body)
	for _, p := range plants {
		inJSON, _ := json.Marshal(p.Quote) // strings always marshal
		spelled := string(inJSON[1 : len(inJSON)-1])
		stands := func(text string) bool { return strings.Contains(text, p.Quote) || strings.Contains(text, spelled) }
		if p.Quote != "" && p.Kind.False() == lies && slices.ContainsFunc(texts, stands) {
			if p.Statement == "" {
				p.Statement = p.Quote
			}
			in = append(in, p)
		}
	}
	return in
}

var (
	capsuleStart = regexp.MustCompile(`\{\s*"schema_version"`)
	revisionSaid = regexp.MustCompile(`"revision"\s*:\s*(\d{1,9})\b`)
)

// capsuleIn is the capsule that a request holds as JSON, or of it the revision
// alone; zero when it holds neither.
func capsuleIn(r eval.Request) holdfast.Capsule {
	texts := textsOf(r.Body)
	for _, text := range texts {
		for _, at := range capsuleStart.FindAllStringIndex(text, -1) {
			var c holdfast.Capsule
			if json.NewDecoder(strings.NewReader(text[at[0]:])).Decode(&c) == nil && c.Revision > 0 {
				return c
			}
		}
	}
	for _, text := range texts {
		if m := revisionSaid.FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[1]) // up to nine digits
			return holdfast.Capsule{Revision: n}
		}
	}
	return holdfast.Capsule{}
}

// oracle states each true plant of the request, and nothing else.
func oracle(_ *rand.Rand, plants []Plant) eval.Script {
	return func(_ int, r eval.Request) eval.Reply {
		return eval.Reply{Text: extract(capsuleIn(r), planted(r, plants, false)).text()}
	}
}

// noisy leaves items out, states some twice, and makes some up.
func noisy(rng *rand.Rand, plants []Plant) eval.Script {
	kinds := []Kind{Decision, Constraint, Rejected, Question, Value, Location, DeadEnd, Preference}
	return func(_ int, r eval.Request) eval.Reply {
		var out []Plant
		invent := func() {
			n := rng.Uint64()
			out = append(out, Plant{
				Kind: kinds[rng.IntN(len(kinds))], Subject: fmt.Sprintf("aside %x", n), Statement: fmt.Sprintf("takes %x", n),
				Quote: fmt.Sprintf("In passing I said that it takes %x.", n),
			})
		}
		for _, p := range planted(r, plants, false) {
			if rng.Float64() < 0.3 {
				continue
			}
			out = append(out, p)
			if rng.Float64() < 0.2 {
				out = append(out, p)
			}
			if rng.Float64() < 0.2 {
				invent()
			}
		}
		invent()
		return eval.Reply{Text: extract(capsuleIn(r), out).text()}
	}
}

// unreadable goes through the forms in which models get an answer wrong, the
// first three of which can still be read.
func unreadable(_ *rand.Rand, plants []Plant) eval.Script {
	return func(n int, r eval.Request) eval.Reply {
		in := planted(r, plants, false)
		right := extract(capsuleIn(r), in)
		quote := "Go on."
		if len(in) > 0 {
			quote = in[0].Quote
		}
		wrong := func(decisions ...extractedDecision) string {
			return extraction{SchemaVersion: right.SchemaVersion, BaseRevision: right.BaseRevision, Decisions: decisions}.text()
		}
		one := extractedDecision{Subject: "storage.engine", Statement: quote, Quote: quote}
		var reply eval.Reply
		switch n % 12 {
		case 0:
			reply.Text = right.text()
		case 1:
			reply.Text = "```json\n" + right.text() + "\n```"
		case 2:
			reply.Text = "Here is what I found {in the form that you asked for}:\n" + right.text()
		case 3:
			reply.Text = right.text() + "\n" + right.text()
		case 4:
			reply.Text = strings.Replace(right.text(), "{", `{"confidence":0.9,`, 1)
		case 5:
			one.Status = "approved-ish"
			reply.Text = wrong(one)
		case 6:
			many := make([]extractedDecision, 200)
			for i := range many {
				many[i] = extractedDecision{Subject: fmt.Sprintf("subject %d", i), Statement: quote, Quote: quote}
			}
			reply.Text = wrong(many...)
		case 7:
			one.Statement = strings.Repeat("It goes on and on. ", 20_000/19+1)
			reply.Text = wrong(one)
		case 8:
			one.Statement = "BROKEN"
			reply.Text = strings.Replace(wrong(one), "BROKEN", `at \q and \u12`, 1)
		case 9:
			reply.Text = "I cannot help with that."
		case 10:
			reply.Calls = []eval.Call{{Name: "record_decision", Args: json.RawMessage(wrong(one))}}
		case 11: // nothing at all
		}
		return reply
	}
}

// tooLate answers right, long after anybody waits for it.
func tooLate(rng *rand.Rand, plants []Plant) eval.Script {
	right := oracle(rng, plants)
	return func(n int, r eval.Request) eval.Reply {
		reply := right(n, r)
		reply.Delay = time.Minute
		return reply
	}
}

// adversarial quotes truly and states what is false: the contrary, other
// numbers, and as decisions of the user what the model, a tool or a harness said.
func adversarial(rng *rand.Rand, plants []Plant) eval.Script {
	return func(_ int, r eval.Request) eval.Reply {
		out := planted(r, plants, false)
		for i := range out {
			out[i].Statement = contrary(rng, out[i].Statement)
			out[i].Reason = "because the user insists on it"
		}
		for _, p := range planted(r, plants, true) {
			out = append(out, Plant{Kind: Decision, Subject: "what the user wants", Statement: p.Quote, Quote: p.Quote})
		}
		return eval.Reply{Text: extract(capsuleIn(r), out).text()}
	}
}

// contrary makes a statement false, by its numbers or as a whole.
func contrary(rng *rand.Rand, statement string) string {
	all := contraries(statement)
	return all[rng.IntN(len(all))]
}

// contraries are the ways to make a statement false.
func contraries(statement string) []string {
	all := []string{"not " + statement}
	if strings.ContainsAny(statement, "0123456789") {
		all = append(all, strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return '0' + (r-'0'+1)%10
			}
			return r
		}, statement))
	}
	return all
}
