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
constraints = false
rationale = true
rejected_alternatives = false
open_questions = true
facts = false
user_words = true

[compaction_continuity.extractor]
enabled = true
route = "local.llm_1:qwen:7b"
timeout = "4s"
max_input_tokens = 6_000
max_output_tokens = 900
input_ratio = 0.25
workers = 2
max_pending_jobs = 9
barrier_timeout = "0s"

[[session_policy]]
name = "night_1"
principal = "ci"
label = "nightly*"
agent = "codex"
enabled = true
max_capsule_tokens = 900
user_words_tokens = 300
fork = "copy"

[session_policy.extractor]
enabled = false

[session_policy.preserve]
plan = true
user_decisions = false
constraints = true
rationale = false
rejected_alternatives = true
open_questions = false
facts = true
user_words = true

[[session_policy]]
label = "off"
enabled = false

[[budget]]
name = "team.1"
per = "month"
soft = 40
hard = 50.25

[[budget]]
name = "nights"
principal = "ci*"
label = "nightly*"
per = "day"
hard = 0

[transcripts]
enabled = true
ttl = "2160h"

[usage]
ttl = "100h"

[conversation.compaction]
estimator = "tokenizer"

[[conversation.compaction.rules]]
keep_first = 0
keep_last = "5h"
reasoning = "strip"

[[conversation.compaction.rules]]
keep_first = "last-compaction"
keep_last = "@12"
tool_calls = "omit"

[conversation.compaction.rules.summary]
instructions = "Keep \"every\" name.\nBe short."
context = "A compiler."
model = "haiku"

[conversation.compaction.auto]
enabled = true
trigger_ratio = 1
min_turns = 0
granularity = "event"
min_gain = 0

[conversation.compaction.auto.rule]
keep_first = 2
keep_last = 4
keep_last_tokens = 2_500
reasoning = "keep"
tool_calls = "strip-responses"
summary = { instructions = "Briefly.", context = "Go", model = "mini" }

[query]
model = "claude-sonnet-4-5"
system = "Be \"brief\".\nUse tools."
max_calls = 7
titles = true
title_model = "claude-haiku-4-5"
tool_timeout = "2m30s"
max_result = "64KiB"

[tools]
allow = ["fs_read", "git_*"]
deny = ["git_push", "*_rm"]
files = false

[mcp.git_1]
enabled = false
command = "git-server"
args = ["--repo", "", "a b"]

[mcp.git_1.env]
GIT_TOKEN = "env:GH_TOKEN"
LEVEL = "file:/not/a/reference"

[mcp.web-search]
url = "https://search.example/mcp?mode=all"
headers = { Authorization = "env:SEARCH_AUTH", X-Key = "file:/etc/key", "x.mode" = "read only" }

[models.m-1]
upstream = "local.llm_1"
context_window = 200_000
max_output = 8_000
price = { input = 3, output = 15.5, cache_read = 0.000001, cache_write = 0 }

