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
	forward := []int{3, 2, 1}
	for _, s := range eval.Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			up := eval.NewUpstream(eval.Config{Seed: t.Name(), Turn: s.Script()})
			if err := s.Run(t.Context(), http.DefaultClient, serve(t, up), "direct"); err != nil {
				t.Fatal(err)
			}
			epochs, err := s.Judge(up.Requests())
			if err != nil {
				t.Fatal(err)
			}
			if len(epochs) != 3 {
				t.Fatalf("got %d epochs, want 3", len(epochs))
			}
			agent, _, _ := strings.Cut(s.Name, " ")
			for i, e := range epochs {
				want := eval.Judgement{Open: open[i], Words: []int{1, 2, 2}[i]}
				switch agent {
				case "codex": // it keeps the words itself
					want.Words = 0
				case "cline": // a task that is done stays done
					want.Open = forward[i]
				case "pi": // it has no plan
					want.Open = 0
				}
				if e.First() != want || !e.Lost() || e.Survived() {
					t.Errorf("compaction %d: got %+v, want %+v", e.Compaction, e.First(), want)
				}
			}
			turns := map[string]int{
				"claude-code": 5, "codex": 5, "opencode": 5, // work, its end, the plan call, work, its end
				"qwen-code": 6, "gemini-cli": 6, "cline": 6, // and the turn that is kept
				"pi": 5, // that one, and no plan call
			}
			if n := len(epochs[0].Requests); n != turns[agent] {
				t.Errorf("the first epoch has %d turns, want %d", n, turns[agent])
			}
		})
	}
}

