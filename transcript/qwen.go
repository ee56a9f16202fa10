package transcript

import (
	"encoding/json"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

type qwenRecord struct {
	UUID      string `json:"uuid"`
	SessionID string `json:"sessionId"`
	Timestamp string `json:"timestamp"`
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	Sidechain bool   `json:"isSidechain"`
	AgentID   string `json:"agentId"`
	Forked    *struct {
		SessionID string `json:"sessionId"`
	} `json:"forkedFrom"`
	Provenance string `json:"provenance"`
	Model      string `json:"model"`
	Message    struct {
		Parts content `json:"parts"`
	} `json:"message"`
	Usage *struct {
		Prompt   int64 `json:"promptTokenCount"` // with what the cache held
		Answer   int64 `json:"candidatesTokenCount"`
		Cached   int64 `json:"cachedContentTokenCount"`
		Thoughts int64 `json:"thoughtsTokenCount"`
		Total    int64 `json:"totalTokenCount"`
	} `json:"usageMetadata"`
	Result struct {
		CallID string          `json:"callId"`
		Status string          `json:"status"`
		Error  json.RawMessage `json:"error"`
	} `json:"toolCallResult"`
	Payload json.RawMessage `json:"systemPayload"`
}

// qwenTyped are the kinds of messages in the user's role that a person typed.
var qwenTyped = set("", "mid_turn_user_message", "agent_launch_prompt")

func qwenLine(s *stream, line []byte) error {
	var r qwenRecord
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	if r.UUID == "" {
		return nil
	}
	d := Session{ID: first(r.SessionID, baseID(s.name)), StartedAt: when(r.Timestamp)}
	if r.Forked != nil {
		d.Parent = r.Forked.SessionID
	}
	if r.Sidechain && r.AgentID != "" {
		d.ID, d.Parent = d.ID+"/"+r.AgentID, d.ID
	}
	s.session(d)
	s.from(when(r.Timestamp), r.UUID)
	switch r.Type {
	case "user":
		s.user(r.Message.Parts.parts(), !qwenTyped[r.Subtype] || strings.HasPrefix(r.Provenance, "goal_") || r.Provenance == "system")
	case "assistant":
		for _, p := range r.Message.Parts {
			s.geminiPart(p)
		}
		if u := r.Usage; u != nil {
			out := u.Answer
			// Some providers count reasoning within the answer, some beside it.
			if u.Prompt+u.Answer+u.Thoughts <= u.Total {
				out += u.Thoughts
			}
			s.usage(holdfast.Usage{Model: r.Model, Input: max(u.Prompt-u.Cached, 0), CacheRead: u.Cached, Output: out})
		}
	case "tool_result":
		for _, p := range r.Message.Parts {
			if p.Response == nil {
				continue
			}
			parts, failed := p.Response.result()
			failed = failed || r.Result.Status == "error" || r.Result.Status == "cancelled" || !isNull(r.Result.Error)
			s.result(holdfast.ToolResult{CallID: first(p.Response.ID, r.Result.CallID), IsError: failed, Parts: parts})
		}
		s.user(r.Message.Parts.parts(), true)
	case "system":
		return s.qwenSystem(r)
	}
	return nil
}

func (s *stream) qwenSystem(r qwenRecord) error {
	switch r.Subtype {
	case "custom_title":
		var p struct {
			Title string `json:"customTitle"`
		}
		if err := json.Unmarshal(r.Payload, &p); err != nil {
			return err
		}
		s.title(p.Title)
	case "parent_session":
		var p struct {
			Parent string `json:"parentSessionId"`
		}
		if err := json.Unmarshal(r.Payload, &p); err != nil {
			return err
		}
		d := s.now.Session
		d.Parent = first(d.Parent, p.Parent)
		s.session(d)
	case "chat_compression":
		var p struct {
			History []qwenContent `json:"compressedHistory"`
		}
		if err := json.Unmarshal(r.Payload, &p); err != nil {
			return err
		}
		if summary, at := qwenSummary(p.History); summary != "" {
			s.compacted(summary, r.Model, s.keptTurns(p.History[at+1:]))
		}
	}
	return nil
}

type qwenContent struct {
	Role  string  `json:"role"`
	Parts content `json:"parts"`
}

// qwenSummary is the summary that a compressed history begins with, and its place:
// the first text in the user's role.
func qwenSummary(history []qwenContent) (summary string, at int) {
	for i, c := range history {
		if t := c.Parts.text(); c.Role == "user" && t != "" {
			return t, i
		}
	}
	return "", 0
}

// keptTurns is how many of the newest turns a summary does not tell, by what the
// agent kept behind it: the model's word on the summary, then the newest messages.
func (s *stream) keptTurns(behind []qwenContent) (kept int) {
	if len(behind) > 0 && behind[0].Role == "model" && len(behind[0].Parts) == 1 && behind[0].Parts[0].Call == nil {
		behind = behind[1:]
	}
	for i, c := range behind {
		typed := false
		for _, p := range c.Parts {
			typed = typed || c.Role == "user" && p.Text != "" && !s.o.Synthetic(p.Text)
		}
		if typed || i == 0 {
			kept++
		}
	}
	return kept
}
