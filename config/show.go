package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// BuiltIn is the origin of what no layer sets.
const BuiltIn = "built-in"

// Origin names what set a key that is in force, such as limits.body or
// upstream[0].name: a file with the line, a variable, a flag, or BuiltIn.
func (m *Merged) Origin(key string) string {
	at, ok := m.places[key]
	if !ok {
		return BuiltIn
	}
	return where(m.layers, at)
}

// TOML is the configuration as a file that Merge reads back to the same values,
// without the keys that have no effect. With origins each key has its own
// behind it as a comment.
func (m *Merged) TOML(origins bool) string { return m.tree().toml(origins) }

// JSON is the same as a JSON object. With origins each value is an object with
// the members value and origin.
func (m *Merged) JSON(origins bool) json.RawMessage { return m.tree().json(origins) }

func (m *Merged) tree() *node {
	t := tree(m.Config)
	t.locate("", m.Origin)
	return t
}

// node is a key with a value, a table, or a list of tables.
type node struct {
	name   string
	value  any // of a key: bool, int, float64, string or []string; nil for the others
	origin string
	fields []*node
	list   bool // fields are its elements
}

func leaf(name string, value any) *node { return &node{name: name, value: value} }

// section is a table; a field that is nil is none.
func section(name string, fields ...*node) *node {
	return &node{name: name, fields: slices.DeleteFunc(fields, func(f *node) bool { return f == nil })}
}

func tree(c Config) *node {
	transcripts := section("transcripts")
	if c.ContinuityRuns() {
		transcripts.fields = append(transcripts.fields, leaf("enabled", c.Transcripts.Enabled))
		if c.Transcripts.TTL > 0 {
			transcripts.fields = append(transcripts.fields, leaf("ttl", durationText(c.Transcripts.TTL)))
		}
	}
	return section("",
		upstreamTree(c.Upstreams),
		section("limits", leaf("body", sizeText(c.Limits.Body)), leaf("in_flight", sizeText(c.Limits.InFlight))),
		continuityTree(c.Continuity, c.ContinuityRuns(), words(c.Continuity, c.Policies), c.ExtractorRuns()),
		policiesTree(c.Policies),
		budgetsTree(c.Budgets),
		transcripts,
		section("usage", leaf("ttl", durationText(c.Usage.TTL))),
		section("conversation", compactionTree(c.Compaction)),
		queryTree(c.Query),
		toolsTree(c.Tools),
		mcpTree(c.MCP),
		modelsTree(c.Models),
	)
}

func upstreamTree(ups []Upstream) *node {
	list := &node{name: "upstream", list: true}
	for _, u := range ups {
		n := section("", leaf("name", u.Name), leaf("protocol", string(u.Protocol)), leaf("base_url", u.BaseURL.String()))
		if u.APIKey != "" {
			n.fields = append(n.fields, leaf("api_key", string(u.APIKey)))
		}
		if len(u.Models) > 0 {
			n.fields = append(n.fields, leaf("models", u.Models))
		}
		list.fields = append(list.fields, n)
	}
	return list
}

// continuityTree has what holds for some session: runs tells that one can be
// enabled, words that one can keep the user's words, extracts that one can be read by
// the extractor.
func continuityTree(c Continuity, runs, words, extracts bool) *node {
	n := section(continuityKey, leaf("enabled", c.Enabled))
	if !runs {
		return n
	}
	n.fields = append(n.fields, leaf("max_capsule_tokens", c.MaxCapsuleTokens))
	if words {
		n.fields = append(n.fields, leaf("user_words_tokens", c.UserWordsTokens))
	}
	n.fields = append(n.fields, leaf("ttl", durationText(c.TTL)), leaf("fork", string(c.Fork)), section("preserve",
		leaf("plan", c.Preserve.Plan),
		leaf("user_decisions", c.Preserve.UserDecisions),
		leaf("constraints", c.Preserve.Constraints),
		leaf("rationale", c.Preserve.Rationale),
		leaf("rejected_alternatives", c.Preserve.RejectedAlternatives),
		leaf("open_questions", c.Preserve.OpenQuestions),
		leaf("facts", c.Preserve.Facts),
		leaf("user_words", c.Preserve.UserWords),
	))
	n.fields = append(n.fields, extractorTree(c.Extractor, extracts))
	return n
}

func compactionTree(c Compaction) *node {
	rules := &node{name: "rules", list: true}
	for _, rule := range c.Rules {
		rules.fields = append(rules.fields, ruleTree("", rule))
	}
	autoRule := ruleTree("rule", c.Auto.Rule)
	autoRule.fields = slices.Insert(autoRule.fields, 2, leaf("keep_last_tokens", c.Auto.Rule.KeepLastTokens))
	return section("compaction",
		leaf("estimator", string(c.Estimator)),
		rules,
		section("auto",
			leaf("enabled", c.Auto.Enabled),
			leaf("trigger_ratio", c.Auto.TriggerRatio),
			leaf("min_turns", c.Auto.MinTurns),
			leaf("granularity", string(c.Auto.Granularity)),
			leaf("min_gain", c.Auto.MinGain),
			autoRule,
		),
	)
}

