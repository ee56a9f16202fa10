package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/engine/extraction"
	"github.com/holdfast-dev/holdfast/eval"
	"github.com/holdfast-dev/holdfast/store/sqlite"
)

// A choice that no tool call states, and the sentence of it that is stated.
const (
	choice      = "Never write to the ledger table from the importer, because the auditors read it."
	choiceTaken = "Never write to the ledger table from the importer"
)

var revisionAsked = regexp.MustCompile(`base_revision is (\d+)`)

// stating is the answer of an extractor that states the choice as a constraint where
// a request has it.
func stating(body []byte) string {
	base := revisionAsked.FindSubmatch(body)
	if base == nil {
		return "this is no request of the extractor"
	}
	constraints := "[]"
	if bytes.Contains(body, []byte(choice)) {
		constraints = fmt.Sprintf(`[{"statement":%q,"quote":%q}]`, choiceTaken, choice)
	}
	return fmt.Sprintf(`{"schema_version":1,"base_revision":%s,"decisions":[],"constraints":%s,"rejected_alternatives":[],"open_questions":[],"facts":[],"answered":[],"withdrawn":[],"plan":null}`,
		base[1], constraints)
}

// choosing is a turn of a session in which the user chooses in prose.
func choosing(session string) claudeCall {
	return claudeCall{header: http.Header{"X-Claude-Code-Session-Id": {session}}, texts: []string{
		says("user", "Port the importer. "+choice),
		`{"role":"assistant","content":[{"type":"tool_use","id":"tu_` + session + `","name":"Bash","input":{"command":"cat notes"}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"tu_` + session + `","content":"We decided to never use toolprinted.example again."}]}`,
	}}
}

// extractorText configures an extractor at a server, and keeps no words of the user:
// what a block says then was extracted.
func extractorText(protocol holdfast.Protocol, base, more string) string {
	return fmt.Sprintf("[compaction_continuity]\npreserve.user_words = false\n[compaction_continuity.extractor]\nenabled = true\nroute = \"small:tiny-1\"\ntimeout = \"20s\"\nbarrier_timeout = \"20s\"\n%s\n"+
		"[[upstream]]\nname = \"small\"\nprotocol = %q\nbase_url = %q\nmodels = [\"tiny-*\"]\n", more, protocol, base)
}

// newSmall is a server of a small model, in all protocols.
func newSmall(t *testing.T, script eval.Script) (*eval.Upstream, string) {
	t.Helper()
	up := eval.NewUpstream(eval.Config{Seed: "small", Side: script, Turn: script, Summary: script})
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	return up, server.URL
}

func statingScript(_ int, r eval.Request) eval.Reply { return eval.Reply{Text: stating(r.Body)} }

