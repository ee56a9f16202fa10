// Package agents is what Holdfast knows of coding agents on the wire: by which
// fields they name a session, how a compaction looks, which tools carry plan
// state, which texts in the user's role no person typed. It is a table plus
// matchers. It gives verdicts and has no behaviour: whoever asks decides.
//
// # Where the facts come from
//
// Every row was read off requests that the real agent sent to a scripted
// upstream (testdata/wire holds them with their prose replaced), in the versions
// that the row names. A literal counts only in its place: the same words earlier
// in the history, in a quotation or in a token count are nothing.
//
// # What was settled by capture
//
//   - claude-code 2.1.332 keeps the Task tools out of "tools" and names them in a
//     reminder ("deferred tools"); calls to them work all the same. So a call is
//     judged by its result, and only a call without a result yet by whether the
//     request offered the tool.
//   - claude-code 2.1.332 asks for a compaction a second time, with a paragraph
//     appended, when the answer has no <summary> block. Both are one boundary.
//   - claude-code keeps the text of a summary before and behind its tags, so a
//     block at the end of the answer arrives (2.1.197 and 2.1.332).
//   - claude-code probes with HEAD / (2.1.197) or HEAD /api/hello (2.1.332).
//   - opencode 1.18.33 keeps the newest messages behind the summary, and in some
//     cases an older pair of question and summary behind the newest: the first pair
//     is the one that counts. Its answer arrives whole.
//   - pi 0.74.2 sends no id with a compaction in any protocol; it is linked by the
//     texts that it quotes. Its answer arrives whole.
//   - cline 3.0.65, qwen-code 0.15.10 and 0.24.4 and gemini-cli 0.61.0 send no id at
//     all; their answers arrive whole, but for an <analysis> block of qwen-code 0.24.4.
//     gemini-cli asks twice, the second time with the first answer in the history: both
//     answers are of one boundary.
//   - qwen-code 0.24.4 asks for a compaction with the tools of its turns, and a second
//     time without them when the answer has no <state_snapshot>. Both are one boundary.
//     It puts a sentence behind the summary, and files that were read behind that.
//   - qwen-code 0.24.4 takes the text of a plan out of its history once it is approved:
//     only the answer that showed it has it. It reaches todo_write through tool_call
//     where it is set to keep it out of "tools", and has it off by default.
//   - qwen-code 0.24.4 asks behind each turn in a terminal what may be typed next, with
//     the tools and the history of the turn: a side call.
//   - crush could not be run: its package brings no binary from the registry.
//   - codex 0.171.0 makes a thread title in a thread of its own, told by
//     thread_source "thread_title".
package agents

