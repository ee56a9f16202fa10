package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval/survival"
)

// maxCompactions is the longest session that is measured.
const maxCompactions = 50

func (a *app) evalCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "eval",
		Short:   "Measure what Holdfast keeps, and what compaction saves",
		Long:    "Measures Holdfast on this machine, from seeds or on sessions that are there: nothing leaves it and nothing\nis kept.",
		Example: "  holdfast eval survival\n  holdfast eval reduction\n  holdfast eval extraction --json",
	}
	c.AddCommand(a.survivalCommand(), a.reductionCommand(), a.triggerCommand(), a.extractionCommand())
	group(c)
	return c
}

func (a *app) survivalCommand() *cobra.Command {
	o := survival.Options{}
	var protocols []string
	c := &cobra.Command{
		Use:   "survival",
		Short: "Measure what survives compaction after compaction",
		Long: "Plays generated sessions of scripted coding agents through a running proxy, against a scripted provider and\n" +
			"summarizers that fail each in their own way. What is known to be true after every turn is compared with\n" +
			"the bytes that the provider received. Beside Holdfast it measures what else one could do, what breaks when\n" +
			"a safeguard of Holdfast is taken away, and what scripted extractors do, of which all but one fail.\n\n" +
			"One seed takes some seconds with few compactions, and minutes with many. The exit status is 0 only if\n" +
			"every figure meets its goal.",
		Example: "  holdfast eval survival\n" +
			"  holdfast eval survival --seeds 5 --compactions 50\n" +
			"  holdfast eval survival --protocol responses --protocol gemini --json",
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case o.Seeds < 1:
				return holdfast.Errorf(holdfast.ErrUsage, "--seeds %d: write at least 1", o.Seeds)
			case o.Compactions < 1 || o.Compactions > maxCompactions:
				return holdfast.Errorf(holdfast.ErrUsage, "--compactions %d: write 1 to %d", o.Compactions, maxCompactions)
			case o.Interleavings < 0:
				return holdfast.Errorf(holdfast.ErrUsage, "--interleavings %d: write 0 or more", o.Interleavings)
			}
			for _, name := range protocols {
				p := holdfast.Protocol(name)
				if !slices.Contains(holdfast.Protocols(), p) {
					return holdfast.Errorf(holdfast.ErrUsage, "--protocol %s is none that Holdfast speaks. Write one of %s", name, strings.Join(protocolNames(), ", "))
				}
				o.Protocols = append(o.Protocols, p)
			}
			for _, x := range survival.Extractors() {
				o.Extractors = append(o.Extractors, x.Name)
			}
			show := progressLine(cmd.ErrOrStderr())
			o.Progress = func(done, total int) { show(fmt.Sprintf("%d of %d parts", done, total)) }
			report, err := survival.Run(cmd.Context(), scratch{a.now}, o)
			show("")
			if err != nil {
				return err
			}
			if a.json {
				err = a.printJSON(report)
			} else {
				err = a.print(fold(survivalText(report, a.width), a.width))
			}
			if err == nil && !report.Passed {
				err = holdfast.Errorf(holdfast.ErrFailed, "not every figure meets its goal: see the marked rows, and the examples with --json")
			}
			return err
		},
	}
	f := c.Flags()
	f.IntVar(&o.Seeds, "seeds", 1, "number of seeds; each makes a session for each agent and summarizer")
	f.IntVar(&o.Compactions, "compactions", 5, "compactions in a row, 1 to 50")
	f.IntVar(&o.Interleavings, "interleavings", 20, "sessions with retries, crashes and parallel subagents")
	f.StringArrayVar(&protocols, "protocol", nil, "measure only this protocol: "+strings.Join(protocolNames(), ", ")+" (may be repeated)")
	_ = c.RegisterFlagCompletionFunc("protocol", cobra.FixedCompletions(protocolNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func protocolNames() (names []string) {
	for _, p := range holdfast.Protocols() {
		names = append(names, string(p))
	}
	return names
}

// survivalText is the report in words.
func survivalText(r survival.Report, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s of up to %s, %s at the upstream (%s), without an extractor\n\n",
		count(r.Seeds, "seed", "seeds"), count(r.Sessions, "session", "sessions"), count(r.Compactions, "compaction", "compactions"),
		count(r.Requests, "request", "requests"), strings.Join(r.Protocols, ", "))
	grid(&b, width, "figure\tgoal\tfound\tchecked", func(row func(...string)) {
		for _, f := range r.Figures {
			cells := []string{f.What, f.Goal, found(f), fmt.Sprint(f.Checked)}
			switch {
			case f.Checked == 0:
				cells[2] = "not looked at"
			case !f.Passed:
				cells = append(cells, "FALLS SHORT")
			}
			row(cells...)
		}
	})
	if len(r.Values) > 0 {
		b.WriteString("\nExact values of the user in the block\n\n")
		grid(&b, width, "compactions\tshare\tmean size of the block", func(row func(...string)) {
			for _, p := range r.Values {
				if n := p.Compactions; n == 1 || n == 5 || n == 16 || n == 50 || n == r.Compactions {
					row(fmt.Sprint(n), percent(p.Share), fmt.Sprintf("%.0f tokens", p.Tokens))
				}
			}
		})
	}
	b.WriteString("\nWhat the model knew in the first turn behind a compaction\n\n")
	grid(&b, width, "\topen steps\tanswers in force\texact values\treplaced choices shown as current\tgrowth of a request", func(row func(...string)) {
		for _, k := range r.Baselines {
			row(k.Name, percent(k.Steps), percent(k.Answers), percent(k.Values), fmt.Sprint(k.Stale), fmt.Sprintf("%+.0f tokens a compaction", k.Growth))
		}
	})
	b.WriteString("\nWhat breaks without a safeguard\n\n")
	grid(&b, width, "safeguard\tbroken figures", func(row func(...string)) {
		for _, x := range r.Ablations {
			broken := "none: IDLE"
			if len(x.Figures) > 0 {
				broken = strings.ReplaceAll(strings.Join(x.Figures, ", "), "_", " ")
			}
			row(string(x.Without), broken)
		}
	})
	if len(r.Extractors) > 0 {
		b.WriteString("\nWith an extractor, by how it fails\n\n")
		grid(&b, width, "extractor\tsessions\tcalls\tfigures that fall short", func(row func(...string)) {
			for _, x := range r.Extractors {
				row(x.Extractor, fmt.Sprint(x.Sessions), fmt.Sprint(x.Calls), short(x))
			}
		})
		b.WriteString("\n")
		grid(&b, width, "of the oracle\tgoal\tfound\tchecked", func(row func(...string)) {
			for _, x := range r.Extractors {
				for _, f := range x.Figures {
					if x.Extractor == "oracle" && f.OfExtractor {
						row(f.What, f.Goal, found(f), fmt.Sprint(f.Checked))
					}
				}
			}
		})
	}
	b.WriteString("\nNot measured here\n\n")
	for _, u := range r.Unmeasured {
		b.WriteString("  " + u + "\n")
	}
	return b.String()
}

// short names the figures that fall short.
func short(x survival.Extracted) string {
	var list []string
	for _, f := range x.Figures {
		if !f.Passed {
			list = append(list, fmt.Sprintf("%s (%s)", strings.ReplaceAll(f.ID, "_", " "), found(f)))
		}
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// grid writes rows in columns. Where the terminal is narrower than these, each row
// is a paragraph of its first cell and, below it, the others by their titles.
func grid(b *strings.Builder, width int, head string, rows func(row func(cells ...string))) {
	var wide strings.Builder
	t := tabwriter.NewWriter(&wide, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, head+"\n")
	var list [][]string
	rows(func(cells ...string) {
		list = append(list, cells)
		fmt.Fprint(t, strings.Join(cells, "\t")+"\n")
	})
	_ = t.Flush() // a builder takes everything
	if width <= 0 || widest(wide.String()) <= width {
		b.WriteString(wide.String())
		return
	}
	titles := strings.Split(head, "\t")
	for _, cells := range list {
		b.WriteString(cells[0] + "\n")
		for i, cell := range cells[1:] {
			if cell == "" {
				continue
			}
			if i+1 < len(titles) && titles[i+1] != "" {
				cell = titles[i+1] + ": " + cell
			}
			b.WriteString(wrap("  ", "    ", cell, width))
		}
	}
}

// widest is how many columns the widest line of text takes.
func widest(text string) (columns int) {
	for line := range strings.Lines(text) {
		columns = max(columns, ansi.StringWidth(strings.TrimRight(line, " \n")))
	}
	return columns
}

func found(f survival.Figure) string {
	switch {
	case f.Value != nil && f.ID == "block_slope":
		return fmt.Sprintf("%+.2f", *f.Value)
	case f.Value != nil:
		return percent(*f.Value)
	case strings.HasSuffix(f.Goal, "%"):
		return percent(1 - float64(f.Failed)/float64(max(f.Checked, 1)))
	}
	return fmt.Sprint(f.Failed)
}

// percent never rounds up to 100.
func percent(share float64) string {
	if share < 1 && share > 0.9999 {
		return "99.99 %"
	}
	return fmt.Sprintf("%.4g %%", float64(int(share*10000))/100)
}
