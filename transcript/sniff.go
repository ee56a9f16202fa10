package transcript

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Sniff tells which format a file is by its first bytes and its name, which may be
// "". A few records are enough; head may end anywhere. ok is false for files of no
// agent that is known, Holdfast's own form among them.
func Sniff(head []byte, name string) (f Format, ok bool) {
	if bytes.HasPrefix(head, []byte("SQLite format 3\x00")) {
		if strings.Contains(baseID(name), "opencode") {
			return OpenCode, true
		}
		return "", false
	}
	head = bytes.TrimPrefix(head, []byte("\ufeff"))
	for rest := head; len(bytes.TrimSpace(rest)) > 0; {
		for _, m := range records(rest) {
			if f := m.format(); f != "" {
				return f, true
			}
		}
		// Behind a damaged line others may be whole. A document has only one.
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			break
		}
		rest = rest[end+1:]
		if !bytes.HasPrefix(bytes.TrimSpace(rest), []byte(`{"`)) {
			break
		}
	}
	return "", false
}

// members are those of an object at the top of a file, or within its outermost
// list: texts as they are, other values as "".
type members struct {
	of     map[string]string
	inList bool
}

// maxRecords is how many records of a file are looked at.
const maxRecords = 64

// records are the objects that a head begins with. The last one may be cut.
func records(head []byte) (list []members) {
	dec := json.NewDecoder(bytes.NewReader(head))
	depth, inList := 0, false
	key := ""     // that a value is due for
	isKey := true // the next text at the depth of members is a key
	for len(list) < maxRecords {
		token, err := dec.Token()
		if err != nil {
			return list
		}
		inner := depth == 1 && !inList || depth == 2 && inList
		switch t := token.(type) {
		case json.Delim:
			switch {
			case t == '[' && depth == 0:
				inList = true
			case t == '{' && (depth == 0 || depth == 1 && inList):
				list = append(list, members{of: map[string]string{}, inList: inList})
				isKey = true
			case inner && (t == '{' || t == '['):
				list[len(list)-1].of[key] = ""
				isKey = true
			}
			if t == '{' || t == '[' {
				depth++
			} else if depth--; depth == 0 {
				inList = false
			}
		case string:
			switch {
			case !inner || len(list) == 0:
			case isKey:
				key, isKey = t, false
			default:
				list[len(list)-1].of[key] = t
				isKey = true
			}
		default:
			if inner && len(list) > 0 {
				list[len(list)-1].of[key] = ""
				isKey = true
			}
		}
	}
	return list
}

func (m members) has(names ...string) bool {
	for _, n := range names {
		if _, ok := m.of[n]; !ok {
			return false
		}
	}
	return true
}

// format is the one that has such records; "" where they tell none apart.
func (m members) format() Format {
	kind := m.of["type"]
	switch {
	case m.has("kind") && !m.has("sessionId"):
		return "" // our own
	case m.inList && m.has("timestamp", "type") && jpKinds[kind]:
		return JP
	case m.inList && m.has("role", "content"):
		return Cline
	case m.inList:
		return ""
	case m.has("sessionId", "projectHash"):
		return Gemini
	case m.has("timestamp") && codexKinds[kind], m.has("record_type"), m.has("id", "timestamp", "instructions"):
		return Codex
	case kind == "session" && m.has("id", "cwd"):
		return Pi
	case m.has("info", "messages"):
		return OpenCode
	case m.has("messages") && m.has("sessionId"), m.has("messages", "system_prompt"):
		return Cline
	case m.has("uuid", "parentUuid", "sessionId", "version", "cwd") && qwenKinds[kind] && !m.has("userType"):
		return Qwen
	case m.has("uuid", "sessionId") && claudeKinds[kind], kind == "summary" && m.has("leafUuid"),
		kind == "file-history-snapshot", m.has("sessionId") && claudeKinds[kind]:
		return ClaudeCode
	}
	return ""
}

func set(names ...string) map[string]bool {
	m := map[string]bool{}
	for _, n := range names {
		m[n] = true
	}
	return m
}

var (
	codexKinds  = set("session_meta", "turn_context", "response_item", "event_msg", "world_state", "compacted", "token_usage_record")
	claudeKinds = set("user", "assistant", "system", "attachment", "progress", "queue-operation", "permission-mode", "mode", "last-prompt", "custom-title", "ai-title")
	qwenKinds   = set("user", "assistant", "tool_result", "system")
	jpKinds     = set("config_delta", "turn_start", "chat_request", "chat_response", "tool_call_request", "tool_call_response", "inquiry_request", "inquiry_response")
)
