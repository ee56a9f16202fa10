package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/holdfast-dev/holdfast"
)

// file mirrors the TOML text. A pointer tells a key that is absent; sizes and
// bounds may be a number or a text.
type file struct {
	Upstream []struct {
		Name     string   `toml:"name"`
		Protocol string   `toml:"protocol"`
		BaseURL  string   `toml:"base_url"`
		APIKey   string   `toml:"api_key"`
		Models   []string `toml:"models"`
	} `toml:"upstream"`
	Limits struct {
		Body     any `toml:"body"`
		InFlight any `toml:"in_flight"`
	} `toml:"limits"`
	Continuity struct {
		Enabled          *bool         `toml:"enabled"`
		MaxCapsuleTokens *int          `toml:"max_capsule_tokens"`
		UserWordsTokens  *int          `toml:"user_words_tokens"`
		TTL              *string       `toml:"ttl"`
		Fork             *string       `toml:"fork"`
		Preserve         preserveFile  `toml:"preserve"`
		Extractor        extractorFile `toml:"extractor"`
	} `toml:"compaction_continuity"`
	Policies    []sessionPolicyFile `toml:"session_policy"`
	Budget      []budgetFile        `toml:"budget"`
	Transcripts struct {
		Enabled *bool   `toml:"enabled"`
		TTL     *string `toml:"ttl"`
	} `toml:"transcripts"`
	Usage struct {
		TTL *string `toml:"ttl"`
	} `toml:"usage"`
	Conversation struct {
		Compaction struct {
			Estimator *string    `toml:"estimator"`
			Rules     []ruleFile `toml:"rules"`
			Auto      struct {
				Enabled      *bool        `toml:"enabled"`
				TriggerRatio *float64     `toml:"trigger_ratio"`
				MinTurns     *int         `toml:"min_turns"`
				Granularity  *string      `toml:"granularity"`
				MinGain      *float64     `toml:"min_gain"`
				Rule         autoRuleFile `toml:"rule"`
			} `toml:"auto"`
		} `toml:"compaction"`
	} `toml:"conversation"`
	Query struct {
		Model       *string `toml:"model"`
		System      *string `toml:"system"`
		MaxCalls    *int    `toml:"max_calls"`
		Titles      *bool   `toml:"titles"`
		TitleModel  *string `toml:"title_model"`
		ToolTimeout *string `toml:"tool_timeout"`
		MaxResult   any     `toml:"max_result"`
	} `toml:"query"`
	Tools struct {
		Allow []string `toml:"allow"`
		Deny  []string `toml:"deny"`
		Files *bool    `toml:"files"`
	} `toml:"tools"`
	MCP    map[string]serverFile `toml:"mcp"`
	Models map[string]modelFile  `toml:"models"`
}

// Merged is a configuration that knows where each key was set.
type Merged struct {
	Config
	layers []Layer
	places map[string]place
}

// Merge puts layers over what is built in, the first one lowest. Errors carry
// the code config.
func Merge(layers ...Layer) (*Merged, error) {
	r := reader{layers: layers, places: map[string]place{}}
	var f file
	for i := range layers {
		if err := r.layer(i, &f); err != nil {
			return nil, err
		}
	}
	c, err := r.config(f)
	if err != nil {
		return nil, err
	}
	return &Merged{Config: c, layers: layers, places: r.places}, nil
}

// place is where a key stands; the zero value is nowhere.
type place struct {
	layer int // from 1
	line  int // from 1; 0 is the layer as a whole
}

// reader makes values out of layers, and errors that point into them.
type reader struct {
	layers []Layer
	// places has each key that a layer sets and no later one overrules, named as
	// in keyLines; rules are numbered as they were merged.
	places map[string]place
}

