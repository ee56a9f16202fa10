package eval

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/holdfast-dev/holdfast"
)

// Manner is what sets one agent apart: how to start it, and the calls that a
// model makes with it. Calls have no ids yet.
type Manner struct {
	// Name is the agent, its version and the form of its compaction or protocol.
	Name     string
	Protocol holdfast.Protocol
	// New starts a session that talks to the base URL. The seed makes its ids.
	New func(client *http.Client, base, seed string) Agent
	// Plan makes the calls that take the plan from one state to the next. Where
	// each call names one step, steps are not removed and keep their places. Nil:
	// the agent has no plan tool.
	Plan func(from, to []holdfast.Step) []Call
	// Ask makes a structured question to the user. Nil: the agent has none.
	Ask func(question string, options []string) []Call
	// Show makes the calls that show a plan to the user for approval: one, or one
	// that writes the plan into a file and one that leaves the plan mode. Nil: the
	// agent has no such tool.
	Show func(plan string) []Call
	// Work is the tool for commands.
	Work string
	// KeepsWords: the agent itself keeps what the user said.
	KeepsWords bool
	// KeepsTurn: it keeps its newest turn verbatim behind a compaction.
	KeepsTurn bool
	// Weighs: it takes no summary that is not shorter than what it sums up, so that a
	// block has to be much smaller than that.
	Weighs bool
	// Forward: a finished step cannot be opened again.
	Forward bool
	// Opaque: its compaction is an opaque item.
	Opaque bool
	// Subagents: Agent.Subagent returns one.
	Subagents bool
	lone      []string // tools that a subagent does not have: plan, ask, show
}

// Sub is what the agent's subagents can do: some tools are the main agent's alone.
func (m Manner) Sub() Manner {
	for _, tool := range m.lone {
		switch tool {
		case "plan":
			m.Plan = nil
		case "ask":
			m.Ask = nil
		case "show":
			m.Show = nil
		}
	}
	return m
}

// Manners returns one per captured form: claude-code with its Task tools among
// the tools and deferred, codex with a summary in words and with an opaque item,
// pi in two protocols, and one of each other agent.
func Manners() []Manner {
	claude := Manner{
		Name: "claude-code 2.1.197", Protocol: holdfast.Anthropic, New: newClaude(false),
		Plan: taskCalls, Ask: claudeAsk, Show: claudeShow, Work: "Bash", Subagents: true,
		lone: []string{"ask", "show"},
	}
	deferred := claude
	deferred.Name, deferred.New = "claude-code 2.1.332", newClaude(true)
	local := Manner{
		Name: "codex 0.171.0, local", Protocol: holdfast.Responses, New: newCodex(false),
		Plan: planCalls, Ask: codexAsk, Work: "exec_command", KeepsWords: true, Subagents: true,
	}
	remote := local
	remote.Name, remote.New, remote.Opaque = "codex 0.171.0, remote", newCodex(true), true
	pi := Manner{Name: "pi 0.74.2, chat", Protocol: holdfast.Chat, New: newPi(false), Work: "bash", KeepsTurn: true}
	responses := pi
	responses.Name, responses.Protocol, responses.New = "pi 0.74.2, responses", holdfast.Responses, newPi(true)
	return []Manner{
		claude, deferred, local, remote,
		{
			Name: "opencode 1.18.33", Protocol: holdfast.Chat, Plan: openCodeCalls, Ask: openCodeAsk, Show: openCodeShow, Work: "bash", Subagents: true,
			lone: []string{"plan", "ask", "show"},
			New:  func(c *http.Client, base, seed string) Agent { return NewOpenCode(c, base, seed) },
		},
		{
			Name: "qwen-code 0.15.10", Protocol: holdfast.Chat, Plan: qwenCalls, Ask: qwenAsk, Show: qwenShow, Work: "run_shell_command", KeepsTurn: true,
			New: func(c *http.Client, base, _ string) Agent { return NewQwenCode(c, base) },
		},
		{
			Name: "gemini-cli 0.61.0", Protocol: holdfast.Gemini, Plan: geminiCalls, Ask: geminiAsk, Show: geminiShow, Work: "run_shell_command", KeepsTurn: true, Weighs: true,
			New: func(c *http.Client, base, _ string) Agent { return NewGeminiCLI(c, base) },
		},
		pi,
		{
			Name: "cline 3.0.65", Protocol: holdfast.Chat, Plan: teamCalls, Ask: clineAsk, Work: "run_commands", KeepsTurn: true, Forward: true,
			New: func(c *http.Client, base, _ string) Agent { return NewCline(c, base) },
		},
		responses,
	}
}

func newClaude(deferred bool) func(*http.Client, string, string) Agent {
	return func(c *http.Client, base, seed string) Agent { return NewClaudeCode(c, base, seed, deferred) }
}

func newCodex(remote bool) func(*http.Client, string, string) Agent {
	return func(c *http.Client, base, seed string) Agent { return NewCodex(c, base, seed, remote) }
}

func newPi(responses bool) func(*http.Client, string, string) Agent {
	return func(c *http.Client, base, seed string) Agent { return NewPi(c, base, seed, responses) }
}

