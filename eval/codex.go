package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Codex is a scripted codex 0.171.0 with update_plan on. Its requests have the
// captured wire form; the long prompt texts are replaced. Its plan mode has no
// tool: the plan stands in an answer, and the user's yes is a text. A notice is
// that of a subagent, a message of its own before that of the user, which no
// compaction keeps.
type Codex struct {
	desk
	client  *http.Client
	url     string
	session string
	thread  string
	origin  []member // what a fork and a subagent say of where they come from
	parent  string   // the thread that started this one
	root    string   // the turn in which it did
	remote  bool
	input   []object
	asked   []object // the user's own messages, which a compaction keeps
	turn    int
	window  int
	current string // the id of the window, which a fork keeps
	items   int
}

// NewCodex returns a session that talks to the base URL. Remote is the form of
// the built-in provider, whose compaction is an opaque item; without it, that
// of a custom provider, which asks for a summary in words.
func NewCodex(client *http.Client, base, seed string, remote bool) *Codex {
	thread := derive("codex", seed)
	a := &Codex{client: client, url: base + "/v1/responses", session: thread, thread: thread, remote: remote}
	a.begin()
	return a
}

// begin opens the first window.
func (a *Codex) begin() {
	a.current = a.windowID()
	a.input = append(a.input, a.message("developer", filler("How to work", 40)))
	a.input = append(a.input, a.surroundings()...)
}

func (a *Codex) windowID() string { return derive(a.thread, "window", strconv.Itoa(a.window)) }

func (a *Codex) turnID() string { return derive(a.thread, "turn", strconv.Itoa(a.turn)) }

// Fork implements Agent: a new session and thread, which names the old thread.
func (a *Codex) Fork(seed string) Agent {
	b := *a
	b.thread = derive(a.thread, "fork", seed)
	b.session, b.parent, b.root, b.round = b.thread, "", "", 0
	b.origin = []member{{"forked_from_thread_id", a.thread}, {"forked_from_ordinal_exclusive", len(a.input)}}
	b.input, b.asked = slices.Clone(a.input), slices.Clone(a.asked)
	return &b
}

// Subagent implements Agent: a thread of its own in the same session.
func (a *Codex) Subagent(id string) Agent {
	b := &Codex{
		client: a.client, url: a.url, session: a.session, thread: derive(a.thread, "subagent", id),
		parent: a.thread, root: a.turnID(), remote: a.remote,
	}
	b.origin = []member{{"parent_thread_id", b.parent}, {"parent_turn_id", b.root}}
	b.Enter(a.world)
	b.begin()
	return b
}

// Prompt implements Agent.
func (a *Codex) Prompt(ctx context.Context, text string) error {
	at := a.due()
	a.turn++
	if notice := a.world.notice(); notice != "" {
		status := encode(object{{"agent_path", derive(a.thread, "reporter")}, {"status", object{{"completed", notice}}}})
		a.input = append(a.input, a.message("user", "<subagent_notification>\n"+string(status)+"\n</subagent_notification>"))
	}
	words := a.message("user", text)
	a.input = append(a.input, words)
	a.asked = append(a.asked, words)
	for round := range maxRounds {
		got, err := a.send(ctx, a.input, "")
		if err != nil {
			return err
		}
		if a.take(got) {
			return nil
		}
		if round+1 == at {
			if err := a.condense(ctx, "mid_turn"); err != nil {
				return err
			}
		}
	}
	return errors.New("the script of codex calls tools without end")
}

// take puts an answer and the results of its calls into the input, and reports
// whether the turn is over.
func (a *Codex) take(got answer) (ended bool) {
	if got.text != "" {
		a.input = append(a.input, a.message("assistant", got.text))
	}
	for _, c := range got.calls {
		a.input = append(a.input, object{
			{"type", "function_call"},
			{"status", "completed"},
			{"id", a.itemID("fc_")},
			{"name", c.Name},
			{"arguments", string(c.Args)},
			{"call_id", c.ID},
		})
	}
	for _, c := range got.calls {
		r := a.tool(c)
		ended = ended || r.ends
		a.input = append(a.input, object{
			{"type", "function_call_output"}, {"id", a.itemID("fco_")}, {"call_id", c.ID}, {"output", r.text},
		})
	}
	if ended {
		a.input = append(a.input, a.message("user", "<turn_aborted>\n"+filler("What may be left over", 1)+"</turn_aborted>"))
	}
	return ended || len(got.calls) == 0
}

