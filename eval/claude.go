package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// ClaudeCode is a scripted claude-code. Its requests have the wire form of the
// two captured versions; the long prompt texts are replaced.
type ClaudeCode struct {
	client   *http.Client
	url      string
	session  string
	deferred bool
	history  []claudeMessage
	tasks    int
}

// claudeMessage is one message; content holds blocks.
type claudeMessage struct {
	role    string
	content []object
}

// NewClaudeCode returns a session that talks to the base URL. Deferred is the
// form of version 2.1.332, where the Task tools are not among the tools of a
// request; without it, that of 2.1.197.
func NewClaudeCode(client *http.Client, base, seed string, deferred bool) *ClaudeCode {
	return &ClaudeCode{
		client: client, url: base + "/v1/messages?beta=true",
		session: derive("claude-code", seed), deferred: deferred,
	}
}

// Prompt implements Agent.
func (a *ClaudeCode) Prompt(ctx context.Context, text string) error {
	var blocks []object
	if len(a.history) == 0 {
		blocks = a.opening()
	}
	a.say("user", append(blocks, textBlock(text))...)
	for range maxRounds {
		got, err := a.send(ctx, a.history)
		if err != nil {
			return err
		}
		if got.text == "" && len(got.calls) == 0 {
			return errors.New("the script of claude-code has an answer without text and without calls")
		}
		var said, results []object
		if got.text != "" {
			said = append(said, textBlock(got.text))
		}
		for _, c := range got.calls {
			said = append(said, object{{"type", "tool_use"}, {"id", c.ID}, {"name", c.Name}, {"input", c.Args}})
			results = append(results, object{{"tool_use_id", c.ID}, {"type", "tool_result"}, {"content", a.run(c)}})
		}
		a.say("assistant", said...)
		if len(results) == 0 {
			return nil
		}
		a.say("user", results...)
	}
	return errors.New("the script of claude-code calls tools without end")
}

// Compact implements Agent. The last text of the model is kept beside the
// summary and is not in the compaction request, as captured.
func (a *ClaudeCode) Compact(ctx context.Context) error {
	if len(a.history) < 2 {
		return errNothing
	}
	kept := a.history[len(a.history)-1]
	request := append([]claudeMessage(nil), a.history[:len(a.history)-1]...)
	last := &request[len(request)-1]
	last.content = append(append([]object(nil), last.content...),
		textBlock(claudeCompactionMark+"\n\nWrite an <analysis> block followed by a <summary> block.\n\n"+filler("How to summarize", 6)))
	got, err := a.send(ctx, request)
	if err != nil {
		return err
	}
	a.history = nil
	a.say("user",
		reminder("As you answer, you can use this context:\n"+filler("Context", 1)),
		textBlock("This session is being continued from a previous conversation that ran out of context. "+
			"The summary below covers the earlier portion of the conversation.\n\n"+claudeSummary(got.text)+
			"\n\nThe whole of it is in a file.\nContinue the conversation from where it left off, as if nothing had happened."))
	a.say(kept.role, kept.content...)
	a.say("user", append(a.opening(),
		textBlock("<command-name>/compact</command-name>\n            <command-message>compact</command-message>\n"),
		textBlock("<local-command-stdout>Compacted</local-command-stdout>\n"))...)
	return nil
}

// claudeSummary is what the agent makes of a summary: the analysis is cut out,
// the tags of the summary become a heading, all else stays.
func claudeSummary(text string) string {
	if before, rest, ok := strings.Cut(text, "<analysis>"); ok {
		if _, after, ok := strings.Cut(rest, "</analysis>"); ok {
			text = before + after
		}
	}
	if before, rest, ok := strings.Cut(text, "<summary>"); ok {
		if inside, after, ok := strings.Cut(rest, "</summary>"); ok {
			text = before + "Summary:\n" + strings.TrimSpace(inside) + after
		}
	}
	return strings.TrimSpace(text)
}

// say appends a message; the same role twice in a row is one message.
func (a *ClaudeCode) say(role string, blocks ...object) {
	if n := len(a.history); n > 0 && a.history[n-1].role == role {
		a.history[n-1].content = append(a.history[n-1].content, blocks...)
		return
	}
	a.history = append(a.history, claudeMessage{role, blocks})
}

// run does what a tool call asks and returns its result.
func (a *ClaudeCode) run(c Call) string {
	var args struct {
		Subject string `json:"subject"`
		TaskID  string `json:"taskId"`
		Status  string `json:"status"`
	}
	_ = json.Unmarshal(c.Args, &args) // a call with other arguments has none of these
	result := filler("Output of "+c.Name, 8)
	switch c.Name {
	case "TaskCreate":
		a.tasks++
		result = fmt.Sprintf("Task #%d created successfully: %s", a.tasks, args.Subject)
	case "TaskUpdate":
		result = fmt.Sprintf("Updated task #%s status", args.TaskID)
	}
	if a.deferred {
		result += "\n\n<system-reminder>\n<total_tokens>14999913 tokens left</total_tokens>\n</system-reminder>"
	}
	return result
}

