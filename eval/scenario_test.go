package eval_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestEveryScenarioLosesItsPlanWithoutHoldfast(t *testing.T) {
	open := []int{3, 2, 3} // by the states in the scenario
	for _, s := range eval.Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			up := eval.NewUpstream(eval.Config{Seed: t.Name(), Turn: s.Script()})
			if err := s.Run(t.Context(), http.DefaultClient, serve(t, up), "direct"); err != nil {
				t.Fatal(err)
			}
			epochs, err := eval.JudgeEpochs(up.Requests(), s.Plans())
			if err != nil {
				t.Fatal(err)
			}
			if len(epochs) != 3 {
				t.Fatalf("got %d epochs, want 3", len(epochs))
			}
			for i, e := range epochs {
				if want := (eval.Judgement{Open: open[i]}); e.First() != want || !e.Lost() || e.Survived() {
					t.Errorf("compaction %d: got %+v, want %+v", e.Compaction, e.First(), want)
				}
			}
			if n := len(epochs[0].Requests); n != 5 {
				t.Errorf("the first epoch has %d turns, want 5: work, its end, the plan call, work, its end", n)
			}
		})
	}
}

// A helper in front of the upstream writes the plan into every summary in words,
// as the product should; only then may the judge be content.
func TestAPlanInTheSummaryIsFoundAfterEachCompaction(t *testing.T) {
	for _, s := range eval.Scenarios() {
		if strings.HasSuffix(s.Name, "remote") {
			continue // an opaque summary holds no words
		}
		t.Run(s.Name, func(t *testing.T) {
			plans := s.Plans()
			up := eval.NewUpstream(eval.Config{Seed: t.Name(), Turn: s.Script(), Summary: func(n int, r eval.Request) eval.Reply {
				reply := eval.Forgetful(n, r)
				reply.Text += "\n\n" + block(plans[n])
				return reply
			}})
			if err := s.Run(t.Context(), http.DefaultClient, serve(t, up), "direct"); err != nil {
				t.Fatal(err)
			}
			epochs, err := eval.JudgeEpochs(up.Requests(), plans)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range epochs {
				if !e.Survived() || e.Lost() {
					t.Errorf("compaction %d: the plan is there, but the judge says %+v", e.Compaction, e.Requests)
				}
			}
		})
	}
}

func TestASessionIsTheSameBytesEachTime(t *testing.T) {
	for _, s := range eval.Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			run := func() []eval.Request {
				up := eval.NewUpstream(eval.Config{Seed: "fixed", Turn: s.Script()})
				if err := s.Run(t.Context(), http.DefaultClient, serve(t, up), "seed"); err != nil {
					t.Fatal(err)
				}
				return up.Requests()
			}
			first, second := run(), run()
			if len(first) != len(second) {
				t.Fatalf("%d requests, then %d", len(first), len(second))
			}
			for i := range first {
				if !bytes.Equal(first[i].Body, second[i].Body) {
					t.Fatalf("request %d differs between two runs of one session", i)
				}
			}
		})
	}
}

func TestAnAgentSaysWhatItsUpstreamDidWrong(t *testing.T) {
	turn := func(r eval.Reply) eval.Config { return eval.Config{Turn: eval.Queue(r)} }
	tests := []struct {
		name    string
		cfg     eval.Config
		compact bool
		want    string
	}{
		{"an error status", turn(eval.Reply{Status: 529}), false, "status 529"},
		{"a stream that is cut", turn(eval.Reply{Text: "so far so good", CutAfter: 3}), false, "unexpected EOF"},
		{"a failed compaction", eval.Config{Summary: eval.Queue(eval.Reply{Status: 500})}, true, "status 500"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, agent := range []eval.Agent{
				eval.NewClaudeCode(http.DefaultClient, serve(t, eval.NewUpstream(tt.cfg)), "s", false),
				eval.NewCodex(http.DefaultClient, serve(t, eval.NewUpstream(tt.cfg)), "s", false),
			} {
				err := agent.Prompt(t.Context(), "Hello.")
				if tt.compact && err == nil {
					err = agent.Compact(t.Context())
				}
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%T: got error %v, want one with %q", agent, err, tt.want)
				}
			}
		})
	}
}