// taskCalls are claude-code's: one TaskCreate per new step, one TaskUpdate per
// changed status, which names the step only by its number.
func taskCalls(from, to []holdfast.Step) []Call {
	var out []Call
	for i, step := range to {
		now := pending
		if i < len(from) {
			now = from[i].Status
		} else {
			out = append(out, Call{Name: "TaskCreate", Args: args(object{
				{"subject", step.Text}, {"description", "As discussed."}, {"activeForm", "Working on it"},
			})})
		}
		if now != step.Status {
			out = append(out, Call{Name: "TaskUpdate", Args: args(object{
				{"taskId", strconv.Itoa(i + 1)}, {"status", string(step.Status)},
			})})
		}
	}
	return out
}

// planCalls is codex's: the whole plan in one call.
func planCalls(_, to []holdfast.Step) []Call {
	steps := []object{}
	for _, step := range to {
		steps = append(steps, object{{"step", step.Text}, {"status", string(step.Status)}})
	}
	return []Call{{Name: "update_plan", Args: args(object{{"plan", steps}})}}
}

// todoCalls is a whole list in one call, in the form that one agent gives it.
func todoCalls(tool string, step func(i int, s holdfast.Step) object) func(_, to []holdfast.Step) []Call {
	return func(_, to []holdfast.Step) []Call {
		todos := []object{}
		for i, s := range to {
			todos = append(todos, step(i, s))
		}
		return []Call{{Name: tool, Args: args(object{{"todos", todos}})}}
	}
}

var (
	openCodeCalls = todoCalls("todowrite", func(_ int, s holdfast.Step) object {
		return object{{"content", s.Text}, {"status", string(s.Status)}, {"priority", "high"}}
	})
	qwenCalls = todoCalls("todo_write", func(i int, s holdfast.Step) object {
		return object{{"id", strconv.Itoa(i + 1)}, {"content", s.Text}, {"status", string(s.Status)}}
	})
	geminiCalls = todoCalls("write_todos", func(_ int, s holdfast.Step) object {
		return object{{"description", s.Text}, {"status", string(s.Status)}}
	})
)

// teamCalls are cline's: one call per new step and per changed status, which
// names the step only by its id.
func teamCalls(from, to []holdfast.Step) []Call {
	var out []Call
	for i, step := range to {
		now := pending
		if i < len(from) {
			now = from[i].Status
		} else {
			out = append(out, Call{Name: "team_task", Args: args(object{{"action", "create"}, {"title", step.Text}, {"description", "As discussed."}})})
		}
		if now == step.Status {
			continue
		}
		action := "complete"
		if step.Status == working {
			action = "claim"
		}
		out = append(out, Call{Name: "team_task", Args: args(object{{"action", action}, {"taskId", fmt.Sprintf("task_%04d", i+1)}})})
	}
	return out
}

// choices are the options of a question, in the form of most agents.
func choices(options []string) []object {
	var out []object
	for _, o := range options {
		out = append(out, object{{"label", o}, {"description", "One way to do it."}})
	}
	return out
}

// askCalls is one question; form writes it.
func askCalls(tool string, form func(question string, options []string) object) func(string, []string) []Call {
	return func(question string, options []string) []Call {
		return []Call{{Name: tool, Args: args(object{{"questions", []object{form(question, options)}}})}}
	}
}

var (
	claudeAsk = askCalls("AskUserQuestion", selectable)
	codexAsk  = askCalls("request_user_input", func(q string, options []string) object {
		return object{{"id", "choice"}, {"header", "Choice"}, {"question", q}, {"options", choices(options)}}
	})
	openCodeAsk = askCalls("question", func(q string, options []string) object {
		return object{{"question", q}, {"header", "Choice"}, {"options", choices(options)}}
	})
	qwenAsk   = askCalls("ask_user_question", selectable)
	geminiAsk = askCalls("ask_user", func(q string, options []string) object {
		return object{{"question", q}, {"header", "Choice"}, {"type", "choice"}, {"multiSelect", false}, {"options", choices(options)}}
	})
)

// selectable is a question of claude-code and qwen-code.
func selectable(q string, options []string) object {
	return object{{"question", q}, {"header", "Choice"}, {"multiSelect", false}, {"options", choices(options)}}
}

// clineAsk is one question, whose options are bare texts.
func clineAsk(question string, options []string) []Call {
	return []Call{{Name: "ask_question", Args: args(object{{"question", question}, {"options", options}})}}
}

// showFile writes the plan into a file and leaves the plan mode.
func showFile(write, path, file, exit string, with object) func(string) []Call {
	return func(plan string) []Call {
		return []Call{
			{Name: write, Args: args(object{{path, file}, {"content", plan}})},
			{Name: exit, Args: args(with)},
		}
	}
}

var (
	claudeShow   = showFile("Write", "file_path", "/home/dev/.claude/plans/import.md", "ExitPlanMode", object{})
	openCodeShow = showFile("write", "filePath", openCodeFolder+".opencode/plans/import.md", "plan_exit", object{})
	geminiShow   = showFile("write_file", "file_path", "/home/dev/.gemini/tmp/importer/plans/import.md", "exit_plan_mode", object{{"plan_filename", "import.md"}})
)

// qwenShow has the plan in the call.
func qwenShow(plan string) []Call {
	return []Call{{Name: "exit_plan_mode", Args: args(object{{"plan", plan}})}}
}

func args(o object) json.RawMessage { return encode(o) }
