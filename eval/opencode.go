package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
)

// OpenCode is a scripted opencode 1.18.33 at a provider of Chat Completions. Its
// requests have the captured wire form; the long prompt texts are replaced. A
// notice is a reminder in the message of the user, behind the words.
type OpenCode struct {
	dialogue
	client  *http.Client
	url     string
	session string
	parent  string // the session that started this one
}

// openCodeForm: texts are bare but for those with a reminder, an answer of calls
// alone has an empty one.
var openCodeForm = chatForm{silent: "", user: func(m message) any {
	if m.notice == "" {
		return m.text
	}
	return []object{textBlock(m.text), reminder(m.notice)}
}}

// openCodeFolder is where the session works.
const openCodeFolder = "/srv/importer/"

// NewOpenCode returns a session that talks to the base URL.
func NewOpenCode(client *http.Client, base, seed string) *OpenCode {
	a := &OpenCode{
		client: client, url: base + "/v1/chat/completions",
		session: openCodeID("opencode", seed),
	}
	a.dialogue = dialogue{agent: "opencode", self: a}
	return a
}

func openCodeID(words ...string) string {
	return "ses_" + strings.ReplaceAll(derive(words...), "-", "")[:26]
}

// Fork implements Agent: a new session, which does not name the old one.
func (a *OpenCode) Fork(seed string) Agent {
	b := *a
	b.session, b.parent = openCodeID(a.session, "fork", seed), ""
	b.branch(&b)
	return &b
}

// Subagent implements Agent: a session of its own, which names its parent.
func (a *OpenCode) Subagent(id string) Agent {
	b := &OpenCode{client: a.client, url: a.url, session: openCodeID(a.session, "subagent", id), parent: a.session}
	b.dialogue = dialogue{agent: a.agent, self: b}
	b.Enter(a.world)
	return b
}

// condense implements speaker. Nothing but the summary stays, in the assistant's
// role, behind a question that nobody asked; the middle of a turn goes on with a
// text that nobody typed.
func (a *OpenCode) condense(ctx context.Context, middle bool) error {
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
	if middle {
		a.history = []message{{role: "user", text: "Continue if you have next steps, or stop and ask for clarification if you are unsure how to proceed."}}
	}
	return nil
}

// quote is the history in words: a call and its result on lines of their own.
func (a *OpenCode) quote() string {
	var out []string
	for _, m := range a.history {
		switch {
		case m.role == "user":
			said := "[User]: " + m.text
			if m.notice != "" {
				said += "\n<system-reminder>\n" + m.notice + "\n</system-reminder>"
			}
			out = append(out, said)
		case m.role == "tool":
			label := "[Tool result]: "
			if m.failed {
				label = "[Tool error]: "
			}
			out[len(out)-1] += "\n[Assistant tool call]: " + m.call.Name + "(" + string(m.call.Args) + ")\n" + label + m.text
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

// tool implements speaker.
func (a *OpenCode) tool(c Call) result {
	var args struct {
		Todos   json.RawMessage `json:"todos"`
		Path    string          `json:"filePath"`
		Content string          `json:"content"`
	}
	_ = json.Unmarshal(c.Args, &args) // a call with other arguments has none of these
	switch c.Name {
	case "todowrite":
		var b bytes.Buffer
		_ = json.Indent(&b, args.Todos, "", "  ") // it was just read as JSON
		return result{text: b.String()}
	case "question":
		questions, _ := a.world.ask(c)
		for i := range questions {
			if questions[i].answer == "" {
				questions[i].answer = "Unanswered"
			}
		}
		return result{text: "User has answered your questions: " + pairs(questions) + ". You can now continue with the user's answers in mind."}
	case "plan_exit":
		ok, words := a.world.approve(a.plan.text)
		if !ok {
			return refused("The user dismissed this question", words)
		}
		return result{text: "User approved switching to build agent. Wait for further instructions.", behind: []message{{
			role:   "user",
			text:   "The plan at " + strings.TrimPrefix(a.plan.path, openCodeFolder) + " has been approved, you can now edit files. Execute the plan",
			notice: "Your operational mode has changed from plan to build.",
		}}}
	case "write":
		if _, ok := a.write(args.Path, args.Content); ok {
			return result{text: "Wrote file successfully."}
		}
	}
	return result{text: a.world.output(c, 8)}
}

// turn implements speaker. A subagent has no list of steps and nobody to ask.
// The real agent offers plan_exit only while it plans.
func (a *OpenCode) turn(ctx context.Context, history []message) (answer, error) {
	messages := []object{chatSystem("You are opencode, an interactive CLI tool.\n\n" + filler("How to work", 40))}
	if a.summary != "" {
		history = append([]message{{role: "user", text: "What did we do so far?"}, {role: "assistant", text: a.summary}}, history...)
	}
	tools := "bash edit glob grep plan_exit question read skill task todowrite webfetch write"
	if a.parent != "" {
		tools = "bash edit glob grep read skill webfetch write"
	}
	return a.post(ctx, object{
		{"messages", append(messages, openCodeForm.messages(history)...)},
		{"tools", chatTools(tools)},
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
	if a.parent != "" {
		header = append(header, member{"x-parent-session-id", a.parent})
	}
	body := append(object{{"model", "qwen3-coder"}, {"max_tokens", 8000}}, middle...)
	body = append(body, member{"stream", true}, member{"stream_options", object{{"include_usage", true}}})
	return readChat(func(f func([]byte) error) error {
		return post(ctx, a.client, a.url, header, body, f)
	})
}