// tool does what a call asks.
func (a *Codex) tool(c Call) result {
	switch c.Name {
	case "update_plan":
		return result{text: "Plan updated"}
	case "request_user_input":
		questions, ok := a.world.ask(c)
		if !ok {
			return result{text: "aborted by user after 2.5s", ends: true}
		}
		var answers object
		for _, q := range questions {
			said := []string{q.answer}
			if !q.listed() {
				said = []string{"None of the above", "user_note: " + q.answer}
			}
			answers = append(answers, member{q.ID, object{{"answers", said}}})
		}
		return result{text: string(encode(object{{"answers", answers}}))}
	}
	return result{text: a.world.output(c, 8)}
}

// Compact implements Agent.
func (a *Codex) Compact(ctx context.Context) error {
	if len(a.asked) == 0 {
		return errNothing
	}
	a.turn++
	return a.condense(ctx, "pre_turn")
}

// condense compacts in a phase of a turn. Only the user's own messages and the
// summary stay.
func (a *Codex) condense(ctx context.Context, phase string) error {
	ask := object{{"type", "compaction_trigger"}}
	if !a.remote {
		ask = a.message("user", codexCompactionMark+" Write a handoff summary for another LLM.\n\n"+filler("What to write", 3))
	}
	got, err := a.send(ctx, append(slices.Clip(a.input), ask), phase)
	if err != nil {
		return err
	}
	if a.remote && got.opaque == nil {
		return errors.New("the answer to a remote compaction of codex holds no compaction item")
	}
	last := len(a.asked) - 1
	next := []object{a.input[0]}
	next = append(next, a.asked[:last]...)
	next = append(next, a.surroundings()...)
	next = append(next, a.asked[last])
	if a.remote {
		next = append(next, opaqueItem(got.opaque))
	} else {
		next = append(next, a.message("user", "Another language model started to solve this problem. "+
			"Here is the summary produced by the other language model:\n"+got.text))
	}
	a.input = next
	a.window++
	a.current = a.windowID()
	return nil
}

// opaqueItem keeps a compaction item as it came.
func opaqueItem(raw json.RawMessage) object {
	var it struct {
		ID      string `json:"id"`
		Content string `json:"encrypted_content"`
	}
	_ = json.Unmarshal(raw, &it) // readResponses found it to be an object
	return object{{"type", "compaction"}, {"id", it.ID}, {"encrypted_content", it.Content}}
}

// surroundings are the blocks that codex puts into every new window.
func (a *Codex) surroundings() []object {
	return []object{
		a.message("developer", "<permissions instructions>\n"+filler("Permission", 2)+"</permissions instructions>"),
		a.message("user", "<environment_context>\n  <cwd>/srv/importer</cwd>\n  <shell>bash</shell>\n</environment_context>"),
	}
}

// message is a message item; the role decides the type of its part.
func (a *Codex) message(role, text string) object {
	part := object{{"type", "input_text"}, {"text", text}}
	if role == "assistant" {
		part = object{{"type", "output_text"}, {"text", text}, {"annotations", []string{}}}
	}
	return object{{"type", "message"}, {"id", a.itemID("msg_")}, {"role", role}, {"content", []object{part}}}
}

// itemID makes a new id: codex gives its items ids of its own.
func (a *Codex) itemID(prefix string) string {
	a.items++
	return prefix + derive(a.thread, strconv.Itoa(a.items))
}

// metadata is what codex says of a request; a phase makes it a compaction.
func (a *Codex) metadata(phase string) object {
	kind, how, source, root := "turn", "new", "user", a.turnID()
	switch {
	case a.parent != "":
		source, root = "subagent", a.root
	case a.origin != nil:
		how = "cold_fork"
	}
	if phase != "" {
		kind = "compaction"
	}
	meta := object{
		{"installation_id", derive("installation")},
		{"session_id", a.session},
		{"thread_id", a.thread},
		{"agent_name", "/root"},
		{"turn_id", a.turnID()},
		{"window_id", a.thread + ":" + strconv.Itoa(a.window)},
		{"window_number", a.window},
		{"context_window_id", a.current},
		{"request_kind", kind},
		{"history_initialization", how},
	}
	meta = append(meta, a.origin...)
	meta = append(meta, member{"root_turn_id", root})
	if a.parent != "" {
		meta = append(meta, member{"subagent_kind", "thread_spawn"})
	}
	meta = append(meta, member{"thread_source", source}, member{"turn_trigger", "exec"})
	if phase != "" {
		implementation := "responses"
		if a.remote {
			implementation = "responses_compaction_v2"
		}
		meta = append(meta, member{"compaction", object{
			{"trigger", "auto"},
			{"reason", "context_limit"},
			{"implementation", implementation},
			{"phase", phase},
			{"strategy", "memento"},
		}})
	}
	return meta
}

