package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/config"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/keyring"
	"github.com/holdfast-dev/holdfast/ledger"
	"github.com/holdfast-dev/holdfast/store"
)

// policed is a whole server with a configuration, over HTTP on both sides.
type policed struct {
	t     *testing.T
	st    policedStore
	up    *httptest.Server
	stack *stack
	ring  *keyring.Ring
	front *httptest.Server
	log   syncLog
	keys  map[string]string // by principal/label

	mu     sync.Mutex
	last   string                        // body that the upstream got last
	answer func(*http.Request) io.Reader // in place of what all answers say; nil: never
}

// policedStore is what such a server keeps its data in.
type policedStore interface {
	engine.Store
	ledger.Store
	extractorStore
	store.Keys
	store.Attempts
}

func newPoliced(t *testing.T, text string, keys ...string) *policed {
	t.Helper()
	return newPolicedOver(t, store.NewMemory(), text, keys...)
}

func newPolicedOver(t *testing.T, st policedStore, text string, keys ...string) *policed {
	t.Helper()
	p := &policed{t: t, st: st, keys: map[string]string{}}
	p.up = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		p.mu.Lock()
		answer := p.answer
		p.mu.Unlock()
		if answer != nil {
			if special := answer(r); special != nil {
				_, _ = io.Copy(w, special)
				return
			}
		}
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		p.last = string(body)
		p.mu.Unlock()
		_, _ = io.WriteString(w, answered)
	}))
	t.Cleanup(p.up.Close)
	for _, name := range keys {
		principal, label, _ := strings.Cut(name, "/")
		secret, row, err := keyring.New(rand.Reader, holdfast.Principal(principal), label, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if err := p.st.AddKey(t.Context(), row); err != nil {
			t.Fatal(err)
		}
		p.keys[name] = string(secret)
	}
	p.start(text)
	t.Cleanup(p.stop)
	return p
}

// saidBack is what all answers say: enough to know a history by.
const saidBack = "The reader is ported and all of its tests are green; the writer is what is left to do now."

const answered = `{"id":"msg_3","type":"message","role":"assistant","content":[{"type":"text","text":"` + saidBack + `"}],"stop_reason":"end_turn"}`

func (p *policed) start(text string) {
	p.t.Helper()
	p.front = httptest.NewUnstartedServer(nil)
	text = strings.ReplaceAll(text, "{front}", "http://"+p.front.Listener.Addr().String())
	merged, err := config.Merge(config.FileLayer("policies.toml", fmt.Appendf(nil,
		"%s\n[[upstream]]\nname = \"claude\"\nprotocol = \"anthropic\"\nbase_url = %q\n", text, p.up.URL)))
	if err != nil {
		p.t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(&p.log, nil))
	if p.ring, err = keyring.NewRing(context.Background(), p.st, keyring.Config{Open: true}, log, time.Now); err != nil {
		p.t.Fatal(err)
	}
	if p.stack, err = newStack(merged.Config, stackStores{p.st, p.st, p.st}, nil, access{auth: p.ring}, log, time.Now, engine.Ablation{}); err != nil {
		p.t.Fatal(err)
	}
	p.front.Config.Handler = p.stack.handler
	p.front.Start()
}

func (p *policed) stop() {
	p.front.Close()
	if err := p.stack.close(); err != nil {
		p.t.Error(err)
	}
	p.ring.Stop()
}

// restart is another process over the same data, with another configuration.
func (p *policed) restart(text string) {
	p.t.Helper()
	p.stop()
	p.start(text)
}

// claudeCall is a request of claude-code. Its spacing is such that no encoder would
// write it again.
type claudeCall struct {
	path   string // before /v1/messages
	header http.Header
	more   string // members of the body
	texts  []string
}

func (c claudeCall) body() string {
	return `{ "model":"claude-x",  "max_tokens":1e2,` + c.more + `"tools":[{"name":"TodoWrite"},{"name":"Bash"},{"name":"Read"}],` +
		"\n \"messages\": [" + strings.Join(c.texts, " , ") + "]}\n"
}

