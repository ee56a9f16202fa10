package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// config checks the values one by one, then those that depend on each other.
func (r *reader) config(f file) (Config, error) {
	c := Default()
	if err := r.guarded(f, &c); err != nil {
		return Config{}, err
	}
	if err := r.limits(f, &c.Limits); err != nil {
		return Config{}, err
	}
	if err := r.continuity(f, &c.Continuity, c.Policies); err != nil {
		return Config{}, err
	}
	if err := r.policiesFit(&c); err != nil {
		return Config{}, err
	}
	if err := r.compaction(f, &c.Compaction); err != nil {
		return Config{}, err
	}
	if err := r.query(f, &c.Query); err != nil {
		return Config{}, err
	}
	if err := r.dependent(&c); err != nil {
		return Config{}, err
	}
	return c, nil
}

// guarded are the values of the tables that have guarded keys.
func (r *reader) guarded(f file, c *Config) error {
	set(&c.Transcripts.Enabled, f.Transcripts.Enabled)
	if err := r.duration("transcripts.ttl", f.Transcripts.TTL, &c.Transcripts.TTL, time.Hour, 87600*time.Hour); err != nil {
		return err
	}
	err := r.duration("usage.ttl", f.Usage.TTL, &c.Usage.TTL, time.Hour, 87600*time.Hour)
	if err != nil {
		return err
	}
	if len(f.Upstream) > 0 {
		if c.Upstreams, err = r.upstreams(f); err != nil {
			return err
		}
	}
	if c.Policies, err = r.policies(f); err != nil {
		return err
	}
	if c.Budgets, err = r.budgets(f); err != nil {
		return err
	}
	if err := r.tools(f, &c.Tools); err != nil {
		return err
	}
	if c.MCP, err = r.servers(f); err != nil {
		return err
	}
	c.Models, err = r.modelEntries(f)
	return err
}

// dependent checks guarded values by what other layers or sections have.
func (r *reader) dependent(c *Config) error {
	const recording, ttl, continuity = "transcripts.enabled", "transcripts.ttl", "compaction_continuity.enabled"
	if c.Transcripts.Enabled && !c.ContinuityRuns() {
		if !r.overruled(recording, continuity) {
			return r.at(recording, "= true has no effect while %s = false. Remove it, or set %s = true", continuity, continuity)
		}
		c.Transcripts.Enabled = false
	}
	if c.Transcripts.TTL > 0 && !c.ContinuityRuns() {
		if !r.overruled(ttl, continuity) {
			return r.at(ttl, "has no effect while %s = false. Remove it, or set %s = true", continuity, continuity)
		}
		c.Transcripts.TTL = 0
	}
	if err := r.routed(c); err != nil {
		return err
	}
	if err := r.denied(&c.Tools); err != nil {
		return err
	}
	if err := r.serverKinds(c.MCP); err != nil {
		return err
	}
	for _, name := range sortedKeys(c.Models) {
		if err := r.told("models."+keyPart(name), c.Models[name], c.Upstreams); err != nil {
			return err
		}
	}
	return nil
}

var upstreamName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

func (r *reader) upstreams(f file) ([]Upstream, error) {
	var list []Upstream
	for i, in := range f.Upstream {
		key := element("upstream", i)
		for _, k := range allKeys {
			name, ok := strings.CutPrefix(k.name, "upstream.")
			if ok && k.required && !r.has(key+"."+name) {
				return nil, r.fail(r.places[key], "this upstream has no %s. Add one: %s", name, k.form)
			}
		}
		u := Upstream{Name: in.Name, Protocol: holdfast.Protocol(in.Protocol), APIKey: SecretRef(in.APIKey), Models: in.Models}
		if !upstreamName.MatchString(u.Name) {
			return nil, r.at(key+".name", "must be 1 to 64 characters of a-z, 0-9, dot, dash and underscore, since it stands in the path /u/NAME")
		}
		for j, other := range list {
			if other.Name == u.Name {
				at := r.places[element("upstream", j)]
				which := "an earlier upstream"
				if r.layers[at.layer-1].file {
					which = fmt.Sprintf("the upstream in line %d", at.line)
				}
				return nil, r.at(key+".name", "%q is already the name of %s. Give it another", u.Name, which)
			}
		}
		if !known(u.Protocol) {
			return nil, r.at(key+".protocol", "must be %s", r.form(key+".protocol"))
		}
		var err error
		if u.BaseURL, err = r.baseURL(key+".base_url", u.Protocol, in.BaseURL); err != nil {
			return nil, err
		}
		if r.has(key+".api_key") && !u.APIKey.valid() {
			return nil, r.at(key+".api_key", "must be \"env:NAME\" or \"file:/PATH\" (an absolute path): a key never stands in this file")
		}
		if err := r.models(key+".models", u, list); err != nil {
			return nil, err
		}
		list = append(list, u)
	}
	return list, nil
}

