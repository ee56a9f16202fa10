package agents

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// place is where the evidence of a compaction request must stand.
type place int

const (
	// lastUserText: the last text part of the last element, in the user's role,
	// begins with the literal and holds the second one too.
	lastUserText place = iota
	// lastItemTrigger: the last element is a compaction_trigger item.
	lastItemTrigger
	// turnMetadata: the header x-codex-turn-metadata names a compaction with the
	// implementation that the literal gives.
	turnMetadata
	// endpoint: the path ends with the literal.
	endpoint
	// summarize: the request asks for a summary by a parameter of its own.
	summarize
)

// Row is one way in which a compaction shows.
type Row struct {
	ID       string
	Agent    string
	Protocol holdfast.Protocol
	Summary  holdfast.SummaryForm
	// Versions it was captured from.
	Versions []string
	// Fixture is the captured request below testdata/wire.
	Fixture string

	place         place
	literal, also string
	noTools       bool // counts only when the request offers no tools
	// whole: the request holds all of the history that it sums up. What came behind that
	// was taken back, or stays verbatim behind the summary where a person chose so.
	whole bool
	// quotes begins the history in words that the last user text holds; "": the
	// request carries the history itself.
	quotes string
}

// compactions are the rows for the request itself, in the order of their trust.
var compactions = []Row{
	{
		ID: "claude-code/compact", Agent: ClaudeCode, Protocol: holdfast.Anthropic, Summary: holdfast.PlainSummary,
		Versions: []string{"2.1.197", "2.1.332"}, Fixture: "claude-code-2.1.197/task-tools",
		place:   lastUserText,
		whole:   true,
		literal: "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.",
		also:    "an <analysis> block followed by a <summary> block",
	},
	{
		ID: "codex/local", Agent: Codex, Protocol: holdfast.Responses, Summary: holdfast.PlainSummary,
		Versions: []string{"0.171.0"}, Fixture: "codex-0.171.0/local-compact",
		place: turnMetadata, literal: "responses", whole: true,
	},
	{
		ID: "codex/local-prompt", Agent: Codex, Protocol: holdfast.Responses, Summary: holdfast.PlainSummary,
		Versions: []string{"0.171.0"}, Fixture: "codex-0.171.0/local-compact",
		place: lastUserText, literal: "You are performing a CONTEXT CHECKPOINT COMPACTION.", noTools: true, whole: true,
	},
	{
		ID: "codex/remote", Agent: Codex, Protocol: holdfast.Responses, Summary: holdfast.OpaqueSummary,
		Versions: []string{"0.171.0"}, Fixture: "codex-0.171.0/remote-compact",
		place: lastItemTrigger, whole: true,
	},
	{
		ID: "opencode/compact", Agent: OpenCode, Summary: holdfast.PlainSummary,
		Versions: []string{"1.18.33"}, Fixture: "opencode-1.18.33/todowrite-compact",
		place: lastUserText, literal: "Here is the conversation so far:\n\n<conversation>",
		also: "<conversation> tags above", noTools: true, quotes: "<conversation>",
	},
	{
		ID: "opencode/compact-again", Agent: OpenCode, Summary: holdfast.PlainSummary,
		Versions: []string{"1.18.33"}, Fixture: "opencode-1.18.33/todowrite-compact",
		place: lastUserText, literal: "Here is the conversation so far:\n\n<conversation>",
		also: "Here is the summary of the conversation before the <conversation> above:", noTools: true, quotes: "<conversation>",
	},
	{
		ID: "pi/compact", Agent: Pi, Summary: holdfast.PlainSummary,
		Versions: []string{"0.74.2"}, Fixture: "pi-0.74.2/chat",
		place: lastUserText, literal: "<conversation>",
		also: "The messages above are a conversation to summarize.", noTools: true, quotes: "<conversation>",
	},
	{
		ID: "pi/compact-again", Agent: Pi, Summary: holdfast.PlainSummary,
		Versions: []string{"0.74.2"}, Fixture: "pi-0.74.2/chat",
		place: lastUserText, literal: "<conversation>",
		also: "The messages above are NEW conversation messages", noTools: true, quotes: "<conversation>",
	},
	{
		ID: "cline/compact", Agent: Cline, Protocol: holdfast.Chat, Summary: holdfast.PlainSummary,
		Versions: []string{"3.0.65"}, Fixture: "cline-3.0.65/tui-compact",
		place: lastUserText, literal: "Summarize this session for continuation.",
		also: "Conversation:", noTools: true, quotes: "Conversation:",
	},
	{
		ID: "qwen-code/compact", Agent: Qwen, Protocol: holdfast.Chat, Summary: holdfast.PlainSummary,
		Versions: []string{"0.15.10"}, Fixture: "qwen-code-0.15.10/todos-compact",
		place: lastUserText, literal: "First, reason in your scratchpad. Then, generate the <state_snapshot>.", noTools: true,
	},
	{
		// With the tools of its turns, where the provider caches what stands before.
		ID: "qwen-code/compact-shared", Agent: Qwen, Summary: holdfast.PlainSummary,
		Versions: []string{"0.24.4"}, Fixture: "qwen-code-0.24.4/todos-compact",
		place: lastUserText, literal: "You are the component that summarizes a conversation when its context window is about to overflow.",
		also: "Then, produce the <state_snapshot> XML.",
	},
	{
		ID: "qwen-code/compact-cold", Agent: Qwen, Summary: holdfast.PlainSummary,
		Versions: []string{"0.24.4"}, Fixture: "qwen-code-0.24.4/todos-compact",
		place: lastUserText, literal: "First, reason in your <analysis> block. Then, produce the <state_snapshot> XML.", noTools: true,
	},
	{
		ID: "gemini-cli/compact", Agent: Gemini, Protocol: holdfast.Gemini, Summary: holdfast.PlainSummary,
		Versions: []string{"0.61.0"}, Fixture: "gemini-cli-0.61.0/todos-compact",
		place: lastUserText, literal: "Generate a new <state_snapshot> based on the provided history.",
		also: "First, reason in your scratchpad.", noTools: true,
	},
	{
		ID: "gemini-cli/compact-again", Agent: Gemini, Protocol: holdfast.Gemini, Summary: holdfast.PlainSummary,
		Versions: []string{"0.61.0"}, Fixture: "gemini-cli-0.61.0/todos-compact",
		place: lastUserText, literal: "A previous <state_snapshot> exists in the history.",
		also: "First, reason in your scratchpad.", noTools: true,
	},
	{
		ID: "gemini-cli/evaluate", Agent: Gemini, Protocol: holdfast.Gemini, Summary: holdfast.PlainSummary,
		Versions: []string{"0.61.0"}, Fixture: "gemini-cli-0.61.0/todos-compact",
		place: lastUserText, literal: "Critically evaluate the <state_snapshot> you just generated.", noTools: true,
	},
	{
		// Read in its source, never run.
		ID: "crush/compact", Agent: Crush, Summary: holdfast.PlainSummary,
		place: lastUserText, literal: "Provide a detailed summary of our conversation above.",
	},
	{
		ID: "responses/compact-endpoint", Agent: "", Protocol: holdfast.Responses, Summary: holdfast.OpaqueSummary,
		place: endpoint, literal: "/responses/compact",
	},
	{
		// https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand
		ID: "anthropic/compact-on-demand", Agent: "", Protocol: holdfast.Anthropic, Summary: holdfast.OpaqueSummary,
		place: summarize,
	},
}

