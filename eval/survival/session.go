package survival

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/eval"
)

// Session is one generated session: what the user types, what the model
// answers, and what is true after each answer. It is never changed once made.
type Session struct {
	Seed     uint64
	Manner   eval.Manner
	Shape    Shape
	Language string // en or de
	// Tag stands in every canary of the session and in no other session.
	Tag   string
	Turns []Turn
	// Gold[i] is what is true once i answers of the model were given and their
	// tool calls were carried out.
	Gold   []Gold
	Plants []Plant // of both sides of a fork: ids are unique over both
	// Outputs is what tools return, by the id of the call. Refusals are the
	// user's words on plans that get a no, by the plan; Answered the answers to
	// structured questions, by the id of the call that asks.
	Outputs, Refusals, Answered map[string]string
	// Fork is the other side of a fork, and ForkAt the number of turns that both
	// share; nil when there is none.
	Fork   *Session
	ForkAt int
}

// Shape is what kind of session it is.
type Shape string

// The shapes.
const (
	Usual Shape = "usual" // plans, decisions, words
	Bare  Shape = "bare"  // nothing to carry but chatter
	Heavy Shape = "heavy" // more than a block can hold
)

// Turn is one prompt with the answers that it gets.
type Turn struct {
	Prompt  string
	Notice  string // a harness's text before the prompt; "" for none
	Replies []eval.Reply
	// CompactIn is the round of tool calls behind which the agent compacts; 0:
	// not in this turn. Compacts: it compacts when the turn has ended.
	CompactIn int
	Compacts  bool
}

// Boundaries is the number of compactions of a session, its fork left out.
func (s *Session) Boundaries() (n int) {
	for _, t := range s.Turns {
		if t.CompactIn > 0 || t.Compacts {
			n++
		}
	}
	return n
}

// Gold is what is true at one moment.
type Gold struct {
	// Steps is the plan in force, with its finished steps; empty for none.
	Steps []holdfast.Step
	// Gone are steps that left the plan while they were open.
	Gone []string
	// Approved is the text of the plan that the user said yes to, while it holds
	// and no list of steps stands for it. Waiting is one that awaits an answer,
	// Refused the newest one that got a no.
	Approved, Waiting, Refused string
	// Accepted are all plans that the user ever said yes to, oldest first.
	Accepted []string
	// Answers are the user's structured answers, oldest question first.
	Answers []Answer
	// Said are the ids of true plants that the user typed, those that later
	// words put out of force left out; Overruled are those.
	Said, Overruled []string
}

// Answer is a question with the answers that it got; the last one holds.
type Answer struct {
	Question string
	Given    []string
}

// Now is the answer in force.
func (a Answer) Now() string { return a.Given[len(a.Given)-1] }

// Past are the answers that hold no more, without the one in force.
func (a Answer) Past() (past []string) {
	for _, g := range a.Given {
		if g != a.Now() && !slices.Contains(past, g) {
			past = append(past, g)
		}
	}
	return past
}

// Open are the steps that are still to be done, in order.
func (g Gold) Open() (open []holdfast.Step) {
	for _, s := range g.Steps {
		if s.Status != holdfast.StepCompleted {
			open = append(open, s)
		}
	}
	return open
}

func (g Gold) clone() Gold {
	g.Steps, g.Gone = slices.Clone(g.Steps), slices.Clone(g.Gone)
	g.Answers, g.Accepted = slices.Clone(g.Answers), slices.Clone(g.Accepted)
	for i := range g.Answers {
		g.Answers[i].Given = slices.Clone(g.Answers[i].Given)
	}
	g.Said, g.Overruled = slices.Clone(g.Said), slices.Clone(g.Overruled)
	return g
}

// plant finds a plant by its id.
func (s *Session) plant(id string) Plant {
	for _, p := range s.Plants {
		if p.ID == id {
			return p
		}
	}
	return Plant{}
}

// laterShown reports whether a text shows a choice that took the place of another one
// since, at once or by way of others: later words hold.
func (s *Session) laterShown(id string, said []string, text string) bool {
	return slices.ContainsFunc(said, func(later string) bool {
		p := s.plant(later)
		return p.Supersedes == id && (p.shown(text) || s.laterShown(p.ID, said, text))
	})
}
