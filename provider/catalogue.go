package provider

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/upstream"
)

// Model is what is known of a model, or what the user says of one. Zero fields
// say nothing.
type Model struct {
	// Name is what requests call it.
	Name string
	// Upstream is the name of the upstream that serves it; "" in an entry of the
	// user: any.
	Upstream string
	// ContextWindow and MaxOutput are in tokens.
	ContextWindow, MaxOutput int64
	// Price is nil where none is known.
	Price *holdfast.Price
	// TextOnly tells that it takes no images: the embedded list says so, and the
	// user has no entry for it.
	TextOnly bool
}

// Catalogue knows models: the user's entries and the embedded list. It is safe for
// concurrent use.
type Catalogue struct {
	entries []Model
	known   func() []catwalk.Provider
	// addresses are those of the known, in their order; without a host where there
	// is none.
	addresses func() []*url.URL
}

// NewCatalogue makes a catalogue with the user's entries.
func NewCatalogue(entries []Model) *Catalogue {
	c := &Catalogue{entries: slices.Clone(entries), known: sync.OnceValue(embedded.GetAll)}
	c.addresses = sync.OnceValue(func() []*url.URL { return addressesOf(c.known()) })
	return c
}

func addressesOf(list []catwalk.Provider) (addresses []*url.URL) {
	for _, p := range list {
		address := p.APIEndpoint
		if special, ok := specials[p.ID]; ok {
			address = special
		}
		at, err := url.Parse(address)
		if err != nil {
			at = &url.URL{}
		}
		addresses = append(addresses, at)
	}
	return addresses
}

// Model says what is known of a model at an upstream: the entry for that upstream
// and the one for any, and where they say nothing the embedded list. ok is false
// when nothing is known.
//
// The list goes by the host of the upstream. For hosts that are not in it, such as
// a gateway, the makers of closed models are asked: such a model is the same
// wherever it is called. A name with a date or "-latest" behind it is the model
// without; a name without one is the newest of those that the list has with a date.
func (c *Catalogue) Model(u *upstream.Upstream, name string) (m Model, ok bool) {
	m = Model{Name: name, Upstream: u.Name}
	take := func(from Model) {
		ok = true
		if m.ContextWindow == 0 {
			m.ContextWindow = from.ContextWindow
		}
		if m.MaxOutput == 0 {
			m.MaxOutput = from.MaxOutput
		}
		if m.Price == nil {
			m.Price = from.Price
		}
	}
	for _, e := range c.said(u, name) {
		take(e)
	}
	lists := []*catwalk.Provider{c.at(u.Base)}
	if lists[0] == nil {
		lists = c.makers()
	}
	for _, p := range lists {
		if listed := find(p, name); listed != nil {
			from := modelOf(*listed)
			m.TextOnly = from.TextOnly && !ok
			take(from)
			break
		}
	}
	return m, ok
}

// said is what the user says of a model at an upstream, in the order in which it
// counts.
func (c *Catalogue) said(u *upstream.Upstream, name string) (list []Model) {
	for _, at := range []string{u.Name, ""} {
		for _, e := range c.entries {
			if e.Name == name && e.Upstream == at {
				list = append(list, e)
			}
		}
	}
	return list
}

// bound is how many tokens an answer of a model may have when the call does not
// say; 0: as many as the provider gives. The user's word holds for every
// protocol. Messages must have a bound: that of the list, but no more than a
// quarter of the window, since some models refuse a prompt that leaves less room
// than the bound.
func (c *Catalogue) bound(u *upstream.Upstream, name string) int64 {
	for _, e := range c.said(u, name) {
		if e.MaxOutput > 0 {
			return e.MaxOutput
		}
	}
	if u.Protocol != holdfast.Anthropic {
		return 0
	}
	m, _ := c.Model(u, name)
	if m.ContextWindow > 0 {
		return min(m.MaxOutput, m.ContextWindow/4)
	}
	return m.MaxOutput
}