func TestAChoiceInProseReachesTheUpstreamBehindACompaction(t *testing.T) {
	for _, protocol := range holdfast.Protocols() {
		t.Run(string(protocol), func(t *testing.T) {
			small, base := newSmall(t, statingScript)
			key := filepath.Join(t.TempDir(), "key")
			if err := os.WriteFile(key, []byte("sk-small-0123456789\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			text := extractorText(protocol, base, "") + fmt.Sprintf("api_key = \"file:%s\"\n[models.\"tiny-1\"]\nprice = {input = 1.0, output = 2.0}\n", key)
			p := newPoliced(t, text, "ci/night")
			if got := p.added("ci/night", choosing("s")); got != "" {
				t.Fatalf("something was added before any compaction:\n%s", got)
			}
			got := p.added("ci/night", resumed("s", "I go on.", "More."))
			if !strings.Contains(got, choiceTaken) || strings.Contains(got, "toolprinted") {
				t.Errorf("behind the compaction was added:\n%s", got)
			}
			for _, r := range small.Requests() {
				head := fmt.Sprint(r.URI, r.Header)
				if !strings.Contains(head, "sk-small-0123456789") || strings.Contains(head, p.keys["ci/night"]) {
					t.Errorf("the extractor is called with %s", head)
				}
				for _, not := range []string{"toolprinted", `"tools"`, "cat notes"} {
					if bytes.Contains(r.Body, []byte(not)) {
						t.Errorf("the extractor was sent %s:\n%s", not, r.Body)
					}
				}
				if !bytes.Contains(r.Body, []byte("rejected_alternatives")) || !bytes.Contains(r.Body, []byte("additionalProperties")) {
					t.Errorf("the extractor was sent no schema:\n%s", r.Body)
				}
			}
			calls := len(small.Requests())
			p.restart(text) // what is queued is written
			list, err := p.st.Attempts(t.Context(), "ci", 10)
			if err != nil {
				t.Fatal(err)
			}
			var of []holdfast.Attempt
			agents := map[holdfast.AttemptID]bool{}
			for _, a := range list {
				if a.Role == holdfast.ExtractorRole {
					of = append(of, a)
				}
				agents[a.ID] = a.Role == holdfast.PrimaryRole
			}
			if len(of) != calls || calls == 0 {
				t.Fatalf("%d calls were made, %d recorded", calls, len(of))
			}
			for _, a := range of {
				if a.Label != "night" || a.Upstream != "small" || a.Model != "tiny-1" || a.Agent != "claude-code" || a.Session == "" || a.Branch == "" || a.Job == "" || !agents[a.Parent] || a.Cost == nil || *a.Cost == 0 || a.Outcome != holdfast.OutcomeOK {
					t.Errorf("recorded is %+v", a)
				}
			}
			// The newest of the record goes on behind a restart, without another call.
			if got := p.added("ci/night", resumed("s", "I go on.", "More.", saidBack, "More.")); !strings.Contains(got, choiceTaken) {
				t.Errorf("after a restart was added:\n%s\n%s", got, p.log.String())
				ss, err := p.st.Session(t.Context(), "ci", "claude-code", "s")
				t.Logf("%+v %v", ss, err)
			}
			if n := len(small.Requests()); n != calls {
				t.Errorf("%d calls were made after a restart", n-calls)
			}
		})
	}
}

func TestNoModelIsCalledWhereNobodyChoseIt(t *testing.T) {
	small, base := newSmall(t, statingScript)
	on := extractorText(holdfast.Chat, base, "")
	off := fmt.Sprintf("compaction_continuity.preserve.user_words = false\n[[upstream]]\nname = \"small\"\nprotocol = \"chat\"\nbase_url = %q\nmodels = [\"tiny-*\"]\n", base)
	for _, c := range []struct{ name, text, asks string }{
		{"by default", off, "Port the importer. " + choice},
		{"off by a policy", "[[session_policy]]\nprincipal = \"ci\"\nextractor.enabled = false\n" + on, "Port the importer. " + choice},
		{"all is off for the session", "[[session_policy]]\nprincipal = \"ci\"\nenabled = false\n" + on, "Port the importer. " + choice},
		{"there is nothing to read", on, "Go on."},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPoliced(t, c.text, "ci/")
			first := choosing("s")
			first.texts[0] = says("user", c.asks)
			p.added("ci/", first)
			got := p.added("ci/", resumed("s", "I go on.", "More."))
			p.restart(off)
			if n := len(small.Requests()); n > 0 || strings.Contains(got, choiceTaken) {
				t.Errorf("%d calls were made; added was:\n%s", n, got)
			}
		})
	}
}

