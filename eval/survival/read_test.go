package survival

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/eval"
)

func TestFactsOfProseAreJudgedByWhatTheBlockSays(t *testing.T) {
	plants := []Plant{
		{ID: "old", Kind: Decision, Quote: "For the queue 1 we use a cron job.", Exact: "For the queue 1 we use a cron job.", Subject: "queue 1", Statement: "a cron job"},
		{ID: "new", Kind: Decision, Quote: "Forget a cron job for the queue 1, take Kafka.", Exact: "Forget a cron job for the queue 1, take Kafka.", Subject: "queue 1", Statement: "Kafka", Supersedes: "old"},
		{ID: "port", Kind: Value, Quote: "The port is 5433.", Exact: "port is 5433", Statement: "The port is 5433"},
	}
	strict := Gold{Said: []string{"new", "port"}, Overruled: []string{"old"}}
	const (
		decided = "## Decisions of the user\n- queue 1 -> Kafka\n"
		port    = "## Facts\n- value: The port is 5433.\n"
	)
	for _, tt := range []struct {
		name, extractor, block string
		want                   []string
	}{
		{"all of it", "oracle", decided + port, nil},
		{"in the user's own words", "oracle", "## Decisions of the user\n- queue 1 -> Forget a cron job for the queue 1, take Kafka.\n" + port, nil},
		{"a fact is missing", "oracle", decided, []string{"prose_by_next_boundary"}},
		{"a fact stands only among the words", "oracle", decided + "## Words of the user\n- The port is 5433.\n", []string{"prose_by_next_boundary"}},
		{"what was put out of force stands beside it", "oracle", "## Decisions of the user\n- queue 1 -> a cron job\n- queue 1 -> Kafka\n" + port, []string{"overruled_shown_active", "stale_shown_active"}},
		{"one that the extractor missed, and its words", "noisy", "## Decisions of the user\n- queue 1 -> a cron job\n## Words of the user\n- Forget a cron job for the queue 1, take Kafka.\n", nil},
		{"one that the extractor missed, without its words", "noisy", "## Decisions of the user\n- queue 1 -> a cron job\n", []string{"stale_shown_active"}},
		{"a decision of nobody", "noisy", decided + "- queue 7 -> Redis\n", []string{"stale_shown_active"}},
		{"an invention", "noisy", decided + "## Facts\n- value: it takes 3f2a99bc01.\n", []string{"statements_nobody_made"}},
		{"the contrary", "adversarial", decided + "## Facts\n- value: not The port is 5433\n", []string{"statements_nobody_made"}},
		{"another number", "adversarial", decided + "## Facts\n- value: The port is 6544\n", []string{"statements_nobody_made"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := newJudge()
			j.extractor = tt.extractor
			l := &lane{session: &Session{Plants: plants}}
			where := func(what string) string { return what }
			b := readBlock(tt.block)
			j.prose(l, b, strict, strict, Gold{}, where)
			j.answers(l, b, strict, strict, Gold{}, where)
			if diff := cmp.Diff(tt.want, j.tally.failures()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is chosen again in the turn that a compaction cuts may be in the block already.
func TestWhatIsChosenAgainIsInForce(t *testing.T) {
	plants := []Plant{
		{ID: "old", Kind: Decision, Quote: "For the queue 1 we use Kafka.", Exact: "For the queue 1 we use Kafka.", Subject: "queue 1", Statement: "Kafka"},
		{ID: "new", Kind: Decision, Quote: "Forget Kafka for the queue 1, take Redis.", Exact: "Forget Kafka for the queue 1, take Redis.", Subject: "queue 1", Statement: "Redis", Supersedes: "old"},
		{ID: "again", Kind: Decision, Quote: "No, Kafka for the queue 1.", Exact: "No, Kafka for the queue 1.", Subject: "queue 1", Statement: "Kafka", Supersedes: "new"},
	}
	before := Gold{Said: []string{"new"}, Overruled: []string{"old"}}
	for _, tt := range []struct {
		name  string
		loose Gold
		want  []string
	}{
		{"chosen again", Gold{Said: []string{"again"}, Overruled: []string{"old", "new"}}, nil},
		{"not chosen again", before, []string{"overruled_shown_active"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := newJudge()
			j.extractor = "oracle"
			j.prose(&lane{session: &Session{Plants: plants}}, readBlock("## Decisions of the user\n- queue 1 -> Kafka\n- queue 1 -> Redis\n"), before, tt.loose, Gold{}, func(what string) string { return what })
			if diff := cmp.Diff(tt.want, j.tally.failures()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheExtractorsInputIsJudged(t *testing.T) {
	l := &lane{session: &Session{Tag: "KBC", Plants: []Plant{
		{Kind: ToolClaim, Quote: "NOTE(user): never touch it", Exact: "never touch it"},
		{Kind: ToolClaim, Quote: "the user typed this as a quote", Exact: "typed this", Typed: true},
	}}}
	send := func(texts ...string) *judge {
		w := &world{lanes: map[string]*lane{"KBC": l}, reader: eval.NewUpstream(eval.Config{Side: func(int, eval.Request) eval.Reply { return eval.Reply{} }})}
		for _, text := range texts {
			quoted, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			body := []byte(`{"model":"m","messages":[{"role":"user","content":` + string(quoted) + `}]}`)
			r, err := http.NewRequest("POST", "/v1/chat/completions", bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			w.reader.ServeHTTP(discard{http.Header{}}, r)
		}
		j := newJudge()
		j.read(w)
		return j
	}
	if got := send("KBC-a1 the user typed this as a quote").tally.failures(); len(got) > 0 {
		t.Errorf("failed: %v", got)
	}
	if got := send("it", "NOTE(user): never touch it").tally.failures(); !slices.Equal(got, []string{"foreign_text_in_extractor_input"}) {
		t.Errorf("failed: %v", got)
	}
	var growing []string
	text := "KBC "
	for range 16 {
		text += "some words more "
		growing = append(growing, text)
	}
	if got := send(growing...).inputs; len(got) != 1 || got[0] < 5 || got[0] > 6 {
		t.Errorf("16 bytes more with each call: a slope of %v tokens", got)
	}
}

// discard takes an answer that nobody reads.
type discard struct{ header http.Header }

func (d discard) Header() http.Header       { return d.header }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}

func TestOneChangeIsAnInsertionOrAnotherBlock(t *testing.T) {
	const old, fresh = `<holdfast-record revision=\"1\">a, and b</holdfast-record>`, `<holdfast-record revision=\"12\">a, c</holdfast-record>`
	for _, tt := range []struct {
		name, sent, arrived string
		want                bool
	}{
		{"nothing", `["a"]`, `["a"]`, true},
		{"an insertion", `["a","b"]`, `["a","x","b"]`, true},
		{"two insertions", `["a","b"]`, `["x","a","y","b"]`, false},
		{"a deletion", `["a","b"]`, `["a"]`, false},
		{"another text", `["a","b"]`, `["a","c"]`, false},
		{"another block", `["a ` + old + ` b"]`, `["a ` + fresh + ` b"]`, true},
		{"another block and another text behind it", `["a ` + old + ` b"]`, `["a ` + fresh + ` c"]`, false},
		{"another text behind a block", `["a ` + old + ` b c"]`, `["a ` + old + ` d c"]`, false},
		{"no block in the place of one", `["a ` + old + ` b"]`, `["a b"]`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := oneInsertion([]byte(tt.sent), []byte(tt.arrived)); got != tt.want {
				t.Errorf("one change: %v", got)
			}
		})
	}
}

func TestALaterRevisionIsNewer(t *testing.T) {
	const one, two = `<holdfast-record revision="9">`, `<holdfast-record revision="10">`
	for _, tt := range []struct {
		record, than string
		want         bool
	}{{two, one, true}, {one, two, false}, {one, one, false}, {one, "", true}, {"", one, false}, {"a text", one, false}} {
		if got := newer(tt.record, tt.than); got != tt.want {
			t.Errorf("%q is newer than %q: %v", tt.record, tt.than, got)
		}
	}
}
