package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// job is one request of a session, and the answer that must come back.
type job struct {
	s       *session
	request int
	ask     ask
	want    *answer
}

// tally is what came of many jobs.
type tally struct {
	Requests int
	Refused  int // answered with another status than 200, or not at all
	Cut      int // the answer ended too early
	Changed  int // the answer has other bytes
	Latency  []time.Duration
	Wall     time.Duration // up to the last answer
	CPU      time.Duration // of the target, until it was quiet again
	Bytes    int64         // of request bodies
	Problem  string        // of the first request that was refused
}

func (t *tally) add(o tally) {
	t.Requests += o.Requests
	t.Refused += o.Refused
	t.Cut += o.Cut
	t.Changed += o.Changed
	t.Latency = append(t.Latency, o.Latency...)
	t.Wall += o.Wall
	t.CPU += o.CPU
	t.Bytes += o.Bytes
	if t.Problem == "" {
		t.Problem = o.Problem
	}
}

// cpuPer is the CPU per request.
func (t tally) cpuPer() time.Duration { return t.CPU / time.Duration(max(t.Requests, 1)) }

// rate is requests per second.
func (t tally) rate() float64 { return float64(t.Requests) / t.Wall.Seconds() }

// worker is one agent: it sends one request at a time over connections of its
// own.
type worker struct {
	transport *http.Transport
	got, want []byte
}

func newWorker() *worker {
	return &worker{transport: &http.Transport{DisableCompression: true}}
}

// crew returns n workers.
func (f *fleet) crew(n int) []*worker {
	for len(f.workers) < n {
		f.workers = append(f.workers, newWorker())
	}
	return f.workers[:n]
}

// send does a job and counts it into t.
func (w *worker) send(ctx context.Context, at target, j job, t *tally) error {
	u, err := url.Parse(at.base + j.s.path)
	if err != nil {
		return err
	}
	text, tail := j.s.request(j.request)
	j.ask.header(j.s.header)
	req := (&http.Request{
		Method: http.MethodPost, URL: u, Header: j.s.header, ContentLength: int64(len(text) + len(tail)),
		Body: newBody(text, tail),
	}).WithContext(ctx)
	t.Requests++
	t.Bytes += req.ContentLength
	start := time.Now()
	resp, err := w.transport.RoundTrip(req)
	if err != nil {
		t.refuse(err.Error())
		return ctx.Err()
	}
	w.got, err = readAll(w.got[:0], resp.Body)
	took := time.Since(start)
	resp.Body.Close()
	w.want = j.want.numbered(w.want[:0], j.ask.number)
	switch {
	case resp.StatusCode != http.StatusOK:
		t.refuse(fmt.Sprintf("status %d: %.300s", resp.StatusCode, w.got))
	case err != nil || len(w.got) < len(w.want):
		t.Cut++
	case !bytes.Equal(w.got, w.want):
		t.Changed++
	default:
		t.Latency = append(t.Latency, took)
	}
	return ctx.Err()
}

// newBody reads a body in two parts.
func newBody(text, tail []byte) io.ReadCloser {
	return io.NopCloser(io.MultiReader(bytes.NewReader(text), bytes.NewReader(tail)))
}

func (t *tally) refuse(problem string) {
	t.Refused++
	if t.Problem == "" {
		t.Problem = problem
	}
}

// readAll appends all of r to buf.
func readAll(buf []byte, r io.Reader) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
}

// volley lets each worker do its jobs, all workers at once, and waits until the
// target is quiet.
func volley(ctx context.Context, at target, crew []*worker, jobs func(worker int) iter.Seq[job]) (tally, error) {
	if at.cpu != nil && *at.counted == 0 {
		now, err := at.cpu()
		if err != nil {
			return tally{}, err
		}
		*at.counted = now
	}
	tallies, errs := make([]tally, len(crew)), make([]error, len(crew))
	var all sync.WaitGroup
	start := time.Now()
	for i, w := range crew {
		all.Go(func() {
			for j := range jobs(i) {
				if errs[i] = w.send(ctx, at, j, &tallies[i]); errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	sum := tally{Wall: time.Since(start)}
	for _, t := range tallies {
		sum.add(t)
	}
	if err := errors.Join(errs...); err != nil {
		return sum, err
	}
	if at.cpu != nil {
		after, err := settle(ctx, at.cpu)
		if err != nil {
			return sum, err
		}
		sum.CPU, *at.counted = after-*at.counted, after
	}
	return sum, nil
}

// A process is quiet when it has used less than quietCPU in each of quietTicks
// ticks in a row; nothing waits longer than quietLimit for that. What it does later, such
// as records that wait for others to share a commit, counts in its next volley.
const (
	quietTick  = 5 * time.Millisecond
	quietTicks = 4
	quietCPU   = 100 * time.Microsecond
	quietLimit = time.Second
)

// settle waits until a process is quiet and returns its CPU time.
func settle(ctx context.Context, cpu func() (time.Duration, error)) (time.Duration, error) {
	last, err := cpu()
	if err != nil {
		return 0, err
	}
	tick := time.NewTicker(quietTick)
	defer tick.Stop()
	limit := time.Now().Add(quietLimit)
	for quiet := 0; quiet < quietTicks && time.Now().Before(limit); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		now, err := cpu()
		if err != nil {
			return 0, err
		}
		quiet++
		if now-last > quietCPU {
			quiet = 0
		}
		last = now
	}
	return last, nil
}

// herd is sessions for a crew, k for each worker.
type herd [][]*session

func newHerd(base *session, workers, k int) herd {
	h := make(herd, workers)
	for w := range h {
		for range k {
			h[w] = append(h[w], base.clone())
		}
	}
	return h
}

// begin makes all of them new sessions.
func (f *fleet) begin(h herd) {
	for _, own := range h {
		for _, s := range own {
			f.tokens++
			s.begin(f.tokens)
		}
	}
}

// requests are the jobs that send requests from up to and without to of every
// session.
func (h herd) requests(from, to int, a ask, want *answer) func(int) iter.Seq[job] {
	return func(w int) iter.Seq[job] {
		return func(yield func(job) bool) {
			for _, s := range h[w] {
				for i := from; i < to; i++ {
					if !yield(job{s: s, request: i, ask: a, want: want}) {
						return
					}
				}
			}
		}
	}
}
