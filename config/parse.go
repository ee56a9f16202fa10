package config

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/holdfast-dev/holdfast"
)

// file mirrors the TOML text. A pointer tells a key that is absent; sizes may
// be a number or a text.
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
		Enabled          *bool   `toml:"enabled"`
		MaxCapsuleTokens *int    `toml:"max_capsule_tokens"`
		UserWordsTokens  *int    `toml:"user_words_tokens"`
		TTL              *string `toml:"ttl"`
		Fork             *string `toml:"fork"`
		Preserve         struct {
			Plan          *bool `toml:"plan"`
			UserDecisions *bool `toml:"user_decisions"`
			UserWords     *bool `toml:"user_words"`
		} `toml:"preserve"`
	} `toml:"compaction_continuity"`
}

// keys says of every key what its value must be.
var keys = map[string]string{
	"upstream":                                      "a list: write [[upstream]] above each entry",
	"upstream.name":                                 `a text such as "anthropic"`,
	"upstream.protocol":                             `"anthropic", "chat", "responses" or "gemini"`,
	"upstream.base_url":                             `a text such as "https://api.anthropic.com"`,
	"upstream.api_key":                              `"env:NAME" or "file:/PATH"`,
	"upstream.models":                               `a list of texts such as ["claude-*"]`,
	"limits":                                        "a table: write [limits] above its keys",
	"limits.body":                                   sizeForm,
	"limits.in_flight":                              sizeForm,
	"compaction_continuity":                         "a table: write [compaction_continuity] above its keys",
	"compaction_continuity.enabled":                 "true or false",
	"compaction_continuity.ttl":                     durationForm,
	"compaction_continuity.fork":                    `"copy" or "empty"`,
	"compaction_continuity.preserve":                "a table: write [compaction_continuity.preserve] above its keys",
	"compaction_continuity.preserve.plan":           "true or false",
	"compaction_continuity.preserve.user_decisions": "true or false",
	"compaction_continuity.preserve.user_words":     "true or false",
	"compaction_continuity.user_words_tokens":       "a whole number such as 1000",
	"compaction_continuity.max_capsule_tokens":      "a whole number such as 2500",
}

const (
	sizeForm     = `a size such as "64MiB", "64MB" or a number of bytes`
	durationForm = `a text such as "720h" or "90m"`
)

// Parse reads a configuration text. Name stands for the file in errors, which
// all carry the code config.
func Parse(name string, data []byte) (Config, error) {
	r := reader{name: name, data: data}
	if len(data) > maxFile {
		return Config{}, r.fail(0, "the file is larger than 1 MiB; a configuration is a few lines")
	}
	// The first pass accepts any well-formed document, so that what fails in
	// the second is a matter of keys and types.
	var whole map[string]any
	if err := toml.Unmarshal(data, &whole); err != nil {
		return Config{}, r.syntax(err)
	}
	var f file
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&f)
	if err != nil {
		return Config{}, r.mismatch(err)
	}
	r.lines = keyLines(data)
	return r.config(f)
}

// reader makes values out of one file, and errors that point into it.
type reader struct {
	name  string
	data  []byte
	lines map[string]int // line of each key that is present, see keyLines
}

// fail is an error at a line; 0 is the file as a whole.
func (r *reader) fail(line int, format string, args ...any) error {
	at := r.name
	if line > 0 {
		at = fmt.Sprintf("%s:%d", r.name, line)
	}
	return holdfast.Errorf(holdfast.ErrConfig, "%s: %s", at, fmt.Sprintf(format, args...))
}

// at is an error in the value of a key.
func (r *reader) at(key, format string, args ...any) error {
	return r.fail(r.lines[key], "%s %s", plainKey(key), fmt.Sprintf(format, args...))
}

// has reports whether the key stands in the file.
func (r *reader) has(key string) bool { return r.lines[key] > 0 }

var index = regexp.MustCompile(`\[\d+\]`)

// plainKey is a key as a person writes it, without positions in lists.
func plainKey(key string) string { return index.ReplaceAllString(key, "") }

func (r *reader) syntax(err error) error {
	message := strings.TrimPrefix(err.Error(), "toml: ")
	line := 0
	var d *toml.DecodeError
	if errors.As(err, &d) {
		line, _ = d.Position()
	}
	return r.fail(line, "this is not valid TOML: %s%s", message, r.excerpt(line))
}

// mismatch words an error of the strict pass: an unknown key or a value of the
// wrong type.
func (r *reader) mismatch(err error) error {
	var missing *toml.StrictMissingError
	if errors.As(err, &missing) {
		d := &missing.Errors[0]
		line, _ := d.Position()
		return r.unknown(line, d.Key())
	}
	var d *toml.DecodeError
	if !errors.As(err, &d) {
		return r.fail(0, "%s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	line, _ := d.Position()
	key := strings.Join(d.Key(), ".")
	form, ok := keys[key]
	if !ok {
		return r.fail(line, "%s%s", strings.TrimPrefix(err.Error(), "toml: "), r.excerpt(line))
	}
	return r.fail(line, "%s must be %s%s", key, form, r.excerpt(line))
}

func (r *reader) unknown(line int, key []string) error {
	return r.fail(line, "unknown key %q%s\n%s", strings.Join(key, "."), r.excerpt(line), hint(key))
}

// secretValue finds what may be a credential that was written into the file.
var secretValue = regexp.MustCompile(`(?i)((?:key|token|secret|password|auth\w*)["']?\s*=\s*)\S{8}.*`)

// excerpt is a line of the file, indented on a line of its own, without what
// may be a secret.
func (r *reader) excerpt(line int) string {
	rows := bytes.Split(r.data, []byte("\n"))
	if line < 1 || line > len(rows) {
		return ""
	}
	text := strings.TrimSpace(string(rows[line-1]))
	return "\n    " + secretValue.ReplaceAllString(text, "${1}...")
}
