package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"

	"github.com/holdfast-dev/holdfast"
)

// Layer is one source of settings.
type Layer struct {
	name string // what people call it, in errors and as an origin
	data []byte // TOML
	file bool   // a person can look its lines up
	// refusal is why guarded keys are refused, behind the key; "" takes them.
	refusal string
}

// FileLayer is the text of a file, in TOML.
func FileLayer(path string, data []byte) Layer {
	// Some editors begin a file with a byte order mark, which TOML has none of.
	return Layer{name: path, data: bytes.TrimPrefix(data, []byte("\ufeff")), file: true}
}

// ConversationLayer is a JSON object with settings of a conversation; its
// members are the keys of a file. Guarded keys are refused in it. Name is what
// people call it. Errors carry the code config.
func ConversationLayer(name string, object []byte) (Layer, error) {
	fail := func(format string, args ...any) (Layer, error) {
		return Layer{}, holdfast.Errorf(holdfast.ErrConfig, "%s: %s", name, fmt.Sprintf(format, args...))
	}
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.UseNumber()
	var settings map[string]any
	if err := decoder.Decode(&settings); err != nil || settings == nil {
		return fail("the settings are no JSON object")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return fail("there is something behind the JSON object of the settings")
	}
	delete(settings, "model") // what the conversation is held with: no key of ours
	plain, err := plainValue("", settings)
	if err != nil {
		return fail("%v", err)
	}
	data, err := toml.Marshal(plain)
	if err != nil {
		return fail("the settings cannot be read: %v", err)
	}
	return Layer{
		name: name, data: data,
		refusal: "cannot be set by a conversation, which may come from others. Set it in your own file",
	}, nil
}

// plainValue replaces the numbers of a JSON value by those that TOML has, and
// refuses null, which it has not.
func plainValue(name string, v any) (any, error) {
	switch v := v.(type) {
	case nil:
		return nil, fmt.Errorf("%s is null. Leave it out", name)
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n, nil
		}
		n, err := v.Float64()
		if err != nil {
			return nil, fmt.Errorf("%s is a number that is too large", name)
		}
		return n, nil
	case []any:
		for i, item := range v {
			plain, err := plainValue(element(name, i), item)
			if err != nil {
				return nil, err
			}
			v[i] = plain
		}
	case map[string]any:
		for _, part := range sortedKeys(v) {
			plain, err := plainValue(join(name, keyPart(part)), v[part])
			if err != nil {
				return nil, err
			}
			v[part] = plain
		}
	}
	return v, nil
}

// setLayer is one --set KEY=VALUE. Errors in its form carry the code usage.
func setLayer(assignment string) (Layer, error) {
	name, value, ok := cutAssignment(assignment)
	if !ok {
		// What was written is not repeated: it may be a credential.
		return Layer{}, holdfast.Errorf(holdfast.ErrUsage, "--set has no value. Write --set KEY=VALUE such as --set limits.body=64MiB")
	}
	var one map[string]any
	if err := toml.Unmarshal([]byte(name+" = 0"), &one); err != nil || len(one) != 1 || strings.ContainsAny(name, "\r\n") {
		return Layer{}, holdfast.Errorf(holdfast.ErrUsage, "--set %s: this is no key. Write --set KEY=VALUE such as --set limits.body=64MiB", name)
	}
	return valueLayer("--set "+name, name, value)
}

// cutAssignment cuts at the first = outside quotes.
func cutAssignment(s string) (name, value string, ok bool) {
	var quoted rune
	for i, c := range s {
		switch {
		case quoted != 0:
			if c == quoted {
				quoted = 0
			}
		case c == '"' || c == '\'':
			quoted = c
		case c == '=':
			return strings.TrimSpace(s[:i]), s[i+1:], true
		}
	}
	return "", "", false
}

// valueLayer is one key with a value in TOML, or else a text.
func valueLayer(name, key, value string) (Layer, error) {
	if !utf8.ValidString(value) {
		return Layer{}, holdfast.Errorf(holdfast.ErrConfig, "%s: the value is no text in UTF-8", name)
	}
	var one map[string]any
	if err := toml.Unmarshal([]byte("v = "+value), &one); err != nil || len(one) != 1 {
		value = quote(value)
	}
	return Layer{name: name, data: []byte(key + " = " + value)}, nil
}

// quote writes a text for TOML. What a terminal may act on is escaped.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c > 0xffff && !unicode.IsPrint(c):
			fmt.Fprintf(&b, `\U%08X`, c)
		case !unicode.IsPrint(c):
			fmt.Fprintf(&b, `\u%04X`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Environ is the environment of a process, NAME=VALUE each, as os.Environ
// gives it.
type Environ []string

// Get is the value of a variable; "" where it is not set.
func (e Environ) Get(name string) string {
	for _, entry := range e {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

const variablePrefix = "HOLDFAST_"

// foreign are variables that are not settings: those of Holdfast's own tools and
// tests, and those that Kubernetes gives each container beside a service that is
// named holdfast.
var foreign = regexp.MustCompile(`^HOLDFAST_(AGENTS_CACHE|TEST_.*|SERVICE_(HOST|PORT.*)|PORT(_.*)?)$`)

// variables are the keys by the variable that sets them. Elements of lists, and
// what stands below a name, have none: their list or table has.
var variables = func() map[string]string {
	m := map[string]string{}
	for _, k := range allKeys {
		if settable(k.name) {
			m[variablePrefix+strings.ToUpper(strings.ReplaceAll(k.name, ".", "_"))] = k.name
		}
	}
	return m
}()

// settable reports whether a key has one value in a configuration.
func settable(name string) bool {
	if strings.Contains(name, "*") {
		return false
	}
	for i, c := range name {
		if c == '.' && keys[name[:i]].value.Type == "array" {
			return false
		}
	}
	return true
}

// environmentLayers has a layer for each variable that is not empty, that of a
// table before those of its keys.
func environmentLayers(environ Environ) ([]Layer, error) {
	var layers []Layer
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, variablePrefix) || value == "" || foreign.MatchString(name) {
			continue
		}
		key, ok := variables[name]
		if !ok {
			return nil, holdfast.Errorf(holdfast.ErrConfig, "environment %s: there is no such setting. %s", name, variableHint(name))
		}
		layer, err := valueLayer("environment "+name, key, value)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	return layers, nil
}

func variableHint(name string) string {
	var known []string
	for _, v := range sortedKeys(variables) {
		known = append(known, strings.TrimPrefix(v, variablePrefix))
	}
	best := nearest(strings.TrimPrefix(name, variablePrefix), known)
	if best == "" {
		return "Variables are named like keys, as HOLDFAST_LIMITS_BODY is for limits.body. See holdfast config schema"
	}
	return "Did you mean " + variablePrefix + best + "?"
}
