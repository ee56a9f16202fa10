package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// quote writes a JSON string as JavaScript and Rust clients do.
func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// planEvery is how often a round writes the plan instead of using another tool.
const planEvery = 10

// plan is the arguments of a call that writes the plan, as of round i.
func plan(i int, list, text string) string {
	var steps []string
	for n := range 5 {
		status := "pending"
		switch done := i / planEvery % 5; {
		case n < done:
			status = "completed"
		case n == done:
			status = "in_progress"
		}
		steps = append(steps, fmt.Sprintf(`{"%s":"Move part %d of the loader","status":"%s"}`, text, n+1, status))
	}
	return fmt.Sprintf(`{"%s":[%s]}`, list, strings.Join(steps, ","))
}

// use is the tool that round i calls, with its arguments.
func use(g *generator, i int, planTool, list, text string) (tool, args string) {
	if i%planEvery == 0 && !g.size.small {
		return planTool, plan(i, list, text)
	}
	switch i % 4 {
	case 0:
		return "Bash", `{"command":"go test ./..."}`
	case 1:
		return "Read", fmt.Sprintf(`{"file_path":"/src/%s.go"}`, g.word())
	case 2:
		return "Grep", fmt.Sprintf(`{"pattern":"%s\\b","path":"/src"}`, g.word())
	}
	if g.size.small {
		return "Read", `{"file_path":"/src/main.go"}`
	}
	return "Edit", fmt.Sprintf(`{"file_path":"/src/%s.go","old_string":%s,"new_string":%s}`, g.word(), quote(g.code(80)), quote(g.code(120)))
}

// toolNames are the tools that a request offers; a small one offers the first few.
var toolNames = strings.Fields("Bash Read TodoWrite Grep Edit Write Agent AskUserQuestion CronList EnterPlanMode ExitPlanMode Glob KillShell " +
	"ListFiles Monitor NotebookEdit Outline Preview Rename Search Skill WebFetch WebSearch Worktree")

// toolList is the list of tools, each with a description and a schema.
func toolList(g *generator, format string) string {
	var list []string
	for _, name := range toolNames[:g.size.tools] {
		about, schema := g.prose(4), `{"type":"object"}`
		if !g.size.small {
			about = g.prose(180)
			schema = fmt.Sprintf(`{"type":"object","properties":{"path":{"type":"string","description":%s},"limit":{"type":"integer","minimum":1}},"required":["path"],"additionalProperties":false}`,
				quote(g.prose(25)))
		}
		list = append(list, fmt.Sprintf(format, name, quote(about), schema))
	}
	return "[" + strings.Join(list, ",") + "]"
}

func sessionID() string { return "5e551005-0000-4000-8000-" + tokenMark }

func claudeHeaders() http.Header {
	return http.Header{
		"Accept":                   {"application/json"},
		"Content-Type":             {"application/json"},
		"User-Agent":               {"claude-cli/2.1.332 (external, cli)"},
		"X-Claude-Code-Session-Id": {sessionID()},
		"X-Stainless-Lang":         {"js"},
		"X-Stainless-Retry-Count":  {"0"},
		"X-Stainless-Timeout":      {"600"},
		"Anthropic-Beta":           {"claude-code-20250219,interleaved-thinking-2025-05-14"},
		"Anthropic-Version":        {"2023-06-01"},
		"Authorization":            {"Bearer sk-ant-dummy"},
		"X-App":                    {"cli"},
	}
}

func claudeOpening(g *generator) string {
	text := "Fix the loader."
	reminder := ""
	if !g.size.small {
		text = g.prose(60)
		reminder = `{"type":"text","text":` + quote("<system-reminder>\n"+g.prose(200)+"\n</system-reminder>") + `},`
	}
	return `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":[` + reminder + `{"type":"text","text":` + quote(text+" "+tokenMark)
}

// claudeRound is a message of the model with a call, and its result. The last
// block of the history is left open: the tail puts the cache mark into it.
func claudeRound(g *generator, i int) string {
	tool, args := use(g, i, "TodoWrite", "todos", "content")
	id := fmt.Sprintf("toolu_01%s%04d", tokenMark, i)
	said := ""
	if !g.size.small {
		if i%3 == 0 {
			said = fmt.Sprintf(`{"type":"thinking","thinking":%s,"signature":"%s"},`, quote(g.prose(30)), g.opaque(400))
		}
		said += fmt.Sprintf(`{"type":"text","text":%s},`, quote(tokenMark+" "+g.prose(12)))
	}
	return `}]},{"role":"assistant","content":[` + said +
		fmt.Sprintf(`{"type":"tool_use","id":"%s","name":"%s","input":%s}]},`, id, tool, args) +
		fmt.Sprintf(`{"role":"user","content":[{"tool_use_id":"%s","type":"tool_result","content":%s`, id, quote(g.result()))
}

func claudeTail(g *generator, stream bool) string {
	system := `{"type":"text","text":"You are a coding agent."}`
	if !g.size.small {
		system += `,{"type":"text","text":` + quote(g.prose(2000)) + `,"cache_control":{"type":"ephemeral"}}`
	}
	user := fmt.Sprintf(`{"device_id":"d0d0","account_uuid":"","session_id":"%s"}`, sessionID())
	return `,"cache_control":{"type":"ephemeral"}}]}],"system":[` + system + `],"tools":` +
		toolList(g, `{"name":"%s","description":%s,"input_schema":%s}`) +
		`,"metadata":{"user_id":` + quote(user) + `},"max_tokens":32000,"stream":` + fmt.Sprint(stream) + `}`
}

func codexHeaders() http.Header {
	return http.Header{
		"Accept":                {"text/event-stream"},
		"Content-Type":          {"application/json"},
		"User-Agent":            {"codex_cli_rs/0.171.0"},
		"Session-Id":            {sessionID()},
		"Thread-Id":             {sessionID()},
		"X-Codex-Turn-Metadata": {`{"session_id":"` + sessionID() + `","thread_id":"` + sessionID() + `","request_kind":"turn"}`},
		"Authorization":         {"Bearer sk-dummy"},
	}
}

func codexOpening(g *generator) string {
	return `{"model":"gpt-5","instructions":"You are a coding agent.","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":` +
		quote(g.prose(8)+" "+tokenMark) + `}]`
}

// codexRound is a call and its output; the output item is left open.
func codexRound(g *generator, i int) string {
	tool, args := use(g, i, "update_plan", "plan", "step")
	id := fmt.Sprintf("call_%s%04d", tokenMark, i)
	return fmt.Sprintf(`},{"type":"function_call","name":"%s","arguments":%s,"call_id":"%s"},`, tool, quote(args), id) +
		fmt.Sprintf(`{"type":"function_call_output","call_id":"%s","output":%s`, id, quote(g.result()))
}

func codexTail(g *generator, stream bool) string {
	return `}],"tools":` + toolList(g, `{"type":"function","name":"%s","description":%s,"strict":false,"parameters":%s}`) +
		`,"tool_choice":"auto","parallel_tool_calls":false,"store":false,"stream":` + fmt.Sprint(stream) +
		`,"include":["reasoning.encrypted_content"],"prompt_cache_key":"` + sessionID() + `"}`
}
