package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestErrorsOfModels(t *testing.T) {
	const dollars = " must be 0, or from 0.000001 to 1000000 US dollars for a million tokens"
	for _, c := range []struct{ name, text, want string }{
		{
			"an upstream by a name that is nearly one", "[models.m]\nupstream = \"antropic\"\n",
			"f.toml:2: models.m.upstream \"antropic\" is the name of no upstream. Did you mean \"anthropic\"?",
		},
		{
			"an upstream by a name that is like none", "[models.\"gpt-4.1\"]\nupstream = \"work\"\n",
			"f.toml:2: models.\"gpt-4.1\".upstream \"work\" is the name of no upstream. Known are anthropic, openai, openai-chat, gemini",
		},
		{"an empty upstream", "models.m.upstream = \"\"\n", "f.toml:1: models.m.upstream is empty. Write the name of an upstream, or remove it"},
		{"an answer of nothing", "models.m.max_output = 0\n", "f.toml:1: models.m.max_output must be from 1 to 100000000"},
		{"an answer that is too long", "models.m.max_output = 100_000_001\n", "f.toml:1: models.m.max_output must be from 1 to 100000000"},
		{
			"an answer that takes the whole window", "[models.m]\nmax_output = 1000\ncontext_window = 1000\n",
			"f.toml:2: models.m.max_output leaves no room for a prompt: max_output (1000) must be below context_window (1000)",
		},
		{"a price in words", "models.m.price = {input = \"3\"}\n", "f.toml:1: models.m.price.input must be a number such as 3.5\n    models.m.price = {input = \"3\"}"},
		{"one number for a price", "models.m.price = 3\n", "f.toml:1: models.m.price must be a table: write [models.NAME.price] above its keys\n    models.m.price = 3"},
		{"an unknown price", "models.m.price.cached_read = 3\n", "f.toml:1: unknown key \"models.m.price.cached_read\"\n    models.m.price.cached_read = 3\nDid you mean \"cache_read\"?"},
		{"a price in the wrong place", "models.m.cache_read = 3\n", "f.toml:1: unknown key \"models.m.cache_read\"\n    models.m.cache_read = 3\nDid you mean models.NAME.price.cache_read?"},
		{"no price of answers", "\n[models.m.price]\ninput = 3\n", "f.toml:2: models.m.price has no output. Add one: a number such as 3.5"},
		{"only a price of the cache", "models.m.price.cache_read = 3\n", "f.toml:1: models.m.price has no input. Add one: a number such as 3.5"},
		{"an empty price", "models.m.price = {}\n", "f.toml:1: models.m.price has no input. Add one: a number such as 3.5"},
		{"a price below nothing", "[models.m.price]\ninput = 1\noutput = -0.5\n", "f.toml:3: models.m.price.output" + dollars},
		{"a price that rounds to nothing", "[models.m.price]\ninput = 1e-7\noutput = 1\n", "f.toml:2: models.m.price.input" + dollars},
		{"a price that is too high", "[models.m.price]\ninput = 1\noutput = 1000000.5\n", "f.toml:3: models.m.price.output" + dollars},
		{"a price that is no number", "[models.m.price]\ninput = 1\noutput = 1\ncache_write = nan\n", "f.toml:4: models.m.price.cache_write" + dollars},
		{"a price without an end", "[models.m.price]\ninput = 1\noutput = 1\ncache_read = inf\n", "f.toml:4: models.m.price.cache_read" + dollars},
	} {
		t.Run(c.name, func(t *testing.T) { wantError(t, c.text, c.want) })
	}
}

func TestErrorsOfModelsBetweenLayers(t *testing.T) {
	for _, c := range []struct {
		name   string
		layers []string
		want   string
	}{
		{
			"an upstream that an earlier layer took away",
			[]string{"upstream = [" + up + "]", "models.m.upstream = \"openai\""},
			"2.toml:1: models.m.upstream \"openai\" is the name of no upstream. Known are a",
		},
		{
			"a list of upstreams without one that an earlier layer names",
			[]string{"\nmodels.m.upstream = \"openai\"", "upstream = [" + up + "]"},
			"2.toml:1: upstream has none with the name \"openai\", which models.m.upstream has (1.toml:2). Add it, or change that",
		},
		{
			"a window that is too small for the answers of an earlier layer",
			[]string{"models.m.max_output = 1000", "models.m.context_window = 500"},
			"2.toml:1: models.m.context_window leaves no room for a prompt: max_output (1000) must be below context_window (500)",
		},
	} {
		t.Run(c.name, func(t *testing.T) { wantLayersError(t, c.layers, c.want) })
	}
}

// Also where a layer writes the whole entry, as a variable must, each key of it
// stands over the one before alone.
func TestModelsAreMergedKeyByKey(t *testing.T) {
	m := merge(t,
		"models = {m = {upstream = \"openai\", context_window = 10, max_output = 5, price = {input = 1, output = 2, cache_read = 3, cache_write = 4}}}",
		"models = {m = {upstream = \"gemini\"}, n = {context_window = 1}}",
		"models = {m = {context_window = 20}}",
		"models = {m = {max_output = 6}}",
		"models = {m = {price = {input = 1.5}}}",
		"models = {m = {price = {output = 2.5}}}",
		"models = {m = {price = {cache_read = 3.5}}}",
		"models = {m = {price = {cache_write = 4.5}}}",
		"models.m = {}",
	)
	want := map[string]Model{
		"m": {
			Upstream: "gemini", ContextWindow: 20, MaxOutput: 6,
			Price: &Price{Input: 1_500_000, Output: 2_500_000, CacheRead: 3_500_000, CacheWrite: 4_500_000},
		},
		"n": {ContextWindow: 1},
	}
	if diff := cmp.Diff(want, m.Models); diff != "" {
		t.Error(diff)
	}
	if got := m.Origin("models.m.price.output"); got != "6.toml:1" {
		t.Errorf("the price is from %s", got)
	}
}

func TestAPriceWithoutTheCacheIsThatOfWhatIsSent(t *testing.T) {
	got := merge(t, "models.m.price = {input = 3, output = 15, cache_write = 3.75}").Models["m"].Price
	if diff := cmp.Diff(&Price{Input: 3_000_000, Output: 15_000_000, CacheRead: 3_000_000, CacheWrite: 3_750_000}, got); diff != "" {
		t.Error(diff)
	}
}
