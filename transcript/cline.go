package transcript

import (
	"bytes"
	"encoding/json"
	"io"
	"path"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

type clineDocument struct {
	SessionID string            `json:"sessionId"`
	Messages  []json.RawMessage `json:"messages"`
	Origin    struct {
		Parent string `json:"parentThreadId"` // of a subagent
	} `json:"origin"`
}

type clineMessage struct {
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Time      int64           `json:"ts"` // milliseconds
	ModelInfo struct {
		ID string `json:"id"`
	} `json:"modelInfo"`
	Metrics *struct {
		Input      int64    `json:"inputTokens"`
		Output     int64    `json:"outputTokens"`
		CacheRead  int64    `json:"cacheReadTokens"`
		CacheWrite int64    `json:"cacheWriteTokens"`
		Cost       *float64 `json:"cost"`
	} `json:"metrics"`
	Metadata struct {
		Kind string `json:"kind"`
	} `json:"metadata"`
}

// readCline reads the document of a session, or the list of messages that the
// extension for editors keeps in a folder for each task.
func readCline(s *stream, r io.Reader) error {
	var raw json.RawMessage
	if err := document(r, &raw); err != nil {
		return err
	}
	var d clineDocument
	into := any(&d)
	if raw = bytes.TrimSpace(raw); raw[0] == '[' {
		into = &d.Messages
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return holdfast.Errorf(holdfast.ErrUsage, "the file is damaged as a whole: %s. Get another copy of it", reason(err))
	}
	s.session(Session{ID: first(d.SessionID, clineID(s.name)), Parent: d.Origin.Parent})
	for i, m := range d.Messages {
		s.line = i + 1
		s.record(m, clineRecord)
	}
	return nil
}

// clineID is the name of a task's folder, else that of the file.
func clineID(name string) string {
	dir, file := path.Split(strings.ReplaceAll(name, `\`, "/"))
	if base := path.Base(dir); file == "api_conversation_history.json" && base != "." && base != "/" {
		return base
	}
	return baseID(name)
}

func clineRecord(s *stream, raw []byte) error {
	var m clineMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	blocks, err := blocksOf(m.Content)
	if err != nil {
		return err
	}
	key := []string{m.ID}
	if m.ID == "" {
		key = []string{"content", m.Role, holdfast.DigestOf(string(compact(m.Content))).String()}
	}
	s.from(millis(m.Time), key...)
	switch {
	case m.Metadata.Kind == "compaction_summary":
		s.compacted(textOf(blocks), m.ModelInfo.ID, 0)
	case m.Role == "user":
		s.blocksUser(blocks, false, "")
	case m.Role == "assistant":
		s.blocksAssistant(blocks)
		if u := m.Metrics; u != nil {
			s.usage(holdfast.Usage{
				Model: m.ModelInfo.ID, Input: u.Input, Output: u.Output,
				CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Cost: usd(u.Cost),
			})
		}
	}
	return nil
}
