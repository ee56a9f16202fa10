package measure

import (
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/agents"
	"github.com/holdfast-dev/holdfast/compaction"
	"github.com/holdfast-dev/holdfast/conversation"
	"github.com/holdfast-dev/holdfast/engine/conversations"
	"github.com/holdfast-dev/holdfast/engine/query"
)

// Policy is a way to compact that is measured.
type Policy struct {
	// Name is unique, About says in words what is kept.
	Name, About string
	// Goal is the least median share that is to be saved; 0: none is set.
	Goal   float64
	config compaction.AutoConfig
}

// Policies are the policies that are measured, the built-in one first.
func Policies() []Policy {
	of := func(g compaction.Granularity, first int, omit bool) compaction.AutoConfig {
		c := compaction.DefaultAuto()
		c.Enabled, c.Granularity, c.MinTurns, c.MinGain = true, g, 0, 0
		c.Rule.KeepFirst = compaction.Count(first)
		if omit {
			c.Rule.Tools = &holdfast.ToolPolicy{Omit: true}
		}
		return c
	}
	return []Policy{
		{Name: "turn", About: "strip turns, all but the first and the last three", config: of(compaction.ByTurn, 1, false)},
		{Name: "turn-omit", About: "the same, without what is left of calls", config: of(compaction.ByTurn, 1, true)},
		{Name: "event", About: "strip events, all but the first turn and the newest 10,000 tokens", config: of(compaction.ByEvent, 1, false)},
		{Name: "event-first", About: "the same, in the first turn too", Goal: 0.76, config: of(compaction.ByEvent, 0, false)},
		{Name: "event-omit", About: "the same, without what is left of calls", config: of(compaction.ByEvent, 0, true)},
	}
}

// PlanState tells what became of the plan.
type PlanState string

// The states.
const (
	NoPlan       PlanState = "none" // the conversation has none that is open
	PlanInCalls  PlanState = "calls"
	PlanInRecord PlanState = "record" // its open steps stand in the capsule that goes along
	PlanLost     PlanState = "lost"
)

// Saved is what one policy does to one conversation.
type Saved struct {
	Policy string `json:"policy"`
	Tokens int    `json:"tokens"` // what a model is sent then, the record included
	// Share is what is saved of the raw tokens, from 0 to 1; below 0 where the
	// record is larger than what is saved.
	Share float64 `json:"share_saved"`
	// TextsLost counts texts of user and assistant that are not there as they were.
	TextsLost int       `json:"texts_lost"`
	Plan      PlanState `json:"plan"`
	// Restored tells that taking the compaction back gives the raw view again.
	Restored bool `json:"restored"`
}

// Reduction is what the policies do to one conversation.
type Reduction struct {
	Turns    int     `json:"turns"`
	Events   int     `json:"events"`
	Raw      int     `json:"tokens_raw"`
	Policies []Saved `json:"policies"`
}

// Counts reports whether the conversation counts in pooled figures.
func (r Reduction) Counts() bool { return r.Raw >= LeastTokens }

// Reduce measures one conversation. Tokens are those of est; redact takes secrets
// out of the user's words in the record.
func Reduce(entries []holdfast.Entry, est compaction.Estimator, redact func(string) string) Reduction {
	raw := conversations.Raw(entries)
	r := Reduction{Turns: len(conversation.Turns(raw)), Events: len(raw), Raw: est.Tokens(raw)}
	capsule := query.Capsule(raw, "", redact)
	var seq int64
	if n := len(raw); n > 0 {
		seq = raw[n-1].Seq
	}
	record := holdfast.Entry{Seq: seq + 1, Event: holdfast.Continuity{Capsule: capsule}}
	with := append(slices.Clip(raw), record)
	for _, p := range Policies() {
		s := Saved{Policy: p.Name, Tokens: r.Raw, Plan: planState(capsule, raw, raw), Restored: true}
		d := compaction.Decide(with, p.config, compaction.Boundary{Window: 1, Stays: agents.Carries, Now: time.Time{}}, est)
		if d.Fire != nil {
			id := holdfast.EventID("measured")
			after := append(slices.Clip(with), holdfast.Entry{Seq: seq + 2, ID: id, Event: d.Fire.Overlay})
			s.Tokens = est.Tokens(after)
			s.TextsLost = lost(raw, after)
			s.Plan = planState(capsule, raw, after)
			reset := append(slices.Clip(after), holdfast.Entry{Seq: seq + 3, Event: holdfast.Revocation{Overlays: []holdfast.EventID{id}}})
			s.Restored = shown(raw) == shown(reset)
		}
		if r.Raw > 0 {
			s.Share = 1 - float64(s.Tokens)/float64(r.Raw)
		}
		r.Policies = append(r.Policies, s)
	}
	return r
}

