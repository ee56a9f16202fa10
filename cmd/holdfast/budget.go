package main

import (
	"cmp"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/ledger"
)

func (a *app) budgetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "budget",
		Short: "Show budgets, and what is spent of them",
		Long: "Shows the budgets of the configuration with what the calls of their callers cost since their day or\n" +
			"month began, in UTC, and when the next one begins. What a provider did not tell counts by its size, so\n" +
			"a budget can be above what holdfast usage sums up. Above its soft limit a budget warns, from its hard\n" +
			"limit on calls are refused with 402.",
		Example: "  holdfast budget\n  holdfast budget --json",
		Args:    arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			merged, err := a.sources().Load()
			if err != nil {
				return err
			}
			return a.withDatabase(false, func(d database) error {
				states, err := ledger.Spent(cmd.Context(), d, budgetsOf(merged.Config), a.now())
				if err != nil {
					return err
				}
				if a.json {
					rows := []budgetJSON{}
					for _, s := range states {
						rows = append(rows, budgetJSON{s.Name, s.Principal, s.Label, s.Per, s.Spent, s.Soft, s.Hard, s.Resets, budgetState(s)})
					}
					return a.printJSON(rows)
				}
				if len(states) == 0 {
					return a.print("There are no budgets. Add a [[budget]] to the configuration.\n")
				}
				return a.print(a.budgetTable(states))
			})
		},
	}
}

// budgetJSON is a budget in JSON output. Amounts are in millionths of a US dollar;
// null is no limit. State is "open", "warning" or "spent".
type budgetJSON struct {
	Name      string        `json:"name"`
	Principal string        `json:"principal"`
	Label     string        `json:"label"`
	Per       ledger.Period `json:"per"`
	Spent     int64         `json:"spent_microusd"`
	Soft      *int64        `json:"soft_microusd"`
	Hard      *int64        `json:"hard_microusd"`
	Resets    time.Time     `json:"resets_at"`
	State     string        `json:"state"`
}

func budgetState(s ledger.BudgetState) string {
	switch {
	case s.Hard != nil && s.Spent >= *s.Hard:
		return "spent"
	case s.Soft != nil && s.Spent >= *s.Soft:
		return "warning"
	}
	return "open"
}

func (a *app) budgetTable(states []ledger.BudgetState) string {
	rows := make([][]string, len(states))
	limit := func(amount *int64) string {
		if amount == nil {
			return "-"
		}
		return ledger.Dollars(*amount)
	}
	for i, s := range states {
		who := cmp.Or(line(s.Principal), "everybody")
		if s.Label != "" {
			who += ", key " + line(s.Label)
		}
		rows[i] = []string{s.Name, who, string(s.Per), ledger.Dollars(s.Spent), limit(s.Soft), limit(s.Hard), s.Resets.Format("2006-01-02"), budgetState(s)}
	}
	return table([]column{
		{title: "NAME", keep: 5, least: 8},
		{title: "WHO", keep: 2, least: 10},
		{title: "PER", keep: 3},
		{title: "SPENT", keep: 5, right: true},
		{title: "SOFT", keep: 1, right: true},
		{title: "HARD", keep: 4, right: true},
		{title: "RESETS", keep: 1},
		{title: "STATE", keep: 4},
	}, rows, a.width)
}