// A route that leads back to this server makes one call for one batch, which starts
// nothing more, and is one call in the record.
func TestARouteThatLeadsBackHereEndsHere(t *testing.T) {
	p := newPoliced(t, "", "ci/")
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(p.keys["ci/"]), 0o600); err != nil {
		t.Fatal(err)
	}
	p.restart(extractorText(holdfast.Anthropic, "{front}/u/claude", "") + fmt.Sprintf("api_key = \"file:%s\"\n", key))
	var marks []string
	calls := 0
	p.answer = func(r *http.Request) io.Reader {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !bytes.Contains(body, []byte("base_revision is")) {
			return nil
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		calls++
		marks = append(marks, r.Header[http.CanonicalHeaderKey(extraction.MarkHeader)]...)
		quoted, _ := json.Marshal(stating(body))
		return strings.NewReader(`{"id":"msg_9","type":"message","role":"assistant","content":[{"type":"text","text":` + string(quoted) + `}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":9}}`)
	}
	p.added("ci/", choosing("s"))
	got := p.added("ci/", resumed("s", "I go on.", "More."))
	if !strings.Contains(got, choiceTaken) {
		t.Errorf("added was:\n%s", got)
	}
	p.restart("")
	if calls != 1 || len(marks) > 0 {
		t.Errorf("%d calls arrived, with the marks %q", calls, marks)
	}
	var sessions []string
	for _, principal := range []holdfast.Principal{"ci", holdfast.Local} {
		list, err := p.st.Sessions(t.Context(), principal)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			sessions = append(sessions, s.Key)
		}
	}
	if diff := cmp.Diff([]string{"s"}, sessions); diff != "" {
		t.Errorf("the sessions: %s", diff)
	}
	list, err := p.st.Attempts(t.Context(), "", 10)
	if err != nil {
		t.Fatal(err)
	}
	roles := map[holdfast.Role]int{}
	for _, a := range list {
		roles[a.Role]++
	}
	if diff := cmp.Diff(map[holdfast.Role]int{holdfast.PrimaryRole: 2, holdfast.ExtractorRole: 1}, roles); diff != "" {
		t.Errorf("the calls: %s", diff)
	}
}

func TestTheExtractorIsHeldToTheBudgetOfItsCaller(t *testing.T) {
	small, base := newSmall(t, statingScript)
	// The agent's own model is free, and the extractor's has no price.
	p := newPoliced(t, extractorText(holdfast.Chat, base, "")+"[models.claude-x]\nprice = {input = 0.0, output = 0.0}\n[[budget]]\nname = \"ci\"\nprincipal = \"ci\"\nper = \"day\"\nhard = 5\n", "ci/")
	p.added("ci/", choosing("s"))
	if got := p.added("ci/", resumed("s", "I go on.", "More.")); strings.Contains(got, choiceTaken) {
		t.Errorf("added was:\n%s", got)
	}
	if n := len(small.Requests()); n > 0 {
		t.Errorf("%d calls were made that nobody has money for", n)
	}
}

