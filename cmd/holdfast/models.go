package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/config"
	"github.com/holdfast-dev/holdfast/engine/query"
	"github.com/holdfast-dev/holdfast/provider"
	"github.com/holdfast-dev/holdfast/upstream"
)

// models is the way to models: what is known of them, and who serves them.
type models struct {
	app       *app
	said      map[string]config.Model // by the configuration
	catalogue *provider.Catalogue
	upstreams []*upstream.Upstream
	refs      []config.SecretRef // by upstream
	transport http.RoundTripper
	retrying  func(err error)
	admit     func(upstream, model string) error // calls; nil: all are admitted
	ended     func(holdfast.Attempt)             // of calls for a conversation; nil: nobody is told
}

func (a *app) newModels(cfg config.Config) *models {
	m := &models{app: a, said: cfg.Models, catalogue: provider.NewCatalogue(modelEntries(cfg)), transport: upstream.NewTransport()}
	for _, u := range cfg.Upstreams {
		m.upstreams = append(m.upstreams, &upstream.Upstream{Name: u.Name, Protocol: u.Protocol, Base: u.BaseURL, Models: u.Models})
		m.refs = append(m.refs, u.APIKey)
	}
	return m
}

// modelEntries are the user's entries as the catalogue knows them.
func modelEntries(cfg config.Config) (list []provider.Model) {
	for name, m := range cfg.Models {
		e := provider.Model{Name: name, Upstream: m.Upstream, ContextWindow: int64(m.ContextWindow), MaxOutput: int64(m.MaxOutput)}
		if p := m.Price; p != nil {
			e.Price = &holdfast.Price{Input: p.Input, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite, Output: p.Output}
		}
		list = append(list, e)
	}
	return list
}

// find finds the upstream of a model, and what the upstream calls it. A name may
// begin with that of the upstream, as in local:qwen3:8b; where the configuration has
// an entry of that very name, or there is no such upstream, the colon is the model's.
func (m *models) find(name string) (*upstream.Upstream, string, error) {
	if _, whole := m.said[name]; !whole {
		prefix, model, _ := strings.Cut(name, ":")
		at := slices.IndexFunc(m.upstreams, func(u *upstream.Upstream) bool { return u.Name == prefix })
		if at >= 0 && model != "" {
			return m.upstreams[at], model, nil
		}
	}
	u, err := m.catalogue.Route(m.upstreams, name)
	return u, name, err
}

// known is the upstream of a model and what is known of it without asking anybody.
func (m *models) known(name string) (*upstream.Upstream, provider.Model, error) {
	u, model, err := m.find(name)
	if err != nil {
		return nil, provider.Model{}, err
	}
	known, _ := m.catalogue.Model(u, model)
	return u, known, nil
}

// caller finds the upstream of a model, with its key: that of the configuration,
// or else what the provider's variable holds. Its calls have a purpose.
func (m *models) caller(name string, purpose holdfast.Purpose) (caller, error) {
	found, model, err := m.find(name)
	if err != nil {
		return caller{}, err
	}
	u := *found
	variable := m.catalogue.KeyName(found)
	if u.Key, err = credential(m.refs[slices.Index(m.upstreams, found)], variable, m.app.environ); err != nil {
		return caller{}, holdfast.Errorf(holdfast.ErrConfig, "upstream %s: %w", u.Name, err)
	}
	cfg := provider.Config{KeyName: variable, Admit: m.admit}
	if m.retrying != nil {
		cfg.Retrying = func(err error, _ time.Duration) { m.retrying(err) }
	}
	if m.ended != nil {
		cfg.Ended = func(attempt holdfast.Attempt) {
			attempt.Role = purpose.Role()
			m.ended(attempt)
		}
	}
	return caller{c: provider.New(m.transport, &u, m.catalogue, cfg), name: name, model: model}, nil
}

// window is the context window of a model in tokens, by what is known without
// asking anybody; 0 where it is not known.
func (m *models) window(name string) int64 {
	if said := m.said[name].ContextWindow; said > 0 {
		return int64(said)
	}
	_, known, err := m.known(name)
	if err != nil {
		return 0
	}
	return known.ContextWindow
}

// takes refuses an image for a model that is known to take none.
func (m *models) takes(name string, asked holdfast.UserMessage) error {
	_, known, err := m.known(name)
	if err != nil || !known.TextOnly {
		return err
	}
	for _, p := range asked.Parts {
		if media, ok := p.(holdfast.Media); ok && media.Type == "image" {
			return holdfast.Errorf(holdfast.ErrUsage, "the model %s takes no images, and %s is one. Use another model: see holdfast models", line(name), line(media.Name))
		}
	}
	return nil
}

