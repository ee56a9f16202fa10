package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// memoryRow is resident memory of a Holdfast of its own, in bytes.
type memoryRow struct {
	Idle     int64 `json:"idle"`      // after the start
	Peak     int64 `json:"peak"`      // during the load
	InFlight int64 `json:"in_flight"` // request bytes held at the upstream at once
	// After is what is left a minute later; 0 when that was not waited for.
	After int64 `json:"after_a_minute,omitempty"`
	// PerStream is what an open stream holds, of another process.
	PerStream int64 `json:"per_stream"`
	Streams   int   `json:"streams"`
}

const (
	memoryWorkers = 64
	memoryRounds  = 3
	// gather is how long the upstream lets requests wait, so that all are there.
	gather = 500 * time.Millisecond
	// recovery is how long memory has time to be given back.
	recovery = time.Minute
	// openStreams are held open to see what one costs.
	openStreams = 512
)

func (f *fleet) runMemory(ctx context.Context, idle bool) (memoryRow, error) {
	var row memoryRow
	if err := f.withFresh(ctx, "memory", func(t target, pid int) error { return f.peak(ctx, t, pid, idle, &row) }); err != nil {
		return row, err
	}
	return row, f.withFresh(ctx, "open streams", func(t target, pid int) error { return f.openStreams(ctx, t, pid, &row) })
}

// withFresh runs do with a Holdfast that has not served yet.
func (f *fleet) withFresh(ctx context.Context, name string, do func(target, int) error) error {
	c, err := f.startHoldfast(ctx, name, true)
	if err != nil {
		return err
	}
	defer c.stop()
	defer func() {
		for _, w := range f.workers {
			w.transport.CloseIdleConnections()
		}
	}()
	t := targetOf(c)
	if _, err := settle(ctx, t.cpu); err != nil {
		return err
	}
	return do(t, c.cmd.Process.Pid)
}

// peak loads with the largest bodies, all at the upstream at once.
func (f *fleet) peak(ctx context.Context, t target, pid int, idle bool, row *memoryRow) (err error) {
	if row.Idle, _, err = memoryOf(pid); err != nil {
		return err
	}
	largest := sizes[len(sizes)-1]
	base := newSession(holdfast.Anthropic, largest, false, 6)
	h := newHerd(base, memoryWorkers, 1)
	f.begin(h)
	sum, err := volley(ctx, t, f.crew(memoryWorkers), h.requests(0, memoryRounds, ask{pause: gather}, newAnswer(base.protocol, 0)))
	switch {
	case err != nil:
		return err
	case faults(sum) > 0:
		return fmt.Errorf("%d of %d requests failed: %s", faults(sum), sum.Requests, sum.Problem)
	}
	row.InFlight = sum.Bytes / memoryRounds
	if _, row.Peak, err = memoryOf(pid); err != nil || !idle {
		return err
	}
	pause := time.NewTimer(recovery)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	row.After, _, err = memoryOf(pid)
	return err
}

// openStreams holds many long answers open just before their end.
func (f *fleet) openStreams(ctx context.Context, t target, pid int, row *memoryRow) error {
	base := newSession(holdfast.Anthropic, sizes[0], true, 7)
	h := newHerd(base, openStreams, 1)
	f.begin(h)
	// What the first connections cost, whatever they carry, is no stream's.
	warm := h.requests(0, 1, ask{}, newAnswer(base.protocol, 0))
	if _, err := volley(ctx, t, f.crew(memoryWorkers), warm); err != nil {
		return err
	}
	before, _, err := memoryOf(pid)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := ask{deltas: deltasPerStream, hold: true}
	want := newAnswer(base.protocol, a.deltas)
	// All but the last frame comes, and then nothing until the client goes.
	held := want.ends[len(want.ends)-2]
	var all sync.WaitGroup
	errs := make([]error, openStreams)
	for i, own := range h {
		all.Go(func() { errs[i] = holdStream(ctx, t, own[0], a, held) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	now, _, err := memoryOf(pid)
	row.Streams, row.PerStream = openStreams, (now-before)/openStreams
	return err
}

// holdStream opens a stream and reads n bytes of it. The stream stays open until
// ctx ends.
func holdStream(ctx context.Context, at target, s *session, a ask, n int) error {
	a.header(s.header)
	text, tail := s.request(1)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at.base+s.path, newBody(text, tail))
	if err != nil {
		return err
	}
	req.Header, req.ContentLength = s.header, int64(len(text)+len(tail))
	tr := &http.Transport{DisableCompression: true}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { resp.Body.Close() })
	for buf := make([]byte, 8<<10); n > 0; {
		k, err := resp.Body.Read(buf)
		if n -= k; err != nil {
			return fmt.Errorf("a stream that should stay open ended: %w", err)
		}
	}
	return nil
}
