package config

import (
	"slices"
	"strings"
	"time"
)

// Query is the section query: conversations of holdfast query with a model.
type Query struct {
	// Model is by the name that requests use; "" where none is set.
	Model string
	// System is the system text; "" for none.
	System string
	// MaxCalls is how often the model may be called in one turn, 1 to 1000.
	MaxCalls int
	// Titles lets a model give conversations their titles, in the background.
	Titles bool
	// TitleModel is that model; "" is the one of the conversation, and always so
	// without Titles.
	TitleModel string
	// ToolTimeout is how long one call of a tool may take, 1 second to 1 hour.
	ToolTimeout time.Duration
	// MaxResult is what the result of a tool may take of a request, in bytes, 1000
	// to 10,000,000.
	MaxResult int64
}

// Tools is the section tools. In a pattern * stands for any text.
type Tools struct {
	// Allow are patterns of the tools that may be run, without those of which Deny
	// takes all; nil for no tool.
	Allow []string
	// Deny are patterns of the tools that may not, whatever Allow says; nil for
	// none.
	Deny []string
	// Files is whether there are the built-in tools, which read files.
	Files bool
}

func (r *reader) query(f file, q *Query) error {
	const titleModel = "query.title_model"
	in := f.Query
	for _, t := range []struct {
		key string
		in  *string
		out *string
	}{{"query.model", in.Model, &q.Model}, {"query.system", in.System, &q.System}, {titleModel, in.TitleModel, &q.TitleModel}} {
		if set(t.out, t.in); *t.out != "" && strings.TrimSpace(*t.out) == "" {
			return r.at(t.key, `holds nothing but white space. Write a text, or "" for none`)
		}
	}
	if err := r.whole("query.max_calls", in.MaxCalls, &q.MaxCalls); err != nil {
		return err
	}
	if set(&q.Titles, in.Titles); !q.Titles {
		if !r.overruled(titleModel, "query.titles") {
			return r.at(titleModel, "has no effect while titles = false. Remove it, or set titles = true")
		}
		q.TitleModel = ""
	}
	if err := r.duration("query.tool_timeout", in.ToolTimeout, &q.ToolTimeout, time.Second, time.Hour); err != nil {
		return err
	}
	return r.size("query.max_result", in.MaxResult, &q.MaxResult, 1e3, 10e6)
}

func (r *reader) tools(f file, t *Tools) error {
	set(&t.Files, f.Tools.Files)
	if err := r.patterns("tools.allow", f.Tools.Allow, &t.Allow); err != nil {
		return err
	}
	return r.patterns("tools.deny", f.Tools.Deny, &t.Deny)
}

// patterns takes a list of patterns of tools, if one is given.
func (r *reader) patterns(key string, in []string, out *[]string) error {
	if !r.has(key) {
		return nil
	}
	*out = nil
	for i, p := range in {
		if p == "" {
			return r.at(element(key, i), "must not hold an empty text: it matches no tool")
		}
		for j, q := range in {
			if j != i && covers(q, p) && (j < i || q != p) {
				return r.at(element(key, i), "%q has no effect: %q matches the same tools. Remove one", p, q)
			}
		}
		*out = append(*out, p)
	}
	return nil
}

// denied takes out what may not be run after all.
func (r *reader) denied(t *Tools) error {
	var allow []string
	for i, p := range t.Allow {
		by := slices.IndexFunc(t.Deny, func(q string) bool { return covers(q, p) })
		switch {
		case by < 0:
			allow = append(allow, p)
		case !r.overruled("tools.allow", "tools.deny"):
			return r.at(element("tools.allow", i), "%q has no effect: tools.deny has %q (%s). Remove one", p, t.Deny[by], where(r.layers, r.places["tools.deny"]))
		}
	}
	t.Allow = allow
	return nil
}

func queryTree(q Query) *node {
	n := section("query",
		leaf("model", q.Model),
		leaf("system", q.System),
		leaf("max_calls", q.MaxCalls),
		leaf("titles", q.Titles),
	)
	if q.Titles {
		n.fields = append(n.fields, leaf("title_model", q.TitleModel))
	}
	n.fields = append(n.fields, leaf("tool_timeout", durationText(q.ToolTimeout)), leaf("max_result", sizeText(q.MaxResult)))
	return n
}

func toolsTree(t Tools) *node {
	// A list is written also where it is empty.
	return section("tools", leaf("allow", append([]string{}, t.Allow...)), leaf("deny", append([]string{}, t.Deny...)), leaf("files", t.Files))
}
