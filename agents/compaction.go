package agents

import (
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
}

// compactions are the rows for the request itself, in the order of their trust.
var compactions = []Row{
	{
		ID: "claude-code/compact", Agent: ClaudeCode, Protocol: holdfast.Anthropic, Summary: holdfast.PlainSummary,
		Versions: []string{"2.1.197", "2.1.332"}, Fixture: "claude-code-2.1.197/task-tools",
		place:   lastUserText,
		literal: "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.",
		also:    "an <analysis> block followed by a <summary> block",
	},
	{
		ID: "codex/local", Agent: Codex, Protocol: holdfast.Responses, Summary: holdfast.PlainSummary,
		Versions: []string{"0.171.0"}, Fixture: "codex-0.171.0/local-compact",
		place: turnMetadata, literal: "responses",
	},
	{
		ID: "codex/local-prompt", Agent: Codex, Protocol: holdfast.Responses, Summary: holdfast.PlainSummary,
		Versions: []string{"0.171.0"}, Fixture: "codex-0.171.0/local-compact",
		place: lastUserText, literal: "You are performing a CONTEXT CHECKPOINT COMPACTION.", noTools: true,
	},
	{
		ID: "codex/remote", Agent: Codex, Protocol: holdfast.Responses, Summary: holdfast.OpaqueSummary,
		Versions: []string{"0.171.0"}, Fixture: "codex-0.171.0/remote-compact",
		place: lastItemTrigger,
	},
	{
		ID: "responses/compact-endpoint", Agent: "", Protocol: holdfast.Responses, Summary: holdfast.OpaqueSummary,
		place: endpoint, literal: "/responses/compact",
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

// continuations are the literals with which a summary comes back in the user's
// role, in a text of its own. A history may begin with one (after a compaction
// of all that was before), or hold it behind what was kept verbatim (codex; in
// claude-code "summarize from here"). The last one opens the epoch.
var continuations = []struct {
	id, agent string
	protocol  holdfast.Protocol
	literal   string
}{
	{
		id: "claude-code/continued", agent: ClaudeCode, protocol: holdfast.Anthropic,
		literal: "This session is being continued from a previous conversation that ran out of context.",
	},
	{
		id: "codex/continued", agent: Codex, protocol: holdfast.Responses,
		literal: "Another language model started to solve this problem",
	},
}

// KeepsUserMessages reports whether the agent itself keeps all messages of the
// user behind a compaction, by the row of the compaction or of the summary that
// came back. Their words need no second copy then.
func KeepsUserMessages(row string) bool {
	return strings.HasPrefix(row, "codex/") || row == OpaqueContinuation
}

// Continuation reports whether a user text is a summary that came back, and by
// which row.
func Continuation(p holdfast.Protocol, text string) (row string, ok bool) {
	for _, c := range continuations {
		if c.protocol == p && strings.HasPrefix(text, c.literal) {
			return c.id, true
		}
	}
	return "", false
}

// OpaqueContinuation is the row id of a provider's opaque summary item.
const OpaqueContinuation = "responses/compaction-item"
