// Command agents runs real coding agents through a real Holdfast and judges the
// bytes that reach the upstream.
//
//	go run ./tools/agents [--json] [--only claude-code,codex,...] [--keep]
//
// The agents are claude-code, codex, opencode, pi, qwen-code, gemini-cli and
// cline; --help lists their names. It installs pinned versions of them from npm
// into a cache ($HOLDFAST_AGENTS_CACHE, or .cache/holdfast/agents below the
// user's home), then runs each of them headless, with a home directory of its
// own and a dummy key, against the scripted upstream of package eval. Nothing
// but the installation leaves the machine. Node 20 and npm are needed; versions
// that need Node 22 are run by one from npm. The agents are steered by the
// scripted answers alone: the model makes a plan, works on it, and reports so
// much usage that the agent compacts. Where an agent can be told to compact, one
// of the two compactions of its session is by hand. All but cline, which needs a
// terminal for it, take their session up again after a restart; opencode and pi
// fork it, too. In sessions of their own, claude-code, codex, opencode and pi go
// back to before a message that changed the plan, and compact what is left.
//
// Each case runs four times: directly, through `holdfast serve` with the feature
// off, with it on, and with a scripted model that reads the session for what the
// person chose in prose. It passes when
//
//   - with the feature on, both compactions were recognised, and in every turn
//     behind each of them the plan is there: all open steps, in order, with
//     their status, in one copy, and no request differs from what the agent sent
//     by more than that; of pi, which has no plan tool, the exact values of the
//     user's first message take the plan's place;
//   - where the session is read, what the person chose in the first message is a
//     constraint in every turn behind each of them, too; of gemini-cli, which names
//     no session, behind the first;
//   - without Holdfast all of that was lost, so that the case proves something;
//   - with the feature off, what arrives at the upstream is what the agent sent,
//     byte for byte, and has the structure of what it sends directly, in one of
//     three pairs of runs.
//
// A session in which the person goes back runs twice, directly and with the model
// that reads it. It passes when behind all compactions the plan and the choice are
// there as they were at the place that the person went back to, and nothing of what
// was said behind that, though the model was told it before.
//
// It leaves no process behind: every agent runs in a process group of its own,
// and daemons that leave the group are found by their home (where there is a
// /proc) and ended.
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
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// limit bounds the whole command, installation left out.
const limit = 20 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "agents: "+err.Error())
		os.Exit(1)
	case !ok:
		os.Exit(1)
	}
}

// run reports whether every check passed.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (bool, error) {
	flags := flag.NewFlagSet("agents", flag.ContinueOnError)
	flags.SetOutput(stderr)
	asJSON := flags.Bool("json", false, "print one JSON object")
	only := flags.String("only", "", "agents to run, separated by commas: "+namesOf(cases()))
	keep := flags.Bool("keep", false, "keep the homes of the agents, with logs and recorded requests, and print where")
	binary := flags.String("holdfast", "", "the binary to run (default: builds bin/holdfast)")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	cases, err := choose(cases(), *only)
	if err != nil {
		return false, err
	}
	if *binary == "" {
		if *binary, err = build(ctx, stderr); err != nil {
			return false, err
		}
	}
	if *binary, err = filepath.Abs(*binary); err != nil {
		return false, err
	}
	cache, err := cacheDir()
	if err != nil {
		return false, err
	}
	for i := range cases {
		if cases[i].path, err = install(ctx, cache, cases[i].pkg, stderr); err != nil {
			return false, err
		}
		if cases[i].node == "" {
			continue
		}
		if cases[i].nodePath, err = install(ctx, cache, nodePackage(cases[i].node), stderr); err != nil {
			return false, err
		}
	}
	dir, err := os.MkdirTemp("", "holdfast-agents-")
	if err != nil {
		return false, err
	}
	if *keep {
		fmt.Fprintln(stderr, "kept in "+dir)
	} else {
		defer os.RemoveAll(dir)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	checks := runAll(ctx, cases, world{holdfast: *binary, dir: dir, keep: *keep}, stderr)
	return report(stdout, checks, *asJSON)
}

