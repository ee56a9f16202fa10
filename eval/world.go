package eval

import (
	"encoding/json"
	"slices"
	"strings"
)

// World is what an agent meets: the person at the keyboard and the machine that
// its tools run on. A nil function is nobody there: a question gets no answer, a
// plan is refused without a word, a tool's output is filler, and there is no
// notice. Agents that are used at once call the functions at once.
type World struct {
	// Answer is what the person answers to a structured question; "" for none.
	// Without an answer the turn ends, but for opencode, which sends the question
	// back as unanswered, and cline, whose result is then empty.
	Answer func(question string) string
	// Approve is the person's word on a plan that is shown. Words with a no go to
	// the model at once: in the tool's result, or where the agent has no place for
	// them as the next text of the user. A no without words ends the turn. Words
	// with a yes are told only by claude-code.
	Approve func(plan string) (ok bool, words string)
	// Output is what a tool for commands or files returns; "" for the filler.
	Output func(c Call) string
	// Notice is what the harness puts before the next prompt, in the user's role
	// and marked as the agent marks its own texts; "" for none.
	Notice func() string
}

// output is what a tool returned. Without a world it is a filler of so many
// paragraphs.
func (w World) output(c Call, paragraphs int) string {
	if w.Output != nil {
		if out := w.Output(c); out != "" {
			return strings.TrimSuffix(out, "\n") + "\n"
		}
	}
	return filler("Output of "+c.Name, paragraphs)
}

func (w World) notice() string {
	if w.Notice == nil {
		return ""
	}
	return w.Notice()
}

func (w World) answer(question string) string {
	if w.Answer == nil {
		return ""
	}
	return w.Answer(question)
}

func (w World) approve(plan string) (ok bool, words string) {
	if w.Approve == nil {
		return false, ""
	}
	return w.Approve(plan)
}

// question is one of the questions of a call, with the person's answer.
type question struct {
	ID       string `json:"id"`
	Header   string `json:"header"`
	Question string `json:"question"`
	Options  []struct {
		Label string `json:"label"`
	} `json:"options"`
	answer string
}

// listed reports whether the answer is one of the options.
func (q question) listed() bool {
	for _, o := range q.Options {
		if o.Label == q.answer {
			return true
		}
	}
	return false
}

// ask asks the person all questions of a call; ok tells that each got an answer.
func (w World) ask(c Call) (questions []question, ok bool) {
	var args struct {
		Questions []question `json:"questions"`
	}
	_ = json.Unmarshal(c.Args, &args) // a call with other arguments asks nothing
	for i := range args.Questions {
		args.Questions[i].answer = w.answer(args.Questions[i].Question)
	}
	silent := func(q question) bool { return q.answer == "" }
	return args.Questions, len(args.Questions) > 0 && !slices.ContainsFunc(args.Questions, silent)
}

// pairs writes answers as claude-code and opencode do: "question"="answer", ...
func pairs(questions []question) string {
	var out []string
	for _, q := range questions {
		out = append(out, `"`+q.Question+`"="`+q.answer+`"`)
	}
	return strings.Join(out, ", ")
}

// result is what a tool call came to.
type result struct {
	text   string
	failed bool // marked as an error
	// behind follows the results in the user's role.
	behind []message
	// ends tells that the person stopped the turn, withdrawn that the agent then
	// takes it out of its history.
	ends, withdrawn bool
}

// refused is the result of a plan that got a no, for an agent that has no place
// for the person's words: they are what the person types next.
func refused(text, words string) result {
	r := result{text: text, failed: true}
	if r.ends = words == ""; !r.ends {
		r.behind = []message{{role: "user", text: words}}
	}
	return r
}

// desk is the place at which an agent meets its world.
type desk struct {
	world World
	round int // behind which the next turn compacts
	plan  struct{ path, text string }
}

// Enter implements Agent.
func (d *desk) Enter(w World) { d.world = w }

// CompactIn implements Agent.
func (d *desk) CompactIn(round int) { d.round = round }

// due takes the round behind which this turn compacts.
func (d *desk) due() int {
	round := d.round
	d.round = 0
	return round
}

// write notes the plan that a call writes into a file; ok is false for a file
// that is no plan. Again tells that the file was there before.
func (d *desk) write(path, text string) (again, ok bool) {
	if !strings.Contains(path, "/plans/") {
		return false, false
	}
	again = d.plan.path == path
	d.plan.path, d.plan.text = path, text
	return again, true
}
