package survival_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/eval"
	"github.com/holdfast-dev/holdfast/eval/survival"
)

// each calls f with sessions of all agents and shapes.
func each(t *testing.T, f func(t *testing.T, s *survival.Session)) {
	for seed := range uint64(4) {
		for _, m := range eval.Manners() {
			s := survival.Generate(seed, m, 6)
			t.Run(m.Name+" "+s.Tag, func(t *testing.T) {
				f(t, s)
				if s.Fork != nil {
					f(t, s.Fork)
				}
			})
		}
	}
}

func TestASeedMakesOneSession(t *testing.T) {
	for _, m := range eval.Manners() {
		one, two := survival.Generate(5, m, 4), survival.Generate(5, m, 4)
		a, b := write(t, one), write(t, two)
		if a != b {
			t.Errorf("%s: two sessions of one seed differ", m.Name)
		}
		if a == write(t, survival.Generate(6, m, 4)) {
			t.Errorf("%s: two seeds make one session", m.Name)
		}
	}
}

func write(t *testing.T, s *survival.Session) string {
	raw, err := json.Marshal([]any{s.Turns, s.Gold, s.Plants})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestGoldHasOneStateForEachAnswer(t *testing.T) {
	each(t, func(t *testing.T, s *survival.Session) {
		answers := 0
		for _, turn := range s.Turns {
			answers += len(turn.Replies)
			if calls := turn.Replies[len(turn.Replies)-1].Calls; len(calls) > 0 {
				t.Errorf("a turn ends with the calls %v", calls)
			}
			if turn.CompactIn >= len(turn.Replies) {
				t.Errorf("a compaction behind round %d of %d", turn.CompactIn, len(turn.Replies)-1)
			}
		}
		if len(s.Gold) != answers+1 {
			t.Errorf("%d states for %d answers", len(s.Gold), answers)
		}
	})
}

func TestEveryPlantIsSaid(t *testing.T) {
	for seed := range uint64(4) {
		for _, m := range eval.Manners() {
			s := survival.Generate(seed, m, 6)
			var text strings.Builder
			for _, side := range []*survival.Session{s, s.Fork} {
				if side == nil {
					continue
				}
				for _, turn := range side.Turns {
					text.WriteString(turn.Prompt + "\n" + turn.Notice + "\n")
					for _, r := range turn.Replies {
						text.WriteString(r.Text + "\n")
						for _, c := range r.Calls {
							text.WriteString(side.Outputs[c.ID] + "\n" + string(c.Args) + "\n")
						}
					}
				}
			}
			for _, p := range s.Plants {
				if p.Exact == "" || !strings.Contains(text.String(), p.Exact) {
					t.Errorf("%s, seed %d: %s %s is never said: %q", m.Name, seed, p.Kind, p.ID, p.Exact)
				}
			}
		}
	}
}

// The agent itself sends the answer to a shown plan: nothing can be pasted beside it.
func TestAnAnswerToAShownPlanIsAMessageOfItsOwn(t *testing.T) {
	for seed := range uint64(400) {
		for _, m := range eval.Manners() {
			for i, turn := range survival.Generate(seed, m, 1).Turns {
				if strings.Contains(turn.Prompt, "Implement the plan.") && turn.Prompt != "Implement the plan." {
					t.Errorf("%s, seed %d, turn %d: the answer to a shown plan stands among %d bytes", m.Name, seed, i, len(turn.Prompt))
				}
			}
		}
	}
}

func TestOnlyTrueThingsThatTheUserTypedAreGold(t *testing.T) {
	each(t, func(t *testing.T, s *survival.Session) {
		kinds := map[string]survival.Plant{}
		for _, p := range s.Plants {
			kinds[p.ID] = p
		}
		last := s.Gold[len(s.Gold)-1]
		for _, id := range slices.Concat(last.Said, last.Overruled) {
			if p := kinds[id]; p.ID == "" || p.Kind.False() {
				t.Errorf("%s is gold: %+v", id, p)
			}
		}
		for _, id := range last.Said {
			if slices.Contains(last.Overruled, id) {
				t.Errorf("%s is in force and overruled", id)
			}
		}
	})
}

func TestTheSidesOfAForkPart(t *testing.T) {
	forks := 0
	for seed := range uint64(24) {
		s := survival.Generate(seed, eval.Manners()[0], 6)
		if s.Fork == nil {
			continue
		}
		forks++
		for i, turn := range s.Fork.Turns[:s.ForkAt] {
			if turn.Prompt != s.Turns[i].Prompt {
				t.Errorf("seed %d: turn %d differs before the fork", seed, i)
			}
		}
		a, b := s.Turns[s.ForkAt].Prompt, s.Fork.Turns[s.ForkAt].Prompt
		if a == b {
			t.Errorf("seed %d: both sides go on with %q", seed, a)
		}
	}
	if forks < 3 {
		t.Errorf("%d of 24 seeds fork", forks)
	}
}
