package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
	"github.com/holdfast-dev/holdfast/engine/conversations"
	"github.com/holdfast-dev/holdfast/engine/measure"
	"github.com/holdfast-dev/holdfast/provider/tokens"
	"github.com/holdfast-dev/holdfast/redact"
)

func (a *app) reductionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "reduction [FILE|ID...]",
		Short: "Measure what compaction saves of real sessions",
		Long: "Compacts sessions by each policy, once and at their end, and counts with a tokenizer what a model would be sent\n" +
			"before and after. Every text of user and assistant has to be there as it was, the plan in its calls or in the\n" +
			"record, and taking the compaction back has to give all of it again. Without a FILE it takes the sessions that agents\n" +
			"left on disk. The exit status is 0 only if the goal is met.",
		Example: "  holdfast eval reduction\n" +
			"  holdfast eval reduction ~/.claude/projects/*/*.jsonl\n" +
			"  holdfast eval reduction last --json",
		ValidArgsFunction: a.completeConversation,
		RunE: func(cmd *cobra.Command, args []string) error {
			secrets, err := redact.New(nil)
			if err != nil {
				return holdfast.Errorf(holdfast.ErrInternal, "%w", err)
			}
			clear := func(text string) string {
				out, _ := secrets.Text(text)
				return out
			}
			est := compaction.Estimator{Render: conversations.Render, Count: tokens.New().Count}
			report := reductionJSON{Conversations: []reducedJSON{}}
			var all []measure.Reduction
			report.Skipped, err = a.eachSession(cmd.Context(), args, func(name string, l conversations.Loaded) {
				r := measure.Reduce(l.Entries, est, clear)
				all = append(all, r)
				report.Conversations = append(report.Conversations, reducedJSON{name, l.Agent, r.Counts(), r})
			})
			if err != nil {
				return err
			}
			report.Policies = measure.Pool(all)
			report.Passed = true
			for _, p := range report.Policies {
				if p.Goal > 0 {
					report.Passed = report.Passed && p.Passed
				}
			}
			if a.json {
				err = a.printJSON(report)
			} else {
				err = a.print(fold(report.text(a.width), a.width))
			}
			switch {
			case err != nil:
			case report.Policies[0].Conversations == 0:
				err = holdfast.Errorf(holdfast.ErrFailed, "no session has %s tokens or more: there is nothing to go by", tokensText(measure.LeastTokens))
			case !report.Passed:
				err = holdfast.Errorf(holdfast.ErrFailed, "the goal is not met on these sessions")
			}
			return err
		},
	}
}

type reductionJSON struct {
	Conversations []reducedJSON    `json:"conversations"`
	Policies      []measure.Pooled `json:"policies"`
	Skipped       []skippedJSON    `json:"skipped,omitempty"`
	Passed        bool             `json:"passed"`
}

type reducedJSON struct {
	File  string `json:"file"`
	Agent string `json:"agent"`
	// Counts tells that it is among the pooled figures.
	Counts bool `json:"counts"`
	measure.Reduction
}