import (
	"encoding/json"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// Names of the agents in the table.
const (
	ClaudeCode = "claude-code"
	Codex      = "codex"
	OpenCode   = "opencode"
	Pi         = "pi"
	Cline      = "cline"
	Qwen       = "qwen-code"
	Gemini     = "gemini-cli"
	Crush      = "crush"
)

// SpeaksMessages reports whether an agent may speak Anthropic's protocol. Most can be given
// models of any provider, and so may those that nobody knows.
func SpeaksMessages(agent string) bool { return agent != Codex && agent != Gemini }

// Evidence is what a request shows of itself, from outside in.
type Evidence struct {
	Protocol holdfast.Protocol
	// Path is the request path without query and without Holdfast's own prefixes.
	Path string
	// Header returns the first value of a header, "" when absent.
	Header func(name string) string
	// Request is what the scan found; nil when the body could not be read.
	Request *holdfast.Request
	// Tools lists the tools that the request offers. It is called at most once.
	Tools func() []holdfast.Tool
	// System lists how the system texts begin, at most 200 bytes of each.
	System func() []string
	// Last is the last element of the history, decoded.
	Last []holdfast.Event
}

// Classify says which agent, session and thread a request belongs to, and
// whether it is a side call, a compaction request or an ordinary turn.
func Classify(e Evidence) holdfast.Verdict {
	v := identify(e)
	if v.Kind == holdfast.SideCall {
		return v
	}
	if row, ok := sideCallByEndpoint(e); ok {
		v.Kind, v.Row = holdfast.SideCall, row
		return v
	}
	if row, ok := sideCallByText(e, v.Agent); ok {
		v.Kind, v.Row = holdfast.SideCall, row
		return v
	}
	for _, row := range compactions {
		if (row.Protocol == "" || row.Protocol == e.Protocol) && ofAgent(row.Agent, v.Agent) && row.matches(e) {
			v.Kind, v.Row, v.Summary = holdfast.Compaction, row.ID, row.Summary
			return v
		}
	}
	if (v.Agent == ClaudeCode || v.Agent == OpenCode || v.Agent == Qwen) && e.Request != nil && noToolsOfTheAgent(e) {
		v.Kind, v.Row = holdfast.SideCall, v.Agent+"/no-tools"
		return v
	}
	v.Kind = holdfast.Turn
	return v
}

// sideCallByEndpoint: token counts are never part of the conversation.
func sideCallByEndpoint(e Evidence) (string, bool) {
	if strings.HasSuffix(e.Path, "/count_tokens") || strings.HasSuffix(e.Path, ":countTokens") {
		return "endpoint/count-tokens", true
	}
	return "", false
}

// sideCalls are requests that only literals in their last user text tell: some look
// like a compaction and are none. They offer no tools, but where tools says so.
var sideCalls = []struct {
	row, literal, also string
	tools              bool
}{
	// pi 0.74.2: a turn that is cut in two has a summary of its own beside that of
	// the history before it, in parallel and in either order. One of them carries
	// the block: the history's.
	{row: "pi/turn-prefix", literal: "<conversation>", also: "This is the PREFIX of a turn that was too large to keep."},
	// pi 0.74.2: on the way back from a branch. The history goes on where it was.
	{row: "pi/branch-summary", literal: "<conversation>", also: "Create a structured summary of this conversation branch"},
	// qwen-code 0.24.4: behind each turn, what the person may type next. The history
	// goes on without it.
	{row: "qwen-code/suggestion", literal: "[SUGGESTION MODE: Suggest what the user might naturally type next", tools: true},
}

// sideSystems are side calls that only their system text tells: qwen-code (0.15.10,
// 0.24.4) repeats the whole history to a subagent that looks for what to remember, in
// several rounds.
var sideSystems = []struct{ row, literal string }{
	{"qwen-code/memory", "You are now acting as the managed memory extraction subagent"},
	{"qwen-code/recap", "You generate session recaps for a programming assistant CLI."}, // read in its code
}

func sideCallByText(e Evidence, agent string) (string, bool) {
	if e.Request == nil {
		return "", false
	}
	if (e.Protocol == holdfast.Chat || agent == Qwen) && e.System != nil {
		for _, text := range e.System() {
			for _, s := range sideSystems {
				if strings.HasPrefix(text, s.literal) {
					return s.row, true
				}
			}
		}
	}
	text := lastText(e.Last)
	for _, s := range sideCalls {
		if (s.tools || e.Request.ToolCount == 0) && strings.HasPrefix(text, s.literal) && strings.Contains(text, s.also) {
			return s.row, true
		}
	}
	return "", false
}

// schemaTool is the tool as which qwen-code's side calls ask for JSON, read in the code
// of 0.24.4: who speaks next, which memories are of use, whether a command is safe.
const schemaTool = "respond_in_schema"

// noToolsOfTheAgent holds for titles (opencode, claude-code, qwen-code), for claude-code's
// plan names, page summaries (no tools at all) and web searches (one tool that the provider
// runs), and for answers in a schema. A turn of the conversation always offers tools of its own.
func noToolsOfTheAgent(e Evidence) bool {
	switch {
	case e.Request.ToolCount == 0:
		return true
	case e.Request.ToolCount > 2:
		return false
	}
	for _, t := range e.Tools() {
		if !t.Server && t.Name != schemaTool {
			return false
		}
	}
	return true
}

// userAgents name agents that have no header of their own.
var userAgents = map[string]string{
	"opencode/": OpenCode,
	"QwenCode/": Qwen,
	"GeminiCLI": Gemini,
}

// Identified lists the agents that a verdict can name. It rests on what the client
// says: headers and ids of its body for ClaudeCode and Codex, the User-Agent for
// the others. The rest of the table sends nothing that names it.
func Identified() []string { return []string{ClaudeCode, Codex, OpenCode, Qwen, Gemini} }

// identify reads the identity fields (the table "Identity" of each agent).
func identify(e Evidence) holdfast.Verdict {
	h := e.Header
	var userID, cacheKey string
	if e.Request != nil {
		userID, cacheKey = e.Request.UserID, e.Request.CacheKey
	}
	switch {
	case h("X-Claude-Code-Session-Id") != "" || claudeSession(userID) != "":
		v := holdfast.Verdict{Agent: ClaudeCode, Session: h("X-Claude-Code-Session-Id"), Thread: h("X-Claude-Code-Agent-Id")}
		if v.Session == "" {
			v.Session = claudeSession(userID)
		}
		return v
	case e.Protocol == holdfast.Responses && h("X-Codex-Turn-Metadata") != "",
		e.Protocol == holdfast.Responses && h("Session-Id") != "" && h("Thread-Id") != "":
		return identifyCodex(h, cacheKey)
	}
	v := holdfast.Verdict{}
	for prefix, agent := range userAgents {
		if strings.HasPrefix(h("User-Agent"), prefix) {
			v.Agent = agent
		}
	}
	for _, id := range []string{h("X-Session-Id"), h("Session_id"), cacheKey} {
		if id != "" {
			v.Session = id
			break
		}
	}
	return v
}

// codexMetadata is the part of the header x-codex-turn-metadata that is read.
type codexMetadata struct {
	RequestKind  string `json:"request_kind"`
	ThreadSource string `json:"thread_source"`
	ForkedFrom   string `json:"forked_from_thread_id"`
	SessionID    string `json:"session_id"`
	ThreadID     string `json:"thread_id"`
	Compaction   struct {
		Implementation string `json:"implementation"`
	} `json:"compaction"`
}

func readCodexMetadata(h func(string) string) (m codexMetadata) {
	if raw := h("X-Codex-Turn-Metadata"); raw != "" {
		// A header that is no JSON is a client that we do not know: no metadata.
		if json.Unmarshal([]byte(raw), &m) != nil {
			return codexMetadata{}
		}
	}
	return m
}

func identifyCodex(h func(string) string, cacheKey string) holdfast.Verdict {
	m := readCodexMetadata(h)
	v := holdfast.Verdict{Agent: Codex, ForkedFrom: m.ForkedFrom}
	v.Session = firstOf(h("Session-Id"), m.SessionID, cacheKey)
	if thread := firstOf(h("Thread-Id"), m.ThreadID); thread != v.Session {
		v.Thread = thread
	}
	switch {
	case m.ThreadSource == "thread_title":
		v.Kind, v.Row = holdfast.SideCall, "codex/thread-title"
	case m.RequestKind == "prewarm":
		v.Kind, v.Row = holdfast.SideCall, "codex/prewarm"
	}
	return v
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// claudeSession reads the session id out of metadata.user_id: a JSON string with
// session_id (2.1.197), or "user_..._session_UUID" (older versions).
func claudeSession(userID string) string {
	if strings.HasPrefix(userID, "{") {
		var id struct {
			SessionID string `json:"session_id"`
		}
		if json.Unmarshal([]byte(userID), &id) != nil {
			return ""
		}
		return id.SessionID
	}
	if strings.HasPrefix(userID, "user_") {
		if i := strings.LastIndex(userID, "_session_"); i >= 0 {
			return userID[i+len("_session_"):]
		}
	}
	return ""
}
