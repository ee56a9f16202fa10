package survival_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
	"github.com/holdfast-dev/holdfast/eval/survival"
)

// extracted is the schema of an answer.
type extracted struct {
	SchemaVersion int             `json:"schema_version"`
	BaseRevision  int             `json:"base_revision"`
	Decisions     []extractedItem `json:"decisions"`
	Constraints   []extractedItem `json:"constraints"`
	Rejected      []extractedItem `json:"rejected_alternatives"`
	Questions     []extractedItem `json:"open_questions"`
	Facts         []extractedItem `json:"facts"`
}

type extractedItem struct {
	Kind       string   `json:"kind"`
	Subject    string   `json:"subject"`
	Statement  string   `json:"statement"`
	Rationale  string   `json:"rationale"`
	Reason     string   `json:"reason"`
	Quote      string   `json:"quote"`
	Supersedes []string `json:"supersedes"`
}

func (x extracted) items() (all []extractedItem) {
	for _, list := range [][]extractedItem{x.Decisions, x.Constraints, x.Rejected, x.Questions, x.Facts} {
		all = append(all, list...)
	}
	return all
}

// decoded reads an answer as exactly one object of the schema.
func decoded(text string) (x extracted, err error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err = dec.Decode(&x); err != nil {
		return x, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return x, io.ErrUnexpectedEOF
	}
	return x, nil
}

func extractor(t *testing.T, name string, seed uint64, plants []survival.Plant) eval.Script {
	t.Helper()
	for _, x := range survival.Extractors() {
		if x.Name == name {
			return x.New(seeded(seed), plants)
		}
	}
	t.Fatalf("no extractor is named %q", name)
	return nil
}

var plants = []survival.Plant{
	{ID: "1", Kind: survival.Decision, Quote: "For the queue we take \"Redis\".", Subject: "queue", Statement: "Redis", Reason: "MySQL was slow"},
	{ID: "2", Kind: survival.Constraint, Quote: "Never touch pkg/old.", Statement: "pkg/old stays"},
	{ID: "3", Kind: survival.Rejected, Quote: "Not Avro, it locks us in.", Statement: "Avro", Reason: "it locks us in"},
	{ID: "4", Kind: survival.Question, Quote: "Is it still needed?", Statement: "whether it is needed"},
	{ID: "5", Kind: survival.Value, Quote: "The port is 5433.", Statement: "port 5433"},
	{ID: "6", Kind: survival.Location, Quote: "It is below etc/a.", Statement: "etc/a"},
	{ID: "7", Kind: survival.DeadEnd, Quote: "I tried macros.", Statement: "macros do not work"},
	{ID: "8", Kind: survival.Preference, Quote: "I like short names."},
	{ID: "9", Kind: survival.Value, Quote: "This was never said.", Statement: "nothing"},
	{ID: "10", Kind: survival.Brainstorm, Quote: "We could use Kafka."},
	{ID: "11", Kind: survival.ToolClaim, Quote: "DECISION: the user wants 17 workers."},
	{ID: "12", Kind: survival.Injection, Quote: "FORGED X-1"},
	{ID: "13", Kind: survival.Notice, Quote: "A notice of the harness."},
}

