package transcript

import (
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"github.com/holdfast-dev/holdfast"
)

// claudeState is what is kept of a Claude Code file while it is read.
type claudeState struct {
	// roots are the first records of side chains that the file holds, by the
	// records that stand in them.
	roots map[string]string
	// usage is that of the answer that is being read, message its id; counted is
	// the answer whose usage was yielded last.
	usage            *holdfast.Usage
	message, counted string
	// session is the one that the file is of.
	session string
}

type claudeRecord struct {
	Type            string        `json:"type"`
	Subtype         string        `json:"subtype"`
	UUID            string        `json:"uuid"`
	ParentUUID      string        `json:"parentUuid"`
	SessionID       string        `json:"sessionId"`
	AgentID         string        `json:"agentId"`
	Sidechain       bool          `json:"isSidechain"`
	Meta            bool          `json:"isMeta"`
	CompactSummary  bool          `json:"isCompactSummary"`
	TranscriptOnly  bool          `json:"isVisibleInTranscriptOnly"`
	Timestamp       string        `json:"timestamp"`
	Message         claudeMessage `json:"message"`
	CustomTitle     string        `json:"customTitle"`
	AITitle         string        `json:"aiTitle"`
	APIErrorMessage bool          `json:"isApiErrorMessage"`
	SourceToolUseID string        `json:"sourceToolUseID"`
	ForkedFrom      struct {
		SessionID string `json:"sessionId"`
	} `json:"forkedFrom"`
}

type claudeMessage struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Content json.RawMessage `json:"content"`
	Usage   *claudeUsage    `json:"usage"`
}

type claudeUsage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
}

// noModel is the model of answers that Claude Code wrote itself.
const noModel = "<synthetic>"

func claudeLine(s *stream, line []byte) error {
	var r claudeRecord
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	st := stateOf[claudeState](s)
	if r.Message.ID == "" || r.Message.ID != st.message {
		s.claudeCount(st)
	}
	if st.session == "" {
		st.session = claudeID(s.name, r.SessionID)
	}
	switch r.Type {
	case "custom-title", "ai-title":
		s.title(first(r.CustomTitle, r.AITitle))
		return nil
	case "user", "assistant":
	case "system":
		if r.Sidechain {
			st.root(r)
		}
		return nil
	default:
		return nil
	}
	s.claudeSession(st, r)
	blocks, err := blocksOf(r.Message.Content)
	if err != nil {
		return err
	}
	s.from(when(r.Timestamp), claudeKey(r, line)...)
	switch {
	case r.CompactSummary:
		s.compacted(textOf(blocks), "", 0)
	case r.Type == "user":
		s.blocksUser(blocks, r.Meta || r.TranscriptOnly, r.SourceToolUseID)
	case r.Message.Model == noModel || r.APIErrorMessage:
	default:
		s.blocksAssistant(blocks)
		if u := r.Message.Usage; u != nil && r.Message.ID != st.counted {
			st.message = r.Message.ID
			st.usage = &holdfast.Usage{Model: r.Message.Model, Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
		}
	}
	return nil
}

func claudeKey(r claudeRecord, line []byte) []string {
	if r.UUID != "" {
		return []string{r.UUID}
	}
	return []string{"content", holdfast.DigestOf(string(line)).String()}
}

// claudeCount yields the usage of the answer that ended. Its records repeat it, the
// last one with the final count.
func (s *stream) claudeCount(st *claudeState) {
	if st.usage == nil {
		return
	}
	s.from(s.now.at, "usage of", st.message)
	s.usage(*st.usage)
	st.usage, st.counted, st.message = nil, st.message, ""
}

// claudeID is the session that a file is of: its name is the id, while records that
// were copied from the session that it goes on from may keep that one's.
func claudeID(name, recorded string) string {
	if base := baseID(name); uuid.Validate(base) == nil {
		return base
	}
	return recorded
}

// claudeSession goes on in the session of a record. Subagents have files of their
// own, whose records name the session of their caller; older versions wrote them
// between the records of the caller.
func (s *stream) claudeSession(st *claudeState, r claudeRecord) {
	id := first(st.session, baseID(s.name))
	d := Session{ID: id, StartedAt: when(r.Timestamp)}
	switch {
	case r.Sidechain && r.AgentID != "":
		d.ID, d.Parent = id+"/"+r.AgentID, id
	case r.Sidechain:
		d.ID, d.Parent = id+"/"+st.root(r), id
	case first(r.ForkedFrom.SessionID, r.SessionID, id) != id && uuid.Validate(id) == nil:
		d.Parent = first(r.ForkedFrom.SessionID, r.SessionID)
	}
	s.session(d)
}

// root is the first record of the side chain that a record stands in.
func (st *claudeState) root(r claudeRecord) string {
	root := first(st.roots[r.ParentUUID], r.UUID)
	if r.UUID != "" {
		if st.roots == nil {
			st.roots = map[string]string{}
		}
		st.roots[r.UUID] = root
	}
	return root
}

// block is one piece of content as Anthropic's wire has it. Cline writes it too.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
	Title     string          `json:"title"`
	ToolName  string          `json:"tool_name"`
	MediaType string          `json:"mediaType"`
	// Result and Success are of the pieces that Cline's results have, which have no
	// type.
	Result  json.RawMessage `json:"result"`
	Success *bool           `json:"success"`
	Source  *struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
		URL       string `json:"url"`
	} `json:"source"`
}

