package eval

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-dev/holdfast"
)

// The short literals by which agents ask for a compaction.
const (
	claudeCompactionMark = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."
	codexCompactionMark  = "You are performing a CONTEXT CHECKPOINT COMPACTION."
	openCodeMark         = "Here is the conversation so far:"
	piMark               = "<conversation>"
	piMarkBehind         = "The messages above are"
	clineMark            = "Summarize this session for continuation."
	scratchpadMark       = "First, reason in your scratchpad."
	analysisMark         = "First, reason in your <analysis> block."
	qwenSharedMark       = "You are the component that summarizes a conversation"
	geminiSecondMark     = "Critically evaluate the <state_snapshot>"
)

// wholeMarks are those of agents whose compaction is a request of its own,
// without tools: a text of the last message begins with the literal and holds
// the other. Empty means any.
var wholeMarks = []struct {
	protocol      holdfast.Protocol
	literal, also string
}{
	{literal: openCodeMark},
	{literal: piMark, also: piMarkBehind},
	{protocol: holdfast.Chat, literal: clineMark},
	{protocol: holdfast.Chat, literal: scratchpadMark},
	{literal: analysisMark},
	{protocol: holdfast.Gemini, also: scratchpadMark},
	{protocol: holdfast.Gemini, literal: geminiSecondMark},
}

// wireRequest is what recognising and answering need of a body.
type wireRequest struct {
	Model    string           `json:"model"`
	Stream   bool             `json:"stream"`
	Tools    []jsontext.Value `json:"tools"`
	Messages []wireMessage    `json:"messages"`
	Input    wireInput        `json:"input"`
	Contents []wireMessage    `json:"contents"`
	CacheKey string           `json:"prompt_cache_key"`

	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// history is the one list of messages that the request has.
func (r *wireRequest) history() []wireMessage {
	return slices.Concat(r.Messages, r.Input, r.Contents)
}

// readRequest reads a body; nil when it is none of a model call.
func readRequest(path string, raw []byte) *wireRequest {
	r := new(wireRequest)
	if json.Unmarshal(raw, r) != nil {
		return nil
	}
	if protocolOf(path) == holdfast.Gemini { // the path says what the body does elsewhere
		model, method := geminiModel(path)
		r.Model, r.Stream = model, method == "streamGenerateContent"
	}
	return r
}

type wireMessage struct {
	Type    string      `json:"type"`
	Role    string      `json:"role"`
	Content wireContent `json:"content"`
	Parts   wireContent `json:"parts"` // Gemini
}

// wireInput is a list of items; an input that is one string is one message.
type wireInput []wireMessage

// UnmarshalJSONFrom accepts both forms.
func (in *wireInput) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '"' {
		return json.UnmarshalDecode(dec, (*[]wireMessage)(in))
	}
	*in = wireInput{{Role: "user", Content: wireContent{""}}}
	return json.UnmarshalDecode(dec, &(*in)[0].Content[0])
}

// wireContent holds the text parts of a message.
type wireContent []string

// UnmarshalJSONFrom accepts a string or a list of parts; other parts are left out.
func (c *wireContent) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case '"':
		*c = wireContent{""}
		return json.UnmarshalDecode(dec, &(*c)[0])
	case '[':
	default:
		return dec.SkipValue() // an object: no text of a message
	}
	var parts []struct {
		Text *string `json:"text"`
	}
	if err := json.UnmarshalDecode(dec, &parts); err != nil {
		return err
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
	case strings.HasSuffix(path, "/chat/completions"):
		return holdfast.Chat
	}
	switch _, method := geminiModel(path); method {
	case "generateContent", "streamGenerateContent", "countTokens":
		return holdfast.Gemini
	}
	return ""
}

// KindOf tells what a request with that body is. It does not read r.Body.
func KindOf(r *http.Request, body []byte) Kind {
	return kindOf(r, protocolOf(r.URL.Path), readRequest(r.URL.Path, body))
}

// kindOf classifies a request. body is nil when the request had none that
// could be read.
func kindOf(r *http.Request, p holdfast.Protocol, body *wireRequest) Kind {
	switch {
	case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		return Upgrade
	case p == "" || r.Method != http.MethodPost || body == nil:
		return Probe
	case strings.HasSuffix(r.URL.Path, "/count_tokens"), strings.HasSuffix(r.URL.Path, ":countTokens"):
		return CountTokens
	case p == holdfast.Anthropic && endsWith(body.Messages, claudeCompactionMark, ""):
		return PlainCompaction
	case p == holdfast.Responses && hasTrigger(body.Input):
		return OpaqueCompaction
	case p == holdfast.Responses && (codexSaysCompaction(r.Header) || endsWith(body.Input, codexCompactionMark, "")):
		return PlainCompaction
	case endsWith(body.history(), qwenSharedMark, analysisMark):
		return PlainCompaction // with the tools of its turns
	case len(body.Tools) > 0:
		return Turn
	}
	for _, m := range wholeMarks {
		if (m.protocol == "" || m.protocol == p) && endsWith(body.history(), m.literal, m.also) {
			return PlainCompaction
		}
	}
	return SideCall
}

// endsWith reports whether a text of the last message, which is the user's,
// begins with mark and holds also. It need not be the last text: a proxy may
// add one.
func endsWith(messages []wireMessage, mark, also string) bool {
	if len(messages) == 0 {
		return false
	}
	last := messages[len(messages)-1]
	if last.Role != "user" {
		return false
	}
	for _, text := range slices.Concat(last.Content, last.Parts) {
		if strings.HasPrefix(text, mark) && strings.Contains(text, also) {
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
