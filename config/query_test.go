package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestErrorsOfQueriesAndTools(t *testing.T) {
	const blank = " holds nothing but white space. Write a text, or \"\" for none"
	for _, c := range []struct{ name, text, want string }{
		{"an unknown key of a query", "[query]\nmax_call = 3\n", "f.toml:2: unknown key \"query.max_call\"\n    max_call = 3\nDid you mean \"max_calls\"?"},
		{"a number where a model belongs", "query.model = 4\n", "f.toml:1: query.model must be a text such as \"claude-sonnet-4-5\"\n    query.model = 4"},
		{"a blank model", "query.model = \" \"\n", "f.toml:1: query.model" + blank},
		{"a blank system text", "query.system = \"\\n\"\n", "f.toml:1: query.system" + blank},
		{"a blank model for titles", "query.title_model = \"\\t\"\n", "f.toml:1: query.title_model" + blank},
		{"no calls", "query.max_calls = 0\n", "f.toml:1: query.max_calls must be from 1 to 1000"},
		{"too many calls", "query.max_calls = 1001\n", "f.toml:1: query.max_calls must be from 1 to 1000"},
		{
			"a model for titles that are off", "[query]\ntitle_model = \"m\"\ntitles = false\n",
			"f.toml:2: query.title_model has no effect while titles = false. Remove it, or set titles = true",
		},
		{"a timeout without a unit", "query.tool_timeout = \"60\"\n", "f.toml:1: query.tool_timeout must be a text such as \"60s\" or \"5m\""},
		{"a timeout that is too short", "query.tool_timeout = \"999ms\"\n", "f.toml:1: query.tool_timeout must be from \"1s\" to \"1h\""},
		{"a timeout that is too long", "query.tool_timeout = \"61m\"\n", "f.toml:1: query.tool_timeout must be from \"1s\" to \"1h\""},
		{"a result that is too small", "query.max_result = 999\n", "f.toml:1: query.max_result must be from 1KB to 10MB"},
		{"a result that is too large", "query.max_result = \"10MiB\"\n", "f.toml:1: query.max_result must be from 1KB to 10MB"},
		{"one pattern where a list belongs", "tools.allow = \"fs_*\"\n", "f.toml:1: tools.allow must be a list of texts such as [\"fs_*\"]\n    tools.allow = \"fs_*\""},
		{"an empty pattern", "[tools]\ndeny = [\"a\",\n\"\"]\n", "f.toml:3: tools.deny must not hold an empty text: it matches no tool"},
		{"a pattern behind one that covers it", "tools.allow = [\"fs_*\",\n\"fs_read\"]\n", "f.toml:2: tools.allow \"fs_read\" has no effect: \"fs_*\" matches the same tools. Remove one"},
		{"a pattern before one that covers it", "tools.deny = [\"fs_read\",\n\"fs_*\"]\n", "f.toml:1: tools.deny \"fs_read\" has no effect: \"fs_*\" matches the same tools. Remove one"},
		{"a pattern that stands twice", "tools.deny = [\"a\",\n\"a\"]\n", "f.toml:2: tools.deny \"a\" has no effect: \"a\" matches the same tools. Remove one"},
		{
			"a tool that is allowed and denied", "[tools]\ndeny = [\"git_*\"]\nallow = [\n\"fs_*\",\n\"git_log\"]\n",
			"f.toml:5: tools.allow \"git_log\" has no effect: tools.deny has \"git_*\" (f.toml:2). Remove one",
		},
		{
			"recording without continuity", "transcripts.enabled = true\ncompaction_continuity.enabled = false\n",
			"f.toml:1: transcripts.enabled = true has no effect while compaction_continuity.enabled = false. Remove it, or set compaction_continuity.enabled = true",
		},
		{
			"a time for recordings without continuity", "transcripts.ttl = \"2h\"\ncompaction_continuity.enabled = false\n",
			"f.toml:1: transcripts.ttl has no effect while compaction_continuity.enabled = false. Remove it, or set compaction_continuity.enabled = true",
		},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, c.text, c.want) })
	}
}

func TestErrorsOfQueriesAndToolsBetweenLayers(t *testing.T) {
	for _, c := range []struct {
		name   string
		layers []string
		want   string
	}{
		{
			"a model for titles that an earlier layer switched off",
			[]string{"query.titles = false", "query.title_model = \"m\""},
			"2.toml:1: query.title_model has no effect while titles = false. Remove it, or set titles = true",
		},
		{
			"a tool that an earlier layer denies",
			[]string{"\ntools.deny = [\"git_*\"]", "tools.allow = [\"git_log\"]"},
			"2.toml:1: tools.allow \"git_log\" has no effect: tools.deny has \"git_*\" (1.toml:2). Remove one",
		},
		{
			"recording where an earlier layer switched continuity off",
			[]string{"compaction_continuity.enabled = false", "transcripts.enabled = true"},
			"2.toml:1: transcripts.enabled = true has no effect while compaction_continuity.enabled = false. Remove it, or set compaction_continuity.enabled = true",
		},
	} {
		t.Run(c.name, func(t *testing.T) { wantLayersError(t, c.layers, c.want) })
	}
}

func TestWhatALaterLayerTakesBackIsGone(t *testing.T) {
	for _, c := range []struct {
		name   string
		layers []string
		want   func(*Config)
	}{
		{"no titles, no model for them", []string{"query.title_model = \"m\"", "query.titles = false"}, func(c *Config) { c.Query.Titles = false }},
		{"a text that is emptied", []string{"query = {model = \"m\", system = \"s\"}", "query = {model = \"\", system = \"\"}"}, func(*Config) {}},
		{"what is allowed and then denied", []string{"tools.allow = [\"git_log\", \"fs_*\"]", "tools.deny = [\"git_*\"]"}, func(c *Config) {
			c.Tools.Allow, c.Tools.Deny = []string{"fs_*"}, []string{"git_*"}
		}},
		{"a default that is denied", []string{"tools.deny = [\"*\"]"}, func(c *Config) { c.Tools.Allow, c.Tools.Deny = nil, []string{"*"} }},
		{"a list takes the place of the one before", []string{"tools = {allow = [\"a\", \"b\"], deny = [\"c\", \"d\"]}", "tools = {allow = [\"e\"], deny = []}"}, func(c *Config) {
			c.Tools.Allow = []string{"e"}
		}},
		{"a time for recordings without continuity", []string{"transcripts.ttl = \"2h\"", "compaction_continuity.enabled = false"}, func(c *Config) { c.Continuity.Enabled = false }},
		{"recording without continuity", []string{"transcripts.enabled = true", "compaction_continuity.enabled = false"}, func(c *Config) { c.Continuity.Enabled = false }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := merge(t, c.layers...)
			want := Default()
			c.want(&want)
			if diff := cmp.Diff(want, m.Config); diff != "" {
				t.Error(diff)
			}
			again, err := parse(m.TOML(false))
			if err != nil {
				t.Fatalf("what is shown is refused: %v", err)
			}
			if diff := cmp.Diff(want, again); diff != "" {
				t.Errorf("shown is something else: %s", diff)
			}
		})
	}
	if got := merge(t, "tools.deny = [\"a\", \"b\"]", "tools.deny = [\"c\"]").Origin("tools.deny[1]"); got != BuiltIn {
		t.Errorf("an element of a list that is gone is from %s", got)
	}
}

func wantLayersError(t *testing.T, layers []string, want string) {
	t.Helper()
	if _, err := Merge(layersOf(layers...)...); err == nil || err.Error() != want {
		t.Errorf("\n got: %v\nwant: %s", err, want)
	}
}