// send posts one request and reads the answer; a phase makes it a compaction.
func (a *Codex) send(ctx context.Context, input []object, phase string) (answer, error) {
	names, parallel := "", false
	if phase == "" || a.remote {
		names, parallel = "exec_command update_plan request_user_input apply_patch view_image", true
	}
	turnMetadata := string(encode(a.metadata(phase)))
	header := object{
		{"x-codex-beta-features", "remote_compaction_v2"},
		{"x-codex-window-id", a.thread + ":" + strconv.Itoa(a.window)},
		{"x-codex-turn-metadata", turnMetadata},
		{"x-client-request-id", a.thread},
		{"session-id", a.session},
		{"thread-id", a.thread},
		{"Accept", "text/event-stream"},
		{"authorization", "Bearer sk-dummy"},
		{"originator", "codex_exec"},
		{"User-Agent", "codex_exec/0.171.0 (Linux; x86_64)"},
	}
	about := object{{"session_id", a.session}, {"thread_id", a.thread}, {"turn_id", a.turnID()}, {"x-codex-turn-metadata", turnMetadata}}
	if a.parent != "" {
		marks := []member{{"x-codex-parent-thread-id", a.parent}, {"x-openai-subagent", "collab_spawn"}}
		header, about = append(header, marks...), append(about, marks...)
	}
	body := object{
		{"model", "gpt-5.5"},
		{"stream", true},
		{"input", input},
		{"tools", codexTools(names)},
		{"tool_choice", "auto"},
		{"parallel_tool_calls", parallel},
		{"reasoning", object{{"effort", "medium"}}},
		{"store", false},
		{"include", []string{"reasoning.encrypted_content"}},
		{"prompt_cache_key", a.session},
		{"text", object{{"verbosity", "low"}}},
		{"client_metadata", about},
	}
	return readResponses(func(f func([]byte) error) error {
		return post(ctx, a.client, a.url, header, body, f)
	})
}

// readResponses collects an answer from the events that stream hands out: the
// finished items count, as for codex.
func readResponses(stream func(func([]byte) error) error) (answer, error) {
	var got answer
	completed := false
	err := stream(func(data []byte) error {
		var e struct {
			Type string          `json:"type"`
			Item json.RawMessage `json:"item"`
		}
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("read an event of a Responses answer: %w", err)
		}
		switch e.Type {
		case "error", "response.failed", "response.incomplete":
			return fmt.Errorf("the stream ended with an error: %s", data)
		case "response.completed":
			completed = true
		case "response.output_item.done":
			return got.addItem(e.Item)
		}
		return nil
	})
	if err == nil && !completed {
		err = errors.New("the stream ended before response.completed")
	}
	return got, err
}

func (a *answer) addItem(raw json.RawMessage) error {
	var it struct {
		Type    string `json:"type"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	if err := json.Unmarshal(raw, &it); err != nil {
		return fmt.Errorf("read an item of a Responses answer: %w", err)
	}
	switch it.Type {
	case "message":
		for _, part := range it.Content {
			a.text += part.Text
		}
	case "function_call":
		a.calls = append(a.calls, Call{ID: it.CallID, Name: it.Name, Args: json.RawMessage(it.Arguments)})
	case "compaction":
		a.opaque = raw
	}
	return nil
}

func codexTools(names string) []object {
	tools := []object{}
	for name := range strings.FieldsSeq(names) {
		tools = append(tools, object{
			{"type", "function"},
			{"name", name},
			{"description", filler(name, 2)},
			{"strict", false},
			{"parameters", object{{"type", "object"}, {"properties", object{}}}},
		})
	}
	return tools
}
