package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []float64
		want float64
	}{
		{"of none", nil, 0},
		{"of one", []float64{4}, 4},
		{"of three, unsorted", []float64{9, 1, 5}, 5},
		{"of four, between the middle two", []float64{8, 1, 2, 4}, 3},
	} {
		if got := median(c.in); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestQuantile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	for _, c := range []struct {
		name string
		in   []time.Duration
		p    float64
		want float64
	}{
		{"of none", nil, 0.5, 0},
		{"half of a hundred are at most the 50th", hundred, 0.5, 50},
		{"99 of a hundred are at most the 99th", hundred, 0.99, 99},
		{"the 99th part of ten is the last", hundred[:10], 0.99, 10},
		{"of one", hundred[6:7], 0.5, 7},
	} {
		if got := quantile(c.in, c.p); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestRequestsAreDividedIntoSessions(t *testing.T) {
	for _, c := range []struct{ requests, limit, sessions, turns int }{
		{0, 49, 1, 2}, {1, 49, 1, 2}, {30, 49, 1, 30}, {49, 49, 1, 49}, {150, 49, 3, 49}, {100, 8, 12, 8},
	} {
		if s, n := shape(c.requests, c.limit); s != c.sessions || n != c.turns {
			t.Errorf("%d by %d: %d sessions of %d turns, want %d of %d", c.requests, c.limit, s, n, c.sessions, c.turns)
		}
	}
}

// rounds makes one tally of ten requests for each CPU time per request, at the
// same rate for all, with the latency for each request.
func rounds(latency time.Duration, wall time.Duration, cpu ...time.Duration) (list []tally) {
	for _, c := range cpu {
		t := tally{Requests: 10, CPU: 10 * c, Wall: wall, Bytes: 20_000}
		for range 10 {
			t.Latency = append(t.Latency, latency)
		}
		list = append(list, t)
	}
	return list
}

func TestTheFiguresOfACell(t *testing.T) {
	const us = time.Microsecond
	starts := map[string][]tally{
		control: rounds(0, time.Second, 100*us, 100*us, 100*us),
		on:      rounds(0, time.Second, 500*us, 900*us, 700*us),
	}
	turns := map[string][]tally{
		direct:  rounds(200*us, time.Second, 0, 0, 0),
		control: rounds(300*us, time.Second, 100*us, 150*us, 120*us),
		// 1.5, 1.2 and 2 times the control of the same round.
		on:  rounds(350*us, 2*time.Second, 150*us, 180*us, 240*us),
		off: rounds(300*us, time.Second, 90*us, 150*us, 132*us),
	}
	turns[on][1].Changed = 2
	turns[control][2].Cut = 1
	got := rowOf(cell{size: sizes[0], stream: true, workers: 4}, starts, turns)
	want := cellRow{
		Size: "2 KB", Stream: true, Concurrency: 4, Requests: 30, MeanBody: 2000,
		ControlCPU: 120, CPU: 180, CPURatio: 1.5, OffRatio: 1, StartRatio: 7,
		DirectP50: 200, DirectP99: 200, ControlP50: 100, ControlP99: 100, AddedP50: 150, AddedP99: 150, P50Ratio: 1.5, P99Ratio: 1.5,
		Throughput: 0.5, Spread: 1.5, Faults: 2, ControlFaults: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestALatencyThatTheControlDoesNotAddToHasNoRatio(t *testing.T) {
	const us = time.Microsecond
	turns := map[string][]tally{
		direct: rounds(200*us, time.Second, 0), control: rounds(210*us, time.Second, us), on: rounds(400*us, time.Second, us),
	}
	got := rowOf(cell{size: sizes[2], workers: 1}, turns, turns)
	if got.P50Ratio != 0 || got.P99Ratio != 0 {
		t.Errorf("%+v", got)
	}
}

// example misses one goal of each kind and is void.
func example() *report {
	r := &report{
		Cores: 2, Effort: effort{Rounds: 3},
		Cells: []cellRow{
			{Size: "200 KB", Concurrency: 1, CPURatio: 1, P50Ratio: 1.2, P99Ratio: 1.4, Spread: 1.1},
			{Size: "200 KB", Concurrency: 16, CPURatio: 1.2, P50Ratio: 9, Throughput: 0.8, Spread: 2.01},
			{Size: "200 KB", Stream: true, Concurrency: 16, CPURatio: 4, Throughput: 1.1, Spread: 2, Faults: 1},
		},
		Deltas: []deltaRow{
			{Protocol: holdfast.Anthropic, CPU: 1.5},
			{Protocol: holdfast.Anthropic, CPU: 20, Paced: true},
			{Protocol: holdfast.Responses, CPU: 2.5},
		},
		Streams: streamsRow{Cut: 1, Changed: 2, Refused: 3, ControlCut: 50},
		Memory:  memoryRow{Idle: 30 << 20, Peak: 200 << 20, InFlight: 100 << 20, PerStream: 65 << 10},
	}
	r.judge()
	return r
}

func TestGoals(t *testing.T) {
	want := []goal{
		{Name: "CPU per request, 200 KB", Limit: 1.2, Value: 1.2, Worst: 4, Met: true},
		{Name: "added latency p50, 200 KB", Limit: 1.1, Value: 1.2, Worst: 1.2},
		{Name: "added latency p99, 200 KB", Limit: 1.5, Value: 1.4, Worst: 1.4, Met: true},
		{Name: "throughput at 16, 200 KB", Limit: 0.9, AtLeast: true, Value: 0.95, Worst: 0.8, Met: true},
		{Name: "CPU per streamed delta, anthropic", Limit: 2, Value: 1.5, Unit: "us", Met: true},
		{Name: "CPU per streamed delta, responses", Limit: 2, Value: 2.5, Unit: "us"},
		{Name: "answers cut, changed or refused", Value: 7},
		{Name: "requests not linked, batches not stored", Met: true},
		{Name: "memory when idle", Limit: 40, Value: 30, Unit: "MB", Met: true},
		{Name: "memory at its peak", Limit: 190, Value: 200, Unit: "MB"},
		{Name: "memory per open stream", Limit: 64, Value: 65, Unit: "KB"},
	}
	near := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
	if diff := cmp.Diff(want, example().Goals, near); diff != "" {
		t.Error(diff)
	}
}

func TestTheRunIsVoidWhenTheControlVariesMoreThanTwofold(t *testing.T) {
	want := []string{"200 KB, whole, concurrency 16: the control's CPU per request varied 2.0-fold"}
	if diff := cmp.Diff(want, example().Void); diff != "" {
		t.Error(diff)
	}
}

func TestTheLastLineNamesWhatWasMissed(t *testing.T) {
	const want = "missed: added latency p50, 200 KB; CPU per streamed delta, responses; answers cut, changed or refused; memory at its peak; memory per open stream\n"
	text := example().text()
	if !strings.HasSuffix(text, "\nVOID: 200 KB, whole, concurrency 16: the control's CPU per request varied 2.0-fold\n"+want) {
		t.Error(text)
	}
	if got := (&report{Goals: []goal{{Name: "x", Met: true}}}).lastLine(); got != "all goals met\n" {
		t.Errorf("%q", got)
	}
}

func TestHowFiguresAreWritten(t *testing.T) {
	for _, c := range []struct {
		g                   goal
		limit, value, worst string
	}{
		{goal{Limit: 1.5, Value: 1.234, Worst: 2}, "at most 1.50", "1.23", "2.00"},
		{goal{Limit: 0.9, Value: 1, Worst: 0.5, AtLeast: true}, "at least 0.90", "1.00", "0.50"},
		{goal{Limit: 40, Value: 18.76, Unit: "MB"}, "at most 40.0 MB", "18.8 MB", ""},
		{goal{Value: 3}, "at most 0", "3", ""},
	} {
		if c.g.limit() != c.limit || c.g.show(c.g.Value) != c.value || c.g.worst() != c.worst {
			t.Errorf("%q %q %q, want %q %q %q", c.g.limit(), c.g.show(c.g.Value), c.g.worst(), c.limit, c.value, c.worst)
		}
	}
}

func TestWhatWasRecordedIsReadFromTheMetrics(t *testing.T) {
	got, err := readRecorded(`# HELP holdfast_unlinked_total Requests.
holdfast_unlinked_total{outcome="store"} 2
holdfast_unlinked_total{outcome="no_session_id"} 3
holdfast_unlinked_totals{outcome="store"} 100
holdfast_store_errors_total{outcome="unavailable"} 4
holdfast_records_dropped_total 5
holdfast_harvest_facts_total{outcome="TodoWrite"} 1.2e+03
holdfast_extraction_jobs_total{outcome="ok"} 7
holdfast_extraction_jobs_total{outcome="queued"} 8
`)
	want := recordedRow{Calls: 7, Harvested: 1200, Unlinked: 5, Lost: 9, Reasons: map[string]int{"store": 2, "no_session_id": 3}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if got := got.reasons(); got != " (3 no_session_id, 2 store)" {
		t.Errorf("%q", got)
	}
	if _, err := readRecorded("holdfast_unlinked_total x\n"); err == nil {
		t.Error("a value that is no number was read")
	}
}
