package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// report is what the command prints.
type report struct {
	Cores    int         `json:"cores"`
	Effort   effort      `json:"effort"`
	Seconds  float64     `json:"seconds"`
	Cells    []cellRow   `json:"cells"`
	Deltas   []deltaRow  `json:"deltas"`
	Streams  streamsRow  `json:"streams"`
	Memory   memoryRow   `json:"memory"`
	Recorded recordedRow `json:"recorded"`
	Goals    []goal      `json:"goals"`
	// Void tells why the figures mean nothing; empty when they do.
	Void []string `json:"void"`
}

func (r cellRow) name() string {
	return cell{size: size{name: r.Size}, stream: r.Stream, workers: r.Concurrency}.String()
}

// text is the report for a person.
func (r *report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Load, upstream and proxies shared %d cores. Ratios are to a tuned httputil.ReverseProxy in the same run\n"+
		"(medians of %d rounds); times are in microseconds, latencies what a proxy adds to the direct way.\n\n", r.Cores, r.Effort.Rounds)
	table(&b, func(w *tabwriter.Writer) {
		fmt.Fprint(w, "body\tanswer\tat once\trequests\t| CPU control\tholdfast\tratio\toff\tstart\t| p50 control\tholdfast\tratio\t| p99 control\tholdfast\tratio\t| throughput\t\n")
		for _, c := range r.Cells {
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t| %.0f\t%.0f\t%s\t%s\t%s\t| %.0f\t%.0f\t%s\t| %.0f\t%.0f\t%s\t| %s\t%s\n",
				c.Size, answerKind(c.Stream), c.Concurrency, c.Requests, c.ControlCPU, c.CPU, times(c.CPURatio), times(c.OffRatio), times(c.StartRatio),
				c.ControlP50, c.AddedP50, times(c.P50Ratio), c.ControlP99, c.AddedP99, times(c.P99Ratio), times(c.Throughput), faultText(c))
		}
	})
	b.WriteString("off: CPU ratio with the feature off. start: CPU ratio of the first request of a session, all of it new to the proxy.\n\n")
	table(&b, func(w *tabwriter.Writer) {
		fmt.Fprint(w, "CPU per delta\tpace\tcontrol\tholdfast\toff\t\n")
		for _, d := range r.Deltas {
			pace := "full speed"
			if d.Paced {
				pace = "one by one"
			}
			fmt.Fprintf(w, "%s\t%s\t%.2f\t%.2f\t%.2f\t\n", d.Protocol, pace, d.ControlCPU, d.CPU, d.OffCPU)
		}
	})
	s := r.Streams
	fmt.Fprintf(&b, "\nstreams compared byte for byte: %d through holdfast (%d cut, %d changed, %d refused), %d through the control (%d cut, %d changed, %d refused)\n",
		s.Streams, s.Cut, s.Changed, s.Refused, s.ControlStreams, s.ControlCut, s.ControlChanged, s.ControlRefused)
	if s.Problem != "" {
		fmt.Fprintf(&b, "  first refusal: %s\n", s.Problem)
	}
	fmt.Fprintf(&b, "recorded: %d plan changes; %d requests not linked%s; %d batches not stored; %d calls of the extractor\n\n",
		r.Recorded.Harvested, r.Recorded.Unlinked, r.Recorded.reasons(), r.Recorded.Lost, r.Recorded.Calls)
	table(&b, func(w *tabwriter.Writer) {
		fmt.Fprint(w, "figure\tgoal\tvalue\tworst cell\t\n")
		for _, g := range r.Goals {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", g.Name, g.limit(), g.show(g.Value), g.worst(), mark(g.Met))
		}
	})
	fmt.Fprintf(&b, "\n%.0f seconds\n", r.Seconds)
	for _, v := range r.Void {
		fmt.Fprintf(&b, "VOID: %s\n", v)
	}
	b.WriteString(r.lastLine())
	return b.String()
}

// lastLine names the goals that were missed.
func (r *report) lastLine() string {
	var missed []string
	for _, g := range r.Goals {
		if !g.Met {
			missed = append(missed, g.Name)
		}
	}
	if len(missed) == 0 {
		return "all goals met\n"
	}
	return "missed: " + strings.Join(missed, "; ") + "\n"
}

func table(b *strings.Builder, rows func(*tabwriter.Writer)) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	rows(w)
	_ = w.Flush() // a strings.Builder takes everything
}

// reasons lists the reasons with their counts, in alphabetical order.
func (r recordedRow) reasons() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(r.Reasons)) {
		list = append(list, fmt.Sprintf("%d %s", r.Reasons[name], name))
	}
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}

// times writes a ratio; "-" for none.
func times(v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", v)
}

func faultText(c cellRow) string {
	if c.Faults == 0 {
		return ""
	}
	return fmt.Sprintf("%d FAULTS %s", c.Faults, c.Problem)
}

func (g goal) limit() string {
	word := "at most "
	if g.AtLeast {
		word = "at least "
	}
	return word + g.show(g.Limit)
}

func (g goal) worst() string {
	if g.Worst == 0 {
		return ""
	}
	return g.show(g.Worst)
}

// show writes a ratio with two places, a quantity with one and a count with none.
func (g goal) show(v float64) string {
	switch {
	case g.Unit != "":
		return fmt.Sprintf("%.1f %s", v, g.Unit)
	case g.Worst != 0:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func mark(met bool) string {
	if met {
		return "met"
	}
	return "MISSED"
}
