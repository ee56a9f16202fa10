package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/compaction"
	"github.com/holdfast-dev/holdfast/config"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
	"github.com/holdfast-dev/holdfast/engine/conversations"
	"github.com/holdfast-dev/holdfast/engine/query"
	"github.com/holdfast-dev/holdfast/eval"
	"github.com/holdfast-dev/holdfast/eval/extraction"
	"github.com/holdfast-dev/holdfast/provider/tokens"
	"github.com/holdfast-dev/holdfast/redact"
)

// maxSeeds bounds the generated sessions of a run: each seed makes one per agent.
const maxSeeds = 100

func (a *app) extractionCommand() *cobra.Command {
	var seeds int
	var route string
	var yes bool
	c := &cobra.Command{
		Use:   "extraction [FILE...]",
		Short: "Measure what extraction is sent, and finds",
		Long: "Measures the gate before semantic extraction on labelled turns: which of those that hold something are sent to\n" +
			"a model, and how many are sent in all. It also compares the record with what plans and answers state, and counts what\n" +
			"calls are sent. Labels of real sessions come with the program, by the digest of their files; a FILE that is none of\n" +
			"these is left out. Generated sessions are measured in any case, unless --seeds is 0.\n\n" +
			"With --route a model of the configuration reads all sessions, and the facts that it brings are compared with the\n" +
			"labels. This sends the sessions to its provider, after redaction, and costs money: how many calls it takes is said\n" +
			"first. They count against the budgets, and holdfast usage shows them. The exit status is 0 only if every goal is\n" +
			"met; what a model finds has none.",
		Example: "  holdfast eval extraction\n" +
			"  holdfast eval extraction transcripts/*.jsonl --json\n" +
			"  holdfast eval extraction transcripts/*.jsonl --seeds 0 --route anthropic:claude-haiku-4-5",
		RunE: func(cmd *cobra.Command, args []string) error {
			if seeds < 0 || seeds > maxSeeds || seeds == 0 && len(args) == 0 {
				return holdfast.Errorf(holdfast.ErrUsage, "--seeds %d: write 1 to %d, or 0 with a FILE", seeds, maxSeeds)
			}
			x, err := newExtracting()
			if err != nil {
				return err
			}
			var e *extractor
			if route != "" {
				if e, err = a.newExtractor(x, route); err != nil {
					return err
				}
				if !yes && (!a.terminal || a.json) {
					return holdfast.Errorf(holdfast.ErrUsage, "--route makes calls that the provider is paid for, and nobody can be asked. Add --yes")
				}
			}
			if e != nil {
				if err := a.withDatabase(true, func(d database) error { return a.admitted(d, e) }); err != nil {
					return err
				}
			}
			sessions, unknown, err := a.labelledSessions(cmd.Context(), args, seeds)
			if err != nil {
				return err
			}
			report := extraction.Measure(x.product(), sessions)
			report.Unknown, report.Seeds = unknown, seeds
			report.Passed = report.Passed && len(sessions) > 0
			if e != nil && len(sessions) > 0 {
				if goes, err := a.readBy(cmd.Context(), e, report, sessions, yes); err != nil || !goes {
					return err
				}
				report.Model = &e.found
			}
			if a.json {
				err = a.printJSON(report)
			} else {
				err = a.print(fold(extractionText(report, a.width), a.width))
			}
			switch {
			case err != nil:
			case len(sessions) == 0:
				err = holdfast.Errorf(holdfast.ErrFailed, "no file has labels: there is nothing to go by")
			case !report.Passed:
				err = holdfast.Errorf(holdfast.ErrFailed, "not every goal is met: see the marked rows")
			}
			return err
		},
	}
	c.Flags().IntVar(&seeds, "seeds", 2, "number of seeds; each makes a session for each agent, in about ten seconds")
	c.Flags().StringVar(&route, "route", "", "have a model read the sessions: UPSTREAM:MODEL")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask before calls are made")
	return c
}

// readBy has a model read the sessions once a person agrees to what it takes, by the
// inputs that were measured; goes is false when nobody does.
func (a *app) readBy(ctx context.Context, e *extractor, r extraction.Report, sessions []extraction.Session, yes bool) (goes bool, err error) {
	tokens := 0
	for _, in := range r.Totals {
		e.calls += in.Calls
		tokens += in.Tokens
	}
	this := fmt.Sprintf("this makes about %s of %s at %s, with about %s tokens of sessions in all,",
		count(e.calls, "call", "calls"), line(e.found.Name), line(e.found.Upstream), tokensText(tokens))
	if yes {
		if _, err := fmt.Fprintf(a.err, "%s.\n", strings.TrimSuffix(capitalized(this), ",")); err != nil {
			return false, err
		}
	} else if ok, err := a.ask(capitalized(this)+" which the provider is paid for. Go on? [y/N] ", this, "No call was made."); err != nil || !ok {
		return false, err
	}
	return true, a.withDatabase(true, func(d database) error { return a.readIn(ctx, d, e, sessions) })
}

