package eval

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// The short literals by which agents ask for a compaction.
const (
	claudeCompactionMark = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."
	codexCompactionMark  = "You are performing a CONTEXT CHECKPOINT COMPACTION."
)

// wireRequest is what recognising and answering need of a body.
type wireRequest struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	Tools    []json.RawMessage `json:"tools"`
	Messages []wireMessage     `json:"messages"`
	Input    wireInput         `json:"input"`
	CacheKey string            `json:"prompt_cache_key"`
}

type wireMessage struct {
	Type    string      `json:"type"`
	Role    string      `json:"role"`
	Content wireContent `json:"content"`
}

// wireInput is a list of items; an input that is one string is one message.
type wireInput []wireMessage

// UnmarshalJSON accepts both forms.
func (in *wireInput) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*in = wireInput{{Role: "user", Content: wireContent{text}}}
		return nil
	}
	return json.Unmarshal(b, (*[]wireMessage)(in))
}

// wireContent holds the text parts of a message.
type wireContent []string

// UnmarshalJSON accepts a string or a list of parts; other parts are left out.
func (c *wireContent) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*c = wireContent{text}
		return nil
	}
	var parts []struct {
		Text *string `json:"text"`
	}
	if json.Unmarshal(b, &parts) != nil {
		return nil // an object: no text of a message
	}
	for _, p := range parts {
		if p.Text != nil {
			*c = append(*c, *p.Text)
		}
	}
	return nil
}

// protocolOf tells the protocol by the end of a path.
func protocolOf(path string) holdfast.Protocol {
	switch {
	case strings.HasSuffix(path, "/messages"), strings.HasSuffix(path, "/messages/count_tokens"):
		return holdfast.Anthropic
	case strings.HasSuffix(path, "/responses"):
		return holdfast.Responses
	}
	return ""
}

// kindOf classifies a request. body is nil when the request had none that
// could be read.
func kindOf(r *http.Request, p holdfast.Protocol, body *wireRequest) Kind {
	switch {
	case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		return Upgrade
	case p == "" || r.Method != http.MethodPost || body == nil:
		return Probe
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		return CountTokens
	case p == holdfast.Anthropic && endsWith(body.Messages, claudeCompactionMark):
		return PlainCompaction
	case p == holdfast.Responses && hasTrigger(body.Input):
		return OpaqueCompaction
	case p == holdfast.Responses && (codexSaysCompaction(r.Header) || endsWith(body.Input, codexCompactionMark)):
		return PlainCompaction
	case len(body.Tools) == 0:
		return SideCall
	}
	return Turn
}

// endsWith reports whether a text of the last message, which is the user's,
// begins with mark. It need not be the last text: a proxy may add one.
func endsWith(messages []wireMessage, mark string) bool {
	if len(messages) == 0 {
		return false
	}
	last := messages[len(messages)-1]
	if last.Role != "user" {
		return false
	}
	for _, text := range last.Content {
		if strings.HasPrefix(text, mark) {
			return true
		}
	}
	return false
}

// hasTrigger reports whether the input asks for an opaque compaction. Agents
// never keep the trigger in their history, so its place does not matter.
func hasTrigger(items []wireMessage) bool {
	for _, it := range items {
		if it.Type == "compaction_trigger" {
			return true
		}
	}
	return false
}

func codexSaysCompaction(h http.Header) bool {
	var meta struct {
		Kind string `json:"request_kind"`
	}
	return json.Unmarshal([]byte(h.Get("X-Codex-Turn-Metadata")), &meta) == nil && meta.Kind == "compaction"
}
