package extraction

import "slices"

// Fact is one thing that an extractor brought, as it was believed.
type Fact struct {
	Source string
	// Turn is that of the message in which the quote stands; 0: in none.
	Turn  int
	Kind  Kind // of what was taken out of force, a Correction
	Quote Span // in the text of the turn
	// Provisional facts are kept for the person to see, and believed by nobody.
	Provisional bool
}

// Model is how good a model is as extractor.
type Model struct {
	Upstream string `json:"upstream"`
	Name     string `json:"model"`
	Calls    int    `json:"calls"`
	Failed   int    `json:"failed_calls"` // no answer came
	// Discarded counts whole answers, Dropped items or parts of them, by reason.
	Discarded map[string]int `json:"discarded"`
	Dropped   map[string]int `json:"dropped"`
	Input     int64          `json:"input_tokens"`
	Output    int64          `json:"output_tokens"`
	// Cost is in millionths of a US dollar; nil: no price is known.
	Cost *int64 `json:"cost,omitempty"`

	Facts       int  `json:"facts"`
	Provisional Rate `json:"provisional"`
	// Kinds are figures of each kind, and last of all together.
	Kinds []Scored `json:"kinds"`
}

// Scored is how good the facts of a kind are.
type Scored struct {
	Kind string `json:"kind"`
	// Precision is the share of facts of the kind that overlap a label of any kind,
	// Recall the share of labels of the kind that a fact of any kind overlaps.
	// Provisional facts count in neither.
	Precision Rate `json:"precision"`
	Recall    Rate `json:"recall"`
}

// Score holds facts against the labels of sessions. A fact matches a label when its
// quote overlaps the label's span in the same turn. Facts of turns without labels are
// left out.
func (m *Model) Score(sessions []Session, facts []Fact) {
	byTurn := map[turnKey][]Label{}
	for _, s := range sessions {
		for _, l := range s.Labels {
			k := turnKey{l.Source, l.Turn}
			byTurn[k] = append(byTurn[k], l)
		}
	}
	// A quote that stands nowhere belongs to no turn, but its fact counts.
	facts = slices.DeleteFunc(slices.Clone(facts), func(f Fact) bool { return f.Turn > 0 && byTurn[turnKey{f.Source, f.Turn}] == nil })
	m.Facts = len(facts)
	believed := slices.DeleteFunc(slices.Clone(facts), func(f Fact) bool { return f.Provisional })
	m.Provisional = rate(len(facts)-len(believed), len(facts))
	found := map[turnKey][]Fact{}
	var right, of [2]map[Kind]int
	for i := range right {
		right[i], of[i] = map[Kind]int{}, map[Kind]int{}
	}
	for _, f := range believed {
		k := turnKey{f.Source, f.Turn}
		found[k] = append(found[k], f)
		of[0][f.Kind]++
		if slices.ContainsFunc(byTurn[k], f.matches) {
			right[0][f.Kind]++
		}
	}
	for k, list := range byTurn {
		for _, l := range list {
			if l.Kind == None {
				continue
			}
			of[1][l.Kind]++
			if slices.ContainsFunc(found[k], func(f Fact) bool { return f.matches(l) }) {
				right[1][l.Kind]++
			}
		}
	}
	var all [4]int
	for _, kind := range Kinds() {
		n := [4]int{right[0][kind], of[0][kind], right[1][kind], of[1][kind]}
		m.Kinds = append(m.Kinds, Scored{string(kind), rate(n[0], n[1]), rate(n[2], n[3])})
		for i := range all {
			all[i] += n[i]
		}
	}
	m.Kinds = append(m.Kinds, Scored{All, rate(all[0], all[1]), rate(all[2], all[3])})
}

func (f Fact) matches(l Label) bool {
	return l.Kind != None && f.Quote[0] < l.Span[1] && l.Span[0] < f.Quote[1]
}