func known(p holdfast.Protocol) bool {
	for _, q := range holdfast.Protocols() {
		if p == q {
			return true
		}
	}
	return false
}

// endpoints are path ends that belong to a call and not to a base URL.
var endpoints = map[holdfast.Protocol][]string{
	holdfast.Anthropic: {"/v1/messages", "/v1"},
	holdfast.Chat:      {"/chat/completions"},
	holdfast.Responses: {"/responses"},
	holdfast.Gemini:    {"/v1beta/models", "/v1beta", "/v1"},
}

func (r *reader) baseURL(key string, p holdfast.Protocol, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	// The text itself is not repeated: it may hold a password.
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "" {
		return nil, r.at(key, "must be an http or https address such as %q", "https://api.anthropic.com")
	}
	if u.User != nil {
		return nil, r.at(key, "must not hold a user or password. Put the credential into api_key")
	}
	if u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#") {
		return nil, r.at(key, "must not hold a query or a fragment: only the path of a call is put behind it")
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = strings.TrimRight(u.RawPath, "/")
	for _, end := range endpoints[p] {
		if strings.HasSuffix(u.Path, end) {
			return nil, r.at(key, "must not end in %s, which clients send themselves. Write what the provider's SDK takes, %q",
				end, strings.TrimSuffix(u.String(), end))
		}
	}
	return u, nil
}

// models refuses patterns that can never decide anything: an earlier one of
// the same protocol matches all that they match.
func (r *reader) models(key string, u Upstream, before []Upstream) error {
	if r.has(key) && len(u.Models) == 0 {
		return r.at(key, "is an empty list and has no effect. Remove it to match all models, or list patterns")
	}
	for i, p := range u.Models {
		at := element(key, i)
		if p == "" {
			return r.at(at, "must not hold an empty text: it matches no model")
		}
		for _, q := range u.Models[:i] {
			if covers(q, p) {
				return r.at(at, "%q has no effect: %q before it matches the same models. Remove one", p, q)
			}
		}
		for _, other := range before {
			if other.Protocol != u.Protocol {
				continue
			}
			if len(other.Models) == 0 {
				return r.at(at, "%q has no effect: upstream %q comes first and takes all models of its protocol. Move this one above it", p, other.Name)
			}
			for _, q := range other.Models {
				if covers(q, p) {
					return r.at(at, "%q has no effect: %q of upstream %q comes first. Move this one above it", p, q, other.Name)
				}
			}
		}
	}
	return nil
}

// covers reports whether pattern q surely matches all that pattern p matches.
func covers(q, p string) bool {
	prefix, ok := strings.CutSuffix(q, "*")
	return q == p || ok && !strings.Contains(prefix, "*") && strings.HasPrefix(p, prefix)
}

func (r *reader) limits(f file, l *Limits) error {
	if err := r.size("limits.body", f.Limits.Body, &l.Body, 64<<10, 2<<30); err != nil {
		return err
	}
	if err := r.size("limits.in_flight", f.Limits.InFlight, &l.InFlight, 64<<10, 64<<30); err != nil {
		return err
	}
	if l.InFlight < l.Body {
		return r.at(r.later("limits.in_flight", "limits.body"), "leaves no room for one body: in_flight (%s) must be at least body (%s)", sizeText(l.InFlight), sizeText(l.Body))
	}
	return nil
}

// units are ordered so that sizeText finds the largest that divides evenly and
// the longest suffix is tried first.
var units = []struct {
	suffix string
	bytes  int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}}

func (r *reader) size(key string, in any, out *int64, low, high int64) error {
	if !r.has(key) {
		return nil
	}
	n, ok := in.(int64)
	if text, isText := in.(string); isText {
		n, ok = parseSize(text)
	}
	if !ok {
		return r.at(key, "must be %s", r.form(key))
	}
	if n < low || n > high {
		return r.at(key, "must be from %s to %s", sizeText(low), sizeText(high))
	}
	*out = n
	return nil
}

