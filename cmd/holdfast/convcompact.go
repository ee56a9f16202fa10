package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/engine/conversations"
)

// rangeFlags are the flags that select turns, with what they say.
var rangeFlags = []struct{ name, usage string }{
	{"keep-first", "what stays before the range: a count of turns, a duration, @N or last-compaction"},
	{"keep-last", "what stays behind the range: a count of turns, a duration or @N"},
	{"from", "the first turn: N, -N (the turn with N turns behind it), a duration or last-compaction"},
	{"to", "the last turn: N, -N or a duration"},
	{"first", "the first N turns"},
	{"last", "the last N turns"},
	{"turn", "these turns: N, A..B, A.. or ..B"},
}

// selectFlag sets one of the flags that select turns as it is read.
type selectFlag struct {
	sel  *compaction.Selection
	name string
	text string
}

func (f *selectFlag) String() string { return f.text }
func (f *selectFlag) Type() string   { return "bound" }
func (f *selectFlag) Set(text string) error {
	f.text = text
	return f.sel.Set(f.name, text)
}

func addRangeFlags(flags *pflag.FlagSet, sel *compaction.Selection) {
	for _, f := range rangeFlags {
		flags.Var(&selectFlag{sel: sel, name: f.name}, f.name, f.usage)
	}
}

// inlineRules are the rules of -k and --compact, in the order in which they were
// given.
type inlineRules struct {
	specs []string
	// configured is set by --compact without a SPEC: the configured rules too.
	configured bool
}

// bareCompact is what --compact holds when it has no value. No SPEC is spelled
// like it.
const bareCompact = "the configured rules"

// inlineFlag reads -k, which needs a SPEC, or --compact, which can have one.
type inlineFlag struct{ rules *inlineRules }

func (f inlineFlag) String() string { return "" }
func (f inlineFlag) Type() string   { return "SPEC" }
func (f inlineFlag) Set(text string) error {
	if text == bareCompact {
		f.rules.configured = true
		return nil
	}
	// Read here, so that a mistake is told with the flag that it stands in.
	if _, err := compaction.ParseInline(text, compaction.Bound{}, compaction.Bound{}); err != nil {
		return err
	}
	f.rules.specs = append(f.rules.specs, text)
	return nil
}

func addInlineFlags(flags *pflag.FlagSet, rules *inlineRules) {
	flags.VarP(inlineFlag{rules}, "spec", "k", "a rule such as s, r+t, t=omit:2..10 or s:..-3; may be given several times")
	flags.Var(inlineFlag{rules}, "compact", "the same as -k, as --compact=SPEC; alone: the configured rules")
	flags.Lookup("compact").NoOptDefVal = bareCompact
}

// given reports whether anything was asked for.
func (r inlineRules) given() bool { return r.configured || len(r.specs) > 0 }