// runAll runs the cases, two at a time, and returns their checks in the order
// of the cases.
func runAll(ctx context.Context, cases []agentCase, w world, stderr io.Writer) []check {
	results := make([][]check, len(cases))
	slots := make(chan struct{}, 2)
	var wg sync.WaitGroup
	for i, c := range cases {
		slots <- struct{}{} // here, so that they begin in their order
		wg.Go(func() {
			defer func() { <-slots }()
			start := time.Now()
			results[i] = runCase(ctx, c, w)
			fmt.Fprintf(stderr, "%s: %d checks in %s\n", c.name, len(results[i]), time.Since(start).Round(time.Second/10))
		})
	}
	wg.Wait()
	var all []check
	for _, r := range results {
		all = append(all, r...)
	}
	return all
}

// choose keeps the cases of the named agents; no name keeps all.
func choose(all []agentCase, names string) ([]agentCase, error) {
	if names == "" {
		return all, nil
	}
	var out []agentCase
	for name := range strings.SplitSeq(names, ",") {
		n := len(out)
		for _, c := range all {
			if c.agent == strings.TrimSpace(name) {
				out = append(out, c)
			}
		}
		if len(out) == n {
			return nil, fmt.Errorf("--only: there is no agent %q; use any of %s", name, namesOf(all))
		}
	}
	return out, nil
}

// namesOf lists the agents of the cases, each once.
func namesOf(all []agentCase) string {
	var names []string
	for _, c := range all {
		if !slices.Contains(names, c.agent) {
			names = append(names, c.agent)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// build makes bin/holdfast from the module in the working directory.
func build(ctx context.Context, stderr io.Writer) (string, error) {
	out := filepath.Join("bin", "holdfast")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", out, "./cmd/holdfast")
	cmd.Stdout, cmd.Stderr = stderr, stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go build ./cmd/holdfast: %w. Run this command in the root of the repository, or name a binary with --holdfast", err)
	}
	return out, nil
}

// report prints the checks and tells whether all passed.
func report(w io.Writer, checks []check, asJSON bool) (bool, error) {
	passed := 0
	for _, c := range checks {
		if c.Problem == "" {
			passed++
		}
	}
	failed := len(checks) - passed
	ok := failed == 0 && passed > 0
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return ok, enc.Encode(struct {
			Passed int     `json:"passed"`
			Failed int     `json:"failed"`
			Checks []check `json:"checks"`
		}{passed, failed, checks})
	}
	var b strings.Builder
	for _, table := range tables(checks) {
		writeTable(&b, table)
	}
	for _, c := range checks {
		if c.Problem != "" {
			fmt.Fprintf(&b, "FAILED: %s, %s: %s\n", c.Case, c.Name, c.Problem)
		}
	}
	fmt.Fprintf(&b, "%d passed, %d failed\n", passed, failed)
	_, err := io.WriteString(w, b.String())
	return ok, err
}

// tables puts the cases with the same checks together, in their order.
func tables(checks []check) (out [][]check) {
	columns := map[string]string{} // of each case
	for _, c := range checks {
		columns[c.Case] += "\n" + c.Name
	}
	var seen []string
	for _, c := range checks {
		at := slices.Index(seen, columns[c.Case])
		if at < 0 {
			at, seen, out = len(seen), append(seen, columns[c.Case]), append(out, nil)
		}
		out[at] = append(out[at], c)
	}
	return out
}

// writeTable shows a row for each case and a column for each check, in the form
// of Markdown.
func writeTable(b *strings.Builder, checks []check) {
	var rows, columns []string
	cells := map[[2]string]string{}
	for _, c := range checks {
		if !slices.Contains(rows, c.Case) {
			rows = append(rows, c.Case)
		}
		if !slices.Contains(columns, c.Name) {
			columns = append(columns, c.Name)
		}
		cells[[2]string{c.Case, c.Name}] = "ok"
		if c.Problem != "" {
			cells[[2]string{c.Case, c.Name}] = "FAILED"
		}
	}
	t := tabwriter.NewWriter(b, 0, 0, 1, ' ', 0)
	fmt.Fprintf(t, "| agent\t| %s\t|\n", strings.Join(columns, "\t| "))
	fmt.Fprintf(t, "|---\t%s|\n", strings.Repeat("|---\t", len(columns)))
	for _, row := range rows {
		fmt.Fprintf(t, "| %s", row)
		for _, column := range columns {
			fmt.Fprintf(t, "\t| %s", cells[[2]string{row, column}])
		}
		fmt.Fprint(t, "\t|\n")
	}
	_ = t.Flush() // a builder takes everything
	b.WriteByte('\n')
}