// layer reads one layer over those before it.
func (r *reader) layer(i int, f *file) error {
	l, number := r.layers[i], i+1
	if len(l.data) > maxFile {
		return r.fail(place{layer: number}, "the file is larger than 1 MiB; a configuration is a few lines")
	}
	// The first pass accepts any well-formed document, so that what fails in
	// the second is a matter of keys and types.
	var whole map[string]any
	if err := toml.Unmarshal(l.data, &whole); err != nil {
		return r.syntax(number, err)
	}
	own := map[string]place{}
	found := findKeys(l.data)
	for key, line := range found.lines {
		own[key] = place{number, line}
	}
	if own["upstream"].line > 0 {
		f.Upstream = nil
	}
	if own[policyKey].line > 0 {
		f.Policies = nil
	}
	if own[budgetKey].line > 0 {
		f.Budget = nil
	}
	rules := &f.Conversation.Compaction.Rules
	before := *rules
	*rules = nil
	// The decoder replaces an entry that is written in one line as a whole.
	models, servers := f.Models, f.MCP
	f.Models, f.MCP = nil, nil
	if err := toml.NewDecoder(bytes.NewReader(l.data)).DisallowUnknownFields().Decode(f); err != nil {
		return r.mismatch(number, found, err)
	}
	f.Models, f.MCP = over(models, f.Models, modelFile.over), over(servers, f.MCP, serverFile.over)
	if err := r.spelled(own); err != nil {
		return err
	}
	for _, key := range sortedKeys(own) {
		if known := knownKey(key); l.refusal != "" && needsTrust(known) {
			return r.fail(own[key], "%s %s", plainKey(key), l.refusal)
		}
	}
	if err := r.list(own, "upstream", len(f.Upstream)); err != nil {
		return err
	}
	if err := r.list(own, policyKey, len(f.Policies)); err != nil {
		return err
	}
	if err := r.list(own, budgetKey, len(f.Budget)); err != nil {
		return err
	}
	if err := r.list(own, rulesKey, len(*rules)); err != nil {
		return err
	}
	for key := range own {
		if key != rulesKey && keys[knownKey(key)].value.Type == "array" {
			r.drop(key + "[") // a list takes the place of the one before
		}
	}
	merged, err := r.appendRules(own, before, *rules)
	if err != nil {
		return err
	}
	*rules = merged
	maps.Copy(r.places, own)
	return nil
}

// spelled refuses keys that only the decoder takes, to which capitals are the
// same as small letters: nothing else here would see them.
func (r *reader) spelled(own map[string]place) error {
	for _, key := range sortedKeys(own) {
		known := knownKey(key)
		if _, ok := keys[known]; ok {
			continue
		}
		table := keys[known[:max(strings.LastIndexByte(known, '.'), 0)]]
		if table.name != "" && !table.holdsKeys() {
			continue // a table where a value belongs is an error of that value
		}
		parts := partsOf(key)
		return r.fail(own[key], "unknown key %q%s\n%s", plainKey(key), r.excerptOf(parts, own[key]), hint(parts))
	}
	return nil
}

// over puts the entries of a layer over those of earlier ones, key by key.
func over[V any](before, own map[string]V, entry func(own, before V) V) map[string]V {
	if before == nil {
		return own
	}
	for name, v := range own {
		before[name] = entry(v, before[name])
	}
	return before
}

// list checks that a key with n values, if it is there, is a list of some.
func (r *reader) list(own map[string]place, key string, n int) error {
	at, ok := own[key]
	if _, one := own[element(key, 0)]; !ok || one {
		return nil
	}
	if n > 0 {
		return r.fail(at, "%s must be %s", key, keys[key].form)
	}
	return r.fail(at, "%s is an empty list and has no effect. Remove it, or list at least one", key)
}

// drop forgets the places of keys that begin with prefix.
func (r *reader) drop(prefix string) {
	maps.DeleteFunc(r.places, func(key string, _ place) bool { return strings.HasPrefix(key, prefix) })
}

// appendRules puts the rules of a layer behind those before, or in their place,
// and renumbers its places so.
func (r *reader) appendRules(own map[string]place, before, rules []ruleFile) ([]ruleFile, error) {
	for i, rule := range rules {
		if rule.Strategy == nil {
			continue
		}
		const strategy = rulesKey + ".strategy"
		at := own[element(rulesKey, i)+".strategy"]
		if *rule.Strategy != "replace" {
			return nil, r.fail(at, "%s must be %s", strategy, keys[strategy].form)
		}
		if i > 0 {
			return nil, r.fail(at, `%s = "replace" has an effect in the first element only. Move it there`, strategy)
		}
		for _, k := range policyKeys(element(rulesKey, i)) {
			if at, ok := own[k.name]; ok {
				return nil, r.fail(at, `%s has no effect beside strategy = "replace". Write the rule as the next element`, plainKey(k.name))
			}
		}
	}
	shift := len(before)
	if len(rules) > 0 && rules[0].Strategy != nil {
		r.drop(rulesKey + "[")
		maps.DeleteFunc(own, func(key string, _ place) bool { return strings.HasPrefix(key, element(rulesKey, 0)) })
		before, rules, shift = nil, rules[1:], -1
	}
	moved := map[string]place{}
	for key, at := range own {
		if rest, ok := strings.CutPrefix(key, rulesKey+"["); ok {
			number, rest, _ := strings.Cut(rest, "]")
			n, _ := strconv.Atoi(number) // keyLines wrote it
			key = element(rulesKey, n+shift) + rest
		}
		moved[key] = at
	}
	clear(own)
	maps.Copy(own, moved)
	return append(before, rules...), nil
}

