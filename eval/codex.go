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
// captured wire form; the long prompt texts are replaced.
type Codex struct {
	client *http.Client
	url    string
	thread string
	remote bool
	input  []object
	asked  []object // the user's own messages, which a compaction keeps
	turn   int
	window int
	items  int
}

// NewCodex returns a session that talks to the base URL. Remote is the form of
// the built-in provider, whose compaction is an opaque item; without it, that
// of a custom provider, which asks for a summary in words.
func NewCodex(client *http.Client, base, seed string, remote bool) *Codex {
	a := &Codex{client: client, url: base + "/v1/responses", thread: derive("codex", seed), remote: remote}
	a.input = append(a.input, a.message("developer", filler("How to work", 40)))
	a.input = append(a.input, a.surroundings()...)
	return a
}

// Prompt implements Agent.
func (a *Codex) Prompt(ctx context.Context, text string) error {
	a.turn++
	words := a.message("user", text)
	a.input = append(a.input, words)
	a.asked = append(a.asked, words)
	for range maxRounds {
		got, err := a.send(ctx, a.input, "turn")
		if err != nil {
			return err
		}
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
			result := "Plan updated"
			if c.Name != "update_plan" {
				result = filler("Output of "+c.Name, 8)
			}
			a.input = append(a.input, object{
				{"type", "function_call_output"}, {"id", a.itemID("fco_")}, {"call_id", c.ID}, {"output", result},
			})
		}
		if len(got.calls) == 0 {
			return nil
		}
	}
	return errors.New("the script of codex calls tools without end")
}

// Compact implements Agent. Only the user's own messages and the summary stay.
func (a *Codex) Compact(ctx context.Context) error {
	if len(a.asked) == 0 {
		return errNothing
	}
	a.turn++
	ask := object{{"type", "compaction_trigger"}}
	if !a.remote {
		ask = a.message("user", codexCompactionMark+" Write a handoff summary for another LLM.\n\n"+filler("What to write", 3))
	}
	got, err := a.send(ctx, append(slices.Clip(a.input), ask), "compaction")
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

// send posts one request and reads the answer.
func (a *Codex) send(ctx context.Context, input []object, kind string) (answer, error) {
	turnID := derive(a.thread, "turn", strconv.Itoa(a.turn))
	window := a.thread + ":" + strconv.Itoa(a.window)
	meta := object{
		{"installation_id", derive("installation")},
		{"session_id", a.thread},
		{"thread_id", a.thread},
		{"agent_name", "/root"},
		{"turn_id", turnID},
		{"window_id", window},
		{"window_number", a.window},
		{"context_window_id", derive(a.thread, "window", strconv.Itoa(a.window))},
		{"request_kind", kind},
		{"history_initialization", "new"},
		{"root_turn_id", turnID},
		{"thread_source", "user"},
		{"turn_trigger", "exec"},
	}
	implementation, names, parallel := "responses", "", false
	if kind == "turn" || a.remote {
		implementation, parallel = "responses_compaction_v2", true
		names = "exec_command update_plan apply_patch view_image"
	}
	if kind == "compaction" {
		meta = append(meta, member{"compaction", object{
			{"trigger", "auto"},
			{"reason", "context_limit"},
			{"implementation", implementation},
			{"phase", "pre_turn"},
			{"strategy", "memento"},
		}})
	}
	turnMetadata := string(encode(meta))
	header := object{
		{"x-codex-beta-features", "remote_compaction_v2"},
		{"x-codex-window-id", window},
		{"x-codex-turn-metadata", turnMetadata},
		{"x-client-request-id", a.thread},
		{"session-id", a.thread},
		{"thread-id", a.thread},
		{"Accept", "text/event-stream"},
		{"authorization", "Bearer sk-dummy"},
		{"originator", "codex_exec"},
		{"User-Agent", "codex_exec/0.171.0 (Linux; x86_64)"},
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
		{"prompt_cache_key", a.thread},
		{"text", object{{"verbosity", "low"}}},
		{"client_metadata", object{{"session_id", a.thread}, {"thread_id", a.thread}, {"turn_id", turnID}, {"x-codex-turn-metadata", turnMetadata}}},
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
		Type      string      `json:"type"`
		Content   wireContent `json:"content"`
		CallID    string      `json:"call_id"`
		Name      string      `json:"name"`
		Arguments string      `json:"arguments"`
	}
	if err := json.Unmarshal(raw, &it); err != nil {
		return fmt.Errorf("read an item of a Responses answer: %w", err)
	}
	switch it.Type {
	case "message":
		a.text += strings.Join(it.Content, "")
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
