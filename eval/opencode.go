package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
)

// OpenCode is a scripted opencode 1.18.33 at a provider of Chat Completions. Its
// requests have the captured wire form; the long prompt texts are replaced.
type OpenCode struct {
	dialogue
	client  *http.Client
	url     string
	session string
}

// openCodeForm: texts are bare, an answer of calls alone has an empty one.
var openCodeForm = chatForm{silent: ""}

// NewOpenCode returns a session that talks to the base URL.
func NewOpenCode(client *http.Client, base, seed string) *OpenCode {
	a := &OpenCode{
		client: client, url: base + "/v1/chat/completions",
		session: "ses_" + strings.ReplaceAll(derive("opencode", seed), "-", "")[:26],
	}
	a.dialogue = dialogue{agent: "opencode", send: a.turn, run: a.tool}
	return a
}

// Compact implements Agent. Nothing but the summary stays, in the assistant's
// role, behind a question that nobody asked.
func (a *OpenCode) Compact(ctx context.Context) error {
	if len(a.history) < 2 {
		return errNothing
	}
	ask := openCodeMark + "\n\n<conversation>\n" + a.quote() + "\n</conversation>\n\n"
	if a.summary == "" {
		ask += "Create a new anchored summary from the conversation history in the <conversation> tags above.\n\n" + filler("What to write", 3)
	} else {
		ask += "Here is the summary of the conversation before the <conversation> above:\n\n<prior-summary>\n" + a.summary +
			"\n</prior-summary>\n\n" + filler("What to write", 3)
	}
	got, err := a.post(ctx, object{{"messages", []object{
		chatSystem("You are a context summarization agent.\n\n" + filler("How to summarize", 3)),
		{{"role", "user"}, {"content", ask}},
	}}})
	if err != nil {
		return err
	}
	a.summary, a.history = got.text, nil
	return nil
}

// quote is the history in words: a call and its result on lines of their own.
func (a *OpenCode) quote() string {
	var out []string
	for _, m := range a.history {
		switch {
		case m.role == "user":
			out = append(out, "[User]: "+m.text)
		case m.role == "tool":
			out[len(out)-1] += "\n[Assistant tool call]: " + m.call.Name + "(" + string(m.call.Args) + ")\n[Tool result]: " + m.text
		case m.text == "":
			out = append(out, "")
		default:
			out = append(out, "[Assistant]: "+m.text)
		}
	}
	for i := range out {
		out[i] = strings.TrimPrefix(out[i], "\n")
	}
	return strings.Join(out, "\n\n")
}

// tool does what a call asks and returns its result.
func (a *OpenCode) tool(c Call) string {
	var args struct {
		Todos json.RawMessage `json:"todos"`
	}
	_ = json.Unmarshal(c.Args, &args) // a call with other arguments has none of these
	if c.Name != "todowrite" {
		return filler("Output of "+c.Name, 8)
	}
	var b bytes.Buffer
	_ = json.Indent(&b, args.Todos, "", "  ") // it was just read as JSON
	return b.String()
}

// turn sends the history.
func (a *OpenCode) turn(ctx context.Context, history []message) (answer, error) {
	messages := []object{chatSystem("You are opencode, an interactive CLI tool.\n\n" + filler("How to work", 40))}
	if a.summary != "" {
		history = append([]message{{role: "user", text: "What did we do so far?"}, {role: "assistant", text: a.summary}}, history...)
	}
	return a.post(ctx, object{
		{"messages", append(messages, openCodeForm.messages(history)...)},
		{"tools", chatTools("bash edit glob grep question read skill task todowrite webfetch write")},
		{"tool_choice", "auto"},
	})
}

func (a *OpenCode) post(ctx context.Context, middle object) (answer, error) {
	header := object{
		{"Authorization", "Bearer dummy"},
		{"User-Agent", "opencode/1.18.33 ai-sdk/provider-utils/4.0.23 runtime/bun/1.3.14"},
		{"x-session-affinity", a.session},
		{"x-session-id", a.session},
		{"Accept", "*/*"},
	}
	body := append(object{{"model", "qwen3-coder"}, {"max_tokens", 8000}}, middle...)
	body = append(body, member{"stream", true}, member{"stream_options", object{{"include_usage", true}}})
	return readChat(func(f func([]byte) error) error {
		return post(ctx, a.client, a.url, header, body, f)
	})
}
