package upstream

import (
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// Set is all upstreams in order of precedence. It is safe for concurrent use.
type Set struct{ list []*Upstream }

// New makes a set. Names are unique, and every upstream has a Base.
func New(list []Upstream) *Set {
	s := &Set{list: make([]*Upstream, len(list))}
	for i := range list {
		u := list[i]
		s.list[i] = &u
	}
	return s
}

// ByName finds an upstream by its name. The error has the code not_found.
func (s *Set) ByName(name string) (*Upstream, error) {
	names := make([]string, len(s.list))
	for i, u := range s.list {
		if u.Name == name {
			return u, nil
		}
		names[i] = u.Name
	}
	return nil, holdfast.Errorf(holdfast.ErrNotFound,
		"no upstream is named %q. There are: %s. Names come from [[upstream]] in the configuration", name, strings.Join(names, ", "))
}

// ForModel finds the upstream that serves a model over a protocol: the first
// with a matching pattern, or without any. A call that names no model, such as
// a list of models, goes to the first upstream of the protocol. The error has
// the code not_found.
//
// name reads the model; it is called once at most, and only where it matters:
// for many requests it means a pass over the whole body.
func (s *Set) ForModel(p holdfast.Protocol, name func() string) (*Upstream, error) {
	spoken, asked, model := false, false, ""
	for _, u := range s.list {
		if u.Protocol != p {
			continue
		}
		spoken = true
		if len(u.Models) > 0 && !asked {
			asked, model = true, name()
		}
		if model == "" || u.Serves(model) {
			return u, nil
		}
	}
	if !spoken {
		return nil, holdfast.Errorf(holdfast.ErrNotFound,
			"no upstream speaks %s. Add an [[upstream]] with protocol = %q to the configuration", p, p)
	}
	return nil, holdfast.Errorf(holdfast.ErrNotFound,
		"no upstream serves the model %q over %s. Add it to the models of an [[upstream]] with protocol = %q", model, p, p)
}

// Serves reports whether the upstream takes a model.
func (u *Upstream) Serves(model string) bool {
	if len(u.Models) == 0 {
		return true
	}
	for _, pattern := range u.Models {
		if holdfast.Matches(pattern, model) {
			return true
		}
	}
	return false
}
