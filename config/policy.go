package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// SessionPolicy sets keys of compaction_continuity for some sessions. The keys
// that it may set are those of policyFields; ttl is none of them, since the sweep
// goes by one age. What is nil stays as it is.
type SessionPolicy struct {
	// Name is what it is called, 1 to 64 characters of a-z, 0-9, dot, dash and
	// underscore and unique; its place among the policies, such as #2, where it was
	// given none.
	Name string
	// Principal and Label are patterns of whose the key of a request is, and of
	// what it is called; Agent is one of the agent's name. * stands for any text; ""
	// for all. At least one is given.
	Principal, Label, Agent string

	Enabled          *bool
	MaxCapsuleTokens *int
	UserWordsTokens  *int
	Fork             *ForkMode
	Preserve         PreservePolicy
	Extractor        *bool // whether the extractor reads them
}

// PreservePolicy is what a policy says of Preserve.
type PreservePolicy struct {
	Plan                 *bool
	UserDecisions        *bool
	Constraints          *bool
	Rationale            *bool
	RejectedAlternatives *bool
	OpenQuestions        *bool
	Facts                *bool
	UserWords            *bool
}

// InForce is what holds for the sessions of one caller and agent.
type InForce struct {
	Continuity
	// Terms are all keys that a policy may set, in the order of a file; of sessions
	// that are not enabled only that key.
	Terms []Term
}

// Term is one key that is in force, named as in a policy.
type Term struct {
	Key string
	// Value is what holds, Global what would without policies, as they are written
	// in a file.
	Value, Global string
	// Policy is the name of the policy that Value is from; "": of none.
	Policy string
}

// ContinuityRuns reports whether any session can be enabled.
func (c *Config) ContinuityRuns() bool { return c.Continuity.Enabled || anyEnables(c.Policies) }

func anyEnables(policies []SessionPolicy) bool {
	return slices.ContainsFunc(policies, func(p SessionPolicy) bool { return p.Enabled != nil && *p.Enabled })
}

// words reports whether the user's words of any session can be kept.
func words(c Continuity, policies []SessionPolicy) bool {
	return c.Preserve.UserWords || slices.ContainsFunc(policies, func(p SessionPolicy) bool {
		return p.Preserve.UserWords != nil && *p.Preserve.UserWords
	})
}

// ForSession is what holds for a caller's sessions with an agent: of the policies
// that match, the last one that sets a key, else what holds for all. Agent is a
// name of the agents table; "" for one that is not known.
func (c *Config) ForSession(caller holdfast.Caller, agent string) InForce {
	return inForce(c.Continuity, c.Policies, func(p *SessionPolicy) bool {
		return matches(p.Principal, string(caller.Principal)) && matches(p.Label, caller.Label) && p.MatchesAgent(agent)
	})
}

func inForce(global Continuity, policies []SessionPolicy, matches func(*SessionPolicy) bool) InForce {
	c, from := applied(global, policies, matches)
	if c.UserWordsTokens > c.MaxCapsuleTokens {
		c.UserWordsTokens, from[wordsField] = c.MaxCapsuleTokens, from[sizeField]
	}
	if c.Preserve.nothing() {
		c.Enabled = false // nothing is left to do
	}
	f := InForce{Continuity: c}
	for _, k := range policyFields {
		if !c.Enabled && k.name != enabledField {
			continue
		}
		term := Term{Key: k.name, Value: k.text(&c), Global: k.text(&global)}
		if i, ok := from[k.name]; ok {
			term.Policy = policies[i].Name
		}
		f.Terms = append(f.Terms, term)
	}
	return f
}

// applied puts what some policies set over what holds for all, and tells by the
// names of the keys which policy set each.
func applied(global Continuity, policies []SessionPolicy, matches func(*SessionPolicy) bool) (c Continuity, from map[string]int) {
	c, from = global, map[string]int{}
	for i := range policies {
		if !matches(&policies[i]) {
			continue
		}
		for _, k := range policyFields {
			if k.apply(&policies[i], &c) {
				from[k.name] = i
			}
		}
	}
	return c, from
}

const (
	enabledField = "enabled"
	sizeField    = "max_capsule_tokens"
	wordsField   = "user_words_tokens"
)

