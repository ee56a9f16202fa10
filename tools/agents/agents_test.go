package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

func TestTheRelayPassesARequestAndItsAnswerAsTheyAre(t *testing.T) {
	var arrived recorded
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived = recorded{r.Method, r.RequestURI, r.Header.Clone(), body}
		w.Header().Set("X-Answer", "yes")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "short and stout")
	}))
	defer target.Close()
	p, err := newRelay(target.URL)
	if err != nil {
		t.Fatal(err)
	}
	base, stop, err := serve(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	req, err := http.NewRequest(http.MethodPost, base+"/v1/messages?beta=true&x=%2F", strings.NewReader("{ \"a\": 1 }\n"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header["X-Twice"] = []string{"one", "two"}
	req.Header.Set("User-Agent", "agent/1")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusTeapot || resp.Header.Get("X-Answer") != "yes" || string(answer) != "short and stout" {
		t.Errorf("the agent got %d %q with X-Answer %q", resp.StatusCode, answer, resp.Header.Get("X-Answer"))
	}
	sent := p.all()
	if len(sent) != 1 || sent[0].URI != "/v1/messages?beta=true&x=%2F" || string(sent[0].Body) != "{ \"a\": 1 }\n" {
		t.Fatalf("kept %+v", sent)
	}
	if err := sameBytes(sent, []eval.Request{{Method: arrived.Method, URI: arrived.URI, Header: arrived.Header, Body: arrived.Body}}); err != nil {
		t.Error(err)
	}
}

func TestTheRelayShowsTheAgentThatAnAnswerBrokeOff(t *testing.T) {
	up := eval.NewUpstream(eval.Config{Turn: eval.Queue(eval.Reply{Text: "some words", CutAfter: 2})})
	target := httptest.NewServer(up)
	defer target.Close()
	p, err := newRelay(target.URL)
	if err != nil {
		t.Fatal(err)
	}
	base, stop, err := serve(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	resp, err := http.Post(base+"/v1/messages", "application/json", strings.NewReader(`{"stream":true,"tools":[{}],"messages":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("the answer ended well with %q", body)
	}
}

func TestSameBytesFindsEveryDifference(t *testing.T) {
	header := http.Header{"A": {"1", "2"}}
	sent := recorded{"POST", "/v1/messages?beta=true", header, []byte(`{"a":1}`)}
	request := func(change func(*eval.Request)) eval.Request {
		r := eval.Request{Method: sent.Method, URI: sent.URI, Header: header.Clone(), Body: slices.Clone(sent.Body)}
		change(&r)
		return r
	}
	same := request(func(*eval.Request) {})
	probe := recorded{"HEAD", "/", header, nil}
	tests := []struct {
		name    string
		sent    []recorded
		arrived []eval.Request
		want    string
	}{
		{"equal requests", []recorded{sent, sent}, []eval.Request{same, same}, ""},
		{"headers of the connection do not count", []recorded{sent}, []eval.Request{request(func(r *eval.Request) { r.Header.Set("Connection", "close") })}, ""},
		{"a probe that Holdfast answers itself", []recorded{probe, sent}, []eval.Request{same}, ""},
		{
			"a probe that nobody sent",
			[]recorded{sent},
			[]eval.Request{same, {Method: "HEAD", URI: "/"}},
			"request 2 at the upstream, HEAD /, is not what the agent sent",
		},
		{
			"one byte of the body",
			[]recorded{sent},
			[]eval.Request{request(func(r *eval.Request) { r.Body[5] = '2' })},
			"request 1 at the upstream, POST /v1/messages?beta=true, is not what the agent sent: the body differs from byte 5 on (7 sent, 7 arrived)",
		},
		{
			"a header more",
			[]recorded{sent},
			[]eval.Request{request(func(r *eval.Request) { r.Header.Set("Via", "x") })},
			`request 1 at the upstream, POST /v1/messages?beta=true, is not what the agent sent: header Via is ["x"], was sent as []`,
		},
		{
			"the order within a header",
			[]recorded{sent},
			[]eval.Request{request(func(r *eval.Request) { r.Header["A"] = []string{"2", "1"} })},
			`request 1 at the upstream, POST /v1/messages?beta=true, is not what the agent sent: header A is ["2" "1"], was sent as ["1" "2"]`,
		},
		{
			"the query",
			[]recorded{sent},
			[]eval.Request{request(func(r *eval.Request) { r.URI = "/v1/messages" })},
			"request 1 at the upstream, POST /v1/messages, is not what the agent sent: ",
		},
		{
			"a request that was sent twice",
			[]recorded{sent},
			[]eval.Request{same, same},
			"request 2 at the upstream, POST /v1/messages?beta=true, is not what the agent sent",
		},
		{
			"a request that did not arrive",
			[]recorded{sent, sent},
			[]eval.Request{same},
			"the agent sent POST /v1/messages?beta=true with 7 bytes, and it did not arrive",
		},
		{"nothing at all", nil, nil, "no request arrived"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := sameBytes(tt.sent, tt.arrived); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestSameStructureLooksPastWhatIsNewInEachRun(t *testing.T) {
	request := func(body string) []eval.Request {
		return []eval.Request{{Method: "POST", URI: "/v1/responses", Body: []byte(body)}}
	}
	tests := []struct{ name, a, b, want string }{
		{
			"ids, times, ports and homes",
			`{"id":"msg_01a22a17-dc7d-7e12-b2f7-124d519fc780","t":1796002536993,"dir":"/tmp/holdfast-agents-12/0123456789abcdef/work","v":"cc_version=2.1.197.8e7;","u":"http://127.0.0.1:1/x","o":"Wall time: 0.1 s","s":"ses_dd5827Ab","p":"PGID: 12"}`,
			`{"id":"msg_02b22a17-dc7d-7e12-b2f7-124d519fc780","t":1796002999999,"dir":"/tmp/holdfast-agents-12/fedcba9876543210/work","v":"cc_version=2.1.197.f00;","u":"http://127.0.0.1:2/x","o":"Wall time: 0.2 s","s":"ses_ee6938Cd","p":"PGID: 34"}`, "",
		},
		{"a JSON text whose members moved", `{"m":"{\"a\":1,\"b\":2}"}`, `{"m":"{\"b\":2,\"a\":1}"}`, ""},
		{"a word", `{"input":[{"text":"one"}]}`, `{"input":[{"text":"two"}]}`, `request 1 of 1 differs at .body.input[0].text: "one", through Holdfast "two", at byte 0`},
		{"a number that is no time", `{"max":9}`, `{"max":8}`, `request 1 of 1 differs at .body.max: "9", through Holdfast "8", at byte 0`},
		{"a word deep in a text", `{"t":"` + strings.Repeat("-", 200) + `yes"}`, `{"t":"` + strings.Repeat("-", 200) + `no"}`, `request 1 of 1 differs at .body.t: "` + strings.Repeat("-", 30) + `yes", through Holdfast "` + strings.Repeat("-", 30) + `no", at byte 200`},
		{"an item more", `{"input":[1]}`, `{"input":[1,2]}`, `request 1 of 1 differs at .body.input: 1 elements, 2 through Holdfast`},
		{"a member less", `{"a":1,"b":true}`, `{"a":1}`, `request 1 of 1 differs at .body.b: "true", through Holdfast "<nil>", at byte 0`},
		{"another type", `{"a":[1]}`, `{"a":"x"}`, `request 1 of 1 differs at .body.a: "[1]", through Holdfast "x", at byte 0`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := sameStructure(request(tt.a), request(tt.b)); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	if err := sameStructure(append(request(`{}`), request(`{}`)...), request(`{}`)); err == nil || err.Error() != "2 requests directly, 1 through Holdfast" {
		t.Errorf("a request less: got %v", err)
	}
}

func TestSurvivalAndLossAreToldApart(t *testing.T) {
	step := []holdfast.Step{{Text: "alpha", Status: pending}}
	turn := func(text string) eval.Request {
		return eval.Request{Kind: eval.Turn, Body: []byte(`{"messages":[{"role":"user","content":"` + text + `"}]}`)}
	}
	compaction := eval.Request{Kind: eval.PlainCompaction}
	kept := turn(holdfast.BlockOpen + ">\\n1. [pending] alpha\\n" + holdfast.BlockClose)
	other := turn(holdfast.BlockOpen + " >\\n1. [pending] alpha\\n" + holdfast.BlockClose)
	tests := []struct {
		name           string
		requests       []eval.Request
		survived, lost string
	}{
		{
			"kept in both turns",
			[]eval.Request{compaction, kept, kept},
			"",
			"after compaction 1 the first of 2 turns holds 1 open steps: the case proves nothing",
		},
		{
			"gone in the second turn",
			[]eval.Request{compaction, kept, turn("go on")},
			"turn 2 after compaction 1: 0 of 1 open steps in order, 0 with their status, 0 finished ones came back, 0 copies",
			"after compaction 1 the first of 2 turns holds 1 open steps: the case proves nothing",
		},
		{
			"another block in the second turn",
			[]eval.Request{compaction, kept, other},
			"after compaction 1: 2 turns, and the block is not the same in all",
			"after compaction 1 the first of 2 turns holds 1 open steps: the case proves nothing",
		},
		{
			"lost",
			[]eval.Request{compaction, turn("go on")},
			"turn 1 after compaction 1: 0 of 1 open steps in order, 0 with their status, 0 finished ones came back, 0 copies", "",
		},
		{
			"no turn",
			[]eval.Request{compaction},
			"after compaction 1: 0 turns, and the block is not the same in all",
			"after compaction 1 the first of 0 turns holds 0 open steps: the case proves nothing",
		},
		{"no compaction", []eval.Request{kept}, "the upstream saw 0 compactions, 1 were expected", "the upstream saw 0 compactions, 1 were expected"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plans := [][]holdfast.Step{step}
			for _, c := range []struct {
				err  error
				want string
			}{{survivedIn(tt.requests, plans), tt.survived}, {lostIn(tt.requests, plans), tt.lost}} {
				got := ""
				if c.err != nil {
					got = c.err.Error()
				}
				if got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			}
		})
	}
}

func TestTheUsersValuesMustStandInTheBlockOfEveryTurn(t *testing.T) {
	turn := func(text string) eval.Request {
		return eval.Request{Kind: eval.Turn, Body: []byte(`{"messages":[{"role":"user","content":"` + text + `"}]}`)}
	}
	block := func(text string) string { return holdfast.BlockOpen + ">" + text + holdfast.BlockClose }
	c := agentCase{values: []string{"port 6543", "02:45"}, plans: make([][]holdfast.Step, 1)}
	compaction := eval.Request{Kind: eval.PlainCompaction}
	kept := turn(block("at 02:45 on port 6543"))
	tests := []struct {
		name           string
		requests       []eval.Request
		survived, lost string
	}{
		{
			"kept in both turns",
			[]eval.Request{compaction, kept, kept},
			"", "after compaction 1 the first of 2 turns holds 2 open steps: the case proves nothing",
		},
		{
			"one value is gone",
			[]eval.Request{compaction, kept, turn(block("at 02:45"))},
			`turn 2 after compaction 1: 1 blocks, the first without "port 6543"`,
			"after compaction 1 the first of 2 turns holds 2 open steps: the case proves nothing",
		},
		{
			"outside of the block",
			[]eval.Request{compaction, turn("at 02:45 on port 6543")},
			`turn 1 after compaction 1: 0 blocks, the first without "port 6543"`,
			"after compaction 1 the first of 1 turns holds 2 open steps: the case proves nothing",
		},
		{"lost", []eval.Request{compaction, turn("go on")}, `turn 1 after compaction 1: 0 blocks, the first without "port 6543"`, ""},
		{
			"another block in the second turn",
			[]eval.Request{compaction, kept, turn(block("at 02:45 on port 6543 again"))},
			"after compaction 1: 2 turns, and the block is not the same in all",
			"after compaction 1 the first of 2 turns holds 2 open steps: the case proves nothing",
		},
		{"no compaction", []eval.Request{kept}, "the upstream saw 0 compactions, 1 were expected", "the upstream saw 0 compactions, 1 were expected"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, c := range []struct {
				err  error
				want string
			}{{c.survived(tt.requests), tt.survived}, {c.lost(tt.requests), tt.lost}} {
				got := ""
				if c.err != nil {
					got = c.err.Error()
				}
				if got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			}
		})
	}
}

func TestARequestBesideTheConversationMayComeAtAnyTime(t *testing.T) {
	request := func(kind eval.Kind, body string) eval.Request {
		return eval.Request{Method: "POST", URI: "/v1/chat/completions", Kind: kind, Body: []byte(body)}
	}
	title, one, two := request(eval.SideCall, `{"a":0}`), request(eval.Turn, `{"a":1}`), request(eval.Turn, `{"a":2}`)
	if err := sameStructure([]eval.Request{title, one, two}, []eval.Request{one, title, two}); err != nil {
		t.Errorf("the title came later: %v", err)
	}
	if err := sameStructure([]eval.Request{one, two}, []eval.Request{two, one}); err == nil {
		t.Error("turns changed places, and nothing was said")
	}
}

func TestOnlyOneBlockMayBeInserted(t *testing.T) {
	sent := []recorded{{"POST", "/v1/responses", nil, []byte(`{"input":[1,2]}`)}}
	const one = `"` + holdfast.BlockOpen + `>"`
	tests := []struct {
		name, body string
		kind       eval.Kind
		ok         bool
	}{
		{"nothing", `{"input":[1,2]}`, eval.Turn, true},
		{"a block in a turn", `{"input":[1,` + one + `,2]}`, eval.Turn, true},
		{"a block at the end of the history", `{"input":[1,2,` + one + `]}`, eval.Turn, true},
		{"another text in a turn", `{"input":[1,"x",2]}`, eval.Turn, false},
		{"another text in a request for a summary", `{"input":[1,2,"x"]}`, eval.PlainCompaction, true},
		{"two blocks at one place", `{"input":[1,` + one + "," + one + `,2]}`, eval.Turn, false},
		{"two insertions", `{"input":["x",1,2,` + one + `]}`, eval.Turn, false},
		{"a change", `{"input":[1,3]}`, eval.Turn, false},
		{"something taken out", `{"input":[1]}`, eval.Turn, false},
		{"a block in a side call", `{"input":[1,2,` + one + `]}`, eval.SideCall, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := onlyInserted(sent, []eval.Request{{Method: "POST", URI: "/v1/responses", Body: []byte(tt.body), Kind: tt.kind}})
			if (err == nil) != tt.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestABlockMayTakeThePlaceOfAnother(t *testing.T) {
	block := func(text string) string { return holdfast.BlockOpen + ">" + text + holdfast.BlockClose }
	body := func(before, block, behind string) string { return `{"input":["` + before + block + behind + `"]}` }
	sent := []recorded{{"POST", "/v1/responses", nil, []byte(body("a", block("one way"), "b"))}}
	tests := []struct {
		name, body string
		kind       eval.Kind
		ok         bool
	}{
		{"a shorter one", body("a", block("one"), "b"), eval.Turn, true},
		{"a longer one", body("a", block("another way"), "b"), eval.Turn, true},
		{"none", body("a", "", "b"), eval.Turn, false},
		{"two", body("a", block("one")+block("two"), "b"), eval.Turn, false},
		{"with a word before it", body("and a", block("one"), "b"), eval.Turn, false},
		{"with a word behind it", body("a", block("one"), "b and c"), eval.Turn, false},
		{"a shorter one in a side call", body("a", block("one"), "b"), eval.SideCall, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := onlyInserted(sent, []eval.Request{{Method: "POST", URI: "/v1/responses", Body: []byte(tt.body), Kind: tt.kind}})
			if (err == nil) != tt.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestSumMetricAddsTheSeriesWithTheLabel(t *testing.T) {
	const text = `# HELP holdfast_compactions_total Compactions.
# TYPE holdfast_compactions_total counter
holdfast_compactions_total{agent="codex",outcome="committed"} 2
holdfast_compactions_total{agent="claude-code",outcome="committed"} 1
holdfast_compactions_total{agent="claude-code",outcome="failed"} 4
holdfast_compactions_total_other{outcome="committed"} 7
holdfast_other_total{outcome="committed"} 9
`
	if got, err := sumMetric(text, "holdfast_compactions_total", `outcome="committed"`); got != 3 || err != nil {
		t.Errorf("got %d, %v; want 3", got, err)
	}
	if _, err := sumMetric("m{a=\"b\"} x\n", "m", "a"); err == nil {
		t.Error("a value that is no number is no error")
	}
	if counted(2, 2) != nil || counted(1, 2) == nil || counted(3, 2) == nil {
		t.Error("only as many compactions as the agent made are right")
	}
}

func TestAnInstalledAgentIsFoundAndNotFetchedAgain(t *testing.T) {
	cache := t.TempDir()
	p := codexPackage("0.0.1")
	dir := filepath.Join(cache, "codex-0.0.1", "node_modules", "@openai", "codex-some-platform", "vendor", "triple", "bin")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "codex"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // npm could not even be started
	if got, err := install(ctx, cache, p, io.Discard); got != filepath.Join(dir, "codex") || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := install(ctx, cache, codexPackage("0.0.2"), io.Discard); err == nil {
		t.Error("a version that is not there was found")
	}
}

func TestChooseKeepsTheNamedAgents(t *testing.T) {
	for names, want := range map[string]int{"": 19, "codex": 4, "claude-code": 4, "codex, claude-code": 8, "pi": 5, "qwen-code,gemini-cli,cline,opencode": 6} {
		got, err := choose(cases(), names)
		if err != nil || len(got) != want {
			t.Errorf("--only %q: got %d cases, %v; want %d", names, len(got), err, want)
		}
	}
	const want = `--only: there is no agent "emacs"; use any of claude-code, cline, codex, gemini-cli, opencode, pi, qwen-code`
	if _, err := choose(cases(), "codex,emacs"); err == nil || err.Error() != want {
		t.Errorf("an unknown agent: got %v", err)
	}
}

func TestTheReportEndsWithTheCountAndFailsWithAnyProblem(t *testing.T) {
	tests := []struct {
		name   string
		checks []check
		json   bool
		ok     bool
		want   string
	}{
		{"all passed", []check{{"codex", "one", ""}, {"codex", "two", ""}}, false, true, "| agent | one | two |\n|---    |---  |---  |\n| codex | ok  | ok  |\n\n2 passed, 0 failed\n"},
		{"one failed", []check{{"codex", "one", ""}, {"codex", "two", "no plan"}}, false, false, "| agent | one | two    |\n|---    |---  |---     |\n| codex | ok  | FAILED |\n\nFAILED: codex, two: no plan\n1 passed, 1 failed\n"},
		{"one did not run", []check{{"codex", "one", ""}, {"pi", "runs", "no npm"}}, false, false, "| agent | one |\n|---    |---  |\n| codex | ok  |\n\n| agent | runs   |\n|---    |---     |\n| pi    | FAILED |\n\nFAILED: pi, runs: no npm\n1 passed, 1 failed\n"},
		{
			"cases with other checks between two with the same",
			[]check{{"codex", "one", ""}, {"pi", "two", ""}, {"cline", "one", ""}},
			false, true,
			"| agent | one |\n|---    |---  |\n| codex | ok  |\n| cline | ok  |\n\n| agent | two |\n|---    |---  |\n| pi    | ok  |\n\n3 passed, 0 failed\n",
		},
		{"nothing was checked", nil, false, false, "0 passed, 0 failed\n"},
		{
			"as JSON",
			[]check{{"codex", "one", "no plan"}},
			true, false,
			"{\n  \"passed\": 0,\n  \"failed\": 1,\n  \"checks\": [\n    {\n      \"case\": \"codex\",\n      \"check\": \"one\",\n      \"problem\": \"no plan\"\n    }\n  ]\n}\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			ok, err := report(&out, tt.checks, tt.json)
			if ok != tt.ok || err != nil || out.String() != tt.want {
				t.Errorf("got %v, %v and\n%s\nwant %v and\n%s", ok, err, out.String(), tt.ok, tt.want)
			}
		})
	}
}

func TestTheSessionIDIsReadFromCodexOutput(t *testing.T) {
	const output = "warning: something\n{\"type\":\"thread.started\",\"thread_id\":\"0199-1\"}\n{\"type\":\"turn.started\"}\n"
	if got := sessionOf([]byte(output)); got != "0199-1" {
		t.Errorf("got %q", got)
	}
	if got := sessionOf([]byte("{\"session_id\":\"x\"}\n")); got != "" {
		t.Errorf("got %q from an agent whose id is chosen by the case", got)
	}
}

func TestTheHeadEndsBeforeTheFirstCompaction(t *testing.T) {
	tests := []struct{ name, uri, body string }{
		{"claude-code", "/v1/messages", `{"tools":[{}],"messages":[{"role":"user","content":"CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."}]}`},
		{"codex in words", "/v1/responses", `{"input":[{"role":"user","content":[{"text":"You are performing a CONTEXT CHECKPOINT COMPACTION."}]}]}`},
		{"codex, opaque", "/v1/responses", `{"tools":[{}],"input":[{"type":"compaction_trigger"}]}`},
		{"opencode", "/v1/chat/completions", `{"messages":[{"role":"user","content":"Here is the conversation so far:\n\n<conversation>"}]}`},
		{"gemini-cli", "/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"Generate it. First, reason in your scratchpad."}]}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			turn := recorded{Method: http.MethodPost, URI: tt.uri, Body: []byte(`{"tools":[{}],"messages":[],"input":[],"contents":[]}`)}
			sent := []recorded{turn, {Method: http.MethodPost, URI: tt.uri, Body: []byte(tt.body)}, turn}
			if got := head(sent); len(got) != 1 {
				t.Errorf("%d requests stand before it, want 1", len(got))
			}
		})
	}
}
