package main

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/holdfast-dev/holdfast"
)

// deltaCell is a kind of stream whose cost per delta is measured.
type deltaCell struct {
	protocol holdfast.Protocol
	pause    time.Duration // between deltas
}

const (
	deltasPerStream = 2000
	deltaWorkers    = 4
)

// deltaCells are, for each protocol, streams as fast as they go, which reach the
// proxy many deltas at a time, and streams with a pause, which do not.
func deltaCells() (list []deltaCell) {
	for _, p := range []holdfast.Protocol{holdfast.Anthropic, holdfast.Responses} {
		list = append(list, deltaCell{p, 0}, deltaCell{p, 200 * time.Microsecond})
	}
	return list
}

func (c deltaCell) String() string {
	pace := "at full speed"
	if c.pause > 0 {
		pace = "one by one"
	}
	return fmt.Sprintf("%d deltas, %s, %s", deltasPerStream, c.protocol, pace)
}

// deltaRow is the CPU per delta in microseconds.
type deltaRow struct {
	Protocol   holdfast.Protocol `json:"protocol"`
	Paced      bool              `json:"paced"`
	ControlCPU float64           `json:"cpu_us_control"`
	CPU        float64           `json:"cpu_us"`
	OffCPU     float64           `json:"cpu_us_feature_off"`
	Faults     int               `json:"faults"` // of Holdfast with the feature on
}

func (f *fleet) runDeltas(ctx context.Context, c deltaCell, rounds int) (deltaRow, error) {
	base := newSession(c.protocol, sizes[0], true, 2)
	h := newHerd(base, deltaWorkers, 1)
	a := ask{deltas: deltasPerStream, pause: c.pause}
	want := newAnswer(c.protocol, a.deltas)
	streams := 1
	if c.pause == 0 {
		streams = len(base.cuts)
	}
	row := deltaRow{Protocol: c.protocol, Paced: c.pause > 0}
	per := map[string][]float64{}
	for range rounds {
		f.begin(h)
		for _, name := range []string{control, on, off} {
			t, err := volley(ctx, f.targets[name], f.crew(deltaWorkers), h.requests(0, streams, a, want))
			if err != nil {
				return row, err
			}
			per[name] = append(per[name], micro(float64(t.cpuPer()))/deltasPerStream)
			if name == on {
				row.Faults += faults(t)
			}
		}
	}
	row.ControlCPU, row.CPU, row.OffCPU = median(per[control]), median(per[on]), median(per[off])
	return row, nil
}

// streamsRow counts streamed answers that did not come as they were sent, and
// requests that did not arrive as they were sent.
type streamsRow struct {
	Streams        int    `json:"streams"`
	Cut            int    `json:"cut"`
	Changed        int    `json:"changed"`
	Refused        int    `json:"refused"`
	Problem        string `json:"problem,omitempty"`
	ControlStreams int    `json:"control_streams"`
	ControlCut     int    `json:"control_cut"`
	ControlChanged int    `json:"control_changed"`
	ControlRefused int    `json:"control_refused"`
}

const (
	streamWorkers = 32 // streams at a time
	// controlStreams is how many the control gets at most: it serves to show
	// that the comparison finds something.
	controlStreams = 2000
	// hastyStreams begin before the upstream has read their request, which is
	// too long for the buffers between.
	hastyStreams = 64
)

func (f *fleet) runStreams(ctx context.Context, n int) (streamsRow, error) {
	ours, err := f.compareStreams(ctx, f.targets[on], n)
	if err != nil {
		return streamsRow{}, err
	}
	theirs, err := f.compareStreams(ctx, f.targets[control], min(n, controlStreams))
	return streamsRow{
		Streams: ours.Requests, Cut: ours.Cut, Changed: ours.Changed, Refused: ours.Refused, Problem: ours.Problem,
		ControlStreams: theirs.Requests, ControlCut: theirs.Cut, ControlChanged: theirs.Changed, ControlRefused: theirs.Refused,
	}, err
}

// streamKind is a kind of session whose streams are compared.
type streamKind struct {
	herd  herd
	want  *answer
	hasty bool
}

func newStreamKind(p holdfast.Protocol, z size, seed uint64, hasty bool) streamKind {
	s := newSession(p, z, true, seed)
	return streamKind{newHerd(s, streamWorkers, 1), newAnswer(p, cellDeltas), hasty}
}

// compareStreams sends at least n requests whose answers are streams, each
// answer with a number of its own, and the hasty ones.
func (f *fleet) compareStreams(ctx context.Context, at target, n int) (tally, error) {
	at.cpu = nil // what it costs is measured elsewhere
	kinds := []streamKind{
		newStreamKind(holdfast.Anthropic, sizes[0], 3, false),
		newStreamKind(holdfast.Responses, sizes[0], 4, false),
		newStreamKind(holdfast.Anthropic, sizes[1], 5, false),
	}
	hasty := []streamKind{newStreamKind(holdfast.Anthropic, sizes[2], 6, true)}
	sum, err := f.streamVolley(ctx, at, hasty, hastyStreams/streamWorkers, 0)
	for err == nil && sum.Requests < n+hastyStreams {
		var t tally
		t, err = f.streamVolley(ctx, at, kinds, sizes[0].turns+1, sum.Requests)
		t.Latency = nil // there may be many
		sum.add(t)
	}
	return sum, err
}

// streamVolley sends the first so many requests of new sessions of each kind;
// their numbers start above base.
func (f *fleet) streamVolley(ctx context.Context, at target, kinds []streamKind, requests, base int) (tally, error) {
	for _, k := range kinds {
		f.begin(k.herd)
	}
	return volley(ctx, at, f.crew(streamWorkers), func(w int) iter.Seq[job] {
		return func(yield func(job) bool) {
			n := base + w
			for i := range requests {
				for _, k := range kinds {
					s := k.herd[w][0]
					n += streamWorkers
					a := ask{deltas: cellDeltas, number: n, early: k.hasty, sum: sumOf(s.request(i))}
					if !yield(job{s: s, request: i, ask: a, want: k.want}) {
						return
					}
				}
			}
		}
	})
}

// sumOf is the hash of a body, never 0.
func sumOf(text, tail []byte) uint64 {
	h := xxhash.New()
	_, _ = h.Write(text) // never fails
	_, _ = h.Write(tail)
	return max(h.Sum64(), 1)
}