// policyField is one key that a policy may set.
type policyField struct {
	name string
	// apply puts what a policy sets into c; false: it sets nothing.
	apply func(p *SessionPolicy, c *Continuity) bool
	// text is the value as it is written in a file, without quotes.
	text func(c *Continuity) string
	// value is what a policy sets, as node has it; nil: nothing.
	value func(p *SessionPolicy) any
	// keeps tells that it decides whether something is kept at all. What a client
	// says of itself may turn such a key off and not on.
	keeps bool
}

// policyFields are all keys that a policy may set, in the order of a file. What is
// shown, audited and checked goes by this table; a key that comes here also
// needs its place in SessionPolicy, sessionPolicyFile and sessionPolicyKeys.
var policyFields = []policyField{
	field(enabledField, true, func(p *SessionPolicy) *bool { return p.Enabled }, func(c *Continuity) *bool { return &c.Enabled }),
	field(sizeField, false, func(p *SessionPolicy) *int { return p.MaxCapsuleTokens }, func(c *Continuity) *int { return &c.MaxCapsuleTokens }),
	field(wordsField, false, func(p *SessionPolicy) *int { return p.UserWordsTokens }, func(c *Continuity) *int { return &c.UserWordsTokens }),
	field("fork", false, func(p *SessionPolicy) *ForkMode { return p.Fork }, func(c *Continuity) *ForkMode { return &c.Fork }),
	field("preserve.plan", true, func(p *SessionPolicy) *bool { return p.Preserve.Plan }, func(c *Continuity) *bool { return &c.Preserve.Plan }),
	field("preserve.user_decisions", true, func(p *SessionPolicy) *bool { return p.Preserve.UserDecisions }, func(c *Continuity) *bool { return &c.Preserve.UserDecisions }),
	field("preserve.constraints", true, func(p *SessionPolicy) *bool { return p.Preserve.Constraints }, func(c *Continuity) *bool { return &c.Preserve.Constraints }),
	field("preserve.rationale", true, func(p *SessionPolicy) *bool { return p.Preserve.Rationale }, func(c *Continuity) *bool { return &c.Preserve.Rationale }),
	field("preserve.rejected_alternatives", true, func(p *SessionPolicy) *bool { return p.Preserve.RejectedAlternatives }, func(c *Continuity) *bool { return &c.Preserve.RejectedAlternatives }),
	field("preserve.open_questions", true, func(p *SessionPolicy) *bool { return p.Preserve.OpenQuestions }, func(c *Continuity) *bool { return &c.Preserve.OpenQuestions }),
	field("preserve.facts", true, func(p *SessionPolicy) *bool { return p.Preserve.Facts }, func(c *Continuity) *bool { return &c.Preserve.Facts }),
	field("preserve.user_words", true, func(p *SessionPolicy) *bool { return p.Preserve.UserWords }, func(c *Continuity) *bool { return &c.Preserve.UserWords }),
	field("extractor.enabled", true, func(p *SessionPolicy) *bool { return p.Extractor }, func(c *Continuity) *bool { return &c.Extractor.Enabled }),
}

func field[T any](name string, keeps bool, in func(*SessionPolicy) *T, of func(*Continuity) *T) policyField {
	return policyField{
		name: name, keeps: keeps,
		apply: func(p *SessionPolicy, c *Continuity) bool {
			set(of(c), in(p))
			return in(p) != nil
		},
		text: func(c *Continuity) string { return fmt.Sprint(*of(c)) },
		value: func(p *SessionPolicy) any {
			v := in(p)
			if v == nil {
				return nil
			}
			if mode, ok := any(*v).(ForkMode); ok {
				return string(mode)
			}
			return *v
		},
	}
}

// matches reports whether a text is of a pattern; "" is the pattern of all.
func matches(pattern, text string) bool { return pattern == "" || holdfast.Matches(pattern, text) }

// meet reports whether some text is of both patterns. Time is the product of both
// lengths.
func meet(p, q string) bool {
	if p == "" || q == "" {
		return true
	}
	// row tells of each end of q whether it meets what stands behind i in p.
	row := make([]bool, len(q)+1)
	row[len(q)] = true
	for j := len(q) - 1; j >= 0; j-- {
		row[j] = q[j] == '*' && row[j+1]
	}
	for i := len(p) - 1; i >= 0; i-- {
		behind := row[len(q)] // of the row below, one to the right
		row[len(q)] = p[i] == '*' && behind
		for j := len(q) - 1; j >= 0; j-- {
			below := row[j]
			if p[i] == '*' || q[j] == '*' {
				row[j] = below || row[j+1]
			} else {
				row[j] = p[i] == q[j] && behind
			}
			behind = below
		}
	}
	return row[0]
}

