package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
)

// layersOf are files named 1.toml, 2.toml and so on.
func layersOf(texts ...string) []Layer {
	var layers []Layer
	for i, text := range texts {
		layers = append(layers, FileLayer(fmt.Sprintf("%d.toml", i+1), []byte(text)))
	}
	return layers
}

func merge(t *testing.T, texts ...string) *Merged {
	t.Helper()
	m, err := Merge(layersOf(texts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestLayersAreMergedKeyByKey(t *testing.T) {
	m := merge(t,
		"[limits]\nbody = \"1MiB\"\nin_flight = \"2MiB\"\n[models.a]\ncontext_window = 1\n[models.b]\ncontext_window = 2\n",
		"[models.b]\ncontext_window = 3\n[models.c]\ncontext_window = 4\n[conversation.compaction.auto.rule.summary]\nmodel = \"m\"\n",
		"limits.body = \"512KiB\"\nconversation.compaction.auto.rule.keep_first = \"@7\"\nconversation.compaction.auto.rule.summary.context = \"c\"\n",
	)
	want := Default()
	want.Limits = Limits{Body: 512 << 10, InFlight: 2 << 20}
	want.Models = map[string]Model{"a": {ContextWindow: 1}, "b": {ContextWindow: 3}, "c": {ContextWindow: 4}}
	want.Compaction.Auto.Rule.KeepFirst = Bound{Kind: BoundPosition, N: 7}
	want.Compaction.Auto.Rule.Summary = &SummaryRule{Model: "m", Context: "c"}
	if diff := cmp.Diff(want, m.Config); diff != "" {
		t.Error(diff)
	}
	for key, want := range map[string]string{
		"limits.body":                                     "3.toml:1",
		"limits.in_flight":                                "1.toml:3",
		"models.a.context_window":                         "1.toml:5",
		"models.b.context_window":                         "2.toml:2",
		"conversation.compaction.auto.rule.keep_first":    "3.toml:2",
		"conversation.compaction.auto.rule.summary.model": "2.toml:6",
		"conversation.compaction.auto.rule.keep_last":     "built-in",
	} {
		if got := m.Origin(key); got != want {
			t.Errorf("%s is from %s, want %s", key, got, want)
		}
	}
}

func TestAListOfUpstreamsReplacesTheOneBefore(t *testing.T) {
	m := merge(t,
		"[[upstream]]\nname = \"a\"\nprotocol = \"chat\"\nbase_url = \"http://a\"\napi_key = \"env:A\"\n[[upstream]]\nname = \"b\"\nprotocol = \"gemini\"\nbase_url = \"http://b\"\n",
		"upstream = [{name = \"c\", protocol = \"chat\", base_url = \"http://c\"}]\n",
	)
	want := []Upstream{{Name: "c", Protocol: holdfast.Chat, BaseURL: mustURL(t, "http://c")}}
	if diff := cmp.Diff(want, m.Upstreams); diff != "" {
		t.Error(diff)
	}
	// Nothing is left of where the first list stood.
	if got := m.Origin("upstream[0].name") + ", " + m.Origin("upstream[0].api_key"); got != "2.toml:1, built-in" {
		t.Errorf("the origins are %s", got)
	}
	_, err := Merge(layersOf(
		"upstream = ["+up+"]\n",
		"\n[[upstream]]\nname = \"c\"\nprotocol = \"chat\"\n",
	)...)
	if want := `2.toml:2: this upstream has no base_url. Add one: a text such as "https://api.anthropic.com"`; err == nil || err.Error() != want {
		t.Errorf("an upstream takes its address from another layer: %v", err)
	}
}

func TestRulesGoBehindThoseOfEarlierLayers(t *testing.T) {
	const (
		reasoning = "[[conversation.compaction.rules]]\nreasoning = \"strip\"\n"
		omit      = "[[conversation.compaction.rules]]\ntool_calls = \"omit\"\nkeep_last = 9\n"
		replace   = "[[conversation.compaction.rules]]\nstrategy = \"replace\"\n"
	)
	stripReasoning, omitTools := builtIn, builtIn
	stripReasoning.ToolCalls = KeepTools
	omitTools.Reasoning, omitTools.ToolCalls, omitTools.KeepLast.N = KeepReasoning, OmitTools, 9
	for _, c := range []struct {
		name    string
		layers  []string
		want    []Rule
		origins string // of keep_last of each
	}{
		{"no layer has a rule", []string{"", "limits.body = \"1MiB\""}, []Rule{builtIn}, "built-in"},
		{"the first own rule takes the place of the built-in one", []string{"", omit}, []Rule{omitTools}, "2.toml:3"},
		{"later ones go behind it", []string{reasoning + omit, "", omit}, []Rule{stripReasoning, omitTools, omitTools}, "built-in 1.toml:5 3.toml:3"},
		{"a strategy of replace drops what was before", []string{omit, omit, replace + reasoning + omit}, []Rule{stripReasoning, omitTools}, "built-in 3.toml:7"},
		{"and what comes later goes behind that", []string{reasoning, replace + omit, omit}, []Rule{omitTools, omitTools}, "2.toml:5 3.toml:3"},
		{"replace without a rule brings the built-in one back", []string{omit, replace}, []Rule{builtIn}, "built-in"},
		{"replace with nothing before", []string{replace + omit}, []Rule{omitTools}, "1.toml:5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := merge(t, c.layers...)
			if diff := cmp.Diff(c.want, m.Compaction.Rules); diff != "" {
				t.Error(diff)
			}
			var origins []string
			for i := range m.Compaction.Rules {
				origins = append(origins, m.Origin(element(rulesKey, i)+".keep_last"))
			}
			if got := strings.Join(origins, " "); got != c.origins {
				t.Errorf("the origins are %s, want %s", got, c.origins)
			}
		})
	}
	_, err := Merge(layersOf(omit, replace+reasoning, "\n[[conversation.compaction.rules]]\nkeep_last = 2")...)
	if want := "3.toml:2: this rule of conversation.compaction.rules has no policy. Add reasoning, tool_calls or summary"; err == nil || err.Error() != want {
		t.Errorf("an error in a renumbered rule: %v", err)
	}
}

func TestWhatALaterLayerSwitchesOffIsNoError(t *testing.T) {
	off := Default()
	off.Continuity.Enabled = false
	m := merge(t, "compaction_continuity.ttl = \"3h\"\ncompaction_continuity.preserve.plan = false", "compaction_continuity.enabled = false")
	if diff := cmp.Diff(off, m.Config); diff != "" {
		t.Error(diff)
	}
	silent := Default()
	silent.Continuity.Preserve.UserWords = false
	m = merge(t, "compaction_continuity.user_words_tokens = 500", "compaction_continuity.preserve.user_words = false")
	if diff := cmp.Diff(silent, m.Config); diff != "" {
		t.Error(diff)
	}
}

func TestErrorsBetweenLayersNameTheOneThatBreaksIt(t *testing.T) {
	for _, c := range []struct {
		name   string
		layers []string
		want   string
	}{
		{
			"a setting of what an earlier layer switched off",
			[]string{"compaction_continuity.enabled = false", "compaction_continuity.fork = \"copy\""},
			"2.toml:1: compaction_continuity.fork has no effect while enabled = false. Remove it, or set enabled = true",
		},
		{
			"a smaller room below a body limit",
			[]string{"limits.body = \"2MiB\"", "limits.in_flight = \"1MiB\""},
			"2.toml:1: limits.in_flight leaves no room for one body: in_flight (1MiB) must be at least body (2MiB)",
		},
		{
			"a larger body above a room",
			[]string{"limits.in_flight = \"1MiB\"\nlimits.body = \"1MiB\"", "limits.body = \"2MiB\""},
			"2.toml:1: limits.body leaves no room for one body: in_flight (1MiB) must be at least body (2MiB)",
		},
		{
			"a smaller block around the words of an earlier layer",
			[]string{"\ncompaction_continuity.user_words_tokens = 900", "compaction_continuity.max_capsule_tokens = 500"},
			"2.toml:1: compaction_continuity.max_capsule_tokens leaves no room for user_words_tokens = 900 (1.toml:2): that must be from 50 to max_capsule_tokens (500)",
		},
		{
			"a wrong type that a later layer would replace",
			[]string{"compaction_continuity.enabled = 1", "compaction_continuity.enabled = true"},
			"1.toml:1: compaction_continuity.enabled must be true or false\n    compaction_continuity.enabled = 1",
		},
		{
			"both policies of the automatic rule kept, each by another layer",
			[]string{"conversation.compaction.auto.rule.reasoning = \"keep\"", "\nconversation.compaction.auto.rule.tool_calls = \"keep\""},
			"2.toml:2: conversation.compaction.auto.rule turns every policy off. Write enabled = false in [conversation.compaction.auto] instead, or add a summary",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Merge(layersOf(c.layers...)...); err == nil || err.Error() != c.want {
				t.Errorf("\n got: %v\nwant: %s", err, c.want)
			}
		})
	}
}

func TestSetTakesATOMLValueOrElseAText(t *testing.T) {
	for _, c := range []struct {
		set  []string
		want func(*Config)
	}{
		{[]string{"limits.body=1MiB"}, func(c *Config) { c.Limits.Body = 1 << 20 }},
		{[]string{"limits.body = 1_000_000"}, func(c *Config) { c.Limits.Body = 1_000_000 }},
		{[]string{"limits.body=1MiB", "limits.body=2MiB"}, func(c *Config) { c.Limits.Body = 2 << 20 }},
		{[]string{`limits={body="1MiB", in_flight="2MiB"}`}, func(c *Config) { c.Limits = Limits{1 << 20, 2 << 20} }},
		{[]string{"transcripts.enabled=true"}, func(c *Config) { c.Transcripts.Enabled = true }},
		{[]string{"compaction_continuity.fork=empty"}, func(c *Config) { c.Continuity.Fork = ForkEmpty }},
		{[]string{`compaction_continuity.fork='empty' # a TOML value`}, func(c *Config) { c.Continuity.Fork = ForkEmpty }},
		{[]string{`models."a=b.c".context_window=5`}, func(c *Config) { c.Models = map[string]Model{"a=b.c": {ContextWindow: 5}} }},
		{[]string{"mcp.git.command=git-server", "mcp.git.enabled=false"}, func(c *Config) { c.MCP = map[string]MCPServer{"git": {Command: "git-server"}} }},
		{[]string{"models.m.price.input=3", "models.m.price.output=15"}, func(c *Config) {
			c.Models = map[string]Model{"m": {Price: &Price{Input: 3e6, Output: 15e6, CacheRead: 3e6, CacheWrite: 3e6}}}
		}},
		{[]string{"conversation.compaction.auto.rule.keep_last=5h"}, func(c *Config) { c.Compaction.Auto.Rule.KeepLast = Bound{Kind: BoundAge, Age: 5 * 3600e9} }},
		{[]string{`conversation.compaction.auto.rule.summary.context=a "quoted" \ text = 1`}, func(c *Config) {
			c.Compaction.Auto.Rule.Summary = &SummaryRule{Context: `a "quoted" \ text = 1`}
		}},
		// A value is one value: what follows in a new line is part of a text.
		{[]string{"conversation.compaction.auto.rule.summary.context=1\ntranscripts.enabled = true"}, func(c *Config) {
			c.Compaction.Auto.Rule.Summary = &SummaryRule{Context: "1\ntranscripts.enabled = true"}
		}},
	} {
		m, err := Sources{Set: c.set}.Load()
		if err != nil {
			t.Errorf("%q: %v", c.set, err)
			continue
		}
		want := Default()
		c.want(&want)
		if diff := cmp.Diff(want, m.Config); diff != "" {
			t.Errorf("%q: %s", c.set, diff)
		}
	}
}

func TestErrorsOfSetNameTheFlag(t *testing.T) {
	const form = "Write --set KEY=VALUE such as --set limits.body=64MiB"
	for set, want := range map[string]string{
		"limits.body":                      "usage: --set has no value. " + form,
		"=1":                               "usage: --set : this is no key. " + form,
		"# a=1":                            "usage: --set # a: this is no key. " + form,
		"[limits]\nbody=1":                 "usage: --set [limits]\nbody: this is no key. " + form,
		"limits.bodi=1":                    "config: --set limits.bodi: unknown key \"limits.bodi\"\nDid you mean \"body\"?",
		"limits.body=1.5":                  `config: --set limits.body: limits.body must be a size such as "64MiB", "64MB" or a number of bytes`,
		"limits.body=\"1":                  `config: --set limits.body: limits.body must be a size such as "64MiB", "64MB" or a number of bytes`,
		"compaction_continuity.enabled=on": "config: --set compaction_continuity.enabled: compaction_continuity.enabled must be true or false",
		"upstream.name=a":                  "config: --set upstream.name: upstream must be a list: write [[upstream]] above each entry",
		"upstream=[" + up + "," + up + "]": "config: --set upstream: upstream.name \"a\" is already the name of an earlier upstream. Give it another",
		"limits.body=\xff":                 "config: --set limits.body: the value is no text in UTF-8",
	} {
		_, err := Sources{Set: []string{set}}.Load()
		if err == nil || string(holdfast.CodeOf(err))+": "+err.Error() != want {
			t.Errorf("%q\n got: %s: %v\nwant: %s", set, holdfast.CodeOf(err), err, want)
		}
	}
}

func TestNoTwoKeysShareAVariable(t *testing.T) {
	if len(variables) == 0 {
		t.Fatal("there are no variables")
	}
	n := 0
	for _, k := range allKeys {
		if settable(k.name) {
			n++
		}
	}
	if n != len(variables) {
		t.Errorf("%d keys share %d variables", n, len(variables))
	}
	for name, key := range variables {
		if foreign.MatchString(name) {
			t.Errorf("%s of the key %s is taken for one of somebody else", name, key)
		}
	}
}

func TestVariablesSetKeys(t *testing.T) {
	m, err := Sources{Environ: Environ{
		"HOLDFAST_LIMITS_BODY=2MiB",
		"HOLDFAST_LIMITS={body = \"1MiB\", in_flight = \"9MiB\"}", // the key stands above its table
		"HOLDFAST_COMPACTION_CONTINUITY_PRESERVE_USER_WORDS=false",
		`HOLDFAST_MODELS={"gpt-4.1" = {context_window = 7}}`,
		"HOLDFAST_CONVERSATION_COMPACTION_RULES=[{summary = {}}]",
		"HOLDFAST_QUERY_MODEL=gpt-5", "HOLDFAST_QUERY_TOOL_TIMEOUT=5m",
		`HOLDFAST_TOOLS_ALLOW=["git_*"]`, "HOLDFAST_TOOLS_FILES=false",
		`HOLDFAST_MCP={git = {command = "git-server"}}`,
		"HOLDFAST_TRANSCRIPTS_ENABLED=", // counts as unset
		"HOLDFAST_AGENTS_CACHE=/cache", "HOLDFAST_TEST_ROLE=x", "HOLDFAST_PORT=tcp://10.0.0.1:80",
		"HOLDFAST_PORT_80_TCP_ADDR=10.0.0.1", "HOLDFAST_SERVICE_HOST=10.0.0.1", "HOLDFAST_SERVICE_PORT_HTTP=80",
		"OTHER=1", "HOLDFAST=1",
	}}.Load()
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Limits = Limits{2 << 20, 9 << 20}
	want.Continuity.Preserve.UserWords = false
	want.Models = map[string]Model{"gpt-4.1": {ContextWindow: 7}}
	want.Query.Model, want.Query.ToolTimeout = "gpt-5", 5*time.Minute
	want.Tools = Tools{Allow: []string{"git_*"}}
	want.MCP = map[string]MCPServer{"git": {Enabled: true, Command: "git-server"}}
	want.Compaction.Rules = []Rule{{KeepFirst: builtIn.KeepFirst, KeepLast: builtIn.KeepLast, Reasoning: KeepReasoning, ToolCalls: KeepTools, Summary: &SummaryRule{}}}
	if diff := cmp.Diff(want, m.Config); diff != "" {
		t.Error(diff)
	}
	if got := m.Origin("limits.body") + ", " + m.Origin("limits.in_flight"); got != "environment HOLDFAST_LIMITS_BODY, environment HOLDFAST_LIMITS" {
		t.Errorf("the origins are %s", got)
	}
}

func TestErrorsOfVariablesNameThem(t *testing.T) {
	for entry, want := range map[string]string{
		"HOLDFAST_LIMITS_BODI=1":       "environment HOLDFAST_LIMITS_BODI: there is no such setting. Did you mean HOLDFAST_LIMITS_BODY?",
		"HOLDFAST_DATA=/data":          "environment HOLDFAST_DATA: there is no such setting. Variables are named like keys, as HOLDFAST_LIMITS_BODY is for limits.body. See holdfast config schema",
		"HOLDFAST_UPSTREAM_NAME=a":     "environment HOLDFAST_UPSTREAM_NAME: there is no such setting. Did you mean HOLDFAST_UPSTREAM?",
		"HOLDFAST_LIMITS_BODY=much":    `environment HOLDFAST_LIMITS_BODY: limits.body must be a size such as "64MiB", "64MB" or a number of bytes`,
		"HOLDFAST_LIMITS=1":            "environment HOLDFAST_LIMITS: limits must be a table: write [limits] above its keys",
		"HOLDFAST_LIMITS={bodi = 1}":   "environment HOLDFAST_LIMITS: unknown key \"limits.bodi\"\nDid you mean \"body\"?",
		"HOLDFAST_LIMITS={body.x = 1}": "environment HOLDFAST_LIMITS: limits.body must be a size such as \"64MiB\", \"64MB\" or a number of bytes",
		"HOLDFAST_CONVERSATION_COMPACTION_RULES=[{summary = {modl = 1}}]":  "environment HOLDFAST_CONVERSATION_COMPACTION_RULES: unknown key \"conversation.compaction.rules.summary.modl\"\nDid you mean \"model\"?",
		"HOLDFAST_CONVERSATION_COMPACTION_RULES=[{summary = {model = 1}}]": `environment HOLDFAST_CONVERSATION_COMPACTION_RULES: conversation.compaction.rules.summary.model must be a text such as "claude-haiku-4-5"`,
		"HOLDFAST_QUERY_MODEL=4":          `environment HOLDFAST_QUERY_MODEL: query.model must be a text such as "claude-sonnet-4-5"`,
		"HOLDFAST_QUERY_MAX_CALS=4":       "environment HOLDFAST_QUERY_MAX_CALS: there is no such setting. Did you mean HOLDFAST_QUERY_MAX_CALLS?",
		"HOLDFAST_MCP_GIT_COMMAND=git":    "environment HOLDFAST_MCP_GIT_COMMAND: there is no such setting. Variables are named like keys, as HOLDFAST_LIMITS_BODY is for limits.body. See holdfast config schema",
		"HOLDFAST_MCP={a = {comand = 1}}": "environment HOLDFAST_MCP: unknown key \"mcp.a.comand\"\nDid you mean \"command\"?",
		"HOLDFAST_UPSTREAM=sk-ant-1234":   "environment HOLDFAST_UPSTREAM: upstream must be a list: write [[upstream]] above each entry",
	} {
		_, err := Sources{Environ: Environ{entry}}.Load()
		if err == nil || err.Error() != want || holdfast.CodeOf(err) != holdfast.ErrConfig {
			t.Errorf("%q\n got: %v\nwant: %s", entry, err, want)
		}
	}
}

func TestAConversationGivesAJSONObject(t *testing.T) {
	l, err := ConversationLayer("conversation", []byte(`{"limits":{"body":1048576},"models":{"gpt-4.1":{"context_window":7}},"query":{"tool_timeout":"5s"},
		"conversation":{"compaction":{"rules":[{"tool_calls":"omit"},{"keep_first":0,"reasoning":"strip"}],"auto":{"trigger_ratio":0.5}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	m, err := Merge(l)
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Limits.Body = 1 << 20
	want.Models = map[string]Model{"gpt-4.1": {ContextWindow: 7}}
	want.Query.ToolTimeout = 5 * time.Second
	want.Compaction.Auto.TriggerRatio = 0.5
	want.Compaction.Rules = []Rule{
		{KeepFirst: builtIn.KeepFirst, KeepLast: builtIn.KeepLast, Reasoning: KeepReasoning, ToolCalls: OmitTools},
		{KeepFirst: Bound{Kind: BoundTurns}, KeepLast: builtIn.KeepLast, Reasoning: StripReasoning, ToolCalls: KeepTools},
	}
	if diff := cmp.Diff(want, m.Config); diff != "" {
		t.Error(diff)
	}
	if got := m.Origin("limits.body"); got != "conversation" {
		t.Errorf("the origin is %s", got)
	}
}

func TestErrorsOfAConversation(t *testing.T) {
	const guarded = " cannot be set by a conversation, which may come from others. Set it in your own file"
	for text, want := range map[string]string{
		`[]`:                                     "conversation: the settings are no JSON object",
		`null`:                                   "conversation: the settings are no JSON object",
		`{"limits"`:                              "conversation: the settings are no JSON object",
		`{} {}`:                                  "conversation: there is something behind the JSON object of the settings",
		`{"limits":{"body":null}}`:               "conversation: limits.body is null. Leave it out",
		`{"limits":{"body":1e999}}`:              "conversation: limits.body is a number that is too large",
		`{"limits":{"bodi":1}}`:                  "conversation: unknown key \"limits.bodi\"\nDid you mean \"body\"?",
		`{"limits":{"body":1}}`:                  "conversation: limits.body must be from 64KiB to 2GiB",
		`{"upstream":[]}`:                        "conversation: upstream" + guarded,
		`{"upstream":[` + jsonUp + `]}`:          "conversation: upstream" + guarded,
		`{"usage":{"ttl":"1h"}}`:                 "conversation: usage.ttl" + guarded,
		`{"session_policy":[{"principal":"a"}]}`: "conversation: session_policy" + guarded,
		`{"transcripts":{"enabled":true}}`:       "conversation: transcripts.enabled" + guarded,
		`{"transcripts":{"enabled":"true"}}`:     "conversation: transcripts.enabled must be true or false",
		`{"Transcripts":{"enabled":true}}`:       "conversation: unknown key \"Transcripts\"\nDid you mean \"transcripts\"?",
		`{"tools":{"deny":["fs_*"]}}`:            "conversation: tools.deny" + guarded,
		`{"mcp":{"a":{"command":"sh"}}}`:         "conversation: mcp.a.command" + guarded,
		`{"mcp":{"a":{"env":{"A":"1"}}}}`:        "conversation: mcp.a.env.A" + guarded,
		`{"models":{"a":{"upstream":"openai"}}}`: "conversation: models.a.upstream" + guarded,
		`{"query":{"max_calls":0}}`:              "conversation: query.max_calls" + guarded,
		`{"query":{"model":"gpt-5"}}`:            "conversation: query.model" + guarded,
		`{"query":{"max_result":0}}`:             "conversation: query.max_result must be from 1KB to 10MB",
		`{"conversation":{"compaction":{"rules":[{"summary":{}}]}}}`: "conversation: conversation.compaction.rules.summary" + guarded,
		`{"models":{"a":{"context_window":[]}}}`:                     "conversation: models.a.context_window must be a whole number such as 200000",
	} {
		l, err := ConversationLayer("conversation", []byte(text))
		if err == nil {
			_, err = Merge(l)
		}
		if err == nil || err.Error() != want || holdfast.CodeOf(err) != holdfast.ErrConfig {
			t.Errorf("%s\n got: %v\nwant: %s", text, err, want)
		}
	}
}

const jsonUp = `{"name":"a","protocol":"chat","base_url":"http://h"}`

// assignments are valid together in any number and order, as far as each is
// given once.
var assignments = []string{
	"upstream = [" + up + "]", "upstream = [{name=\"b\", protocol=\"gemini\", base_url=\"http://h\", models=[\"a*\", \"b\"]}, " + up + "]",
	"limits.body = \"1MiB\"", "limits.body = 70000", "limits.in_flight = \"1GiB\"",
	"compaction_continuity.enabled = true", "compaction_continuity.max_capsule_tokens = 1500", "compaction_continuity.max_capsule_tokens = 20000",
	"compaction_continuity.user_words_tokens = 1001", "compaction_continuity.ttl = \"90m30s\"", "compaction_continuity.fork = \"empty\"",
	"compaction_continuity.preserve.plan = false", "compaction_continuity.preserve.user_decisions = false", "compaction_continuity.preserve.facts = false",
	"transcripts.enabled = true", "usage.ttl = \"90h\"", "conversation.compaction.estimator = \"chars\"",
	"conversation.compaction.rules = [{strategy = \"replace\"}]",
	"conversation.compaction.rules = [{strategy = \"replace\"}, {reasoning = \"strip\", keep_last = \"5h\"}]",
	"conversation.compaction.rules = [{summary = {}, keep_first = \"@3\"}, {tool_calls = \"omit\", summary = {context = \"\\u202e\\n\\\"\"}}]",
	"conversation.compaction.auto.enabled = true", "conversation.compaction.auto.trigger_ratio = 1e-7", "conversation.compaction.auto.min_gain = 0",
	"conversation.compaction.auto.granularity = \"event\"", "conversation.compaction.auto.rule.keep_last_tokens = 7",
	"conversation.compaction.auto.rule.reasoning = \"keep\"", "conversation.compaction.auto.rule.keep_first = \"last-compaction\"",
	"conversation.compaction.auto.rule.summary = {model = \"m\"}",
	"models.a.context_window = 5", "models.\"b.c]\".context_window = 6", "models.\"\\t\".context_window = 7",
	"query.model = \"gpt-5\"", "query.model = \"\"", "query.system = \"a\\n\\\"b\\\"\"", "query.max_calls = 1", "query.titles = true",
	"query.title_model = \"gpt-5-nano\"", "query.tool_timeout = \"90s\"", "query.max_result = 1001", "query.max_result = \"1 MiB\"",
	"tools.allow = [\"a_*\", \"b\"]", "tools.allow = []", "tools.deny = [\"c_*\", \"*x\"]", "tools.deny = []", "tools.files = false",
	"mcp.p.command = \"p\"", "mcp.p.args = [\"\", \"-v\"]", "mcp.p.env.A = \"env:A\"", "mcp.p.env.B = \"\\u202e\"",
	"mcp.q.url = \"http://h/?a=%7e\"", "mcp.q.enabled = false", "mcp.q.headers.\"a.b\" = \"env:C\"", "mcp.q.headers.X = \"1\"",
	"models.a.upstream = \"a\"", "models.a.max_output = 4", "models.\"b.c]\".price.input = 0.3", "models.\"b.c]\".price.output = 1e6", "models.\"b.c]\".price.cache_read = 0.1",
}

// ground is a layer below, with what some of the assignments need.
const ground = "upstream = [" + up + "]\nmcp = {p = {command = \"p\"}, q = {url = \"http://h\"}}\nmodels.\"b.c]\".price = {input = 1, output = 2}\n"

func TestWhatIsShownReadsBackAndNamesTheLastLayer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := []string{ground}
		last := map[string]string{}
		for i := range rapid.IntRange(0, 4).Draw(t, "layers") {
			var lines []string
			given := map[string]bool{}
			for _, a := range rapid.SliceOfN(rapid.SampledFrom(assignments), 0, 8).Draw(t, "assignments") {
				key, _, _ := strings.Cut(a, " = ")
				if given[key] {
					continue
				}
				given[key] = true
				lines = append(lines, a)
				last[key] = fmt.Sprintf("%d.toml:%d", i+2, len(lines))
			}
			texts = append(texts, strings.Join(lines, "\n"))
		}
		m, err := Merge(layersOf(texts...)...)
		if err != nil {
			t.Fatal(err)
		}
		for _, origins := range []bool{false, true} {
			again, err := parse(m.TOML(origins))
			if err != nil {
				t.Fatalf("what is shown is refused: %v\n%s", err, m.TOML(origins))
			}
			if diff := cmp.Diff(m.Config, again); diff != "" {
				t.Fatal(diff)
			}
		}
		shown := strings.Split(m.TOML(true), "\n")
		for key, origin := range last {
			if strings.HasSuffix(key, "rules") || strings.HasSuffix(key, "upstream") || strings.HasSuffix(key, "summary") {
				continue
			}
			if m.Origin(key) != origin || !slices.ContainsFunc(shown, func(line string) bool { return strings.HasSuffix(line, "  # "+origin) }) {
				t.Fatalf("%s is from %s, want %s; shown:\n%s", key, m.Origin(key), origin, strings.Join(shown, "\n"))
			}
		}
	})
}