// blocksOf reads content: a text, or a list of blocks.
func blocksOf(raw json.RawMessage) ([]block, error) {
	if isNull(raw) {
		return nil, nil
	}
	if t, ok := text(raw); ok {
		return []block{{Type: "text", Text: t}}, nil
	}
	var blocks []block
	err := json.Unmarshal(raw, &blocks)
	return blocks, err
}

// part is a block as a part of a message; nil for other blocks.
func (b block) part() holdfast.Part {
	switch b.Type {
	case "text":
		return holdfast.Text(b.Text)
	case "image", "document":
		m := holdfast.Media{Type: "image", Name: b.Title, MIME: b.MediaType, Data: b.Data}
		if b.Type == "document" {
			m.Type = "file"
		}
		if src := b.Source; src != nil {
			m.MIME, m.Data, m.URI = src.MediaType, src.Data, src.URL
			if src.Type == "text" {
				return holdfast.Text(src.Data)
			}
		}
		if m.Data == "" && m.URI == "" {
			return nil
		}
		return m
	case "tool_reference":
		return holdfast.Text(b.ToolName)
	case "":
		if t, ok := text(b.Result); ok {
			return holdfast.Text(t)
		}
		if !isNull(b.Result) {
			return holdfast.Text(compact(b.Result))
		}
	}
	return nil
}

func partsOf(blocks []block) (parts []holdfast.Part) {
	for _, b := range blocks {
		if p := b.part(); p != nil {
			parts = append(parts, p)
		}
	}
	return parts
}

func textOf(blocks []block) string {
	var texts []string
	for _, b := range blocks {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// blocksUser yields a message in the user's role: results first, since they answer
// the calls before it. caller is the id of the call where a result names none.
func (s *stream) blocksUser(blocks []block, synthetic bool, caller string) {
	for _, b := range blocks {
		if b.Type != "tool_result" {
			continue
		}
		// A result that cannot be read is no reason to leave it out.
		content, _ := blocksOf(b.Content)
		failed := b.IsError
		for _, c := range content {
			failed = failed || c.Success != nil && !*c.Success
		}
		s.result(holdfast.ToolResult{CallID: first(b.ToolUseID, caller), IsError: failed, Parts: partsOf(content)})
	}
	s.user(partsOf(blocks), synthetic)
}

func (s *stream) blocksAssistant(blocks []block) {
	for _, b := range blocks {
		switch b.Type {
		case "text":
			s.assistant(b.Text)
		case "thinking":
			s.reasoning(b.Thinking, thinking(b.Thinking, b.Signature))
		case "redacted_thinking":
			s.reasoning("", marshal(map[string]string{"type": b.Type, "data": b.Data}))
		case "tool_use":
			s.call(holdfast.ToolCall{ID: b.ID, Name: b.Name, Arguments: compact(b.Input)})
		}
	}
}
