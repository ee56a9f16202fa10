// Command bench measures what Holdfast costs on the way of a request.
//
//	go run ./tools/bench [--quick | --long] [--extractor] [--json] [--streams N] [--holdfast PATH]
//
// It builds `holdfast serve` from the tree and starts it twice, with the feature
// on and off, beside a mock upstream and a control, each a process of its own on
// loopback. The control is a tuned httputil.ReverseProxy: 512 idle connections
// per host and a buffer pool. Load goes to the upstream directly, through the
// control and through Holdfast, in turn and in rounds; only ratios to the control
// of the same cell and round count.
//
// # What is sent
//
// Invented sessions in the form of claude-code and codex, of 2 KB, 200 KB and
// 2 MB. A session grows as a real one does: each request adds one tool round to
// the one before it. Each worker has sessions of its own, and no two sessions
// share an identifier or a text of the model.
//
// # What is measured
//
//   - CPU is the process's own (all threads, by the kernel's CPU clock of that
//     process), from before the first request until it is quiet again, so that
//     writing behind the answer counts. The first request of a session, whose
//     whole history is new to the proxy, is measured apart from the turns.
//   - Added latency is what a proxy adds to the latency of the direct way, to
//     the last byte. It is judged at concurrency 1: with more, requests queue for
//     the cores, and the figure says what throughput says.
//   - A streamed answer is compared byte for byte with what the upstream sent,
//     and the request that arrived with the one that was sent.
//
// Load, upstream and proxies share the machine's cores. A run whose control
// varies more than twofold between rounds is void. The exit status is 0 even
// when a goal is missed: ratios are figures, not a test.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if len(os.Args) > 1 && os.Args[1] == childArgument {
		err = runChild(ctx, os.Args[2:])
	} else {
		err = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench: "+err.Error())
		os.Exit(1)
	}
}

// errVoid ends a run whose figures mean nothing.
var errVoid = errors.New("the run is void: the control varied more than twofold. Run it again on a quieter machine")

// effort is how long a run takes.
type effort struct {
	Rounds int           `json:"rounds"`
	Load   time.Duration `json:"load_ns"` // of the control, per cell and round
	// Workers are the concurrencies.
	Workers []int `json:"concurrency"`
	Streams int   `json:"streams"` // compared byte for byte
	Idle    bool  `json:"idle"`    // wait a minute to see memory given back
	// Extractor: sessions are read by a mock model behind the requests.
	Extractor bool `json:"extractor"`
}

var (
	normalEffort = effort{Rounds: 3, Load: 250 * time.Millisecond, Workers: []int{1, 16, 64}, Streams: 2000}
	quickEffort  = effort{Rounds: 3, Load: 80 * time.Millisecond, Workers: []int{1, 16}, Streams: 500}
	longEffort   = effort{Rounds: 7, Load: time.Second, Workers: []int{1, 16, 64}, Streams: 100_000, Idle: true}
)

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	quick := flags.Bool("quick", false, "take a good minute")
	long := flags.Bool("long", false, "take as long as good figures need")
	asJSON := flags.Bool("json", false, "write JSON")
	streams := flags.Int("streams", 0, "compare `N` streamed answers byte for byte (default 2,000; 100,000 with --long)")
	extractor := flags.Bool("extractor", false, "have a mock model read the sessions behind the requests")
	binary := flags.String("holdfast", "", "measure the binary at `PATH` instead of the tree")
	if err := flags.Parse(args); err != nil {
		return err
	}
	e := normalEffort
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("there is no argument %q. See --help", flags.Arg(0))
	case *quick && *long:
		return errors.New("--quick and --long exclude each other. Choose one")
	case *streams < 0:
		return errors.New("--streams must not be negative")
	case *quick:
		e = quickEffort
	case *long:
		e = longEffort
	}
	e.Extractor = *extractor
	if *streams > 0 {
		e.Streams = *streams
	}
	r, err := measure(ctx, e, *binary, func(text string) { fmt.Fprintln(stderr, text) })
	if err != nil {
		return err
	}
	if *asJSON {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		err = enc.Encode(r)
	} else {
		_, err = io.WriteString(stdout, r.text())
	}
	switch {
	case err != nil:
		return fmt.Errorf("write the report: %w", err)
	case len(r.Void) > 0:
		return errVoid
	}
	return nil
}

// measure runs everything and judges it.
func measure(ctx context.Context, e effort, binary string, progress func(string)) (*report, error) {
	dir, err := os.MkdirTemp("", "holdfast-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the run: %w", err)
	}
	defer os.RemoveAll(dir)
	if binary == "" {
		progress("building holdfast")
		if binary, err = build(ctx, dir); err != nil {
			return nil, err
		}
	}
	start := time.Now()
	f, err := startFleet(ctx, dir, binary, e.Extractor)
	if err != nil {
		return nil, err
	}
	defer f.stop()
	r := &report{Cores: runtime.NumCPU(), Effort: e}
	for _, c := range cellsOf(e) {
		progress(c.String())
		row, err := f.runCell(ctx, c, e)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
		r.Cells = append(r.Cells, row)
	}
	for _, c := range deltaCells() {
		progress(c.String())
		row, err := f.runDeltas(ctx, c, e.Rounds)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
		r.Deltas = append(r.Deltas, row)
	}
	progress(fmt.Sprintf("%d streams compared", e.Streams))
	if r.Streams, err = f.runStreams(ctx, e.Streams); err != nil {
		return nil, fmt.Errorf("compare streams: %w", err)
	}
	if r.Recorded, err = f.recorded(ctx); err != nil {
		return nil, fmt.Errorf("read what was recorded: %w", err)
	}
	progress("memory")
	if r.Memory, err = f.runMemory(ctx, e.Idle); err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	r.Seconds = time.Since(start).Seconds()
	r.judge()
	return r, nil
}

// build makes the binary of the tree that the bench is part of.
func build(ctx context.Context, dir string) (string, error) {
	out := filepath.Join(dir, "holdfast")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", out, "github.com/holdfast-dev/holdfast/cmd/holdfast")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("holdfast does not build (%w). Run this inside the repository, or name a binary with --holdfast:\n%s", err, strings.TrimSpace(string(text)))
	}
	return out, nil
}
