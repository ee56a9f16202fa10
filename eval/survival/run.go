package survival

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// Options say how much is run. The zero value runs nothing.
type Options struct {
	// Seeds is the number of seeds. Each makes one session for each agent and
	// compactor.
	Seeds int
	// Compactions in a row, 1 to 50.
	Compactions int
	// Protocols that the agents speak; empty for all.
	Protocols []holdfast.Protocol
	// Compactors are the names of those that are met; empty for all.
	Compactors []string
	// Interleavings is the number of sessions in which much happens at once.
	Interleavings int
	// Extractors are the names of those that read sessions, each in a run of its own;
	// empty for none. All other runs are without one.
	Extractors []string
	// Brief leaves out the baselines and what breaks without a safeguard.
	Brief bool
	// Progress is told of each part that has ended; nil for nobody.
	Progress func(done, total int)
}

// Report is what a run found.
type Report struct {
	Seeds         int      `json:"seeds"`
	Compactions   int      `json:"compactions"`
	Protocols     []string `json:"protocols"`
	Sessions      int      `json:"sessions"`
	Requests      int      `json:"requests"`
	Interleavings int      `json:"interleavings"`

	Figures []Figure `json:"figures"`
	// Values is the share of exact values that were in the block, by the number
	// of compactions.
	Values []Point `json:"values"`
	// Baselines are what the model knew, with the product and with what else one
	// could do.
	Baselines []Baseline `json:"baselines"`
	Ablations []Broken   `json:"ablations"`
	// Extractors are the same sessions with an extractor that reads them.
	Extractors []Extracted `json:"extractors"`
	// Unmeasured are the goals that this run says nothing of.
	Unmeasured []string `json:"unmeasured"`
	Passed     bool     `json:"passed"`
}

// Point is one place of a curve.
type Point struct {
	Compactions int     `json:"compactions"`
	Share       float64 `json:"share"`
	// Tokens is the mean size of a block.
	Tokens float64 `json:"tokens"`
}

// Broken is an ablation with the figures that it breaks.
type Broken struct {
	Without Ablation `json:"without"`
	Figures []string `json:"figures"`
}

// Run measures a product. It fails only when it cannot measure; what falls short
// is in the report.
func Run(ctx context.Context, p Product, o Options) (Report, error) {
	manners := slices.DeleteFunc(eval.Manners(), func(m eval.Manner) bool {
		return len(o.Protocols) > 0 && !slices.Contains(o.Protocols, m.Protocol)
	})
	compactors := slices.DeleteFunc(Compactors(), func(c Compactor) bool {
		return len(o.Compactors) > 0 && !slices.Contains(o.Compactors, c.Name)
	})
	baselines, ablations := baselines, Ablations()
	if o.Brief {
		baselines, ablations = nil, nil
	}
	extractors := slices.DeleteFunc(Extractors(), func(x Extractor) bool { return !slices.Contains(o.Extractors, x.Name) })
	total := o.Seeds*(len(compactors)+1+len(baselines)) + 1 + len(ablations) + len(extractors)
	done := 0
	step := func() {
		done++
		if o.Progress != nil {
			o.Progress(done, total)
		}
	}
	r := Report{
		Seeds: o.Seeds, Compactions: o.Compactions, Interleavings: o.Interleavings, Unmeasured: unmeasured,
	}
	for _, m := range manners {
		if !slices.Contains(r.Protocols, string(m.Protocol)) {
			r.Protocols = append(r.Protocols, string(m.Protocol))
		}
	}
	j := newJudge()
	ours := newKnown("holdfast")
	for seed := range o.Seeds {
		for k, c := range compactors {
			sessions := sessionsOf(uint64(seed), k, manners, o.Compactions)
			w, err := play(ctx, p, Whole, sessions, c, nil, false)
			if err != nil {
				return r, err
			}
			j.world(w)
			ours.world(w)
			r.Sessions += len(w.lanes)
			r.Requests += len(w.up.Requests())
			step()
		}
		// Once more, and each proxy is gone after a turn.
		w, err := play(ctx, p, Whole, sessionsOf(uint64(seed), len(compactors), manners, o.Compactions), Compactors()[0], nil, true)
		if err != nil {
			return r, err
		}
		j.world(w)
		step()
	}
	all := []*known{ours}
	for _, b := range baselines {
		known := newKnown(b.Name)
		for seed := range o.Seeds {
			plain := slices.DeleteFunc(slices.Clone(manners), func(m eval.Manner) bool { return m.Opaque })
			w, err := play(ctx, nil, Whole, sessionsOf(uint64(seed), 0, plain, o.Compactions), b, nil, false)
			if err != nil {
				return r, err
			}
			known.world(w)
			step()
		}
		all = append(all, known)
	}
	if err := interleavings(ctx, p, Whole, o.Interleavings, manners, allTroubles(), j.tally); err != nil {
		return r, err
	}
	step()
	for _, a := range ablations {
		broken, err := ablate(ctx, p, a, eval.Manners())
		if err != nil {
			return r, err
		}
		r.Ablations = append(r.Ablations, broken)
		step()
	}
	for k, x := range extractors {
		e, err := extracts(ctx, p, x, o, 60+k, manners)
		if err != nil {
			return r, err
		}
		r.Extractors = append(r.Extractors, e)
		step()
	}
	r.finish(j, all)
	return r, nil
}

