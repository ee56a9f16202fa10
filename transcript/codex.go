package transcript

import (
	"encoding/json"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// codexState is what is kept of a Codex file while it is read.
type codexState struct {
	known bool // the session is
	model string
	// total is the count of all tokens when usage was yielded last: Codex repeats
	// a count when only its limits changed.
	total int64
}

type codexRecord struct {
	Timestamp string          `json:"timestamp"`
	Type      string          `json:"type"`
	Payload   json.RawMessage `json:"payload"`
}

// codexMeta is the head of a file. A fork's file goes on with a copy of its
// parent's, head included. Before version 0.32 it stood bare in the first line.
type codexMeta struct {
	ID           string          `json:"id"`
	Timestamp    string          `json:"timestamp"`
	ForkedFrom   string          `json:"forked_from_id"`
	ParentThread string          `json:"parent_thread_id"`
	Source       json.RawMessage `json:"source"`
}

type codexItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Summary   []codexPart     `json:"summary"`
	Encrypted json.RawMessage `json:"encrypted_content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Action    json.RawMessage `json:"action"`
	Output    json.RawMessage `json:"output"`
	Tools     json.RawMessage `json:"tools"`
}

type codexPart struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	ImageURL string          `json:"image_url"`
	FileID   string          `json:"file_id"`
	FileData string          `json:"file_data"`
	FileName string          `json:"filename"`
	Content  json.RawMessage `json:"content"`
	Success  *bool           `json:"success"`
}

type codexTokens struct {
	Input      int64 `json:"input_tokens"` // with what the cache held
	Cached     int64 `json:"cached_input_tokens"`
	CacheWrite int64 `json:"cache_write_input_tokens"`
	Output     int64 `json:"output_tokens"` // reasoning included
	Total      int64 `json:"total_tokens"`
}

func codexLine(s *stream, line []byte) error {
	var r codexRecord
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	st := stateOf[codexState](s)
	if r.Payload == nil {
		r.Payload = line // a bare record
		switch r.Type {
		case "":
			r.Type = "session_meta"
		default:
			r.Type = "response_item"
		}
	}
	key := []string{"content", holdfast.DigestOf(string(line)).String()}
	at := when(r.Timestamp)
	if r.Type != "session_meta" && !st.known {
		st.known = true
		s.session(Session{ID: codexID(s.name)})
	}
	switch r.Type {
	case "session_meta":
		return s.codexMeta(st, r.Payload)
	case "turn_context":
		var c struct {
			Model string `json:"model"`
		}
		if err := json.Unmarshal(r.Payload, &c); err != nil {
			return err
		}
		st.model = first(c.Model, st.model)
	case "compacted":
		var c struct {
			Message string `json:"message"`
		}
		if err := json.Unmarshal(r.Payload, &c); err != nil {
			return err
		}
		s.from(at, key...)
		s.compacted(first(c.Message, opaqueSummary), st.model, 0)
	case "response_item":
		var it codexItem
		if err := json.Unmarshal(r.Payload, &it); err != nil {
			return err
		}
		s.from(at, key...)
		return s.codexItem(it)
	case "event_msg":
		return s.codexMsg(st, r, key)
	}
	return nil
}

// codexID is the id in a file's name, rollout-TIME-ID or rollout-TIME-ID_ROLLOUT.
func codexID(name string) string {
	base, _, _ := strings.Cut(baseID(name), "_")
	if at := len(base) - 36; at > 0 && strings.HasPrefix(base, "rollout-") {
		return base[at:]
	}
	return base
}

func (s *stream) codexMeta(st *codexState, raw []byte) error {
	var m codexMeta
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	if st.known || m.ID == "" {
		return nil
	}
	st.known = true
	var source struct {
		Subagent struct {
			Spawn struct {
				Parent string `json:"parent_thread_id"`
			} `json:"thread_spawn"`
		} `json:"subagent"`
	}
	// The source of most sessions is a word.
	_ = json.Unmarshal(m.Source, &source)
	s.session(Session{
		ID: m.ID, StartedAt: when(m.Timestamp),
		Parent: first(source.Subagent.Spawn.Parent, m.ParentThread, m.ForkedFrom),
	})
	return nil
}

// codexMsg reads a message to the screen. Most of them repeat items.
func (s *stream) codexMsg(st *codexState, r codexRecord, key []string) error {
	var m struct {
		Type string `json:"type"`
		Name string `json:"thread_name"`
		Info *struct {
			Total codexTokens `json:"total_token_usage"`
			Last  codexTokens `json:"last_token_usage"`
		} `json:"info"`
	}
	if err := json.Unmarshal(r.Payload, &m); err != nil {
		// Messages that are not read may use the same names for other things.
		var kind struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(r.Payload, &kind) == nil && kind.Type != "token_count" && kind.Type != "thread_name_updated" {
			return nil
		}
		return err
	}
	switch {
	case m.Type == "thread_name_updated":
		s.title(m.Name)
	case m.Type == "token_count" && m.Info != nil && m.Info.Total.Total != st.total:
		st.total = m.Info.Total.Total
		u := m.Info.Last
		s.from(when(r.Timestamp), key...)
		s.usage(holdfast.Usage{
			Model: st.model, Input: max(u.Input-u.Cached-u.CacheWrite, 0),
			CacheRead: u.Cached, CacheWrite: u.CacheWrite, Output: u.Output,
		})
	}
	return nil
}

func (s *stream) codexItem(it codexItem) error {
	switch it.Type {
	case "message":
		parts, _, err := codexParts(it.Content)
		if err != nil {
			return err
		}
		switch it.Role {
		case "user":
			s.user(parts, false)
		case "assistant":
			for _, p := range parts {
				if t, ok := p.(holdfast.Text); ok {
					s.assistant(string(t))
				}
			}
		}
	case "reasoning":
		return s.codexReasoning(it)
	case "function_call", "custom_tool_call":
		raw := it.Arguments
		if isNull(raw) {
			raw = it.Input
		}
		s.call(holdfast.ToolCall{ID: it.CallID, Name: it.Name, Namespace: it.Namespace, Arguments: written(raw)})
	case "local_shell_call":
		s.call(holdfast.ToolCall{ID: first(it.CallID, it.ID), Name: "local_shell", Arguments: compact(it.Action)})
	case "tool_search_call":
		s.call(holdfast.ToolCall{ID: it.CallID, Name: "tool_search", Arguments: compact(it.Arguments)})
	case "tool_search_output":
		s.result(holdfast.ToolResult{CallID: it.CallID, Parts: []holdfast.Part{holdfast.Text(compact(it.Tools))}})
	case "function_call_output", "custom_tool_call_output":
		parts, failed, err := codexParts(it.Output)
		if err != nil {
			return err
		}
		s.result(holdfast.ToolResult{CallID: it.CallID, IsError: failed, Parts: parts})
	}
	return nil
}

// written is a call's arguments as the model wrote them: the text in a JSON
// string, or the value itself.
func written(raw json.RawMessage) []byte {
	if t, ok := text(raw); ok {
		return []byte(t)
	}
	return compact(raw)
}

// codexReasoning yields an item of reasoning. What Codex adds to it on disk does
// not go back to the provider.
func (s *stream) codexReasoning(it codexItem) error {
	var texts []string
	for _, p := range it.Summary {
		texts = append(texts, p.Text)
	}
	parts, _, err := codexParts(it.Content)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if t, ok := p.(holdfast.Text); ok {
			texts = append(texts, string(t))
		}
	}
	var opaque []byte
	if sealed, ok := text(it.Encrypted); ok && sealed != "" {
		type piece struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		summary := []piece{}
		for _, p := range it.Summary {
			summary = append(summary, piece{p.Type, p.Text})
		}
		opaque = marshal(struct {
			Type    string          `json:"type"`
			ID      string          `json:"id,omitempty"`
			Summary []piece         `json:"summary"`
			Sealed  json.RawMessage `json:"encrypted_content"`
		}{"reasoning", it.ID, summary, it.Encrypted})
	}
	s.reasoning(strings.Join(texts, "\n"), opaque)
	return nil
}

// codexParts reads content: a text, a part, a list of parts, or an object that
// holds one of them beside whether the call went well.
func codexParts(raw json.RawMessage) (parts []holdfast.Part, failed bool, err error) {
	if isNull(raw) {
		return nil, false, nil
	}
	if t, ok := text(raw); ok {
		return []holdfast.Part{holdfast.Text(t)}, false, nil
	}
	var list []codexPart
	if raw[0] == '[' {
		err = json.Unmarshal(raw, &list)
	} else {
		var p codexPart
		if err = json.Unmarshal(raw, &p); err == nil && !isNull(p.Content) {
			parts, _, err = codexParts(p.Content)
			return parts, p.Success != nil && !*p.Success, err
		}
		list = []codexPart{p}
	}
	for _, p := range list {
		switch {
		case p.ImageURL != "":
			parts = append(parts, imageAt(p.ImageURL))
		case p.Type == "input_file" && p.FileData+p.FileID != "":
			parts = append(parts, holdfast.Media{Type: "file", Name: p.FileName, Data: p.FileData, URI: p.FileID})
		case strings.HasSuffix(p.Type, "text"):
			parts = append(parts, holdfast.Text(p.Text))
		}
	}
	return parts, false, err
}

// imageAt is the image at an address, which may hold the image itself.
func imageAt(url string) holdfast.Media {
	m := holdfast.Media{Type: "image", URI: url}
	if data, ok := strings.CutPrefix(url, "data:"); ok {
		if mime, data, ok := strings.Cut(data, ";base64,"); ok {
			m.MIME, m.Data, m.URI = mime, data, ""
		}
	}
	return m
}
