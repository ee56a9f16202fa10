package main

import (
	"fmt"
	"slices"
)

// goal is one figure that was judged.
type goal struct {
	Name  string  `json:"name"`
	Limit float64 `json:"limit"`
	// AtLeast turns the limit round: smaller figures miss it.
	AtLeast bool    `json:"at_least,omitempty"`
	Value   float64 `json:"value"`
	// Worst is that of the single cells; only Value is judged.
	Worst float64 `json:"worst,omitempty"`
	Unit  string  `json:"unit,omitempty"`
	Met   bool    `json:"met"`
}

func (g goal) judged() goal {
	g.Met = g.Value <= g.Limit
	if g.AtLeast {
		g.Met = g.Value >= g.Limit
	}
	return g
}

// maxSpread is how far the control may vary within a cell.
const maxSpread = 2

// judge fills the verdicts in. A figure of several cells is their median; cells
// without the figure do not count.
func (r *report) judge() {
	r.Goals, r.Void = nil, []string{}
	for _, c := range r.Cells {
		if c.Spread > maxSpread {
			r.Void = append(r.Void, fmt.Sprintf("%s: the control's CPU per request varied %.1f-fold", c.name(), c.Spread))
		}
	}
	for _, z := range []struct {
		size                string
		cpu, p50, p99, rate float64
	}{
		{"2 KB", 1.5, 1.0, 1.5, 0.9},
		{"200 KB", 1.2, 1.1, 1.5, 0.9},
		{"2 MB", 1.5, 1.4, 1.5, 0.9},
	} {
		of := func(keep func(cellRow) bool, figure func(cellRow) float64) (values []float64) {
			for _, c := range r.Cells {
				if v := figure(c); c.Size == z.size && keep(c) && v != 0 {
					values = append(values, v)
				}
			}
			return values
		}
		all := func(cellRow) bool { return true }
		alone := func(c cellRow) bool { return c.Concurrency == 1 }
		at16 := func(c cellRow) bool { return c.Concurrency == 16 }
		r.ratio("CPU per request, "+z.size, z.cpu, false, of(all, func(c cellRow) float64 { return c.CPURatio }))
		if z.size == sizes[0].name {
			r.ratio("CPU per request, "+z.size+", feature off", 1, false, of(all, func(c cellRow) float64 { return c.OffRatio }))
		}
		r.ratio("added latency p50, "+z.size, z.p50, false, of(alone, func(c cellRow) float64 { return c.P50Ratio }))
		r.ratio("added latency p99, "+z.size, z.p99, false, of(alone, func(c cellRow) float64 { return c.P99Ratio }))
		r.ratio("throughput at 16, "+z.size, z.rate, true, of(at16, func(c cellRow) float64 { return c.Throughput }))
	}
	for _, d := range r.Deltas {
		if !d.Paced {
			r.single("CPU per streamed delta, "+string(d.Protocol), 2, d.CPU, "us")
		}
	}
	s, m := r.Streams, r.Memory
	wrong := s.Cut + s.Changed + s.Refused
	for _, c := range r.Cells {
		wrong += c.Faults
	}
	for _, d := range r.Deltas {
		wrong += d.Faults
	}
	r.single("answers cut, changed or refused", 0, float64(wrong), "")
	r.single("requests not linked, batches not stored", 0, float64(r.Recorded.Unlinked+r.Recorded.Lost), "")
	r.single("memory when idle", 40, megabytes(m.Idle), "MB")
	r.single("memory at its peak", 40+1.5*megabytes(m.InFlight), megabytes(m.Peak), "MB")
	if m.After > 0 {
		r.single("memory a minute later", 50, megabytes(m.After), "MB")
	}
	r.single("memory per open stream", 64, float64(m.PerStream)/(1<<10), "KB")
}

// ratio adds a goal for a figure of several cells, if any has it.
func (r *report) ratio(name string, limit float64, atLeast bool, values []float64) {
	if len(values) == 0 {
		return
	}
	worst := slices.Max(values)
	if atLeast {
		worst = slices.Min(values)
	}
	r.Goals = append(r.Goals, goal{Name: name, Limit: limit, AtLeast: atLeast, Value: median(values), Worst: worst}.judged())
}

func (r *report) single(name string, limit, value float64, unit string) {
	r.Goals = append(r.Goals, goal{Name: name, Limit: limit, Value: value, Unit: unit}.judged())
}

func megabytes(n int64) float64 { return float64(n) / (1 << 20) }
