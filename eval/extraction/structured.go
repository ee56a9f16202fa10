package extraction

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// Gold is one thing that a structured source states: an open step in its place, the
// text of a plan in force, or an answer. Two are the same when they are equal.
type Gold string

func openStep(place int, s holdfast.Step) Gold {
	return Gold(fmt.Sprintf("step %d %s: %s", place, s.Status, squeeze(s.Text)))
}

func answer(question, given string) Gold {
	return Gold("answer to " + squeeze(question) + ": " + squeeze(given))
}

func approved(plan string) Gold { return Gold("plan: " + squeeze(plan)) }

// squeeze takes white space for single spaces.
func squeeze(text string) string { return strings.Join(strings.Fields(text), " ") }

// Structured compares what structured sources state with what the record has.
type Structured struct {
	Of       string `json:"of"`
	Sessions int    `json:"sessions"`
	// Stated is the number of things that are to be in the record, Found of those
	// that are; Wrong of things in it that nothing states.
	Stated    int     `json:"stated"`
	Found     int     `json:"found"`
	Wrong     int     `json:"wrong"`
	Precision float64 `json:"precision"` // 1 where the record has nothing
	Recall    float64 `json:"recall"`    // 1 where nothing is stated
}

func (s Structured) passed() bool { return s.Found == s.Stated && s.Wrong == 0 }

// add compares one session: a generated one at its end, a real one after each call
// that states something.
func (s *Structured) add(p Product, session Session) {
	s.Sessions++
	if session.Generated() {
		for _, entries := range session.Streams {
			s.compare(session.Gold, held(p.Harvest(entries)))
		}
	} else {
		for _, entries := range session.Streams {
			var r reader
			for i, e := range entries {
				if r.read(e.Event) {
					s.compare(r.gold(), held(p.Harvest(entries[:i+1])))
				}
			}
		}
	}
	s.Precision, s.Recall = 1, 1
	if n := s.Found + s.Wrong; n > 0 {
		s.Precision = float64(s.Found) / float64(n)
	}
	if s.Stated > 0 {
		s.Recall = float64(s.Found) / float64(s.Stated)
	}
}

func (s *Structured) compare(stated, has []Gold) {
	left := map[Gold]int{}
	for _, g := range stated {
		left[g]++
	}
	s.Stated += len(stated)
	for _, g := range has {
		if left[g] > 0 {
			left[g]--
			s.Found++
		} else {
			s.Wrong++
		}
	}
}

// held is what a record has of structured sources.
func held(c holdfast.Capsule) (has []Gold) {
	if c.Plan != nil && c.Plan.Status == holdfast.PlanAccepted {
		if c.Plan.Source == holdfast.FromPlanMode {
			has = append(has, approved(c.Plan.Text))
		} else {
			place := 0
			for _, step := range c.Plan.Steps {
				if step.Status != holdfast.StepCompleted {
					place++
					has = append(has, openStep(place, step))
				}
			}
		}
	}
	for _, d := range c.Decisions {
		if d.Status == holdfast.FactActive && d.Evidence.By == holdfast.ByStructured {
			has = append(has, answer(d.Subject, d.Statement))
		}
	}
	return has
}

// reader reads the calls of real sessions: whole lists of steps, and questions with
// their answers as pairs. It knows the tools by their names and nothing of the
// product's tables.
type reader struct {
	waiting map[string]holdfast.ToolCall
	steps   []holdfast.Step
	answers []Gold
}

// lists are the names of the tools that state a whole list: of the list, of a step's
// text and of its status.
var lists = map[string]struct{ list, text string }{
	"TodoWrite": {"todos", "content"}, "update_plan": {"plan", "step"}, "todowrite": {"todos", "content"},
	"todo_write": {"todos", "content"}, "write_todos": {"todos", "description"},
}

// read takes an event and reports whether something was stated by it.
func (r *reader) read(event holdfast.Event) bool {
	switch e := event.(type) {
	case holdfast.ToolCall:
		if _, list := lists[e.Name]; list || e.Name == "AskUserQuestion" {
			if r.waiting == nil {
				r.waiting = map[string]holdfast.ToolCall{}
			}
			r.waiting[e.ID] = e
		}
	case holdfast.ToolResult:
		call, ok := r.waiting[e.CallID]
		delete(r.waiting, e.CallID)
		if !ok || e.IsError {
			return false
		}
		if call.Name == "AskUserQuestion" {
			return r.asked(call.Arguments, resultText(e))
		}
		return r.listed(call)
	}
	return false
}

func (r *reader) listed(call holdfast.ToolCall) bool {
	var args map[string]json.RawMessage
	var items []map[string]any
	if json.Unmarshal(call.Arguments, &args) != nil || json.Unmarshal(args[lists[call.Name].list], &items) != nil {
		return false
	}
	r.steps = nil
	for _, item := range items {
		text, _ := item[lists[call.Name].text].(string)
		status, _ := item["status"].(string)
		if status == "completed" || status == "cancelled" || status == "deleted" {
			continue
		}
		if status != "in_progress" {
			status = "pending"
		}
		r.steps = append(r.steps, holdfast.Step{Text: text, Status: holdfast.StepStatus(status)})
	}
	return true
}

func (r *reader) asked(arguments []byte, result string) (stated bool) {
	var args struct {
		Questions []struct{ Question string }
	}
	_ = json.Unmarshal(arguments, &args) // a call with other arguments asks nothing
	for _, q := range args.Questions {
		if _, rest, ok := strings.Cut(result, `"`+q.Question+`"="`); ok {
			given, _, _ := strings.Cut(rest, `"`)
			r.answers = append(r.answers, answer(q.Question, given))
			stated = true
		}
	}
	return stated
}

func (r *reader) gold() (gold []Gold) {
	for i, s := range r.steps {
		gold = append(gold, openStep(i+1, s))
	}
	return append(gold, r.answers...)
}

func resultText(r holdfast.ToolResult) string {
	text := r.Text
	for _, p := range r.Parts {
		if t, ok := p.(holdfast.Text); ok {
			text += string(t)
		}
	}
	return text
}