// shown is a view as lines.
func shown(entries []holdfast.Entry) string {
	var b []byte
	for _, e := range conversations.View(entries).Entries() {
		b = append(conversation.AppendLine(b, e), '\n')
	}
	return string(b)
}

// lost counts the texts of user and assistant in the raw view that the other one
// does not have, in their order.
func lost(raw, after []holdfast.Entry) int {
	there := texts(after)
	n := 0
	for _, text := range texts(raw) {
		i := slices.Index(there, text)
		if i < 0 {
			n++
			continue
		}
		there = there[i+1:]
	}
	return n
}

// texts are the texts of a view without the record.
func texts(entries []holdfast.Entry) (list []string) {
	for _, t := range conversation.Project(entries, nil).Turns {
		for _, e := range t.Entries {
			switch e.Event.(type) {
			case holdfast.UserMessage, holdfast.AssistantMessage:
				list = append(list, string(conversation.AppendLine(nil, holdfast.Entry{Event: e.Event})))
			}
		}
	}
	return list
}

// planState says where a model finds the plan: in all the calls that stated it, or
// with every open step in the record.
func planState(c holdfast.Capsule, raw, after []holdfast.Entry) PlanState {
	if c.Plan == nil || !slices.ContainsFunc(c.Plan.Steps, open) {
		return NoPlan
	}
	if slices.Equal(planCalls(raw), planCalls(after)) {
		return PlanInCalls
	}
	view := shown(after)
	for _, step := range c.Plan.Steps {
		// As the line form writes it.
		quoted := string(conversation.AppendLine(nil, holdfast.Entry{Event: holdfast.AssistantMessage{Text: step.Text}}))
		_, quoted, _ = strings.Cut(quoted, `"text":"`)
		if quoted, _, _ = strings.Cut(quoted, `"}`); open(step) && !strings.Contains(view, quoted) {
			return PlanLost
		}
	}
	return PlanInRecord
}

func open(s holdfast.Step) bool { return s.Status != holdfast.StepCompleted }

// planCalls are the calls of a view that state the plan, with their results.
func planCalls(entries []holdfast.Entry) (list []string) {
	for _, t := range conversation.Project(entries, nil).Turns {
		pairs := conversation.Pairs(t.Entries)
		for i, e := range t.Entries {
			if call, ok := e.Event.(holdfast.ToolCall); ok && agents.Carries(call) {
				list = append(list, string(conversation.AppendLine(nil, holdfast.Entry{Event: call})))
				if pairs[i] >= 0 {
					list = append(list, string(conversation.AppendLine(nil, holdfast.Entry{Event: t.Entries[pairs[i]].Event})))
				}
			}
		}
	}
	return list
}

// Pooled is what a policy does to all conversations that count.
type Pooled struct {
	Policy        string  `json:"policy"`
	About         string  `json:"about"`
	Conversations int     `json:"conversations"`
	Median        float64 `json:"share_saved_median"`
	// Least and Most are the ends.
	Least float64 `json:"share_saved_least"`
	Most  float64 `json:"share_saved_most"`
	// Idle counts those in which less than a twentieth is saved.
	Idle int `json:"saved_under_5_percent"`
	// Tokens are the sums.
	Raw       int     `json:"tokens_raw"`
	Tokens    int     `json:"tokens"`
	TextsLost int     `json:"texts_lost"`
	PlansLost int     `json:"plans_lost"`
	Restored  bool    `json:"restored"`
	Goal      float64 `json:"goal,omitempty"`
	// Passed tells that the goal is met, where there is one, that every text and
	// every plan is kept, and that all can be taken back.
	Passed bool `json:"passed"`
}

// Pool puts conversations together, as far as they count.
func Pool(all []Reduction) []Pooled {
	var list []Pooled
	for n, p := range Policies() {
		pooled := Pooled{Policy: p.Name, About: p.About, Goal: p.Goal, Restored: true}
		var shares []float64
		for _, r := range all {
			if !r.Counts() {
				continue
			}
			s := r.Policies[n]
			shares = append(shares, s.Share)
			pooled.Raw += r.Raw
			pooled.Tokens += s.Tokens
			pooled.TextsLost += s.TextsLost
			if s.Plan == PlanLost {
				pooled.PlansLost++
			}
			pooled.Restored = pooled.Restored && s.Restored
			if s.Share < 0.05 {
				pooled.Idle++
			}
		}
		if pooled.Conversations = len(shares); pooled.Conversations > 0 {
			slices.Sort(shares)
			pooled.Least, pooled.Median, pooled.Most = shares[0], median(shares), shares[len(shares)-1]
			pooled.Passed = pooled.Median >= p.Goal && pooled.TextsLost == 0 && pooled.PlansLost == 0 && pooled.Restored
		}
		list = append(list, pooled)
	}
	return list
}

// median is that of sorted numbers, at least one.
func median(sorted []float64) float64 {
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