// Compactions returns the rows of the table, for documentation and tests.
func Compactions() []Row { return append([]Row(nil), compactions...) }

func (r Row) matches(e Evidence) bool {
	switch r.place {
	case endpoint:
		return strings.HasSuffix(e.Path, r.literal)
	case turnMetadata:
		m := readCodexMetadata(e.Header)
		return m.RequestKind == "compaction" && m.Compaction.Implementation == r.literal
	case summarize:
		return e.Request != nil && e.Request.Summarize
	case lastItemTrigger:
		if len(e.Last) == 0 {
			return false
		}
		_, ok := e.Last[len(e.Last)-1].(holdfast.CompactionTrigger)
		return ok
	case lastUserText:
		if r.noTools && (e.Request == nil || e.Request.ToolCount > 0) {
			return false
		}
		return r.isMarker(lastText(e.Last))
	}
	return false
}

func (r Row) isMarker(text string) bool {
	return strings.HasPrefix(text, r.literal) && strings.Contains(text, r.also)
}

// lastText is the text part that ends the last event, if a user's.
func lastText(last []holdfast.Event) string {
	if len(last) == 0 {
		return ""
	}
	u, ok := last[len(last)-1].(holdfast.UserMessage)
	if !ok || len(u.Parts) == 0 {
		return ""
	}
	t, _ := u.Parts[len(u.Parts)-1].(holdfast.Text)
	return string(t)
}