// An upstream that writes the plan and the words into every summary, as the
// product should: only then may the judge be content.
func TestAPlanInTheSummaryIsFoundAfterEachCompaction(t *testing.T) {
	for _, s := range eval.Scenarios() {
		if strings.HasSuffix(s.Name, "remote") {
			continue // an opaque summary holds no words
		}
		t.Run(s.Name, func(t *testing.T) {
			plans, words := s.Plans(), s.Words()
			up := eval.NewUpstream(eval.Config{Seed: t.Name(), Turn: s.Script(), Summary: func(n int, r eval.Request) eval.Reply {
				reply := eval.Forgetful(n, r)
				if r.Protocol == holdfast.Gemini {
					n /= 2 // two requests make one summary
				}
				reply.Text += "\n\n" + strings.Join(words[n], "\n") + "\n" + block(plans[n])
				return reply
			}})
			if err := s.Run(t.Context(), http.DefaultClient, serve(t, up), "direct"); err != nil {
				t.Fatal(err)
			}
			epochs, err := s.Judge(up.Requests())
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

// everyAgent returns one of each, behind a base URL of its own.
func everyAgent(base func() string) []eval.Agent {
	c := http.DefaultClient
	return []eval.Agent{
		eval.NewClaudeCode(c, base(), "s", false), eval.NewCodex(c, base(), "s", false), eval.NewOpenCode(c, base(), "s"), eval.NewQwenCode(c, base()),
		eval.NewGeminiCLI(c, base()), eval.NewPi(c, base(), "s", false), eval.NewPi(c, base(), "s", true), eval.NewCline(c, base()),
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
		{"a stream that is cut", turn(eval.Reply{Text: "so far so good, and on it goes for a while, until nothing more is heard of it", CutAfter: 3}), false, "unexpected EOF"},
		{"a failed compaction", eval.Config{Summary: eval.Queue(eval.Reply{Status: 500})}, true, "status 500"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, agent := range everyAgent(func() string { return serve(t, eval.NewUpstream(tt.cfg)) }) {
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
	for _, agent := range everyAgent(func() string { return base }) {
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
				`{"role":"assistant","content":"The tests pass. It took 2 looks`, `<command-name>/compact</command-name>`,
			}},
		},
		"claude-code 2.1.332": {
			{0, []string{`now available via ToolSearch.\nExitPlanMode\nTaskCreate\n`, `"tools":[{"name":"Agent",`}},
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
		"opencode 1.18.33": {
			{0, []string{`"max_tokens":8000,"messages":[{"role":"system","content":"You are opencode,`, `{"role":"user","content":"The nightly import`, `{"type":"function","function":{"name":"todowrite",`, `"tool_choice":"auto","stream":true,"stream_options":{"include_usage":true}}`}},
			{1, []string{
				`"tool_calls":[{"id":"call_`, `"type":"function","function":{"name":"todowrite","arguments":"{\"todos\":[{\"content\":\"Put the CSV`, `{"role":"tool","tool_call_id":"call_`,
				`"content":"[\n  {\n    \"content\": \"Put the CSV reader behind the Source interface\",\n    \"status\": \"pending\",\n    \"priority\": \"high\"\n  },\n  {\n`,
			}},
			{4, []string{`{"role":"assistant","content":"","tool_calls":[`}},
			{6, []string{
				`"messages":[{"role":"system","content":"You are a context summarization agent.`,
				`{"role":"user","content":"Here is the conversation so far:\n\n<conversation>\n[User]: The nightly import`, `[Assistant]: First the plan.\n[Assistant tool call]: todowrite({\"todos\":[{`, `})\n[Tool result]: [\n  {\n`,
				`next one.\n\n\n[Assistant]: This part`, `\n\n[User]: Looks right so far, go on.\n\n[Assistant tool call]: todowrite({`,
				`nothing outside of the importer was changed.\n</conversation>\n\nCreate a new anchored summary from the conversation history in the <conversation> tags above.`, `"}],"stream":true,`,
			}},
			{7, []string{`{"role":"user","content":"What did we do so far?"},{"role":"assistant","content":"The user and the assistant worked on the code for a while. Go on with the work."},{"role":"user","content":"Keep going,`}},
			{12, []string{`</conversation>\n\nHere is the summary of the conversation before the <conversation> above:\n\n<prior-summary>\nThe user and`}},
		},
		"qwen-code 0.15.10": {
			{0, []string{
				`{"model":"qwen3-coder-plus","messages":[{"role":"system","content":"You are Qwen Code,`, `{"role":"user","content":[{"type":"text","text":"This is the Qwen Code. We are setting up the context for our chat.\n`,
				`{"role":"assistant","content":"Got it. Thanks for the context!"},{"role":"user","content":[{"type":"text","text":"The nightly import`, `"stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function"`,
			}},
			{1, []string{`"content":[{"type":"text","text":"Todos have been modified successfully.`, `<system-reminder>\nYour todo list has changed: \n\n[{\"id\":\"1\",\"content\":\"Put the CSV`}},
			{4, []string{`{"role":"assistant","content":null,"tool_calls":[`}},
			{7, []string{
				`"messages":[{"role":"system","content":"You are the component that summarizes internal chat history`, `Thanks for the context!"},{"role":"user"`,
				`was changed."},{"role":"user","content":[{"type":"text","text":"First, reason in your scratchpad. Then, generate the <state_snapshot>."}]}],"max_tokens":8000}`,
			}},
			{8, []string{`Thanks for the context!"},{"role":"user","content":[{"type":"text","text":"The user and the assistant worked on the code for a while. Go on with the work."}]},{"role":"assistant","content":"Got it. Thanks for the additional context!"},{"role":"user","content":[{"type":"text","text":"Thanks for part 1.`}},
		},
		"gemini-cli 0.61.0": {
			{0, []string{`{"contents":[{"parts":[{"text":"<session_context>\n`, `</session_context>"},{"text":"The nightly import`, `"role":"user"}],"systemInstruction":{"parts":[{"text":"You are a non-interactive CLI agent`, `"tools":[{"functionDeclarations":[{"name":`}},
			{1, []string{
				`{"functionCall":{"id":"fc_`, `"args":{"todos":[{"description":"Put the CSV`, `"name":"write_todos"},"thoughtSignature":"skip_thought_signature_validator"}],"role":"model"}`,
				`{"parts":[{"functionResponse":{"name":"write_todos","response":{"output":"Successfully updated the todo list. The current list is now:\n1. [pending] Put the CSV reader`,
			}},
			{3, []string{`new reader"},"id":"fc_`, `}},{"functionResponse":{"name":"write_todos","response":{"output":"Successfully`, `"name":"write_todos"}}],"role":"model"}`}},
			{7, []string{`{"functionCall":{"id":"write_todos__fc_`, `"id":"run_shell_command__fc_`, `{"parts":[{"text":"Generate a new <state_snapshot> based on the provided history.\n\nFirst, reason in your scratchpad.`, `"systemInstruction":{"parts":[{"text":"You are a specialized system component responsible for distilling`, `"generationConfig":{}}`}},
			{8, []string{`{"parts":[{"text":"The user and the assistant worked on the code for a while. Go on with the work."}],"role":"model"},{"parts":[{"text":"Critically evaluate the <state_snapshot> you just generated.`}},
			{9, []string{`</session_context>"},{"text":"The user and the assistant worked on the code for a while. Go on with the work."}],"role":"user"},{"parts":[{"text":"Got it. Thanks for the additional context!"}],"role":"model"},{"parts":[{"text":"Thanks for part 1.`}},
			{15, []string{`{"parts":[{"text":"A previous <state_snapshot> exists in the history.`}},
		},
		"pi 0.74.2, chat": {
			{0, []string{`{"role":"system","content":"You are operating inside pi, a coding agent harness.`, `{"role":"user","content":[{"type":"text","text":"The nightly import`, `"store":false,"max_completion_tokens":8000,"tools":[{"type":"function","function":{"name":"read"`, `"strict":false}}]}`}},
			{1, []string{`{"role":"tool","content":"Output of bash, part 1`, `"tool_call_id":"call_`}},
			{5, []string{
				`{"role":"system","content":"You are a context summarization assistant.`, `[{"type":"text","text":"<conversation>\n[User]: The nightly import`, `\n\n[Assistant]: Let me look at it.`,
				`\n\n[Assistant tool calls]: bash(command=\"go test ./...\", cmd=\"go test ./...\")\n\n[Tool result]: Output of bash`, `was changed.\n</conversation>\n\nThe messages above are a conversation to summarize.`, `"max_completion_tokens":8000}`,
			}},
			{6, []string{`"text":"The conversation history before this point was compacted into the following summary:\n\n<summary>\nThe user and the assistant worked on the code for a while. Go on with the work.\n</summary>"}]},{"role":"user","content":[{"type":"text","text":"Thanks for part 1.`}},
			{11, []string{`</conversation>\n\n<previous-summary>\nThe user and`, `</previous-summary>\n\nThe messages above are NEW conversation messages`}},
		},
		"pi 0.74.2, responses": {
			{0, []string{`"input":[{"role":"system","content":"You are operating inside pi,`, `{"role":"user","content":[{"type":"input_text","text":"The nightly import`, `"stream":true,"prompt_cache_key":"`, `"store":false,"max_output_tokens":8000,"tools":[{"type":"function","name":"read"`}},
			{1, []string{`{"type":"function_call","id":"fc_`, `{"type":"function_call_output","call_id":"call_`, `"output":"Output of bash`}},
			{5, []string{`{"role":"user","content":[{"type":"input_text","text":"<conversation>\n[User]: The nightly`, `"stream":true,"store":false,"max_output_tokens":8000}`}},
			{6, []string{`{"role":"user","content":[{"type":"input_text","text":"The conversation history before this point was compacted`, `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"No, there is nothing.`}},
		},
		"cline 3.0.65": {
			{0, []string{`{"role":"system","content":"You are Cline, an AI coding agent.`, `{"role":"user","content":"The nightly import`, `"name":"team_task"`}},
			{1, []string{`"content":"{\"action\":\"create\",\"taskId\":\"task_0004\",\"status\":\"pending\"}"`}},
			{5, []string{`{\"action\":\"complete\",\"taskId\":\"task_0001\",\"status\":\"completed\"}`, `{\"action\":\"claim\",\"taskId\":\"task_0002\",\"status\":\"in_progress\",\"nextStep\"`, `"content":"[{\"query\":\"go test ./...\",\"result\":\"Output of run_commands`}},
			{7, []string{
				`"max_tokens":8192,"messages":[{"role":"system","content":"Summarize the provided coding session`, `{"role":"user","content":"Summarize this session for continuation. `, `\nConversation:\n[User]: <user_input mode=\"act\">The nightly import`,
				`</user_input>\n\n[Bot]: First the plan.`, `[Bot tool calls]: team_task(action=\"create\", title=\"Put the CSV`, `\n\n[Tool result]: {\"action\":\"create\"`,
			}},
			{8, []string{`{"role":"user","content":"Context summary:\n\nThe user and the assistant worked on the code for a while. Go on with the work.\n\n## Files\nRead:\n- none\nModified:\n- none"},{"role":"assistant","content":"The tests pass.`}},
			{14, []string{`\nPrevious summary:\nThe user and the assistant`}},
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
	for _, agent := range everyAgent(func() string { return base }) {
		agent.Enter(eval.World{Output: func(eval.Call) string { return "short" }})
		if err := agent.Prompt(t.Context(), "Go."); err == nil || !strings.Contains(err.Error(), "without end") {
			t.Errorf("%T: got %v", agent, err)
		}
	}
}

func TestGeminiCLIRefusesASummaryThatMakesTheHistoryLonger(t *testing.T) {
	up := eval.NewUpstream(eval.Config{Summary: eval.Queue(eval.Reply{Text: "short"}, eval.Reply{Text: strings.Repeat("long ", 200)})})
	agent := eval.NewGeminiCLI(http.DefaultClient, serve(t, up))
	if err := agent.Prompt(t.Context(), "Hello."); err != nil {
		t.Fatal(err)
	}
	if err := agent.Compact(t.Context()); err == nil || !strings.Contains(err.Error(), "refuses the summary") {
		t.Errorf("got %v", err)
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