// MatchesAgent reports whether the policy can hold for an agent.
func (p SessionPolicy) MatchesAgent(agent string) bool { return matches(p.Agent, agent) }

// overlaps reports whether one session can match both policies.
func (p *SessionPolicy) overlaps(q *SessionPolicy) bool {
	return meet(p.Principal, q.Principal) && meet(p.Label, q.Label) && meet(p.Agent, q.Agent)
}

// covers reports whether each session that matches q surely matches p.
func (p *SessionPolicy) covers(q *SessionPolicy) bool {
	// Only * of the one matches * of the other.
	one := func(p, q string) bool { return p == "" || q != "" && holdfast.Matches(p, q) }
	return one(p.Principal, q.Principal) && one(p.Label, q.Label) && one(p.Agent, q.Agent)
}

// byAgentAlone reports whether only what a client says of itself selects it.
func (p *SessionPolicy) byAgentAlone() bool { return p.Principal == "" && p.Label == "" }

// preserveFile mirrors what a section or a policy says of Preserve.
type preserveFile struct {
	Plan                 *bool `toml:"plan"`
	UserDecisions        *bool `toml:"user_decisions"`
	Constraints          *bool `toml:"constraints"`
	Rationale            *bool `toml:"rationale"`
	RejectedAlternatives *bool `toml:"rejected_alternatives"`
	OpenQuestions        *bool `toml:"open_questions"`
	Facts                *bool `toml:"facts"`
	UserWords            *bool `toml:"user_words"`
}

// sessionPolicyFile mirrors an element of session_policy.
type sessionPolicyFile struct {
	Name      *string `toml:"name"`
	Principal *string `toml:"principal"`
	Label     *string `toml:"label"`
	Agent     *string `toml:"agent"`

	Enabled          *bool        `toml:"enabled"`
	MaxCapsuleTokens *int         `toml:"max_capsule_tokens"`
	UserWordsTokens  *int         `toml:"user_words_tokens"`
	Fork             *string      `toml:"fork"`
	Preserve         preserveFile `toml:"preserve"`
	Extractor        struct {
		Enabled *bool `toml:"enabled"`
	} `toml:"extractor"`
}

const policyKey, continuityKey = "session_policy", "compaction_continuity"

// sessionPolicyKeys are the keys of a policy.
func sessionPolicyKeys() []key {
	return []key{
		{name: policyKey, kind: list, about: "What holds for some sessions in place of compaction_continuity, by whose the key is and which agent. Of several that match, the last one that sets a key; a later layer's list takes the place of the one before."},
		{name: policyKey + ".name", kind: text("nightly", upstreamName.String()), about: "Unique; stands in the audit. Not given: its place, such as #2."},
		{name: policyKey + ".principal", kind: text("ci", ""), about: "Pattern of the principal; * stands for any text. At least one of principal, label and agent is needed, and all that are given must match."},
		{name: policyKey + ".label", kind: text("nightly*", ""), about: "Pattern of the label of the key."},
		{name: policyKey + ".agent", kind: text("codex", ""), about: "Pattern of the agent's name. A client chooses it, so that alone it may turn off what is kept and not on."},
		{name: policyKey + ".enabled", kind: boolean, about: "Off: requests pass as they are."},
		{name: policyKey + ".max_capsule_tokens", kind: whole(2500, 200, 20000), about: "The size of the record that a model receives."},
		{name: policyKey + ".user_words_tokens", kind: whole(1000, 50, 20000), about: "The share of the user's own words in it, at most max_capsule_tokens."},
		{name: policyKey + ".fork", kind: choice(ForkCopy, ForkEmpty), about: "What a fork starts with: the plan as it was, or nothing."},
		{name: policyKey + ".preserve", kind: table, about: "What is kept."},
		{name: policyKey + ".preserve.plan", kind: boolean, about: "The plan and its progress."},
		{name: policyKey + ".preserve.user_decisions", kind: boolean, about: "What was decided."},
		{name: policyKey + ".preserve.constraints", kind: boolean, about: "What the work must keep to."},
		{name: policyKey + ".preserve.rationale", kind: boolean, about: "The reasons of decisions and rejected alternatives."},
		{name: policyKey + ".preserve.rejected_alternatives", kind: boolean, about: "What must not be proposed again."},
		{name: policyKey + ".preserve.open_questions", kind: boolean, about: "Questions and blockers that wait for an answer."},
		{name: policyKey + ".preserve.facts", kind: boolean, about: "Values, places, dead ends and preferences that the work needs."},
		{name: policyKey + ".preserve.user_words", kind: boolean, about: "The user's own words, verbatim."},
		{name: policyKey + ".extractor", kind: table, about: "The extractor."},
		{name: policyKey + ".extractor.enabled", kind: boolean, about: "Read these sessions with it."},
	}
}

