package provider

import (
	"net/url"
	"strings"
	"testing"

	"charm.land/catwalk/pkg/catwalk"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/upstream"
)

func parse(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// listed is a small list in the place of the embedded one.
func listed(entries ...Model) *Catalogue {
	c := NewCatalogue(entries)
	c.known = func() []catwalk.Provider {
		return []catwalk.Provider{
			{ID: "anthropic", APIKey: "$ANTHROPIC_API_KEY", APIEndpoint: "$ANTHROPIC_API_ENDPOINT", Models: []catwalk.Model{
				{ID: "claude-1", ContextWindow: 200_000, DefaultMaxTokens: 64_000, SupportsImages: true, CostPer1MIn: 3, CostPer1MOut: 15, CostPer1MInCached: 3.75, CostPer1MOutCached: 0.3},
			}},
			{ID: "deepseek", APIKey: "$DEEPSEEK_API_KEY", APIEndpoint: "https://api.deepseek.com/v1", Models: []catwalk.Model{
				{ID: "deepseek-1", ContextWindow: 100_000, DefaultMaxTokens: 8000, CostPer1MIn: 0.14, CostPer1MOut: 0.28, CostPer1MInCached: 0.0028},
				{ID: "deepseek-free", ContextWindow: 50_000},
			}},
			{ID: "plan", APIKey: "$PLAN_KEY", APIEndpoint: "https://h.example/coding/v4", Models: []catwalk.Model{{ID: "glm", ContextWindow: 1}}},
			{ID: "metered", APIKey: "$METERED_KEY", APIEndpoint: "https://h.example/v4", Models: []catwalk.Model{
				{ID: "glm", ContextWindow: 2}, {ID: "glm-2-20260301", ContextWindow: 4}, {ID: "glm-2-20260101", ContextWindow: 3},
			}},
		}
	}
	return c
}

func at(t *testing.T, name, base string, models ...string) *upstream.Upstream {
	return &upstream.Upstream{Name: name, Protocol: holdfast.Chat, Base: parse(t, base), Models: models}
}

func TestWhatIsKnownOfAModel(t *testing.T) {
	claude := holdfast.Price{Input: 3_000_000, CacheRead: 300_000, CacheWrite: 3_750_000, Output: 15_000_000}
	own := holdfast.Price{Input: 1, Output: 2}
	entries := []Model{
		{Name: "claude-1", ContextWindow: 32_000},
		{Name: "claude-1", Upstream: "gateway", MaxOutput: 4000, Price: &own},
		{Name: "my-model", Upstream: "local", ContextWindow: 8000},
	}
	for _, tt := range []struct {
		name        string
		entries     []Model
		base, model string
		want        Model
		ok          bool
	}{
		{"the list goes by the host", nil, "https://api.anthropic.com", "claude-1", Model{ContextWindow: 200_000, MaxOutput: 64_000, Price: &claude}, true},
		{"a name with a day", nil, "https://api.anthropic.com", "claude-1-20260102", Model{ContextWindow: 200_000, MaxOutput: 64_000, Price: &claude}, true},
		{"a name without the day that the list has", nil, "https://h.example/v4", "glm-2", Model{ContextWindow: 4, TextOnly: true}, true},
		{"the latest of those with a day", nil, "https://h.example/v4", "glm-2-latest", Model{ContextWindow: 4, TextOnly: true}, true},
		{"another day than the list has", nil, "https://h.example/v4", "glm-2-20260201", Model{}, false},
		{"a name with another end", nil, "https://api.anthropic.com", "claude-1-fast", Model{}, false},
		{"another path of the host", nil, "https://api.deepseek.com/anthropic", "deepseek-1", Model{ContextWindow: 100_000, MaxOutput: 8000, Price: &holdfast.Price{Input: 140_000, CacheRead: 2800, CacheWrite: 140_000, Output: 280_000}, TextOnly: true}, true},
		{"a model without a price", nil, "https://api.deepseek.com/v1", "deepseek-free", Model{ContextWindow: 50_000, TextOnly: true}, true},
		{"two lists of one host", nil, "https://h.example/coding/v4", "glm", Model{ContextWindow: 1, TextOnly: true}, true},
		{"the other of them", nil, "https://h.example/v4/", "glm", Model{ContextWindow: 2, TextOnly: true}, true},
		{"a closed model behind a host that no list knows", nil, "http://gateway.example/v1", "claude-1", Model{ContextWindow: 200_000, MaxOutput: 64_000, Price: &claude}, true},
		{"an open model behind it", nil, "http://gateway.example/v1", "deepseek-1", Model{}, false},
		{"a model that another host has", nil, "https://api.deepseek.com/v1", "claude-1", Model{}, false},
		{"the user's entry for the upstream, then for any, then the list", entries, "http://gateway.example/v1", "claude-1", Model{ContextWindow: 32_000, MaxOutput: 4000, Price: &own}, true},
		{"an entry of the user keeps the list from telling that it takes no images", []Model{{Name: "deepseek-free"}}, "https://api.deepseek.com/v1", "deepseek-free", Model{ContextWindow: 50_000}, true},
		{"an entry for another upstream", entries, "http://gateway.example/v1", "my-model", Model{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := listed(tt.entries...).Model(at(t, "gateway", tt.base), tt.model)
			tt.want.Name, tt.want.Upstream = tt.model, "gateway"
			if diff := cmp.Diff(tt.want, got); diff != "" || ok != tt.ok {
				t.Error(diff, ok)
			}
		})
	}
}

func TestThePricesOfCachedTokens(t *testing.T) {
	for _, tt := range []struct {
		name                string
		in, out             float64
		inCached, outCached float64
		read, write         int64
	}{
		{"writing and reading", 3, 15, 3.75, 0.3, 300_000, 3_750_000},
		{"reading only, in the second place", 1.25, 10, 0, 0.125, 125_000, 1_250_000},
		{"reading only, in the first place, and output in the second", 0.75, 3.75, 0.075, 3.75, 75_000, 750_000},
		{"reading in both", 1, 3, 0.5, 0.5, 500_000, 1_000_000},
		{"none", 2, 8, 0, 0, 2_000_000, 2_000_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := modelOf(catwalk.Model{CostPer1MIn: tt.in, CostPer1MOut: tt.out, CostPer1MInCached: tt.inCached, CostPer1MOutCached: tt.outCached})
			want := holdfast.Price{Input: int64(tt.in * 1e6), Output: int64(tt.out * 1e6), CacheRead: tt.read, CacheWrite: tt.write}
			if diff := cmp.Diff(&want, got.Price); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheBoundOfAnAnswer(t *testing.T) {
	for _, tt := range []struct {
		name     string
		protocol holdfast.Protocol
		entries  []Model
		model    string
		want     int64
	}{
		{"the list's for messages, within a quarter of the window", holdfast.Anthropic, nil, "claude-1", 50_000},
		{"none for messages of a model that nobody knows", holdfast.Anthropic, nil, "new", 0},
		{"none for other protocols", holdfast.Chat, nil, "claude-1", 0},
		{"the user's for any", holdfast.Chat, []Model{{Name: "claude-1", MaxOutput: 70_000}}, "claude-1", 70_000},
		{"the user's for messages", holdfast.Anthropic, []Model{{Name: "claude-1", MaxOutput: 70_000}}, "claude-1", 70_000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := at(t, "anthropic", "https://api.anthropic.com")
			u.Protocol = tt.protocol
			if got := listed(tt.entries...).bound(u, tt.model); got != tt.want {
				t.Errorf("got %d", got)
			}
		})
	}
}

func TestRoute(t *testing.T) {
	anthropic, gateway := at(t, "anthropic", "https://api.anthropic.com"), at(t, "gateway", "http://gateway.example/v1", "team-*")
	deepseek, local := at(t, "deepseek", "https://api.deepseek.com/v1"), at(t, "local", "http://localhost:11434/v1")
	entries := []Model{{Name: "team-1", Upstream: "deepseek"}, {Name: "claude-1", ContextWindow: 1}, {Name: "lost", Upstream: "gone"}}
	hosted := []*upstream.Upstream{anthropic, gateway, deepseek}
	for _, tt := range []struct {
		name  string
		list  []*upstream.Upstream
		model string
		want  string
		fail  string
	}{
		{"the user's entry names it", hosted, "team-1", "deepseek", ""},
		{"a pattern takes it", hosted, "team-2", "gateway", ""},
		{"the list of the host has it", hosted, "deepseek-1", "deepseek", ""},
		{"an entry that names none leaves it to the list", hosted, "claude-1", "anthropic", ""},
		{"a server of one's own takes what nobody knows", append(hosted, local), "llama3", "local", ""},
		{"but not what a host has", append([]*upstream.Upstream{local}, hosted...), "claude-1", "anthropic", ""},
		{"nobody knows it", hosted, "deepsek-1", "", "No upstream is known to serve a model \"deepsek-1\". Did you mean deepseek-1, deepseek-free? `holdfast models` lists all."},
		{"nothing is like it", hosted, "x", "", "No upstream is known to serve a model \"x\". `holdfast models` lists those that are."},
		{"the entry names none that there is", hosted, "lost", "", `The model "lost" is set to the upstream "gone", which does not exist. Correct upstream in [models."lost"], or add an [[upstream]] with that name.`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := listed(entries...).Route(tt.list, tt.model)
			if tt.fail != "" {
				if err == nil || err.Error() != tt.fail || holdfast.CodeOf(err) != holdfast.ErrNotFound {
					t.Errorf("got %v", err)
				}
			} else if err != nil || got.Name != tt.want {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestNamesAndKeys(t *testing.T) {
	c := listed(Model{Name: "mine", Upstream: "deepseek"}, Model{Name: "any"}, Model{Name: "other", Upstream: "local"})
	for _, tt := range []struct {
		u     *upstream.Upstream
		names []string
		key   string
	}{
		{at(t, "deepseek", "https://api.deepseek.com/v1"), []string{"any", "deepseek-1", "deepseek-free", "mine"}, "DEEPSEEK_API_KEY"},
		{at(t, "anthropic", "https://api.anthropic.com", "claude-*"), []string{"claude-1"}, "ANTHROPIC_API_KEY"},
		{at(t, "local", "http://localhost:11434/v1"), []string{"any", "other"}, ""},
	} {
		if diff := cmp.Diff(tt.names, c.Names(tt.u)); diff != "" {
			t.Errorf("%s: %s", tt.u.Name, diff)
		}
		if got := c.KeyName(tt.u); got != tt.key {
			t.Errorf("%s: %q", tt.u.Name, got)
		}
	}
}

// The list that is embedded has what the rules rest on.
func TestTheEmbeddedList(t *testing.T) {
	c := NewCatalogue(nil)
	for _, tt := range []struct{ base, key, model string }{
		{"https://api.anthropic.com", "ANTHROPIC_API_KEY", "claude-opus-4-8"},
		{"https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-5.6-sol"},
		{"https://generativelanguage.googleapis.com", "GEMINI_API_KEY", "models/gemini-3.6-flash"},
		{"https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "deepseek-v4-pro"},
		{"https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "ai21/jamba-large-1.7"},
		{"https://api.groq.com/openai/v1", "GROQ_API_KEY", "qwen/qwen3-32b"},
	} {
		u := at(t, "u", tt.base)
		m, ok := c.Model(u, tt.model)
		if !ok || m.ContextWindow < 100_000 || m.Price == nil || m.Price.Input <= 0 || m.Price.CacheRead > m.Price.Input || m.Price.CacheWrite < m.Price.Input {
			t.Errorf("%s: %+v %+v", tt.model, m, m.Price)
		}
		if got := c.KeyName(u); got != tt.key {
			t.Errorf("%s: key %q", tt.base, got)
		}
	}
	opus, _ := c.Model(at(t, "u", "https://api.anthropic.com"), "claude-opus-4-8")
	if want := (holdfast.Price{Input: 5_000_000, CacheRead: 500_000, CacheWrite: 6_250_000, Output: 25_000_000}); *opus.Price != want || opus.ContextWindow != 1_000_000 {
		t.Errorf("got %+v, window %d", *opus.Price, opus.ContextWindow)
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"gpt-5", "gpt-5", 0}, {"gpt5", "gpt-5", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 2}} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%q, %q: %d", tt.a, tt.b, got)
		}
	}
	names := rapid.StringMatching(`[ab-]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := names.Draw(t, "a"), names.Draw(t, "b"), names.Draw(t, "c")
		ab, ba := distance(a, b), distance(b, a)
		if ab != ba || (ab == 0) != (a == b) || ab > distance(a, c)+distance(c, b) || ab > max(len(a), len(b)) {
			t.Fatalf("%q and %q are %d and %d apart", a, b, ab, ba)
		}
	})
}

func TestNearest(t *testing.T) {
	names := []string{"claude-opus-5", "claude-opus-4-8", "claude-haiku-5", "gpt-5", "gpt-5", "GPT-5.1"}
	for _, tt := range []struct{ name, want string }{
		{"claude-opus-6", "claude-opus-5, claude-opus-4-8"},
		{"gpt5", "gpt-5, GPT-5.1"},
		{"zzz", ""},
	} {
		if got := strings.Join(nearest(tt.name, names, 2), ", "); got != tt.want {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}
