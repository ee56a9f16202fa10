package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/store"
)

// usageArgs is what usage was asked for.
type usageArgs struct {
	by, since string
	principal holdfast.Principal // "": of all
	calls     int
}

func (a *app) usageCommand() *cobra.Command {
	var args usageArgs
	c := &cobra.Command{
		Use:   "usage",
		Short: "Show what calls of models took and cost",
		Long: "Sums up the calls that went through the proxy and those of holdfast query. Primary calls are\n" +
			"the agent's own and those of a query's turn; auxiliary ones are Holdfast's: summaries, titles.\n" +
			"INPUT is without what the cache gave or took, OUTPUT with the reasoning. What a provider did not\n" +
			"tell is a dash and in no sum. Days are those of UTC.",
		Example: "  holdfast usage --since 7d\n" +
			"  holdfast usage --by day --since 2026-03-01\n" +
			"  holdfast usage --by session --json\n" +
			"  holdfast usage --calls 20",
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.usage(cmd, args) },
	}
	flags := c.Flags()
	flags.StringVar(&args.by, "by", string(store.ByModel), "what to group by: "+groupNames())
	flags.StringVar(&args.since, "since", "", "only calls since then: 7d, 12h, or a day such as 2026-03-01")
	flags.Var(principalFlag{&args.principal}, "principal", "only the calls of this principal")
	flags.IntVar(&args.calls, "calls", 0, "list this many of the newest calls one by one")
	c.MarkFlagsMutuallyExclusive("by", "calls")
	c.MarkFlagsMutuallyExclusive("since", "calls")
	names := []cobra.Completion{}
	for _, g := range store.UsageGroups() {
		names = append(names, cobra.Completion(g))
	}
	// The flags were defined above.
	_ = c.RegisterFlagCompletionFunc("by", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("since", cobra.FixedCompletions([]cobra.Completion{"1d", "7d", "30d"}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("principal", a.completePrincipal)
	_ = c.RegisterFlagCompletionFunc("calls", cobra.NoFileCompletions)
	return c
}

// groupNames lists what usage is grouped by.
func groupNames() string {
	var names []string
	for _, g := range store.UsageGroups() {
		names = append(names, string(g))
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

func (a *app) usage(cmd *cobra.Command, args usageArgs) error {
	q := store.UsageQuery{By: store.UsageGroup(args.by), Principal: args.principal}
	if !slices.Contains(store.UsageGroups(), q.By) {
		return holdfast.Errorf(holdfast.ErrUsage, "usage is not grouped by %q. Give --by %s", args.by, groupNames())
	}
	if args.calls < 0 || cmd.Flags().Changed("calls") && args.calls == 0 {
		return holdfast.Errorf(holdfast.ErrUsage, "--calls %d lists nothing. Give a number from 1 on", args.calls)
	}
	var err error
	if q.Since, err = since(args.since, a.now()); err != nil {
		return err
	}
	return a.withDatabase(false, func(d database) error {
		if args.calls > 0 {
			list, err := d.Attempts(cmd.Context(), q.Principal, args.calls)
			if err != nil {
				return err
			}
			return a.printCalls(list)
		}
		groups, err := d.SumAttempts(cmd.Context(), q)
		if err != nil {
			return err
		}
		return a.printUsage(q, groups)
	})
}

// since reads a moment: a time before now, with d for days, or a day of UTC. ""
// is the beginning of all.
func since(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, nil
	}
	if number, ok := strings.CutSuffix(text, "d"); ok {
		if days, err := strconv.ParseUint(number, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(days)), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, holdfast.Errorf(holdfast.ErrUsage, "--since %s is no time. Give a time before now such as 7d or 12h, or a day such as 2026-03-01", text)
}

// usageSumJSON is a sum in JSON output; what nobody told is null.
type usageSumJSON struct {
	Key          *string `json:"key,omitempty"` // none in a total
	Kind         string  `json:"kind"`
	Attempts     int64   `json:"attempts"`
	WithoutUsage int64   `json:"without_usage"`
	WithoutPrice int64   `json:"without_price"`
	toldJSON
	Cost *int64 `json:"cost_microusd"`
}

type toldJSON struct {
	Input      *int64 `json:"input_tokens"`
	CacheRead  *int64 `json:"cache_read_tokens"`
	CacheWrite *int64 `json:"cache_write_tokens"`
	Output     *int64 `json:"output_tokens"`
	Reasoning  *int64 `json:"reasoning_tokens"`
}

// kind is the role of a sum's attempts, as a person reads it.
func kind(auxiliary bool) string {
	if auxiliary {
		return "auxiliary"
	}
	return "primary"
}

func newUsageSumJSON(s store.UsageSum, key *string, kind string) usageSumJSON {
	return usageSumJSON{
		Key: key, Kind: kind, Attempts: s.Attempts, WithoutUsage: s.Unknown, WithoutPrice: s.Unpriced,
		toldJSON: toldJSON(s.Tokens), Cost: s.Cost,
	}
}

// totals adds groups up: those of each kind that there is, and all.
func totals(groups []store.UsageSum) (kinds []store.UsageSum, all store.UsageSum) {
	for _, auxiliary := range []bool{false, true} {
		of := slices.DeleteFunc(slices.Clone(groups), func(s store.UsageSum) bool { return s.Auxiliary != auxiliary })
		if len(of) > 0 {
			s := together(of)
			s.Auxiliary = auxiliary
			kinds = append(kinds, s)
		}
	}
	return kinds, together(groups)
}

// together adds sums up.
func together(sums []store.UsageSum) (all store.UsageSum) {
	add := func(to **int64, n *int64) {
		if n != nil && *to != nil {
			n = new(*n + **to)
		}
		*to = cmp.Or(n, *to)
	}
	for _, s := range sums {
		all.Attempts += s.Attempts
		all.Unknown += s.Unknown
		all.Unpriced += s.Unpriced
		add(&all.Tokens.Input, s.Tokens.Input)
		add(&all.Tokens.CacheRead, s.Tokens.CacheRead)
		add(&all.Tokens.CacheWrite, s.Tokens.CacheWrite)
		add(&all.Tokens.Output, s.Tokens.Output)
		add(&all.Tokens.Reasoning, s.Tokens.Reasoning)
		add(&all.Cost, s.Cost)
	}
	return all
}

func (a *app) printUsage(q store.UsageQuery, groups []store.UsageSum) error {
	kinds, all := totals(groups)
	if a.json {
		out := struct {
			By     store.UsageGroup `json:"by"`
			Since  *time.Time       `json:"since"`
			Groups []usageSumJSON   `json:"groups"`
			Totals []usageSumJSON   `json:"totals"`
		}{By: q.By, Groups: []usageSumJSON{}, Totals: []usageSumJSON{}}
		if !q.Since.IsZero() {
			out.Since = new(q.Since.UTC())
		}
		for _, s := range groups {
			out.Groups = append(out.Groups, newUsageSumJSON(s, &s.Key, kind(s.Auxiliary)))
		}
		for _, s := range kinds {
			out.Totals = append(out.Totals, newUsageSumJSON(s, nil, kind(s.Auxiliary)))
		}
		out.Totals = append(out.Totals, newUsageSumJSON(all, nil, "all"))
		return a.printJSON(out)
	}
	if all.Attempts == 0 {
		return a.print("No calls are recorded here.\n")
	}
	key := func(key string) string { return cmp.Or(line(key), "-") }
	if q.By == store.BySession {
		var ids []string
		for _, s := range groups {
			ids = append(ids, s.Key)
		}
		short := shortener(slices.Compact(ids))
		key = func(key string) string { return cmp.Or(short(key), "-") }
	}
	var rows [][]string
	for _, s := range groups {
		rows = append(rows, usageRow(key(s.Key), kind(s.Auxiliary), s))
	}
	for _, s := range kinds {
		rows = append(rows, usageRow("total", kind(s.Auxiliary), s))
	}
	rows = append(rows, usageRow("total", "all", all))
	text := table([]column{
		{title: strings.ToUpper(string(q.By)), keep: 9, least: 8},
		{title: "KIND", keep: 8},
		{title: "ATTEMPTS", keep: 4, right: true},
		{title: "INPUT", keep: 6, right: true},
		{title: "CACHE READ", keep: 3, right: true},
		{title: "CACHE WRITE", keep: 2, right: true},
		{title: "OUTPUT", keep: 5, right: true},
		{title: "REASONING", keep: 1, right: true},
		{title: "COST", keep: 7, right: true},
	}, rows, a.width)
	if all.Unknown > 0 {
		text += wrap("", "", count(int(all.Unknown), "attempt", "attempts")+" without usage, or with a part of it only: the rest is in no sum.", a.width)
	}
	if all.Unpriced > 0 {
		text += wrap("", "", count(int(all.Unpriced), "attempt", "attempts")+" without a price: set one in [models.NAME].", a.width)
	}
	return a.print(text)
}

func usageRow(key, kind string, s store.UsageSum) []string {
	t := s.Tokens
	return []string{
		key, kind, fmt.Sprint(s.Attempts), known(t.Input), known(t.CacheRead), known(t.CacheWrite), known(t.Output), known(t.Reasoning), costText(s.Cost),
	}
}

// known is a number, or a dash for one that nobody told.
func known(n *int64) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

// costText is a cost in dollars, rounded to a hundredth of a cent.
func costText(micro *int64) string {
	switch {
	case micro == nil:
		return "-"
	case *micro > 0 && *micro < 100:
		return "<$0.0001"
	}
	return fmt.Sprintf("$%.4f", float64(*micro)/1e6)
}

// callJSON is the record of a call in JSON output; what is not known is null, and
// a name that there is none of is left out.
type callJSON struct {
	ID           holdfast.AttemptID      `json:"id"`
	Began        time.Time               `json:"began_at"`
	Ended        time.Time               `json:"ended_at"`
	Principal    holdfast.Principal      `json:"principal"`
	Session      holdfast.SessionID      `json:"session,omitempty"`
	Branch       holdfast.BranchID       `json:"branch,omitempty"`
	Boundary     holdfast.BoundaryID     `json:"boundary,omitempty"`
	Conversation holdfast.ConversationID `json:"conversation,omitempty"`
	Job          string                  `json:"job,omitempty"`
	Parent       holdfast.AttemptID      `json:"parent,omitempty"`
	Trace        string                  `json:"trace,omitempty"`
	Agent        string                  `json:"agent,omitempty"`
	Role         holdfast.Role           `json:"role"`
	Upstream     string                  `json:"upstream"`
	Model        string                  `json:"model,omitempty"`
	Protocol     holdfast.Protocol       `json:"protocol"`
	toldJSON
	Price   *priceJSON       `json:"price_microusd_per_million"`
	Cost    *int64           `json:"cost_microusd"`
	Status  int              `json:"status"`
	Outcome holdfast.Outcome `json:"outcome"`
}

type priceJSON struct {
	Input      int64 `json:"input"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Output     int64 `json:"output"`
}

func newCallJSON(c holdfast.Attempt) callJSON {
	return callJSON{
		ID: c.ID, Began: c.Began, Ended: c.Ended, Principal: c.Principal, Session: c.Session, Branch: c.Branch, Boundary: c.Boundary,
		Conversation: c.Conversation, Job: c.Job, Parent: c.Parent, Trace: c.Trace, Agent: c.Agent, Role: c.Role, Upstream: c.Upstream,
		Model: c.Model, Protocol: c.Protocol, toldJSON: toldJSON(c.Tokens), Price: (*priceJSON)(c.Price), Cost: c.Cost,
		Status: c.Status, Outcome: c.Outcome,
	}
}

// printCalls shows calls, newest first.
func (a *app) printCalls(list []holdfast.Attempt) error {
	if a.json {
		rows := make([]callJSON, len(list))
		for i, c := range list {
			rows[i] = newCallJSON(c)
		}
		return a.printJSON(rows)
	}
	if len(list) == 0 {
		return a.print("No calls are recorded here.\n")
	}
	rows := make([][]string, len(list))
	for i, c := range list {
		rows[i] = []string{
			moment(a.now(), c.Began), cmp.Or(line(c.Agent), "-"), string(c.Role), cmp.Or(line(c.Model), "-"), string(c.Outcome),
			known(c.Tokens.Input), known(c.Tokens.CacheRead), known(c.Tokens.Output), costText(c.Cost),
		}
	}
	return a.print(table([]column{
		{title: "BEGAN", keep: 9},
		{title: "AGENT", keep: 3},
		{title: "ROLE", keep: 4},
		{title: "MODEL", keep: 7, least: 8},
		{title: "OUTCOME", keep: 6},
		{title: "INPUT", keep: 2, right: true},
		{title: "CACHE READ", keep: 1, right: true},
		{title: "OUTPUT", keep: 5, right: true},
		{title: "COST", keep: 8, right: true},
	}, rows, a.width))
}