// opening is what stands before the first words of the user.
func (a *ClaudeCode) opening() []object {
	blocks := []object{
		reminder("Available agent types:\n" + filler("Agent", 2)),
		reminder("The following skills are available:\n" + filler("Skill", 4)),
	}
	if a.deferred {
		blocks = append(blocks, reminder("The following deferred tools are now available via ToolSearch.\n"+
			"TaskCreate\nTaskGet\nTaskList\nTaskUpdate"))
	}
	return blocks
}

// send posts one request and reads the answer.
func (a *ClaudeCode) send(ctx context.Context, history []claudeMessage) (answer, error) {
	messages := make([]object, len(history))
	for i, m := range history {
		messages[i] = object{{"role", m.role}, {"content", claudeContent(m.content, i == len(history)-1)}}
	}
	names, version, betas := "Agent Bash Edit Read TaskCreate TaskGet TaskList TaskUpdate Write", "2.1.197", "claude-code-20250219,interleaved-thinking-2025-05-14"
	if a.deferred {
		names, version, betas = "Agent Bash Edit Read ToolSearch Write", "2.1.332", betas+",advanced-tool-use-2025-11-20"
	}
	userID := encode(object{{"device_id", strings.ReplaceAll(derive("device"), "-", "")}, {"account_uuid", ""}, {"session_id", a.session}})
	body := object{
		{"model", "claude-sonnet-4-5"},
		{"messages", messages},
		{"system", []object{
			{{"type", "text"}, {"text", "x-anthropic-billing-header: cc_version=" + version + ".8e7; cc_entrypoint=sdk-cli; "}},
			cached(textBlock("You are a coding agent.")),
			cached(textBlock(filler("How to work", 40))),
		}},
		{"tools", claudeTools(names)},
		{"metadata", object{{"user_id", string(userID)}}},
		{"max_tokens", 32000},
		{"thinking", object{{"budget_tokens", 31999}, {"type", "enabled"}}},
		{"context_management", object{{"edits", []object{{{"type", "clear_thinking_20251015"}, {"keep", "all"}}}}}},
		{"stream", true},
	}
	header := object{
		{"Accept", "application/json"},
		{"User-Agent", "claude-cli/" + version + " (external, sdk-cli)"},
		{"X-Claude-Code-Session-Id", a.session},
		{"X-Stainless-Lang", "js"},
		{"X-Stainless-Retry-Count", "0"},
		{"anthropic-beta", betas},
		{"anthropic-dangerous-direct-browser-access", "true"},
		{"anthropic-version", "2023-06-01"},
		{"x-api-key", "sk-ant-dummy"},
		{"x-app", "cli"},
	}
	return readMessages(func(f func([]byte) error) error {
		return post(ctx, a.client, a.url, header, body, f)
	})
}

// readMessages collects an answer from the events that stream hands out.
func readMessages(stream func(func([]byte) error) error) (answer, error) {
	var got answer
	var args strings.Builder
	stopped := false
	err := stream(func(data []byte) error {
		var e struct {
			Type         string `json:"type"`
			ContentBlock Call   `json:"content_block"`
			Delta        struct {
				Text    string `json:"text"`
				Partial string `json:"partial_json"`
			} `json:"delta"`
		}
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("read an event of a Messages answer: %w", err)
		}
		switch e.Type {
		case "error":
			return fmt.Errorf("the stream ended with an error: %s", data)
		case "content_block_start":
			args.Reset()
			if c := e.ContentBlock; c.ID != "" {
				c.Args = json.RawMessage("{}") // until its pieces come
				got.calls = append(got.calls, c)
			}
		case "content_block_delta":
			got.text += e.Delta.Text
			args.WriteString(e.Delta.Partial)
		case "content_block_stop":
			if args.Len() > 0 {
				got.calls[len(got.calls)-1].Args = json.RawMessage(args.String())
			}
		case "message_stop":
			stopped = true
		}
		return nil
	})
	if err == nil && !stopped {
		err = errors.New("the stream ended before message_stop")
	}
	return got, err
}

// claudeContent writes the blocks of a message. The cache mark stands on the
// last block of the last message; without it, a lone text is a bare string.
func claudeContent(blocks []object, last bool) any {
	if last {
		out := append([]object(nil), blocks...)
		out[len(out)-1] = cached(out[len(out)-1])
		return out
	}
	if len(blocks) == 1 && blocks[0][0].value == "text" {
		return blocks[0][1].value
	}
	return blocks
}

func claudeTools(names string) []object {
	var tools []object
	for name := range strings.FieldsSeq(names) {
		tools = append(tools, object{
			{"name", name},
			{"description", filler(name, 2)},
			{"input_schema", object{{"type", "object"}, {"properties", object{}}}},
		})
	}
	return tools
}

func textBlock(text string) object { return object{{"type", "text"}, {"text", text}} }

func reminder(text string) object {
	return textBlock("<system-reminder>\n" + text + "\n</system-reminder>")
}

func cached(block object) object {
	return append(block[:len(block):len(block)], member{"cache_control", object{{"type", "ephemeral"}}})
}
