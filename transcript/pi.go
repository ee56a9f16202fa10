package transcript

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// piState is what is kept of a Pi file while it is read.
type piState struct {
	// turns tell of each record the turn that it stands in: by its id, and by its
	// number in the first version of the form.
	turns map[string]int
	list  []int
}

type piRecord struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Timestamp json.RawMessage `json:"timestamp"`
	Parent    string          `json:"parentSession"`
	Branched  string          `json:"branchedFrom"`
	Name      string          `json:"name"`
	Message   *piMessage      `json:"message"`
	Summary   string          `json:"summary"`
	Kept      string          `json:"firstKeptEntryId"`
	KeptIndex *int            `json:"firstKeptEntryIndex"`
	Content   json.RawMessage `json:"content"`
}

type piMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	API        string          `json:"api"`
	Model      string          `json:"model"`
	Usage      *piUsage        `json:"usage"`
	ToolCallID string          `json:"toolCallId"`
	IsError    bool            `json:"isError"`
	Summary    string          `json:"summary"`
	Command    string          `json:"command"`
	Output     string          `json:"output"`
	Excluded   bool            `json:"excludeFromContext"`
}

type piUsage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
	Cost       *struct {
		Total *float64 `json:"total"`
	} `json:"cost"`
}

type piBlock struct {
	Type              string          `json:"type"`
	Text              string          `json:"text"`
	Data              string          `json:"data"`
	MIME              string          `json:"mimeType"`
	Thinking          string          `json:"thinking"`
	ThinkingSignature string          `json:"thinkingSignature"`
	Redacted          bool            `json:"redacted"`
	ID                string          `json:"id"`
	Name              string          `json:"name"`
	Arguments         json.RawMessage `json:"arguments"`
	ThoughtSignature  string          `json:"thoughtSignature"`
}

func piLine(s *stream, line []byte) error {
	var r piRecord
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	st := stateOf[piState](s)
	at := piTime(r.Timestamp)
	if r.Type == "session" {
		if s.now == nil {
			s.session(Session{ID: first(r.ID, baseID(s.name)), Parent: piParent(first(r.Parent, r.Branched)), StartedAt: at})
		}
		st.list = append(st.list, 0)
		return nil
	}
	// Pi gives ids to the records of an old file when it opens it: the time and
	// the kind stay what they were.
	role := ""
	if r.Message != nil {
		role = r.Message.Role
	}
	s.from(at, string(r.Timestamp), r.Type, role)
	err := s.piRecord(st, r)
	turn := max(s.now.turns-1, 0)
	st.list = append(st.list, turn)
	if r.ID != "" {
		if st.turns == nil {
			st.turns = map[string]int{}
		}
		st.turns[r.ID] = turn
	}
	return err
}

// piTime reads a time, which is a text or milliseconds.
func piTime(raw json.RawMessage) time.Time {
	if t, ok := text(raw); ok {
		return when(t)
	}
	var n int64
	if json.Unmarshal(raw, &n) != nil {
		return time.Time{}
	}
	return millis(n)
}

// piParent is the id in the path of a session's file, TIME_ID.
func piParent(file string) string {
	if file == "" {
		return ""
	}
	base := baseID(file)
	for i := len(base) - 1; i >= 0; i-- {
		if base[i] == '_' {
			return base[i+1:]
		}
	}
	return base
}

func (s *stream) piRecord(st *piState, r piRecord) error {
	switch r.Type {
	case "session_info":
		s.title(r.Name)
	case "compaction":
		s.compacted(r.Summary, "", st.kept(r, s.now.turns))
	case "branch_summary":
		if r.Summary != "" {
			s.user([]holdfast.Part{holdfast.Text(r.Summary)}, true)
		}
	case "custom_message":
		blocks, err := piBlocks(r.Content)
		s.user(piParts(blocks), true)
		return err
	case "message":
		if r.Message != nil {
			return s.piMessage(*r.Message)
		}
	}
	return nil
}

// kept is how many of the newest turns a compaction's summary does not tell.
func (st *piState) kept(r piRecord, turns int) int {
	turn, ok := st.turns[r.Kept]
	if i := r.KeptIndex; !ok && i != nil && *i >= 0 && *i < len(st.list) {
		turn, ok = st.list[*i], true
	}
	if !ok {
		return 0
	}
	return turns - turn
}

func piBlocks(raw json.RawMessage) ([]piBlock, error) {
	if isNull(raw) {
		return nil, nil
	}
	if t, ok := text(raw); ok {
		return []piBlock{{Type: "text", Text: t}}, nil
	}
	var blocks []piBlock
	err := json.Unmarshal(raw, &blocks)
	return blocks, err
}

func piParts(blocks []piBlock) (parts []holdfast.Part) {
	for _, b := range blocks {
		switch b.Type {
		case "text":
			parts = append(parts, holdfast.Text(b.Text))
		case "image":
			parts = append(parts, holdfast.Media{Type: "image", MIME: b.MIME, Data: b.Data})
		}
	}
	return parts
}

func (s *stream) piMessage(m piMessage) error {
	blocks, err := piBlocks(m.Content)
	if err != nil {
		return err
	}
	switch m.Role {
	case "user":
		s.user(piParts(blocks), false)
	case "custom", "hookMessage":
		s.user(piParts(blocks), true)
	case "branchSummary", "compactionSummary":
		s.user([]holdfast.Part{holdfast.Text(m.Summary)}, true)
	case "bashExecution":
		// A command that the person ran. The model is told in this form.
		if !m.Excluded {
			s.user([]holdfast.Part{holdfast.Text(fmt.Sprintf("Ran `%s`\n```\n%s\n```", m.Command, m.Output))}, true)
		}
	case "toolResult":
		s.result(holdfast.ToolResult{CallID: m.ToolCallID, IsError: m.IsError, Parts: piParts(blocks)})
	case "assistant":
		s.piAnswer(m, blocks)
	}
	return nil
}

func (s *stream) piAnswer(m piMessage, blocks []piBlock) {
	for _, b := range blocks {
		switch b.Type {
		case "text":
			s.assistant(b.Text)
		case "thinking":
			s.reasoning(b.Thinking, piOpaque(m.API, b))
		case "toolCall":
			if b.ThoughtSignature != "" {
				s.reasoning("", signed(b.ThoughtSignature))
			}
			s.call(holdfast.ToolCall{ID: b.ID, Name: b.Name, Arguments: compact(b.Arguments)})
		}
	}
	if u := m.Usage; u != nil {
		usage := holdfast.Usage{Model: m.Model, Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
		if u.Cost != nil {
			usage.Cost = usd(u.Cost.Total)
		}
		s.usage(usage)
	}
}

// piOpaque is the state of reasoning in the form of the wire that it came from. Of
// other wires it is not read.
func piOpaque(api string, b piBlock) []byte {
	switch {
	case b.ThinkingSignature == "":
	case api == "anthropic-messages" && b.Redacted:
		return marshal(map[string]string{"type": "redacted_thinking", "data": b.ThinkingSignature})
	case api == "anthropic-messages":
		return thinking(b.Thinking, b.ThinkingSignature)
	case b.ThinkingSignature[0] == '{' && json.Valid([]byte(b.ThinkingSignature)):
		// The whole item of Responses, as a text.
		return []byte(b.ThinkingSignature)
	case api == "google-generative-ai" || api == "google-gemini-cli" || api == "google-vertex":
		return signed(b.ThinkingSignature)
	}
	return nil
}