// resolve is the rules that are asked for; none of either is the configured ones
// where fallback is set.
func (r inlineRules) resolve(configured []compaction.Rule, fallback bool) ([]compaction.Rule, error) {
	var rules []compaction.Rule
	if r.configured || fallback && len(r.specs) == 0 {
		rules = slices.Clone(configured)
	}
	keep := compaction.Default()
	if len(configured) > 0 {
		keep = configured[0]
	}
	for _, spec := range r.specs {
		rule, err := compaction.ParseInline(spec, keep.KeepFirst, keep.KeepLast)
		if err != nil {
			return nil, err
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// compactArgs is what a compaction was asked for.
type compactArgs struct {
	inline      inlineRules
	sel         compaction.Selection
	dry         bool
	reset       string
	resetting   bool
	summaryFile string
}

func (a *app) conversationCompact() *cobra.Command {
	var args compactArgs
	c := &cobra.Command{
		Use:   "compact [ID]",
		Short: "Compact a conversation without losing anything of it",
		Long: "Says how a range of turns is shown to the model from now on: without reasoning, without the\n" +
			"content of tool calls, or as a summary. What was said stays, and --reset takes it back.\n" +
			"Without a rule the configured ones are applied. A SPEC is POLICIES[:RANGE] with the policies\n" +
			"r (reasoning), t (tools, also t=omit, t=strip-requests, t=strip-responses) and s (summary, which\n" +
			"the model of the conversation writes, else query.model).",
		Example: "  holdfast conversation compact last --dry-run\n" +
			"  holdfast c compact last -k r+t:2..-3\n" +
			"  holdfast c compact last --summary-file summary.md --turn 2..10\n" +
			"  holdfast c compact last --reset=auto",
		Args:              arguments(0, 1, "[ID]"),
		ValidArgsFunction: a.completeConversation,
		RunE: func(cmd *cobra.Command, names []string) error {
			args.resetting = cmd.Flags().Changed("reset")
			return a.withDatabase(false, func(d database) error {
				s := conversations.New(d, a.principal, a.now, a.newID)
				name := "last"
				if len(names) > 0 {
					name = names[0]
				}
				c, err := a.findConversation(cmd.Context(), s, name)
				if err != nil {
					return err
				}
				if !args.dry {
					release, err := a.lease(cmd, s, c.ID)
					if err != nil {
						return err
					}
					defer release()
				}
				l, err := s.Load(cmd.Context(), c.ID)
				if err != nil {
					return err
				}
				if args.resetting {
					return a.reset(cmd.Context(), s, &l, args)
				}
				return a.compact(cmd.Context(), d, s, &l, args)
			})
		},
	}
	flags := c.Flags()
	flags.BoolVar(&args.dry, "dry-run", false, "only say what would be done")
	flags.StringVar(&args.reset, "reset", "", "take compactions back: all, or N, auto or manual (as --reset=N)")
	flags.Lookup("reset").NoOptDefVal = "all"
	flags.StringVar(&args.summaryFile, "summary-file", "", "a summary that you wrote, for the selected turns; - is standard input")
	addInlineFlags(flags, &args.inline)
	addRangeFlags(flags, &args.sel)
	for _, other := range []string{"spec", "compact", "summary-file", "keep-first", "keep-last", "from", "to", "first", "last", "turn"} {
		c.MarkFlagsMutuallyExclusive("reset", other)
	}
	return c
}

func (a *app) compact(ctx context.Context, d database, s *conversations.Service, l *conversations.Loaded, args compactArgs) error {
	cfg, err := a.conversationConfig(l.Entries)
	if err != nil {
		return err
	}
	rules, err := args.inline.resolve(cfg.rules, args.summaryFile == "")
	if err != nil {
		return err
	}
	if args.summaryFile != "" {
		text, err := a.readText(args.summaryFile)
		if err != nil {
			return err
		}
		keep := cfg.rules[0]
		rules = append(rules, compaction.Rule{KeepFirst: keep.KeepFirst, KeepLast: keep.KeepLast, Summary: &compaction.SummaryRequest{Text: &text}})
	}
	for i, r := range rules {
		rules[i] = args.sel.Over(r)
	}
	done, err := a.applyRules(ctx, d, s, l, cfg, rules, args.dry)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(done.json(args.dry))
	}
	return a.print(done.text(args.dry))
}

// compactFork compacts a fork that was just made.
func (a *app) compactFork(ctx context.Context, d database, s *conversations.Service, id holdfast.ConversationID, inline inlineRules) (compacted, error) {
	l, err := s.Load(ctx, id)
	if err != nil {
		return compacted{}, err
	}
	cfg, err := a.conversationConfig(l.Entries)
	if err != nil {
		return compacted{}, err
	}
	rules, err := inline.resolve(cfg.rules, false)
	if err != nil {
		return compacted{}, err
	}
	return a.applyRules(ctx, d, s, &l, cfg, rules, false)
}

// applyRules plans what rules come to and, unless it is a dry run, does it.
func (a *app) applyRules(ctx context.Context, d database, s *conversations.Service, l *conversations.Loaded, cfg conversationConfig, rules []compaction.Rule, dry bool) (compacted, error) {
	done := compacted{id: l.ID, entries: l.Entries}
	var err error
	if done.steps, err = compaction.Plan(l.Entries, rules, a.now(), cfg.estimator); err != nil {
		return done, err
	}
	switch {
	case slices.ContainsFunc(done.steps, asksModel):
		err = a.summarize(ctx, d, s, l, cfg, done.steps, dry)
	case !dry:
		err = s.Compact(ctx, l, done.steps, nil, cfg.estimator)
	}
	return done, err
}

// compacted is what rules came to.
type compacted struct {
	id      holdfast.ConversationID
	entries []holdfast.Entry // as they were before
	steps   []compaction.Step
}

// readText reads a text that a person wrote.
func (a *app) readText(name string) (string, error) {
	if name == "-" {
		data, err := io.ReadAll(a.in)
		if err != nil {
			return "", holdfast.Errorf(holdfast.ErrUnavailable, "standard input cannot be read: %w", err)
		}
		return string(data), nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", holdfast.Errorf(holdfast.ErrNotFound, "the file cannot be read: %w", err)
	}
	return string(data), nil
}

// span is turns in a row that are told in one line.
type span struct {
	from, to int
	step     int    // what compacts them, -1: nothing does
	already  string // how they are compacted already
}

// spans cuts a conversation into what is told in one line each, in order. Steps
// that overlap are told one behind the other.
func (c compacted) spans() []span {
	overlays := conversation.Overlays(c.entries)
	var list []span
	covered := map[int]bool{}
	for i, s := range c.steps {
		if s.Skipped == "" {
			list = append(list, span{from: s.Range.From, to: s.Range.To, step: i})
			for t := s.Range.From; t <= s.Range.To; t++ {
				covered[t] = true
			}
		}
	}
	for t, turn := range conversation.Turns(c.entries) {
		if covered[t] {
			continue
		}
		var already []string
		for _, n := range conversation.Deciding(overlays, t, c.entries[turn.Start].Seq, c.entries[turn.End-1].Seq) {
			already = append(already, string(overlays[n].Source))
		}
		next := span{from: t, to: t, step: -1, already: strings.Join(slices.Compact(already), ", ")}
		if n := len(list) - 1; n >= 0 && list[n].step < 0 && list[n].to == t-1 && list[n].already == next.already {
			list[n].to = t
		} else {
			list = append(list, next)
		}
	}
	slices.SortStableFunc(list, func(x, y span) int { return cmp.Compare(x.from, y.from) })
	return list
}

// text tells what was done, or would be, one line for each run of turns.
func (c compacted) text(dry bool) string {
	kept, compacted, stay := "Kept", "Compacted", "are"
	if dry {
		kept, compacted, stay = "Would keep", "Would compact", "would stay"
	}
	var b strings.Builder
	done := 0
	for _, s := range c.steps {
		if s.Skipped != "" {
			fmt.Fprintln(&b, s.Skipped)
		} else {
			done++
		}
	}
	if done == 0 {
		return b.String()
	}
	for _, s := range c.spans() {
		turns := fmt.Sprintf("turns %d..%d", s.from+1, s.to+1)
		switch {
		case s.step >= 0:
			step := c.steps[s.step]
			fmt.Fprintf(&b, "%s %s (%d total, %s): ~%s -> ~%s tokens.\n", compacted, turns, step.Range.Len(), policyText(step.Overlay), tokensText(step.Before), tokensText(step.After))
			for _, note := range step.Notes {
				fmt.Fprintf(&b, "  %s\n", note)
			}
		case s.already != "":
			fmt.Fprintf(&b, "Turns %d..%d %s already compacted (%s).\n", s.from+1, s.to+1, stay, s.already)
		default:
			fmt.Fprintf(&b, "%s %s.\n", kept, turns)
		}
	}
	return b.String()
}

// tokensText is a number of tokens, in thousands from 1,000 on.
func tokensText(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%.1fk", float64(n)/1000)
}

// compactJSON has turns counted from 1, as people count them.
type compactJSON struct {
	ID       holdfast.ConversationID `json:"id"`
	DryRun   bool                    `json:"dry_run"`
	Appended int                     `json:"appended"`
	Timeline []spanJSON              `json:"timeline"`
	Skipped  []string                `json:"skipped,omitempty"`
}

type spanJSON struct {
	From         int      `json:"from"`
	To           int      `json:"to"`
	Action       string   `json:"action"` // "kept", "compacted" or "already_compacted"
	Policy       string   `json:"policy,omitempty"`
	Source       string   `json:"source,omitempty"`
	TokensBefore *int     `json:"tokens_before,omitempty"`
	TokensAfter  *int     `json:"tokens_after,omitempty"`
	Notes        []string `json:"notes,omitempty"`
}

func (c compacted) json(dry bool) compactJSON {
	result := compactJSON{ID: c.id, DryRun: dry, Timeline: []spanJSON{}}
	for _, s := range c.steps {
		if s.Skipped != "" {
			result.Skipped = append(result.Skipped, s.Skipped)
		} else if !dry {
			result.Appended++
		}
	}
	for _, s := range c.spans() {
		row := spanJSON{From: s.from + 1, To: s.to + 1, Action: "kept"}
		switch {
		case s.step >= 0:
			step := c.steps[s.step]
			row.Action, row.Policy, row.Source = "compacted", policyText(step.Overlay), string(step.Overlay.Source)
			row.TokensBefore, row.TokensAfter, row.Notes = &step.Before, &step.After, step.Notes
		case s.already != "":
			row.Action, row.Source = "already_compacted", s.already
		}
		result.Timeline = append(result.Timeline, row)
	}
	return result
}

// parseReset reads the value of --reset.
func parseReset(text string) (conversations.Reset, error) {
	switch text {
	case "all":
		return conversations.Reset{}, nil
	case string(holdfast.AutoOverlay), string(holdfast.ManualOverlay):
		return conversations.Reset{Source: holdfast.OverlaySource(text)}, nil
	}
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return conversations.Reset{Number: n}, nil
	}
	return conversations.Reset{}, holdfast.Errorf(holdfast.ErrUsage, "--reset takes nothing, the number of a compaction as `conversation show` counts them, auto or manual, as in --reset=2")
}

func (a *app) reset(ctx context.Context, s *conversations.Service, l *conversations.Loaded, args compactArgs) error {
	which, err := parseReset(args.reset)
	if err != nil {
		return err
	}
	overlays := conversation.Overlays(l.Entries)
	found, err := which.Find(overlays)
	if err != nil {
		return err
	}
	if !args.dry {
		if err := s.Revoke(ctx, l, found); err != nil {
			return err
		}
	}
	numbers := []int{}
	var b strings.Builder
	for i, o := range overlays {
		if !slices.ContainsFunc(found, func(f conversation.PlacedOverlay) bool { return f.ID == o.ID }) {
			continue
		}
		numbers = append(numbers, i+1)
		verb := "Revoked"
		if args.dry {
			verb = "Would revoke"
		}
		fmt.Fprintf(&b, "%s compaction %d (%s) of %s: %s.\n", verb, i+1, o.Source, overlayRange(o.Overlay), policyText(o.Overlay))
	}
	if a.json {
		return a.printJSON(map[string]any{"id": l.ID, "dry_run": args.dry, "revoked": numbers})
	}
	if len(numbers) == 0 {
		return a.print("There is no such compaction in force.\n")
	}
	return a.print(b.String())
}