// selectors are the keys of a policy that say which sessions it is for.
var selectors = []string{"principal", "label", "agent"}

// policies reads the policies one by one.
func (r *reader) policies(f file) ([]SessionPolicy, error) {
	var list []SessionPolicy
	for i, in := range f.Policies {
		key := element(policyKey, i)
		p := SessionPolicy{
			Name: fmt.Sprint("#", i+1), Enabled: in.Enabled,
			Preserve: PreservePolicy(in.Preserve), Extractor: in.Extractor.Enabled,
		}
		if set(&p.Name, in.Name); in.Name != nil {
			if !upstreamName.MatchString(p.Name) {
				return nil, r.at(key+".name", "must be 1 to 64 characters of a-z, 0-9, dot, dash and underscore")
			}
			for j := range list {
				if list[j].Name == p.Name {
					return nil, r.at(key+".name", "%q is already the name of an earlier policy. Give it another", p.Name)
				}
			}
		}
		for n, s := range []struct{ in, out *string }{{in.Principal, &p.Principal}, {in.Label, &p.Label}, {in.Agent, &p.Agent}} {
			at := key + "." + selectors[n]
			if set(s.out, s.in); s.in != nil && strings.Trim(*s.out, "*") == "" {
				return nil, r.at(at, "= %q does not tell sessions apart. Remove it, or write %s", *s.out, r.form(at))
			}
		}
		if p.Principal+p.Label+p.Agent == "" {
			return nil, r.fail(r.places[key], "this policy is for no sessions. Add principal, label or agent; what is for all stands in [%s]", continuityKey)
		}
		p.MaxCapsuleTokens, p.UserWordsTokens = in.MaxCapsuleTokens, in.UserWordsTokens
		for _, n := range []struct {
			name string
			in   *int
		}{{sizeField, in.MaxCapsuleTokens}, {wordsField, in.UserWordsTokens}} {
			if err := r.whole(key+"."+n.name, n.in, new(int)); err != nil {
				return nil, err
			}
		}
		if in.Fork != nil {
			p.Fork = new(ForkMode)
		}
		if err := choose(r, key+".fork", in.Fork, p.Fork); err != nil {
			return nil, err
		}
		list = append(list, p)
		if err := r.policyActs(key, list); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// policyActs checks that the last policy of a list sets something that holds, and
// takes the effect of no earlier one.
func (r *reader) policyActs(key string, list []SessionPolicy) error {
	last := len(list) - 1
	p, some := &list[last], false
	for _, k := range policyFields {
		if k.value(p) == nil {
			continue
		}
		some = true
		switch {
		case p.Enabled != nil && !*p.Enabled && k.name != enabledField:
			return r.at(key+"."+k.name, "has no effect beside enabled = false. Remove it")
		case k.name == wordsField && p.Preserve.UserWords != nil && !*p.Preserve.UserWords:
			return r.at(key+"."+k.name, "has no effect beside preserve.user_words = false. Remove it")
		}
		for i := range list[:last] {
			if k.value(&list[i]) != nil && p.covers(&list[i]) {
				return r.at(element(policyKey, i)+"."+k.name, "has no effect: policy %s, which comes later, sets it for the same sessions. Move that one up, or remove one", p.Name)
			}
		}
	}
	if !some {
		return r.fail(r.places[key], "this policy sets nothing. Add a key such as enabled = false")
	}
	return nil
}

// policiesFit checks what policies set by what holds for all, and by each other.
func (r *reader) policiesFit(c *Config) error {
	list := c.Policies
	if !c.ContinuityRuns() {
		if len(list) > 0 && !r.overruled(policyKey, continuityKey+".enabled") {
			return r.fail(r.places[element(policyKey, 0)], "this policy has no effect while %s.enabled = false and no policy sets enabled = true", continuityKey)
		}
		c.Policies = nil
		return nil
	}
	for i := range list {
		if err := r.policyFits(i, c); err != nil {
			return err
		}
		for j := range i + 1 {
			if err := r.pairFits(i, j, c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *reader) policyFits(i int, c *Config) error {
	p, key := &c.Policies[i], element(policyKey, i)
	beside := func(sets func(q *SessionPolicy) bool) bool {
		return slices.ContainsFunc(c.Policies, func(q SessionPolicy) bool { return sets(&q) && p.overlaps(&q) })
	}
	on := func(flag *bool) bool { return flag != nil && *flag }
	for _, k := range policyFields {
		v := k.value(p)
		switch {
		case v == nil:
		case k.name != enabledField && !c.Continuity.Enabled && !beside(func(q *SessionPolicy) bool { return on(q.Enabled) }):
			return r.at(key+"."+k.name, "has no effect while enabled = false for these sessions. Remove it, or add enabled = true")
		case k.name == wordsField && !c.Continuity.Preserve.UserWords && !beside(func(q *SessionPolicy) bool { return on(q.Preserve.UserWords) }):
			return r.at(key+"."+k.name, "has no effect while preserve.user_words = false for these sessions. Remove it, or add preserve.user_words = true")
		case k.keeps && v == true && p.byAgentAlone():
			off := k.text(&c.Continuity) == "false"
			for j := range c.Policies[:i] {
				off = off || k.value(&c.Policies[j]) == false && p.overlaps(&c.Policies[j])
			}
			if off {
				return r.at(key+"."+k.name, "= true turns on what is off, and an agent's name is what a client says of itself. Add principal or label")
			}
		}
	}
	return nil
}

// pairFits checks what holds where two policies match, which may be the same
// one, with those that then match for sure.
func (r *reader) pairFits(i, j int, c *Config) error {
	p, q := &c.Policies[i], &c.Policies[j]
	if !p.overlaps(q) {
		return nil
	}
	in, from := applied(c.Continuity, c.Policies, func(o *SessionPolicy) bool { return o.covers(p) || o.covers(q) })
	if !in.Enabled {
		return nil
	}
	if in.Preserve.nothing() {
		return r.fail(r.places[element(policyKey, i)], "this policy leaves nothing that is preserved. Write enabled = false instead")
	}
	// Words that hold for all shrink with the block.
	words, byPolicy := from[wordsField]
	if !byPolicy || in.UserWordsTokens <= in.MaxCapsuleTokens || !in.Preserve.UserWords {
		return nil
	}
	size := continuityKey + "." + sizeField
	if i, ok := from[sizeField]; ok {
		size = element(policyKey, i) + "." + sizeField
	}
	origin := BuiltIn
	if r.has(size) {
		origin = where(r.layers, r.places[size])
	}
	return r.at(element(policyKey, words)+"."+wordsField, "must be at most max_capsule_tokens, which is %d for these sessions (%s)", in.MaxCapsuleTokens, origin)
}

func policiesTree(list []SessionPolicy) *node {
	if len(list) == 0 {
		return nil
	}
	n := &node{name: policyKey, list: true}
	for i := range list {
		p := &list[i]
		row, preserve, extractor := section(""), section("preserve"), section("extractor")
		if !strings.HasPrefix(p.Name, "#") {
			row.fields = append(row.fields, leaf("name", p.Name))
		}
		for j, pattern := range []string{p.Principal, p.Label, p.Agent} {
			if pattern != "" {
				row.fields = append(row.fields, leaf(selectors[j], pattern))
			}
		}
		for _, k := range policyFields {
			v := k.value(p)
			if v == nil {
				continue
			}
			if name, ok := strings.CutPrefix(k.name, "preserve."); ok {
				preserve.fields = append(preserve.fields, leaf(name, v))
			} else if name, ok := strings.CutPrefix(k.name, "extractor."); ok {
				extractor.fields = append(extractor.fields, leaf(name, v))
			} else {
				row.fields = append(row.fields, leaf(k.name, v))
			}
		}
		for _, table := range []*node{preserve, extractor} {
			if len(table.fields) > 0 {
				row.fields = append(row.fields, table)
			}
		}
		n.fields = append(n.fields, row)
	}
	return n
}
