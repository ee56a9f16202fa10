package eval

import (
	"context"
	"encoding/json"
	"net/http"
)

// QwenCode is a scripted qwen-code 0.15.10. It sends no id of any kind. Its
// requests have the captured wire form; the long prompt texts are replaced.
type QwenCode struct {
	dialogue
	client *http.Client
	url    string
}

// qwenForm: all texts but the model's stand in lists of parts.
var qwenForm = chatForm{userParts: true, toolParts: true}

// thanks is what qwen-code and gemini-cli put into the model's mouth behind a
// summary.
const thanks = "Got it. Thanks for the additional context!"

// NewQwenCode returns a session that talks to the base URL.
func NewQwenCode(client *http.Client, base string) *QwenCode {
	a := &QwenCode{client: client, url: base + "/v1/chat/completions"}
	a.dialogue = dialogue{agent: "qwen-code", send: a.turn, run: a.tool}
	return a
}

// Compact implements Agent. The bare summary takes the place of all but the
// newest turn. The request for it is not streamed.
func (a *QwenCode) Compact(ctx context.Context) error {
	old, kept, err := a.split()
	if err != nil {
		return err
	}
	messages := append([]object{chatSystem("You are the component that summarizes internal chat history into a given structure.\n\n" + filler("How to summarize", 6))},
		qwenForm.messages(a.whole(old))...)
	messages = append(messages, object{{"role", "user"}, {"content", bareOrPart(scratchpadMark+" Then, generate the <state_snapshot>.", true)}})
	raw, err := fetch(ctx, a.client, a.url, a.header(), object{{"model", "qwen3-coder-plus"}, {"messages", messages}, {"max_tokens", 8000}})
	if err != nil {
		return err
	}
	summary, err := readChatBody(raw)
	if err != nil {
		return err
	}
	a.summary, a.history = summary, kept
	return nil
}

// whole is the history behind the setup and the summary.
func (a *QwenCode) whole(history []message) []message {
	out := []message{
		{role: "user", text: "This is the Qwen Code. We are setting up the context for our chat.\n" + filler("Folder", 2)},
		{role: "assistant", text: "Got it. Thanks for the context!"},
	}
	if a.summary != "" {
		out = append(out, message{role: "user", text: a.summary}, message{role: "assistant", text: thanks})
	}
	return append(out, history...)
}

// tool does what a call asks and returns its result.
func (a *QwenCode) tool(c Call) string {
	var args struct {
		Todos json.RawMessage `json:"todos"`
	}
	_ = json.Unmarshal(c.Args, &args) // a call with other arguments has none of these
	if c.Name != "todo_write" {
		return "Command: go test ./...\nDirectory: (root)\nOutput: " + filler("Output of "+c.Name, 8) + "Exit Code: 0"
	}
	return "Todos have been modified successfully. Go on with them.\n\n<system-reminder>\nYour todo list has changed: \n\n" +
		string(args.Todos) + ".\n</system-reminder>"
}

// turn sends the history.
func (a *QwenCode) turn(ctx context.Context, history []message) (answer, error) {
	body := object{
		{"model", "qwen3-coder-plus"},
		{"messages", append([]object{chatSystem("You are Qwen Code, an interactive CLI agent.\n\n" + filler("How to work", 40))}, qwenForm.messages(a.whole(history))...)},
		{"stream", true},
		{"stream_options", object{{"include_usage", true}}},
		{"tools", chatTools("agent ask_user_question edit exit_plan_mode glob grep_search list_directory read_file run_shell_command todo_write write_file")},
		{"max_tokens", 8000},
	}
	return readChat(func(f func([]byte) error) error {
		return post(ctx, a.client, a.url, a.header(), body, f)
	})
}

func (a *QwenCode) header() object {
	return object{
		{"Accept", "application/json"},
		{"X-Stainless-Retry-Count", "0"},
		{"X-Stainless-Lang", "js"},
		{"authorization", "Bearer dummy"},
		{"User-Agent", "QwenCode/0.15.10 (linux; x64)"},
		{"accept-language", "*"},
	}
}
