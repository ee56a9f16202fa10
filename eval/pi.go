package eval

import (
	"context"
	"net/http"
	"strconv"
)

// Pi is a scripted pi 0.74.2. It has no plan tool: what a compaction can lose is
// the words of the user. Its requests have the captured wire form; the long
// prompt texts are replaced. It never puts a notice before a prompt.
type Pi struct {
	dialogue
	client    *http.Client
	base      string
	session   string
	responses bool
}

// piForm: the user's texts stand in lists of parts.
var piForm = chatForm{contentFirst: true, user: func(m message) any { return []object{textBlock(m.text)} }}

// NewPi returns a session that talks to the base URL in the Responses protocol,
// where turns carry the session's id, or in Chat Completions, where nothing does.
func NewPi(client *http.Client, base, seed string, responses bool) *Pi {
	a := &Pi{client: client, base: base, session: derive("pi", seed), responses: responses}
	a.dialogue = dialogue{agent: "pi", self: a, late: true}
	return a
}

// Fork implements Agent. Nothing on the wire tells of it.
func (a *Pi) Fork(string) Agent {
	b := *a
	b.branch(&b)
	return &b
}

// Subagent implements Agent: pi has none.
func (a *Pi) Subagent(string) Agent { return nil }

// tool implements speaker.
func (a *Pi) tool(c Call) result { return result{text: a.world.output(c, 8)} }

// condense implements speaker. The request for the summary carries no id, and
// the history in words. The summary takes the place of all but the newest turn.
func (a *Pi) condense(ctx context.Context, middle bool) error {
	old, kept, err := a.split(middle)
	if err != nil {
		return err
	}
	ask := piMark + "\n" + quote(old, "Assistant", func(text string) string { return text }) + "\n</conversation>\n\n"
	if a.summary == "" {
		ask += piMarkBehind + " a conversation to summarize. " + filler("What to write", 3)
	} else {
		ask += "<previous-summary>\n" + a.summary + "\n</previous-summary>\n\n" +
			piMarkBehind + " NEW conversation messages to incorporate into the existing summary. " + filler("What to write", 3)
	}
	got, err := a.post(ctx, "You are a context summarization assistant.\n\n"+filler("How to summarize", 3), []message{{role: "user", text: ask}}, false)
	if err != nil {
		return err
	}
	a.summary, a.history = got.text, kept
	return nil
}

// turn implements speaker.
func (a *Pi) turn(ctx context.Context, history []message) (answer, error) {
	if a.summary != "" {
		history = append([]message{{role: "user", text: "The conversation history before this point was compacted into the following summary:\n\n" +
			"<summary>\n" + a.summary + "\n</summary>"}}, history...)
	}
	return a.post(ctx, "You are operating inside pi, a coding agent harness.\n\n"+filler("How to work", 10), history, true)
}

// post sends one request; only a turn has tools and, in Responses, the id.
func (a *Pi) post(ctx context.Context, system string, history []message, turn bool) (answer, error) {
	const names = "read bash edit write"
	header := object{
		{"accept", "application/json"},
		{"authorization", "Bearer dummy"},
		{"User-Agent", "OpenAI/JS 6.26.0"},
		{"x-stainless-lang", "js"},
		{"x-stainless-retry-count", "0"},
		{"accept-language", "*"},
	}
	if !a.responses {
		body := object{
			{"model", "glm-4.6"},
			{"messages", append([]object{chatSystem(system)}, piForm.messages(history)...)},
			{"stream", true},
			{"stream_options", object{{"include_usage", true}}},
			{"store", false},
			{"max_completion_tokens", 8000},
		}
		if turn {
			body = append(body, member{"tools", chatTools(names, member{"strict", false})})
		}
		return readChat(func(f func([]byte) error) error {
			return post(ctx, a.client, a.base+"/v1/chat/completions", header, body, f)
		})
	}
	body := object{{"model", "gpt-5.5"}, {"input", append([]object{chatSystem(system)}, piInput(history)...)}, {"stream", true}}
	if turn {
		header = append(header, member{"session_id", a.session}, member{"x-client-request-id", a.session})
		body = append(body, member{"prompt_cache_key", a.session})
	}
	body = append(body, member{"store", false}, member{"max_output_tokens", 8000})
	if turn {
		body = append(body, member{"tools", codexTools(names)})
	}
	return readResponses(func(f func([]byte) error) error {
		return post(ctx, a.client, a.base+"/v1/responses", header, body, f)
	})
}

// piInput writes a history as items of the Responses protocol.
func piInput(history []message) []object {
	var out []object
	for i, m := range history {
		switch m.role {
		case "user":
			out = append(out, object{{"role", "user"}, {"content", []object{{{"type", "input_text"}, {"text", m.text}}}}})
		case "tool":
			out = append(out, object{{"type", "function_call_output"}, {"call_id", m.call.ID}, {"output", m.text}})
		default:
			if m.text != "" {
				out = append(out, object{
					{"type", "message"},
					{"role", "assistant"},
					{"content", []object{{{"type", "output_text"}, {"text", m.text}, {"annotations", []string{}}}}},
					{"status", "completed"},
					{"id", "msg_" + strconv.Itoa(i)},
				})
			}
			for _, c := range m.calls {
				out = append(out, object{
					{"type", "function_call"}, {"id", "fc_" + c.ID}, {"call_id", c.ID}, {"name", c.Name}, {"arguments", string(c.Args)},
				})
			}
		}
	}
	return out
}