func (r reductionJSON) text(width int) string {
	var b strings.Builder
	names := []string{}
	for _, p := range measure.Policies() {
		names = append(names, p.Name)
	}
	b.WriteString("What is saved of the tokens that a model is sent\n\n")
	grid(&b, width, "session\tturns\ttokens\t"+strings.Join(names, "\t")+"\tplan\t", func(row func(...string)) {
		for _, c := range r.Conversations {
			cells := []string{line(c.File), fmt.Sprint(c.Turns), tokensText(c.Raw)}
			for _, s := range c.Policies {
				cells = append(cells, wholePercent(s.Share))
			}
			plan := c.Policies[len(c.Policies)-1].Plan
			cells = append(cells, map[measure.PlanState]string{measure.NoPlan: "none open"}[plan])
			if plan != measure.NoPlan {
				cells[len(cells)-1] = "in " + string(plan)
			}
			if !c.Counts {
				cells = append(cells, "small")
			}
			row(cells...)
		}
	})
	fmt.Fprintf(&b, "\nSessions of %s tokens and more together\n\n", tokensText(measure.LeastTokens))
	grid(&b, width, "policy\tsaved, median\tleast\tmost\tunder 5 %\ttexts lost\tplans lost\ttaken back\tgoal", func(row func(...string)) {
		for _, p := range r.Policies {
			goal := ""
			if p.Goal > 0 {
				goal = wholePercent(p.Goal)
				if !p.Passed {
					goal += " FALLS SHORT"
				}
			}
			row(p.Policy, tenthPercent(p.Median), wholePercent(p.Least), wholePercent(p.Most), fmt.Sprintf("%d of %d", p.Idle, p.Conversations),
				fmt.Sprint(p.TextsLost), fmt.Sprint(p.PlansLost), map[bool]string{true: "whole", false: "NOT WHOLE"}[p.Restored], goal)
		}
	})
	b.WriteString("\n")
	for _, p := range r.Policies {
		fmt.Fprintf(&b, "%-12s %s\n", p.Policy, p.About)
	}
	writeSkipped(&b, r.Skipped)
	return b.String()
}

func (a *app) triggerCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "trigger [FILE|ID...]",
		Short: "Measure the estimates that automatic compaction goes by",
		Long: "Goes through sessions call by call and holds the estimate of each request, made from what was known before it,\n" +
			"against the tokens that the provider then reported. Without a FILE it takes the sessions that agents left on disk.\n" +
			"The exit status is 0 only if the goals are met.",
		Example: "  holdfast eval trigger\n" +
			"  holdfast eval trigger ~/.codex/sessions/2026/*/*/*.jsonl\n" +
			"  holdfast eval trigger last --json",
		ValidArgsFunction: a.completeConversation,
		RunE: func(cmd *cobra.Command, args []string) error {
			report := triggerJSON{Conversations: []estimatedJSON{}}
			est := compaction.Estimator{Render: conversations.Render}
			sources := a.sources()
			merged, err := sources.Load()
			if err != nil {
				return err
			}
			window := a.newModels(merged.Config).window
			var all []measure.Estimates
			report.Skipped, err = a.eachSession(cmd.Context(), args, func(name string, l conversations.Loaded) {
				e := measure.Estimate(l.Entries, est, window)
				all = append(all, e)
				report.Conversations = append(report.Conversations, estimatedJSON{name, l.Agent, e, measure.Early(e), measure.Late(e)})
			})
			if err != nil {
				return err
			}
			report.Blind, report.Early, report.Late = measure.Blind(all...), measure.Early(all...), measure.Late(all...)
			report.Passed = report.Early.Passed && report.Late.Passed
			if a.json {
				err = a.printJSON(report)
			} else {
				err = a.print(fold(report.text(a.width), a.width))
			}
			switch {
			case err != nil:
			case report.Late.Estimates == 0:
				err = holdfast.Errorf(holdfast.ErrFailed, "no session has more than five answers whose tokens the provider reported: there is nothing to compare with")
			case !report.Passed:
				err = holdfast.Errorf(holdfast.ErrFailed, "the goals are not met on these sessions")
			}
			return err
		},
	}
}

type triggerJSON struct {
	Conversations []estimatedJSON `json:"conversations"`
	// Blind is before anything was reported, Early from the first report on, Late
	// from the fifth on.
	Blind   measure.Accuracy `json:"before_any_report"`
	Early   measure.Accuracy `json:"from_first_report"`
	Late    measure.Accuracy `json:"from_fifth_report"`
	Skipped []skippedJSON    `json:"skipped,omitempty"`
	Passed  bool             `json:"passed"`
}

type estimatedJSON struct {
	File  string `json:"file"`
	Agent string `json:"agent"`
	measure.Estimates
	Early measure.Accuracy `json:"from_first_report"`
	Late  measure.Accuracy `json:"from_fifth_report"`
}