func capitalized(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// labelledSessions are the sessions of files with labels, and generated ones.
// unknown counts files without labels.
func (a *app) labelledSessions(ctx context.Context, names []string, seeds int) (sessions []extraction.Session, unknown int, err error) {
	known := extraction.Known()
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, 0, holdfast.Errorf(holdfast.ErrNotFound, "%s cannot be read: %w", line(name), err)
		}
		digest := sha256.Sum256(data)
		source := hex.EncodeToString(digest[:])
		if !slices.Contains(known, source) {
			unknown++
			continue
		}
		list, err := a.replayed(ctx, name)
		if err != nil {
			return nil, 0, err
		}
		s := extraction.Session{Source: source, Labels: extraction.LabelsOf(source)}
		for _, l := range list {
			s.Agent = l.Agent
			s.Streams = append(s.Streams, l.Entries)
		}
		sessions = append(sessions, s)
	}
	typed := func(entries []holdfast.Entry) (texts []string) {
		for _, m := range extract.Messages(entries, 0) {
			if m.Role == extract.User {
				texts = append(texts, continuity.Normal(m.Text))
			}
		}
		return texts
	}
	for seed := range uint64(seeds) {
		for _, m := range eval.Manners() {
			s, err := extraction.Generate(ctx, seed, m, typed)
			if err != nil {
				return nil, 0, holdfast.Errorf(holdfast.ErrInternal, "%w", err)
			}
			sessions = append(sessions, s)
		}
	}
	return sessions, unknown, nil
}

// batchTokens bounds a batch, the record included.
const batchTokens = 12_000

// measuredDelimiter stands for the random word of a call.
const measuredDelimiter = "0123456789abcdef"

// extracting is semantic extraction as it is measured.
type extracting struct {
	source   extract.Source
	ratio    float64
	estimate compaction.Estimator
	count    func(string) int
}

func newExtracting() (extracting, error) {
	secrets, err := redact.New(nil)
	if err != nil {
		return extracting{}, holdfast.Errorf(holdfast.ErrInternal, "%w", err)
	}
	count := tokens.New().Count
	clear := func(text string) string {
		out, _ := secrets.Text(text)
		return out
	}
	return extracting{
		ratio:    config.Default().Continuity.Extractor.InputRatio,
		source:   extract.Source{Tokens: batchTokens, Estimate: continuity.EstimateTokens, Redact: clear},
		estimate: compaction.Estimator{Render: conversations.Render, Count: count},
		count:    count,
	}, nil
}

func (x extracting) product() extraction.Product {
	return extraction.Product{
		Turns: x.turns,
		Harvest: func(entries []holdfast.Entry) holdfast.Capsule {
			// Without what a model may have read of it before.
			raw := slices.DeleteFunc(conversations.Raw(entries), func(e holdfast.Entry) bool { _, kept := e.Event.(holdfast.Continuity); return kept })
			return query.Capsule(raw, "", x.source.Redact)
		},
		Tokens: func(entries []holdfast.Entry) int { return x.estimate.Tokens(conversations.Raw(entries)) },
		Count:  x.count,
	}
}

// turns goes through a conversation as extraction does that looks after every turn,
// and at the end as at a compaction.
func (x extracting) turns(entries []holdfast.Entry, before int, facts func(int) []extraction.Span) (list []extraction.Turn) {
	messages := extract.Messages(entries, before)
	growth := x.growth(entries, messages)
	var c holdfast.Capsule
	grown := 0
	var found []holdfast.Constraint // in what gathers
	for i, m := range messages {
		if m.Role != extract.User {
			continue
		}
		text := continuity.Normal(m.Text)
		t := extraction.Turn{Number: m.Turn, Text: text, Words: extract.Eligible(m.Text)}
		said := holdfast.Capsule{} // what stands before the turn was read
		if i > 0 {
			said.Watermark = messages[i-1].ID
		}
		for b, ok := x.source.Next(said, messages[:i+1]); ok; b, ok = x.source.Next(said, messages[:i+1]) {
			t.Sent = t.Sent || b.Eligible
			said.Watermark = b.Watermark
		}
		end := i + 1
		for end < len(messages) && messages[end].Role != extract.User {
			end++
		}
		grown += growth[end-1]
		for _, span := range facts(m.Turn) {
			if span[1] > len(text) {
				continue // the report counts it as misplaced
			}
			found = append(found, holdfast.Constraint{
				Statement: text[span[0]:span[1]], Status: holdfast.FactActive, Evidence: holdfast.Evidence{By: holdfast.ByUser, Turn: m.Turn},
			})
		}
		for b, ok := x.source.Next(c, messages[:end]); ok; b, ok = x.source.Next(c, messages[:end]) {
			if x.waits(b, grown, end == len(messages)) {
				break
			}
			if b.Eligible {
				p := b.Prompt(measuredDelimiter)
				t.Inputs = append(t.Inputs, p.System+"\n"+p.Data)
				grown = 0
			}
			c.Watermark = b.Watermark
		}
		if len(t.Inputs) > 0 {
			c = continuity.Merge(c, continuity.Delta{Watermark: c.Watermark, Constraints: found})
			found = nil
		}
		list = append(list, t)
	}
	return list
}