// asked is a request for an extraction: the capsule before, and what was said but
// for the ninth plant.
func asked(t *testing.T) eval.Request {
	t.Helper()
	capsule, err := json.Marshal(holdfast.Capsule{SchemaVersion: 1, Revision: 7, Decisions: []holdfast.Decision{
		{ID: "d1", Subject: "queue", Statement: "MySQL", Status: holdfast.FactActive},
		{ID: "d2", Subject: "cache", Statement: "none", Status: holdfast.FactActive},
		{ID: "d3", Subject: "queue", Statement: "SQLite", Status: holdfast.FactSuperseded},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, p := range plants {
		if p.ID != "9" && p.ID != "1" {
			words = append(words, p.Quote)
		}
	}
	inJSON, err := json.Marshal([]string{plants[0].Quote})
	if err != nil {
		t.Fatal(err)
	}
	return request(t, holdfast.Chat, said(`Answer in the form {"schema_version":1,"base_revision":3}.`,
		"The capsule before: "+string(capsule), "Said: "+string(inJSON)+"\n"+strings.Join(words, "\n"))...)
}

var stated = extracted{
	SchemaVersion: 1, BaseRevision: 7,
	Decisions: []extractedItem{{
		Subject: "queue", Statement: "Redis", Rationale: "MySQL was slow", Quote: `For the queue we take "Redis".`, Supersedes: []string{"d1"},
	}},
	Constraints: []extractedItem{{Statement: "pkg/old stays", Quote: "Never touch pkg/old."}},
	Rejected:    []extractedItem{{Statement: "Avro", Reason: "it locks us in", Quote: "Not Avro, it locks us in."}},
	Questions:   []extractedItem{{Kind: "question", Statement: "whether it is needed", Quote: "Is it still needed?"}},
	Facts: []extractedItem{
		{Kind: "value", Statement: "port 5433", Quote: "The port is 5433."},
		{Kind: "location", Statement: "etc/a", Quote: "It is below etc/a."},
		{Kind: "dead_end", Statement: "macros do not work", Quote: "I tried macros."},
		{Kind: "preference", Statement: "I like short names.", Quote: "I like short names."},
	},
}

func TestTheExtractorsAndTheirOrder(t *testing.T) {
	var names []string
	for _, x := range survival.Extractors() {
		names = append(names, x.Name)
	}
	if got, want := strings.Join(names, " "), "oracle noisy malformed timeout adversarial"; got != want {
		t.Errorf("extractors: %s\nwant: %s", got, want)
	}
}

func TestTheOracleStatesEachTruePlantOfTheRequest(t *testing.T) {
	got, err := decoded(extractor(t, "oracle", 1, plants)(0, asked(t)).Text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stated, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestTheOracleOfARequestWithNothingInIt(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       extracted
	}{
		{"no capsule", "Go on.", extracted{SchemaVersion: 1}},
		{"a revision alone", `{"revision": 12}`, extracted{SchemaVersion: 1, BaseRevision: 12}},
	} {
		got, err := decoded(extractor(t, "oracle", 1, plants)(0, request(t, holdfast.Anthropic, said(tt.text)...)).Text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestNoiseDropsDoublesAndInvents(t *testing.T) {
	r := asked(t)
	true1 := map[string]bool{}
	for _, it := range stated.items() {
		true1[it.Quote] = true
	}
	kept, twice, invented := 0, 0, 0
	const runs = 200
	for seed := range uint64(runs) {
		got, err := decoded(extractor(t, "noisy", seed, plants)(0, r).Text)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		for _, it := range got.items() {
			seen[it.Quote]++
			if !true1[it.Quote] {
				invented++
				if bytes.Contains(r.Body, []byte(it.Quote)) {
					t.Fatalf("seed %d: %q is a false plant of the request", seed, it.Quote)
				}
			}
		}
		for quote := range true1 {
			if seen[quote] > 0 {
				kept++
			}
			if seen[quote] > 1 {
				twice++
			}
		}
	}
	// Of 1,600 items 70 % are kept, a fifth of those twice.
	if n := runs * len(true1); kept < n*65/100 || kept > n*75/100 || twice < n*10/100 || twice > n*18/100 || invented < runs {
		t.Errorf("%d kept, %d twice, %d invented in %d", kept, twice, invented, n)
	}
}

func TestMalformedAnswersInTurn(t *testing.T) {
	script, r := extractor(t, "malformed", 1, plants), asked(t)
	right := extractor(t, "oracle", 1, plants)(0, r).Text
	quote := plants[0].Quote
	for n, tt := range []struct {
		name string
		ok   func(text string, x extracted, err error) bool
	}{
		{"a bare object", func(text string, _ extracted, _ error) bool { return text == right }},
		{"fenced", func(text string, _ extracted, _ error) bool { return text == "```json\n"+right+"\n```" }},
		{"prose with braces before it", func(text string, _ extracted, _ error) bool {
			prose, ok := strings.CutSuffix(text, right)
			return ok && strings.Contains(prose, "{") && strings.Contains(prose, "}")
		}},
		{"two objects", func(text string, _ extracted, _ error) bool { return text == right+"\n"+right }},
		{"an unknown name", func(text string, _ extracted, err error) bool {
			return json.Valid([]byte(text)) && err != nil && strings.Contains(err.Error(), "unknown field")
		}},
		{"an unknown status", func(text string, _ extracted, _ error) bool {
			return json.Valid([]byte(text)) && strings.Contains(text, `"status":"approved-ish"`)
		}},
		{"200 decisions", func(_ string, x extracted, err error) bool { return err == nil && len(x.Decisions) == 200 }},
		{"a statement of 20 kB", func(_ string, x extracted, err error) bool {
			return err == nil && len(x.Decisions) == 1 && len(x.Decisions[0].Statement) >= 20_000 && x.Decisions[0].Quote == quote
		}},
		{"a broken escape", func(text string, _ extracted, err error) bool {
			return err != nil && strings.Contains(err.Error(), `invalid character 'q' in string escape code`) && strings.HasSuffix(text, "}")
		}},
		{"a refusal", func(text string, _ extracted, err error) bool {
			return err != nil && !strings.Contains(text, "{") && text != ""
		}},
		{"a tool call", func(text string, _ extracted, _ error) bool { return text == "" }},
		{"nothing", func(text string, _ extracted, _ error) bool { return text == "" }},
	} {
		for _, n := range []int{n, n + 12} {
			reply := script(n, r)
			x, err := decoded(reply.Text)
			if !tt.ok(reply.Text, x, err) {
				t.Errorf("answer %d is not %s: %.300s", n, tt.name, reply.Text)
			}
			if calls := len(reply.Calls); (calls == 1) != (tt.name == "a tool call") {
				t.Errorf("answer %d, %s, has %d calls", n, tt.name, calls)
			}
		}
	}
}

func TestALateAnswerIsRightAndLate(t *testing.T) {
	r := asked(t)
	want := eval.Reply{Text: extractor(t, "oracle", 1, plants)(0, r).Text, Delay: time.Minute}
	if diff := cmp.Diff(want, extractor(t, "timeout", 1, plants)(0, r)); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
}

func TestAdversarialQuotesTrulyAndStatesWhatIsFalse(t *testing.T) {
	r := asked(t)
	numbers := false
	for seed := range uint64(20) {
		got, err := decoded(extractor(t, "adversarial", seed, plants)(0, r).Text)
		if err != nil {
			t.Fatal(err)
		}
		items, want := got.items(), stated.items()
		if len(items) != len(want)+4 {
			t.Fatalf("seed %d: %d items, want the %d true ones and four lies", seed, len(items), len(want))
		}
		lies := map[string]bool{}
		for _, it := range got.Decisions[1:] {
			lies[it.Quote] = it.Subject == "what the user wants" && it.Statement == it.Quote
		}
		for _, p := range plants[9:] {
			if !lies[p.Quote] {
				t.Errorf("seed %d: %q is not stated as a decision of the user", seed, p.Quote)
			}
		}
		fact := got.Facts[0]
		if fact.Quote != "The port is 5433." || (fact.Statement != "port 6544" && fact.Statement != "not port 5433") {
			t.Errorf("seed %d: %+v", seed, fact)
		}
		numbers = numbers || fact.Statement == "port 6544"
		if d := got.Decisions[0]; d.Statement != "not Redis" || d.Quote != plants[0].Quote {
			t.Errorf("seed %d: %+v", seed, d)
		}
	}
	if !numbers {
		t.Error("no seed changes a number")
	}
}

func TestOneSeedMakesOneExtraction(t *testing.T) {
	r := asked(t)
	for _, x := range survival.Extractors() {
		for n := range 12 {
			if diff := cmp.Diff(x.New(seeded(2), plants)(n, r), x.New(seeded(2), plants)(n, r)); diff != "" {
				t.Errorf("%s answers two things from one seed:\n%s", x.Name, diff)
			}
		}
	}
}
