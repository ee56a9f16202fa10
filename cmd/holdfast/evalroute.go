package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/config"
	"github.com/holdfast-dev/holdfast/continuity"
	"github.com/holdfast-dev/holdfast/continuity/extract"
	"github.com/holdfast-dev/holdfast/eval/extraction"
	"github.com/holdfast-dev/holdfast/provider"
	"github.com/holdfast-dev/holdfast/upstream"
)

// extractor is a model that reads sessions, and what is counted of it.
type extractor struct {
	extracting
	models *models
	cfg    config.Config
	client *provider.Client
	price  *holdfast.Price // nil: none is known
	found  extraction.Model
	facts  []extraction.Fact
	shown  func(string)
	calls  int // that are expected
}

// newExtractor finds the model of a route, UPSTREAM:MODEL.
func (a *app) newExtractor(x extracting, route string) (*extractor, error) {
	name, model, ok := strings.Cut(route, ":")
	if !ok || name == "" || model == "" {
		return nil, holdfast.Errorf(holdfast.ErrUsage, "--route %s: write UPSTREAM:MODEL, such as anthropic:claude-haiku-4-5", line(route))
	}
	merged, err := a.sources().Load()
	if err != nil {
		return nil, err
	}
	m := a.newModels(merged.Config)
	at := slices.IndexFunc(m.upstreams, func(u *upstream.Upstream) bool { return u.Name == name })
	if at < 0 {
		return nil, holdfast.Errorf(holdfast.ErrNotFound, "--route %s: there is no upstream %s. holdfast models lists them", line(route), line(name))
	}
	m.upstreams, m.refs = m.upstreams[at:at+1], []config.SecretRef{m.refs[at]}
	e := &extractor{extracting: x, models: m, cfg: merged.Config, found: extraction.Model{
		Upstream: name, Name: model, Discarded: map[string]int{}, Dropped: map[string]int{},
	}, shown: progressLine(a.err)}
	way, err := m.caller(route, holdfast.ForExtraction)
	if err != nil {
		return nil, err
	}
	known, _ := m.catalogue.Model(m.upstreams[0], model)
	e.client, e.price = way.c, known.Price
	return e, e.client.Ready()
}

// ended counts what an attempt took.
func (e *extractor) ended(a holdfast.Attempt) {
	used := a.Tokens.Usage()
	e.found.Input += used.Input + used.CacheRead + used.CacheWrite
	e.found.Output += used.Output
	if e.price != nil {
		cost := e.price.Cost(used)
		if e.found.Cost != nil {
			cost += *e.found.Cost
		}
		e.found.Cost = &cost
	}
}

// admitted asks whether there is money for a call at all, before the sessions are made.
func (a *app) admitted(d database, e *extractor) error {
	books, err := a.recordCalls(e.models, e.cfg, d, "", true)
	if err != nil {
		return err
	}
	defer books.end()
	return e.models.admit(e.found.Upstream, e.found.Name)
}

// readIn has the model read all sessions, by calls that are admitted and recorded in a
// database as those of the local principal.
func (a *app) readIn(ctx context.Context, d database, e *extractor, sessions []extraction.Session) error {
	books, err := a.recordCalls(e.models, e.cfg, d, "", true)
	if err != nil {
		return err
	}
	defer books.end()
	record := e.models.ended
	e.models.ended = func(attempt holdfast.Attempt) {
		record(attempt)
		e.ended(attempt)
	}
	way, err := e.models.caller(e.found.Upstream+":"+e.found.Name, holdfast.ForExtraction)
	if err != nil {
		return err
	}
	e.client = way.c
	return e.read(ctx, sessions)
}

// read has the model read all sessions, each from its beginning.
func (e *extractor) read(ctx context.Context, sessions []extraction.Session) error {
	defer e.shown("")
	for _, s := range sessions {
		before := 0
		for _, entries := range s.Streams {
			messages := extract.Messages(entries, before)
			texts := map[int]string{}
			for _, m := range messages {
				if before = m.Turn; m.Role == extract.User {
					texts[m.Turn] = continuity.Normal(m.Text)
				}
			}
			if err := e.stream(ctx, s.Source, messages, e.growth(entries, messages), texts); err != nil {
				return err
			}
		}
	}
	e.found.Score(sessions, e.facts)
	return nil
}

// stream reads one conversation as it grows. texts are those of its turns.
func (e *extractor) stream(ctx context.Context, source string, messages []extract.Message, growth []int, texts map[int]string) error {
	var c holdfast.Capsule
	grown := 0
	for i := range messages {
		if i+1 < len(messages) && messages[i+1].Role != extract.User {
			continue // the turn goes on
		}
		grown += growth[i]
		for b, ok := e.source.Next(c, messages[:i+1]); ok; b, ok = e.source.Next(c, messages[:i+1]) {
			if e.waits(b, grown, i+1 == len(messages)) {
				break
			}
			c.Watermark = b.Watermark
			if !b.Eligible {
				continue
			}
			grown = 0
			e.shown(fmt.Sprintf("call %d of about %d", e.found.Calls+1, e.calls))
			d, err := e.call(ctx, b)
			if err != nil {
				return err
			}
			e.facts = append(e.facts, factsOf(source, d, texts)...)
			c = continuity.Merge(c, d)
		}
	}
	return nil
}