[models."gpt-4.1"]
context_window = 1_047_576
`

// parse merges one file.
func parse(text string) (Config, error) {
	m, err := Merge(FileLayer("f.toml", []byte(text)))
	if err != nil {
		return Config{}, err
	}
	return m.Config, nil
}

func mustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestEveryKeyOfAFileArrives(t *testing.T) {
	got, err := parse(full)
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
			Preserve: Preserve{Plan: false, UserDecisions: true, Rationale: true, OpenQuestions: true, UserWords: true},
			Extractor: Extractor{
				Enabled: true, Route: Route{"local.llm_1", "qwen:7b"}, Timeout: 4 * time.Second, MaxInputTokens: 6000, MaxOutputTokens: 900, InputRatio: 0.25,
				Workers: 2, MaxPendingJobs: 9,
			},
		},
		Policies: []SessionPolicy{
			{
				Name: "night_1", Principal: "ci", Label: "nightly*", Agent: "codex",
				Enabled: new(true), MaxCapsuleTokens: new(900), UserWordsTokens: new(300), Fork: new(ForkCopy),
				Preserve: PreservePolicy{
					Plan: new(true), UserDecisions: new(false), Constraints: new(true), Rationale: new(false),
					RejectedAlternatives: new(true), OpenQuestions: new(false), Facts: new(true), UserWords: new(true),
				},
				Extractor: new(false),
			},
			{Name: "#2", Label: "off", Enabled: new(false)},
		},
		Budgets: []Budget{
			{Name: "team.1", Per: PerMonth, Soft: new(int64(40_000_000)), Hard: new(int64(50_250_000))},
			{Name: "nights", Principal: "ci*", Label: "nightly*", Per: PerDay, Hard: new(int64(0))},
		},
		Transcripts: Transcripts{Enabled: true, TTL: 90 * 24 * time.Hour},
		Usage:       Usage{TTL: 100 * time.Hour},
		Compaction: Compaction{
			Rules: []Rule{
				{KeepFirst: Bound{Kind: BoundTurns}, KeepLast: Bound{Kind: BoundAge, Age: 5 * time.Hour}, Reasoning: StripReasoning, ToolCalls: KeepTools},
				{
					KeepFirst: Bound{Kind: BoundLastCompaction}, KeepLast: Bound{Kind: BoundPosition, N: 12},
					Reasoning: KeepReasoning, ToolCalls: OmitTools,
					Summary: &SummaryRule{Instructions: "Keep \"every\" name.\nBe short.", Context: "A compiler.", Model: "haiku"},
				},
			},
			Estimator: EstimateTokenizer,
			Auto: Auto{
				Enabled: true, TriggerRatio: 1, Granularity: GranularityEvent,
				Rule: Rule{
					KeepFirst: Bound{Kind: BoundTurns, N: 2}, KeepLast: Bound{Kind: BoundTurns, N: 4}, KeepLastTokens: 2500,
					Reasoning: KeepReasoning, ToolCalls: StripResponses,
					Summary: &SummaryRule{Instructions: "Briefly.", Context: "Go", Model: "mini"},
				},
			},
		},
		Query: Query{
			Model: "claude-sonnet-4-5", System: "Be \"brief\".\nUse tools.", MaxCalls: 7, Titles: true, TitleModel: "claude-haiku-4-5",
			ToolTimeout: 150 * time.Second, MaxResult: 65536,
		},
		Tools: Tools{Allow: []string{"fs_read", "git_*"}, Deny: []string{"git_push", "*_rm"}},
		MCP: map[string]MCPServer{
			"git_1": {
				Command: "git-server", Args: []string{"--repo", "", "a b"},
				Env: map[string]string{"GIT_TOKEN": "env:GH_TOKEN", "LEVEL": "file:/not/a/reference"},
			},
			"web-search": {
				Enabled: true, URL: mustURL(t, "https://search.example/mcp?mode=all"),
				Headers: map[string]string{"Authorization": "env:SEARCH_AUTH", "X-Key": "file:/etc/key", "x.mode": "read only"},
			},
		},
		Models: map[string]Model{
			"m-1": {
				Upstream: "local.llm_1", ContextWindow: 200_000, MaxOutput: 8000,
				Price: &Price{Input: 3_000_000, Output: 15_500_000, CacheRead: 1, CacheWrite: 0},
			},
			"gpt-4.1": {ContextWindow: 1_047_576},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// builtIn is the rule that holds where none is configured.
var builtIn = Rule{
	KeepFirst: Bound{Kind: BoundTurns, N: 1}, KeepLast: Bound{Kind: BoundTurns, N: 3},
	Reasoning: StripReasoning, ToolCalls: StripTools,
}

func TestDefaultsStandWhereTheFileIsSilent(t *testing.T) {
	got, err := parse("[limits]\nbody = \"1MiB\"\n")
	if err != nil {
		t.Fatal(err)
	}
	auto := builtIn
	auto.KeepLastTokens = 10_000
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
			Preserve: Preserve{
				Plan: true, UserDecisions: true, Constraints: true, Rationale: true, RejectedAlternatives: true, OpenQuestions: true, Facts: true,
				UserWords: true,
			},
			Extractor: Extractor{
				Timeout: 8 * time.Second, MaxInputTokens: 12_000, MaxOutputTokens: 2000, InputRatio: 0.07, Workers: 4, MaxPendingJobs: 64, BarrierTimeout: 2 * time.Second,
			},
		},
		Usage:      Usage{TTL: 365 * 24 * time.Hour},
		Compaction: Compaction{Rules: []Rule{builtIn}, Estimator: EstimateCalibrated, Auto: Auto{TriggerRatio: 0.75, MinTurns: 5, Granularity: GranularityTurn, MinGain: 0.02, Rule: auto}},
		Query:      Query{MaxCalls: 50, Titles: true, ToolTimeout: 60 * time.Second, MaxResult: 30_000},
		Tools:      Tools{Allow: []string{"fs_*", "update_plan"}, Files: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheREADMEShowsTheDefaults(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(readme), "```toml\n[[upstream]]")
	text, _, ok := strings.Cut("[[upstream]]"+text, "```")
	if !ok {
		t.Fatal("the README has no configuration")
	}
	got, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Upstreams = want.Upstreams[:1] // that of Anthropic is the example
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, k := range allKeys {
		if name := k.name[strings.LastIndexByte(k.name, '.')+1:]; name != "*" && !strings.Contains(text, name) {
			t.Errorf("%s is not in it", k.name)
		}
	}
}