// Names are the models that are known at an upstream, sorted: the user's and those
// of the list for its host.
func (c *Catalogue) Names(u *upstream.Upstream) []string {
	var names []string
	for _, e := range c.entries {
		if e.Upstream == u.Name || e.Upstream == "" && u.Serves(e.Name) {
			names = append(names, e.Name)
		}
	}
	if p := c.at(u.Base); p != nil {
		for _, m := range p.Models {
			if u.Serves(m.ID) {
				names = append(names, m.ID)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// KeyName is the environment variable that by custom holds the key for an
// upstream; "" where none is known, as for a server of one's own.
func (c *Catalogue) KeyName(u *upstream.Upstream) string {
	if p := c.at(u.Base); p != nil {
		return strings.TrimPrefix(p.APIKey, "$")
	}
	return ""
}

// Route finds the upstream for a model: the one that the user's entry names, else
// the first with a pattern for it, else the first whose list has it, else the
// first that takes any model and of which no list is known, such as a server of
// one's own. The error has the code not_found and names the nearest models.
func (c *Catalogue) Route(list []*upstream.Upstream, name string) (*upstream.Upstream, error) {
	for _, e := range c.entries {
		if e.Name != name || e.Upstream == "" {
			continue
		}
		for _, u := range list {
			if u.Name == e.Upstream {
				return u, nil
			}
		}
		return nil, holdfast.Errorf(holdfast.ErrNotFound, "The model %q is set to the upstream %q, which does not exist. Correct upstream in [models.%q], or add an [[upstream]] with that name.", name, e.Upstream, name)
	}
	for _, takes := range []func(*upstream.Upstream) bool{
		func(u *upstream.Upstream) bool { return len(u.Models) > 0 && u.Serves(name) },
		func(u *upstream.Upstream) bool { return len(u.Models) == 0 && find(c.at(u.Base), name) != nil },
		func(u *upstream.Upstream) bool { return len(u.Models) == 0 && c.at(u.Base) == nil },
	} {
		if i := slices.IndexFunc(list, takes); i >= 0 {
			return list[i], nil
		}
	}
	var names []string
	for _, u := range list {
		names = append(names, c.Names(u)...)
	}
	return nil, holdfast.Errorf(holdfast.ErrNotFound, "No upstream is known to serve a model %q. %s", name, suggest(name, names))
}

// specials are the hosts that the list leaves to a variable.
var specials = map[catwalk.InferenceProvider]string{
	catwalk.InferenceProviderAnthropic: "https://api.anthropic.com",
	catwalk.InferenceProviderOpenAI:    "https://api.openai.com/v1",
	catwalk.InferenceProviderGemini:    "https://generativelanguage.googleapis.com",
}

// at finds the list for a base URL: of one host the longest path that it begins
// with; nil when there is none.
func (c *Catalogue) at(base *url.URL) *catwalk.Provider {
	var best *catwalk.Provider
	longest := -1
	list := c.known()
	for i, at := range c.addresses() {
		if at.Host == "" || at.Host != base.Host {
			continue
		}
		// Of a provider with one list any path will do: it may serve several
		// protocols.
		shared := 0
		if path := strings.TrimRight(at.Path, "/"); strings.HasPrefix(base.Path+"/", path+"/") {
			shared = 1 + len(path)
		}
		if shared > longest {
			best, longest = &list[i], shared
		}
	}
	return best
}

// makers are the lists of those whose models nobody else runs.
func (c *Catalogue) makers() []*catwalk.Provider {
	var lists []*catwalk.Provider
	list := c.known()
	for _, id := range []catwalk.InferenceProvider{
		catwalk.InferenceProviderAnthropic, catwalk.InferenceProviderOpenAI,
		catwalk.InferenceProviderGemini, catwalk.InferenceProviderXAI,
	} {
		for i := range list {
			if list[i].ID == id {
				lists = append(lists, &list[i])
			}
		}
	}
	return lists
}

// dated matches what stands behind the name of a model that is pinned to a day.
var dated = regexp.MustCompile(`-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$`)

func find(p *catwalk.Provider, name string) *catwalk.Model {
	if p == nil {
		return nil
	}
	name = strings.TrimPrefix(name, "models/") // as Gemini lists them
	for _, id := range []string{name, dated.ReplaceAllString(name, "")} {
		for i := range p.Models {
			if p.Models[i].ID == id {
				return &p.Models[i]
			}
		}
	}
	var newest *catwalk.Model
	name = strings.TrimSuffix(name, "-latest")
	for i, m := range p.Models {
		if m.ID != name && dated.ReplaceAllString(m.ID, "") == name && (newest == nil || m.ID > newest.ID) {
			newest = &p.Models[i]
		}
	}
	return newest
}

// modelOf reads what the list says of a model.
//
// Its two prices for cached tokens are one for writing and one for reading, but
// not every list keeps to that: what is below the price of input is for reading,
// what is above, and not that of output, for writing. Where there is none, cached
// tokens cost what others do.
func modelOf(m catwalk.Model) Model {
	out := Model{Name: m.ID, ContextWindow: m.ContextWindow, MaxOutput: m.DefaultMaxTokens, TextOnly: !m.SupportsImages}
	if m.CostPer1MIn == 0 && m.CostPer1MOut == 0 {
		return out
	}
	read, write := m.CostPer1MIn, m.CostPer1MIn
	for _, price := range []float64{m.CostPer1MInCached, m.CostPer1MOutCached} {
		switch {
		case price > 0 && price < read:
			read = price
		case price > write && price != m.CostPer1MOut:
			write = price
		}
	}
	out.Price = &holdfast.Price{Input: micro(m.CostPer1MIn), CacheRead: micro(read), CacheWrite: micro(write), Output: micro(m.CostPer1MOut)}
	return out
}

// micro turns dollars into millionths.
func micro(dollars float64) int64 { return int64(dollars*1_000_000 + 0.5) }