func ruleTree(name string, r Rule) *node {
	n := section(name,
		boundLeaf("keep_first", r.KeepFirst),
		boundLeaf("keep_last", r.KeepLast),
		leaf("reasoning", string(r.Reasoning)),
		leaf("tool_calls", string(r.ToolCalls)),
	)
	if s := r.Summary; s != nil {
		summary := section("summary")
		for _, text := range []*node{leaf("instructions", s.Instructions), leaf("context", s.Context), leaf("model", s.Model)} {
			if text.value != "" {
				summary.fields = append(summary.fields, text)
			}
		}
		n.fields = append(n.fields, summary)
	}
	return n
}

func boundLeaf(name string, b Bound) *node {
	if b.Kind == BoundTurns {
		return leaf(name, b.N)
	}
	return leaf(name, b.String())
}

// locate gives all keys below path their origin.
func (n *node) locate(path string, origin func(key string) string) {
	if n.value != nil {
		n.origin = origin(path)
		return
	}
	for i, field := range n.fields {
		field.locate(n.key(path, i), origin)
	}
}

// key is the key of the field i where path is that of the node.
func (n *node) key(path string, i int) string {
	if n.list {
		return element(path, i)
	}
	return join(path, keyPart(n.fields[i].name))
}

// written is what a document has at a path, in the order of keys.
func written(path, name string, value any) *node {
	switch v := value.(type) {
	case map[string]any:
		n := section(name)
		for _, part := range sortedKeys(v) {
			n.fields = append(n.fields, written(join(path, keyPart(part)), part, v[part]))
		}
		place := func(n *node) int {
			known := knownKey(join(path, keyPart(n.name)))
			return slices.IndexFunc(allKeys, func(k key) bool { return k.name == known })
		}
		slices.SortStableFunc(n.fields, func(a, b *node) int { return place(a) - place(b) })
		return n
	case []any:
		texts, n := []string{}, &node{name: name, list: true}
		for i, item := range v {
			if text, ok := item.(string); ok {
				texts = append(texts, text)
				continue
			}
			n.fields = append(n.fields, written(element(path, i), "", item))
		}
		if n.fields == nil {
			return leaf(name, texts)
		}
		return n
	}
	return leaf(name, value)
}

// pick is a tree with no other values than those of some keys; nil for none.
func (n *node) pick(path string, some func(key string) bool) *node {
	if n.value != nil || n.says() {
		if some(path) {
			return n
		}
		return nil
	}
	part := *n
	part.fields = nil
	for i, field := range n.fields {
		if f := field.pick(n.key(path, i), some); f != nil {
			part.fields = append(part.fields, f)
		}
	}
	if part.fields == nil {
		return nil
	}
	return &part
}

// says reports whether a table says something by being there, although it is empty.
func (n *node) says() bool { return n.value == nil && len(n.fields) == 0 && "."+n.name == summaryPart }

// toml writes what stands in a table.
func (n *node) toml(origins bool) string {
	var b strings.Builder
	n.write(&b, "", origins)
	return strings.TrimPrefix(b.String(), "\n")
}

func (n *node) write(b *strings.Builder, path string, origins bool) {
	for _, field := range n.fields {
		if field.value == nil {
			continue
		}
		b.WriteString(keyPart(field.name) + " = " + literal(field.value))
		if origins {
			b.WriteString("  # " + printable(field.origin))
		}
		b.WriteByte('\n')
	}
	for _, field := range n.fields {
		path := join(path, keyPart(field.name))
		switch {
		case field.value != nil:
		case field.list:
			for _, element := range field.fields {
				b.WriteString("\n[[" + path + "]]\n")
				element.write(b, path, origins)
			}
		default:
			// A table of tables needs no header.
			if field.says() || slices.ContainsFunc(field.fields, func(n *node) bool { return n.value != nil }) {
				b.WriteString("\n[" + path + "]\n")
			}
			field.write(b, path, origins)
		}
	}
}

func literal(v any) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case []string:
		quoted := make([]string, len(v))
		for i, s := range v {
			quoted[i] = quote(s)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	case float64:
		text := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0" // else it is a whole number
		}
		return text
	}
	return fmt.Sprint(v)
}

// printable is text for a comment: in one line, and nothing that a terminal may
// act on.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return unicode.ReplacementChar
		}
		return c
	}, s)
}

func (n *node) json(origins bool) json.RawMessage {
	var parts []string
	switch {
	case n.value != nil && origins:
		return jsonOf(struct {
			Value  any    `json:"value"`
			Origin string `json:"origin"`
		}{n.value, n.origin})
	case n.value != nil:
		return jsonOf(n.value)
	case n.list:
		for _, field := range n.fields {
			parts = append(parts, string(field.json(origins)))
		}
		return json.RawMessage("[" + strings.Join(parts, ",") + "]")
	}
	for _, field := range n.fields {
		parts = append(parts, string(jsonOf(field.name))+":"+string(field.json(origins)))
	}
	return json.RawMessage("{" + strings.Join(parts, ",") + "}")
}

// jsonOf writes a value of a configuration.
func jsonOf(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic("config: a value that JSON does not have: " + err.Error()) // the types are those of node.value
	}
	return data
}

// durationText is d without the units at its end that are zero.
func durationText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
