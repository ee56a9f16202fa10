package eval

import (
	"context"
	"encoding/json"
	"net/http"
)

// QwenCode is a scripted qwen-code 0.15.10. It sends no id of any kind. Its
// requests have the captured wire form; the long prompt texts are replaced. A
// notice is a reminder in the message of the user, before the words.
type QwenCode struct {
	dialogue
	client *http.Client
	url    string
	bare   bool // the setup does not stand before the summary
}

// qwenForm: all texts but the model's stand in lists of parts.
var qwenForm = chatForm{toolParts: true, user: func(m message) any {
	if m.notice == "" {
		return []object{textBlock(m.text)}
	}
	return []object{reminder(m.notice), textBlock(m.text)}
}}

// thanks is what qwen-code and gemini-cli put into the model's mouth behind a
// summary.
const thanks = "Got it. Thanks for the additional context!"

// NewQwenCode returns a session that talks to the base URL.
func NewQwenCode(client *http.Client, base string) *QwenCode {
	a := &QwenCode{client: client, url: base + "/v1/chat/completions"}
	a.dialogue = dialogue{agent: "qwen-code", self: a}
	return a
}

// Prompt implements Agent.
func (a *QwenCode) Prompt(ctx context.Context, text string) error {
	a.bare = false // each prompt sets up anew
	return a.dialogue.Prompt(ctx, text)
}

// Fork implements Agent. Nothing on the wire tells of it.
func (a *QwenCode) Fork(string) Agent {
	b := *a
	b.branch(&b)
	return &b
}

// Subagent implements Agent: only the prompt texts are other ones.
func (a *QwenCode) Subagent(string) Agent { return nil }

// condense implements speaker. The bare summary takes the place of all but the
// newest turn; in the middle of that turn, of the setup too. The request for it
// is not streamed.
func (a *QwenCode) condense(ctx context.Context, middle bool) error {
	old, kept, err := a.split(middle)
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
	a.summary, a.history, a.bare = summary, kept, middle
	return nil
}

// whole is the history behind the setup and the summary.
func (a *QwenCode) whole(history []message) []message {
	var out []message
	if !a.bare {
		out = append(
			out,
			message{role: "user", text: "This is the Qwen Code. We are setting up the context for our chat.\n" + filler("Folder", 2)},
			message{role: "assistant", text: "Got it. Thanks for the context!"},
		)
	}
	if a.summary != "" {
		out = append(out, message{role: "user", text: a.summary}, message{role: "assistant", text: thanks})
	}
	return append(out, history...)
}

// tool implements speaker.
func (a *QwenCode) tool(c Call) result {
	const cancelled = "[Operation Cancelled] Reason: User did not allow tool call"
	var args struct {
		Todos json.RawMessage `json:"todos"`
		Plan  string          `json:"plan"`
	}
	_ = json.Unmarshal(c.Args, &args) // a call with other arguments has none of these
	switch c.Name {
	case "todo_write":
		return result{text: "Todos have been modified successfully. Go on with them.\n\n<system-reminder>\nYour todo list has changed: \n\n" +
			string(args.Todos) + ".\n</system-reminder>"}
	case "ask_user_question":
		questions, ok := a.world.ask(c)
		if !ok {
			return result{text: cancelled, failed: true, ends: true}
		}
		text := "User has provided the following answers:\n"
		for _, q := range questions {
			text += "\n**" + q.Header + "**: " + q.answer
		}
		return result{text: text}
	case "exit_plan_mode":
		if ok, words := a.world.approve(args.Plan); !ok {
			return refused(cancelled, words)
		}
		return result{text: "User has approved your plan. You can now start coding."}
	}
	return result{text: "Command: go test ./...\nDirectory: (root)\nOutput: " + a.world.output(c, 8) + "Exit Code: 0"}
}

// turn implements speaker. The real agent offers ask_user_question and
// exit_plan_mode only in a terminal.
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
