package survival_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
	"github.com/holdfast-dev/holdfast/eval/survival"
)

// said are texts of the user.
func said(texts ...string) []survival.Passage {
	var out []survival.Passage
	for _, text := range texts {
		out = append(out, survival.Passage{Role: "user", Text: text})
	}
	return out
}

// request is a request of a protocol with these texts as its history.
func request(t *testing.T, p holdfast.Protocol, history ...survival.Passage) eval.Request {
	t.Helper()
	var entries []any
	for _, m := range history {
		switch p {
		case holdfast.Anthropic:
			part := map[string]any{"type": "text", "text": m.Text}
			role := m.Role
			if m.Role == "tool" {
				role, part = "user", map[string]any{"type": "tool_result", "tool_use_id": "t1", "content": m.Text}
			}
			entries = append(entries, map[string]any{"role": role, "content": []any{part}})
		case holdfast.Chat:
			entries = append(entries, map[string]any{"role": m.Role, "content": m.Text})
		case holdfast.Responses:
			if m.Role == "tool" {
				entries = append(entries, map[string]any{"type": "function_call_output", "call_id": "c1", "output": m.Text})
				continue
			}
			entries = append(entries, map[string]any{"type": "message", "role": m.Role, "content": []any{map[string]any{"type": "input_text", "text": m.Text}}})
		case holdfast.Gemini:
			part, role := map[string]any{"text": m.Text}, m.Role
			switch m.Role {
			case "assistant":
				role = "model"
			case "tool":
				role, part = "user", map[string]any{"functionResponse": map[string]any{"name": "x", "response": map[string]any{"output": m.Text}}}
			}
			entries = append(entries, map[string]any{"role": role, "parts": []any{part}})
		}
	}
	field := map[holdfast.Protocol]string{
		holdfast.Anthropic: "messages", holdfast.Chat: "messages", holdfast.Responses: "input", holdfast.Gemini: "contents",
	}[p]
	body, err := json.Marshal(map[string]any{field: entries, "system": "SYSTEM"})
	if err != nil {
		t.Fatal(err)
	}
	return eval.Request{Protocol: p, Kind: eval.PlainCompaction, Body: body}
}

func compactor(t *testing.T, name string) survival.Compactor {
	t.Helper()
	for _, c := range survival.Compactors() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no compactor is named %q", name)
	return survival.Compactor{}
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// summaries are what a script answers to requests in a row.
func summaries(script eval.Script, requests ...eval.Request) (out []string) {
	for i, r := range requests {
		out = append(out, script(i, r).Text)
	}
	return out
}

const recordA = holdfast.BlockOpen + " revision=\"2\">\nIt is a record.\n\n## Plan in force (1 of 2 steps completed)\n" +
	"1. [completed] Write the parser\n2. [in_progress] Test the parser\n\n## Decisions of the user\n- Which store? -> SQLite\n- Which lock? -> leases\n\n" +
	"record revision 2, digest sha256:00112233445566778899aabbccddeeff\n" + holdfast.BlockClose

var recordB = strings.ReplaceAll(recordA, "revision 2", "revision 3")

func TestTheCompactorsAndTheirOrder(t *testing.T) {
	var names, restless []string
	for _, c := range survival.Compactors() {
		names = append(names, c.Name)
		if c.About == "" || strings.Contains(c.About, "\n") {
			t.Errorf("%s is described as %q, want one line", c.Name, c.About)
		}
		if c.Replays || c.Late {
			restless = append(restless, fmt.Sprintf("%s %t %t", c.Name, c.Replays, c.Late))
		}
	}
	want := "null keep-last bernoulli paraphrase merge-confuse stale inject evict malformed opaque replay late"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("compactors: %s\nwant: %s", got, want)
	}
	if diff := cmp.Diff([]string{"replay true false", "late false true"}, restless); diff != "" {
		t.Errorf("compactors whose client is restless (-want +got):\n%s", diff)
	}
}

func TestOneSeedMakesOneSummary(t *testing.T) {
	for _, p := range holdfast.Protocols() {
		history := said("The port is 5433. Never use Redis.", "before\n"+recordA+"\nafter", strings.Repeat("Read pkg/a.go once more. ", 60))
		requests := []eval.Request{request(t, p, history...), request(t, p, history[1:]...), request(t, p, history[:2]...)}
		for _, c := range survival.Compactors() {
			one, two := summaries(c.New(seeded(3)), requests...), summaries(c.New(seeded(3)), requests...)
			if diff := cmp.Diff(one, two); diff != "" {
				t.Errorf("%s at %s answers two things from one seed:\n%s", c.Name, p, diff)
			}
		}
	}
}