func says(role, text string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`{"role":%q, "content":[{"type":"text","text":%s}]}`, role, quoted)
}

// planning is a turn of a session in which a plan was written down, behind a
// request of many words.
func planning(session string) claudeCall {
	const todos = `{"todos":[{"content":"port the reader","status":"completed"},{"content":"port the writer","status":"pending"}]}`
	return claudeCall{header: http.Header{"X-Claude-Code-Session-Id": {session}}, texts: []string{
		says("user", strings.Repeat("Move importer 17 to Parquet and keep port 8081 as it is. ", 40)),
		`{"role":"assistant","content":[{"type":"tool_use","id":"tu_` + session + `","name":"TodoWrite","input":` + todos + `}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"tu_` + session + `","content":"Todos have been modified"}]}`,
		says("assistant", "The reader is done."),
		says("user", "Go on."),
	}}
}

// resumed is a turn of the session behind a compaction that the server did not see.
func resumed(session string, texts ...string) claudeCall {
	c := claudeCall{header: http.Header{"X-Claude-Code-Session-Id": {session}}}
	c.texts = []string{says("user", "This session is being continued from a previous conversation that ran out of context. Summary: they worked.")}
	for i, text := range texts {
		c.texts = append(c.texts, says([]string{"assistant", "user"}[i%2], text))
	}
	return c
}

