package config

import (
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
)

func TestShownTOMLSaysWhereEachKeyIsFrom(t *testing.T) {
	m, err := Merge(
		FileLayer("a b\n.toml", []byte("upstream = ["+up+"]\n\nlimits.body = \"1MB\"\n[models.\"gpt-4.1\"]\ncontext_window = 7\nprice = {output = 3, input = 2.5}\n")),
		mustSet(t, "conversation.compaction.rules=[{summary={}}, {summary={model=\"m\"}, keep_last=\"90m\"}]"),
		mustSet(t, "compaction_continuity.enabled=false"),
		mustSet(t, `mcp.git={command="git", args=["mcp"], env={LEVEL="1"}}`),
		mustSet(t, "mcp.git.env.HOME=env:HOME"),
		mustSet(t, `tools.deny=["fs_*"]`),
	)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[[upstream]]
name = "a"  # a b�.toml:1
protocol = "chat"  # a b�.toml:1
base_url = "http://h/v1"  # a b�.toml:1

[limits]
body = "1MB"  # a b�.toml:3
in_flight = "512MiB"  # built-in

[compaction_continuity]
enabled = false  # --set compaction_continuity.enabled

[usage]
ttl = "8760h"  # built-in

[conversation.compaction]
estimator = "calibrated"  # built-in

[[conversation.compaction.rules]]
keep_first = 1  # built-in
keep_last = 3  # built-in
reasoning = "keep"  # built-in
tool_calls = "keep"  # built-in

[conversation.compaction.rules.summary]

[[conversation.compaction.rules]]
keep_first = 1  # built-in
keep_last = "1h30m"  # --set conversation.compaction.rules
reasoning = "keep"  # built-in
tool_calls = "keep"  # built-in

[conversation.compaction.rules.summary]
model = "m"  # --set conversation.compaction.rules

[conversation.compaction.auto]
enabled = false  # built-in
trigger_ratio = 0.75  # built-in
min_turns = 5  # built-in
granularity = "turn"  # built-in
min_gain = 0.02  # built-in

[conversation.compaction.auto.rule]
keep_first = 1  # built-in
keep_last = 3  # built-in
keep_last_tokens = 10000  # built-in
reasoning = "strip"  # built-in
tool_calls = "strip"  # built-in

[query]
model = ""  # built-in
system = ""  # built-in
max_calls = 50  # built-in
titles = true  # built-in
title_model = ""  # built-in
tool_timeout = "1m"  # built-in
max_result = "30KB"  # built-in

[tools]
allow = ["update_plan"]  # built-in
deny = ["fs_*"]  # --set tools.deny
files = true  # built-in

[mcp.git]
enabled = true  # built-in
command = "git"  # --set mcp.git
args = ["mcp"]  # --set mcp.git

[mcp.git.env]
HOME = "env:HOME"  # --set mcp.git.env.HOME
LEVEL = "1"  # --set mcp.git

[models."gpt-4.1"]
context_window = 7  # a b�.toml:5

[models."gpt-4.1".price]
input = 2.5  # a b�.toml:6
output = 3.0  # a b�.toml:6
cache_read = 2.5  # built-in
cache_write = 2.5  # built-in
`
	if diff := cmp.Diff(want, m.TOML(true)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(regexp.MustCompile(`  # .*`).ReplaceAllString(want, ""), m.TOML(false)); diff != "" {
		t.Error(diff)
	}
}

func mustSet(t *testing.T, assignment string) Layer {
	t.Helper()
	l, err := setLayer(assignment)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestShownJSONIsTheSameAsShownTOML(t *testing.T) {
	m := merge(t, full)
	var want, got map[string]any
	if err := toml.Unmarshal([]byte(m.TOML(false)), &want); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(want) // numbers become those of JSON
	if err != nil {
		t.Fatal(err)
	}
	want = nil
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(m.JSON(false), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var origins struct {
		Limits struct {
			Body struct {
				Value  string
				Origin string
			}
		}
	}
	if err := json.Unmarshal(merge(t, "", "limits.body = \"1MiB\"").JSON(true), &origins); err != nil {
		t.Fatal(err)
	}
	if got := origins.Limits.Body; got.Value != "1MiB" || got.Origin != "2.toml:1" {
		t.Errorf("with origins: %+v", got)
	}
}

func TestEveryKeyOfAFullFileIsShown(t *testing.T) {
	shown := map[string]bool{}
	var walk func(path string, n *node)
	walk = func(path string, n *node) {
		shown[knownKey(path)] = true
		for i, field := range n.fields {
			if n.list {
				walk(element(path, i), field)
			} else {
				walk(join(path, keyPart(field.name)), field)
			}
		}
	}
	walk("", merge(t, full).tree())
	for _, k := range allKeys {
		// A strategy says how layers are merged.
		if k.name != rulesKey+".strategy" && !shown[k.name] {
			t.Errorf("%s is not shown", k.name)
		}
	}
}

func TestDurationsAreShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		720 * time.Hour: "720h", 90 * time.Minute: "1h30m", 45 * time.Second: "45s", time.Hour + time.Second: "1h0m1s",
		10 * time.Minute: "10m", 30*time.Hour + 10*time.Minute: "30h10m", 1500 * time.Millisecond: "1.5s",
	} {
		got := durationText(d)
		if back, err := time.ParseDuration(got); got != want || back != d || err != nil {
			t.Errorf("%v is %q (%v, %v), want %q", d, got, back, err, want)
		}
	}
}