// sessionsOf makes one session for each agent. Shapes move from agent to agent
// with the seed.
func sessionsOf(seed uint64, k int, manners []eval.Manner, compactions int) []*Session {
	var all []*Session
	for i, m := range manners {
		all = append(all, Generate(seed*10007+uint64(k)*1013+uint64(i)*7, m, compactions))
	}
	return all
}

// play runs sessions at once through one proxy, or straight to the upstream when
// p is nil. An extractor reads them, unless it is nil. With stops, the proxy of each
// is gone after a turn of its seed.
func play(ctx context.Context, p Product, without Ablation, sessions []*Session, c Compactor, x *Extractor, stops bool) (*world, error) {
	w, err := newWorld(c.Name + fmt.Sprint(sessions[0].Seed))
	if err != nil {
		return nil, err
	}
	defer w.stop()
	base := w.base
	if p != nil {
		extractor := ""
		if x != nil {
			if extractor, err = w.readBy(*x, sessions); err != nil {
				return nil, err
			}
		}
		proxy, err := p.Start(ctx, w.upstreams(), extractor, without)
		if err != nil {
			return nil, err
		}
		defer proxy.Stop()
		base = proxy.Base()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var failed error
	var once sync.Once
	var group sync.WaitGroup
	for _, s := range sessions {
		group.Go(func() {
			_, err := w.run(ctx, base, s, c, func(l *lane, turn int) error {
				if stops && turn == 1+int(s.Seed)%len(s.Turns) {
					l.bypass()
				}
				return nil
			})
			if err != nil {
				once.Do(func() {
					failed = holdfast.Errorf(holdfast.CodeOf(err), "%s, %s, seed %d: %w", s.Manner.Name, c.Name, s.Seed, err)
					cancel()
				})
			}
		})
	}
	group.Wait()
	return w, failed
}

// ablate runs a few sessions of all agents without a safeguard.
func ablate(ctx context.Context, p Product, a Ablation, manners []eval.Manner) (Broken, error) {
	j := newJudge()
	var err error
	switch a {
	case NoBarrier:
		err = interleavings(ctx, p, a, 3*len(manners), manners, allTroubles()[:1], j.tally)
	case NoRevision:
		// Two processes meet by chance: it takes more of them to see it.
		err = interleavings(ctx, p, a, 12*len(manners), manners, allTroubles()[2:3], j.tally)
	default:
		for seed := range uint64(2) {
			var w *world
			if w, err = play(ctx, p, a, sessionsOf(seed, 50, manners, 4), Compactors()[0], nil, false); err != nil {
				break
			}
			j.world(w)
		}
	}
	if err != nil {
		return Broken{}, err
	}
	b := Broken{Without: a, Figures: []string{}}
	for _, f := range j.figures() {
		if !f.Passed && f.Checked > 0 {
			b.Figures = append(b.Figures, f.ID)
		}
	}
	return b, nil
}

// figures are all rows with what was found.
func (j *judge) figures() []Figure {
	var out []Figure
	for _, row := range rows {
		if _, looked := j.tally[row.id]; row.read && !looked {
			continue
		}
		f := *j.tally.of(row.id)
		f.ID, f.What, f.Goal, f.OfExtractor = string(row.id), row.what, row.goal, row.read
		switch row.id {
		case values:
			for _, p := range j.curves {
				f.Checked += p.said
				f.Failed += p.said - p.kept
			}
		case growth, inputs:
			list := j.slopes
			if row.id == inputs {
				list = j.inputs
			}
			mean := 0.0
			for _, s := range list {
				mean += s / float64(len(list))
			}
			f.Checked, f.Value = len(list), &mean
			f.Passed = mean < 1 && mean > -1
			out = append(out, f)
			continue
		}
		if row.share < 1 && f.Checked > 0 {
			share := 1 - float64(f.Failed)/float64(f.Checked)
			f.Value = &share
		}
		f.Passed = float64(f.Failed) <= (1-row.share)*float64(f.Checked)
		out = append(out, f)
	}
	return out
}

func (r *Report) finish(j *judge, all []*known) {
	r.Figures = j.figures()
	r.Passed = true
	for _, f := range r.Figures {
		r.Passed = r.Passed && f.Passed
	}
	for n := 1; n <= r.Compactions; n++ {
		if p := j.curves[n]; p != nil && p.said > 0 {
			point := Point{Compactions: n, Share: float64(p.kept) / float64(p.said), Tokens: float64(p.tokens) / float64(p.blocks)}
			r.Values = append(r.Values, point)
		}
	}
	for _, k := range all {
		r.Baselines = append(r.Baselines, k.baseline())
	}
	for _, b := range r.Ablations {
		r.Passed = r.Passed && len(b.Figures) > 0
	}
	for _, x := range r.Extractors {
		r.Passed = r.Passed && x.Passed()
	}
}