func parseSize(text string) (int64, bool) {
	scale := int64(1)
	for _, u := range units {
		if number, ok := strings.CutSuffix(text, u.suffix); ok {
			text, scale = strings.TrimSuffix(number, " "), u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || int64(n) > (1<<63-1)/scale {
		return 0, false
	}
	return int64(n) * scale, true
}

func sizeText(n int64) string {
	for _, u := range units {
		if n%u.bytes == 0 && n >= u.bytes {
			return strconv.FormatInt(n/u.bytes, 10) + u.suffix
		}
	}
	return "0B"
}

// duration takes a duration in a range, if one is given.
func (r *reader) duration(key string, in *string, out *time.Duration, low, high time.Duration) error {
	if in == nil {
		return nil
	}
	d, err := time.ParseDuration(*in)
	if err != nil {
		return r.at(key, "must be %s", r.form(key))
	}
	if d < low || d > high {
		return r.at(key, "must be from %q to %q", durationText(low), durationText(high))
	}
	*out = d
	return nil
}

// whole takes a number in the range of its key, if one is given.
func (r *reader) whole(key string, in, out *int) error {
	if in == nil {
		return nil
	}
	limits := keys[knownKey(key)].value
	if n := float64(*in); n < *limits.Minimum || n > *limits.Maximum {
		return r.at(key, "must be from %.0f to %.0f", *limits.Minimum, *limits.Maximum)
	}
	*out = *in
	return nil
}

// choose takes a text that is one of those of its key, if one is given.
func choose[T ~string](r *reader, key string, in *string, out *T) error {
	if in == nil {
		return nil
	}
	if known := keys[knownKey(key)]; !slices.Contains(known.value.Enum, any(*in)) {
		return r.at(key, "must be %s", known.form)
	}
	*out = T(*in)
	return nil
}

// continuity reads what holds for all sessions; policies may put other values
// over it for some.
func (r *reader) continuity(f file, c *Continuity, policies []SessionPolicy) error {
	const section = continuityKey
	in := f.Continuity
	set(&c.Enabled, in.Enabled)
	if err := r.whole(section+".max_capsule_tokens", in.MaxCapsuleTokens, &c.MaxCapsuleTokens); err != nil {
		return err
	}
	c.UserWordsTokens = min(c.UserWordsTokens, c.MaxCapsuleTokens)
	set(&c.UserWordsTokens, in.UserWordsTokens)
	if c.UserWordsTokens < 50 || c.UserWordsTokens > c.MaxCapsuleTokens {
		const words, most = section + ".user_words_tokens", section + ".max_capsule_tokens"
		if r.later(words, most) == most {
			return r.at(most, "leaves no room for user_words_tokens = %d (%s): that must be from 50 to max_capsule_tokens (%d)",
				c.UserWordsTokens, where(r.layers, r.places[words]), c.MaxCapsuleTokens)
		}
		return r.at(words, "must be from 50 to max_capsule_tokens (%d)", c.MaxCapsuleTokens)
	}
	if err := r.duration(section+".ttl", in.TTL, &c.TTL, time.Hour, 87600*time.Hour); err != nil {
		return err
	}
	if err := choose(r, section+".fork", in.Fork, &c.Fork); err != nil {
		return err
	}
	set(&c.Preserve.Plan, in.Preserve.Plan)
	set(&c.Preserve.UserDecisions, in.Preserve.UserDecisions)
	set(&c.Preserve.Constraints, in.Preserve.Constraints)
	set(&c.Preserve.Rationale, in.Preserve.Rationale)
	set(&c.Preserve.RejectedAlternatives, in.Preserve.RejectedAlternatives)
	set(&c.Preserve.OpenQuestions, in.Preserve.OpenQuestions)
	set(&c.Preserve.Facts, in.Preserve.Facts)
	set(&c.Preserve.UserWords, in.Preserve.UserWords)
	if err := r.extractor(f, &c.Extractor, policies); err != nil {
		return err
	}
	if !c.Enabled && !anyEnables(policies) {
		for _, k := range allKeys {
			if strings.HasPrefix(k.name, section+".") && k.value.Type != "object" && k.name != section+".enabled" && !r.overruled(k.name, section+".enabled") {
				return r.at(k.name, "has no effect while enabled = false. Remove it, or set enabled = true")
			}
		}
		*c = Default().Continuity
		c.Enabled = false
		return nil
	}
	if c.Enabled && c.Preserve.nothing() {
		return r.at(section+".preserve", "turns everything off. Write enabled = false in [%s] instead", section)
	}
	if !words(*c, policies) {
		if !r.overruled(section+".user_words_tokens", section+".preserve.user_words") {
			return r.at(section+".user_words_tokens", "has no effect while preserve.user_words = false. Remove it, or set preserve.user_words = true")
		}
		c.UserWordsTokens = min(Default().Continuity.UserWordsTokens, c.MaxCapsuleTokens)
	}
	return nil
}

// overruled reports whether a key is without effect by no fault of the layer
// that has it: a later one turned the switch off that it hangs on. So is a key
// that no layer has.
func (r *reader) overruled(key, off string) bool {
	return r.places[key].layer < r.places[off].layer
}

func set[T any](out *T, in *T) {
	if in != nil {
		*out = *in
	}
}
