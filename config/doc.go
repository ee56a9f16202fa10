// Package config merges the layers of the configuration, strictly.
//
// The layers, where what a later one says stands: what is built in, the user's
// file, the workspace's file, the environment, the conversation, the file that
// --config names, and each --set. Laws:
//   - Keys are merged one by one. Four lists are not plain values: [[upstream]],
//     [[session_policy]] and [[budget]] replace the list before them as a whole, and the rules of
//     [[conversation.compaction.rules]] go behind those of earlier layers, unless
//     the first of them is { strategy = "replace" }. Built-in rules hold only
//     where no layer has one.
//   - Every key has a consumer, and a value that could have no effect is
//     refused: a setting is in force, overruled by a later layer, or an error,
//     never ignored. Only [conversation.compaction.auto] and a server of [mcp] may
//     stand prepared while off.
//   - An error names the layer, in a file the line, and the key, and says what to
//     write instead; an unknown key also shows its line and the nearest known
//     key. One table, keys, is the source of those texts and of the schema.
//   - A session policy sets keys of compaction_continuity for some sessions, save
//     ttl, since the sweep of old sessions goes by one age. It stands above what
//     holds for all, whatever layer that is from; of several that match, each key is
//     from the last one that sets it. What a client says of itself, the agent's
//     name, may alone turn off what is kept and not on.
//   - Secrets never stand in a layer. A credential is a reference, and no
//     error repeats a value that may be one.
//   - What decides what is run or erased, or may spend money or send data elsewhere
//     (the table guarded) is refused in the file of a workspace, which may come from others, until a person has
//     trusted its very bytes, and in a conversation always: it can be imported.
//
// The room is a large one because each key needs five things here: a type, a
// check, the texts of its errors, a place in what is shown, and a schema.
//
// What is stored: the paths and digests of trusted workspace files, in
// trusted.json of the data directory, until they are removed.
package config

import (
	"net/url"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Config is a whole configuration. Values from Default, Merge and Load are
// complete and in range.
type Config struct {
	// Upstreams are in order of precedence, with unique names; never empty.
	Upstreams  []Upstream
	Limits     Limits
	Continuity Continuity
	// Policies are what holds for some sessions in place of Continuity, in order;
	// their names are unique. nil for none.
	Policies []SessionPolicy
	// Budgets are what callers may spend, with unique names; nil for none.
	Budgets     []Budget
	Transcripts Transcripts
	Usage       Usage
	Compaction  Compaction
	Query       Query
	Tools       Tools
	// MCP are the servers of the Model Context Protocol by their names, 1 to 32
	// characters of a-z, 0-9, dash and underscore; nil for none.
	MCP map[string]MCPServer
	// Models are what is told of models, by the name that requests use; nil
	// where nothing is told.
	Models map[string]Model
}

// Upstream is one provider that calls can go to.
type Upstream struct {
	// Name is 1 to 64 characters of a-z, 0-9, dot, dash and underscore.
	Name     string
	Protocol holdfast.Protocol
	// BaseURL is what the provider's own SDK takes; http or https, without
	// credentials, query, fragment or a slash at the end.
	BaseURL *url.URL
	// APIKey tells where the credential is; "" forwards the client's own.
	APIKey SecretRef
	// Models are patterns in which * stands for any text; none means all.
	Models []string
}

// Limits protect the machine. Both are in bytes.
type Limits struct {
	Body     int64 // of one request, 64 KiB to 2 GiB
	InFlight int64 // of all requests that are held at once, Body to 64 GiB
}

// ForkMode tells what a branch that leaves another one starts with.
type ForkMode string

// The modes.
const (
	ForkCopy  ForkMode = "copy"  // the capsule as it was at that point
	ForkEmpty ForkMode = "empty" // nothing
)

// Continuity is the section compaction_continuity.
type Continuity struct {
	Enabled bool
	// MaxCapsuleTokens bounds the block that a model receives, 200 to 20000.
	MaxCapsuleTokens int
	// UserWordsTokens is the share of the user's own words in it, 50 to
	// MaxCapsuleTokens.
	UserWordsTokens int
	// TTL is how long a session is kept after its last use, 1 hour to 10 years.
	TTL       time.Duration
	Fork      ForkMode
	Preserve  Preserve
	Extractor Extractor
}

// Preserve tells what a capsule keeps. With Continuity enabled at least one but
// Rationale is true.
type Preserve struct {
	Plan                 bool
	UserDecisions        bool
	Constraints          bool
	Rationale            bool // the reasons of decisions and rejected alternatives
	RejectedAlternatives bool
	OpenQuestions        bool
	Facts                bool
	UserWords            bool
}

// nothing reports whether a capsule would stay empty: reasons hang on what they
// are reasons for.
func (p Preserve) nothing() bool {
	p.Rationale = false
	return p == (Preserve{})
}

// Transcripts is the section transcripts.
type Transcripts struct {
	// Enabled keeps what passes through the proxy of enabled sessions, as
	// conversations; false where no session can be enabled.
	Enabled bool
	// TTL is how long a recorded conversation is kept after its last use, 1 hour
	// to 10 years, also where Enabled is false by now; 0: as long as its session.
	TTL time.Duration
}

// Usage is the section usage.
type Usage struct {
	// TTL is how long the record of a call is kept, 1 hour to 10 years.
	TTL time.Duration
}

// Default is what is built in: the four public providers, no transcripts.
func Default() Config {
	return Config{
		Upstreams: []Upstream{
			public("anthropic", holdfast.Anthropic, "api.anthropic.com", ""),
			public("openai", holdfast.Responses, "api.openai.com", "/v1"),
			public("openai-chat", holdfast.Chat, "api.openai.com", "/v1"),
			public("gemini", holdfast.Gemini, "generativelanguage.googleapis.com", ""),
		},
		Limits: Limits{Body: 64 << 20, InFlight: 512 << 20},
		Continuity: Continuity{
			Enabled:          true,
			MaxCapsuleTokens: 2500,
			UserWordsTokens:  1000,
			TTL:              720 * time.Hour,
			Fork:             ForkCopy,
			Preserve: Preserve{
				Plan: true, UserDecisions: true, Constraints: true, Rationale: true, RejectedAlternatives: true, OpenQuestions: true, Facts: true, UserWords: true,
			},
			Extractor: defaultExtractor(),
		},
		Usage: Usage{TTL: 8760 * time.Hour},
		Compaction: Compaction{
			Rules:     []Rule{mechanical()},
			Estimator: EstimateCalibrated,
			Auto:      Auto{TriggerRatio: 0.75, MinTurns: 5, Granularity: GranularityTurn, MinGain: 0.02, Rule: automatic()},
		},
		Query: Query{MaxCalls: 50, Titles: true, ToolTimeout: time.Minute, MaxResult: 30_000},
		Tools: Tools{Allow: []string{"fs_*", "update_plan"}, Files: true},
	}
}

func public(name string, p holdfast.Protocol, host, path string) Upstream {
	return Upstream{Name: name, Protocol: p, BaseURL: &url.URL{Scheme: "https", Host: host, Path: path}}
}