func (r triggerJSON) text(width int) string {
	var b strings.Builder
	b.WriteString("Estimate of a request, by what the provider then reported\n\n")
	grid(&b, width, "session\tcalls\tfrom the 1st report\twithin x0.7 to x1.5\tfrom the 5th report\tmedian error\t95 of 100\twithin 10 %", func(row func(...string)) {
		for _, c := range r.Conversations {
			if c.Calls < 2 {
				row(line(c.File), fmt.Sprint(c.Calls), "nothing to compare")
				continue
			}
			row(append([]string{line(c.File), fmt.Sprint(c.Calls)}, accuracyCells(c.Early, c.Late)...)...)
		}
		row(append([]string{"all", ""}, accuracyCells(r.Early, r.Late)...)...)
	})
	b.WriteString("\n")
	verdict := func(a measure.Accuracy, what string) {
		if !a.Passed {
			what += ". FALLS SHORT"
		}
		b.WriteString(what + "\n")
	}
	verdict(r.Early, "goal from the first report on: at least 95 of 100 within x0.7 to x1.5")
	verdict(r.Late, "goal from the fifth report on: at least 95 of 100 within 10 %")
	if r.Blind.Estimates > 0 {
		fmt.Fprintf(&b, "before any report: x%.2f at the median, x%.2f to x%.2f; what an agent sends beside the conversation is not in its file\n", r.Blind.Ratio, r.Blind.Lowest, r.Blind.Highest)
	}
	writeSkipped(&b, r.Skipped)
	return b.String()
}

func accuracyCells(early, late measure.Accuracy) []string {
	cells := []string{"", "", "", "", "", ""}
	if early.Estimates > 0 {
		cells[0], cells[1] = fmt.Sprintf("x%.2f to x%.2f", early.Lowest, early.Highest), wholePercent(early.Within)
	}
	if late.Estimates > 0 {
		cells[2] = fmt.Sprintf("x%.2f to x%.2f", late.Lowest, late.Highest)
		cells[3], cells[4], cells[5] = tenthPercent(late.Error), tenthPercent(late.Error95), tenthPercent(late.Within)
	}
	return cells
}

// wholePercent and tenthPercent round down, so that a goal that is just missed
// does not look met.
func wholePercent(share float64) string {
	return fmt.Sprintf("%.0f %%", floor(share*100))
}

func tenthPercent(share float64) string {
	return fmt.Sprintf("%.1f %%", floor(share*1000)/10)
}

func floor(x float64) float64 {
	// A product such as 0.29 * 100 comes out a little low.
	const rounding = 1e-9
	n := float64(int(x + rounding))
	if n > x+rounding {
		n--
	}
	return n
}

func writeSkipped(b *strings.Builder, skipped []skippedJSON) {
	for _, s := range skipped {
		fmt.Fprintf(b, "left out: %s: %s\n", line(s.File), line(s.Reason))
	}
}

// eachSession does something with each conversation of files, of stored
// conversations, or of what agents left where nothing is named. One that cannot be
// read is left out, unless nothing else is there.
func (a *app) eachSession(ctx context.Context, names []string, do func(name string, l conversations.Loaded)) (skipped []skippedJSON, err error) {
	if len(names) == 0 {
		if names, err = a.leftByAgents(""); err != nil {
			return nil, err
		}
	}
	show, began := progressLine(a.err), time.Now()
	defer show("")
	read := 0
	for i, name := range names {
		if ctx.Err() != nil {
			return nil, holdfast.Errorf(holdfast.ErrFailed, "interrupted")
		}
		if time.Since(began) > progressAfter {
			show(fmt.Sprintf("%d of %d: %s", i+1, len(names), line(filepath.Base(name))))
		}
		list, failed := a.replayed(ctx, name)
		if failed != nil {
			if len(names) == 1 {
				return nil, failed
			}
			skipped = append(skipped, skippedJSON{File: filepath.Base(name), Reason: failed.Error()})
			err = failed
			continue
		}
		for n, l := range list {
			read++
			shown := filepath.Base(name)
			if len(list) > 1 {
				shown = fmt.Sprintf("%s, %d", shown, n+1)
			}
			do(shown, l)
		}
	}
	if read == 0 {
		return nil, err
	}
	return skipped, nil
}