// growth is what a conversation grows by in each turn, in tokens, at the last message
// of the turn; 0 at the others.
func (x extracting) growth(entries []holdfast.Entry, messages []extract.Message) []int {
	place := map[string]int{}
	for i, e := range entries {
		place[string(e.ID)] = i
	}
	growth, from := make([]int, len(messages)), 0
	for i := range messages {
		to := len(entries)
		if i+1 < len(messages) {
			if messages[i+1].Role != extract.User {
				continue // the turn goes on
			}
			to = place[messages[i+1].ID]
		}
		growth[i] = x.estimate.Tokens(conversations.Raw(entries[from:to]))
		from = to
	}
	return growth
}

// waits reports whether a batch gathers more first; the last one is read, as at a
// compaction.
func (x extracting) waits(b extract.Batch, grown int, last bool) bool {
	return b.Eligible && !last && !b.Due(grown, x.ratio)
}

func extractionText(r extraction.Report, width int) string {
	var b strings.Builder
	if r.Files == 0 {
		b.WriteString("No FILE with labels was given: only generated sessions are measured.\n")
	}
	if r.Unknown > 0 {
		fmt.Fprintf(&b, "%s without labels left out.\n", count(r.Unknown, "file", "files"))
	}
	if r.Misplaced > 0 {
		fmt.Fprintf(&b, "%s no turn as it is read now. FALLS SHORT\n", count(r.Misplaced, "label fits", "labels fit"))
	}
	fmt.Fprintf(&b, "Labels: two readings of %d turns agree on %s of whether a turn holds anything (kappa %.2f), on %s of what (kappa %.2f); %d were read again\n\n",
		r.Agreement.Turns, tenthPercent(r.Agreement.Holding), r.Agreement.HoldingKappa, tenthPercent(r.Agreement.Kind), r.Agreement.KindKappa, r.Agreement.Reconsidered)
	b.WriteString("Turns that are sent, by what they hold\n\n")
	grid(&b, width, "part\tof\tturns\thold something\tof those sent\t95 %\tof all sent\t95 %\tby words alone\t", func(row func(...string)) {
		for _, g := range r.Gate {
			verdict := ""
			if g.Of == extraction.All && !g.Passed {
				verdict = "FALLS SHORT"
			}
			row(string(g.Split), g.Of, fmt.Sprint(g.Holding.Of), tenthPercent(g.Holding.Share), tenthPercent(g.Recall.Share), interval(g.Recall),
				tenthPercent(g.Sent.Share), interval(g.Sent), tenthPercent(g.WordsRecall.Share)+" / "+tenthPercent(g.WordsSent.Share), verdict)
		}
	})
	fmt.Fprintf(&b, "\ngoal: at least %s of those that hold something, at most %s of all\n", wholePercent(extraction.RecallGoal), wholePercent(extraction.ShareGoal))
	for _, m := range r.Missed {
		fmt.Fprintf(&b, "not sent: %s, turn %d, %s (%s)\n", m.Source, m.Turn, m.Kind, m.Split)
	}
	b.WriteString("\nSources that need no model\n\n")
	grid(&b, width, "of\tsessions\tstated\tprecision\trecall\t", func(row func(...string)) {
		for _, s := range r.Structured {
			verdict := ""
			if s.Precision < 1 || s.Recall < 1 {
				verdict = "FALLS SHORT"
			}
			row(s.Of, fmt.Sprint(s.Sessions), fmt.Sprint(s.Stated), tenthPercent(s.Precision), tenthPercent(s.Recall), verdict)
		}
	})
	b.WriteString("\nWhat calls are sent, by how the sessions grow, and at their end\n\n")
	grid(&b, width, "of\tturns\tcalls\ttokens\ttokens of the sessions\tshare\twith output of tools\t", func(row func(...string)) {
		for _, in := range r.Totals {
			verdict := ""
			if !in.Passed() {
				verdict = "FALLS SHORT"
			}
			row(in.Agent, fmt.Sprint(in.Turns), fmt.Sprint(in.Calls), tokensText(in.Tokens), tokensText(in.Session), tenthPercent(in.Share), fmt.Sprint(in.Planted), verdict)
		}
	})
	fmt.Fprintf(&b, "\ngoal: at most %s of the tokens of the sessions, and no output of tools\n", wholePercent(extraction.InputGoal))
	if r.Model != nil {
		modelText(&b, r.Model, width)
	}
	return b.String()
}

func interval(r extraction.Rate) string {
	return tenthPercent(r.Low) + " to " + tenthPercent(r.High)
}