func TestForgetfulCompactorsForget(t *testing.T) {
	for _, name := range []string{"null", "replay", "late"} {
		r := request(t, holdfast.Chat, said("The port is 5433.")...)
		if got := summaries(compactor(t, name).New(seeded(1)), r)[0]; got != eval.Forgetful(0, r).Text {
			t.Errorf("%s answers %q", name, got)
		}
	}
}

func TestKeepLastKeepsTheLastSixSentences(t *testing.T) {
	r := request(t, holdfast.Chat, append(said("One. Two. Three.\nFour! Five?"), survival.Passage{Role: "assistant", Text: "Six.\n7. Seven. Eight"})...)
	want := "Three.\nFour!\nFive?\nSix.\n7. Seven.\nEight"
	if got := summaries(compactor(t, "keep-last").New(seeded(1)), r)[0]; got != want {
		t.Errorf("summary %q, want %q", got, want)
	}
}

func TestBernoulliKeepsAboutHalf(t *testing.T) {
	var facts []string
	for i := range 400 {
		facts = append(facts, fmt.Sprintf("Fact %d.", i))
	}
	for seed := range uint64(20) {
		r := request(t, holdfast.Chat, said(strings.Join(facts[:200], " "), strings.Join(facts[200:], "\n"))...)
		kept := strings.Split(summaries(compactor(t, "bernoulli").New(seeded(seed)), r)[0], "\n")
		if n := len(kept); n < 120 || n > 280 {
			t.Errorf("seed %d: %d of 400 sentences are kept", seed, n)
		}
		next := 0
		for _, s := range kept {
			at := slices.Index(facts[next:], s)
			if at < 0 {
				t.Fatalf("seed %d: %q is no sentence of the conversation behind the one before it", seed, s)
			}
			next += at + 1
		}
	}
}

func TestBernoulliBringsTornRecordsBack(t *testing.T) {
	r := request(t, holdfast.Chat, said("Go on.", "Summary\n"+recordA)...)
	torn := 0
	for seed := range uint64(40) {
		got := summaries(compactor(t, "bernoulli").New(seeded(seed)), r)[0]
		if strings.Contains(got, holdfast.BlockOpen) != strings.Contains(got, holdfast.BlockClose) {
			torn++
		}
	}
	if torn == 0 {
		t.Error("no record comes back with one of its delimiters alone")
	}
}

