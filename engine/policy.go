package engine

import (
	"sync"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/continuity"
)

// Settings are what holds for the sessions of one caller with one agent.
type Settings struct {
	// Enabled is false where requests pass as they are: nothing is read of them
	// but whose they are, nothing is kept, and a block is no longer delivered.
	Enabled          bool
	Preserve         continuity.Preserve
	MaxCapsuleTokens int
	UserWordsTokens  int // share of the user's words in it
	CopyOnFork       bool
	Extract          bool // semantic extraction, where the engine has an Extractor
	// Terms are the same as a person is told of them, for the audit; none: nothing
	// is noted.
	Terms []Term
}

// Term is one of the settings in words.
type Term struct {
	Key string
	// Value is what holds, Global what holds for all sessions.
	Value, Global string
	// Policy is the name of the session policy that sets it; "": none does.
	Policy string
}

// policies keeps what holds by caller and agent, so that a request costs a
// look-up. None of these is text that a client makes up: keys tell callers, and
// agents are those of the table.
type policies struct {
	resolve func(holdfast.Caller, string) Settings

	mu    sync.RWMutex
	known map[who]*Settings
}

type who struct {
	holdfast.Caller
	agent string
}

// maxKnown bounds what is kept; it only saves time.
const maxKnown = 4096

func newPolicies(cfg Config) *policies {
	p := &policies{resolve: cfg.Policy, known: map[who]*Settings{}}
	if p.resolve == nil {
		all := Settings{
			Enabled: true, Preserve: cfg.Preserve, MaxCapsuleTokens: cfg.MaxCapsuleTokens,
			UserWordsTokens: cfg.UserWordsTokens, CopyOnFork: cfg.CopyOnFork, Extract: true,
		}
		p.resolve = func(holdfast.Caller, string) Settings { return all }
	}
	return p
}

// of is what holds for a caller's sessions with an agent. The same one is
// returned as long as it is kept; it is read only.
func (p *policies) of(c holdfast.Caller, agent string) *Settings {
	at := who{c, agent}
	p.mu.RLock()
	set := p.known[at]
	p.mu.RUnlock()
	if set != nil {
		return set
	}
	fresh := p.resolve(c, agent)
	p.mu.Lock()
	defer p.mu.Unlock()
	if set = p.known[at]; set == nil {
		if len(p.known) >= maxKnown {
			clear(p.known)
		}
		set = &fresh
		p.known[at] = set
	}
	return set
}
