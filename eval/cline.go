package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Cline is a scripted cline 3.0.65 with team tasks. It sends no id of any kind.
// Its requests have the captured wire form; the long prompt texts are replaced. A
// notice stands in the text of the user, before the words. A question without an
// answer was not captured: its result is empty here.
type Cline struct {
	dialogue
	client *http.Client
	url    string
	tasks  int
}

// clineForm: texts are bare.
var clineForm = chatForm{user: func(m message) any {
	if m.notice == "" {
		return m.text
	}
	return "<mode_notice>" + m.notice + "</mode_notice>\n" + m.text
}}

// NewCline returns a session that talks to the base URL.
func NewCline(client *http.Client, base string) *Cline {
	a := &Cline{client: client, url: base + "/v1/chat/completions"}
	a.dialogue = dialogue{agent: "cline", self: a}
	return a
}

// Fork implements Agent. Nothing on the wire tells of it.
func (a *Cline) Fork(string) Agent {
	b := *a
	b.branch(&b)
	return &b
}

// Subagent implements Agent: only the prompt texts are other ones.
func (a *Cline) Subagent(string) Agent { return nil }

// condense implements speaker. The history goes in words, and the summary takes
// the place of all but the newest turn, and between two turns the answer before
// it.
func (a *Cline) condense(ctx context.Context, middle bool) error {
	old, kept, err := a.split(middle)
	if err != nil {
		return err
	}
	if n := len(old) - 1; !middle && len(kept) > 0 && n > 0 {
		old, kept = old[:n], append(old[n:n+1:n+1], kept...)
	}
	ask := clineMark + " " + filler("What to write", 3) + "\n"
	if a.summary != "" {
		ask += "Previous summary:\n" + a.summary + "\n\n"
	}
	ask += "Conversation:\n" + quote(old, "Bot", func(text string) string { return `<user_input mode="act">` + text + "</user_input>" })
	got, err := a.post(ctx, object{{"model", "qwen3-coder"}, {"max_tokens", 8192}, {"messages", []object{
		chatSystem("Summarize the provided coding session into a concise continuation note with detailed next steps."),
		{{"role", "user"}, {"content", ask}},
	}}})
	if err != nil {
		return err
	}
	a.summary, a.history = got.text, kept
	return nil
}

// tool implements speaker.
func (a *Cline) tool(c Call) result {
	var args struct {
		Action   string `json:"action"`
		TaskID   string `json:"taskId"`
		Question string `json:"question"`
	}
	_ = json.Unmarshal(c.Args, &args) // a call with other arguments has none of these
	switch c.Name {
	case "team_task":
		task := object{{"action", args.Action}, {"taskId", args.TaskID}, {"status", "completed"}}
		switch args.Action {
		case "create":
			a.tasks++
			task[1].value, task[2].value = fmt.Sprintf("task_%04d", a.tasks), "pending"
		case "claim":
			task[2].value = "in_progress"
			task = append(task, member{"nextStep", "Task is now in_progress."})
		}
		return result{text: string(encode(task))}
	case "ask_question":
		return result{text: a.world.answer(args.Question)}
	}
	return result{text: string(encode([]object{{{"query", "go test ./..."}, {"result", a.world.output(c, 8)}, {"success", true}}}))}
}

// turn implements speaker.
func (a *Cline) turn(ctx context.Context, history []message) (answer, error) {
	messages := []object{chatSystem("You are Cline, an AI coding agent.\n\n" + filler("How to work", 40))}
	if a.summary != "" {
		messages = append(messages, object{{"role", "user"}, {"content", "Context summary:\n\n" + a.summary + "\n\n## Files\nRead:\n- none\nModified:\n- none"}})
	}
	return a.post(ctx, object{
		{"model", "qwen3-coder"},
		{"messages", append(messages, clineForm.messages(history)...)},
		{"tools", chatTools("read_files search_codebase run_commands editor ask_question team_task spawn_agent")},
		{"tool_choice", "auto"},
	})
}

func (a *Cline) post(ctx context.Context, body object) (answer, error) {
	header := object{
		{"Authorization", "Bearer dummy"},
		{"User-Agent", "ai-sdk/openai-compatible/3.0.37 ai-sdk/provider-utils/5.0.30 runtime/browser"},
		{"Accept", "*/*"},
	}
	body = append(body, member{"stream", true}, member{"stream_options", object{{"include_usage", true}}})
	return readChat(func(f func([]byte) error) error {
		return post(ctx, a.client, a.url, header, body, f)
	})
}
