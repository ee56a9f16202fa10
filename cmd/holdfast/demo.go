package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// startProxy runs a proxy with a store of its own on a free port of loopback.
// upstreams holds the base URL of each protocol, as the provider's own SDK takes
// it. stop ends the proxy and waits.
type startProxy func(ctx context.Context, upstreams map[holdfast.Protocol]string) (baseURL string, stop func(), err error)

// demoTimeout bounds the whole demonstration; it takes a second or two.
const demoTimeout = 30 * time.Second

// demoRow is one compaction of one session, without and with Holdfast.
type demoRow struct {
	Agent      string         `json:"agent"`
	Compaction int            `json:"compaction"`
	Without    eval.Judgement `json:"without"`
	With       eval.Judgement `json:"with"`
	// Lost: without Holdfast nothing of the plan was left.
	Lost bool `json:"lost_without"`
	// Survived: with it, each request up to the next compaction held the plan.
	Survived bool `json:"survived_with"`
}

// demoReport is what the command prints with --json.
type demoReport struct {
	Passed bool      `json:"passed"`
	Rows   []demoRow `json:"rows"`
}

// demoCommand shows, without a network, what a model still knows of its plan
// after each of three compactions: once directly, once through the proxy that
// start runs.
func demoCommand(start startProxy) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show what survives three compactions, without and with Holdfast",
		Long: "Runs long sessions of scripted coding agents against a scripted provider on this machine, with three\n" +
			"compactions each by a summarizer that forgets everything. Prints what the model still knew of its plan\n" +
			"after each: directly, and through Holdfast. Nothing leaves the machine and nothing is kept.\n\n" +
			"The exit status is 0 only if every open step and value survived with Holdfast and was lost without it.",
		Example: "  holdfast demo\n  holdfast demo --json",
		Args:    arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			asJSON, err := cmd.Flags().GetBool("json") // of the root command
			if err != nil {
				return holdfast.Errorf(holdfast.ErrInternal, "%w", err)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), demoTimeout)
			defer cancel()
			report, err := runDemo(ctx, start, eval.Scenarios(), progressLine(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			if err := printDemo(cmd.OutOrStdout(), report, asJSON); err != nil {
				return holdfast.Errorf(holdfast.ErrUnavailable, "the output cannot be written: %w", err)
			}
			if !report.Passed {
				return holdfast.Errorf(holdfast.ErrFailed,
					"the demonstration failed: a plan did not survive with Holdfast, or was not lost without it. Please report it with the output of `holdfast demo --json`.")
			}
			return nil
		},
	}
}

// runDemo runs every scenario without and with the proxy.
func runDemo(ctx context.Context, start startProxy, scenarios []eval.Scenario, progress func(string)) (demoReport, error) {
	defer progress("")
	report := demoReport{Passed: len(scenarios) > 0}
	for i, s := range scenarios {
		progress(fmt.Sprintf("%d of %d: %s", i+1, len(scenarios), s.Name))
		without, err := runScenario(ctx, nil, s)
		if err != nil {
			return report, holdfast.Errorf(holdfast.CodeOf(err), "run %s directly: %w", s.Name, err)
		}
		with, err := runScenario(ctx, start, s)
		if err != nil {
			return report, holdfast.Errorf(holdfast.CodeOf(err), "run %s through Holdfast: %w", s.Name, err)
		}
		for k := range without {
			row := demoRow{
				Agent: s.Name, Compaction: without[k].Compaction,
				Without: without[k].First(), With: with[k].First(),
				Lost: without[k].Lost(), Survived: with[k].Survived(),
			}
			report.Rows = append(report.Rows, row)
			report.Passed = report.Passed && row.Lost && row.Survived
		}
	}
	return report, nil
}

// runScenario runs one session, through a proxy of its own unless start is nil.
func runScenario(ctx context.Context, start startProxy, s eval.Scenario) ([]eval.Epoch, error) {
	up := eval.NewUpstream(eval.Config{Seed: s.Name, Turn: s.Script()})
	base, stop, err := listen(up)
	if err != nil {
		return nil, err
	}
	defer stop()
	if start != nil {
		upstreams := map[holdfast.Protocol]string{
			holdfast.Anthropic: base, holdfast.Responses: base + "/v1", holdfast.Chat: base + "/v1", holdfast.Gemini: base,
		}
		var stopProxy func()
		if base, stopProxy, err = start(ctx, upstreams); err != nil {
			return nil, err
		}
		defer stopProxy()
	}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	if err := s.Run(ctx, client, base, "demo"); err != nil {
		return nil, err
	}
	return s.Judge(up.Requests())
}

// listen serves h on a free port of loopback until stop is called.
func listen(h http.Handler) (base string, stop func(), err error) {
	l, err := openListener("127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: demoTimeout}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // ends when stop closes it
	}()
	return "http://" + l.Addr().String(), func() { _ = srv.Close(); <-done }, nil
}

func printDemo(w io.Writer, report demoReport, asJSON bool) error {
	if asJSON {
		return writeJSON(w, report)
	}
	var b strings.Builder
	b.WriteString("What the model still knew of the open steps of its plan, and of the values that the user named,\n" +
		"after a summarizer that forgets everything.\n\n")
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "agent\tcompaction\twithout Holdfast\twith Holdfast\n")
	for _, r := range report.Rows {
		mark := ""
		switch {
		case !r.Survived:
			mark = "\tNOT KEPT"
		case !r.Lost:
			mark = "\tNOT LOST WITHOUT"
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s%s\n", r.Agent, r.Compaction, knew(r.Without), knew(r.With), mark)
	}
	_ = t.Flush() // a builder takes everything
	if report.Passed {
		b.WriteString("\nEvery open step and value survived every compaction with Holdfast, and none without it.\n")
	} else {
		b.WriteString("\nNot as it should be: see the marked rows.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// knew says what a model knew of a plan, and of what the user said.
func knew(j eval.Judgement) string {
	var out []string
	steps, values := count(j.Open, "step", "steps"), count(j.Words, "value", "values")
	switch {
	case j.Open == 0: // an agent without a plan
	case j.Known == 0:
		out = append(out, "none of "+steps)
	default:
		out = append(out, fmt.Sprintf("%d of %s, %d in order, %d with status", j.Known, steps, j.Ordered, j.Right))
	}
	switch {
	case j.Words == 0: // the agent keeps the user's words itself
	case j.WordsKnown == 0:
		out = append(out, "none of "+values)
	default:
		out = append(out, fmt.Sprintf("%d of %s", j.WordsKnown, values))
	}
	return strings.Join(out, ", ")
}

// progressLine returns a function that shows one line in place of the last; an
// empty one clears it. Where w is no terminal, it shows nothing.
func progressLine(w io.Writer) func(string) {
	if f, ok := w.(*os.File); !ok || !term.IsTerminal(f.Fd()) {
		return func(string) {}
	}
	return func(text string) { _, _ = fmt.Fprintf(w, "\r\x1b[K%s", text) } // no progress is no failure
}