// route is the way to a model for calls with a purpose, with its window asked from
// the server where it is not known.
func (m *models) route(ctx context.Context, name string, purpose holdfast.Purpose) (query.Route, error) {
	way, err := m.caller(name, purpose)
	if err != nil {
		return query.Route{}, err
	}
	if err := way.c.Ready(); err != nil {
		return query.Route{}, err
	}
	_, known, err := m.known(name)
	if err != nil {
		return query.Route{}, err
	}
	r := query.Route{Model: way, Name: name, Window: known.ContextWindow, MaxOutput: known.MaxOutput}
	if r.Window == 0 {
		r.Window = way.c.Window(ctx, way.model)
	}
	if r.Window > 0 {
		// An answer may not take the room of the conversation.
		r.MaxOutput = min(r.MaxOutput, r.Window/4)
	}
	return r, nil
}

// also is the same way for calls with another purpose.
func (m *models) also(r query.Route, purpose holdfast.Purpose) (query.Route, error) {
	var err error
	r.Model, err = m.caller(r.Name, purpose)
	return r, err
}

// caller is the way to a model as the turn loop knows it. What it took is told by
// the model's name as it was given, so that a conversation goes on at the same
// upstream.
type caller struct {
	c *provider.Client
	// name is as it was given, model as the upstream has it.
	name, model string
}

func (c caller) Call(ctx context.Context, call holdfast.Call, emit func(holdfast.Delta)) (query.Reply, error) {
	call.Model = c.model
	a, err := c.c.Call(ctx, call, emit)
	if a.Usage.Model != "" {
		a.Usage.Model = c.name
	}
	return query.Reply{Events: a.Events, Usage: a.Usage, Finish: a.Finish}, err
}

// modelJSON is a model in JSON output. Sizes are in tokens, prices in US dollars
// for a million tokens; what is not known is left out.
type modelJSON struct {
	Name          string   `json:"name"`
	Upstream      string   `json:"upstream"`
	ContextWindow int64    `json:"context_window,omitempty"`
	MaxOutput     int64    `json:"max_output,omitempty"`
	InputPrice    *float64 `json:"input_price,omitempty"`
	OutputPrice   *float64 `json:"output_price,omitempty"`
}

func (a *app) modelsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "models [PART]",
		Short: "List the models that are known",
		Long: "Lists what is known of models: those of the configuration, and of the providers that are\n" +
			"configured, whether or not there is a key for them. PART is a part of the name or of the upstream's.",
		Example: "  holdfast models\n  holdfast models sonnet --json",
		Args:    arguments(0, 1, "[PART]"),
		RunE: func(_ *cobra.Command, args []string) error {
			merged, err := a.sources().Load()
			if err != nil {
				return err
			}
			m := a.newModels(merged.Config)
			part := ""
			if len(args) > 0 {
				part = strings.ToLower(args[0])
			}
			list := []modelJSON{}
			for _, u := range m.upstreams {
				for _, name := range m.catalogue.Names(u) {
					if strings.Contains(strings.ToLower(name), part) || strings.Contains(u.Name, part) {
						list = append(list, m.row(u, name))
					}
				}
			}
			if a.json {
				return a.printJSON(list)
			}
			if len(list) == 0 {
				return a.print("No such model is known. Any name can be given to a server of your own.\n")
			}
			return a.print(modelTable(list, a.width))
		},
	}
}

func (m *models) row(u *upstream.Upstream, name string) modelJSON {
	known, _ := m.catalogue.Model(u, name)
	row := modelJSON{Name: name, Upstream: u.Name, ContextWindow: known.ContextWindow, MaxOutput: known.MaxOutput}
	if p := known.Price; p != nil {
		in, out := float64(p.Input)/1e6, float64(p.Output)/1e6
		row.InputPrice, row.OutputPrice = &in, &out
	}
	return row
}

func modelTable(list []modelJSON, width int) string {
	rows := make([][]string, len(list))
	for i, m := range list {
		window, price := "unknown", "unknown"
		if m.ContextWindow > 0 {
			window = tokensText(int(m.ContextWindow))
		}
		if m.InputPrice != nil {
			price = fmt.Sprintf("$%.4g / $%.4g", *m.InputPrice, *m.OutputPrice)
		}
		rows[i] = []string{line(m.Name), line(m.Upstream), window, price}
	}
	return table([]column{{title: "MODEL", keep: 4, least: 12}, {title: "UPSTREAM", keep: 3}, {title: "WINDOW", keep: 2}, {title: "PRICE IN / OUT", keep: 1}}, rows, width)
}