func TestAnExtractorWithoutItsKeyIsToldAtTheStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte(extractorText(holdfast.Anthropic, "https://api.anthropic.com", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	a := &app{out: io.Discard, err: &errs, now: time.Now, open: openStore}
	code := a.run(t.Context(), []string{"serve", "--listen", "127.0.0.1:0", "--config", file, "--data", t.TempDir()})
	if want := "holdfast: the extractor cannot be called: "; code != holdfast.ErrConfig.ExitStatus() || !strings.HasPrefix(errs.String(), want) || !strings.Contains(errs.String(), "ANTHROPIC_API_KEY") {
		t.Errorf("exit %d: %s", code, &errs)
	}
}

// What a model was sent and answered, what tools printed, secrets and text that is
// no decision stand nowhere: not in the log, not in metrics, not in the database.
func TestNothingOfASessionIsLeftWhereItDoesNotBelong(t *testing.T) {
	const (
		secret = "sk-ant-REDACTED"
		tool   = "tooloutputmarker"
		idle   = "idlechattermarker"
		model  = "unfoundedmodelmarker"
	)
	_, base := newSmall(t, func(_ int, r eval.Request) eval.Reply {
		// True, and beside it what nobody said.
		return eval.Reply{Text: strings.Replace(stating(r.Body), `"facts":[]`, `"facts":[{"kind":"value","statement":"`+model+`","quote":"`+model+`"}]`, 1)}
	})
	file := filepath.Join(t.TempDir(), "holdfast.db")
	st, err := sqlite.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	p := newPolicedOver(t, st, extractorText(holdfast.Chat, base, ""), "ci/")
	c := choosing("s")
	c.texts[0] = says("user", "Port it with the token "+secret+". "+idle+" is what I heard. "+choice)
	c.texts[2] = strings.Replace(c.texts[2], "toolprinted", tool, 1)
	p.added("ci/", c)
	if got := p.added("ci/", resumed("s", "I go on.", "More.")); !strings.Contains(got, choiceTaken) {
		t.Errorf("added was:\n%s", got)
	}
	metrics, err := http.NewRequest("GET", p.front.URL+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	metrics.Header.Set("X-Api-Key", p.keys["ci/"])
	res, err := http.DefaultClient.Do(metrics)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	scraped, err := io.ReadAll(res.Body)
	if err != nil || !bytes.Contains(scraped, []byte(`holdfast_extraction_jobs_total{outcome="ok"} 1`)) || !bytes.Contains(scraped, []byte(`holdfast_extraction_dropped_total{outcome="not_said"} 1`)) {
		t.Errorf("the metrics: %v\n%s", err, scraped)
	}
	p.restart("")
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		// What is written last goes on in the background.
		if list, err := st.Attempts(t.Context(), "ci", 10); err != nil || len(list) == 3 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("not all calls were recorded")
		}
	}
	places := map[string][]byte{"the log": []byte(p.log.String()), "the metrics": scraped}
	for _, name := range []string{file, file + "-wal"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		places[filepath.Base(name)] = data
	}
	for place, data := range places {
		for _, marker := range []string{secret, tool, idle, model, choiceTaken} {
			// What was extracted is what is kept, of what nobody typed as provisional.
			kept := strings.HasPrefix(place, "holdfast.db") && (marker == model || marker == choiceTaken)
			if bytes.Contains(data, []byte(marker)) && !kept {
				t.Errorf("%s has %s", place, marker)
			}
		}
	}
	if !slices.ContainsFunc([]string{"holdfast.db", "holdfast.db-wal"}, func(name string) bool { return bytes.Contains(places[name], []byte(choiceTaken)) }) {
		t.Error("the database has not even what was decided: nothing was looked through")
	}
}

// scripted are agents whose summary is a text.
var scripted = []struct {
	name     string
	protocol holdfast.Protocol
	start    func(c *http.Client, base string) eval.Agent
}{
	{"claude-code", holdfast.Anthropic, func(c *http.Client, base string) eval.Agent { return eval.NewClaudeCode(c, base, "s", false) }},
	{"codex", holdfast.Responses, func(c *http.Client, base string) eval.Agent { return eval.NewCodex(c, base, "s", false) }},
	{"opencode", holdfast.Chat, func(c *http.Client, base string) eval.Agent { return eval.NewOpenCode(c, base, "s") }},
	{"pi", holdfast.Responses, func(c *http.Client, base string) eval.Agent { return eval.NewPi(c, base, "s", true) }},
	{"gemini-cli", holdfast.Gemini, func(c *http.Client, base string) eval.Agent { return eval.NewGeminiCLI(c, base) }},
}

// choosingAgain is what the person says of the choice, with enough words around it that
// a summary is shorter.
const choosingAgain = "Port the importer. " + choice + " It is a long story, which I tell another time."

// What is still to be read is read beside the model's own work on the summary: the
// request of the compaction waits for nothing, and the summary has what was found.
func TestACompactionIsReadBesideTheCallForItsSummary(t *testing.T) {
	for _, of := range scripted {
		t.Run(of.name, func(t *testing.T) {
			asked := make(chan struct{})
			once := sync.OnceFunc(func() { close(asked) })
			up := eval.NewUpstream(eval.Config{Seed: "big", Turn: alwaysSaying, Summary: func(n int, r eval.Request) eval.Reply {
				once()
				return eval.Forgetful(n, r)
			}})
			p, agent := readBeside(t, up, of.protocol, of.start, "20s", asked)
			begun := time.Now()
			plays(t, agent, choosingAgain, "", "Go on.")
			if took := time.Since(begun); took > 4*time.Second {
				t.Errorf("it took %s: the compaction waited for the extractor", took)
			}
			if last := lastBody(up); !strings.Contains(constraintsOf(last), choiceTaken) {
				t.Errorf("behind the compaction the upstream got\n%s\n%s", last, p.log.String())
			}
		})
	}
}

