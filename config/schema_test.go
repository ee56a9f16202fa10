package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/pelletier/go-toml/v2"
)

// resolved is the schema as an editor reads it.
func resolved(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// instance is a TOML text as the JSON value that an editor checks.
func instance(t *testing.T, text string) any {
	t.Helper()
	var v map[string]any
	if err := toml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	v = nil
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTheSchemaAcceptsWhatMergeAccepts(t *testing.T) {
	s := resolved(t)
	for name, text := range map[string]string{
		"nothing":              "",
		"all keys":             full,
		"what is built in":     merge(t).TOML(false),
		"what may be empty":    "query = {model = \"\", system = \"\", title_model = \"\"}\ntools = {allow = [], deny = []}\nmcp.a = {command = \"x\", args = [\"\"], env = {A = \"\"}}",
		"a strategy":           "[[conversation.compaction.rules]]\nstrategy = \"replace\"\n",
		"every assignment":     strings.Join([]string{assignments[1], assignments[3], assignments[9], assignments[17], assignments[23], assignments[25]}, "\n"),
		"a summary by default": "conversation.compaction.rules = [{summary = {}}]",
	} {
		if _, err := parse(text); err != nil {
			t.Errorf("%s: Merge: %v", name, err)
		}
		if err := s.Validate(instance(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheSchemaRefusesWhatAnEditorShouldMark(t *testing.T) {
	s := resolved(t)
	for _, text := range []string{
		"limit = {}", "limits.bodi = 1", "limits.body = true", "limits.body = \"64 megs\"", "upstream = []", "upstream = [{name = \"a\"}]",
		"compaction_continuity.max_capsule_tokens = 100", "compaction_continuity.fork = \"share\"", "compaction_continuity.ttl = \"720\"",
		"conversation.compaction.auto.trigger_ratio = 0", "conversation.compaction.auto.trigger_ratio = 1.5", "conversation.compaction.auto.min_gain = 1",
		"conversation.compaction.auto.granularity = \"call\"", "conversation.compaction.auto.rule.keep_last_tokens = -1", "conversation.compaction.rules = [{summary = {}, keep_last_tokens = 1}]",
		"conversation.compaction.rules = [{keep_first = -1, summary = {}}]", "conversation.compaction.rules = [{tool_calls = \"drop\"}]",
		"models.m.context_window = 0", "models.m.window = 5", "models = 5",
		"models.m.price = 3", "models.m.price = {input = -1, output = 1}", "models.m.price = {input = 1, output = 1, cached = 1}", "models.m.max_output = 0", "models.m.upstream = \"A\"",
		"query.max_calls = 0", "query.max_calls = 1001", "query.tool_timeout = \"60\"", "query.max_result = \"30 kilo\"", "query.model = 1", "query.models = \"m\"",
		"tools.allow = \"fs_*\"", "tools.deny = [\"\"]", "tools.files = 1", "tools.fs = true",
		"mcp.A.command = \"x\"", "mcp.a.command = \"\"", "mcp.a.args = \"x\"", "mcp.a = {command = \"x\", args = [1]}", "mcp.a.cmd = \"x\"",
		"mcp.a = {command = \"x\", env = {\"A B\" = \"1\"}}", "mcp.a = {command = \"x\", env = {A = 1}}",
		"mcp.a.url = \"h\"", "mcp.a = {url = \"http://h\", headers = {\"a b\" = \"1\"}}", "mcp.a = {url = \"http://h\", headers = {a = \"\"}}",
	} {
		if _, err := parse(text); err == nil {
			t.Errorf("Merge accepts %s", text)
		}
		if s.Validate(instance(t, text)) == nil {
			t.Errorf("the schema accepts %s", text)
		}
	}
}

func TestEveryKeyStandsInTheSchemaWithWhatItIsFor(t *testing.T) {
	var root jsonschema.Schema
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	for _, k := range allKeys {
		at := &root
		for part := range strings.SplitSeq(k.name, ".") {
			if at.Items != nil {
				at = at.Items
			}
			if part == "*" {
				at = at.AdditionalProperties
			} else {
				at = at.Properties[part]
			}
			if at == nil {
				t.Fatalf("%s is not in the schema", k.name)
			}
		}
		if at.Description == "" || at.Description != k.about {
			t.Errorf("%s is described as %q", k.name, at.Description)
		}
	}
	for key, want := range map[string]string{
		"body": `"64MiB"`, "in_flight": `"512MiB"`,
	} {
		if got := string(root.Properties["limits"].Properties[key].Default); got != want {
			t.Errorf("the default of limits.%s is %s, want %s", key, got, want)
		}
	}
	if got := string(root.Properties["tools"].Properties["allow"].Default); got != `["fs_*","update_plan"]` {
		t.Errorf("the default of tools.allow is %s", got)
	}
	if got := string(root.Properties["conversation"].Properties["compaction"].Properties["auto"].Properties["min_gain"].Default); got != "0.02" {
		t.Errorf("the default of min_gain is %s", got)
	}
}