func TestThereIsNothingToCompactBeforeTheFirstPrompt(t *testing.T) {
	up := eval.NewUpstream(eval.Config{})
	base := serve(t, up)
	for _, agent := range []eval.Agent{
		eval.NewClaudeCode(http.DefaultClient, base, "s", false), eval.NewCodex(http.DefaultClient, base, "s", true),
	} {
		if err := agent.Compact(t.Context()); err == nil {
			t.Errorf("%T compacted an empty history", agent)
		}
	}
	if n := len(up.Requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// The form of a request is what was captured; these are the places that the
// product reads.
func TestTheRequestsHaveTheCapturedForm(t *testing.T) {
	type form struct {
		at   int // index of the request in the session
		want []string
	}
	tests := map[string][]form{
		"claude-code 2.1.197": {
			{0, []string{
				`{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>`,
				`"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.197.`,
				`{"name":"TaskCreate",`, `"metadata":{"user_id":"{\"device_id\":\"`, `,\"account_uuid\":\"\",\"session_id\":\"`, `"stream":true}`,
			}},
			{1, []string{
				`{"role":"assistant","content":[{"type":"text","text":"First the plan."},{"type":"tool_use","id":"toolu_01`,
				`"type":"tool_result","content":"Task #4 created successfully: Switch the nightly import to the new reader","cache_control":{"type":"ephemeral"}}]}],"system"`,
			}},
			{6, []string{ // the compaction; the model's last text is not in it
				`Output of Bash, part 8`, `{"type":"text","text":"CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.`,
			}},
			{7, []string{
				`"text":"This session is being continued from a previous conversation that ran out of context.`, `Summary:\nThe user and the assistant worked`,
				`{"role":"assistant","content":"The tests pass."}`, `<command-name>/compact</command-name>`,
			}},
		},
		"claude-code 2.1.332": {
			{0, []string{`now available via ToolSearch.\nTaskCreate\n`, `"tools":[{"name":"Agent",`}},
			{1, []string{`created successfully: Switch the nightly import to the new reader\n\n<system-reminder>\n<total_tokens>`}},
		},
		"codex 0.171.0, local": {
			{0, []string{`{"model":"gpt-5.5","stream":true,"input":[{"type":"message","id":"msg_`, `<environment_context>`, `{"type":"function","name":"update_plan"`, `"prompt_cache_key":"`}},
			{1, []string{`{"type":"function_call","status":"completed","id":"fc_`, `"type":"function_call_output"`, `"output":"Plan updated"}`}},
			{6, []string{`{"type":"input_text","text":"You are performing a CONTEXT CHECKPOINT COMPACTION.`, `"tools":[]`, `"parallel_tool_calls":false`, `\"request_kind\":\"compaction\"`}},
			{7, []string{`"text":"Another language model started to solve this problem`, `:1\",\"window_number\":1,`}},
		},
		"codex 0.171.0, remote": {
			{6, []string{`{"type":"compaction_trigger"}],"tools":[{"type":"function"`, `\"implementation\":\"responses_compaction_v2\"`}},
			{7, []string{`{"type":"compaction","id":"cmp_`, `"encrypted_content":"b3BhcXVl`}},
		},
	}
	for _, s := range eval.Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			up := eval.NewUpstream(eval.Config{Turn: s.Script()})
			if err := s.Run(t.Context(), http.DefaultClient, serve(t, up), "s"); err != nil {
				t.Fatal(err)
			}
			for _, f := range tests[s.Name] {
				body := string(up.Requests()[f.at].Body)
				for _, want := range f.want {
					if !strings.Contains(body, want) {
						t.Errorf("request %d does not hold %s", f.at, want)
					}
				}
			}
			if n := len(tests[s.Name]); n == 0 {
				t.Error("nothing is known of its form")
			}
		})
	}
}

func TestAScriptWithoutEndIsAnError(t *testing.T) {
	loop := func(int, eval.Request) eval.Reply { return eval.Reply{Calls: []eval.Call{{Name: "Bash"}}} }
	base := serve(t, eval.NewUpstream(eval.Config{Turn: loop}))
	if err := eval.NewClaudeCode(http.DefaultClient, base, "s", false).Prompt(t.Context(), "Go."); err == nil || !strings.Contains(err.Error(), "without end") {
		t.Errorf("claude-code: got %v", err)
	}
	if err := eval.NewCodex(http.DefaultClient, base, "s", false).Prompt(t.Context(), "Go."); err == nil || !strings.Contains(err.Error(), "without end") {
		t.Errorf("codex: got %v", err)
	}
}

func TestJudgeEpochsRefusesAnotherNumberOfCompactions(t *testing.T) {
	compaction := eval.Request{Kind: eval.PlainCompaction}
	turn := eval.Request{Kind: eval.Turn, Body: []byte(`{"messages":[]}`)}
	plan := []holdfast.Step{{Text: "a", Status: holdfast.StepPending}}
	_, err := eval.JudgeEpochs([]eval.Request{turn, compaction, turn, compaction, turn}, [][]holdfast.Step{plan})
	if err == nil || err.Error() != "the upstream saw 2 compactions, 1 were expected" {
		t.Errorf("got %v", err)
	}
	epochs, err := eval.JudgeEpochs([]eval.Request{turn, compaction, compaction, turn}, [][]holdfast.Step{plan})
	if err != nil || len(epochs) != 1 || len(epochs[0].Requests) != 1 {
		t.Errorf("two compaction requests in a row are one boundary: got %+v, %v", epochs, err)
	}
}

func TestAnEpochNeedsTheSameBlockInEveryTurn(t *testing.T) {
	steps := []holdfast.Step{{Text: "a", Status: holdfast.StepPending}}
	with := eval.Judgement{Open: 1, Known: 1, Ordered: 1, Right: 1, Copies: 1, Block: block(steps)}
	other := with
	other.Block += " "
	without := eval.Judgement{Open: 1}
	tests := []struct {
		name           string
		requests       []eval.Judgement
		survived, lost bool
	}{
		{"no turn proves nothing", nil, false, false},
		{"every turn has it", []eval.Judgement{with, with}, true, false},
		{"the second turn has none", []eval.Judgement{with, without}, false, false},
		{"the second turn has other bytes", []eval.Judgement{with, other}, false, false},
		{"the first turn has none", []eval.Judgement{without, with}, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := eval.Epoch{Requests: tt.requests}
			if e.Survived() != tt.survived || e.Lost() != tt.lost {
				t.Errorf("survived %v, lost %v; want %v, %v", e.Survived(), e.Lost(), tt.survived, tt.lost)
			}
		})
	}
}

// ask posts a body and returns status, header and body of the answer.
func ask(t *testing.T, ctx context.Context, url string, header map[string]string, body string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}
