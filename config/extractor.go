package config

import (
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// Extractor is the section compaction_continuity.extractor: what a model of its own
// reads out of sessions. It is a new way out of the machine and costs money, so it
// is off unless somebody chose it.
type Extractor struct {
	Enabled bool
	// Route is the upstream, by its name, and the model that is called there; zero
	// where no session is read.
	Route Route
	// Timeout bounds a call, 100ms to 5m.
	Timeout time.Duration
	// MaxInputTokens bounds what a call is sent of a session, 1,000 to 200,000,
	// MaxOutputTokens its answer, 200 to 32,000.
	MaxInputTokens, MaxOutputTokens int
	// InputRatio is what a call is sent at most, as a part of what its session has grown
	// by since the last one, in tokens, while no compaction needs it: above 0, at most 1,
	// where each turn is read at once.
	InputRatio float64
	// Workers call at once, 1 to 64, and MaxPendingJobs wait, 1 to 10,000.
	Workers, MaxPendingJobs int
	// BarrierTimeout is how long a compaction, and the end of a query, wait at most
	// for what is not read yet, 0 (not at all) to 1m.
	BarrierTimeout time.Duration
}

// Route is a model at an upstream.
type Route struct{ Upstream, Model string }

// String is the route as it stands in a file: UPSTREAM:MODEL.
func (r Route) String() string { return r.Upstream + ":" + r.Model }

const extractorKey = continuityKey + ".extractor"

func defaultExtractor() Extractor {
	return Extractor{
		Timeout: 8 * time.Second, MaxInputTokens: 12_000, MaxOutputTokens: 2000, InputRatio: 0.07,
		Workers: 4, MaxPendingJobs: 64, BarrierTimeout: 2 * time.Second,
	}
}

// extractorFile mirrors the section.
type extractorFile struct {
	Enabled         *bool    `toml:"enabled"`
	Route           *string  `toml:"route"`
	Timeout         *string  `toml:"timeout"`
	MaxInputTokens  *int     `toml:"max_input_tokens"`
	MaxOutputTokens *int     `toml:"max_output_tokens"`
	InputRatio      *float64 `toml:"input_ratio"`
	Workers         *int     `toml:"workers"`
	MaxPendingJobs  *int     `toml:"max_pending_jobs"`
	BarrierTimeout  *string  `toml:"barrier_timeout"`
}

func extractorKeys() []key {
	return []key{
		{name: extractorKey, kind: table, about: "A model that reads what no tool call states: choices in prose, reasons, what was rejected. What it is sent leaves the machine, and it costs."},
		{name: extractorKey + ".enabled", kind: boolean, about: "Read sessions with it, and the conversations of query."},
		{name: extractorKey + ".route", kind: text("cheap:small-model", "^[^:]+:.+$"), about: "UPSTREAM:MODEL, whatever the session's own model is. Required when enabled."},
		{name: extractorKey + ".timeout", kind: duration(`"8s" or "500ms"`), about: "How long a call may take, 100ms to 5m."},
		{name: extractorKey + ".max_input_tokens", kind: whole(12000, 1000, 200_000), about: "What a call is sent of a session at most."},
		{name: extractorKey + ".max_output_tokens", kind: whole(2000, 200, 32_000), about: "What a call answers at most."},
		{name: extractorKey + ".input_ratio", kind: number("0.07", jsonschema.Schema{ExclusiveMinimum: new(0.0), Maximum: new(1.0)}), about: "What a call is sent at most, as a part of what its session has grown by since the last one, in tokens. Until then what is said gathers; a compaction does not wait for that. 1: each turn is read at once."},
		{name: extractorKey + ".workers", kind: whole(4, 1, 64), about: "How many calls are made at once."},
		{name: extractorKey + ".max_pending_jobs", kind: whole(64, 1, 10_000), about: "How many wait; more are skipped."},
		{name: extractorKey + ".barrier_timeout", kind: duration(`"2s" or "0s"`), about: "How long a compaction, and the end of a query, wait at most for what is not read yet, 0s to 1m."},
	}
}

// ExtractorRuns reports whether any session can be read by the extractor.
func (c *Config) ExtractorRuns() bool {
	return c.ContinuityRuns() && (c.Continuity.Extractor.Enabled || anyExtracts(c.Policies))
}

func anyExtracts(policies []SessionPolicy) bool {
	return slices.ContainsFunc(policies, func(p SessionPolicy) bool { return p.Extractor != nil && *p.Extractor })
}

// extractor reads the section. Its other keys have an effect only where it is
// enabled for some session.
func (r *reader) extractor(f file, x *Extractor, policies []SessionPolicy) error {
	in := f.Continuity.Extractor
	set(&x.Enabled, in.Enabled)
	if !x.Enabled && !anyExtracts(policies) {
		for _, k := range extractorKeys()[2:] {
			if r.has(k.name) && !r.overruled(k.name, extractorKey+".enabled") {
				return r.at(k.name, "has no effect while %s.enabled = false. Remove it, or set that to true", extractorKey)
			}
		}
		*x = defaultExtractor()
		return nil
	}
	if in.Route == nil {
		at := extractorKey + ".enabled"
		if !x.Enabled {
			i := slices.IndexFunc(policies, func(p SessionPolicy) bool { return p.Extractor != nil && *p.Extractor })
			at = element(policyKey, i) + ".extractor.enabled"
		}
		return r.at(at, "= true needs %s.route. Add one, such as %q", extractorKey, "cheap:small-model")
	}
	var ok bool
	if x.Route.Upstream, x.Route.Model, ok = strings.Cut(*in.Route, ":"); !ok || x.Route.Upstream == "" || strings.TrimSpace(x.Route.Model) == "" {
		return r.at(extractorKey+".route", "must be UPSTREAM:MODEL, such as %q", "cheap:small-model")
	}
	if err := r.duration(extractorKey+".timeout", in.Timeout, &x.Timeout, 100*time.Millisecond, 5*time.Minute); err != nil {
		return err
	}
	if err := r.duration(extractorKey+".barrier_timeout", in.BarrierTimeout, &x.BarrierTimeout, 0, time.Minute); err != nil {
		return err
	}
	for _, n := range []struct {
		name string
		in   *int
		out  *int
	}{
		{".max_input_tokens", in.MaxInputTokens, &x.MaxInputTokens},
		{".max_output_tokens", in.MaxOutputTokens, &x.MaxOutputTokens},
		{".workers", in.Workers, &x.Workers},
		{".max_pending_jobs", in.MaxPendingJobs, &x.MaxPendingJobs},
	} {
		if err := r.whole(extractorKey+n.name, n.in, n.out); err != nil {
			return err
		}
	}
	if set(&x.InputRatio, in.InputRatio); !(x.InputRatio > 0 && x.InputRatio <= 1) {
		return r.at(extractorKey+".input_ratio", "must be above 0 and at most 1")
	}
	return nil
}

// routed checks that the extractor's upstream is there.
func (r *reader) routed(c *Config) error {
	route := c.Continuity.Extractor.Route
	if route == (Route{}) {
		return nil
	}
	var names []string
	for _, u := range c.Upstreams {
		if u.Name == route.Upstream {
			return nil
		}
		names = append(names, u.Name)
	}
	return r.at(extractorKey+".route", "names the upstream %q, which is none. There are: %s", route.Upstream, strings.Join(names, ", "))
}

func extractorTree(x Extractor, runs bool) *node {
	n := section("extractor", leaf("enabled", x.Enabled))
	if runs {
		n.fields = append(n.fields,
			leaf("route", x.Route.String()), leaf("timeout", durationText(x.Timeout)),
			leaf("max_input_tokens", x.MaxInputTokens), leaf("max_output_tokens", x.MaxOutputTokens),
			leaf("input_ratio", x.InputRatio),
			leaf("workers", x.Workers), leaf("max_pending_jobs", x.MaxPendingJobs), leaf("barrier_timeout", durationText(x.BarrierTimeout)))
	}
	return n
}
