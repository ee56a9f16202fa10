package config

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// config checks the values one by one, then those that depend on each other.
func (r *reader) config(f file) (Config, error) {
	c := Default()
	if len(f.Upstream) > 0 || r.has("upstream") {
		var err error
		if c.Upstreams, err = r.upstreams(f); err != nil {
			return Config{}, err
		}
	}
	if err := r.limits(f, &c.Limits); err != nil {
		return Config{}, err
	}
	if err := r.continuity(f, &c.Continuity); err != nil {
		return Config{}, err
	}
	return c, nil
}

var upstreamName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

func (r *reader) upstreams(f file) ([]Upstream, error) {
	if len(f.Upstream) > 0 && !r.has("upstream[0]") {
		return nil, r.at("upstream", "must be %s", keys["upstream"])
	}
	if len(f.Upstream) == 0 {
		return nil, r.at("upstream", "is an empty list and has no effect. Remove it, or list at least one")
	}
	var list []Upstream
	for i, in := range f.Upstream {
		key := "upstream[" + strconv.Itoa(i) + "]"
		for _, name := range []string{"name", "protocol", "base_url"} {
			if !r.has(key + "." + name) {
				return nil, r.fail(r.lines[key], "this upstream has no %s. Add one: %s", name, keys["upstream."+name])
			}
		}
		u := Upstream{Name: in.Name, Protocol: holdfast.Protocol(in.Protocol), APIKey: SecretRef(in.APIKey), Models: in.Models}
		if !upstreamName.MatchString(u.Name) {
			return nil, r.at(key+".name", "must be 1 to 64 characters of a-z, 0-9, dot, dash and underscore, since it stands in the path /u/NAME")
		}
		for j, other := range list {
			if other.Name == u.Name {
				return nil, r.at(key+".name", "%q is already the name of the upstream in line %d. Give it another", u.Name, r.lines["upstream["+strconv.Itoa(j)+"]"])
			}
		}
		if !known(u.Protocol) {
			return nil, r.at(key+".protocol", "must be %s", keys["upstream.protocol"])
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
		at := key + "[" + strconv.Itoa(i) + "]"
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
		key := "limits.in_flight"
		if !r.has(key) {
			key = "limits.body"
		}
		return r.at(key, "leaves no room for one body: in_flight (%s) must be at least body (%s)", sizeText(l.InFlight), sizeText(l.Body))
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
		return r.at(key, "must be %s", sizeForm)
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

func (r *reader) continuity(f file, c *Continuity) error {
	const section = "compaction_continuity"
	in := f.Continuity
	set(&c.Enabled, in.Enabled)
	set(&c.MaxCapsuleTokens, in.MaxCapsuleTokens)
	if c.MaxCapsuleTokens < 200 || c.MaxCapsuleTokens > 20000 {
		return r.at(section+".max_capsule_tokens", "must be from 200 to 20000")
	}
	c.UserWordsTokens = min(c.UserWordsTokens, c.MaxCapsuleTokens)
	set(&c.UserWordsTokens, in.UserWordsTokens)
	if c.UserWordsTokens < 50 || c.UserWordsTokens > c.MaxCapsuleTokens {
		return r.at(section+".user_words_tokens", "must be from 50 to max_capsule_tokens (%d)", c.MaxCapsuleTokens)
	}
	if in.TTL != nil {
		ttl, err := time.ParseDuration(*in.TTL)
		if err != nil {
			return r.at(section+".ttl", "must be %s", durationForm)
		}
		if ttl < time.Hour || ttl > 87600*time.Hour {
			return r.at(section+".ttl", `must be from "1h" to "87600h" (ten years)`)
		}
		c.TTL = ttl
	}
	if in.Fork != nil {
		c.Fork = ForkMode(*in.Fork)
	}
	if c.Fork != ForkCopy && c.Fork != ForkEmpty {
		return r.at(section+".fork", "must be %s", keys[section+".fork"])
	}
	set(&c.Preserve.Plan, in.Preserve.Plan)
	set(&c.Preserve.UserDecisions, in.Preserve.UserDecisions)
	set(&c.Preserve.UserWords, in.Preserve.UserWords)
	if !c.Enabled {
		for _, key := range []string{"max_capsule_tokens", "user_words_tokens", "ttl", "fork", "preserve.plan", "preserve.user_decisions", "preserve.user_words"} {
			if r.has(section + "." + key) {
				return r.at(section+"."+key, "has no effect while enabled = false. Remove it, or set enabled = true")
			}
		}
		return nil
	}
	if c.Preserve == (Preserve{}) {
		return r.at(section+".preserve", "turns everything off. Write enabled = false in [%s] instead", section)
	}
	if !c.Preserve.UserWords && in.UserWordsTokens != nil {
		return r.at(section+".user_words_tokens", "has no effect while preserve.user_words = false. Remove it, or set preserve.user_words = true")
	}
	return nil
}

func set[T any](out *T, in *T) {
	if in != nil {
		*out = *in
	}
}