// call sends a request with a key and returns what the upstream got.
func (p *policed) call(key string, c claudeCall) string {
	p.t.Helper()
	req, err := http.NewRequest("POST", p.front.URL+c.path+"/v1/messages", strings.NewReader(c.body()))
	if err != nil {
		p.t.Fatal(err)
	}
	for name, values := range c.header {
		req.Header[name] = values
	}
	req.Header.Set("X-Api-Key", p.keys[key])
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 || string(got) != answered {
		p.t.Fatalf("status %d: %s, %v", res.StatusCode, got, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// added is what the server put into a request, between all that the client sent; ""
// where the upstream got the client's bytes.
func (p *policed) added(key string, c claudeCall) string {
	p.t.Helper()
	got, own := p.call(key, c), c.body()
	if got == own {
		return ""
	}
	n := 0
	for n < len(own) && got[n] == own[n] {
		n++
	}
	block, ok := strings.CutSuffix(got[n:], own[n:])
	if !ok || !strings.Contains(block, "<holdfast-record") {
		p.t.Fatalf("the request was not only added to:\n%s", got)
	}
	return block
}

// carried is what is added to the first turn behind a compaction of a new session
// with a plan.
func (p *policed) carried(key, session string) string {
	p.t.Helper()
	if got := p.added(key, planning(session)); got != "" {
		p.t.Fatalf("something was added before any compaction:\n%s", got)
	}
	return p.added(key, resumed(session, "I go on.", "Yes."))
}

const (
	openStep = "port the writer"
	aWord    = "keep port 8081"
)

func TestEachKeyOfAPolicyHoldsAtTheUpstream(t *testing.T) {
	tokens := func(block string) int { return continuity.EstimateTokens(block) }
	for _, c := range []struct {
		name, text string
		holds      func(block string) bool // of a session of ci; not so of another one's
	}{
		{"enabled", "enabled = false", func(b string) bool { return b == "" }},
		{"max_capsule_tokens", "max_capsule_tokens = 300", func(b string) bool { return strings.Contains(b, openStep) && tokens(b) <= 330 }},
		{"user_words_tokens", "user_words_tokens = 50", func(b string) bool {
			return strings.Contains(b, openStep) && !strings.Contains(b, aWord) && strings.Contains(b, "\\n- Go on.\\n")
		}},
		{"preserve.user_words", "preserve.user_words = false", func(b string) bool { return strings.Contains(b, openStep) && !strings.Contains(b, aWord) }},
		{"preserve.plan", "preserve.plan = false", func(b string) bool { return !strings.Contains(b, openStep) && strings.Contains(b, aWord) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPoliced(t, "[[session_policy]]\nprincipal = \"ci\"\n"+c.text, "ci/", "other/")
			if got := p.carried("ci/", "a"); !c.holds(got) {
				t.Errorf("under the policy was added:\n%s", got)
			}
			got := p.carried("other/", "b")
			if c.holds(got) || !strings.Contains(got, openStep) || strings.Count(got, aWord) < 10 {
				t.Errorf("without it was added:\n%s", got)
			}
		})
	}
}

func TestAForkStartsWithoutThePlanWhereItsPolicySaysSo(t *testing.T) {
	p := newPoliced(t, "[[session_policy]]\nprincipal = \"ci\"\nfork = \"empty\"", "ci/", "other/")
	for key, copied := range map[string]bool{"ci/": false, "other/": true} {
		p.carried(key, "s")
		if got := p.added(key, resumed("s", "I go on.", "Yes.", saidBack, "More.")); !strings.Contains(got, openStep) {
			t.Errorf("%s: without a fork was added:\n%s", key, got)
		}
		got := p.added(key, resumed("s", "I go on.", "No, otherwise."))
		if strings.Contains(got, openStep) != copied {
			t.Errorf("%s: the fork has:\n%s", key, got)
		}
	}
}

func TestADecisionIsLeftOutWhereItsPolicySaysSo(t *testing.T) {
	p := newPoliced(t, "[[session_policy]]\nprincipal = \"ci\"\npreserve.user_decisions = false", "ci/", "other/")
	for key, kept := range map[string]bool{"ci/": false, "other/": true} {
		c := planning("s")
		const input = `{"questions":[{"question":"Which codec?","header":"Codec","options":[{"label":"zstd"},{"label":"snappy"}]}]}`
		c.texts = slices.Insert(
			c.texts, 4,
			`{"role":"assistant","content":[{"type":"tool_use","id":"q","name":"AskUserQuestion","input":`+input+`}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"q","content":"User has answered your questions: \"Which codec?\"=\"zstd\". You can now continue with the user's answers in mind."}]}`,
		)
		p.call(key, c)
		got := p.added(key, resumed("s", "I go on.", "Yes."))
		if strings.Contains(got, "zstd") != kept || !strings.Contains(got, openStep) {
			t.Errorf("%s: added was:\n%s", key, got)
		}
	}
}

func TestNothingIsKeptOfASessionThatIsOff(t *testing.T) {
	p := newPoliced(t, "transcripts.enabled = true\n[[session_policy]]\nprincipal = \"ci\"\nenabled = false", "ci/")
	if got := p.carried("ci/", "s"); got != "" {
		t.Errorf("added was:\n%s", got)
	}
	nameless := planning("s")
	nameless.header = nil
	p.added("ci/", nameless)
	p.restart("")
	list, err := p.st.Sessions(t.Context(), "ci")
	if err != nil || len(list) != 1 || list[0].Key != "s" || list[0].Agent != "claude-code" || list[0].Branches != 0 {
		t.Errorf("kept is %+v, %v", list, err)
	}
	streams, err := p.st.List(t.Context(), "ci", true)
	if err != nil || len(streams) != 0 {
		t.Errorf("recorded is %+v, %v", streams, err)
	}
}

// A block is the same bytes through its epoch, whatever a policy then says, unless
// it turns the session off; on again, it is the same ones.
func TestABlockEndsWhenItsSessionIsTurnedOff(t *testing.T) {
	const ci = "[[session_policy]]\nprincipal = \"ci\"\n"
	p := newPoliced(t, "", "ci/")
	first := p.carried("ci/", "s")
	if !strings.Contains(first, aWord) {
		t.Fatalf("added was:\n%s", first)
	}
	next := resumed("s", "I go on.", "Yes.", saidBack, "More.")
	for _, step := range []struct{ text, want string }{
		{ci + "max_capsule_tokens = 200\npreserve.user_words = false", first},
		{ci + "enabled = false", ""},
		{"compaction_continuity.enabled = false", ""},
		{"compaction_continuity.enabled = false\n" + ci + "enabled = true", first},
	} {
		p.restart(step.text)
		if diff := cmp.Diff(step.want, p.added("ci/", next)); diff != "" {
			t.Errorf("with %s\n%s", step.text, diff)
		}
	}
}

// An agent that sends no session id is found by what its requests carry.
func TestASessionThatIsFoundByItsHistoryKeepsThePolicyOfItsAgent(t *testing.T) {
	p := newPoliced(t, "", "ci/")
	first := planning("s")
	first.header = http.Header{"User-Agent": {"GeminiCLI/1"}}
	p.added("ci/", first)
	next := first
	next.texts = append(slices.Clone(first.texts), says("assistant", saidBack), says("user", "More."))
	renamed := next
	renamed.header = nil
	revisions := func() int {
		list, err := p.st.Sessions(t.Context(), "ci")
		if err != nil || len(list) != 1 || list[0].Agent != "gemini-cli" {
			t.Fatalf("kept is %+v, %v", list, err)
		}
		return list[0].Revision
	}
	p.restart("[[session_policy]]\nagent = \"gemini-cli\"\nenabled = false")
	before := revisions()
	p.added("ci/", next)
	p.added("ci/", renamed)
	p.restart("")
	if got := revisions(); got != before {
		t.Errorf("while it was off, revision %d became %d", before, got)
	}
	p.added("ci/", renamed)
	p.restart("")
	if got := revisions(); got == before {
		t.Error("once it was on, nothing was kept: the test proves nothing")
	}
}

func TestWhatAClientSendsHasNoSayInPolicies(t *testing.T) {
	const (
		onForCI     = "compaction_continuity.enabled = false\n[[session_policy]]\nprincipal = \"ci\"\nlabel = \"nightly*\"\nagent = \"claude-code\"\nenabled = true\n"
		offForLabel = "[[session_policy]]\nlabel = \"nightly*\"\nenabled = false\n"
	)
	header := func(pairs ...string) func(*claudeCall) {
		return func(c *claudeCall) {
			for i := 0; i < len(pairs); i += 2 {
				c.header[pairs[i]] = []string{pairs[i+1]}
			}
		}
	}
	attempts := map[string]func(*claudeCall){
		"nothing but the key": func(*claudeCall) {},
		"headers named like keys": header(
			"Principal", "ci", "Label", "nightly-1", "Agent", "claude-code", "Enabled", "true", "Session-Policy", "nightly",
		),
		"headers of Holdfast": header(
			"X-Holdfast-Principal", "ci", "X-Holdfast-Label", "nightly-1", "X-Holdfast-Policy", "1", "X-Holdfast-Enabled", "true",
			"X-Holdfast-Session-Policy", `{"principal":"ci","enabled":true}`, "Holdfast-Compaction-Continuity-Enabled", "true",
		),
		"members of the body": func(c *claudeCall) {
			c.more = `"session_policy":[{"principal":"ci","enabled":true}],"compaction_continuity":{"enabled":true},"principal":"ci","label":"nightly-1",` +
				`"metadata":{"principal":"ci","label":"nightly-1","enabled":true},`
		},
		"the name of a principal as that of a run": func(c *claudeCall) { c.path = "/r/ci" },
		"the name of an agent as that of a run":    func(c *claudeCall) { c.path = "/r/claude-code" },
		"a run with a path in its name":            func(c *claudeCall) { c.path = "/r/ci%2Fnightly-1" },
		"the session of another principal":         header("X-Claude-Code-Session-Id", "ci"),
		"another agent's name":                     header("User-Agent", "opencode/1.18.33"),
		"no session and another agent's name": func(c *claudeCall) {
			c.header = http.Header{"User-Agent": {"GeminiCLI/1"}}
		},
		"no session": func(c *claudeCall) { c.header = http.Header{} },
	}
	for _, side := range []struct {
		name, text, key, holding string
		byPolicy                 bool
	}{
		{"what is on for others stays off", onForCI, "other/nightly-1", "ci/nightly-1", false},
		{"what is on for another label stays off", onForCI, "ci/day", "ci/nightly-1", false},
		{"what is off stays off", offForLabel, "ci/nightly-1", "ci/day", true},
	} {
		t.Run(side.name, func(t *testing.T) {
			p := newPoliced(t, side.text, "ci/nightly-1", "ci/day", "other/nightly-1")
			if got := p.carried(side.holding, "control"); !strings.Contains(got, openStep) {
				t.Fatalf("nothing is added where it should be: the test proves nothing\n%s", got)
			}
			for name, forge := range attempts {
				for _, c := range []claudeCall{planning("f"), resumed("f", "I go on.", "Yes.")} {
					forge(&c)
					if got := p.added(side.key, c); got != "" {
						t.Errorf("%s: added was:\n%s", name, got)
					}
				}
			}
			principal, _, _ := strings.Cut(side.key, "/")
			p.stop()
			defer p.start("")
			list, err := p.st.Sessions(t.Context(), holdfast.Principal(principal))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range list {
				// Of what a policy turns off, the audit names the session.
				if s.Key != "control" && (s.Branches != 0 || !side.byPolicy) {
					t.Errorf("something is kept of session %s", s.Key)
				}
			}
		})
	}
}

// told is the audit without times and ids.
func (p *policed) told() (list []string) {
	p.t.Helper()
	entries, err := p.st.Noted(context.Background(), "")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, fmt.Sprintf("%s/%s %s: %s %s to %s", e.Principal, e.Label, e.Policy, e.Key, e.From, e.To))
	}
	return list
}

func TestTheAuditHasEachChangeOfASessionOnce(t *testing.T) {
	const (
		short = "[[session_policy]]\nname = \"short\"\nprincipal = \"ci\"\nmax_capsule_tokens = 900\n"
		off   = "[[session_policy]]\nlabel = \"nightly*\"\nenabled = false\n"
	)
	p := newPoliced(t, short+off, "ci/day", "ci/nightly", "other/")
	for range 2 { // the second time after a restart
		for range 3 {
			for _, key := range []string{"ci/day", "ci/nightly", "other/"} {
				p.call(key, planning("s"))
			}
		}
		p.restart(short + off)
	}
	p.call("ci/nightly", planning("s"))
	p.restart("compaction_continuity.max_capsule_tokens = 3000")
	want := []string{
		"ci/day short: max_capsule_tokens 2500 to 900",
		"ci/day short: user_words_tokens 1000 to 900",
		"ci/nightly #2: enabled true to false",
	}
	if diff := cmp.Diff(want, p.told()); diff != "" {
		t.Error(diff)
	}
	for _, key := range []string{"ci/day", "ci/nightly", "other/"} {
		p.call(key, planning("s"))
	}
	p.restart("")
	want = append(
		want, "ci/day : max_capsule_tokens 900 to 3000", "ci/day : user_words_tokens 900 to 1000",
		"ci/nightly : enabled false to true",
	)
	if diff := cmp.Diff(want, p.told()); diff != "" {
		t.Error(diff)
	}
	entries, err := p.st.Noted(t.Context(), "ci")
	if err != nil {
		t.Fatal(err)
	}
	list, err := p.st.Sessions(t.Context(), "ci")
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	for _, e := range entries {
		if e.Session != list[0].ID {
			t.Errorf("entry %+v is not of session %s", e, list[0].ID)
		}
	}
	log := p.log.String()
	if n := strings.Count(log, `msg="in force"`); n != len(want) {
		t.Errorf("%d lines of the log tell of %d changes", n, len(want))
	}
	if strings.Contains(log, openStep) || strings.Contains(log, "Parquet") {
		t.Error("the log has what was said")
	}
	// What is told of a session outlives it.
	if err := p.st.Remove(t.Context(), "ci", list[0].ID); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, p.told()); diff != "" {
		t.Error(diff)
	}
}
