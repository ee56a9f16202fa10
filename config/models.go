package config

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Model is an entry of the section models. What it does not tell is zero; it
// tells something.
type Model struct {
	// Upstream is the name of one of Upstreams; "": the first that takes the model.
	Upstream string
	// ContextWindow is in tokens, 1 to 100,000,000.
	ContextWindow int
	// MaxOutput bounds one answer, in tokens, 1 to 100,000,000 and below
	// ContextWindow where that is told.
	MaxOutput int
	// Price is nil where none is told.
	Price *Price
}

// Price is what tokens cost, in millionths of a US dollar for a million of them:
// 0 to 10^12. A file has dollars.
type Price struct{ Input, CacheRead, CacheWrite, Output int64 }

// maxPrice is in US dollars for a million tokens.
const maxPrice = 1_000_000

// modelFile mirrors an entry of the section models.
type modelFile struct {
	Upstream      *string `toml:"upstream"`
	ContextWindow *int    `toml:"context_window"`
	MaxOutput     *int    `toml:"max_output"`
	Price         struct {
		Input      *float64 `toml:"input"`
		Output     *float64 `toml:"output"`
		CacheRead  *float64 `toml:"cache_read"`
		CacheWrite *float64 `toml:"cache_write"`
	} `toml:"price"`
}

func (m modelFile) over(before modelFile) modelFile {
	m.Upstream = cmp.Or(m.Upstream, before.Upstream)
	m.ContextWindow = cmp.Or(m.ContextWindow, before.ContextWindow)
	m.MaxOutput = cmp.Or(m.MaxOutput, before.MaxOutput)
	m.Price.Input = cmp.Or(m.Price.Input, before.Price.Input)
	m.Price.Output = cmp.Or(m.Price.Output, before.Price.Output)
	m.Price.CacheRead = cmp.Or(m.Price.CacheRead, before.Price.CacheRead)
	m.Price.CacheWrite = cmp.Or(m.Price.CacheWrite, before.Price.CacheWrite)
	return m
}

// modelEntries checks the values of the section models.
func (r *reader) modelEntries(f file) (map[string]Model, error) {
	var models map[string]Model
	for _, name := range sortedKeys(f.Models) {
		key := "models." + keyPart(name)
		if name == "" {
			return nil, r.at(key, "has no name. Write [models.NAME] with the name that requests use")
		}
		m, err := r.model(key, f.Models[name])
		if err != nil {
			return nil, err
		}
		if models == nil {
			models = map[string]Model{}
		}
		models[name] = m
	}
	return models, nil
}

func (r *reader) model(key string, in modelFile) (Model, error) {
	var m Model
	if set(&m.Upstream, in.Upstream); r.has(key+".upstream") && m.Upstream == "" {
		return m, r.at(key+".upstream", "is empty. Write the name of an upstream, or remove it")
	}
	if err := r.whole(key+".context_window", in.ContextWindow, &m.ContextWindow); err != nil {
		return m, err
	}
	if err := r.whole(key+".max_output", in.MaxOutput, &m.MaxOutput); err != nil {
		return m, err
	}
	var err error
	m.Price, err = r.price(key+".price", in)
	return m, err
}

func (r *reader) price(key string, in modelFile) (*Price, error) {
	if !r.has(key) {
		return nil, nil
	}
	p := &Price{}
	for _, c := range []struct {
		name string
		in   *float64
		out  *int64
	}{
		{".input", in.Price.Input, &p.Input},
		{".output", in.Price.Output, &p.Output},
		{".cache_read", in.Price.CacheRead, &p.CacheRead},
		{".cache_write", in.Price.CacheWrite, &p.CacheWrite},
	} {
		switch {
		case c.in == nil:
			*c.out = p.Input // what is not told is not told to be cheaper
		case *c.in == 0 || *c.in >= 1e-6 && *c.in <= maxPrice:
			*c.out = int64(math.Round(*c.in * 1e6))
		default:
			return nil, r.at(key+c.name, "must be 0, or from 0.000001 to %d US dollars for a million tokens", maxPrice)
		}
	}
	return p, nil
}

// told checks that all layers together say enough of a model, and nothing that
// cannot be.
func (r *reader) told(key string, m Model, upstreams []Upstream) error {
	if m == (Model{}) {
		return r.at(key, "says nothing of the model. Add what you know, such as context_window, or remove it")
	}
	window, output := key+".context_window", key+".max_output"
	if m.ContextWindow > 0 && m.MaxOutput >= m.ContextWindow {
		return r.at(r.later(output, window), "leaves no room for a prompt: max_output (%d) must be below context_window (%d)", m.MaxOutput, m.ContextWindow)
	}
	for _, part := range []string{"input", "output"} {
		if price := key + ".price"; m.Price != nil && !r.has(price+"."+part) {
			return r.at(price, "has no %s. Add one: %s", part, r.form(price+"."+part))
		}
	}
	if m.Upstream == "" {
		return nil
	}
	var names []string
	for _, u := range upstreams {
		names = append(names, u.Name)
	}
	key += ".upstream"
	switch best := nearest(m.Upstream, names); {
	case slices.Contains(names, m.Upstream):
		return nil
	case r.later(key, "upstream") == "upstream":
		return r.at("upstream", "has none with the name %q, which %s has (%s). Add it, or change that", m.Upstream, key, where(r.layers, r.places[key]))
	case best != "":
		return r.at(key, "%q is the name of no upstream. Did you mean %q?", m.Upstream, best)
	}
	return r.at(key, "%q is the name of no upstream. Known are %s", m.Upstream, strings.Join(names, ", "))
}

func modelsTree(models map[string]Model) *node {
	n := section("models")
	for _, name := range sortedKeys(models) {
		m := models[name]
		model := section(name)
		if m.Upstream != "" {
			model.fields = append(model.fields, leaf("upstream", m.Upstream))
		}
		if m.ContextWindow > 0 {
			model.fields = append(model.fields, leaf("context_window", m.ContextWindow))
		}
		if m.MaxOutput > 0 {
			model.fields = append(model.fields, leaf("max_output", m.MaxOutput))
		}
		if p := m.Price; p != nil {
			model.fields = append(model.fields, section("price",
				leaf("input", dollars(p.Input)),
				leaf("output", dollars(p.Output)),
				leaf("cache_read", dollars(p.CacheRead)),
				leaf("cache_write", dollars(p.CacheWrite)),
			))
		}
		n.fields = append(n.fields, model)
	}
	return n
}

func dollars(millionths int64) float64 { return float64(millionths) / 1e6 }
