package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// ClaudeCode is a scripted claude-code. Its requests have the wire form of the
// two captured versions; the long prompt texts are replaced. A notice is a
// reminder in the message of the user, before the words.
type ClaudeCode struct {
	desk
	client   *http.Client
	url      string
	session  string
	agent    string // the id of a subagent
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

// Fork implements Agent: a new session with the full history.
func (a *ClaudeCode) Fork(seed string) Agent {
	b := *a
	b.session, b.round = derive(a.session, "fork", seed), 0
	b.history = slices.Clone(a.history)
	for i, m := range b.history {
		b.history[i].content = slices.Clone(m.content)
	}
	return &b
}

// Subagent implements Agent: the same session, with the id of the agent.
func (a *ClaudeCode) Subagent(id string) Agent {
	b := &ClaudeCode{
		client: a.client, url: a.url, session: a.session, deferred: a.deferred,
		agent: "a" + strings.ReplaceAll(derive(a.session, "subagent", id), "-", "")[:16],
	}
	b.Enter(a.world)
	return b
}

// Prompt implements Agent.
func (a *ClaudeCode) Prompt(ctx context.Context, text string) error {
	at := a.due()
	var blocks []object
	if len(a.history) == 0 {
		blocks = a.opening()
	}
	if notice := a.world.notice(); notice != "" {
		blocks = append(blocks, reminder(notice))
	}
	a.say("user", append(blocks, textBlock(text))...)
	for round := range maxRounds {
		got, err := a.send(ctx, a.history)
		if err != nil {
			return err
		}
		if got.text == "" && len(got.calls) == 0 {
			return errors.New("the script of claude-code has an answer without text and without calls")
		}
		if a.take(got) {
			return nil
		}
		if round+1 == at {
			if err := a.condense(ctx, true); err != nil {
				return err
			}
		}
	}
	return errors.New("the script of claude-code calls tools without end")
}

// take puts an answer and the results of its calls into the history, and reports
// whether the turn is over.
func (a *ClaudeCode) take(got answer) (ended bool) {
	var said, results, behind []object
	if got.text != "" {
		said = append(said, textBlock(got.text))
	}
	for _, c := range got.calls {
		r := a.tool(c)
		said = append(said, object{{"type", "tool_use"}, {"id", c.ID}, {"name", c.Name}, {"input", a.input(c)}})
		if a.deferred && r.behind == nil {
			r.text += "\n\n" + claudeTokens
		}
		results = append(results, claudeResult(c, r))
		for _, m := range r.behind {
			behind = append(behind, textBlock(m.text))
		}
		ended = ended || r.ends
	}
	a.say("assistant", said...)
	if ended {
		behind = append(behind, textBlock("[Request interrupted by user for tool use]"))
	}
	a.say("user", append(results, behind...)...)
	return ended || len(results) == 0
}

// input is a call's input as it stands in the history. In 2.1.332 the agent adds
// the plan that it shows.
func (a *ClaudeCode) input(c Call) any {
	if c.Name == "ExitPlanMode" && a.deferred && a.plan.path != "" {
		return object{{"plan", a.plan.text}, {"planFilePath", a.plan.path}}
	}
	return c.Args
}

// Compact implements Agent.
func (a *ClaudeCode) Compact(ctx context.Context) error {
	if err := a.condense(ctx, false); err != nil {
		return err
	}
	a.say(
		"user",
		textBlock("<command-name>/compact</command-name>\n            <command-message>compact</command-message>\n"),
		textBlock("<local-command-stdout>Compacted</local-command-stdout>\n"),
	)
	return nil
}

// condense compacts. The last answer of the model, with the results of its calls,
// is kept beside the summary and is not in the compaction request, but for the
// middle of a turn in 2.1.332.
func (a *ClaudeCode) condense(ctx context.Context, middle bool) error {
	if len(a.history) < 2 {
		return errNothing
	}
	at := len(a.history) - 1
	if a.history[at].role == "user" {
		at--
	}
	kept := a.history[at:]
	request := slices.Clone(a.history[:at])
	if middle && a.deferred {
		request = slices.Clone(a.history)
	}
	last := &request[len(request)-1]
	last.content = append(slices.Clone(last.content),
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
	for _, m := range kept {
		a.say(m.role, m.content...)
	}
	again := a.opening()
	if a.plan.path != "" {
		again = append([]object{reminder("A plan file exists from plan mode at: " + a.plan.path + "\n\nPlan contents:\n\n" + a.plan.text)}, again...)
	}
	if middle && !a.deferred {
		// What comes again stands in the text of the last result.
		content := a.history[len(a.history)-1].content
		content[len(content)-1] = lengthened(content[len(content)-1], again)
		return nil
	}
	a.say("user", again...)
	return nil
}

// lengthened puts texts behind that of a block.
func lengthened(block object, texts []object) object {
	block = slices.Clone(block)
	for i, m := range block {
		if text, ok := m.value.(string); ok && (m.name == "content" || m.name == "text") {
			for _, t := range texts {
				text += "\n\n" + t[1].value.(string)
			}
			block[i].value = text
		}
	}
	return block
}

// claudeTokens is what 2.1.332 tells the model behind results.
const claudeTokens = "<system-reminder>\n<total_tokens>14999913 tokens left</total_tokens>\n</system-reminder>"

// claudeResult writes a result. Those of questions and plans, which alone can
// fail here, have their members in another order.
func claudeResult(c Call, r result) object {
	switch {
	case r.failed:
		return object{{"type", "tool_result"}, {"content", r.text}, {"is_error", true}, {"tool_use_id", c.ID}}
	case c.Name == "AskUserQuestion", c.Name == "ExitPlanMode":
		return object{{"type", "tool_result"}, {"content", r.text}, {"tool_use_id", c.ID}}
	}
	return object{{"tool_use_id", c.ID}, {"type", "tool_result"}, {"content", r.text}}
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
	if len(blocks) == 0 {
		return
	}
	if n := len(a.history); n > 0 && a.history[n-1].role == role {
		a.history[n-1].content = append(a.history[n-1].content, blocks...)
		return
	}
	a.history = append(a.history, claudeMessage{role, slices.Clone(blocks)})
}

// tool does what a call asks.
func (a *ClaudeCode) tool(c Call) result {
	const no = "The user doesn't want to proceed with this tool use. The tool use was rejected. "
	var args struct {
		Subject string `json:"subject"`
		TaskID  string `json:"taskId"`
		Path    string `json:"file_path"`
		Content string `json:"content"`
	}
	_ = json.Unmarshal(c.Args, &args) // a call with other arguments has none of these
	switch c.Name {
	case "TaskCreate":
		a.tasks++
		return result{text: fmt.Sprintf("Task #%d created successfully: %s", a.tasks, args.Subject)}
	case "TaskUpdate":
		return result{text: fmt.Sprintf("Updated task #%s status", args.TaskID)}
	case "AskUserQuestion":
		questions, ok := a.world.ask(c)
		switch unlisted := func(q question) bool { return !q.listed() }; {
		case !ok:
			return result{text: no + "STOP what you are doing and wait for the user to tell you how to proceed.", failed: true, ends: true}
		case a.deferred && slices.ContainsFunc(questions, unlisted):
			return result{text: "The user answered: " + pairs(questions) + ". Read the answers carefully."}
		default:
			return result{text: "Your questions have been answered: " + pairs(questions) + ". You can now continue with these answers in mind."}
		}
	case "ExitPlanMode":
		return a.show(no)
	case "Write":
		switch again, ok := a.write(args.Path, args.Content); {
		case again:
			return result{text: "The file " + args.Path + " has been updated successfully."}
		case ok:
			return result{text: "File created successfully at: " + args.Path}
		}
	}
	return result{text: a.world.output(c, 8)}
}

// show asks the person for the word on the plan.
func (a *ClaudeCode) show(no string) result {
	ok, words := a.world.approve(a.plan.text)
	switch {
	case !ok && words == "":
		return result{text: no + "STOP what you are doing and wait for the user to tell you how to proceed.", failed: true, ends: true}
	case !ok:
		return result{text: no + "To tell you how to proceed, the user said:\n" + words, failed: true}
	}
	heading := "## Approved Plan:"
	if !a.deferred {
		heading = "## Approved Plan (edited by user):" // though nobody did
	}
	r := result{text: "User has approved your plan. You can now start coding.\n\nYour plan has been saved to: " + a.plan.path + "\n\n" + heading + "\n" + a.plan.text}
	if words != "" {
		r.behind = []message{{text: words}}
	}
	return r
}

// opening is what stands before the first words of the user.
func (a *ClaudeCode) opening() []object {
	blocks := []object{
		reminder("Available agent types:\n" + filler("Agent", 2)),
		reminder("The following skills are available:\n" + filler("Skill", 4)),
	}
	if a.deferred {
		blocks = append(blocks, reminder("The following deferred tools are now available via ToolSearch.\n"+
			"ExitPlanMode\nTaskCreate\nTaskGet\nTaskList\nTaskUpdate"))
	}
	return blocks
}

// send posts one request and reads the answer. The real agent offers
// AskUserQuestion and ExitPlanMode only in a terminal.
func (a *ClaudeCode) send(ctx context.Context, history []claudeMessage) (answer, error) {
	messages := make([]object, len(history))
	for i, m := range history {
		messages[i] = object{{"role", m.role}, {"content", claudeContent(m.content, i == len(history)-1)}}
	}
	names, version, betas := "Agent AskUserQuestion Bash Edit ExitPlanMode Read TaskCreate TaskGet TaskList TaskUpdate Write", "2.1.197", "claude-code-20250219,interleaved-thinking-2025-05-14"
	if a.deferred {
		names, version, betas = "Agent AskUserQuestion Bash Edit Read ToolSearch Write", "2.1.332", betas+",advanced-tool-use-2025-11-20"
	}
	billing, role := " cc_entrypoint=sdk-cli; ", "You are a coding agent."
	if a.agent != "" { // whom nobody can ask
		names = strings.Replace(strings.Replace(names, "AskUserQuestion ", "", 1), "ExitPlanMode ", "", 1)
		billing, role = " cc_entrypoint=sdk-cli; cc_is_subagent=true;", "You are an agent for Claude Code."
	}
	userID := encode(object{{"device_id", strings.ReplaceAll(derive("device"), "-", "")}, {"account_uuid", ""}, {"session_id", a.session}})
	body := object{
		{"model", "claude-sonnet-4-5"},
		{"messages", messages},
		{"system", []object{
			{{"type", "text"}, {"text", "x-anthropic-billing-header: cc_version=" + version + ".8e7;" + billing}},
			cached(textBlock(role)),
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
	if a.agent != "" {
		header = append(header, member{"x-claude-code-agent-id", a.agent})
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
