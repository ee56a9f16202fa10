package survival

import (
	"math/rand/v2"
	"strings"

	"github.com/holdfast-dev/holdfast/eval"
)

// baselines are what else one could do, without a proxy: nothing, a good summary
// of each summary, and every message of the user repeated in it.
var baselines = []Compactor{
	{Name: "no capsule", New: func(*rand.Rand) eval.Script { return eval.Forgetful }},
	{Name: "summary of summary", New: SummaryOfSummary},
	{Name: "pin every user message", New: func(*rand.Rand) eval.Script { return PinUserMessages() }},
}

// Baseline is what the model knew in the first turn behind its compactions,
// anywhere in the request. Shares are from 0 to 1.
type Baseline struct {
	Name    string  `json:"name"`
	Steps   float64 `json:"steps"`   // open steps of the plan
	Answers float64 `json:"answers"` // structured answers in force
	Values  float64 `json:"values"`  // exact values that the user named
	// Stale is the number of replaced answers and choices that stand there
	// without the one in force.
	Stale int `json:"stale"`
	// Growth is what a request grows by with each compaction, in tokens, over
	// the second half of the session; 0 below eight compactions.
	Growth float64 `json:"growth"`
}

// known counts what a model knew.
type known struct {
	name                   string
	steps, answers, values [2]int // known, and all
	stale                  int
	slopes                 []float64
}

func newKnown(name string) *known { return &known{name: name} }

func (k *known) baseline() Baseline {
	b := Baseline{Name: k.name, Steps: share(k.steps), Answers: share(k.answers), Values: share(k.values), Stale: k.stale}
	for _, s := range k.slopes {
		b.Growth += s / float64(len(k.slopes))
	}
	return b
}

func share(n [2]int) float64 {
	if n[1] == 0 {
		return 0
	}
	return float64(n[0]) / float64(n[1])
}

// world counts over the usual sessions whose agent does not keep the user's
// words itself.
func (k *known) world(w *world) {
	bodies := map[key][]byte{}
	for _, r := range w.up.Requests() {
		lane, seq, copied := readMark(r.Header)
		bodies[key{lane, seq, copied}] = r.Body
	}
	for _, l := range w.lanes {
		if l.session.Shape != Usual || l.session.Manner.KeepsWords {
			continue
		}
		epoch := 0
		var sizes []float64
		for _, s := range l.sent {
			if s.kind != eval.Turn || s.copied > 0 || s.epoch == epoch || s.direct {
				continue
			}
			epoch = s.epoch
			body := bodies[key{l.name, s.seq, 0}]
			sizes = append(sizes, float64(tokens(string(body))))
			k.first(l.session, l.session.Gold[s.at], strings.Join(textsOf(body), "\n"))
		}
		if n := len(sizes); n >= 8 {
			k.slopes = append(k.slopes, slope(sizes[n/2:]))
		}
	}
}

// first counts one first turn of an epoch.
func (k *known) first(s *Session, g Gold, text string) {
	count := func(n *[2]int, there bool) {
		n[1]++
		if there {
			n[0]++
		}
	}
	for _, step := range g.Open() {
		count(&k.steps, contains(text, step.Text))
	}
	for _, a := range g.Answers {
		there := contains(text, a.Now())
		count(&k.answers, there)
		for _, past := range a.Past() {
			if !there && contains(text, past) {
				k.stale++
			}
		}
	}
	for _, id := range g.Said {
		p := s.plant(id)
		there := contains(text, p.Exact)
		if p.Kind == Value {
			count(&k.values, there)
		}
		if o := s.plant(p.Supersedes); o.ID != "" && !there && contains(text, o.Exact) {
			k.stale++
		}
	}
}