// call asks the model once and grounds what it answers. What fails brings nothing;
// the error is of a run that cannot go on.
func (e *extractor) call(ctx context.Context, b extract.Batch) (continuity.Delta, error) {
	e.found.Calls++
	r, err := extract.Read(b, "="+rand.Text(), continuity.All, func(p extract.Prompt) (extract.Answer, error) {
		answer, err := e.client.Call(ctx, holdfast.Call{
			Model: e.found.Name, System: p.System, Schema: extract.Schema(),
			Events: []holdfast.Event{holdfast.UserMessage{Parts: []holdfast.Part{holdfast.Text(p.Data)}}},
		}, nil)
		read := answerOf(answer.Events)
		read.Cut = answer.Finish == holdfast.FinishLength
		return read, err
	})
	nothing := continuity.Delta{Watermark: b.Watermark}
	if err != nil {
		switch holdfast.CodeOf(err) {
		case holdfast.ErrUnavailable, holdfast.ErrTooLarge:
			if ctx.Err() == nil {
				e.found.Failed++
				return nothing, nil
			}
		}
		return nothing, err
	}
	e.tally(r.Doubted)
	if r.Discarded != "" {
		e.found.Discarded[string(r.Discarded)]++
		return nothing, nil
	}
	return r.Delta, nil
}

func (e *extractor) tally(counts extract.Counts) {
	for reason, n := range counts {
		e.found.Dropped[string(reason)] += n
	}
}

// factsOf are the facts of a delta, each at its place in the texts of the turns. What
// the model itself asked or proposed is none.
func factsOf(source string, d continuity.Delta, texts map[int]string) (facts []extraction.Fact) {
	add := func(kind extraction.Kind, status holdfast.FactStatus, e holdfast.Evidence) {
		if e.By == holdfast.ByAgent {
			return
		}
		f := extraction.Fact{Source: source, Kind: kind, Provisional: status == holdfast.FactProvisional}
		if at := strings.Index(texts[e.Turn], e.Quote); at >= 0 && e.Quote != "" {
			f.Turn, f.Quote = e.Turn, extraction.Span{at, at + len(e.Quote)}
		}
		facts = append(facts, f)
	}
	for _, x := range d.Decisions {
		add(extraction.Decision, x.Status, x.Evidence)
	}
	for _, x := range d.Constraints {
		add(extraction.Constraint, x.Status, x.Evidence)
	}
	for _, x := range d.RejectedAlternatives {
		add(extraction.Rejection, x.Status, x.Evidence)
	}
	for _, x := range d.OpenQuestions {
		add(extraction.Question, x.Status, x.Evidence)
	}
	for _, x := range d.Facts {
		kind := extraction.Value
		switch x.Kind {
		case holdfast.PreferenceFact:
			kind = extraction.Preference
		case holdfast.DeadEndFact:
			kind = extraction.Rejection
		}
		add(kind, x.Status, x.Evidence)
	}
	for _, x := range d.Closed {
		add(extraction.Correction, holdfast.FactActive, x.Evidence)
	}
	if d.Plan != nil {
		switch d.Plan.Verdict {
		case holdfast.PlanAccepted:
			add(extraction.Acceptance, holdfast.FactActive, d.Plan.Evidence)
		case holdfast.PlanRejected:
			add(extraction.Rejection, holdfast.FactActive, d.Plan.Evidence)
		}
	}
	return facts
}

func modelText(b *strings.Builder, m *extraction.Model, width int) {
	fmt.Fprintf(b, "\n%s at %s: %s, %d without an answer, %s tokens in, %s out", line(m.Name), line(m.Upstream), count(m.Calls, "call", "calls"), m.Failed,
		tokensText(int(m.Input)), tokensText(int(m.Output)))
	if m.Cost != nil {
		fmt.Fprintf(b, ", $%.4f", float64(*m.Cost)/1e6)
	} else {
		b.WriteString(", no price known")
	}
	fmt.Fprintf(b, "\n%d facts, of which provisional: %s\n\n", m.Facts, tenthPercent(m.Provisional.Share))
	grid(b, width, "kind\tprecision\t95 %\tfacts\trecall\t95 %\tlabels", func(row func(...string)) {
		for _, k := range m.Kinds {
			cells := []string{k.Kind}
			for _, r := range []extraction.Rate{k.Precision, k.Recall} {
				share, within := "", ""
				if r.Of > 0 {
					share, within = tenthPercent(r.Share), interval(r)
				}
				cells = append(cells, share, within, fmt.Sprint(r.Of))
			}
			row(cells...)
		}
	})
	reasons := func(what string, counts map[string]int) {
		for _, reason := range slices.Sorted(maps.Keys(counts)) {
			fmt.Fprintf(b, "%s: %s, %d\n", what, reason, counts[reason])
		}
	}
	b.WriteString("\n")
	reasons("answers discarded", m.Discarded)
	reasons("items dropped or doubted", m.Dropped)
}