// where names a place in layers.
func where(layers []Layer, at place) string {
	l := layers[at.layer-1]
	if !l.file || at.line == 0 {
		return l.name
	}
	return fmt.Sprintf("%s:%d", l.name, at.line)
}

// fail is an error at a place.
func (r *reader) fail(at place, format string, args ...any) error {
	return holdfast.Errorf(holdfast.ErrConfig, "%s: %s", where(r.layers, at), fmt.Sprintf(format, args...))
}

// at is an error in the value of a key that a layer has.
func (r *reader) at(key, format string, args ...any) error {
	return r.fail(r.places[key], "%s %s", plainKey(key), fmt.Sprintf(format, args...))
}

// has reports whether a layer has the key.
func (r *reader) has(key string) bool { return r.places[key].layer > 0 }

// later is that one of two keys which the later layer has; the first where both
// stand in the same.
func (r *reader) later(key, other string) string {
	if r.places[other].layer > r.places[key].layer {
		return other
	}
	return key
}

var index = regexp.MustCompile(`\[\d+\](\.|$)`)

// plainKey is a key as a person writes it, without positions in lists.
func plainKey(key string) string { return index.ReplaceAllString(key, "$1") }

// form is what the value of a key must be.
func (r *reader) form(key string) string { return keys[knownKey(key)].form }

func (r *reader) syntax(layer int, err error) error {
	message := strings.TrimPrefix(err.Error(), "toml: ")
	line := 0
	var d *toml.DecodeError
	if errors.As(err, &d) {
		line, _ = d.Position()
	}
	return r.fail(place{layer, line}, "this is not valid TOML: %s%s", message, r.excerpt(place{layer, line}))
}

// mismatch words an error of the strict pass: an unknown key or a value of the
// wrong type.
func (r *reader) mismatch(layer int, found *keyLines, err error) error {
	var missing *toml.StrictMissingError
	if errors.As(err, &missing) {
		d := &missing.Errors[0]
		line, column := d.Position()
		at, key := place{layer, line}, found.keyAt(line, column, d.Key())
		return r.fail(at, "unknown key %q%s\n%s", dotted(key), r.excerptOf(key, at), hint(key))
	}
	var d *toml.DecodeError
	if !errors.As(err, &d) {
		return r.fail(place{layer: layer}, "%s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	line, column := d.Position()
	at, key := place{layer, line}, found.keyAt(line, column, d.Key())
	k, ok := keys[general(key)]
	if !ok {
		return r.fail(at, "%s%s", strings.TrimPrefix(err.Error(), "toml: "), r.excerptOf(key, at))
	}
	return r.fail(at, "%s must be %s%s", dotted(key), k.form, r.excerptOf(key, at))
}

// excerptOf is the excerpt for an error of a key. Any value of a server may be a
// credential.
func (r *reader) excerptOf(key []string, at place) string {
	text := r.excerpt(at)
	if name, _, ok := strings.Cut(text, "="); ok && strings.EqualFold(key[0], "mcp") {
		return name + "= ..."
	}
	return text
}

// secretValue finds what may be a credential that was written into the file.
var secretValue = regexp.MustCompile(`(?i)((?:key|token|secret|passw\w*|auth\w*|cookie)["']?\s*=\s*)\S{8}.*`)

// excerpt is a line of a file, indented on a line of its own, without what may
// be a secret.
func (r *reader) excerpt(at place) string {
	l := r.layers[at.layer-1]
	rows := bytes.Split(l.data, []byte("\n"))
	if !l.file || at.line < 1 || at.line > len(rows) {
		return ""
	}
	text := strings.TrimSpace(string(rows[at.line-1]))
	return "\n    " + secretValue.ReplaceAllString(text, "${1}...")
}

// sortedKeys are the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