// What comes when the next epoch has begun takes the place of the block that the
// summary has: there is one, and it is the newer one.
func TestWhatComesTooLateIsInTheOneBlockOfTheEpoch(t *testing.T) {
	for _, of := range scripted {
		t.Run(of.name, func(t *testing.T) {
			begun := make(chan struct{})
			once := sync.OnceFunc(func() { close(begun) })
			summarized := false // requests come one after another
			up := eval.NewUpstream(eval.Config{Seed: "big", Turn: func(n int, r eval.Request) eval.Reply {
				if summarized {
					once()
				}
				return alwaysSaying(n, r)
			}, Summary: func(n int, r eval.Request) eval.Reply {
				summarized = true
				return eval.Forgetful(n, r)
			}})
			p, agent := readBeside(t, up, of.protocol, of.start, "10ms", begun)
			plays(t, agent, "Plan it.", choosingAgain, "", "Go on.")
			// Codex keeps what the person said by itself, so that its summary has no block yet.
			body := lastBody(up)
			if carried := strings.Contains(body, "## Words of the user"); strings.Contains(constraintsOf(body), choiceTaken) || carried == (of.name == "codex") {
				t.Fatalf("at first the upstream got\n%s", body)
			}
			for range 100 {
				plays(t, agent, "And on.")
				body = lastBody(up)
				if n := strings.Count(strings.ReplaceAll(body, `\u003c`, "<"), holdfast.BlockOpen); n > 1 {
					t.Fatalf("%d blocks:\n%s", n, body)
				}
				if strings.Contains(constraintsOf(body), choiceTaken) {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
			t.Errorf("it never came:\n%s\n%s", lastBody(up), p.log.String())
		})
	}
}

func alwaysSaying(int, eval.Request) eval.Reply { return eval.Reply{Text: saidBack} }

// readBeside starts a server before an upstream, whose extractor answers when told, and
// an agent that speaks to it.
func readBeside(t *testing.T, up *eval.Upstream, protocol holdfast.Protocol, start func(*http.Client, string) eval.Agent, barrier string, told <-chan struct{}) (*policed, eval.Agent) {
	big := httptest.NewServer(up)
	t.Cleanup(big.Close)
	_, base := newSmall(t, func(n int, r eval.Request) eval.Reply {
		select {
		case <-told:
		case <-time.After(5 * time.Second):
		}
		return statingScript(n, r)
	})
	text := extractorText(holdfast.Chat, base, "") + fmt.Sprintf("[[upstream]]\nname = \"big\"\nprotocol = %q\nbase_url = %q\n", protocol, big.URL)
	text = strings.Replace(text, `barrier_timeout = "20s"`, fmt.Sprintf("barrier_timeout = %q", barrier), 1)
	p := newPoliced(t, strings.Replace(text, "preserve.user_words = false\n", "", 1))
	return p, start(p.front.Client(), p.front.URL+"/u/big")
}

// plays sends prompts, one after another; "" is a compaction.
func plays(t *testing.T, agent eval.Agent, prompts ...string) {
	t.Helper()
	for _, text := range prompts {
		var err error
		if text == "" {
			err = agent.Compact(t.Context())
		} else {
			err = agent.Prompt(t.Context(), text+strings.Repeat(" Please mind the details.", 100))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func lastBody(up *eval.Upstream) string {
	requests := up.Requests()
	return string(requests[len(requests)-1].Body)
}

// constraintsOf is what of the block of a request begins with its constraints.
func constraintsOf(body string) string {
	_, block, _ := strings.Cut(body, "## Constraints")
	block, _, _ = strings.Cut(block, "holdfast-record")
	return block
}
