// Package config reads the configuration file: one TOML file, strictly.
//
// Nothing is stored here. Laws:
//   - Every key has a consumer, and a value that could have no effect is
//     refused: a setting is either in force or an error, never ignored.
//   - An error names the file, the line and the key, and says what to write
//     instead; an unknown key also shows its line and the nearest known key.
//   - Secrets never stand in the file. A credential is a reference, and no
//     error repeats a value that may be one.
//   - What the file leaves out is as in Default. An [[upstream]] list replaces
//     the default list as a whole.
package config

import (
	"net/url"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// Config is a whole configuration. Values from Default, Parse and Load are
// complete and in range.
type Config struct {
	// Upstreams are in order of precedence, with unique names; never empty.
	Upstreams  []Upstream
	Limits     Limits
	Continuity Continuity
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
	TTL      time.Duration
	Fork     ForkMode
	Preserve Preserve
}

// Preserve tells what a capsule keeps. With Continuity enabled at least one is
// true.
type Preserve struct {
	Plan          bool
	UserDecisions bool
	UserWords     bool
}

// Default is the configuration without a file: the four public providers.
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
			Preserve:         Preserve{Plan: true, UserDecisions: true, UserWords: true},
		},
	}
}

func public(name string, p holdfast.Protocol, host, path string) Upstream {
	return Upstream{Name: name, Protocol: p, BaseURL: &url.URL{Scheme: "https", Host: host, Path: path}}
}