// IsMarker reports whether a user text is the prompt by which a harness asks
// for a compaction. Such a text is no part of the history.
func IsMarker(text string) bool {
	for _, r := range compactions {
		if r.place == lastUserText && r.isMarker(text) {
			return true
		}
	}
	return false
}

// continuation is one way in which a summary comes back.
type continuation struct {
	id, agent string
	protocol  holdfast.Protocol // "": any
	literal   string            // the user text begins with it
	whole     bool              // and is nothing else
	answer    bool              // the summary is the assistant's text behind it
	first     bool              // of several the first counts, not the last
	opens     bool              // counts only where no person's text stands before it
}

// continuations are the user texts by which a summary comes back, each in a
// text of its own. A history may begin with one (after a compaction of all that
// was before), or hold it behind what was kept verbatim (codex; in claude-code
// "summarize from here").
var continuations = []continuation{
	{
		id: "claude-code/continued", agent: ClaudeCode, protocol: holdfast.Anthropic,
		literal: "This session is being continued from a previous conversation that ran out of context.",
	},
	{
		id: "codex/continued", agent: Codex, protocol: holdfast.Responses,
		literal: "Another language model started to solve this problem",
	},
	{
		id: "opencode/continued", agent: OpenCode, literal: "What did we do so far?", whole: true, answer: true, first: true, opens: true,
	},
	{
		id: "pi/continued", agent: Pi, opens: true,
		literal: "The conversation history before this point was compacted into the following summary:",
	},
	{
		id: "cline/continued", agent: Cline, protocol: holdfast.Chat, literal: "Context summary:", opens: true,
	},
}

// Confirmed is the row of a summary that comes back bare in the user's role, and
// is told by the text that the harness puts into the assistant's mouth behind it
// (qwen-code, gemini-cli).
const Confirmed = "qwen-gemini/continued"

// Confirms reports whether an assistant's text says that the user text before it
// is a summary. It counts only where no person's text stands before that one. agent is
// the one that the request names, "" for none.
func Confirms(agent, answer string) bool {
	return (ofAgent(Qwen, agent) || ofAgent(Gemini, agent)) && strings.TrimSpace(answer) == "Got it. Thanks for the additional context!"
}

// Returned tells how a summary came back in a user text.
type Returned struct {
	Row string
	// InAnswer: the summary is the assistant's text that follows.
	InAnswer bool
	// First: of several in one history the first opens the epoch, not the last.
	First bool
}

// Weighed reports whether the agent of a compaction row compares the history
// behind the summary with the one before it, by its length, and refuses to make
// it longer (gemini-cli).
func Weighed(row string) bool { return strings.HasPrefix(row, "gemini-cli/") }

// Continuation reports whether a user text is, or announces, a summary that came
// back. agent is the one that the request names, "" for none: what another agent
// writes is a person's text there. opens tells that no person's text stands before it.
func Continuation(p holdfast.Protocol, agent, text string, opens bool) (Returned, bool) {
	for _, c := range continuations {
		if (c.protocol == "" || c.protocol == p) && ofAgent(c.agent, agent) && (opens || !c.opens) && strings.HasPrefix(text, c.literal) &&
			(!c.whole || strings.TrimSpace(text) == c.literal) {
			return Returned{Row: c.id, InAnswer: c.answer, First: c.first}, true
		}
	}
	return Returned{}, false
}

