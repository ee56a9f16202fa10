package config

import (
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
)

// full sets every key that there is to something that is not its default.
const full = `# everything
[[upstream]]
name = "work"
protocol = "anthropic"
base_url = "https://gateway.example/anthropic/"
api_key = "env:WORK_KEY"
models = ["claude-opus-*", "claude-haiku-4-5"]

[[upstream]]
name = "local.llm_1"
protocol = "chat"
base_url = "http://[::1]:11434/v1"
api_key = "file:/etc/holdfast/key"

[limits]
body = "8MB"
in_flight = 1_073_741_824

[compaction_continuity]
enabled = true
max_capsule_tokens = 1200
user_words_tokens = 600
ttl = "36h30m"
fork = "empty"

[compaction_continuity.preserve]
plan = false
user_decisions = true
`

func mustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestEveryKeyOfAFileArrives(t *testing.T) {
	got, err := Parse("f.toml", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Upstreams: []Upstream{
			{
				Name: "work", Protocol: holdfast.Anthropic, BaseURL: mustURL(t, "https://gateway.example/anthropic"),
				APIKey: "env:WORK_KEY", Models: []string{"claude-opus-*", "claude-haiku-4-5"},
			},
			{
				Name: "local.llm_1", Protocol: holdfast.Chat, BaseURL: mustURL(t, "http://[::1]:11434/v1"),
				APIKey: "file:/etc/holdfast/key",
			},
		},
		Limits: Limits{Body: 8_000_000, InFlight: 1 << 30},
		Continuity: Continuity{
			Enabled: true, MaxCapsuleTokens: 1200, UserWordsTokens: 600, TTL: 36*time.Hour + 30*time.Minute, Fork: ForkEmpty,
			Preserve: Preserve{Plan: false, UserDecisions: true, UserWords: true},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDefaultsStandWhereTheFileIsSilent(t *testing.T) {
	got, err := Parse("f.toml", []byte("[limits]\nbody = \"1MiB\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Upstreams: []Upstream{
			{Name: "anthropic", Protocol: "anthropic", BaseURL: mustURL(t, "https://api.anthropic.com")},
			{Name: "openai", Protocol: "responses", BaseURL: mustURL(t, "https://api.openai.com/v1")},
			{Name: "openai-chat", Protocol: "chat", BaseURL: mustURL(t, "https://api.openai.com/v1")},
			{Name: "gemini", Protocol: "gemini", BaseURL: mustURL(t, "https://generativelanguage.googleapis.com")},
		},
		Limits: Limits{Body: 1 << 20, InFlight: 512 << 20},
		Continuity: Continuity{
			Enabled: true, MaxCapsuleTokens: 2500, UserWordsTokens: 1000, TTL: 30 * 24 * time.Hour, Fork: ForkCopy,
			Preserve: Preserve{Plan: true, UserDecisions: true, UserWords: true},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheKeyTableNamesExactlyTheKeysOfTheFile(t *testing.T) {
	var names []string
	var walk func(prefix string, of reflect.Type)
	walk = func(prefix string, of reflect.Type) {
		for f := range of.Fields() {
			name := prefix + f.Tag.Get("toml")
			names = append(names, name)
			kind := f.Type
			if kind.Kind() == reflect.Slice {
				kind = kind.Elem()
			}
			if kind.Kind() == reflect.Struct {
				walk(name+".", kind)
			}
		}
	}
	walk("", reflect.TypeFor[file]())
	slices.Sort(names)
	if diff := cmp.Diff(names, slices.Sorted(maps.Keys(keys))); diff != "" {
		t.Error(diff)
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"64MiB": 64 << 20, "64MB": 64_000_000, "64 MiB": 64 << 20, "2GiB": 2 << 30, "1GB": 1e9,
		"100KiB": 100 << 10, "100KB": 100_000, "70000B": 70_000, "70000": 70_000, "0": 0,
		"": -1, "MiB": -1, "1.5GiB": -1, "-1": -1, "+1": -1, "64mib": -1, "64M": -1, "1  B": -1,
		"9223372036854775807": 1<<63 - 1, "9223372036854775808": -1, "9007199254740992KiB": -1,
	} {
		got, ok := parseSize(text)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("parseSize(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestTheEndsOfEachRangeAreAccepted(t *testing.T) {
	for _, text := range []string{
		"limits.body = \"64KiB\"", "limits.body = \"2GiB\"\nlimits.in_flight = \"2GiB\"", "limits.in_flight = \"64GiB\"",
		"compaction_continuity.max_capsule_tokens = 200", "compaction_continuity.max_capsule_tokens = 20000",
		"compaction_continuity.ttl = \"1h\"", "compaction_continuity.ttl = \"87600h\"",
		"compaction_continuity.enabled = false",
	} {
		if _, err := Parse("f.toml", []byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", filepath.Join(dir, "home"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "xdg"))
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	body := func(path string) int64 {
		t.Helper()
		c, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		return c.Limits.Body
	}

	if got := body(""); got != 64<<20 {
		t.Errorf("without a file the body limit is %d", got)
	}
	write(filepath.Join(dir, "home", ".config", "holdfast", "config.toml"), "limits.body = 100_001")
	if got := body(""); got != 64<<20 {
		t.Errorf("with XDG_CONFIG_HOME set the file in ~/.config counted: %d", got)
	}
	write(filepath.Join(dir, "xdg", "holdfast", "config.toml"), "limits.body = 100_002")
	if got := body(""); got != 100_002 {
		t.Errorf("the file in XDG_CONFIG_HOME did not count: %d", got)
	}
	named := filepath.Join(dir, "named.toml")
	write(named, "limits.body = 100_003")
	if got := body(named); got != 100_003 {
		t.Errorf("the named file did not count: %d", got)
	}
	t.Setenv("XDG_CONFIG_HOME", "relative/counts/as/unset")
	if got := body(""); got != 100_001 {
		t.Errorf("the file in ~/.config did not count: %d", got)
	}

	big := filepath.Join(dir, "big.toml")
	write(big, strings.Repeat("# padding\n", 110_000))
	for path, want := range map[string]string{
		filepath.Join(dir, "none.toml"): "there is no file " + dir + "/none.toml. Write one, or leave --config out: everything has a default",
		big:                             dir + "/big.toml: the file is larger than 1 MiB; a configuration is a few lines",
	} {
		_, err := Load(path)
		if err == nil || err.Error() != want || holdfast.CodeOf(err) != holdfast.ErrConfig {
			t.Errorf("Load: %v, want %s", err, want)
		}
	}
	if _, err := Load(dir); holdfast.CodeOf(err) != holdfast.ErrUnavailable {
		t.Errorf("Load of a directory: %v", err)
	}
}

func TestDefaultDataDir(t *testing.T) {
	t.Setenv("HOME", "/home/ada")
	for xdg, want := range map[string]string{
		"":         "/home/ada/.local/share/holdfast",
		"relative": "/home/ada/.local/share/holdfast",
		"/data":    "/data/holdfast",
	} {
		t.Setenv("XDG_DATA_HOME", xdg)
		if got, err := DefaultDataDir(); got != want || err != nil {
			t.Errorf("with XDG_DATA_HOME=%q: %q, %v", xdg, got, err)
		}
	}
	t.Setenv("HOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	_, err := DefaultDataDir()
	if want := "there is no home directory to look in. Set HOME or XDG_DATA_HOME, or give --data"; err == nil || err.Error() != want {
		t.Errorf("without a home: %v", err)
	}
}

func TestSecretRefRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"good": "  sk-file\n", "empty": "\n", "two": "sk-secret sk-secret"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HF_KEY", "sk-env")
	t.Setenv("HF_EMPTY", "")
	t.Setenv("HF_BAD", "sk-secret\x1b[31m")
	for _, c := range []struct{ ref, want, err string }{
		{"", "", ""},
		{"env:HF_KEY", "sk-env", ""},
		{"file:" + dir + "/good", "sk-file", ""},
		{"env:HF_EMPTY", "", "api_key refers to the environment variable HF_EMPTY, which is empty. Set it, or leave api_key out to forward the client's own"},
		{"file:" + dir + "/empty", "", "api_key refers to the file " + dir + "/empty, which is empty. Write the key into it, or leave api_key out to forward the client's own"},
		{"file:" + dir + "/none", "", "the api_key cannot be read: open " + dir + "/none: no such file or directory"},
		{"env:HF_BAD", "", "what env:HF_BAD holds is no API key: it must be one word of plain ASCII characters"},
		{"file:" + dir + "/two", "", "what file:" + dir + "/two holds is no API key: it must be one word of plain ASCII characters"},
		{"sk-literal", "", "api_key is no reference. Write env:NAME or file:/PATH"},
	} {
		got, err := SecretRef(c.ref).Read()
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != c.want || text != c.err {
			t.Errorf("%q: %q, %q; want %q, %q", c.ref, got, text, c.want, c.err)
		}
	}
}