func TestTheKeyTableNamesExactlyTheKeysOfTheFile(t *testing.T) {
	var names []string
	var walk func(prefix string, of reflect.Type)
	walk = func(prefix string, of reflect.Type) {
		for f := range of.Fields() {
			if f.Anonymous {
				walk(prefix, f.Type)
				continue
			}
			name := prefix + f.Tag.Get("toml")
			names = append(names, name)
			kind := f.Type
			switch kind.Kind() {
			case reflect.Slice:
				kind = kind.Elem()
			case reflect.Map:
				kind = kind.Elem()
				name += ".*"
				names = append(names, name)
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

func TestBounds(t *testing.T) {
	for _, c := range []struct {
		in   any
		want string // "": refused
	}{
		{int64(0), "0"},
		{int64(1_000_000_000), "1000000000"},
		{int64(-1), ""},
		{int64(1_000_000_001), ""},
		{1.5, ""},
		{true, ""},
		{"5h", "5h"},
		{"1h30m", "1h30m"},
		{"90m", "1h30m"},
		{"45s", "45s"},
		{"0s", ""},
		{"-5h", ""},
		{"5", ""},
		{"", ""},
		{"@1", "@1"},
		{"@0", ""},
		{"@-1", ""},
		{"@", ""},
		{"@1000000001", ""},
		{"last-compaction", "last-compaction"},
		{"last", ""},
	} {
		b, ok := parseBound(c.in)
		got := ""
		if ok {
			got = b.String()
		}
		if got != c.want {
			t.Errorf("the bound %#v reads %q, want %q", c.in, got, c.want)
		}
	}
}

func TestTheEndsOfEachRangeAreAccepted(t *testing.T) {
	for _, text := range []string{
		"limits.body = \"64KiB\"", "limits.body = \"2GiB\"\nlimits.in_flight = \"2GiB\"", "limits.in_flight = \"64GiB\"",
		"compaction_continuity.max_capsule_tokens = 200", "compaction_continuity.max_capsule_tokens = 20000",
		"transcripts.ttl = \"1h\"", "transcripts.ttl = \"87600h\"", "compaction_continuity.ttl = \"1h\"", "compaction_continuity.ttl = \"87600h\"",
		"compaction_continuity.extractor = {enabled = true, route = \"gemini:g\", timeout = \"100ms\", max_input_tokens = 1000, max_output_tokens = 200, input_ratio = 0.0001, workers = 1, max_pending_jobs = 1, barrier_timeout = \"0s\"}",
		"compaction_continuity.extractor = {enabled = true, route = \"gemini:models/a:b\", timeout = \"5m\", max_input_tokens = 200000, max_output_tokens = 32000, input_ratio = 1, workers = 64, max_pending_jobs = 10000, barrier_timeout = \"1m\"}",
		"compaction_continuity.enabled = false", "usage.ttl = \"1h\"", "usage.ttl = \"87600h\"",
		"conversation.compaction.auto.trigger_ratio = 1", "conversation.compaction.auto.trigger_ratio = 0.001",
		"conversation.compaction.auto.min_turns = 1000000", "conversation.compaction.auto.min_gain = 0.999",
		"conversation.compaction.auto.rule.keep_last_tokens = 0", "conversation.compaction.auto.rule.keep_last_tokens = 100000000",
		"budget = [{name = \"a\", per = \"day\", soft = 0.01}, {name = \"b\", per = \"month\", hard = 1e9}]",
		"models.m.context_window = 1", "models.m.context_window = 100000000", "models.m.max_output = 1", "models.m.max_output = 100000000",
		"models.m = {context_window = 2, max_output = 1}",
		"models.m.price = {input = 0, output = 0.000001}", "models.m.price = {input = 1000000, output = 1e6}",
		"query.max_calls = 1", "query.max_calls = 1000", "query.tool_timeout = \"1s\"", "query.tool_timeout = \"60m\"",
		"query.max_result = 1000", "query.max_result = \"10MB\"", "query = {model = \"\", system = \"\", title_model = \"\"}",
		"tools = {allow = [], deny = []}",
		"mcp.a.command = \"x\"", "mcp.a23456789-123456789_123456789012.url = \"http://[::1]:80\"",
	} {
		if _, err := parse(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
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
