package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// cell is one kind of load.
type cell struct {
	size    size
	stream  bool
	workers int
}

// cellDeltas is how long a streamed answer of a cell is.
const cellDeltas = 20

func (c cell) String() string {
	return fmt.Sprintf("%s, %s, concurrency %d", c.size.name, answerKind(c.stream), c.workers)
}

func answerKind(stream bool) string {
	if stream {
		return "stream"
	}
	return "whole"
}

func cellsOf(e effort) (list []cell) {
	for _, z := range sizes {
		for _, stream := range []bool{false, true} {
			for _, n := range e.Workers {
				list = append(list, cell{z, stream, n})
			}
		}
	}
	return list
}

// ways are the targets of a cell.
var ways = []string{direct, control, on, off}

// cellRow is what was measured in a cell. Times are in microseconds; ratios are
// to the control, 0 where there is none.
type cellRow struct {
	Size        string `json:"size"`
	Stream      bool   `json:"stream"`
	Concurrency int    `json:"concurrency"`
	// Requests is how many each target answered, session starts left out.
	Requests int `json:"requests"`
	MeanBody int `json:"mean_body_bytes"`
	// CPU is per request; the ratios are medians of the rounds.
	ControlCPU float64 `json:"cpu_us_control"`
	CPU        float64 `json:"cpu_us"`
	CPURatio   float64 `json:"cpu_ratio"`
	OffRatio   float64 `json:"cpu_ratio_feature_off"`
	StartRatio float64 `json:"cpu_ratio_session_start"`
	// Latency of the direct way, and what the proxies add to it.
	DirectP50  float64 `json:"direct_p50_us"`
	DirectP99  float64 `json:"direct_p99_us"`
	ControlP50 float64 `json:"control_added_p50_us"`
	AddedP50   float64 `json:"added_p50_us"`
	P50Ratio   float64 `json:"added_p50_ratio"`
	ControlP99 float64 `json:"control_added_p99_us"`
	AddedP99   float64 `json:"added_p99_us"`
	P99Ratio   float64 `json:"added_p99_ratio"`
	Throughput float64 `json:"throughput_ratio"`
	// Spread is the control's largest CPU per request over its smallest.
	Spread float64 `json:"control_spread"`
	// Faults are answers that did not come back as they were sent.
	Faults        int    `json:"faults"`
	ControlFaults int    `json:"faults_control"`
	Problem       string `json:"problem,omitempty"`
}

// runCell measures a cell. Each round sends the same requests over all targets,
// one target after the other, beginning with another one each time.
func (f *fleet) runCell(ctx context.Context, c cell, e effort) (cellRow, error) {
	base := newSession(holdfast.Anthropic, c.size, c.stream, 1)
	a := ask{}
	if c.stream {
		a.deltas = cellDeltas
	}
	want := newAnswer(base.protocol, a.deltas)
	crew := f.crew(c.workers)
	sessions, turns, err := f.plan(ctx, c, e, base, a, want)
	if err != nil {
		return cellRow{}, err
	}
	h := newHerd(base, c.workers, sessions)
	first := (c.size.turns - turns) / 2
	starts, rest := map[string][]tally{}, map[string][]tally{}
	for round := range e.Rounds {
		f.begin(h)
		for i := range ways {
			name := ways[(i+round)%len(ways)]
			s, err := volley(ctx, f.targets[name], crew, h.requests(first, first+1, a, want))
			if err != nil {
				return cellRow{}, err
			}
			t, err := volley(ctx, f.targets[name], crew, h.requests(first+1, first+1+turns, a, want))
			if err != nil {
				return cellRow{}, err
			}
			if t.Refused == t.Requests {
				return cellRow{}, fmt.Errorf("%s answers nothing: %s", name, t.Problem)
			}
			starts[name], rest[name] = append(starts[name], s), append(rest[name], t)
		}
	}
	return rowOf(c, starts, rest), nil
}

// plan finds how many sessions per worker, of how many turns, keep the control
// busy for e.Load. It also opens all connections.
func (f *fleet) plan(ctx context.Context, c cell, e effort, base *session, a ask, want *answer) (sessions, turns int, err error) {
	const probe = 3
	crew := f.crew(c.workers)
	h := newHerd(base, c.workers, 1)
	for _, name := range ways {
		f.begin(h)
		if _, err := volley(ctx, f.targets[name], crew, h.requests(0, 2, a, want)); err != nil {
			return 0, 0, err
		}
	}
	var t tally
	for t.Wall < e.Load/4 {
		f.begin(h)
		more, err := volley(ctx, f.targets[control], crew, h.requests(0, probe, a, want))
		if err != nil {
			return 0, 0, err
		}
		t.add(more)
	}
	perWorker := int(e.Load.Seconds()*t.rate()) / c.workers
	sessions, turns = shape(perWorker, c.size.turns)
	return sessions, turns, nil
}

// shape divides the requests of a worker into sessions of at most limit turns.
func shape(requests, limit int) (sessions, turns int) {
	turns = min(max(requests, 2), limit)
	return max(1, requests/turns), turns
}

// rowOf makes the figures of a cell from its rounds.
func rowOf(c cell, starts, turns map[string][]tally) cellRow {
	all := map[string]tally{}
	for name, rounds := range turns {
		var t tally
		for _, r := range rounds {
			t.add(r)
		}
		slices.Sort(t.Latency)
		all[name] = t
	}
	cpu := func(t tally) float64 { return float64(t.cpuPer()) }
	ctl := turns[control]
	r := cellRow{
		Size: c.size.name, Stream: c.stream, Concurrency: c.workers,
		Requests: all[on].Requests, MeanBody: int(all[on].Bytes) / max(all[on].Requests, 1),
		ControlCPU: micro(median(each(ctl, cpu))), CPU: micro(median(each(turns[on], cpu))),
		CPURatio:   medianRatio(turns[on], ctl, cpu),
		OffRatio:   medianRatio(turns[off], ctl, cpu),
		StartRatio: medianRatio(starts[on], starts[control], cpu),
		Throughput: medianRatio(turns[on], ctl, tally.rate),
		Spread:     slices.Max(each(ctl, cpu)) / slices.Min(each(ctl, cpu)),
		Faults:     faults(all[on]), ControlFaults: faults(all[control]), Problem: all[on].Problem,
	}
	added := func(p float64) (way, byControl, byUs, ratio float64) {
		d := quantile(all[direct].Latency, p)
		byControl, byUs = quantile(all[control].Latency, p)-d, quantile(all[on].Latency, p)-d
		// Below a tenth of the way itself the difference is noise.
		if byControl > d/10 {
			ratio = byUs / byControl
		}
		return micro(d), micro(byControl), micro(byUs), ratio
	}
	r.DirectP50, r.ControlP50, r.AddedP50, r.P50Ratio = added(0.5)
	r.DirectP99, r.ControlP99, r.AddedP99, r.P99Ratio = added(0.99)
	return r
}

func faults(t tally) int { return t.Refused + t.Cut + t.Changed }

// micro turns nanoseconds into microseconds.
func micro(ns float64) float64 { return ns / float64(time.Microsecond) }
