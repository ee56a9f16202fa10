package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Compaction is the section conversation.compaction: how the conversations of
// Holdfast itself are compacted.
type Compaction struct {
	// Rules are what a compaction without a rule of its own applies, in order;
	// never empty, and each has a policy.
	Rules     []Rule
	Estimator Estimator
	Auto      Auto
}

// Estimator tells how the tokens of a request are estimated.
type Estimator string

// The estimators.
const (
	EstimateCalibrated Estimator = "calibrated" // characters, by what the provider last counted
	EstimateChars      Estimator = "chars"      // four characters are a token
	EstimateTokenizer  Estimator = "tokenizer"  // a real tokenizer counts
)

// Auto is when a conversation is compacted without being asked.
type Auto struct {
	Enabled bool
	// TriggerRatio is the share of the context window that must be exceeded;
	// above 0, at most 1.
	TriggerRatio float64
	// MinTurns is how many turns a conversation must exceed, 0 to 1,000,000.
	MinTurns int
	// Granularity is what it compacts: whole turns, or any events.
	Granularity Granularity
	// MinGain is the share of the window that a compaction without a summary must
	// free, from 0 (any) to below 1.
	MinGain float64
	Rule    Rule
}

// Granularity tells what automatic compaction compacts.
type Granularity string

// The granularities.
const (
	GranularityTurn  Granularity = "turn"
	GranularityEvent Granularity = "event" // also between two calls of one turn
)

// Rule says which turns a compaction covers, and what it does to them. At least
// one policy is set.
type Rule struct {
	// KeepFirst and KeepLast are what stays at either end.
	KeepFirst, KeepLast Bound
	// KeepLastTokens takes the place of KeepLast with GranularityEvent: how many
	// tokens of the newest events stay, 0 to 100,000,000. 0 for rules that are not
	// automatic.
	KeepLastTokens int
	Reasoning      ReasoningPolicy
	ToolCalls      ToolPolicy
	Summary        *SummaryRule // nil: no summary
}

// ReasoningPolicy is what a rule does to the model's reasoning.
type ReasoningPolicy string

// The policies for reasoning.
const (
	KeepReasoning  ReasoningPolicy = "keep" // the rule has no say in it
	StripReasoning ReasoningPolicy = "strip"
)

// ToolPolicy is what a rule does to tool calls and their results.
type ToolPolicy string

// The policies for tool calls.
const (
	KeepTools      ToolPolicy = "keep"  // the rule has no say in them
	StripTools     ToolPolicy = "strip" // arguments and contents of results
	StripRequests  ToolPolicy = "strip-requests"
	StripResponses ToolPolicy = "strip-responses"
	OmitTools      ToolPolicy = "omit" // calls and results, as a whole
)

// SummaryRule says how a summary is made. An empty text is the default of what
// makes it.
type SummaryRule struct {
	Instructions string // the system text
	Context      string // what the summarizer is told beside the turns
	Model        string // that of the conversation when empty
}

// Bound is how much stays at one end of a conversation.
type Bound struct {
	Kind BoundKind
	// N is a count of turns (BoundTurns, 0 to 1,000,000,000) or the position of a
	// turn (BoundPosition, from 1); 0 for the others.
	N int
	// Age is above 0 for BoundAge, and 0 for the others.
	Age time.Duration
}

// BoundKind tells how a Bound is meant.
type BoundKind string

// The kinds of bounds.
const (
	BoundTurns          BoundKind = "turns"           // so many turns
	BoundAge            BoundKind = "age"             // the turns of so much time
	BoundPosition       BoundKind = "position"        // up to a turn by its number
	BoundLastCompaction BoundKind = "last-compaction" // up to the turn after the furthest compacted one
)

const maxTurns = 1_000_000_000

// String is the bound as it stands in a file: a number without quotes, or a text.
func (b Bound) String() string {
	switch b.Kind {
	case BoundTurns:
		return strconv.Itoa(b.N)
	case BoundAge:
		return durationText(b.Age)
	case BoundPosition:
		return "@" + strconv.Itoa(b.N)
	}
	return string(b.Kind)
}

func parseBound(in any) (Bound, bool) {
	switch v := in.(type) {
	case int64:
		return Bound{Kind: BoundTurns, N: int(v)}, v >= 0 && v <= maxTurns
	case string:
		if v == string(BoundLastCompaction) {
			return Bound{Kind: BoundLastCompaction}, true
		}
		if position, ok := strings.CutPrefix(v, "@"); ok {
			n, err := strconv.ParseUint(position, 10, 31)
			return Bound{Kind: BoundPosition, N: int(n)}, err == nil && n >= 1 && n <= maxTurns
		}
		age, err := time.ParseDuration(v)
		return Bound{Kind: BoundAge, Age: age}, err == nil && age > 0
	}
	return Bound{}, false
}

// mechanical is the rule that holds where none is configured, and what a
// partly given automatic rule is completed by.
func mechanical() Rule {
	return Rule{
		KeepFirst: Bound{Kind: BoundTurns, N: 1},
		KeepLast:  Bound{Kind: BoundTurns, N: 3},
		Reasoning: StripReasoning,
		ToolCalls: StripTools,
	}
}