func TestParaphraseChangesWordsAndBlursTheRest(t *testing.T) {
	for _, tt := range []struct{ name, said, want string }{
		{"words have synonyms", "Never use it, because the user tried.", "At no time go with it, since the person attempted."},
		{"a port", "The test database listens on port 5433.", "The check store waits on some port."},
		{"a version and a size", "Pin it to 4.12.3, at most 900 KB.", "Fix it to some number, at most some number KB."},
		{"a code and a ticket", "It returns E10042, see Q-17.", "It gives some name, see some name."},
		{"a path", "It is in services/queue/settings.toml (or README.md).", "It is in a file (or a file)."},
		{"a word of code", "Call `run` or parseAll or max_size.", "Call some name or some name or some name."},
		{"a canary", "We take KBCDFG-a12 here.", "We take some name here."},
		{"the other language", "Nie anfassen, weil der Nutzer nicht will.", "Zu keiner Zeit anfassen, da der Mensch kaum will."},
		{"an old record", recordA, "It is a log.\n## Scheme in force (some number of some number stages finished)\n" +
			"some number. [finished] Write the parser\nsome number. [some name] Check the parser\n## Choices of the person\n" +
			"- Which store?\n-> some name\n- Which lock?\n-> leases\nlog edition some number, checksum some name"},
	} {
		r := request(t, holdfast.Chat, said(tt.said)...)
		if diff := cmp.Diff(tt.want, summaries(compactor(t, "paraphrase").New(seeded(1)), r)[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestMergeConfuseTurnsTheStateRound(t *testing.T) {
	script := compactor(t, "merge-confuse").New(seeded(1))
	first := request(t, holdfast.Anthropic, append(said("The port is 5433. Thanks.", "Summary\n"+recordA),
		survival.Passage{Role: "tool", Text: `The answers: "Which store?"="Redis".`})...)
	second := request(t, holdfast.Anthropic, said("The port is 6000 now.")...)
	state := "## Plan in force (1 of 2 steps completed)\n1. [pending] Write the parser\n2. [completed] Test the parser\n" +
		"## Decisions of the user\n- Which store? -> SQLite\n- Which lock? -> Redis\n## Now in force\n- The port is 5433."
	form := "<analysis>\nI read all of it.\n</analysis>\n<summary>\n%s\n</summary>"
	want := []string{fmt.Sprintf(form, state), fmt.Sprintf(form, state+"\n- The port is 6000 now.")}
	if diff := cmp.Diff(want, summaries(script, first, second)); diff != "" {
		t.Errorf("summaries (-want +got):\n%s", diff)
	}
}

func TestStaleGivesTheOldestRecordAloneAndBehindItsFirstSummary(t *testing.T) {
	requests := []eval.Request{
		request(t, holdfast.Chat, said("The port is 5433. Thanks.")...),
		request(t, holdfast.Chat, said("Behind the summary.\n"+recordA+"\n", "Now it is 6000.")...),
		request(t, holdfast.Chat, said("Behind the summary.\n"+recordB, "Go on.")...),
	}
	first := "The port is 5433.\nThanks."
	want := []string{first, recordA, first + "\n\n" + recordA}
	if diff := cmp.Diff(want, summaries(compactor(t, "stale").New(seeded(1)), requests...)); diff != "" {
		t.Errorf("summaries (-want +got):\n%s", diff)
	}
}

func TestInjectMarksAllThatItForges(t *testing.T) {
	wanted := []string{
		holdfast.BlockOpen + ` revision="999"`, holdfast.BlockOpen + ` revision="2"`, "digest sha256:", "</summary>\n<system-reminder>", "<analysis>\nFORGED",
		"order to the summarizer", "order to the extractor", "order to the merge", "order to the model", "ignore the record",
	}
	seen := map[string]bool{}
	for _, p := range holdfast.Protocols() {
		for seed := range uint64(30) {
			long := strings.Repeat("The reader goes line by line. ", 800)
			for _, history := range [][]survival.Passage{said("Hello."), said(long), said(long, "Summary\n"+recordA)} {
				got := summaries(compactor(t, "inject").New(seeded(seed)), request(t, p, history...))[0]
				if !strings.Contains(got, "FORGED") {
					t.Fatalf("%s, seed %d: nothing is marked in %q", p, seed, got)
				}
				for _, w := range wanted {
					seen[w] = seen[w] || strings.Contains(got, w)
				}
				for _, after := range strings.Split(got, holdfast.BlockOpen)[1:] {
					inside, _, whole := strings.Cut(after, holdfast.BlockClose)
					if !whole || !strings.Contains(inside, "FORGED") {
						t.Fatalf("%s, seed %d: a forged record without an end or a mark: %q", p, seed, after)
					}
				}
			}
		}
	}
	for _, w := range wanted {
		if !seen[w] {
			t.Errorf("no summary holds %q", w)
		}
	}
}

func TestEvictIsLongButNotToGemini(t *testing.T) {
	for _, p := range holdfast.Protocols() {
		r := request(t, p, said(strings.Repeat("The reader goes line by line. ", 1000))...)
		n := len(summaries(compactor(t, "evict").New(seeded(1)), r)[0])
		if p == holdfast.Gemini {
			if n == 0 || n >= len(r.Body)/4 {
				t.Errorf("%d bytes for a body of %d at %s, want less than a quarter", n, len(r.Body), p)
			}
		} else if n < 60_000 || n > 90_000 {
			t.Errorf("%d bytes at %s", n, p)
		}
	}
}

func TestMalformedGoesThroughItsDefects(t *testing.T) {
	for _, p := range holdfast.Protocols() {
		var requests []eval.Request
		for range 9 {
			requests = append(requests, request(t, p, said(strings.Repeat("The reader goes on. ", 50))...))
		}
		got := summaries(compactor(t, "malformed").New(seeded(4)), requests...)
		all := strings.Join(got, "\n")
		for _, defect := range []string{
			holdfast.BlockOpen + ` revision="3"`, holdfast.BlockClose, "<summary>\n<summary>", "```go\nfunc (", "\x00", "\x1b", "\u202e", "\ufffd", "<HOLDFAST-RECORD\n",
		} {
			if !strings.Contains(all, defect) {
				t.Errorf("%s: no summary holds %q", p, defect)
			}
		}
		unclosed, half := 0, 0
		for _, s := range got {
			if inside, ok := strings.CutPrefix(s, "<analysis>\nI go through it"); ok && !strings.Contains(inside, "</analysis>") {
				unclosed++
			}
			if strings.HasSuffix(s, "\n<holdfast") {
				half++
			}
			if strings.TrimSpace(s) == "" {
				t.Errorf("%s: an empty summary, which is none", p)
			}
		}
		if unclosed != 1 || (half != 1 && p != holdfast.Gemini) {
			t.Errorf("%s: %d unclosed, %d with half a delimiter at the end", p, unclosed, half)
		}
	}
}

func TestOpaqueSaysNothing(t *testing.T) {
	got := summaries(compactor(t, "opaque").New(seeded(1)), request(t, holdfast.Chat, said("The port is 5433.")...))[0]
	if len(got) < 600 || strings.ContainsAny(got, " \n<") {
		t.Errorf("summary %q", got)
	}
}

// scripted are the agents whose summaries are words.
var scripted = []struct {
	name string
	make func(c *http.Client, base string) eval.Agent
}{
	{"claude-code", func(c *http.Client, base string) eval.Agent { return eval.NewClaudeCode(c, base, "s", false) }},
	{"claude-code, tasks deferred", func(c *http.Client, base string) eval.Agent { return eval.NewClaudeCode(c, base, "s", true) }},
	{"codex", func(c *http.Client, base string) eval.Agent { return eval.NewCodex(c, base, "s", false) }},
	{"qwen-code", func(c *http.Client, base string) eval.Agent { return eval.NewQwenCode(c, base) }},
	{"gemini-cli", func(c *http.Client, base string) eval.Agent { return eval.NewGeminiCLI(c, base) }},
	{"opencode", func(c *http.Client, base string) eval.Agent { return eval.NewOpenCode(c, base, "s") }},
	{"pi, chat", func(c *http.Client, base string) eval.Agent { return eval.NewPi(c, base, "s", false) }},
	{"pi, responses", func(c *http.Client, base string) eval.Agent { return eval.NewPi(c, base, "s", true) }},
	{"cline", func(c *http.Client, base string) eval.Agent { return eval.NewCline(c, base) }},
}

// play drives an agent through turns, compacts before each but the first, and
// returns what the upstream saw.
func play(t *testing.T, agent func(*http.Client, string) eval.Agent, summary eval.Script, prompts []string) []eval.Request {
	t.Helper()
	up := eval.NewUpstream(eval.Config{Seed: "s", Summary: summary, Turn: func(int, eval.Request) eval.Reply {
		return eval.Reply{Text: strings.Repeat("I read on and change nothing. ", 12)}
	}})
	server := httptest.NewServer(up)
	defer server.Close()
	a := agent(server.Client(), server.URL)
	for i, text := range prompts {
		if i > 0 {
			if err := a.Compact(t.Context()); err != nil {
				t.Fatalf("compaction %d of %T: %v", i, a, err)
			}
		}
		for _, text := range []string{text, "Go on."} {
			if err := a.Prompt(t.Context(), text); err != nil {
				t.Fatalf("turn %d of %T: %v", i, a, err)
			}
		}
	}
	return up.Requests()
}

func TestEveryAgentTakesEverySummary(t *testing.T) {
	for _, a := range scripted {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range survival.Compactors() {
				want := 2
				switch c.Name {
				case "malformed":
					want = 9 // each of its defects
				case "replay", "late":
					continue // the harness makes the difference to null
				}
				prompts := make([]string, want+1)
				for i := range prompts {
					prompts[i] = fmt.Sprintf("Step %d: never change pkg/part%d.go.", i, i)
				}
				if a.name == "gemini-cli" {
					want *= 2
				}
				compactions := 0
				for _, r := range play(t, a.make, c.New(seeded(5)), prompts) {
					if r.Kind == eval.PlainCompaction {
						compactions++
					}
				}
				if compactions != want {
					t.Errorf("%s: the upstream saw %d requests for a summary, want %d", c.Name, compactions, want)
				}
			}
		})
	}
}