// ofAgent reports whether a row of an agent may count in a request that names one.
func ofAgent(row, named string) bool { return row == "" || named == "" || row == named }

// SumsUpAll reports whether a compaction request by that row holds all of the history
// as it stands. What its branch has beyond was taken back then, unless the history that
// follows has it behind the summary (claude-code's "Summarize up to here").
func SumsUpAll(row string) bool {
	return slices.ContainsFunc(compactions, func(r Row) bool { return r.ID == row && r.whole })
}

// KeepsUserMessages reports whether the agent itself keeps all messages of the
// user behind a compaction, by the row of the compaction or of the summary that
// came back. Their words need no second copy then.
func KeepsUserMessages(row string) bool {
	return strings.HasPrefix(row, "codex/") || row == OpaqueContinuation
}

// OpaqueContinuation is the row id of a provider's opaque summary item.
const OpaqueContinuation = "responses/compaction-item"

// CompactionBlock is the row id of a summary that the provider made as a block of an
// assistant message. It stands before all that it left, or where the provider made it,
// and what stands before it counts no more.
const CompactionBlock = "anthropic/compaction-block"

// labels begin the pieces of a history in words (opencode, pi, cline).
var labels = []struct{ label, role string }{
	{"[User]: ", "user"},
	{"[Assistant]: ", "assistant"},
	{"[Bot]: ", "assistant"},
	{"[Assistant tool call", ""},
	{"[Bot tool call", ""},
	{"[Assistant thinking]: ", ""},
	{"[Assistant reasoning]: ", ""},
	{"[Tool ", ""},
}

// Quoted is a piece of a history that a compaction request holds in words.
type Quoted struct {
	User bool // else the model's
	Text string
}

// Quotes reads the history that a compaction prompt holds in words; nil when it
// is another prompt. What tools said is left out.
func Quotes(prompt string) (pieces []Quoted) {
	body := ""
	for _, r := range compactions {
		if r.quotes != "" && r.isMarker(prompt) {
			_, body, _ = strings.Cut(prompt, r.quotes)
		}
	}
	if end := strings.LastIndex(body, "</conversation>"); end >= 0 {
		body = body[:end]
	}
	role, from := "", 0
	flush := func(to int) {
		if role != "" {
			text := strings.TrimSpace(body[from:to])
			if role == "user" {
				text = UserText(text)
			}
			pieces = append(pieces, Quoted{User: role == "user", Text: text})
		}
	}
	for at := 0; at < len(body); {
		if at == 0 || body[at-1] == '\n' {
			for _, l := range labels {
				if strings.HasPrefix(body[at:], l.label) {
					flush(at)
					role, from = l.role, at+len(l.label)
					break
				}
			}
		}
		next := strings.IndexByte(body[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	flush(len(body))
	return pieces
}

// QuotedResult finds, in a prompt that holds a history in words, what a call
// returned that went out with these arguments: the newest such call. Only
// opencode writes the arguments out as they were. ok is false when the prompt
// does not hold the call with a result; the result has no call id.
func QuotedResult(prompt, tool, args string) (result holdfast.ToolResult, ok bool) {
	const before = "\n[Assistant tool call]: "
	if end := strings.LastIndex(prompt, "</conversation>"); end >= 0 {
		prompt = prompt[:end]
	}
	call := before + tool + "(" + args + ")"
	at := strings.LastIndex(prompt, call+"\n")
	if at < 0 {
		return holdfast.ToolResult{}, false
	}
	text, ok := strings.CutPrefix(prompt[at+len(call):], "\n[Tool result]: ")
	if !ok {
		if text, ok = strings.CutPrefix(text, "\n[Tool error]: "); !ok {
			return holdfast.ToolResult{}, false
		}
		result.IsError = true
	}
	for _, next := range []string{before, "\n\n[Assistant]: ", "\n\n[User]: "} {
		text, _, _ = strings.Cut(text, next)
	}
	result.Text = strings.TrimSpace(text)
	return result, true
}