// automatic is the automatic rule where none is configured.
func automatic() Rule {
	r := mechanical()
	r.KeepLastTokens = 10_000
	return r
}

// ruleFile mirrors an element of the rules.
type ruleFile struct {
	Strategy *string `toml:"strategy"`
	policyFile
}

// autoRuleFile mirrors the automatic rule.
type autoRuleFile struct {
	policyFile
	KeepLastTokens *int `toml:"keep_last_tokens"`
}

// policyFile mirrors what a listed rule and the automatic one have in common.
type policyFile struct {
	KeepFirst any     `toml:"keep_first"` // a number or a text
	KeepLast  any     `toml:"keep_last"`
	Reasoning *string `toml:"reasoning"`
	ToolCalls *string `toml:"tool_calls"`
	Summary   struct {
		Instructions *string `toml:"instructions"`
		Context      *string `toml:"context"`
		Model        *string `toml:"model"`
	} `toml:"summary"`
}

const (
	compactionKey = "conversation.compaction"
	rulesKey      = compactionKey + ".rules"
	autoKey       = compactionKey + ".auto"
	summaryPart   = ".summary" // of the key of a rule
)

func (r *reader) compaction(f file, c *Compaction) error {
	in := f.Conversation.Compaction
	if len(in.Rules) > 0 {
		c.Rules = nil
	}
	for i, row := range in.Rules {
		// A listed rule does only what it says.
		rule := mechanical()
		rule.Reasoning, rule.ToolCalls = KeepReasoning, KeepTools
		key := element(rulesKey, i)
		if err := r.rule(key, row.policyFile, &rule); err != nil {
			return err
		}
		if !rule.hasPolicy() {
			return r.fail(r.places[key], "this rule of %s has no policy. Add reasoning, tool_calls or summary", rulesKey)
		}
		c.Rules = append(c.Rules, rule)
	}
	if err := choose(r, compactionKey+".estimator", in.Estimator, &c.Estimator); err != nil {
		return err
	}
	return r.auto(f, &c.Auto)
}

func (r *reader) auto(f file, a *Auto) error {
	in := f.Conversation.Compaction.Auto
	set(&a.Enabled, in.Enabled)
	if set(&a.TriggerRatio, in.TriggerRatio); !(a.TriggerRatio > 0 && a.TriggerRatio <= 1) {
		return r.at(autoKey+".trigger_ratio", "must be above 0 and at most 1")
	}
	if err := r.whole(autoKey+".min_turns", in.MinTurns, &a.MinTurns); err != nil {
		return err
	}
	if set(&a.MinGain, in.MinGain); !(a.MinGain >= 0 && a.MinGain < 1) {
		return r.at(autoKey+".min_gain", "must be at least 0 and below 1")
	}
	if err := choose(r, autoKey+".granularity", in.Granularity, &a.Granularity); err != nil {
		return err
	}
	const key = autoKey + ".rule"
	if err := r.rule(key, in.Rule.policyFile, &a.Rule); err != nil {
		return err
	}
	if err := r.whole(key+".keep_last_tokens", in.Rule.KeepLastTokens, &a.Rule.KeepLastTokens); err != nil {
		return err
	}
	if !a.Rule.hasPolicy() {
		return r.at(key, "turns every policy off. Write enabled = false in [%s] instead, or add a summary", autoKey)
	}
	return nil
}

// rule puts what is given in the place of what out has.
func (r *reader) rule(key string, in policyFile, out *Rule) error {
	for _, b := range []struct {
		name string
		in   any
		out  *Bound
	}{{".keep_first", in.KeepFirst, &out.KeepFirst}, {".keep_last", in.KeepLast, &out.KeepLast}} {
		if !r.has(key + b.name) {
			continue
		}
		bound, ok := parseBound(b.in)
		if !ok {
			return r.at(key+b.name, "must be %s", r.form(key+b.name))
		}
		*b.out = bound
	}
	if err := choose(r, key+".reasoning", in.Reasoning, &out.Reasoning); err != nil {
		return err
	}
	if err := choose(r, key+".tool_calls", in.ToolCalls, &out.ToolCalls); err != nil {
		return err
	}
	key += summaryPart
	if !r.has(key) {
		return nil
	}
	out.Summary = &SummaryRule{}
	for _, t := range []struct {
		name string
		in   *string
		out  *string
	}{
		{".instructions", in.Summary.Instructions, &out.Summary.Instructions},
		{".context", in.Summary.Context, &out.Summary.Context},
		{".model", in.Summary.Model, &out.Summary.Model},
	} {
		if set(t.out, t.in); r.has(key+t.name) && strings.TrimSpace(*t.out) == "" {
			return r.at(key+t.name, "is empty and has no effect. Remove it, or write a text")
		}
	}
	return nil
}

func (r Rule) hasPolicy() bool {
	return r.Reasoning != KeepReasoning || r.ToolCalls != KeepTools || r.Summary != nil
}

// element is the key of an element of a list.
func element(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }
